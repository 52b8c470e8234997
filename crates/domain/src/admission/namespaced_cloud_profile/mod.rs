// SPDX-License-Identifier: Apache-2.0
//! NamespacedCloudProfiles: overrides against the parent (NamespacedCloudProfileValidator) and against the Shoots that need
//! them (ResourceReferenceManager), and a Shoot's change from one profile to another.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::core::*;
use apimachinery::field::{FieldError, Path};
use chrono::{DateTime, Utc};

use super::cloud_profile::{limits, missing, versions_of};
use super::{Refusal, aggregate, multierror};
use crate::capabilities::{field_names, flavors, registered};
use crate::cloud_profile::{
    CLOUD_PROFILE, NAMESPACED_CLOUD_PROFILE, in_format_of_parent, machine_image, machine_image_version, machine_type,
    merge, reference, volume_type,
};
use crate::release::{Release, Releases};
use crate::validation::cloud_profile::{added_image_version, go_time, merged_spec, whole_image};
use crate::validation::meta::invalid_unquoted;
use crate::validation::shoot::Gates;
use crate::versions::Moment;

/// True if an update removes versions or changes limits that Shoots may need.
pub fn takes_away(new: &NamespacedCloudProfile, old: &NamespacedCloudProfile) -> bool {
    let images = missing(&versions_of(&old.spec.machine_images), &versions_of(&new.spec.machine_images));
    !removed_overrides(new, old).is_empty() || !images.is_empty() || new.spec.limits != old.spec.limits
}

fn removed_overrides(new: &NamespacedCloudProfile, old: &NamespacedCloudProfile) -> BTreeSet<String> {
    let listed = |profile: &NamespacedCloudProfile| -> BTreeSet<String> {
        let versions = profile.spec.kubernetes.iter().flat_map(|kubernetes| &kubernetes.versions);
        versions.map(|version| version.version.clone()).collect()
    };
    listed(old).difference(&listed(new)).cloned().collect()
}

/// Checks that no override is removed while a Shoot needs it (ResourceReferenceManager for NamespacedCloudProfiles).
///
/// # Errors
/// 403 with one line per finding.
pub fn check_overrides_in_use(
    new: &NamespacedCloudProfile,
    old: &NamespacedCloudProfile,
    parent: &CloudProfileSpec,
    shoots: &[Arc<Shoot>],
    at: Moment,
) -> Result<(), Refusal> {
    let kubernetes = removed_overrides(new, old);
    let images = missing(&versions_of(&old.spec.machine_images), &versions_of(&new.spec.machine_images));
    let profile = format!("{}/{}", new.metadata.namespace, new.metadata.name);
    let mut texts = Vec::new();
    let uses = |shoot: &Shoot| {
        !shoot.metadata.is_being_deleted()
            && reference(&shoot.spec)
                .is_some_and(|one| one.kind == NAMESPACED_CLOUD_PROFILE && one.name == new.metadata.name)
    };
    for shoot in shoots.iter().filter(|shoot| uses(shoot)) {
        let user = format!("{}/{}", shoot.metadata.namespace, shoot.metadata.name);
        let version = &shoot.spec.kubernetes.version;
        let listed = parent.kubernetes.versions.iter().find(|one| one.version == *version);
        let is_past = listed.is_some_and(|one| at.is_expired_for_admission(one));
        if kubernetes.contains(version) && is_past {
            texts.push(format!(
                "unable to delete Kubernetes version {version:?} from NamespacedCloudProfile '{profile}' - version with \
                 extended expiration date is still in use by shoot '{user}'"
            ));
        }
        for worker in &shoot.spec.provider.workers {
            let Some(image) = &worker.machine.image else { continue };
            let version = image.version.as_deref().unwrap_or_default();
            let removed = images.get(&image.name).is_some_and(|gone| gone.contains(version));
            let listed = machine_image_version(parent, &image.name, version);
            let usable = listed.is_some_and(|one| !at.is_expired_for_admission(one));
            if removed && !usable {
                texts.push(format!(
                    "unable to delete Machine image version '{}/{version}' from NamespacedCloudProfile '{profile}' - \
                     version is still in use by shoot '{user}' by worker {:?}",
                    image.name, worker.name
                ));
            }
        }
        if new.spec.limits != old.spec.limits {
            limits(&mut texts, shoot, new.spec.limits.as_ref(), at.release);
        }
    }
    if texts.is_empty() { Ok(()) } else { Err(Refusal::Forbidden(multierror(&texts))) }
}

/// Releases that convert a NamespacedCloudProfile to the format of its parent before they check it.
const IS_JUDGED_IN_FORMAT_OF_PARENT: Releases = Releases::since(132);

/// Machine types of the parent cannot be replaced.
const MACHINE_TYPES_OF_PARENT_STAY: Releases = Releases::until(145);

/// An override of an image version has no settings of updates in place.
const NO_UPDATES_IN_PLACE: Releases = Releases::since(124);

/// The expiration date of an image version that its parent has received may change.
const DATE_MAY_CHANGE: Releases = Releases::since(135);

/// A Shoot may change between all profiles below one CloudProfile, and its values are compared with the new one.
const ANY_CHANGE_BELOW_A_ROOT: Releases = Releases::since(108);

/// Checks that a NamespacedCloudProfile is compatible with its parent (NamespacedCloudProfileValidator).
///
/// # Errors
/// 400 for a machine type of the parent; 500 without a reason for the rest, as upstream returns bare errors.
pub fn check_namespaced(
    new: &NamespacedCloudProfile,
    old: Option<&NamespacedCloudProfile>,
    parent: &CloudProfileSpec,
    gates: Gates,
    now: DateTime<Utc>,
) -> Result<(), Refusal> {
    let at = Moment::new(now, gates.release);
    let judged = |profile: &NamespacedCloudProfile| {
        let mut profile = profile.clone();
        if IS_JUDGED_IN_FORMAT_OF_PARENT.contain(gates.release) {
            profile.spec = in_format_of_parent(&profile.spec, parent);
        }
        profile
    };
    let (new, old) = (&judged(new), old.map(judged));
    let old = old.as_ref();
    let own_types = new.spec.machine_types.iter().filter(|_| MACHINE_TYPES_OF_PARENT_STAY.contain(gates.release));
    for machine_type in own_types {
        let listed = parent.machine_types.iter().any(|one| one.name == machine_type.name);
        let before = old.is_some_and(|old| old.spec.machine_types.iter().any(|one| one.name == machine_type.name));
        if listed && !before {
            // Upstream prints the struct as Go does; here it is JSON, as everywhere.
            let shown = serde_json::to_string(machine_type).unwrap_or_default();
            return Err(Refusal::BadRequest(format!(
                "NamespacedCloudProfile attempts to overwrite parent CloudProfile with machineType: {shown}"
            )));
        }
    }
    kubernetes_overrides(new, old, parent, at)?;
    let errors = image_overrides(new, old, parent, gates, at);
    if !errors.is_empty() {
        return Err(Refusal::Plain(aggregate(&errors)));
    }
    let errors = merged_spec(&merge(parent, &new.spec), gates, now, &Path::new("status.cloudProfileSpec"));
    if errors.is_empty() {
        return Ok(());
    }
    // Upstream prints the list itself: brackets even around a single error, separated by blanks, with repetitions.
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Err(Refusal::Plain(format!("error while validating merged NamespacedCloudProfile: [{}]", texts.join(" "))))
}

fn kubernetes_overrides(
    new: &NamespacedCloudProfile,
    old: Option<&NamespacedCloudProfile>,
    parent: &CloudProfileSpec,
    at: Moment,
) -> Result<(), Refusal> {
    for version in new.spec.kubernetes.iter().flat_map(|kubernetes| &kubernetes.versions) {
        let text = &version.version;
        if !parent.kubernetes.versions.iter().any(|one| one.version == *text) {
            return Err(Refusal::Plain(format!(
                "invalid kubernetes version specified: '{text}' does not exist in parent CloudProfile and thus cannot be \
                 overridden"
            )));
        }
        let Some(date) = version.expiration_date else {
            return Err(Refusal::Plain(format!("specified version '{text}' does not set expiration date")));
        };
        let Some(old) = old.filter(|_| at.is_expired_for_admission(version)) else { continue };
        let merged = &old.status.cloud_profile_spec.kubernetes.versions;
        if !merged.iter().any(|one| one.version == *text && one.expiration_date == Some(date)) {
            return Err(Refusal::Plain(format!("expiration date for version {text:?} is in the past")));
        }
    }
    Ok(())
}

fn image_overrides(
    new: &NamespacedCloudProfile,
    old: Option<&NamespacedCloudProfile>,
    parent: &CloudProfileSpec,
    gates: Gates,
    at: Moment,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, image) in new.spec.machine_images.iter().enumerate() {
        let path = Path::new("spec").child("machineImages").index(index);
        if machine_image(parent, &image.name).is_none() {
            errors.extend(whole_image(image, registered(parent), gates, at.now, &path));
            continue;
        }
        let before = old.and_then(|old| old.spec.machine_images.iter().find(|one| one.name == image.name));
        let strategy = |image: &MachineImage| image.update_strategy.clone().unwrap_or_default();
        if before.is_some_and(|before| strategy(before) != strategy(image)) {
            let text = format!(
                "cannot update the machine image update strategy of {:?}, as this version has been added to the parent \
                 CloudProfile by now",
                image.name
            );
            errors.push(FieldError::forbidden(&path.child("updateStrategy"), &text));
        }
        for (index, version) in image.versions.iter().enumerate() {
            let path = path.child("versions").index(index);
            if machine_image_version(parent, &image.name, &version.version).is_none() {
                errors.extend(added_image_version(version, registered(parent), gates, &path));
                continue;
            }
            let known = before.and_then(|image| image.versions.iter().find(|one| one.version == version.version));
            match known {
                Some(known) => kept_image(&mut errors, image, (version, known), gates, &path),
                None => extended_image(&mut errors, version, gates, &path),
            }
            let Some(old) = old.filter(|_| at.is_expired_for_admission(version)) else { continue };
            let merged = machine_image_version(&old.status.cloud_profile_spec, &image.name, &version.version);
            if merged.is_none_or(|merged| merged.expiration_date != version.expiration_date) {
                let text = format!("expiration date for version {:?} is in the past", version.version);
                let date = go_time(version.expiration_date);
                errors.push(invalid_unquoted(&path.child("expirationDate"), &date, &text));
            }
        }
    }
    errors
}

/// Checks that a version that the parent has received as well is kept.
fn kept_image(
    errors: &mut Vec<FieldError>,
    image: &MachineImage,
    (version, known): (&MachineImageVersion, &MachineImageVersion),
    gates: Gates,
    path: &Path,
) {
    let (mut allowed, mut but_date) = (known.clone(), "");
    if DATE_MAY_CHANGE.contain(gates.release) {
        allowed.expiration_date = version.expiration_date;
        but_date = " (except for the expiration date)";
    }
    if *version != allowed {
        let text = format!(
            "cannot update the machine image version spec{but_date} of \"{}@{}\", as this version has been added to the \
             parent CloudProfile by now",
            image.name, version.version
        );
        errors.push(FieldError::forbidden(path, &text));
    }
}

/// Checks that an override of a parent's image version changes only its expiration.
fn extended_image(errors: &mut Vec<FieldError>, version: &MachineImageVersion, gates: Gates, path: &Path) {
    let is_set = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
    let updates_in_place = version.in_place_updates.is_some() && NO_UPDATES_IN_PLACE.contain(gates.release);
    let fields = [
        ("classification", is_set(&version.classification), "a classification"),
        ("cri", !version.cri.is_empty(), "a cri"),
        ("architectures", !version.architectures.is_empty(), "an architecture"),
        (field_names(gates.release).flavors, !flavors(version).is_empty(), "capabilities"),
        ("kubeletVersionConstraint", is_set(&version.kubelet_version_constraint), "a kubelet version constraint"),
        ("inPlaceUpdates", updates_in_place, "inPlaceUpdates"),
    ];
    for (field, _, what) in fields.into_iter().filter(|(_, is_set, _)| *is_set) {
        let text = format!("must not provide {what} to an extended machine image in NamespacedCloudProfile");
        errors.push(FieldError::forbidden(&path.child(field), &text));
    }
    if version.expiration_date.is_none() {
        let text = format!("expiration date for version {:?} must be set", version.version);
        errors.push(invalid_unquoted(&path.child("expirationDate"), "null", &text));
    }
}

/// Checks that a Shoot's reference changes only below the same CloudProfile. Each side is the reference and its root
/// CloudProfile. Up to 1.107 the only change allowed is from a CloudProfile to a NamespacedCloudProfile below it.
///
/// Source: plugin/pkg/utils/cloudprofile.go @ v1.101.0 and v1.108.0.
///
/// # Errors
/// 500 without a reason, as upstream returns a bare error.
pub fn check_hierarchy(
    (before, old_root): (&CloudProfileReference, &CloudProfileReference),
    (now, root): (&CloudProfileReference, &CloudProfileReference),
    release: Release,
) -> Result<(), Refusal> {
    if !ANY_CHANGE_BELOW_A_ROOT.contain(release) {
        let is_descendant = before.kind == CLOUD_PROFILE && now.kind == NAMESPACED_CLOUD_PROFILE && before == root;
        let text = "a Seed's CloudProfile may only be changed to a descendant NamespacedCloudProfile, other modifications \
                    are currently not supported";
        return if is_descendant { Ok(()) } else { Err(Refusal::Plain(text.to_owned())) };
    }
    if old_root == root {
        return Ok(());
    }
    let shown = |reference: &CloudProfileReference, root: &CloudProfileReference| {
        if reference.kind == CLOUD_PROFILE {
            format!("{:?}", reference.name)
        } else {
            format!("{:?} (root: {:?})", reference.name, root.name)
        }
    };
    Err(Refusal::Plain(format!(
        "cloud profile reference change is invalid: cannot change from {} to {}. The cloud profile reference must \
         remain within the same hierarchy",
        shown(before, old_root),
        shown(now, root)
    )))
}

/// Checks that a profile has the values of a Shoot that changes to it (since 1.108): machine types, volume types, and the
/// image versions that the old profile has. Kubernetes versions are not compared: a version whose date was moved may be
/// replaced at the next maintenance.
///
/// # Errors
/// 500 without a reason, as upstream returns a bare error; the first finding.
pub fn check_still_offered(
    shoot: &Shoot,
    old_spec: &CloudProfileSpec,
    new_spec: &CloudProfileSpec,
    release: Release,
) -> Result<(), Refusal> {
    if !ANY_CHANGE_BELOW_A_ROOT.contain(release) {
        return Ok(());
    }
    let removed = missing(&versions_of(&old_spec.machine_images), &versions_of(&new_spec.machine_images));
    let lacks = "newly referenced cloud profile does not contain the";
    for worker in &shoot.spec.provider.workers {
        let by = format!("currently in use by worker {:?}", worker.name);
        if let Some(image) = &worker.machine.image
            && let Some(version) = &image.version
            && removed.get(&image.name).is_some_and(|gone| gone.contains(version))
        {
            let text = format!("{lacks} machine image version \"{}@{version}\" {by}", image.name);
            return Err(Refusal::Plain(text));
        }
        if machine_type(new_spec, &worker.machine.r#type).is_none() {
            return Err(Refusal::Plain(format!("{lacks} machine type {:?} {by}", worker.machine.r#type)));
        }
        let volume = worker.volume.as_ref().and_then(|volume| volume.r#type.as_ref());
        if let Some(volume) = volume.filter(|name| volume_type(new_spec, name).is_none()) {
            return Err(Refusal::Plain(format!("{lacks} volume type {volume:?} {by}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
