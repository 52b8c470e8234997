// SPDX-License-Identifier: Apache-2.0
//! Malformed requests, drawn from bytes.
//!
//! The same bytes draw the same request, and fewer bytes a simpler one: a property test with arbitrary bytes finds the
//! simplest request that fails. Half of the bodies fit the schema of their kind, so that they reach the code after
//! decoding; the others are changed: a value of another type, a piece of text, bytes that are cut or flipped.
//!
//! **Deliberately absent**: requests that HTTP itself rejects (heads, framing); these are sent over connections, in
//! `e2e`.
//!
//! **Tour.** [`Draws`] numbers from bytes; [`Target`] a resource, and requests to it; `body` objects and patches;
//! `query` parameters.

mod body;
mod query;

use std::collections::BTreeSet;

use apimachinery::catalogue::ResourceInfo;
use serde_json::Value;

/// Source of numbers from bytes; zero once there are none left.
#[derive(Clone, Debug)]
pub struct Draws<'a>(&'a [u8]);

impl<'a> Draws<'a> {
    /// Creates a source from bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn byte(&mut self) -> usize {
        match self.0 {
            [first, rest @ ..] => {
                self.0 = rest;
                usize::from(*first)
            }
            [] => 0,
        }
    }

    /// Draws a number below `bound`; bounds above 65,536 are not reached.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound <= 1 {
            return 0;
        }
        let number = if bound > 256 { self.byte() << 8 | self.byte() } else { self.byte() };
        number % bound
    }

    /// Draws one of several values; the first when there are no bytes left.
    ///
    /// # Panics
    /// `all` is empty.
    pub fn one<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// True with a probability of one in `of`; false when there are no bytes left.
    pub fn hits(&mut self, of: usize) -> bool {
        self.below(of) + 1 == of.max(2)
    }

    /// True if all bytes are used.
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }
}

/// A drawn request.
#[derive(Clone, Debug)]
pub struct DrawnRequest {
    /// Method.
    pub method: &'static str,
    /// Path and query.
    pub path: String,
    /// Headers.
    pub headers: Vec<(&'static str, &'static str)>,
    /// Body.
    pub body: Vec<u8>,
}

impl DrawnRequest {
    /// True if the body of a successful response (200) has no end.
    pub fn lasts(&self) -> bool {
        self.path.contains("watch") || self.path.contains("follow")
    }

    /// Formats the request for an error message.
    pub fn description(&self) -> String {
        let body = String::from_utf8_lossy(&self.body);
        format!("{} {} {:?}\n{body:?}", self.method, self.path, self.headers)
    }
}

/// Server errors with a reason that the real API server, too, returns for errors of the client: code and a part of the
/// message.
///
/// Source: apiserver pkg/storage/errors.go; gardener plugin/pkg/shoot/{validator,quotavalidator}, plugin/pkg/global/
/// resourcereferencemanager @ v1.120.0.
const OF_THE_REAL_SERVER: [(u16, &str); 6] = [
    (504, "Timeout: Too large resource version"),
    (500, "could not find referenced "),
    (500, "could not get parent CloudProfile: "),
    (500, "not found in CloudProfile"),
    (500, "unknown quota scope"),
    (500, "unknown volumeType class "),
];

/// Bytes in the protobuf of a Status: an empty reason (4), and code 500 (6).
const IN_PROTOBUF: [u8; 5] = [0x22, 0, 0x30, 0xf4, 0x03];

/// Returns the text of a response that is a server error of our own; `None` otherwise. Errors of Go's libraries that
/// have no reason (500; from strategic merge patches, server-side apply, admission) also occur on the real server.
fn fault(code: u16, body: &[u8]) -> Option<String> {
    if code < 500 {
        return None;
    }
    let text = String::from_utf8_lossy(body);
    // Responses are JSON, YAML or protobuf.
    let status: Value = serde_yaml_ng::from_str(&text).unwrap_or_default();
    let is_without_reason = status["kind"] == "Status" && status.get("reason").is_none()
        || body.windows(IN_PROTOBUF.len()).any(|window| window == IN_PROTOBUF);
    let is_plain = code == 500 && is_without_reason;
    let is_known = OF_THE_REAL_SERVER.iter().any(|(of, part)| *of == code && text.contains(part));
    (!is_plain && !is_known).then(|| format!("{code} {text}"))
}

/// Encodes an object in protobuf; `None` if its kind has no message.
pub type Encode<'a> = &'a dyn Fn(&Value) -> Option<Vec<u8>>;

/// Target resource of requests.
#[expect(missing_debug_implementations, reason = "it holds a function")]
pub struct Target<'a> {
    /// Path before `/api` and `/apis`, for example `/clusters/garden`.
    pub root: &'a str,
    /// The resource.
    pub info: &'a ResourceInfo,
    /// An existing namespace.
    pub namespace: &'a str,
    /// Encodes bodies in protobuf.
    pub encode: Encode<'a>,
}

/// Maximum number of requests that are drawn from one series of bytes.
pub const SERIES: u32 = 4;

/// Names of objects: few, so that requests address the same objects.
const NAMES: [&str; 8] = ["odd", "odd", "odd-1", "odd-2", "A", "..", "a%2Fb", "%00"];
const ACCEPTED: [&str; 10] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=Chair;v=v1;g=meta.k8s.io",
    "text/html",
    "*/*;q=x",
    ";;=,",
];

impl Target<'_> {
    fn collection(&self) -> String {
        let (root, info) = (self.root, self.info);
        let version = if info.group.is_empty() {
            format!("{root}/api/{}", info.version)
        } else {
            format!("{root}/apis/{}/{}", info.group, info.version)
        };
        if info.namespaced {
            format!("{version}/namespaces/{}/{}", self.namespace, info.plural)
        } else {
            format!("{version}/{}", info.plural)
        }
    }

    /// Draws a request to the resource.
    pub fn request(&self, draws: &mut Draws<'_>) -> DrawnRequest {
        let collection = self.collection();
        let (method, mut path) = match draws.below(12) {
            0..=3 => ("POST", collection),
            4 | 5 => ("PUT", format!("{collection}/{}", draws.one(&NAMES))),
            6..=8 => ("PATCH", format!("{collection}/{}", draws.one(&NAMES))),
            9 => ("DELETE", if draws.hits(3) { collection } else { format!("{collection}/{}", draws.one(&NAMES)) }),
            _ => ("GET", if draws.hits(3) { format!("{collection}/{}", draws.one(&NAMES)) } else { collection }),
        };
        if draws.hits(6) {
            let segment = draws
                .one(&["status", "scale", "finalize", "approval", "nothing", "..", "%2e%2e", "%00", "%ff", "", "~1"]);
            path = format!("{path}/{segment}");
        }
        let mut headers = Vec::new();
        let body = match method {
            "POST" | "PUT" => {
                let (type_, body) = self.object_body(draws);
                headers.extend((!type_.is_empty()).then_some(("content-type", type_)));
                body
            }
            "PATCH" => {
                let (type_, body) = self.patch_body(draws);
                headers.push(("content-type", type_));
                body
            }
            "DELETE" => Self::options_body(draws),
            _ => Vec::new(),
        };
        if draws.hits(6) {
            headers.push(("accept", draws.one(&ACCEPTED)));
        }
        let query = query::draw(draws, method);
        if !query.is_empty() {
            path = format!("{path}?{query}");
        }
        DrawnRequest { method, path, headers, body }
    }

    /// Sends the requests that a series of bytes draws, at most [`SERIES`], and adds the codes of their responses. `send`
    /// returns the code and the body of a response; `None` for a request that HTTP does not allow.
    ///
    /// # Errors
    /// A response is a server error that the real API server does not return: the text of the response, and the request.
    pub fn check(
        &self,
        bytes: &[u8],
        codes: &mut BTreeSet<u16>,
        mut send: impl FnMut(&DrawnRequest) -> Option<(u16, Vec<u8>)>,
    ) -> Result<(), String> {
        let mut draws = Draws::new(bytes);
        for _ in 0..SERIES {
            let request = self.request(&mut draws);
            let response = send(&request);
            codes.extend(response.as_ref().map(|(code, _)| *code));
            if let Some(fault) = response.and_then(|(code, body)| fault(code, &body)) {
                return Err(format!("{fault}\n{}", request.description()));
            }
            if draws.is_over() {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use apimachinery::schema::Node;

    use super::*;

    #[test]
    fn the_same_bytes_draw_the_same_request() {
        let shoots = api::catalogue::find("core.gardener.cloud", "v1beta1", "shoots").expect("a row");
        let target = Target { root: "/clusters/garden", info: shoots, namespace: "n", encode: &|_| None };
        let simplest = target.request(&mut Draws::new(&[]));
        assert_eq!(
            (simplest.method, simplest.path.as_str()),
            ("POST", "/clusters/garden/apis/core.gardener.cloud/v1beta1/namespaces/n/shoots")
        );
        let tree: Value = serde_json::from_slice(&simplest.body).expect("JSON");
        assert_eq!((&tree["kind"], &tree["metadata"]["name"]), (&"Shoot".into(), &"odd".into()));
        let bytes: Vec<u8> = (0..4000_u32).map(|number| u8::try_from(number * 7919 % 251).unwrap_or(0)).collect();
        let told = |bytes: &[u8]| target.request(&mut Draws::new(bytes)).description();
        assert_eq!(told(&bytes), told(&bytes));
        assert_ne!(told(&bytes), told(&bytes[1..]));
    }

    #[test]
    fn values_fit_their_schema_unless_they_are_changed() {
        let number = Node::Integer { bits: 32, signed: true };
        for seed in 0..=255_u8 {
            let bytes = [seed; 64];
            let value = body::fitting(&mut Draws::new(&bytes), &number, "replicas", 3);
            assert!(value.as_i64().is_some_and(|value| i32::try_from(value).is_ok()), "{value}");
        }
    }
}
