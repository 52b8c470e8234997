// SPDX-License-Identifier: Apache-2.0
//! Authorization in the clusters of a host with RBAC.

use authorizer::Mode;
use host::{Host, Parts};
use http_body_util::BodyExt;
use process::transport::full;
use process::{Tasks, User};
use serde_json::{Value, json};

use crate::support::foundation;

const CLUSTERS: &str = "/clusters/runtime/apis/terrarium.dev/v1alpha1/clusters";
const RBAC: &str = "apis/rbac.authorization.k8s.io/v1";

/// A host with RBAC and clusters `garden`, `seed--a`, `shoot--p--a` and `shoot--p--b`.
async fn host() -> Host {
    let host = Host::with(foundation(), &Tasks::new(), Parts { authorization: Mode::Rbac, ..Parts::default() });
    for name in ["garden", "seed--a", "shoot--p--a", "shoot--p--b"] {
        let cluster = json!({"metadata": {"name": name}, "spec": {"kubernetesVersion": "1.27.1"}});
        ask(&host, &admin(), "POST", CLUSTERS, cluster).await.done();
    }
    host
}

struct Answer(u16, Value);

impl Answer {
    #[track_caller]
    fn done(self) -> Value {
        assert!(self.0 < 300, "{}: {}", self.0, self.1);
        self.1
    }

    #[track_caller]
    fn refused(self, code: u16, message: &str) {
        assert_eq!((self.0, self.1["message"].as_str().unwrap_or_default()), (code, message));
    }
}

async fn ask(host: &Host, user: &User, method: &str, path: &str, body: Value) -> Answer {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = http::Request::builder().method(method).uri(path).body(full(body)).expect("a request");
    let response = host.transport(user.clone()).send(request).await.expect("a response");
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    Answer(code, serde_json::from_slice(&body).unwrap_or_default())
}

fn user(name: &str, groups: &[&str]) -> User {
    let groups = groups.iter().chain(&["system:authenticated"]).map(|group| (*group).into()).collect();
    User { name: name.into(), groups, component: None }
}

fn admin() -> User {
    user("admin", &["system:masters"])
}

fn component(name: &str, groups: &[&str]) -> User {
    User { component: Some(("x".into(), "v1.120.0".into())), ..user(name, groups) }
}

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().expect("items").iter().filter_map(|item| item["metadata"]["name"].as_str()).collect()
}

async fn bind(host: &Host, cluster: &str, namespace: &str, role: &str, who: &str) {
    let (path, kind) = match namespace {
        "" => (format!("/clusters/{cluster}/{RBAC}/clusterrolebindings"), "ClusterRoleBinding"),
        namespace => (format!("/clusters/{cluster}/{RBAC}/namespaces/{namespace}/rolebindings"), "RoleBinding"),
    };
    let body = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": format!("{role}-{who}").replace(':', "-")},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": who}],
    });
    ask(host, &admin(), "POST", &path, body).await.done();
}

async fn review(host: &Host, who: &User, cluster: &str, attributes: Value) -> Value {
    let path = format!("/clusters/{cluster}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
    let body = json!({"spec": {"resourceAttributes": attributes}});
    ask(host, who, "POST", &path, body).await.done()["status"].clone()
}

/// The first request for roles returns all of them, with the rules of aggregated ones.
#[tokio::test]
async fn a_cluster_begins_with_the_roles_of_kubernetes() {
    let host = host().await;
    for cluster in ["runtime", "garden", "seed--a", "shoot--p--a"] {
        let path = format!("/clusters/{cluster}/{RBAC}/clusterroles");
        let list = ask(&host, &admin(), "GET", &path, Value::Null).await.done();
        let found = names(&list);
        for role in ["admin", "cluster-admin", "edit", "system:basic-user", "system:discovery", "view"] {
            assert!(found.contains(&role), "{cluster} lacks {role}");
        }
        assert_eq!(found.contains(&"gardener.cloud:system:project-member"), cluster == "garden", "{cluster}");
        assert_eq!(found.contains(&"gardener.cloud:system:read-only"), cluster.starts_with("shoot--"), "{cluster}");
        let items = list["items"].as_array().expect("items");
        assert!(items.iter().all(|role| !role["rules"].as_array().expect("rules").is_empty()), "{cluster}");
    }
    // Clusters whose roles were not requested have none in the log, and are authorized with the same roles.
    let list = ask(&host, &admin(), "GET", &format!("/clusters/*/{RBAC}/clusterroles"), Value::Null).await.done();
    let of_b = |item: &&Value| item["metadata"]["annotations"]["terrarium.dev/cluster"] == "shoot--p--b";
    assert_eq!(list["items"].as_array().expect("items").iter().filter(of_b).count(), 0);
    let viewer = user("vera", &["gardener.cloud:system:viewers"]);
    ask(&host, &viewer, "GET", "/clusters/shoot--p--b/api/v1/pods", Value::Null).await.done();
}

#[tokio::test]
async fn viewers_of_a_shoot_read_and_change_nothing() {
    let host = host().await;
    let viewer = user("vera", &["gardener.cloud:system:viewers"]);
    for cluster in ["shoot--p--a", "shoot--p--b"] {
        // Before and after the roles are stored.
        for _ in 0..2 {
            let base = format!("/clusters/{cluster}/api/v1/namespaces/default");
            ask(&host, &viewer, "GET", &format!("{base}/configmaps"), Value::Null).await.done();
            ask(&host, &viewer, "GET", &format!("/clusters/{cluster}/api/v1/nodes"), Value::Null).await.done();
            ask(&host, &viewer, "GET", &format!("{base}/secrets"), Value::Null).await.refused(
                403,
                "secrets is forbidden: User \"vera\" cannot list resource \"secrets\" in API group \"\" in the \
                 namespace \"default\"",
            );
            let map = json!({"metadata": {"name": "x"}});
            ask(&host, &viewer, "POST", &format!("{base}/configmaps"), map).await.refused(
                403,
                "configmaps is forbidden: User \"vera\" cannot create resource \"configmaps\" in API group \"\" in \
                 the namespace \"default\"",
            );
            ask(&host, &admin(), "GET", &format!("/clusters/{cluster}/{RBAC}/clusterroles"), Value::Null).await.done();
        }
    }
    let seed = ask(&host, &viewer, "GET", "/clusters/seed--a/api/v1/nodes", Value::Null).await;
    seed.refused(
        403,
        "nodes is forbidden: User \"vera\" cannot list resource \"nodes\" in API group \"\" at the cluster scope",
    );
}

#[tokio::test]
async fn a_binding_counts_from_its_write_to_its_deletion() {
    let host = host().await;
    let jane = user("jane", &[]);
    let pods = "/clusters/shoot--p--a/api/v1/namespaces/default/pods";
    assert_eq!(ask(&host, &jane, "GET", pods, Value::Null).await.0, 403);
    bind(&host, "shoot--p--a", "default", "view", "jane").await;
    ask(&host, &jane, "GET", pods, Value::Null).await.done();
    assert_eq!(ask(&host, &jane, "GET", &pods.replace("default", "kube-system"), Value::Null).await.0, 403);
    assert_eq!(ask(&host, &jane, "GET", &pods.replace("p--a", "p--b"), Value::Null).await.0, 403);
    let decision = json!({"verb": "list", "resource": "pods", "namespace": "default"});
    assert_eq!(
        review(&host, &jane, "shoot--p--a", decision.clone()).await,
        json!({
            "allowed": true,
            "reason": "RBAC: allowed by RoleBinding \"view-jane/default\" of ClusterRole \"view\" to User \"jane\"",
        })
    );
    let path = format!("/clusters/shoot--p--a/{RBAC}/namespaces/default/rolebindings/view-jane");
    ask(&host, &admin(), "DELETE", &path, Value::Null).await.done();
    assert_eq!(ask(&host, &jane, "GET", pods, Value::Null).await.0, 403);
    assert_eq!(review(&host, &jane, "shoot--p--a", decision).await, json!({"allowed": false}));
}

/// An initial role may be deleted, and is created again when the host restarts.
#[tokio::test]
async fn initial_roles_can_be_deleted() {
    let host = host().await;
    let viewer = user("vera", &["gardener.cloud:system:viewers"]);
    for name in ["gardener.cloud:system:read-only", "gardener.cloud:system:viewers"] {
        let path = format!("/clusters/shoot--p--a/{RBAC}/clusterrolebindings/{name}");
        ask(&host, &admin(), "DELETE", &path, Value::Null).await.done();
    }
    assert_eq!(ask(&host, &viewer, "GET", "/clusters/shoot--p--a/api/v1/nodes", Value::Null).await.0, 403);
    ask(&host, &viewer, "GET", "/clusters/shoot--p--b/api/v1/nodes", Value::Null).await.done();
    // A new cluster of the same name has the initial roles again.
    ask(&host, &admin(), "DELETE", &format!("{CLUSTERS}/shoot--p--a"), Value::Null).await.done();
    let cluster = json!({"metadata": {"name": "shoot--p--a"}, "spec": {"kubernetesVersion": "1.27.1"}});
    ask(&host, &admin(), "POST", CLUSTERS, cluster).await.done();
    ask(&host, &viewer, "GET", "/clusters/shoot--p--a/api/v1/nodes", Value::Null).await.done();
}

#[tokio::test]
async fn no_user_grants_more_than_it_has() {
    let host = host().await;
    let jane = user("jane", &[]);
    bind(&host, "shoot--p--a", "default", "admin", "jane").await;
    let roles = format!("/clusters/shoot--p--a/{RBAC}/namespaces/default/roles");
    let role = |name: &str, resource: &str| {
        json!({
            "metadata": {"name": name},
            "rules": [{"verbs": ["get", "escalate"], "apiGroups": [""], "resources": [resource]}],
        })
    };
    let pods = json!({
        "metadata": {"name": "pods"},
        "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
    });
    ask(&host, &jane, "POST", &roles, pods).await.done();
    ask(&host, &jane, "POST", &roles, role("nodes", "nodes")).await.refused(
        403,
        "roles.rbac.authorization.k8s.io \"nodes\" is forbidden: user \"jane\" (groups=[\"system:authenticated\"]) is \
         attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"nodes\"], \
         Verbs:[\"get\" \"escalate\"]}",
    );
    let bindings = format!("/clusters/shoot--p--a/{RBAC}/namespaces/default/rolebindings");
    let binding = |role: &str| {
        json!({
            "metadata": {"name": role},
            "roleRef": {"kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "User", "name": "john"}],
        })
    };
    ask(&host, &jane, "POST", &bindings, binding("view")).await.done();
    ask(&host, &jane, "POST", &bindings, binding("cluster-admin")).await.refused(
        403,
        "rolebindings.rbac.authorization.k8s.io \"cluster-admin\" is forbidden: user \"jane\" \
         (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n\
         {APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}\n{NonResourceURLs:[\"*\"], Verbs:[\"*\"]}",
    );
    ask(&host, &jane, "POST", &bindings, binding("missing"))
        .await
        .refused(404, "clusterroles.rbac.authorization.k8s.io \"missing\" not found");
    // The verb `bind` suffices to bind a role whose permissions the user does not have.
    let binder = json!({
        "metadata": {"name": "binder"},
        "rules": [
            {"verbs": ["bind"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"],
             "resourceNames": ["cluster-admin"]},
            {"verbs": ["escalate"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"]},
        ],
    });
    ask(&host, &admin(), "POST", &format!("/clusters/shoot--p--a/{RBAC}/clusterroles"), binder).await.done();
    bind(&host, "shoot--p--a", "default", "binder", "jane").await;
    ask(&host, &jane, "POST", &bindings, binding("cluster-admin")).await.done();
    ask(&host, &jane, "POST", &roles, role("nodes", "nodes")).await.done();
    // A change of only the metadata that deletions need requires no such permission.
    let path = format!("{bindings}/cluster-admin");
    let request = http::Request::patch(&path)
        .header("content-type", "application/merge-patch+json")
        .body(full(json!({"metadata": {"finalizers": ["a.b/c"]}}).to_string()))
        .expect("a request");
    assert_eq!(host.transport(jane.clone()).send(request).await.expect("a response").status(), 200);
}

#[tokio::test]
async fn roles_are_judged_before_they_are_stored() {
    let host = host().await;
    let roles = format!("/clusters/shoot--p--a/{RBAC}/namespaces/default/roles");
    let body = json!({"metadata": {"name": "x"}, "rules": [{"apiGroups": [""], "resources": ["pods"]}]});
    ask(&host, &admin(), "POST", &roles, body).await.refused(
        422,
        "Role.rbac.authorization.k8s.io \"x\" is invalid: rules[0].verbs: Required value: verbs must contain at least \
         one value",
    );
    bind(&host, "shoot--p--a", "default", "view", "jane").await;
    let path = format!("/clusters/shoot--p--a/{RBAC}/namespaces/default/rolebindings/view-jane");
    let mut binding = ask(&host, &admin(), "GET", &path, Value::Null).await.done();
    assert_eq!(binding["subjects"][0]["apiGroup"], "rbac.authorization.k8s.io");
    binding["roleRef"]["name"] = json!("edit");
    ask(&host, &admin(), "PUT", &path, binding).await.refused(
        422,
        "RoleBinding.rbac.authorization.k8s.io \"view-jane\" is invalid: roleRef: Invalid value: \
         {\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"edit\"}: cannot change roleRef",
    );
}

#[tokio::test]
async fn all_users_may_review_their_own_access() {
    let host = host().await;
    let jane = user("jane", &["devs"]);
    let who = "/clusters/shoot--p--a/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let me = ask(&host, &jane, "POST", who, json!({})).await.done();
    assert_eq!(me["status"]["userInfo"]["username"], "jane");
    let rules = "/clusters/shoot--p--a/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let body = json!({"spec": {"namespace": "default"}});
    let status = ask(&host, &jane, "POST", rules, body.clone()).await.done()["status"].clone();
    assert_eq!(status["incomplete"], false);
    let reviews = json!({
        "verbs": ["create"],
        "apiGroups": ["authorization.k8s.io"],
        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    });
    assert!(status["resourceRules"].as_array().expect("rules").contains(&reviews), "{status}");
    bind(&host, "shoot--p--a", "default", "view", "jane").await;
    let status = ask(&host, &jane, "POST", rules, body).await.done()["status"].clone();
    let pods = |rule: &Value| rule["resources"].as_array().is_some_and(|all| all.contains(&json!("pods")));
    assert!(status["resourceRules"].as_array().expect("rules").iter().any(pods), "{status}");

    // Reviews of other users need a permission of their own.
    let others = "/clusters/shoot--p--a/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let body = json!({"spec": {
        "user": "jane",
        "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"},
    }});
    assert_eq!(ask(&host, &jane, "POST", others, body.clone()).await.0, 403);
    assert_eq!(ask(&host, &admin(), "POST", others, body).await.done()["status"]["allowed"], true);
}

#[tokio::test]
async fn seeds_are_for_their_own_gardenlet() {
    let host = host().await;
    let seeds = ["gardener.cloud:system:seeds"];
    let own = component("gardener.cloud:system:seed:a", &seeds);
    let other = component("gardener.cloud:system:seed:b", &seeds);
    let pretender = user("gardener.cloud:system:seed:a", &seeds);
    let path = "/clusters/seed--a/api/v1/namespaces";
    ask(&host, &admin(), "GET", "/clusters/garden/api/v1/namespaces", Value::Null).await.done();
    // No Seed names the cluster's owner yet.
    ask(&host, &other, "POST", path, json!({"metadata": {"name": "x"}})).await.done();
    ask(&host, &own, "POST", path, json!({"metadata": {"name": "y"}})).await.done();
    assert_eq!(ask(&host, &pretender, "POST", path, json!({"metadata": {"name": "z"}})).await.0, 403);
    // Components may read all clusters at once.
    ask(&host, &own, "GET", "/clusters/*/api/v1/namespaces", Value::Null).await.done();
    assert_eq!(ask(&host, &pretender, "GET", "/clusters/*/api/v1/namespaces", Value::Null).await.0, 403);
    // A gardenlet may read the clusters and the faults of the landscape.
    ask(&host, &own, "GET", CLUSTERS, Value::Null).await.done();
    let faults = "/clusters/runtime/apis/terrarium.dev/v1alpha1/faults";
    ask(&host, &own, "GET", faults, Value::Null).await.done();
    assert_eq!(ask(&host, &own, "DELETE", faults, Value::Null).await.0, 403);
    assert_eq!(ask(&host, &own, "GET", "/clusters/runtime/api/v1/secrets", Value::Null).await.0, 403);
    // In the garden it may access only the objects of its seed.
    let secrets = "/clusters/garden/api/v1/namespaces/default/secrets";
    ask(&host, &pretender, "GET", &format!("{secrets}/x"), Value::Null).await.refused(
        403,
        "secrets \"x\" is forbidden: User \"gardener.cloud:system:seed:a\" cannot get resource \"secrets\" in API group \
         \"\" in the namespace \"default\": no relationship found between seed 'a' and this object",
    );
    ask(&host, &pretender, "POST", secrets, json!({"metadata": {"name": "x"}})).await.refused(
        403,
        "admission webhook \"seed-restriction.gardener.cloud\" denied the request: object does not belong to seed \"a\"",
    );
}

#[tokio::test]
async fn an_aggregated_group_is_refused_before_anybody_serves_it() {
    let host = host().await;
    let shoots = "/clusters/garden/apis/core.gardener.cloud/v1beta1/namespaces/garden-dev/shoots";
    ask(&host, &user("jane", &[]), "GET", shoots, Value::Null).await.refused(
        403,
        "shoots.core.gardener.cloud is forbidden: User \"jane\" cannot list resource \"shoots\" in API group \
         \"core.gardener.cloud\" in the namespace \"garden-dev\"",
    );
    let anonymous = generic_apiserver::authentication::anonymous();
    for (path, expected) in
        [("version", 200), ("readyz", 200), ("api", 403), ("apis/core.gardener.cloud/v1beta1/seeds", 403)]
    {
        let answer = ask(&host, &anonymous, "GET", &format!("/clusters/garden/{path}"), Value::Null).await;
        assert_eq!(answer.0, expected, "{path}");
    }
    assert_eq!(ask(&host, &admin(), "GET", shoots, Value::Null).await.0, 503);
    bind(&host, "garden", "", "gardener.cloud:viewer", "jane").await;
    assert_eq!(ask(&host, &user("jane", &[]), "GET", shoots, Value::Null).await.0, 503);
}

/// A host without RBAC allows everything to every authenticated user, and its log has no roles.
#[tokio::test]
async fn a_host_without_roles_stores_none() {
    let host = crate::support::host().await;
    let list = ask(&host, &admin(), "GET", &format!("/clusters/garden/{RBAC}/clusterroles"), Value::Null).await.done();
    assert!(names(&list).is_empty());
    ask(&host, &user("jane", &[]), "GET", "/clusters/garden/api/v1/secrets", Value::Null).await.done();
}

const REQUESTS: &str = "/clusters/seed--a/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// Writing approvals and certificates needs a permission for the signer in addition.
#[tokio::test]
async fn approval_and_signing_need_permission_for_the_signer() {
    let host = host().await;
    let request = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K";
    let spec = json!({"request": request, "signerName": "example.com/own", "usages": ["client auth"]});
    ask(&host, &admin(), "POST", REQUESTS, json!({"metadata": {"name": "r"}, "spec": spec})).await.done();
    let roles = format!("/clusters/seed--a/{RBAC}/clusterroles");
    let role = |name: &str, rules: Value| json!({"metadata": {"name": name}, "rules": rules});
    let group = json!(["certificates.k8s.io"]);
    let writes = json!([
        {"apiGroups": group, "resources": ["certificatesigningrequests/approval", "certificatesigningrequests/status"],
         "verbs": ["update"]},
        {"apiGroups": group, "resources": ["certificatesigningrequests"], "verbs": ["get"]},
    ]);
    ask(&host, &admin(), "POST", &roles, role("writer", writes)).await.done();
    bind(&host, "seed--a", "", "writer", "jane").await;
    let jane = user("jane", &[]);
    let path = format!("{REQUESTS}/r");
    let stored = ask(&host, &jane, "GET", &path, Value::Null).await.done();
    let mut approved = stored.clone();
    approved["status"]["conditions"] = json!([{"type": "Approved", "status": "True", "reason": "x"}]);
    let mut signed = stored.clone();
    signed["status"]["certificate"] = json!("eA==");
    let refusal = |verb: &str| {
        format!(
            "certificatesigningrequests.certificates.k8s.io \"r\" is forbidden: user not permitted to {verb} requests with \
             signerName \"example.com/own\""
        )
    };
    ask(&host, &jane, "PUT", &format!("{path}/approval"), approved.clone()).await.refused(403, &refusal("approve"));
    ask(&host, &jane, "PUT", &format!("{path}/status"), signed).await.refused(403, &refusal("sign"));
    let rules = json!([{"apiGroups": group, "resources": ["signers"], "resourceNames": ["example.com/*"], "verbs": ["approve"]}]);
    ask(&host, &admin(), "POST", &roles, role("approver", rules)).await.done();
    bind(&host, "seed--a", "", "approver", "jane").await;
    let approved = ask(&host, &jane, "PUT", &format!("{path}/approval"), approved).await.done();
    assert_eq!(approved["status"]["conditions"][0]["type"], "Approved");
}
