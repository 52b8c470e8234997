// SPDX-License-Identifier: Apache-2.0
//! Gardenlets and ManagedSeeds.
//!
//! Unlike upstream: what stands in `spec.config` is judged by the gardenlet that is started with it.
//!
//! Source: pkg/apis/seedmanagement/{v1alpha1/defaults_*.go,validation} @ v1.120.0.

use api::constants::{annotation, namespace, operation};
use api::seedmanagement::{Gardenlet, GardenletSelfDeployment, Image, ManagedSeed};
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::ObjectMeta;

use super::Errors;
use super::meta::{NameRule, immutable, object_meta, object_meta_update};

/// What a Gardenlet can be asked for, sorted.
const GARDENLET_OPERATIONS: [&str; 3] = [operation::FORCE_REDEPLOY, operation::RECONCILE, operation::RENEW_KUBECONFIG];
/// What a ManagedSeed can be asked for, sorted.
const MANAGED_SEED_OPERATIONS: [&str; 2] = [operation::RECONCILE, operation::RENEW_KUBECONFIG];

/// Fills in a Gardenlet.
pub fn default_gardenlet(gardenlet: &mut Gardenlet) {
    let GardenletSelfDeployment { replica_count, revision_history_limit, image, .. } = &mut gardenlet.spec.deployment;
    replica_count.get_or_insert(2);
    revision_history_limit.get_or_insert(2);
    default_image(image);
}

/// Fills in a ManagedSeed.
pub fn default_managed_seed(seed: &mut ManagedSeed) {
    let gardenlet = &mut seed.spec.gardenlet;
    let deployment = gardenlet.deployment.get_or_insert_default();
    deployment.replica_count.get_or_insert(2);
    deployment.revision_history_limit.get_or_insert(2);
    default_image(&mut deployment.image);
    gardenlet.bootstrap.get_or_insert_with(|| "BootstrapToken".to_owned());
    gardenlet.merge_with_parent.get_or_insert(true);
}

fn default_image(image: &mut Option<Image>) {
    let image = image.get_or_insert_default();
    let is_latest = image.tag.as_deref() == Some("latest");
    image.pull_policy.get_or_insert_with(|| if is_latest { "Always" } else { "IfNotPresent" }.to_owned());
}

/// A new Gardenlet.
pub fn gardenlet(gardenlet: &Gardenlet) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &gardenlet.metadata, true, NameRule::Any, &Path::new("metadata"));
    if gardenlet.metadata.namespace != namespace::GARDEN {
        let path = Path::new("metadata").child("namespace");
        errors.push(FieldError::forbidden(&path, "namespace must be garden"));
    }
    asked(&mut errors, &gardenlet.metadata, &GARDENLET_OPERATIONS);
    let path = Path::new("spec").child("deployment");
    replicas(&mut errors, gardenlet.spec.deployment.replica_count, &path);
    let repository = &gardenlet.spec.deployment.helm.oci_repository;
    let has = |field: &Option<String>| field.as_ref().is_some_and(|text| !text.is_empty());
    let path = path.child("helm").child("ociRepository");
    if !has(&repository.r#ref) {
        if !has(&repository.repository) {
            let text = "must provide either ref or repository";
            errors.push(FieldError::required(&path.child("repository"), text));
        } else if !has(&repository.tag) && !has(&repository.digest) {
            errors.push(FieldError::required(&path.child("tag"), "must provide either tag or digest"));
        }
    }
    errors
}

/// A changed Gardenlet.
pub fn gardenlet_update(new: &Gardenlet, old: &Gardenlet) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &new.metadata, &old.metadata, &Path::new("metadata"));
    asked_again(&mut errors, &new.metadata, &old.metadata);
    errors.extend(gardenlet(new));
    errors
}

/// A new ManagedSeed.
pub fn managed_seed(seed: &ManagedSeed) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &seed.metadata, true, NameRule::Any, &Path::new("metadata"));
    if seed.metadata.namespace != namespace::GARDEN {
        let path = Path::new("metadata").child("namespace");
        errors.push(FieldError::invalid(&path, &seed.metadata.namespace, "namespace must be garden"));
    }
    asked(&mut errors, &seed.metadata, &MANAGED_SEED_OPERATIONS);
    let path = Path::new("spec");
    match &seed.spec.shoot {
        None => errors.push(FieldError::required(&path.child("shoot"), "shoot is required")),
        Some(shoot) if shoot.name.is_empty() => {
            errors.push(FieldError::required(&path.child("shoot").child("name"), "shoot name is required"));
        }
        Some(_) => {}
    }
    let path = path.child("gardenlet");
    let count = seed.spec.gardenlet.deployment.as_ref().and_then(|deployment| deployment.replica_count);
    replicas(&mut errors, count, &path.child("deployment"));
    let known = ["BootstrapToken", "None", "ServiceAccount"];
    if let Some(bootstrap) = seed.spec.gardenlet.bootstrap.as_deref().filter(|it| !known.contains(it)) {
        errors.push(FieldError::not_supported(&path.child("bootstrap"), bootstrap, &known));
    }
    errors
}

/// A changed ManagedSeed.
pub fn managed_seed_update(new: &ManagedSeed, old: &ManagedSeed) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &new.metadata, &old.metadata, &Path::new("metadata"));
    asked_again(&mut errors, &new.metadata, &old.metadata);
    let (is, was, path) = (&new.spec, &old.spec, Path::new("spec"));
    immutable(&mut errors, &is.shoot, &was.shoot, &path.child("shoot"));
    let path = path.child("gardenlet");
    immutable(&mut errors, &is.gardenlet.bootstrap, &was.gardenlet.bootstrap, &path.child("bootstrap"));
    let (is, was) = (is.gardenlet.merge_with_parent, was.gardenlet.merge_with_parent);
    immutable(&mut errors, &is, &was, &path.child("mergeWithParent"));
    errors.extend(managed_seed(new));
    errors
}

fn replicas(errors: &mut Errors, count: Option<i32>, path: &Path) {
    super::meta::non_negative(errors, i64::from(count.unwrap_or_default()), &path.child("replicaCount"));
}

fn asked(errors: &mut Errors, metadata: &ObjectMeta, known: &[&str]) {
    let operation = metadata.annotation(annotation::OPERATION).unwrap_or_default();
    if !operation.is_empty() && !known.contains(&operation) {
        let path = Path::new("metadata").child("annotations").key(annotation::OPERATION);
        errors.push(FieldError::not_supported(&path, operation, known));
    }
}

fn asked_again(errors: &mut Errors, new: &ObjectMeta, old: &ObjectMeta) {
    let asked = |meta: &ObjectMeta| meta.annotation(annotation::OPERATION).unwrap_or_default().to_owned();
    let (is, was) = (asked(new), asked(old));
    if !is.is_empty() && !was.is_empty() && is != was {
        let path = Path::new("metadata").child("annotations").key(annotation::OPERATION);
        let text = format!("must not overwrite operation {was:?} with {is:?}");
        errors.push(FieldError::forbidden(&path, &text));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(tree: Value) -> Gardenlet {
        let mut gardenlet = serde_json::from_value(tree).expect("a Gardenlet");
        default_gardenlet(&mut gardenlet);
        gardenlet
    }

    fn tree(namespace: &str, operation: &str, repository: Value) -> Value {
        json!({
            "metadata": {
                "name": "local", "namespace": namespace, "annotations": { "gardener.cloud/operation": operation },
            },
            "spec": { "deployment": { "helm": { "ociRepository": repository } } },
        })
    }

    #[track_caller]
    fn check(namespace: &str, operation: &str, repository: Value, expected: &[&str]) {
        let found = gardenlet(&read(tree(namespace, operation, repository)));
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_gardenlet_is_in_namespace_garden_and_names_a_chart() {
        check("garden", "", json!({ "ref": "a:v1.120.0" }), &[]);
        check("garden", "force-redeploy", json!({ "repository": "a", "digest": "sha256:0" }), &[]);
        check("other", "", json!({ "ref": "a:b" }), &["metadata.namespace: Forbidden: namespace must be garden"]);
        check(
            "garden",
            "retry",
            json!({}),
            &[
                "metadata.annotations[gardener.cloud/operation]: Unsupported value: \"retry\": supported values: \
                 \"force-redeploy\", \"reconcile\", \"renew-kubeconfig\"",
                "spec.deployment.helm.ociRepository.repository: Required value: must provide either ref or repository",
            ],
        );
        let filled = read(tree("garden", "", json!({ "ref": "a:b" }))).spec.deployment;
        assert_eq!((filled.replica_count, filled.revision_history_limit), (Some(2), Some(2)));
        assert_eq!(filled.image.and_then(|image| image.pull_policy).as_deref(), Some("IfNotPresent"));
    }

    #[test]
    fn an_operation_is_not_overwritten() {
        let old = read(tree("garden", "renew-kubeconfig", json!({ "ref": "a:b" })));
        let new = read(tree("garden", "force-redeploy", json!({ "ref": "a:b" })));
        let found: Vec<String> = gardenlet_update(&new, &old).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            ["metadata.annotations[gardener.cloud/operation]: Forbidden: must not overwrite operation \
                 \"renew-kubeconfig\" with \"force-redeploy\"",]
        );
    }
}
