// SPDX-License-Identifier: Apache-2.0
//! Server-side apply: a PATCH whose body is a configuration: the fields that its manager owns afterwards.
//!
//! ```text
//! missing object   configuration ──▶ creation ──▶ 201
//! stored object    ⊕ configuration, − fields that the manager has given up, if no other manager owns them ──▶ update ──▶ 200
//! ```
//!
//! Source: apiserver pkg/endpoints/handlers/patch.go, apimachinery pkg/util/managedfields @ v0.32; kube-api 13.5.

use apimachinery::field::{FieldError, Path};
use apimachinery::fields::{self, Applied, ApplyError};
use apimachinery::meta::ManagedFieldsEntry;
use apimachinery::{Status, decode};
use process::Response;
use serde_json::{Map, Value};

use super::draft::Draft;
use super::ownership::ClientEntries;
use super::update::Source;
use super::write::Made;
use super::{Scope, warn};
use crate::bodies::yaml;
use crate::kind::AnyObject;
use crate::meta;
use crate::request::FieldValidation;
use crate::status::{Failure, Result};
use crate::storage::stored::Stored;

/// The manager whose applies take over from client-side apply.
const KUBECTL: &str = "kubectl";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Bytes of all annotations above which the last applied configuration is dropped.
const ANNOTATIONS: usize = 256 * 1024;
/// Maximum number of attempts to apply while the object is created and deleted concurrently.
const TURNS: usize = 5;

/// Configuration of an apply.
#[derive(Clone, Debug)]
pub(super) struct Configuration {
    pub(super) tree: Value,
    force: bool,
    warnings: Vec<String>,
}

impl Scope {
    /// Handles an apply.
    pub(super) async fn apply(&self, body: &[u8], validation: FieldValidation) -> Result<Response> {
        let configuration = self.configuration(body, validation)?;
        self.check_type(&configuration.tree)?;
        if let Some(view) = &self.via {
            view.check(&configuration.tree, false)?;
        }
        self.apply_tree(configuration).await
    }

    /// Reads the configuration, and the options of the request.
    pub(super) fn configuration(&self, body: &[u8], validation: FieldValidation) -> Result<Configuration> {
        if self.call.query.text("fieldManager").is_empty() {
            let error = FieldError::required(&Path::new("fieldManager"), "is required for apply patch");
            return Err(Failure::options("PatchOptions", error));
        }
        let refused = |error: &str| Failure::BadRequest(format!("error decoding patch: {error}"));
        let (tree, duplicates) = yaml::parse(body).map_err(|error| refused(&error))?;
        if !tree.is_object() {
            let text = "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal into Go value of type \
                        map[string]interface {}";
            return Err(refused(text));
        }
        if !decode::is_within(&tree, decode::MAX_DEPTH) {
            return Err(refused("exceeded max depth"));
        }
        let warnings = match (validation, yaml::unmarshal_errors(&duplicates)) {
            (FieldValidation::Strict, Some(text)) => {
                let text = format!("error strict decoding patch: error converting YAML to JSON: {text}");
                return Err(Failure::BadRequest(text));
            }
            (FieldValidation::Warn, _) => duplicates,
            _ => Vec::new(),
        };
        let force = self.call.query.flag("force").unwrap_or(false);
        Ok(Configuration { tree, force, warnings })
    }

    /// Checks that a configuration states its type and has no managed fields.
    fn check_type(&self, tree: &Value) -> Result<()> {
        let text = |name: &str| tree.get(name).and_then(Value::as_str).unwrap_or_default();
        let spoken = self.spoken();
        if text("apiVersion") != spoken.api_version || text("kind") != spoken.info.kind {
            return Err(invalid_type(text("apiVersion"), text("kind")));
        }
        if tree.get("metadata").and_then(|metadata| metadata.get("managedFields")).is_some_and(Value::is_array) {
            return Err(Failure::BadRequest("metadata.managedFields must be nil".to_owned()));
        }
        Ok(())
    }

    /// Applies to the object; creates it if it is missing.
    pub(super) async fn apply_tree(&self, configuration: Configuration) -> Result<Response> {
        let name = self.path.name.clone();
        let mut last = Failure::Modified(self.names().group_resource.clone(), name.clone());
        for _ in 0..TURNS {
            let is_there = self.server.store.get(self.id, &self.object_path(&name)).is_some();
            let outcome = if is_there || !self.context.subresource.is_empty() {
                self.modify(&name, Source::Apply(configuration.clone())).await
            } else {
                self.create_applied(&configuration).await
            };
            match outcome {
                // It was created or deleted meanwhile.
                Err(failure @ Failure::AlreadyExists(..)) if !is_there => last = failure,
                Err(failure @ Failure::NotFound(..)) if is_there && self.context.subresource.is_empty() => {
                    last = failure;
                }
                outcome => return outcome,
            }
        }
        Err(last)
    }

    async fn create_applied(&self, configuration: &Configuration) -> Result<Response> {
        let name = &self.path.name;
        let empty = self.kind.empty_tree();
        let applied = self.applied(configuration, &empty, &empty, &[])?;
        let tree = applied.object.unwrap_or(empty);
        let metadata = tree.get("metadata").cloned().unwrap_or_default();
        let text = |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (uid, version) = (text("uid"), text("resourceVersion"));
        let resource = &self.names().group_resource;
        if !uid.is_empty() {
            let why =
                format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
            return Err(Failure::Conflict(resource.clone(), name.clone(), why));
        }
        if !matches!(version.as_str(), "" | "0") {
            return Err(Failure::Modified(resource.clone(), name.clone()));
        }
        check_name(&text("name"), name)?;
        let draft = Draft { tree: self.decoded_tree(tree)?, warnings: configuration.warnings.clone() };
        let created = self.create_from(draft, name, Some(applied.entries)).await;
        let (mut response, warnings) = created.map_err(|failure| failure.warned(configuration.warnings.clone()))?;
        warn(&mut response, &warnings);
        Ok(response)
    }

    /// Returns the stored object with the configuration applied.
    pub(super) fn made_by_apply(
        &self,
        configuration: &Configuration,
        stored: &Stored,
        old: &AnyObject,
    ) -> Result<Made> {
        let live = self.kind.to_tree_without_entries(old);
        let entries = &self.kind.metadata(old).managed_fields;
        let applied = self.applied(configuration, &self.kind.empty_tree(), &live, entries)?;
        let warnings = configuration.warnings.clone();
        let object = match applied.object {
            None => self.kind.copy(old),
            Some(tree) => {
                let given = tree["metadata"]["name"].as_str().unwrap_or_default();
                check_name(given, &self.path.name)?;
                let tree = self.through_door(self.decoded_tree(tree)?, stored, old)?;
                self.object(tree)?
            }
        };
        Ok(Made { object, warnings, given: ClientEntries::Nothing, entries: Some(applied.entries) })
    }

    /// Decodes a merged tree by the schema.
    fn decoded_tree(&self, mut tree: Value) -> Result<Value> {
        tree["apiVersion"] = Value::from(self.names().api_version.as_str());
        tree["kind"] = Value::from(self.names().info.kind);
        match decode::tree(tree, &self.names().node) {
            Ok(decoded) => Ok(decoded.tree),
            Err(error) => Err(Status::failure(500, "", error.message).into()),
        }
    }

    fn applied(
        &self,
        configuration: &Configuration,
        empty: &Value,
        live: &Value,
        entries: &[ManagedFieldsEntry],
    ) -> Result<Applied> {
        let manager = self.manager();
        let (spoken, writer, config) = (self.spoken(), self.writer(&manager), &configuration.tree);
        let (empty, live) = (self.in_spoken(empty), self.in_spoken(live));
        let (empty, live) = (&*empty, &*live);
        let (node, others) = (spoken.node, self.other_versions());
        let versions = fields::Versions { own: spoken.api_version, schema: node, others: &others };
        let apply = |force: bool| fields::apply_across(empty, live, config, entries, &versions, &writer, force);
        let outcome = match apply(configuration.force) {
            Err(ApplyError::Conflicts(conflicts)) if manager == KUBECTL => {
                let last = last_applied(live).unwrap_or_default();
                match fields::allowed_by_last_applied(&conflicts, last, live, node, writer.api_version) {
                    Some(rest) if rest.is_empty() => apply(true),
                    Some(rest) => Err(ApplyError::Conflicts(rest)),
                    None => Err(ApplyError::Conflicts(conflicts)),
                }
            }
            outcome => outcome,
        };
        let mut applied = outcome.map_err(|error| self.refused(error, config))?;
        if manager == KUBECTL {
            keep_last_applied(&mut applied, live, config);
        }
        applied.object = applied.object.map(|object| self.in_stored(object));
        Ok(applied)
    }

    fn refused(&self, error: ApplyError, config: &Value) -> Failure {
        match error {
            ApplyError::Conflicts(conflicts) => fields::conflict_status(&conflicts).into(),
            ApplyError::Entries(error) => {
                Status::failure(500, "", format!("failed to decode managed fields: {error}")).into()
            }
            ApplyError::Typed(violations) => {
                let text = match violations.as_slice() {
                    [one] => one.clone(),
                    several => format!("errors:\n  {}", several.join("\n  ")),
                };
                let of = |name: &str| config["metadata"][name].as_str().unwrap_or_default();
                let info = self.spoken().info;
                let message = format!(
                    "failed to create typed patch object ({}/{}; {}/{}, Kind={}): {text}",
                    of("namespace"),
                    of("name"),
                    info.group,
                    info.version,
                    info.kind
                );
                Status::failure(500, "", message).into()
            }
        }
    }
}

/// Returns the 400 for a configuration of another type.
pub(super) fn invalid_type(api_version: &str, kind: &str) -> Failure {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    Failure::BadRequest(format!("invalid object type: {group}/{version}, Kind={kind}"))
}

fn check_name(given: &str, url: &str) -> Result<()> {
    if given.is_empty() {
        return Err(Failure::BadRequest(format!(
            "the name of the object ({url} based on URL) was undeterminable: name must be provided"
        )));
    }
    if given == url { Ok(()) } else { Err(meta::name_mismatch(given, url)) }
}

/// Returns the last applied configuration of client-side apply.
fn last_applied(object: &Value) -> Option<&str> {
    let text = object.get("metadata")?.get("annotations")?.get(LAST_APPLIED)?.as_str()?;
    (!text.is_empty()).then_some(text)
}

/// Replaces the configuration that client-side apply has stored, if any, by the applied one, so that client-side apply
/// can continue from there.
fn keep_last_applied(applied: &mut Applied, live: &Value, config: &Value) {
    if last_applied(applied.object.as_ref().unwrap_or(live)).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = annotations_of(&mut config) {
        annotations.remove(LAST_APPLIED);
    }
    let mut text = Vec::new();
    apimachinery::go::write_json(&mut text, &config);
    text.push(b'\n');
    let text = String::from_utf8(text).unwrap_or_default();
    let mut object = applied.object.take().unwrap_or_else(|| live.clone());
    if let Some(annotations) = annotations_of(&mut object) {
        annotations.insert(LAST_APPLIED.to_owned(), Value::from(text));
        let size = |(key, value): (&String, &Value)| key.len() + value.as_str().map_or(0, str::len);
        if annotations.iter().map(size).sum::<usize>() > ANNOTATIONS {
            annotations.remove(LAST_APPLIED);
        }
    }
    applied.object = (object != *live).then_some(object);
}

fn annotations_of(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.get_mut("metadata")?.get_mut("annotations")?.as_object_mut()
}
