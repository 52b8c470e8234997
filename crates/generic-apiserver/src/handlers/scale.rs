// SPDX-License-Identifier: Apache-2.0
//! Subresource `scale`: `autoscaling/v1` Scale over `spec.replicas`, or over the paths that a custom kind defines.

use apimachinery::catalogue::{Cell, Column};
use apimachinery::field::{FieldError, Path};
use apimachinery::{GroupKind, decode, patch};
use http_body_util::BodyExt;
use process::Response;
use serde_json::{Value, json};

use super::Scope;
use super::apply::invalid_type;
use super::patch::read_patch;
use super::update::Source;
use crate::meta;
use crate::negotiation::Form;
use crate::registry::ScalePaths;
use crate::status::{Failure, Result, json_response};
use crate::table::{self, Include};

/// Source: k8s.io/kubernetes pkg/printers/internalversion/printers.go.
const COLUMNS: &[Column] = &[
    Column::new("Desired", "integer", Cell::Path(".spec.replicas"), 0),
    Column::new("Available", "integer", Cell::Path(".status.replicas"), 0),
    Column::new("Age", "age", Cell::Path(".metadata.creationTimestamp"), 0),
];

impl Scope {
    pub(super) fn get_scale(&self) -> Result<Response> {
        let tree = self.scale_of(&self.stored(&self.path.name)?.bytes())?;
        let shown = match self.form {
            Form::Object => tree,
            Form::Table(version) => {
                let include = Include::parse(self.call.query.text("includeObject"))?;
                table::of_tree(tree, COLUMNS, self.now(), version, include)
            }
            Form::Partial(version) => json!({
                "kind": "PartialObjectMetadata",
                "apiVersion": format!("meta.k8s.io/{version}"),
                "metadata": tree["metadata"],
            }),
        };
        Ok(json_response(200, format!("{shown}\n")))
    }

    pub(super) async fn update_scale(self, body: &[u8]) -> Result<Response> {
        let dry_run = self.call.query.dry_run("UpdateOptions")?;
        self.call.query.field_validation("UpdateOptions")?;
        let refused =
            |error: &str| Failure::BadRequest(format!("Scale in version \"v1\" cannot be handled as a Scale: {error}"));
        let tree = decode::any_json(body).map_err(|error| refused(&error.message))?;
        let given = tree["metadata"]["name"].as_str().unwrap_or_default();
        if !given.is_empty() && given != self.path.name {
            return Err(meta::name_mismatch(given, &self.path.name));
        }
        self.set_scale(tree, dry_run).await
    }

    pub(super) async fn patch_scale(self, body: &[u8]) -> Result<Response> {
        let dry_run = self.call.query.dry_run("PatchOptions")?;
        self.call.query.field_validation("PatchOptions")?;
        let type_ = self.patch_type()?;
        if type_ == "application/apply-patch+yaml" {
            return self.apply_scale(body, dry_run).await;
        }
        let mut tree = self.scale_of(&self.stored(&self.path.name)?.bytes())?;
        let holds = if type_ == "application/json-patch+json" {
            patch::json_patch(&mut tree, body)?;
            holds_version(body)
        } else {
            let patch = read_patch(body)?;
            patch::merge_patch(&mut tree, &patch);
            patch["metadata"]["resourceVersion"].is_string()
        };
        // A JSON patch may replace the whole object.
        if !tree.is_object() {
            let kind = go_kind(&tree);
            return Err(Failure::BadRequest(format!(
                "Scale in version \"v1\" cannot be handled as a Scale: json: cannot unmarshal {kind} into Go value of type v1.Scale"
            )));
        }
        // A patch without a resource version applies to the newest version.
        if !holds && let Some(metadata) = tree["metadata"].as_object_mut() {
            metadata.remove("resourceVersion");
        }
        self.set_scale(tree, dry_run).await
    }

    /// Applies a Scale to its object; only the number of replicas is used.
    async fn apply_scale(mut self, body: &[u8], dry_run: bool) -> Result<Response> {
        self.context.dry_run = dry_run;
        let validation = self.call.query.field_validation("PatchOptions")?;
        let mut configuration = self.configuration(body, validation)?;
        let tree = &mut configuration.tree;
        let text = |name: &str| tree.get(name).and_then(Value::as_str).unwrap_or_default();
        if (text("apiVersion"), text("kind")) != ("autoscaling/v1", "Scale") {
            return Err(invalid_type(text("apiVersion"), text("kind")));
        }
        let names = self.names();
        let metadata = tree.get("metadata").cloned().unwrap_or_else(|| json!({}));
        let mut whole = json!({ "apiVersion": names.api_version, "kind": names.info.kind, "metadata": metadata });
        if let Some(replicas) = tree.get("spec").and_then(|spec| spec.get("replicas")) {
            set(&mut whole, names.scale.wanted, replicas.clone());
        }
        *tree = whole;
        self.form = Form::Object;
        let changed = self.apply_tree(configuration).await?.into_body().collect().await;
        let changed = changed.map_err(|error| Failure::Internal(error.to_string()))?.to_bytes();
        Ok(json_response(200, self.scale_of(&changed)?.to_string()))
    }

    async fn set_scale(mut self, tree: Value, dry_run: bool) -> Result<Response> {
        self.context.dry_run = dry_run;
        let name = self.path.name.clone();
        let wanted = &tree["spec"]["replicas"];
        let Some(replicas) = wanted.as_i64().or_else(|| wanted.is_null().then_some(0)) else {
            let (kind, field) = (go_kind(wanted), "Go struct field ScaleSpec.spec.replicas of type int32");
            return Err(Failure::BadRequest(format!(
                "Scale in version \"v1\" cannot be handled as a Scale: json: cannot unmarshal {kind} into {field}"
            )));
        };
        if replicas < 0 {
            let kind = GroupKind { group: "autoscaling".to_owned(), kind: "Scale".to_owned() };
            let detail = "must be greater than or equal to 0";
            let error = FieldError::invalid(&Path::new("spec.replicas"), replicas, detail);
            return Err(Failure::field(&kind, &name, error));
        }
        let revision = tree["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        // The response shows the object as it was written, or would be in a dry run.
        self.form = Form::Object;
        let changed = self.modify(&name, Source::Replicas(replicas, revision)).await?.into_body().collect().await;
        let changed = changed.map_err(|error| Failure::Internal(error.to_string()))?.to_bytes();
        Ok(json_response(200, self.scale_of(&changed)?.to_string()))
    }

    fn scale_of(&self, object: &[u8]) -> Result<Value> {
        scale(object, self.names().scale)
    }
}

/// True if a JSON patch depends on one version: it sets the resource version, or tests the present state.
fn holds_version(patch: &[u8]) -> bool {
    let operations: Vec<Value> = serde_json::from_slice(patch).unwrap_or_default();
    operations.iter().any(|operation| {
        operation["op"] == "test" || operation["path"].as_str().is_some_and(|path| path.ends_with("/resourceVersion"))
    })
}

/// Returns the value at a path of names, `.spec.replicas`.
fn at<'a>(tree: &'a Value, path: &str) -> &'a Value {
    path.split('.').filter(|name| !name.is_empty()).fold(tree, |node, name| &node[name])
}

/// Sets the value at a path of names; values on the path that are not objects are replaced by objects.
pub(super) fn set(tree: &mut Value, path: &str, value: Value) {
    let mut node = tree;
    for name in path.split('.').filter(|name| !name.is_empty()) {
        if !node.is_object() {
            *node = json!({});
        }
        node = &mut node[name];
    }
    *node = value;
}

/// Go's name for the type of a JSON value.
fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) | Value::Null => "object",
    }
}

/// Returns the Scale of an object.
fn scale(object: &[u8], paths: ScalePaths) -> Result<Value> {
    let tree: Value = serde_json::from_slice(object).map_err(|error| Failure::Internal(error.to_string()))?;
    let metadata = &tree["metadata"];
    let mut status = json!({ "replicas": at(&tree, paths.present).as_i64().unwrap_or(0) });
    let labels = tree["spec"]["selector"]["matchLabels"].as_object().or_else(|| tree["spec"]["selector"].as_object());
    let terms: Vec<String> =
        labels.into_iter().flatten().filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?))).collect();
    if !paths.selector.is_empty() {
        status["selector"] = json!(at(&tree, paths.selector).as_str().unwrap_or_default());
    } else if !terms.is_empty() {
        status["selector"] = json!(terms.join(","));
    }
    let mut kept = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = metadata.get(field) {
            kept[field] = value.clone();
        }
    }
    Ok(json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": kept,
        "spec": { "replicas": at(&tree, paths.wanted).as_i64().unwrap_or(0) },
        "status": status,
    }))
}

#[cfg(test)]
mod tests {
    use super::holds_version;

    #[test]
    fn a_patch_holds_a_version_that_it_names_or_tests() {
        for (patch, expected) in [
            (r#"[{"op":"replace","path":"/spec/replicas","value":2}]"#, false),
            (r#"[{"op":"test","path":"/spec/replicas","value":1}]"#, true),
            (r#"[{"op":"replace","path":"/metadata/resourceVersion","value":"7"}]"#, true),
            ("{}", false),
        ] {
            assert_eq!(holds_version(patch.as_bytes()), expected, "{patch}");
        }
    }
}
