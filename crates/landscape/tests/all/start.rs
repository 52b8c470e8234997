// SPDX-License-Identifier: Apache-2.0
//! Initial objects of a landscape.

use api::core::{ControllerRegistration, ControllerResource, Seed};
use api::core_v1::ControllerDeployment;
use api::kubernetes::core::Namespace;
use apimachinery::meta::{DeleteOptions, ObjectMeta};
use controller::{Api, ListOptions};
use landscape::Options;

use crate::support::{Audited, evening};

#[test]
fn a_landscape_starts_with_what_an_operator_gives_it() {
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

/// Returns a registration that controls a type of network.
fn network(name: &str, type_: &str) -> ControllerRegistration {
    let metadata = ObjectMeta::named("", name);
    let mut registration = ControllerRegistration { metadata, ..ControllerRegistration::default() };
    registration.spec.resources.push(ControllerResource {
        kind: "Network".to_owned(),
        r#type: type_.to_owned(),
        ..ControllerResource::default()
    });
    registration
}

/// A user has replaced networking-calico by one of the same name, and networking-cilium by one of another name.
#[test]
fn extensions_of_a_user_keep_their_place_at_the_next_start() {
    let options = Options { seeds: Vec::new(), ..Options::new(1, evening()) };
    let mut audited = Audited::start(options.clone());
    let admin = audited.admin.clone();
    let deployments = Api::<ControllerDeployment>::all(&admin, "garden");
    let registrations = Api::<ControllerRegistration>::all(&admin, "garden");

    let stored = audited.run(deployments.get("networking-calico")).expect("built in");
    let mut own = stored.clone();
    let chart = own.helm.as_mut().and_then(|helm| helm.oci_repository.as_mut()).expect("a chart");
    chart.r#ref = Some("registry.example/calico:v1".to_owned());
    let deployment = audited.run(deployments.update(&stored, &own)).expect("valid");
    let stored = audited.run(registrations.get("networking-calico")).expect("built in");
    let mut own = stored.clone();
    own.spec.resources.extend(network("", "calico-of-mine").spec.resources);
    let registration = audited.run(registrations.update(&stored, &own)).expect("valid");

    let mine = network("mine", "cilium");
    let refused = audited.run(registrations.create(&mine)).expect_err("cilium is built in");
    assert_eq!(
        refused.to_string(),
        "controllerregistrations.core.gardener.cloud \"mine\" is forbidden: another ControllerRegistration resource already \
         exists that controls resource Network/cilium primarily; the landscape has networking-cilium from its start: name \
         yours networking-cilium to take its place, or delete that one first (kubectl delete controllerregistration \
         networking-cilium)"
    );
    audited.run(registrations.delete("networking-cilium", &DeleteOptions::default())).expect("deleted");
    audited.until("2023-07-27T20:01:00Z");
    assert!(audited.run(registrations.get_opt("networking-cilium")).expect("answered").is_none());
    audited.run(registrations.create(&mine)).expect("the place is free");
    audited.until("2023-07-27T20:02:00Z");

    audited.run(landscape::prepare_extensions(&admin, &options)).expect("the user's extensions are no obstacle");
    let kept = audited.run(deployments.get("networking-calico")).expect("there");
    assert_eq!(kept.helm, deployment.helm);
    let kept = audited.run(registrations.get("networking-calico")).expect("there");
    assert_eq!(kept.spec, registration.spec);
    let all = audited.run(registrations.list(&ListOptions::default())).expect("served").0;
    let names: Vec<_> = all.iter().map(|one| one.metadata.name.as_str()).collect();
    assert!(names.contains(&"mine") && !names.contains(&"networking-cilium"), "{names:?}");
    assert_eq!(names.len(), landscape::extensions::EXTENSIONS.len(), "all others are there");
}
