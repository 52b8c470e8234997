// SPDX-License-Identifier: Apache-2.0
//! Gardenlets and ManagedSeeds, with the configurations that they carry.

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
        let garden = Garden::furnished().await;
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
        let garden = Garden::furnished().await;
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
        let garden = Garden::furnished().await;
        let sent = gardenlet(&json!({"controllers": {"shoot": {"syncperiod": "1h"}}}));
        let warnings = garden.warnings("POST", GARDENLETS, JSON, &sent).await;
        assert_eq!(warnings, [r#""unknown field \"spec.config.controllers.shoot.syncperiod\"""#]);
        let stored = garden.get(&format!("{GARDENLETS}/a")).await;
        assert_eq!(stored["spec"]["config"]["controllers"]["shoot"], json!({}));
    });
}
