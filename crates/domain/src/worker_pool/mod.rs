// SPDX-License-Identifier: Apache-2.0
//! Worker pools: inputs whose change replaces nodes, and the effect of a change on a pool.
//!
//! A pool's MachineClass has a hash of these inputs in its name. A changed hash is a new class, and a new class is a
//! roll-out; other changes reach running nodes without replacing them.
//! Source: extensions/pkg/controller/worker/machines.go, pkg/utils/gardener/shoot.go,
//! pkg/component/extensions/operatingsystemconfig/operatingsystemconfig.go @ v1.120.0.
//!
//! **Tour.** [`HashInputs`] the hashed values, from a Shoot or from an extension Worker; [`hash`] the digests and the
//! names with them; [`effect`] the effect of a Shoot's change on each pool; [`manual_rollout`] pools that a user
//! rolls by name; [`kubelet`] the kubelet that nodes install; [`outdated_node`] a node that does not run the desired
//! version of its pool yet; [`zones`] the division of a pool over its zones.

pub mod effect;
pub mod hash;
pub mod kubelet;
pub mod manual_rollout;
mod outdated;
pub mod zones;

use api::constants::update_strategy;
use api::core::{KubeletConfig, MachineControllerManagerSettings, MachineType, Shoot, ShootSpec, Worker};
use api::extensions::WorkerPool;
use apimachinery::meta::{RawExtension, Time};

use crate::release::{Release, Releases};

pub use self::effect::{Effect, PoolEffect, effects};
pub use self::hash::{Field, Forms, HashVersion, OscKeys, PoolForms, StoredKeys, ended_form};
pub use self::outdated::{OutdatedNode, outdated_node};

/// Strategy that updates a pool's nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum UpdateStrategy {
    /// Nodes are replaced.
    #[default]
    AutoRollingUpdate,
    /// Nodes are drained and updated, one after the other.
    AutoInPlaceUpdate,
    /// Nodes that the user selects are drained and updated.
    ManualInPlaceUpdate,
}

impl UpdateStrategy {
    /// The strategy of the field's value; absent and unknown values are the default.
    pub fn of(value: Option<&str>) -> Self {
        match value {
            Some(update_strategy::AUTO_IN_PLACE) => Self::AutoInPlaceUpdate,
            Some(update_strategy::MANUAL_IN_PLACE) => Self::ManualInPlaceUpdate,
            _ => Self::AutoRollingUpdate,
        }
    }

    /// True if machines survive an update.
    pub const fn is_in_place(self) -> bool {
        matches!(self, Self::AutoInPlaceUpdate | Self::ManualInPlaceUpdate)
    }
}

/// The Kubernetes version of a pool: its own, or the Shoot's.
pub fn kubernetes_version<'a>(shoot: &'a Shoot, worker: &'a Worker) -> &'a str {
    worker
        .kubernetes
        .as_ref()
        .and_then(|kubernetes| kubernetes.version.as_deref())
        .unwrap_or(&shoot.spec.kubernetes.version)
}

/// Returns the pools with the Kubernetes version of the control plane, since they name none: they change with it.
pub fn following(shoot: &Shoot) -> impl Iterator<Item = &Worker> {
    let names_none = |worker: &&Worker| worker.kubernetes.as_ref().is_none_or(|own| own.version.is_none());
    shoot.spec.provider.workers.iter().filter(names_none)
}

/// The kubelet configuration of a pool: its own, which replaces the Shoot's completely, or the Shoot's.
pub fn kubelet_config<'a>(shoot: &'a Shoot, worker: &'a Worker) -> Option<&'a KubeletConfig> {
    worker.kubernetes.as_ref().and_then(|kubernetes| kubernetes.kubelet.as_ref()).or(shoot
        .spec
        .kubernetes
        .kubelet
        .as_ref())
}

/// Releases in which machine types have settings of machine-controller-manager, defaults of pools of the type.
const MACHINE_TYPES_HAVE_SETTINGS: Releases = Releases::since(137);

/// Settings of machine-controller-manager as gardenlet of a release writes them into the Worker: the pool's own, and the time
/// for the creation of a machine from its machine type if the pool has none.
///
/// Source: pkg/component/extensions/worker/worker.go @ v1.137.0.
pub fn machine_settings(
    pool: &Worker,
    machine_type: Option<&MachineType>,
    release: Release,
) -> Option<MachineControllerManagerSettings> {
    let own = pool.machine_controller_manager.clone();
    let of_type = machine_type.and_then(|it| it.machine_controller_manager.as_ref()?.machine_creation_timeout);
    match of_type.filter(|_| MACHINE_TYPES_HAVE_SETTINGS.contain(release)) {
        Some(timeout) => {
            let mut settings = own.unwrap_or_default();
            settings.machine_creation_timeout.get_or_insert(timeout);
            Some(settings)
        }
        None => own,
    }
}

/// `major.minor` of a version; the text itself where there is no second dot.
pub fn major_minor(version: &str) -> &str {
    let version = version.strip_prefix('v').unwrap_or(version);
    match version.match_indices('.').nth(1) {
        Some((dot, _)) => &version[..dot],
        None => version,
    }
}

/// All inputs of the pool's hashes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HashInputs {
    /// Pool name; part of the key of the operating system configuration, never hashed.
    pub pool: String,
    /// Update strategy of the pool.
    pub strategy: UpdateStrategy,
    /// Effective Kubernetes version; only `major.minor` counts.
    pub kubernetes_version: String,
    /// Value of `machine.type`.
    pub machine_type: String,
    /// Value of `machine.image.name`.
    pub image_name: String,
    /// Value of `machine.image.version`.
    pub image_version: String,
    /// `volume.size`; absent without a volume.
    pub volume_size: Option<String>,
    /// Value of `volume.type`.
    pub volume_type: Option<String>,
    /// `providerConfig`, byte for byte as it is stored.
    pub provider_config: Option<RawExtension>,
    /// Value of `cri.name`.
    pub cri: Option<String>,
    /// Value of `spec.systemComponents.nodeLocalDNS.enabled`.
    pub node_local_dns: bool,
    /// True if kube-proxy runs in mode `IPVS`.
    pub is_ipvs: bool,
    /// Start of the rotation of certificate authorities that counts for this pool.
    pub ca_rotation: Option<Time>,
    /// Start of the rotation of the service account key that counts for this pool.
    pub service_account_key_rotation: Option<Time>,
    /// Effective kubelet configuration.
    pub kubelet: Option<KubeletConfig>,
}

impl HashInputs {
    /// The inputs of a pool of a Shoot.
    pub fn of_shoot(shoot: &Shoot, worker: &Worker) -> Self {
        let image = worker.machine.image.as_ref();
        Self {
            pool: worker.name.clone(),
            strategy: UpdateStrategy::of(worker.update_strategy.as_deref()),
            kubernetes_version: kubernetes_version(shoot, worker).to_owned(),
            machine_type: worker.machine.r#type.clone(),
            image_name: image.map(|image| image.name.clone()).unwrap_or_default(),
            image_version: image.and_then(|image| image.version.clone()).unwrap_or_default(),
            volume_size: worker.volume.as_ref().map(|volume| volume.size.clone()),
            volume_type: worker.volume.as_ref().and_then(|volume| volume.r#type.clone()),
            provider_config: worker.provider_config.clone(),
            cri: worker.cri.as_ref().map(|cri| cri.name.clone()),
            kubelet: kubelet_config(shoot, worker).cloned(),
            ..Self::shoot_wide(shoot, &worker.name)
        }
    }

    /// Returns the inputs as an extension Worker holds them: it is of a kind of a CustomResourceDefinition, in which
    /// keys of opaque JSON are sorted.
    #[must_use]
    pub fn in_extension_pool(mut self) -> Self {
        self.provider_config = self.provider_config.map(|config| RawExtension(config.0.sorted()));
        self
    }

    /// The inputs of a pool of an extension Worker, whose Cluster holds `shoot`.
    ///
    /// The container runtime is not part of an extension pool; it is looked up in the Shoot by the pool's name.
    pub fn of_extension_pool(shoot: &Shoot, pool: &WorkerPool) -> Self {
        let worker = shoot.spec.provider.workers.iter().find(|worker| worker.name == pool.name);
        Self {
            pool: pool.name.clone(),
            strategy: UpdateStrategy::of(pool.update_strategy.as_deref()),
            kubernetes_version: pool
                .kubernetes_version
                .clone()
                .unwrap_or_else(|| shoot.spec.kubernetes.version.clone()),
            machine_type: pool.machine_type.clone(),
            image_name: pool.machine_image.name.clone(),
            image_version: pool.machine_image.version.clone(),
            volume_size: pool.volume.as_ref().map(|volume| volume.size.clone()),
            volume_type: pool.volume.as_ref().and_then(|volume| volume.r#type.clone()),
            provider_config: pool.provider_config.clone(),
            cri: worker.and_then(|worker| worker.cri.as_ref()).map(|cri| cri.name.clone()),
            kubelet: pool.kubelet_config.clone(),
            ..Self::shoot_wide(shoot, &pool.name)
        }
    }

    fn shoot_wide(shoot: &Shoot, pool: &str) -> Self {
        let rotation = shoot.status.credentials.as_ref().and_then(|credentials| credentials.rotation.as_ref());
        let authorities = rotation.and_then(|rotation| rotation.certificate_authorities.as_ref());
        let key = rotation.and_then(|rotation| rotation.service_account_key.as_ref());
        Self {
            node_local_dns: shoot
                .spec
                .system_components
                .as_ref()
                .and_then(|components| components.node_local_dns.as_ref())
                .is_some_and(|dns| dns.enabled),
            is_ipvs: is_ipvs(&shoot.spec),
            ca_rotation: authorities.and_then(|rotation| {
                rotation_time(pool, rotation.last_initiation_time, &rotation.pending_workers_rollouts)
            }),
            service_account_key_rotation: key.and_then(|rotation| {
                rotation_time(pool, rotation.last_initiation_time, &rotation.pending_workers_rollouts)
            }),
            ..Self::default()
        }
    }
}

/// True if kube-proxy runs in mode `IPVS`.
pub(crate) fn is_ipvs(spec: &ShootSpec) -> bool {
    let proxy = spec.kubernetes.kube_proxy.as_ref();
    proxy.is_some_and(|proxy| proxy.enabled != Some(false) && proxy.mode.as_deref() == Some("IPVS"))
}

/// The start of a rotation as it counts for one pool: a pool that is listed as pending keeps the time of its entry,
/// which may be absent; so a rotation started without roll-out changes no hash until the entry is removed.
fn rotation_time(pool: &str, global: Option<Time>, pending: &[api::core::PendingWorkersRollout]) -> Option<Time> {
    match pending.iter().find(|entry| entry.name == pool) {
        Some(entry) => entry.last_initiation_time,
        None => global,
    }
}

#[cfg(test)]
mod tests {
    use api::core::{CloudProfileMachineControllerManagerSettings, WorkerKubernetes};
    use apimachinery::meta::Duration;

    use super::*;

    /// Release, minutes of the pool and of its machine type, and minutes in force.
    #[test]
    fn machine_types_have_a_creation_timeout_since_137() {
        for (minor, own, of_type, expected) in [
            (136, None, Some(30), None),
            (137, None, Some(30), Some(30)),
            (137, Some(5), Some(30), Some(5)),
            (149, Some(5), None, Some(5)),
            (149, None, None, None),
        ] {
            let minutes = |minutes: Option<i64>| minutes.map(Duration::from_minutes);
            let pool = Worker {
                machine_controller_manager: own.map(|own| MachineControllerManagerSettings {
                    machine_creation_timeout: minutes(Some(own)),
                    ..Default::default()
                }),
                ..Worker::default()
            };
            let machine_type = MachineType {
                machine_controller_manager: of_type.map(|of_type| CloudProfileMachineControllerManagerSettings {
                    machine_creation_timeout: minutes(Some(of_type)),
                }),
                ..MachineType::default()
            };
            let found = machine_settings(&pool, Some(&machine_type), Release(minor));
            let found = found.and_then(|settings| settings.machine_creation_timeout);
            assert_eq!(found, minutes(expected), "v1.{minor} {own:?} {of_type:?}");
        }
    }

    #[test]
    fn pools_without_a_version_follow_the_control_plane() {
        let kubelet = || Some(WorkerKubernetes { kubelet: Some(KubeletConfig::default()), version: None });
        let own = |version: &str| Some(WorkerKubernetes { version: Some(version.to_owned()), ..Default::default() });
        for (name, kubernetes, follows) in [
            ("nothing", None, true),
            ("a kubelet", kubelet(), true),
            ("the same version", own("1.31.1"), false),
            ("an older version", own("1.30.5"), false),
        ] {
            let mut shoot = Shoot::default();
            shoot.spec.kubernetes.version = "1.31.1".to_owned();
            shoot.spec.provider.workers = vec![Worker { name: name.to_owned(), kubernetes, ..Default::default() }];
            assert_eq!(following(&shoot).count(), usize::from(follows), "{name}");
        }
    }
}
