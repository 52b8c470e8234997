// SPDX-License-Identifier: Apache-2.0
//! Validation of a pod's containers.
//!
//! Deliberately absent: probes and hooks, security contexts, sources of environment variables, parts of volumes.
//!
//! Source: k8s.io/kubernetes pkg/apis/core/validation/validation.go @ v1.31 (validateContainers,
//! validateInitContainers).

use std::collections::{BTreeMap, BTreeSet};

use apimachinery::field::{FieldError, Path};
use apimachinery::meta::Quantity;
use serde_json::Value;

use super::tree::{items, number, one_of, set, text};
use crate::validation::{Errors, meta};

pub(super) const PORT_RANGE: &str = "must be between 1 and 65535, inclusive";

/// Adds violations of a pod's containers and init containers. `volumes`: names of the pod's volumes.
pub(super) fn containers(errors: &mut Errors, spec: &Value, volumes: &BTreeSet<&str>, path: &Path) {
    let at = path.child("containers");
    let all = items(spec, "containers");
    if all.is_empty() {
        errors.push(FieldError::required(&at, ""));
    }
    let mut names = BTreeSet::new();
    for (index, container) in all.iter().enumerate() {
        let at = at.index(index);
        common(errors, container, volumes, &at);
        let name = text(container, "name");
        if !name.is_empty() && !names.insert(name) {
            errors.push(FieldError::duplicate(&at.child("name"), name));
        }
        if set(container, "restartPolicy").is_some() {
            let text = "may not be set for non-init containers";
            errors.push(FieldError::forbidden(&at.child("restartPolicy"), text));
        }
    }
    host_ports(errors, all, &at);

    let at = path.child("initContainers");
    for (index, container) in items(spec, "initContainers").iter().enumerate() {
        let at = at.index(index);
        common(errors, container, volumes, &at);
        let name = text(container, "name");
        if !name.is_empty() && !names.insert(name) {
            errors.push(FieldError::duplicate(&at.child("name"), name));
        }
        let policy = text(container, "restartPolicy");
        if !policy.is_empty() && policy != "Always" {
            errors.push(FieldError::not_supported(&at.child("restartPolicy"), policy, &["Always"]));
        }
    }
}

/// Adds violations of ephemeral containers.
///
/// Source: validateEphemeralContainers.
pub(super) fn ephemeral(errors: &mut Errors, spec: &Value, volumes: &BTreeSet<&str>, path: &Path) {
    let (all, before) = (items(spec, "containers"), items(spec, "initContainers"));
    let is_other = |name: &str| all.iter().chain(before).any(|container| text(container, "name") == name);
    let mut names = BTreeSet::new();
    let at = path.child("ephemeralContainers");
    for (index, container) in items(spec, "ephemeralContainers").iter().enumerate() {
        let at = at.index(index);
        common(errors, container, volumes, &at);
        let name = text(container, "name");
        if !name.is_empty() && (is_other(name) || !names.insert(name)) {
            errors.push(FieldError::duplicate(&at.child("name"), name));
        }
        let target = text(container, "targetContainerName");
        if !target.is_empty() && !is_other(target) {
            errors.push(FieldError::not_found(&at.child("targetContainerName"), target));
        }
    }
}

fn common(errors: &mut Errors, container: &Value, volumes: &BTreeSet<&str>, path: &Path) {
    let name = text(container, "name");
    let at = path.child("name");
    if name.is_empty() {
        errors.push(FieldError::required(&at, ""));
    } else {
        meta::invalid_each(errors, &at, name, meta::dns_label(name));
    }
    let image = text(container, "image");
    let at = path.child("image");
    if image.is_empty() {
        errors.push(FieldError::required(&at, ""));
    } else if image.trim() != image {
        errors.push(FieldError::invalid(&at, image, "must not have leading or trailing whitespace"));
    }
    ports(errors, container, &path.child("ports"));
    variables(errors, container, &path.child("env"));
    mounts(errors, container, volumes, &path.child("volumeMounts"));
    one_of(errors, container, "imagePullPolicy", &["Always", "IfNotPresent", "Never"], path);
    if let Some(resources) = set(container, "resources") {
        amounts(errors, resources, &path.child("resources"));
    }
}

/// Checks the names of environment variables.
fn variables(errors: &mut Errors, container: &Value, path: &Path) {
    for (index, variable) in items(container, "env").iter().enumerate() {
        let (name, at) = (text(variable, "name"), path.index(index).child("name"));
        if name.is_empty() {
            errors.push(FieldError::required(&at, ""));
        } else if name.contains('=') {
            errors.push(FieldError::invalid(&at, name, "environment variable name must not contain '='"));
        }
    }
}

fn ports(errors: &mut Errors, container: &Value, path: &Path) {
    let mut names = BTreeSet::new();
    for (index, port) in items(container, "ports").iter().enumerate() {
        let path = path.index(index);
        let name = text(port, "name");
        if !name.is_empty() {
            let wrong = port_name(name);
            if !wrong.is_empty() {
                meta::invalid_each(errors, &path.child("name"), name, wrong);
            } else if !names.insert(name) {
                errors.push(FieldError::duplicate(&path.child("name"), name));
            }
        }
        match number(port, "containerPort").unwrap_or(0) {
            0 => errors.push(FieldError::required(&path.child("containerPort"), "")),
            1..=65535 => {}
            other => errors.push(FieldError::invalid(&path.child("containerPort"), other, PORT_RANGE)),
        }
        match number(port, "hostPort").unwrap_or(0) {
            0..=65535 => {}
            other => errors.push(FieldError::invalid(&path.child("hostPort"), other, PORT_RANGE)),
        }
        one_of(errors, port, "protocol", &["SCTP", "TCP", "UDP"], &path);
    }
}

/// Source: k8s.io/apimachinery pkg/util/validation/validation.go (IsValidPortName).
pub(super) fn port_name(name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut push = |text: &str| wrong.push(text.to_owned());
    if name.len() > 15 {
        push("must be no more than 15 characters");
    }
    if !name.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit() || byte.is_ascii_lowercase()) {
        push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    }
    if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        push("must contain at least one letter (a-z)");
    }
    if name.contains("--") {
        push("must not contain consecutive hyphens");
    }
    if name.starts_with('-') || name.ends_with('-') {
        push("must not begin or end with a hyphen");
    }
    wrong
}

fn host_ports(errors: &mut Errors, containers: &[Value], path: &Path) {
    let mut taken = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        for (port_index, port) in items(container, "ports").iter().enumerate() {
            let Some(number) = number(port, "hostPort").filter(|number| *number != 0) else { continue };
            let protocol = Some(text(port, "protocol")).filter(|it| !it.is_empty()).unwrap_or("TCP");
            let key = format!("{protocol}/{}/{number}", text(port, "hostIP"));
            if !taken.insert(key.clone()) {
                let path = path.index(index).child("ports").index(port_index).child("hostPort");
                errors.push(FieldError::duplicate(&path, key));
            }
        }
    }
}

fn mounts(errors: &mut Errors, container: &Value, volumes: &BTreeSet<&str>, path: &Path) {
    let mut places = BTreeSet::new();
    for (index, mount) in items(container, "volumeMounts").iter().enumerate() {
        let path = path.index(index);
        let name = text(mount, "name");
        if name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), ""));
        }
        if !volumes.contains(name) {
            errors.push(FieldError::not_found(&path.child("name"), name));
        }
        let place = text(mount, "mountPath");
        if place.is_empty() {
            errors.push(FieldError::required(&path.child("mountPath"), ""));
        } else if !places.insert(place) {
            errors.push(FieldError::invalid(&path.child("mountPath"), place, "must be unique"));
        }
    }
}

/// True if a container can request a resource that is named without a prefix.
pub(super) fn is_container_resource(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-")
}

/// Source: ValidateResourceRequirements.
pub(super) fn amounts(errors: &mut Errors, resources: &Value, path: &Path) {
    let read = |field: &str| -> BTreeMap<String, Quantity> {
        let amounts = resources.get(field).and_then(Value::as_object).into_iter().flatten();
        amounts.filter_map(|(name, value)| Some((name.clone(), serde_json::from_value(value.clone()).ok()?))).collect()
    };
    let (limits, requests) = (read("limits"), read("requests"));
    for (field, amounts) in [("limits", &limits), ("requests", &requests)] {
        for (name, amount) in amounts {
            let at = path.child(field).key(name);
            meta::invalid_each(errors, &at, name, meta::qualified_name(name));
            if !name.contains('/') && !is_container_resource(name) {
                errors.push(FieldError::invalid(&at, name, "must be a standard resource type or fully qualified"));
                errors.push(FieldError::invalid(&at, name, "must be a standard resource for containers"));
            }
            meta::quantity(errors, amount, &at);
            if let Some(limit) = limits.get(name).filter(|limit| field == "requests" && amount > *limit) {
                let detail = format!("must be less than or equal to {name} limit of {limit}");
                errors.push(FieldError::invalid(&path.child(field), amount.to_string(), &detail));
            }
        }
    }
}
