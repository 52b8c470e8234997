// SPDX-License-Identifier: Apache-2.0
//! State that all controllers of one simulated provider share.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use api::cluster;
use api::constants::{annotation, label, role};
use api::core::Shoot;
use api::extensions::Cluster;
use api::kubernetes::core::{Node, Pod, Secret};
use api::kubernetes::storage::PersistentVolumeClaim;
use api::machine::{Machine, MachineClass, MachineDeployment, MachineSet};
use api::terrarium::{self, Fault};
use apimachinery::Resource;
use chrono::TimeDelta;
use controller::{Api, Error, Index, ListOptions, ObjectKey, Recorder, Reflector, Store};
use domain::release::{NEWEST, Release};
use domain::rollout::preservation::PRESERVED;
use domain::rollout::{Arguments, Parameter};
use domain::skew::GardenerVersion;
use parking_lot::Mutex;
use process::Context;

use super::Options;
use crate::durations::Durations;

/// Label of the Secrets that hold operating system configurations, in `kube-system` of a shoot.
const OPERATING_SYSTEM_CONFIGS: &str = api::joined!(label::ROLE, "=", role::OPERATING_SYSTEM_CONFIG);

/// Shoots by technical ID, with the version of the Cluster that each was read from.
type Shoots = BTreeMap<String, (String, Arc<Shoot>)>;

/// A simulated provider.
pub(super) struct Provider {
    pub(super) context: Context,
    /// Arguments of each machine-controller-manager.
    pub(super) arguments: Arguments,
    /// Release of the extension library that is emulated.
    pub(super) release: Release,
    /// Name of the seed's cluster.
    pub(super) seed: Arc<str>,
    /// Recorder of Events in the seed's cluster.
    pub(super) recorder: Recorder,
    pub(super) clusters: Store<Cluster>,
    pub(super) deployments: Store<MachineDeployment>,
    pub(super) sets: Store<MachineSet>,
    pub(super) machines: Store<Machine>,
    pub(super) classes: Store<MachineClass>,
    pub(super) nodes: Store<Node>,
    pub(super) node_agent_secrets: Store<Secret>,
    /// Faults that are injected.
    pub(super) faults: Store<Fault>,
    pub(super) timing_store: Store<terrarium::Timing>,
    durations: Durations,
    pub(super) pod_store: Store<Pod>,
    pub(super) claim_store: Store<PersistentVolumeClaim>,
    /// Pods by cluster and name of the node.
    pub(super) pods_by_node: Index<Pod>,
    /// Nodes by cluster and address.
    nodes_by_address: Index<Node>,
    shoots: Arc<Mutex<Shoots>>,
    reflectors: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("seed", &self.seed).finish_non_exhaustive()
    }
}

impl Provider {
    pub(super) fn new(context: &Context, options: Options) -> Arc<Self> {
        let seed = cluster::of_seed(&options.seed_name);
        let mut reflectors: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
        let everything = ListOptions::default();
        let clusters: Store<Cluster> = reflect(context, &seed, everything.clone(), &mut reflectors);
        let deployments = reflect(context, &seed, everything.clone(), &mut reflectors);
        let sets = reflect(context, &seed, everything.clone(), &mut reflectors);
        let machines = reflect(context, &seed, everything.clone(), &mut reflectors);
        let classes = reflect(context, &seed, everything.clone(), &mut reflectors);
        let nodes: Store<Node> = reflect(context, "*", everything.clone(), &mut reflectors);
        let nodes_by_address = nodes.index(|node: &Node| {
            let cluster = node.metadata.annotation(annotation::CLUSTER).unwrap_or_default();
            node.status.addresses.iter().map(|address| place(cluster, &address.address)).collect()
        });
        let pod_store: Store<Pod> = reflect(context, "*", everything.clone(), &mut reflectors);
        let claim_store = reflect(context, "*", everything.clone(), &mut reflectors);
        let pods_by_node = pod_store.index(|pod: &Pod| {
            let cluster = pod.metadata.annotation(annotation::CLUSTER).unwrap_or_default();
            let node = Some(&pod.spec.node_name).filter(|node| !node.is_empty());
            node.map(|node| place(cluster, node)).into_iter().collect()
        });
        let faults = reflect(context, cluster::RUNTIME, everything.clone(), &mut reflectors);
        let timing_store = reflect(context, cluster::RUNTIME, everything, &mut reflectors);
        let selected = ListOptions::labelled(OPERATING_SYSTEM_CONFIGS);
        let node_agent_secrets = reflect(context, "*", selected, &mut reflectors);
        let shoots: Arc<Mutex<Shoots>> = Arc::default();
        let read = shoots.clone();
        clusters.subscribe(move |change| {
            if change.new.is_none() {
                read.lock().remove(&*change.key.name);
            }
        });
        Arc::new(Self {
            context: context.clone(),
            recorder: Recorder::named(context, &seed, "machine-controller-manager"),
            seed: seed.into(),
            arguments: Arguments::of(options.profile),
            release: GardenerVersion::parse(&context.identity.version)
                .map_or(NEWEST, |version| version.served_release()),
            clusters,
            faults,
            durations: Durations::new(context.random.clone(), &timing_store),
            timing_store,
            pod_store,
            claim_store,
            pods_by_node,
            nodes_by_address,
            deployments,
            sets,
            machines,
            classes,
            nodes,
            node_agent_secrets,
            shoots,
            reflectors: Mutex::new(reflectors),
        })
    }

    /// Starts the shared reflectors. Controllers subscribe before, so that they miss no change.
    pub(super) fn start_stores(&self) {
        let reflectors = std::mem::take(&mut *self.reflectors.lock());
        for start in reflectors {
            start();
        }
    }

    /// True if machine-controller-manager preserves Machines.
    pub(super) fn preserves(&self) -> bool {
        PRESERVED.contain(self.release)
    }

    /// Returns a client for a kind in a namespace of the seed; empty: all namespaces.
    pub(super) fn seed_api<K: Resource>(&self, namespace: &str) -> Api<K> {
        if namespace.is_empty() {
            Api::all(&self.context, &self.seed)
        } else {
            Api::namespaced(&self.context, &self.seed, namespace)
        }
    }

    /// Returns a client for the objects of a store of the seed, which shows its writes at once.
    pub(super) fn api_of<K: Resource>(&self, store: &Store<K>) -> Api<K> {
        self.seed_api("").with_store(store)
    }

    /// Returns a client for the Nodes of a shoot.
    pub(super) fn node_api(&self, cluster: &str) -> Api<Node> {
        Api::all(&self.context, cluster).with_store(&self.nodes)
    }

    /// Returns the key of an object of the seed.
    pub(super) fn seed_key(&self, namespace: &str, name: &str) -> ObjectKey {
        ObjectKey { cluster: self.seed.clone(), namespace: namespace.into(), name: name.into() }
    }

    /// Returns the Shoot from the Cluster of a technical ID, as gardenlet wrote it last.
    pub(super) fn shoot(&self, technical_id: &str) -> Option<Arc<Shoot>> {
        let stored = self.clusters.get(&self.seed_key("", technical_id))?;
        let version = &stored.metadata.resource_version;
        let mut shoots = self.shoots.lock();
        if let Some((_, shoot)) = shoots.get(technical_id).filter(|(read, _)| read == version) {
            return Some(shoot.clone());
        }
        let shoot: Arc<Shoot> = Arc::new(serde_json::from_str(stored.spec.shoot.0.text()).ok()?);
        shoots.insert(technical_id.to_owned(), (version.clone(), shoot.clone()));
        Some(shoot)
    }

    /// Reads the Cluster from the server. A request may arrive before the change of the Cluster that it is about, since
    /// kinds are watched independently.
    pub(super) async fn refresh_shoot(&self, technical_id: &str) -> Result<(), Error> {
        self.api_of(&self.clusters).get_shared(technical_id).await.map(drop)
    }

    /// True if a Node of a cluster has an address.
    pub(super) fn is_address_taken(&self, cluster: &str, address: &str) -> bool {
        self.nodes_by_address.count(&place(cluster, address)) > 0
    }

    /// Returns the duration of a stage of an object: always the same for the same object and attempt.
    pub(super) fn duration(&self, parameter: Parameter, uid: &str, attempt: u64) -> TimeDelta {
        self.durations.of(parameter, uid, attempt)
    }
}

/// Returns an index key for a name in a cluster.
pub(super) fn place(cluster: &str, name: &str) -> String {
    format!("{cluster}/{name}")
}

fn reflect<K: Resource>(
    context: &Context,
    cluster: &str,
    options: ListOptions,
    reflectors: &mut Vec<Box<dyn FnOnce() + Send>>,
) -> Store<K> {
    let reflector = Reflector::new(Api::all(context, cluster), options);
    let store = reflector.store();
    reflectors.push(Box::new(move || drop(reflector.start())));
    store
}
