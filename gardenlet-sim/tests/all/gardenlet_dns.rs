// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/gardenlet/operation/botanist/dns.go @ v1.120.0: names under which the API server of a Shoot is
//! published.

use api::core::Shoot;
use api::extensions::DNSRecord;
use api::kubernetes::core::Secret;
use serde_json::{Value, json};
use testkit::objects::{cloud_profile, shoot as new_shoot};
use testkit::{World, object};

use super::{SEED, TECHNICAL_ID, project, start_gardenlet, world};

/// Returns the Secret of a domain of the landscape.
fn domain(role: &str, name: &str) -> Secret {
    object(json!({
        "metadata": {"name": format!("{role}-{name}"), "namespace": "garden", "labels": {"gardener.cloud/role": role},
            "annotations": {"dns.gardener.cloud/provider": "aws-route53", "dns.gardener.cloud/domain": name,
                "dns.gardener.cloud/zone": "z1"}},
        "data": {"key": "dmFsdWU="},
    }))
}

/// Runs the flow of a Shoot without pools, which needs no infrastructure.
fn published(dns: Value) -> World {
    let shoot: Shoot = new_shoot("s")
        .seed("local")
        .label("name.seed.gardener.cloud/local", "true")
        .with(|shoot| shoot.spec.dns = serde_json::from_value(dns).expect("a DNS"))
        .build();
    let mut world = world()
        .with(cloud_profile("local").kubernetes("1.27.1").build())
        .with(project())
        .with(domain("internal-domain", "internal.example.com"))
        .with(domain("default-domain", "example.com"))
        .with(shoot);
    start_gardenlet(&mut world);
    world.advance_to("2025-06-02T12:01:00Z");
    world
}

fn record(world: &World, suffix: &str) -> Option<DNSRecord> {
    world.get_in(SEED, TECHNICAL_ID, &format!("s-{suffix}"))
}

#[test]
fn every_shoot_has_an_internal_record_with_the_domains_credentials() {
    let world = published(json!({}));
    let record = record(&world, "internal").expect("there is one");
    let spec = &record.spec;
    assert_eq!(
        (&*spec.name, &*spec.r#type, &*spec.record_type),
        ("api.s.dev.internal.example.com", "aws-route53", "A")
    );
    assert_eq!((spec.zone.as_deref(), spec.ttl), (Some("z1"), Some(120)));
    assert_eq!(record.metadata.annotation("gardener.cloud/operation"), Some("reconcile"));
    let secret: Secret = world.get_in(SEED, TECHNICAL_ID, &spec.secret_ref.name).expect("there are credentials");
    assert_eq!(secret.data["key"].0, b"value");
}

/// `spec.dns` of a Shoot, with name and type of its external record.
fn external() -> [(Value, Option<(&'static str, &'static str)>); 4] {
    let with = |provider: Value| json!({"domain": "s.dev.example.com", "providers": [provider]});
    [
        (json!({}), None),
        (json!({"domain": "s.dev.example.com"}), Some(("api.s.dev.example.com", "aws-route53"))),
        (json!({"domain": "s.example.org"}), None),
        (with(json!({"type": "unmanaged", "primary": true})), None),
    ]
}

#[test]
fn managed_domains_have_an_external_record() {
    for (dns, expected) in external() {
        let world = published(dns.clone());
        let found = record(&world, "external").map(|record| (record.spec.name, record.spec.r#type));
        assert_eq!(found, expected.map(|(name, type_)| (name.to_owned(), type_.to_owned())), "{dns}");
        assert!(record(&world, "internal").is_some(), "{dns}");
    }
}

#[test]
fn records_of_a_shoot_have_one_address() {
    let world = published(json!({"domain": "s.dev.example.com"}));
    let values = |suffix: &str| record(&world, suffix).expect("there is one").spec.values;
    assert_eq!(values("internal"), values("external"));
    assert!(values("internal")[0].starts_with("192.0.2."), "{:?}", values("internal"));
}
