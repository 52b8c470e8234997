// SPDX-License-Identifier: Apache-2.0
//! Decoding of a body to an object of the kind.

use apimachinery::decode::{self, DecodeError, Decoded};
use apimachinery::field::{FieldError, Path};
use apimachinery::resource::group_version;
use apimachinery::schema::Node;
use apimachinery::{GroupKind, Status, opaque, patch};
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::Scope;
use crate::bodies::protobuf::summary;
use crate::bodies::yaml;
use crate::kind::{AnyObject, Names};
use crate::negotiation::{Input, input, unsupported_body};
use crate::request::FieldValidation;
use crate::status::{Failure, Result};

/// A decoded body and its warnings.
pub(super) struct Draft {
    pub(super) tree: Value,
    pub(super) warnings: Vec<String>,
}

/// The expected kind of a body.
pub(super) struct Expected<'a> {
    pub(super) group: &'a str,
    pub(super) version: &'a str,
    pub(super) kind: &'a str,
    pub(super) node: &'a Node,
}

impl<'a> From<&'a Names> for Expected<'a> {
    fn from(names: &'a Names) -> Self {
        let info = &names.info;
        Self { group: info.group, version: info.version, kind: info.kind, node: &names.node }
    }
}

impl Scope {
    /// Reads the body of a POST or PUT.
    pub(super) fn draft(&self, body: &[u8], validation: FieldValidation) -> Result<Draft> {
        self.draft_of(&self.names().into(), body, validation)
    }

    /// Reads a body of another kind than the resource.
    pub(super) fn draft_of(&self, expected: &Expected<'_>, body: &[u8], validation: FieldValidation) -> Result<Draft> {
        if input(self.call.header(CONTENT_TYPE)) != Input::Json {
            return Err(unsupported_body(!self.names().info.custom));
        }
        let keeps = self.kind.keeps_opaque() && expected.kind == self.names().info.kind;
        let is_own = expected.kind == self.names().info.kind;
        let read = match (keeps, is_own && self.names().info.custom) {
            (true, _) => decode::json_with_opaque,
            (false, true) => decode::json_without_types,
            (false, false) => decode::json,
        };
        let decoded = read(body, expected.node).or_else(|error| {
            if is_own && self.judges(&error) { decode::json_without_types(body, &Node::Raw) } else { Err(error) }
        });
        let decoded = decoded.map_err(|error| {
            Failure::BadRequest(match untyped(body) {
                Some(text) => unrecognized(expected.kind, body, &text),
                None => cannot_be_handled(expected, &error.message),
            })
        })?;
        let mut strict = decoded.strict;
        let mut tree = decoded.tree;
        self.own_type(expected, &mut tree)?;
        let duplicates = &self.call.duplicates;
        let warnings = match validation {
            FieldValidation::Ignore => Vec::new(),
            FieldValidation::Warn => duplicates.iter().cloned().chain(strict).collect(),
            FieldValidation::Strict if strict.is_empty() && duplicates.is_empty() => strict,
            FieldValidation::Strict => {
                strict.splice(0..0, yaml::unmarshal_errors(duplicates));
                let text = format!("strict decoding error: {}", strict.join(", "));
                return Err(Failure::BadRequest(cannot_be_handled(expected, &text)));
            }
        };
        Ok(Draft { tree, warnings })
    }

    /// True if the strategy validates bodies of a wrong shape, as for custom kinds of clusters: their messages differ
    /// from those of typed kinds.
    fn judges(&self, error: &DecodeError) -> bool {
        !error.malformed && self.names().described.is_some()
    }

    /// Returns the typed object of a pruned tree.
    pub(super) fn object(&self, tree: Value) -> Result<Box<AnyObject>> {
        self.kind.read_tree(tree).map_err(|error| Failure::BadRequest(cannot_be_handled(&self.names().into(), &error)))
    }

    /// Patches a tree and checks it against the schema. If that fails, the error shows a strategic merge patch itself,
    /// or otherwise the patched tree, which is computed again for it: almost all patches succeed, so they do not pay
    /// for a copy of each tree.
    pub(super) fn pruned(
        &self,
        make: impl Fn() -> Result<Value>,
        strategic: Option<&Value>,
        validation: FieldValidation,
    ) -> Result<Draft> {
        let shown = || match strategic {
            Some(patch) => Ok(patch::go_text(patch)),
            None => make().map(|tree| opaque::plain(tree).to_string()),
        };
        let decoded = match decode::tree(make()?, &self.names().node) {
            Err(error) if self.judges(&error) => Ok(Decoded { tree: make()?, ..Decoded::default() }),
            decoded => decoded,
        };
        self.checked(decoded, shown, validation)
    }

    /// Checks the result of decoding a patched tree, or a patch; `shown`: the text of a refusal.
    pub(super) fn checked(
        &self,
        decoded: std::result::Result<Decoded, DecodeError>,
        shown: impl Fn() -> Result<String>,
        validation: FieldValidation,
    ) -> Result<Draft> {
        let decoded = match decoded {
            Ok(decoded) => decoded,
            Err(error) => return Err(patched(shown()?, &error.message)),
        };
        let strict = decoded.strict;
        let mut tree = decoded.tree;
        self.own_type(&self.names().into(), &mut tree)?;
        let warnings = match validation {
            FieldValidation::Ignore => Vec::new(),
            FieldValidation::Warn => strict,
            FieldValidation::Strict if strict.is_empty() => strict,
            FieldValidation::Strict => {
                let text = format!("strict decoding error: {}", strict.join(", "));
                return Err(patched(shown()?, &text));
            }
        };
        Ok(Draft { tree, warnings })
    }

    /// Checks `apiVersion` and `kind`, which may be absent, and sets them.
    fn own_type(&self, expected: &Expected<'_>, tree: &mut Value) -> Result<()> {
        let own = group_version(expected.group, expected.version);
        let text = |field: &str| tree[field].as_str().filter(|text| !text.is_empty());
        let (api_version, kind) = (text("apiVersion").unwrap_or(&own), text("kind").unwrap_or(expected.kind));
        let is_custom = expected.kind == self.names().info.kind && self.names().info.custom;
        if !is_custom && (api_version, kind) != (own.as_str(), expected.kind) {
            let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
            let scheme = &self.server.scheme;
            let error = if !scheme.knows(group, version, kind) {
                let place = scheme.place;
                Some(format!("no kind {kind:?} is registered for version {api_version:?} in scheme {place:?}"))
            } else if (group, kind) != (expected.group, expected.kind) {
                let package = match expected.group.split('.').next() {
                    None | Some("" | "events") => "core",
                    Some(package) => package,
                };
                let into = expected.kind;
                Some(format!("converting ({version}.{kind}) to ({package}.{into}): unknown conversion"))
            } else {
                None
            };
            if let Some(error) = error {
                let into = expected.kind;
                let text = format!("{kind} in version {version:?} cannot be handled as a {into}: {error}");
                return Err(Failure::BadRequest(text));
            }
        }
        if api_version != own {
            return Err(Failure::BadRequest(format!(
                "the API version in the data ({api_version}) does not match the expected API version ({own})"
            )));
        }
        if kind != expected.kind {
            let detail = format!("must be {}", expected.kind);
            let name = tree["metadata"]["name"].as_str().unwrap_or_default();
            let error = FieldError::invalid(&Path::new("kind"), kind, &detail);
            return Err(Failure::field(&self.names().group_kind, name, error));
        }
        tree["apiVersion"] = json!(own);
        tree["kind"] = json!(expected.kind);
        Ok(())
    }

    /// Returns a 422 if hooks found violations.
    pub(super) fn invalid(&self, name: &str, errors: &[FieldError]) -> Result<()> {
        if errors.is_empty() {
            return Ok(());
        }
        Err(Status::invalid(&self.names().group_kind, name, errors).into())
    }
}

/// Returns the 422 for a patch whose result is not an object of the kind.
fn patched(shown: String, text: &str) -> Failure {
    Failure::field(&GroupKind::default(), "", FieldError::invalid(&Path::new("patch"), shown, text))
}

pub(super) fn cannot_be_handled(expected: &Expected<'_>, error: &str) -> String {
    let (kind, version) = (expected.kind, expected.version);
    format!("{kind} in version {version:?} cannot be handled as a {kind}: {error}")
}

fn unrecognized(kind: &str, body: &[u8], error: &str) -> String {
    let summary = summary(body);
    format!("the object provided is unrecognized (must be of type {kind}): {error} ({summary})")
}

/// Returns Go's error if the version and kind of a body cannot be read; `None` if they can.
fn untyped(body: &[u8]) -> Option<String> {
    let error = match decode::any_json(body) {
        Err(error) => error.message,
        Ok(Value::Null) => return None,
        Ok(Value::Object(fields)) => {
            let is_text = |field: &&str| matches!(fields.get(*field), None | Some(Value::String(_) | Value::Null));
            let field = ["apiVersion", "kind"].into_iter().find(|field| !is_text(field))?;
            let kind = decode::json_type(&fields[field]);
            format!("json: cannot unmarshal {kind} into Go struct field .{field} of type string")
        }
        Ok(other) => {
            let fields = "APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
                          \"json:\\\"kind,omitempty\\\"\"";
            format!("json: cannot unmarshal {} into Go value of type struct {{ {fields} }}", decode::json_type(&other))
        }
    };
    Some(format!("couldn't get version/kind; json parse error: {error}"))
}
