// SPDX-License-Identifier: Apache-2.0
//! Validation of settings of cluster-autoscaler.
//!
//! | since | checked |
//! | --- | --- |
//! | 1.126 | delays, unneeded time, scan interval and verbosity; other texts for negative values |
//! | 1.132 | back-offs |
//! | 1.142 | time of bin packing |
//! | 1.147 | requests of cluster-autoscaler itself |
//!
//! Fields that a release does not have are never set, and have no row.
//!
//! Source: pkg/apis/core/validation/shoot.go, since v1.137 pkg/api/core/validation/shoot.go, of each release
//! (`ValidateClusterAutoscaler`).

use std::collections::BTreeSet;

use api::core::*;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::Duration;

use super::super::Errors;
use super::super::common::not_negative_duration;
use super::super::meta;
use super::refused::{Field, refuse};
use super::shared::{control_plane_autoscaling, non_negative_duration, taint_key, threshold};
use crate::release::{Release, Releases};
use crate::versions::meets_constraint;

/// All durations and numbers are checked.
const ALL_ARE_JUDGED: Releases = Releases::since(126);

const NEGATIVE: &str = "can not be negative";

/// cluster-autoscaler has the expander `least-nodes`.
const LEAST_NODES: Releases = Releases::since(141);

/// Checks settings of cluster-autoscaler.
pub(super) fn cluster_autoscaler(
    errors: &mut Errors,
    autoscaler: &ClusterAutoscaler,
    version: &str,
    release: Release,
    path: &Path,
) {
    let judges_all = ALL_ARE_JUDGED.contain(release);
    if judges_all {
        duration(errors, "scaleDownDelayAfterAdd", autoscaler.scale_down_delay_after_add, release, path);
        duration(errors, "scaleDownDelayAfterDelete", autoscaler.scale_down_delay_after_delete, release, path);
        duration(errors, "scaleDownDelayAfterFailure", autoscaler.scale_down_delay_after_failure, release, path);
        duration(errors, "scaleDownUnneededTime", autoscaler.scale_down_unneeded_time, release, path);
    }
    threshold(errors, autoscaler.scale_down_utilization_threshold, &path.child("scaleDownUtilizationThreshold"));
    if judges_all {
        duration(errors, "scanInterval", autoscaler.scan_interval, release, path);
        expander(errors, autoscaler, release, path);
    }
    duration(errors, "maxNodeProvisionTime", autoscaler.max_node_provision_time, release, path);
    let seconds = autoscaler.max_graceful_termination_seconds;
    count(errors, "maxGracefulTerminationSeconds", seconds, release, path);
    if !judges_all {
        expander(errors, autoscaler, release, path);
    }
    taints(errors, autoscaler, version, path);
    duration(errors, "newPodScaleUpDelay", autoscaler.new_pod_scale_up_delay, release, path);
    let bulk = path.child("maxEmptyBulkDelete");
    if let Some(most) = autoscaler.max_empty_bulk_delete {
        refuse(errors, Field::MaxEmptyBulkDelete, version, release, &bulk);
        if most < 0 {
            errors.push(FieldError::invalid(&bulk, most, NEGATIVE));
        }
    }
    count(errors, "maxScaleDownParallelism", autoscaler.max_scale_down_parallelism, release, path);
    if let (Some(most), Some(empty)) = (autoscaler.max_scale_down_parallelism, autoscaler.max_empty_bulk_delete)
        && most != empty
    {
        errors.push(FieldError::invalid(&bulk, empty, &format!("must equal maxScaleDownParallelism {most}")));
    }
    count(errors, "maxDrainParallelism", autoscaler.max_drain_parallelism, release, path);
    if judges_all {
        count(errors, "verbosity", autoscaler.verbosity, release, path);
    }
    let first = autoscaler.initial_node_group_backoff_duration;
    duration(errors, "initialNodeGroupBackoffDuration", first, release, path);
    duration(errors, "maxNodeGroupBackoffDuration", autoscaler.max_node_group_backoff_duration, release, path);
    duration(errors, "nodeGroupBackoffResetTimeout", autoscaler.node_group_backoff_reset_timeout, release, path);
    duration(errors, "maxBinpackingTime", autoscaler.max_binpacking_time, release, path);
    if let Some(autoscaling) = &autoscaler.autoscaling {
        let minima = [("cpu", "10m"), ("memory", "30M")];
        control_plane_autoscaling(errors, autoscaling, &minima, &path.child("autoscaling"));
    }
}

fn duration(errors: &mut Errors, field: &str, value: Option<Duration>, release: Release, path: &Path) {
    let path = path.child(field);
    if ALL_ARE_JUDGED.contain(release) {
        non_negative_duration(errors, value, &path);
    } else {
        not_negative_duration(errors, value, &path, NEGATIVE);
    }
}

fn count(errors: &mut Errors, field: &str, value: Option<i32>, release: Release, path: &Path) {
    let Some(value) = value else { return };
    let path = path.child(field);
    if ALL_ARE_JUDGED.contain(release) {
        meta::non_negative(errors, i64::from(value), &path);
    } else if value < 0 {
        errors.push(FieldError::invalid(&path, value, NEGATIVE));
    }
}

fn expander(errors: &mut Errors, autoscaler: &ClusterAutoscaler, release: Release, path: &Path) {
    let Some(expander) = &autoscaler.expander else { return };
    let all = ["least-nodes", "least-waste", "most-pods", "priority", "random"];
    let supported = if LEAST_NODES.contain(release) { &all[..] } else { &all[1..] };
    for _ in expander.split(',').filter(|part| !supported.contains(part)) {
        errors.push(FieldError::not_supported(&path.child("expander"), expander, supported));
    }
}

/// Checks the lists of taints, each of which is an option of some Kubernetes versions.
fn taints(errors: &mut Errors, autoscaler: &ClusterAutoscaler, version: &str, path: &Path) {
    let taints = [
        ("StartupTaints", "startupTaints", &autoscaler.startup_taints, ">= 1.29"),
        ("StatusTaints", "statusTaints", &autoscaler.status_taints, ">= 1.29"),
        ("IgnoreTaints", "ignoreTaints", &autoscaler.ignore_taints, ">= 1.14, < 1.32"),
    ];
    for (option, field, taints, range) in taints {
        if taints.is_empty() {
            continue;
        }
        let path = path.child(field);
        match meets_constraint(version, range) {
            Ok(true) => {}
            Ok(false) => {
                let text = format!("not supported in Kubernetes version {version}");
                errors.push(FieldError::forbidden(&path.child(option), &text));
            }
            Err(error) => errors.push(FieldError::invalid(&path.child(option), option, &error.to_string())),
        }
        let mut seen = BTreeSet::new();
        for (index, taint) in taints.iter().enumerate() {
            let path = path.index(index);
            taint_key(errors, taint, &path);
            if !seen.insert(taint) {
                errors.push(FieldError::duplicate(&path, taint));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Release, settings, and the errors, joined by `; `.
    const SETTINGS: &str = r#"
125 {"scaleDownDelayAfterAdd": "-1s", "scaleDownUnneededTime": "-1s", "scanInterval": "-1s", "verbosity": -1} =>
126 {"scaleDownDelayAfterAdd": "-1s", "scaleDownUnneededTime": "-1s"} => c.scaleDownDelayAfterAdd: Invalid value: "-1s": must be non-negative; c.scaleDownUnneededTime: Invalid value: "-1s": must be non-negative
126 {"scaleDownDelayAfterDelete": "-1s", "scaleDownDelayAfterFailure": "0s"} => c.scaleDownDelayAfterDelete: Invalid value: "-1s": must be non-negative
126 {"scanInterval": "-1m", "verbosity": -1} => c.scanInterval: Invalid value: "-1m0s": must be non-negative; c.verbosity: Invalid value: -1: must be greater than or equal to 0
125 {"maxNodeProvisionTime": "-1m", "expander": "odd"} => c.maxNodeProvisionTime: Invalid value: -1m0s: can not be negative; c.expander: Unsupported value: "odd": supported values: "least-waste", "most-pods", "priority", "random"
126 {"maxNodeProvisionTime": "-1m", "expander": "odd"} => c.expander: Unsupported value: "odd": supported values: "least-waste", "most-pods", "priority", "random"; c.maxNodeProvisionTime: Invalid value: "-1m0s": must be non-negative
125 {"maxDrainParallelism": -1, "maxGracefulTerminationSeconds": -1} => c.maxGracefulTerminationSeconds: Invalid value: -1: can not be negative; c.maxDrainParallelism: Invalid value: -1: can not be negative
126 {"maxDrainParallelism": -1, "maxGracefulTerminationSeconds": -1} => c.maxGracefulTerminationSeconds: Invalid value: -1: must be greater than or equal to 0; c.maxDrainParallelism: Invalid value: -1: must be greater than or equal to 0
125 {"newPodScaleUpDelay": "-1s", "maxEmptyBulkDelete": -1} => c.newPodScaleUpDelay: Invalid value: -1s: can not be negative; c.maxEmptyBulkDelete: Invalid value: -1: can not be negative
149 {"newPodScaleUpDelay": "-1s", "maxEmptyBulkDelete": -1} => c.newPodScaleUpDelay: Invalid value: "-1s": must be non-negative; c.maxEmptyBulkDelete: Invalid value: -1: can not be negative
132 {"initialNodeGroupBackoffDuration": "-1s", "nodeGroupBackoffResetTimeout": "-1s"} => c.initialNodeGroupBackoffDuration: Invalid value: "-1s": must be non-negative; c.nodeGroupBackoffResetTimeout: Invalid value: "-1s": must be non-negative
142 {"maxNodeGroupBackoffDuration": "0s", "maxBinpackingTime": "-1s"} => c.maxBinpackingTime: Invalid value: "-1s": must be non-negative
147 {"autoscaling": {"minAllowed": {"cpu": "10m", "memory": "29M"}}} => c.autoscaling.minAllowed.memory: Invalid value: "29M": value must be bigger than >= 30M
"#;

    #[test]
    fn settings_of_cluster_autoscaler_are_judged_by_release() {
        for row in SETTINGS.lines().filter(|row| !row.is_empty()) {
            let (given, expected) = row.split_once("=>").expect("row has an arrow");
            let (release, settings) = given.split_once(' ').expect("row has settings");
            let release = Release(release.parse().expect("row has a release"));
            let settings: ClusterAutoscaler = serde_json::from_str(settings).expect("settings");
            let mut errors = Errors::new();
            cluster_autoscaler(&mut errors, &settings, "1.32.0", release, &Path::new("c"));
            let found: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(found.join("; "), expected.trim(), "row: {row}");
        }
    }
}
