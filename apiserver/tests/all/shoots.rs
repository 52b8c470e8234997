// SPDX-License-Identifier: Apache-2.0
//! Shoots through the main resource and the subresources of the API.

use serde_json::{Value, json};

use crate::support::{Garden, path, run, shoot};

const LOCAL: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots/local";

#[test]
fn warnings_name_dropped_fields() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        let mut sent = shoot("local", "1.26.4");
        sent["spec"]["kubernetes"]["enableStaticTokenKubeconfig"] = json!(false);
        let path = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots";
        let text = "\"you are setting the spec.kubernetes.enableStaticTokenKubeconfig field. The field is deprecated and will be \
                    removed in Gardener v1.120. Please adapt your machinery to no longer set this field\"";
        assert_eq!(garden.warnings("POST", path, "application/json", &sent).await, [text]);
        let path = format!("{path}/local");
        let stored = garden.get(&path).await;
        assert_eq!(stored["spec"]["kubernetes"]["enableStaticTokenKubeconfig"], Value::Null);
        let patch = json!({"spec": {"kubernetes": {"enableStaticTokenKubeconfig": false}}});
        assert_eq!(garden.warnings("PATCH", &path, "application/merge-patch+json", &patch).await, [text]);
    });
}

#[test]
fn a_new_shoot_is_completed() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        let created = garden.post(&shoot("local", "1.26.4")).await.accepted();
        assert_eq!(created["metadata"]["generation"], 1);
        assert_eq!(created["metadata"]["annotations"]["gardener.cloud/created-by"], "alice");
        assert_eq!(
            created["metadata"]["annotations"]["shoot.gardener.cloud/tasks"],
            "deployInfrastructure,deployDNSRecordInternal,deployDNSRecordExternal,deployDNSRecordIngress"
        );
        assert_eq!(created["spec"]["cloudProfileName"], "local");
        assert_eq!(created["spec"]["cloudProfile"], json!({"kind": "CloudProfile", "name": "local"}));
        let worker = &created["spec"]["provider"]["workers"][0];
        assert_eq!(worker["machine"]["image"], json!({"name": "gardenlinux", "version": "1096.1.0"}));
        assert_eq!((&worker["maxSurge"], &worker["maxUnavailable"]), (&json!(1), &json!(0)));
        let reserved = &created["spec"]["kubernetes"]["kubelet"]["kubeReserved"];
        assert_eq!(*reserved, json!({"cpu": "80m", "memory": "1Gi", "pid": "20k"}));
        assert_eq!(created["metadata"]["labels"]["provider.extensions.gardener.cloud/local"], "true");
    });
}

#[test]
fn a_new_shoot_on_an_expired_version_is_refused() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        garden.advance("2023-07-28T00:00:00Z");
        garden.post(&shoot("just", "1.26.4")).await.accepted();
        garden.advance("2023-07-28T00:00:01Z");
        garden.post(&shoot("late", "1.26.4")).await.refused(
            403,
            "shoots.core.gardener.cloud \"late\" is forbidden: spec.kubernetes.version: Unsupported value: \"1.26.4\": \
             supported values: \"1.27.1\"",
        );
        garden.post(&shoot("late", "1.27.1")).await.accepted();
    });
}

#[test]
fn incomplete_versions_stand_for_the_highest_that_can_be_used() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        let created = garden.post(&shoot("local", "1.26")).await.accepted();
        assert_eq!(created["spec"]["kubernetes"]["version"], "1.26.4");
        let created = garden.post(&shoot("newest", "")).await.accepted();
        assert_eq!(created["spec"]["kubernetes"]["version"], "1.27.1");
        garden.post(&shoot("none", "1.28")).await.refused(
            403,
            "shoots.core.gardener.cloud \"none\" is forbidden: [spec.kubernetes.version: Invalid value: \"1.28\": \
             couldn't find a suitable version for 1.28. Suitable versions have a non-expired expiration date and are no \
             'preview' versions. 'Preview'-classified versions have to be selected explicitly, \
             spec.kubernetes.version: Unsupported value: \"1.28\": supported values: \"1.26.4\", \"1.27.1\"]",
        );
    });
}

#[test]
fn an_expired_version_may_stay_and_may_be_left() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        garden.post(&shoot("local", "1.26.4")).await.accepted();
        garden.advance("2023-07-29T00:00:00Z");
        let labelled = garden.merge(LOCAL, &json!({"metadata": {"labels": {"a": "b"}}})).await.accepted();
        assert_eq!(labelled["metadata"]["generation"], 1);
        let update = json!({"spec": {"kubernetes": {"version": "1.27.1"}}});
        let updated = garden.merge(LOCAL, &update).await.accepted();
        assert_eq!(updated["metadata"]["generation"], 2);
        let back = json!({"spec": {"kubernetes": {"version": "1.26.4"}}});
        garden.merge(LOCAL, &back).await.refused(
            422,
            "Shoot.core.gardener.cloud \"local\" is invalid: [spec.kubernetes.version: Forbidden: kubernetes version \
             downgrade is not supported, spec.provider.workers[0].kubernetes.version: Forbidden: kubernetes version \
             downgrade is not supported]",
        );
    });
}

#[test]
fn binding_gives_a_seed_networks_and_a_domain() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        let mut local = garden.post(&shoot("local", "1.27.1")).await.accepted();
        let direct = json!({"spec": {"seedName": "local"}});
        garden.merge(LOCAL, &direct).await.refused(
            403,
            "shoots.core.gardener.cloud \"local\" is forbidden: spec.seedName 'nil' cannot be changed to 'local' by \
             patching the shoot, please use the shoots/binding subresource",
        );
        local["spec"]["seedName"] = json!("local");
        let binding = format!("{}/binding", path(&local));
        let bound = garden.send("PUT", &binding, "application/json", &local).await.accepted();
        assert_eq!(bound["spec"]["seedName"], "local");
        assert_eq!(bound["metadata"]["generation"], 2);
        assert_eq!(bound["metadata"]["labels"]["name.seed.gardener.cloud/local"], "true");
        assert_eq!(bound["spec"]["dns"]["domain"], "local.demo.example.org");
        assert_eq!(bound["spec"]["networking"]["pods"], "10.3.0.0/16");
        assert_eq!(bound["spec"]["networking"]["services"], "10.4.0.0/16");
    });
}

#[test]
fn status_writes_touch_neither_spec_nor_generation() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        let mut local = garden.post(&shoot("local", "1.27.1")).await.accepted();
        local["spec"]["region"] = json!("elsewhere");
        local["status"]["technicalID"] = json!("shoot--demo--local");
        let status = format!("{LOCAL}/status");
        let written = garden.send("PUT", &status, "application/json", &local).await.accepted();
        assert_eq!(written["spec"]["region"], "local");
        assert_eq!(written["metadata"]["generation"], 1);
        let other = json!({"status": {"technicalID": "other"}});
        garden.merge(&status, &other).await.refused(
            422,
            "Shoot.core.gardener.cloud \"local\" is invalid: status.technicalID: Invalid value: \"other\": field is \
             immutable",
        );
    });
}

#[test]
fn an_operation_is_consumed_with_a_new_generation() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        garden.post(&shoot("local", "1.27.1")).await.accepted();
        let reconcile = json!({"metadata": {"annotations": {"gardener.cloud/operation": "reconcile"}}});
        let waiting = garden.merge(LOCAL, &reconcile).await.accepted();
        assert_eq!(waiting["metadata"]["generation"], 1, "nothing has happened to the Shoot yet");
        let operation = json!({"type": "Create", "state": "Succeeded", "progress": 100, "description": "",
            "lastUpdateTime": "2023-07-27T20:00:00Z"});
        garden.merge(&format!("{LOCAL}/status"), &json!({"status": {"lastOperation": operation}})).await.accepted();
        let done = garden.merge(LOCAL, &json!({"metadata": {"labels": {"a": "b"}}})).await.accepted();
        assert_eq!(done["metadata"]["generation"], 2);
        assert_eq!(done["metadata"]["annotations"]["gardener.cloud/operation"], Value::Null);
        let unknown = json!({"metadata": {"annotations": {"gardener.cloud/operation": "dance"}}});
        let refusal = garden.merge(LOCAL, &unknown).await;
        let text = refusal.body["message"].as_str().unwrap_or_default();
        assert!(
            text.starts_with(
                "Shoot.core.gardener.cloud \"local\" is invalid: metadata.annotations[gardener.cloud/operation]: \
                 Unsupported value: \"dance\": supported values: \"force-in-place-update\", \"maintain\", "
            ),
            "{text}"
        );
    });
}

#[test]
fn deletion_must_be_confirmed() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        garden.post(&shoot("local", "1.27.1")).await.accepted();
        garden.delete(LOCAL).await.refused(
            403,
            "shoots.core.gardener.cloud \"local\" is forbidden: must have a \"confirmation.gardener.cloud/deletion\" \
             annotation to delete",
        );
        let confirm = json!({"metadata": {"annotations": {"confirmation.gardener.cloud/deletion": "true"}}});
        let confirmed = garden.merge(LOCAL, &confirm).await.accepted();
        assert_eq!(confirmed["metadata"]["annotations"]["deletion.gardener.cloud/confirmed-by"], "alice");
        garden.delete(LOCAL).await.accepted();
    });
}

/// Upstream's plugin decides about the collection, not about one object of it.
#[test]
fn a_collection_deletion_names_every_unconfirmed_shoot() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        for name in ["a", "b", "c"] {
            garden.post(&shoot(name, "1.27.1")).await.accepted();
        }
        let shoots = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots";
        let confirm = json!({"metadata": {"annotations": {"confirmation.gardener.cloud/deletion": "true"}}});
        garden.merge(&format!("{shoots}/b"), &confirm).await.accepted();
        let text = |name: &str| {
            format!(
                "\t* shoots.core.gardener.cloud \"{name}\" is forbidden: must have a \
                 \"confirmation.gardener.cloud/deletion\" annotation to delete\n"
            )
        };
        let forbidden = "shoots.core.gardener.cloud \"Unknown\" is forbidden:";
        let both = format!("{forbidden} 2 errors occurred:\n{}{}\n", text("a"), text("c"));
        garden.delete(shoots).await.refused(403, &both);
        // Even if only a confirmed one is selected.
        garden.delete(&format!("{shoots}?fieldSelector=metadata.name%3Db")).await.refused(403, &both);
        garden.merge(&format!("{shoots}/a"), &confirm).await.accepted();
        let one = format!("{forbidden} 1 error occurred:\n{}\n", text("c"));
        garden.delete(shoots).await.refused(403, &one);
        garden.merge(&format!("{shoots}/c"), &confirm).await.accepted();
        garden.delete(shoots).await.accepted();
    });
}

#[test]
fn a_write_of_the_status_keeps_labels_of_extensions() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        garden.post(&shoot("local", "1.27.1")).await.accepted();
        // The first change adds labels for the values that the creation has set.
        let changed = json!({"metadata": {"annotations": {"a": "b"}}});
        let mut created = garden.merge(LOCAL, &changed).await.accepted();
        let labels = created["metadata"]["labels"].clone();
        assert_eq!(labels["provider.extensions.gardener.cloud/local"], "true");
        let status = format!("{LOCAL}/status");
        created["metadata"]["labels"] = json!({"own": "label"});
        let put = garden.send("PUT", &status, "application/json", &created).await.accepted();
        let mut expected = labels.clone();
        expected["own"] = json!("label");
        assert_eq!(put["metadata"]["labels"], expected);
        let without = json!({"metadata": {"labels": {"provider.extensions.gardener.cloud/local": null, "own": null}}});
        let patched = garden.merge(&status, &without).await.accepted();
        assert_eq!(patched["metadata"]["labels"], labels);
    });
}

#[test]
fn all_violations_are_reported_in_order() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        let mut bad = shoot("lo--cal", "1.27.1");
        bad["spec"]["purpose"] = json!("fun");
        bad["spec"]["maintenance"]["timeWindow"] = json!({"begin": "010000+0000", "end": "080000+0000"});
        bad["spec"]["provider"]["workers"][0]["maximum"] = json!(2);
        garden.post(&bad).await.refused(
            422,
            "Shoot.core.gardener.cloud \"lo--cal\" is invalid: [metadata.name: Invalid value: \"lo--cal\": name may not \
             contain two consecutive hyphens, spec.provider.workers[0].maximum: Forbidden: maximum value must not be \
             less than minimum value, spec.maintenance.timeWindow: Invalid value: 7h0m0s: time window must not be \
             greater than 6h0m0s, spec.purpose: Unsupported value: \"fun\": supported values: \"development\", \
             \"evaluation\", \"production\", \"testing\"]",
        );
    });
}

#[test]
fn objects_that_a_shoot_references_must_exist() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        let mut lost = shoot("local", "1.27.1");
        lost["spec"]["networking"]["type"] = json!("cilium");
        garden.post(&lost).await.refused(
            403,
            "shoots.core.gardener.cloud \"local\" is forbidden: 1 error occurred:\n\t* given Shoot uses non-registered \
             networking type: spec.networking.type (\"cilium\")\n\n",
        );
        let mut lost = shoot("local", "1.27.1");
        lost["spec"]["resources"] =
            json!([{"name": "a", "resourceRef": {"apiVersion": "v1", "kind": "Secret", "name": "b"}}]);
        garden.post(&lost).await.refused(
            403,
            "shoots.core.gardener.cloud \"local\" is forbidden: failed to resolve resource reference \"a\": secrets \
             \"b\" not found",
        );
    });
}
