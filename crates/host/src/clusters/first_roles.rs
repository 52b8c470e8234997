// SPDX-License-Identifier: Apache-2.0
//! Initial roles of a cluster are written to the log with the first request for roles there: until then the authorizer
//! takes them from the program's own table, so that a cluster without requests costs nothing. Those of the garden are
//! stored before its first request, since other processes authorize with its log, too.
//!
//! As with a restarted kube-apiserver, deleted ones are created again after each start of the host.
//!
//! Source: k8s.io/kubernetes pkg/registry/rbac/rest/storage_rbac.go @ v1.32.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::cluster::{self, ClusterName};
use api::kubernetes::rbac::GROUP;
use api::terrarium::Cluster;
use apimachinery::Object;
use apimachinery::Resource;
use authorizer::Rbac;
use domain::rbac::defaults;
use futures::future::try_join_all;
use generic_apiserver::Server;
use http::StatusCode;
use parking_lot::Mutex;
use process::transport::full;
use process::{Transport, TransportError};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// Initial roles, by cluster.
#[derive(Debug)]
pub(crate) struct FirstRoles {
    rbac: Rbac,
    stored: Mutex<BTreeMap<String, Arc<OnceCell<()>>>>,
}

impl FirstRoles {
    pub(crate) fn new(rbac: Rbac) -> Self {
        Self { rbac, stored: Mutex::default() }
    }

    /// Stores the initial roles of the cluster of a path, if the path needs them.
    ///
    /// # Errors
    /// The log cannot be reached.
    pub(crate) async fn store(&self, path: &str, server: &Server, transport: &Transport) -> Result<(), TransportError> {
        let Some(cluster) = asked(path) else { return Ok(()) };
        let cell = {
            let mut stored = self.stored.lock();
            match stored.get(cluster) {
                Some(cell) if cell.initialized() => return Ok(()),
                Some(cell) => cell.clone(),
                None => stored.entry(cluster.to_owned()).or_default().clone(),
            }
        };
        let exists =
            cluster == cluster::RUNTIME || server.object::<Cluster>(cluster::RUNTIME, "", cluster).await.is_some();
        if !exists {
            self.forget(cluster);
            return Ok(());
        }
        let store = || async {
            store_all(cluster, transport).await?;
            self.rbac.is_stored(cluster);
            Ok(())
        };
        cell.get_or_try_init(store).await?;
        Ok(())
    }

    /// Removes the state of a deleted cluster.
    pub(crate) fn forget(&self, cluster: &str) {
        self.stored.lock().remove(cluster);
        self.rbac.forget(cluster);
    }
}

/// Returns the cluster whose roles a request needs in the log.
fn asked(path: &str) -> Option<&str> {
    let below = path.strip_prefix("/clusters/")?;
    let (cluster, rest) = below.split_once('/').unwrap_or((below, ""));
    let roles = rest.strip_prefix("apis/").and_then(|rest| rest.strip_prefix(GROUP));
    let is_meant = cluster == cluster::GARDEN || roles.is_some_and(|rest| rest.starts_with('/'));
    (is_meant && cluster != "*" && !cluster.is_empty()).then_some(cluster)
}

async fn store_all(cluster: &str, transport: &Transport) -> Result<(), TransportError> {
    let defaults = defaults::of(ClusterName::parse(cluster));
    let namespaces: std::collections::BTreeSet<&str> =
        defaults.roles.iter().map(|role| role.metadata.namespace.as_str()).collect();
    let namespaces = namespaces.into_iter().map(|name| json!({ "metadata": { "name": name } }));
    let path = |plural: &str| format!("/clusters/{cluster}/api/v1/{plural}");
    try_join_all(namespaces.map(|body| create(transport, path("namespaces"), body))).await?;
    let (roles, bindings) = (trees(&defaults.cluster_roles), trees(&defaults.cluster_role_bindings));
    let (of_namespaces, their_bindings) = (trees(&defaults.roles), trees(&defaults.role_bindings));
    let path = |plural: &str, body: &Value| match body["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("/clusters/{cluster}/apis/{GROUP}/v1/namespaces/{namespace}/{plural}"),
        None => format!("/clusters/{cluster}/apis/{GROUP}/v1/{plural}"),
    };
    for (plural, bodies) in [roles, bindings, of_namespaces, their_bindings] {
        let all = bodies.into_iter().map(|body| create(transport, path(plural, &body), body));
        try_join_all(all).await?;
    }
    Ok(())
}

fn trees<K: Resource + Object>(objects: &[K]) -> (&'static str, Vec<Value>) {
    (K::PLURAL, objects.iter().map(Object::to_tree).collect())
}

/// Creates an object; returns no error if it exists.
async fn create(transport: &Transport, path: String, body: Value) -> Result<(), TransportError> {
    let request = http::Request::post(&path)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(full(body.to_string()))
        .map_err(|error| TransportError::Broken(error.to_string()))?;
    match transport.send(request).await?.status() {
        StatusCode::CREATED | StatusCode::CONFLICT => Ok(()),
        code => Err(TransportError::Broken(format!("cannot create {} of {path}: {code}", body["metadata"]["name"]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_for_roles_or_the_garden_need_initial_roles() {
        for (path, expected) in [
            ("/clusters/garden", Some("garden")),
            ("/clusters/garden/api/v1/namespaces", Some("garden")),
            ("/clusters/seed--a/api/v1/namespaces", None),
            ("/clusters/seed--a/apis/rbac.authorization.k8s.io/v1", Some("seed--a")),
            ("/clusters/seed--a/apis/rbac.authorization.k8s.io/v1/clusterroles", Some("seed--a")),
            ("/clusters/seed--a/apis/rbac.authorization.k8s.io", None),
            ("/clusters/*/apis/rbac.authorization.k8s.io/v1/clusterroles", None),
            ("/clock", None),
        ] {
            assert_eq!(asked(path), expected, "{path}");
        }
    }
}
