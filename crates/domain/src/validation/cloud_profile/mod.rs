// SPDX-License-Identifier: Apache-2.0
//! Validation of CloudProfiles and NamespacedCloudProfiles.
//!
//! Source: pkg/api/core/validation/{cloudprofile,namespacedcloudprofile,utils}.go (pkg/apis/core/validation until v1.136),
//! v1.120.0 to v1.149.0.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use api::core::*;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::Time;
use chrono::{DateTime, Utc};
use regex::Regex;

use super::common::{self, one_of};
use super::meta::{self, NameRule, immutable, invalid_unquoted, object_meta, object_meta_update};
use super::shoot::Gates;
use super::{Errors, capabilities, images, lifecycle};
use crate::capabilities::{ARCHITECTURE, machine_type_architecture, registered, supports_architecture, values_of};
use crate::profile::Profile;
use crate::release::Releases;
use crate::versions::{Expirable, Moment, highest};

/// Definitions of capabilities are checked before Kubernetes versions, and not after machine types.
const DEFINITIONS_ARE_FIRST: Releases = Releases::since(132);

/// Images and versions that a NamespacedCloudProfile adds are checked one by one.
const IMAGES_ARE_JUDGED_ONCE: Releases = Releases::since(132);

/// Limits of a NamespacedCloudProfile may decrease; its update reports a limit that is not positive twice.
const LIMITS_MAY_DECREASE: Releases = Releases::since(136);

static KUBERNETES_VERSION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^([0-9]+\.){2}[0-9]+$").expect("the pattern is a literal of this file"));

/// Removes expired versions from a new CloudProfile, and Kubernetes versions that are not available yet, if the rule
/// profile requires it.
pub fn drop_expired_versions(profile: &mut CloudProfile, rules: Profile, at: Moment) {
    if rules.refuses_new_expired_versions() {
        return;
    }
    profile.spec.kubernetes.versions.retain(|version| at.is_active(version));
    for image in &mut profile.spec.machine_images {
        image.versions.retain(|version| !at.is_expired_for_admission(version));
    }
}

/// Removes new versions from a NamespacedCloudProfile that are expired or not available yet.
pub fn drop_expired_overrides(profile: &mut NamespacedCloudProfile, old: Option<&NamespacedCloudProfile>, at: Moment) {
    let old = old.map(|old| &old.spec);
    if let Some(kubernetes) = &mut profile.spec.kubernetes {
        let known = |version: &str| {
            let old = old.and_then(|old| old.kubernetes.as_ref());
            old.is_some_and(|old| old.versions.iter().any(|other| other.version == version))
        };
        kubernetes.versions.retain(|version| known(&version.version) || at.is_active(version));
    }
    for image in &mut profile.spec.machine_images {
        let known = |version: &str| {
            old.is_some_and(|old| {
                let same = old.machine_images.iter().filter(|other| other.name == image.name);
                same.flat_map(|other| &other.versions).any(|other| other.version == version)
            })
        };
        image.versions.retain(|version| known(&version.version) || at.is_active(version));
    }
    let has_strategy = |image: &MachineImage| image.update_strategy.as_deref().is_some_and(|text| !text.is_empty());
    profile.spec.machine_images.retain(|image| !image.versions.is_empty() || has_strategy(image));
}

/// Checks a new CloudProfile.
pub fn cloud_profile(profile: &CloudProfile, rules: Profile, gates: Gates, now: DateTime<Utc>) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &profile.metadata, false, NameRule::Subdomain, &Path::new("metadata"));
    spec(&mut errors, &profile.spec, None, Rules::new(rules, gates, now));
    errors
}

/// Checks a changed CloudProfile.
pub fn cloud_profile_update(
    new: &CloudProfile,
    old: &CloudProfile,
    rules: Profile,
    gates: Gates,
    now: DateTime<Utc>,
) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &new.metadata, &old.metadata, &Path::new("metadata"));
    object_meta(&mut errors, &new.metadata, false, NameRule::Subdomain, &Path::new("metadata"));
    let rules = Rules::new(rules, gates, now);
    spec(&mut errors, &new.spec, Some(&old.spec), rules);
    limits_update(&mut errors, new.spec.limits.as_ref(), old.spec.limits.as_ref());
    versions_update(&mut errors, &new.spec, &old.spec, rules.at);
    errors
}

/// Profile, gates and instant of a validation.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    profile: Profile,
    pub(super) gates: Gates,
    pub(super) at: Moment,
}

impl Rules {
    pub(super) const fn new(profile: Profile, gates: Gates, now: DateTime<Utc>) -> Self {
        Self { profile, gates, at: Moment::new(now, gates.release) }
    }

    /// True if a version must not be added because it is expired.
    fn refuse(self, version: &impl Expirable) -> bool {
        self.profile.refuses_new_expired_versions() && self.at.is_expired_for_admission(version)
    }
}

/// Checks that no version becomes unavailable again.
fn versions_update(errors: &mut Errors, new: &CloudProfileSpec, old: &CloudProfileSpec, at: Moment) {
    let path = Path::new("spec");
    let kubernetes = path.child("kubernetes").child("versions");
    lifecycle::update(errors, &new.kubernetes.versions, &old.kubernetes.versions, at, &kubernetes);
    for (index, image) in new.machine_images.iter().enumerate() {
        // The last of equal images applies.
        let Some(old) = old.machine_images.iter().rev().find(|old| old.name == image.name) else { continue };
        let path = path.child("machineImages").index(index).child("versions");
        lifecycle::update(errors, &image.versions, &old.versions, at, &path);
    }
}

fn spec(errors: &mut Errors, spec: &CloudProfileSpec, old: Option<&CloudProfileSpec>, rules: Rules) {
    let path = Path::new("spec");
    if spec.r#type.is_empty() {
        errors.push(FieldError::required(&path.child("type"), "must provide a provider type"));
    }
    let registered = registered(spec);
    let is_first = DEFINITIONS_ARE_FIRST.contain(rules.gates.release);
    if is_first {
        capabilities::definitions(errors, spec, rules.gates, &path);
    }
    kubernetes(errors, &spec.kubernetes, rules, &path.child("kubernetes"));
    for (index, version) in spec.kubernetes.versions.iter().enumerate() {
        let known = old.is_some_and(|old| old.kubernetes.versions.iter().any(|other| other.version == version.version));
        if !known && rules.refuse(version) {
            let path = path.child("kubernetes").child("versions").index(index);
            errors.push(past_date(&path, version, rules.at));
        }
    }
    images::of_cloud_profile(errors, &spec.machine_images, registered, rules, &path.child("machineImages"));
    for (index, image) in spec.machine_images.iter().enumerate() {
        for (position, version) in image.versions.iter().enumerate() {
            let known = old.is_some_and(|old| {
                let same = old.machine_images.iter().filter(|other| other.name == image.name);
                same.flat_map(|other| &other.versions).any(|other| other.version == version.version)
            });
            if !known && rules.refuse(version) {
                let path = path.child("machineImages").index(index).child("versions").index(position);
                errors.push(past_date(&path, version, rules.at));
            }
        }
    }
    machine_types(errors, &spec.machine_types, registered, rules.gates, &path.child("machineTypes"));
    if !is_first {
        capabilities::definitions(errors, spec, rules.gates, &path);
    }
    volume_types(errors, &spec.volume_types, rules.gates, &path.child("volumeTypes"));
    regions(errors, &spec.regions, &path.child("regions"));
    bastion(errors, spec, rules.at, &path.child("bastion"));
    limits(errors, spec.limits.as_ref(), &path.child("limits"));
    if let Some(selector) = &spec.seed_selector {
        let (path, release) = (path.child("seedSelector"), rules.gates.release);
        common::seed_selector(errors, &selector.match_labels, &selector.match_expressions, release, &path);
    }
    common::ca_bundle(errors, spec.ca_bundle.as_deref(), &path.child("caBundle"));
}

fn past_date(path: &Path, version: &impl Expirable, at: Moment) -> FieldError {
    let text = format!("expiration date for version {:?} is in the past", version.version());
    let date = at.expiration(version).map(Time);
    let field = if version.stages().is_empty() { "expirationDate" } else { "lifecycle" };
    invalid_unquoted(&path.child(field), &go_time(date), &text)
}

/// Formats a time as Go prints it.
pub(crate) fn go_time(time: Option<Time>) -> String {
    time.map_or_else(|| "null".to_owned(), |time| time.0.format("%Y-%m-%d %H:%M:%S +0000 UTC").to_string())
}

/// Checks the Kubernetes versions of a whole (not a namespaced) profile.
fn kubernetes(errors: &mut Errors, settings: &KubernetesSettings, rules: Rules, path: &Path) {
    let versions = &settings.versions;
    let list = path.child("versions");
    if versions.is_empty() {
        errors.push(FieldError::required(&list, "must provide at least one Kubernetes version"));
    }
    match highest(versions, rules.gates.release) {
        None => {
            let text = "failed to determine the latest kubernetes version from the cloud profile";
            errors.push(FieldError::invalid(&list, "", text));
        }
        Some(latest) => lifecycle::newest(errors, latest, &path.child("versions[]")),
    }
    kubernetes_versions(errors, versions, rules.gates, &list);
    for index in 0..versions.len() {
        lifecycle::clash(errors, versions, index, rules.at, &list.index(index));
    }
}

/// Checks each Kubernetes version by itself.
fn kubernetes_versions(errors: &mut Errors, versions: &[ExpirableVersion], gates: Gates, path: &Path) {
    let mut seen = BTreeSet::new();
    for (index, version) in versions.iter().enumerate() {
        let path = path.index(index);
        if !KUBERNETES_VERSION.is_match(&version.version) {
            let text = format!("all Kubernetes versions must match the regex {}", KUBERNETES_VERSION.as_str());
            errors.push(FieldError::invalid(&path, version, &text));
        } else if !seen.insert(&version.version) {
            errors.push(FieldError::duplicate(&path.child("version"), &version.version));
        }
        lifecycle::version(errors, version, gates, &path);
    }
}

fn machine_types(
    errors: &mut Errors,
    types: &[MachineType],
    registered: &[CapabilityDefinition],
    gates: Gates,
    path: &Path,
) {
    if types.is_empty() {
        errors.push(FieldError::required(path, "must provide at least one machine type"));
    }
    each_machine_type(errors, types, registered, gates, path);
    for (index, machine_type) in types.iter().enumerate() {
        capabilities::of_machine_type(errors, machine_type, registered, gates, &path.index(index));
    }
}

fn each_machine_type(
    errors: &mut Errors,
    types: &[MachineType],
    registered: &[CapabilityDefinition],
    gates: Gates,
    path: &Path,
) {
    let mut names = BTreeSet::new();
    for (index, machine_type) in types.iter().enumerate() {
        let path = path.index(index);
        let name = path.child("name");
        if machine_type.name.is_empty() {
            errors.push(FieldError::required(&name, "must provide a name"));
        } else {
            common::unprefixed_name(errors, &machine_type.name, "machine type name", gates, &name);
        }
        if !names.insert(&machine_type.name) {
            errors.push(FieldError::duplicate(&name, &machine_type.name));
            break;
        }
        meta::quantity(errors, &machine_type.cpu, &path.child("cpu"));
        meta::quantity(errors, &machine_type.gpu, &path.child("gpu"));
        meta::quantity(errors, &machine_type.memory, &path.child("memory"));
        capabilities::machine_type(errors, machine_type, registered, gates, &path);
        let Some(storage) = &machine_type.storage else { continue };
        let path = path.child("storage");
        match (&storage.size, &storage.min_size) {
            (None, None) => {
                let text = "must either configure \"size\" or \"minSize\"";
                errors.push(FieldError::invalid(&path, storage, text));
            }
            (Some(_), Some(_)) => {
                let text = "not allowed to configure both \"size\" and \"minSize\"";
                errors.push(FieldError::invalid(&path, storage, text));
            }
            (Some(size), None) => meta::quantity(errors, size, &path.child("size")),
            (None, Some(size)) => meta::quantity(errors, size, &path.child("minSize")),
        }
    }
}

fn volume_types(errors: &mut Errors, types: &[VolumeType], gates: Gates, path: &Path) {
    let mut names = BTreeSet::new();
    for (index, volume_type) in types.iter().enumerate() {
        let path = path.index(index);
        let name = path.child("name");
        if volume_type.name.is_empty() {
            errors.push(FieldError::required(&name, "must provide a name"));
        } else {
            common::unprefixed_name(errors, &volume_type.name, "volume type name", gates, &name);
        }
        if !names.insert(&volume_type.name) {
            errors.push(FieldError::duplicate(&name, &volume_type.name));
            break;
        }
        let class = path.child("class");
        if volume_type.class.is_empty() {
            errors.push(FieldError::required(&class, "must provide a class"));
        } else {
            common::unprefixed_name(errors, &volume_type.class, "volume class", gates, &class);
        }
        if let Some(size) = &volume_type.min_size {
            meta::quantity(errors, size, &path.child("minSize"));
        }
    }
}

fn regions(errors: &mut Errors, regions: &[Region], path: &Path) {
    if regions.is_empty() {
        errors.push(FieldError::required(path, "must provide at least one region"));
    }
    let mut seen = BTreeSet::new();
    for (index, region) in regions.iter().enumerate() {
        let path = path.index(index);
        let name = path.child("name");
        if region.name.is_empty() {
            errors.push(FieldError::required(&name, "must provide a region name"));
        } else if !seen.insert(&region.name) {
            errors.push(FieldError::duplicate(&name, &region.name));
        }
        let mut zones = BTreeSet::new();
        for (index, zone) in region.zones.iter().enumerate() {
            let path = path.child("zones").index(index).child("name");
            if zone.name.is_empty() {
                errors.push(FieldError::required(&path, "zone name cannot be empty"));
            } else if !zones.insert(&zone.name) {
                errors.push(FieldError::duplicate(&path, &zone.name));
            }
        }
        meta::labels(errors, &region.labels, &path.child("labels"));
    }
}

fn bastion(errors: &mut Errors, spec: &CloudProfileSpec, at: Moment, path: &Path) {
    let Some(bastion) = &spec.bastion else { return };
    if bastion.machine_type.is_none() && bastion.machine_image.is_none() {
        let text = "bastion section needs a machine type or machine image";
        errors.push(FieldError::invalid(path, bastion, text));
    }
    let registered = registered(spec);
    let mut architecture = None;
    if let Some(wanted) = &bastion.machine_type {
        match spec.machine_types.iter().find(|machine_type| machine_type.name == wanted.name) {
            Some(found) => {
                let found = machine_type_architecture(found, registered);
                architecture = Some(found.unwrap_or_default().to_owned());
            }
            None => {
                let path = path.child("machineType").child("name");
                let text = "machine type not found in spec.machineTypes";
                errors.push(FieldError::invalid(&path, &wanted.name, text));
            }
        }
    }
    let Some(wanted) = &bastion.machine_image else { return };
    let path = path.child("machineImage");
    let Some(image) = spec.machine_images.iter().find(|image| image.name == wanted.name) else {
        let text = "image name not found in spec.machineImages";
        errors.push(FieldError::invalid(&path.child("name"), &wanted.name, text));
        return;
    };
    let usable = |version: &MachineImageVersion| {
        let fits = architecture.as_ref().is_none_or(|wanted| {
            let values = values_of(registered, ARCHITECTURE).unwrap_or_default();
            supports_architecture(version, wanted, registered) || values.contains(wanted)
        });
        fits && lifecycle::serves_bastions(version, at)
    };
    let (path, found) = match &wanted.version {
        None => (path.child("name"), image.versions.iter().any(usable)),
        Some(version) => {
            let path = path.child("version");
            let Some(found) = image.versions.iter().find(|other| other.version == *version) else {
                let text = "image version not found in spec.machineImages";
                errors.push(FieldError::invalid(&path, version, text));
                return;
            };
            (path, usable(found))
        }
    };
    if !found {
        let architecture = architecture.as_deref().unwrap_or("<nil>");
        let text = format!("no image with classification supported and arch {architecture:?} found");
        errors.push(FieldError::invalid(&path, &wanted.name, &text));
    }
}

fn limits(errors: &mut Errors, limits: Option<&Limits>, path: &Path) {
    if let Some(nodes) = limits.and_then(|limits| limits.max_nodes_total)
        && nodes <= 0
    {
        let text = "maxNodesTotal must be greater than 0";
        errors.push(FieldError::invalid(&path.child("maxNodesTotal"), nodes, text));
    }
}

fn limits_update(errors: &mut Errors, new: Option<&Limits>, old: Option<&Limits>) {
    let nodes = |limits: Option<&Limits>| limits.and_then(|limits| limits.max_nodes_total);
    if let (Some(new), Some(old)) = (nodes(new), nodes(old))
        && new < old
    {
        let path = Path::new("spec").child("limits").child("maxNodesTotal");
        errors.push(FieldError::invalid(&path, new, "maxNodesTotal cannot be decreased"));
    }
}

/// Checks a new NamespacedCloudProfile.
pub fn namespaced_cloud_profile(profile: &NamespacedCloudProfile, gates: Gates) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &profile.metadata, true, NameRule::Subdomain, &Path::new("metadata"));
    let (spec, path) = (&profile.spec, Path::new("spec"));
    let parent = path.child("parent");
    one_of(&mut errors, &spec.parent.kind, &["CloudProfile"], &parent.child("kind"));
    if spec.parent.name.is_empty() {
        errors.push(FieldError::required(&parent.child("name"), "must provide a parent name"));
    }
    if let Some(kubernetes) = &spec.kubernetes {
        let path = path.child("kubernetes").child("versions");
        for (index, version) in kubernetes.versions.iter().enumerate() {
            if version.classification.is_some() {
                let text = "must not provide a classification to a Kubernetes version in NamespacedCloudProfile";
                errors.push(FieldError::forbidden(&path.index(index).child("classification"), text));
            }
        }
        kubernetes_versions(&mut errors, &kubernetes.versions, gates, &path);
    }
    images::each(&mut errors, &spec.machine_images, true, &[], gates, &path.child("machineImages"));
    volume_types(&mut errors, &spec.volume_types, gates, &path.child("volumeTypes"));
    each_machine_type(&mut errors, &spec.machine_types, &[], gates, &path.child("machineTypes"));
    common::ca_bundle(&mut errors, spec.ca_bundle.as_deref(), &path.child("caBundle"));
    limits(&mut errors, spec.limits.as_ref(), &path.child("limits"));
    errors
}

/// Checks a changed NamespacedCloudProfile.
pub fn namespaced_cloud_profile_update(
    new: &NamespacedCloudProfile,
    old: &NamespacedCloudProfile,
    gates: Gates,
) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &new.metadata, &old.metadata, &Path::new("metadata"));
    let path = Path::new("spec");
    immutable(&mut errors, &new.spec.parent, &old.spec.parent, &path.child("parent"));
    if LIMITS_MAY_DECREASE.contain(gates.release) {
        limits(&mut errors, new.spec.limits.as_ref(), &path.child("limits"));
    } else {
        limits_update(&mut errors, new.spec.limits.as_ref(), old.spec.limits.as_ref());
    }
    errors.extend(namespaced_cloud_profile(new, gates));
    errors
}

/// Checks an image that only a NamespacedCloudProfile has. Until 1.131 both sets of rules report from the start of a list.
pub fn whole_image(
    image: &MachineImage,
    registered: &[CapabilityDefinition],
    gates: Gates,
    now: DateTime<Utc>,
    path: &Path,
) -> Errors {
    let mut errors = Errors::new();
    let rules = Rules::new(Profile::Upstream, gates, now);
    if IMAGES_ARE_JUDGED_ONCE.contain(gates.release) {
        images::whole(&mut errors, image, registered, rules, path);
        return errors;
    }
    images::each(&mut errors, std::slice::from_ref(image), false, registered, gates, path);
    images::of_cloud_profile(&mut errors, std::slice::from_ref(image), registered, rules, path);
    errors
}

/// Checks a version that a NamespacedCloudProfile adds to an image of its parent; before 1.132 only the merged result is
/// checked.
pub fn added_image_version(
    version: &MachineImageVersion,
    registered: &[CapabilityDefinition],
    gates: Gates,
    path: &Path,
) -> Errors {
    let mut errors = Errors::new();
    if IMAGES_ARE_JUDGED_ONCE.contain(gates.release) {
        images::image_version(&mut errors, version, registered, gates, path);
    }
    errors
}

/// Checks the merged result of a NamespacedCloudProfile; `path` is `status.cloudProfileSpec`.
pub fn merged_spec(spec: &CloudProfileSpec, gates: Gates, now: DateTime<Utc>, path: &Path) -> Errors {
    let mut errors = Errors::new();
    let rules = Rules::new(Profile::Upstream, gates, now);
    let registered = registered(spec);
    kubernetes(&mut errors, &spec.kubernetes, rules, &path.child("kubernetes"));
    if !spec.machine_images.is_empty() {
        images::of_cloud_profile(&mut errors, &spec.machine_images, registered, rules, &path.child("machineImages"));
    }
    if !spec.machine_types.is_empty() {
        machine_types(&mut errors, &spec.machine_types, registered, gates, &path.child("machineTypes"));
    }
    volume_types(&mut errors, &spec.volume_types, gates, &path.child("volumeTypes"));
    errors
}

#[cfg(test)]
mod tests;
