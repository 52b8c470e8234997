// SPDX-License-Identifier: Apache-2.0
//! The CloudProfile that a Shoot refers to ([`resolve`]), and its offer; [`merge()`] of a NamespacedCloudProfile with
//! its parent is a module of its own.
//!
//! Source: pkg/apis/core/v1beta1/helper/cloudprofile.go, pkg/utils/gardener/cloudprofile.go @ v1.120.0.

mod merge;
mod status;
mod suitability;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::core::{
    CloudProfile, CloudProfileReference, CloudProfileSpec, ExpirableVersion, MachineImage, MachineImageVersion,
    MachineType, NamespacedCloudProfile, Shoot, ShootSpec, VolumeType, Worker,
};
use serde_json::{Value, json};

pub use self::merge::{in_format_of_parent, merge, without_lost_versions};
pub use self::status::{next_change, status};
pub use self::suitability::unsuitable;
use crate::release::{Release, Releases};
use crate::shoot_facts::is_in_place;
use crate::versions::{Moment, State, Version};

/// Kind `CloudProfile` in references.
pub const CLOUD_PROFILE: &str = "CloudProfile";
/// Kind `NamespacedCloudProfile` in references.
pub const NAMESPACED_CLOUD_PROFILE: &str = "NamespacedCloudProfile";

/// Text about a Shoot without `spec.cloudProfileName` in a release that [counts the name](counts_by_name).
pub const NO_PROFILE_NAME: &str = "cloudprofile.core.gardener.cloud \"\" not found";

/// Releases in which `spec.cloudProfile` of a Shoot counts. Those from 1.92 to 1.100 serve the field, and no component reads it.
const REFERENCE_COUNTS: Releases = Releases::since(101);

/// True if `spec.cloudProfileName` alone refers to the profile of a Shoot in a release.
pub const fn counts_by_name(release: Release) -> bool {
    !REFERENCE_COUNTS.contain(release)
}

/// Profile that a Shoot refers to: `spec.cloudProfile`, else `spec.cloudProfileName`.
///
/// A reference without a kind is one to a CloudProfile. Shoots of a release that [counts the name](counts_by_name) have no
/// `spec.cloudProfile` ([`crate::defaulting::drop_unread_reference`]).
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

/// Name and value of the field of a Shoot's `spec` that refers to a profile in a release. An empty kind is left out.
pub fn reference_field(reference: &CloudProfileReference, release: Release) -> (&'static str, Value) {
    let CloudProfileReference { kind, name } = reference;
    if counts_by_name(release) {
        ("cloudProfileName", json!(name))
    } else if kind.is_empty() {
        ("cloudProfile", json!({ "name": name }))
    } else {
        ("cloudProfile", json!({ "kind": kind, "name": name }))
    }
}

/// Path of the field by which a Shoot refers to its profile.
pub const fn reference_path(shoot: &ShootSpec) -> &'static str {
    match (&shoot.cloud_profile, &shoot.cloud_profile_name) {
        (None, Some(_)) => "spec.cloudProfileName",
        _ => "spec.cloudProfile",
    }
}

/// Text of a gardener-apiserver about a Shoot without a reference. Releases that [count the name](counts_by_name) look up the
/// empty name.
pub fn no_reference(release: Release) -> String {
    if counts_by_name(release) { NO_PROFILE_NAME.to_owned() } else { Unresolved::NoReference.to_string() }
}

/// Source of the profiles for [`resolve`].
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

    /// Returns the offer of the profile: the spec of a CloudProfile, the merged spec in the status of a
    /// NamespacedCloudProfile.
    pub fn spec(&self) -> &CloudProfileSpec {
        match self {
            Self::Cluster(profile) => &profile.spec,
            Self::Namespaced(profile) => &profile.status.cloud_profile_spec,
        }
    }
}

/// Reason why a Shoot has no profile. The texts are upstream's.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unresolved {
    /// The Shoot refers to none.
    #[error("no cloudprofile reference has been provided")]
    NoReference,
    /// The reference has a kind that is not a profile's.
    #[error("could not find referenced cloudprofile")]
    UnknownKind,
    /// The profile of that kind and name does not exist.
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

/// The machine image that is shown to users as the default for a pool: the first image, in the profile's order, of
/// which a version is supported, not expired, and can be run by the pool, and of it the highest such version; without
/// a supported one, the highest that is unclassified. A pool that is updated in place needs a version that supports
/// it.
///
/// Never a preview, a deprecated or an expired version, unlike the version that an empty image may get.
pub fn shown_default_image<'a>(
    spec: &'a CloudProfileSpec,
    worker: &Worker,
    kubelet: &Version,
    at: Moment,
) -> Option<(&'a MachineImage, &'a MachineImageVersion)> {
    let updates = |entry: &MachineImageVersion| entry.in_place_updates.as_ref().is_some_and(|one| one.supported);
    let fits = |entry: &&MachineImageVersion| {
        unsuitable(entry, worker, kubelet, spec, at).is_none() && (!is_in_place(worker) || updates(entry))
    };
    spec.machine_images.iter().find_map(|image| {
        let highest = |wanted: State| {
            let of_state = image.versions.iter().filter(|entry| at.state(*entry) == wanted).filter(fits);
            let parsed = of_state.filter_map(|entry| Some((Version::parse(&entry.version).ok()?, entry)));
            // Of equal ones the first.
            parsed.reduce(|best, other| if other.0 > best.0 { other } else { best }).map(|(_, entry)| entry)
        };
        let entry = highest(State::Supported).or_else(|| highest(State::Unclassified))?;
        Some((image, entry))
    })
}
