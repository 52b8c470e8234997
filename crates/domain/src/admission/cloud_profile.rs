// SPDX-License-Identifier: Apache-2.0
//! Admission of CloudProfiles: versions and capabilities in use (ResourceReferenceManager).
//!
//! Source: plugin/pkg/global/resourcereferencemanager/admission.go @ v1.120.0 to v1.149.0.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::core::*;

use super::{Refusal, multierror};
use crate::capabilities::{ARCHITECTURE, Capabilities, flavors, registered};
use crate::cloud_profile::{CLOUD_PROFILE, NAMESPACED_CLOUD_PROFILE, reference};
use crate::profile::Profile;
use crate::release::{Release, Releases};

/// Releases that check removed values of capabilities.
const CAPABILITIES_IN_USE: Releases = Releases::since(132);
/// Releases with one line for all removed values of a capability, which allow all removals while capabilities other than
/// `architecture` are unused: legacy fields have that one, too.
const CAPABILITY_PER_LINE: Releases = Releases::since(146);
/// Releases in which the limit of nodes holds for the maximum of each pool, too.
const LIMIT_OF_POOLS: Releases = Releases::until(137);

/// Values by the name of their capability.
type Values = BTreeMap<String, BTreeSet<String>>;

/// Versions, capabilities and limits that an update of a CloudProfile removes, adds or changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    kubernetes: BTreeSet<String>,
    removed_images: BTreeSet<String>,
    added_images: BTreeSet<String>,
    removed_image_versions: BTreeMap<String, BTreeSet<String>>,
    versions_added: bool,
    removed_capabilities: Values,
    limits_changed: bool,
}

pub(super) type ImageVersions<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

pub(super) fn versions_of(images: &[MachineImage]) -> ImageVersions<'_> {
    let mut all = ImageVersions::new();
    for image in images {
        let versions = image.versions.iter().map(|version| version.version.as_str());
        all.entry(image.name.as_str()).or_default().extend(versions);
    }
    all
}

pub(super) fn missing(from: &ImageVersions<'_>, present: &ImageVersions<'_>) -> BTreeMap<String, BTreeSet<String>> {
    let none = BTreeSet::new();
    let mut missing = BTreeMap::new();
    for (image, versions) in from {
        let kept = present.get(image).unwrap_or(&none);
        let gone: BTreeSet<String> = versions.difference(kept).map(|version| (*version).to_owned()).collect();
        if !gone.is_empty() {
            missing.insert((*image).to_owned(), gone);
        }
    }
    missing
}

impl Difference {
    /// Compares two states of a CloudProfile by exact text, as far as a release does.
    pub fn new(new: &CloudProfileSpec, old: &CloudProfileSpec, release: Release) -> Self {
        let listed = |spec: &CloudProfileSpec| -> BTreeSet<String> {
            spec.kubernetes.versions.iter().map(|version| version.version.clone()).collect()
        };
        let (now, before) = (versions_of(&new.machine_images), versions_of(&old.machine_images));
        let names = |from: &ImageVersions<'_>, present: &ImageVersions<'_>| -> BTreeSet<String> {
            from.keys().filter(|image| !present.contains_key(*image)).map(|image| (*image).to_owned()).collect()
        };
        let removed_capabilities = if CAPABILITIES_IN_USE.contain(release) {
            missing(&registered_values(old), &registered_values(new))
        } else {
            Values::new()
        };
        Self {
            kubernetes: listed(old).difference(&listed(new)).cloned().collect(),
            removed_images: names(&before, &now),
            added_images: names(&now, &before),
            removed_image_versions: missing(&before, &now),
            versions_added: !missing(&now, &before).is_empty(),
            removed_capabilities,
            limits_changed: new.limits != old.limits,
        }
    }

    /// True if users of the CloudProfile must be checked.
    pub fn matters(&self) -> bool {
        !self.kubernetes.is_empty()
            || !self.removed_image_versions.is_empty()
            || self.versions_added
            || !self.removed_capabilities.is_empty()
            || self.limits_changed
    }
}

/// Registered values of each capability; of equal definitions the last one counts.
fn registered_values(spec: &CloudProfileSpec) -> BTreeMap<&str, BTreeSet<&str>> {
    let definitions = registered(spec).iter();
    definitions.map(|one| (one.name.as_str(), one.values.iter().map(String::as_str).collect())).collect()
}

/// Checks that no object uses a removed version, and no NamespacedCloudProfile a removed value of a capability:
/// NamespacedCloudProfiles first, then Shoots, both in the given order. Capabilities are in the order of their names.
///
/// # Errors
/// 403 with one line per finding.
pub fn check_versions_in_use(
    new: &CloudProfile,
    difference: &Difference,
    namespaced: &[Arc<NamespacedCloudProfile>],
    shoots: &[Arc<Shoot>],
    rules: Profile,
    release: Release,
) -> Result<(), Refusal> {
    let name = &new.metadata.name;
    let mut texts = Vec::new();
    let children: Vec<&NamespacedCloudProfile> = namespaced
        .iter()
        .map(AsRef::as_ref)
        .filter(|child| !child.metadata.is_being_deleted())
        .filter(|child| child.spec.parent.name == *name && child.spec.parent.kind == CLOUD_PROFILE)
        .collect();
    let none = Values::new();
    let uses_others = || {
        let mut used = children.iter().flat_map(|child| sets(&child.spec)).flat_map(BTreeMap::keys);
        used.any(|capability| capability != ARCHITECTURE)
    };
    let removed =
        if CAPABILITY_PER_LINE.contain(release) && !uses_others() { &none } else { &difference.removed_capabilities };
    for child in &children {
        namespaced_in_use(&mut texts, name, difference, child, (removed, release));
    }
    let related = |shoot: &Shoot| match reference(&shoot.spec) {
        Some(reference) if reference.kind == NAMESPACED_CLOUD_PROFILE => children
            .iter()
            .any(|child| child.metadata.name == reference.name && child.metadata.namespace == shoot.metadata.namespace),
        Some(reference) => reference.name == *name,
        None => false,
    };
    for shoot in shoots.iter().filter(|shoot| !shoot.metadata.is_being_deleted() && related(shoot)) {
        shoot_in_use(&mut texts, name, difference, shoot, rules);
        if difference.limits_changed {
            limits(&mut texts, shoot, new.spec.limits.as_ref(), release);
        }
    }
    if texts.is_empty() { Ok(()) } else { Err(Refusal::Forbidden(multierror(&texts))) }
}

fn sets_of_image(image: &MachineImage) -> impl Iterator<Item = &Capabilities> {
    image.versions.iter().flat_map(flavors)
}

fn sets_of_types(spec: &NamespacedCloudProfileSpec) -> impl Iterator<Item = &Capabilities> {
    spec.machine_types.iter().map(|machine_type| &machine_type.capabilities)
}

/// Sets of capabilities of all machine images and machine types.
fn sets(spec: &NamespacedCloudProfileSpec) -> impl Iterator<Item = &Capabilities> {
    spec.machine_images.iter().flat_map(sets_of_image).chain(sets_of_types(spec))
}

/// Removed values in sets of capabilities, each with its capability.
fn removed_values<'a>(
    sets: impl Iterator<Item = &'a Capabilities>,
    removed: &'a Values,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    sets.flat_map(move |set| {
        removed.iter().flat_map(move |(capability, gone)| {
            let values = set.get(capability).into_iter().flatten().filter(move |value| gone.contains(*value));
            values.map(move |value| (capability.as_str(), value.as_str()))
        })
    })
}

/// Adds a line for each use of a removed value.
fn values_in_use<'a>(
    texts: &mut Vec<String>,
    (name, user): (&str, &str),
    sets: impl Iterator<Item = &'a Capabilities>,
    removed: &'a Values,
) {
    texts.extend(removed_values(sets, removed).map(|(capability, value)| {
        format!(
            "unable to delete MachineCapability {capability:?} with value {value:?} from CloudProfile {name:?} - capability \
             value is still in use by NamespacedCloudProfile '{user}'"
        )
    }));
}

/// Adds a line for each capability with removed values in use.
fn capabilities_in_use<'a>(
    texts: &mut Vec<String>,
    (name, user): (&str, &str),
    sets: impl Iterator<Item = &'a Capabilities>,
    removed: &'a Values,
) {
    let mut used: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (capability, value) in removed_values(sets, removed) {
        used.entry(capability).or_default().insert(value);
    }
    texts.extend(used.into_iter().map(|(capability, values)| {
        let values: Vec<&str> = values.into_iter().collect();
        format!(
            "unable to delete MachineCapability {capability:?} with values [{}] from CloudProfile {name:?} - capability \
             values are still in use by NamespacedCloudProfile '{user}'",
            values.join(" ")
        )
    }));
}

fn namespaced_in_use(
    texts: &mut Vec<String>,
    name: &str,
    difference: &Difference,
    child: &NamespacedCloudProfile,
    (capabilities, release): (&Values, Release),
) {
    let user = format!("{}/{}", child.metadata.namespace, child.metadata.name);
    let by_capability = CAPABILITY_PER_LINE.contain(release);
    for version in child.spec.kubernetes.iter().flat_map(|kubernetes| &kubernetes.versions) {
        if difference.kubernetes.contains(&version.version) {
            texts.push(format!(
                "unable to delete Kubernetes version {:?} from CloudProfile {name:?} - version is still in use by \
                 NamespacedCloudProfile '{user}'",
                version.version
            ));
        }
    }
    for image in &child.spec.machine_images {
        if difference.removed_images.contains(&image.name) {
            texts.push(format!(
                "unable to delete MachineImage {:?} from CloudProfile {name:?} - MachineImage is still in use by \
                 NamespacedCloudProfile {user:?}",
                image.name
            ));
        }
        if difference.added_images.contains(&image.name) {
            texts.push(format!(
                "unable to add MachineImage {:?} to CloudProfile {name:?} - MachineImage is already defined by \
                 NamespacedCloudProfile {user:?}",
                image.name
            ));
        }
        let removed = difference.removed_image_versions.get(&image.name);
        for version in image.versions.iter().filter(|one| removed.is_some_and(|gone| gone.contains(&one.version))) {
            texts.push(format!(
                "unable to delete MachineImage version '{}/{}' from CloudProfile {name:?} - version is still in use by \
                 NamespacedCloudProfile '{user}'",
                image.name, version.version
            ));
        }
        if !by_capability {
            values_in_use(texts, (name, &user), sets_of_image(image), capabilities);
        }
    }
    if by_capability {
        capabilities_in_use(texts, (name, &user), sets(&child.spec), capabilities);
    } else {
        values_in_use(texts, (name, &user), sets_of_types(&child.spec), capabilities);
    }
}

fn shoot_in_use(texts: &mut Vec<String>, name: &str, difference: &Difference, shoot: &Shoot, rules: Profile) {
    let user = format!("{}/{}", shoot.metadata.namespace, shoot.metadata.name);
    let mut kubernetes = |version: &str, by: &str| {
        if difference.kubernetes.contains(version) {
            texts.push(format!(
                "unable to delete Kubernetes version {version:?} from CloudProfile {name:?} - version is still in use \
                 by shoot '{user}'{by}"
            ));
        }
    };
    kubernetes(&shoot.spec.kubernetes.version, "");
    if rules.worker_pool_versions_are_in_use() {
        for worker in &shoot.spec.provider.workers {
            if let Some(version) = worker.kubernetes.as_ref().and_then(|kubernetes| kubernetes.version.as_ref()) {
                kubernetes(version, &format!(" by worker {:?}", worker.name));
            }
        }
    }
    for worker in &shoot.spec.provider.workers {
        let Some(image) = &worker.machine.image else { continue };
        let version = image.version.as_deref().unwrap_or_default();
        let removed = difference.removed_image_versions.get(&image.name);
        if removed.is_some_and(|gone| gone.contains(version)) {
            texts.push(format!(
                "unable to delete Machine image version '{}/{version}' from CloudProfile {name:?} - version is still in \
                 use by shoot '{user}' by worker {:?}",
                image.name, worker.name
            ));
        }
    }
}

pub(super) fn limits(texts: &mut Vec<String>, shoot: &Shoot, limits: Option<&Limits>, release: Release) {
    let Some(most) = limits.and_then(|limits| limits.max_nodes_total) else { return };
    let user = format!("{}/{}", shoot.metadata.namespace, shoot.metadata.name);
    let mut minimum = 0_i64;
    for worker in &shoot.spec.provider.workers {
        minimum += i64::from(worker.minimum);
        if worker.maximum > most && LIMIT_OF_POOLS.contain(release) {
            texts.push(format!(
                "the maximum node count of worker pool {:?} in shoot \"{user}\" exceeds the limit of {most} total nodes \
                 configured in the cloud profile",
                worker.name
            ));
        }
    }
    if minimum > i64::from(most) {
        texts.push(format!(
            "the total minimum node count of all worker pools of shoot \"{user}\" must not exceed the limit of {most} \
             total nodes configured in the cloud profile"
        ));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::release::DOCUMENTED;

    fn profile(versions: &[&str], image_versions: &[&str]) -> CloudProfile {
        let mut profile = CloudProfile::default();
        profile.metadata.name = "local".to_owned();
        profile.spec.kubernetes.versions = versions
            .iter()
            .map(|version| ExpirableVersion { version: (*version).to_owned(), ..ExpirableVersion::default() })
            .collect();
        let versions = image_versions
            .iter()
            .map(|version| MachineImageVersion { version: (*version).to_owned(), ..MachineImageVersion::default() })
            .collect();
        profile.spec.machine_images = vec![MachineImage { name: "os".to_owned(), versions, update_strategy: None }];
        profile
    }

    fn shoot(version: &str, pool_version: Option<&str>, image: &str) -> Arc<Shoot> {
        let mut shoot = Shoot::default();
        shoot.metadata.namespace = "garden-dev".to_owned();
        shoot.metadata.name = "a".to_owned();
        shoot.spec.cloud_profile =
            Some(CloudProfileReference { kind: "CloudProfile".to_owned(), name: "local".to_owned() });
        shoot.spec.kubernetes.version = version.to_owned();
        let mut worker = Worker { name: "pool".to_owned(), ..Worker::default() };
        worker.machine.image =
            Some(ShootMachineImage { name: "os".to_owned(), version: Some(image.to_owned()), provider_config: None });
        worker.kubernetes = pool_version
            .map(|version| WorkerKubernetes { version: Some(version.to_owned()), ..WorkerKubernetes::default() });
        shoot.spec.provider.workers.push(worker);
        Arc::new(shoot)
    }

    #[track_caller]
    fn check(new: &CloudProfile, shoot: &Arc<Shoot>, rules: Profile, lines: &[&str]) {
        let old = profile(&["1.27.1", "1.26.4"], &["1.0.0", "2.0.0"]);
        let difference = Difference::new(&new.spec, &old.spec, DOCUMENTED);
        let expected = if lines.is_empty() {
            Ok(())
        } else {
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            Err(Refusal::Forbidden(multierror(&lines)))
        };
        let shoots = std::slice::from_ref(shoot);
        assert_eq!(check_versions_in_use(new, &difference, &[], shoots, rules, DOCUMENTED), expected);
    }

    #[test]
    fn versions_in_use_cannot_be_removed() {
        let without_kubernetes = profile(&["1.27.1"], &["1.0.0", "2.0.0"]);
        let without_image = profile(&["1.27.1", "1.26.4"], &["2.0.0"]);
        let line = "unable to delete Kubernetes version \"1.26.4\" from CloudProfile \"local\" - version is still in use \
                    by shoot 'garden-dev/a'";
        check(&without_kubernetes, &shoot("1.26.4", None, "1.0.0"), Profile::Upstream, &[line]);
        check(&without_kubernetes, &shoot("1.27.1", None, "1.0.0"), Profile::Upstream, &[]);
        let line = "unable to delete Machine image version 'os/1.0.0' from CloudProfile \"local\" - version is still in \
                    use by shoot 'garden-dev/a' by worker \"pool\"";
        check(&without_image, &shoot("1.27.1", None, "1.0.0"), Profile::Upstream, &[line]);
        check(&without_image, &shoot("1.27.1", None, "2.0.0"), Profile::Upstream, &[]);
    }

    #[test]
    fn a_pools_version_is_in_use_by_the_documented_profile() {
        let new = profile(&["1.27.1"], &["1.0.0", "2.0.0"]);
        let shoot = shoot("1.27.1", Some("1.26.4"), "1.0.0");
        check(&new, &shoot, Profile::Upstream, &[]);
        let line = "unable to delete Kubernetes version \"1.26.4\" from CloudProfile \"local\" - version is still in use \
                    by shoot 'garden-dev/a' by worker \"pool\"";
        check(&new, &shoot, Profile::Documents, &[line]);
    }

    /// Returns a set from words: `host=metal,virtual boot=uefi`.
    fn set(text: &str) -> Value {
        let pairs = text.split_whitespace().map(|word| {
            let (name, values) = word.split_once('=').expect("name=values");
            (name.to_owned(), json!(values.split(',').collect::<Vec<_>>()))
        });
        Value::Object(pairs.collect())
    }

    /// Returns a NamespacedCloudProfile `garden-dev/NAME`; flavors are divided by `;`.
    fn child(name: &str, flavors: &str, machine_type: &str) -> Arc<NamespacedCloudProfile> {
        let flavors: Vec<Value> = flavors.split(';').map(set).collect();
        Arc::new(
            serde_json::from_value(json!({
                "metadata": {"namespace": "garden-dev", "name": name},
                "spec": {
                    "parent": {"kind": "CloudProfile", "name": "local"},
                    "machineImages": [{"name": "own", "versions": [{"version": "1.0.0", "capabilityFlavors": flavors}]}],
                    "machineTypes": [{"name": "own", "cpu": "1", "gpu": "0", "memory": "1Gi", "capabilities": set(machine_type)}],
                },
            }))
            .expect("a NamespacedCloudProfile"),
        )
    }

    /// Registered capabilities of the parent before and after its update, flavors of an image and capabilities of a machine
    /// type in the NamespacedCloudProfile, release, and the reported values: one by one, then all of a capability.
    const CAPABILITIES: &str = "
host=metal,virtual                | host=virtual       | host=metal;host=metal,virtual | host=metal | 131 =>
host=metal,virtual                | host=virtual       | host=metal;host=metal,virtual | host=metal | 132 => host metal, host metal, host metal
host=metal,virtual                | host=virtual       | host=metal;host=metal,virtual | host=metal | 145 => host metal, host metal, host metal
host=metal,virtual                | host=virtual       | host=metal;host=metal,virtual | host=metal | 146 => host [metal]
boot=bios,uefi host=metal,virtual | boot=bios,uefi     | host=virtual boot=bios        | host=metal | 132 => host virtual, host metal
boot=bios,uefi host=metal,virtual | boot=bios,uefi     | host=virtual boot=bios        | host=metal | 149 => host [metal virtual]
boot=bios,uefi host=metal,virtual | boot=uefi          | host=virtual boot=bios        | host=metal | 132 => boot bios, host virtual, host metal
boot=bios,uefi host=metal,virtual | boot=uefi          | host=virtual boot=bios        | host=metal | 149 => boot [bios], host [metal virtual]
host=metal,virtual                | host=virtual       | host=virtual                  | boot=bios  | 149 =>
architecture=amd64,arm64          | architecture=amd64 | architecture=arm64            |            | 145 => architecture arm64
architecture=amd64,arm64          | architecture=amd64 | architecture=arm64            |            | 146 =>
architecture=amd64,arm64          | architecture=amd64 | architecture=arm64 host=metal |            | 146 => architecture [arm64]
";

    #[test]
    fn capability_values_in_use_cannot_be_removed() {
        let with = |definitions: &str| {
            let definitions = set(definitions);
            let definitions = definitions.as_object().into_iter().flatten();
            let mut profile = profile(&[], &[]);
            profile.spec.machine_capabilities = definitions
                .map(|(name, values)| {
                    serde_json::from_value(json!({"name": name, "values": values})).expect("a definition")
                })
                .collect();
            profile
        };
        for row in CAPABILITIES.lines().filter(|row| !row.is_empty()) {
            let (given, expected) = row.split_once("=>").expect("row has an arrow");
            let cells: Vec<&str> = given.split('|').collect();
            let (old, new) = (with(cells[0]), with(cells[1]));
            let release = Release(cells[4].trim().parse().expect("a minor"));
            let lines: Vec<String> = expected
                .split(", ")
                .filter_map(|one| one.trim().split_once(' '))
                .map(|(capability, values)| {
                    let (values, word) = if values.starts_with('[') {
                        (format!("values {values}"), "values are")
                    } else {
                        (format!("value \"{values}\""), "value is")
                    };
                    format!(
                        "unable to delete MachineCapability \"{capability}\" with {values} from CloudProfile \"local\" - \
                         capability {word} still in use by NamespacedCloudProfile 'garden-dev/own'"
                    )
                })
                .collect();
            let expected = if lines.is_empty() { Ok(()) } else { Err(Refusal::Forbidden(multierror(&lines))) };
            let difference = Difference::new(&new.spec, &old.spec, release);
            assert_eq!(difference.matters(), release.0 >= 132, "row: {row}");
            let children = [child("own", cells[2], cells[3])];
            let result = check_versions_in_use(&new, &difference, &children, &[], Profile::Upstream, release);
            assert_eq!(result, expected, "row: {row}");
        }
    }

    /// One NamespacedCloudProfile that uses another capability than `architecture` makes all of them count.
    #[test]
    fn capabilities_count_after_versions_and_before_shoots() {
        let old = {
            let mut old = profile(&["1.27.1", "1.26.4"], &["1.0.0"]);
            old.spec.machine_capabilities =
                vec![CapabilityDefinition { name: "architecture".to_owned(), values: vec!["arm64".to_owned()] }];
            old
        };
        let new = profile(&["1.27.1"], &["1.0.0"]);
        let mut first = NamespacedCloudProfile::clone(&child("a", "architecture=arm64", "architecture=arm64"));
        first.spec.kubernetes = Some(KubernetesSettings {
            versions: vec![ExpirableVersion { version: "1.26.4".to_owned(), ..ExpirableVersion::default() }],
        });
        let children = [Arc::new(first), child("b", "host=metal", "")];
        let shoots = [shoot("1.26.4", None, "1.0.0")];
        let version =
            "unable to delete Kubernetes version \"1.26.4\" from CloudProfile \"local\" - version is still in use by";
        for (release, capability, repetitions) in [
            (145, "with value \"arm64\" from CloudProfile \"local\" - capability value is still", 2),
            (146, "with values [arm64] from CloudProfile \"local\" - capability values are still", 1),
        ] {
            let capability = format!(
                "unable to delete MachineCapability \"architecture\" {capability} in use by NamespacedCloudProfile \
                 'garden-dev/a'"
            );
            let mut lines = vec![format!("{version} NamespacedCloudProfile 'garden-dev/a'")];
            lines.extend(std::iter::repeat_n(capability, repetitions));
            lines.push(format!("{version} shoot 'garden-dev/a'"));
            let release = Release(release);
            let difference = Difference::new(&new.spec, &old.spec, release);
            let result = check_versions_in_use(&new, &difference, &children, &shoots, Profile::Upstream, release);
            assert_eq!(result, Err(Refusal::Forbidden(multierror(&lines))), "{release}");
        }
    }

    #[test]
    fn maximum_of_a_pool_is_limited_until_137() {
        let limited = |most: i32| {
            let mut profile = profile(&[], &[]);
            profile.spec.limits = Some(Limits { max_nodes_total: Some(most) });
            profile
        };
        let (old, new) = (limited(9), limited(10));
        let mut large = Shoot::clone(&shoot("1.27.1", None, "1.0.0"));
        (large.spec.provider.workers[0].minimum, large.spec.provider.workers[0].maximum) = (11, 11);
        let maximum = "the maximum node count of worker pool \"pool\" in shoot \"garden-dev/a\" exceeds the limit of 10 \
                       total nodes configured in the cloud profile";
        let minimum = "the total minimum node count of all worker pools of shoot \"garden-dev/a\" must not exceed the limit \
                       of 10 total nodes configured in the cloud profile";
        for (release, lines) in [(136, &[maximum, minimum][..]), (137, &[minimum])] {
            let release = Release(release);
            let difference = Difference::new(&new.spec, &old.spec, release);
            let shoots = [Arc::new(large.clone())];
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            let result = check_versions_in_use(&new, &difference, &[], &shoots, Profile::Upstream, release);
            assert_eq!(result, Err(Refusal::Forbidden(multierror(&lines))), "{release}");
        }
    }
}
