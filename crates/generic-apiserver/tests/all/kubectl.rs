// SPDX-License-Identifier: Apache-2.0
//! Replays every request that kubectl 1.27 to 1.33 sends for 142 commands; the response must have the right code and media type.
//!
//! `tests/all/vectors/kubectl-requests.jsonl` holds the recording: method, URL, `Accept` and `Content-Type`, and the
//! response of the recording server; no bodies. So each request is sent to a world built for it: its object exists if
//! the recorded response was a success, and is missing if it was 404; bodies are minimal for their media type, and
//! revisions, which the vectors call N, are the first.

use std::collections::{BTreeMap, BTreeSet};

use apimachinery::catalogue::ResourceInfo;
use apimachinery::schema::Node;
use apimachinery::{DynamicObject, Status};
use bytes::Bytes;
use futures::future::BoxFuture;
use generic_apiserver::admission::Reads;
use generic_apiserver::subresource::{self, Facts, Subresource, SubresourceRequest};
use generic_apiserver::{Builder, Strategy};
use process::{Response, Transport};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::wire::{Wire, read, send};
use crate::support::{World, row};

const VECTORS: &str = include_str!("vectors/kubectl-requests.jsonl");

#[derive(Deserialize)]
struct Command {
    command: String,
    requests: Vec<Recorded>,
}

#[derive(Deserialize)]
struct Recorded {
    kubectl: Vec<String>,
    sent: Vec<Sent>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sent {
    method: String,
    url: String,
    accept: String,
    content_type: Option<String>,
    answered: u16,
}

/// Resource path of a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    group: String,
    version: String,
    plural: String,
    namespace: String,
    name: String,
    subresource: String,
}

impl Sent {
    fn path(&self) -> &str {
        self.url.split('?').next().unwrap_or_default()
    }

    fn is_watch(&self) -> bool {
        self.url.contains("watch=true")
    }

    /// Returns the resource path; `None` for non-resource paths.
    fn place(&self) -> Option<Place> {
        let segments: Vec<&str> = self.path().split('/').skip(1).collect();
        let (group, version, rest) = match segments.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            _ => ("", rest),
        };
        let text = |index: usize| rest.get(index).copied().unwrap_or_default().to_owned();
        (!rest.is_empty()).then(|| Place {
            group: group.to_owned(),
            version: version.to_owned(),
            namespace: namespace.to_owned(),
            plural: text(0),
            name: text(1),
            subresource: text(2),
        })
    }

    /// Returns the reason for which a request is not replayed.
    fn skipped(&self) -> Option<&'static str> {
        let type_ = self.content_type.as_deref().unwrap_or_default();
        match type_ {
            _ if self.path().starts_with("/openapi/") => Some("OpenAPI has its own tests"),
            _ if self.url.contains("continue=") => Some("tokens of the recording server say nothing to us"),
            "application/vnd.kubernetes.protobuf" => Some("bodies in protobuf have their own tests"),
            _ => None,
        }
    }
}

struct Any;

impl Strategy<DynamicObject> for Any {
    fn allows_unconditional_update(&self) -> bool {
        true
    }
}

struct Eviction;

impl Subresource for Eviction {
    fn facts(&self) -> Facts {
        Facts { group: "policy", version: "v1", kind: "Eviction", verbs: &["create"], schema: || Node::Raw }
    }

    fn answer<'a>(&'a self, _: SubresourceRequest, _: &Reads<'_>) -> BoxFuture<'a, Result<Response, Status>> {
        Box::pin(async { Ok(subresource::object(201, &json!({"kind": "Status", "status": "Success"}))) })
    }
}

fn kind_of(plural: &str) -> &str {
    plural.strip_suffix('s').unwrap_or(plural)
}

/// Returns rows of all requested resources, built from the paths.
fn rows(places: &BTreeSet<Place>) -> Vec<ResourceInfo> {
    let keys: BTreeSet<_> = places.iter().map(|place| (&place.group, &place.version, &place.plural)).collect();
    let leak = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
    let row = |(group, version, plural): (&String, &String, &String)| {
        let of = |place: &&Place| (&place.group, &place.version, &place.plural) == (group, version, plural);
        let kind = leak(kind_of(plural));
        ResourceInfo {
            namespaced: places.iter().filter(of).any(|place| !place.namespace.is_empty()),
            subresources: if plural == "pods" { &["status", "eviction"] } else { &["status", "scale"] },
            field_selectors: match plural.as_str() {
                "events" => &[
                    ("involvedObject.uid", ".involvedObject.uid"),
                    ("involvedObject.name", ".involvedObject.name"),
                    ("involvedObject.namespace", ".involvedObject.namespace"),
                    ("involvedObject.kind", ".involvedObject.kind"),
                    ("involvedObject.apiVersion", ".involvedObject.apiVersion"),
                ],
                "pods" => &[("spec.nodeName", ".spec.nodeName"), ("status.phase", ".status.phase")],
                _ => &[],
            },
            ..row(leak(group), leak(version), kind, leak(plural))
        }
    };
    keys.into_iter().map(row).collect()
}

fn register(builder: Builder, rows: &[ResourceInfo]) -> Builder {
    rows.iter().fold(builder, |builder, row| {
        if row.plural.ends_with("reviews") {
            return builder.review(&ResourceInfo { subresources: &[], ..review(row) });
        }
        let builder = builder.resource::<DynamicObject>(row, Any);
        if row.plural == "pods" { builder.subresource(row, "eviction", Eviction) } else { builder }
    })
}

fn review(row: &ResourceInfo) -> ResourceInfo {
    let kind = match row.plural {
        "selfsubjectreviews" => "SelfSubjectReview",
        "selfsubjectaccessreviews" => "SelfSubjectAccessReview",
        _ => "SelfSubjectRulesReview",
    };
    ResourceInfo { kind, ..row.clone() }
}

struct Replay {
    world: World,
    client: Transport,
}

impl Replay {
    /// Creates the request's object, or makes sure that it is missing.
    async fn prepare(&self, sent: &Sent, place: &Place) {
        if place.name.is_empty() || place.plural.ends_with("reviews") {
            return;
        }
        let path = sent.path().trim_end_matches(&format!("/{}", place.subresource));
        let path = if place.subresource.is_empty() { sent.path() } else { path };
        let path = format!("/clusters/a{path}");
        let there = self.world.get(&path).await.code == 200;
        if sent.answered == 404 && there {
            self.world.send("DELETE", &path, &Value::Null).await.expect_code(200);
        }
        if sent.answered != 404 && !there {
            let collection = path.rsplit_once('/').expect("a path").0;
            let object = json!({"metadata": {"name": place.name}, "spec": {"replicas": 1}, "data": {"a": "b"}});
            self.world.send("POST", collection, &object).await.expect_code(201);
        }
    }

    /// Returns a minimal body.
    fn body(sent: &Sent, place: &Place) -> Bytes {
        let type_ = sent.content_type.as_deref().unwrap_or_default();
        let tree = match (sent.method.as_str(), type_) {
            ("POST", _) if place.plural.starts_with("selfsubject") => json!({
                "spec": {"namespace": "n", "nonResourceAttributes":
                    if place.plural.contains("access") { json!({"path": "/", "verb": "get"}) } else { Value::Null }}
            }),
            ("POST", _) if place.name.is_empty() => json!({"metadata": {"generateName": "new-"}}),
            ("POST", _) => json!({}),
            ("PUT", _) if place.subresource == "scale" => {
                json!({"metadata": {"name": place.name, "namespace": place.namespace}, "spec": {"replicas": 2}})
            }
            ("PUT", _) => json!({"metadata": {"name": place.name}}),
            ("PATCH", "application/json-patch+json") => json!([]),
            ("PATCH", "application/apply-patch+yaml") => json!({
                "apiVersion": if place.group.is_empty() { place.version.clone() } else { format!("{}/{}", place.group, place.version) },
                "kind": kind_of(&place.plural), "metadata": {"name": place.name},
            }),
            ("PATCH", _) if place.subresource == "scale" => json!({"spec": {"replicas": 2}}),
            ("PATCH" | "DELETE", _) => json!({}),
            _ => return Bytes::new(),
        };
        tree.to_string().into()
    }

    /// Sends the request and returns the error in the response, if any.
    async fn send(&self, sent: &Sent) -> Option<String> {
        let mut body = Bytes::new();
        if let Some(place) = sent.place() {
            self.prepare(sent, &place).await;
            body = Self::body(sent, &place);
        }
        let mut headers = vec![("accept", sent.accept.as_str())];
        headers.extend(sent.content_type.as_deref().map(|type_| ("content-type", type_)));
        let response =
            send(&self.client, &sent.method, &format!("/clusters/a{}", sent.url.replace("=N", "=1")), &headers, body)
                .await;
        let code = response.status().as_u16();
        let type_ = response.headers().get("content-type").and_then(|type_| type_.to_str().ok()).unwrap_or_default();
        let type_ = type_.to_owned();
        let right = match sent.answered {
            // The recording server supported less than an API server.
            404 | 409 | 415 | 500 => !matches!(code, 406 | 415 | 500..),
            200 if sent.is_watch() => return (code != 200).then(|| format!("a watch answers {code}")),
            expected => code == expected,
        };
        let tree = read(response).await.1;
        if !right {
            return Some(format!("{code} instead of {}: {tree}", sent.answered));
        }
        let aggregated = sent.accept.contains("apidiscovery.k8s.io");
        let expected = match () {
            () if aggregated && sent.accept.contains(";v=v2;") => {
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            }
            () if aggregated => "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
            () => "application/json",
        };
        if type_ != expected && !type_.starts_with("text/plain") {
            return Some(format!("{type_} instead of {expected}"));
        }
        let table = sent.accept.contains("as=Table") && code == 200;
        if table && tree["kind"] != "Table" { Some(format!("no table: {tree}")) } else { None }
    }
}

#[tokio::test]
async fn kubectl_gets_the_requested_answers() {
    let commands: Vec<Command> = VECTORS.lines().map(|line| serde_json::from_str(line).expect("a command")).collect();
    let all = || commands.iter().flat_map(|command| command.requests.iter().flat_map(|requests| &requests.sent));
    // Discovery of one group is a path of two segments below `/apis`, too short to be a resource.
    let places: BTreeSet<Place> = all().filter_map(Sent::place).collect();
    let rows = rows(&places);
    let world = World::with(|builder| register(builder, &rows)).await;
    for namespace in
        places.iter().map(|place| &place.namespace).filter(|name| !name.is_empty()).collect::<BTreeSet<_>>()
    {
        world
            .send("POST", "/clusters/a/api/v1/namespaces", &json!({"metadata": {"name": namespace}}))
            .await
            .expect_code(201);
    }
    let server = world.server.clone();
    let wire = Wire::new(move |request| server.call(request)).await;
    let replay = Replay { client: wire.user("kubernetes-admin", &["system:masters"]), world };

    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for command in &commands {
        for requests in &command.requests {
            for sent in &requests.sent {
                if let Some(reason) = sent.skipped() {
                    *counts.entry(reason).or_default() += 1;
                    continue;
                }
                *counts.entry("replayed").or_default() += 1;
                if let Some(what) = replay.send(sent).await {
                    let (command, versions) = (&command.command, requests.kubectl.join(" "));
                    wrong.push(format!("{command} ({versions}): {} {}: {what}", sent.method, sent.url));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all().count(), wrong.join("\n"));
    let expected = [
        ("replayed", 462),
        ("tokens of the recording server say nothing to us", 2),
        ("OpenAPI has its own tests", 154),
        ("bodies in protobuf have their own tests", 7),
    ];
    assert_eq!(counts, expected.into());
}
