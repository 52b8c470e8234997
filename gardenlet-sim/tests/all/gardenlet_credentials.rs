// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/gardenlet/operation/botanist/secrets.go @ v1.120.0: objects of a flow in the namespace of the Project.

use api::core::{InternalSecret, Shoot};
use api::kubernetes::core::{ConfigMap, Secret};
use serde_json::json;
use testkit::World;
use testkit::objects::{cloud_profile, shoot as new_shoot};

use super::{project, start_gardenlet, world};

const NAMESPACE: &str = "garden-dev";

fn own() -> Shoot {
    new_shoot("s")
        .seed("local")
        .label("name.seed.gardener.cloud/local", "true")
        .pool("a", |pool| pool.machines(1, 1).image("local", "1.0.0"))
        .build()
}

fn started(shoot: Shoot) -> World {
    let mut world = world().with(cloud_profile("local").kubernetes("1.27.1").build()).with(project()).with(shoot);
    start_gardenlet(&mut world);
    world.advance_to("2025-06-02T12:05:00Z");
    world
}

fn authority(world: &World) -> InternalSecret {
    world.get(NAMESPACE, "s.ca-client").expect("there is an authority of clients")
}

fn is_certificate(bytes: &[u8]) -> bool {
    bytes.starts_with(b"-----BEGIN CERTIFICATE-----")
}

#[test]
fn the_client_authoritys_key_is_only_in_an_internal_secret() {
    let world = started(own());
    let client = authority(&world);
    assert!(is_certificate(&client.data["ca.crt"].0));
    let key = client.data["ca.key"].0.clone();
    assert!(key.starts_with(b"-----BEGIN "));
    for secret in world.list_in::<Secret>("garden") {
        assert!(secret.data.values().all(|value| value.0 != key), "{}", secret.metadata.name);
    }
}

#[test]
fn the_bundles_of_cluster_and_kubelet_are_there_for_users() {
    let world = started(own());
    for name in ["s.ca-cluster", "s.ca-kubelet"] {
        let map: ConfigMap = world.get(NAMESPACE, name).expect("it is there");
        assert!(is_certificate(map.data["ca.crt"].as_bytes()), "{name}");
    }
}

#[test]
fn nodes_have_a_key_pair_unless_ssh_is_disabled() {
    let pair: Secret = started(own()).get(NAMESPACE, "s.ssh-keypair").expect("it is there");
    assert_eq!(pair.data.keys().collect::<Vec<_>>(), ["id_rsa", "id_rsa.pub"]);
    let mut closed = own();
    closed.spec.provider.workers_settings =
        serde_json::from_value(json!({"sshAccess": {"enabled": false}})).expect("settings");
    assert_eq!(started(closed).get::<Secret>(NAMESPACE, "s.ssh-keypair"), None);
}

#[test]
fn a_restarted_gardenlet_generates_the_same_keys() {
    let mut world = started(own());
    let before = authority(&world).data;
    world.kill();
    world.remove::<InternalSecret>(NAMESPACE, "s.ca-client");
    start_gardenlet(&mut world);
    world.advance_to("2025-06-02T12:10:00Z");
    assert_eq!(authority(&world).data, before);
}
