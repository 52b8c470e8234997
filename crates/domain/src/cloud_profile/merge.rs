// SPDX-License-Identifier: Apache-2.0
//! A NamespacedCloudProfile laid over its parent.
//!
//! Source: pkg/controllermanager/controller/namespacedcloudprofile @ v1.120.0.

use api::core::{CloudProfileSpec, ExpirableVersion, MachineImage, MachineImageVersion, NamespacedCloudProfileSpec};

use super::{kubernetes_version, machine_image_version};
use crate::capabilities::{self, ARCHITECTURE, Capabilities, machine_type_architecture};

/// Returns a NamespacedCloudProfile's specification in the format of its parent: with capabilities derived from
/// legacy fields of architectures if the parent registers capabilities, else with legacy fields only.
///
/// Source: TransformSpecToParentFormat in pkg/utils/gardener/namespacedcloudprofile.go @ v1.149.0.
pub fn in_format_of_parent(spec: &NamespacedCloudProfileSpec, parent: &CloudProfileSpec) -> NamespacedCloudProfileSpec {
    let mut spec = spec.clone();
    let registered = capabilities::registered(parent);
    let set = |one: &str| Capabilities::from([(ARCHITECTURE.to_owned(), vec![one.to_owned()])]);
    for version in spec.machine_images.iter_mut().flat_map(|image| &mut image.versions) {
        if registered.is_empty() {
            if version.architectures.is_empty() {
                version.architectures =
                    capabilities::architectures(version, &[]).into_iter().map(str::to_owned).collect();
            }
            version.capability_flavors.clear();
            version.capability_sets.clear();
        } else if capabilities::flavors(version).is_empty() {
            let made = version.architectures.iter().map(|one| set(one)).collect();
            let is_second_generation = !parent.machine_capabilities.is_empty();
            *(if is_second_generation { &mut version.capability_flavors } else { &mut version.capability_sets }) = made;
        }
    }
    for machine_type in &mut spec.machine_types {
        if registered.is_empty() {
            let first = machine_type.capabilities.get(ARCHITECTURE).and_then(|values| values.first()).cloned();
            machine_type.architecture = machine_type.architecture.take().or(first);
            machine_type.capabilities.clear();
        } else if machine_type.capabilities.is_empty() {
            let architecture = machine_type_architecture(machine_type, registered).unwrap_or("amd64");
            machine_type.capabilities = set(architecture);
        }
    }
    spec
}

/// The specification that Shoots of a NamespacedCloudProfile see: the parent's, overlaid with its own.
///
/// Order is the parent's, then what was added. Of Kubernetes versions only the expiration date is taken, and only for
/// versions that the parent has.
pub fn merge(parent: &CloudProfileSpec, overlay: &NamespacedCloudProfileSpec) -> CloudProfileSpec {
    let overlay = &in_format_of_parent(overlay, parent);
    let mut merged = parent.clone();
    for own in overlay.kubernetes.iter().flat_map(|kubernetes| &kubernetes.versions) {
        if let Some(entry) = merged.kubernetes.versions.iter_mut().find(|entry| entry.version == own.version) {
            entry.expiration_date = own.expiration_date;
        }
    }
    for own in &overlay.machine_images {
        match merged.machine_images.iter_mut().find(|image| image.name == own.name) {
            Some(image) => merge_image(image, own),
            None => merged.machine_images.push(own.clone()),
        }
    }
    merge_named(&mut merged.machine_types, &overlay.machine_types, |entry| &entry.name);
    merge_named(&mut merged.volume_types, &overlay.volume_types, |entry| &entry.name);
    if let Some(own) = &overlay.ca_bundle {
        merged.ca_bundle = Some(match &merged.ca_bundle {
            Some(bundle) => format!("{bundle}{own}"),
            None => own.clone(),
        });
    }
    if let Some(own) = &overlay.limits {
        let limits = merged.limits.get_or_insert_default();
        if own.max_nodes_total.is_some_and(|max| max > 0) {
            limits.max_nodes_total = own.max_nodes_total;
        }
    }
    // Machine types of the overlay are not defaulted when they are stored: whether they need an architecture is known
    // only together with the parent.
    let registered = capabilities::registered(parent);
    for entry in merged.machine_types.iter_mut().filter(|entry| machine_type_architecture(entry, registered).is_none())
    {
        entry.architecture = Some("amd64".to_owned());
    }
    merged
}

/// Returns the shown status of a NamespacedCloudProfile without versions that its parent and itself have lost
/// meanwhile.
///
/// The status is written some moments after they change; until then it must not offer versions that no Shoot was seen
/// to use. `None`: nothing was lost.
pub fn without_lost_versions(
    shown: &CloudProfileSpec,
    parent: &CloudProfileSpec,
    own: &NamespacedCloudProfileSpec,
) -> Option<CloudProfileSpec> {
    let has_kubernetes = |version: &ExpirableVersion| kubernetes_version(parent, &version.version).is_some();
    let has_image = |image: &str, version: &str| {
        let owns = |one: &MachineImage| one.name == image && one.versions.iter().any(|one| one.version == version);
        machine_image_version(parent, image, version).is_some() || own.machine_images.iter().any(owns)
    };
    let has_images =
        |image: &MachineImage| image.versions.iter().all(|version| has_image(&image.name, &version.version));
    if shown.kubernetes.versions.iter().all(has_kubernetes) && shown.machine_images.iter().all(has_images) {
        return None;
    }
    let mut shown = shown.clone();
    shown.kubernetes.versions.retain(has_kubernetes);
    for image in &mut shown.machine_images {
        let name = &image.name;
        image.versions.retain(|version| has_image(name, &version.version));
    }
    Some(shown)
}

fn merge_image(image: &mut MachineImage, own: &MachineImage) {
    if is_given(own.update_strategy.as_ref()) {
        image.update_strategy.clone_from(&own.update_strategy);
    }
    for version in &own.versions {
        match image.versions.iter_mut().find(|entry| entry.version == version.version) {
            None => image.versions.push(version.clone()),
            Some(entry) if says_more_than_a_date(version) => entry.clone_from(version),
            Some(entry) => entry.expiration_date = version.expiration_date,
        }
    }
}

fn says_more_than_a_date(version: &MachineImageVersion) -> bool {
    !version.architectures.is_empty()
        || !capabilities::flavors(version).is_empty()
        || !version.cri.is_empty()
        || is_given(version.kubelet_version_constraint.as_ref())
        || is_given(version.classification.as_ref())
}

fn is_given(text: Option<&String>) -> bool {
    text.is_some_and(|text| !text.is_empty())
}

fn merge_named<T: Clone>(merged: &mut Vec<T>, own: &[T], name: impl Fn(&T) -> &String) {
    for entry in own {
        match merged.iter_mut().find(|known| name(known) == name(entry)) {
            Some(known) => known.clone_from(entry),
            None => merged.push(entry.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use api::core::{CapabilityDefinition, KubernetesSettings, Limits, MachineType};
    use apimachinery::meta::Time;

    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "dates of versions are optional")]
    fn date(text: &str) -> Option<Time> {
        Some(Time(text.parse().expect("RFC 3339")))
    }

    #[test]
    fn own_versions_and_types_take_the_format_of_the_parent() {
        let set = |one: &str| Capabilities::from([(ARCHITECTURE.to_owned(), vec![one.to_owned()])]);
        let legacy = CloudProfileSpec::default();
        let definition = CapabilityDefinition {
            name: ARCHITECTURE.to_owned(),
            values: vec!["amd64".to_owned(), "arm64".to_owned()],
        };
        let with_capabilities =
            CloudProfileSpec { machine_capabilities: vec![definition], ..CloudProfileSpec::default() };
        let overlay = |version: MachineImageVersion, machine_type: MachineType| NamespacedCloudProfileSpec {
            machine_images: vec![MachineImage { versions: vec![version], ..MachineImage::default() }],
            machine_types: vec![machine_type],
            ..NamespacedCloudProfileSpec::default()
        };
        let arm = vec!["arm64".to_owned()];
        let old = overlay(
            MachineImageVersion { architectures: arm.clone(), ..MachineImageVersion::default() },
            MachineType { architecture: Some("arm64".to_owned()), ..MachineType::default() },
        );
        assert_eq!(in_format_of_parent(&old, &legacy), old);
        let new = merge(&with_capabilities, &old);
        assert_eq!(new.machine_images[0].versions[0].capability_flavors, [set("arm64")]);
        assert_eq!(new.machine_types[0].capabilities, set("arm64"));
        let new = overlay(
            MachineImageVersion { capability_flavors: vec![set("arm64")], ..MachineImageVersion::default() },
            MachineType { capabilities: set("arm64"), ..MachineType::default() },
        );
        assert_eq!(in_format_of_parent(&new, &with_capabilities), new);
        let old = merge(&legacy, &new);
        assert_eq!(old.machine_images[0].versions[0].architectures, arm);
        assert!(old.machine_images[0].versions[0].capability_flavors.is_empty());
        assert_eq!(old.machine_types[0].architecture.as_deref(), Some("arm64"));
        assert!(old.machine_types[0].capabilities.is_empty());
    }

    fn kubernetes(version: &str, expires: Option<Time>) -> ExpirableVersion {
        ExpirableVersion { version: version.to_owned(), expiration_date: expires, ..ExpirableVersion::default() }
    }

    fn image_version(version: &str, expires: Option<Time>) -> MachineImageVersion {
        MachineImageVersion {
            version: version.to_owned(),
            expiration_date: expires,
            architectures: vec!["arm64".to_owned()],
            ..MachineImageVersion::default()
        }
    }

    fn image(name: &str, strategy: Option<&str>, versions: Vec<MachineImageVersion>) -> MachineImage {
        MachineImage { name: name.to_owned(), versions, update_strategy: strategy.map(str::to_owned) }
    }

    fn parent() -> CloudProfileSpec {
        CloudProfileSpec {
            ca_bundle: Some("parent\n".to_owned()),
            kubernetes: KubernetesSettings {
                versions: vec![
                    ExpirableVersion {
                        classification: Some("deprecated".to_owned()),
                        ..kubernetes("1.31.1", date("2025-01-01T00:00:00Z"))
                    },
                    kubernetes("1.32.0", None),
                ],
            },
            machine_images: vec![image(
                "gardenlinux",
                Some("major"),
                vec![image_version("1.0.0", date("2025-01-01T00:00:00Z")), image_version("2.0.0", None)],
            )],
            machine_types: vec![MachineType { name: "small".to_owned(), ..MachineType::default() }],
            limits: Some(Limits { max_nodes_total: Some(10) }),
            ..CloudProfileSpec::default()
        }
    }

    #[test]
    fn overlay_moves_dates_of_known_kubernetes_versions_and_nothing_else() {
        let overlay = NamespacedCloudProfileSpec {
            kubernetes: Some(KubernetesSettings {
                versions: vec![
                    ExpirableVersion {
                        classification: Some("supported".to_owned()),
                        ..kubernetes("1.31.1", date("2026-01-01T00:00:00Z"))
                    },
                    kubernetes("1.33.0", None),
                ],
            }),
            ..NamespacedCloudProfileSpec::default()
        };
        let merged = merge(&parent(), &overlay);
        let expected = [
            ExpirableVersion {
                classification: Some("deprecated".to_owned()),
                ..kubernetes("1.31.1", date("2026-01-01T00:00:00Z"))
            },
            kubernetes("1.32.0", None),
        ];
        assert_eq!(merged.kubernetes.versions, expected);
    }

    #[test]
    fn overlay_adds_versions_and_moves_dates() {
        let only_date =
            MachineImageVersion { architectures: Vec::new(), ..image_version("1.0.0", date("2026-01-01T00:00:00Z")) };
        let overlay = NamespacedCloudProfileSpec {
            machine_images: vec![
                image("gardenlinux", Some("minor"), vec![only_date, image_version("3.0.0", None)]),
                image("own", None, vec![image_version("1.0.0", None)]),
            ],
            ..NamespacedCloudProfileSpec::default()
        };
        let merged = merge(&parent(), &overlay);
        let expected = [
            image(
                "gardenlinux",
                Some("minor"),
                vec![
                    image_version("1.0.0", date("2026-01-01T00:00:00Z")),
                    image_version("2.0.0", None),
                    image_version("3.0.0", None),
                ],
            ),
            image("own", None, vec![image_version("1.0.0", None)]),
        ];
        assert_eq!(merged.machine_images, expected);
    }

    #[test]
    fn overlay_with_more_than_a_date_replaces_the_version() {
        let whole = MachineImageVersion {
            kubelet_version_constraint: Some(">= 1.31".to_owned()),
            ..image_version("2.0.0", None)
        };
        let overlay = NamespacedCloudProfileSpec {
            machine_images: vec![image("gardenlinux", None, vec![whole.clone()])],
            ..NamespacedCloudProfileSpec::default()
        };
        let merged = merge(&parent(), &overlay);
        assert_eq!(merged.machine_images[0].versions[1], whole);
        assert_eq!(merged.machine_images[0].update_strategy.as_deref(), Some("major"));
    }

    #[test]
    fn bundles_are_concatenated_limits_replaced_and_types_added() {
        let overlay = NamespacedCloudProfileSpec {
            ca_bundle: Some("own\n".to_owned()),
            limits: Some(Limits { max_nodes_total: Some(20) }),
            machine_types: vec![MachineType { name: "large".to_owned(), ..MachineType::default() }],
            ..NamespacedCloudProfileSpec::default()
        };
        let merged = merge(&parent(), &overlay);
        assert_eq!(merged.ca_bundle.as_deref(), Some("parent\nown\n"));
        assert_eq!(merged.limits, Some(Limits { max_nodes_total: Some(20) }));
        let types: Vec<_> = merged.machine_types.iter().map(|t| (t.name.as_str(), t.architecture.as_deref())).collect();
        assert_eq!(types, [("small", Some("amd64")), ("large", Some("amd64"))]);
    }

    #[test]
    fn a_status_that_is_behind_gives_no_lost_version_away() {
        let overlay = NamespacedCloudProfileSpec {
            machine_images: vec![image("own", None, vec![image_version("1.0.0", None)])],
            ..NamespacedCloudProfileSpec::default()
        };
        let shown = merge(&parent(), &overlay);
        assert_eq!(without_lost_versions(&shown, &parent(), &overlay), None);
        let mut behind = shown.clone();
        behind.kubernetes.versions.push(kubernetes("1.33.0", None));
        behind.machine_images[0].versions.push(image_version("9.9.9", None));
        behind.machine_images[1].versions.push(image_version("9.9.9", None));
        assert_eq!(without_lost_versions(&behind, &parent(), &overlay), Some(shown));
    }
}
