// SPDX-License-Identifier: Apache-2.0
//! Effect of a Shoot's change on the nodes of each of its pools.

use std::collections::BTreeMap;

use api::core::{Shoot, Worker};

use super::hash::{Field, Forms, HashVersion, Inputs, PoolForms};
use super::{HashInputs, UpdateStrategy, manual_rollout};
use crate::release::Release;
use crate::worker_pool::zones::{Moves, moves};

/// The effect on a pool's nodes, from nothing to everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Nodes stay as they are, or get the change while they run.
    #[default]
    None,
    /// The kubelet of each node is restarted in another patch version.
    KubeletRestart,
    /// Nodes of some zones are removed, and replaced in other zones.
    Moving,
    /// Each node is drained and updated, a few at a time.
    AutoInPlace,
    /// Each node is drained and updated once the user selects it.
    ManualInPlace,
    /// Each node is replaced by a new one.
    Rolling,
}

impl Effect {
    /// Name of the effect for scripts: `none`, `kubeletRestart`, `moving`, `rolling`, `autoInPlace`, `manualInPlace`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::KubeletRestart => "kubeletRestart",
            Self::Moving => "moving",
            Self::AutoInPlace => "autoInPlace",
            Self::ManualInPlace => "manualInPlace",
            Self::Rolling => "rolling",
        }
    }
}

/// The effect on one pool and the fields that cause it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolEffect {
    /// Effect on the nodes.
    pub effect: Effect,
    /// Paths of the fields whose change has this effect, in hashing order; indices are those of the new Shoot.
    pub triggers: Vec<String>,
}

/// Returns the effect of the change from `old` to `new` on each pool that is in both, by pool name.
///
/// `forms` are those of the old Shoot's pools. A pool that is still hashed in an older form than new ones rolls for a
/// change of the inputs of either form ([`super::OscKeys`]); the introduction of a newer form rolls nothing. Zones
/// are in no hash, but decide which MachineDeployments a pool has ([`crate::worker_pool::zones`]); operation
/// `rollout-workers` rolls the pools that it names ([`manual_rollout`]). Other fields that no hash contains, a pool's
/// size included, have no effect on existing nodes and are not listed.
pub fn effects(old: &Shoot, new: &Shoot, forms: &PoolForms) -> BTreeMap<String, PoolEffect> {
    let old_pools: BTreeMap<&str, &Worker> =
        old.spec.provider.workers.iter().map(|worker| (worker.name.as_str(), worker)).collect();
    let mut effects = BTreeMap::new();
    for (index, worker) in new.spec.provider.workers.iter().enumerate() {
        let Some(known) = old_pools.get(worker.name.as_str()) else { continue };
        let before = HashInputs::of_shoot(old, known).in_extension_pool();
        let after = HashInputs::of_shoot(new, worker).in_extension_pool();
        let paths = Paths { index, worker };
        let mut effect = pool_effect(&before, &after, (forms.of(&worker.name), forms.release), &paths);
        if manual_rollout::starts(&old.status, &new.status, &worker.name) {
            effect.effect = Effect::Rolling;
            effect.triggers.push("status.manualWorkerPoolRollout.pendingWorkersRollouts".to_owned());
        }
        // Nodes without a MachineDeployment are replaced, whatever the pool's strategy.
        let by_zones = match moves(known, worker) {
            Moves::None => Effect::None,
            Moves::Some => Effect::Moving,
            Moves::All => Effect::Rolling,
        };
        if by_zones != Effect::None {
            effect.effect = effect.effect.max(by_zones);
            effect.triggers.push(paths.pool("zones"));
        }
        effects.insert(worker.name.clone(), effect);
    }
    effects
}

/// Inputs of a form of a pool's hash, by the rules of a release.
fn inputs(pool: &HashInputs, version: HashVersion, release: Release) -> Inputs {
    match (pool.strategy.is_in_place(), version) {
        (true, _) => pool.in_place_inputs(),
        (false, HashVersion::V1) => pool.machine_class_inputs_v1(release),
        (false, HashVersion::V2) => {
            let mut inputs = pool.osc_key_inputs_v2(release);
            inputs.extend(pool.provider_additions_v2());
            inputs
        }
    }
}

fn pool_effect(
    before: &HashInputs,
    after: &HashInputs,
    (forms, release): (Forms, Release),
    paths: &Paths<'_>,
) -> PoolEffect {
    // A pool that changes its strategy is judged by the new one.
    let before = &HashInputs { strategy: after.strategy, ..before.clone() };
    let mut changed: Vec<Field> = [forms.current, forms.latest]
        .into_iter()
        .flat_map(|version| changed_fields(&inputs(before, version, release), &inputs(after, version, release)))
        .collect();
    changed.sort_unstable();
    changed.dedup();
    if !changed.is_empty() {
        let effect = match after.strategy {
            UpdateStrategy::AutoRollingUpdate => Effect::Rolling,
            UpdateStrategy::AutoInPlaceUpdate => Effect::AutoInPlace,
            UpdateStrategy::ManualInPlaceUpdate => Effect::ManualInPlace,
        };
        let mut triggers: Vec<String> = changed.into_iter().flat_map(|field| paths.of(field, before, after)).collect();
        triggers.dedup();
        return PoolEffect { effect, triggers };
    }
    if before.kubernetes_version != after.kubernetes_version {
        return PoolEffect { effect: Effect::KubeletRestart, triggers: vec![paths.kubernetes_version()] };
    }
    PoolEffect::default()
}

/// Fields with a value on one side only, or with different values, in hashing order.
fn changed_fields(before: &Inputs, after: &Inputs) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    for (field, _) in before.iter().chain(after) {
        let value = |inputs: &Inputs| inputs.iter().find(|(of, _)| of == field).map(|(_, value)| value.clone());
        if value(before) != value(after) && !fields.contains(field) {
            fields.push(*field);
        }
    }
    fields.sort_unstable();
    fields
}

/// Names of fields by their paths in the new Shoot.
struct Paths<'a> {
    index: usize,
    worker: &'a Worker,
}

impl Paths<'_> {
    fn of(&self, field: Field, before: &HashInputs, after: &HashInputs) -> Vec<String> {
        let path = match field {
            Field::KubernetesMinor => self.kubernetes_version(),
            Field::MachineType => self.pool("machine.type"),
            Field::MachineImage => {
                let mut paths = Vec::new();
                if before.image_name != after.image_name {
                    paths.push(self.pool("machine.image.name"));
                }
                if before.image_version != after.image_version {
                    paths.push(self.pool("machine.image.version"));
                }
                return paths;
            }
            Field::MachineImageVersion => self.pool("machine.image.version"),
            Field::VolumeSize => self.pool("volume.size"),
            Field::VolumeType => self.pool("volume.type"),
            Field::ProviderConfig => self.pool("providerConfig"),
            Field::RollingUpdateTrigger => self.pool("providerConfig.rollingUpdateTrigger"),
            Field::Cri => self.pool("cri.name"),
            Field::CaRotation => "status.credentials.rotation.certificateAuthorities.lastInitiationTime".to_owned(),
            Field::ServiceAccountKeyRotation => {
                "status.credentials.rotation.serviceAccountKey.lastInitiationTime".to_owned()
            }
            Field::NodeLocalDns => {
                let mut paths = Vec::new();
                if before.node_local_dns != after.node_local_dns {
                    paths.push("spec.systemComponents.nodeLocalDNS.enabled".to_owned());
                }
                // A Kubernetes version that changes whether the field counts is a trigger of its own.
                if before.is_ipvs != after.is_ipvs {
                    paths.push("spec.kubernetes.kubeProxy.mode".to_owned());
                }
                return paths;
            }
            Field::KubeletReserved => return self.reserved(before, after),
            Field::KubeletEvictionHard => self.kubelet("evictionHard"),
            Field::KubeletCpuManagerPolicy => self.kubelet("cpuManagerPolicy"),
        };
        vec![path]
    }

    fn reserved(&self, before: &HashInputs, after: &HashInputs) -> Vec<String> {
        let of = |inputs: &HashInputs| {
            let kubelet = inputs.kubelet.clone().unwrap_or_default();
            (kubelet.kube_reserved, kubelet.system_reserved)
        };
        let ((kube_before, system_before), (kube_after, system_after)) = (of(before), of(after));
        let mut paths = Vec::new();
        if kube_before != kube_after {
            paths.push(self.kubelet("kubeReserved"));
        }
        if system_before != system_after {
            paths.push(self.kubelet("systemReserved"));
        }
        paths
    }

    fn pool(&self, field: &str) -> String {
        format!("spec.provider.workers[{}].{field}", self.index)
    }

    fn kubernetes_version(&self) -> String {
        match self.worker.kubernetes.as_ref().and_then(|kubernetes| kubernetes.version.as_ref()) {
            Some(_) => self.pool("kubernetes.version"),
            None => "spec.kubernetes.version".to_owned(),
        }
    }

    fn kubelet(&self, field: &str) -> String {
        match self.worker.kubernetes.as_ref().and_then(|kubernetes| kubernetes.kubelet.as_ref()) {
            Some(_) => self.pool(&format!("kubernetes.kubelet.{field}")),
            None => format!("spec.kubernetes.kubelet.{field}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use api::core::{
        CRI, KubeletConfig, KubeletConfigEviction, ShootMachineImage, SystemComponents, Volume, WorkerKubernetes,
    };

    use super::*;
    use crate::release::{DOCUMENTED, NEWEST};

    fn shoot() -> Shoot {
        let mut worker = Worker { name: "w".into(), minimum: 1, maximum: 3, ..Worker::default() };
        worker.machine.r#type = "m5.large".into();
        worker.machine.image = Some(ShootMachineImage {
            name: "gardenlinux".into(),
            version: Some("1592.1.0".into()),
            ..Default::default()
        });
        worker.volume = Some(Volume { size: "50Gi".into(), r#type: Some("gp3".into()), ..Volume::default() });
        worker.cri = Some(CRI { name: "containerd".into(), ..CRI::default() });
        let mut shoot = Shoot::default();
        shoot.spec.kubernetes.version = "1.31.4".into();
        shoot.spec.provider.workers = vec![worker];
        shoot
    }

    #[track_caller]
    fn check(version: HashVersion, change: fn(&mut Shoot, &mut Worker), effect: &str, triggers: &[&str]) {
        check_pool(version, None, change, effect, triggers);
    }

    #[track_caller]
    fn check_pool(
        version: HashVersion,
        strategy: Option<&str>,
        change: fn(&mut Shoot, &mut Worker),
        effect: &str,
        triggers: &[&str],
    ) {
        let mut old = shoot();
        old.spec.provider.workers[0].update_strategy = strategy.map(str::to_owned);
        let mut new = old.clone();
        let mut worker = new.spec.provider.workers.remove(0);
        change(&mut new, &mut worker);
        new.spec.provider.workers.push(worker);
        let found = effects(&old, &new, &PoolForms::all(version, DOCUMENTED)).remove("w").expect("the pool is in both");
        assert_eq!(
            (found.effect.as_str(), found.triggers),
            (effect, triggers.iter().map(ToString::to_string).collect())
        );
    }

    /// Rows of the table "what rolls, what does not".
    #[test]
    fn fields_have_the_documented_effect() {
        use HashVersion::{V1, V2};
        let image = "spec.provider.workers[0].machine.image.version";
        for version in [V1, V2] {
            check(
                version,
                |shoot, _| shoot.spec.kubernetes.version = "1.32.0".into(),
                "rolling",
                &["spec.kubernetes.version"],
            );
            check(
                version,
                |shoot, _| shoot.spec.kubernetes.version = "1.31.5".into(),
                "kubeletRestart",
                &["spec.kubernetes.version"],
            );
            check(version, set_image, "rolling", &[image]);
            check(
                version,
                |_, worker| worker.machine.r#type = "m5.xlarge".into(),
                "rolling",
                &["spec.provider.workers[0].machine.type"],
            );
            check(
                version,
                |_, worker| worker.volume = None,
                "rolling",
                &["spec.provider.workers[0].volume.size", "spec.provider.workers[0].volume.type"],
            );
            check(version, node_local_dns, "rolling", &["spec.systemComponents.nodeLocalDNS.enabled"]);
            check(version, |_, worker| worker.maximum = 9, "none", &[]);
            check(version, |_, worker| drop(worker.labels.insert("a".into(), "b".into())), "none", &[]);
        }
        check(V1, eviction, "none", &[]);
        check(V2, eviction, "rolling", &["spec.provider.workers[0].kubernetes.kubelet.evictionHard"]);
        check(V1, other_provider_config, "rolling", &["spec.provider.workers[0].providerConfig"]);
        check(V2, other_provider_config, "none", &[]);
        check(V2, rolling_update_trigger, "rolling", &["spec.provider.workers[0].providerConfig.rollingUpdateTrigger"]);
        check_pool(V1, Some("AutoInPlaceUpdate"), set_image, "autoInPlace", &[image]);
        check_pool(V1, Some("ManualInPlaceUpdate"), set_image, "manualInPlace", &[image]);
        check_pool(V1, Some("ManualInPlaceUpdate"), other_provider_config, "none", &[]);
    }

    /// The gate was switched on, and no change has moved the pool yet.
    #[test]
    fn a_pool_in_an_older_form_rolls_for_both_forms() {
        let forms = Forms { current: HashVersion::V1, latest: HashVersion::V2 };
        let forms = PoolForms {
            pools: BTreeMap::from([("w".to_owned(), forms)]),
            others: HashVersion::V2.into(),
            release: DOCUMENTED,
        };
        let effect_of = |change: fn(&mut Shoot, &mut Worker)| {
            let old = shoot();
            let mut new = old.clone();
            let mut worker = new.spec.provider.workers.remove(0);
            change(&mut new, &mut worker);
            new.spec.provider.workers.push(worker);
            effects(&old, &new, &forms).remove("w").expect("the pool is in both").effect
        };
        assert_eq!(effect_of(other_provider_config), Effect::Rolling, "the first form takes all of it");
        assert_eq!(effect_of(eviction), Effect::Rolling, "the second form takes the kubelet's settings");
        assert_eq!(effect_of(|_, worker| worker.maximum = 9), Effect::None);
    }

    /// Release, Kubernetes version, mode of kube-proxy before and after, node-local DNS before and after, and the triggers.
    #[test]
    fn node_local_dns_rolls_by_release_and_kubernetes_version() {
        const DNS: &str = "spec.systemComponents.nodeLocalDNS.enabled";
        const MODE: &str = "spec.kubernetes.kubeProxy.mode";
        const VERSION: &str = "spec.kubernetes.version";
        for (minor, versions, modes, dns, triggers) in [
            (120, ("1.34.3", "1.34.3"), ("IPTables", "IPTables"), (false, true), &[DNS] as &[&str]),
            (149, ("1.34.3", "1.34.3"), ("IPTables", "IPTables"), (false, true), &[]),
            (149, ("1.33.3", "1.33.3"), ("IPTables", "IPTables"), (false, true), &[DNS]),
            (149, ("1.34.3", "1.34.3"), ("IPVS", "IPVS"), (true, false), &[DNS]),
            (149, ("1.34.3", "1.34.3"), ("IPTables", "IPVS"), (true, true), &[MODE]),
            (149, ("1.33.3", "1.33.3"), ("IPTables", "IPVS"), (true, true), &[]),
            (149, ("1.33.3", "1.34.3"), ("IPTables", "IPTables"), (true, true), &[VERSION]),
        ] {
            let state = |version: &str, mode: &str, is_on: bool| {
                let mut shoot = shoot();
                version.clone_into(&mut shoot.spec.kubernetes.version);
                shoot.spec.kubernetes.kube_proxy =
                    Some(api::core::KubeProxyConfig { mode: Some(mode.to_owned()), ..Default::default() });
                if is_on {
                    node_local_dns(&mut shoot, &mut Worker::default());
                }
                shoot
            };
            let (old, new) = (state(versions.0, modes.0, dns.0), state(versions.1, modes.1, dns.1));
            for version in [HashVersion::V1, HashVersion::V2] {
                let found = effects(&old, &new, &PoolForms::all(version, Release(minor))).remove("w").expect("a pool");
                assert_eq!(found.triggers, triggers, "{minor} {versions:?} {modes:?} {dns:?}");
                assert_eq!(found.effect == Effect::Rolling, !triggers.is_empty());
            }
        }
    }

    #[test]
    fn named_pools_roll_without_a_changed_field() {
        let old = shoot();
        let mut new = old.clone();
        let now = apimachinery::meta::Time("2025-11-14T10:00:00Z".parse().expect("RFC 3339"));
        manual_rollout::begin(&mut new.status, &old.spec, "rollout-workers=w", now);
        let effect =
            effects(&old, &new, &PoolForms::all(HashVersion::V2, NEWEST)).remove("w").expect("the pool is in both");
        assert_eq!(effect.effect, Effect::Rolling);
        assert_eq!(effect.triggers, ["status.manualWorkerPoolRollout.pendingWorkersRollouts"]);
        let pending = new.clone();
        assert_eq!(
            effects(&pending, &new, &PoolForms::all(HashVersion::V2, NEWEST))["w"],
            PoolEffect::default(),
            "it has begun already"
        );
    }

    #[test]
    fn zones_move_nodes_or_replace_them_all() {
        use HashVersion::{V1, V2};
        const ZONES: &str = "spec.provider.workers[0].zones";
        let first = |_: &mut Shoot, worker: &mut Worker| worker.zones = vec!["a".into()];
        check(V1, first, "rolling", &[ZONES]);
        check(V2, first, "rolling", &[ZONES]);
        check_pool(V1, Some("AutoInPlaceUpdate"), first, "rolling", &[ZONES]);
        let mut old = shoot();
        old.spec.provider.workers[0].zones = vec!["a".into(), "b".into()];
        let effect_of = |zones: &[&str]| {
            let mut new = old.clone();
            new.spec.provider.workers[0].zones = zones.iter().map(ToString::to_string).collect();
            effects(&old, &new, &PoolForms::all(V1, DOCUMENTED)).remove("w").expect("the pool is in both")
        };
        assert_eq!((effect_of(&["a"]).effect, effect_of(&["b", "a"]).effect), (Effect::Moving, Effect::None));
        assert_eq!(effect_of(&["a"]).triggers, [ZONES]);
    }

    #[test]
    fn two_fields_cause_one_roll_out_and_are_both_named() {
        let change = |shoot: &mut Shoot, worker: &mut Worker| {
            shoot.spec.kubernetes.version = "1.32.0".into();
            set_image(shoot, worker);
        };
        check(
            HashVersion::V1,
            change,
            "rolling",
            &["spec.kubernetes.version", "spec.provider.workers[0].machine.image.version"],
        );
    }

    fn set_image(_: &mut Shoot, worker: &mut Worker) {
        worker.machine.image.as_mut().expect("the pool has an image").version = Some("1592.2.0".into());
    }

    fn node_local_dns(shoot: &mut Shoot, _: &mut Worker) {
        let node_local_dns = Some(api::core::NodeLocalDNS { enabled: true, ..Default::default() });
        shoot.spec.system_components = Some(SystemComponents { node_local_dns, ..SystemComponents::default() });
    }

    fn eviction(_: &mut Shoot, worker: &mut Worker) {
        let eviction_hard =
            Some(KubeletConfigEviction { memory_available: Some("500Mi".into()), ..KubeletConfigEviction::default() });
        let kubelet = Some(KubeletConfig { eviction_hard, ..KubeletConfig::default() });
        worker.kubernetes = Some(WorkerKubernetes { kubelet, version: None });
    }

    fn other_provider_config(_: &mut Shoot, worker: &mut Worker) {
        worker.provider_config = Some(serde_json::json!({"a": 1}).into());
    }

    fn rolling_update_trigger(_: &mut Shoot, worker: &mut Worker) {
        let config = serde_json::json!({"rollingUpdateTrigger": "2"});
        worker.provider_config = Some(config.into());
    }
}
