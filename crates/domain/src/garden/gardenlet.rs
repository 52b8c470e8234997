// SPDX-License-Identifier: Apache-2.0
//! Gardenlet objects: the version that they name, and the one that they get when gardener-operator is updated.
//!
//! Unlike upstream: a chart has no content here, so its tag is gardenlet's version, unless an image tag or, for a
//! chart named by digest alone, an annotation names another one.
//!
//! Source: pkg/operator/controller/garden/garden/reconciler_reconcile.go, pkg/gardenlet/controller/gardenlet @ v1.120.0.

use api::constants::{annotation, condition, label};
use api::core::Condition;
use api::core_v1::OCIRepository;
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::ConfigMap;
use api::seedmanagement::Gardenlet;
use apimachinery::meta::Time;
use serde_json::{Map, Value, json};

use super::components::Program;
use super::control_plane::{self, checksum};
use super::seed_cluster;
use crate::conditions;

/// Repository of gardenlet's chart. Upstream's has a registry in front.
pub const CHART_REPOSITORY: &str = "gardener/charts/gardenlet";

/// Name of gardenlet's Deployment.
pub const NAME: &str = Program::Gardenlet.name();

/// The reference of gardenlet's chart for a version.
pub fn chart_reference(version: &str) -> String {
    format!("{CHART_REPOSITORY}:{version}")
}

/// Returns the JSON merge patch of a Gardenlet that gives it the chart of a version.
///
/// If a tag names the version of its chart, only the tag is replaced, and a digest after it is removed; otherwise the whole
/// reference. The fields that exclude `ref` are removed.
pub fn chart_patch(gardenlet: &Gardenlet, version: &str) -> Value {
    let old = &gardenlet.spec.deployment.helm.oci_repository;
    let repository = match (text(old.r#ref.as_ref()), text(old.digest.as_ref()), text(old.tag.as_ref())) {
        (None, None, Some(_)) => json!({ "tag": version }),
        (reference, ..) => {
            let name = reference.and_then(split_tag).map_or(CHART_REPOSITORY, |(name, _)| name);
            json!({ "ref": format!("{name}:{version}"), "repository": null, "tag": null, "digest": null })
        }
    };
    json!({ "spec": { "deployment": { "helm": { "ociRepository": repository } } } })
}

/// Returns a note on a Gardenlet if [`chart_patch`] replaces more than the tag of its chart.
pub fn chart_note(gardenlet: &Gardenlet, version: &str) -> Option<String> {
    let old = chart_url(&gardenlet.spec.deployment.helm.oci_repository);
    let tagged = split_tag(&old);
    if tagged.is_some_and(|(name, tag)| old == format!("{name}:{tag}")) {
        return None;
    }
    let new = tagged.map_or_else(|| chart_reference(version), |(name, _)| format!("{name}:{version}"));
    let metadata = &gardenlet.metadata;
    Some(format!("Gardenlet {}/{}: chart {new} replaces {old:?}", metadata.namespace, metadata.name))
}

/// Returns the Gardenlet with the chart of the operator's version; `None`: it has it already, or does not request it.
///
/// The whole reference is replaced, including the name of a Secret for the registry.
pub fn updated(gardenlet: &Gardenlet, version: &str) -> Option<Gardenlet> {
    let follows = gardenlet.metadata.labels.get(label::AUTO_UPDATE_GARDENLET).is_some_and(|value| value == "true");
    let repository = &gardenlet.spec.deployment.helm.oci_repository;
    let reference = chart_reference(version);
    if !follows || repository.r#ref.as_deref() == Some(&reference) {
        return None;
    }
    let mut new = gardenlet.clone();
    new.spec.deployment.helm.oci_repository = OCIRepository { r#ref: Some(reference), ..OCIRepository::default() };
    Some(new)
}

fn text(field: Option<&String>) -> Option<&str> {
    field.map(String::as_str).filter(|text| !text.is_empty())
}

/// Returns the URL of the chart, as conditions name it.
pub fn chart_url(repository: &OCIRepository) -> String {
    let base = text(repository.repository.as_ref()).unwrap_or_default();
    let url = match (text(repository.r#ref.as_ref()), text(repository.digest.as_ref()), text(repository.tag.as_ref())) {
        (Some(reference), ..) => reference.to_owned(),
        (None, Some(digest), _) => format!("{base}@{digest}"),
        (None, None, Some(tag)) => format!("{base}:{tag}"),
        (None, None, None) => base.to_owned(),
    };
    url.strip_prefix("oci://").unwrap_or(&url).to_owned()
}

/// Splits a reference into name and tag, without its digest; `None`: it has no tag.
fn split_tag(reference: &str) -> Option<(&str, &str)> {
    let named = reference.split_once('@').map_or(reference, |(before, _)| before);
    // A colon before the last slash separates a port.
    named.rsplit_once(':').filter(|(_, tag)| !tag.is_empty() && !tag.contains('/'))
}

/// The version that a Gardenlet names: its image's tag, else the chart's tag, else the annotation.
///
/// # Errors
/// It names none.
pub fn version(gardenlet: &Gardenlet) -> Result<String, String> {
    let image = gardenlet.spec.deployment.image.as_ref().and_then(|image| image.tag.clone());
    if let Some(tag) = image.filter(|tag| !tag.is_empty()) {
        return Ok(tag);
    }
    let url = chart_url(&gardenlet.spec.deployment.helm.oci_repository);
    if let Some((_, tag)) = split_tag(&url) {
        return Ok(tag.to_owned());
    }
    let annotated = gardenlet.metadata.annotation(annotation::COMPONENT_VERSION).filter(|version| !version.is_empty());
    annotated.map(str::to_owned).ok_or_else(|| {
        format!(
            "cannot tell the version of the chart {url:?}: it has no tag, and there is no annotation {:?}",
            annotation::COMPONENT_VERSION
        )
    })
}

/// Desired state of a gardenlet.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredGardenlet {
    /// Name of the ConfigMap with its configuration.
    pub config_map: String,
    /// The configuration.
    pub configuration: Value,
    /// Deployment of the gardenlet.
    pub deployment: Deployment,
}

impl DesiredGardenlet {
    /// The ConfigMap with its configuration.
    pub fn config_map(&self) -> ConfigMap {
        seed_cluster::config_map(&self.config_map, &self.configuration)
    }
}

/// Returns the desired state of a Gardenlet's gardenlet, in its own cluster; `profile` is passed on.
///
/// # Errors
/// The Gardenlet names no version.
pub fn wanted(gardenlet: &Gardenlet, profile: &str) -> Result<DesiredGardenlet, String> {
    let version = version(gardenlet)?;
    let spec = &gardenlet.spec.deployment;
    let mut configuration = gardenlet.spec.config.value();
    if let Some(seed_config) = configuration.get_mut("seedConfig").and_then(Value::as_object_mut) {
        let metadata = seed_config.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        metadata["name"] = Value::String(gardenlet.metadata.name.clone());
    }
    let config_map = format!("{NAME}-config-{}", checksum(&configuration));
    let args = [format!("--profile={profile}")];
    let repository = spec
        .image
        .as_ref()
        .and_then(|image| image.repository.clone())
        .unwrap_or_else(|| Program::Gardenlet.image().to_owned());
    let replicas = spec.replica_count.unwrap_or(2);
    let image = format!("{repository}:{version}");
    let mut deployment = control_plane::deployment(NAME, &image, replicas, &args, Some(&config_map));
    deployment.metadata.labels.insert(label::MANAGED_BY.to_owned(), "gardener".to_owned());
    deployment.spec.revision_history_limit = spec.revision_history_limit;
    let template = &mut deployment.spec.template;
    template.metadata.labels.extend(spec.pod_labels.clone());
    template.metadata.annotations.extend(spec.pod_annotations.clone());
    template.spec.volumes.extend(spec.additional_volumes.clone());
    if let Some(container) = template.spec.containers.first_mut() {
        container.volume_mounts.extend(spec.additional_volume_mounts.clone());
        container.env.extend(spec.env.clone());
        if let Some(resources) = &spec.resources {
            container.resources = resources.clone();
        }
    }
    Ok(DesiredGardenlet { config_map, configuration, deployment })
}

/// Image, in a version, for the Deployment of an extension that follows the gardenlets; `None`: it has that image already,
/// or an annotation pins another version.
pub fn followed(extension: &Deployment, version: &str) -> Option<String> {
    if extension.metadata.annotation(annotation::COMPONENT_VERSION).is_some() {
        return None;
    }
    let image = &extension.spec.template.spec.containers.first()?.image;
    let (name, tag) = image.rsplit_once(':')?;
    (tag != version).then(|| format!("{name}:{version}"))
}

/// Condition `GardenletReconciled` of a Gardenlet whose chart was deployed, or not, with this error.
pub fn reconciled(gardenlet: &Gardenlet, error: Option<&str>, now: Time) -> Condition {
    let old = conditions::get_or_initial(&gardenlet.status.conditions, condition::GARDENLET_RECONCILED, now);
    let url = chart_url(&gardenlet.spec.deployment.helm.oci_repository);
    match error {
        None => {
            let text = format!("Gardenlet with chart from {url} has been deployed");
            conditions::updated(&old, condition::TRUE, "Reconciled", &text, &[], now)
        }
        Some(error) => conditions::updated(&old, condition::FALSE, "ReconcileError", error, &[], now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gardenlet(repository: Value) -> Gardenlet {
        let mut gardenlet = Gardenlet::default();
        gardenlet.spec.deployment.helm.oci_repository = serde_json::from_value(repository).expect("a repository");
        gardenlet
    }

    /// The chart, that of a version, and a note if more than the tag is another one.
    #[test]
    fn the_chart_of_a_version_replaces_each_form_of_reference() {
        let default = json!({ "ref": "gardener/charts/gardenlet:v1.120.0" });
        for (repository, expected, note) in [
            (
                json!({ "ref": "oci://x:5000/a/gardenlet:v1.119.0" }),
                json!({ "ref": "oci://x:5000/a/gardenlet:v1.120.0" }),
                None,
            ),
            (
                json!({ "ref": "x/gardenlet:v1.119.0", "repository": "y", "tag": "v1.118.0" }),
                json!({ "ref": "x/gardenlet:v1.120.0" }),
                None,
            ),
            (
                json!({ "ref": "oci://x/gardenlet:v1.119.0@sha256:0" }),
                json!({ "ref": "oci://x/gardenlet:v1.120.0" }),
                Some("chart x/gardenlet:v1.120.0 replaces \"x/gardenlet:v1.119.0@sha256:0\""),
            ),
            (
                json!({ "ref": "x:5000/gardenlet" }),
                default.clone(),
                Some("chart gardener/charts/gardenlet:v1.120.0 replaces \"x:5000/gardenlet\""),
            ),
            (
                json!({ "repository": "oci://x:5000/gardenlet", "tag": "v1.119.0" }),
                json!({ "repository": "oci://x:5000/gardenlet", "tag": "v1.120.0" }),
                None,
            ),
            (
                json!({ "repository": "x/gardenlet", "digest": "sha256:0" }),
                default.clone(),
                Some("chart gardener/charts/gardenlet:v1.120.0 replaces \"x/gardenlet@sha256:0\""),
            ),
            (
                json!({ "repository": "x/gardenlet", "tag": "v1.119.0", "digest": "sha256:0" }),
                default.clone(),
                Some("chart gardener/charts/gardenlet:v1.120.0 replaces \"x/gardenlet@sha256:0\""),
            ),
        ] {
            let mut old = gardenlet(repository.clone());
            (old.metadata.namespace, old.metadata.name) = ("garden".to_owned(), "eu1".to_owned());
            let mut tree = json!({ "spec": { "deployment": { "helm": { "ociRepository": repository } } } });
            apimachinery::patch::merge_patch(&mut tree, &chart_patch(&old, "v1.120.0"));
            assert_eq!(tree["spec"]["deployment"]["helm"]["ociRepository"], expected, "{repository}");
            let note = note.map(|note| format!("Gardenlet garden/eu1: {note}"));
            assert_eq!(chart_note(&old, "v1.120.0"), note, "{repository}");
        }
    }

    /// The chart, its address, and the version it names.
    #[test]
    fn the_tag_of_the_chart_is_the_version() {
        for (repository, url, expected) in [
            (
                json!({ "ref": "oci://r.example:5000/a/gardenlet:v1.121.0" }),
                "r.example:5000/a/gardenlet:v1.121.0",
                Some("v1.121.0"),
            ),
            (
                json!({ "repository": "r.example/gardenlet", "tag": "v1.120.0" }),
                "r.example/gardenlet:v1.120.0",
                Some("v1.120.0"),
            ),
            (json!({ "ref": "a/gardenlet:v1.120.1@sha256:0" }), "a/gardenlet:v1.120.1@sha256:0", Some("v1.120.1")),
            (
                json!({ "repository": "r.example:5000/gardenlet", "digest": "sha256:0", "tag": "v1" }),
                "r.example:5000/gardenlet@sha256:0",
                None,
            ),
            (json!({}), "", None),
        ] {
            let gardenlet = gardenlet(repository);
            assert_eq!(chart_url(&gardenlet.spec.deployment.helm.oci_repository), url);
            assert_eq!(version(&gardenlet).ok().as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn an_image_tag_wins_and_an_annotation_helps_a_digest() {
        let mut by_digest = gardenlet(json!({ "repository": "a", "digest": "sha256:0" }));
        by_digest.metadata.annotations.insert("terrarium.dev/version".to_owned(), "v1.119.0".to_owned());
        assert_eq!(version(&by_digest).as_deref(), Ok("v1.119.0"));
        by_digest.spec.deployment.image = serde_json::from_value(json!({ "tag": "v1.118.0" })).expect("an image");
        assert_eq!(version(&by_digest).as_deref(), Ok("v1.118.0"));
    }

    #[test]
    fn an_extension_without_a_version_follows_the_landscape() {
        let mut extension =
            control_plane::deployment("provider-local", "gardener/provider-local:v1.120.0", 1, &[], None);
        assert_eq!(followed(&extension, "v1.121.0").as_deref(), Some("gardener/provider-local:v1.121.0"));
        assert_eq!(followed(&extension, "v1.120.0"), None);
        extension.metadata.annotations.insert("terrarium.dev/version".to_owned(), "v1.120.0".to_owned());
        assert_eq!(followed(&extension, "v1.121.0"), None);
    }

    #[test]
    fn a_gardenlet_becomes_a_deployment() {
        let mut named = gardenlet(json!({ "ref": "a:v1.121.0" }));
        named.spec.deployment.pod_labels.insert("foo".to_owned(), "bar".to_owned());
        named.spec.deployment.replica_count = Some(1);
        let wanted = wanted(&named, "documents").expect("it names a version");
        let tree = serde_json::to_value(&wanted.deployment).expect("JSON");
        let template = &tree["spec"]["template"];
        assert_eq!(template["spec"]["containers"][0]["image"], "gardener/gardenlet:v1.121.0");
        assert_eq!(template["metadata"]["labels"], json!({ "app": "gardener", "role": "gardenlet", "foo": "bar" }));
        assert_eq!(template["spec"]["volumes"][0]["configMap"]["name"], wanted.config_map.as_str());
        assert_eq!(tree["spec"]["replicas"], 1);
        let condition = reconciled(&named, None, Time::default());
        assert_eq!(condition.message, "Gardenlet with chart from a:v1.121.0 has been deployed");
        assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("True", "Reconciled"));
    }

    #[test]
    fn a_gardenlet_with_the_label_follows_the_operator() {
        let mut followed = gardenlet(json!({ "ref": "x:v1.120.0", "pullSecretRef": { "name": "s" } }));
        assert_eq!(updated(&followed, "v1.121.0"), None);
        let key = "operator.gardener.cloud/auto-update-gardenlet-helm-chart-ref".to_owned();
        followed.metadata.labels.insert(key, "true".to_owned());
        let new = updated(&followed, "v1.121.0").expect("it follows");
        let repository = serde_json::to_value(&new.spec.deployment.helm.oci_repository).expect("JSON");
        assert_eq!(repository, json!({ "ref": "gardener/charts/gardenlet:v1.121.0" }));
        assert_eq!(updated(&new, "v1.121.0"), None);
    }
}
