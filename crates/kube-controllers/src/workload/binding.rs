// SPDX-License-Identifier: Apache-2.0
//! Selection and provisioning of a claim's volume, and the state of volumes whose claim was deleted.
//!
//! ```text
//! claim Pending ─┬─ no class, nothing fits           waits: FailedBinding
//!                ├─ class unknown                    waits: ProvisioningFailed
//!                ├─ WaitForFirstConsumer, no node    waits: WaitForFirstConsumer; the scheduler names a node
//!                └─ a volume fits, or one is made    Bound ─ volume gone ─► Lost
//! volume  Available ─► Bound ─ claim gone ─► Released ─ policy Delete ─► gone
//! ```
//!
//! Provisioned volumes can be reached from all nodes of a zone, as cloud disks can.
//!
//! Source: k8s.io/kubernetes pkg/controller/volume/persistentvolume/{pv_controller,index}.go,
//! sigs.k8s.io/sig-storage-lib-external-provisioner controller/controller.go.

use std::sync::Arc;

use api::constants::{annotation, label};
use api::kubernetes::core::{Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectReference};
use api::kubernetes::storage::{
    CSIPersistentVolumeSource, PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec, StorageClass,
    VolumeNodeAffinity,
};
use apimachinery::Resource;
use apimachinery::fnv::fnv32;
use apimachinery::meta::{ObjectMeta, Quantity};
use apimachinery::selector::Labels;

use super::placement::volumes::{NO_PROVISIONER, is_bound, is_reachable, waits_for_consumer};

/// Event about a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) is_warning: bool,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

/// Next step for a claim.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// The claim needs no further change.
    Settled,
    /// The claim gets the default class, whose name this is.
    Assign(String),
    /// The claim is bound to an existing volume.
    Bind(Arc<PersistentVolume>),
    /// A volume of the class is provisioned for the claim.
    Provision(Arc<StorageClass>),
    /// The node that was chosen for the claim's pod was deleted: another one has to be chosen.
    ChooseAgain,
    /// The claim's volume was deleted.
    Lose,
    /// The claim waits.
    Wait(Option<Notice>),
}

/// Inputs of the decision about a claim.
#[derive(Debug)]
pub(crate) struct View<'a> {
    /// Class of the claim, if the claim names one that exists.
    pub(crate) class: Option<Arc<StorageClass>>,
    /// Class of claims that name none.
    pub(crate) default_class: Option<&'a str>,
    /// Volume that the claim names.
    pub(crate) volume: Option<Arc<PersistentVolume>>,
    /// Volumes that have no claim, or are reserved for this one.
    pub(crate) free: &'a [Arc<PersistentVolume>],
    /// The node that was chosen for the claim's pod; `None` if it was deleted.
    pub(crate) node: Option<&'a Node>,
    /// True if the cluster has nodes.
    pub(crate) has_nodes: bool,
}

fn warning(reason: &'static str, message: String) -> Step {
    Step::Wait(Some(Notice { is_warning: true, reason, message }))
}

fn notice(reason: &'static str, message: &str) -> Step {
    Step::Wait(Some(Notice { is_warning: false, reason, message: message.to_owned() }))
}

/// Returns the next step for a claim that is not being deleted.
pub(crate) fn step(claim: &PersistentVolumeClaim, view: &View<'_>) -> Step {
    let name = &claim.spec.volume_name;
    if !name.is_empty() {
        return match &view.volume {
            Some(volume) if is_kept_for(volume, claim) || volume.spec.claim_ref.is_none() => {
                let is_told = claim.status.phase == "Bound" && is_bound(claim) && is_taken_by(volume, claim);
                if is_told { Step::Settled } else { Step::Bind(volume.clone()) }
            }
            _ if is_bound(claim) => {
                if claim.status.phase == "Lost" {
                    Step::Settled
                } else {
                    Step::Lose
                }
            }
            Some(_) => warning("FailedBinding", format!("volume \"{name}\" already bound to a different claim.")),
            None => Step::Wait(None),
        };
    }
    let class_name = claim.spec.storage_class_name.as_deref();
    if let (None, Some(class)) = (class_name, view.default_class) {
        return Step::Assign(class.to_owned());
    }
    let selected = claim.metadata.annotation(annotation::SELECTED_NODE);
    let waits = view.class.as_ref().is_some_and(|class| waits_for_consumer(class));
    // A volume that is reserved for the claim is bound regardless of the nodes that can reach it.
    if let Some(kept) = view.free.iter().find(|volume| is_kept_for(volume, claim) && fits(volume, claim)) {
        return Step::Bind(kept.clone());
    }
    if waits && selected.is_none() {
        return notice("WaitForFirstConsumer", "waiting for first consumer to be created before binding");
    }
    if waits && view.node.is_none() && view.has_nodes {
        return Step::ChooseAgain;
    }
    let is_near = |volume: &&Arc<PersistentVolume>| view.node.is_none_or(|node| is_reachable(volume, node));
    let candidates = view.free.iter().filter(|volume| volume.spec.claim_ref.is_none() && fits(volume, claim));
    let smallest = candidates
        .filter(is_near)
        .min_by(|a, b| (size(&a.spec), &a.metadata.name).cmp(&(size(&b.spec), &b.metadata.name)));
    if let Some(smallest) = smallest {
        return Step::Bind(smallest.clone());
    }
    match (class_name.unwrap_or_default(), &view.class) {
        ("", _) => {
            let text = "no persistent volumes available for this claim and no storage class is set";
            notice("FailedBinding", text)
        }
        (name, None) => warning("ProvisioningFailed", format!("storageclass.storage.k8s.io \"{name}\" not found")),
        (_, Some(class)) if class.provisioner == NO_PROVISIONER => {
            warning("ProvisioningFailed", format!("no volume plugin matched name: {NO_PROVISIONER}"))
        }
        (_, Some(_)) if claim.spec.selector.is_some() => {
            warning("ProvisioningFailed", "claim Selector is not supported".to_owned())
        }
        (_, Some(class)) => Step::Provision(class.clone()),
    }
}

fn size(spec: &PersistentVolumeSpec) -> Option<&Quantity> {
    spec.capacity.get("storage")
}

/// True if a volume is bound to a claim.
pub(crate) fn is_taken_by(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    volume.spec.claim_ref.as_ref().is_some_and(|it| !it.uid.is_empty() && it.uid == claim.metadata.uid)
}

/// True if a volume is bound to a claim, or reserved for one of its name.
fn is_kept_for(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    volume.spec.claim_ref.as_ref().is_some_and(|it| {
        let is_name = it.namespace == claim.metadata.namespace && it.name == claim.metadata.name;
        is_name && (it.uid.is_empty() || it.uid == claim.metadata.uid)
    })
}

/// True if a volume meets a claim's requirements.
pub(crate) fn fits(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let (have, want) = (&volume.spec, &claim.spec);
    let mode = |mode: &Option<String>| mode.clone().unwrap_or_else(|| "Filesystem".to_owned());
    let selector = want.selector.as_ref().map(Labels::from_selector);
    !volume.metadata.is_being_deleted()
        && matches!(volume.status.phase.as_str(), "Available" | "Pending" | "" | "Bound")
        && have.storage_class_name == want.storage_class_name.as_deref().unwrap_or_default()
        && mode(&have.volume_mode) == mode(&want.volume_mode)
        && want.access_modes.iter().all(|mode| have.access_modes.contains(mode))
        && want.resources.requests.get("storage").is_none_or(|asked| size(have).is_some_and(|size| size >= asked))
        && selector.is_none_or(|it| it.is_ok_and(|selector| selector.matches(&volume.metadata.labels)))
}

/// Returns the zone of a volume for which no node was chosen: claims of different names are spread.
pub(crate) fn zone_for<'a>(claim: &str, zones: &[&'a str]) -> Option<&'a str> {
    let count = u32::try_from(zones.len()).ok().filter(|count| *count > 0)?;
    zones.get(usize::try_from(fnv32(claim.bytes()) % count).unwrap_or(0)).copied()
}

/// Returns the volume that is provisioned for a claim.
pub(crate) fn provisioned(claim: &PersistentVolumeClaim, class: &StorageClass, zone: Option<&str>) -> PersistentVolume {
    let name = format!("pvc-{}", claim.metadata.uid);
    let mut metadata = ObjectMeta::named("", &name);
    metadata.annotations.insert(annotation::PROVISIONED_BY.to_owned(), class.provisioner.clone());
    let of_zone = |zone: &str| {
        let requirement = NodeSelectorRequirement {
            key: label::TOPOLOGY_ZONE.to_owned(),
            operator: "In".to_owned(),
            values: vec![zone.to_owned()],
        };
        let term = NodeSelectorTerm { match_expressions: vec![requirement], ..NodeSelectorTerm::default() };
        VolumeNodeAffinity { required: Some(NodeSelector { node_selector_terms: vec![term] }) }
    };
    let asked = claim.spec.resources.requests.get_key_value("storage");
    let spec = PersistentVolumeSpec {
        capacity: asked.map(|(name, size)| (name.clone(), *size)).into_iter().collect(),
        csi: Some(CSIPersistentVolumeSource {
            driver: class.provisioner.clone(),
            volume_handle: name,
            fs_type: "ext4".to_owned(),
        }),
        access_modes: claim.spec.access_modes.clone(),
        claim_ref: Some(reference(claim)),
        persistent_volume_reclaim_policy: class.reclaim_policy.clone().unwrap_or_else(|| "Delete".to_owned()),
        storage_class_name: class.metadata.name.clone(),
        volume_mode: claim.spec.volume_mode.clone().or_else(|| Some("Filesystem".to_owned())),
        node_affinity: zone.map(of_zone),
    };
    PersistentVolume { metadata, spec, ..PersistentVolume::default() }
}

/// Returns a volume's reference to its claim.
pub(crate) fn reference(claim: &PersistentVolumeClaim) -> ObjectReference {
    let metadata = &claim.metadata;
    ObjectReference {
        kind: PersistentVolumeClaim::KIND.to_owned(),
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
        uid: metadata.uid.clone(),
        api_version: PersistentVolumeClaim::api_version(),
        resource_version: metadata.resource_version.clone(),
        ..ObjectReference::default()
    }
}

/// Returns the claim as bound to its volume. `provisioner`: name of the provisioner that made the volume.
pub(crate) fn bound(
    claim: &PersistentVolumeClaim,
    volume: &PersistentVolume,
    provisioner: Option<&str>,
) -> PersistentVolumeClaim {
    let mut new = claim.clone();
    let mut put = |key: &str, value: &str| {
        new.metadata.annotations.insert(key.to_owned(), value.to_owned());
    };
    put(annotation::BIND_COMPLETED, "yes");
    if claim.spec.volume_name.is_empty() {
        put(annotation::BOUND_BY_CONTROLLER, "yes");
    }
    if let Some(provisioner) = provisioner {
        put(annotation::BETA_STORAGE_PROVISIONER, provisioner);
        put(annotation::STORAGE_PROVISIONER, provisioner);
    }
    new.spec.volume_name.clone_from(&volume.metadata.name);
    "Bound".clone_into(&mut new.status.phase);
    new.status.access_modes.clone_from(&volume.spec.access_modes);
    new.status.capacity.clone_from(&volume.spec.capacity);
    new
}

/// Phase of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Available,
    Bound,
    Released,
}

impl Phase {
    /// Returns the phase of a volume. `claim`: the claim that it names, if that exists.
    pub(crate) fn of(volume: &PersistentVolume, claim: Option<&PersistentVolumeClaim>) -> Self {
        let Some(reference) = &volume.spec.claim_ref else { return Self::Available };
        match claim {
            _ if reference.uid.is_empty() => Self::Available,
            Some(claim) if claim.metadata.uid == reference.uid => Self::Bound,
            _ => Self::Released,
        }
    }

    /// Returns the text of `status.phase`.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Available => "Available",
            Self::Bound => "Bound",
            Self::Released => "Released",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn typed<K: Resource>(name: &str, value: Value) -> K {
        let mut object: K = apimachinery::wire::from_tree(value).expect("an object");
        name.clone_into(&mut object.metadata_mut().name);
        object
    }

    fn claim(change: &[(&str, Value)]) -> PersistentVolumeClaim {
        let mut value = json!({
            "metadata": {"namespace": "n", "uid": "u", "annotations": {}},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}},
            "status": {"phase": "Pending"},
        });
        for (pointer, to) in change {
            let (parent, field) = pointer.rsplit_once('/').expect("a pointer");
            value.pointer_mut(parent).expect("it is there")[field.replace("~1", "/").as_str()] = to.clone();
        }
        typed("c", value)
    }

    fn volume(name: &str, size: &str, claim_ref: Value) -> Arc<PersistentVolume> {
        let spec = json!({
            "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "claimRef": claim_ref,
        });
        Arc::new(typed(name, json!({"spec": spec, "status": {"phase": "Available"}})))
    }

    fn class(name: &str, provisioner: &str, mode: &str) -> Arc<StorageClass> {
        Arc::new(typed(name, json!({"provisioner": provisioner, "volumeBindingMode": mode})))
    }

    fn view(free: &[Arc<PersistentVolume>]) -> View<'_> {
        View { class: None, default_class: None, volume: None, free, node: None, has_nodes: true }
    }

    fn told(step: &Step) -> String {
        match step {
            Step::Wait(Some(notice)) => format!("{}: {}", notice.reason, notice.message),
            Step::Wait(None) => "waits".to_owned(),
            Step::Bind(volume) => format!("bind {}", volume.metadata.name),
            Step::Provision(class) => format!("provision {}", class.metadata.name),
            Step::Assign(class) => format!("assign {class}"),
            other => format!("{other:?}"),
        }
    }

    #[track_caller]
    fn check(change: &[(&str, Value)], view: &View<'_>, expected: &str) {
        assert_eq!(told(&step(&claim(change), view)), expected);
    }

    /// Source: kubernetes.io, Persistent Volumes, binding.
    #[test]
    fn an_unclassed_claim_gets_the_smallest_fitting_volume() {
        let none = "FailedBinding: no persistent volumes available for this claim and no storage class is set";
        check(&[], &view(&[]), none);
        check(&[], &View { default_class: Some("d"), ..view(&[]) }, "assign d");
        let empty: &[(&str, Value)] = &[("/spec/storageClassName", json!(""))];
        check(empty, &View { default_class: Some("d"), ..view(&[]) }, none);
        let other = json!({"namespace": "n", "name": "other"});
        let all = [
            volume("big", "9Gi", Value::Null),
            volume("fits", "2Gi", Value::Null),
            volume("small", "1Gi", Value::Null),
            volume("taken", "2Gi", other),
        ];
        check(empty, &view(&all), "bind fits");
        check(&[("/spec/resources", json!({"requests": {"storage": "3Gi"}}))], &view(&all), "bind big");
        check(&[("/spec/accessModes", json!(["ReadWriteMany"]))], &view(&all), none);
        check(&[("/spec/volumeMode", json!("Block"))], &view(&all), none);
        check(&[("/spec/selector", json!({"matchLabels": {"a": "b"}}))], &view(&all), none);
        let kept = volume("kept", "5Gi", json!({"namespace": "n", "name": "c"}));
        check(empty, &view(&[all[1].clone(), kept]), "bind kept");
    }

    #[test]
    fn the_class_determines_when_a_volume_is_provisioned() {
        let named: &[(&str, Value)] = &[("/spec/storageClassName", json!("x"))];
        check(named, &view(&[]), "ProvisioningFailed: storageclass.storage.k8s.io \"x\" not found");
        let of = |provisioner: &str, mode: &str| View { class: Some(class("x", provisioner, mode)), ..view(&[]) };
        check(named, &of("p", "Immediate"), "provision x");
        check(
            named,
            &of("kubernetes.io/no-provisioner", "Immediate"),
            "ProvisioningFailed: no volume plugin matched name: kubernetes.io/no-provisioner",
        );
        let waits = "WaitForFirstConsumer: waiting for first consumer to be created before binding";
        check(named, &of("p", "WaitForFirstConsumer"), waits);
        let chosen = &[named[0].clone(), ("/metadata/annotations/volume.kubernetes.io~1selected-node", json!("m"))];
        check(chosen, &of("p", "WaitForFirstConsumer"), "ChooseAgain");
        let node = Node { metadata: ObjectMeta::named("", "m"), ..Node::default() };
        check(chosen, &View { node: Some(&node), ..of("p", "WaitForFirstConsumer") }, "provision x");
        check(chosen, &View { has_nodes: false, ..of("p", "WaitForFirstConsumer") }, "provision x");
    }

    #[test]
    fn a_claim_that_names_its_volume_gets_that_or_waits() {
        let named: &[(&str, Value)] = &[("/spec/volumeName", json!("v"))];
        let of = |claim_ref: Value| View { volume: Some(volume("v", "1Gi", claim_ref)), ..view(&[]) };
        check(named, &view(&[]), "waits");
        check(named, &of(Value::Null), "bind v");
        check(named, &of(json!({"namespace": "n", "name": "c"})), "bind v");
        let other = of(json!({"namespace": "n", "name": "other"}));
        check(named, &other, "FailedBinding: volume \"v\" already bound to a different claim.");
        let done = &[
            named[0].clone(),
            ("/metadata/annotations/pv.kubernetes.io~1bind-completed", json!("yes")),
            ("/status/phase", json!("Bound")),
        ];
        check(done, &of(json!({"namespace": "n", "name": "c", "uid": "u"})), "Settled");
        check(done, &view(&[]), "Lose");
        check(done, &of(json!({"namespace": "n", "name": "c", "uid": "another"})), "Lose");
    }

    #[test]
    fn a_provisioned_volume_meets_its_claim() {
        let claim = claim(&[("/spec/storageClassName", json!("x"))]);
        let volume = provisioned(&claim, &class("x", "p", "Immediate"), Some("a"));
        assert_eq!(volume.metadata.name, "pvc-u");
        assert_eq!(volume.spec.persistent_volume_reclaim_policy, "Delete");
        assert!(fits(&volume, &claim) && is_taken_by(&volume, &claim));
        let mut node = Node::default();
        assert!(!is_reachable(&volume, &node));
        node.metadata.labels.insert("topology.kubernetes.io/zone".into(), "a".into());
        assert!(is_reachable(&volume, &node));
        assert!(is_reachable(&provisioned(&claim, &class("x", "p", "Immediate"), None), &Node::default()));
        let bound = bound(&claim, &volume, Some("p"));
        assert!(is_bound(&bound));
        assert_eq!((bound.status.phase.as_str(), bound.spec.volume_name.as_str()), ("Bound", "pvc-u"));
        assert_eq!(bound.status.capacity["storage"].to_string(), "2Gi");
        let volume = Arc::new(volume);
        assert_eq!(told(&step(&claim, &view(std::slice::from_ref(&volume)))), "bind pvc-u", "when it is there");
        assert_eq!(step(&bound, &View { volume: Some(volume), ..view(&[]) }), Step::Settled);
    }

    #[test]
    fn a_volume_is_released_after_its_claim_was_deleted() {
        let claim = claim(&[]);
        let phase = |claim_ref: Value, claim: Option<&PersistentVolumeClaim>| {
            Phase::of(&volume("v", "1Gi", claim_ref), claim).text()
        };
        assert_eq!(phase(Value::Null, None), "Available");
        assert_eq!(phase(json!({"name": "c"}), Some(&claim)), "Available");
        assert_eq!(phase(json!({"name": "c", "uid": "u"}), Some(&claim)), "Bound");
        assert_eq!(phase(json!({"name": "c", "uid": "u"}), None), "Released");
        assert_eq!(phase(json!({"name": "c", "uid": "another"}), Some(&claim)), "Released");
    }

    #[test]
    fn claims_are_spread_over_zones() {
        assert_eq!(zone_for("data-db-0", &[]), None);
        let found: std::collections::BTreeSet<&str> =
            (0..9).filter_map(|number| zone_for(&format!("data-db-{number}"), &["a", "b", "c"])).collect();
        assert_eq!(found.len(), 3);
        assert_eq!(zone_for("x", &["a"]), Some("a"));
    }
}
