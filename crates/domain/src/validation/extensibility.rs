// SPDX-License-Identifier: Apache-2.0
//! Validation of ControllerRegistration, ControllerDeployment and ControllerInstallation.
//!
//! Source: pkg/api/core/validation/controller*.go (pkg/apis/core/validation until v1.136), v1.120.0 to v1.149.0.

use std::collections::{BTreeMap, BTreeSet};

use api::core::*;
use api::core_v1;
use apimachinery::field::{FieldError, Path};
use serde::Serialize;

use super::common::{one_of, seed_selector};
use super::meta::{NameRule, immutable, object_meta, object_meta_update};
use super::{Errors, charts};
use crate::release::{Release, Releases};

/// Kind of the exposures of self-hosted Shoots.
const EXPOSURE: &str = "SelfHostedShootExposure";

/// Kinds of extensions, sorted, and the releases that have them.
const EXTENSION_KINDS: [(&str, Releases); 12] = [
    ("BackupBucket", Releases::ALL),
    ("BackupEntry", Releases::ALL),
    ("Bastion", Releases::ALL),
    ("ContainerRuntime", Releases::ALL),
    ("ControlPlane", Releases::ALL),
    ("DNSRecord", Releases::ALL),
    ("Extension", Releases::ALL),
    ("Infrastructure", Releases::ALL),
    ("Network", Releases::ALL),
    ("OperatingSystemConfig", Releases::ALL),
    (EXPOSURE, Releases::since(138)),
    ("Worker", Releases::ALL),
];

/// Kinds of clusters with extensions of a ControllerRegistration.
const CLUSTERS: [&str; 2] = ["seed", "shoot"];

/// The refusal of a change during deletion names the kind.
const FROZEN_IS_EXPLAINED: Releases = Releases::since(121);

/// Checks a new ControllerRegistration by the rules of a release.
pub fn controller_registration(registration: &ControllerRegistration, release: Release) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &registration.metadata, false, NameRule::Label, &Path::new("metadata"));
    let spec = &registration.spec;
    let path = Path::new("spec");
    controller_resources(&mut errors, &spec.resources, &CLUSTERS, &path.child("resources"), release);
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
        seed_selector(&mut errors, &selector.match_labels, &selector.match_expressions, release, &path);
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

/// Checks a changed ControllerRegistration by the rules of a release.
pub fn controller_registration_update(
    new: &ControllerRegistration,
    old: &ControllerRegistration,
    release: Release,
) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &new.metadata, &old.metadata, &Path::new("metadata"));
    let path = Path::new("spec");
    let freeze = Freeze { what: "controller registration", deleting: new.metadata.is_being_deleted(), release };
    if !freeze.refuses(&mut errors, &new.spec, &old.spec, &path) {
        let (new, old) = (&new.spec.resources, &old.spec.resources);
        controller_resources_update(&mut errors, new, old, None, &path.child("resources"));
    }
    errors.extend(controller_registration(new, release));
    errors
}

/// Checks that resources stay primary or secondary; `unset`: the meaning of a missing value.
pub(super) fn controller_resources_update(
    errors: &mut Errors,
    new: &[ControllerResource],
    old: &[ControllerResource],
    unset: Option<bool>,
    path: &Path,
) {
    for (index, resource) in new.iter().enumerate() {
        let same = |other: &&ControllerResource| other.kind == resource.kind && other.r#type == resource.r#type;
        if let Some(other) = old.iter().rfind(same) {
            let path = path.index(index).child("primary");
            immutable(errors, &resource.primary.or(unset), &other.primary.or(unset), &path);
        }
    }
}

/// Refusal of changes of an object in deletion.
struct Freeze {
    /// Name of the kind in the message.
    what: &'static str,
    deleting: bool,
    release: Release,
}

impl Freeze {
    /// Refuses a changed specification; returns true if it did.
    fn refuses<T: PartialEq + Serialize>(&self, errors: &mut Errors, new: &T, old: &T, path: &Path) -> bool {
        let changed = self.deleting && new != old;
        if changed {
            let mut text = super::shoot::differences(new, old).join(",");
            if FROZEN_IS_EXPLAINED.contain(self.release) {
                let what = self.what;
                text = format!("cannot update {what} spec if deletion timestamp is set. Requested changes: {text}");
            }
            errors.push(FieldError::forbidden(path, &text));
        }
        changed
    }
}

/// Checks the resources of an extension; `clusters`: supported kinds of clusters, sorted.
pub(super) fn controller_resources(
    errors: &mut Errors,
    resources: &[ControllerResource],
    clusters: &[&str],
    path: &Path,
    release: Release,
) {
    let kinds = EXTENSION_KINDS.iter().filter(|(_, releases)| releases.contain(release)).map(|(kind, _)| *kind);
    let kinds: Vec<&str> = kinds.collect();
    let mut last_type_of_kind = BTreeMap::new();
    for (index, resource) in resources.iter().enumerate() {
        let path = path.index(index);
        if resource.kind.is_empty() {
            errors.push(FieldError::required(&path.child("kind"), "field is required"));
        }
        one_of(errors, &resource.kind, &kinds, &path.child("kind"));
        if resource.r#type.is_empty() {
            errors.push(FieldError::required(&path.child("type"), "field is required"));
        }
        // Only a repetition of the kind's last type is detected, as upstream does.
        if last_type_of_kind.insert(&resource.kind, &resource.r#type) == Some(&resource.r#type) {
            errors.push(FieldError::duplicate(&path, format!("{}/{}", resource.kind, resource.r#type)));
        }
        if resource.kind != EXPOSURE && resource.continuous_endpoint_update.is_some() {
            let text = format!("field must not be set when kind != {EXPOSURE}");
            errors.push(FieldError::forbidden(&path.child("continuousEndpointUpdate"), &text));
        }
        if resource.kind == "Extension" {
            extension_fields(errors, resource, clusters, &path);
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

fn extension_fields(errors: &mut Errors, resource: &ControllerResource, clusters: &[&str], path: &Path) {
    let mut compatible = BTreeSet::new();
    for (index, cluster) in resource.cluster_compatibility.iter().enumerate() {
        let path = path.child("clusterCompatibility").index(index);
        one_of(errors, cluster, clusters, &path);
        if !compatible.insert(cluster.as_str()) {
            errors.push(FieldError::duplicate(&path, cluster));
        }
    }
    let mut enabled = BTreeSet::new();
    for (index, cluster) in resource.auto_enable.iter().enumerate() {
        let path = path.child("autoEnable").index(index);
        one_of(errors, cluster, clusters, &path);
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

/// Checks a ControllerDeployment of `core.gardener.cloud/v1beta1`: its Helm part is inside `providerConfig`.
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

/// Checks a ControllerDeployment of `core.gardener.cloud/v1` by the rules of a release.
pub fn controller_deployment_v1(deployment: &core_v1::ControllerDeployment, release: Release) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &deployment.metadata, false, NameRule::Label, &Path::new("metadata"));
    if let Some(part) = &deployment.helm {
        helm(&mut errors, !part.raw_chart.0.is_empty(), part.oci_repository.as_ref());
        let path = Path::new("helm").child("values");
        charts::values(&mut errors, part.values.as_ref(), &deployment.resources, release, &path);
    }
    charts::resources(&mut errors, &deployment.resources, release, &Path::new("resources"));
    if deployment.helm.is_none() {
        let text = "must use either helm or a custom deployment configuration";
        errors.push(FieldError::forbidden(&Path::default(), text));
    }
    errors
}

fn helm(errors: &mut Errors, has_chart: bool, repository: Option<&core_v1::OCIRepository>) {
    let path = Path::new("helm");
    if has_chart == repository.is_some() {
        errors.push(FieldError::required(&path, "must provide either rawChart or ociRepository"));
    }
    if let Some(repository) = repository {
        charts::repository(errors, repository, &path.child("ociRepository"));
    }
}

/// A ControllerInstallation belongs to a Seed or to a self-hosted Shoot; in earlier releases, to a Seed.
const INSTALLATION_OF_SHOOT: Releases = Releases::since(138);
/// A ControllerInstallation belongs to only one of both.
const INSTALLATION_OF_ONE: Releases = Releases::between(138, 143);
/// The reference to a Seed may be added and removed.
const SEED_MAY_COME_AND_GO: Releases = Releases::since(143);

/// Checks a new ControllerInstallation by the rules of a release.
pub fn controller_installation(installation: &ControllerInstallation, release: Release) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &installation.metadata, false, NameRule::Label, &Path::new("metadata"));
    let path = Path::new("spec");
    required(&mut errors, &path.child("registrationRef").child("name"), &installation.spec.registration_ref.name);
    let (seed, shoot) = (&installation.spec.seed_ref, &installation.spec.shoot_ref);
    let seed_path = path.child("seedRef");
    if !INSTALLATION_OF_SHOOT.contain(release) {
        required(&mut errors, &seed_path.child("name"), seed.as_ref().map_or("", |seed| &seed.name));
        return errors;
    }
    if seed.is_some() && shoot.is_some() && INSTALLATION_OF_ONE.contain(release) {
        errors.push(FieldError::forbidden(&seed_path, "cannot set both seedRef and shootRef"));
        return errors;
    }
    if let Some(seed) = seed {
        required(&mut errors, &seed_path.child("name"), &seed.name);
    }
    if let Some(shoot) = shoot {
        required(&mut errors, &path.child("shootRef").child("name"), &shoot.name);
        required(&mut errors, &path.child("shootRef").child("namespace"), &shoot.namespace);
    }
    if seed.is_none() && shoot.is_none() {
        errors.push(FieldError::forbidden(&seed_path, "either seedRef or shootRef must be set"));
    }
    errors
}

/// Refuses an empty text.
fn required(errors: &mut Errors, path: &Path, value: &str) {
    if value.is_empty() {
        errors.push(FieldError::required(path, "field is required"));
    }
}

/// Checks a changed ControllerInstallation by the rules of a release.
pub fn controller_installation_update(
    new: &ControllerInstallation,
    old: &ControllerInstallation,
    release: Release,
) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &new.metadata, &old.metadata, &Path::new("metadata"));
    let path = Path::new("spec");
    let freeze = Freeze { what: "controller installation", deleting: new.metadata.is_being_deleted(), release };
    if !freeze.refuses(&mut errors, &new.spec, &old.spec, &path) {
        let (name, before) = (&new.spec.registration_ref.name, &old.spec.registration_ref.name);
        immutable(&mut errors, name, before, &path.child("registrationRef").child("name"));
        match (&new.spec.seed_ref, &old.spec.seed_ref, path.child("seedRef")) {
            (Some(new), Some(old), path) => immutable(&mut errors, &new.name, &old.name, &path.child("name")),
            _ if SEED_MAY_COME_AND_GO.contain(release) => {}
            (new, old, path) => immutable(&mut errors, new, old, &path),
        }
        match (&new.spec.shoot_ref, &old.spec.shoot_ref, path.child("shootRef")) {
            (Some(new), Some(old), path) => {
                immutable(&mut errors, &new.name, &old.name, &path.child("name"));
                immutable(&mut errors, &new.namespace, &old.namespace, &path.child("namespace"));
            }
            (new, old, path) => immutable(&mut errors, new, old, &path),
        }
    }
    errors.extend(controller_installation(new, release));
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn installation(seed: &Value, shoot: &Value) -> ControllerInstallation {
        let spec = json!({ "registrationRef": { "name": "r" }, "seedRef": seed, "shootRef": shoot });
        serde_json::from_value(json!({ "metadata": { "name": "i", "resourceVersion": "1" }, "spec": spec }))
            .expect("an object")
    }

    #[test]
    fn kinds_of_extensions_follow_the_release() {
        let registration = |kind: &str| -> ControllerRegistration {
            let resources = json!([{ "kind": kind, "type": "x", "continuousEndpointUpdate": true }]);
            serde_json::from_value(json!({ "metadata": { "name": "r" }, "spec": { "resources": resources } }))
                .expect("one")
        };
        let found = |kind: &str, release: u16| -> Vec<String> {
            let errors = controller_registration(&registration(kind), Release(release));
            errors
                .iter()
                .map(|error| format!("{} {}", error.field, error.body.split(':').next().unwrap_or("")))
                .collect()
        };
        assert_eq!(found(EXPOSURE, 137), ["spec.resources[0].kind Unsupported value"]);
        assert_eq!(found(EXPOSURE, 138), [""; 0]);
        assert_eq!(found("Worker", 149), ["spec.resources[0].continuousEndpointUpdate Forbidden"]);
    }

    #[test]
    fn installations_belong_to_a_seed_or_a_shoot_by_release() {
        let (none, seed, shoot) = (Value::Null, json!({"name": "s"}), json!({"name": "s", "namespace": "n"}));
        let (unnamed, either) =
            ("spec.seedRef.name: Required value: field is required", "either seedRef or shootRef must be set");
        let either = format!("spec.seedRef: Forbidden: {either}");
        let both = "spec.seedRef: Forbidden: cannot set both seedRef and shootRef";
        let namespace = "spec.shootRef.namespace: Required value: field is required";
        for (release, seed, shoot, expected) in [
            (120, &seed, &none, &[][..]),
            (120, &none, &shoot, &[unnamed]),
            (137, &none, &none, &[unnamed]),
            (138, &none, &none, &[&*either]),
            (138, &none, &shoot, &[]),
            (138, &none, &json!({"name": "s"}), &[namespace]),
            (138, &json!({}), &none, &[unnamed]),
            (142, &seed, &shoot, &[both]),
            (143, &seed, &shoot, &[]),
            (149, &json!({}), &json!({"name": "s"}), &[unnamed, namespace]),
        ] {
            let found = controller_installation(&installation(seed, shoot), Release(release));
            assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expected, "{release} {seed} {shoot}");
        }
        let changed_in = |minor: u16, new: &ControllerInstallation, old: &ControllerInstallation| -> Vec<String> {
            let found = controller_installation_update(new, old, Release(minor));
            found.iter().map(|error| error.field.clone()).collect()
        };
        let changed = |new: &ControllerInstallation, old: &ControllerInstallation| changed_in(149, new, old);
        let (of_seed, of_shoot) = (installation(&seed, &none), installation(&none, &shoot));
        assert_eq!(changed_in(142, &of_shoot, &of_seed), ["spec.seedRef", "spec.shootRef"]);
        assert_eq!(changed_in(143, &of_shoot, &of_seed), ["spec.shootRef"]);
        let other = installation(&none, &json!({"name": "t", "namespace": "m"}));
        assert_eq!(changed(&other, &of_shoot), ["spec.shootRef.name", "spec.shootRef.namespace"]);
        assert_eq!(changed(&installation(&json!({"name": "t"}), &none), &of_seed), ["spec.seedRef.name"]);
        assert_eq!(changed(&of_shoot, &of_shoot), [""; 0]);
    }

    #[test]
    fn changes_during_deletion_are_refused_by_kind_since_1_121() {
        let deleted = |name: &str| {
            let mut object = installation(&json!({"name": name}), &Value::Null);
            object.metadata.deletion_timestamp = Some(apimachinery::meta::Time::default());
            object
        };
        let registration = |policy: &str| -> ControllerRegistration {
            let metadata = json!({ "name": "r", "resourceVersion": "1", "deletionTimestamp": "2025-01-01T00:00:00Z" });
            let spec = json!({ "deployment": { "policy": policy } });
            serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).expect("an object")
        };
        let starts = |kind: &str| {
            format!("spec: Forbidden: cannot update {kind} spec if deletion timestamp is set. Requested changes: ")
        };
        for (minor, is_explained) in [(120, false), (121, true), (149, true)] {
            let release = Release(minor);
            let of_installation = controller_installation_update(&deleted("a"), &deleted("b"), release);
            let of_registration =
                controller_registration_update(&registration("Always"), &registration("OnDemand"), release);
            for (errors, kind) in
                [(of_installation, "controller installation"), (of_registration, "controller registration")]
            {
                let text = errors[0].to_string();
                assert_eq!(text.starts_with(&starts(kind)), is_explained, "{minor}: {text}");
                assert!(text.starts_with("spec: Forbidden: "), "{minor}: {text}");
            }
        }
    }

    #[test]
    fn values_of_a_selector_are_labels_since_1_127() {
        let registration: ControllerRegistration = serde_json::from_value(json!({
            "metadata": { "name": "r" },
            "spec": { "deployment": { "seedSelector": {
                "matchExpressions": [{ "key": "a", "operator": "In", "values": ["b", "-"] }],
            } } },
        }))
        .expect("an object");
        let found = |minor: u16| {
            let errors = controller_registration(&registration, Release(minor));
            errors.iter().map(|error| error.field.clone()).collect::<Vec<_>>()
        };
        assert_eq!(found(126), [""; 0]);
        assert_eq!(found(127), ["spec.deployment.seedSelector.matchExpressions[0].values[1]"]);
    }

    #[test]
    fn values_may_reference_resources_since_1_147() {
        let deployment: core_v1::ControllerDeployment = serde_json::from_value(json!({
            "metadata": { "name": "d" },
            "helm": { "ociRepository": { "ref": "a:b" }, "values": { "a": "{{ .resources.db.data.user }}" } },
        }))
        .expect("an object");
        let found = |minor: u16| {
            let errors = controller_deployment_v1(&deployment, Release(minor));
            errors.iter().map(|error| error.field.clone()).collect::<Vec<_>>()
        };
        assert_eq!(found(146), [""; 0]);
        assert_eq!(found(147), ["helm.values"]);
    }
}
