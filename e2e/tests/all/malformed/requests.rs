// SPDX-License-Identifier: Apache-2.0
//! Requests that are wrong in many ways: the same for the same seed.

use bytes::Bytes;
use clock::Random;
use http::header::{HeaderName, HeaderValue};
use process::Request;
use process::transport::full;
use serde_json::{Value, json};

/// A malformed request, and its user.
pub(crate) struct Malformed {
    pub(crate) anonymous: bool,
    pub(crate) sent: RequestForm,
}

/// Form in which the request is sent.
pub(crate) enum RequestForm {
    /// A request through an HTTP client.
    Request(Box<Request>),
    /// Bytes on a connection.
    Raw(Vec<u8>),
}

/// An endless series of malformed requests.
pub(crate) struct Requests {
    random: Random,
    drawn: u64,
}

/// Collections to write to; garbage in them affects no other test.
const COLLECTIONS: [&str; 8] = [
    "/clusters/garden/api/v1/namespaces/default/configmaps",
    "/clusters/garden/api/v1/namespaces/default/secrets",
    "/clusters/garden/apis/coordination.k8s.io/v1/namespaces/default/leases",
    "/clusters/garden/apis/apps/v1/namespaces/default/deployments",
    "/clusters/garden/apis/core.gardener.cloud/v1beta1/namespaces/default/shoots",
    "/clusters/garden/apis/core.gardener.cloud/v1beta1/exposureclasses",
    "/clusters/garden/apis/core.gardener.cloud/v1beta1/cloudprofiles",
    "/clusters/garden/apis/settings.gardener.cloud/v1alpha1/namespaces/default/openidconnectpresets",
];
/// Paths to read, which must survive every query.
const PATHS: [&str; 22] = [
    "/",
    "/api",
    "/apis",
    "/version",
    "/livez",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/clusters",
    "/clusters/",
    "/clusters/garden",
    "/clusters/*/api/v1/namespaces",
    "/clusters/nobody/api/v1/pods",
    "/clusters/garden/openapi/v2",
    "/clusters/garden/openapi/v3/apis/apps/v1",
    "/clusters/runtime/apis/terrarium.dev/v1alpha1/clusters",
    "/clusters/garden/apis/core.gardener.cloud/v1beta1/shoots",
    "/clusters/garden/api/v1/events",
    "/log/v1/entries",
    "/log/v1/state",
    "/terrarium/told",
    "/clusters/garden/gardener/version",
];
const PATCHES: [&str; 5] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/patch",
];
const TYPES: [&str; 9] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "text/plain",
    "",
    "application/cbor",
    "application/json;stream=watch",
    "multipart/form-data; boundary=x",
    "application/json; charset=utf-16",
];
const PIECES: [&str; 40] = [
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "\"",
    "'",
    "\\",
    "\n",
    " ",
    "-",
    "- ",
    "? ",
    "null",
    "true",
    "1e999",
    "-0",
    "99999999999999999999",
    "\u{0}",
    "\u{feff}",
    "\u{202e}",
    "é",
    "\\u0000",
    "\\ud800",
    "&a",
    "*a",
    "!!binary ",
    "|",
    ">",
    "#",
    "%",
    "../",
    "%00",
    "%ff",
    "=",
    ";",
    "\"spec\":",
    "\"metadata\":",
    "\"name\":",
];
const QUERIES: [&str; 24] = [
    "limit=-1",
    "limit=x",
    "continue=abc",
    "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MX0",
    "resourceVersion=x",
    "resourceVersion=18446744073709551615",
    "resourceVersion=5&resourceVersionMatch=Exact",
    "labelSelector=((((",
    "labelSelector=a%20in%20(",
    "labelSelector=a%3D%3D%3Db",
    "fieldSelector=a%3Db",
    "fieldSelector=metadata.name%3D",
    "watch=1&timeoutSeconds=1",
    "watch=true&timeoutSeconds=x",
    "watch=1&timeoutSeconds=1&resourceVersion=1",
    "dryRun=Some",
    "fieldManager=%00",
    "fieldValidation=Loud",
    "force=x",
    "timeout=1ns",
    "timeout=-5s",
    "pretty=maybe",
    "gracePeriodSeconds=-1",
    "propagationPolicy=No",
];

impl Iterator for Requests {
    type Item = Malformed;

    fn next(&mut self) -> Option<Malformed> {
        let anonymous = self.below(4) == 0;
        let sent = match self.below(12) {
            0 => RequestForm::Raw(self.raw()),
            1 | 2 => self.read(),
            3 => self.of_odd_head(),
            _ => self.write(),
        };
        Some(Malformed { anonymous, sent })
    }
}

impl Requests {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), drawn: 0 }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.drawn += 1;
        usize::try_from(self.random.below(bound as u64, "malformed", "", self.drawn)).unwrap_or(0)
    }

    fn one<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Reads a random path.
    fn read(&mut self) -> RequestForm {
        let mut path = if self.below(2) == 0 { self.one(&PATHS) } else { self.one(&COLLECTIONS) }.to_owned();
        for _ in 0..self.below(3) {
            let piece =
                self.one(&["x", "..", "%2e%2e", "%00", "status", "scale", "log", "%ff", "a%20b", "", "A_B", "~1"]);
            path = format!("{path}/{piece}");
        }
        let mut query = Vec::new();
        for _ in 0..self.below(4) {
            query.push(self.one(&QUERIES).to_owned());
        }
        if self.below(30) == 0 {
            query.push(format!("labelSelector={}", "a,".repeat(self.below(20_000))));
        }
        let method = self.one(&["GET", "GET", "GET", "HEAD", "OPTIONS", "TRACE", "BREW"]);
        self.request(method, &format!("{path}?{}", query.join("&")), "", Vec::new())
    }

    /// Writes to a collection or to an object of it.
    fn write(&mut self) -> RequestForm {
        let collection = self.one(&COLLECTIONS);
        let (method, path) = match self.below(10) {
            0..4 => ("POST", collection.to_owned()),
            4 => ("PUT", format!("{collection}/odd")),
            5 => ("DELETE", format!("{collection}/odd")),
            6 => ("PUT", format!("{collection}/odd/{}", self.one(&["status", "scale", "binding", "token"]))),
            _ => ("PATCH", format!("{collection}/{}", self.one(&["odd", "odd", "other"]))),
        };
        let type_ = if method == "PATCH" { self.one(&PATCHES) } else { self.one(&TYPES) };
        let body = self.body(method, type_, collection);
        let query = if self.below(6) == 0 { format!("?{}", self.one(&QUERIES)) } else { String::new() };
        self.request(method, &format!("{path}{query}"), type_, body)
    }

    fn body(&mut self, method: &str, type_: &str, collection: &str) -> Vec<u8> {
        let depth = self.below(3_000);
        let bytes = match self.below(14) {
            0 => "[".repeat(depth).into_bytes(),
            1 => format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth)).into_bytes(),
            2 => "- ".repeat(depth).into_bytes(),
            3 => (0..self.below(600)).map(|_| u8::try_from(self.below(256)).unwrap_or(0)).collect(),
            4 => self.laughs(),
            5 => format!("{{\"data\":{{\"x\":\"{}\"}}}}", "y".repeat(self.below(120_000))).into_bytes(),
            _ => {
                let valid = if method == "PATCH" { self.patch(type_) } else { self.object(collection) };
                let text = match type_ {
                    "application/yaml" | "application/apply-patch+yaml" => {
                        serde_yaml_ng::to_string(&valid).unwrap_or_default()
                    }
                    _ => valid.to_string(),
                };
                self.mutated(text.into_bytes())
            }
        };
        if type_ == "application/vnd.kubernetes.protobuf" && self.below(4) > 0 {
            return [b"k8s\0\n\x0f\n\x02v1\x12\tConfigMap\x12".as_slice(), &bytes].concat();
        }
        bytes
    }

    /// Changes a valid text in a few places, or in none.
    fn mutated(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        for _ in 0..self.below(5) {
            let at = self.below(bytes.len() + 1);
            match self.below(6) {
                0 => bytes.truncate(at),
                1 => bytes.drain(at..(at + self.below(20)).min(bytes.len())).for_each(drop),
                2 => {
                    let copy = bytes[at..(at + self.below(60)).min(bytes.len())].to_vec();
                    bytes.splice(at..at, copy).for_each(drop);
                }
                3 => {
                    let byte = u8::try_from(self.below(256)).unwrap_or(0);
                    if let Some(place) = bytes.get_mut(at) {
                        *place = byte;
                    }
                }
                _ => {
                    let piece = self.one(&PIECES);
                    bytes.splice(at..at, piece.bytes()).for_each(drop);
                }
            }
        }
        bytes
    }

    /// Returns YAML with nested aliases ("billion laughs").
    fn laughs(&mut self) -> Vec<u8> {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..self.below(12) {
            let before = format!("*a{}", level - 1);
            text = format!("{text}a{level}: &a{level} [{}]\n", vec![before; 8].join(", "));
        }
        text.into_bytes()
    }

    /// Returns a value of a random type.
    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 6 } else { 8 }) {
            0 => Value::Null,
            1 => json!(self.below(3) == 0),
            2 => json!(self.one(&[0_i64, -1, i64::MIN, i64::MAX, 2_147_483_648, 7])),
            3 => json!(self.one(&[1.5_f64, -0.0, 1e300])),
            4 | 5 => json!(self.one(&PIECES)),
            6 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            _ => {
                let names = ["name", "spec", "metadata", "labels", "x", "$patch", "kind", "workers", "finalizers"];
                let entries = (0..self.below(4)).map(|_| (self.one(&names).to_owned(), self.value(depth - 1)));
                Value::Object(entries.collect())
            }
        }
    }

    fn object(&mut self, collection: &str) -> Value {
        let name = if self.below(2) == 0 { "odd" } else { self.one(&["", "A", "a/b", "x.y", "-", "odd2"]) };
        let mut object = json!({ "metadata": { "name": name, "labels": { "a": "b" } } });
        match collection.rsplit('/').next().unwrap_or_default() {
            "shoots" => {
                object["spec"] = json!({
                    "cloudProfile": { "kind": "CloudProfile", "name": "local" }, "region": "local",
                    "kubernetes": { "version": "1.27.1" },
                    "provider": { "type": "local", "workers": [{
                        "name": "a", "minimum": 1, "maximum": 1, "maxSurge": "1", "machine": { "type": "local" },
                    }] },
                    "maintenance": { "timeWindow": { "begin": "220000+0000", "end": "230000+0000" } },
                });
            }
            "exposureclasses" => object["handler"] = json!("x"),
            "deployments" => {
                object["spec"] = json!({
                    "replicas": 0, "selector": { "matchLabels": { "a": "b" } },
                    "template": { "metadata": { "labels": { "a": "b" } },
                        "spec": { "containers": [{ "name": "c", "image": "i" }] } },
                });
            }
            _ => object["data"] = json!({ "key": "dmFsdWU=" }),
        }
        if self.below(2) == 0 {
            let place = self.one(&["metadata", "spec", "data", "status", "x"]);
            object[place] = self.value(4);
        }
        object
    }

    fn patch(&mut self, type_: &str) -> Value {
        if type_ != "application/json-patch+json" {
            return json!({ "metadata": { "labels": self.value(2) }, "spec": self.value(4), "data": self.value(1) });
        }
        let paths = [
            "",
            "/",
            "/metadata/labels/a",
            "/data/key",
            "/spec/x/-",
            "/a~2b",
            "metadata",
            "/metadata/name",
            "/data/-1",
        ];
        let operations = ["add", "remove", "replace", "move", "copy", "test", "jump"];
        let count = self.below(8);
        (0..count)
            .map(|_| {
                let (operation, path, from) = (self.one(&operations), self.one(&paths), self.one(&paths));
                json!({ "op": operation, "path": path, "from": from, "value": self.value(3) })
            })
            .collect()
    }

    /// Returns a request with a head that is large, long, or wrong.
    fn of_odd_head(&mut self) -> RequestForm {
        let collection = self.one(&COLLECTIONS);
        let mut request = http::Request::get(collection).body(full(Bytes::new())).expect("a request");
        let headers = request.headers_mut();
        let names = [
            "x-note",
            "audit-id",
            "authorization",
            "accept",
            "accept-encoding",
            "impersonate-user",
            "impersonate-group",
            "impersonate-extra-a%2fb",
            "x-remote-user",
            "x-log-head",
            "if-none-match",
            "terrarium-participant",
            "terrarium-watch",
            "range",
            "expect",
            "cookie",
        ];
        for _ in 0..=self.below(4) {
            let name = HeaderName::from_static(self.one(&names));
            let length = self.one(&[0, 1, 10, 1_000, 20_000, 130_000, 300_000]);
            let text = match self.below(4) {
                0 => "a".repeat(length),
                1 => "application/json;as=Table;v=v1;g=meta.k8s.io,".repeat(length / 45 + 1),
                2 => format!("Bearer {}.{}.x", "e30", "e".repeat(length)),
                _ => ",;=\"q=NaN".repeat(length / 9),
            };
            if let Ok(value) = HeaderValue::try_from(text) {
                headers.append(name, value);
            }
        }
        for number in 0..self.one(&[0, 0, 0, 50, 255, 600]) {
            headers.append(HeaderName::from_static("x-many"), HeaderValue::from(number));
        }
        RequestForm::Request(Box::new(request))
    }

    fn request(&mut self, method: &str, path: &str, type_: &str, body: Vec<u8>) -> RequestForm {
        let mut request = http::Request::builder().method(method).uri(path);
        if !type_.is_empty() {
            request = request.header("content-type", type_);
        }
        if self.below(5) == 0 {
            let accepted =
                ["application/yaml", "application/xml", "*/*;q=x", "application/json;as=Table;g=meta.k8s.io;v=v1"];
            request = request.header("accept", self.one(&accepted));
        }
        match request.body(full(body)) {
            Ok(request) => RequestForm::Request(Box::new(request)),
            // Requests that an HTTP client refuses to send are written by hand.
            Err(_) => RequestForm::Raw(
                format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").into_bytes(),
            ),
        }
    }

    /// Returns bytes that are similar to a request, or random.
    fn raw(&mut self) -> Vec<u8> {
        let path = self.one(&COLLECTIONS);
        let head = "Host: x\r\nConnection: close\r\nContent-Type: application/json\r\n";
        let text = match self.below(12) {
            0 => format!("POST {path} HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\nzz\r\n{{}}\r\n0\r\n\r\n"),
            1 => format!("POST {path} HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n{{}}"),
            2 => format!("POST {path} HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n"),
            3 => format!("POST {path} HTTP/1.1\r\n{head}Content-Length: 100\r\n\r\n{{}}"),
            4 => format!("POST {path} HTTP/1.1\r\n{head}Content-Length: -1\r\n\r\n{{}}"),
            5 => format!("POST {path} HTTP/1.1\r\n{head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{{}}"),
            6 => format!("GET {path} HTTP/1.1\r\nHost: x\r\nX-Half: "),
            7 => format!("GET {path}?{} HTTP/1.1\r\n{head}\r\n", "x".repeat(self.below(100_000))),
            8 => format!("GET {path} HTTP/9.9\r\n{head}\r\n"),
            9 => format!("GET {path}/\u{1} HTTP/1.1\r\n{head}\r\n"),
            10 => format!("GET {path} HTTP/1.1\r\n{head}X-Large: {}\r\n\r\n", "x".repeat(self.below(400_000))),
            _ => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nnothing".to_owned(),
        };
        if self.below(4) == 0 { self.mutated(text.into_bytes()) } else { text.into_bytes() }
    }
}
