// SPDX-License-Identifier: Apache-2.0
//! Checks of Shoots by admission that differ between releases.

use serde_json::{Value, json};

use super::*;
use crate::release::{DOCUMENTED, Release};

fn at(release: u16) -> Moment {
    Moment::new("2025-06-15T12:00:00Z".parse().expect("RFC 3339"), Release(release))
}

fn profile() -> CloudProfileSpec {
    let mut profile: CloudProfile = serde_json::from_value(json!({"spec": {
        "type": "local",
        "kubernetes": {"versions": [{"version": "1.30.1"}]},
        "machineTypes": [{"name": "small", "cpu": "2", "gpu": "0", "memory": "4Gi"}],
        "regions": [{"name": "here"}],
        "machineImages": [{"name": "os", "versions": [{"version": "1.0.0"}]}],
    }}))
    .expect("a CloudProfile");
    crate::defaulting::cloud_profile(&mut profile);
    profile.spec
}

/// Returns a Shoot with a pool of an image version; `change`: fields of its spec.
fn shoot(image: &str, change: &Value) -> Shoot {
    let machine = json!({"type": "small", "image": {"name": "os", "version": image}});
    let mut spec = json!({
        "region": "here",
        "kubernetes": {"version": "1.30.1"},
        "provider": {"type": "local", "workers": [{"name": "a", "kubernetes": {}, "machine": machine}]},
    });
    for (name, value) in change.as_object().expect("an object") {
        spec[name] = value.clone();
    }
    let mut shoot = serde_json::from_value(json!({"metadata": {"name": "s"}, "spec": spec})).expect("a Shoot");
    crate::defaulting::shoot(&mut shoot, 0, DOCUMENTED);
    shoot
}

fn seed(name: &str, spec: &Value) -> Seed {
    let metadata = json!({"name": name, "labels": {"region": "here"}});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).expect("a Seed")
}

/// Returns a context for a changed Shoot, whose Seed stays the same.
fn context<'a>(
    old: &'a Shoot,
    (profile, project): (&'a CloudProfileSpec, &'a Project),
    seed: Option<&'a Seed>,
    release: u16,
) -> Context<'a> {
    Context {
        operation: Operation::Update,
        binding: false,
        old: Some(old),
        cloud_profile: profile,
        project,
        seed,
        old_seed: seed,
        shoots_on_seed: 0,
        secret_binding: None,
        old_secret_binding: None,
        credentials_binding: None,
        domains: &[],
        live_migration: false,
        at: at(release),
    }
}

fn texts(errors: &Errors) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn an_unoffered_version_is_an_unsupported_value_since_132() {
    let old = shoot("1.0.0", &json!({}));
    let new = shoot("3.0.0", &json!({}));
    for (release, expected) in [
        (
            131,
            "spec.provider.workers[0].machine.image: Invalid value: core.ShootMachineImage{Name:\"os\", \
             ProviderConfig:(*runtime.RawExtension)(nil), Version:\"3.0.0\"}: machine image version is not supported, supported \
             machine image versions are: [os:1.0.0]",
        ),
        (
            132,
            "spec.provider.workers[0].machine.image.version: Unsupported value: \"3.0.0\": supported values: \"os:1.0.0\"",
        ),
    ] {
        assert_eq!(texts(&check_changed_versions(&new, &old, &profile(), at(release))), [expected], "1.{release}");
    }
}

/// Release, images of the stored pool (`-`: a new pool) and of the request, and the resulting image.
const IMAGES: &str = "
121 | os@1.0.0   | os@1       | os@1
122 | os@1.0.0   | os@1       | os@1.0.0
122 | os@1.0.0   | os         | os@1.0.0
149 | os@1.0.0   | os@2.0.x   | os@2.0.x
121 | lost@1.0.0 | lost@1.0.0 | lost@1.0.0
122 | lost@1.0.0 | lost@1.0.0 | workers[0]: Invalid value: \"lost\": image is not supported
133 | lost@1.0.0 | lost@1.0.0 | workers[0]: Invalid value: \"lost\": image is not supported
134 | lost@1.0.0 | lost@1.0.0 | lost@1.0.0
149 | lost@1.0.0 | lost@1.0.1 | workers[0]: Invalid value: \"lost\": image is not supported
135 | -          | os@2.0     | os@2.0.5
136 | -          | os@2.0     | os@2.0
149 | os@1.0.0   | os@2.0     | os@2.0
";

fn worker(image: &str) -> Worker {
    let (name, version) = image.split_once('@').unwrap_or((image, ""));
    let version = (!version.is_empty()).then_some(version);
    let machine = json!({"type": "small", "architecture": "amd64", "image": {"name": name, "version": version}});
    serde_json::from_value(json!({"name": "a", "machine": machine})).expect("a pool")
}

#[test]
fn images_of_existing_pools_are_completed_since_122() {
    let mut profile = profile();
    for version in ["2.0", "2.0.5"] {
        let mut added = profile.machine_images[0].versions[0].clone();
        version.clone_into(&mut added.version);
        profile.machine_images[0].versions.push(added);
    }
    for row in IMAGES.lines().filter(|row| !row.is_empty()) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [release, old, new, expected] = cells[..] else { panic!("four cells: {row}") };
        let old = (old != "-").then(|| worker(old));
        let at = at(release.parse().expect("a release"));
        let found = match default_image(&worker(new), old.as_ref(), &profile, at, &Path::new("workers").index(0)) {
            Ok(image) => format!("{}@{}", image.name, image.version.unwrap_or_default()),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "row: {row}");
    }
}

#[test]
fn an_image_that_stays_gets_a_new_configuration_since_148() {
    let with = |kind: &str| {
        let mut worker = worker("os@1.0.0");
        let image = worker.machine.image.as_mut().expect("an image");
        image.provider_config = serde_json::from_value(json!({"kind": kind})).expect("a configuration");
        worker
    };
    for (release, expected) in [(133, "New"), (134, "Old"), (147, "Old"), (148, "New")] {
        let image = default_image(&with("New"), Some(&with("Old")), &profile(), at(release), &Path::new("w"));
        let config = image.expect("an image").provider_config.expect("a configuration");
        assert_eq!(config.value()["kind"], *expected, "1.{release}");
    }
}

/// Release, reservations of kubelets, and errors.
#[test]
fn reservations_of_the_system_do_not_count_since_141() {
    let path = "spec.provider.workers[0].kubernetes.kubelet: Invalid value: ";
    for (release, kubelet, expected) in [
        (
            140,
            json!({"kubeReserved": {"cpu": "1500m"}, "systemReserved": {"cpu": "500m"}}),
            vec![
                "\"kubeReserved CPU + systemReserved CPU: 2\": total reserved CPU (kubeReserved + systemReserved) cannot be \
                  more than the Node's CPU capacity '2'",
            ],
        ),
        (141, json!({"kubeReserved": {"cpu": "1500m"}, "systemReserved": {"cpu": "500m"}}), vec![]),
        (
            141,
            json!({"kubeReserved": {"cpu": "2", "memory": "4Gi"}}),
            vec![
                "\"kubeReserved CPU: 2\": total reserved CPU (kubeReserved) cannot be more than the Node's CPU capacity '2'",
                "\"kubeReserved memory: 4Gi\": total reserved memory (kubeReserved) cannot be more than the Node's memory \
                 capacity '4Gi'",
            ],
        ),
    ] {
        let shoot = shoot("1.0.0", &json!({"kubernetes": {"version": "1.30.1", "kubelet": kubelet}}));
        let expected: Vec<String> = expected.iter().map(|error| format!("{path}{error}")).collect();
        assert_eq!(texts(&check_changed_versions(&shoot, &shoot, &profile(), at(release))), expected, "1.{release}");
    }
}

#[test]
fn openid_connect_is_left_to_static_validation_since_133() {
    let server = json!({"version": "1.30.1", "kubeAPIServer": {"oidcConfig": {"clientID": ""}}});
    let new = shoot("1.0.0", &json!({"kubernetes": server}));
    let path = "spec.kubernetes.kubeAPIServer.oidcConfig";
    let both = [
        format!("{path}.clientID: Required value: clientID cannot be empty"),
        format!("{path}.issuerURL: Required value: issuerURL must be set when oidcConfig is provided"),
    ];
    for (release, expected) in [(132, &both[..]), (133, &[])] {
        let (profile, project) = (profile(), Project::default());
        let context = context(&new, (&profile, &project), None, release);
        let context = Context { operation: Operation::Create, old: None, ..context };
        let mut errors = Errors::new();
        versions::control_plane(&mut errors, &mut new.clone(), &context);
        assert_eq!(texts(&errors), expected, "1.{release}");
    }
}

/// Release, feature gate, operation, value of the annotation, and errors.
#[test]
fn live_migrations_need_their_gate_and_an_existing_shoot() {
    let disabled = "metadata.annotations[migration.gardener.cloud/live-migrate]: Forbidden: the \"LiveControlPlaneMigration\" \
                    feature gate is disabled in gardener-apiserver";
    let created = "metadata.annotations[migration.gardener.cloud/live-migrate]: Forbidden: annotation must not be set on shoot \
                   creation";
    let (profile, project, old) = (profile(), Project::default(), shoot("1.0.0", &json!({})));
    for (release, is_on, operation, value, expected) in [
        (147, false, Operation::Create, "true", ""),
        (148, false, Operation::Create, "true", disabled),
        (148, false, Operation::Update, "1", disabled),
        (149, false, Operation::Delete, "true", disabled),
        (148, true, Operation::Create, "true", created),
        (148, true, Operation::Update, "true", ""),
        (149, true, Operation::Delete, "true", ""),
        (149, false, Operation::Create, "false", ""),
        (149, false, Operation::Create, "yes", ""),
    ] {
        let mut new = old.clone();
        new.metadata.annotations.insert(annotation::LIVE_MIGRATE.to_owned(), value.to_owned());
        let context =
            Context { operation, live_migration: is_on, ..context(&old, (&profile, &project), None, release) };
        let mut errors = Errors::new();
        live_migration(&mut errors, &new, &context);
        assert_eq!(texts(&errors).concat(), expected, "1.{release} {is_on} {operation:?} {value}");
        if operation == Operation::Delete {
            let expected = if expected.is_empty() { Ok(()) } else { Err(Refusal::Forbidden(expected.to_owned())) };
            assert_eq!(admit(&mut new, &context), expected);
        }
    }
}

/// Release, DNS of both Seeds, and the refusal of a change from one to the other.
#[test]
fn a_shoot_keeps_its_domains_on_another_seed() {
    let credentials = json!({"apiVersion": "v1", "kind": "Secret", "name": "s", "namespace": "garden"});
    let domain = |name: &str| json!({"type": "t", "domain": name, "credentialsRef": credentials});
    let internal = |name: &str| json!({"internal": domain(name)});
    let defaults = |names: &[&str]| json!({"defaults": names.iter().map(|name| domain(name)).collect::<Vec<_>>()});
    let changed = "cannot change seed name because internal domain would change from \"a.org\" to \"b.org\"";
    let lost = "cannot reschedule shoot \"s\" to seed \"new\" because the shoot uses the default domain \"d.org\" which is not \
                supported by the new seed (supported domains: [e.org f.org])";
    for (release, before, after, expected) in [
        (126, internal("a.org"), internal("b.org"), None),
        (127, internal("a.org"), internal("b.org"), Some(changed)),
        (149, internal("a.org"), internal("a.org"), None),
        (
            149,
            json!({}),
            internal("b.org"),
            Some("cannot change seed name because internal domain would change from \"\" to \"b.org\""),
        ),
        (130, defaults(&["d.org"]), defaults(&["e.org", "f.org"]), None),
        (131, defaults(&["d.org"]), defaults(&["e.org", "f.org"]), Some(lost)),
        (131, defaults(&["d.org"]), defaults(&["e.org", "d.org"]), None),
        (131, defaults(&["org.d"]), defaults(&[]), None),
    ] {
        let of = |name: &str, dns: &Value| seed(name, &json!({"backup": {"provider": "local"}, "dns": dns}));
        let (old_seed, new_seed) = (of("old", &before), of("new", &after));
        let (profile, project) = (profile(), Project::default());
        let on = |seed: &str| shoot("1.0.0", &json!({"seedName": seed, "dns": {"domain": "s.p.d.org"}}));
        let (old, new) = (on("old"), on("new"));
        let context = context(&old, (&profile, &project), Some(&new_seed), release);
        let context = Context { binding: true, old_seed: Some(&old_seed), ..context };
        let refusal = match scheduling::scheduling(&new, &context) {
            Ok(()) => None,
            Err(Refusal::Forbidden(text)) => Some(text),
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!(refusal.as_deref(), expected, "1.{release} {before} {after}");
    }
}

/// Release, seed selectors before and after, and errors.
#[test]
fn a_changed_seed_selector_matches_the_seed_since_136() {
    let here = json!({"matchLabels": {"region": "here"}, "providerTypes": ["local"]});
    let there = json!({"matchLabels": {"region": "there"}, "providerTypes": ["aws"]});
    for (release, before, after, expected) in [
        (135, json!(null), there.clone(), vec![]),
        (136, json!(null), here.clone(), vec![]),
        (136, there.clone(), there.clone(), vec![]),
        (
            136,
            here.clone(),
            there,
            vec![
                "spec.seedSelector: Invalid value: {\"matchLabels\":{\"region\":\"there\"},\"providerTypes\":[\"aws\"]}: cannot \
                 change seedSelector to not match the labels of the already selected seed \"x\"",
                "spec.seedSelector.providerTypes: Invalid value: [\"aws\"]: cannot change seedSelector to not match the provider \
                 type of the already selected seed \"x\"",
            ],
        ),
        (
            149,
            here,
            json!(null),
            vec!["spec.seedSelector: Invalid value: null: cannot unset seedSelector once it has been set"],
        ),
    ] {
        let with = |selector: &Value| shoot("1.0.0", &json!({"seedName": "x", "seedSelector": selector}));
        let (old, new) = (with(&before), with(&after));
        let (profile, project) = (profile(), Project::default());
        let seed = seed("x", &json!({"provider": {"type": "local", "region": "here"}}));
        let mut errors = Errors::new();
        let context = context(&old, (&profile, &project), Some(&seed), release);
        scheduling::seed_selector(&mut errors, &new, &context).expect("a selector");
        assert_eq!(texts(&errors), expected, "1.{release} {before} {after}");
    }
}

/// Release, networking of the Shoot, true for a Shoot with a Seed, and errors.
#[test]
fn networks_are_compared_by_release() {
    let meet = json!({"ipFamilies": ["IPv4"], "pods": "10.0.0.0/16", "services": "10.0.0.0/16"});
    let meets = "spec.networking.services: Invalid value: \"10.0.0.0/16\": shoot pod network intersects with shoot service network";
    let reserved = json!({"ipFamilies": ["IPv4"], "pods": "10.0.0.0/16", "services": "241.0.0.0/16"});
    let range = "network intersects with reserved seed pod network mapping range (241.0.0.0/8)";
    let before_132 = format!("spec.networking.services: Invalid value: \"241.0.0.0/16\": shoot service {range}");
    let since_132 = format!("spec.networking.services: Invalid value: \"241.0.0.0/16\": service {range}");
    let none = json!({"ipFamilies": ["IPv4"]});
    let required = [
        "spec.networking.pods: Required value: pods is required",
        "spec.networking.services: Required value: services is required",
    ];
    let of_shoot = [
        "spec.networking.pods: Required value: shoot pod network is required",
        "spec.networking.services: Required value: shoot service network is required",
    ];
    let like_seed = json!({"ipFamilies": ["IPv4"], "pods": "10.9.0.0/16", "services": "10.8.0.0/16"});
    let on_seed =
        "spec.networking.pods: Invalid value: \"10.9.0.0/16\": shoot pod network intersects with seed pod network";
    for (release, networking, is_scheduled, expected) in [
        (145, &meet, false, vec![]),
        (146, &meet, false, vec![meets]),
        (145, &meet, true, vec![meets]),
        (146, &meet, true, vec![meets]),
        (131, &reserved, true, vec![before_132.as_str()]),
        (132, &reserved, true, vec![since_132.as_str()]),
        (145, &none, true, [required, of_shoot].concat()),
        (146, &none, true, required.to_vec()),
        (123, &like_seed, true, vec![on_seed, on_seed]),
        (124, &like_seed, true, vec![]),
    ] {
        let availability = json!({"highAvailability": {"failureTolerance": {"type": "node"}}});
        let mut new = shoot("1.0.0", &json!({"controlPlane": availability, "networking": networking}));
        new.spec.networking = serde_json::from_value(networking.clone()).expect("networks");
        let old = new.clone();
        new.spec.seed_name = is_scheduled.then(|| "x".to_owned());
        let seed = seed("x", &json!({"networks": {"pods": "10.9.0.0/16", "services": "10.7.0.0/16"}}));
        let (profile, project) = (profile(), Project::default());
        let mut errors = Errors::new();
        let context = context(&old, (&profile, &project), is_scheduled.then_some(&seed), release);
        networks::networks(&mut errors, &mut new, &context);
        assert_eq!(texts(&errors), expected, "1.{release} {networking}");
    }
}
