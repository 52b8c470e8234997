// SPDX-License-Identifier: Apache-2.0
//! Asking a landscape's API and printing what it says, as kubectl does.
//!
//! Works over any [`Transport`]: that of a landscape which runs, or of servers over the log of one which does not. The
//! server makes the rows, ages included, so that they are landscape ages; nothing here reads a clock.
//!
//! **Tour.** [`clusters`], [`kinds`], [`shoots`] what people call them; [`query`] reading objects;
//! [`lines`] reading streams; [`table`] printing rows.

pub(crate) mod clusters;
pub(crate) mod kinds;
pub(crate) mod lines;
pub(crate) mod query;
pub(crate) mod shoots;
pub(crate) mod table;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use process::transport::full;
use process::{Response, Transport};
use serde_json::Value;

use crate::failure::Failure;

/// The answer to a GET, if it is a success.
///
/// # Errors
/// The server's own words.
pub(crate) async fn response(transport: &Transport, path: &str, accept: &str) -> Result<Response, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Failed(format!("GET {path}: {error}"));
    let request = Request::get(path).header(ACCEPT, accept).body(full("")).map_err(|error| failed(&error))?;
    let response = transport.send(request).await.map_err(|error| failed(&error))?;
    let code = response.status();
    if code == StatusCode::OK {
        return Ok(response);
    }
    let body = response.into_body().collect().await.map_err(|error| failed(&error))?.to_bytes();
    Err(refusal(code, &body))
}

/// The tree that a GET answers.
pub(crate) async fn tree(transport: &Transport, path: &str, accept: &str) -> Result<Value, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Failed(format!("GET {path}: {error}"));
    let body = response(transport, path, accept).await?.into_body();
    let body = body.collect().await.map_err(|error| failed(&error))?.to_bytes();
    serde_json::from_slice(&body).map_err(|error| failed(&error))
}

/// The tree that a POST answers which creates something.
///
/// # Errors
/// The server's own words.
pub(crate) async fn create(
    transport: &Transport,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> Result<Value, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Failed(format!("POST {path}: {error}"));
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

/// As kubectl words it.
fn refusal(code: StatusCode, body: &[u8]) -> Failure {
    let status: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = match (status["reason"].as_str(), status["message"].as_str()) {
        (Some(reason), Some(message)) if !reason.is_empty() => format!("from server ({reason}): {message}"),
        (_, Some(message)) => format!("from server: {message}"),
        _ => format!("from server: {code}: {}", String::from_utf8_lossy(body).trim()),
    };
    Failure::Failed(text)
}
