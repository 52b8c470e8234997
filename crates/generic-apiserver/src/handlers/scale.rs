// SPDX-License-Identifier: Apache-2.0
//! Subresource `scale`: `autoscaling/v1` Scale over `spec.replicas`.

use apimachinery::field::{FieldError, Path};
use apimachinery::{GroupKind, patch};
use process::Response;
use serde_json::{Value, json};

use super::Scope;
use super::update::Source;
use crate::status::{Failure, Result, json_response};
use crate::storage::stored::Stored;

impl Scope {
    pub(super) fn get_scale(&self) -> Result<Response> {
        let stored = self.stored(&self.path.name)?;
        Ok(json_response(200, scale(&stored)?.to_string()))
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
