// SPDX-License-Identifier: Apache-2.0
//! Validation of Gardenlets and ManagedSeeds.
//!
//! Unlike upstream: an unchanged configuration is not validated again, so that a configuration accepted by an earlier
//! release remains valid.
//!
//! Source: pkg/apis/seedmanagement/{v1alpha1/defaults_*.go,validation} and pkg/api/seedmanagement/validation, v1.120.0 to
//! v1.149.0.

use api::constants::{annotation, namespace, operation};
use api::seedmanagement::{Gardenlet, GardenletConfig, GardenletSelfDeployment, Image, ManagedSeed};
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::{ObjectMeta, TextMap};

use super::common::one_of;
use super::gardenlet_configuration::{self as configuration, Bootstrap};
use super::meta::{NameRule, immutable, object_meta, object_meta_update};
use super::{Errors, charts, meta};
use crate::admission::managed_seed::without_shoot;
use crate::release::{Release, Releases};

/// Operations of a Gardenlet, sorted.
const GARDENLET_OPERATIONS: [&str; 3] = [operation::FORCE_REDEPLOY, operation::RECONCILE, operation::RENEW_KUBECONFIG];
/// Operations of a ManagedSeed, sorted.
const MANAGED_SEED_OPERATIONS: [&str; 2] = [operation::RECONCILE, operation::RENEW_KUBECONFIG];

/// `deployment.enableHealthProbes` defaults to true.
const HEALTH_PROBES: Releases = Releases::since(149);

/// An image is given by its full reference or by repository and tag.
const IMAGE_REFERENCE: Releases = Releases::since(140);

/// Sets the defaults of a Gardenlet in a release of gardener-apiserver.
pub fn default_gardenlet(gardenlet: &mut Gardenlet, release: Release) {
    let GardenletSelfDeployment { replica_count, revision_history_limit, image, enable_health_probes, .. } =
        &mut gardenlet.spec.deployment;
    if HEALTH_PROBES.contain(release) {
        enable_health_probes.get_or_insert(true);
    }
    replica_count.get_or_insert(2);
    revision_history_limit.get_or_insert(2);
    default_image(image);
    configuration::default(&mut gardenlet.spec.config);
}

/// Sets the defaults of a ManagedSeed in a release of gardener-apiserver.
pub fn default_managed_seed(seed: &mut ManagedSeed, release: Release) {
    let gardenlet = &mut seed.spec.gardenlet;
    configuration::default(&mut gardenlet.config);
    let deployment = gardenlet.deployment.get_or_insert_default();
    if HEALTH_PROBES.contain(release) {
        deployment.enable_health_probes.get_or_insert(true);
    }
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

/// Checks a new Gardenlet by the rules of a release.
pub fn gardenlet(gardenlet: &Gardenlet, release: Release) -> Errors {
    let mut errors = without_configuration(gardenlet, release);
    errors.extend(configuration::validate(&gardenlet.spec.config, Bootstrap::Given, &config_path(), release));
    errors
}

fn config_path() -> Path {
    Path::new("spec").child("config")
}

fn without_configuration(gardenlet: &Gardenlet, release: Release) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &gardenlet.metadata, true, NameRule::Label, &Path::new("metadata"));
    if gardenlet.metadata.namespace != namespace::GARDEN {
        let path = Path::new("metadata").child("namespace");
        errors.push(FieldError::forbidden(&path, "namespace must be garden"));
    }
    asked(&mut errors, &gardenlet.metadata, &GARDENLET_OPERATIONS);
    let path = Path::new("spec").child("deployment");
    let deployment = &gardenlet.spec.deployment;
    let deployed = Deployed {
        replicas: deployment.replica_count,
        history: deployment.revision_history_limit,
        account: deployment.service_account_name.as_deref(),
        image: deployment.image.as_ref(),
        labels: &deployment.pod_labels,
        annotations: &deployment.pod_annotations,
    };
    deployed.validate(&mut errors, release, &path);
    let path = path.child("helm").child("ociRepository");
    charts::repository(&mut errors, &deployment.helm.oci_repository, &path);
    errors
}

/// Checks a changed Gardenlet by the rules of a release.
pub fn gardenlet_update(new: &Gardenlet, old: &Gardenlet, release: Release) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &new.metadata, &old.metadata, &Path::new("metadata"));
    asked_again(&mut errors, &new.metadata, &old.metadata);
    let (is, was) = (&new.spec.config, &old.spec.config);
    errors.extend(configuration::validate_update(is, was, &config_path(), release));
    errors.extend(if is == was { without_configuration(new, release) } else { gardenlet(new, release) });
    errors
}

/// Checks a new ManagedSeed by the rules of a release.
pub fn managed_seed(seed: &ManagedSeed, release: Release) -> Errors {
    judged(seed, true, release)
}

/// Checks a ManagedSeed by the rules of a release, with its configuration or without it.
fn judged(seed: &ManagedSeed, with_configuration: bool, release: Release) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &seed.metadata, true, NameRule::Label, &Path::new("metadata"));
    asked(&mut errors, &seed.metadata, &MANAGED_SEED_OPERATIONS);
    let path = Path::new("spec");
    errors.extend(without_shoot(seed, &path));
    let path = path.child("gardenlet");
    if let Some(deployment) = &seed.spec.gardenlet.deployment {
        let deployed = Deployed {
            replicas: deployment.replica_count,
            history: deployment.revision_history_limit,
            account: deployment.service_account_name.as_deref(),
            image: deployment.image.as_ref(),
            labels: &deployment.pod_labels,
            annotations: &deployment.pod_annotations,
        };
        deployed.validate(&mut errors, release, &path.child("deployment"));
    }
    if with_configuration {
        let GardenletConfig { config, .. } = &seed.spec.gardenlet;
        let bootstrap = bootstrap(&seed.spec.gardenlet);
        errors.extend(configuration::validate(config, bootstrap, &path.child("config"), release));
    }
    let known = ["ServiceAccount", "BootstrapToken", "None"];
    if let Some(bootstrap) = seed.spec.gardenlet.bootstrap.as_deref().filter(|it| !known.contains(it)) {
        errors.push(FieldError::not_supported(&path.child("bootstrap"), bootstrap, &known));
    }
    errors
}

/// Checks a changed ManagedSeed by the rules of a release.
pub fn managed_seed_update(new: &ManagedSeed, old: &ManagedSeed, release: Release) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &new.metadata, &old.metadata, &Path::new("metadata"));
    asked_again(&mut errors, &new.metadata, &old.metadata);
    let (is, was, path) = (&new.spec, &old.spec, Path::new("spec"));
    immutable(&mut errors, &is.shoot, &was.shoot, &path.child("shoot"));
    let path = path.child("gardenlet");
    let (config, held) = (&is.gardenlet.config, &was.gardenlet.config);
    errors.extend(configuration::validate_update(config, held, &path.child("config"), release));
    immutable(&mut errors, &is.gardenlet.bootstrap, &was.gardenlet.bootstrap, &path.child("bootstrap"));
    let (is, was) = (is.gardenlet.merge_with_parent, was.gardenlet.merge_with_parent);
    immutable(&mut errors, &is, &was, &path.child("mergeWithParent"));
    errors.extend(judged(new, config != held, release));
    errors
}

fn bootstrap(gardenlet: &GardenletConfig) -> Bootstrap {
    match gardenlet.bootstrap.as_deref() {
        Some("BootstrapToken" | "ServiceAccount") => Bootstrap::Given,
        _ => Bootstrap::None { merges: gardenlet.merge_with_parent == Some(true) },
    }
}

/// Converts the configuration of a Gardenlet into the form of a release of gardener-apiserver.
pub fn canonicalize_gardenlet(gardenlet: &mut Gardenlet, release: Release) {
    configuration::canonical(&mut gardenlet.spec.config, release);
}

/// Converts the configuration of a ManagedSeed into the form of a release of gardener-apiserver.
pub fn canonicalize_managed_seed(seed: &mut ManagedSeed, release: Release) {
    configuration::canonical(&mut seed.spec.gardenlet.config, release);
}

/// Validated fields of a gardenlet's deployment.
struct Deployed<'a> {
    replicas: Option<i32>,
    history: Option<i32>,
    account: Option<&'a str>,
    image: Option<&'a Image>,
    labels: &'a TextMap,
    annotations: &'a TextMap,
}

impl Deployed<'_> {
    fn validate(&self, errors: &mut Errors, release: Release, path: &Path) {
        for (field, count) in [("replicaCount", self.replicas), ("revisionHistoryLimit", self.history)] {
            meta::non_negative(errors, i64::from(count.unwrap_or_default()), &path.child(field));
        }
        if let Some(name) = self.account {
            meta::invalid_each(errors, &path.child("serviceAccountName"), name, meta::dns_subdomain(name));
        }
        if let Some(image) = self.image {
            let path = path.child("image");
            let reference = image.r#ref.as_ref().filter(|_| IMAGE_REFERENCE.contain(release));
            let fields = [("ref", reference), ("repository", image.repository.as_ref()), ("tag", image.tag.as_ref())];
            for (field, _) in fields.into_iter().filter(|(_, text)| text.is_some_and(String::is_empty)) {
                let detail = format!("{field} must not be empty if specified");
                errors.push(FieldError::invalid(&path.child(field), "", &detail));
            }
            if reference.is_some() && (image.repository.is_some() || image.tag.is_some()) {
                errors.push(FieldError::forbidden(&path, "ref and repository/tag are mutually exclusive"));
            }
            if let Some(policy) = &image.pull_policy {
                one_of(errors, policy, &["Always", "IfNotPresent", "Never"], &path.child("pullPolicy"));
            }
        }
        meta::labels(errors, self.labels, &path.child("podLabels"));
        meta::annotations(errors, self.annotations, &path.child("podAnnotations"));
    }
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
    use crate::release::DOCUMENTED;

    fn read(tree: Value) -> Gardenlet {
        let mut gardenlet = serde_json::from_value(tree).expect("a Gardenlet");
        default_gardenlet(&mut gardenlet, DOCUMENTED);
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
        let found = gardenlet(&read(tree(namespace, operation, repository)), DOCUMENTED);
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
                "spec.deployment.helm.ociRepository: Required value: must provide either ref or repository",
            ],
        );
        check(
            "garden",
            "",
            json!({ "repository": "a", "digest": "0" }),
            &["spec.deployment.helm.ociRepository.digest: Invalid value: \"0\": must start with 'sha256:'"],
        );
        let filled = read(tree("garden", "", json!({ "ref": "a:b" }))).spec.deployment;
        assert_eq!((filled.replica_count, filled.revision_history_limit), (Some(2), Some(2)));
        assert_eq!(filled.image.and_then(|image| image.pull_policy).as_deref(), Some("IfNotPresent"));
    }

    #[test]
    fn deployments_of_gardenlets_are_judged() {
        let mut gardenlet = read(tree("garden", "", json!({ "ref": "a:b" })));
        let deployment = &mut gardenlet.spec.deployment;
        (deployment.replica_count, deployment.revision_history_limit) = (Some(-1), Some(-1));
        deployment.service_account_name = Some("A".to_owned());
        deployment.image =
            Some(Image { tag: Some(String::new()), pull_policy: Some("Maybe".to_owned()), ..Image::default() });
        let found: Vec<String> =
            super::gardenlet(&gardenlet, DOCUMENTED).iter().map(|error| error.field.clone()).collect();
        assert_eq!(
            found,
            [
                "spec.deployment.replicaCount",
                "spec.deployment.revisionHistoryLimit",
                "spec.deployment.serviceAccountName",
                "spec.deployment.image.tag",
                "spec.deployment.image.pullPolicy",
            ]
        );
    }

    #[test]
    fn names_are_labels() {
        let named = |name: &str| {
            let mut gardenlet = read(tree("garden", "", json!({ "ref": "a:b" })));
            gardenlet.metadata.name = name.to_owned();
            gardenlet
        };
        let mut seed = ManagedSeed::default();
        seed.spec.shoot = Some(api::seedmanagement::Shoot { name: "a".to_owned() });
        (seed.metadata.namespace, seed.metadata.name) = ("garden".to_owned(), "a.b".to_owned());
        let text = ["metadata.name: Invalid value: \"a.b\": must not contain dots"];
        for found in [gardenlet(&named("a.b"), DOCUMENTED), managed_seed(&seed, DOCUMENTED)] {
            assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), text);
        }
        assert_eq!(gardenlet(&named("a-b"), DOCUMENTED), []);
    }

    /// Rows: minor, image, errors joined by ` | `, for Gardenlets and ManagedSeeds.
    #[test]
    fn images_have_reference_or_repository_since_1_140() {
        let exclusive = "image: Forbidden: ref and repository/tag are mutually exclusive";
        let empty = "image.ref: Invalid value: \"\": ref must not be empty if specified";
        let both =
            format!("{empty} | image.tag: Invalid value: \"\": tag must not be empty if specified | {exclusive}");
        for (minor, image, expected) in [
            (139, json!({ "ref": "", "repository": "a" }), ""),
            (140, json!({ "ref": "a:b" }), ""),
            (140, json!({ "repository": "a", "tag": "b" }), ""),
            (140, json!({ "ref": "a:b", "repository": "a" }), exclusive),
            (140, json!({ "ref": "a:b", "tag": "b" }), exclusive),
            (149, json!({ "ref": "" }), empty),
            (149, json!({ "ref": "", "tag": "" }), &both),
        ] {
            let image: Image = serde_json::from_value(image).expect("an Image");
            let mut of_gardenlet = read(tree("garden", "", json!({ "ref": "a:b" })));
            of_gardenlet.spec.deployment.image = Some(image.clone());
            let mut seed = ManagedSeed::default();
            (seed.metadata.namespace, seed.metadata.name) = ("garden".to_owned(), "a".to_owned());
            seed.spec.shoot = Some(api::seedmanagement::Shoot { name: "a".to_owned() });
            seed.spec.gardenlet.deployment.get_or_insert_default().image = Some(image);
            for (found, path) in [
                (gardenlet(&of_gardenlet, Release(minor)), "spec.deployment."),
                (managed_seed(&seed, Release(minor)), "spec.gardenlet.deployment."),
            ] {
                let found: Vec<String> = found.iter().map(|error| error.to_string().replace(path, "")).collect();
                assert_eq!(found.join(" | "), expected, "{minor}");
            }
        }
    }

    #[test]
    fn a_configuration_is_judged_when_it_changes() {
        let with = |config: Value| {
            let mut tree = tree("garden", "", json!({ "ref": "a:b" }));
            tree["spec"]["config"] = config;
            read(tree)
        };
        let errors = |errors: Errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>();
        let named = || with(json!({ "seedConfig": { "metadata": { "name": "a" } } }));
        let text = ["spec.config.seedConfig.metadata.name: Forbidden: seed name is forbidden"];
        assert_eq!(errors(gardenlet(&named(), DOCUMENTED)), text);
        assert_eq!(errors(gardenlet_update(&named(), &with(json!({})), DOCUMENTED)), text);
        assert_eq!(errors(gardenlet_update(&named(), &named(), DOCUMENTED)), [""; 0]);

        let seed = |config: Value| {
            let tree = json!({
                "metadata": { "name": "a", "namespace": "garden" },
                "spec": { "shoot": { "name": "a" }, "gardenlet": { "config": config } },
            });
            let mut seed: ManagedSeed = serde_json::from_value(tree).expect("a ManagedSeed");
            default_managed_seed(&mut seed, DOCUMENTED);
            seed
        };
        let wrong = json!({ "gardenClientConnection": { "kubeconfig": "/a" } });
        let text = [
            "spec.gardenlet.config.gardenClientConnection.kubeconfig: Forbidden: kubeconfig is forbidden if bootstrap \
                     is specified",
        ];
        assert_eq!(errors(managed_seed(&seed(wrong.clone()), DOCUMENTED)), text);
        assert_eq!(errors(managed_seed_update(&seed(wrong.clone()), &seed(json!({})), DOCUMENTED)), text);
        assert_eq!(errors(managed_seed_update(&seed(wrong.clone()), &seed(wrong), DOCUMENTED)), [""; 0]);
    }

    #[test]
    fn an_operation_is_not_overwritten() {
        let old = read(tree("garden", "renew-kubeconfig", json!({ "ref": "a:b" })));
        let new = read(tree("garden", "force-redeploy", json!({ "ref": "a:b" })));
        let found: Vec<String> = gardenlet_update(&new, &old, DOCUMENTED).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            ["metadata.annotations[gardener.cloud/operation]: Forbidden: must not overwrite operation \
                 \"renew-kubeconfig\" with \"force-redeploy\"",]
        );
    }

    #[test]
    fn health_probes_are_on_since_1_149() {
        for (minor, expected) in [(148, None), (149, Some(true))] {
            let mut gardenlet = Gardenlet::default();
            default_gardenlet(&mut gardenlet, Release(minor));
            assert_eq!(gardenlet.spec.deployment.enable_health_probes, expected, "{minor}");
            let mut seed = ManagedSeed::default();
            default_managed_seed(&mut seed, Release(minor));
            let deployment = seed.spec.gardenlet.deployment.expect("a deployment");
            assert_eq!(deployment.enable_health_probes, expected, "{minor}");
        }
    }
}
