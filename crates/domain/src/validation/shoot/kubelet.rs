// SPDX-License-Identifier: Apache-2.0
//! Validation of the configuration of kubelets.

use api::core::*;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::{Duration, Quantity};

use super::super::Errors;
use super::super::common::{invalid_duration, one_of};
use super::super::meta;
use super::pulled_images;
use super::refused::{Field, refusal};
use super::shared::{feature_gates, non_negative_duration};
use crate::release::{Release, Releases};
use crate::versions::meets_constraint;

/// The policy of the CPU manager and the size of a container's log are checked.
const POLICY_IS_JUDGED: Releases = Releases::since(128);

/// Kubelets have the setting `systemReserved`.
const HAS_SYSTEM_RESERVED: Releases = Releases::until(141);

/// Shoots may have Kubernetes versions before 1.30, in which `UnlimitedSwap` is a behaviour.
const KNOWS_1_29: Releases = Releases::until(133);

pub(super) fn kubelet(errors: &mut Errors, config: &KubeletConfig, version: &str, release: Release, path: &Path) {
    let has_policy = POLICY_IS_JUDGED.contain(release);
    if let Some(policy) = config.cpu_manager_policy.as_ref().filter(|_| has_policy) {
        one_of(errors, policy, &["none", "static"], &path.child("cpuManagerPolicy"));
    }
    count(errors, config.max_pods, &path.child("maxPods"));
    if let Some(limit) = config.pod_pids_limit
        && limit < 100
    {
        let text = "podPIDsLimit value must be at least 100";
        errors.push(FieldError::invalid(&path.child("podPIDsLimit"), limit, text));
    }
    let transition = path.child("evictionPressureTransitionPeriod");
    non_negative_duration(errors, config.eviction_pressure_transition_period, &transition);
    count(errors, config.eviction_max_pod_grace_period, &path.child("evictionMaxPodGracePeriod"));
    for (field, eviction) in [("evictionHard", &config.eviction_hard), ("evictionSoft", &config.eviction_soft)] {
        if let Some(eviction) = eviction {
            let path = path.child(field);
            thresholds(errors, eviction, &path);
        }
    }
    if let Some(reclaim) = &config.eviction_minimum_reclaim {
        let path = path.child("evictionMinimumReclaim");
        // The free inodes of the image file system are checked twice, those of the node's never, as upstream does.
        let amounts = [
            ("memoryAvailable", &reclaim.memory_available),
            ("imagefsAvailable", &reclaim.image_fs_available),
            ("imagefsInodesFree", &reclaim.image_fs_inodes_free),
            ("nodefsAvailable", &reclaim.node_fs_available),
            ("imagefsInodesFree", &reclaim.image_fs_inodes_free),
        ];
        for (field, amount) in amounts {
            if let Some(amount) = amount {
                meta::quantity(errors, amount, &path.child(field));
            }
        }
    }
    if let Some(grace) = &config.eviction_soft_grace_period {
        let path = path.child("evictionSoftGracePeriod");
        let periods = [
            ("memoryAvailable", grace.memory_available),
            ("imagefsAvailable", grace.image_fs_available),
            ("imagefsInodesFree", grace.image_fs_inodes_free),
            ("nodefsAvailable", grace.node_fs_available),
            ("imagefsInodesFree", grace.image_fs_inodes_free),
        ];
        for (field, period) in periods {
            non_negative_duration(errors, period, &path.child(field));
        }
    }
    if let Some(reserved) = &config.kube_reserved {
        reservation(errors, reserved, &path.child("kubeReserved"));
    }
    if let Some(reserved) = config.system_reserved.as_ref().filter(|_| HAS_SYSTEM_RESERVED.contain(release)) {
        let path = path.child("systemReserved");
        reservation(errors, reserved, &path);
        if let Some(refusal) = refusal(Field::SystemReserved, version, release) {
            errors.push(FieldError::invalid(&path, reserved, refusal.text));
        }
    }
    images(errors, config, path);
    feature_gates(errors, &config.feature_gates, version, release, &path.child("featureGates"));
    count(errors, config.registry_pull_qps, &path.child("registryPullQPS"));
    count(errors, config.registry_burst, &path.child("registryBurst"));
    if let Some(files) = config.container_log_max_files
        && files < 2
    {
        errors.push(FieldError::invalid(&path.child("containerLogMaxFiles"), files, "value must be >= 2."));
    }
    if let Some(size) = config.container_log_max_size.as_ref().filter(|_| has_policy) {
        meta::quantity(errors, size, &path.child("containerLogMaxSize"));
    }
    if let Some(timeout) = config.streaming_connection_idle_timeout
        && !(Duration::from_seconds(30)..=Duration::from_seconds(4 * 3600)).contains(&timeout)
    {
        let path = path.child("streamingConnectionIdleTimeout");
        errors.push(invalid_duration(&path, timeout, "value must be between 30s and 4h"));
    }
    swap(errors, config, version, release, &path.child("memorySwap"));
    if let Some(pulls) = config.max_parallel_image_pulls {
        let path = path.child("maxParallelImagePulls");
        if pulls < 1 {
            errors.push(FieldError::invalid(&path, pulls, "value must be >= 1"));
        }
        if config.serialize_image_pulls == Some(true) && pulls > 1 {
            let text = "maxParallelImagePulls cannot be larger than 1 when serializeImagePulls is set to true";
            errors.push(FieldError::forbidden(&path, text));
        }
    }
    pulled_images::verification(errors, config, version, path);
}

fn count(errors: &mut Errors, value: Option<i32>, path: &Path) {
    if let Some(value) = value {
        meta::non_negative(errors, i64::from(value), path);
    }
}

fn images(errors: &mut Errors, config: &KubeletConfig, path: &Path) {
    let ages = [("imageMinimumGCAge", config.image_minimum_gc_age), ("imageMaximumGCAge", config.image_maximum_gc_age)];
    for (field, age) in ages {
        if let Some(age) = age {
            meta::non_negative(errors, age.nanoseconds / 1_000_000_000, &path.child(field));
        }
    }
    let (high, low) = (config.image_gc_high_threshold_percent, config.image_gc_low_threshold_percent);
    for (field, percent) in [("imageGCHighThresholdPercent", high), ("imageGCLowThresholdPercent", low)] {
        if let Some(percent) = percent
            && !(0..=100).contains(&percent)
        {
            errors.push(FieldError::invalid(&path.child(field), percent, "value must be in [0,100]"));
        }
    }
    if let (Some(high), Some(low)) = (high, low)
        && low >= high
    {
        let text = "imageGCLowThresholdPercent must be less than imageGCHighThresholdPercent";
        errors.push(FieldError::forbidden(&path.child("imageGCLowThresholdPercent"), text));
    }
}

fn swap(errors: &mut Errors, config: &KubeletConfig, version: &str, release: Release, path: &Path) {
    let Some(swap) = &config.memory_swap else { return };
    if config.fail_swap_on == Some(true) {
        let text = "configuring swap behaviour is not available when the kubelet is configured with 'FailSwapOn=true'";
        errors.push(FieldError::forbidden(path, text));
    }
    let Some(behaviour) = &swap.swap_behavior else { return };
    if config.feature_gates.get("NodeSwap") != Some(&true) {
        let text = "configuring swap behaviour is not available when kubelet's 'NodeSwap' feature gate is not set";
        errors.push(FieldError::forbidden(path, text));
    }
    let is_newer = !KNOWS_1_29.contain(release) || meets_constraint(version, ">= 1.30").unwrap_or(false);
    let supported = if is_newer { ["NoSwap", "LimitedSwap"] } else { ["LimitedSwap", "UnlimitedSwap"] };
    if !supported.contains(&behaviour.as_str()) {
        errors.push(FieldError::not_supported(&path.child("swapBehavior"), behaviour, &supported));
    }
}

fn thresholds(errors: &mut Errors, eviction: &KubeletConfigEviction, path: &Path) {
    let values = [
        ("memoryAvailable", &eviction.memory_available),
        ("imagefsAvailable", &eviction.image_fs_available),
        ("imagefsInodesFree", &eviction.image_fs_inodes_free),
        ("nodefsAvailable", &eviction.node_fs_available),
        ("imagefsInodesFree", &eviction.image_fs_inodes_free),
    ];
    for (field, value) in values {
        let Some(value) = value else { continue };
        if value.parse::<Quantity>().is_ok_and(|quantity| quantity.sign() >= 0) {
            continue;
        }
        let path = path.child(field);
        let percent = value
            .strip_suffix('%')
            .filter(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()));
        match percent {
            None => {
                let text = "field must be either a valid resource quantity (e.g 200Mi) or a percentage (e.g '5%')";
                errors.push(FieldError::invalid(&path, value, text));
            }
            Some(digits) if digits.parse::<u64>().map_or(true, |percent| percent > 100) => {
                let text = "must not be greater than 100% and not smaller than 0%";
                errors.push(FieldError::invalid(&path, value, text));
            }
            Some(_) => {}
        }
    }
}

fn reservation(errors: &mut Errors, reserved: &KubeletConfigReserved, path: &Path) {
    let amounts = [
        ("cpu", &reserved.cpu),
        ("memory", &reserved.memory),
        ("ephemeralStorage", &reserved.ephemeral_storage),
        ("pid", &reserved.pid),
    ];
    for (field, amount) in amounts {
        if let Some(amount) = amount {
            meta::quantity(errors, amount, &path.child(field));
        }
    }
}
