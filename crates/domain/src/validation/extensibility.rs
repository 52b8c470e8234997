// SPDX-License-Identifier: Apache-2.0
//! ControllerRegistration, ControllerDeployment, ControllerInstallation.

use std::collections::{BTreeMap, BTreeSet};

use api::core::*;
use api::core_v1;
use apimachinery::field::{FieldError, Path};
use serde::Serialize;

use super::Errors;
use super::common::one_of;
use super::meta::{self, NameRule, immutable, object_meta, object_meta_update};

/// Kinds of extensions, sorted.
pub const EXTENSION_KINDS: [&str; 11] = [
    "BackupBucket",
    "BackupEntry",
    "Bastion",
    "ContainerRuntime",
    "ControlPlane",
    "DNSRecord",
    "Extension",
    "Infrastructure",
    "Network",
    "OperatingSystemConfig",
    "Worker",
];

/// A new ControllerRegistration.
pub fn controller_registration(registration: &ControllerRegistration) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &registration.metadata, false, NameRule::Label, &Path::new("metadata"));
    let spec = &registration.spec;
    let path = Path::new("spec");
    controller_resources(&mut errors, &spec.resources, &path.child("resources"));
    let Some(deployment) = &spec.deployment else { return errors };
    let path = path.child("deployment");
    if let Some(policy) = &deployment.policy {
        one_of(&mut errors, policy, &["Always", "AlwaysExceptNoShoots", "OnDemand"], &path.child("policy"));
    }
    if let Some(selector) = &deployment.seed_selector {
        let path = path.child("seedSelector");
        if spec.resources.iter().any(|resource| resource.primary.unwrap_or(true)) {
            let text = "specifying a seed selector is not allowed when controlling resources primarily";
            errors.push(FieldError::forbidden(&path, text));
        }
        meta::label_selector(&mut errors, selector, &path);
    }
    let path = path.child("deploymentRefs");
    if deployment.deployment_refs.len() > 1 {
        errors.push(FieldError::forbidden(&path, "only one deployment reference is allowed"));
    }
    for (index, reference) in deployment.deployment_refs.iter().enumerate() {
        if reference.name.is_empty() {
            errors.push(FieldError::required(&path.index(index).child("name"), "must not be empty"));
        }
    }
    errors
}

/// A changed ControllerRegistration.
pub fn controller_registration_update(new: &ControllerRegistration, old: &ControllerRegistration) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &new.metadata, &old.metadata, &Path::new("metadata"));
    let path = Path::new("spec");
    if !frozen(&mut errors, new.metadata.is_being_deleted(), &new.spec, &old.spec, &path) {
        for (index, resource) in new.spec.resources.iter().enumerate() {
            let same = |other: &&ControllerResource| other.kind == resource.kind && other.r#type == resource.r#type;
            if let Some(other) = old.spec.resources.iter().rfind(same) {
                let path = path.child("resources").index(index).child("primary");
                immutable(&mut errors, &resource.primary, &other.primary, &path);
            }
        }
    }
    errors.extend(controller_registration(new));
    errors
}

/// Refuses a changed spec of an object in deletion; answers whether it did.
fn frozen<T: PartialEq + Serialize>(errors: &mut Errors, deleting: bool, new: &T, old: &T, path: &Path) -> bool {
    let changed = deleting && new != old;
    if changed {
        errors.push(FieldError::forbidden(path, &super::shoot::differences(new, old).join(",")));
    }
    changed
}

fn controller_resources(errors: &mut Errors, resources: &[ControllerResource], path: &Path) {
    let mut last_type_of_kind = BTreeMap::new();
    for (index, resource) in resources.iter().enumerate() {
        let path = path.index(index);
        if resource.kind.is_empty() {
            errors.push(FieldError::required(&path.child("kind"), "field is required"));
        }
        one_of(errors, &resource.kind, &EXTENSION_KINDS, &path.child("kind"));
        if resource.r#type.is_empty() {
            errors.push(FieldError::required(&path.child("type"), "field is required"));
        }
        // Only a repetition of the kind's last type is found, as upstream does.
        if last_type_of_kind.insert(&resource.kind, &resource.r#type) == Some(&resource.r#type) {
            errors.push(FieldError::duplicate(&path, format!("{}/{}", resource.kind, resource.r#type)));
        }
        if resource.kind == "Extension" {
            extension_fields(errors, resource, &path);
        } else {
            let set = [
                ("globallyEnabled", resource.globally_enabled.is_some()),
                ("autoEnable", !resource.auto_enable.is_empty()),
                ("clusterCompatibility", !resource.cluster_compatibility.is_empty()),
                ("reconcileTimeout", resource.reconcile_timeout.is_some()),
                ("lifecycle", resource.lifecycle.is_some()),
            ];
            for (field, _) in set.into_iter().filter(|(_, is_set)| *is_set) {
                let text = "field must not be set when kind != Extension";
                errors.push(FieldError::forbidden(&path.child(field), text));
            }
        }
    }
}

fn extension_fields(errors: &mut Errors, resource: &ControllerResource, path: &Path) {
    let supported = ["seed", "shoot"];
    let mut compatible = BTreeSet::new();
    for (index, cluster) in resource.cluster_compatibility.iter().enumerate() {
        let path = path.child("clusterCompatibility").index(index);
        one_of(errors, cluster, &supported, &path);
        if !compatible.insert(cluster.as_str()) {
            errors.push(FieldError::duplicate(&path, cluster));
        }
    }
    let mut enabled = BTreeSet::new();
    for (index, cluster) in resource.auto_enable.iter().enumerate() {
        let path = path.child("autoEnable").index(index);
        one_of(errors, cluster, &supported, &path);
        if !compatible.contains(cluster.as_str()) {
            let list: Vec<&str> = compatible.iter().copied().collect();
            let text = format!(
                "autoEnable is not allowed for cluster type {cluster:?} when clusterCompatibility is set to [{}]",
                list.join(" ")
            );
            errors.push(FieldError::forbidden(&path, &text));
        }
        if !enabled.insert(cluster) {
            errors.push(FieldError::duplicate(&path, cluster));
        }
    }
    if let Some(lifecycle) = &resource.lifecycle {
        let path = path.child("lifecycle");
        let late = ["AfterKubeAPIServer", "AfterWorker", "BeforeKubeAPIServer"];
        let early = ["AfterKubeAPIServer", "BeforeKubeAPIServer"];
        let steps: [(_, _, &[&str]); 3] = [
            ("reconcile", &lifecycle.reconcile, &late),
            ("delete", &lifecycle.delete, &early),
            ("migrate", &lifecycle.migrate, &early),
        ];
        for (field, value, supported) in steps {
            if let Some(value) = value {
                one_of(errors, value, supported, &path.child(field));
            }
        }
    }
}

/// A ControllerDeployment of `core.gardener.cloud/v1beta1`: its Helm part is inside `providerConfig`.
pub fn controller_deployment(deployment: &ControllerDeployment) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &deployment.metadata, false, NameRule::Label, &Path::new("metadata"));
    if deployment.r#type.is_empty() {
        let text = "must use either helm or a custom deployment configuration";
        errors.push(FieldError::forbidden(&Path::default(), text));
    }
    if deployment.r#type == "helm" {
        let config = deployment.provider_config.value();
        let has_chart = config.get("chart").and_then(|chart| chart.as_str()).is_some_and(|chart| !chart.is_empty());
        let repository: Option<core_v1::OCIRepository> =
            config.get("ociRepository").and_then(|value| serde_json::from_value(value.clone()).ok());
        helm(&mut errors, has_chart, repository.as_ref());
    }
    errors
}

/// A ControllerDeployment of `core.gardener.cloud/v1`.
pub fn controller_deployment_v1(deployment: &core_v1::ControllerDeployment) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &deployment.metadata, false, NameRule::Label, &Path::new("metadata"));
    match &deployment.helm {
        Some(part) => helm(&mut errors, !part.raw_chart.0.is_empty(), part.oci_repository.as_ref()),
        None => {
            let text = "must use either helm or a custom deployment configuration";
            errors.push(FieldError::forbidden(&Path::default(), text));
        }
    }
    errors
}

fn helm(errors: &mut Errors, has_chart: bool, repository: Option<&core_v1::OCIRepository>) {
    let path = Path::new("helm");
    if has_chart == repository.is_some() {
        errors.push(FieldError::required(&path, "must provide either rawChart or ociRepository"));
    }
    let Some(repository) = repository else { return };
    let path = path.child("ociRepository");
    let is_set = |value: &Option<String>| value.as_deref().is_some_and(|text| !text.is_empty());
    if !is_set(&repository.r#ref) && !is_set(&repository.repository) {
        errors.push(FieldError::required(&path, "must provide either ref or repository"));
        return;
    }
    if repository.r#ref.is_some() {
        let others = [("repository", &repository.repository), ("tag", &repository.tag), ("digest", &repository.digest)];
        for (field, _) in others.into_iter().filter(|(_, value)| is_set(value)) {
            let text = format!("cannot provide {field} when ref is set");
            errors.push(FieldError::forbidden(&path.child(field), &text));
        }
        return;
    }
    if !is_set(&repository.tag) && !is_set(&repository.digest) {
        errors.push(FieldError::required(&path, "must provide either tag or digest"));
    }
    if let Some(digest) = &repository.digest
        && !digest.starts_with("sha256:")
    {
        errors.push(FieldError::invalid(&path.child("digest"), digest, "must start with 'sha256:'"));
    }
}

/// A new ControllerInstallation.
pub fn controller_installation(installation: &ControllerInstallation) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &installation.metadata, false, NameRule::Label, &Path::new("metadata"));
    let path = Path::new("spec");
    if installation.spec.registration_ref.name.is_empty() {
        errors.push(FieldError::required(&path.child("registrationRef").child("name"), "field is required"));
    }
    if seed_name(installation).is_empty() {
        errors.push(FieldError::required(&path.child("seedRef").child("name"), "field is required"));
    }
    errors
}

fn seed_name(installation: &ControllerInstallation) -> &str {
    installation.spec.seed_ref.as_ref().map_or("", |reference| &reference.name)
}

/// A changed ControllerInstallation.
pub fn controller_installation_update(new: &ControllerInstallation, old: &ControllerInstallation) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &new.metadata, &old.metadata, &Path::new("metadata"));
    let path = Path::new("spec");
    if !frozen(&mut errors, new.metadata.is_being_deleted(), &new.spec, &old.spec, &path) {
        let (name, before) = (&new.spec.registration_ref.name, &old.spec.registration_ref.name);
        immutable(&mut errors, name, before, &path.child("registrationRef").child("name"));
        immutable(&mut errors, &seed_name(new), &seed_name(old), &path.child("seedRef").child("name"));
    }
    errors.extend(controller_installation(new));
    errors
}
