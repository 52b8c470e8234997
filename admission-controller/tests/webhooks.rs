// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/admissioncontroller/webhook/admission/{namespacedeletion,kubeconfigsecret,shootkubeconfigsecretref} @
//! v1.120.0: they put objects, send a request, and compare the response.

use admission_controller::{Options, Webhooks};
use api::core::{Project, Shoot};
use api::kubernetes::core::Namespace;
use http_body_util::BodyExt;
use process::transport::full;
use serde_json::{Value, json};
use testkit::{World, instant, object};

/// Returns status code and body of a path's answer.
fn asked(world: &World, path: &str, body: String) -> (u16, String) {
    let webhooks = Webhooks::new(world.context(), Options::default());
    let mut request = process::Request::new(full(body));
    *request.uri_mut() = path.parse().expect("a path");
    world.run(async {
        let response = webhooks.call(request).await.expect("it answers");
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.expect("a whole body").to_bytes();
        (code, String::from_utf8_lossy(&body).into_owned())
    })
}

/// Returns the message of a rejection; `None`: allowed.
fn refusal(world: &World, webhook: &str, request: &Value) -> Option<String> {
    let mut question = json!({"uid": "1", "resource": {"version": "v1", "resource": "secrets"}, "operation": "UPDATE"});
    apimachinery::patch::merge_patch(&mut question, request);
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": question});
    let (code, body) = asked(world, &format!("/webhooks/{webhook}"), review.to_string());
    assert_eq!(code, 200, "{body}");
    let answer: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!((&answer["apiVersion"], &answer["response"]["uid"]), (&json!("admission.k8s.io/v1"), &json!("1")));
    let message = answer["response"]["status"]["message"].as_str().map(str::to_owned);
    if answer["response"]["allowed"] == true { None } else { Some(message.unwrap_or_default()) }
}

fn world() -> World {
    World::at("2025-06-02T12:00:00Z").component("gardener-admission-controller", "v1.120.0")
}

fn namespace() -> Namespace {
    object(json!({"metadata": {"name": "garden-dev", "labels": {"project.gardener.cloud/name": "dev"}}}))
}

fn project(is_leaving: bool) -> Project {
    let mut project: Project = object(json!({"metadata": {"name": "dev", "finalizers": ["gardener"]}}));
    project.metadata.deletion_timestamp = is_leaving.then(|| instant("2025-06-02T11:00:00Z").into());
    project
}

fn deletion() -> Value {
    json!({"operation": "DELETE", "name": "garden-dev", "resource": {"resource": "namespaces"}})
}

const NAMESPACE_DELETION: &str = "validate-namespace-deletion";

#[test]
fn a_namespace_stays_as_long_as_its_project() {
    let refused = refusal(&world().with(namespace()).with(project(false)), NAMESPACE_DELETION, &deletion());
    let text = "Direct deletion of namespace \"garden-dev\" is not permitted (you must delete the corresponding project \"dev\")";
    assert!(
        refused.as_deref().is_some_and(|message| message.to_lowercase().contains(&text.to_lowercase())),
        "{refused:?}"
    );
}

#[test]
fn deleted_projects_keep_their_namespace_while_it_has_shoots() {
    let shoot: Shoot = object(json!({"metadata": {"name": "s", "namespace": "garden-dev"}}));
    let world = world().with(namespace()).with(project(true)).with(shoot);
    let refused = refusal(&world, NAMESPACE_DELETION, &deletion()).expect("it is refused");
    assert!(refused.contains("still contains Shoots"), "{refused}");
    world.remove::<Shoot>("garden-dev", "s");
    assert_eq!(refusal(&world, NAMESPACE_DELETION, &deletion()), None);
}

#[test]
fn other_namespaces_may_be_deleted() {
    let plain: Namespace = object(json!({"metadata": {"name": "garden-dev"}}));
    assert_eq!(refusal(&world().with(plain), NAMESPACE_DELETION, &deletion()), None, "of no project");
    assert_eq!(refusal(&world().with(namespace()), NAMESPACE_DELETION, &deletion()), None, "its project is gone");
    assert_eq!(refusal(&world(), NAMESPACE_DELETION, &deletion()), None, "it is gone itself");
}

#[test]
fn a_kubeconfig_that_runs_programs_or_reads_files_is_refused() {
    let secret = |user: &str| {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\nclusters: [{{name: c, cluster: {{server: 'https://a'}}}}]\nusers: [{{name: u, user: {user}}}]\n"
        );
        let value = base64(text.as_bytes());
        json!({"name": "k", "object": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "k", "namespace": "garden-dev"},
            "data": {"kubeconfig": value}}})
    };
    let webhook = "validate-kubeconfig-secrets";
    assert_eq!(refusal(&world(), webhook, &secret("{token: abc}")), None);
    for bad in ["{exec: {command: rm, apiVersion: client.authentication.k8s.io/v1}}", "{tokenFile: /etc/passwd}"] {
        assert!(refusal(&world(), webhook, &secret(bad)).is_some(), "{bad}");
    }
    let mut deleted = secret("{tokenFile: /etc/passwd}");
    deleted["operation"] = json!("DELETE");
    assert_eq!(refusal(&world(), webhook, &deleted), None, "only what is written is looked at");
}

#[test]
fn a_kubeconfig_that_shoots_refer_to_cannot_be_taken_away() {
    let shoot: Shoot = object(json!({
        "metadata": {"name": "s", "namespace": "garden-dev"},
        "spec": {"kubernetes": {"kubeAPIServer": {"admissionPlugins": [{"name": "P", "kubeconfigSecretName": "k"}]}}},
    }));
    let emptied = json!({"name": "k", "namespace": "garden-dev",
        "object": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "k", "namespace": "garden-dev"}}});
    let webhook = "validate-shoot-kubeconfig-secret-ref";
    assert!(refusal(&world().with(shoot), webhook, &emptied).is_some());
    assert_eq!(refusal(&world(), webhook, &emptied), None);
}

#[test]
fn a_failed_look_up_is_an_internal_error() {
    let world = world().with(namespace());
    world.refuse("get namespaces garden-dev", apimachinery::Status::failure(503, "ServiceUnavailable", "no etcd"));
    assert!(refusal(&world, NAMESPACE_DELETION, &deletion()).is_some());
}

#[test]
fn unknown_paths_and_bodies_that_are_no_reviews_get_errors() {
    assert_eq!(asked(&world(), "/webhooks/other", String::new()), (404, "404 page not found\n".to_owned()));
    let (code, body) = asked(&world(), "/webhooks/validate-namespace-deletion", "{}".to_owned());
    assert_eq!(code, 400);
    assert!(body.starts_with("the body is no AdmissionReview: "), "{body}");
}

/// Encodes bytes as a Secret holds them.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let index = (bits >> (18 - 6 * place)) & 63;
            text.push(if place <= chunk.len() { char::from(ALPHABET[index as usize]) } else { '=' });
        }
    }
    text
}
