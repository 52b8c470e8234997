// SPDX-License-Identifier: Apache-2.0
//! Discovery in both forms, and the version.
//!
//! ```text
//! rows, views, reviews ─▶ groups ─┬▶ classic      APIVersions, APIGroupList, APIGroup, APIResourceList
//!                                 └▶ aggregated   APIGroupDiscoveryList v2 and v2beta1, by the header Accept
//! ```
//!
//! Clients use the aggregated form only if both `/api` and `/apis` return it; so a server in front of others merges
//! their responses with [`merge`].

mod aggregated;
mod classic;
mod groups;
mod merge;

use http::header::{ACCEPT, HOST, IF_NONE_MATCH};
use process::Response;
use serde::Serialize;

use crate::clusters::Cluster;
use crate::negotiation::discovery_form;
use crate::request::Call;
use crate::routes::Routes;
use crate::status::json_response;

pub use merge::{ExtensionGroup, ExtensionVersion, merge};

use groups::groups;

/// Answers a request from the routes of a server and of its delegate; `None`: the path is not served. `all`: resources
/// that their releases lack are shown, too.
pub(crate) fn answer(
    routes: &Routes,
    delegate: Option<&Routes>,
    call: &Call,
    cluster: Option<&Cluster>,
    all: bool,
) -> Option<Response> {
    let segments: Vec<&str> = call.route.path.split('/').skip(1).collect();
    let groups = groups(routes, delegate, &call.route.cluster, all);
    let form = discovery_form(call.header(ACCEPT));
    let known = call.header(IF_NONE_MATCH);
    let tree = match segments.as_slice() {
        // Indented for every client, like the version.
        [""] => return Some(json_response(200, format!("{:#}", classic::paths(&groups)))),
        ["version"] => return Some(json_response(200, version(&cluster?.kubernetes_version))),
        ["api"] => match form {
            Some(version) => return Some(aggregated::response(aggregated::core(&groups), version, known)),
            None => classic::versions(call.header(HOST)),
        },
        ["apis"] => match form {
            Some(version) => return Some(aggregated::response(aggregated::others(&groups), version, known)),
            None => classic::group_list(&groups),
        },
        ["api", version] => classic::resources(&groups, "", version)?,
        ["apis", group] => classic::group(&groups, group)?,
        ["apis", group, version] => classic::resources(&groups, group, version)?,
        _ => return None,
    };
    Some(json_response(200, format!("{tree}\n")))
}

/// `version.Info` of k8s.io/apimachinery, in its order.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Info<'a> {
    major: &'a str,
    minor: &'a str,
    git_version: &'a str,
    git_commit: &'a str,
    git_tree_state: &'a str,
    build_date: &'a str,
    go_version: &'a str,
    compiler: &'a str,
    platform: &'a str,
}

/// Returns the body of `/version` for a version: JSON, indented for every client, as upstream's is (`WriteRawJSON`).
pub fn version(version: &str) -> String {
    let version = version.trim_start_matches('v');
    let mut numbers = version.split('.');
    let info = Info {
        major: numbers.next().unwrap_or_default(),
        minor: numbers.next().unwrap_or_default(),
        git_version: &format!("v{version}"),
        git_commit: "0000000000000000000000000000000000000000",
        git_tree_state: "clean",
        build_date: "1970-01-01T00:00:00Z",
        go_version: "go1.24.2",
        compiler: "gc",
        platform: "linux/amd64",
    };
    serde_json::to_string_pretty(&info).unwrap_or_default()
}
