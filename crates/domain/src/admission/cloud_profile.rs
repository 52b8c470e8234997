// SPDX-License-Identifier: Apache-2.0
//! Admission of CloudProfiles: versions in use (ResourceReferenceManager).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::core::*;

use super::{Refusal, multierror};
use crate::cloud_profile::{CLOUD_PROFILE, NAMESPACED_CLOUD_PROFILE, reference};
use crate::profile::Profile;

/// Versions and limits that an update of a CloudProfile removes, adds or changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    kubernetes: BTreeSet<String>,
    removed_images: BTreeSet<String>,
    added_images: BTreeSet<String>,
    removed_image_versions: BTreeMap<String, BTreeSet<String>>,
    versions_added: bool,
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
    /// Compares two states of a CloudProfile, by exact text.
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

    /// True if users of the CloudProfile must be checked.
    pub fn matters(&self) -> bool {
        !self.kubernetes.is_empty()
            || !self.removed_image_versions.is_empty()
            || self.versions_added
            || self.limits_changed
    }
}

/// Checks that no object uses a removed version: NamespacedCloudProfiles first, then Shoots, both in the given order.
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
        .filter(|child| child.spec.parent.name == *name && child.spec.parent.kind == CLOUD_PROFILE)
        .collect();
    for child in &children {
        namespaced_in_use(&mut texts, name, difference, child);
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

pub(super) fn limits(texts: &mut Vec<String>, shoot: &Shoot, limits: Option<&Limits>) {
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
