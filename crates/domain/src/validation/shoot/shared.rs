// SPDX-License-Identifier: Apache-2.0
//! Checks of values that occur in several parts of the spec.

use std::collections::BTreeMap;

use api::constants::taint;
use api::core::{ControlPlaneAutoscaling, ShootSpec};
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::{Duration, Quantity};

use super::super::common::one_of;
use super::super::{Errors, meta};
use super::refused::{Field, refuse};
use crate::cloud_profile::{self, CLOUD_PROFILE, NAMESPACED_CLOUD_PROFILE, counts_by_name};
use crate::features::feature_gate;
use crate::release::Release;
use crate::versions::Version;

pub(super) const WORKERLESS: &str = "this field should not be set for workerless Shoot clusters";

/// Adds a Forbidden for each field that is set.
pub(super) fn forbidden_for_workerless(errors: &mut Errors, fields: &[(&str, bool)], path: &Path) {
    for (field, _) in fields.iter().filter(|(_, is_set)| *is_set) {
        errors.push(FieldError::forbidden(&path.child(field), WORKERLESS));
    }
}

/// Checks the name of the CloudProfile below the path of the spec; `cloudProfileName` alone is sufficient.
///
/// Checks nothing in a release in which the name applies: [`cloud_profile_name`].
pub(super) fn cloud_profile_reference(errors: &mut Errors, spec: &ShootSpec, release: Release, path: &Path) {
    if counts_by_name(release) {
        return;
    }
    if spec.cloud_profile_name.as_deref().is_some_and(|name| !name.is_empty()) {
        let path = path.child("cloudProfileName");
        refuse(errors, Field::CloudProfileName, &spec.kubernetes.version, release, &path);
    }
    let path = path.child("cloudProfile");
    let reference = cloud_profile::reference(spec).unwrap_or_default();
    if reference.name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), "must specify a cloud profile"));
    } else {
        one_of(errors, &reference.kind, &[CLOUD_PROFILE, NAMESPACED_CLOUD_PROFILE], &path.child("kind"));
    }
}

/// Requires `cloudProfileName` in a release in which it applies.
pub(super) fn cloud_profile_name(errors: &mut Errors, spec: &ShootSpec, release: Release, path: &Path) {
    if counts_by_name(release) && spec.cloud_profile_name.as_deref().is_none_or(str::is_empty) {
        errors.push(FieldError::required(&path.child("cloudProfileName"), "must specify a cloud profile"));
    }
}

/// Checks feature gates of a component: known to the release, present in the version, and not locked to the other value.
pub(super) fn feature_gates(
    errors: &mut Errors,
    gates: &BTreeMap<String, bool>,
    version: &str,
    release: Release,
    path: &Path,
) {
    for (name, enabled) in gates {
        let path = path.child(name);
        let Some(gate) = feature_gate(name, release) else {
            errors.push(FieldError::invalid(&path, name, &format!("unknown feature gate {name}")));
            continue;
        };
        let parsed = match Version::parse(version) {
            Ok(parsed) => parsed,
            Err(error) => {
                errors.push(FieldError::invalid(&path, name, &error.to_string()));
                continue;
            }
        };
        if !gate.is_supported(&parsed) {
            errors.push(FieldError::forbidden(&path, &format!("not supported in Kubernetes version {version}")));
        } else if gate.is_locked(&parsed) && *enabled != gate.default {
            let text = format!("cannot set feature gate to {enabled}, feature is locked to {}", gate.default);
            errors.push(FieldError::forbidden(&path, &text));
        }
    }
}

/// Checks the key of a taint: a valid label key, and not the one that Gardener uses itself.
pub(super) fn taint_key(errors: &mut Errors, key: &str, path: &Path) {
    meta::invalid_each(errors, path, key, meta::qualified_name(key));
    if key == taint::CRITICAL_COMPONENTS_NOT_READY {
        errors.push(FieldError::forbidden(path, "taint key is reserved by gardener"));
    }
}

/// Checks a fraction between 0 and 1.
pub(super) fn threshold(errors: &mut Errors, value: Option<f64>, path: &Path) {
    let Some(value) = value else { return };
    if value < 0.0 {
        errors.push(FieldError::invalid(path, value, "can not be negative"));
    }
    if value > 1.0 {
        errors.push(FieldError::invalid(path, value, "can not be greater than 1.0"));
    }
}

/// Adds an error for a negative duration; upstream prints it quoted.
pub(super) fn non_negative_duration(errors: &mut Errors, duration: Option<Duration>, path: &Path) {
    if let Some(duration) = duration
        && duration.nanoseconds < 0
    {
        errors.push(FieldError::invalid(path, duration, "must be non-negative"));
    }
}

/// Checks the minimum requests of a component of the control plane. `minima`: lowest values by resource.
pub(super) fn control_plane_autoscaling(
    errors: &mut Errors,
    autoscaling: &ControlPlaneAutoscaling,
    minima: &[(&str, &str)],
    path: &Path,
) {
    let path = path.child("minAllowed");
    if autoscaling.min_allowed.is_empty() {
        errors.push(FieldError::required(&path, "must provide minAllowed"));
    }
    for (resource, value) in &autoscaling.min_allowed {
        let path = path.child(resource);
        one_of(errors, resource, &["cpu", "memory"], &path);
        let least = minima.iter().find(|(name, _)| name == resource).map(|(_, least)| *least);
        if let Some(least) = least
            && least.parse::<Quantity>().is_ok_and(|least| *value < least)
        {
            errors.push(FieldError::invalid(&path, value, &format!("value must be bigger than >= {least}")));
        }
        meta::quantity(errors, value, &path);
    }
}
