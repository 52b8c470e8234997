// SPDX-License-Identifier: Apache-2.0
//! CloudProfiles, Seeds, Projects and the others through the API.

use serde_json::{Value, json};

use crate::support::{Garden, run, shoot};

const PROFILE: &str = "/apis/core.gardener.cloud/v1beta1/cloudprofiles/local";

#[test]
fn a_version_in_use_cannot_be_removed() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        garden.post(&shoot("local", "1.26.4")).await.accepted();
        let without =
            json!({"spec": {"kubernetes": {"versions": [{"version": "1.27.1", "classification": "supported"}]}}});
        garden.merge(PROFILE, &without).await.refused(
            403,
            "cloudprofiles.core.gardener.cloud \"local\" is forbidden: 1 error occurred:\n\t* unable to delete \
             Kubernetes version \"1.26.4\" from CloudProfile \"local\" - version is still in use by shoot \
             'garden-demo/local'\n\n",
        );
        let path = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots/local";
        garden.merge(path, &json!({"spec": {"kubernetes": {"version": "1.27.1"}}})).await.accepted();
        garden.merge(PROFILE, &without).await.accepted();
    });
}

#[test]
fn an_expired_version_cannot_be_added() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        let mut profile = garden.get(PROFILE).await;
        assert_eq!(profile["metadata"]["generation"], Value::Null);
        let versions = profile["spec"]["kubernetes"]["versions"].as_array_mut().expect("a list");
        versions.push(json!({"version": "1.25.4", "expirationDate": "2023-07-01T00:00:00Z"}));
        garden.put(&profile).await.refused(
            422,
            "CloudProfile.core.gardener.cloud \"local\" is invalid: spec.kubernetes.versions[2].expirationDate: Invalid \
             value: 2023-07-01 00:00:00 +0000 UTC: expiration date for version \"1.25.4\" is in the past",
        );
    });
}

#[test]
fn the_creator_of_a_project_owns_it() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        let project = garden.get("/apis/core.gardener.cloud/v1beta1/projects/demo").await;
        let alice = json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "alice"});
        assert_eq!(project["spec"]["createdBy"], alice);
        assert_eq!(project["spec"]["owner"], alice);
        assert_eq!(project["spec"]["members"][0]["role"], "admin");
        assert_eq!(project["spec"]["members"][0]["roles"], json!(["owner"]));
        let second = json!({
            "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Project",
            "metadata": {"name": "second"}, "spec": {"namespace": "garden-demo"},
        });
        garden.post(&second).await.refused(
            403,
            "projects.core.gardener.cloud \"second\" is forbidden: namespace \"garden-demo\" is already used by another \
             project",
        );
    });
}

/// The members of a Project with all their roles.
fn members(project: &Value) -> Vec<(&str, Vec<&str>)> {
    let members = project["spec"]["members"].as_array().expect("members").iter();
    members
        .map(|member| {
            let others = member["roles"].as_array().into_iter().flatten();
            let roles = std::iter::once(&member["role"]).chain(others).filter_map(Value::as_str);
            (member["name"].as_str().expect("a name"), roles.collect())
        })
        .collect()
}

#[test]
fn a_new_owner_takes_the_role_from_the_old_one() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        let path = "/apis/core.gardener.cloud/v1beta1/projects/demo";
        let owner = |name: &str| json!({"kind": "User", "name": name});
        // An owner that is not a member yet.
        let patched = garden.merge(path, &json!({"spec": {"owner": owner("bob")}})).await.accepted();
        assert_eq!(members(&patched), [("alice", vec!["admin"]), ("bob", vec!["admin", "owner"])]);
        // An owner that is a member, also if the request still gives the role to the old owner.
        let mut project = garden.get(path).await;
        project["spec"]["owner"] = owner("alice");
        project["spec"]["owner"]["apiGroup"] = json!("rbac.authorization.k8s.io");
        let put = garden.put(&project).await.accepted();
        assert_eq!(members(&put), [("alice", vec!["admin", "owner"]), ("bob", vec!["admin"])]);
        // A creator that is a member with another role has both.
        let third = json!({
            "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Project", "metadata": {"name": "third"},
            "spec": {"members": [{"kind": "User", "name": "alice", "role": "viewer"}]},
        });
        assert_eq!(members(&garden.post(&third).await.accepted()), [("alice", vec!["viewer", "owner"])]);
    });
}

#[test]
fn a_seed_with_shoots_stays() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        let seed = "/apis/core.gardener.cloud/v1beta1/seeds/local";
        let found = garden.get(seed).await;
        assert_eq!(found["metadata"]["labels"]["name.seed.gardener.cloud/local"], "true");
        assert_eq!(found["spec"]["settings"]["scheduling"], json!({"visible": true}));
        let mut local = garden.post(&shoot("local", "1.27.1")).await.accepted();
        local["spec"]["seedName"] = json!("local");
        let binding = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots/local/binding";
        garden.send("PUT", binding, "application/json", &local).await.accepted();
        garden.delete(seed).await.refused(
            403,
            "seeds.core.gardener.cloud \"local\" is forbidden: cannot delete seed local since it is still used by \
             shoot(s)",
        );
    });
}

#[test]
fn referenced_objects_must_exist() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        let binding = json!({
            "apiVersion": "core.gardener.cloud/v1beta1", "kind": "SecretBinding",
            "metadata": {"name": "lost", "namespace": "garden-demo"},
            "provider": {"type": "local"}, "secretRef": {"name": "lost"},
        });
        garden
            .post(&binding)
            .await
            .refused(403, "secretbindings.core.gardener.cloud \"lost\" is forbidden: secrets \"lost\" not found");
    });
}

#[test]
fn a_production_landscape_is_accepted() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        garden.advance("2025-01-01T00:00:00Z");
        garden.apply(include_str!("manifests/production.yaml")).await;
        garden.apply(include_str!("../../../e2e/scripts/simulate-manifests/aws.yaml")).await;
    });
}

#[test]
fn shoots_share_the_quota_of_their_credentials() {
    run(async {
        let garden = Garden::with_demo_objects().await;
        let quota = json!({
            "apiVersion": "core.gardener.cloud/v1beta1",
            "kind": "Quota",
            "metadata": {"name": "trial", "namespace": "garden-demo"},
            "spec": {"scope": {"apiVersion": "v1", "kind": "Secret"}, "metrics": {"loadbalancer": "1"}},
        });
        garden.post(&quota).await.accepted();
        let binding = json!({
            "apiVersion": "core.gardener.cloud/v1beta1",
            "kind": "SecretBinding",
            "metadata": {"name": "trial", "namespace": "garden-demo"},
            "provider": {"type": "local"},
            "secretRef": {"name": "local"},
            "quotas": [{"name": "trial"}],
        });
        garden.post(&binding).await.accepted();
        let disk = json!({"class": "standard", "type": "disk", "size": "20Gi"});
        let machine = json!({"name": "local", "cpu": "1", "gpu": "0", "memory": "8Gi", "storage": disk});
        garden.merge(PROFILE, &json!({"spec": {"machineTypes": [machine]}})).await.accepted();
        let with = |name: &str, binding: &str| {
            let mut shoot = shoot(name, "1.27.1");
            shoot["spec"]["secretBindingName"] = json!(binding);
            shoot
        };
        let shoots = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots";
        garden.post(&with("one", "trial")).await.accepted();
        garden.post(&with("two", "trial")).await.refused(
            403,
            "shoots.core.gardener.cloud \"two\" is forbidden: quota limits exceeded. Unable to allocate further \
             loadbalancer ",
        );
        garden.post(&with("two", "local")).await.accepted();
        let confirmed = json!({"metadata": {"annotations": {"confirmation.gardener.cloud/deletion": "true"}}});
        garden.merge(&format!("{shoots}/one"), &confirmed).await.accepted();
        garden.delete(&format!("{shoots}/one")).await.accepted();
        garden.post(&with("three", "trial")).await.accepted();
    });
}
