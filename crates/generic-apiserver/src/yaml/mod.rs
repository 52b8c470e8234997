// SPDX-License-Identifier: Apache-2.0
//! YAML at the edge: bodies become JSON before anybody reads them, answers become YAML after everybody has written them.
//!
//! Apply patches are YAML of a media type of their own, and are read by who answers them.
//!
//! **Deliberately absent**: YAML of watches.

use std::cell::{Cell, RefCell};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http_body_util::BodyExt;
use process::Response;
use process::transport::full;
use serde::de::DeserializeSeed;
use serde_json::Value;

use self::scan::Extent;
use self::tree::Tree;
use crate::negotiation::{media, prefers_yaml};
use crate::request::Call;
use crate::status::{Failure, Result};

mod scan;
mod tree;

/// How deep a text may nest, and how many nodes it may have, before and after its aliases were replaced. An object that
/// can be stored stays far below either: it has 1.5 MiB.
const MOST: Extent = Extent { depth: 100, nodes: 500_000 };

const YAML: &str = "application/yaml";
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The body as JSON, if it is YAML; headers say then what it has become.
pub(crate) fn read(call: &mut Call, body: Bytes) -> Result<Bytes> {
    if body.is_empty() || !is_sent(call) {
        return Ok(body);
    }
    let (tree, duplicates) = parse(&body).map_err(Failure::BadRequest)?;
    call.duplicates = duplicates;
    call.headers.insert(CONTENT_TYPE, JSON);
    Ok(tree.to_string().into())
}

/// Whether the body of a request is YAML.
pub(crate) fn is_sent(call: &Call) -> bool {
    media(call.header(CONTENT_TYPE)) == YAML
}

/// Errors of a strict reading, as Go's library prints them together; `None`: there are none.
pub(crate) fn unmarshal_errors(duplicates: &[String]) -> Option<String> {
    (!duplicates.is_empty()).then(|| format!("yaml: unmarshal errors:\n  {}", duplicates.join("\n  ")))
}

/// The tree of a text, in which of duplicate keys the last counts, and what is to be said of each duplicate.
pub(crate) fn parse(body: &[u8]) -> std::result::Result<(Value, Vec<String>), String> {
    let extent = scan::extent(body, MOST);
    if extent.depth > MOST.depth {
        return Err("error converting YAML to JSON: yaml: exceeded max depth".to_owned());
    }
    if extent.nodes > MOST.nodes {
        return Err(format!("error converting YAML to JSON: yaml: more than {} nodes", MOST.nodes));
    }
    let (left, duplicates) = (Cell::new(MOST.nodes), RefCell::default());
    let tree = Tree { left: &left, duplicates: &duplicates }
        .deserialize(serde_yaml_ng::Deserializer::from_slice(body))
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(body);
    let said = duplicates.into_inner().into_iter().map(|name: String| {
        let is_key = |line: &str| {
            let mut behind = line.split(name.as_str()).skip(1);
            behind.any(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
        };
        let line = text.lines().enumerate().filter(|(_, line)| is_key(line)).last().map_or(1, |(index, _)| index + 1);
        format!("line {line}: key {name:?} already set in map")
    });
    Ok((tree, said.collect()))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn yaml_is_read_as_json() {
        let parse = |text: &[u8]| parse(text).map(|(tree, _)| tree);
        assert_eq!(
            parse(b"a: [1, -2, 1.5, yes, true, ~]\nb: {c: 'x'}\n"),
            Ok(json!({"a": [1, -2, 1.5, "yes", true, null], "b": {"c": "x"}}))
        );
        assert_eq!(parse(b"a: &x {b: 1}\nc: *x\n"), Ok(json!({"a": {"b": 1}, "c": {"b": 1}})));
        assert_eq!(parse(b""), Ok(Value::Null));
        assert!(parse(b"a: 1\n---\nb: 2\n").is_err(), "one document");
        assert!(parse(b"a: [1").is_err());
    }

    #[test]
    fn of_duplicates_the_last_counts_and_each_is_told() {
        let (tree, said) = parse(b"a: 1\nb:\n  c: x\n  'c': y\na: 2\n").expect("YAML");
        assert_eq!(tree, json!({"a": 2, "b": {"c": "y"}}));
        let told = ["line 4: key \"c\" already set in map", "line 5: key \"a\" already set in map"];
        assert_eq!(said, told);
        assert_eq!(unmarshal_errors(&said), Some(format!("yaml: unmarshal errors:\n  {}\n  {}", told[0], told[1])));
        assert_eq!(unmarshal_errors(&[]), None);
    }

    #[test]
    fn what_would_grow_without_bound_is_refused_before_it_does() {
        let refused = |text: &str, expected: &str| {
            let error = parse(text.as_bytes()).expect_err("too much");
            assert!(error.contains(expected), "{error}");
        };
        refused(&"[".repeat(2_900_000), "exceeded max depth");
        refused(&"- ".repeat(1_450_000), "exceeded max depth");
        refused(&"{a: ".repeat(700_000), "exceeded max depth");
        refused(&format!("[{}]", "[],".repeat(900_000)), "more than 500000 nodes");
        let mut laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
        for level in 1..9 {
            let before = level - 1;
            let items = vec![format!("*a{before}"); 10].join(", ");
            laughs = format!("{laughs}a{level}: &a{level} [{items}]\n");
        }
        assert!(parse(laughs.as_bytes()).is_err());
        // Few aliases, each for much.
        let much = vec!["x"; 20_000].join(", ");
        refused(&format!("a: &a [{much}]\nb: [{}]\n", vec!["*a"; 200].join(", ")), "too large once its aliases");
    }
}
