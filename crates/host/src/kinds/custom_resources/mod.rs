// SPDX-License-Identifier: Apache-2.0
//! Custom resources: CustomResourceDefinitions, and the servers of their objects.
//!
//! ```text
//! write of a CustomResourceDefinition ─▶ sync: accepted names, status, server behind the host's for the cluster
//! deletion of one                     ─▶ sync: its objects are deleted; it is removed when none is left
//! ```
//!
//! All of this happens before the write is answered, so that a kind is served, and appears in discovery and OpenAPI, as
//! soon as its definition exists. A cluster's definitions are also synced once after a start of the host.
//!
//! **Invariants.** If two definitions claim a name, the one that was established first has it. A resource that the host
//! serves itself is never served from a definition, which may exist nevertheless. Objects are stored in the storage
//! version of the definition, or in the first served one; when that changes, they are rewritten.
//!
//! **Deliberately absent**: conversion by webhooks.
//!
//! Source: k8s.io/apiextensions-apiserver pkg/apiserver/customresource_handler.go, pkg/controller/{status,finalizer}.

mod definitions;
mod strategy;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use api::terrarium::Cluster;
use api::{catalogue, cluster};
use apiextensions::definition::{self, CLEANUP_FINALIZER};
use apiextensions::version::home;
use apiextensions::{Conflict, CustomVersion, Definition};
use apimachinery::DynamicObject;
use apimachinery::meta::Time;
use generic_apiserver::clusters::FixedClusters;
use generic_apiserver::webhooks::{self, WebhookCaller};
use generic_apiserver::{Builder, Foundation, ScalePaths, Server, Shape};
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};
use parking_lot::RwLock;
use process::transport::full;
use process::{Tasks, Transport, TransportError};
use serde_json::{Value, json};
use tokio::sync::Mutex;

pub(crate) use definitions::DefinitionStrategy;
use strategy::CustomStrategy;

const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";
/// Maximum number of syncs of a cluster in a row: each may have changed the definitions.
const LOOKS: usize = 10;

/// CustomResourceDefinitions of all clusters.
#[derive(Debug)]
pub(crate) struct CustomResources {
    foundation: Foundation,
    tasks: Tasks,
    webhooks: Option<Arc<dyn WebhookCaller>>,
    /// Clusters whose definitions were synced since the start.
    seen: RwLock<BTreeSet<String>>,
    /// Served definitions by cluster; the lock serializes syncs.
    looks: Mutex<BTreeMap<String, Served>>,
    /// Number of servers that were created so far.
    servers: AtomicU64,
}

/// Definitions that are served in a cluster.
#[derive(Debug, Default)]
struct Served {
    /// Specifications of the definitions.
    specs: Vec<Value>,
    /// True if a definition waits for the deletion of its objects.
    is_finishing: bool,
}

/// Relation of a request to definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// The request has not been handled yet: the definitions must have been synced.
    Before,
    /// The request has changed a definition.
    Definitions,
    /// The request has changed an object of a custom resource.
    Objects,
}

/// Definition of a cluster.
struct StoredDefinition {
    name: String,
    /// The definition with all its fields.
    tree: Value,
    definition: Definition,
    conflict: Option<Conflict>,
}

impl StoredDefinition {
    fn is_terminating(&self) -> bool {
        !self.tree["metadata"]["deletionTimestamp"].is_null()
    }

    fn is_established(&self) -> bool {
        definition::is_true(&self.tree["status"], "Established")
    }
}

impl CustomResources {
    pub(crate) fn new(foundation: Foundation, tasks: Tasks, webhooks: Option<Arc<dyn WebhookCaller>>) -> Self {
        Self {
            foundation,
            tasks,
            webhooks,
            seen: RwLock::default(),
            looks: Mutex::default(),
            servers: AtomicU64::new(0),
        }
    }

    /// Syncs the definitions of the cluster of a path, if there is a reason to.
    ///
    /// # Errors
    /// The log cannot be reached.
    pub(crate) async fn look(
        &self,
        path: &str,
        look: Look,
        server: &Server,
        own: &Transport,
    ) -> Result<(), TransportError> {
        let Some(cluster) = cluster_of(path) else { return Ok(()) };
        let is_seen = || self.seen.read().contains(cluster);
        if look == Look::Before && is_seen() {
            return Ok(());
        }
        let exists =
            cluster == cluster::RUNTIME || server.object::<Cluster>(cluster::RUNTIME, "", cluster).await.is_some();
        if !exists {
            return Ok(());
        }
        let mut looks = self.looks.lock().await;
        let served = looks.entry(cluster.to_owned()).or_default();
        if look == Look::Before && is_seen() || look == Look::Objects && !served.is_finishing {
            return Ok(());
        }
        for _ in 0..LOOKS {
            if self.settle(cluster, served, server, own).await? {
                break;
            }
        }
        self.seen.write().insert(cluster.to_owned());
        Ok(())
    }

    /// Removes the state of a deleted cluster.
    pub(crate) async fn forget(&self, cluster: &str) {
        let mut looks = self.looks.lock().await;
        self.seen.write().remove(cluster);
        looks.remove(cluster);
    }

    /// Syncs the definitions once; returns true if nothing is left to do.
    async fn settle(
        &self,
        cluster: &str,
        served: &mut Served,
        server: &Server,
        own: &Transport,
    ) -> Result<bool, TransportError> {
        let found = self.find(cluster, server).await;
        let accepted: Vec<&StoredDefinition> = found.iter().filter(|one| one.conflict.is_none()).collect();
        let specs: Vec<Value> = accepted.iter().map(|one| one.tree["spec"].clone()).collect();
        if served.specs != specs {
            served.specs.clone_from(&specs);
            let versions = accepted.iter().map(|one| CustomVersion::all(&one.definition, &one.tree["spec"]));
            let versions: Vec<_> = versions.filter(|versions| !is_own(cluster, versions)).collect();
            server.delegate(cluster, self.serve(cluster, &versions));
            for versions in &versions {
                migrate(cluster, versions, server, own).await?;
            }
        }
        // The server is in place before the status: a client that reads that a kind is established can use it.
        for one in found.iter().filter(|one| !one.is_terminating()) {
            let old = &one.tree["status"];
            let now = Time::from_instant(self.foundation.clock.now());
            let status = definition::status(&one.definition, one.conflict.as_ref(), old, now);
            if status != *old {
                let path = format!("{}/{}/status", path_of(cluster), one.name);
                send(own, Method::PATCH, &path, &json!({ "status": status })).await?;
            }
        }
        let (mut is_settled, mut is_finishing) = (true, false);
        for one in found.iter().filter(|one| one.is_terminating()) {
            let is_finished = self.finish(cluster, one, server, own).await?;
            is_settled &= !is_finished;
            is_finishing |= !is_finished;
        }
        served.is_finishing = is_finishing;
        Ok(is_settled)
    }

    /// Returns the definitions of a cluster: established ones before the others, the oldest first.
    async fn find(&self, cluster: &str, server: &Server) -> Vec<StoredDefinition> {
        let trees = server.trees(cluster, GROUP, PLURAL).await;
        let read = |tree: Value| {
            let definition = Definition::of(tree.as_object()?).ok()?;
            let name = tree["metadata"]["name"].as_str()?.to_owned();
            Some(StoredDefinition { name, tree, definition, conflict: None })
        };
        let mut found: Vec<StoredDefinition> = trees.into_iter().filter_map(read).collect();
        found.sort_by_key(|one| {
            let created = one.tree["metadata"]["creationTimestamp"].as_str().unwrap_or_default().to_owned();
            (!one.is_established(), created, one.name.clone())
        });
        for index in 0..found.len() {
            let (before, rest) = found.split_at_mut(index);
            let accepted = before.iter().filter(|one| one.conflict.is_none()).map(|one| &one.definition);
            rest[0].conflict = rest[0].definition.conflict(accepted);
        }
        found
    }

    /// Builds a server of the cluster's custom resources; `None` if it has none.
    fn serve(&self, cluster: &str, all: &[Arc<[CustomVersion]>]) -> Option<Server> {
        if all.is_empty() {
            return None;
        }
        let number = self.servers.fetch_add(1, Ordering::Relaxed) + 1;
        let foundation = Foundation { writer: self.foundation.writer + number, ..self.foundation.clone() };
        let mut builder = Builder::new(foundation)
            .clusters(FixedClusters::new([cluster], ""))
            .folds(apiextensions::intern(cluster))
            .own_agents(api::constants::user::OWN_AGENTS);
        for row in catalogue::all() {
            let is_namespace = row.group.is_empty() && row.plural == "namespaces";
            if is_namespace || webhooks::is_read(row.group, row.plural) {
                builder = builder.known::<DynamicObject>(row);
            }
        }
        if let Some(caller) = &self.webhooks {
            builder = builder.webhooks(caller.clone());
        }
        for versions in all {
            let Some(home) = home(versions) else { continue };
            let shape = Shape {
                pruned: home.pruned.clone(),
                described: home.described.clone(),
                scale: home.scale.map(|[wanted, present, selector]| ScalePaths { wanted, present, selector }),
            };
            let strategy = CustomStrategy { schema: home.schema.clone(), warning: home.warning.clone() };
            builder = builder.custom(&home.info, shape, strategy);
            for other in versions.iter().filter(|other| other.is_served && other.info.version != home.info.version) {
                builder = builder.custom_version(&other.info, other.described.clone(), &home.info);
            }
        }
        let server = builder.build();
        server.start(&self.tasks);
        Some(server)
    }

    /// Deletes the objects of a terminating definition, and its finalizer when none is left; returns true if it did the
    /// latter.
    async fn finish(
        &self,
        cluster: &str,
        one: &StoredDefinition,
        server: &Server,
        own: &Transport,
    ) -> Result<bool, TransportError> {
        let finalizers = one.tree["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        if !finalizers.iter().any(|finalizer| finalizer == CLEANUP_FINALIZER) {
            return Ok(false);
        }
        let versions = CustomVersion::all(&one.definition, &one.tree["spec"]);
        let home = home(&versions).filter(|_| one.conflict.is_none() && !is_own(cluster, &versions));
        let mut left = Vec::new();
        if let (Some(home), Some(delegate)) = (home, server.delegate_of(cluster)) {
            let (group, plural) = (home.info.group, home.info.plural);
            for tree in delegate.trees(cluster, group, plural).await {
                if tree["metadata"]["deletionTimestamp"].is_null() {
                    send(own, Method::DELETE, &object_path(cluster, home, &tree), &Value::Null).await?;
                }
            }
            left = delegate.trees(cluster, group, plural).await;
        }
        let path = format!("{}/{}", path_of(cluster), one.name);
        let mut conditions = one.tree["status"]["conditions"].as_array().cloned().unwrap_or_default();
        if !left.is_empty() {
            let names: Vec<&str> = left.iter().filter_map(|tree| tree["metadata"]["name"].as_str()).collect();
            let text =
                format!("could not confirm zero CustomResources remaining: {} left: {}", left.len(), names.join(", "));
            let now = Time::from_instant(self.foundation.clock.now());
            definition::set_condition(&mut conditions, "Terminating", true, "InstanceDeletionCheck", &text, &now);
            if json!(conditions) != one.tree["status"]["conditions"] {
                let body = json!({ "status": { "conditions": conditions } });
                send(own, Method::PATCH, &format!("{path}/status"), &body).await?;
            }
            return Ok(false);
        }
        let finalizers: Vec<&Value> = finalizers.iter().filter(|finalizer| *finalizer != CLEANUP_FINALIZER).collect();
        send(own, Method::PATCH, &path, &json!({ "metadata": { "finalizers": finalizers } })).await?;
        Ok(true)
    }
}

/// True if the host serves a resource itself.
fn is_own(cluster: &str, versions: &[CustomVersion]) -> bool {
    let Some(info) = versions.first().map(|version| &version.info) else { return false };
    let mut rows = catalogue::all().iter().chain([catalogue::events_view(), catalogue::autoscalers_view()]);
    rows.any(|row| row.group == info.group && row.plural == info.plural && catalogue::serves(cluster, row))
}

/// Rewrites the objects that are stored in another version.
async fn migrate(
    cluster: &str,
    versions: &[CustomVersion],
    server: &Server,
    own: &Transport,
) -> Result<(), TransportError> {
    let (Some(home), Some(delegate)) = (home(versions), server.delegate_of(cluster)) else { return Ok(()) };
    let api_version = apimachinery::resource::group_version(home.info.group, home.info.version);
    for mut tree in delegate.trees(cluster, home.info.group, home.info.plural).await {
        if tree["apiVersion"] != api_version {
            tree["apiVersion"] = json!(api_version);
            send(own, Method::PUT, &object_path(cluster, home, &tree), &tree).await?;
        }
    }
    Ok(())
}

/// Returns the cluster of a path; `None` for paths of no cluster or of all.
fn cluster_of(path: &str) -> Option<&str> {
    let cluster = path.strip_prefix("/clusters/")?.split('/').next()?;
    (cluster != "*" && !cluster.is_empty()).then_some(cluster)
}

/// Returns the reason for a sync after a write to a path; `None`: no sync is necessary.
pub(crate) fn after(path: &str) -> Option<Look> {
    let segments: Vec<&str> = path.split('/').collect();
    let ["", "clusters", _, "apis", group, _, rest @ ..] = segments.as_slice() else { return None };
    let plural = if rest.first() == Some(&"namespaces") { rest.get(2) } else { rest.first() };
    let is_row = catalogue::all().iter().any(|row| row.group == *group && plural == Some(&row.plural));
    match *group {
        GROUP => Some(Look::Definitions),
        _ => (!is_row).then_some(Look::Objects),
    }
}

fn path_of(cluster: &str) -> String {
    format!("/clusters/{cluster}/apis/{GROUP}/v1/{PLURAL}")
}

fn object_path(cluster: &str, version: &CustomVersion, tree: &Value) -> String {
    let info = &version.info;
    let root = format!("/clusters/{cluster}/apis/{}/{}", info.group, info.version);
    let name = tree["metadata"]["name"].as_str().unwrap_or_default();
    match tree["metadata"]["namespace"].as_str().filter(|_| info.namespaced) {
        Some(namespace) => format!("{root}/namespaces/{namespace}/{}/{name}", info.plural),
        None => format!("{root}/{}/{name}", info.plural),
    }
}

/// Sends a request of the host's own. Objects that were changed or deleted meanwhile are handled by the next sync.
async fn send(own: &Transport, method: Method, path: &str, body: &Value) -> Result<(), TransportError> {
    let type_ = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = http::Request::builder().method(method).uri(path).header(CONTENT_TYPE, type_).body(full(body));
    let request = request.map_err(|error| TransportError::Broken(error.to_string()))?;
    let code = own.send(request).await?.status();
    if !code.is_success() && !matches!(code, StatusCode::NOT_FOUND | StatusCode::CONFLICT) {
        tracing::warn!(path, %code, "cannot do what a CustomResourceDefinition demands");
    }
    Ok(())
}
