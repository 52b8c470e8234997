// SPDX-License-Identifier: Apache-2.0
//! Checks of a Shoot's worker pools against its CloudProfile: machine types, images, volumes, zones.

use std::collections::BTreeSet;

use api::core::*;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::Quantity;

use super::super::Operation;
use super::{Context, Errors, versions};
use crate::capabilities::{self, machine_type_architecture, supports_architecture};
use crate::cloud_profile::{self, machine_image_version};
use crate::release::{Release, Releases};
use crate::shoot_facts::is_in_place;
use crate::validation::meta::invalid_unquoted;
use crate::versions::{Constraint, Moment, Operator, Version, compare_versions, default_machine_image};

/// Releases that take the architecture of a pool from its machine type; in older ones the API has the default amd64.
const ARCHITECTURE_IS_THAT_OF_TYPE: Releases = Releases::since(149);

/// The image version of an existing pool is completed like that of a new one; in older releases it stays as written.
const CHANGES_ARE_COMPLETED: Releases = Releases::since(122);

/// An unchanged image stays, also one that the CloudProfile does not have.
const UNCHANGED_STAYS: Releases = Releases::since(134);

/// A version that the CloudProfile has is complete, whatever the number of its parts.
const LISTED_IS_COMPLETE: Releases = Releases::since(136);

/// An image that stays gets the configuration of the request; in older releases it keeps its own.
const CONFIGURATION_IS_NEW: Releases = Releases::since(148);

/// A version that the CloudProfile does not have is an unsupported value; in older releases, an invalid image.
const VERSIONS_ARE_VALUES: Releases = Releases::since(132);

/// Kubelets have the setting `systemReserved`.
const HAS_SYSTEM_RESERVED: Releases = Releases::until(141);

/// Sets the CPU architectures of pools, if defaults of the API leave that to admission.
pub fn default_architectures(shoot: &mut Shoot, profile: &CloudProfileSpec, release: Release) {
    if !ARCHITECTURE_IS_THAT_OF_TYPE.contain(release) {
        return;
    }
    let registered = capabilities::registered(profile);
    for machine in shoot.spec.provider.workers.iter_mut().map(|worker| &mut worker.machine) {
        let machine_type = cloud_profile::machine_type(profile, &machine.r#type);
        let architecture = machine_type.and_then(|one| machine_type_architecture(one, registered)).unwrap_or("amd64");
        machine.architecture.get_or_insert_with(|| architecture.to_owned());
    }
}

/// Sets the images of pools; the old image is kept in preference to a newer one.
pub(super) fn default_images(shoot: &mut Shoot, context: &Context<'_>) -> Errors {
    let mut errors = Errors::new();
    if shoot.metadata.is_being_deleted() {
        return errors;
    }
    let old = context.old.map_or(&[][..], |old| &old.spec.provider.workers);
    for (index, worker) in shoot.spec.provider.workers.iter_mut().enumerate() {
        let path = Path::new("spec").child("provider").child("workers").index(index);
        let before = old.iter().find(|before| before.name == worker.name);
        match default_image(worker, before, context.cloud_profile, context.at, &path) {
            Ok(image) => worker.machine.image = Some(image),
            Err(error) => errors.push(error),
        }
    }
    errors
}

/// Returns the image of a pool: the specified one, the previous one, or the latest of the CloudProfile, in this order.
///
/// # Errors
/// Unknown image, no matching version, or an invalid version.
pub fn default_image(
    worker: &Worker,
    old: Option<&Worker>,
    profile: &CloudProfileSpec,
    at: Moment,
    path: &Path,
) -> Result<ShootMachineImage, FieldError> {
    let images = &profile.machine_images;
    let wanted = worker.machine.image.as_ref();
    let version = wanted.and_then(|image| image.version.as_deref()).unwrap_or_default();
    if let Some(before) = old.and_then(|old| old.machine.image.as_ref()) {
        let stays = |wanted: &ShootMachineImage| {
            let same = UNCHANGED_STAYS.contain(at.release) && wanted.version == before.version;
            wanted.name == before.name && (version.is_empty() || same)
        };
        match wanted {
            None => return Ok(before.clone()),
            Some(wanted) if !version.is_empty() && !CHANGES_ARE_COMPLETED.contain(at.release) => {
                return Ok(wanted.clone());
            }
            Some(wanted) if stays(wanted) => {
                let image = if CONFIGURATION_IS_NEW.contain(at.release) { wanted } else { before };
                let provider_config = image.provider_config.clone();
                return Ok(ShootMachineImage { provider_config, ..before.clone() });
            }
            Some(_) => {}
        }
    }
    let architecture = worker.machine.architecture.as_deref().unwrap_or_default();
    let registered = capabilities::registered(profile);
    let machine_type = cloud_profile::machine_type(profile, &worker.machine.r#type);
    let fits = |version: &MachineImageVersion| {
        machine_type.is_none_or(|one| capabilities::may_choose(profile, one, version, at.release))
    };
    // The first image whose architecture or capabilities match is selected; its versions must match in both.
    let is_candidate = |version: &MachineImageVersion| {
        supports_architecture(version, architecture, registered)
            || (capabilities::choices_fit(at.release) && machine_type.is_some() && fits(version))
    };
    let reference = wanted.map_or_else(String::new, |image| format!("{}@{version}", image.name));
    if images.is_empty() {
        let text = "the cloud profile does not contain any machine image - cannot create shoot cluster";
        return Err(FieldError::invalid(path, &reference, text));
    }
    let found = match wanted.filter(|image| !image.name.is_empty()) {
        Some(wanted) => images
            .iter()
            .find(|image| image.name == wanted.name)
            .ok_or_else(|| FieldError::invalid(path, &wanted.name, "image is not supported"))?,
        None => images.iter().find(|image| image.versions.iter().any(is_candidate)).ok_or_else(|| {
            let text = format!("no valid machine image found that supports architecture `{architecture}`");
            FieldError::invalid(path, &reference, &text)
        })?,
    };
    let parts: Vec<&str> = version.strip_prefix('v').unwrap_or(version).split('.').collect();
    let is_listed = LISTED_IS_COMPLETE.contain(at.release)
        && wanted.is_some_and(|image| !image.name.is_empty())
        && found.versions.iter().any(|one| one.version == version);
    if let Some(wanted) = wanted.filter(|_| parts.len() == 3 || is_listed) {
        return Ok(wanted.clone());
    }
    let number = |part: &str| version_part(part).map_err(|text| FieldError::invalid(path, version, &text));
    let minor = if parts.len() == 2 { number(parts[1])? } else { None };
    let major = number(parts[0])?;
    let in_place = is_in_place(worker);
    let updates = |version: &MachineImageVersion| version.in_place_updates.as_ref().is_some_and(|one| one.supported);
    let candidates: Vec<&MachineImageVersion> = found
        .versions
        .iter()
        .filter(|version| supports_architecture(version, architecture, registered) && fits(version))
        .filter(|version| !in_place || updates(version))
        .collect();
    let chosen = default_machine_image(&candidates, major, minor, at).ok_or_else(|| {
        let text = "failed to determine latest machine image from cloud profile: unable to determine latest expirable \
                    version";
        FieldError::invalid(path, &reference, text)
    })?;
    Ok(ShootMachineImage {
        name: found.name.clone(),
        provider_config: wanted.and_then(|image| image.provider_config.clone()),
        version: Some(chosen.version.clone()),
    })
}

/// Parses a part of an incomplete version; empty means any.
fn version_part(part: &str) -> Result<Option<u64>, String> {
    if part.is_empty() {
        return Ok(None);
    }
    let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
    match part.parse() {
        Ok(number) if is_number => Ok(Some(number)),
        _ => {
            let why = if is_number { "value out of range" } else { "invalid syntax" };
            Err(format!("{part} must be a semantic version: strconv.ParseUint: parsing {part:?}: {why}"))
        }
    }
}

/// Checks the provider's type, and each pool in turn.
pub(super) fn provider(errors: &mut Errors, shoot: &mut Shoot, context: &Context<'_>) {
    let path = Path::new("spec").child("provider");
    if let Some(error) = provider_type(shoot, context, &path.child("type")) {
        errors.push(error);
        return;
    }
    let control_plane = match Version::parse(&shoot.spec.kubernetes.version) {
        Ok(version) => version,
        Err(error) => {
            let path = Path::new("spec").child("kubernetes").child("version");
            let text = format!("cannot parse the kubernetes version: {error}");
            errors.push(FieldError::invalid(&path, &shoot.spec.kubernetes.version, &text));
            return;
        }
    };
    let region = shoot.spec.region.clone();
    // Upstream keeps the configuration of the last pool that has its own for the pools after it.
    let mut kubelet_config = shoot.spec.kubernetes.kubelet.clone();
    for (index, worker) in shoot.spec.provider.workers.iter_mut().enumerate() {
        let path = path.child("workers").index(index);
        let old = context.old.and_then(|old| old.spec.provider.workers.iter().find(|old| old.name == worker.name));
        if let Some(error) = machine(worker, old, &region, context, &path.child("machine")) {
            errors.push(error);
        } else {
            runtime_interface(errors, worker, old, context, &path.child("cri"));
            let own = worker.kubernetes.as_ref().and_then(|kubernetes| kubernetes.version.as_deref());
            let kubelet = match own.map(Version::parse) {
                None => control_plane.clone(),
                Some(Ok(version)) => version,
                Some(Err(_)) => {
                    let path = path.child("kubernetes").child("version");
                    let text = "cannot determine effective Kubernetes version for worker pool";
                    errors.push(FieldError::invalid(&path, own, text));
                    return;
                }
            };
            errors.extend(kubelet_constraint(worker, &kubelet, context, &path));
        }
        errors.extend(volume(worker, old, &region, context, &path.child("volume")));
        if let Some(kubernetes) = &worker.kubernetes {
            if kubernetes.kubelet.is_some() {
                kubelet_config.clone_from(&kubernetes.kubelet);
            }
            if let Some(config) = &kubelet_config {
                let path = path.child("kubernetes").child("kubelet");
                reservations(errors, config, &worker.machine.r#type, context, &path);
            }
            versions::pool(errors, worker, old, context, &path);
        }
        zones(errors, worker, old, &region, context, &path.child("zones"));
    }
}

fn provider_type(shoot: &Shoot, context: &Context<'_>, path: &Path) -> Option<FieldError> {
    let kind = &shoot.spec.provider.r#type;
    let invalid = |text: String| Some(FieldError::invalid(path, kind, &text));
    let wanted = &context.cloud_profile.r#type;
    if kind != wanted {
        return invalid(format!(
            "provider type in shoot must equal provider type of referenced CloudProfile: {wanted:?}"
        ));
    }
    if let Some(binding) = context.secret_binding {
        let types = binding.provider.as_ref().map_or("", |provider| &provider.r#type);
        if !types.split(',').any(|one| one == kind) {
            return invalid(format!(
                "provider type in shoot must match provider type of referenced SecretBinding: {types:?}"
            ));
        }
    }
    let binding = context.credentials_binding.filter(|binding| binding.provider.r#type != *kind)?;
    let type_ = &binding.provider.r#type;
    invalid(format!("provider type in shoot must match provider type of referenced CredentialsBinding: {type_:?}"))
}

/// True if one of the pool's zones lists a type as unavailable.
fn is_unavailable<'a>(
    context: &'a Context<'_>,
    region: &str,
    zones: &[String],
    name: &str,
    unavailable: fn(&'a AvailabilityZone) -> &'a Vec<String>,
) -> bool {
    let regions = context.cloud_profile.regions.iter().filter(|one| one.name == region);
    let mut zones = regions.flat_map(|region| &region.zones).filter(|zone| zones.contains(&zone.name));
    zones.any(|zone| unavailable(zone).iter().any(|one| one == name))
}

/// Formats names as Go prints a list.
fn go_list<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
    format!("[{}]", names.join(" "))
}

fn machine(
    worker: &Worker,
    old: Option<&Worker>,
    region: &str,
    context: &Context<'_>,
    path: &Path,
) -> Option<FieldError> {
    let machine = &worker.machine;
    let architecture = machine.architecture.as_deref().unwrap_or_default();
    if machine.architecture.is_some() && !["amd64", "arm64"].contains(&architecture) {
        return Some(FieldError::not_supported(&path.child("architecture"), architecture, &["amd64", "arm64"]));
    }
    let unchanged =
        |old: &Worker| old.machine.r#type == machine.r#type && old.machine.architecture == machine.architecture;
    if !old.is_some_and(unchanged)
        && let Some(error) = machine_type(worker, region, architecture, context, &path.child("type"))
    {
        return Some(error);
    }
    let unchanged =
        |old: &Worker| old.machine.image == machine.image && old.machine.architecture == machine.architecture;
    if !old.is_some_and(unchanged) {
        let is_update = context.operation == Operation::Update;
        let error = check_image(worker, old, context.cloud_profile, is_update, context.at, &path.child("image"));
        if error.is_some() {
            return error;
        }
    }
    check_capabilities(worker, context.cloud_profile, context.at, &path.child("image").child("version"))
}

/// Checks that the image of a pool has a flavor for its machine type, even if the pool is unchanged. A type or version
/// that was removed from the CloudProfile is not checked.
pub(super) fn check_capabilities(
    worker: &Worker,
    profile: &CloudProfileSpec,
    at: Moment,
    path: &Path,
) -> Option<FieldError> {
    let image = worker.machine.image.as_ref()?;
    let version = image.version.as_deref().unwrap_or_default();
    let offered = machine_image_version(profile, &image.name, version)?;
    let machine_type = cloud_profile::machine_type(profile, &worker.machine.r#type)?;
    if capabilities::admit(profile, machine_type, offered, at.release) {
        return None;
    }
    let text = format!(
        "machine capabilities {} of machine type {:?} are not supported by machine image {}:{version}",
        capabilities::go_map(&machine_type.capabilities),
        machine_type.name,
        image.name
    );
    Some(FieldError::invalid(path, version, &text))
}

fn machine_type(
    worker: &Worker,
    region: &str,
    architecture: &str,
    context: &Context<'_>,
    path: &Path,
) -> Option<FieldError> {
    let wanted = &worker.machine.r#type;
    let registered = capabilities::registered(context.cloud_profile);
    let fits = |one: &MachineType| machine_type_architecture(one, registered).unwrap_or_default() == architecture;
    let available = |one: &MachineType| {
        !is_unavailable(context, region, &worker.zones, &one.name, |zone| &zone.unavailable_machine_types)
    };
    let usable = |one: &MachineType| one.usable == Some(true);
    let types = &context.cloud_profile.machine_types;
    let supported: BTreeSet<&String> =
        types.iter().filter(|one| fits(one) && available(one) && usable(one)).map(|one| &one.name).collect();
    let Some(found) = types.iter().find(|one| one.name == *wanted) else {
        let supported: Vec<&String> = supported.into_iter().collect();
        return Some(FieldError::not_supported(path, wanted, &supported));
    };
    let mut text: Vec<String> = Vec::new();
    if !usable(found) {
        text.push("is unusable, ".to_owned());
    }
    if !available(found) {
        text.push("is unavailable in at least one zone, ".to_owned());
    }
    if !fits(found) {
        text.push(format!("does not support CPU architecture {architecture:?}, "));
    }
    if text.is_empty() {
        return None;
    }
    let text = format!("machine type {wanted:?} {}supported types are {}", text.concat(), go_list(supported));
    Some(FieldError::invalid(path, wanted, &text))
}

/// Formats the struct of an image as Go dumps it.
fn dump(image: Option<&ShootMachineImage>) -> String {
    let Some(image) = image else { return "null".to_owned() };
    let config = if image.provider_config.is_some() {
        "(*runtime.RawExtension)(0xc000000000)"
    } else {
        "(*runtime.RawExtension)(nil)"
    };
    let version = image.version.as_deref().unwrap_or_default();
    format!("core.ShootMachineImage{{Name:{:?}, ProviderConfig:{config}, Version:{version:?}}}", image.name)
}

/// Checks that a pool's image is in the CloudProfile, not expired, and compatible with the pool's architecture and update
/// strategy.
///
/// An existing pool (`old`) may be updated to an expired version that is not lower than the present one.
pub fn check_image(
    worker: &Worker,
    old: Option<&Worker>,
    profile: &CloudProfileSpec,
    is_update: bool,
    at: Moment,
    path: &Path,
) -> Option<FieldError> {
    let architecture = worker.machine.architecture.as_deref().unwrap_or_default();
    let is_update = is_update && old.is_some();
    let image = worker.machine.image.as_ref();
    let old_version = old.and_then(|old| old.machine.image.as_ref()?.version.as_deref()).unwrap_or_default();
    let in_place = is_in_place(worker);
    let active = |version: &MachineImageVersion| {
        let lower = || compare_versions(&version.version, Operator::Less, old_version).unwrap_or(false);
        at.is_active_image(version) || (is_update && at.is_expired_for_admission(version) && !lower())
    };
    let registered = capabilities::registered(profile);
    let fits = |version: &MachineImageVersion| supports_architecture(version, architecture, registered);
    let updates = |version: &MachineImageVersion| {
        let Some(updates) = version.in_place_updates.as_ref().filter(|updates| updates.supported) else { return false };
        if !is_update {
            return true;
        }
        let minimum = updates.min_version_for_update.as_deref();
        minimum.is_some_and(|least| compare_versions(least, Operator::LessOrEqual, old_version).unwrap_or(false))
    };
    let same_name = |one: &&MachineImage| image.is_none_or(|image| image.name == one.name);
    let versions = || {
        let images = profile.machine_images.iter().filter(same_name);
        images.flat_map(|image| image.versions.iter().map(move |version| (image, version)))
    };
    let valid: BTreeSet<String> = versions()
        .filter(|(_, version)| active(version) && fits(version) && (!in_place || updates(version)))
        .map(|(image, version)| format!("{}:{}", image.name, version.version))
        .collect();
    let list = go_list(&valid);
    let name = image.map_or("", |image| &image.name);
    let wanted = image.and_then(|image| image.version.as_deref()).unwrap_or_default();
    let found = versions().find(|(_, version)| !wanted.is_empty() && version.version == wanted);
    let Some((_, found)) = found else {
        if VERSIONS_ARE_VALUES.contain(at.release) {
            let valid: Vec<&String> = valid.iter().collect();
            return Some(FieldError::not_supported(&path.child("version"), wanted, &valid));
        }
        let text = format!("machine image version is not supported, supported machine image versions are: {list}");
        return Some(invalid_unquoted(path, &dump(image), &text));
    };
    let mut text: Vec<String> = Vec::new();
    if !fits(found) {
        text.push(format!("does not support CPU architecture {architecture:?}, "));
    }
    if !active(found) {
        text.push("is expired, ".to_owned());
    }
    if in_place && !updates(found) {
        let why = if is_update {
            "cannot be in-place updated from the current version, "
        } else {
            "does not support in-place updates, "
        };
        text.push(why.to_owned());
    }
    if text.is_empty() {
        return None;
    }
    let text = text.concat();
    let text = format!("machine image version '{name}:{wanted}' {text}supported machine image versions are: {list}");
    Some(invalid_unquoted(path, &dump(image), &text))
}

fn listed<'a>(worker: &Worker, context: &Context<'a>) -> Option<&'a MachineImageVersion> {
    let image = worker.machine.image.as_ref()?;
    machine_image_version(context.cloud_profile, &image.name, image.version.as_deref()?)
}

fn runtime_interface(errors: &mut Errors, worker: &Worker, old: Option<&Worker>, context: &Context<'_>, path: &Path) {
    let unchanged = old.is_some_and(|old| old.cri == worker.cri && old.machine.image == worker.machine.image);
    let (Some(cri), Some(image), Some(version)) = (&worker.cri, &worker.machine.image, listed(worker, context)) else {
        return;
    };
    if unchanged {
        return;
    }
    let image = format!("{}@{}", image.name, version.version);
    let Some(found) = version.cri.iter().find(|one| one.name == cri.name) else {
        let names = go_list(version.cri.iter().map(|one| &one.name));
        let text = format!("machine image '{image}' does not support CRI '{}', supported values: {names}", cri.name);
        errors.push(FieldError::invalid(&path.child("name"), &cri.name, &text));
        return;
    };
    for (index, runtime) in cri.container_runtimes.iter().enumerate() {
        let wanted = &runtime.r#type;
        if !found.container_runtimes.iter().any(|one| one.r#type == *wanted) {
            let types = go_list(found.container_runtimes.iter().map(|one| &one.r#type));
            let text = format!(
                "machine image '{image}' does not support container runtime '{wanted}', supported values: {types}"
            );
            let path = path.child("containerRuntimes").index(index).child("type");
            errors.push(FieldError::invalid(&path, wanted, &text));
        }
    }
}

fn kubelet_constraint(worker: &Worker, kubelet: &Version, context: &Context<'_>, path: &Path) -> Option<FieldError> {
    let version = listed(worker, context)?;
    let text = version.kubelet_version_constraint.as_ref()?;
    if Constraint::parse(text).is_ok_and(|constraint| constraint.is_met_by(kubelet)) {
        return None;
    }
    let image = worker.machine.image.as_ref()?;
    let text = format!(
        "machine image '{}@{}' does not support kubelet version '{kubelet}', supported kubelet versions by this machine \
         image version: '{text}'",
        image.name, version.version
    );
    let path = path.child("machine").child("image");
    Some(invalid_unquoted(&path, &dump(Some(image)), &text))
}

fn volume(
    worker: &Worker,
    old: Option<&Worker>,
    region: &str,
    context: &Context<'_>,
    path: &Path,
) -> Option<FieldError> {
    let volume = worker.volume.as_ref()?;
    let wanted = volume.r#type.as_ref()?;
    let before = old.and_then(|old| old.volume.as_ref()?.r#type.as_ref());
    if before != Some(wanted) {
        let available = |one: &VolumeType| {
            !is_unavailable(context, region, &worker.zones, &one.name, |zone| &zone.unavailable_volume_types)
        };
        let usable = |one: &VolumeType| one.usable == Some(true);
        let types = &context.cloud_profile.volume_types;
        let supported: BTreeSet<&String> =
            types.iter().filter(|one| available(one) && usable(one)).map(|one| &one.name).collect();
        let path = path.child("type");
        let Some(found) = types.iter().find(|one| one.name == *wanted) else {
            let supported: Vec<&String> = supported.into_iter().collect();
            return Some(FieldError::not_supported(&path, wanted, &supported));
        };
        let mut text: Vec<String> = Vec::new();
        if !usable(found) {
            text.push("is unusable, ".to_owned());
        }
        if !available(found) {
            text.push("is unavailable in at least one zone, ".to_owned());
        }
        if !text.is_empty() {
            let text = format!("volume type {wanted:?} {}supported types are {}", text.concat(), go_list(supported));
            return Some(FieldError::invalid(&path, wanted, &text));
        }
    }
    let size: Quantity = volume.size.parse().ok()?;
    let machine_types = context.cloud_profile.machine_types.iter().filter(|one| one.name == worker.machine.r#type);
    let storages = machine_types.filter_map(|one| one.storage.as_ref()).filter(|storage| storage.r#type == *wanted);
    let of_types = context.cloud_profile.volume_types.iter().filter(|one| one.name == *wanted);
    let mut minima = storages
        .filter_map(|storage| storage.min_size.as_ref())
        .chain(of_types.filter_map(|one| one.min_size.as_ref()));
    let least = minima.find(|least| size < **least)?;
    Some(FieldError::invalid(&path.child("size"), &volume.size, &format!("size must be >= {least}")))
}

/// Checks that the reservations of a node leave allocatable resources.
fn reservations(errors: &mut Errors, config: &KubeletConfig, machine_type: &str, context: &Context<'_>, path: &Path) {
    let has_system = HAS_SYSTEM_RESERVED.contain(context.at.release);
    let total = |part: fn(&KubeletConfigReserved) -> Option<Quantity>| {
        let system = config.system_reserved.as_ref().filter(|_| has_system);
        let parts = config.kube_reserved.as_ref().into_iter().chain(system).filter_map(part);
        parts.fold(Quantity::default(), Quantity::plus)
    };
    let (cpu, memory) = (total(|part| part.cpu), total(|part| part.memory));
    for one in context.cloud_profile.machine_types.iter().filter(|one| one.name == machine_type) {
        for (what, reserved, capacity) in [("CPU", &cpu, &one.cpu), ("memory", &memory, &one.memory)] {
            if reserved >= capacity {
                let (parts, names) = if has_system {
                    (format!("kubeReserved {what} + systemReserved {what}"), "kubeReserved + systemReserved")
                } else {
                    (format!("kubeReserved {what}"), "kubeReserved")
                };
                let value = format!("{parts}: {reserved}");
                let text = format!(
                    "total reserved {what} ({names}) cannot be more than the Node's {what} capacity '{capacity}'"
                );
                errors.push(FieldError::invalid(path, &value, &text));
            }
        }
    }
}

fn zones(errors: &mut Errors, worker: &Worker, old: Option<&Worker>, region: &str, context: &Context<'_>, path: &Path) {
    let same_region = context.old.is_some_and(|before| before.spec.region == region);
    if same_region && old.map_or(&[][..], |old| &old.zones) == worker.zones {
        return;
    }
    let found = context.cloud_profile.regions.iter().find(|one| one.name == region);
    let known: Vec<&String> =
        found.map(|found| found.zones.iter().map(|zone| &zone.name).collect()).unwrap_or_default();
    let mut seen = BTreeSet::new();
    for (index, zone) in worker.zones.iter().enumerate() {
        let path = path.index(index);
        if known.is_empty() {
            let text = "this region does not support availability zones, please do not configure them";
            errors.push(FieldError::invalid(&path, region, text));
        } else if !known.contains(&zone) {
            errors.push(FieldError::not_supported(&path, zone, &known));
        }
        if !seen.insert(zone) {
            errors.push(FieldError::duplicate(&path, zone));
        }
    }
}
