// SPDX-License-Identifier: Apache-2.0
//! Requests for resources without a Rust type: by API path, with JSON trees as results.

use apimachinery::catalogue::ResourceInfo;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use process::transport::full;
use process::{Response, Transport};
use serde_json::Value;

use crate::Error;

/// Returns the path of a collection, or of an object in it.
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

/// Returns the response to a GET if it succeeds.
///
/// # Errors
/// The server's error message.
pub async fn response(transport: &Transport, path: &str, accept: &str) -> Result<Response, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::Failed(format!("GET {path}: {error}"));
    let request = Request::get(path).header(ACCEPT, accept).body(full("")).map_err(|error| failed(&error))?;
    let response = transport.send(request).await.map_err(|error| failed(&error))?;
    let code = response.status();
    if code == StatusCode::OK {
        return Ok(response);
    }
    let body = response.into_body().collect().await.map_err(|error| failed(&error))?.to_bytes();
    Err(refusal(code, &body))
}

/// Returns the JSON tree of the response to a GET.
///
/// # Errors
/// The server's error message.
pub async fn tree(transport: &Transport, path: &str, accept: &str) -> Result<Value, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::Failed(format!("GET {path}: {error}"));
    let body = response(transport, path, accept).await?.into_body();
    let body = body.collect().await.map_err(|error| failed(&error))?.to_bytes();
    serde_json::from_slice(&body).map_err(|error| failed(&error))
}

/// Returns the text of the response to a GET.
///
/// # Errors
/// The server's error message.
pub async fn text(transport: &Transport, path: &str) -> Result<String, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::Failed(format!("GET {path}: {error}"));
    let body = response(transport, path, "*/*").await?.into_body();
    let body = body.collect().await.map_err(|error| failed(&error))?.to_bytes();
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// Sends a POST that creates an object, and returns the JSON tree of the response.
///
/// # Errors
/// The server's error message.
pub async fn create(transport: &Transport, path: &str, headers: &[(&str, &str)], body: &Value) -> Result<Value, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::Failed(format!("POST {path}: {error}"));
    let mut request = Request::post(path).header(CONTENT_TYPE, "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(full(body.to_string())).map_err(|error| failed(&error))?;
    let response = transport.send(request).await.map_err(|error| failed(&error))?;
    let code = response.status();
    let body = response.into_body().collect().await.map_err(|error| failed(&error))?.to_bytes();
    if code != StatusCode::CREATED {
        return Err(refusal(code, &body));
    }
    serde_json::from_slice(&body).map_err(|error| failed(&error))
}

/// Formats an error as kubectl does.
fn refusal(code: StatusCode, body: &[u8]) -> Error {
    let status: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = match (status["reason"].as_str(), status["message"].as_str()) {
        (Some(reason), Some(message)) if !reason.is_empty() => format!("from server ({reason}): {message}"),
        (_, Some(message)) => format!("from server: {message}"),
        _ => format!("from server: {code}: {}", String::from_utf8_lossy(body).trim()),
    };
    Error::Failed(text)
}
