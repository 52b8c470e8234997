// SPDX-License-Identifier: Apache-2.0
//! Gardenlets and ManagedSeeds, with the configurations that they carry.

use apiserver::Options;
use domain::skew::GardenerVersion;
use serde_json::{Value, json};

use crate::support::{Garden, run};

const GARDENLETS: &str = "/apis/seedmanagement.gardener.cloud/v1alpha1/namespaces/garden/gardenlets";
const JSON: &str = "application/json";

fn gardenlet(config: &Value) -> Value {
    json!({
        "apiVersion": "seedmanagement.gardener.cloud/v1alpha1", "kind": "Gardenlet",
        "metadata": {"name": "a", "namespace": "garden"},
        "spec": {"deployment": {"helm": {"ociRepository": {"ref": "a:v1.120.0"}}}, "config": config},
    })
}

#[test]
fn a_configuration_of_a_wrong_shape_cannot_be_read() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        garden.post(&gardenlet(&json!({"kind": "Foo"}))).await.refused(
            400,
            "Gardenlet in version \"v1alpha1\" cannot be handled as a Gardenlet: no kind \"Foo\" is registered for version \
             \"gardenlet.config.gardener.cloud/v1alpha1\" in scheme \"pkg/apis/seedmanagement/encoding/encoding.go:25\"",
        );
        let answer = garden.post(&gardenlet(&json!({"controllers": {"shoot": {"concurrentSyncs": "many"}}}))).await;
        let message = answer.body["message"].as_str().expect("a message");
        assert_eq!(answer.code, 400, "{message}");
        assert!(message.starts_with(
            "Gardenlet in version \"v1alpha1\" cannot be handled as a Gardenlet: json: cannot unmarshal string into Go struct field "
        ));
    });
}

#[test]
fn a_configuration_is_judged_with_its_object() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        garden.post(&gardenlet(&json!({"logLevel": "loud"}))).await.refused(
            422,
            "Gardenlet.seedmanagement.gardener.cloud \"a\" is invalid: logLevel: Unsupported value: \"loud\": supported values: \
             \"debug\", \"info\", \"error\"",
        );
        let created = garden.post(&gardenlet(&json!({"logLevel": "info"}))).await.accepted();
        assert_eq!(
            created["spec"]["config"],
            json!({
                "apiVersion": "gardenlet.config.gardener.cloud/v1alpha1", "kind": "GardenletConfiguration",
                "logLevel": "info", "seedConfig": {},
            })
        );
        garden
            .merge(&format!("{GARDENLETS}/a"), &json!({"spec": {"config": {"seedConfig": {"metadata": {"name": "a"}}}}}))
            .await
            .refused(
                422,
                "Gardenlet.seedmanagement.gardener.cloud \"a\" is invalid: spec.config.seedConfig.metadata.name: Forbidden: seed \
                 name is forbidden",
            );
    });
}

#[test]
fn unknown_fields_of_a_configuration_are_warned_of_and_dropped() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        let sent = gardenlet(&json!({"controllers": {"shoot": {"syncperiod": "1h"}}}));
        let warnings = garden.warnings("POST", GARDENLETS, JSON, &sent).await;
        assert_eq!(warnings, [r#""unknown field \"spec.config.controllers.shoot.syncperiod\"""#]);
        let stored = garden.get(&format!("{GARDENLETS}/a")).await;
        assert_eq!(stored["spec"]["config"]["controllers"]["shoot"], json!({}));
    });
}

/// A ManagedSeedSet with settings of kube-apiserver and of DNS in the template of its Shoots.
#[test]
fn managed_seed_sets_are_warned_of() {
    run(async {
        let sets = "/apis/seedmanagement.gardener.cloud/v1alpha1/namespaces/garden/managedseedsets";
        for (minor, expected) in [
            (135, &[][..]),
            (136, &["kubernetes.kubeAPIServer.enableAnonymousAuthentication"][..]),
            (139, &["kubernetes.kubeAPIServer.enableAnonymousAuthentication", "dns.providers[0].secretName"][..]),
        ] {
            let version = GardenerVersion::release(1, minor, 0);
            let garden = Garden::new(&Options { version, ..Options::default() });
            garden.apply(include_str!("manifests/garden.yaml")).await;
            let set = json!({
                "apiVersion": "seedmanagement.gardener.cloud/v1alpha1", "kind": "ManagedSeedSet",
                "metadata": {"name": "a", "namespace": "garden"},
                "spec": {
                    "selector": {}, "template": {"spec": {"gardenlet": {}}},
                    "shootTemplate": {"spec": {
                        "region": "r",
                        "kubernetes": {"version": "1.33.0", "kubeAPIServer": {"enableAnonymousAuthentication": false}},
                        "dns": {"providers": [{"secretName": "s"}]},
                    }},
                },
            });
            let told = |warnings: Vec<String>| {
                let fields = warnings.iter().filter_map(|text| Some(text.split_once("spec.shootTemplate.spec.")?.1));
                fields.filter_map(|text| Some(text.split_once(" field")?.0.to_owned())).collect::<Vec<_>>()
            };
            assert_eq!(told(garden.warnings("POST", sets, JSON, &set).await), expected, "1.{minor}");
            let patch = json!({"spec": {"replicas": 2}});
            let path = format!("{sets}/a");
            let again = garden.warnings("PATCH", &path, "application/merge-patch+json", &patch).await;
            assert_eq!(told(again), expected, "1.{minor}: an update warns, too");
        }
    });
}
