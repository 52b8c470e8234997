// SPDX-License-Identifier: Apache-2.0
//! Versions and images of Shoots against their CloudProfile, as tables (docs/usage/shoot-operations/shoot_versions.md;
//! plugin/pkg/shoot/validator/admission.go @ v1.120.0).

use serde_json::{Value, json};

use super::*;
use crate::release::Release;

const NOW: &str = "2025-06-15T12:00:00Z";
const PAST: &str = "2025-06-15T11:59:59Z";

/// Returns the instant of the tests with the documents' release.
fn at() -> crate::versions::Moment {
    crate::versions::Moment::new(now(), crate::release::DOCUMENTED)
}

fn now() -> chrono::DateTime<chrono::Utc> {
    NOW.parse().expect("RFC 3339")
}

/// Parses `1.31.2`, followed by marks: `s` supported, `~` deprecated, `?` preview, `!` expires now, `-` expired a second ago.
fn entry(text: &str) -> Value {
    let version = text.trim_end_matches(['s', '~', '?', '!', '-']);
    let marks = &text[version.len()..];
    let mut entry = json!({ "version": version });
    for (mark, class) in [('s', "supported"), ('~', "deprecated"), ('?', "preview")] {
        if marks.contains(mark) {
            entry["classification"] = json!(class);
        }
    }
    for (mark, date) in [('!', NOW), ('-', PAST)] {
        if marks.contains(mark) {
            entry["expirationDate"] = json!(date);
        }
    }
    entry
}

fn entries(list: &str) -> Vec<Value> {
    list.split_whitespace().map(entry).collect()
}

fn kubernetes(list: &str) -> Vec<ExpirableVersion> {
    serde_json::from_value(json!(entries(list))).expect("versions")
}

/// Returns a profile with images `os` and `other`; `other` runs on arm64 only.
fn images(list: &str) -> CloudProfileSpec {
    let mut profile: CloudProfile = serde_json::from_value(json!({"spec": {
        "type": "local",
        "kubernetes": {"versions": []},
        "machineTypes": [],
        "regions": [],
        "machineImages": [
            {"name": "os", "versions": entries(list)},
            {"name": "other", "versions": [{"version": "7.0.0", "architectures": ["arm64"]}]},
        ],
    }}))
    .expect("a CloudProfile");
    crate::defaulting::cloud_profile(&mut profile);
    profile.spec
}

fn path() -> Path {
    Path::new("version")
}

const OFFERED: &str = "1.33.0? 1.32.3~ 1.32.2s 1.31.9 1.30.5- 1.29.1!";

/// Version as written, and its completion. All values except those of three parts are completed.
const DEFAULTS: &str = "
           => 1.32.3
1          => 1.32.3
1.         => 1.32.3
1.32       => 1.32.3
1.31       => 1.31.9
.31        => 1.31.9
1.031      => 1.31.9
1.29       => 1.29.1
1.31.2.5   => 1.32.3
1.31.2     => as it is
1.31.x     => as it is
..         => as it is
1.33       => none
1.30       => none
2          => none
v1         => no number: v1
1.x        => no number: x
1.+2       => no number: +2
x.y        => no number: y
1.18446744073709551616 => no number: 18446744073709551616
";

#[test]
fn an_incomplete_version_becomes_the_highest_usable_one() {
    let offered = kubernetes(OFFERED);
    for row in DEFAULTS.lines().filter(|row| !row.is_empty()) {
        let (written, expected) = row.split_once("=>").expect("an arrow");
        let (written, expected) = (written.trim(), expected.trim());
        let actual = default_kubernetes_version(&offered, written, at(), &path());
        let text = match expected {
            "as it is" => Ok(None),
            "none" => Err(format!(
                "version: Invalid value: {written:?}: couldn't find a suitable version for {written}. Suitable versions \
                 have a non-expired expiration date and are no 'preview' versions. 'Preview'-classified versions have to \
                 be selected explicitly"
            )),
            other => match other.strip_prefix("no number: ") {
                Some(part) => Err(format!("version: Invalid value: {part:?}: must be a semantic version")),
                None => Ok(Some(other.to_owned())),
            },
        };
        assert_eq!(actual.map_err(|error| error.to_string()), text, "row: {row}");
    }
}

/// New version, old version, whether expired ones are excluded (new Shoot or pool); supported versions in the message.
const MEMBERS: &str = "
1.31.9 |        | new | accepted
1.33.0 |        | new | accepted
1.30.5 |        | new | 1.33.0 (preview), 1.32.3, 1.32.2, 1.31.9, 1.29.1
1.29.1 |        | new | accepted
1.30.5 | 1.30.5 | new | accepted
1.30.5 | 1.30.4 | old | accepted
1.28.0 | 1.28.0 | old | accepted
1.28.0 | 1.27.0 | old | 1.33.0 (preview), 1.32.3, 1.32.2, 1.31.9, 1.30.5, 1.29.1
1.31.x |        | new | 1.33.0 (preview), 1.32.3, 1.32.2, 1.31.9, 1.29.1
v1.31.9 |       | new | 1.33.0 (preview), 1.32.3, 1.32.2, 1.31.9, 1.29.1
";

#[test]
fn changed_versions_are_listed_and_new_ones_not_expired() {
    let offered = kubernetes(OFFERED);
    for row in MEMBERS.lines().filter(|row| !row.is_empty()) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [version, old, which, expected] = cells[..] else { panic!("four cells: {row}") };
        let error = check_kubernetes_version(&offered, version, old, which == "new", at(), &path());
        let expected = (expected != "accepted").then(|| {
            let list: Vec<String> = expected.split(", ").map(|one| format!("{one:?}")).collect();
            format!("version: Unsupported value: {version:?}: supported values: {}", list.join(", "))
        });
        assert_eq!(error.map(|error| error.to_string()), expected, "row: {row}");
    }
}

fn pool(image: &str, strategy: &str) -> Worker {
    let mut worker = Worker { name: "pool".to_owned(), ..Worker::default() };
    worker.machine.architecture = Some("amd64".to_owned());
    worker.update_strategy = Some(strategy.to_owned());
    worker.machine.image = (image != "-").then(|| {
        let (name, version) = image.split_once('@').unwrap_or((image, ""));
        let version = (!version.is_empty()).then(|| version.to_owned());
        ShootMachineImage { name: name.to_owned(), version, provider_config: None }
    });
    worker
}

/// Image of the stored pool, image of the new pool (`NAME@VERSION`), resulting image.
const IMAGE_DEFAULTS: &str = "
new     | -              | os@2.1.0
new     | os             | os@2.1.0
new     | os@1           | os@1.5.2
new     | os@v1          | os@1.5.2
new     | os@1.4         | os@1.4.9
new     | os@1.4.x       | os@1.4.x
new     | os@3           | failed to determine latest machine image from cloud profile: unable to determine latest expirable version
new     | os@1.2-rc      | 2-rc must be a semantic version: strconv.ParseUint: parsing \"2-rc\": invalid syntax
new     | os@1.99999999999999999999 | 99999999999999999999 must be a semantic version: strconv.ParseUint: parsing \"99999999999999999999\": value out of range
new     | lost           | image is not supported
new     | other          | failed to determine latest machine image from cloud profile: unable to determine latest expirable version
os@1.4.8 | -             | os@1.4.8
os@1.4.8 | os            | os@1.4.8
os@1.4.8 | os@1.4        | os@1.4
os@1.4.8 | other@1       | other@1
lost@1.0.0 | os          | os@2.1.0
";

#[test]
fn pools_keep_their_image_and_new_ones_get_the_latest() {
    // 3.0.0 is a preview, 2.2.0 deprecated; 2.1.0 is the highest supported version, although it has expired.
    let offered = images("3.0.0? 2.2.0~ 2.1.0s- 1.5.2 1.5.1~ 1.4.9");
    for row in IMAGE_DEFAULTS.lines().filter(|row| !row.is_empty()) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [old, written, expected] = cells[..] else { panic!("three cells: {row}") };
        let old = (old != "new").then(|| pool(old, "AutoRollingUpdate"));
        let actual = default_image(&pool(written, "AutoRollingUpdate"), old.as_ref(), &offered, at(), &path());
        match actual {
            Ok(image) => {
                assert_eq!(format!("{}@{}", image.name, image.version.unwrap_or_default()), expected, "row: {row}");
            }
            Err(error) => assert!(error.to_string().ends_with(expected), "row: {row}\n{error}"),
        }
    }
    let error = default_image(&pool("-", "AutoRollingUpdate"), None, &CloudProfileSpec::default(), at(), &path())
        .expect_err("no image");
    assert_eq!(
        error.to_string(),
        "version: Invalid value: \"\": the cloud profile does not contain any machine image - cannot create shoot cluster"
    );
    let mut arm = pool("-", "AutoRollingUpdate");
    arm.machine.architecture = Some("arm64".to_owned());
    let image = default_image(&arm, None, &offered, at(), &path()).expect("the first image for the architecture");
    assert_eq!((image.name.as_str(), image.version.as_deref()), ("other", Some("7.0.0")));
    arm.machine.architecture = Some("riscv".to_owned());
    let error = default_image(&arm, None, &offered, at(), &path()).expect_err("no image").to_string();
    assert!(error.ends_with("no valid machine image found that supports architecture `riscv`"), "{error}");
    let error =
        default_image(&pool("-", "AutoInPlaceUpdate"), None, &offered, at(), &path()).expect_err("none").to_string();
    assert!(error.ends_with("unable to determine latest expirable version"), "{error}");
}

/// Operation, old image, new image; expected error.
const IMAGE_CHECKS: &str = "
create | -        | os@2.0.0 | accepted
create | -        | os@1.5.0 | is expired, supported machine image versions are: [os:2.0.0 os:3.0.0]
create | -        | os@1.0.0 | is expired, supported machine image versions are: [os:2.0.0 os:3.0.0]
create | -        | os@9.0.0 | not supported: [os:2.0.0 os:3.0.0]
create | -        | other@7.0.0 | does not support CPU architecture \"amd64\", supported machine image versions are: []
update | os@1.4.0 | os@1.5.0 | accepted
update | os@1.4.0 | os@1.4.0 | accepted
update | os@1.6.0 | os@1.5.0 | is expired, supported machine image versions are: [os:2.0.0 os:3.0.0]
update | os@0.9.0 | os@1.0.0 | is expired, supported machine image versions are: [os:1.4.0 os:1.5.0 os:2.0.0 os:3.0.0]
update | os@3.0.0 | os@2.0.0 | accepted
update | os@odd.  | os@1.5.0 | accepted
update | lost@1.4.9 | os@1.5.0 | accepted
update | -        | os@1.5.0 | is expired, supported machine image versions are: [os:2.0.0 os:3.0.0]
";

#[test]
fn an_image_is_unexpired_or_higher_than_the_pools() {
    // 1.0.0 expires at this instant: neither active nor acceptable.
    let offered = images("3.0.0? 2.0.0s 1.5.0- 1.4.0- 1.0.0!");
    for row in IMAGE_CHECKS.lines().filter(|row| !row.is_empty()) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [operation, old, image, expected] = cells[..] else { panic!("four cells: {row}") };
        let old = (old != "-").then(|| pool(old, "AutoRollingUpdate"));
        let new = pool(image, "AutoRollingUpdate");
        let error = check_image(&new, old.as_ref(), &offered, operation == "update", at(), &path());
        let actual = error.map_or_else(|| "accepted".to_owned(), |error| error.to_string());
        if let Some(list) = expected.strip_prefix("not supported: ") {
            let text = format!("machine image version is not supported, supported machine image versions are: {list}");
            assert!(actual.ends_with(&text), "row: {row}\n{actual}");
        } else if expected == "accepted" {
            assert_eq!(actual, expected, "row: {row}");
        } else {
            let text = format!("machine image version '{}' {expected}", image.replace('@', ":"));
            assert!(actual.ends_with(&text), "row: {row}\n{actual}");
        }
    }
}

/// Cases of in-place updates: true if supported, minimum version to update from, old version (`-`: a new pool).
const IN_PLACE: &str = "
no  | -     | -     | does not support in-place updates
yes | -     | -     | accepted
yes | -     | 1.0.0 | cannot be in-place updated from the current version
yes | 1.0.0 | 1.0.0 | accepted
yes | 1.0.0 | 1.0.0-rc.1 | accepted
yes | 1.1.0 | 1.0.0 | cannot be in-place updated from the current version
yes | 1.0.0 | odd.  | cannot be in-place updated from the current version
no  | 1.0.0 | 1.0.0 | cannot be in-place updated from the current version
";

#[test]
fn in_place_pools_need_a_version_reachable_in_place() {
    for row in IN_PLACE.lines().filter(|row| !row.is_empty()) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [supported, least, old, expected] = cells[..] else { panic!("four cells: {row}") };
        let mut offered = images("2.0.0");
        offered.machine_images[0].versions[0].in_place_updates = Some(InPlaceUpdates {
            supported: supported == "yes",
            min_version_for_update: (least != "-").then(|| least.to_owned()),
        });
        let old = (old != "-").then(|| pool(&format!("os@{old}"), "AutoInPlaceUpdate"));
        let new = pool("os@2.0.0", "AutoInPlaceUpdate");
        let error = check_image(&new, old.as_ref(), &offered, true, at(), &path());
        let actual = error.map_or_else(|| "accepted".to_owned(), |error| error.to_string());
        if expected == "accepted" {
            assert_eq!(actual, expected, "row: {row}");
        } else {
            let text = format!("machine image version 'os:2.0.0' {expected}, supported machine image versions are: []");
            assert!(actual.ends_with(&text), "row: {row}\n{actual}");
        }
    }
}

/// Returns a CloudProfile for whole Shoots: Kubernetes 1.32.2 and 1.31.9; image `os` with constraints and runtimes.
fn cloud_profile() -> CloudProfileSpec {
    let mut profile: CloudProfile = serde_json::from_value(json!({"spec": {
        "type": "local",
        "kubernetes": {"versions": [{"version": "1.32.2"}, {"version": "1.31.9"}]},
        "machineTypes": [{"name": "small", "cpu": "2", "gpu": "0", "memory": "4Gi"}],
        "regions": [{"name": "here"}],
        "machineImages": [{"name": "os", "versions": [
            {"version": "2.0.0", "kubeletVersionConstraint": "< 1.32"},
            {"version": "1.0.0", "cri": [{"name": "containerd", "containerRuntimes": [{"type": "gvisor"}]}]},
        ]}],
    }}))
    .expect("a CloudProfile");
    crate::defaulting::cloud_profile(&mut profile);
    profile.spec
}

fn shoot(version: &str, pools: &Value) -> Shoot {
    let mut shoot: Shoot = serde_json::from_value(json!({"spec": {
        "region": "here",
        "kubernetes": {"version": version},
        "provider": {"type": "local", "workers": pools},
    }}))
    .expect("a Shoot");
    crate::defaulting::shoot(&mut shoot, 0, crate::release::DOCUMENTED);
    shoot
}

fn one_pool(image: &str, more: &Value) -> Value {
    let mut pool = json!({"name": "a", "machine": {"type": "small", "image": {"name": "os", "version": image}}});
    for (key, value) in more.as_object().into_iter().flatten() {
        pool[key] = value.clone();
    }
    json!([pool])
}

#[track_caller]
fn check(new: &Shoot, old: &Shoot, expected: &[&str]) {
    let errors = check_changed_versions(new, old, &cloud_profile(), at());
    assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
}

#[test]
fn refusals_are_ordered_and_incomplete_images_are_reported_alone() {
    let old = shoot("1.31.9", &one_pool("1.0.0", &json!({})));
    check(&old, &old, &[]);
    let lost = json!({"name": "b", "machine": {"type": "small", "image": {"name": "lost"}}});
    let mut pools = one_pool("1.0.0", &json!({}));
    pools.as_array_mut().expect("a list").push(lost);
    check(&shoot("1.20", &pools), &old, &["spec.provider.workers[1]: Invalid value: \"lost\": image is not supported"]);
    let pool = one_pool("3.0.0", &json!({"kubernetes": {"version": "1.30"}}));
    check(
        &shoot("1.20", &pool),
        &old,
        &[
            "spec.kubernetes.version: Invalid value: \"1.20\": couldn't find a suitable version for 1.20. Suitable \
             versions have a non-expired expiration date and are no 'preview' versions. 'Preview'-classified versions \
             have to be selected explicitly",
            "spec.kubernetes.version: Unsupported value: \"1.20\": supported values: \"1.32.2\", \"1.31.9\"",
            "spec.provider.workers[0].machine.image: Invalid value: core.ShootMachineImage{Name:\"os\", \
             ProviderConfig:(*runtime.RawExtension)(nil), Version:\"3.0.0\"}: machine image version is not supported, \
             supported machine image versions are: [os:1.0.0 os:2.0.0]",
            "spec.provider.workers[0].kubernetes.version: Invalid value: \"1.30\": couldn't find a suitable version for \
             1.30. Suitable versions have a non-expired expiration date and are no 'preview' versions. \
             'Preview'-classified versions have to be selected explicitly",
        ],
    );
    check(&shoot("1.31.9.1.", &one_pool("1.0.0", &json!({}))), &old, &[]);
    check(
        &shoot("1.31.", &one_pool("1.0.0", &json!({}))),
        &old,
        &[
            "spec.kubernetes.version: Unsupported value: \"1.31.\": supported values: \"1.32.2\", \"1.31.9\"",
            "spec.kubernetes.version: Invalid value: \"1.31.\": cannot parse the kubernetes version: Invalid Semantic \
             Version",
        ],
    );
}

#[test]
fn images_restrict_kubelets_and_container_runtimes() {
    let old = shoot("1.31.9", &one_pool("2.0.0", &json!({})));
    let dump = "core.ShootMachineImage{Name:\"os\", ProviderConfig:(*runtime.RawExtension)(nil), Version:\"2.0.0\"}";
    let kubelet = |version: &str| {
        format!(
            "spec.provider.workers[0].machine.image: Invalid value: {dump}: machine image 'os@2.0.0' does not support \
             kubelet version '{version}', supported kubelet versions by this machine image version: '< 1.32'"
        )
    };
    // A new version of the control plane is sufficient; a pool with its own version keeps it.
    check(&shoot("1.32.2", &one_pool("2.0.0", &json!({}))), &old, &[&kubelet("1.32.2")]);
    check(&shoot("1.32", &one_pool("2.0.0", &json!({}))), &old, &[&kubelet("1.32.2")]);
    check(&shoot("1.32.2", &one_pool("2.0.0", &json!({"kubernetes": {"version": "1.31.9"}}))), &old, &[]);
    // Even without a change: the constraint may have been added since.
    let stored = shoot("1.32.2", &one_pool("2.0.0", &json!({})));
    check(&stored, &stored, &[&kubelet("1.32.2")]);

    let with = |image: &str, cri: Value| shoot("1.31.9", &one_pool(image, &json!({ "cri": cri })));
    let gvisor = json!({"name": "containerd", "containerRuntimes": [{"type": "gvisor"}]});
    check(&with("1.0.0", gvisor.clone()), &old, &[]);
    check(
        &with("2.0.0", gvisor),
        &old,
        &[
            "spec.provider.workers[0].cri.containerRuntimes[0].type: Invalid value: \"gvisor\": machine image 'os@2.0.0' \
             does not support container runtime 'gvisor', supported values: []",
        ],
    );
    check(
        &with("1.0.0", json!({"name": "docker"})),
        &old,
        &[
            "spec.provider.workers[0].cri.name: Invalid value: \"docker\": machine image 'os@1.0.0' does not support CRI \
             'docker', supported values: [containerd]",
        ],
    );
}

/// A pool without its own configuration is checked with that of the pool before it, as upstream does.
#[test]
fn reservations_of_a_pool_reach_the_pools_after_it() {
    let pool = |name: &str, kubernetes: Value| json!({"name": name, "kubernetes": kubernetes, "machine": {"type": "small", "image": {"name": "os", "version": "1.0.0"}}});
    let greedy = json!({"kubelet": {"kubeReserved": {"cpu": "2"}}});
    let pools = json!([pool("a", greedy), pool("b", json!({"version": "1.31.9"}))]);
    let old = shoot("1.31.9", &pools);
    let text = |index: usize| {
        format!(
            "spec.provider.workers[{index}].kubernetes.kubelet: Invalid value: \"kubeReserved CPU + systemReserved CPU: \
             2\": total reserved CPU (kubeReserved + systemReserved) cannot be more than the Node's CPU capacity '2'"
        )
    };
    check(&old, &old, &[&text(0), &text(1)]);
}

/// Returns a context for a Shoot in a cluster without other objects.
fn context<'a>(old: &'a Shoot, profile: &'a CloudProfileSpec, project: &'a Project, seed: &'a Seed) -> Context<'a> {
    Context {
        operation: Operation::Update,
        binding: false,
        old: Some(old),
        cloud_profile: profile,
        project,
        seed: Some(seed),
        old_seed: Some(seed),
        shoots_on_seed: 0,
        secret_binding: None,
        old_secret_binding: None,
        credentials_binding: None,
        domains: &[],
        live_migration: false,
        at: at(),
    }
}

/// A change of the spec, and the resulting tasks of the next reconciliation.
#[test]
fn infrastructure_and_dns_records_are_deployed_again_when_they_change() {
    let records = "deployDNSRecordInternal,deployDNSRecordExternal,deployDNSRecordIngress";
    for (change, expected) in [
        (json!({}), ""),
        (json!({"purpose": "testing"}), ""),
        (json!({"provider": {"infrastructureConfig": {"kind": "B"}}}), "deployInfrastructure"),
        (json!({"provider": {"infrastructureConfig": null}}), "deployInfrastructure"),
        (json!({"networking": {"ipFamilies": ["IPv4", "IPv6"]}}), "deployInfrastructure"),
        (json!({"provider": {"workersSettings": {"sshAccess": {"enabled": false}}}}), "deployInfrastructure"),
        (json!({"dns": {"domain": "b.example"}}), records),
    ] {
        let mut old = shoot("1.31.9", &one_pool("1.0.0", &json!({})));
        old.spec.provider.infrastructure_config = serde_json::from_value(json!({"kind": "A"})).expect("raw");
        let mut tree = serde_json::to_value(&old).expect("a tree");
        merge(&mut tree["spec"], &change);
        let mut new: Shoot = serde_json::from_value(tree).expect("a Shoot");
        let (profile, project, seed) = (cloud_profile(), Project::default(), Seed::default());
        tasks(&mut new, &context(&old, &profile, &project, &seed));
        assert_eq!(new.metadata.annotation(annotation::SHOOT_TASKS).unwrap_or_default(), expected, "{change}");
    }
}

/// Applies a merge patch.
fn merge(tree: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        patch.clone_into(tree);
        return;
    };
    if !tree.is_object() {
        *tree = json!({});
    }
    for (name, value) in fields {
        merge(&mut tree[name], value);
    }
}

/// IP families of the Shoot; expected errors of its networks, which overlap the reserved ranges.
#[test]
fn networks_are_compared_where_a_shoot_has_addresses_of_ipv4() {
    for (families, expected) in [
        (
            json!(["IPv4"]),
            &[
                "spec.networking.services: Invalid value: \"10.0.0.0/16\": shoot pod network intersects with shoot service \
               network",
            ][..],
        ),
        (json!(["IPv6"]), &[]),
    ] {
        let mut new = shoot("1.31.9", &one_pool("1.0.0", &json!({})));
        new.spec.networking = serde_json::from_value(json!({
            "ipFamilies": families, "pods": "10.0.0.0/16", "services": "10.0.0.0/16", "nodes": "10.1.0.0/16",
        }))
        .expect("networks");
        let (old, profile, project, seed) = (new.clone(), cloud_profile(), Project::default(), Seed::default());
        let mut errors = Errors::new();
        networks::networks(&mut errors, &mut new, &context(&old, &profile, &project, &seed));
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected, "{families}");
    }
}

/// Labels and provider of a CloudProfile's `seedSelector`; the result for a Seed of type `local` in region `here`.
#[test]
fn seeds_match_labels_and_provider_of_the_cloud_profile() {
    let labels = "because the cloud profile seed selector is not matching the labels of the seed";
    let types = "because none of the provider types in the cloud profile seed selector is matching the provider type of the \
                 seed";
    for (selector, expected) in [
        (json!({"matchLabels": {"region": "here"}}), ""),
        (json!({"matchLabels": {"region": "there"}}), labels),
        (json!({"matchLabels": {"region": "here"}, "providerTypes": ["local"]}), ""),
        (json!({"providerTypes": ["*"]}), ""),
        (json!({"providerTypes": ["aws"]}), types),
    ] {
        let mut profile = cloud_profile();
        profile.seed_selector = serde_json::from_value(selector.clone()).expect("a selector");
        let seed: Seed = serde_json::from_value(json!({
            "metadata": {"name": "s", "labels": {"region": "here"}},
            "spec": {"provider": {"type": "local", "region": "here"}},
        }))
        .expect("a Seed");
        let mut old = shoot("1.31.9", &one_pool("1.0.0", &json!({})));
        "a".clone_into(&mut old.metadata.name);
        let mut new = old.clone();
        new.spec.seed_name = Some("s".to_owned());
        let project = Project::default();
        let context = Context { binding: true, ..context(&old, &profile, &project, &seed) };
        let said = match scheduling::scheduling(&new, &context) {
            Ok(()) => String::new(),
            Err(Refusal::Forbidden(text)) => text,
            Err(other) => panic!("{other:?}"),
        };
        let whole = if expected.is_empty() {
            String::new()
        } else {
            format!("cannot schedule shoot 'a' on seed 's' {expected}")
        };
        assert_eq!(said, whole, "{selector}");
    }
}

/// Returns a profile with images `a` for virtual machines of arm64, `b` 2.0.0 for virtual and 1.0.0 for metal ones, and
/// types `metal` and `arm`.
fn profile_with_capabilities() -> CloudProfileSpec {
    let mut profile: CloudProfile = serde_json::from_value(json!({"spec": {
        "machineCapabilities": [
            {"name": "architecture", "values": ["amd64", "arm64"]},
            {"name": "host", "values": ["virtual", "metal"]},
        ],
        "machineImages": [
            {"name": "a", "versions": [
                {"version": "1.0.0", "capabilityFlavors": [{"architecture": ["arm64"], "host": ["virtual"]}]},
            ]},
            {"name": "b", "versions": [
                {"version": "2.0.0", "capabilityFlavors": [{"architecture": ["amd64"], "host": ["virtual"]}]},
                {"version": "1.0.0", "capabilityFlavors": [{"architecture": ["amd64"], "host": ["metal"]}]},
            ]},
        ],
        "machineTypes": [
            {"name": "metal", "capabilities": {"architecture": ["amd64"], "host": ["metal"]}},
            {"name": "arm", "capabilities": {"architecture": ["arm64"]}},
        ],
    }}))
    .expect("a CloudProfile");
    crate::defaulting::cloud_profile(&mut profile);
    crate::defaulting::sync_architectures(&mut profile.spec, None, Release(149));
    profile.spec
}

fn pool_of(type_: &str, architecture: &str, written: &str) -> Worker {
    let mut worker = pool(written, "AutoRollingUpdate");
    type_.clone_into(&mut worker.machine.r#type);
    worker.machine.architecture = Some(architecture.to_owned());
    worker
}

#[test]
fn default_images_fit_the_machine_type() {
    let profile = profile_with_capabilities();
    let image = |minor, type_: &str, architecture: &str, written: &str| {
        let at = Moment::new(at().now, Release(minor));
        let image = default_image(&pool_of(type_, architecture, written), None, &profile, at, &path());
        image
            .map(|image| format!("{}@{}", image.name, image.version.unwrap_or_default()))
            .map_err(|error| error.to_string())
    };
    assert_eq!(image(124, "metal", "amd64", "-").as_deref(), Ok("b@2.0.0"), "capabilities count since v1.125");
    assert_eq!(image(125, "metal", "amd64", "-").as_deref(), Ok("b@1.0.0"));
    assert_eq!(image(149, "arm", "arm64", "-").as_deref(), Ok("a@1.0.0"));
    assert_eq!(image(149, "gone", "amd64", "-").as_deref(), Ok("b@2.0.0"), "an unknown type has no capabilities");
    let error = image(149, "metal", "amd64", "b@2").expect_err("no version fits");
    assert!(error.contains("failed to determine latest machine image from cloud profile"), "{error}");
}

#[test]
fn pools_whose_type_and_image_do_not_fit_are_refused() {
    let profile = profile_with_capabilities();
    let error = |minor, worker: &Worker| {
        let at = Moment::new(at().now, Release(minor));
        machines::check_capabilities(worker, &profile, at, &path()).map(|error| error.to_string())
    };
    let wrong = pool_of("metal", "amd64", "b@2.0.0");
    assert_eq!(error(123, &wrong), None, "capabilities count since v1.124");
    assert_eq!(
        error(124, &wrong).as_deref(),
        Some(
            "version: Invalid value: \"2.0.0\": machine capabilities map[architecture:[amd64] host:[metal]] of machine type \
             \"metal\" are not supported by machine image b:2.0.0"
        )
    );
    for fine in [
        pool_of("metal", "amd64", "b@1.0.0"),
        pool_of("gone", "amd64", "b@2.0.0"),
        pool_of("metal", "amd64", "b@9.0.0"),
    ] {
        assert_eq!(error(149, &fine), None);
    }
}

/// Source: validateMaxNodesTotal in plugin/pkg/shoot/validator/admission.go @ v1.135.0, v1.136.0.
#[test]
fn maximum_of_a_pool_is_limited_until_136() {
    let large = shoot("1.31.9", &one_pool("1.0.0", &json!({"minimum": 0, "maximum": 11})));
    let mut profile = cloud_profile();
    profile.limits = Some(Limits { max_nodes_total: Some(10) });
    let (project, seed) = (Project::default(), Seed::default());
    let maximum = "spec.provider.workers[0].maximum: Forbidden: the maximum node count of a worker pool must not exceed the \
                   limit of 10 configured in the CloudProfile";
    for (release, expected) in [(135, &[maximum][..]), (136, &[])] {
        let at = crate::versions::Moment::new(now(), Release(release));
        let mut errors = Errors::new();
        limits(&mut errors, &large, &Context { at, ..context(&large, &profile, &project, &seed) });
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected, "{release}");
    }
}
