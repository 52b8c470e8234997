// SPDX-License-Identifier: Apache-2.0
//! Settings of the vertical pod autoscaler of Shoots, Seeds and Gardens.
//!
//! | since | checked |
//! | --- | --- |
//! | 1.124 | feature gates; until 1.132 `InPlaceOrRecreate` needs Kubernetes 1.33 |
//! | 1.125 | `maxAllowed` |
//! | 1.130 | `evictionRateBurst`, and shares |
//! | 1.135 | `recommenderUpdateWorkerCount` |
//!
//! Fields that a release does not have are never set, and have no row.
//!
//! Source: pkg/apis/core/validation/shoot.go, pkg/api/core/validation/shoot.go, pkg/utils/validation/features/vpa.go, v1.120.0 to
//! v1.149.0.

use std::collections::BTreeMap;

use api::core::VerticalPodAutoscaler;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::{Duration, Quantity};

use super::{Errors, meta};
use crate::release::{Release, Releases};
use crate::versions::meets_constraint;

/// Feature gates, sorted, with the releases that have them.
const GATES: [(&str, Releases); 4] = [
    ("CPUStartupBoost", Releases::since(145)),
    ("InPlace", Releases::since(145)),
    (IN_PLACE, Releases::between(124, 145)),
    ("PerVPAConfig", Releases::since(140)),
];
const IN_PLACE: &str = "InPlaceOrRecreate";

/// Gate `InPlaceOrRecreate` needs Kubernetes 1.33.
const IN_PLACE_NEEDS_KUBERNETES: Releases = Releases::between(124, 133);

/// `evictionRateBurst`, `evictionTolerance` and `recommendationMarginFraction` are checked.
const EVICTION_IS_JUDGED: Releases = Releases::since(130);

/// Resources that have a maximum, sorted.
const LIMITED: [&str; 2] = ["cpu", "memory"];

/// Checks the settings of a Shoot of a Kubernetes version.
pub(super) fn of_shoot(
    errors: &mut Errors,
    autoscaler: &VerticalPodAutoscaler,
    version: &str,
    release: Release,
    path: &Path,
) {
    let duration = |errors: &mut Errors, field: &str, value: Option<Duration>| {
        if let Some(value) = value
            && value.nanoseconds < 0
        {
            errors.push(FieldError::invalid(&path.child(field), value, "must be non-negative"));
        }
    };
    duration(errors, "evictAfterOOMThreshold", autoscaler.evict_after_oom_threshold);
    if EVICTION_IS_JUDGED.contain(release) {
        eviction(errors, autoscaler, path);
    }
    duration(errors, "updaterInterval", autoscaler.updater_interval);
    duration(errors, "recommenderInterval", autoscaler.recommender_interval);
    let percentiles = [
        ("targetCPUPercentile", autoscaler.target_cpu_percentile),
        ("recommendationLowerBoundCPUPercentile", autoscaler.recommendation_lower_bound_cpu_percentile),
        ("recommendationUpperBoundCPUPercentile", autoscaler.recommendation_upper_bound_cpu_percentile),
        ("targetMemoryPercentile", autoscaler.target_memory_percentile),
        ("recommendationLowerBoundMemoryPercentile", autoscaler.recommendation_lower_bound_memory_percentile),
        ("recommendationUpperBoundMemoryPercentile", autoscaler.recommendation_upper_bound_memory_percentile),
    ];
    for (field, value) in percentiles {
        if let Some(value) = value
            && !(0.0..=1.0).contains(&value)
        {
            let text = "percentile value must be in the range [0, 1]";
            errors.push(FieldError::invalid(&path.child(field), value, text));
        }
    }
    duration(errors, "cpuHistogramDecayHalfLife", autoscaler.cpu_histogram_decay_half_life);
    duration(errors, "memoryHistogramDecayHalfLife", autoscaler.memory_histogram_decay_half_life);
    duration(errors, "memoryAggregationInterval", autoscaler.memory_aggregation_interval);
    if let Some(count) = autoscaler.memory_aggregation_interval_count {
        meta::non_negative(errors, count, &path.child("memoryAggregationIntervalCount"));
    }
    let gates = &autoscaler.feature_gates;
    feature_gates(errors, gates, release, &path.child("featureGates"));
    let is_in_place = IN_PLACE_NEEDS_KUBERNETES.contain(release) && gates.get(IN_PLACE) == Some(&true);
    if is_in_place && !meets_constraint(version, ">= 1.33").unwrap_or(false) {
        let text = "for Kubernetes versions < 1.33, feature gate is not supported";
        errors.push(FieldError::invalid(&path.child("featureGates"), IN_PLACE, text));
    }
    max_allowed(errors, &autoscaler.max_allowed, path);
    if let Some(count) = autoscaler.recommender_update_worker_count.filter(|count| *count <= 0) {
        let path = path.child("recommenderUpdateWorkerCount");
        errors.push(FieldError::invalid(&path, count, "must be greater than 0"));
    }
}

fn eviction(errors: &mut Errors, autoscaler: &VerticalPodAutoscaler, path: &Path) {
    if let Some(burst) = autoscaler.eviction_rate_burst.filter(|burst| *burst < 0) {
        errors.push(FieldError::invalid(&path.child("evictionRateBurst"), burst, "must be non-negative"));
    }
    let shares = [
        ("evictionTolerance", autoscaler.eviction_tolerance),
        ("recommendationMarginFraction", autoscaler.recommendation_margin_fraction),
    ];
    for (field, value) in shares {
        if let Some(value) = value.filter(|value| !(0.0..1.0).contains(value)) {
            let text = "fraction value must be in the range [0, 1)";
            errors.push(FieldError::invalid(&path.child(field), value, text));
        }
    }
}

/// Checks the feature gates; reports the first one by name that a release does not have. Upstream reports one in random order.
pub(super) fn feature_gates(errors: &mut Errors, gates: &BTreeMap<String, bool>, release: Release, path: &Path) {
    let is_known = |name: &str| GATES.iter().any(|(gate, releases)| *gate == name && releases.contain(release));
    if let Some(name) = gates.keys().find(|name| !is_known(name)) {
        errors.push(FieldError::invalid(&path.child(name), name, "unknown feature gate"));
    }
}

/// Checks the maximum of recommendations; `path`: path of the autoscaler.
pub(super) fn max_allowed(errors: &mut Errors, amounts: &BTreeMap<String, Quantity>, path: &Path) {
    for (resource, amount) in amounts {
        let path = path.child("maxAllowed").child(resource);
        if !LIMITED.contains(&resource.as_str()) {
            errors.push(FieldError::not_supported(&path, resource, &LIMITED));
        }
        meta::quantity(errors, amount, &path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Release, Kubernetes version, setting, and the errors, joined by `; `.
    const SETTINGS: &str = r#"
123 1.32.0 {"featureGates": {}}                                     =>
124 1.33.0 {"featureGates": {"InPlaceOrRecreate": true}}            =>
124 1.32.9 {"featureGates": {"InPlaceOrRecreate": false}}           =>
124 1.32.9 {"featureGates": {"InPlaceOrRecreate": true}}            => v.featureGates: Invalid value: "InPlaceOrRecreate": for Kubernetes versions < 1.33, feature gate is not supported
133 1.32.9 {"featureGates": {"InPlaceOrRecreate": true}}            =>
139 1.33.0 {"featureGates": {"PerVPAConfig": true}}                 => v.featureGates.PerVPAConfig: Invalid value: "PerVPAConfig": unknown feature gate
140 1.33.0 {"featureGates": {"PerVPAConfig": true}}                 =>
144 1.33.0 {"featureGates": {"CPUStartupBoost": true, "InPlace": true}} => v.featureGates.CPUStartupBoost: Invalid value: "CPUStartupBoost": unknown feature gate
145 1.33.0 {"featureGates": {"CPUStartupBoost": true, "InPlace": true}} =>
145 1.33.0 {"featureGates": {"InPlaceOrRecreate": false}}           => v.featureGates.InPlaceOrRecreate: Invalid value: "InPlaceOrRecreate": unknown feature gate
125 1.33.0 {"maxAllowed": {"cpu": "2", "memory": "8Gi"}}            =>
125 1.33.0 {"maxAllowed": {"cpu": "-1"}}                            => v.maxAllowed.cpu: Invalid value: "-1": must be greater than or equal to 0
149 1.33.0 {"maxAllowed": {"storage": "1Gi"}}                       => v.maxAllowed.storage: Unsupported value: "storage": supported values: "cpu", "memory"
149 1.33.0 {"maxAllowed": {"pods": "-1"}}                           => v.maxAllowed.pods: Unsupported value: "pods": supported values: "cpu", "memory"; v.maxAllowed.pods: Invalid value: "-1": must be greater than or equal to 0
129 1.33.0 {"evictionRateBurst": -1, "evictionTolerance": 1.0}      =>
130 1.33.0 {"evictionRateBurst": -1, "evictionTolerance": 1.5}      => v.evictionRateBurst: Invalid value: -1: must be non-negative; v.evictionTolerance: Invalid value: 1.5: fraction value must be in the range [0, 1)
130 1.33.0 {"recommendationMarginFraction": 0.0}                    =>
130 1.33.0 {"recommendationMarginFraction": -0.5}                   => v.recommendationMarginFraction: Invalid value: -0.5: fraction value must be in the range [0, 1)
135 1.33.0 {"recommenderUpdateWorkerCount": 1}                      =>
135 1.33.0 {"recommenderUpdateWorkerCount": 0}                      => v.recommenderUpdateWorkerCount: Invalid value: 0: must be greater than 0
"#;

    #[test]
    fn settings_of_the_autoscaler_are_judged_by_release() {
        for row in SETTINGS.lines().filter(|row| !row.is_empty()) {
            let (given, expected) = row.split_once("=>").expect("row has an arrow");
            let words: Vec<&str> = given.splitn(3, ' ').collect();
            let release = Release(words[0].parse().expect("row has a release"));
            let tree: serde_json::Value = serde_json::from_str(words[2]).expect("row has a setting");
            let mut setting = serde_json::json!({ "enabled": true });
            setting.as_object_mut().expect("an object").extend(tree.as_object().expect("an object").clone());
            let autoscaler = serde_json::from_value(setting).expect("settings");
            let mut errors = Errors::new();
            of_shoot(&mut errors, &autoscaler, words[1], release, &Path::new("v"));
            let found: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(found.join("; "), expected.trim(), "row: {row}");
        }
    }
}
