// SPDX-License-Identifier: Apache-2.0
//! Views: a resource of one group or version served as a resource of another, with other names for some of its fields.
//!
//! Events are one case: `v1` and `events.k8s.io/v1` are one storage; kinds with two versions are the other. A request
//! through a view is renamed, handled as a request for the stored resource, and its response is renamed back; so
//! revisions, uids and watches are the same.
//!
//! A view may have functions for conversions that are more than renames ([`Renamed::converted`]): they receive whole
//! objects in responses, and any body of requests, patches included. Apply configurations are not converted: they are
//! merged with the object in the view's form, so that their manager owns fields of the view's version.
//!
//! **Deliberately absent**: conversions of JSON patches.

use apimachinery::catalogue::ResourceInfo;
use apimachinery::field::{FieldError, Path};
use apimachinery::schema::Node;
use bytes::Bytes;
use http::Method;
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt;
use process::Response;
use process::transport::{Decoded, full};
use serde_json::{Map, Value, json};

use crate::negotiation::{media, unsupported_body};
use crate::request::{Call, ResourcePath};
use crate::status::{Failure, Result};

/// Differences between a view and the stored resource.
#[derive(Clone, Debug)]
pub struct Renamed {
    /// Names of fields that differ, as pairs: in the view, as stored.
    pub fields: &'static [(&'static str, &'static str)],
    /// Names of fields below a field: the outer name in the view, the inner names as pairs: in the view, as stored.
    pub inner: &'static [(&'static str, &'static [(&'static str, &'static str)])],
    /// Fields of the view that are not stored, since they have only one possible value.
    pub fixed: &'static [(&'static str, &'static str)],
    /// Fields, by their names in the view, that are required for creation through it.
    pub required: &'static [&'static str],
    /// Conversion beyond renames.
    pub converted: Option<Converted>,
}

/// Functions that convert fields of objects between versions.
#[derive(Clone, Copy, Debug)]
pub struct Converted {
    /// Converts from the view to the stored form: objects, and patches, which are partial objects.
    pub inwards: fn(&mut Map<String, Value>),
    /// Converts from the stored form to the view.
    pub outwards: fn(&mut Map<String, Value>),
}

/// Events of `events.k8s.io/v1`, stored as those of `v1`.
pub const EVENTS: Renamed = Renamed {
    fields: &[
        ("regarding", "involvedObject"),
        ("note", "message"),
        ("deprecatedSource", "source"),
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("reportingController", "reportingComponent"),
    ],
    inner: &[],
    fixed: &[],
    required: &["eventTime", "reportingController", "reportingInstance", "action", "reason", "type"],
    converted: None,
};

/// View of another version of a resource that differs in its name only.
pub(crate) const VERSION: Renamed = Renamed::NOTHING;

impl Renamed {
    /// True if fields have the same names and places.
    fn is_nothing(&self) -> bool {
        self.fields.is_empty() && self.inner.is_empty() && self.fixed.is_empty() && self.converted.is_none()
    }

    /// No differences.
    pub const NOTHING: Self = Self { fields: &[], inner: &[], fixed: &[], required: &[], converted: None };
}

/// A served view.
pub(crate) struct View {
    pub(crate) info: ResourceInfo,
    /// The stored resource.
    pub(crate) target: ResourceInfo,
    renamed: Renamed,
    /// Schema of objects in OpenAPI documents; `None`: the row's tree.
    pub(crate) described: Option<Node>,
    /// Group and version in the `apiVersion` of objects.
    pub(crate) api_version: String,
    /// The tree of the view's objects.
    pub(crate) node: Node,
}

impl View {
    pub(crate) fn new(info: &ResourceInfo, target: &ResourceInfo, renamed: Renamed, described: Option<Node>) -> Self {
        let node = described.clone().unwrap_or_else(|| (info.schema)());
        Self { info: info.clone(), target: target.clone(), renamed, described, api_version: api_version(info), node }
    }

    /// True if the fields have the same names and places as in the stored resource.
    pub(crate) fn is_alike(&self) -> bool {
        self.renamed.is_nothing()
    }

    /// Converts a stored object to the view's form.
    pub(crate) fn shown(&self, stored: &Value) -> Value {
        self.turned(stored, false)
    }

    /// Converts an object of the view to the stored form.
    pub(crate) fn stored(&self, shown: &Value) -> Value {
        self.turned(shown, true)
    }

    fn turned(&self, tree: &Value, inwards: bool) -> Value {
        let mut tree = tree.clone();
        if let Value::Object(fields) = &mut tree {
            self.rename(fields, inwards);
        }
        tree
    }

    /// Turns the request into one for the stored resource.
    pub(crate) fn enter(&self, call: &mut Call, path: &mut ResourcePath, body: Bytes) -> Result<Bytes> {
        self.target.group.clone_into(&mut path.group);
        self.target.version.clone_into(&mut path.version);
        self.target.plural.clone_into(&mut path.plural);
        call.query.change("fieldSelector", |selector| self.selector(selector));
        if body.is_empty() || call.method == Method::DELETE {
            return Ok(body);
        }
        match &*media(call.header(CONTENT_TYPE)) {
            ""
            | "application/json"
            | "application/merge-patch+json"
            | "application/strategic-merge-patch+json"
            | "application/json-patch+json" => {}
            // A configuration is applied to an object in the view's form.
            "application/apply-patch+yaml" => return Ok(body),
            _ => return Err(unsupported_body(true)),
        }
        // Invalid JSON is refused where the body is read.
        let Ok(mut tree) = serde_json::from_slice::<Value>(&body) else { return Ok(body) };
        self.check(&tree, call.method == Method::POST)?;
        match &mut tree {
            Value::Object(fields) => {
                self.rename(fields, true);
                if fields.get("apiVersion").and_then(Value::as_str) == Some(&*api_version(&self.info)) {
                    fields.insert("apiVersion".to_owned(), json!(api_version(&self.target)));
                }
            }
            Value::Array(operations) => operations.iter_mut().for_each(|operation| self.pointers(operation)),
            _ => {}
        }
        Ok(tree.to_string().into())
    }

    /// Turns the response into the view's form.
    pub(crate) async fn leave(self: std::sync::Arc<Self>, response: Response, watch: bool) -> Response {
        let (mut parts, body) = response.into_parts();
        parts.extensions.remove::<Decoded>();
        if watch && parts.status.is_success() {
            let body = body.map_frame(move |frame| frame.map_data(|lines| self.frames(&lines)));
            return Response::from_parts(parts, body.boxed_unsync());
        }
        let Ok(body) = body.collect().await else {
            parts.status = http::StatusCode::INTERNAL_SERVER_ERROR;
            return Response::from_parts(parts, full(""));
        };
        let body = body.to_bytes();
        match serde_json::from_slice::<Value>(&body) {
            Ok(mut tree) => {
                self.show(&mut tree);
                Response::from_parts(parts, full(format!("{tree}\n")))
            }
            Err(_) => Response::from_parts(parts, full(body)),
        }
    }

    fn frames(&self, lines: &Bytes) -> Bytes {
        lines.split_inclusive(|byte| *byte == b'\n').flat_map(|line| self.frame(line)).collect()
    }

    fn frame(&self, line: &[u8]) -> Vec<u8> {
        let Ok(mut tree) = serde_json::from_slice::<Value>(line) else { return line.to_vec() };
        self.show(&mut tree["object"]);
        // The type is the first field, as everywhere.
        format!("{{\"type\":{},\"object\":{}}}\n", tree["type"], tree["object"]).into_bytes()
    }

    /// Renames objects, lists and frames in a response.
    fn show(&self, tree: &mut Value) {
        let stored = self.target.kind;
        match tree["kind"].as_str() {
            Some("Status") if tree["details"]["kind"] == self.target.plural => {
                let (from, to) = (self.target.group_resource().to_string(), self.info.group_resource().to_string());
                tree["details"]["group"] = json!(self.info.group);
                if let Some(rest) = tree["message"].as_str().and_then(|text| text.strip_prefix(&from)) {
                    tree["message"] = json!(format!("{to}{rest}"));
                }
            }
            Some("Table") => {
                for row in tree["rows"].as_array_mut().into_iter().flatten() {
                    self.show(&mut row["object"]);
                }
            }
            Some(kind) if kind == stored => {
                if let Value::Object(fields) = tree {
                    self.rename(fields, false);
                    fields.insert("kind".to_owned(), json!(self.info.kind));
                    fields.insert("apiVersion".to_owned(), json!(api_version(&self.info)));
                }
            }
            Some(kind) if kind.strip_suffix("List") == Some(stored) => {
                tree["kind"] = json!(format!("{}List", self.info.kind));
                tree["apiVersion"] = json!(api_version(&self.info));
                for item in tree["items"].as_array_mut().into_iter().flatten() {
                    let Value::Object(fields) = item else { continue };
                    self.rename(fields, false);
                    if fields.contains_key("kind") {
                        fields.insert("kind".to_owned(), json!(self.info.kind));
                        fields.insert("apiVersion".to_owned(), json!(api_version(&self.info)));
                    }
                }
            }
            _ => {}
        }
    }

    /// Refuses objects that the view does not allow.
    pub(crate) fn check(&self, tree: &Value, is_new: bool) -> Result<()> {
        let missing = |name: &&&str| matches!(&tree[**name], Value::Null) || tree[**name] == "";
        let required = self.renamed.required.iter().filter(|_| is_new).filter(missing);
        let mut errors: Vec<FieldError> = required.map(|name| FieldError::required(&Path::new(name), "")).collect();
        for (name, only) in self.renamed.fixed {
            if let Some(value) = tree[*name].as_str().filter(|value| !value.is_empty() && value != only) {
                errors.push(FieldError::not_supported(&Path::new(name), value, &[*only]));
            }
        }
        if errors.is_empty() {
            return Ok(());
        }
        let name = tree["metadata"]["name"].as_str().unwrap_or_default();
        Err(Failure::Invalid(self.info.group_kind(), name.to_owned(), errors))
    }

    /// Returns the names below a top-level field, which is named as in the view.
    fn below(&self, outer: &str) -> &'static [(&'static str, &'static str)] {
        self.renamed.inner.iter().find(|(name, _)| *name == outer).map_or(&[], |(_, names)| names)
    }

    fn other(&self, name: &str, inwards: bool) -> Option<&'static str> {
        other(self.renamed.fields, name, inwards)
    }

    fn rename(&self, fields: &mut Map<String, Value>, inwards: bool) {
        for (name, only) in self.renamed.fixed {
            if inwards {
                fields.remove(*name);
            } else {
                fields.insert((*name).to_owned(), json!(only));
            }
        }
        let renamed = std::mem::take(fields).into_iter().map(|(name, mut value)| {
            let new = self.other(&name, inwards).map_or_else(|| name.clone(), str::to_owned);
            let names = self.below(if inwards { &name } else { &new });
            if let (Value::Object(inner), false) = (&mut value, names.is_empty()) {
                let renamed = std::mem::take(inner).into_iter();
                *inner = renamed
                    .map(|(name, value)| (other(names, &name, inwards).map_or(name, str::to_owned), value))
                    .collect();
            }
            (new, value)
        });
        *fields = renamed.collect();
        if let Some(Converted { inwards: into, outwards }) = self.renamed.converted {
            if inwards { into(fields) } else { outwards(fields) }
        }
    }

    /// Renames the paths of an operation of a JSON patch.
    fn pointers(&self, operation: &mut Value) {
        for name in ["path", "from"] {
            let Some(pointer) = operation[name].as_str() else { continue };
            let mut segments: Vec<&str> = pointer.split('/').collect();
            let [_, first, rest @ ..] = segments.as_mut_slice() else { continue };
            if let [second, ..] = rest
                && let Some(stored) = other(self.below(first), second, true)
            {
                *second = stored;
            }
            if let Some(stored) = self.other(first, true) {
                *first = stored;
            }
            operation[name] = json!(segments.join("/"));
        }
    }

    fn selector(&self, selector: &str) -> String {
        let mut out = String::with_capacity(selector.len() + 16);
        let mut rest = selector;
        while !rest.is_empty() {
            let end = rest.find(['.', '=', '!', ',']).unwrap_or(rest.len());
            out.push_str(self.other(&rest[..end], true).unwrap_or(&rest[..end]));
            rest = &rest[end..];
            // The next term begins after a comma that is not escaped.
            let mut escaped = false;
            let next = rest.find(|character| {
                let comma = character == ',' && !escaped;
                escaped = character == '\\' && !escaped;
                comma
            });
            let (term, tail) = rest.split_at(next.map_or(rest.len(), |comma| comma + 1));
            out.push_str(term);
            rest = tail;
        }
        out
    }
}

fn other(names: &[(&'static str, &'static str)], name: &str, inwards: bool) -> Option<&'static str> {
    names.iter().find_map(|(view, stored)| match inwards {
        true if *view == name => Some(*stored),
        false if *stored == name => Some(*view),
        _ => None,
    })
}

fn api_version(info: &ResourceInfo) -> String {
    apimachinery::resource::group_version(info.group, info.version)
}
