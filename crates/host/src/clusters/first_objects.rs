// SPDX-License-Identifier: Apache-2.0
//! Initial objects of a cluster that its own components do not need: PriorityClasses of the system, ConfigMaps
//! `kube-system/extension-apiserver-authentication` and `kube-system/cluster-identity`, ComponentStatuses, Endpoints of
//! the API server. They are written to the log at the first request from outside of the landscape for their kind, so
//! that a cluster without requests costs nothing.
//!
//! As with a restarted kube-apiserver, deleted ones are created again after each start of the host; Endpoints and
//! EndpointSlice of the API server directly after their deletion (upstream: within 10 seconds).
//!
//! | requested | created |
//! | --- | --- |
//! | anything of `scheduling.k8s.io` | the PriorityClasses of [`SYSTEM_CLASSES`] |
//! | ConfigMaps of `kube-system`, or of all namespaces | both ConfigMaps; without authorities `cluster-identity` only |
//! | ComponentStatuses | those of a cluster whose control plane is healthy |
//! | Endpoints or EndpointSlices of `default`, or of all namespaces | `default/kubernetes` of both kinds |
//!
//! Unlike upstream: nothing listens at the address of the Endpoints. The host listens at an address of this machine, which
//! Kubernetes does not allow in Endpoints, and serves a cluster below a path.
//!
//! Source: k8s.io/kubernetes pkg/registry/scheduling/rest/storage_scheduling.go,
//! pkg/controlplane/{controller/clusterauthenticationtrust,reconcilers}, pkg/registry/core/componentstatus @ v1.32; gardener
//! pkg/apiserver (cluster identity).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use api::cluster::{self, ClusterName};
use api::operator::Garden;
use api::terrarium::Cluster;
use domain::validation::workload::{SYSTEM_CLASSES, SystemClass};
use futures::future::try_join_all;
use generic_apiserver::Server;
use http::{Method, StatusCode};
use parking_lot::Mutex;
use process::transport::full;
use process::{Request, Transport, TransportError, User};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

const SYSTEM: &str = "kube-system";
const DEFAULT: &str = "default";
/// Name of the Service of the API server, and of its Endpoints.
const KUBERNETES: &str = "kubernetes";
/// Address of the API server in the Endpoints.
const API_SERVER: &str = "172.18.0.2";
/// Warning for clients of ComponentStatuses.
pub(crate) const DEPRECATED: &str = "299 - \"v1 ComponentStatus is deprecated in v1.19+\"";

/// Authorities whose certificates clusters accept.
#[derive(Clone)]
pub struct Trust {
    /// Returns the authorities of a cluster's users, as PEM.
    pub clients: Arc<dyn Fn(&str) -> String + Send + Sync>,
    /// Authority of the host's certificate for servers behind it, as PEM.
    pub front_proxies: String,
    /// Name in the host's certificate for these servers.
    pub front_proxy: String,
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust").field("front_proxy", &self.front_proxy).finish_non_exhaustive()
    }
}

/// Kind of objects that is created with the first request for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum InitialObjects {
    PriorityClasses,
    ConfigMaps,
    ComponentStatuses,
    Endpoints,
}

/// Cells by cluster and kind; initialized once the objects exist.
type ClusterCells = BTreeMap<(String, InitialObjects), Arc<OnceCell<()>>>;

/// Initial objects, by cluster.
#[derive(Debug)]
pub(crate) struct FirstObjects {
    trust: Option<Trust>,
    made: Mutex<ClusterCells>,
}

impl FirstObjects {
    pub(crate) fn new(trust: Option<Trust>) -> Self {
        Self { trust, made: Mutex::default() }
    }

    /// True if a request from outside is for objects that were not created yet.
    pub(crate) fn are_missing(&self, request: &Request) -> bool {
        let is_outside = request.extensions().get::<User>().is_none_or(|user| user.component.is_none());
        let Some((cluster, kind)) = is_outside.then(|| asked(request.uri().path())).flatten() else { return false };
        let made = self.made.lock();
        !made.get(&(cluster.to_owned(), kind)).is_some_and(|cell| cell.initialized())
    }

    /// Creates the objects that a request for a path needs.
    ///
    /// # Errors
    /// The log cannot be reached.
    pub(crate) async fn make(&self, path: &str, server: &Server, transport: &Transport) -> Result<(), TransportError> {
        let Some((cluster, kind)) = asked(path) else { return Ok(()) };
        let key = (cluster.to_owned(), kind);
        let cell = {
            let mut made = self.made.lock();
            match made.get(&key) {
                Some(cell) if cell.initialized() => return Ok(()),
                Some(cell) => cell.clone(),
                None => made.entry(key.clone()).or_default().clone(),
            }
        };
        let exists =
            cluster == cluster::RUNTIME || server.object::<Cluster>(cluster::RUNTIME, "", cluster).await.is_some();
        if !exists {
            self.made.lock().remove(&key);
            return Ok(());
        }
        let make = || async {
            match kind {
                InitialObjects::PriorityClasses => {
                    create_all(transport, cluster, PRIORITY_CLASSES, priority_classes()).await
                }
                InitialObjects::ComponentStatuses => {
                    create_all(transport, cluster, COMPONENTS, component_statuses()).await
                }
                InitialObjects::ConfigMaps => self.config_maps(cluster, server, transport).await,
                InitialObjects::Endpoints => {
                    create_all(transport, cluster, ENDPOINTS, vec![endpoints()]).await?;
                    create_all(transport, cluster, ENDPOINT_SLICES, vec![endpoint_slice()]).await
                }
            }
        };
        cell.get_or_try_init(make).await?;
        Ok(())
    }

    /// Returns the path of a request that may delete objects which the API server creates again.
    pub(crate) fn deleted(request: &Request) -> Option<String> {
        let path = request.uri().path();
        let is_lasting =
            *request.method() == Method::DELETE && matches!(asked(path), Some((_, InitialObjects::Endpoints)));
        is_lasting.then(|| path.to_owned())
    }

    /// Creates objects again after a request to a path that has deleted them.
    ///
    /// # Errors
    /// The log cannot be reached.
    pub(crate) async fn restore(
        &self,
        path: &str,
        server: &Server,
        transport: &Transport,
    ) -> Result<(), TransportError> {
        let Some((cluster, kind)) = asked(path) else { return Ok(()) };
        self.made.lock().remove(&(cluster.to_owned(), kind));
        self.make(path, server, transport).await
    }

    /// Removes the state of a deleted cluster.
    pub(crate) fn forget(&self, cluster: &str) {
        let mut made = self.made.lock();
        made.retain(|(known, _), _| known != cluster);
    }

    async fn config_maps(&self, cluster: &str, server: &Server, transport: &Transport) -> Result<(), TransportError> {
        let gardens = server.objects::<Garden>(cluster::RUNTIME).await;
        let garden = gardens.first().map(|garden| garden.spec.virtual_cluster.gardener.cluster_identity.clone());
        let identity = identity(cluster, garden.as_deref().filter(|text| !text.is_empty()));
        create_all(transport, cluster, CONFIG_MAPS, identity).await?;
        let Some(trust) = &self.trust else { return Ok(()) };
        let data = authentication(trust, cluster);
        let body = json!({ "metadata": { "name": AUTHENTICATION }, "data": data });
        create_all(transport, cluster, CONFIG_MAPS, vec![body]).await?;
        // The authority of front proxies is replaced with each start of the host.
        let path = format!("/clusters/{cluster}{CONFIG_MAPS}/{AUTHENTICATION}");
        send(transport, Method::PATCH, &path, &json!({ "data": data })).await.map(drop)
    }
}

const PRIORITY_CLASSES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";
const COMPONENTS: &str = "/api/v1/componentstatuses";
const CONFIG_MAPS: &str = "/api/v1/namespaces/kube-system/configmaps";
const ENDPOINTS: &str = "/api/v1/namespaces/default/endpoints";
const ENDPOINT_SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const AUTHENTICATION: &str = "extension-apiserver-authentication";

/// Returns the cluster and the kind of initial objects that a request may read.
fn asked(path: &str) -> Option<(&str, InitialObjects)> {
    // Most requests are for other resources.
    const PLURALS: [&str; 4] = ["/configmaps", "/priorityclasses", "/componentstatuses", "/endpoint"];
    if !PLURALS.iter().any(|plural| path.contains(plural)) {
        return None;
    }
    let below = path.strip_prefix("/clusters/")?;
    let (cluster, rest) = below.split_once('/')?;
    if cluster == "*" || cluster.is_empty() {
        return None;
    }
    let segments: Vec<&str> = rest.split('/').filter(|segment| !segment.is_empty() && *segment != "watch").collect();
    let kind = match *segments.as_slice() {
        ["apis", "scheduling.k8s.io", _, "priorityclasses", ..] => InitialObjects::PriorityClasses,
        ["api", "v1", "configmaps", ..] | ["api", "v1", "namespaces", SYSTEM, "configmaps", ..] => {
            InitialObjects::ConfigMaps
        }
        ["api", "v1", "componentstatuses", ..] => InitialObjects::ComponentStatuses,
        ["api", "v1", "endpoints", ..]
        | ["api", "v1", "namespaces", DEFAULT, "endpoints", ..]
        | ["apis", "discovery.k8s.io", _, "endpointslices", ..]
        | ["apis", "discovery.k8s.io", _, "namespaces", DEFAULT, "endpointslices", ..] => InitialObjects::Endpoints,
        _ => return None,
    };
    Some((cluster, kind))
}

/// True for paths of ComponentStatuses.
pub(crate) fn is_component_status(path: &str) -> bool {
    matches!(asked(path), Some((_, InitialObjects::ComponentStatuses)))
}

fn priority_classes() -> Vec<Value> {
    let tree = |class: &SystemClass| json!({"metadata": {"name": class.name}, "value": class.value, "description": class.description});
    SYSTEM_CLASSES.iter().map(tree).collect()
}

fn component_statuses() -> Vec<Value> {
    let tree = |name: &str| {
        let healthy = json!({"type": "Healthy", "status": "True", "message": "ok"});
        json!({"metadata": {"name": name}, "conditions": [healthy]})
    };
    ["controller-manager", "etcd-0", "scheduler"].map(tree).to_vec()
}

fn endpoints() -> Value {
    let ports = json!([{ "name": "https", "port": 443, "protocol": "TCP" }]);
    json!({
        "metadata": { "name": KUBERNETES, "labels": { "endpointslice.kubernetes.io/skip-mirror": "true" } },
        "subsets": [{ "addresses": [{ "ip": API_SERVER }], "ports": ports }],
    })
}

fn endpoint_slice() -> Value {
    json!({
        "metadata": { "name": KUBERNETES, "labels": { "kubernetes.io/service-name": KUBERNETES } },
        "addressType": "IPv4",
        "endpoints": [{ "addresses": [API_SERVER], "conditions": { "ready": true } }],
        "ports": [{ "name": "https", "port": 443, "protocol": "TCP" }],
    })
}

/// ConfigMap with the identity of the garden or of a seed; gardenlet writes that of a shoot. `garden`: identity in the
/// Garden.
fn identity(cluster: &str, garden: Option<&str>) -> Vec<Value> {
    let garden = garden.unwrap_or(cluster::GARDEN);
    let (identity, origin) = match ClusterName::parse(cluster) {
        Some(ClusterName::Garden) => (garden.to_owned(), "gardener-apiserver"),
        Some(ClusterName::Seed(name)) => (format!("{garden}-{name}-seed"), "seed"),
        _ => return Vec::new(),
    };
    let data = json!({"cluster-identity": identity, "origin": origin});
    vec![json!({"metadata": {"name": "cluster-identity"}, "immutable": true, "data": data})]
}

/// ConfigMap with the data by which an extension API server recognizes the user of a request.
fn authentication(trust: &Trust, cluster: &str) -> Value {
    let list = |text: &str| json!([text]).to_string();
    json!({
        "client-ca-file": (trust.clients)(cluster),
        "requestheader-allowed-names": list(&trust.front_proxy),
        "requestheader-client-ca-file": trust.front_proxies,
        "requestheader-extra-headers-prefix": list("X-Remote-Extra-"),
        "requestheader-group-headers": list("X-Remote-Group"),
        "requestheader-uid-headers": list("X-Remote-Uid"),
        "requestheader-username-headers": list("X-Remote-User"),
    })
}

async fn create_all(
    transport: &Transport,
    cluster: &str,
    path: &str,
    bodies: Vec<Value>,
) -> Result<(), TransportError> {
    let path = &format!("/clusters/{cluster}{path}");
    let all = bodies.into_iter().map(|body| async move {
        match send(transport, Method::POST, path, &body).await? {
            StatusCode::CREATED | StatusCode::CONFLICT => Ok(()),
            code => {
                Err(TransportError::Broken(format!("cannot create {} of {path}: {code}", body["metadata"]["name"])))
            }
        }
    });
    try_join_all(all).await.map(drop)
}

async fn send(transport: &Transport, method: Method, path: &str, body: &Value) -> Result<StatusCode, TransportError> {
    let media = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::CONTENT_TYPE, media)
        .body(full(body.to_string()))
        .map_err(|error| TransportError::Broken(error.to_string()))?;
    Ok(transport.send(request).await?.status())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_for_a_kind_need_its_initial_objects() {
        for (path, expected) in [
            ("/clusters/a/apis/scheduling.k8s.io/v1/priorityclasses", Some(("a", InitialObjects::PriorityClasses))),
            (
                "/clusters/a/apis/scheduling.k8s.io/v1/watch/priorityclasses/x",
                Some(("a", InitialObjects::PriorityClasses)),
            ),
            ("/clusters/a/apis/scheduling.k8s.io/v1", None),
            ("/clusters/a/api/v1/namespaces/kube-system/configmaps/x", Some(("a", InitialObjects::ConfigMaps))),
            ("/clusters/a/api/v1/configmaps", Some(("a", InitialObjects::ConfigMaps))),
            ("/clusters/a/api/v1/namespaces/default/configmaps", None),
            ("/clusters/a/api/v1/componentstatuses/etcd-0", Some(("a", InitialObjects::ComponentStatuses))),
            ("/clusters/a/api/v1/endpoints", Some(("a", InitialObjects::Endpoints))),
            ("/clusters/a/api/v1/namespaces/default/endpoints/kubernetes", Some(("a", InitialObjects::Endpoints))),
            ("/clusters/a/api/v1/namespaces/b/endpoints", None),
            (
                "/clusters/a/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
                Some(("a", InitialObjects::Endpoints)),
            ),
            ("/clusters/a/apis/discovery.k8s.io/v1/watch/endpointslices", Some(("a", InitialObjects::Endpoints))),
            ("/clusters/*/api/v1/configmaps", None),
            ("/clusters/a", None),
            ("/clock", None),
        ] {
            assert_eq!(asked(path), expected, "{path}");
        }
    }

    #[test]
    fn only_deletions_of_endpoints_are_undone() {
        let deleted = |method: Method, path: &str| {
            let request = http::Request::builder().method(method).uri(path).body(full("")).expect("a request");
            FirstObjects::deleted(&request).is_some()
        };
        let endpoints = "/clusters/a/api/v1/namespaces/default/endpoints/kubernetes";
        assert!(deleted(Method::DELETE, endpoints));
        assert!(deleted(Method::DELETE, "/clusters/a/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"));
        assert!(!deleted(Method::GET, endpoints));
        assert!(!deleted(Method::DELETE, "/clusters/a/api/v1/namespaces/b/endpoints/kubernetes"));
        assert!(!deleted(Method::DELETE, "/clusters/a/apis/scheduling.k8s.io/v1/priorityclasses/x"));
    }

    #[test]
    fn the_garden_and_seeds_have_an_identity() {
        let of = |cluster: &str, garden: Option<&str>| {
            identity(cluster, garden).first().map(|map| map["data"]["cluster-identity"].as_str().map(str::to_owned))
        };
        assert_eq!(of("garden", Some("mine")), Some(Some("mine".to_owned())));
        assert_eq!(of("garden", None), Some(Some("garden".to_owned())));
        assert_eq!(of("seed--a", Some("mine")), Some(Some("mine-a-seed".to_owned())));
        assert_eq!(of("shoot--p--a", None), None);
        assert_eq!(of("runtime", None), None);
    }
}
