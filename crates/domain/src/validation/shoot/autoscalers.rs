// SPDX-License-Identifier: Apache-2.0
//! Validation of settings of cluster-autoscaler.

use std::collections::BTreeSet;

use api::core::*;
use apimachinery::field::{FieldError, Path};

use super::super::Errors;
use super::super::common::not_negative_duration;
use super::super::meta;
use super::refused::{Field, refuse};
use super::shared::{taint_key, threshold};
use crate::release::{Release, Releases};
use crate::versions::meets_constraint;

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
    let negative = "can not be negative";
    threshold(errors, autoscaler.scale_down_utilization_threshold, &path.child("scaleDownUtilizationThreshold"));
    not_negative_duration(errors, autoscaler.max_node_provision_time, &path.child("maxNodeProvisionTime"), negative);
    let count = |errors: &mut Errors, field: &str, value: Option<i32>| {
        if let Some(value) = value
            && value < 0
        {
            errors.push(FieldError::invalid(&path.child(field), value, negative));
        }
    };
    count(errors, "maxGracefulTerminationSeconds", autoscaler.max_graceful_termination_seconds);
    if let Some(expander) = &autoscaler.expander {
        let all = ["least-nodes", "least-waste", "most-pods", "priority", "random"];
        let supported = if LEAST_NODES.contain(release) { &all[..] } else { &all[1..] };
        for _ in expander.split(',').filter(|part| !supported.contains(part)) {
            errors.push(FieldError::not_supported(&path.child("expander"), expander, supported));
        }
    }
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
    not_negative_duration(errors, autoscaler.new_pod_scale_up_delay, &path.child("newPodScaleUpDelay"), negative);
    if autoscaler.max_empty_bulk_delete.is_some() {
        refuse(errors, Field::MaxEmptyBulkDelete, version, release, &path.child("maxEmptyBulkDelete"));
    }
    count(errors, "maxEmptyBulkDelete", autoscaler.max_empty_bulk_delete);
    scale_down_parallelism(errors, autoscaler, path);
}

/// Checks fields that releases before 1.121 do not have.
fn scale_down_parallelism(errors: &mut Errors, autoscaler: &ClusterAutoscaler, path: &Path) {
    let non_negative = |errors: &mut Errors, field: &str, value: Option<i32>| {
        if let Some(value) = value {
            meta::non_negative(errors, i64::from(value), &path.child(field));
        }
    };
    non_negative(errors, "maxScaleDownParallelism", autoscaler.max_scale_down_parallelism);
    if let (Some(most), Some(empty)) = (autoscaler.max_scale_down_parallelism, autoscaler.max_empty_bulk_delete)
        && most != empty
    {
        let text = format!("must equal maxScaleDownParallelism {most}");
        errors.push(FieldError::invalid(&path.child("maxEmptyBulkDelete"), empty, &text));
    }
    non_negative(errors, "maxDrainParallelism", autoscaler.max_drain_parallelism);
}
