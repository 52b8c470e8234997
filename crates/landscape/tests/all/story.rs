// SPDX-License-Identifier: Apache-2.0
//! History of a Shoot on an expired version, as described in the documents (docs/usage/shoot/shoot_maintenance.md,
//! docs/usage/shoot-operations/shoot_versions.md).

use std::collections::BTreeSet;

use api::core::{CloudProfile, ControllerInstallation, Project, Seed, Shoot};
use apimachinery::Resource;
use controller::{Api, ListOptions};
use http_body_util::BodyExt as _;
use landscape::{Options, preset};
use process::transport::{Decoded, full};

use crate::support::{Audited, evening, force_update, instant, is};

#[test]
fn a_shoot_on_an_expired_version_is_force_updated() {
    let (mut audited, story) = force_update(Options::new(1, evening()));
    assert!(story.maintained >= instant("2023-07-28T09:00:00Z"), "{}", story.maintained);
    assert!(story.maintained <= instant("2023-07-28T09:45:00Z"), "{}", story.maintained);

    let shoot = audited.shoot("local");
    assert_eq!(shoot.spec.kubernetes.version, "1.27.1");
    let maintenance = shoot.status.last_maintenance.expect("maintained");
    assert_eq!(maintenance.state, "Succeeded");
    assert_eq!(
        maintenance.description,
        "All maintenance operations successful. Control Plane: Updated Kubernetes version from \"1.26.4\" to \
         \"1.27.1\". Reason: Kubernetes version expired - force update required, Worker pool \"local\": Updated machine \
         image \"gardenlinux\" from \"934.8.0\" to \"1096.1.0\". Reason: Automatic update of the machine image version is \
         configured (image update strategy: major)"
    );
    let texts: BTreeSet<_> = story.events.iter().map(|(reason, message)| (reason.as_str(), message.as_str())).collect();
    let expected = [
        (
            "KubernetesVersionMaintenance",
            "Control Plane: Updated Kubernetes version from \"1.26.4\" to \"1.27.1\". Reason: Kubernetes version expired \
             - force update required.",
        ),
        (
            "MachineImageVersionMaintenance",
            "Worker pool \"local\": Updated machine image \"gardenlinux\" from \"934.8.0\" to \"1096.1.0\". Reason: \
             Automatic update of the machine image version is configured (image update strategy: major).",
        ),
    ];
    assert_eq!(texts, expected.into());
    assert_eq!(story.nodes.len(), 3);
    for (kubelet, _) in &story.nodes {
        assert_eq!(kubelet, "v1.27.1");
    }
    let operation = shoot.status.last_operation.expect("reconciled");
    assert_eq!(operation.description, "Shoot cluster has been successfully reconciled.");
    assert_eq!(operation.progress, 100);
}

#[test]
fn the_new_nodes_are_other_nodes() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.create_shoot("local");
    let names = |audited: &mut Audited| -> BTreeSet<String> {
        audited.nodes("local").into_iter().map(|node| node.metadata.name).collect()
    };
    let old = names(&mut audited);
    assert_eq!(old.len(), 3);
    audited.until("2023-07-28T11:00:00Z");
    let new = names(&mut audited);
    assert_eq!(new.len(), 3);
    assert!(old.is_disjoint(&new), "{old:?} {new:?}");
}

#[test]
fn a_new_shoot_on_an_expired_version_is_refused() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.create_shoot("local");
    let admin = audited.admin.clone();
    let api = Api::<Shoot>::namespaced(&admin, "garden", preset::NAMESPACE);
    audited.until("2023-07-28T00:00:00Z");
    audited.run(api.create(&preset::shoot("late0"))).expect("at the instant of expiration it is accepted");
    audited.until("2023-07-28T00:00:01Z");
    let refused = audited.run(api.create(&preset::shoot("late1"))).expect_err("a second later it is not");
    let status = refused.status().expect("a Status");
    assert_eq!((status.code, &*status.reason), (403, "Forbidden"));
    assert_eq!(
        status.message,
        "shoots.core.gardener.cloud \"late1\" is forbidden: spec.kubernetes.version: Unsupported value: \"1.26.4\": \
         supported values: \"1.27.1\""
    );
}

#[test]
fn without_the_maintenance_controller_nothing_is_updated() {
    let mut options = Options::new(1, evening());
    options.disabled.insert("shoot-maintenance");
    let mut audited = Audited::start(options);
    audited.create_shoot("local");
    audited.until("2023-07-30T12:00:00Z");
    let shoot = audited.shoot("local");
    assert_eq!(shoot.spec.kubernetes.version, "1.26.4");
    assert_eq!(shoot.status.last_maintenance, None);
    assert!(is(&shoot, "Reconcile", "Succeeded") || is(&shoot, "Create", "Succeeded"));
    for node in audited.nodes("local") {
        assert_eq!(node.status.node_info.kubelet_version, "v1.26.4");
    }
}

/// A server passes decoded objects to clients of its own process: they must equal the objects decoded from the response
/// bytes.
#[test]
fn objects_in_memory_equal_their_bytes() {
    let (mut audited, _) = force_update(Options::new(1, evening()));
    #[track_caller]
    fn check<K: Resource + PartialEq>(audited: &mut Audited) {
        let admin = audited.admin.clone();
        let (objects, _) = audited.run(Api::<K>::all(&admin, "garden").list(&ListOptions::default())).expect("a list");
        assert!(!objects.is_empty(), "no {}", K::PLURAL);
        for object in &objects {
            let metadata = object.metadata();
            let place = if K::NAMESPACED { format!("namespaces/{}/", metadata.namespace) } else { String::new() };
            let path = format!("/clusters/garden/apis/{}/{place}{}/{}", K::api_version(), K::PLURAL, metadata.name);
            let request = http::Request::get(path).body(full("")).expect("a request");
            let mut response = audited.run(admin.transport.send(request)).expect("an answer");
            let decoded = response.extensions_mut().remove::<Decoded>().expect("an object of this process");
            let bytes = audited.run(response.into_body().collect()).expect("a body").to_bytes();
            let read = K::read(&bytes).expect("an object");
            let known = decoded.get(std::any::TypeId::of::<K>()).expect("in memory as this type");
            assert_eq!(known.downcast_ref::<K>(), Some(&read));
        }
    }
    check::<Shoot>(&mut audited);
    check::<Seed>(&mut audited);
    check::<Project>(&mut audited);
    check::<CloudProfile>(&mut audited);
    check::<ControllerInstallation>(&mut audited);
}
