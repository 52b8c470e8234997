// SPDX-License-Identifier: Apache-2.0
//! Subresource `scale`: `autoscaling/v1` Scale over `spec.replicas`.

use apimachinery::catalogue::{Cell, Column};
use apimachinery::field::{FieldError, Path};
use apimachinery::{GroupKind, patch};
use process::Response;
use serde_json::{Value, json};

use super::Scope;
use super::update::Source;
use crate::negotiation::Form;
use crate::status::{Failure, Result, json_response};
use crate::storage::stored::Stored;
use crate::table::{self, Include};

/// Source: k8s.io/kubernetes pkg/printers/internalversion/printers.go.
const COLUMNS: &[Column] = &[
    Column { name: "Desired", type_: "integer", cell: Cell::Path(".spec.replicas"), priority: 0 },
    Column { name: "Available", type_: "integer", cell: Cell::Path(".status.replicas"), priority: 0 },
    Column { name: "Age", type_: "date", cell: Cell::Path(".metadata.creationTimestamp"), priority: 0 },
];

impl Scope {
    pub(super) fn get_scale(&self) -> Result<Response> {
        let stored = self.stored(&self.path.name)?;
        let tree = scale(&stored)?;
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
        let tree = serde_json::from_slice(body).map_err(|error| Failure::BadRequest(error.to_string()))?;
        self.set_scale(tree).await
    }

    pub(super) async fn patch_scale(self, body: &[u8]) -> Result<Response> {
        let type_ = self.patch_type()?;
        let stored = self.stored(&self.path.name)?;
        let mut tree = scale(&stored)?;
        if type_ == "application/json-patch+json" {
            patch::json_patch(&mut tree, body)?;
        } else {
            let merge = serde_json::from_slice(body)
                .map_err(|error| Failure::BadRequest(format!("error decoding patch: {error}")))?;
            patch::merge_patch(&mut tree, &merge);
        }
        self.set_scale(tree).await
    }

    async fn set_scale(mut self, tree: Value) -> Result<Response> {
        self.context.dry_run = self.call.query.dry_run("UpdateOptions")?;
        let name = self.path.name.clone();
        let replicas = tree["spec"]["replicas"].as_i64().unwrap_or(0);
        if replicas < 0 {
            let kind = GroupKind { group: "autoscaling".to_owned(), kind: "Scale".to_owned() };
            let detail = "must be greater than or equal to 0";
            let error = FieldError::invalid(&Path::new("spec.replicas"), replicas, detail);
            return Err(Failure::field(&kind, &name, error));
        }
        let revision = tree["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        self.modify(&name, Source::Replicas(replicas, revision)).await?;
        let stored = self.stored(&name)?;
        Ok(json_response(200, scale(&stored)?.to_string()))
    }
}

fn scale(stored: &Stored) -> Result<Value> {
    let tree: Value = serde_json::from_slice(&stored.bytes()).map_err(|error| Failure::Internal(error.to_string()))?;
    let metadata = &tree["metadata"];
    let mut status = json!({ "replicas": tree["status"]["replicas"].as_i64().unwrap_or(0) });
    let labels = tree["spec"]["selector"]["matchLabels"].as_object().or_else(|| tree["spec"]["selector"].as_object());
    let terms: Vec<String> =
        labels.into_iter().flatten().filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?))).collect();
    if !terms.is_empty() {
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
        "spec": { "replicas": tree["spec"]["replicas"].as_i64().unwrap_or(0) },
        "status": status,
    }))
}
