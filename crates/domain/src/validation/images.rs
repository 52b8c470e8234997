// SPDX-License-Identifier: Apache-2.0
//! Validation of CloudProfiles' machine images, and the rule of one supported version per minor.

use std::collections::BTreeSet;

use api::core::*;
use apimachinery::field::{FieldError, Path};

use super::cloud_profile::Rules;
use super::common::{one_of, unprefixed_name};
use super::meta::invalid_unquoted;
use super::shoot::Gates;
use super::{Errors, capabilities, lifecycle};
use crate::release::Releases;
use crate::versions::{Constraint, Version};

/// The message about an unreadable minimum version for updates in place contains that minimum, not the version that has it.
const MINIMUM_IS_NAMED: Releases = Releases::since(125);

/// Checks each image and version by itself; a namespaced profile may name an image without versions.
///
/// `registered`: capabilities of the profile.
pub(super) fn each(
    errors: &mut Errors,
    images: &[MachineImage],
    may_lack_versions: bool,
    registered: &[CapabilityDefinition],
    gates: Gates,
    path: &Path,
) {
    let unparsable = images.iter().find_map(|image| {
        image
            .versions
            .iter()
            .find_map(|version| Some((image, version, Version::parse_in(&version.version, gates.release).err()?)))
    });
    if let Some((image, version, error)) = unparsable {
        let text = format!(
            "failed to determine latest machine image version for image '{}': error while parsing expirable version \
             '{}': {error}",
            image.name, version.version
        );
        errors.push(invalid_unquoted(path, "map[string]core.MachineImageVersion(nil)", &text));
    }
    let mut entries = Entries::default();
    for (index, image) in images.iter().enumerate() {
        self::image(errors, image, may_lack_versions, &mut entries, registered, gates, &path.index(index));
    }
}

/// Images and versions that are already in a list.
#[derive(Default)]
struct Entries {
    names: BTreeSet<String>,
    /// Versions as `NAME-VERSION`.
    versions: BTreeSet<String>,
}

fn image(
    errors: &mut Errors,
    image: &MachineImage,
    may_lack_versions: bool,
    entries: &mut Entries,
    registered: &[CapabilityDefinition],
    gates: Gates,
    path: &Path,
) {
    if !entries.names.insert(image.name.clone()) {
        errors.push(FieldError::duplicate(path, &image.name));
    }
    if image.name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), "machine image name must not be empty"));
    } else {
        unprefixed_name(errors, &image.name, "machine image name", gates, &path.child("name"));
    }
    if image.versions.is_empty() && !may_lack_versions {
        let text = format!("must provide at least one version for the machine image '{}'", image.name);
        errors.push(FieldError::required(&path.child("versions"), &text));
    }
    if let Some(strategy) = &image.update_strategy {
        one_of(errors, strategy, &["major", "minor", "patch"], &path.child("updateStrategy"));
    }
    for (index, version) in image.versions.iter().enumerate() {
        let path = path.child("versions").index(index);
        let pair = format!("{}-{}", image.name, version.version);
        if !entries.versions.insert(pair.clone()) {
            errors.push(FieldError::duplicate(&path, &pair));
        }
        image_version(errors, version, registered, gates, &path);
    }
}

/// Checks an image that no other profile has.
pub(super) fn whole(
    errors: &mut Errors,
    image: &MachineImage,
    registered: &[CapabilityDefinition],
    rules: Rules,
    path: &Path,
) {
    self::image(errors, image, false, &mut Entries::default(), registered, rules.gates, path);
    complete_versions(errors, image, registered, rules, path);
}

/// Checks a version of an image by itself.
pub(super) fn image_version(
    errors: &mut Errors,
    version: &MachineImageVersion,
    registered: &[CapabilityDefinition],
    gates: Gates,
    path: &Path,
) {
    let text_path = path.child("version");
    if version.version.is_empty() {
        errors.push(FieldError::required(&text_path, ""));
    }
    if Version::parse_in(&version.version, gates.release).is_err() {
        let text = "could not parse version. Use a semantic version. In case there is no semantic version for this \
                    image use the extensibility provider (define mapping in the CloudProfile) to map to the actual \
                    non semantic version";
        errors.push(FieldError::invalid(&text_path, &version.version, text));
    }
    let minimum = version.in_place_updates.as_ref().and_then(|updates| updates.min_version_for_update.as_ref());
    if let Some(minimum) = minimum.filter(|minimum| Version::parse_in(minimum, gates.release).is_err()) {
        let text = "could not parse version. Use a semantic version.";
        let path = path.child("minVersionForInPlaceUpdate");
        let named = if MINIMUM_IS_NAMED.contain(gates.release) { minimum } else { &version.version };
        errors.push(FieldError::invalid(&path, named, text));
    }
    lifecycle::version(errors, version, gates, path);
    capabilities::image_version(errors, version, registered, gates, path);
    if let Some(constraint) = &version.kubelet_version_constraint
        && let Err(error) = Constraint::parse_in(constraint, gates.release)
    {
        let text = format!("cannot parse the kubeletVersionConstraint: {error}");
        errors.push(FieldError::invalid(&path.child("kubeletVersionConstraint"), constraint, &text));
    }
}

/// Checks the images of a whole profile.
pub(super) fn of_cloud_profile(
    errors: &mut Errors,
    images: &[MachineImage],
    registered: &[CapabilityDefinition],
    rules: Rules,
    path: &Path,
) {
    if images.is_empty() {
        errors.push(FieldError::required(path, "must provide at least one machine image"));
    }
    each(errors, images, false, registered, rules.gates, path);
    for (index, image) in images.iter().enumerate() {
        let path = path.index(index);
        if image.update_strategy.is_none() {
            errors.push(FieldError::required(&path.child("updateStrategy"), "must provide an update strategy"));
        }
        complete_versions(errors, image, registered, rules, &path);
    }
}

/// Checks what the versions of an image must have that is not an override.
fn complete_versions(
    errors: &mut Errors,
    image: &MachineImage,
    registered: &[CapabilityDefinition],
    rules: Rules,
    path: &Path,
) {
    for (index, version) in image.versions.iter().enumerate() {
        let path = path.child("versions").index(index);
        runtime_interfaces(errors, &version.cri, rules.gates, &path.child("cri"));
        lifecycle::clash(errors, &image.versions, index, rules.at, &path);
        capabilities::of_image_version(errors, version, registered, rules.gates, &path);
    }
}

fn runtime_interfaces(errors: &mut Errors, interfaces: &[CRI], gates: Gates, path: &Path) {
    if interfaces.is_empty() {
        errors.push(FieldError::required(path, "must provide at least one supported container runtime"));
    }
    let mut names = BTreeSet::new();
    for (index, interface) in interfaces.iter().enumerate() {
        let path = path.index(index);
        if !names.insert(&interface.name) {
            errors.push(FieldError::duplicate(&path, &interface.name));
        }
        one_of(errors, &interface.name, &["containerd"], &path.child("name"));
        let mut types = BTreeSet::new();
        for (index, runtime) in interface.container_runtimes.iter().enumerate() {
            let path = path.child("containerRuntimes").index(index).child("type");
            unprefixed_name(errors, &runtime.r#type, "container runtime type", gates, &path);
            if !types.insert(&runtime.r#type) {
                errors.push(FieldError::duplicate(&path, &runtime.r#type));
            }
        }
    }
}
