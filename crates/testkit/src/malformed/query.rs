// SPDX-License-Identifier: Apache-2.0
//! Parameters of a query.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::Draws;

/// Pieces of selectors.
const PIECES: [&str; 30] = [
    "a",
    "b/c",
    "=",
    "==",
    "!=",
    "!",
    " in ",
    " notin ",
    "(",
    ")",
    ",",
    ">",
    "<",
    "1",
    " ",
    "\\",
    "é",
    "metadata.name",
    "metadata.namespace",
    "status.phase",
    "spec.nodeName",
    "odd",
    ".",
    "-",
    "/",
    "\u{0}",
    "\\,",
    "\\=",
    "a.b.c/d",
    "exists",
];
/// Texts for parameters that are numbers, booleans or words.
const WORDS: [&str; 22] = [
    "",
    "0",
    "1",
    "-1",
    "x",
    "true",
    "false",
    "All",
    "Strict",
    "Warn",
    "Ignore",
    "Exact",
    "NotOlderThan",
    "Background",
    "Foreground",
    "Orphan",
    "9223372036854775807",
    "18446744073709551615",
    "1e3",
    "5s",
    "\u{0}",
    "é",
];
const OF_READS: [&str; 11] = [
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "timeoutSeconds",
    "watch",
    "allowWatchBookmarks",
    "sendInitialEvents",
    "includeObject",
    "pretty",
    "export",
    "timeout",
];
const OF_WRITES: [&str; 9] = [
    "dryRun",
    "fieldManager",
    "fieldValidation",
    "force",
    "pretty",
    "gracePeriodSeconds",
    "propagationPolicy",
    "orphanDependents",
    "timeout",
];

/// Draws a query; empty when there are no bytes left.
pub(super) fn draw(draws: &mut Draws<'_>, method: &str) -> String {
    let mut all = Vec::new();
    if method == "PATCH" && draws.below(4) < 3 {
        all.push("fieldManager=somebody".to_owned());
    }
    for _ in 0..draws.one(&[0, 0, 0, 1, 1, 2, 4]) {
        let (name, value) = match draws.below(6) {
            0 | 1 if method == "GET" => ("labelSelector", selector(draws)),
            2 if method == "GET" => ("fieldSelector", selector(draws)),
            3 if method == "GET" => ("continue", token(draws)),
            _ if method == "GET" => (draws.one(&OF_READS), draws.one(&WORDS).to_owned()),
            0 if method == "DELETE" => ("labelSelector", selector(draws)),
            _ => (draws.one(&OF_WRITES), draws.one(&WORDS).to_owned()),
        };
        all.push(format!("{name}={}", escaped(&value)));
    }
    all.join("&")
}

fn selector(draws: &mut Draws<'_>) -> String {
    (0..draws.below(9)).map(|_| draws.one(&PIECES)).collect()
}

/// Draws a continue token: its parts, or the whole, may be invalid.
fn token(draws: &mut Draws<'_>) -> String {
    let version = draws.one(&["meta.k8s.io/v1", "meta.k8s.io/v1", "meta.k8s.io/v2", ""]);
    let revision = draws.one(&["1", "5", "0", "-1", "\"1\"", "1e3", "9223372036854775808", "null"]);
    let start = draws.one(&["n/a\\u0000", "", "a", "\\u0000", "../x", "n/", "é", "\\ud800"]);
    let mut text = format!("{{\"v\":\"{version}\",\"rv\":{revision},\"start\":\"{start}\"}}").into_bytes();
    super::body::changed(draws, &mut text);
    let mut token = if draws.hits(5) { STANDARD.encode(&text) } else { URL_SAFE_NO_PAD.encode(&text) };
    if draws.hits(5) {
        let at = draws.below(token.len() + 1);
        token.truncate(at);
    }
    token
}

/// Escapes everything but letters and digits as `%XX`.
fn escaped(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}
