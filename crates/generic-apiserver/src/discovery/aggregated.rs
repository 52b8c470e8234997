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

/// Resources of an APIResourceList of a group and version. Entries without a name are left out.
pub(super) fn resources(list: &Value, group: &str, version: &str) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for listed in list["resources"].as_array().into_iter().flatten() {
        let Some(name) = listed["name"].as_str() else { continue };
        let own = |field: &str, default: &str| {
            listed[field].as_str().filter(|text| !text.is_empty()).unwrap_or(default).to_owned()
        };
        let response_kind =
            kind(&own("group", group), &own("version", version), listed["kind"].as_str().unwrap_or_default());
        if let Some((resource, subresource)) = name.split_once('/') {
            let entry = json!({
                "subresource": subresource, "responseKind": response_kind, "verbs": listed["verbs"],
            });
            let Some(parent) = all.iter_mut().find(|known| known["resource"] == resource) else { continue };
            match parent["subresources"].as_array_mut() {
                Some(subresources) => subresources.push(entry),
                None => parent["subresources"] = json!([entry]),
            }
            continue;
        }
        let mut entry = json!({
            "resource": name,
            "responseKind": response_kind,
            "scope": if listed["namespaced"] == true { "Namespaced" } else { "Cluster" },
            "singularResource": listed["singularName"].as_str().unwrap_or_default(),
            "verbs": listed["verbs"],
        });
        for field in ["shortNames", "categories"] {
            if !listed[field].is_null() {
                entry[field] = listed[field].clone();
            }
        }
        all.push(entry);
    }
    all
}

fn kind(group: &str, version: &str, kind: &str) -> Value {
    json!({ "group": group, "version": version, "kind": kind })
}

/// Returns the document in a version of `apidiscovery.k8s.io`; 304 if the client `knows` it.
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
