// SPDX-License-Identifier: Apache-2.0
//! PATCH of objects and their subresources: computes the new object from the stored one.

use apimachinery::field::{FieldError, Path};
use apimachinery::{decode, opaque, patch};
use http::header::CONTENT_TYPE;
use process::Response;
use serde_json::Value;

use super::Scope;
use super::draft::{Draft, cannot_be_handled};
use super::ownership::{ClientEntries, concerns_entries};
use super::update::Source;
use super::write::Made;
use crate::kind::AnyObject;
use crate::negotiation::media;
use crate::request::FieldValidation;
use crate::status::{Failure, Result};
use crate::storage::stored::Stored;

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";

impl Scope {
    pub(super) async fn patch(mut self, body: &[u8]) -> Result<Response> {
        self.context.dry_run = self.call.query.dry_run("PatchOptions")?;
        let validation = self.call.query.field_validation("PatchOptions")?;
        let type_ = self.patch_type()?;
        if self.call.query.flag("force").is_some() && type_ != APPLY_PATCH {
            let error = FieldError::forbidden(&Path::new("force"), "may not be specified for non-apply patch");
            return Err(Failure::options("PatchOptions", error));
        }
        if type_ == APPLY_PATCH {
            return self.apply(body, validation).await;
        }
        let name = self.path.name.clone();
        self.modify(&name, Source::Patch(type_, body, validation)).await
    }

    /// Returns the patch's media type.
    pub(super) fn patch_type(&self) -> Result<&'static str> {
        let type_ = media(self.call.header(CONTENT_TYPE));
        let accepted: &[&'static str] = if self.names().info.custom {
            &[JSON_PATCH, MERGE_PATCH, APPLY_PATCH]
        } else {
            &[JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH]
        };
        let found = accepted.iter().find(|accepted| **accepted == type_).copied();
        found.ok_or_else(|| Failure::UnsupportedMediaType(accepted.to_vec()))
    }

    /// Applies a patch to the stored object.
    pub(super) fn patched(
        &self,
        type_: &str,
        body: &[u8],
        validation: FieldValidation,
        stored: &Stored,
        old: &AnyObject,
    ) -> Result<Made> {
        if type_ == JSON_PATCH {
            let entries = concerns_entries(body);
            let make = || {
                let mut tree = self.opaque_tree(old, &stored.sections, entries)?;
                self.json_patch(&mut tree, body)?;
                Ok(tree)
            };
            let draft = self.pruned(make, None, validation)?;
            let given = ClientEntries::of(&draft.tree);
            let tree = self.through_door(draft.tree, stored, old)?;
            return Ok(Made::new(self.object(tree)?, draft.warnings, given));
        }
        let merge = self.merge_patch(body)?;
        let entries = concerns_entries(body);
        let is_strategic = type_ == STRATEGIC_PATCH;
        // A directive is about its siblings. The schema of a custom kind may have changed since.
        let has_directives = merge.as_object().is_none_or(|fields| fields.keys().any(|name| name.starts_with('$')));
        if !entries && !has_directives && self.names().described.is_none() {
            if !is_strategic {
                return self.merged_into(merge, validation, stored, old);
            }
            if let Some(made) = self.patched_part(&merge, validation, old)? {
                return Ok(made);
            }
        }
        let strategic = is_strategic.then_some(&merge);
        let make = || self.merged_whole(type_, &merge, entries, stored, old);
        let Draft { tree, warnings } = self.pruned(make, strategic, validation)?;
        let given = ClientEntries::of(&tree);
        Ok(Made::new(self.object(tree)?, warnings, given))
    }

    /// Applies a JSON patch to a tree of [`Scope::opaque_tree`].
    pub(super) fn json_patch(&self, tree: &mut Value, patch: &[u8]) -> Result<()> {
        if self.kind.keeps_opaque() {
            let patch = opaque::open_for_json_patch(tree, patch, &self.names().node);
            return Ok(patch::json_patch(tree, &patch)?);
        }
        Ok(patch::json_patch(tree, patch)?)
    }

    /// Merges a patch into a copy of the typed object: only the patch is read and checked.
    fn merged_into(&self, merge: Value, validation: FieldValidation, stored: &Stored, old: &AnyObject) -> Result<Made> {
        let whole = || Ok(opaque::plain(self.merged_whole(MERGE_PATCH, &merge, false, stored, old)?).to_string());
        let decoded = decode::merge_patch(merge.clone(), &self.names().node);
        let Draft { tree, warnings } = self.checked(decoded, whole, validation)?;
        let object = self.kind.merged(old, tree);
        let object = object.map_err(|error| Failure::BadRequest(cannot_be_handled(&self.names().into(), &error)))?;
        Ok(Made::new(object, warnings, ClientEntries::Nothing))
    }

    /// Applies a strategic patch only to the top-level fields that it names, since a patch leaves most of an object
    /// unchanged; `None` if the kind's fields cannot be patched separately.
    fn patched_part(&self, merge: &Value, validation: FieldValidation, old: &AnyObject) -> Result<Option<Made>> {
        let Value::Object(fields) = merge else { return Ok(None) };
        // A strategic patch of the whole sorts all opaque JSON.
        if self.kind.keeps_opaque() && &*self.context.subresource != "status" {
            return Ok(None);
        }
        let touched: Vec<&str> = fields.keys().map(String::as_str).collect();
        let make = || self.merged(STRATEGIC_PATCH, Value::Object(self.kind.trees_of(old, &touched)), merge);
        let Draft { tree, warnings } = self.pruned(make, Some(merge), validation)?;
        let mut object = self.object(tree)?;
        if !self.kind.keep_fields(&mut *object, old, &touched) {
            return Ok(None);
        }
        Ok(Some(Made::new(object, warnings, ClientEntries::Nothing)))
    }

    /// Returns the whole object with a merge patch applied.
    fn merged_whole(
        &self,
        type_: &str,
        merge: &Value,
        entries: bool,
        stored: &Stored,
        old: &AnyObject,
    ) -> Result<Value> {
        let tree = match type_ {
            STRATEGIC_PATCH if !entries => self.kind.to_tree_without_entries(old),
            STRATEGIC_PATCH => self.kind.to_tree(old),
            _ => self.opaque_tree(old, &stored.sections, entries)?,
        };
        self.merged(type_, tree, merge)
    }

    fn merged(&self, type_: &str, mut tree: Value, merge: &Value) -> Result<Value> {
        if type_ == STRATEGIC_PATCH {
            patch::strategic_merge_patch(&mut tree, merge, &self.names().node)?;
        } else {
            opaque::open_for_merge(&mut tree, merge);
            patch::merge_patch(&mut tree, merge);
        }
        Ok(tree)
    }

    /// Returns an object as a tree in which opaque JSON has the text that it has in the object's sections; without its
    /// managed fields unless `entries` is true.
    pub(super) fn opaque_tree(
        &self,
        object: &AnyObject,
        sections: &eventlog::Sections,
        entries: bool,
    ) -> Result<Value> {
        if !self.kind.keeps_opaque() {
            return Ok(if entries { self.kind.to_tree(object) } else { self.kind.to_tree_without_entries(object) });
        }
        let [identity, metadata, managed, rest, status] = &sections.parts;
        let managed: &[u8] = if entries { managed } else { b"}" };
        let text = [identity, metadata, managed, rest, status].concat();
        let decoded = decode::json_with_opaque(&text, &self.names().node);
        let mut tree = decoded.map_err(|error| Failure::Internal(error.message))?.tree;
        // The sections hold no resource version.
        let version = &self.kind.metadata(object).resource_version;
        if !version.is_empty() {
            tree["metadata"]["resourceVersion"] = Value::String(version.clone());
        }
        Ok(tree)
    }

    /// Reads a merge patch, without the fields that the subresource may not change, so that nothing has to be restored.
    fn merge_patch(&self, body: &[u8]) -> Result<Value> {
        let mut merge = read_patch(body)?;
        let Value::Object(fields) = &mut merge else {
            return Err(Failure::BadRequest("error decoding patch: the patch is not a JSON object".to_owned()));
        };
        if &*self.context.subresource == "status" {
            fields.retain(|name, _| matches!(name.as_str(), "status" | "metadata" | "apiVersion" | "kind"));
            if self.names().info.custom
                && let Some(Value::Object(metadata)) = fields.get_mut("metadata")
            {
                metadata.retain(|name, _| is_precondition(name));
            }
        } else if &*self.context.subresource == "approval" {
            fields.retain(|name, _| matches!(name.as_str(), "status" | "metadata" | "apiVersion" | "kind"));
            if let Some(Value::Object(status)) = fields.get_mut("status") {
                status.retain(|name, _| name == "conditions");
            }
        } else if self.names().has_subresource("status") {
            fields.remove("status");
        }
        Ok(merge)
    }
}

/// Reads a patch of any shape.
pub(super) fn read_patch(body: &[u8]) -> Result<Value> {
    decode::any_json(body).map_err(|error| Failure::BadRequest(format!("error decoding patch: {}", error.message)))
}

pub(super) fn is_precondition(name: &str) -> bool {
    matches!(name, "name" | "namespace" | "uid" | "resourceVersion")
}
