// SPDX-License-Identifier: Apache-2.0
//! Discovery in the classic form: one document for each group and version.

use apimachinery::resource::group_version;
use serde_json::{Value, json};

use super::groups::Group;

pub(super) fn paths(groups: &[Group<'_>]) -> Value {
    let mut paths: Vec<String> =
        ["/api", "/apis", "/healthz", "/livez", "/metrics", "/readyz", "/version"].map(String::from).into();
    for group in groups {
        for version in &group.versions {
            paths.push(match group.name {
                "" => format!("/api/{}", version.name),
                name => format!("/apis/{name}/{}", version.name),
            });
        }
        if !group.name.is_empty() {
            paths.push(format!("/apis/{}", group.name));
        }
    }
    paths.sort();
    json!({ "paths": paths })
}

/// Returns `/api`; `server` is the address at which the client reached the server.
pub(super) fn versions(server: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": server }],
    })
}

pub(super) fn group_list(groups: &[Group<'_>]) -> Value {
    let groups: Vec<Value> = groups.iter().filter(|group| !group.name.is_empty()).map(fields).collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

pub(super) fn group(groups: &[Group<'_>], name: &str) -> Option<Value> {
    let mut group = fields(groups.iter().find(|group| group.name == name && !name.is_empty())?);
    group["kind"] = json!("APIGroup");
    group["apiVersion"] = json!("v1");
    Some(group)
}

fn fields(group: &Group<'_>) -> Value {
    let version = |name: &str| json!({ "groupVersion": group_version(group.name, name), "version": name });
    let versions: Vec<Value> = group.versions.iter().map(|known| version(known.name)).collect();
    json!({ "name": group.name, "versions": versions, "preferredVersion": versions.first() })
}

pub(super) fn resources(groups: &[Group<'_>], group: &str, version: &str) -> Option<Value> {
    let group = groups.iter().find(|known| known.name == group)?;
    let version = group.versions.iter().find(|known| known.name == version)?;
    let mut resources = Vec::new();
    for resource in &version.resources {
        let info = resource.info;
        let mut entry = json!({
            "name": info.plural,
            "singularName": info.singular,
            "namespaced": info.namespaced,
            "kind": info.kind,
            "verbs": resource.verbs,
        });
        if !info.short_names.is_empty() {
            entry["shortNames"] = json!(info.short_names);
        }
        if !info.categories.is_empty() {
            entry["categories"] = json!(info.categories);
        }
        resources.push(entry);
        for subresource in &resource.subresources {
            let mut entry = json!({
                "name": format!("{}/{}", info.plural, subresource.name),
                "singularName": "",
                "namespaced": info.namespaced,
                "kind": subresource.kind,
                "verbs": subresource.verbs,
            });
            if (subresource.group, subresource.version) != (info.group, info.version) {
                entry["group"] = json!(subresource.group);
                entry["version"] = json!(subresource.version);
            }
            resources.push(entry);
        }
    }
    Some(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version(group.name, version.name),
        "resources": resources,
    }))
}
