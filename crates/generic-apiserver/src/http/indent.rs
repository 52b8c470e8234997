// SPDX-License-Identifier: Apache-2.0
//! Indented JSON, for `curl`, browsers and clients that request it.
//!
//! Source: k8s.io/apiserver pkg/endpoints/handlers/negotiation (`isPrettyPrint`, `acceptMediaTypeOptions`). Watches and
//! OpenAPI documents are never indented.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, USER_AGENT};
use process::Response;

use super::whole;
use crate::request::{Query, Route};

/// Prefixes of the `User-Agent` of clients whose output people read.
const READERS: [&str; 3] = ["curl", "Wget", "Mozilla/5.0"];
/// Paths of documents for programs.
const DOCUMENTS: [&str; 3] = ["/openapi/", "/openid/", "/.well-known/"];

/// True if the response must be indented: the parameter `pretty` decides, or otherwise the client's name and `Accept`.
pub(super) fn is_wanted(route: &Route, query: &Query, headers: &HeaderMap) -> bool {
    if DOCUMENTS.iter().any(|start| route.path.starts_with(start)) {
        return false;
    }
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let asked = text(ACCEPT).split([',', ';']).any(|part| part.trim() == "pretty=1");
    asked
        || match query.text("pretty") {
            "" => READERS.iter().any(|start| text(USER_AGENT).starts_with(start)),
            // Texts that Go parses as true.
            flag => matches!(flag, "1" | "t" | "T" | "true" | "True" | "TRUE"),
        }
}

/// Returns the response, indented if it is JSON.
pub(super) async fn write(response: Response) -> Response {
    let headers = response.headers();
    let is_json = headers.get(CONTENT_TYPE).is_some_and(|type_| type_.as_bytes().starts_with(b"application/json"));
    if !is_json || headers.contains_key(CONTENT_ENCODING) {
        return response;
    }
    whole::rewrite(response, |_, body| (!body.is_empty()).then(|| indented(body))).await
}

/// Indents JSON by two blanks a level, members in their order, `{}` and `[]` without inner blanks, no line feed at the end.
fn indented(json: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(json.len() * 2);
    let mut depth = 0;
    let mut rest = json;
    let line = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    };
    while let [byte, behind @ ..] = rest {
        rest = behind;
        match byte {
            b'"' => {
                let end = end_of_text(rest);
                out.push(b'"');
                out.extend_from_slice(&rest[..end]);
                rest = &rest[end..];
            }
            b'{' | b'[' => {
                out.push(*byte);
                rest = rest.trim_ascii_start();
                if let [end @ (b'}' | b']'), behind @ ..] = rest {
                    out.push(*end);
                    rest = behind;
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(*byte);
            }
            b',' => {
                out.push(b',');
                line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            b' ' | b'\n' | b'\r' | b'\t' => {}
            other => out.push(*other),
        }
    }
    out.into()
}

/// Returns the number of bytes up to and including the quotation mark that ends a text.
fn end_of_text(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn json_is_indented_as_go_does_it() {
        for (json, expected) in [
            ("{}\n", "{}"),
            ("[ ]", "[]"),
            ("\"a\"", "\"a\""),
            (r#"{"b":1,"a":[]}"#, "{\n  \"b\": 1,\n  \"a\": []\n}"),
            (
                r#"{"a":{"b":[1,{"c":null}]}}"#,
                "{\n  \"a\": {\n    \"b\": [\n      1,\n      {\n        \"c\": null\n      }\n    ]\n  }\n}",
            ),
            (r#"{"a":"{\"b\":[1, 2]}\\"}"#, "{\n  \"a\": \"{\\\"b\\\":[1, 2]}\\\\\"\n}"),
            ("{\n  \"a\": 1\n}", "{\n  \"a\": 1\n}"),
            (r#"{"cut":"of"#, "{\n  \"cut\": \"of"),
            (r#"{"cut":"\"#, "{\n  \"cut\": \"\\"),
        ] {
            assert_eq!(String::from_utf8_lossy(&indented(json.as_bytes())), expected, "{json}");
        }
    }

    #[test]
    fn people_get_indented_json_and_programs_on_request() {
        let objects = "/clusters/garden/api/v1/namespaces";
        for (path, query, agent, accept, expected) in [
            (objects, "", "curl/8.5.0", "*/*", true),
            (objects, "", "Wget/1.21", "*/*", true),
            (objects, "", "Mozilla/5.0 (X11; Linux x86_64)", "text/html, */*", true),
            (objects, "", "kubectl/v1.33.0", "application/json", false),
            (objects, "pretty=true", "kubectl/v1.33.0", "application/json", true),
            (objects, "pretty=1", "", "", true),
            (objects, "pretty=yes", "curl/8.5.0", "*/*", false),
            (objects, "pretty=false", "curl/8.5.0", "*/*", false),
            (objects, "pretty=", "curl/8.5.0", "*/*", true),
            (objects, "pretty=false", "kubectl/v1.33.0", "application/json;pretty=1", true),
            ("/clusters/garden/openapi/v3", "pretty=true", "curl/8.5.0", "*/*", false),
            ("/clusters/garden/openid/v1/jwks", "", "curl/8.5.0", "*/*", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(USER_AGENT, HeaderValue::from_static(agent));
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            let route = Route::parse(path).expect("a path in a cluster");
            let wanted = is_wanted(&route, &Query::parse(Some(query)), &headers);
            assert_eq!(wanted, expected, "{path}?{query} of {agent}");
        }
    }
}
