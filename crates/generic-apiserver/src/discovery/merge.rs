// SPDX-License-Identifier: Apache-2.0
//! The list of groups of several servers that together are one API.

use futures::future::BoxFuture;
use http::header::{ACCEPT, HeaderMap, IF_NONE_MATCH};
use http_body_util::BodyExt;
use process::Response;
use serde_json::{Value, json};

use super::aggregated;
use super::groups::place;
use crate::negotiation::discovery_form;
use crate::status::json_response;

/// A group whose server cannot be reached.
#[derive(Clone, Copy, Debug)]
pub struct StaleGroup<'a> {
    /// Name of the group.
    pub group: &'a str,
    /// Versions, the preferred first.
    pub versions: &'a [&'a str],
}

/// Merges what servers answered to one GET of `/apis` (or `/api`, which only one of them has anything to say to).
///
/// `headers` are the client's. The servers are to be asked with the same `Accept`, and without `If-None-Match` and
/// `Accept-Encoding`. The first answer is the front server's own and is handed on as it is when it is no success;
/// answers of others that are none
/// count for nothing. Of a group that several serve the first counts. Groups in `stale` that nobody has answered for are
/// told as such: clients go on with the others.
pub fn merge<'a>(
    headers: &'a HeaderMap,
    answers: Vec<Response>,
    stale: &'a [StaleGroup<'_>],
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
        for group in stale {
            if !entries.iter().any(|known| name(known) == group.group) {
                entries.push(stale_entry(group, form.is_some()));
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

/// Name of a group in either form.
fn name(entry: &Value) -> &str {
    entry["name"].as_str().or_else(|| entry["metadata"]["name"].as_str()).unwrap_or_default()
}

fn stale_entry(group: &StaleGroup<'_>, aggregated: bool) -> Value {
    if aggregated {
        let versions: Vec<Value> = (group.versions.iter())
            .map(|version| json!({ "version": version, "freshness": "Stale", "resources": [] }))
            .collect();
        return json!({ "metadata": { "name": group.group, "creationTimestamp": null }, "versions": versions });
    }
    let versions: Vec<Value> = (group.versions.iter())
        .map(|version| json!({ "groupVersion": format!("{}/{version}", group.group), "version": version }))
        .collect();
    json!({ "name": group.group, "versions": versions, "preferredVersion": versions.first() })
}
