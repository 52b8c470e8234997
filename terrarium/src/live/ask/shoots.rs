// SPDX-License-Identifier: Apache-2.0
//! Shoots by `PROJECT/NAME`.

use process::Transport;
use serde_json::Value;

use crate::failure::Failure;

/// A Shoot of a project.
///
/// # Errors
/// There is no such project, or no such Shoot in it.
pub(crate) async fn find(transport: &Transport, project: &str, name: &str) -> Result<Value, Failure> {
    let group = "/clusters/garden/apis/core.gardener.cloud/v1beta1";
    let object = super::tree(transport, &format!("{group}/projects/{project}"), "application/json").await?;
    let namespace = object["spec"]["namespace"].as_str().unwrap_or_default();
    if namespace.is_empty() {
        return Err(Failure::Failed(format!("project {project} has no namespace yet")));
    }
    super::tree(transport, &format!("{group}/namespaces/{namespace}/shoots/{name}"), "application/json").await
}
