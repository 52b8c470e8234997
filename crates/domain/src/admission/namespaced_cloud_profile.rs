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
use crate::validation::cloud_profile::{go_time, merged_spec, whole_image};
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
            limits(&mut texts, shoot, new.spec.limits.as_ref());
        }
    }
    if texts.is_empty() { Ok(()) } else { Err(Refusal::Forbidden(multierror(&texts))) }
}

/// Releases that convert a NamespacedCloudProfile to the format of its parent before they check it.
const IS_JUDGED_IN_FORMAT_OF_PARENT: Releases = Releases::since(132);

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
    for machine_type in &new.spec.machine_types {
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

/// Checks that an override of a parent's image version changes only its expiration.
fn extended_image(errors: &mut Vec<FieldError>, version: &MachineImageVersion, gates: Gates, path: &Path) {
    let is_set = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
    let fields = [
        ("classification", is_set(&version.classification), "a classification"),
        ("cri", !version.cri.is_empty(), "a cri"),
        ("architectures", !version.architectures.is_empty(), "an architecture"),
        (field_names(gates.release).flavors, !flavors(version).is_empty(), "capabilities"),
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
mod tests {
    use apimachinery::meta::Time;
    use serde_json::json;

    use super::*;

    const NOW: &str = "2024-06-01T00:00:00Z";
    const PAST: &str = "2024-05-31T23:59:59Z";
    const FUTURE: &str = "2025-01-01T00:00:00Z";

    /// Returns the instant of the tests with the documents' release.
    fn at() -> crate::versions::Moment {
        crate::versions::Moment::new(now(), crate::release::DOCUMENTED)
    }

    fn now() -> DateTime<Utc> {
        NOW.parse().expect("RFC 3339")
    }

    /// Returns a profile with Kubernetes 1.31.1, expired, and 1.32.0; image `os` 1.0.0, expired, and 2.0.0.
    fn parent() -> CloudProfileSpec {
        let version = |version: &str, date: Option<&str>| {
            let mut version = json!({"version": version, "cri": [{"name": "containerd"}], "architectures": ["amd64"]});
            if let Some(date) = date {
                version["expirationDate"] = json!(date);
            }
            version
        };
        serde_json::from_value(json!({
            "type": "local",
            "regions": [{"name": "here"}],
            "kubernetes": {"versions": [{"version": "1.31.1", "expirationDate": PAST}, {"version": "1.32.0"}]},
            "machineImages": [
                {"name": "os", "updateStrategy": "major", "versions": [version("1.0.0", Some(PAST)), version("2.0.0", None)]},
            ],
            "machineTypes": [{"name": "small", "cpu": "1", "gpu": "0", "memory": "1Gi", "architecture": "amd64"}],
        }))
        .expect("a specification")
    }

    /// Returns a NamespacedCloudProfile with this specification and the resulting status.
    fn profile(spec: serde_json::Value) -> NamespacedCloudProfile {
        let mut profile = NamespacedCloudProfile::default();
        profile.metadata.name = "own".to_owned();
        profile.metadata.namespace = "garden-dev".to_owned();
        profile.spec = serde_json::from_value(spec).expect("a specification");
        profile.spec.parent = CloudProfileReference { kind: "CloudProfile".to_owned(), name: "local".to_owned() };
        profile.status.cloud_profile_spec = merge(&parent(), &profile.spec);
        profile
    }

    fn kubernetes(version: &str, date: &str) -> serde_json::Value {
        json!({"kubernetes": {"versions": [{"version": version, "expirationDate": date}]}})
    }

    fn image(name: &str, versions: serde_json::Value) -> serde_json::Value {
        json!({"machineImages": [{"name": name, "versions": versions}]})
    }

    #[track_caller]
    fn check(new: serde_json::Value, old: Option<serde_json::Value>, expected: &str) {
        let old = old.map(profile);
        let result = check_namespaced(&profile(new), old.as_ref(), &parent(), Gates::default(), now());
        let text = match result {
            Ok(()) => String::new(),
            Err(Refusal::Plain(text)) => text,
            Err(Refusal::BadRequest(text)) => format!("400 {text}"),
            Err(other) => panic!("{other:?}"),
        };
        assert!(
            text.starts_with(expected) && text.is_empty() == expected.is_empty(),
            "expected {expected}\nactual   {text}"
        );
    }

    /// versions-and-maintenance 1.4: a NamespacedCloudProfile must be compatible with its parent.
    #[test]
    fn kubernetes_overrides_move_the_dates_of_known_versions() {
        check(kubernetes("1.31.1", FUTURE), None, "");
        check(
            kubernetes("1.30.0", FUTURE),
            None,
            "invalid kubernetes version specified: '1.30.0' does not exist in parent CloudProfile and thus cannot be \
             overridden",
        );
        let without = json!({"kubernetes": {"versions": [{"version": "1.31.1"}]}});
        check(without, None, "specified version '1.31.1' does not set expiration date");
        // A past date is refused on updates only, unless it is already in effect.
        check(kubernetes("1.31.1", PAST), None, "");
        let earlier = "2024-05-01T00:00:00Z";
        check(kubernetes("1.31.1", earlier), Some(json!({})), "expiration date for version \"1.31.1\" is in the past");
        check(kubernetes("1.31.1", earlier), Some(kubernetes("1.31.1", earlier)), "");
        check(kubernetes("1.31.1", PAST), Some(json!({})), "");
        // The merged result is checked as a CloudProfile is: its latest version must not expire.
        check(
            kubernetes("1.32.0", FUTURE),
            None,
            "error while validating merged NamespacedCloudProfile: [status.cloudProfileSpec.kubernetes.versions[]\
             .expirationDate: Invalid value: 2025-01-01 00:00:00 +0000 UTC: expiration date of latest kubernetes version \
             ('1.32.0') must not be set]",
        );
    }

    #[test]
    fn image_overrides_move_the_dates_of_known_versions_and_add_whole_ones() {
        let path = "spec.machineImages[0].versions[0]";
        check(image("os", json!([{"version": "1.0.0", "expirationDate": FUTURE}])), None, "");
        check(
            image("os", json!([{"version": "1.0.0"}])),
            None,
            &format!("{path}.expirationDate: Invalid value: null: expiration date for version \"1.0.0\" must be set"),
        );
        for (field, value, what) in [
            ("classification", json!("supported"), "a classification"),
            ("cri", json!([{"name": "containerd"}]), "a cri"),
            ("architectures", json!(["arm64"]), "an architecture"),
            ("capabilitySets", json!([{"architecture": ["arm64"]}]), "capabilities"),
            ("kubeletVersionConstraint", json!("> 1.30"), "a kubelet version constraint"),
        ] {
            let mut version = json!({"version": "1.0.0", "expirationDate": FUTURE});
            version[field] = value;
            let text = format!(
                "{path}.{field}: Forbidden: must not provide {what} to an extended machine image in \
                 NamespacedCloudProfile"
            );
            check(image("os", json!([version])), None, &text);
        }
        let whole = json!({"version": "3.0.0", "cri": [{"name": "containerd"}], "architectures": ["amd64"]});
        check(image("os", json!([whole])), None, "");
        check(
            image("own", json!([whole])),
            None,
            "spec.machineImages[0][0].updateStrategy: Required value: must provide an update strategy",
        );
        // A value that only this profile had is kept after its parent received one.
        let with = |architecture: &str| json!([{"version": "2.0.0", "cri": [{"name": "containerd"}], "architectures": [architecture]}]);
        let before = image("os", with("arm64"));
        check(before.clone(), Some(before.clone()), "");
        let after = image("os", with("amd64"));
        check(
            after,
            Some(before),
            &format!(
                "{path}: Forbidden: cannot update the machine image version spec of \"os@2.0.0\", as this version has \
                 been added to the parent CloudProfile by now"
            ),
        );
    }

    #[test]
    fn machine_types_of_the_parent_are_not_overwritten() {
        let own = json!({"machineTypes": [{"name": "small", "cpu": "2", "gpu": "0", "memory": "1Gi"}]});
        let text = "400 NamespacedCloudProfile attempts to overwrite parent CloudProfile with machineType: \
                    {\"cpu\":\"2\",\"gpu\":\"0\",\"memory\":\"1Gi\",\"name\":\"small\"}";
        check(own.clone(), None, text);
        check(own.clone(), Some(own), "");
    }

    fn shoot(version: &str, image: &str) -> Arc<Shoot> {
        let mut shoot = Shoot::default();
        shoot.metadata.namespace = "garden-dev".to_owned();
        shoot.metadata.name = "a".to_owned();
        shoot.spec.cloud_profile =
            Some(CloudProfileReference { kind: "NamespacedCloudProfile".to_owned(), name: "own".to_owned() });
        shoot.spec.kubernetes.version = version.to_owned();
        let mut worker = Worker { name: "pool".to_owned(), ..Worker::default() };
        worker.machine.r#type = "small".to_owned();
        worker.machine.image =
            Some(ShootMachineImage { name: "os".to_owned(), version: Some(image.to_owned()), provider_config: None });
        shoot.spec.provider.workers.push(worker);
        Arc::new(shoot)
    }

    #[test]
    fn overrides_that_shoots_need_stay() {
        let both = |kubernetes: &str, image: &str| {
            let mut spec = self::kubernetes(kubernetes, FUTURE);
            spec["machineImages"] = json!([{"name": "os", "versions": [{"version": image, "expirationDate": FUTURE}]}]);
            profile(spec)
        };
        let check = |old: &NamespacedCloudProfile, shoot: &Arc<Shoot>, lines: &[&str]| {
            let new = profile(json!({}));
            assert!(takes_away(&new, old));
            let result = check_overrides_in_use(&new, old, &parent(), std::slice::from_ref(shoot), at());
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            let expected = if lines.is_empty() { Ok(()) } else { Err(Refusal::Forbidden(multierror(&lines))) };
            assert_eq!(result, expected);
        };
        let old = both("1.31.1", "1.0.0");
        let kubernetes = "unable to delete Kubernetes version \"1.31.1\" from NamespacedCloudProfile 'garden-dev/own' - \
                          version with extended expiration date is still in use by shoot 'garden-dev/a'";
        let image = "unable to delete Machine image version 'os/1.0.0' from NamespacedCloudProfile 'garden-dev/own' - \
                     version is still in use by shoot 'garden-dev/a' by worker \"pool\"";
        check(&old, &shoot("1.31.1", "1.0.0"), &[kubernetes, image]);
        check(&old, &shoot("1.32.0", "1.0.0"), &[image]);
        check(&old, &shoot("1.32.0", "2.0.0"), &[]);
        // The parent's date is in the future, or missing: nothing is lost. A version that the parent lacks is.
        check(&both("1.32.0", "2.0.0"), &shoot("1.32.0", "2.0.0"), &[]);
        let image = "unable to delete Machine image version 'os/3.0.0' from NamespacedCloudProfile 'garden-dev/own' - \
                     version is still in use by shoot 'garden-dev/a' by worker \"pool\"";
        check(&both("1.31.1", "3.0.0"), &shoot("1.32.0", "3.0.0"), &[image]);
        assert!(!takes_away(&old, &old));
    }

    #[test]
    fn a_reference_changes_below_one_cloud_profile_only() {
        let reference = |kind: &str, name: &str| CloudProfileReference { kind: kind.to_owned(), name: name.to_owned() };
        let (local, other) = (reference("CloudProfile", "local"), reference("CloudProfile", "other"));
        let own = reference("NamespacedCloudProfile", "own");
        let check_hierarchy = |before, now| super::check_hierarchy(before, now, Release(108));
        assert_eq!(check_hierarchy((&local, &local), (&own, &local)), Ok(()));
        assert_eq!(check_hierarchy((&own, &local), (&local, &local)), Ok(()));
        let text = |from: &str, to: &str| {
            Err(Refusal::Plain(format!(
                "cloud profile reference change is invalid: cannot change from {from} to {to}. The cloud profile \
                 reference must remain within the same hierarchy"
            )))
        };
        assert_eq!(check_hierarchy((&local, &local), (&other, &other)), text("\"local\"", "\"other\""));
        let expected = text("\"own\" (root: \"local\")", "\"other\"");
        assert_eq!(check_hierarchy((&own, &local), (&other, &other)), expected);
        let expected = text("\"other\"", "\"own\" (root: \"local\")");
        assert_eq!(check_hierarchy((&other, &other), (&own, &local)), expected);
        // Up to 1.107 only to a descendant.
        let before_108 = |before, now| super::check_hierarchy(before, now, Release(107));
        let expected = Err(Refusal::Plain(
            "a Seed's CloudProfile may only be changed to a descendant NamespacedCloudProfile, other modifications are \
             currently not supported"
                .to_owned(),
        ));
        assert_eq!(before_108((&local, &local), (&own, &local)), Ok(()));
        assert_eq!(before_108((&own, &local), (&local, &local)), expected);
        assert_eq!(before_108((&local, &local), (&other, &other)), expected);
        assert_eq!(before_108((&other, &other), (&own, &local)), expected);
    }

    #[test]
    fn new_profile_must_offer_the_values_of_the_shoot() {
        let lacks = "newly referenced cloud profile does not contain the";
        let check = |shoot: &Shoot, change: fn(&mut CloudProfileSpec), expected: Option<String>| {
            let mut new = parent();
            change(&mut new);
            let expected = expected.map_or(Ok(()), |text| Err(Refusal::Plain(text)));
            assert_eq!(check_still_offered(shoot, &parent(), &new, Release(108)), expected);
            assert_eq!(check_still_offered(shoot, &parent(), &new, Release(107)), Ok(()));
        };
        // Kubernetes versions are not compared; neither is an image version that the old profile lacks, too.
        check(&shoot("1.31.1", "1.0.0"), |new| new.kubernetes.versions.clear(), None);
        check(&shoot("1.31.1", "9.9.9"), |new| new.machine_images.clear(), None);
        let text = format!("{lacks} machine image version \"os@1.0.0\" currently in use by worker \"pool\"");
        check(&shoot("1.31.1", "1.0.0"), |new| drop(new.machine_images[0].versions.remove(0)), Some(text));
        let text = format!("{lacks} machine type \"small\" currently in use by worker \"pool\"");
        check(&shoot("1.31.1", "1.0.0"), |new| new.machine_types.clear(), Some(text));
        let mut with_volume = Shoot::clone(&shoot("1.31.1", "1.0.0"));
        with_volume.spec.provider.workers[0].volume =
            Some(Volume { r#type: Some("fast".to_owned()), ..Volume::default() });
        let text = format!("{lacks} volume type \"fast\" currently in use by worker \"pool\"");
        check(&with_volume, |_| {}, Some(text));
    }

    /// versions-and-maintenance 1.4: new entries that have expired are dropped before validation.
    #[test]
    fn expired_overrides_are_dropped_unless_they_were_there() {
        use crate::validation::cloud_profile::drop_expired_overrides;
        let mut spec = kubernetes("1.31.1", PAST);
        spec["machineImages"] = json!([
            {"name": "os", "versions": [{"version": "1.0.0", "expirationDate": PAST}]},
            {"name": "kept", "updateStrategy": "minor", "versions": [{"version": "1.0.0", "expirationDate": PAST}]},
        ]);
        let old = profile(spec);
        let mut new = old.clone();
        drop_expired_overrides(&mut new, Some(&old), at());
        assert_eq!(new, old);
        drop_expired_overrides(&mut new, None, at());
        assert_eq!(new.spec.kubernetes.map(|kubernetes| kubernetes.versions.len()), Some(0));
        let images: Vec<_> =
            new.spec.machine_images.iter().map(|one| (one.name.as_str(), one.versions.len())).collect();
        assert_eq!(images, [("kept", 0)]);
        let at_now = Some(Time(now()));
        let mut new = profile(json!({}));
        new.spec.kubernetes = Some(KubernetesSettings {
            versions: vec![ExpirableVersion {
                version: "1.31.1".to_owned(),
                expiration_date: at_now,
                ..Default::default()
            }],
        });
        drop_expired_overrides(&mut new, None, at());
        assert_eq!(new.spec.kubernetes.map(|kubernetes| kubernetes.versions.len()), Some(1));
    }
}
