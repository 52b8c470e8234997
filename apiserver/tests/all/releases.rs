// SPDX-License-Identifier: Apache-2.0
//! Instances of two releases on one log: a field that only the newer one has.

use apiserver::Options;
use domain::skew::GardenerVersion;
use serde_json::{Value, json};

use crate::support::{self, Garden};

const SHOOT: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots/local";
const SHOOTS: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots";
const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

fn options(minor: u64) -> Options {
    let version = GardenerVersion::release(1, minor, 0);
    Options { default_domains: vec!["example.org".to_owned()], version, ..Options::default() }
}

fn rotation() -> Value {
    json!({ "credentials": { "observability": { "rotationPeriod": "24h0m0s" } } })
}

fn found(shoot: &Value) -> &Value {
    &shoot["spec"]["maintenance"]["autoRotation"]
}

#[test]
fn older_releases_hide_newer_fields_and_keep_them() {
    support::run(async {
        let older = Garden::new(&options(134));
        older.apply(include_str!("manifests/garden.yaml")).await;
        let newer = older.another_instance(&options(135));
        let mut shoot = support::shoot("local", "1.26.4");
        shoot["spec"]["maintenance"] = json!({ "autoRotation": rotation() });

        // The older one does not know the field: it is refused, or dropped with a warning.
        let strict = format!("{SHOOTS}?fieldValidation=Strict");
        older.send("POST", &strict, JSON, &shoot).await.refused(
            400,
            "Shoot in version \"v1beta1\" cannot be handled as a Shoot: strict decoding error: unknown field \
             \"spec.maintenance.autoRotation\"",
        );
        let created = older.send("POST", SHOOTS, JSON, &shoot).await.accepted();
        assert_eq!(found(&created), &Value::Null);
        let annotation =
            |shoot: &Value| shoot["metadata"]["annotations"]["terrarium.dev/created-with-gardener-version"].clone();
        assert_eq!(annotation(&created), "v1.134.0");

        // The newer one serves it.
        let patch = json!({ "spec": { "maintenance": { "autoRotation": rotation() } } });
        let patched = newer.send("PATCH", SHOOT, MERGE, &patch).await.accepted();
        assert_eq!(found(&patched), &rotation());
        assert_eq!(annotation(&patched), "v1.134.0", "it is not created again");
        let shown = older.send("GET", SHOOT, JSON, &Value::Null).await.accepted();
        assert_eq!(found(&shown), &Value::Null);

        // Writes of the older one, as a patch or as a whole object, keep the field.
        let patch = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "purpose": "testing" } });
        let patched = older.send("PATCH", SHOOT, MERGE, &patch).await.accepted();
        assert_eq!(found(&patched), &Value::Null);
        assert_eq!(patched["spec"]["purpose"], "testing");
        let mut whole = older.send("GET", SHOOT, JSON, &Value::Null).await.accepted();
        whole["spec"]["purpose"] = json!("evaluation");
        older.send("PUT", SHOOT, JSON, &whole).await.accepted();
        let shown = newer.send("GET", SHOOT, JSON, &Value::Null).await.accepted();
        assert_eq!(found(&shown), &rotation());
        assert_eq!(shown["spec"]["purpose"], "evaluation");

        // An older one that starts now reads it from the log.
        let late = older.another_instance(&options(134));
        let patch = json!({ "spec": { "purpose": "testing" } });
        late.send("PATCH", SHOOT, MERGE, &patch).await.accepted();
        let shown = newer.send("GET", SHOOT, JSON, &Value::Null).await.accepted();
        assert_eq!(found(&shown), &rotation());

        // The newer one removes it: an older one does not restore it.
        let patch = json!({ "spec": { "maintenance": { "autoRotation": null } } });
        newer.send("PATCH", SHOOT, MERGE, &patch).await.accepted();
        let patch = json!({ "spec": { "purpose": "evaluation" } });
        older.send("PATCH", SHOOT, MERGE, &patch).await.accepted();
        let shown = newer.send("GET", SHOOT, JSON, &Value::Null).await.accepted();
        assert_eq!(found(&shown), &Value::Null);
    });
}

#[test]
fn openapi_describes_the_release() {
    support::run(async {
        let older = Garden::new(&options(134));
        let newer = older.another_instance(&options(135));
        let properties = async |garden: &Garden| {
            let path = "/openapi/v3/apis/core.gardener.cloud/v1beta1";
            let document = garden.send("GET", path, JSON, &Value::Null).await.accepted();
            let schemas = document["components"]["schemas"].as_object().expect("schemas").clone();
            let (_, maintenance) =
                schemas.iter().find(|(name, _)| name.ends_with(".v1beta1.Maintenance")).expect("a definition");
            maintenance["properties"].as_object().expect("properties").keys().cloned().collect::<Vec<_>>()
        };
        assert!(!properties(&older).await.contains(&"autoRotation".to_owned()));
        assert!(properties(&newer).await.contains(&"autoRotation".to_owned()));
    });
}

/// Fields below `spec.kubernetes`: path, field, value, and the first release with the field.
const LATER: [(&str, &str, &str, u64); 5] = [
    ("clusterAutoscaler", "verbosity", "3", 87),
    ("verticalPodAutoscaler", "recommendationLowerBoundCPUPercentile", "0.25", 102),
    ("verticalPodAutoscaler", "cpuHistogramDecayHalfLife", "\"24h0m0s\"", 111),
    ("etcd", "", "{\"main\": {\"autoscaling\": {\"minAllowed\": {\"memory\": \"1Gi\"}}}}", 114),
    ("kubelet", "imageMinimumGCAge", "\"2m0s\"", 120),
];

#[test]
fn a_field_is_unknown_before_the_release_that_brought_it() {
    support::run(async {
        for (outer, inner, value, since) in LATER {
            let value: Value = serde_json::from_str(value).expect("JSON");
            let mut shoot = support::shoot("local", "1.26.4");
            if since < 101 {
                let spec = shoot["spec"].as_object_mut().expect("an object");
                spec.remove("cloudProfile");
                spec.insert("cloudProfileName".to_owned(), json!("local"));
            }
            let path = if inner.is_empty() {
                shoot["spec"]["kubernetes"][outer] = value.clone();
                format!("spec.kubernetes.{outer}")
            } else {
                shoot["spec"]["kubernetes"][outer][inner] = value.clone();
                format!("spec.kubernetes.{outer}.{inner}")
            };
            let pointer = format!("/{}", path.replace('.', "/"));
            let garden = Garden::new(&options(since - 1));
            garden.apply(include_str!("manifests/garden.yaml")).await;
            let text = format!(
                "Shoot in version \"v1beta1\" cannot be handled as a Shoot: strict decoding error: unknown field \"{path}\""
            );
            let strict = format!("{SHOOTS}?fieldValidation=Strict");
            garden.send("POST", &strict, JSON, &shoot).await.refused(400, &text);
            let created = garden.send("POST", SHOOTS, JSON, &shoot).await.accepted();
            assert_eq!(created.pointer(&pointer), None, "{path}");
            let newer = garden.another_instance(&options(since));
            let patch = json!({ "spec": shoot["spec"].clone() });
            let strict = format!("{SHOOT}?fieldValidation=Strict");
            let patched = newer.send("PATCH", &strict, MERGE, &patch).await.accepted();
            assert_eq!(patched.pointer(&pointer), Some(&value), "{path}");
        }
    });
}

/// Path of a resource, first release that has it, and first later release without it.
const RESOURCES: [(&str, u64, u64); 9] = [
    ("core.gardener.cloud/v1beta1/namespaces/garden-demo/namespacedcloudprofiles", 92, 999),
    ("core.gardener.cloud/v1/controllerdeployments", 96, 999),
    ("core.gardener.cloud/v1beta1/controllerdeployments", 80, 999),
    ("security.gardener.cloud/v1alpha1/namespaces/garden-demo/credentialsbindings", 95, 999),
    ("security.gardener.cloud/v1alpha1/namespaces/garden-demo/workloadidentities", 97, 999),
    ("seedmanagement.gardener.cloud/v1alpha1/namespaces/garden/gardenlets", 97, 999),
    ("seedmanagement.gardener.cloud/v1alpha1/namespaces/garden/managedseeds", 80, 999),
    ("settings.gardener.cloud/v1alpha1/clusteropenidconnectpresets", 80, 142),
    ("settings.gardener.cloud/v1alpha1/namespaces/garden-demo/openidconnectpresets", 80, 142),
];

#[test]
fn a_release_serves_the_resources_that_it_has() {
    support::run(async {
        let mut gardens = Vec::new();
        for minor in [80, 91, 92, 94, 95, 96, 97, 120, 141, 142] {
            gardens.push((minor, Garden::new(&options(minor))));
        }
        for (minor, garden) in &gardens {
            for (path, since, until) in RESOURCES {
                let is_served = (since..until).contains(minor);
                let listed = garden.send("GET", &format!("/apis/{path}"), JSON, &Value::Null).await;
                assert_eq!(listed.code, if is_served { 200 } else { 404 }, "{path} in 1.{minor}");
                let (group_version, plural) = path.split_once("/namespaces/").unwrap_or_else(|| {
                    let end = path.rfind('/').expect("a path");
                    (&path[..end], &path[end..])
                });
                let plural = plural.rsplit('/').next().expect("a name");
                let discovered = garden.send("GET", &format!("/apis/{group_version}"), JSON, &Value::Null).await;
                let resources = discovered.body["resources"].as_array().cloned().unwrap_or_default();
                let is_there = resources.iter().any(|resource| resource["name"] == plural);
                assert_eq!(is_there, is_served, "{path} in discovery of 1.{minor}");
                let described = garden.send("GET", "/openapi/v2", JSON, &Value::Null).await.accepted();
                let paths = described["paths"].as_object().expect("paths");
                let (begin, end) = (format!("/apis/{group_version}/"), format!("/{plural}"));
                let is_there = paths.keys().any(|path| path.starts_with(&begin) && path.ends_with(&end));
                assert_eq!(is_there, is_served, "{path} in the document of 1.{minor}");
            }
        }
        // A subresource of later releases; its router does not need the Shoot to exist.
        for (minor, code, message) in [
            (85, 404, "the server could not find the requested resource"),
            (86, 404, "shoots.core.gardener.cloud \"local\" not found"),
        ] {
            let garden = Garden::new(&options(minor));
            let answer = garden.send("POST", &format!("{SHOOT}/viewerkubeconfig"), JSON, &json!({})).await;
            answer.refused(code, message);
        }
    });
}
