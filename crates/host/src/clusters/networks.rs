// SPDX-License-Identifier: Apache-2.0
//! Networks of clusters: the addresses that their pods and Services have.
//!
//! | cluster | source |
//! | --- | --- |
//! | `runtime` | the Garden's `spec.runtimeCluster.networking` |
//! | any other | its object, `spec.podCIDR` and `spec.serviceCIDR`; else, for that of a Seed, the Seed |
//!
//! Without any of these, networks are the defaults of Shoots.

use std::sync::{Arc, OnceLock};

use api::cluster::{self, ClusterName};
use api::core::Seed;
use api::operator::Garden;
use api::terrarium::Cluster;
use domain::validation::network::Network;
use generic_apiserver::Server;
use kube_controllers::workload::NetworkOf;

/// Default network of Services: `100.64.0.0/13`.
const SERVICES: (u32, u32) = (u32::from_be_bytes([100, 64, 0, 0]), 1 << 19);

/// Networks of the pods and of the Services of a cluster, in CIDR form; empty if unknown.
type Pair = (String, String);

/// Networks of all clusters, once the server with their objects is set. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Networks(Arc<OnceLock<Server>>);

impl Networks {
    /// Sets the server that stores the objects.
    pub(crate) fn look_at(&self, server: Server) {
        let _ = self.0.set(server);
    }

    fn of(&self, cluster: &str) -> Pair {
        let Some(server) = self.0.get() else { return Pair::default() };
        if cluster == cluster::RUNTIME {
            let gardens = server.folded::<Garden>(cluster::RUNTIME);
            let networking = gardens.first().map(|garden| &garden.spec.runtime_cluster.networking);
            let first = |all: &[String]| all.first().cloned().unwrap_or_default();
            return networking.map(|it| (first(&it.pods), first(&it.services))).unwrap_or_default();
        }
        let own = server.folded_object::<Cluster>(cluster::RUNTIME, "", cluster);
        let own = own.map(|own| (own.spec.pod_cidr.clone(), own.spec.service_cidr.clone())).unwrap_or_default();
        let Some(ClusterName::Seed(seed)) = ClusterName::parse(cluster).filter(|_| own.0.is_empty()) else {
            return own;
        };
        // The object may be stored in the fields of an earlier release.
        let seed = server.folded_object::<Seed>(cluster::GARDEN, "", seed);
        seed.map(|seed| (seed.spec.networks.pods.clone(), seed.spec.networks.services.clone())).unwrap_or_default()
    }

    /// Networks of pods.
    pub(crate) fn of_pods(&self) -> NetworkOf {
        let networks = self.clone();
        Arc::new(move |cluster| Some(networks.of(cluster).0).filter(|network| !network.is_empty()))
    }

    /// First address and number of addresses of the network of a cluster's Services.
    pub(crate) fn of_services(&self, cluster: &str) -> (u32, u32) {
        let network = Network::parse(&self.of(cluster).1).and_then(Network::ipv4);
        // Reserved: the network address, the address of the API server and the last address.
        network.filter(|(_, count)| *count > 3).unwrap_or(SERVICES)
    }
}
