// SPDX-License-Identifier: Apache-2.0
use apimachinery::meta::Time;
use serde_json::json;

use super::*;

const NOW: &str = "2024-06-01T00:00:00Z";
const PAST: &str = "2024-05-31T23:59:59Z";
const FUTURE: &str = "2025-01-01T00:00:00Z";

/// Returns the instant of the tests with the documents' release.
fn at() -> crate::versions::Moment {
    crate::versions::Moment::new(now(), crate::release::DOCUMENTED)
}

fn now() -> DateTime<Utc> {
    NOW.parse().expect("RFC 3339")
}

/// Returns a profile with Kubernetes 1.31.1, expired, and 1.32.0; image `os` 1.0.0, expired, and 2.0.0.
fn parent() -> CloudProfileSpec {
    let version = |version: &str, date: Option<&str>| {
        let mut version = json!({"version": version, "cri": [{"name": "containerd"}], "architectures": ["amd64"]});
        if let Some(date) = date {
            version["expirationDate"] = json!(date);
        }
        version
    };
    serde_json::from_value(json!({
        "type": "local",
        "regions": [{"name": "here"}],
        "kubernetes": {"versions": [{"version": "1.31.1", "expirationDate": PAST}, {"version": "1.32.0"}]},
        "machineImages": [
            {"name": "os", "updateStrategy": "major", "versions": [version("1.0.0", Some(PAST)), version("2.0.0", None)]},
        ],
        "machineTypes": [{"name": "small", "cpu": "1", "gpu": "0", "memory": "1Gi", "architecture": "amd64"}],
    }))
    .expect("a specification")
}

/// Returns a NamespacedCloudProfile with this specification and the resulting status.
fn profile(spec: serde_json::Value) -> NamespacedCloudProfile {
    let mut profile = NamespacedCloudProfile::default();
    profile.metadata.name = "own".to_owned();
    profile.metadata.namespace = "garden-dev".to_owned();
    profile.spec = serde_json::from_value(spec).expect("a specification");
    profile.spec.parent = CloudProfileReference { kind: "CloudProfile".to_owned(), name: "local".to_owned() };
    profile.status.cloud_profile_spec = merge(&parent(), &profile.spec);
    profile
}

fn kubernetes(version: &str, date: &str) -> serde_json::Value {
    json!({"kubernetes": {"versions": [{"version": version, "expirationDate": date}]}})
}

fn image(name: &str, versions: serde_json::Value) -> serde_json::Value {
    json!({"machineImages": [{"name": name, "versions": versions}]})
}

#[track_caller]
fn check(new: serde_json::Value, old: Option<serde_json::Value>, expected: &str) {
    check_in(Gates::default().release.0, new, old, expected);
}

#[track_caller]
fn check_in(minor: u16, new: serde_json::Value, old: Option<serde_json::Value>, expected: &str) {
    let old = old.map(profile);
    let gates = Gates { release: Release(minor), ..Gates::default() };
    let result = check_namespaced(&profile(new), old.as_ref(), &parent(), gates, now());
    let text = match result {
        Ok(()) => String::new(),
        Err(Refusal::Plain(text)) => text,
        Err(Refusal::BadRequest(text)) => format!("400 {text}"),
        Err(other) => panic!("{other:?}"),
    };
    assert!(
        text.starts_with(expected) && text.is_empty() == expected.is_empty(),
        "expected {expected}\nactual   {text}"
    );
}

/// versions-and-maintenance 1.4: a NamespacedCloudProfile must be compatible with its parent.
#[test]
fn kubernetes_overrides_move_the_dates_of_known_versions() {
    check(kubernetes("1.31.1", FUTURE), None, "");
    check(
        kubernetes("1.30.0", FUTURE),
        None,
        "invalid kubernetes version specified: '1.30.0' does not exist in parent CloudProfile and thus cannot be \
         overridden",
    );
    let without = json!({"kubernetes": {"versions": [{"version": "1.31.1"}]}});
    check(without, None, "specified version '1.31.1' does not set expiration date");
    // A past date is refused on updates only, unless it is already in effect.
    check(kubernetes("1.31.1", PAST), None, "");
    let earlier = "2024-05-01T00:00:00Z";
    check(kubernetes("1.31.1", earlier), Some(json!({})), "expiration date for version \"1.31.1\" is in the past");
    check(kubernetes("1.31.1", earlier), Some(kubernetes("1.31.1", earlier)), "");
    check(kubernetes("1.31.1", PAST), Some(json!({})), "");
    // The merged result is checked as a CloudProfile is: its latest version must not expire.
    check(
        kubernetes("1.32.0", FUTURE),
        None,
        "error while validating merged NamespacedCloudProfile: [status.cloudProfileSpec.kubernetes.versions[]\
         .expirationDate: Invalid value: 2025-01-01 00:00:00 +0000 UTC: expiration date of latest kubernetes version \
         ('1.32.0') must not be set]",
    );
}

#[test]
fn image_overrides_move_dates_and_add_versions() {
    let path = "spec.machineImages[0].versions[0]";
    check(image("os", json!([{"version": "1.0.0", "expirationDate": FUTURE}])), None, "");
    check(
        image("os", json!([{"version": "1.0.0"}])),
        None,
        &format!("{path}.expirationDate: Invalid value: null: expiration date for version \"1.0.0\" must be set"),
    );
    for (field, value, what) in [
        ("classification", json!("supported"), "a classification"),
        ("cri", json!([{"name": "containerd"}]), "a cri"),
        ("architectures", json!(["arm64"]), "an architecture"),
        ("capabilitySets", json!([{"architecture": ["arm64"]}]), "capabilities"),
        ("kubeletVersionConstraint", json!("> 1.30"), "a kubelet version constraint"),
    ] {
        let mut version = json!({"version": "1.0.0", "expirationDate": FUTURE});
        version[field] = value;
        let text = format!(
            "{path}.{field}: Forbidden: must not provide {what} to an extended machine image in \
             NamespacedCloudProfile"
        );
        check(image("os", json!([version])), None, &text);
    }
    let whole = json!({"version": "3.0.0", "cri": [{"name": "containerd"}], "architectures": ["amd64"]});
    check(image("os", json!([whole])), None, "");
    check(
        image("own", json!([whole])),
        None,
        "spec.machineImages[0][0].updateStrategy: Required value: must provide an update strategy",
    );
    // A value that only this profile had is kept after its parent received one.
    let with = |architecture: &str| json!([{"version": "2.0.0", "cri": [{"name": "containerd"}], "architectures": [architecture]}]);
    let before = image("os", with("arm64"));
    check(before.clone(), Some(before.clone()), "");
    let after = image("os", with("amd64"));
    check(
        after,
        Some(before),
        &format!(
            "{path}: Forbidden: cannot update the machine image version spec of \"os@2.0.0\", as this version has \
             been added to the parent CloudProfile by now"
        ),
    );
}

#[test]
fn whole_images_are_judged_once_since_1_132() {
    let whole = json!({"version": "x", "cri": [{"name": "containerd"}], "architectures": ["amd64"]});
    let own = image("own", json!([whole]));
    check_in(131, own.clone(), None, "[spec.machineImages[0]: Invalid value: map[string]core.MachineImageVersion(nil)");
    let text = "spec.machineImages[0].versions[0].version: Invalid value: \"x\": could not parse version.";
    check_in(132, own, None, text);
    // A version of an image of the parent.
    let text = "spec.machineImages[0].versions[0].version: Invalid value: \"x\": could not parse version.";
    check_in(132, image("os", json!([whole])), None, text);
    check_in(131, image("os", json!([whole])), None, "error while validating merged NamespacedCloudProfile: ");
    let whole = json!({"version": "3.0.0", "cri": [{"name": "containerd"}], "architectures": ["amd64"]});
    check_in(
        132,
        image("own", json!([whole])),
        None,
        "error while validating merged NamespacedCloudProfile: [status.cloudProfileSpec.machineImages[1].updateStrategy: \
         Required value: must provide an update strategy]",
    );
}

#[test]
fn overrides_have_no_updates_in_place_since_1_124() {
    let updates = json!({"supported": true, "minVersionForUpdate": "1.0.0"});
    let own = image("os", json!([{"version": "1.0.0", "expirationDate": FUTURE, "inPlaceUpdates": updates}]));
    let text = "spec.machineImages[0].versions[0].inPlaceUpdates: Forbidden: must not provide inPlaceUpdates to an \
                extended machine image in NamespacedCloudProfile";
    check_in(123, own.clone(), None, "");
    check_in(124, own.clone(), None, text);
    check_in(149, own.clone(), None, text);
    check_in(149, own.clone(), Some(own), "");
}

#[test]
fn dates_of_the_parents_versions_may_change_since_1_135() {
    let with = |date: &str, architecture: &str| {
        let version = json!({"version": "2.0.0", "cri": [{"name": "containerd"}], "architectures": [architecture],
                             "expirationDate": date});
        image("os", json!([version]))
    };
    let path = "spec.machineImages[0].versions[0]";
    let text = |exception: &str| {
        format!(
            "{path}: Forbidden: cannot update the machine image version spec{exception} of \"os@2.0.0\", as this \
             version has been added to the parent CloudProfile by now"
        )
    };
    let (before, later) = (with(FUTURE, "amd64"), with("2025-02-01T00:00:00Z", "amd64"));
    check_in(134, later.clone(), Some(before.clone()), &text(""));
    check_in(135, later, Some(before.clone()), "");
    let other = with("2025-02-01T00:00:00Z", "arm64");
    check_in(135, other, Some(before), &text(" (except for the expiration date)"));
}

#[test]
fn machine_types_of_the_parent_are_not_overwritten() {
    let own = json!({"machineTypes": [{"name": "small", "cpu": "2", "gpu": "0", "memory": "1Gi"}]});
    let text = "400 NamespacedCloudProfile attempts to overwrite parent CloudProfile with machineType: \
                {\"cpu\":\"2\",\"gpu\":\"0\",\"memory\":\"1Gi\",\"name\":\"small\"}";
    check(own.clone(), None, text);
    check(own.clone(), Some(own.clone()), "");
    check_in(144, own.clone(), None, text);
    check_in(145, own, None, "");
}

fn shoot(version: &str, image: &str) -> Arc<Shoot> {
    let mut shoot = Shoot::default();
    shoot.metadata.namespace = "garden-dev".to_owned();
    shoot.metadata.name = "a".to_owned();
    shoot.spec.cloud_profile =
        Some(CloudProfileReference { kind: "NamespacedCloudProfile".to_owned(), name: "own".to_owned() });
    shoot.spec.kubernetes.version = version.to_owned();
    let mut worker = Worker { name: "pool".to_owned(), ..Worker::default() };
    worker.machine.r#type = "small".to_owned();
    worker.machine.image =
        Some(ShootMachineImage { name: "os".to_owned(), version: Some(image.to_owned()), provider_config: None });
    shoot.spec.provider.workers.push(worker);
    Arc::new(shoot)
}

#[test]
fn overrides_that_shoots_need_stay() {
    let both = |kubernetes: &str, image: &str| {
        let mut spec = self::kubernetes(kubernetes, FUTURE);
        spec["machineImages"] = json!([{"name": "os", "versions": [{"version": image, "expirationDate": FUTURE}]}]);
        profile(spec)
    };
    let check = |old: &NamespacedCloudProfile, shoot: &Arc<Shoot>, lines: &[&str]| {
        let new = profile(json!({}));
        assert!(takes_away(&new, old));
        let result = check_overrides_in_use(&new, old, &parent(), std::slice::from_ref(shoot), at());
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let expected = if lines.is_empty() { Ok(()) } else { Err(Refusal::Forbidden(multierror(&lines))) };
        assert_eq!(result, expected);
    };
    let old = both("1.31.1", "1.0.0");
    let kubernetes = "unable to delete Kubernetes version \"1.31.1\" from NamespacedCloudProfile 'garden-dev/own' - \
                      version with extended expiration date is still in use by shoot 'garden-dev/a'";
    let image = "unable to delete Machine image version 'os/1.0.0' from NamespacedCloudProfile 'garden-dev/own' - \
                 version is still in use by shoot 'garden-dev/a' by worker \"pool\"";
    check(&old, &shoot("1.31.1", "1.0.0"), &[kubernetes, image]);
    check(&old, &shoot("1.32.0", "1.0.0"), &[image]);
    check(&old, &shoot("1.32.0", "2.0.0"), &[]);
    // The parent's date is in the future, or missing: nothing is lost. A version that the parent lacks is.
    check(&both("1.32.0", "2.0.0"), &shoot("1.32.0", "2.0.0"), &[]);
    let image = "unable to delete Machine image version 'os/3.0.0' from NamespacedCloudProfile 'garden-dev/own' - \
                 version is still in use by shoot 'garden-dev/a' by worker \"pool\"";
    check(&both("1.31.1", "3.0.0"), &shoot("1.32.0", "3.0.0"), &[image]);
    assert!(!takes_away(&old, &old));
}

#[test]
fn a_reference_changes_below_one_cloud_profile_only() {
    let reference = |kind: &str, name: &str| CloudProfileReference { kind: kind.to_owned(), name: name.to_owned() };
    let (local, other) = (reference("CloudProfile", "local"), reference("CloudProfile", "other"));
    let own = reference("NamespacedCloudProfile", "own");
    let check_hierarchy = |before, now| super::check_hierarchy(before, now, Release(108));
    assert_eq!(check_hierarchy((&local, &local), (&own, &local)), Ok(()));
    assert_eq!(check_hierarchy((&own, &local), (&local, &local)), Ok(()));
    let text = |from: &str, to: &str| {
        Err(Refusal::Plain(format!(
            "cloud profile reference change is invalid: cannot change from {from} to {to}. The cloud profile \
             reference must remain within the same hierarchy"
        )))
    };
    assert_eq!(check_hierarchy((&local, &local), (&other, &other)), text("\"local\"", "\"other\""));
    let expected = text("\"own\" (root: \"local\")", "\"other\"");
    assert_eq!(check_hierarchy((&own, &local), (&other, &other)), expected);
    let expected = text("\"other\"", "\"own\" (root: \"local\")");
    assert_eq!(check_hierarchy((&other, &other), (&own, &local)), expected);
    // Up to 1.107 only to a descendant.
    let before_108 = |before, now| super::check_hierarchy(before, now, Release(107));
    let expected = Err(Refusal::Plain(
        "a Seed's CloudProfile may only be changed to a descendant NamespacedCloudProfile, other modifications are \
         currently not supported"
            .to_owned(),
    ));
    assert_eq!(before_108((&local, &local), (&own, &local)), Ok(()));
    assert_eq!(before_108((&own, &local), (&local, &local)), expected);
    assert_eq!(before_108((&local, &local), (&other, &other)), expected);
    assert_eq!(before_108((&other, &other), (&own, &local)), expected);
}

#[test]
fn new_profile_must_offer_the_values_of_the_shoot() {
    let lacks = "newly referenced cloud profile does not contain the";
    let check = |shoot: &Shoot, change: fn(&mut CloudProfileSpec), expected: Option<String>| {
        let mut new = parent();
        change(&mut new);
        let expected = expected.map_or(Ok(()), |text| Err(Refusal::Plain(text)));
        assert_eq!(check_still_offered(shoot, &parent(), &new, Release(108)), expected);
        assert_eq!(check_still_offered(shoot, &parent(), &new, Release(107)), Ok(()));
    };
    // Kubernetes versions are not compared; neither is an image version that the old profile lacks, too.
    check(&shoot("1.31.1", "1.0.0"), |new| new.kubernetes.versions.clear(), None);
    check(&shoot("1.31.1", "9.9.9"), |new| new.machine_images.clear(), None);
    let text = format!("{lacks} machine image version \"os@1.0.0\" currently in use by worker \"pool\"");
    check(&shoot("1.31.1", "1.0.0"), |new| drop(new.machine_images[0].versions.remove(0)), Some(text));
    let text = format!("{lacks} machine type \"small\" currently in use by worker \"pool\"");
    check(&shoot("1.31.1", "1.0.0"), |new| new.machine_types.clear(), Some(text));
    let mut with_volume = Shoot::clone(&shoot("1.31.1", "1.0.0"));
    with_volume.spec.provider.workers[0].volume = Some(Volume { r#type: Some("fast".to_owned()), ..Volume::default() });
    let text = format!("{lacks} volume type \"fast\" currently in use by worker \"pool\"");
    check(&with_volume, |_| {}, Some(text));
}

/// versions-and-maintenance 1.4: new entries that have expired are dropped before validation.
#[test]
fn expired_overrides_are_dropped_unless_they_were_there() {
    use crate::validation::cloud_profile::drop_expired_overrides;
    let mut spec = kubernetes("1.31.1", PAST);
    spec["machineImages"] = json!([
        {"name": "os", "versions": [{"version": "1.0.0", "expirationDate": PAST}]},
        {"name": "kept", "updateStrategy": "minor", "versions": [{"version": "1.0.0", "expirationDate": PAST}]},
    ]);
    let old = profile(spec);
    let mut new = old.clone();
    drop_expired_overrides(&mut new, Some(&old), at());
    assert_eq!(new, old);
    drop_expired_overrides(&mut new, None, at());
    assert_eq!(new.spec.kubernetes.map(|kubernetes| kubernetes.versions.len()), Some(0));
    let images: Vec<_> = new.spec.machine_images.iter().map(|one| (one.name.as_str(), one.versions.len())).collect();
    assert_eq!(images, [("kept", 0)]);
    let at_now = Some(Time(now()));
    let mut new = profile(json!({}));
    new.spec.kubernetes = Some(KubernetesSettings {
        versions: vec![ExpirableVersion {
            version: "1.31.1".to_owned(),
            expiration_date: at_now,
            ..Default::default()
        }],
    });
    drop_expired_overrides(&mut new, None, at());
    assert_eq!(new.spec.kubernetes.map(|kubernetes| kubernetes.versions.len()), Some(1));
}
