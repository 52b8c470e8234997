// SPDX-License-Identifier: Apache-2.0
use super::*;

const NOW: &str = "2024-06-01T00:00:00Z";

/// Returns a CloudProfile that is valid once it is defaulted.
fn profile(change: impl FnOnce(&mut CloudProfile)) -> CloudProfile {
    let spec = serde_json::json!({
        "type": "local",
        "kubernetes": {"versions": [{"version": "1.31.1"}]},
        "machineImages": [{"name": "os", "versions": [{"version": "1.0.0"}]}],
        "machineTypes": [{"name": "small", "cpu": "1", "gpu": "0", "memory": "1Gi"}],
        "regions": [{"name": "here"}],
    });
    let mut profile = CloudProfile::default();
    profile.metadata.name = "local".to_owned();
    profile.spec = serde_json::from_value(spec).unwrap();
    change(&mut profile);
    crate::defaulting::cloud_profile(&mut profile);
    profile
}

fn version(text: &str, classification: &str, date: &str) -> ExpirableVersion {
    ExpirableVersion {
        version: text.to_owned(),
        classification: (!classification.is_empty()).then(|| classification.to_owned()),
        expiration_date: (!date.is_empty()).then(|| Time(date.parse().unwrap())),
        lifecycle: Vec::new(),
    }
}

#[track_caller]
fn check(profile: &CloudProfile, expected: &[&str]) {
    let errors = cloud_profile(profile, Profile::Documents, Gates::default(), NOW.parse().unwrap());
    assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
}

#[test]
fn an_empty_profile_lacks_everything_in_order() {
    let mut empty = CloudProfile::default();
    empty.metadata.name = "local".to_owned();
    check(
        &empty,
        &[
            "spec.type: Required value: must provide a provider type",
            "spec.kubernetes.versions: Required value: must provide at least one Kubernetes version",
            "spec.kubernetes.versions: Invalid value: \"\": failed to determine the latest kubernetes version from \
             the cloud profile",
            "spec.machineImages: Required value: must provide at least one machine image",
            "spec.machineTypes: Required value: must provide at least one machine type",
            "spec.regions: Required value: must provide at least one region",
        ],
    );
    check(&profile(|_| {}), &[]);
}

#[test]
fn names_are_qualified_since_125() {
    let changed = profile(|profile| {
        profile.spec.machine_types[0].name = "a/small".to_owned();
        profile.spec.machine_images[0].name = "my os".to_owned();
        profile.spec.volume_types =
            vec![VolumeType { name: "-fast".to_owned(), class: "a/b".to_owned(), ..VolumeType::default() }];
    });
    let shape = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                 alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                 '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let expected = [
        format!(
            "spec.machineImages[0].name: Invalid value: \"my os\": machine image name must be a qualified name: [{shape}]"
        ),
        "spec.machineTypes[0].name: Invalid value: \"a/small\": machine type name must be a qualified name: [name \
         'a/small' must not contain a prefix]"
            .to_owned(),
        format!("spec.volumeTypes[0].name: Invalid value: \"-fast\": volume type name must be a qualified name: [{shape}]"),
        "spec.volumeTypes[0].class: Invalid value: \"a/b\": volume class must be a qualified name: [name 'a/b' must not \
         contain a prefix]"
            .to_owned(),
    ];
    for (release, expected) in [(124, &[][..]), (125, &expected), (149, &expected)] {
        let gates = Gates { release: crate::release::Release(release), ..Gates::default() };
        let errors = cloud_profile(&changed, Profile::Documents, gates, NOW.parse().unwrap());
        let found: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{release}");
    }
}

#[test]
fn kubernetes_versions_have_three_parts() {
    let with = |versions: Vec<ExpirableVersion>| profile(|profile| profile.spec.kubernetes.versions = versions);
    check(&with(vec![version("1.31.1", "supported", ""), version("1.31.0", "deprecated", "")]), &[]);
    let text = |index: usize, version: &str| {
        format!(
            "spec.kubernetes.versions[{index}]: Forbidden: unable to add version \"{version}\" with classification \
             \"supported\". Only one \"supported\" version is allowed per minor version"
        )
    };
    check(
        &with(vec![version("1.31.1", "supported", ""), version("1.31.0", "supported", "")]),
        &[&text(0, "1.31.1"), &text(1, "1.31.0")],
    );
    check(
        &with(vec![version("1.31.1", "", ""), version("1.31.1", "old", "")]),
        &[
            "spec.kubernetes.versions[1].version: Duplicate value: \"1.31.1\"",
            "spec.kubernetes.versions[1].classification: Unsupported value: \"old\": supported values: \
             \"deprecated\", \"preview\", \"supported\"",
        ],
    );
    let errors =
        cloud_profile(&with(vec![version("1.31", "", "")]), Profile::Documents, Gates::default(), NOW.parse().unwrap());
    assert!(
        errors[0].to_string().ends_with("all Kubernetes versions must match the regex ^([0-9]+\\.){2}[0-9]+$"),
        "{errors:?}"
    );
}

#[test]
fn the_latest_kubernetes_version_does_not_expire() {
    let with = |date| {
        profile(|profile| {
            profile.spec.kubernetes.versions = vec![version("1.31.1", "", ""), version("1.32.0", "preview", date)];
        })
    };
    check(&with(""), &[]);
    check(
        &with("2025-01-01T00:00:00Z"),
        &["spec.kubernetes.versions[].expirationDate: Invalid value: 2025-01-01 00:00:00 +0000 UTC: expiration date \
           of latest kubernetes version ('1.32.0') must not be set"],
    );
}

/// versions-and-maintenance 2.1: a date in the past refuses an added version, in profile `documents`.
#[test]
fn only_added_versions_must_not_be_expired() {
    let with = |date| {
        profile(|profile| {
            profile.spec.kubernetes.versions = vec![version("1.31.1", "", ""), version("1.30.1", "", date)];
        })
    };
    let past = "spec.kubernetes.versions[1].expirationDate: Invalid value: 2024-05-31 23:59:59 +0000 UTC: \
                expiration date for version \"1.30.1\" is in the past";
    check(&with("2024-06-01T00:00:00Z"), &[]);
    check(&with("2024-05-31T23:59:59Z"), &[past]);
    let now = NOW.parse().unwrap();
    let (old, new) = (with(""), with("2024-05-31T23:59:59Z"));
    assert_eq!(cloud_profile_update(&new, &old, Profile::Documents, Gates::default(), now), []);
    let without = profile(|_| {});
    assert_eq!(cloud_profile_update(&new, &without, Profile::Documents, Gates::default(), now).len(), 1);
    assert_eq!(cloud_profile_update(&new, &without, Profile::Upstream, Gates::default(), now), []);
}

#[test]
fn expired_versions_are_dropped_upstream() {
    let mut new = profile(|profile| {
        profile.spec.kubernetes.versions.push(version("1.30.1", "", "2024-05-31T23:59:59Z"));
    });
    drop_expired_versions(&mut new, Profile::Documents, Moment::new(NOW.parse().unwrap(), crate::release::DOCUMENTED));
    assert_eq!(new.spec.kubernetes.versions.len(), 2);
    drop_expired_versions(&mut new, Profile::Upstream, Moment::new(NOW.parse().unwrap(), crate::release::DOCUMENTED));
    assert_eq!(new.spec.kubernetes.versions.len(), 1);
}

#[test]
fn images_have_semantic_versions_and_known_constraints() {
    let with = |change: fn(&mut MachineImageVersion)| {
        profile(|profile| change(&mut profile.spec.machine_images[0].versions[0]))
    };
    check(&with(|version| version.kubelet_version_constraint = Some(">= 1.28".to_owned())), &[]);
    check(
        &with(|version| version.kubelet_version_constraint = Some("new".to_owned())),
        &["spec.machineImages[0].versions[0].kubeletVersionConstraint: Invalid value: \"new\": cannot parse the \
           kubeletVersionConstraint: improper constraint: new"],
    );
    check(
        &with(|version| version.architectures = vec!["riscv".to_owned()]),
        &["spec.machineImages[0].versions[0].architectures[0]: Unsupported value: \"riscv\": supported values: \
           \"amd64\", \"arm64\""],
    );
    check(
        &with(|version| version.version = "old".to_owned()),
        &[
            "spec.machineImages: Invalid value: map[string]core.MachineImageVersion(nil): failed to determine latest \
             machine image version for image 'os': error while parsing expirable version 'old': Invalid Semantic \
             Version",
            "spec.machineImages[0].versions[0].version: Invalid value: \"old\": could not parse version. Use a \
             semantic version. In case there is no semantic version for this image use the extensibility provider \
             (define mapping in the CloudProfile) to map to the actual non semantic version",
        ],
    );
}

#[test]
fn limits_only_grow() {
    let with = |nodes| profile(|profile| profile.spec.limits = Some(Limits { max_nodes_total: Some(nodes) }));
    check(&with(1), &[]);
    let text = "spec.limits.maxNodesTotal: Invalid value: 0: maxNodesTotal must be greater than 0";
    check(&with(0), &[text]);
    let update = |new, old| {
        let errors =
            cloud_profile_update(&with(new), &with(old), Profile::Documents, Gates::default(), NOW.parse().unwrap());
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(update(3, 2), Vec::<String>::new());
    assert_eq!(update(1, 2), ["spec.limits.maxNodesTotal: Invalid value: 1: maxNodesTotal cannot be decreased"]);
}

#[test]
fn limits_of_a_namespaced_profile_may_decrease_since_1_136() {
    let with = |nodes| {
        let mut profile = NamespacedCloudProfile::default();
        (profile.metadata.name, profile.metadata.namespace) = ("own".to_owned(), "garden-dev".to_owned());
        profile.spec.parent = CloudProfileReference { kind: "CloudProfile".to_owned(), name: "local".to_owned() };
        profile.spec.limits = Some(Limits { max_nodes_total: Some(nodes) });
        profile
    };
    let update = |minor: u16, new, old| {
        let gates = Gates { release: crate::release::Release(minor), ..Gates::default() };
        let errors = namespaced_cloud_profile_update(&with(new), &with(old), gates);
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let decreased = "spec.limits.maxNodesTotal: Invalid value: 1: maxNodesTotal cannot be decreased";
    assert_eq!(update(135, 1, 2), [decreased]);
    assert_eq!(update(136, 1, 2), [""; 0]);
    let positive = "spec.limits.maxNodesTotal: Invalid value: 0: maxNodesTotal must be greater than 0";
    assert_eq!(update(136, 0, 2), [positive, positive]);
}

#[test]
fn values_of_the_seed_selector_are_labels_since_1_127() {
    let changed = profile(|profile| {
        let selector = serde_json::json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["-"]}]});
        profile.spec.seed_selector = Some(serde_json::from_value(selector).unwrap());
    });
    for (minor, expected) in [(126, &[][..]), (127, &["spec.seedSelector.matchExpressions[0].values[0]"])] {
        let gates = Gates { release: crate::release::Release(minor), ..Gates::default() };
        let errors = cloud_profile(&changed, Profile::Documents, gates, NOW.parse().unwrap());
        assert_eq!(errors.iter().map(|error| error.field.as_str()).collect::<Vec<_>>(), expected, "{minor}");
    }
}
