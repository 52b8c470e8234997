// SPDX-License-Identifier: Apache-2.0
//! YAML at the edge: bodies become JSON before anybody reads them, answers become YAML after everybody has written them.
//!
//! **Deliberately absent**: YAML of watches and of apply patches, which have a media type of their own.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http_body_util::BodyExt;
use process::Response;
use process::transport::full;
use serde_json::Value;

use crate::negotiation::{media, prefers_yaml};
use crate::request::Call;
use crate::status::{Failure, Result};

const YAML: &str = "application/yaml";
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The body as JSON, if it is YAML; headers say then what it has become.
pub(crate) fn read(call: &mut Call, body: Bytes) -> Result<Bytes> {
    if body.is_empty() || media(call.header(CONTENT_TYPE)) != YAML {
        return Ok(body);
    }
    let tree: Value = serde_yaml_ng::from_slice(&body).map_err(|error| Failure::BadRequest(error.to_string()))?;
    call.headers.insert(CONTENT_TYPE, JSON);
    Ok(tree.to_string().into())
}

/// Whether the answer is to be YAML; headers then ask for JSON, from which it is made.
///
/// # Errors
/// 406 for a watch.
pub(crate) fn wanted(call: &mut Call, watch: bool) -> Result<bool> {
    if !prefers_yaml(call.header(ACCEPT)) {
        return Ok(false);
    }
    if watch {
        return Err(Failure::NotAcceptable("only the following media types are accepted: application/json".to_owned()));
    }
    call.headers.insert(ACCEPT, JSON);
    Ok(true)
}

/// The answer in YAML, unless it is no JSON.
pub(crate) async fn write(response: Response) -> Response {
    if response.headers().get(CONTENT_TYPE) != Some(&JSON) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(body) = body.collect().await else {
        parts.status = http::StatusCode::INTERNAL_SERVER_ERROR;
        return Response::from_parts(parts, full(""));
    };
    let body = body.to_bytes();
    let tree: Value = serde_json::from_slice(&body).unwrap_or_default();
    match serde_yaml_ng::to_string(&tree) {
        Ok(text) => {
            parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static(YAML));
            Response::from_parts(parts, full(text))
        }
        Err(_) => Response::from_parts(parts, full(body)),
    }
}
