// SPDX-License-Identifier: Apache-2.0
//! Application of objects in the way of `kubectl apply --validate=strict`.

use api::catalogue;
use apimachinery::Status;
use apimachinery::catalogue::ResourceInfo;
use apimachinery::status::reason;
use http_body_util::BodyExt;
use process::{Context, transport};

use ops::manifests::{Manifest, ManifestError};

/// Clusters that manifests are applied to: the first that serves the kind.
const CLUSTERS: [&str; 2] = ["garden", "runtime"];

/// Returns the resource of a manifest, and the cluster that serves it.
///
/// # Errors
/// The kind is not served by the cluster, with kubectl's message; or the object has no name.
pub(crate) fn resource_of(manifest: &Manifest) -> Result<(&'static str, &'static ResourceInfo), ManifestError> {
    let api_version = manifest.api_version();
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let row = catalogue::find_kind(group, version, manifest.kind());
    let served = row.and_then(|row| Some((CLUSTERS.into_iter().find(|cluster| catalogue::serves(cluster, row))?, row)));
    let Some((cluster, row)) = served else {
        let what = format!("no matches for kind \"{}\" in version \"{}\"", manifest.kind(), manifest.api_version());
        return Err(ManifestError::at(&manifest.origin, what));
    };
    let has_name = !manifest.name().is_empty() || manifest.text(&["metadata", "generateName"]).is_some();
    if !has_name {
        return Err(ManifestError::at(&manifest.origin, format!("{}: `metadata.name` is missing", manifest.kind())));
    }
    Ok((cluster, row))
}

/// Creates an object, or updates the existing one to the manifest, as `kubectl apply` does.
///
/// # Errors
/// The `Status` of the server.
pub(crate) async fn apply(context: &Context, manifest: &Manifest) -> Result<(), Status> {
    match create(context, manifest).await {
        Err(status) if status.is(reason::ALREADY_EXISTS) => update(context, manifest).await,
        outcome => outcome,
    }
}

/// Updates an object, or creates the missing one: a new object may be refused where the change of an existing one is not,
/// for example on an expired version.
///
/// # Errors
/// The `Status` of the server.
pub(crate) async fn update_or_create(context: &Context, manifest: &Manifest) -> Result<(), Status> {
    let missing = match update(context, manifest).await {
        Err(status) if status.is(reason::NOT_FOUND) => status,
        outcome => return outcome,
    };
    match create(context, manifest).await {
        // The object exists: another one that it refers to does not.
        Err(status) if status.is(reason::ALREADY_EXISTS) => Err(missing),
        outcome => outcome,
    }
}

/// Updates the fields of an existing object that the manifest has.
///
/// # Errors
/// The `Status` of the server.
pub(crate) async fn update(context: &Context, manifest: &Manifest) -> Result<(), Status> {
    let uri = format!("{}/{}?fieldValidation=Strict", collection(manifest)?, manifest.name());
    send(context, http::Request::patch(uri), "application/merge-patch+json", manifest).await
}

/// Creates an object.
///
/// # Errors
/// The `Status` of the server.
pub(crate) async fn create(context: &Context, manifest: &Manifest) -> Result<(), Status> {
    let uri = format!("{}?fieldValidation=Strict", collection(manifest)?);
    send(context, http::Request::post(uri), "application/json", manifest).await
}

/// Path of the collection that a manifest's object belongs to.
fn collection(manifest: &Manifest) -> Result<String, Status> {
    let (cluster, row) = resource_of(manifest).map_err(|error| Status::bad_request(error.to_string()))?;
    let root = if row.group.is_empty() { "api".to_owned() } else { format!("apis/{}", row.group) };
    let namespace = match (row.namespaced, manifest.namespace()) {
        (false, _) => String::new(),
        (true, "") => "namespaces/default/".to_owned(),
        (true, namespace) => format!("namespaces/{namespace}/"),
    };
    Ok(format!("/clusters/{cluster}/{root}/{}/{namespace}{}", row.version, row.plural))
}

async fn send(
    context: &Context,
    request: http::request::Builder,
    content_type: &str,
    manifest: &Manifest,
) -> Result<(), Status> {
    let request = request
        .header("content-type", content_type)
        .header("accept", "application/json")
        .header("user-agent", "terrarium")
        .body(transport::full(manifest.object.to_string()))
        .map_err(|error| Status::bad_request(error.to_string()))?;
    let response = context.transport.send(request).await.map_err(|error| Status::internal_error(&error.to_string()))?;
    let code = response.status();
    if code.is_success() {
        return Ok(());
    }
    let body = response.into_body().collect().await.map_err(|error| Status::internal_error(&error.to_string()))?;
    Err(serde_json::from_slice(&body.to_bytes()).unwrap_or_else(|_| Status {
        status: "Failure".to_owned(),
        message: format!("the server answered {code}"),
        code: code.as_u16(),
        ..Status::default()
    }))
}
