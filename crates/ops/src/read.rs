// SPDX-License-Identifier: Apache-2.0
//! Reading what has no type here: trees of JSON by the path of the API.

use apimachinery::catalogue::ResourceInfo;
use http::{Request, StatusCode, header};
use http_body_util::BodyExt;
use process::Transport;
use process::transport::full;
use serde_json::Value;

use crate::Error;

/// Path of a collection, or of an object in it.
pub fn path(cluster: &str, row: &ResourceInfo, namespace: Option<&str>, name: Option<&str>) -> String {
    let mut path = format!("/clusters/{cluster}");
    path.push_str(if row.group.is_empty() { "/api" } else { "/apis" });
    let namespace = namespace.filter(|namespace| row.namespaced && !namespace.is_empty());
    let parts =
        [Some(row.group), Some(row.version), namespace.map(|_| "namespaces"), namespace, Some(row.plural), name];
    for part in parts.into_iter().flatten().filter(|part| !part.is_empty()) {
        path.push('/');
        path.push_str(part);
    }
    path
}

/// The tree that a GET answers.
///
/// # Errors
/// The server's words.
pub async fn tree(transport: &Transport, path: &str) -> Result<Value, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::Failed(format!("GET {path}: {error}"));
    let request = Request::get(path).header(header::ACCEPT, "application/json").body(full(""));
    let request = request.map_err(|error| failed(&error))?;
    let response = transport.send(request).await.map_err(|error| failed(&error))?;
    let status = response.status();
    let body = response.into_body().collect().await.map_err(|error| failed(&error))?.to_bytes();
    if status != StatusCode::OK {
        return Err(failed(&String::from_utf8_lossy(&body).trim()));
    }
    serde_json::from_slice(&body).map_err(|error| failed(&error))
}
