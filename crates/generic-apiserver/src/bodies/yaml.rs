// SPDX-License-Identifier: Apache-2.0
//! YAML bodies: request bodies are converted to JSON before they are read, responses are converted to YAML after they
//! are written.
//!
//! Apply patches are YAML of their own media type, and are read by their handler.
//!
//! **Deliberately absent**: YAML of watches.

use ::yaml::{Duplicate, Limits};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http_body_util::BodyExt;
use process::Response;
use process::transport::full;
use serde_json::Value;

use crate::negotiation::{self, YAML, media, prefers_yaml};
use crate::request::Call;
use crate::status::{Failure, Result};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Converts a YAML body to JSON and changes the headers accordingly.
pub(super) fn read(call: &mut Call, body: Bytes) -> Result<Bytes> {
    if body.is_empty() || !is_sent(call) {
        return Ok(body);
    }
    let (tree, duplicates) = parse(&body).map_err(Failure::BadRequest)?;
    call.duplicates = duplicates;
    call.headers.insert(CONTENT_TYPE, JSON);
    Ok(tree.to_string().into())
}

/// True if the body of a request is YAML.
pub(crate) fn is_sent(call: &Call) -> bool {
    media(call.header(CONTENT_TYPE)) == YAML
}

/// Errors of a strict reading, joined as Go's library prints them; `None`: there are none.
pub(crate) fn unmarshal_errors(duplicates: &[String]) -> Option<String> {
    (!duplicates.is_empty()).then(|| format!("yaml: unmarshal errors:\n  {}", duplicates.join("\n  ")))
}

/// Parses a text to a tree, in which the last of duplicate keys counts, and a message for each duplicate.
pub(crate) fn parse(body: &[u8]) -> std::result::Result<(Value, Vec<String>), String> {
    let document =
        ::yaml::read(body, Limits::BODY).map_err(|error| format!("error converting YAML to JSON: {error}"))?;
    Ok((document.value, document.duplicates.iter().map(Duplicate::to_string).collect()))
}

/// Returns true if the response must be YAML; then the headers are changed to request JSON, which is converted later.
///
/// # Errors
/// 406 for a watch.
pub(crate) fn wanted(call: &mut Call, watch: bool, has_messages: bool) -> Result<bool> {
    if !prefers_yaml(call.header(ACCEPT)) {
        return Ok(false);
    }
    if watch {
        return Err(negotiation::no_such_stream(has_messages));
    }
    call.headers.insert(ACCEPT, JSON);
    Ok(true)
}

/// Converts the response to YAML, unless it is not JSON.
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
    match ::yaml::to_string(&tree) {
        Ok(text) => {
            parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static(YAML));
            Response::from_parts(parts, full(text))
        }
        Err(_) => Response::from_parts(parts, full(body)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn yaml_is_read_as_json() {
        let parse = |text: &[u8]| parse(text).map(|(tree, _)| tree);
        assert_eq!(
            parse(b"a: [1, -2, 1.5, yes, 'yes', ~]\nb: {c: 'x'}\n"),
            Ok(json!({"a": [1, -2, 1.5, true, "yes", null], "b": {"c": "x"}}))
        );
        let expected = "error converting YAML to JSON: yaml: line 1: did not find expected ',' or ']'";
        assert_eq!(parse(b"a: [1"), Err(expected.to_owned()));
    }

    #[test]
    fn the_last_duplicate_counts_and_each_is_reported() {
        let (tree, said) = parse(b"a: 1\nb:\n  c: x\n  'c': z\na: 2\n").expect("YAML");
        assert_eq!(tree, json!({"a": 2, "b": {"c": "z"}}));
        let told = ["line 4: key \"c\" already set in map", "line 5: key \"a\" already set in map"];
        assert_eq!(said, told);
        assert_eq!(unmarshal_errors(&said), Some(format!("yaml: unmarshal errors:\n  {}\n  {}", told[0], told[1])));
        assert_eq!(unmarshal_errors(&[]), None);
    }
}
