// SPDX-License-Identifier: Apache-2.0
//! Initial objects of a landscape.

use api::core::{ControllerRegistration, Seed};
use api::kubernetes::core::Namespace;
use controller::{Api, ListOptions};
use landscape::Options;

use crate::support::{Audited, evening};

#[test]
fn a_landscape_starts_with_the_operators_configuration() {
    let mut audited = Audited::start(Options::new(1, evening()));
    let admin = audited.admin.clone();
    for cluster in ["garden", "seed--local"] {
        let namespaces = audited.run(Api::<Namespace>::all(&admin, cluster).list(&ListOptions::default()));
        let names: Vec<_> = namespaces.expect("the cluster answers").0.into_iter().map(|n| n.metadata.name).collect();
        assert!(names.contains(&"kube-system".to_owned()), "{names:?}");
    }
    let registrations = Api::<ControllerRegistration>::all(&admin, "garden");
    let registrations = audited.run(registrations.list(&ListOptions::default())).expect("served").0;
    assert_eq!(registrations.len(), landscape::extensions::EXTENSIONS.len());
    let seed = audited.run(Api::<Seed>::all(&admin, "garden").get("local")).expect("gardenlet registered the Seed");
    assert!(seed.status.conditions.iter().any(|c| c.r#type == "GardenletReady" && c.status == "True"), "{seed:?}");
    assert_eq!(audited.landscape.now(), evening(), "everything is ready when the landscape begins");
}

#[test]
fn served_objects_equal_the_log() {
    let audited = Audited::start(Options::new(1, evening()));
    audited.landscape.replay_equals_live().expect("the same");
}
