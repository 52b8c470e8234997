// SPDX-License-Identifier: Apache-2.0
//! OpenAPI: the schemas and operations of the resources that a cluster serves.
//!
//! ```text
//! /openapi/v3                        index: group and version → path with the hash of its document
//! /openapi/v3/api/v1, …/apis/G/V     one document each, complete in itself
//! /openapi/v2                        everything in one document, as protobuf or JSON
//! ```
//!
//! Documents are built from the schema trees of the rows, once per set of rows and not once per cluster, at the first
//! request; they live as long as the server. A document's hash is the SHA-512 of its bytes.
//!
//! Resources of another server behind this one are described in the form of that server's release
//! ([`DescribedRelease`](crate::DescribedRelease)), kinds of CustomResourceDefinitions in that of the cluster's
//! ([`Clusters::definitions`]).
//!
//! Version 3 is also available as protobuf, for clients that accept nothing else; the hash in URLs is that of the JSON.
//!
//! **Deliberately absent**: documents of the discovery paths.
//!
//! Source: kube-openapi pkg/handler, pkg/handler3; kube-api 5.

mod definitions;
mod gnostic;
mod gnostic_v3;
mod paths;

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use apimachinery::catalogue::ResourceInfo;
use apimachinery::release::Release;
use apimachinery::schema::Node;
use bytes::Bytes;
use clock::Clock;
use http::Method;
use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, EXPIRES, HeaderName, HeaderValue, IF_NONE_MATCH, LOCATION, VARY,
};
use parking_lot::Mutex;
use process::Response;
use process::transport::full;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha512};

use self::definitions::{Definitions, Dialect};
use crate::clusters::Clusters;
use crate::request::Call;
use crate::status::{Failure, Result};

const JSON: &str = "application/json";
/// Media type in requests for protobuf; `@` is illegal in a media type, so the response has type [`PROTOBUF`].
const PROTOBUF_ASKED: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Media type in requests for protobuf of version 3; see [`PROTOBUF_ASKED`].
const PROTOBUF_V3_ASKED: &str = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf";
const PROTOBUF_V3: &str = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";

/// Period in which a document with its hash in the URL may be cached.
const KEEP: chrono::TimeDelta = chrono::TimeDelta::days(365);

/// Returns the document of one group and version in OpenAPI 3.0.
///
/// Shape: `{"openapi", "info", "paths", "components": {"schemas"}}`; every `$ref` is resolved within it. Rows of other
/// groups or versions are not filtered out.
fn v3<'a>(rows: impl IntoIterator<Item = &'a Described>) -> Value {
    let (paths, schemas) = assemble(Dialect::V3, rows);
    json!({
        "openapi": "3.0.0",
        "info": info(),
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

/// Returns one document of all rows in OpenAPI 2.0.
///
/// Shape: `{"swagger", "info", "paths", "definitions"}`; every `$ref` is resolved within it.
fn v2<'a>(rows: impl IntoIterator<Item = &'a Described>) -> Value {
    let (paths, definitions) = assemble(Dialect::V2, rows);
    json!({
        "swagger": "2.0",
        "info": info(),
        "paths": paths,
        "definitions": definitions,
    })
}

/// Encodes a document of [`v2`] as the message `openapi.v2.Document`.
fn v2_protobuf(document: &Value) -> Vec<u8> {
    gnostic::document(document)
}

fn info() -> Value {
    json!({ "title": "Kubernetes", "version": "unversioned" })
}

fn assemble<'a>(dialect: Dialect, rows: impl IntoIterator<Item = &'a Described>) -> (Value, Value) {
    let mut definitions = Definitions::new(dialect);
    let mut paths = Map::new();
    for row in rows {
        paths::add(&mut paths, &mut definitions, row);
    }
    (Value::Object(paths), Value::Object(definitions.finish()))
}

/// The bytes of a document and their hash.
#[derive(Debug)]
struct Document {
    bytes: Bytes,
    hash: String,
}

impl Document {
    fn new(bytes: Vec<u8>) -> Arc<Self> {
        let mut hash = String::with_capacity(128);
        for byte in Sha512::digest(&bytes) {
            let _ = write!(hash, "{byte:02X}");
        }
        Arc::new(Self { bytes: bytes.into(), hash })
    }
}

/// Kind of document of a set of rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DocumentKind {
    V2Json,
    V2Protobuf,
    V3,
    V3Protobuf,
}

/// Rows of a document, by their index in [`Documents::rows`]: those of the server itself, and those of its delegate.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Places {
    own: Vec<usize>,
    delegated: Vec<usize>,
}

/// Documents by their rows and the releases of these.
type DocumentCache = BTreeMap<(DocumentKind, Places, Releases), Arc<Document>>;

/// Number of releases for which the documents of the same rows are kept.
const KEPT: usize = 2;

/// Releases of the rows whose release the server does not determine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Releases {
    /// Release of the rows of another server.
    elsewhere: Release,
    /// Release of the cluster's CustomResourceDefinitions.
    definitions: Option<Release>,
}

/// A row, and the operations on its objects.
#[derive(Clone)]
pub(crate) struct Described {
    info: ResourceInfo,
    /// Schema of the row in its release; `None`: the row's own.
    node: Option<Node>,
    /// True if objects are created and never stored.
    created_only: bool,
    /// True if another server serves it, in its own release.
    is_elsewhere: bool,
}

impl Described {
    /// Creates a row of stored objects.
    pub(crate) fn new(info: ResourceInfo, node: Option<Node>) -> Self {
        Self { info, node, created_only: false, is_elsewhere: false }
    }

    /// Creates a row of objects of another server.
    pub(crate) fn elsewhere(info: ResourceInfo) -> Self {
        Self { is_elsewhere: true, ..Self::new(info, None) }
    }

    /// True if its release is that of the cluster's definitions.
    fn is_defined(&self) -> bool {
        self.info.custom && self.info.differs_by_release()
    }

    /// Returns the row in the form of its release.
    fn at(&self, releases: Releases) -> Self {
        let release = match releases.definitions {
            _ if self.is_elsewhere => releases.elsewhere,
            Some(definitions) if self.is_defined() => definitions,
            _ => self.info.release,
        };
        Self { info: self.info.at(release), ..self.clone() }
    }
}

/// The documents of a server.
pub(crate) struct Documents {
    rows: Vec<Described>,
    made: Mutex<DocumentCache>,
}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Documents").field("rows", &self.rows.len()).finish_non_exhaustive()
    }
}

/// Rows by group and version.
type Versions = BTreeMap<(&'static str, &'static str), Places>;

/// The documents of a server and of its delegate.
struct Sources<'a> {
    own: &'a Documents,
    delegated: Option<&'a Documents>,
    releases: Releases,
}

impl Documents {
    /// Creates the documents of rows, which another server may serve: of those with objects, and of those whose objects
    /// are created and never stored.
    pub(crate) fn new(
        stored: impl IntoIterator<Item = Described>,
        created: impl IntoIterator<Item = ResourceInfo>,
    ) -> Self {
        let created = created.into_iter().map(|info| Described { created_only: true, ..Described::new(info, None) });
        let mut unique = BTreeMap::new();
        for row in stored.into_iter().chain(created) {
            unique.entry((row.info.group, row.info.version, row.info.plural)).or_insert(row);
        }
        Self { rows: unique.into_values().collect(), made: Mutex::default() }
    }

    fn at<'a>(&'a self, places: &'a [usize]) -> impl Iterator<Item = &'a Described> {
        places.iter().filter_map(|place| self.rows.get(*place))
    }
}

impl Sources<'_> {
    fn versions(&self, served: impl Fn(&ResourceInfo) -> bool) -> Versions {
        let mut versions = Versions::new();
        let is_served = |row: &Described| served(&row.info) && row.at(self.releases).info.is_served();
        for (place, row) in self.own.rows.iter().enumerate().filter(|(_, row)| is_served(row)) {
            versions.entry((row.info.group, row.info.version)).or_default().own.push(place);
        }
        for (place, row) in self.delegated.into_iter().flat_map(|documents| documents.rows.iter().enumerate()) {
            versions.entry((row.info.group, row.info.version)).or_default().delegated.push(place);
        }
        versions
    }

    fn get(&self, which: DocumentKind, places: &Places) -> Arc<Document> {
        // Documents with rows of both servers are kept by the delegate.
        let keeper = self.delegated.filter(|_| !places.delegated.is_empty()).unwrap_or(self.own);
        let has = |is: fn(&Described) -> bool| self.own.at(&places.own).any(is);
        let releases = Releases {
            elsewhere: if has(|row| row.is_elsewhere) { self.releases.elsewhere } else { Release::UNION },
            definitions: self.releases.definitions.filter(|_| has(Described::is_defined)),
        };
        let mut made = keeper.made.lock();
        let key = (which, places.clone(), releases);
        if let Some(document) = made.get(&key) {
            return document.clone();
        }
        let delegated = self.delegated.into_iter().flat_map(|documents| documents.at(&places.delegated));
        let rows: Vec<Described> = self.own.at(&places.own).chain(delegated).map(|row| row.at(releases)).collect();
        let bytes = match which {
            DocumentKind::V2Json => v2(&rows).to_string().into_bytes(),
            DocumentKind::V2Protobuf => v2_protobuf(&v2(&rows)),
            DocumentKind::V3 => v3(&rows).to_string().into_bytes(),
            DocumentKind::V3Protobuf => gnostic_v3::document(&v3(&rows)),
        };
        let document = Document::new(bytes);
        // Documents of earlier releases are not requested any more.
        let alike = |(known, rows, _): &&(DocumentKind, Places, Releases)| *known == which && rows == places;
        if made.keys().filter(alike).count() >= KEPT {
            let oldest = made.keys().find(alike).cloned();
            oldest.and_then(|oldest| made.remove(&oldest));
        }
        made.insert(key, document.clone());
        document
    }

    fn index(&self, versions: &Versions) -> Arc<Document> {
        let paths: Map<String, Value> = versions
            .iter()
            .map(|((group, version), places)| {
                let key = key(group, version);
                let hash = &self.get(DocumentKind::V3, places).hash;
                let url = format!("/openapi/v3/{key}?hash={hash}");
                (key, json!({ "serverRelativeURL": url }))
            })
            .collect();
        Document::new(json!({ "paths": paths }).to_string().into_bytes())
    }
}

/// Name of a group and version in the index.
fn key(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

/// Answers a request from a server's own documents and those of its delegate; `None` for a path outside of OpenAPI, or
/// a group and version that are not served.
///
/// # Errors
/// Another method than GET or HEAD; 406 when no clause of `Accept` can be satisfied.
pub(crate) fn answer(
    own: &Documents,
    delegated: Option<&Documents>,
    clusters: &dyn Clusters,
    wall: &Clock,
    call: &Call,
) -> Result<Option<Response>> {
    let Some(rest) = call.route.path.strip_prefix("/openapi/") else { return Ok(None) };
    let definitions = clusters.definitions(&call.route.cluster);
    let releases = Releases { elsewhere: call.described.0, definitions };
    let documents = Sources { own, delegated, releases };
    let versions = documents.versions(|row| clusters.serves(&call.route.cluster, row));
    let segments: Vec<&str> = rest.split('/').collect();
    let wanted = match segments.as_slice() {
        ["v2"] => None,
        ["v3"] => Some(None),
        ["v3", "api", version] => Some(Some(("", *version))),
        ["v3", "apis", group, version] => Some(Some((*group, *version))),
        _ => return Ok(None),
    };
    if !matches!(call.method, Method::GET | Method::HEAD) {
        return Err(Failure::NoSuchMethod);
    }
    let Some(version) = wanted else {
        let mut all = Places::default();
        for places in versions.into_values() {
            all.own.extend(places.own);
            all.delegated.extend(places.delegated);
        }
        let (which, media) = v2_form(call)?;
        return Ok(Some(respond(call, &documents.get(which, &all), media)));
    };
    let takes_json = accepts(call, &[JSON]).is_some();
    let takes_protobuf = version.is_some() && accepts(call, &[PROTOBUF_V3, PROTOBUF_V3_ASKED]).is_some();
    if !takes_json && !takes_protobuf {
        return Err(not_acceptable());
    }
    let Some(version) = version else { return Ok(Some(respond(call, &documents.index(&versions), JSON))) };
    let Some(places) = versions.into_iter().find_map(|(known, places)| (known == version).then_some(places)) else {
        return Ok(None);
    };
    let document = documents.get(DocumentKind::V3, &places);
    let asked = call.query.text("hash");
    let show = || {
        if takes_json {
            respond(call, &document, JSON)
        } else {
            respond(call, &documents.get(DocumentKind::V3Protobuf, &places), PROTOBUF_V3)
        }
    };
    if asked.is_empty() {
        return Ok(Some(show()));
    }
    if asked != document.hash {
        let (cluster, path) = (&call.route.cluster, &call.route.path);
        return Ok(Some(moved(&format!("/clusters/{cluster}{path}?hash={}", document.hash))));
    }
    let mut response = show();
    let until = wall.now() + KEEP;
    set(&mut response, CACHE_CONTROL, "public, immutable");
    set(&mut response, EXPIRES, &until.format("%a, %d %b %Y %H:%M:%S GMT").to_string());
    Ok(Some(response))
}

fn v2_form(call: &Call) -> Result<(DocumentKind, &'static str)> {
    match accepts(call, &[JSON, PROTOBUF, PROTOBUF_ASKED]) {
        Some(JSON) => Ok((DocumentKind::V2Json, JSON)),
        Some(_) => Ok((DocumentKind::V2Protobuf, PROTOBUF)),
        None => Err(not_acceptable()),
    }
}

fn not_acceptable() -> Failure {
    Failure::NotAcceptable("only the following media types are accepted: application/json".to_owned())
}

/// Returns the media type in `offered` that the first matching clause of `Accept` accepts; the first of `offered` if
/// any type is accepted. Weights are ignored: no client sends any here.
fn accepts(call: &Call, offered: &[&'static str]) -> Option<&'static str> {
    let accept = call.header(ACCEPT);
    if accept.trim().is_empty() {
        return offered.first().copied();
    }
    accept.split(',').find_map(|clause| {
        let media = clause.split(';').next().unwrap_or_default().trim();
        match media {
            "*/*" | "application/*" => offered.first().copied(),
            media => offered.iter().find(|offered| **offered == media).copied(),
        }
    })
}

fn respond(call: &Call, document: &Document, media: &str) -> Response {
    let tag = format!("\"{}\"", document.hash);
    let known = call.header(IF_NONE_MATCH);
    let same = known.split(',').any(|known| known.trim().trim_start_matches("W/") == tag);
    let mut response = if same {
        let mut response = Response::new(full(""));
        *response.status_mut() = http::StatusCode::NOT_MODIFIED;
        response
    } else {
        Response::new(full(document.bytes.clone()))
    };
    set(&mut response, CONTENT_TYPE, media);
    set(&mut response, ETAG, &tag);
    set(&mut response, VARY, "Accept");
    set(&mut response, CACHE_CONTROL, "no-cache, private");
    response
}

/// Returns a 301 to the URL with the present hash, for a client that requests an outdated one.
fn moved(location: &str) -> Response {
    let mut response = Response::new(full(""));
    *response.status_mut() = http::StatusCode::MOVED_PERMANENTLY;
    set(&mut response, LOCATION, location);
    response
}

fn set(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNION: Releases = Releases { elsewhere: Release::UNION, definitions: None };

    fn described(plural: &'static str) -> Described {
        Described::new(row(plural), None)
    }

    fn row(plural: &'static str) -> ResourceInfo {
        ResourceInfo { group: "example.com", version: "v1", kind: "Thing", plural, ..ResourceInfo::BASE }
    }

    #[test]
    fn resources_that_are_not_stored_can_only_be_created() {
        let documents = Documents::new([described("things")], [row("reviews"), row("things")]);
        let tree = v3(&documents.rows);
        let methods = |path: &str| tree["paths"][path].as_object().expect("a path").keys().cloned().collect::<Vec<_>>();
        assert_eq!(methods("/apis/example.com/v1/reviews"), ["post"]);
        assert_eq!(methods("/apis/example.com/v1/things"), ["delete", "get", "post"]);
        assert!(tree["paths"].get("/apis/example.com/v1/reviews/{name}").is_none());
    }

    #[test]
    fn a_document_is_made_once() {
        let documents = Documents::new([described("things")], []);
        let sources = Sources { own: &documents, delegated: None, releases: UNION };
        let places = Places { own: vec![0], delegated: Vec::new() };
        let first = sources.get(DocumentKind::V3, &places);
        assert!(Arc::ptr_eq(&first, &sources.get(DocumentKind::V3, &places)));
        assert_ne!(first.hash, sources.get(DocumentKind::V3, &Places::default()).hash);
    }

    #[test]
    fn a_document_has_the_rows_of_a_server_behind() {
        let (own, behind) = (Documents::new([described("things")], []), Documents::new([described("gizmos")], []));
        let sources = Sources { own: &own, delegated: Some(&behind), releases: UNION };
        let versions = sources.versions(|_| true);
        let places = &versions[&("example.com", "v1")];
        let document = sources.get(DocumentKind::V3, places);
        let tree: Value = serde_json::from_slice(&document.bytes).expect("JSON");
        for plural in ["things", "gizmos"] {
            assert!(tree["paths"].get(format!("/apis/example.com/v1/{plural}")).is_some(), "{plural}");
        }
        assert!(own.made.lock().is_empty(), "it goes with the server behind");
    }
}
