// SPDX-License-Identifier: Apache-2.0
//! Nodes as their kubelets register them, and the node agents that update them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use api::constants::{annotation, label};
use api::kubernetes::core::{
    DaemonEndpoint, Node, NodeAddress, NodeDaemonEndpoints, NodeSpec, NodeStatus, NodeSystemInfo, Secret,
};
use api::machine::{Machine, MachineClass};
use apimachinery::meta::{ObjectMeta, Time};
use chrono::{DateTime, TimeDelta, Utc};
use controller::{Error, ObjectKey, ObjectRef};
use domain::rollout::Parameter;
use domain::rollout::node::{self, Place, max_delay_seconds, reconciliation_delay};
use domain::rollout::wanted::ClassFacts;
use domain::worker_pool::kubelet::installed_kubelet;
use parking_lot::Mutex;

use super::family::{Family, Position};
use super::in_place::Looked;
use crate::draft::Draft;

/// Default node network, for a shoot that does not specify one.
const NODES_CIDR: &str = "10.250.0.0/16";

/// State of a seed's node agents: time since which each knows of a configuration that it has not applied, by cluster
/// and node.
#[derive(Debug, Default)]
pub(super) struct Agents {
    pending: Mutex<BTreeMap<(String, String), DateTime<Utc>>>,
}

impl Agents {
    pub(super) fn since(&self, cluster: &str, node: &str, now: DateTime<Utc>) -> DateTime<Utc> {
        let mut pending = self.pending.lock();
        *pending.entry((cluster.to_owned(), node.to_owned())).or_insert(now)
    }

    pub(super) fn forget(&self, cluster: &str, node: &str) {
        let mut pending = self.pending.lock();
        pending.remove(&(cluster.to_owned(), node.to_owned()));
    }
}

/// Returns the provider ID, `<provider>:///<region>/<zone>/<machine>`.
pub(super) fn provider_id(machine: &Machine, class: Option<&MachineClass>) -> String {
    let name = &machine.metadata.name;
    let Some(class) = class else { return format!("{name}:///{name}") };
    let template = class.node_template.clone().unwrap_or_default();
    format!("{}:///{}/{}/{name}", class.provider, template.region, template.zone)
}

/// Sets the version of a node's kubelet.
pub(super) fn set_kubelet_version(node: &mut Node, version: &str) {
    node.metadata.labels.insert(label::WORKER_KUBERNETES_VERSION.to_owned(), version.to_owned());
    node.status.node_info.kubelet_version = format!("v{version}");
    node.status.node_info.kube_proxy_version = format!("v{version}");
}

impl Family<'_> {
    /// Registers the Node of a booted machine, as its kubelet does.
    pub(super) async fn register_node(
        &mut self,
        position: &Position,
        class: Option<&MachineClass>,
    ) -> Result<(), Error> {
        let provider = self.provider;
        let Some(individual) = self.machines.get(position) else { return Ok(()) };
        let node = self.new_node(individual.machine.get(), class);
        let api = provider.node_api(&self.namespace);
        let created = match api.create(&node).await {
            Err(error) if error.is_already_exists() => api.get(&node.metadata.name).await,
            created => created,
        };
        let mut draft = Draft::new(created?.into());
        if draft.get().status != node.status {
            draft.edit().status = node.status;
        }
        if let Some(individual) = self.machines.get_mut(position) {
            individual.node = Some(draft);
        }
        Ok(())
    }

    fn new_node(&self, machine: &Machine, class: Option<&MachineClass>) -> Node {
        let name = &machine.metadata.name;
        let secret = self.node_agent_secret(&machine.spec.node_template.metadata);
        let mut facts = class.map(ClassFacts::of).unwrap_or_default();
        if let Some(version) = secret.as_deref().and_then(installed_kubelet) {
            facts.kubernetes_version = version;
        }
        let template = class.and_then(|class| class.node_template.clone()).unwrap_or_default();
        let place = Place {
            name: name.clone(),
            region: template.region.clone(),
            zone: template.zone.clone(),
            machine_type: template.instance_type.clone(),
            architecture: template.architecture.clone().unwrap_or_else(|| "amd64".to_owned()),
            kubernetes_version: facts.kubernetes_version.clone(),
        };
        let mut metadata = ObjectMeta::named("", name);
        metadata.labels = place.labels();
        let mut taints = node::registration_taints(&machine.spec.node_template.spec.taints);
        node::synchronize(&mut metadata, &mut taints, &machine.spec.node_template);
        let told = [
            (annotation::NODE_AGENT_SECRET_CHECKSUM, annotation::NODE_CHECKSUM),
            (annotation::IN_PLACE_CONFIGURATION, annotation::IN_PLACE_CONFIGURATION),
        ];
        for (of_secret, of_node) in told {
            if let Some(value) = secret.as_ref().and_then(|secret| secret.metadata.annotation(of_secret)) {
                metadata.annotations.insert(of_node.to_owned(), value.to_owned());
            }
        }
        let mut capacity = template.capacity;
        capacity.insert("pods".to_owned(), apimachinery::meta::Quantity::from_integer(110));
        Node {
            metadata,
            spec: NodeSpec { provider_id: machine.spec.provider_id.clone(), taints, ..NodeSpec::default() },
            status: NodeStatus {
                allocatable: capacity.clone(),
                capacity,
                conditions: node::registration_conditions(Time::from(self.now)),
                addresses: self.addresses(name),
                daemon_endpoints: NodeDaemonEndpoints { kubelet_endpoint: DaemonEndpoint { port: 10250 } },
                node_info: self.node_info(name, &place, &facts),
                ..NodeStatus::default()
            },
        }
    }

    fn node_info(&self, name: &str, place: &Place, facts: &ClassFacts) -> NodeSystemInfo {
        let random = &self.provider.context.random;
        let id = |ordinal| random.uid(&format!("{}/node/{name}", self.namespace), ordinal);
        NodeSystemInfo {
            machine_id: id(1).replace('-', ""),
            system_uuid: id(2),
            boot_id: id(3),
            kernel_version: format!("6.6.84-cloud-{}", place.architecture),
            os_image: format!("{} {}", facts.image_name, facts.image_version),
            container_runtime_version: "containerd://1.7.27".to_owned(),
            kubelet_version: format!("v{}", facts.kubernetes_version),
            kube_proxy_version: format!("v{}", facts.kubernetes_version),
            operating_system: "linux".to_owned(),
            architecture: place.architecture.clone(),
        }
    }

    /// Returns an unused address of the shoot's node network, and the host name.
    fn addresses(&self, name: &str) -> Vec<NodeAddress> {
        let address = |type_: &str, address: String| NodeAddress { r#type: type_.to_owned(), address };
        let hostname = address("Hostname", name.to_owned());
        let shoot = self.provider.shoot(&self.namespace);
        let nodes = shoot.as_ref().and_then(|shoot| shoot.spec.networking.as_ref()?.nodes.clone());
        let Some((base, size)) = network(nodes.as_deref().unwrap_or(NODES_CIDR)) else { return vec![hostname] };
        // The index has no addresses that were not written yet.
        let fresh: BTreeSet<&str> = self
            .machines
            .values()
            .filter_map(|individual| individual.node.as_ref())
            .flat_map(|node| node.get().status.addresses.iter().map(|address| address.address.as_str()))
            .collect();
        let is_taken =
            |candidate: &str| fresh.contains(candidate) || self.provider.is_address_taken(&self.namespace, candidate);
        let key = format!("{}/node/{name}", self.namespace);
        let random = &self.provider.context.random;
        for ordinal in 0..64 {
            // The first ten addresses are reserved for the network's own services, the last one is for broadcasts.
            let offset = 10 + random.below(u64::from(size.saturating_sub(11)), "node-address", &key, ordinal);
            let candidate = Ipv4Addr::from(base.wrapping_add(u32::try_from(offset).unwrap_or_default())).to_string();
            if !is_taken(&candidate) {
                return vec![address("InternalIP", candidate), hostname];
            }
        }
        vec![hostname]
    }

    /// Returns the Secret with the configuration of a Node's agent.
    pub(super) fn node_agent_secret(&self, node: &ObjectMeta) -> Option<std::sync::Arc<Secret>> {
        let name = node.label(label::NODE_AGENT_SECRET_NAME)?;
        self.provider.node_agent_secrets.get(&ObjectKey::new(&self.namespace, "kube-system", name))
    }

    /// Returns the delay until a node's agent applies a change: the delays of a cluster's nodes are spread.
    pub(super) fn agent_delay(&self, node: &str) -> TimeDelta {
        let nodes = self.provider.nodes.list_in(&self.namespace, "");
        let rank = nodes.iter().position(|other| other.metadata.name == node).unwrap_or_default();
        let shoot = self.provider.shoot(&self.namespace);
        let max = shoot.map_or(300, |shoot| max_delay_seconds(&shoot.metadata.annotations));
        reconciliation_delay(rank, nodes.len(), max)
    }

    /// Applies a changed configuration to a running node after the delay of its agent, once, with the kubelet that the
    /// configuration installs. A pending in-place update is handled first.
    pub(super) async fn node_agent_step(&mut self, position: &Position) -> Result<Looked, Error> {
        let provider = self.provider;
        let Some(individual) = self.machines.get(position) else { return Ok(Looked::NOTHING) };
        let machine = individual.machine.get();
        let Some(node) = individual.node.as_ref().map(Draft::get) else { return Ok(Looked::NOTHING) };
        if let Some(pending) = self.pending_update(node).await? {
            return self.update_node(position, &pending).await;
        }
        let name = node.metadata.name.clone();
        let secret = self.node_agent_secret(&node.metadata);
        let wanted = secret
            .and_then(|secret| {
                let checksum = secret.metadata.annotation(annotation::NODE_AGENT_SECRET_CHECKSUM)?.to_owned();
                let is_applied = node.metadata.annotation(annotation::NODE_CHECKSUM) == Some(&checksum);
                (!is_applied).then_some((secret, checksum))
            })
            .filter(|_| node::is_ready(&node.status.conditions) && !machine.metadata.is_being_deleted());
        let Some((secret, checksum)) = wanted else {
            self.agents.forget(&self.namespace, &name);
            return Ok(Looked::NOTHING);
        };
        let present = node.status.node_info.kubelet_version.trim_start_matches('v');
        let version = installed_kubelet(&secret).filter(|version| version != present);
        let mut until = self.agents.since(&self.namespace, &name, self.now) + self.agent_delay(&name);
        if let Some(version) = &version {
            let attempt = version.bytes().fold(0, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
            until += provider.duration(Parameter::KubeletPatchRestart, &node.metadata.uid, attempt);
        }
        if self.now < until {
            return Ok(Looked::again_at(until));
        }
        self.agents.forget(&self.namespace, &name);
        let node = self.machines.get_mut(position).and_then(|individual| individual.node.as_mut());
        let Some(draft) = node else { return Ok(Looked::NOTHING) };
        let node = draft.edit();
        node.metadata.annotations.insert(annotation::NODE_CHECKSUM.to_owned(), checksum);
        if let Some(version) = version {
            set_kubelet_version(node, &version);
        }
        let about = ObjectRef::of(&*node);
        self.publish_applied(&about).await?;
        Ok(Looked::NOTHING)
    }
}

/// Returns the first address and the size of an IPv4 network.
fn network(cidr: &str) -> Option<(u32, u32)> {
    let (address, length) = cidr.split_once('/')?;
    let length: u32 = length.parse().ok().filter(|length| (1..=30).contains(length))?;
    let size = 1_u32.checked_shl(32 - length)?;
    let address: Ipv4Addr = address.parse().ok()?;
    Some((u32::from(address) & !(size - 1), size))
}
