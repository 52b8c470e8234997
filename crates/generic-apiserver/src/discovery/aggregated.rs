// SPDX-License-Identifier: Apache-2.0
//! Discovery in one document: `apidiscovery.k8s.io` APIGroupDiscoveryList, with an ETag.

use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, VARY};
use process::Response;
use process::transport::full;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::groups::{Group, Resource};
use crate::status::json_response;

/// Items of `/api`.
pub(super) fn core(groups: &[Group<'_>]) -> Vec<Value> {
    groups.iter().filter(|group| group.name.is_empty()).map(item).collect()
}

/// Items of `/apis`.
pub(super) fn others(groups: &[Group<'_>]) -> Vec<Value> {
    groups.iter().filter(|group| !group.name.is_empty()).map(item).collect()
}

fn item(group: &Group<'_>) -> Value {
    let mut versions = Vec::new();
    for version in &group.versions {
        let resources: Vec<Value> = version.resources.iter().map(resource).collect();
        versions.push(json!({ "version": version.name, "freshness": "Current", "resources": resources }));
    }
    let metadata = match group.name {
        "" => json!({ "creationTimestamp": null }),
        name => json!({ "name": name, "creationTimestamp": null }),
    };
    json!({ "metadata": metadata, "versions": versions })
}

fn resource(resource: &Resource<'_>) -> Value {
    let info = resource.info;
    let mut entry = json!({
        "resource": info.plural,
        "responseKind": kind(info.group, info.version, info.kind),
        "scope": if info.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": info.singular,
        "verbs": resource.verbs,
    });
    if !info.short_names.is_empty() {
        entry["shortNames"] = json!(info.short_names);
    }
    if !info.categories.is_empty() {
        entry["categories"] = json!(info.categories);
    }
    if !resource.subresources.is_empty() {
        let subresources = resource.subresources.iter().map(|subresource| {
            json!({
                "subresource": subresource.name,
                "responseKind": kind(subresource.group, subresource.version, subresource.kind),
                "verbs": subresource.verbs,
            })
        });
        entry["subresources"] = subresources.collect();
    }
    entry
}

fn kind(group: &str, version: &str, kind: &str) -> Value {
    json!({ "group": group, "version": version, "kind": kind })
}

/// The document in a version of `apidiscovery.k8s.io`; 304 if the client `knows` it.
pub(super) fn response(items: Vec<Value>, version: &str, knows: &str) -> Response {
    let tree = json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {},
        "items": items,
    });
    let body = format!("{tree}\n");
    let etag = format!("\"{:X}\"", Sha256::digest(&body));
    let mut response = json_response(200, body);
    if knows.split(',').any(|known| known.trim() == etag) {
        *response.status_mut() = http::StatusCode::NOT_MODIFIED;
        *response.body_mut() = full("");
    }
    let headers = response.headers_mut();
    let type_ = format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList");
    for (name, value) in [(CONTENT_TYPE, type_), (ETAG, etag)] {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
    response
}
