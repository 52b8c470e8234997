// SPDX-License-Identifier: Apache-2.0
//! Validation of a Shoot's worker pools.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use api::constants::update_strategy;
use api::core::*;
use api::kubernetes::core::Taint;
use apimachinery::field::{FieldError, Path};
use apimachinery::go::quote;
use apimachinery::meta::{IntOrString, TextMap};
use regex::Regex;

use super::super::Errors;
use super::super::common::{self, int_or_percent, invalid_int_or_percent, not_negative_duration, one_of, percentage};
use super::super::meta;
use super::kubelet;
use super::shared::{non_negative_duration, taint_key, threshold};
use crate::release::{Release, Releases};
use crate::shoot_facts::is_in_place;
use crate::versions::{Operator, Version, compare_versions, meets_constraint};

const MAX_NAME_LENGTH: usize = 15;

/// Time-outs and retries of machine-controller-manager are checked.
const TIMEOUTS_ARE_JUDGED: Releases = Releases::since(126);

/// The priority is checked.
const PRIORITY_IS_JUDGED: Releases = Releases::since(126);

/// The name of the volume is checked.
const VOLUME_NAME_IS_JUDGED: Releases = Releases::since(127);

/// Kernel parameters are checked.
const SYSCTLS_ARE_JUDGED: Releases = Releases::since(133);

/// Maximum length of the key of a kernel parameter: that of a path of Linux, below `/proc/sys/`.
const MAX_SYSCTL_LENGTH: usize = 4096 - "/proc/sys/".len();

/// Maximum length of a part of such a key: that of a file name of Linux.
const MAX_SYSCTL_PART_LENGTH: usize = 255;

const SYSCTL_KEY: &str = r"^(?:(?:[a-zA-Z0-9-][a-zA-Z0-9_/-]*|\*)\.)*[a-zA-Z0-9_/-]*[a-zA-Z0-9]$";

static SYSCTL_KEY_REGEX: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(SYSCTL_KEY).expect("the pattern is a literal of this file"));

/// `maxSurge` and `maxUnavailable` of a pool with strategy `ManualInPlaceUpdate` are checked as those of other pools.
const MANUAL_HAS_COUNTS: Releases = Releases::until(125);

/// A pool with strategy `ManualInPlaceUpdate` must not have `maxSurge` and `maxUnavailable`.
const MANUAL_REFUSES_COUNTS: Releases = Releases::since(129);

const VOLUME_SIZE: &str = r"^(\d)+Gi$";

static VOLUME_SIZE_REGEX: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("^[0-9]+Gi$").expect("the pattern is a literal of this file"));

pub(super) fn worker(errors: &mut Errors, worker: &Worker, kubernetes: &Kubernetes, release: Release, path: &Path) {
    meta::invalid_each(errors, &path.child("name"), &worker.name, meta::dns_label(&worker.name));
    if worker.name.len() > MAX_NAME_LENGTH {
        errors.push(FieldError::too_long(&path.child("name"), MAX_NAME_LENGTH));
    }
    machine(errors, worker, &path.child("machine"));
    counts(errors, worker, release, path);
    meta::labels(errors, &worker.labels, &path.child("labels"));
    meta::annotations(errors, &worker.annotations, &path.child("annotations"));
    taints(errors, &worker.taints, &path.child("taints"));
    if let Some(own) = &worker.kubernetes {
        let path = path.child("kubernetes");
        let mut version = &kubernetes.version;
        if let Some(own) = &own.version {
            skew(errors, &kubernetes.version, own, &path.child("version"));
            version = own;
        }
        if let Some(config) = own.kubelet.as_ref().or(kubernetes.kubelet.as_ref()) {
            kubelet::kubelet(errors, config, version, release, &path.child("kubelet"));
        }
    }
    common::ca_bundle(errors, worker.ca_bundle.as_deref(), &path.child("caBundle"));
    volumes(errors, worker, release, path);
    if let Some(cri) = &worker.cri {
        runtime_interface(errors, cri, &path.child("cri"));
    }
    if let Some(architecture) = &worker.machine.architecture {
        one_of(errors, architecture, &["amd64", "arm64"], &path.child("machine").child("architecture"));
    }
    if let Some(options) = &worker.cluster_autoscaler {
        autoscaler_options(errors, options, &path.child("autoscaler"));
    }
    if let Some(settings) = &worker.machine_controller_manager {
        machine_settings(errors, worker, settings, release, &path.child("machineControllerManagerSettings"));
    }
    if let Some(strategy) = &worker.update_strategy {
        let supported = [update_strategy::AUTO_IN_PLACE, update_strategy::ROLLING, update_strategy::MANUAL_IN_PLACE];
        one_of(errors, strategy, &supported, &path.child("updateStrategy"));
    }
    if let Some(priority) = worker.priority.filter(|priority| *priority < -1)
        && PRIORITY_IS_JUDGED.contain(release)
    {
        errors.push(FieldError::invalid(&path.child("priority"), priority, "can not be less than -1"));
    }
    if SYSCTLS_ARE_JUDGED.contain(release) {
        sysctls(errors, &worker.sysctls, &path.child("sysctls"));
    }
}

/// Checks kernel parameters: the form and length of their keys, and that they have values.
///
/// Source: pkg/apis/core/validation/shoot.go (`ValidateSysctls`) @ v1.133.0.
fn sysctls(errors: &mut Errors, sysctls: &TextMap, path: &Path) {
    for (key, value) in sysctls {
        let path = path.child(key);
        if !SYSCTL_KEY_REGEX.is_match(key) {
            let text = format!("sysctl key must must match regex {}", quote(SYSCTL_KEY));
            errors.push(FieldError::invalid(&path, key, &text));
        }
        if key.len() > MAX_SYSCTL_LENGTH {
            errors.push(FieldError::too_long(&path, MAX_SYSCTL_LENGTH));
        }
        for part in key.split('.').filter(|part| part.len() > MAX_SYSCTL_PART_LENGTH) {
            errors.push(FieldError::invalid(&path, part, "sub key of sysctl must not exceed 255 bytes"));
        }
        if value.is_empty() {
            errors.push(FieldError::required(&path, "sysctl requires a non-empty value"));
        }
    }
}

/// Checks the settings of machine-controller-manager for a pool.
///
/// Source: pkg/apis/core/validation/shoot.go (`ValidateMachineControllerManagerSettingsOptions`) @ v1.125.0, v1.126.0 and
/// v1.147.0.
fn machine_settings(
    errors: &mut Errors,
    worker: &Worker,
    settings: &MachineControllerManagerSettings,
    release: Release,
    path: &Path,
) {
    let only_in_place = "when the update strategy is `AutoInPlaceUpdate` or `ManualInPlaceUpdate`";
    if TIMEOUTS_ARE_JUDGED.contain(release) {
        non_negative_duration(errors, settings.machine_drain_timeout, &path.child("machineDrainTimeout"));
        non_negative_duration(errors, settings.machine_health_timeout, &path.child("machineHealthTimeout"));
        non_negative_duration(errors, settings.machine_creation_timeout, &path.child("machineCreationTimeout"));
        if let Some(retries) = settings.max_evict_retries.filter(|retries| *retries < 0) {
            let text = "must be greater than or equal to 0";
            errors.push(FieldError::invalid(&path.child("maxEvictRetries"), retries, text));
        }
        if is_in_place(worker) {
            non_negative_duration(errors, settings.in_place_update_timeout, &path.child("inPlaceUpdateTimeout"));
        } else if settings.in_place_update_timeout.is_some() {
            let text = format!("can only be set {only_in_place}");
            errors.push(FieldError::forbidden(&path.child("inPlaceUpdateTimeout"), &text));
        }
    }
    if settings.disable_health_timeout == Some(true) && !is_in_place(worker) {
        let text = format!("can only be set to true {only_in_place}");
        errors.push(FieldError::forbidden(&path.child("disableHealthTimeout"), &text));
    }
    non_negative_duration(errors, settings.machine_preserve_timeout, &path.child("machinePreserveTimeout"));
    if let Some(most) = settings.auto_preserve_failed_machine_max {
        let has_system = worker.system_components.as_ref().is_none_or(|components| components.allow);
        let text = if most < 0 {
            "must not be negative"
        } else if has_system && worker.maximum > 0 && most > worker.maximum - 1 {
            "must not be greater than maximum-1 value when system components are allowed, need at least one machine to run \
             system components"
        } else if most > worker.maximum {
            "must not be greater than maximum value"
        } else {
            return;
        };
        errors.push(FieldError::invalid(&path.child("autoPreserveFailedMachineMax"), most, text));
    }
}

fn machine(errors: &mut Errors, worker: &Worker, path: &Path) {
    if worker.machine.r#type.is_empty() {
        errors.push(FieldError::required(&path.child("type"), "must specify a machine type"));
    }
    let Some(image) = &worker.machine.image else { return };
    let path = path.child("image");
    if image.name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), "must specify a machine image name"));
    }
    if image.version.as_deref().unwrap_or_default().is_empty() {
        errors.push(FieldError::required(&path.child("version"), "must specify a machine image version"));
    }
}

fn counts(errors: &mut Errors, worker: &Worker, release: Release, path: &Path) {
    if worker.minimum < 0 {
        let text = "minimum value must not be negative";
        errors.push(FieldError::invalid(&path.child("minimum"), worker.minimum, text));
    }
    let maximum = path.child("maximum");
    if worker.maximum < 0 {
        errors.push(FieldError::invalid(&maximum, worker.maximum, "maximum value must not be negative"));
    }
    if worker.maximum < worker.minimum {
        errors.push(FieldError::forbidden(&maximum, "maximum value must not be less than minimum value"));
    }
    let (surge, unavailable) = (worker.max_surge.as_ref(), worker.max_unavailable.as_ref());
    let (surge_path, unavailable_path) = (path.child("maxSurge"), path.child("maxUnavailable"));
    integer_or_percentage(errors, surge, &surge_path);
    integer_or_percentage(errors, unavailable, &unavailable_path);
    if unavailable.and_then(percentage).is_some_and(|percent| percent > 100) {
        errors.push(invalid_int_or_percent(&unavailable_path, unavailable, "must not be greater than 100%"));
    }
    let is_manual = worker.update_strategy.as_deref() == Some(update_strategy::MANUAL_IN_PLACE);
    if is_manual && MANUAL_HAS_COUNTS.contain(release) && surge.is_some_and(|surge| int_or_percent(surge) != 0) {
        let text = "must be 0 when `updateStrategy` is `ManualInPlaceUpdate`";
        errors.push(invalid_int_or_percent(&surge_path, surge, text));
    }
    if is_manual && MANUAL_REFUSES_COUNTS.contain(release) {
        for (value, path) in [(surge, &surge_path), (unavailable, &unavailable_path)] {
            if value.is_some() {
                let text = "should not be set when `updateStrategy` is `ManualInPlaceUpdate`";
                errors.push(invalid_int_or_percent(path, value, text));
            }
        }
    }
    if is_manual && !MANUAL_HAS_COUNTS.contain(release) {
        return;
    }
    let none_unavailable = unavailable.is_none_or(|value| int_or_percent(value) == 0);
    if none_unavailable && surge.is_some_and(|surge| int_or_percent(surge) == 0) {
        errors.push(invalid_int_or_percent(&unavailable_path, unavailable, "may not be 0 when `maxSurge` is 0"));
    }
}

fn integer_or_percentage(errors: &mut Errors, value: Option<&IntOrString>, path: &Path) {
    match value {
        Some(IntOrString::Int(number)) => meta::non_negative(errors, i64::from(*number), path),
        Some(text @ IntOrString::String(_)) if percentage(text).is_none() => {
            errors.push(invalid_int_or_percent(path, value, "must be an integer or percentage (e.g '5%')"));
        }
        _ => {}
    }
}

/// Checks the skew of a pool: at most three minors behind the control plane, two below Kubernetes 1.28.
fn skew(errors: &mut Errors, control_plane: &str, worker: &str, path: &Path) {
    match compare_versions(worker, Operator::Greater, control_plane) {
        Ok(false) => {}
        Ok(true) => {
            let text = "worker group kubernetes version must not be higher than control plane version";
            errors.push(FieldError::forbidden(path, text));
        }
        Err(error) => errors.push(FieldError::invalid(path, control_plane, &error.to_string())),
    }
    let version = match Version::parse(worker) {
        Ok(version) => version,
        Err(error) => {
            errors.push(FieldError::invalid(path, worker, &error.to_string()));
            return;
        }
    };
    let newer = meets_constraint(control_plane, ">= 1.28").unwrap_or(false);
    let (minors, words) = if newer { (4, "three") } else { (3, "two") };
    let limit = Version::new(version.major, version.minor.saturating_add(minors), 0);
    match compare_versions(control_plane, Operator::GreaterOrEqual, &limit.to_string()) {
        Ok(false) => {}
        Ok(true) => {
            let text = format!(
                "worker group kubernetes version must be at most {words} minor versions behind control plane version"
            );
            errors.push(FieldError::forbidden(path, &text));
        }
        Err(error) => errors.push(FieldError::invalid(path, control_plane, &error.to_string())),
    }
}

/// Checks the name of a volume.
fn volume_name(errors: &mut Errors, name: &str, path: &Path) {
    if name.is_empty() {
        errors.push(FieldError::required(path, "must specify a name"));
    } else {
        meta::invalid_each(errors, path, name, meta::dns_label(name));
    }
    if name.len() > MAX_NAME_LENGTH {
        errors.push(FieldError::too_long(path, MAX_NAME_LENGTH));
    }
}

fn volumes(errors: &mut Errors, worker: &Worker, release: Release, path: &Path) {
    if let Some(name) = worker.volume.as_ref().and_then(|volume| volume.name.as_ref())
        && VOLUME_NAME_IS_JUDGED.contain(release)
    {
        volume_name(errors, name, &path.child("volume").child("name"));
    }
    if let Some(volume) = &worker.volume
        && !VOLUME_SIZE_REGEX.is_match(&volume.size)
    {
        let text = format!("volume size must match the regex {VOLUME_SIZE}");
        errors.push(FieldError::invalid(&path.child("volume").child("size"), &volume.size, &text));
    }
    if worker.volume.is_none() && !worker.data_volumes.is_empty() {
        let text = "a worker volume must be defined if data volumes are defined";
        errors.push(FieldError::required(&path.child("volume"), text));
    }
    let mut names = BTreeSet::new();
    for (index, volume) in worker.data_volumes.iter().enumerate() {
        let path = path.child("dataVolumes").index(index);
        let name = path.child("name");
        volume_name(errors, &volume.name, &name);
        if !names.insert(&volume.name) {
            errors.push(FieldError::duplicate(&name, &volume.name));
        }
        if !VOLUME_SIZE_REGEX.is_match(&volume.size) {
            let text = format!("data volume size must match the regex {VOLUME_SIZE}");
            errors.push(FieldError::invalid(&path.child("size"), &volume.size, &text));
        }
    }
    if let Some(name) = &worker.kubelet_data_volume_name
        && !names.contains(name)
    {
        let text = format!("KubeletDataVolumeName refers to unrecognized data volume {name}");
        errors.push(FieldError::invalid(&path.child("kubeletDataVolumeName"), name, &text));
    }
}

fn runtime_interface(errors: &mut Errors, cri: &CRI, path: &Path) {
    one_of(errors, &cri.name, &["containerd"], &path.child("name"));
    let mut types = BTreeSet::new();
    for (index, runtime) in cri.container_runtimes.iter().enumerate() {
        let path = path.child("containerruntimes").index(index).child("type");
        if runtime.r#type.is_empty() {
            errors.push(FieldError::required(&path, "must specify a container runtime type"));
        }
        if !types.insert(&runtime.r#type) {
            let text = format!("must specify different type, {} already exist", runtime.r#type);
            errors.push(FieldError::duplicate(&path, &text));
        }
    }
}

fn autoscaler_options(errors: &mut Errors, options: &ClusterAutoscalerOptions, path: &Path) {
    threshold(errors, options.scale_down_utilization_threshold, &path.child("scaleDownUtilizationThreshold"));
    threshold(errors, options.scale_down_gpu_utilization_threshold, &path.child("scaleDownGpuUtilizationThreshold"));
    let durations = [
        ("scaleDownUnneededTime", options.scale_down_unneeded_time),
        ("scaleDownUnreadyTime", options.scale_down_unready_time),
        ("maxNodeProvisionTime", options.max_node_provision_time),
    ];
    for (field, duration) in durations {
        not_negative_duration(errors, duration, &path.child(field), "can not be negative");
    }
}

fn taints(errors: &mut Errors, taints: &[Taint], path: &Path) {
    let mut seen = BTreeSet::new();
    for (index, taint) in taints.iter().enumerate() {
        let path = path.index(index);
        taint_key(errors, &taint.key, &path.child("key"));
        let texts = meta::label_value(&taint.value);
        if !texts.is_empty() {
            errors.push(FieldError::invalid(&path.child("value"), &taint.value, &texts.join(";")));
        }
        let effect = path.child("effect");
        if taint.effect.is_empty() {
            errors.push(FieldError::required(&effect, ""));
        } else {
            one_of(errors, &taint.effect, &["NoSchedule", "PreferNoSchedule", "NoExecute"], &effect);
        }
        if !seen.insert((&taint.effect, &taint.key)) {
            let mut error = FieldError::duplicate(&path, taint);
            error.body.push_str(": taints must be unique by key and effect pair");
            errors.push(error);
        }
    }
}

/// Checks that the names of pools are unique.
pub(super) fn names(errors: &mut Errors, workers: &[Worker], path: &Path) {
    let mut names = BTreeSet::new();
    for (index, worker) in workers.iter().enumerate() {
        let path = path.index(index);
        if !names.insert(&worker.name) {
            errors.push(FieldError::duplicate(&path.child("name"), &worker.name));
        }
        if worker.control_plane.is_some() {
            let text = "setting controlPlane is not allowed in worker configuration currently";
            errors.push(FieldError::forbidden(&path.child("controlPlane"), text));
        }
    }
}

/// Checks that some pool runs the system components, and that per set of zones one has a node for each zone.
pub(super) fn system_component_pools(errors: &mut Errors, workers: &[Worker], path: &Path) {
    let allowed = |worker: &Worker| worker.system_components.as_ref().is_none_or(|components| components.allow);
    // Per set of zones: the last pool that is too small, until one is large enough.
    let mut too_small: BTreeMap<BTreeSet<&String>, Option<usize>> = BTreeMap::new();
    for (index, worker) in workers.iter().enumerate() {
        if !allowed(worker) || worker.maximum == 0 {
            continue;
        }
        let zones: BTreeSet<&String> = worker.zones.iter().collect();
        let fits = i64::from(worker.maximum) >= i64::try_from(worker.zones.len()).unwrap_or(i64::MAX);
        let entry = too_small.entry(zones).or_insert(Some(index));
        *entry = if fits { None } else { entry.map(|_| index) };
    }
    if too_small.is_empty() {
        let text = "at least one active (workers[i].maximum > 0) worker pool with systemComponents.allow=true needed";
        errors.push(FieldError::forbidden(path, text));
    }
    let mut indexes: Vec<usize> = too_small.into_values().flatten().collect();
    indexes.sort_unstable();
    for index in indexes {
        let text = "maximum node count should be greater than or equal to the number of zones specified for this pool";
        errors.push(FieldError::forbidden(&path.index(index).child("maximum"), text));
    }
}
