// SPDX-License-Identifier: Apache-2.0
//! Which CloudProfile a Shoot refers to ([`resolve`]), what it offers, and the merge of a NamespacedCloudProfile with its
//! parent.
//!
//! Source: pkg/apis/core/v1beta1/helper/cloudprofile.go, pkg/utils/gardener/cloudprofile.go,
//! pkg/controllermanager/controller/namespacedcloudprofile @ v1.120.0.

use std::sync::Arc;

use api::core::{
    CloudProfile, CloudProfileReference, CloudProfileSpec, ExpirableVersion, MachineImage, MachineImageVersion,
    MachineType, NamespacedCloudProfile, NamespacedCloudProfileSpec, Shoot, ShootSpec, VolumeType, Worker,
};
use chrono::{DateTime, Utc};

use crate::maintenance::decision::unsuitable;
use crate::validation::shoot::is_in_place;
use crate::versions::{State, Version, state};

/// Kind `CloudProfile` in references.
pub const CLOUD_PROFILE: &str = "CloudProfile";
/// Kind `NamespacedCloudProfile` in references.
pub const NAMESPACED_CLOUD_PROFILE: &str = "NamespacedCloudProfile";

/// Which profile a Shoot refers to: `spec.cloudProfile`, else the deprecated `spec.cloudProfileName`.
///
/// A reference without a kind is one to a CloudProfile.
pub fn reference(shoot: &ShootSpec) -> Option<CloudProfileReference> {
    let by_name = || {
        let name = shoot.cloud_profile_name.clone().filter(|name| !name.is_empty())?;
        Some(CloudProfileReference { kind: CLOUD_PROFILE.to_owned(), name })
    };
    let mut reference = shoot.cloud_profile.clone().or_else(by_name)?;
    if reference.kind.is_empty() {
        CLOUD_PROFILE.clone_into(&mut reference.kind);
    }
    Some(reference)
}

/// Where [`resolve`] looks for profiles.
pub trait Profiles {
    /// The CloudProfile of a name.
    fn cloud_profile(&mut self, name: &str) -> Option<Arc<CloudProfile>>;
    /// The NamespacedCloudProfile of a namespace and a name.
    fn namespaced_cloud_profile(&mut self, namespace: &str, name: &str) -> Option<Arc<NamespacedCloudProfile>>;
}

/// The profile of a Shoot.
#[derive(Clone, Debug)]
pub enum Resolved {
    /// A CloudProfile.
    Cluster(Arc<CloudProfile>),
    /// A NamespacedCloudProfile of the Shoot's namespace.
    Namespaced(Arc<NamespacedCloudProfile>),
}

impl Resolved {
    /// Name of the profile.
    pub fn name(&self) -> &str {
        match self {
            Self::Cluster(profile) => &profile.metadata.name,
            Self::Namespaced(profile) => &profile.metadata.name,
        }
    }

    /// What it offers: the spec of a CloudProfile, the merged spec in the status of a NamespacedCloudProfile.
    pub fn spec(&self) -> &CloudProfileSpec {
        match self {
            Self::Cluster(profile) => &profile.spec,
            Self::Namespaced(profile) => &profile.status.cloud_profile_spec,
        }
    }
}

/// Why a Shoot has no profile. The texts are upstream's.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unresolved {
    /// The Shoot refers to none.
    #[error("no cloudprofile reference has been provided")]
    NoReference,
    /// The reference has a kind that is not a profile's.
    #[error("could not find referenced cloudprofile")]
    UnknownKind,
    /// There is no profile of that kind and name.
    #[error("{}.core.gardener.cloud {:?} not found", .0.kind, .0.name)]
    NotFound(CloudProfileReference),
}

/// The profile that a Shoot refers to.
///
/// # Errors
/// There is no reference, its kind is unknown, or the profile is not there.
pub fn resolve(shoot: &Shoot, profiles: &mut impl Profiles) -> Result<Resolved, Unresolved> {
    let reference = reference(&shoot.spec).ok_or(Unresolved::NoReference)?;
    let found = match reference.kind.as_str() {
        CLOUD_PROFILE => profiles.cloud_profile(&reference.name).map(Resolved::Cluster),
        NAMESPACED_CLOUD_PROFILE => {
            let namespace = &shoot.metadata.namespace;
            profiles.namespaced_cloud_profile(namespace, &reference.name).map(Resolved::Namespaced)
        }
        _ => return Err(Unresolved::UnknownKind),
    };
    found.ok_or(Unresolved::NotFound(reference))
}

/// A Kubernetes version by its exact text.
pub fn kubernetes_version<'a>(spec: &'a CloudProfileSpec, version: &str) -> Option<&'a ExpirableVersion> {
    spec.kubernetes.versions.iter().find(|entry| entry.version == version)
}

/// A machine image by its exact name.
pub fn machine_image<'a>(spec: &'a CloudProfileSpec, name: &str) -> Option<&'a MachineImage> {
    spec.machine_images.iter().find(|image| image.name == name)
}

/// A machine image version by exact name and version.
pub fn machine_image_version<'a>(
    spec: &'a CloudProfileSpec,
    name: &str,
    version: &str,
) -> Option<&'a MachineImageVersion> {
    let images = spec.machine_images.iter().filter(|image| image.name == name);
    images.flat_map(|image| &image.versions).find(|entry| entry.version == version)
}

/// A machine type by name.
pub fn machine_type<'a>(spec: &'a CloudProfileSpec, name: &str) -> Option<&'a MachineType> {
    spec.machine_types.iter().find(|entry| entry.name == name)
}

/// A volume type by name.
pub fn volume_type<'a>(spec: &'a CloudProfileSpec, name: &str) -> Option<&'a VolumeType> {
    spec.volume_types.iter().find(|entry| entry.name == name)
}

/// The CPU architectures of a machine image version: those of its capability sets, else its own list.
pub fn architectures(version: &MachineImageVersion) -> Vec<&str> {
    let mut architectures: Vec<&str> = Vec::new();
    for value in version.capability_sets.iter().filter_map(|set| set.get("architecture")).flatten() {
        if !architectures.contains(&value.as_str()) {
            architectures.push(value);
        }
    }
    if architectures.is_empty() {
        architectures.extend(version.architectures.iter().map(String::as_str));
    }
    architectures
}

/// Whether a machine image version runs on a CPU architecture.
pub fn supports_architecture(version: &MachineImageVersion, architecture: &str) -> bool {
    architectures(version).contains(&architecture)
}

/// The CPU architecture of a machine type: that of its capabilities if they name exactly one, else its own field.
pub fn machine_type_architecture(machine_type: &MachineType) -> Option<&str> {
    match machine_type.capabilities.get("architecture").map(Vec::as_slice) {
        Some([architecture]) => Some(architecture),
        _ => machine_type.architecture.as_deref().filter(|architecture| !architecture.is_empty()),
    }
}

/// The specification that Shoots of a NamespacedCloudProfile see: the parent's, overlaid with its own.
///
/// Order is the parent's, then what was added. Of Kubernetes versions only the expiration date is taken, and only for
/// versions that the parent has.
pub fn merge(parent: &CloudProfileSpec, overlay: &NamespacedCloudProfileSpec) -> CloudProfileSpec {
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
    for entry in merged.machine_types.iter_mut().filter(|entry| machine_type_architecture(entry).is_none()) {
        entry.architecture = Some("amd64".to_owned());
    }
    merged
}

/// What the status of a NamespacedCloudProfile shows, without versions that its parent and itself have lost meanwhile.
///
/// The status is written some moments after they change; until then it must not give away versions that nobody was seen
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
        || !version.capability_sets.is_empty()
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

/// The machine image that is shown to users as the default for a pool: the first image, in the profile's order, of which a
/// version is supported, not expired, and can be run by the pool, and of it the highest such version; where it has no supported
/// one, the highest that is unclassified. A pool that is updated in place needs a version that says it can be.
///
/// Never a preview, a deprecated or an expired version, unlike what an empty image may give.
pub fn shown_default_image<'a>(
    spec: &'a CloudProfileSpec,
    worker: &Worker,
    kubelet: &Version,
    now: DateTime<Utc>,
) -> Option<(&'a MachineImage, &'a MachineImageVersion)> {
    let updates = |entry: &MachineImageVersion| entry.in_place_updates.as_ref().is_some_and(|one| one.supported);
    let fits = |entry: &&MachineImageVersion| {
        unsuitable(entry, worker, kubelet).is_none() && (!is_in_place(worker) || updates(entry))
    };
    spec.machine_images.iter().find_map(|image| {
        let highest = |wanted: State| {
            let of_state = image.versions.iter().filter(|entry| state(*entry, now) == wanted).filter(fits);
            let parsed = of_state.filter_map(|entry| Some((Version::parse(&entry.version).ok()?, entry)));
            // Of equal ones the first.
            parsed.reduce(|best, other| if other.0 > best.0 { other } else { best }).map(|(_, entry)| entry)
        };
        let entry = highest(State::Supported).or_else(|| highest(State::Unclassified))?;
        Some((image, entry))
    })
}

#[cfg(test)]
mod tests {
    use api::core::{KubernetesSettings, Limits};
    use apimachinery::meta::Time;

    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "dates of versions are optional")]
    fn date(text: &str) -> Option<Time> {
        Some(Time(text.parse().expect("RFC 3339")))
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
    fn overlay_adds_images_and_versions_and_moves_dates_of_known_ones() {
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
    fn overlay_that_says_more_than_a_date_replaces_the_image_version() {
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

    #[test]
    fn architectures_come_from_capability_sets_first() {
        let mut version = image_version("1.0.0", None);
        assert_eq!(architectures(&version), ["arm64"]);
        version.capability_sets = vec![[("architecture".to_owned(), vec!["amd64".to_owned()])].into()];
        assert_eq!(architectures(&version), ["amd64"]);
    }

    #[test]
    fn reference_falls_back_to_the_deprecated_name() {
        let by_name = ShootSpec { cloud_profile_name: Some("local".to_owned()), ..ShootSpec::default() };
        let expected = CloudProfileReference { kind: "CloudProfile".to_owned(), name: "local".to_owned() };
        assert_eq!(reference(&by_name), Some(expected.clone()));
        let by_reference = ShootSpec {
            cloud_profile: Some(CloudProfileReference {
                kind: "NamespacedCloudProfile".to_owned(),
                name: "own".to_owned(),
            }),
            ..by_name
        };
        assert_eq!(reference(&by_reference).map(|reference| reference.kind).as_deref(), Some("NamespacedCloudProfile"));
        assert_eq!(reference(&ShootSpec::default()), None);
    }

    /// One CloudProfile `whole`, and one NamespacedCloudProfile `garden-dev/own`.
    struct Two;

    impl Profiles for Two {
        fn cloud_profile(&mut self, name: &str) -> Option<Arc<CloudProfile>> {
            let mut profile = CloudProfile::default();
            "whole".clone_into(&mut profile.metadata.name);
            "of spec".clone_into(&mut profile.spec.r#type);
            (name == "whole").then(|| Arc::new(profile))
        }

        fn namespaced_cloud_profile(&mut self, namespace: &str, name: &str) -> Option<Arc<NamespacedCloudProfile>> {
            let mut profile = NamespacedCloudProfile::default();
            "own".clone_into(&mut profile.metadata.name);
            "of status".clone_into(&mut profile.status.cloud_profile_spec.r#type);
            ((namespace, name) == ("garden-dev", "own")).then(|| Arc::new(profile))
        }
    }

    /// Namespace of the Shoot, kind and name of `spec.cloudProfile` (`-`: none), `spec.cloudProfileName` (`-`: none); name
    /// and type of the profile that is found, or the error.
    const RESOLVED: &[(&str, &str, &str, &str, &str)] = &[
        ("garden-dev", "CloudProfile", "whole", "-", "whole: of spec"),
        ("garden-dev", "", "whole", "-", "whole: of spec"),
        ("garden-dev", "-", "-", "whole", "whole: of spec"),
        ("garden-dev", "NamespacedCloudProfile", "own", "-", "own: of status"),
        ("garden-dev", "NamespacedCloudProfile", "own", "whole", "own: of status"),
        ("garden-dev", "-", "-", "own", "CloudProfile.core.gardener.cloud \"own\" not found"),
        (
            "garden-qa",
            "NamespacedCloudProfile",
            "own",
            "-",
            "NamespacedCloudProfile.core.gardener.cloud \"own\" not found",
        ),
        ("garden-dev", "CloudProfile", "own", "-", "CloudProfile.core.gardener.cloud \"own\" not found"),
        ("garden-dev", "Profile", "whole", "-", "could not find referenced cloudprofile"),
        ("garden-dev", "-", "-", "-", "no cloudprofile reference has been provided"),
        ("garden-dev", "-", "-", "", "no cloudprofile reference has been provided"),
    ];

    #[test]
    fn a_shoot_has_the_profile_of_its_reference_and_a_namespaced_one_is_of_its_namespace() {
        for (namespace, kind, name, by_name, expected) in RESOLVED {
            let mut shoot = Shoot::default();
            (*namespace).clone_into(&mut shoot.metadata.namespace);
            let reference = || CloudProfileReference { kind: (*kind).to_owned(), name: (*name).to_owned() };
            shoot.spec.cloud_profile = (*kind != "-").then(reference);
            shoot.spec.cloud_profile_name = (*by_name != "-").then(|| (*by_name).to_owned());
            let found = match resolve(&shoot, &mut Two) {
                Ok(found) => format!("{}: {}", found.name(), found.spec().r#type),
                Err(error) => error.to_string(),
            };
            assert_eq!(found, *expected, "{namespace} {kind:?} {name:?} {by_name:?}");
        }
    }

    /// What a profile offers of its images, in its order; `s` supported, `~` deprecated, `?` preview, `!` expired, `a` for arm64,
    /// `k` for kubelets from 1.31 on, `i` updated in place. The pool, and the default that is shown.
    const SHOWN_IMAGES: &str = "
one 1.0.0 1.1.0 ; two 9.0.0s              | amd64         => one 1.1.0
one 1.0.0s 1.1.0 1.2.0? 1.3.0~            | amd64         => one 1.0.0
one 1.0.0? 1.1.0~ 1.2.0s! ; two 1.0.0     | amd64         => two 1.0.0
one 1.0.0? 1.1.0~                         | amd64         => none
one 1.0.0s! 1.1.0!                        | amd64         => none
one 2.0.0sa 1.0.0s ; two 3.0.0s           | amd64         => one 1.0.0
one 1.0.0s ; two 3.0.0sa                  | arm64         => two 3.0.0
one 2.0.0sk 1.0.0s                        | amd64         => one 1.0.0
one 2.0.0s 1.0.0si ; two 3.0.0si          | amd64 inplace => one 1.0.0
one 2.0.0s ; two 3.0.0i                   | amd64 inplace => two 3.0.0
one 1.10.0s 1.9.0s                        | amd64         => one 1.10.0
";

    #[test]
    fn the_image_that_is_shown_as_default_is_never_preview_deprecated_or_expired() {
        let now: DateTime<Utc> = "2025-06-15T12:00:00Z".parse().expect("an instant");
        let kubelet = Version::parse("1.30.0").expect("a version");
        for row in SHOWN_IMAGES.lines().filter(|row| !row.is_empty()) {
            let (given, expected) = row.split_once("=>").expect("an arrow");
            let (offered, pool) = given.split_once('|').expect("a pool");
            let version = |text: &str| {
                let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
                let marks = &text[number.len()..];
                let class = [('s', "supported"), ('~', "deprecated"), ('?', "preview")];
                MachineImageVersion {
                    version: number.to_owned(),
                    classification: class
                        .iter()
                        .find(|(mark, _)| marks.contains(*mark))
                        .map(|(_, name)| (*name).to_owned()),
                    expiration_date: marks.contains('!').then_some(Time(now)),
                    architectures: vec![if marks.contains('a') { "arm64" } else { "amd64" }.to_owned()],
                    kubelet_version_constraint: marks.contains('k').then(|| ">= 1.31".to_owned()),
                    in_place_updates: marks
                        .contains('i')
                        .then(|| api::core::InPlaceUpdates { supported: true, ..Default::default() }),
                    cri: vec![api::core::CRI { name: "containerd".to_owned(), ..Default::default() }],
                    ..MachineImageVersion::default()
                }
            };
            let spec = CloudProfileSpec {
                machine_images: offered
                    .split(';')
                    .map(|text| {
                        let mut words = text.split_whitespace();
                        let name = words.next().expect("a name");
                        image(name, None, words.map(version).collect())
                    })
                    .collect(),
                ..CloudProfileSpec::default()
            };
            let mut worker = Worker::default();
            let mut words = pool.split_whitespace();
            worker.machine.architecture = words.next().map(str::to_owned);
            worker.update_strategy = words.next().map(|_| "AutoInPlaceUpdate".to_owned());
            let found = shown_default_image(&spec, &worker, &kubelet, now);
            let found =
                found.map_or_else(|| "none".to_owned(), |(image, entry)| format!("{} {}", image.name, entry.version));
            assert_eq!(found, expected.trim(), "row: {row}");
        }
    }

    /// A list may hold a version twice, with other architectures or constraints.
    #[test]
    fn of_equal_images_the_first_is_shown() {
        let version = || MachineImageVersion {
            architectures: vec!["amd64".to_owned()],
            cri: vec![api::core::CRI { name: "containerd".to_owned(), ..Default::default() }],
            ..image_version("2.0.0", None)
        };
        let spec = CloudProfileSpec {
            machine_images: vec![image("os", None, vec![version(), version()])],
            ..CloudProfileSpec::default()
        };
        let mut worker = Worker::default();
        worker.machine.architecture = Some("amd64".to_owned());
        let now: DateTime<Utc> = "2025-06-15T12:00:00Z".parse().expect("an instant");
        let kubelet = Version::parse("1.30.0").expect("a version");
        let (_, found) = shown_default_image(&spec, &worker, &kubelet, now).expect("an image");
        assert!(std::ptr::eq(found, &raw const spec.machine_images[0].versions[0]));
    }
}
