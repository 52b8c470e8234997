// SPDX-License-Identifier: Apache-2.0
//! Validation of the numbers with which a pod's placement is computed: weights of affinity terms, and the skew of spread
//! constraints.
//!
//! Deliberately absent: all other rules of affinities, spread constraints and gates. A term that cannot be read selects
//! nothing.
//!
//! Source: k8s.io/kubernetes pkg/apis/core/validation/validation.go @ v1.31 (validateAffinity,
//! validateTopologySpreadConstraints).

use apimachinery::field::{FieldError, Path};
use serde_json::Value;

use super::tree::{items, number, set};
use crate::validation::Errors;

const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Adds violations of `affinity` and `topologySpreadConstraints`.
pub(super) fn numbers(errors: &mut Errors, spec: &Value, path: &Path) {
    for field in ["nodeAffinity", "podAffinity", "podAntiAffinity"] {
        let Some(of) = set(spec, "affinity").and_then(|affinity| set(affinity, field)) else { continue };
        let path = path.child("affinity").child(field).child(PREFERRED);
        for (index, weighted) in items(of, PREFERRED).iter().enumerate() {
            let weight = number(weighted, "weight").unwrap_or(0);
            if !(1..=100).contains(&weight) {
                let at = path.index(index).child("weight");
                errors.push(FieldError::invalid(&at, weight, "must be in the range 1-100"));
            }
        }
    }
    let path = path.child("topologySpreadConstraints");
    for (index, constraint) in items(spec, "topologySpreadConstraints").iter().enumerate() {
        let skew = number(constraint, "maxSkew").unwrap_or(0);
        if skew <= 0 {
            let at = path.index(index).child("maxSkew");
            errors.push(FieldError::invalid(&at, skew, "must be greater than zero"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(spec: Value, expected: &[&str]) {
        let mut errors = Errors::new();
        numbers(&mut errors, &spec, &Path::new("spec"));
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected, "{spec}");
    }

    #[test]
    fn weights_are_percentages_and_skews_positive() {
        for field in ["nodeAffinity", "podAffinity", "podAntiAffinity"] {
            for (weight, accepts) in [(0, false), (1, true), (100, true), (101, false)] {
                let at = format!("spec.affinity.{field}.{PREFERRED}[0].weight");
                let expected = format!("{at}: Invalid value: {weight}: must be in the range 1-100");
                let expected: &[&str] = if accepts { &[] } else { &[&expected] };
                check(json!({"affinity": {field: { PREFERRED: [{"weight": weight}] }}}), expected);
            }
        }
        check(json!({"topologySpreadConstraints": [{"maxSkew": 1}]}), &[]);
        check(
            json!({"topologySpreadConstraints": [{}]}),
            &["spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"],
        );
    }

    #[test]
    fn malformed_objects_do_not_panic() {
        for spec in [json!({"affinity": 1}), json!({"affinity": {"nodeAffinity": [], "podAffinity": {PREFERRED: 1}}})] {
            check(spec, &[]);
        }
        numbers(&mut Errors::new(), &json!({"topologySpreadConstraints": [1, []]}), &Path::new("spec"));
    }
}
