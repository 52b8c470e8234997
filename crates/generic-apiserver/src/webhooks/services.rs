// SPDX-License-Identifier: Apache-2.0
//! Endpoints of the Services that webhooks and APIServices of a cluster name.
//!
//! ```text
//! Service ─┬▶ ExternalName: that host, with the port of the reference
//!          └▶ EndpointSlices of the Service, else its Endpoints: the first address that is ready, with the port of the name
//!             that the Service's port has
//! ```
//!
//! Unlike upstream: nothing forwards traffic from a Service's address, so the endpoint is called directly.
//!
//! Source: k8s.io/apiserver pkg/util/proxy/proxy.go, k8s.io/kube-proxy.

use serde_json::Value;

use super::ServiceReference;
use crate::storage::{CollectionId, Store, range, stored};

/// An endpoint of a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// Address or name of a host.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Namespace and name of the pod with the address; None if no pod has it.
    pub pod: Option<(String, String)>,
}

/// Reason for which a Service has no endpoint. The texts are those of upstream for webhooks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEndpoint {
    /// The Service does not exist.
    #[error("service {0:?} not found")]
    NoService(String),
    /// The Service has no address.
    #[error("cannot route to service with ClusterIP \"None\"")]
    Headless,
    /// The Service does not have the port.
    #[error("no service port {port} found for service {service:?}")]
    NoPort {
        /// Name of the Service.
        service: String,
        /// Missing port.
        port: u16,
    },
    /// No endpoint is ready.
    #[error("no endpoints available for service {service:?}")]
    NotReady {
        /// Name of the Service.
        service: String,
        /// Name of the port; empty if it has none.
        port: String,
        /// True if the Service has neither an EndpointSlice nor Endpoints.
        has_none: bool,
    },
}

/// Collections with the Services and endpoints of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Services {
    own: Option<CollectionId>,
    endpoints: Option<CollectionId>,
    slices: Option<CollectionId>,
}

impl Services {
    pub(crate) fn new(store: &Store) -> Self {
        Self {
            own: store.collection("", "services"),
            endpoints: store.collection("", "endpoints"),
            slices: store.collection("discovery.k8s.io", "endpointslices"),
        }
    }

    /// Finds the endpoint of a reference.
    ///
    /// # Errors
    /// The reason for which there is none.
    pub(crate) fn find(
        self,
        store: &Store,
        cluster: &str,
        reference: &ServiceReference,
    ) -> Result<Endpoint, NoEndpoint> {
        let ServiceReference { namespace, name, port, .. } = reference;
        let port = port.unwrap_or(443);
        let service = get(store, self.own, cluster, namespace, name);
        let Some(service) = service else { return Err(NoEndpoint::NoService(name.clone())) };
        let spec = &service["spec"];
        if spec["type"] == "ExternalName" {
            let host = spec["externalName"].as_str().unwrap_or_default().to_owned();
            return Ok(Endpoint { host, port, pod: None });
        }
        if spec["type"].as_str().is_none_or(|type_| type_ == "ClusterIP") && spec["clusterIP"] == "None" {
            return Err(NoEndpoint::Headless);
        }
        let is_it = |known: &&Value| known["port"] == port;
        let Some(port) = list(&spec["ports"]).find(is_it) else {
            return Err(NoEndpoint::NoPort { service: name.clone(), port });
        };
        let port_name = port["name"].as_str().unwrap_or_default();
        let mut slices = in_namespace(store, self.slices, cluster, namespace);
        slices.retain(|slice| slice["metadata"]["labels"]["kubernetes.io/service-name"] == **name);
        if let Some(found) = slices.iter().find_map(|slice| of_slice(slice, port_name)) {
            return Ok(found);
        }
        let endpoints = get(store, self.endpoints, cluster, namespace, name);
        let found =
            endpoints.iter().flat_map(|it| list(&it["subsets"])).find_map(|subset| of_subset(subset, port_name));
        let has_none = endpoints.is_none() && slices.is_empty();
        found.ok_or_else(|| NoEndpoint::NotReady { service: name.clone(), port: port_name.to_owned(), has_none })
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn get(store: &Store, id: Option<CollectionId>, cluster: &str, namespace: &str, name: &str) -> Option<Value> {
    let id = id?;
    let kind = store.kind(id);
    let stored = store.get(id, &stored::path(cluster, namespace, name))?;
    store.decoded(&stored, &*kind).map(|object| kind.to_tree(&*object))
}

fn in_namespace(store: &Store, id: Option<CollectionId>, cluster: &str, namespace: &str) -> Vec<Value> {
    let Some(id) = id else { return Vec::new() };
    let kind = store.kind(id);
    let (map, _) = store.root(id);
    let prefix = format!("{cluster}/{namespace}/");
    let objects = range(&map, &prefix, "").map(|(_, stored)| stored);
    objects.filter_map(|stored| store.decoded(stored, &*kind).map(|object| kind.to_tree(&*object))).collect()
}

/// Port with a name among those of a slice or subset.
fn port_of(ports: &Value, name: &str) -> Option<u16> {
    let port = list(ports).find(|port| port["name"].as_str().unwrap_or_default() == name)?;
    u16::try_from(port["port"].as_u64()?).ok()
}

fn pod_of(target: &Value) -> Option<(String, String)> {
    let text = |field: &str| target[field].as_str().unwrap_or_default().to_owned();
    (target["kind"] == "Pod").then(|| (text("namespace"), text("name")))
}

fn of_slice(slice: &Value, port: &str) -> Option<Endpoint> {
    let port = port_of(&slice["ports"], port)?;
    // An endpoint without the condition is ready.
    let ready = list(&slice["endpoints"]).find(|endpoint| endpoint["conditions"]["ready"] != false)?;
    let host = list(&ready["addresses"]).next()?.as_str()?.to_owned();
    Some(Endpoint { host, port, pod: pod_of(&ready["targetRef"]) })
}

fn of_subset(subset: &Value, port: &str) -> Option<Endpoint> {
    let port = port_of(&subset["ports"], port)?;
    let address = list(&subset["addresses"]).next()?;
    Some(Endpoint { host: address["ip"].as_str()?.to_owned(), port, pod: pod_of(&address["targetRef"]) })
}
