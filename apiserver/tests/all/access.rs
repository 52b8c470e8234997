// SPDX-License-Identifier: Apache-2.0
//! Permissions on Gardener's kinds, as granted by roles.

use apiserver::Options;
use authorizer::Mode;
use serde_json::json;

use crate::support::{self, Garden};

const SHOOT: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots/local";
const PROFILE: &str = "/apis/core.gardener.cloud/v1beta1/cloudprofiles/local";
const PROJECT: &str = "/apis/core.gardener.cloud/v1beta1/projects/demo";
const EVERYBODY: &[&str] = &["system:authenticated"];
const SEEDS: &[&str] = &["gardener.cloud:system:seeds", "system:authenticated"];

/// Permissions of members of Project `demo`, and of all authenticated users.
const ROLES: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: members, namespace: garden-demo}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: member}
subjects: [{kind: User, name: anna}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: member}
rules:
- verbs: [create, get, list, patch, update, delete]
  apiGroups: [core.gardener.cloud]
  resources: [shoots, secretbindings]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: everybody}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{kind: Group, name: 'system:authenticated'}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- {verbs: [get, list, watch], apiGroups: [core.gardener.cloud], resources: [cloudprofiles, seeds]}
- {verbs: [get, update, patch], apiGroups: [core.gardener.cloud], resources: [projects], resourceNames: [demo]}
";

async fn garden() -> Garden {
    let usual = Options { default_domains: vec!["example.org".to_owned()], ..Options::default() };
    let mut garden = Garden::new(&Options { authorization: Mode::Rbac, ..usual });
    garden.apply(include_str!("manifests/garden.yaml")).await;
    garden.apply(ROLES).await;
    garden.groups = EVERYBODY;
    garden
}

#[test]
fn all_users_read_cloud_profiles_and_none_change_them() {
    support::run(async {
        let mut garden = garden().await;
        garden.user = "vera";
        garden.get(PROFILE).await;
        garden.merge(PROFILE, &json!({"metadata": {"labels": {"a": "b"}}})).await.refused(
            403,
            "cloudprofiles.core.gardener.cloud \"local\" is forbidden: User \"vera\" cannot patch resource \
             \"cloudprofiles\" in API group \"core.gardener.cloud\" at the cluster scope",
        );
        garden.delete(PROFILE).await.refused(
            403,
            "cloudprofiles.core.gardener.cloud \"local\" is forbidden: User \"vera\" cannot delete resource \
             \"cloudprofiles\" in API group \"core.gardener.cloud\" at the cluster scope",
        );
    });
}

#[test]
fn a_member_has_shoots_and_not_their_status() {
    support::run(async {
        let mut garden = garden().await;
        garden.user = "anna";
        let mut scheduled = support::shoot("local", "1.27.1");
        scheduled["spec"]["seedName"] = json!("local");
        garden.post(&scheduled).await.refused(
            403,
            "shoots.core.gardener.cloud \"local\" is forbidden: user \"anna\" is not allowed to set .spec.seedName \
             for \"shoots\"",
        );
        garden.post(&support::shoot("local", "1.27.1")).await.accepted();
        garden.merge(&format!("{SHOOT}/status"), &json!({"status": {"hibernated": true}})).await.refused(
            403,
            "shoots.core.gardener.cloud \"local\" is forbidden: User \"anna\" cannot patch resource \
             \"shoots/status\" in API group \"core.gardener.cloud\" in the namespace \"garden-demo\"",
        );
        garden.merge(SHOOT, &json!({"metadata": {"labels": {"a": "b"}}})).await.accepted();
        let binding = json!({
            "apiVersion": "core.gardener.cloud/v1beta1",
            "kind": "SecretBinding",
            "metadata": {"name": "stolen", "namespace": "garden-demo"},
            "provider": {"type": "local"},
            "secretRef": {"name": "local", "namespace": "garden"},
        });
        garden.post(&binding).await.refused(
            403,
            "secretbindings.core.gardener.cloud \"stolen\" is forbidden: SecretBinding cannot reference a Secret you \
             are not allowed to read",
        );
        garden.user = "vera";
        assert_eq!(garden.send("GET", SHOOT, "application/json", &json!(null)).await.code, 403);
    });
}

#[test]
fn updating_a_project_does_not_allow_adding_members() {
    support::run(async {
        let mut garden = garden().await;
        garden.user = "anna";
        let members = json!({"spec": {"members": [
            {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "mallory", "role": "admin"},
        ]}});
        let refusal = "projects.core.gardener.cloud \"demo\" is forbidden: user \"anna\" is not allowed to manage \
                       human users or groups in .spec.members for \"projects\"";
        garden.merge(PROJECT, &members).await.refused(403, refusal);
        garden.merge(PROJECT, &json!({"spec": {"description": "x"}})).await.accepted();
        // The owner may update the members.
        garden.user = "alice";
        garden.merge(PROJECT, &members).await.accepted();
        let whitelist = json!({"spec": {"tolerations": {"whitelist": [{"key": "x"}]}}});
        garden.merge(PROJECT, &whitelist).await.refused(
            403,
            "projects.core.gardener.cloud \"demo\" is forbidden: user \"alice\" is not allowed to modify \
             .spec.tolerations.whitelist for \"projects\"",
        );
    });
}

#[test]
fn a_gardenlet_changes_only_objects_of_its_seed() {
    support::run(async {
        let mut garden = garden().await;
        (garden.user, garden.groups) = ("operator", &["system:masters"]);
        let mut shoot = support::shoot("local", "1.27.1");
        shoot["spec"]["seedName"] = json!("local");
        garden.post(&shoot).await.accepted();
        let mut other = garden.get("/apis/core.gardener.cloud/v1beta1/seeds/local").await;
        other["metadata"] = json!({"name": "other"});
        garden.post(&other).await.accepted();
        garden.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: local, namespace: garden}").await;
        let status = json!({"status": {"hibernated": true}});
        garden.groups = SEEDS;
        garden.user = "gardener.cloud:system:seed:other";
        garden.get(SHOOT).await;
        garden.merge(&format!("{SHOOT}/status"), &status).await.refused(
            403,
            "shoots.core.gardener.cloud \"local\" is forbidden: User \"gardener.cloud:system:seed:other\" cannot \
             patch resource \"shoots/status\" in API group \"core.gardener.cloud\" in the namespace \"garden-demo\": \
             no relationship found between seed 'other' and this object",
        );
        let seed = "/apis/core.gardener.cloud/v1beta1/seeds/local";
        assert_eq!(garden.merge(seed, &json!({"metadata": {"labels": {"a": "b"}}})).await.code, 403);
        garden.user = "gardener.cloud:system:seed:local";
        garden.merge(&format!("{SHOOT}/status"), &status).await.accepted();
        garden.merge(seed, &json!({"metadata": {"labels": {"a": "b"}}})).await.accepted();
        garden.delete(SHOOT).await.refused(
            403,
            "shoots.core.gardener.cloud \"local\" is forbidden: User \"gardener.cloud:system:seed:local\" cannot \
             delete resource \"shoots\" in API group \"core.gardener.cloud\" in the namespace \"garden-demo\": only \
             the following verbs are allowed for this resource type: [get list watch update patch]",
        );
        let bucket = |seed: &str| {
            json!({
                "apiVersion": "core.gardener.cloud/v1beta1",
                "kind": "BackupBucket",
                "metadata": {"name": seed},
                "spec": {
                    "provider": {"type": "local", "region": "local"},
                    "secretRef": {"name": "local", "namespace": "garden"},
                    "seedName": seed,
                },
            })
        };
        garden.post(&bucket("other")).await.refused(
            403,
            "admission webhook \"seed-restriction.gardener.cloud\" denied the request: object does not belong to seed \
             \"local\"",
        );
        garden.post(&bucket("local")).await.accepted();
    });
}
