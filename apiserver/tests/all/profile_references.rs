// SPDX-License-Identifier: Apache-2.0
//! References of Shoots to CloudProfiles: `spec.cloudProfileName` alone counts up to 1.100, `spec.cloudProfile` is served since
//! 1.92 and counts since 1.101.
//!
//! Source: pkg/apis/core/v1beta1/types_shoot.go, pkg/apis/core/validation/shoot.go, plugin/pkg/shoot/validator,
//! pkg/apiserver/registry/core/shoot @ v1.80.0 to v1.108.0.

use apiserver::Options;
use domain::skew::GardenerVersion;
use serde_json::{Value, json};

use crate::support::{self, Garden};

const SHOOT: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots/local";
const SHOOTS: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots";
const PROFILE: &str = "/apis/core.gardener.cloud/v1beta1/cloudprofiles/local";
const JSON: &str = "application/json";

/// Response of a release that uses the name, for a Shoot without one.
const NO_NAME: &str = "Internal error occurred: could not find referenced cloud profile: cloudprofile.core.gardener.cloud \"\" \
                       not found";

fn options(minor: u64) -> Options {
    let version = GardenerVersion::release(1, minor, 0);
    Options { default_domains: vec!["example.org".to_owned()], version, ..Options::default() }
}

/// A garden of a release with the CloudProfiles `local` and `other`.
async fn garden(minor: u64) -> Garden {
    let garden = Garden::new(&options(minor));
    garden.apply(include_str!("manifests/garden.yaml")).await;
    let mut other = garden.get(PROFILE).await;
    other["metadata"] = json!({ "name": "other" });
    garden.post(&other).await.accepted();
    garden
}

/// Returns the Shoot of the tests with these fields instead of its reference.
fn shoot(reference: &Value) -> Value {
    let mut shoot = support::shoot("local", "1.26.4");
    let spec = shoot["spec"].as_object_mut().expect("an object");
    spec.remove("cloudProfile");
    spec.extend(reference.as_object().expect("an object").clone());
    shoot
}

fn named(name: &str) -> Value {
    shoot(&json!({ "cloudProfileName": name }))
}

/// Returns both fields of a Shoot that refer to a profile.
fn references(shoot: &Value) -> [&Value; 2] {
    [&shoot["spec"]["cloudProfile"], &shoot["spec"]["cloudProfileName"]]
}

async fn strictly(garden: &Garden, shoot: &Value) -> support::Answer {
    garden.send("POST", &format!("{SHOOTS}?fieldValidation=Strict"), JSON, shoot).await
}

#[test]
fn a_release_up_to_1_100_counts_the_name_alone() {
    support::run(async {
        for minor in [80, 91, 92, 100] {
            let garden = garden(minor).await;
            let by_reference = shoot(&json!({ "cloudProfile": { "kind": "CloudProfile", "name": "local" } }));
            if minor < 92 {
                strictly(&garden, &by_reference).await.refused(
                    400,
                    "Shoot in version \"v1beta1\" cannot be handled as a Shoot: strict decoding error: unknown field \
                     \"spec.cloudProfile\"",
                );
            } else {
                strictly(&garden, &by_reference).await.refused(500, NO_NAME);
            }
            garden.post(&by_reference).await.refused(500, NO_NAME);
            garden.post(&shoot(&json!({}))).await.refused(500, NO_NAME);
            garden.post(&named("")).await.refused(500, NO_NAME);
            garden.post(&named("lost")).await.refused(500, &NO_NAME.replace("\"\"", "\"lost\""));
            // The name counts, whatever the other field holds.
            let both =
                json!({ "cloudProfileName": "local", "cloudProfile": { "kind": "CloudProfile", "name": "lost" } });
            let created = garden.post(&shoot(&both)).await.accepted();
            assert_eq!(references(&created), [&Value::Null, &json!("local")], "{minor}");
            let shown = garden.get(SHOOT).await;
            assert_eq!(references(&shown), [&Value::Null, &json!("local")], "{minor}");

            let patch = json!({ "spec": { "cloudProfile": { "kind": "CloudProfile", "name": "other" } } });
            let patched = garden.merge(SHOOT, &patch).await.accepted();
            assert_eq!(references(&patched), [&Value::Null, &json!("local")], "{minor}");
            garden.merge(SHOOT, &json!({ "spec": { "cloudProfileName": "other" } })).await.refused(
                422,
                "Shoot.core.gardener.cloud \"local\" is invalid: spec.cloudProfileName: Invalid value: \"other\": field is \
                 immutable",
            );
            garden.merge(SHOOT, &json!({ "spec": { "cloudProfileName": null } })).await.refused(500, NO_NAME);
        }
    });
}

#[test]
fn selectors_by_reference_exist_since_1_101() {
    support::run(async {
        for minor in [80, 91, 92, 100, 101] {
            let garden = garden(minor).await;
            garden.post(&named("local")).await.accepted();
            let found = async |selector: &str| {
                garden.send("GET", &format!("{SHOOTS}?fieldSelector={selector}"), JSON, &Value::Null).await
            };
            let items = |list: Value| list["items"].as_array().map(Vec::len);
            assert_eq!(items(found("spec.cloudProfileName%3Dlocal").await.accepted()), Some(1), "{minor}");
            assert_eq!(items(found("spec.cloudProfileName%3Dother").await.accepted()), Some(0), "{minor}");
            for (label, value) in [("spec.cloudProfile.Name", "local"), ("spec.cloudProfile.Kind", "CloudProfile")] {
                let answer = found(&format!("{label}%3D{value}")).await;
                if minor < 101 {
                    answer.refused(400, &format!("field label not supported: {label}"));
                } else {
                    assert_eq!(items(answer.accepted()), Some(1), "{minor} {label}");
                }
            }
        }
    });
}

/// A Shoot of 1.91 is read by later releases as it was stored; a write of 1.101 fills the reference.
#[test]
fn an_upgrade_keeps_shoots_that_have_the_name_alone() {
    support::run(async {
        let garden_91 = garden(91).await;
        garden_91.post(&named("local")).await.accepted();
        let purpose = |purpose: &str| json!({ "spec": { "purpose": purpose } });
        let by_name = [&Value::Null, &json!("local")];
        for minor in [92, 100] {
            let newer = garden_91.another_instance(&options(minor));
            assert_eq!(references(&newer.get(SHOOT).await), by_name, "{minor}");
            let patched = newer.merge(SHOOT, &purpose("testing")).await.accepted();
            assert_eq!(references(&patched), by_name, "{minor}");
            newer.merge(SHOOT, &purpose("evaluation")).await.accepted();
        }

        let newest = garden_91.another_instance(&options(101));
        let before = newest.get(SHOOT).await;
        assert_eq!(references(&before), by_name);
        // A change of the status leaves the spec unchanged.
        let status = json!({ "status": { "observedGeneration": 1 } });
        let patched = newest.merge(&format!("{SHOOT}/status"), &status).await.accepted();
        assert_eq!(references(&patched), by_name);
        let labelled = newest.merge(SHOOT, &json!({ "metadata": { "labels": { "a": "b" } } })).await.accepted();
        let reference = json!({ "kind": "CloudProfile", "name": "local" });
        assert_eq!(references(&labelled), [&reference, &json!("local")]);
        assert_eq!(labelled["metadata"]["generation"], before["metadata"]["generation"], "a reference is no change");
        newest
            .merge(SHOOT, &json!({ "spec": { "cloudProfile": { "kind": "CloudProfile", "name": "other" } } }))
            .await
            .refused(
                500,
                "a Seed's CloudProfile may only be changed to a descendant NamespacedCloudProfile, other modifications are \
                 currently not supported",
            );

        // Instances of an older release do not show the reference and do not lose it.
        assert_eq!(references(&garden_91.get(SHOOT).await), by_name);
        garden_91.merge(SHOOT, &purpose("testing")).await.accepted();
        let older = garden_91.another_instance(&options(100));
        older.merge(SHOOT, &purpose("development")).await.accepted();
        let shown = newest.get(SHOOT).await;
        assert_eq!(references(&shown), [&reference, &json!("local")]);
        assert_eq!(shown["spec"]["purpose"], "development");
    });
}
