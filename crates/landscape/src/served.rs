// SPDX-License-Identifier: Apache-2.0
//! Comparison of a server's responses with the log.

use api::constants::namespace;
use eventlog::{Key, Revision, Sections};
use http_body_util::BodyExt;
use process::Context;
use process::transport::full;
use serde_json::Value;

/// Reads an object from its server and compares it with its sections.
///
/// # Errors
/// The difference.
pub(crate) async fn is_served(
    client: &Context,
    key: &Key,
    revision: Revision,
    sections: &Sections,
) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("{key}: {error}");
    let mut stored: Value = serde_json::from_slice(&sections.parts.concat()).map_err(|error| failed(&error))?;
    stored["metadata"]["resourceVersion"] = revision.to_string().into();
    let path = path(key, stored["apiVersion"].as_str().unwrap_or_default());
    let request = http::Request::get(&path).body(full("")).map_err(|error| failed(&error))?;
    let response = client.transport.send(request).await.map_err(|error| failed(&error))?;
    let body = response.into_body().collect().await.map_err(|error| failed(&error))?.to_bytes();
    let mut served: Value = serde_json::from_slice(&body).map_err(|error| failed(&error))?;
    // Renewals of living gardenlets are not in the log.
    if &*key.resource == "coordination.k8s.io/leases" && &*key.namespace == namespace::SEED_LEASE {
        for lease in [&mut stored, &mut served] {
            lease["spec"].as_object_mut().map(|spec| spec.remove("renewTime"));
        }
    }
    if served == stored { Ok(()) } else { Err(format!("{key}: {path} answers {served}, the log holds {stored}")) }
}

fn path(key: &Key, api_version: &str) -> String {
    let Key { cluster, resource, namespace, name } = key;
    let plural = resource.rsplit('/').next().unwrap_or_default();
    let root = if api_version.contains('/') { "apis" } else { "api" };
    let place = if namespace.is_empty() { String::new() } else { format!("/namespaces/{namespace}") };
    format!("/clusters/{cluster}/{root}/{api_version}{place}/{plural}/{name}")
}
