// SPDX-License-Identifier: Apache-2.0
//! Paths that are no resource: discovery in its classic form, version, health.
//!
//! Aggregated discovery (`APIGroupDiscoveryList`) and OpenAPI have their place in [`answer`] and are not served yet:
//! clients that ask for the former also accept the classic form.

use std::collections::BTreeMap;
use std::sync::Arc;

use apimachinery::resource::group_version;
use process::Response;
use serde_json::{Value, json};

use crate::clusters::Cluster;
use crate::kind::Kind;
use crate::request::Call;
use crate::server::{Inner, healthy};
use crate::status::json_response;

const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// `None` for a path that is not served.
pub(crate) fn answer(server: &Inner, call: &Call, cluster: Option<&Cluster>) -> Option<Response> {
    let served = |kind: &&Arc<dyn Kind>| server.clusters.serves(&call.route.cluster, &kind.names().info);
    let kinds: Vec<&Arc<dyn Kind>> = server.rows.values().map(|row| &row.kind).filter(served).collect();
    let segments: Vec<&str> = call.route.path.split('/').skip(1).collect();
    let tree = match segments.as_slice() {
        [""] => paths(&kinds),
        ["healthz" | "livez" | "readyz", ..] => return Some(healthy()),
        ["version"] => version(&cluster?.kubernetes_version),
        ["api"] => json!({
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [],
        }),
        ["api", version] => resources(&kinds, "", version)?,
        ["apis"] => json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups(&kinds) }),
        ["apis", group] => {
            let mut found = groups(&kinds).into_iter().find(|known| known["name"] == **group)?;
            found["kind"] = json!("APIGroup");
            found["apiVersion"] = json!("v1");
            found
        }
        ["apis", group, version] => resources(&kinds, group, version)?,
        _ => return None,
    };
    Some(json_response(200, format!("{tree}\n")))
}

fn version(kubernetes: &str) -> Value {
    let mut numbers = kubernetes.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    json!({
        "major": major,
        "minor": minor,
        "gitVersion": format!("v{}", kubernetes.trim_start_matches('v')),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "gc",
        "platform": "linux/amd64",
    })
}

fn paths(kinds: &[&Arc<dyn Kind>]) -> Value {
    let mut paths: Vec<String> =
        ["/api", "/apis", "/healthz", "/livez", "/readyz", "/version"].map(String::from).into();
    for kind in kinds {
        let names = kind.names();
        if names.info.group.is_empty() {
            paths.push(format!("/api/{}", names.info.version));
        } else {
            paths.push(format!("/apis/{}", names.info.group));
            paths.push(format!("/apis/{}", names.api_version));
        }
    }
    paths.sort();
    paths.dedup();
    json!({ "paths": paths })
}

fn groups(kinds: &[&Arc<dyn Kind>]) -> Vec<Value> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for kind in kinds {
        let info = &kind.names().info;
        let versions = groups.entry(info.group).or_default();
        if !versions.contains(&info.version) {
            versions.push(info.version);
        }
    }
    groups.remove("");
    let group = |(name, mut versions): (&str, Vec<&str>)| {
        versions.sort_by_key(|version| preference(version));
        let versions: Vec<Value> = versions
            .iter()
            .map(|version| json!({ "groupVersion": group_version(name, version), "version": version }))
            .collect();
        json!({ "name": name, "versions": versions, "preferredVersion": versions[0] })
    };
    groups.into_iter().map(group).collect()
}

/// Stable versions before beta before alpha, newer ones first.
fn preference(version: &str) -> (u8, std::cmp::Reverse<u32>) {
    let stage = match version {
        version if version.contains("alpha") => 2,
        version if version.contains("beta") => 1,
        _ => 0,
    };
    let digits: String = version.chars().skip(1).take_while(char::is_ascii_digit).collect();
    (stage, std::cmp::Reverse(digits.parse().unwrap_or(0)))
}

fn resources(kinds: &[&Arc<dyn Kind>], group: &str, version: &str) -> Option<Value> {
    let mut resources = Vec::new();
    for kind in kinds {
        let info = &kind.names().info;
        if info.group != group || info.version != version {
            continue;
        }
        let mut entry = json!({
            "name": info.plural,
            "singularName": info.singular,
            "namespaced": info.namespaced,
            "kind": info.kind,
            "verbs": VERBS,
        });
        if !info.short_names.is_empty() {
            entry["shortNames"] = json!(info.short_names);
        }
        if !info.categories.is_empty() {
            entry["categories"] = json!(info.categories);
        }
        resources.push(entry);
        for subresource in info.subresources {
            let mut entry = json!({
                "name": format!("{}/{subresource}", info.plural),
                "singularName": "",
                "namespaced": info.namespaced,
                "kind": info.kind,
                "verbs": if *subresource == "finalize" { vec!["update"] } else { vec!["get", "patch", "update"] },
            });
            if *subresource == "scale" {
                entry["group"] = json!("autoscaling");
                entry["version"] = json!("v1");
                entry["kind"] = json!("Scale");
            }
            resources.push(entry);
        }
    }
    if resources.is_empty() {
        return None;
    }
    resources.sort_by(|left, right| left["name"].as_str().cmp(&right["name"].as_str()));
    Some(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version(group, version),
        "resources": resources,
    }))
}
