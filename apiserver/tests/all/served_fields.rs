// SPDX-License-Identifier: Apache-2.0
//! Fields that only some releases have, at both ends of their ranges: decoding, pruning, server-side apply, OpenAPI, discovery,
//! and instances of two releases on one log.

use apiserver::Options;
use domain::skew::GardenerVersion;
use serde_json::{Value, json};

use crate::support::{self, Garden};

const SHOOTS: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots";
const SHOOT: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots/local";
const PROFILE: &str = "/apis/core.gardener.cloud/v1beta1/cloudprofiles/local";
const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

fn options(minor: u64) -> Options {
    let version = GardenerVersion::release(1, minor, 0);
    Options { default_domains: vec!["example.org".to_owned()], version, ..Options::default() }
}

async fn garden(minor: u64) -> Garden {
    let garden = Garden::new(&options(minor));
    garden.apply(include_str!("manifests/garden.yaml")).await;
    garden
}

/// A field of a Shoot that some releases have.
struct Case {
    /// JSON pointer to the field.
    pointer: &'static str,
    /// Path of the field as messages write it.
    path: &'static str,
    value: Value,
    /// Definition that has the field, and the field's name.
    definition: (&'static str, &'static str),
    /// Releases that have the field, the last one not included.
    releases: (u64, u64),
}

fn cases() -> [Case; 3] {
    [
        Case {
            pointer: "/spec/kubernetes/kubelet/singleProcessOOMKill",
            path: "spec.kubernetes.kubelet.singleProcessOOMKill",
            value: json!(true),
            definition: ("KubeletConfig", "singleProcessOOMKill"),
            releases: (143, 999),
        },
        Case {
            pointer: "/spec/kubernetes/kubelet/systemReserved",
            path: "spec.kubernetes.kubelet.systemReserved",
            value: json!({ "cpu": "100m" }),
            definition: ("KubeletConfig", "systemReserved"),
            releases: (0, 141),
        },
        Case {
            pointer: "/spec/provider/workers/0/machineControllerManager/machinePreserveTimeout",
            path: "spec.provider.workers[0].machineControllerManager.machinePreserveTimeout",
            value: json!("1h0m0s"),
            definition: ("MachineControllerManagerSettings", "machinePreserveTimeout"),
            releases: (147, 999),
        },
    ]
}

impl Case {
    fn is_served(&self, minor: u64) -> bool {
        (self.releases.0..self.releases.1).contains(&minor)
    }

    /// Returns the releases before and after each end of the range, and the first and last ones with a table.
    fn minors(&self) -> Vec<u64> {
        let ends = [self.releases.0, self.releases.1].into_iter().filter(|minor| (121..149).contains(minor));
        ends.flat_map(|minor| [minor - 1, minor]).chain([120, 149]).collect()
    }

    /// Returns the Shoot of the tests with the field.
    fn shoot(&self) -> Value {
        let mut shoot = support::shoot("local", "1.27.1");
        let mut at = &mut shoot;
        for name in self.pointer[1..].split('/') {
            at = match name.parse::<usize>() {
                Ok(number) => &mut at[number],
                Err(_) => &mut at[name],
            };
        }
        *at = self.value.clone();
        shoot
    }
}

/// Returns the names of the fields of a definition of group core, by OpenAPI v3 and v2.
async fn described(garden: &Garden, kind: &str) -> [Vec<String>; 2] {
    let names = |schemas: &Value, end: &str| {
        let schemas = schemas.as_object().expect("schemas");
        let found = schemas.iter().find(|(name, _)| name.ends_with(end));
        let properties = found.and_then(|(_, definition)| definition["properties"].as_object().cloned());
        properties.unwrap_or_default().keys().cloned().collect()
    };
    let end = format!(".core.v1beta1.{kind}");
    let v3 = garden.get("/openapi/v3/apis/core.gardener.cloud/v1beta1").await;
    let v2 = garden.get("/openapi/v2").await;
    [names(&v3["components"]["schemas"], &end), names(&v2["definitions"], &end)]
}

#[test]
fn decoding_follows_the_release() {
    support::run(async {
        for case in cases() {
            let (path, shoot) = (case.path, case.shoot());
            for minor in case.minors() {
                let garden = garden(minor).await;
                let place = format!("{path} in 1.{minor}");
                let text = format!("unknown field \"{path}\"");
                let strict = format!("{SHOOTS}?dryRun=All&fieldValidation=Strict");
                let strict = garden.send("POST", &strict, JSON, &shoot).await;
                if case.is_served(minor) {
                    assert_eq!(strict.accepted().pointer(case.pointer), Some(&case.value), "{place}");
                } else {
                    let long = "Shoot in version \"v1beta1\" cannot be handled as a Shoot: strict decoding error: ";
                    strict.refused(400, &format!("{long}{text}"));
                }
                for (validation, warns) in [("Warn", true), ("Ignore", false)] {
                    let query = format!("{SHOOTS}?dryRun=All&fieldValidation={validation}");
                    let warnings = garden.warnings("POST", &query, JSON, &shoot).await;
                    let is_warned = warnings.iter().any(|warning| warning.replace("\\\"", "\"").contains(&text));
                    assert_eq!(is_warned, warns && !case.is_served(minor), "{place} {validation}: {warnings:?}");
                }
                // An unknown field is pruned: it is neither returned nor stored.
                let created = garden.send("POST", SHOOTS, JSON, &shoot).await.accepted();
                let expected = case.is_served(minor).then_some(&case.value);
                assert_eq!(created.pointer(case.pointer), expected, "{place}");
                assert_eq!(garden.get(SHOOT).await.pointer(case.pointer), expected, "{place}");
                let union = garden.another_instance(&options(if case.releases.1 == 999 { 149 } else { 120 }));
                assert_eq!(union.get(SHOOT).await.pointer(case.pointer), expected, "{place} is stored");
            }
        }
    });
}

#[test]
fn server_side_apply_follows_the_release() {
    support::run(async {
        for case in cases() {
            let (path, name) = (case.path, case.definition.1);
            for minor in case.minors() {
                let garden = garden(minor).await;
                let apply = format!("{SHOOT}?fieldManager=me&force=true");
                let strict = format!("{apply}&fieldValidation=Strict");
                let answer = garden.send("PATCH", &strict, APPLY, &case.shoot()).await;
                if !case.is_served(minor) {
                    assert!(answer.code >= 400, "{path} in 1.{minor}: {}", answer.body);
                    assert!(answer.body["message"].as_str().unwrap_or_default().contains(name), "{}", answer.body);
                    continue;
                }
                let applied = answer.accepted();
                assert_eq!(applied.pointer(case.pointer), Some(&case.value), "{path} in 1.{minor}");
                let managed = applied["metadata"]["managedFields"].to_string();
                assert!(managed.contains(&format!("f:{name}")), "{path} in 1.{minor}: {managed}");
            }
        }
    });
}

#[test]
fn openapi_follows_the_release() {
    support::run(async {
        for case in cases() {
            let (kind, name) = case.definition;
            for minor in case.minors() {
                for names in described(&Garden::new(&options(minor)), kind).await {
                    assert!(!names.is_empty(), "{kind} in 1.{minor}");
                    assert_eq!(names.contains(&name.to_owned()), case.is_served(minor), "{name} in 1.{minor}");
                }
            }
        }
    });
}

/// The providers of a Shoot's DNS are merged by type until 1.135, and required fields are those of the release.
#[test]
fn attributes_of_fields_follow_the_release() {
    const STRATEGIC: &str = "application/strategic-merge-patch+json";
    support::run(async {
        for minor in [120, 135, 136, 149] {
            let garden = garden(minor).await;
            let mut shoot = support::shoot("local", "1.27.1");
            let provider = json!({ "type": "local", "primary": true, "secretName": "local" });
            let mut with_zones = provider.clone();
            with_zones["zones"] = json!({ "include": ["z"] });
            shoot["spec"]["dns"] = json!({ "domain": "s.example.com", "providers": [with_zones] });
            garden.send("POST", SHOOTS, JSON, &shoot).await.accepted();
            let patch = json!({ "spec": { "dns": { "providers": [provider] } } });
            let patched = garden.send("PATCH", SHOOT, STRATEGIC, &patch).await.accepted();
            let is_merged = patched["spec"]["dns"]["providers"][0].get("zones").is_some();
            assert_eq!(is_merged, minor < 136, "1.{minor}: {}", patched["spec"]["dns"]);

            let v2 = garden.get("/openapi/v2").await;
            let definition = |end: &str| {
                let mut all = v2["definitions"].as_object().into_iter().flatten();
                all.find(|(name, _)| name.ends_with(end)).map(|(_, schema)| schema.clone()).unwrap_or_default()
            };
            let key =
                definition(".core.v1beta1.DNS")["properties"]["providers"]["x-kubernetes-patch-merge-key"].clone();
            assert_eq!(key == "type", minor < 136, "1.{minor}: {key}");
            let required = |end: &str, name: &str| {
                definition(end)["required"].as_array().is_some_and(|required| required.iter().any(|one| one == name))
            };
            assert_eq!(required(".core.v1beta1.EncryptionConfig", "resources"), minor < 136, "1.{minor}");
            assert_eq!(required(".core.v1beta1.ControllerInstallationSpec", "seedRef"), minor < 138, "1.{minor}");
        }
    });
}

#[test]
fn the_status_of_cloud_profiles_follows_the_release() {
    support::run(async {
        let status = json!({
            "kubernetes": { "versions": [{ "version": "1.27.1", "classification": "supported" }] },
            "machineImages": [
                { "name": "gardenlinux", "versions": [{ "version": "1096.1.0", "classification": "supported" }] },
            ],
        });
        for minor in [120, 136, 137, 149] {
            let garden = garden(minor).await;
            let is_served = minor >= 137;
            let path = format!("{PROFILE}/status");
            let answer = garden.send("PATCH", &path, MERGE, &json!({ "status": status })).await;
            assert_eq!(answer.code, if is_served { 200 } else { 404 }, "1.{minor}: {}", answer.body);
            let stored = garden.get(PROFILE).await;
            let expected = if is_served { status.clone() } else { Value::Null };
            assert_eq!(stored["status"], expected, "1.{minor}");

            // The main resource neither changes nor loses it.
            let other = json!({ "status": { "kubernetes": null }, "metadata": { "labels": { "a": "b" } } });
            garden.send("PATCH", PROFILE, MERGE, &other).await.accepted();
            let mut whole = garden.get(PROFILE).await;
            assert_eq!(whole["status"], expected, "1.{minor}");
            whole["status"] = json!({});
            garden.send("PUT", PROFILE, JSON, &whole).await.accepted();
            assert_eq!(garden.get(PROFILE).await["status"], expected, "1.{minor}");

            let resources = garden.get("/apis/core.gardener.cloud/v1beta1").await;
            let resources = resources["resources"].as_array().expect("resources");
            let is_there = resources.iter().any(|resource| resource["name"] == "cloudprofiles/status");
            assert_eq!(is_there, is_served, "1.{minor}");
            let document = garden.get("/openapi/v2").await;
            let paths = document["paths"].as_object().expect("paths");
            let is_there = paths.keys().any(|path| path.ends_with("/cloudprofiles/{name}/status"));
            assert_eq!(is_there, is_served, "1.{minor}");
            for names in described(&garden, "CloudProfile").await {
                assert_eq!(names.contains(&"status".to_owned()), is_served, "1.{minor}");
            }
        }
    });
}

#[test]
fn newer_releases_hide_removed_fields_and_keep_them_stored() {
    support::run(async {
        let older = garden(140).await;
        let newer = older.another_instance(&options(141));
        let case = &cases()[1];
        older.send("POST", SHOOTS, JSON, &case.shoot()).await.accepted();
        let found = async |garden: &Garden| garden.get(SHOOT).await.pointer(case.pointer).cloned();
        assert_eq!(found(&older).await.as_ref(), Some(&case.value));
        assert_eq!(found(&newer).await, None);

        // Writes of the newer one keep it.
        newer.send("PATCH", SHOOT, MERGE, &json!({ "spec": { "purpose": "testing" } })).await.accepted();
        let mut whole = newer.get(SHOOT).await;
        whole["spec"]["purpose"] = json!("evaluation");
        newer.send("PUT", SHOOT, JSON, &whole).await.accepted();
        let shown = older.get(SHOOT).await;
        assert_eq!(shown["spec"]["purpose"], "evaluation");
        assert_eq!(shown.pointer(case.pointer), Some(&case.value));
    });
}

#[test]
fn an_older_release_keeps_fields_of_list_items() {
    support::run(async {
        let older = garden(146).await;
        let newer = older.another_instance(&options(147));
        let case = &cases()[2];
        newer.send("POST", SHOOTS, JSON, &case.shoot()).await.accepted();
        assert_eq!(older.get(SHOOT).await.pointer(case.pointer), None);
        let labels = json!({ "metadata": { "labels": { "a": "b" } } });
        older.send("PATCH", SHOOT, MERGE, &labels).await.accepted();
        let shown = newer.get(SHOOT).await;
        assert_eq!(shown["metadata"]["labels"]["a"], "b");
        assert_eq!(shown.pointer(case.pointer), Some(&case.value));
    });
}

#[test]
fn an_older_release_keeps_the_status_of_a_cloud_profile() {
    support::run(async {
        let older = garden(136).await;
        let newer = older.another_instance(&options(137));
        let status = json!({ "kubernetes": { "versions": [{ "version": "1.27.1", "classification": "supported" }] } });
        newer.send("PATCH", &format!("{PROFILE}/status"), MERGE, &json!({ "status": status })).await.accepted();
        assert_eq!(older.get(PROFILE).await["status"], Value::Null);
        let mut whole = older.get(PROFILE).await;
        whole["metadata"]["labels"] = json!({ "a": "b" });
        older.send("PUT", PROFILE, JSON, &whole).await.accepted();
        let shown = newer.get(PROFILE).await;
        assert_eq!((&shown["metadata"]["labels"]["a"], &shown["status"]), (&json!("b"), &status));
    });
}

/// The two references to credentials: one in some releases, both in others.
#[test]
fn references_to_credentials_of_a_seed_follow_the_release() {
    const SEED: &str = "/apis/core.gardener.cloud/v1beta1/seeds/local";
    let secret = json!({ "name": "dns", "namespace": "garden" });
    let reference = json!({ "apiVersion": "v1", "kind": "Secret", "name": "dns", "namespace": "garden" });
    support::run(async {
        // Release, the given reference, and the stored references of the DNS provider and of the backup.
        for (minor, given, of_dns, of_backup) in [
            (120, "secretRef", [true, false], [true, true]),
            (122, "secretRef", [true, false], [true, true]),
            (134, "secretRef", [true, false], [false, true]),
            (135, "secretRef", [true, true], [false, true]),
            (138, "credentialsRef", [true, true], [false, true]),
            (139, "credentialsRef", [false, true], [false, true]),
            (149, "credentialsRef", [false, true], [false, true]),
        ] {
            let garden = garden(minor).await;
            let mut seed = garden.get(SEED).await;
            let provider = &mut seed["spec"]["dns"]["provider"];
            provider["secretRef"] = if given == "secretRef" { secret.clone() } else { Value::Null };
            provider["credentialsRef"] = if given == "credentialsRef" { reference.clone() } else { Value::Null };
            seed["spec"]["backup"] = json!({ "provider": "local", "credentialsRef": reference });
            let stored = garden.send("PUT", SEED, JSON, &seed).await.accepted();
            let found = |parent: &Value| ["secretRef", "credentialsRef"].map(|name| parent[name].is_object());
            assert_eq!(found(&stored["spec"]["dns"]["provider"]), of_dns, "1.{minor}: {stored:#}");
            assert_eq!(found(&stored["spec"]["backup"]), of_backup, "1.{minor}: {stored:#}");

            // A value that the server sets is not a change.
            let again = garden.send("PUT", SEED, JSON, &stored).await.accepted();
            assert_eq!(again["metadata"]["resourceVersion"], stored["metadata"]["resourceVersion"], "1.{minor}");
        }
    });
}
