// SPDX-License-Identifier: Apache-2.0
//! The digests of a pool and the names that contain them.
//!
//! One function hashes every list: the lower-case hexadecimal SHA-256 of each element, concatenated as text and hashed
//! again. Absent inputs are left out of the list and never replaced by an empty string.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use api::core::{KubeletConfig, KubeletConfigReserved};
use apimachinery::meta::{Quantity, RawExtension, Time};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{HashInputs, major_minor};
use crate::release::{Release, Releases};
use crate::versions::Version;

/// Releases with the first form of the hash, and with the Secret that records the form of each pool.
pub const FIRST_FORM: Releases = Releases::until(146);
/// Cause of the replacement of nodes whose pool has a form that a release does not have.
pub fn ended_form(release: Release) -> String {
    format!("first form of the hash, which {release} does not have")
}

/// Releases by which node-local DNS counts with any version of Kubernetes and any mode of kube-proxy.
pub(crate) const NODE_LOCAL_DNS_ALWAYS_COUNTS: Releases = Releases::until(126);

/// Form of the key of the operating system configuration of a pool (`NewWorkerPoolHash` switches to the second).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HashVersion {
    /// Kubernetes minor version and container runtime; the MachineClass hashes the rest itself.
    #[default]
    V1,
    /// All inputs, the kubelet's settings included; the MachineClass hashes the key.
    V2,
}

impl HashVersion {
    const fn numbered(number: u8) -> Self {
        if number == 2 { Self::V2 } else { Self::V1 }
    }

    /// `1` or `2`, as in the stored state.
    pub const fn number(self) -> u8 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }
}

/// A field whose value is hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// Kubernetes `major.minor`.
    KubernetesMinor,
    /// Field `machine.type`.
    MachineType,
    /// `machine.image.name` and `machine.image.version` in one string.
    MachineImage,
    /// `machine.image.version` alone.
    MachineImageVersion,
    /// Field `volume.size`.
    VolumeSize,
    /// Field `volume.type`.
    VolumeType,
    /// `providerConfig`, whole.
    ProviderConfig,
    /// Field `providerConfig.rollingUpdateTrigger`.
    RollingUpdateTrigger,
    /// Field `cri.name`.
    Cri,
    /// Start of the rotation of certificate authorities.
    CaRotation,
    /// Start of the rotation of the service account key.
    ServiceAccountKeyRotation,
    /// Node-local DNS is on.
    NodeLocalDns,
    /// Sum of `kubeReserved` and `systemReserved`.
    KubeletReserved,
    /// Field `evictionHard`.
    KubeletEvictionHard,
    /// Field `cpuManagerPolicy`.
    KubeletCpuManagerPolicy,
}

/// Hashed values with the fields of their origin, in hashing order.
pub type Inputs = Vec<(Field, String)>;

/// The digest of a list, 64 lower-case hexadecimal characters.
pub fn digest<S: AsRef<str>>(data: &[S]) -> String {
    let mut text = String::with_capacity(64 * data.len());
    for element in data {
        text.push_str(&sha256_hex(element.as_ref()));
    }
    sha256_hex(&text)
}

fn sha256_hex(text: &str) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

fn values(inputs: &Inputs) -> Vec<&str> {
    inputs.iter().map(|(_, value)| value.as_str()).collect()
}

fn first(length: usize, digest: String) -> String {
    let mut digest = digest;
    digest.truncate(length);
    digest
}

impl HashInputs {
    /// Inputs of the MachineClass's hash without a node agent secret's name, by the rules of a release.
    pub fn machine_class_inputs_v1(&self, release: Release) -> Inputs {
        let mut inputs = self.machine_inputs();
        if let Some(config) = &self.provider_config {
            inputs.push((Field::ProviderConfig, config.0.text().to_owned()));
        }
        self.push_shoot_wide(&mut inputs, release);
        inputs
    }

    /// Inputs of the key of the operating system configuration in its second form, by the rules of a release.
    pub fn osc_key_inputs_v2(&self, release: Release) -> Inputs {
        let mut inputs = self.machine_inputs();
        self.push_shoot_wide(&mut inputs, release);
        inputs.extend(kubelet_inputs(self.kubelet.as_ref()));
        inputs
    }

    /// Returns the inputs of the pool's in-place hash.
    pub fn in_place_inputs(&self) -> Inputs {
        let mut inputs = vec![
            (Field::KubernetesMinor, major_minor(&self.kubernetes_version).to_owned()),
            (Field::MachineImageVersion, self.image_version.clone()),
        ];
        self.push_rotations(&mut inputs);
        inputs.extend(kubelet_inputs(self.kubelet.as_ref()));
        inputs
    }

    /// Returns the inputs that the simulated providers add to the second form of the MachineClass hash:
    /// `rollingUpdateTrigger` of `providerConfig`; none if it is absent, empty, or not a string.
    pub fn provider_additions_v2(&self) -> Inputs {
        let config = self.provider_config.as_ref().map(RawExtension::value).unwrap_or_default();
        match config.get("rollingUpdateTrigger").and_then(serde_json::Value::as_str) {
            Some(trigger) if !trigger.is_empty() => vec![(Field::RollingUpdateTrigger, trigger.to_owned())],
            _ => Vec::new(),
        }
    }

    /// The five characters at the end of a MachineClass's name.
    ///
    /// `node_agent_secret_name` is the extension pool's field: absent selects the first form, present the second, and
    /// an in-place pool has a form of its own.
    pub fn machine_class_hash(&self, node_agent_secret_name: Option<&str>, release: Release) -> String {
        let digest = match node_agent_secret_name {
            _ if self.strategy.is_in_place() => digest(&[self.osc_key_in_place(), self.in_place_pool_hash()]),
            Some(name) => {
                let additions = self.provider_additions_v2();
                let mut data = vec![name];
                data.extend(values(&additions));
                digest(&data)
            }
            None => digest(&values(&self.machine_class_inputs_v1(release))),
        };
        first(5, digest)
    }

    /// The value that `workerPoolToHashMap` holds for an in-place pool; 16 characters.
    pub fn in_place_pool_hash(&self) -> String {
        first(16, digest(&values(&self.in_place_inputs())))
    }

    /// The key of the pool's operating system configuration: the name of the node agent's Secret in `kube-system` of
    /// the shoot, and the value of the nodes' label `worker.gardener.cloud/gardener-node-agent-secret-name`.
    ///
    /// In-place pools have one that never changes, whatever the version.
    pub fn osc_key(&self, version: HashVersion, release: Release) -> String {
        match version {
            _ if self.strategy.is_in_place() => self.osc_key_in_place(),
            HashVersion::V1 => {
                let cri = self.cri.as_deref().unwrap_or_default();
                let text = format!("{}{cri}", major_minor(&self.kubernetes_version));
                format!("{}-{}", self.osc_key_in_place(), first(5, sha256_hex(&text)))
            }
            HashVersion::V2 => {
                let digest = digest(&values(&self.osc_key_inputs_v2(release)));
                format!("{}-{}", self.osc_key_in_place(), first(16, digest))
            }
        }
    }

    /// Name of an OperatingSystemConfig: `key` plus, in the first form, the image's name; `suffix` is `init` or
    /// `original`.
    pub fn osc_name(&self, version: HashVersion, suffix: &str, release: Release) -> String {
        let key = self.osc_key(version, release);
        match version {
            HashVersion::V1 if !self.strategy.is_in_place() => format!("{key}-{}-{suffix}", self.image_name),
            _ => format!("{key}-{suffix}"),
        }
    }

    fn osc_key_in_place(&self) -> String {
        format!("gardener-node-agent-{}", self.pool)
    }

    fn machine_inputs(&self) -> Inputs {
        let mut inputs = vec![
            (Field::KubernetesMinor, major_minor(&self.kubernetes_version).to_owned()),
            (Field::MachineType, self.machine_type.clone()),
            (Field::MachineImage, format!("{}{}", self.image_name, self.image_version)),
        ];
        inputs.extend(self.volume_size.clone().map(|size| (Field::VolumeSize, size)));
        inputs.extend(self.volume_type.clone().map(|type_| (Field::VolumeType, type_)));
        inputs
    }

    fn push_shoot_wide(&self, inputs: &mut Inputs, release: Release) {
        inputs.extend(self.cri.clone().map(|cri| (Field::Cri, cri)));
        self.push_rotations(inputs);
        if self.node_local_dns && node_local_dns_counts(&self.kubernetes_version, self.is_ipvs, release) {
            inputs.push((Field::NodeLocalDns, "node-local-dns".to_owned()));
        }
    }

    fn push_rotations(&self, inputs: &mut Inputs) {
        inputs.extend(self.ca_rotation.map(|time| (Field::CaRotation, go_time(time))));
        let key = self.service_account_key_rotation;
        inputs.extend(key.map(|time| (Field::ServiceAccountKeyRotation, go_time(time))));
    }
}

/// True if node-local DNS is hashed for a pool of a Kubernetes version: switching it replaces nodes.
///
/// Source: extensions/pkg/controller/worker/machines.go, pkg/component/extensions/operatingsystemconfig @ v1.125.0 and v1.126.0.
pub(crate) fn node_local_dns_counts(kubernetes_version: &str, is_ipvs: bool, release: Release) -> bool {
    let is_below_134 =
        || Version::parse(kubernetes_version).is_ok_and(|version| (version.major, version.minor) < (1, 34));
    is_ipvs || NODE_LOCAL_DNS_ALWAYS_COUNTS.contain(release) || is_below_134()
}

/// Go's default rendering of a time with second precision, in UTC.
pub(super) fn go_time(time: Time) -> String {
    time.0.format("%Y-%m-%d %H:%M:%S +0000 UTC").to_string()
}

/// The strings that a kubelet configuration adds.
fn kubelet_inputs(kubelet: Option<&KubeletConfig>) -> Inputs {
    let mut inputs = Inputs::new();
    let Some(kubelet) = kubelet else { return inputs };
    if let Some(reserved) = reserved(kubelet.kube_reserved.as_ref(), kubelet.system_reserved.as_ref()) {
        inputs.push((Field::KubeletReserved, reserved));
    }
    if let Some(eviction) = &kubelet.eviction_hard {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let parts = [
            text(&eviction.image_fs_available),
            text(&eviction.image_fs_inodes_free),
            text(&eviction.memory_available),
            text(&eviction.node_fs_available),
            text(&eviction.node_fs_inodes_free),
        ];
        inputs.push((Field::KubeletEvictionHard, parts.join("-")));
    }
    if let Some(policy) = &kubelet.cpu_manager_policy {
        inputs.push((Field::KubeletCpuManagerPolicy, policy.clone()));
    }
    inputs
}

/// `cpu-memory-pid-ephemeralStorage` of the sum; moving an amount from one object to the other changes nothing.
fn reserved(kube: Option<&KubeletConfigReserved>, system: Option<&KubeletConfigReserved>) -> Option<String> {
    let (kube, system) = match (kube, system) {
        (None, None) => return None,
        (Some(kube), Some(system)) => (kube, Some(system)),
        (Some(one), None) | (None, Some(one)) => (one, None),
    };
    let sum = |field: fn(&KubeletConfigReserved) -> &Option<Quantity>| {
        let left = field(kube).as_ref();
        let right = system.and_then(|system| field(system).as_ref());
        match (left, right) {
            (Some(left), Some(right)) => (*left).plus(*right).to_string(),
            (Some(one), None) | (None, Some(one)) => one.to_string(),
            (None, None) => "<nil>".to_owned(),
        }
    };
    let parts = [sum(|of| &of.cpu), sum(|of| &of.memory), sum(|of| &of.pid), sum(|of| &of.ephemeral_storage)];
    Some(parts.join("-"))
}

/// Entry of one pool in the Secret `worker-pools-operatingsystemconfig-hashes`.
///
/// Switching the gate `NewWorkerPoolHash` rolls nothing: a pool stays on the form it uses until the next change of an
/// input alters one of the stored keys, and then moves to the latest form with the roll-out that this change causes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OscKeys {
    /// The form in use.
    pub current: HashVersion,
    /// The key in each form that is tracked.
    pub keys: BTreeMap<HashVersion, String>,
}

impl OscKeys {
    /// The state after a reconciliation, from the one before (`None` for a new pool). In-place pools are not tracked.
    ///
    /// A release without the first form moves every pool to the second one, and the roll-out has no other cause.
    pub fn next(stored: Option<&Self>, inputs: &HashInputs, latest: HashVersion, release: Release) -> Self {
        let is_kept = |stored: &&Self| {
            FIRST_FORM.contain(release)
                && stored.keys.iter().all(|(version, key)| inputs.osc_key(*version, release) == *key)
        };
        let current = stored.filter(is_kept).map_or(latest, |stored| stored.current);
        let keys = [current, latest].into_iter().map(|version| (version, inputs.osc_key(version, release))).collect();
        Self { current, keys }
    }
}

/// A pool's entry in that Secret, whose value `pools` is a YAML list of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredKeys {
    /// The pool.
    pub name: String,
    current_version: u8,
    #[serde(rename = "hashVersionToOSCKey")]
    keys: BTreeMap<u8, String>,
}

impl StoredKeys {
    /// The Secret's name, in the control plane's namespace.
    pub const SECRET: &str = "worker-pools-operatingsystemconfig-hashes";
    /// Key of the list in the Secret.
    pub const DATA: &str = "pools";

    /// The entry of a pool.
    pub fn new(pool: &str, keys: &OscKeys) -> Self {
        Self {
            name: pool.to_owned(),
            current_version: keys.current.number(),
            keys: keys.keys.iter().map(|(version, key)| (version.number(), key.clone())).collect(),
        }
    }

    /// Returns the stored form and keys.
    pub fn keys(&self) -> OscKeys {
        OscKeys {
            current: HashVersion::numbered(self.current_version),
            keys: self.keys.iter().map(|(number, key)| (HashVersion::numbered(*number), key.clone())).collect(),
        }
    }

    /// Returns the recorded forms.
    pub fn forms(&self) -> Forms {
        let OscKeys { current, keys } = self.keys();
        Forms { current, latest: keys.last_key_value().map_or(current, |(version, _)| *version).max(current) }
    }
}

/// Forms that count for a pool: a change of the inputs of either one rolls its nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forms {
    /// Form in use.
    pub current: HashVersion,
    /// Form that the pool gets with its next roll-out; new pools have it at once.
    pub latest: HashVersion,
}

impl From<HashVersion> for Forms {
    fn from(version: HashVersion) -> Self {
        Self { current: version, latest: version }
    }
}

/// The forms of the pools of a Shoot, and the release by whose rules they are hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolForms {
    /// Pools with a recorded form, by name.
    pub pools: BTreeMap<String, Forms>,
    /// Forms of all other pools.
    pub others: Forms,
    /// Release of the gardenlet that hashes them.
    pub release: Release,
}

impl PoolForms {
    /// Creates the same form for all pools.
    pub fn all(version: HashVersion, release: Release) -> Self {
        Self { pools: BTreeMap::new(), others: version.into(), release }
    }

    /// True if a pool has a form that the release does not have: its first reconciliation replaces the nodes.
    pub fn ends(&self, pool: &str) -> bool {
        self.of(pool).current == HashVersion::V1 && !FIRST_FORM.contain(self.release)
    }

    /// Returns the forms of a pool.
    pub fn of(&self, pool: &str) -> Forms {
        self.pools.get(pool).copied().unwrap_or(self.others)
    }
}

impl fmt::Display for HashVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::{DOCUMENTED, NEWEST};

    #[test]
    fn the_first_form_hashes_minor_version_and_runtime() {
        let inputs = HashInputs { pool: "p".into(), kubernetes_version: "1.2.3".into(), ..HashInputs::default() };
        assert_eq!(inputs.osc_key(HashVersion::V1, DOCUMENTED), "gardener-node-agent-p-77ac3");
        let key = inputs.osc_key(HashVersion::V2, DOCUMENTED);
        assert_eq!(inputs.osc_name(HashVersion::V2, "init", DOCUMENTED), format!("{key}-init"));
    }

    fn pool() -> HashInputs {
        HashInputs {
            pool: "p".into(),
            kubernetes_version: "1.31.4".into(),
            machine_type: "m5.large".into(),
            ..HashInputs::default()
        }
    }

    #[test]
    fn the_form_moves_only_when_a_key_changes() {
        let mut inputs = pool();
        let old = OscKeys::next(None, &inputs, HashVersion::V1, DOCUMENTED);
        assert_eq!(old.current, HashVersion::V1);
        let gate_on = OscKeys::next(Some(&old), &inputs, HashVersion::V2, DOCUMENTED);
        assert_eq!(gate_on.current, HashVersion::V1, "switching the gate rolls nothing");
        inputs.machine_type = "m5.xlarge".into();
        let changed = OscKeys::next(Some(&gate_on), &inputs, HashVersion::V2, DOCUMENTED);
        assert_eq!(changed.current, HashVersion::V2);
    }

    /// Pools that were created by 1.120, in either form, with all inputs, and reconciled by each release in turn.
    #[test]
    fn no_upgrade_but_that_to_146_rolls_a_pool() {
        for form in [HashVersion::V1, HashVersion::V2] {
            for (kubernetes, node_local_dns, is_ipvs) in
                [("1.31.4", false, false), ("1.31.4", true, false), ("1.33.2", true, true), ("1.34.1", false, false)]
            {
                let inputs = HashInputs { kubernetes_version: kubernetes.into(), node_local_dns, is_ipvs, ..pool() };
                let made = |keys: &OscKeys, release: Release| {
                    let name = (keys.current == HashVersion::V2).then(|| inputs.osc_key(keys.current, release));
                    inputs.machine_class_hash(name.as_deref(), release)
                };
                let mut keys = OscKeys::next(None, &inputs, form, DOCUMENTED);
                let mut class = made(&keys, DOCUMENTED);
                let mut rolled = Vec::new();
                for minor in DOCUMENTED.0 + 1..=NEWEST.0 {
                    let release = Release(minor);
                    // The gate is on since 1.126, and may not be switched off again.
                    let latest = if Releases::since(126).contain(release) { HashVersion::V2 } else { form };
                    keys = OscKeys::next(Some(&keys), &inputs, latest, release);
                    let now = made(&keys, release);
                    if now != class {
                        rolled.push(minor);
                    }
                    class = now;
                }
                let expected: &[u16] = if form == HashVersion::V1 { &[146] } else { &[] };
                assert_eq!(rolled, expected, "{form} {kubernetes} {node_local_dns} {is_ipvs}");
            }
        }
    }

    /// Release, Kubernetes version, IPVS, and if node-local DNS is hashed.
    #[test]
    fn node_local_dns_counts_by_release_kubernetes_and_mode() {
        for (minor, kubernetes, is_ipvs, expected) in [
            (120, "1.34.0", false, true),
            (125, "1.34.0", false, true),
            (126, "1.33.9", false, true),
            (126, "1.34.0", false, false),
            (126, "1.34.0", true, true),
            (149, "v1.36.1", false, false),
            (149, "1.32.1", false, true),
        ] {
            let inputs = HashInputs {
                kubernetes_version: kubernetes.into(),
                node_local_dns: true,
                is_ipvs,
                ..HashInputs::default()
            };
            let release = Release(minor);
            let has = |inputs: &Inputs| inputs.iter().any(|(field, _)| *field == Field::NodeLocalDns);
            assert_eq!(has(&inputs.osc_key_inputs_v2(release)), expected, "{release} {kubernetes} {is_ipvs}");
            assert_eq!(has(&inputs.machine_class_inputs_v1(release)), expected, "{release} {kubernetes} {is_ipvs}");
            let off = HashInputs { node_local_dns: false, ..inputs };
            assert!(!has(&off.osc_key_inputs_v2(release)));
        }
    }
}
