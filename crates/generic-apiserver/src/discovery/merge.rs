// SPDX-License-Identifier: Apache-2.0
//! The merged list of groups of several servers that form one API.

use futures::future::BoxFuture;
use http::header::{ACCEPT, HeaderMap, IF_NONE_MATCH};
use http_body_util::BodyExt;
use process::Response;
use serde_json::{Value, json};

use super::aggregated;
use super::groups::place;
use crate::negotiation::discovery_form;
use crate::status::json_response;

/// Group of extension API servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionGroup {
    /// Name of the group.
    pub name: String,
    /// Versions, the preferred first.
    pub versions: Vec<ExtensionVersion>,
}

/// Version of a group of extension API servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionVersion {
    /// Name of the version.
    pub name: String,
    /// APIResourceList of the server; `None`: it cannot be reached.
    pub resources: Option<Value>,
}

impl ExtensionGroup {
    /// Returns the APIGroup of the classic form.
    pub fn to_api_group(&self) -> Value {
        let mut group = self.classic();
        group["kind"] = json!("APIGroup");
        group["apiVersion"] = json!("v1");
        group
    }

    fn classic(&self) -> Value {
        let version = |version: &ExtensionVersion| json!({ "groupVersion": format!("{}/{}", self.name, version.name), "version": version.name });
        let versions: Vec<Value> = self.versions.iter().map(version).collect();
        json!({ "name": self.name, "versions": versions, "preferredVersion": versions.first() })
    }

    fn aggregated(&self) -> Value {
        let version = |version: &ExtensionVersion| {
            let (freshness, resources) = match &version.resources {
                Some(list) => ("Current", aggregated::resources(list, &self.name, &version.name)),
                None => ("Stale", Vec::new()),
            };
            json!({ "version": version.name, "freshness": freshness, "resources": resources })
        };
        let versions: Vec<Value> = self.versions.iter().map(version).collect();
        json!({ "metadata": { "name": self.name, "creationTimestamp": null }, "versions": versions })
    }
}

/// Merges the responses of servers to one GET of `/apis` (or `/api`, which only one of them serves).
///
/// `headers` are the client's. The requests to the servers must have the same `Accept`, and neither `If-None-Match` nor
/// `Accept-Encoding`. The first response is the front server's own and is returned as it is when it is not a success;
/// failures of the others are ignored. Of a group that several servers serve the first counts, and one of `extensions`
/// only if no server has it. Versions whose server cannot be reached are stale: clients continue without them.
pub fn merge<'a>(
    headers: &'a HeaderMap,
    answers: Vec<Response>,
    extensions: &'a [ExtensionGroup],
) -> BoxFuture<'a, Response> {
    Box::pin(async move {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let form = discovery_form(text(ACCEPT));
        let list = if form.is_some() { "items" } else { "groups" };
        let mut entries: Vec<Value> = Vec::new();
        for (index, answer) in answers.into_iter().enumerate() {
            if !answer.status().is_success() {
                if index == 0 {
                    return answer;
                }
                continue;
            }
            let Ok(body) = answer.into_body().collect().await else { continue };
            let mut tree: Value = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
            let Some(theirs) = tree[list].as_array_mut() else { continue };
            for entry in theirs.drain(..) {
                if !entries.iter().any(|known| name(known) == name(&entry)) {
                    entries.push(entry);
                }
            }
        }
        for group in extensions {
            if !entries.iter().any(|known| name(known) == group.name) {
                entries.push(if form.is_some() { group.aggregated() } else { group.classic() });
            }
        }
        entries.sort_by(|left, right| place(name(left)).cmp(&place(name(right))));
        match form {
            Some(version) => aggregated::response(entries, version, text(IF_NONE_MATCH)),
            None => {
                let tree = json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": entries });
                json_response(200, format!("{tree}\n"))
            }
        }
    })
}

/// Returns the name of a group in either form.
fn name(entry: &Value) -> &str {
    entry["name"].as_str().or_else(|| entry["metadata"]["name"].as_str()).unwrap_or_default()
}
