// SPDX-License-Identifier: Apache-2.0
//! CloudProfiles: versions in use (ResourceReferenceManager), overrides (NamespacedCloudProfileValidator), and the
//! change of a Shoot's reference.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::core::*;
use apimachinery::field::{FieldError, Path};
use chrono::{DateTime, Utc};

use super::{Refusal, aggregate, multierror};
use crate::cloud_profile::{machine_image, machine_image_version, merge};
use crate::profile::Profile;
use crate::validation::cloud_profile::{merged_spec, whole_image};
use crate::validation::meta::invalid_unquoted;

/// What an update takes away from, and adds to, the versions of a CloudProfile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    kubernetes: BTreeSet<String>,
    removed_images: BTreeSet<String>,
    added_images: BTreeSet<String>,
    removed_image_versions: BTreeMap<String, BTreeSet<String>>,
    versions_added: bool,
    limits_changed: bool,
}

type ImageVersions<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

fn versions_of(images: &[MachineImage]) -> ImageVersions<'_> {
    let mut all = ImageVersions::new();
    for image in images {
        let versions = image.versions.iter().map(|version| version.version.as_str());
        all.entry(image.name.as_str()).or_default().extend(versions);
    }
    all
}

fn missing(from: &ImageVersions<'_>, present: &ImageVersions<'_>) -> BTreeMap<String, BTreeSet<String>> {
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
    /// Between two states of a CloudProfile, by exact text.
    pub fn new(new: &CloudProfileSpec, old: &CloudProfileSpec) -> Self {
        let listed = |spec: &CloudProfileSpec| -> BTreeSet<String> {
            spec.kubernetes.versions.iter().map(|version| version.version.clone()).collect()
        };
        let (now, before) = (versions_of(&new.machine_images), versions_of(&old.machine_images));
        let names = |from: &ImageVersions<'_>, present: &ImageVersions<'_>| -> BTreeSet<String> {
            from.keys().filter(|image| !present.contains_key(*image)).map(|image| (*image).to_owned()).collect()
        };
        Self {
            kubernetes: listed(old).difference(&listed(new)).cloned().collect(),
            removed_images: names(&before, &now),
            added_images: names(&now, &before),
            removed_image_versions: missing(&before, &now),
            versions_added: !missing(&now, &before).is_empty(),
            limits_changed: new.limits != old.limits,
        }
    }

    /// Whether users of the CloudProfile must be looked at.
    pub fn matters(&self) -> bool {
        !self.kubernetes.is_empty()
            || !self.removed_image_versions.is_empty()
            || self.versions_added
            || self.limits_changed
    }
}

/// Who stands against a change: NamespacedCloudProfiles first, then Shoots, both in the order given.
///
/// # Errors
/// 403 with one line per finding.
pub fn check_versions_in_use(
    new: &CloudProfile,
    difference: &Difference,
    namespaced: &[Arc<NamespacedCloudProfile>],
    shoots: &[Arc<Shoot>],
    rules: Profile,
) -> Result<(), Refusal> {
    let name = &new.metadata.name;
    let mut texts = Vec::new();
    let children: Vec<&NamespacedCloudProfile> = namespaced
        .iter()
        .map(AsRef::as_ref)
        .filter(|child| !child.metadata.is_being_deleted())
        .filter(|child| child.spec.parent.name == *name && child.spec.parent.kind == "CloudProfile")
        .collect();
    for child in &children {
        namespaced_in_use(&mut texts, name, difference, child);
    }
    let related = |shoot: &Shoot| match &shoot.spec.cloud_profile {
        Some(reference) if reference.kind == "NamespacedCloudProfile" => children
            .iter()
            .any(|child| child.metadata.name == reference.name && child.metadata.namespace == shoot.metadata.namespace),
        Some(reference) => reference.name == *name,
        None => shoot.spec.cloud_profile_name.as_ref() == Some(name),
    };
    for shoot in shoots.iter().filter(|shoot| !shoot.metadata.is_being_deleted() && related(shoot)) {
        shoot_in_use(&mut texts, name, difference, shoot, rules);
        if difference.limits_changed {
            limits(&mut texts, shoot, new.spec.limits.as_ref());
        }
    }
    if texts.is_empty() { Ok(()) } else { Err(Refusal::Forbidden(multierror(&texts))) }
}

fn namespaced_in_use(texts: &mut Vec<String>, name: &str, difference: &Difference, child: &NamespacedCloudProfile) {
    let user = format!("{}/{}", child.metadata.namespace, child.metadata.name);
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

fn limits(texts: &mut Vec<String>, shoot: &Shoot, limits: Option<&Limits>) {
    let Some(most) = limits.and_then(|limits| limits.max_nodes_total) else { return };
    let user = format!("{}/{}", shoot.metadata.namespace, shoot.metadata.name);
    let mut minimum = 0_i64;
    for worker in &shoot.spec.provider.workers {
        minimum += i64::from(worker.minimum);
        if worker.maximum > most {
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

/// ResourceReferenceManager for NamespacedCloudProfiles: an override stays while a Shoot needs it.
///
/// # Errors
/// 403 with one line per finding.
pub fn check_overrides_in_use(
    new: &NamespacedCloudProfile,
    old: &NamespacedCloudProfile,
    parent: &CloudProfileSpec,
    shoots: &[Arc<Shoot>],
    now: DateTime<Utc>,
) -> Result<(), Refusal> {
    let listed = |profile: &NamespacedCloudProfile| -> BTreeSet<String> {
        let versions = profile.spec.kubernetes.iter().flat_map(|kubernetes| &kubernetes.versions);
        versions.map(|version| version.version.clone()).collect()
    };
    let kubernetes: BTreeSet<String> = listed(old).difference(&listed(new)).cloned().collect();
    let images = missing(&versions_of(&old.spec.machine_images), &versions_of(&new.spec.machine_images));
    let profile = format!("{}/{}", new.metadata.namespace, new.metadata.name);
    let mut texts = Vec::new();
    let uses = |shoot: &Shoot| {
        let reference = shoot.spec.cloud_profile.as_ref();
        !shoot.metadata.is_being_deleted()
            && reference.is_some_and(|one| one.kind == "NamespacedCloudProfile" && one.name == new.metadata.name)
    };
    for shoot in shoots.iter().filter(|shoot| uses(shoot)) {
        let user = format!("{}/{}", shoot.metadata.namespace, shoot.metadata.name);
        let version = &shoot.spec.kubernetes.version;
        let listed = parent.kubernetes.versions.iter().find(|one| one.version == *version);
        let is_past = listed.and_then(|one| one.expiration_date).is_some_and(|date| date.0 < now);
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
            let usable = listed.is_some_and(|one| one.expiration_date.is_none_or(|date| date.0 >= now));
            if removed && !usable {
                texts.push(format!(
                    "unable to delete Machine image version '{}/{version}' from NamespacedCloudProfile '{profile}' - \
                     version is still in use by shoot '{user}' by worker {:?}",
                    image.name, worker.name
                ));
            }
        }
        if new.spec.limits != old.spec.limits {
            limits(&mut texts, shoot, new.spec.limits.as_ref());
        }
    }
    if texts.is_empty() { Ok(()) } else { Err(Refusal::Forbidden(multierror(&texts))) }
}

/// NamespacedCloudProfileValidator: what a NamespacedCloudProfile says must fit its parent.
///
/// # Errors
/// 400 for a machine type of the parent, 403 for the rest.
pub fn check_namespaced(
    new: &NamespacedCloudProfile,
    old: Option<&NamespacedCloudProfile>,
    parent: &CloudProfileSpec,
    now: DateTime<Utc>,
) -> Result<(), Refusal> {
    for machine_type in &new.spec.machine_types {
        let listed = parent.machine_types.iter().any(|one| one.name == machine_type.name);
        let before = old.is_some_and(|old| old.spec.machine_types.iter().any(|one| one.name == machine_type.name));
        if listed && !before {
            return Err(Refusal::BadRequest(format!(
                "NamespacedCloudProfile attempts to overwrite parent CloudProfile with machineType: {machine_type:?}"
            )));
        }
    }
    kubernetes_overrides(new, old, parent, now)?;
    Refusal::unless_empty(&image_overrides(new, old, parent, now))?;
    let errors = merged_spec(&merge(parent, &new.spec), &Path::new("status.cloudProfileSpec"));
    if errors.is_empty() {
        return Ok(());
    }
    // Upstream prints the list itself, which has brackets even around a single error.
    let text = aggregate(&errors);
    let text = if text.starts_with('[') { text } else { format!("[{text}]") };
    Err(Refusal::Forbidden(format!("error while validating merged NamespacedCloudProfile: {text}")))
}

fn kubernetes_overrides(
    new: &NamespacedCloudProfile,
    old: Option<&NamespacedCloudProfile>,
    parent: &CloudProfileSpec,
    now: DateTime<Utc>,
) -> Result<(), Refusal> {
    for version in new.spec.kubernetes.iter().flat_map(|kubernetes| &kubernetes.versions) {
        let text = &version.version;
        if !parent.kubernetes.versions.iter().any(|one| one.version == *text) {
            return Err(Refusal::Forbidden(format!(
                "invalid kubernetes version specified: '{text}' does not exist in parent CloudProfile and thus cannot be \
                 overridden"
            )));
        }
        let Some(date) = version.expiration_date else {
            return Err(Refusal::Forbidden(format!("specified version '{text}' does not set expiration date")));
        };
        let Some(old) = old.filter(|_| date.0 < now) else { continue };
        let merged = &old.status.cloud_profile_spec.kubernetes.versions;
        if !merged.iter().any(|one| one.version == *text && one.expiration_date == Some(date)) {
            return Err(Refusal::Forbidden(format!("expiration date for version {text:?} is in the past")));
        }
    }
    Ok(())
}

fn image_overrides(
    new: &NamespacedCloudProfile,
    old: Option<&NamespacedCloudProfile>,
    parent: &CloudProfileSpec,
    now: DateTime<Utc>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, image) in new.spec.machine_images.iter().enumerate() {
        let path = Path::new("spec").child("machineImages").index(index);
        if machine_image(parent, &image.name).is_none() {
            errors.extend(whole_image(image, !parent.capabilities.is_empty(), &path));
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
            if machine_image_version(parent, &image.name, &version.version).is_none() {
                continue;
            }
            let path = path.child("versions").index(index);
            let known = before.and_then(|image| image.versions.iter().find(|one| one.version == version.version));
            match known {
                Some(known) if known != version => {
                    let text = format!(
                        "cannot update the machine image version spec of \"{}@{}\", as this version has been added to \
                         the parent CloudProfile by now",
                        image.name, version.version
                    );
                    errors.push(FieldError::forbidden(&path, &text));
                }
                Some(_) => {}
                None => extended_image(&mut errors, version, &path),
            }
            let Some(old) = old.filter(|_| version.expiration_date.is_some_and(|date| date.0 < now)) else { continue };
            let merged = machine_image_version(&old.status.cloud_profile_spec, &image.name, &version.version);
            if merged.is_none_or(|merged| merged.expiration_date != version.expiration_date) {
                let text = format!("expiration date for version {:?} is in the past", version.version);
                let date = crate::validation::cloud_profile::go_time(version.expiration_date);
                errors.push(invalid_unquoted(&path.child("expirationDate"), &date, &text));
            }
        }
    }
    errors
}

/// An override of a parent's image version may change its expiration only.
fn extended_image(errors: &mut Vec<FieldError>, version: &MachineImageVersion, path: &Path) {
    let is_set = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
    let fields = [
        ("classification", is_set(&version.classification), "a classification"),
        ("cri", !version.cri.is_empty(), "a cri"),
        ("architectures", !version.architectures.is_empty(), "an architecture"),
        ("capabilitySets", !version.capability_sets.is_empty(), "capabilities"),
        ("kubeletVersionConstraint", is_set(&version.kubelet_version_constraint), "a kubelet version constraint"),
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

/// A Shoot's reference may change only below the same CloudProfile, to one that has what the Shoot uses.
///
/// `roots` are the names of the CloudProfiles at the root of the old and the new reference.
///
/// # Errors
/// 500, as upstream answers a plain error.
pub fn check_reference_change(
    shoot: &Shoot,
    old: &Shoot,
    roots: (&str, &str),
    new_spec: &CloudProfileSpec,
) -> Result<(), Refusal> {
    let reference = crate::cloud_profile::reference;
    let (Some(before), Some(now)) = (reference(&old.spec), reference(&shoot.spec)) else { return Ok(()) };
    if before == now {
        return Ok(());
    }
    let shown = |reference: &CloudProfileReference, root: &str| {
        if reference.kind == "NamespacedCloudProfile" {
            format!("{:?} (root: {root:?})", reference.name)
        } else {
            format!("{:?}", reference.name)
        }
    };
    if roots.0 != roots.1 {
        return Err(Refusal::Internal(format!(
            "cloud profile reference change is invalid: cannot change from {} to {}. The cloud profile reference must \
             remain within the same hierarchy",
            shown(&before, roots.0),
            shown(&now, roots.1)
        )));
    }
    let lacks = "newly referenced cloud profile does not contain the";
    for worker in &shoot.spec.provider.workers {
        let by = format!("currently in use by worker {:?}", worker.name);
        if let Some(image) = &worker.machine.image
            && let Some(version) = &image.version
            && machine_image_version(new_spec, &image.name, version).is_none()
        {
            let text = format!("{lacks} machine image version \"{}@{version}\" {by}", image.name);
            return Err(Refusal::Internal(text));
        }
        if !new_spec.machine_types.iter().any(|one| one.name == worker.machine.r#type) {
            return Err(Refusal::Internal(format!("{lacks} machine type {:?} {by}", worker.machine.r#type)));
        }
        let volume = worker.volume.as_ref().and_then(|volume| volume.r#type.as_ref());
        if let Some(volume) = volume.filter(|volume| !new_spec.volume_types.iter().any(|one| one.name == **volume)) {
            return Err(Refusal::Internal(format!("{lacks} volume type {volume:?} {by}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let difference = Difference::new(&new.spec, &old.spec);
        let expected = if lines.is_empty() {
            Ok(())
        } else {
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            Err(Refusal::Forbidden(multierror(&lines)))
        };
        assert_eq!(check_versions_in_use(new, &difference, &[], std::slice::from_ref(shoot), rules), expected);
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
    fn the_version_of_a_pool_is_in_use_by_the_documents() {
        let new = profile(&["1.27.1"], &["1.0.0", "2.0.0"]);
        let shoot = shoot("1.27.1", Some("1.26.4"), "1.0.0");
        check(&new, &shoot, Profile::Upstream, &[]);
        let line = "unable to delete Kubernetes version \"1.26.4\" from CloudProfile \"local\" - version is still in use \
                    by shoot 'garden-dev/a' by worker \"pool\"";
        check(&new, &shoot, Profile::Documents, &[line]);
    }
}
