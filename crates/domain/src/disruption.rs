// SPDX-License-Identifier: Apache-2.0
//! Disruptions that a PodDisruptionBudget allows.
//!
//! The disruption controller writes them into the status of the budget; an eviction counts the healthy pods again, since
//! that status may be older.
//!
//! Source: k8s.io/kubernetes pkg/controller/disruption/disruption.go.

use api::kubernetes::policy::PodDisruptionBudgetSpec;
use apimachinery::meta::IntOrString;

/// Pod counts of a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of pods that are expected: 0 if a bound on missing pods selects only pods without a controller.
    pub expected: i32,
    /// Number of healthy pods that are required.
    pub desired: i32,
    /// Number of healthy pods.
    pub healthy: i32,
}

impl Counts {
    /// Computes the number of expected pods, of required healthy pods and of healthy pods. `scale`: sum of the replicas
    /// that the pods' controllers request.
    pub fn of(spec: &PodDisruptionBudgetSpec, pods: i32, healthy: i32, scale: i32) -> Self {
        let (expected, desired) = match (&spec.max_unavailable, &spec.min_available) {
            (Some(missing), _) => {
                let missing = missing.scaled(scale, true).unwrap_or(0);
                (scale, scale.saturating_sub(missing).max(0))
            }
            (None, Some(IntOrString::Int(least))) => (pods, *least),
            (None, Some(least)) => (scale, least.scaled(scale, true).unwrap_or(0)),
            (None, None) => (0, 0),
        };
        Self { expected, desired, healthy }
    }

    /// Number of pods that may be evicted.
    pub fn allowed(self) -> i32 {
        if self.expected <= 0 { 0 } else { self.healthy.saturating_sub(self.desired).max(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "minAvailable: number of pods from that set that must still be available after the eviction, even in the absence
    /// of the evicted pod; maxUnavailable: number of pods from that set that can be unavailable after the eviction. …
    /// When you specify the value as a percentage, Kubernetes rounds up".
    #[test]
    fn budgets_count_the_desired_replicas_of_controllers() {
        let text = |text: &str| {
            let value = text.parse().map_or_else(|_| IntOrString::String(text.to_owned()), IntOrString::Int);
            (!text.is_empty()).then_some(value)
        };
        for (least, missing, pods, healthy, scale, expected) in [
            ("2", "", 3, 3, 3, (3, 2, 1)),
            ("2", "", 2, 1, 2, (2, 2, 0)),
            ("1", "", 2, 2, 0, (2, 1, 1)),
            ("50%", "", 7, 7, 7, (7, 4, 3)),
            ("", "1", 2, 2, 3, (3, 2, 0)),
            ("", "1", 3, 3, 3, (3, 2, 1)),
            ("", "30%", 7, 7, 7, (7, 4, 3)),
            ("", "100%", 3, 1, 3, (3, 0, 1)),
            ("", "9", 3, 3, 3, (3, 0, 3)),
            ("", "0", 1, 1, 0, (0, 0, 0)),
            ("", "1", 1, 1, 0, (0, 0, 0)),
            ("0", "", 0, 0, 0, (0, 0, 0)),
            ("", "", 3, 3, 3, (0, 0, 0)),
        ] {
            let spec = PodDisruptionBudgetSpec {
                min_available: text(least),
                max_unavailable: text(missing),
                ..PodDisruptionBudgetSpec::default()
            };
            let counts = Counts::of(&spec, pods, healthy, scale);
            assert_eq!((counts.expected, counts.desired, counts.allowed()), expected, "{least:?} {missing:?}");
        }
    }
}
