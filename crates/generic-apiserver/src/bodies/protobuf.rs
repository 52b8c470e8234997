// SPDX-License-Identifier: Apache-2.0
//! Protobuf bodies of requests: they are converted to JSON before they are read.

use std::fmt::Write as _;

use apimachinery::catalogue::ResourceInfo;
use apimachinery::meta::DeleteOptions;
use apimachinery::opaque;
use apimachinery::schema::{Node, Schema as _};
use bytes::Bytes;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde_json::json;

use crate::negotiation::{media, unsupported_body};
use crate::protobuf::{Envelope, MEDIA_TYPE, is_known};
use crate::request::Call;
use crate::status::{Failure, Result};
use crate::subresource::Facts;

/// The expected kind of a body.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) kind: &'static str,
    pub(crate) version: &'static str,
    pub(crate) schema: Node,
}

impl From<&ResourceInfo> for Expected {
    fn from(info: &ResourceInfo) -> Self {
        Self { kind: info.kind, version: info.version, schema: info.node() }
    }
}

impl From<Facts> for Expected {
    fn from(facts: Facts) -> Self {
        Self { kind: facts.kind, version: facts.version, schema: (facts.schema)() }
    }
}

/// Converts a protobuf body to JSON and changes the headers accordingly. The body of a DELETE is its options, whatever
/// is expected otherwise.
///
/// # Errors
/// 415 for a kind that has no message; 400 for an invalid message, with upstream's text.
pub(super) fn read(call: &mut Call, expected: impl FnOnce() -> Expected, body: Bytes) -> Result<Bytes> {
    // A patch in protobuf is refused where patches are read.
    let is_other = matches!(call.method, Method::GET | Method::HEAD | Method::PATCH);
    if media(call.header(CONTENT_TYPE)) != MEDIA_TYPE || is_other {
        return Ok(body);
    }
    let expected = if call.method == Method::DELETE {
        Expected { kind: "DeleteOptions", version: "v1", schema: DeleteOptions::node() }
    } else {
        expected()
    };
    if !is_known(&expected.schema) {
        return Err(unsupported_body(false));
    }
    if call.method == Method::DELETE && body.is_empty() {
        return Ok(body);
    }
    let kind = expected.kind;
    let envelope = Envelope::open(&body).map_err(|error| {
        let summary = summary(&body);
        Failure::BadRequest(format!(
            "the object provided is unrecognized (must be of type {kind}): {error} ({summary})"
        ))
    })?;
    let tree = if envelope.kind.is_empty() || envelope.kind == kind {
        envelope.tree(&expected.schema).map_err(|error| {
            let version = expected.version;
            Failure::BadRequest(format!("{kind} in version {version:?} cannot be handled as a {kind}: {error}"))
        })?
    } else if call.method == Method::DELETE {
        return Err(Failure::BadRequest("decoded object cannot be converted to DeleteOptions".to_owned()));
    } else {
        // The reader of the body refuses it because of its kind.
        json!({ "apiVersion": envelope.api_version, "kind": envelope.kind })
    };
    call.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(opaque::to_json(&tree).into())
}

/// Returns the beginning of a body: text if it may be JSON, otherwise its bytes.
pub(crate) fn summary(body: &[u8]) -> String {
    let shown = &body[..body.len().min(30)];
    let mut summary = match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(shown).into_owned(),
        Some(_) => shown.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }),
    };
    if body.len() > shown.len() {
        summary.push_str(" ...");
    }
    summary
}
