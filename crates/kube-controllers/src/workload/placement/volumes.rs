// SPDX-License-Identifier: Apache-2.0
//! Effects of a pod's claims on its placement.
//!
//! Source: k8s.io/kubernetes pkg/scheduler/framework/plugins/volumebinding.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::constants::annotation;
use api::kubernetes::core::{Node, PodSpec};
use api::kubernetes::storage::{PersistentVolume, PersistentVolumeClaim, StorageClass, TopologySelectorTerm};

use super::node_affinity;

/// Provisioner of classes whose volumes users create.
pub(crate) const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// Reason why a node does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// A volume cannot be reached from the node.
    Conflict,
    /// A claim has no volume, and none can be provisioned.
    NoVolume,
    /// A volume was deleted.
    Gone,
}

impl Obstacle {
    /// Returns the reason in the scheduler's words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Conflict => "node(s) had volume node affinity conflict",
            Self::NoVolume => "node(s) didn't find available persistent volumes to bind",
            Self::Gone => "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
        }
    }
}

/// Lookup of claims, volumes and classes.
pub(crate) trait Shelf {
    /// Returns a claim of the pod's namespace.
    fn claim(&self, name: &str) -> Option<Arc<PersistentVolumeClaim>>;
    /// Returns a volume.
    fn volume(&self, name: &str) -> Option<Arc<PersistentVolume>>;
    /// Returns a class.
    fn class(&self, name: &str) -> Option<Arc<StorageClass>>;
    /// Returns the volumes that may be bound to a claim.
    fn available(&self, claim: &PersistentVolumeClaim) -> Vec<Arc<PersistentVolume>>;
}

/// A claim that is bound once its pod has a node.
#[derive(Clone, Debug)]
struct Waiting {
    claim: Arc<PersistentVolumeClaim>,
    /// Volumes that match the claim.
    available: Vec<Arc<PersistentVolume>>,
    /// Topologies for which a volume can be provisioned; empty: all. `None`: no volume can be.
    topologies: Option<Vec<TopologySelectorTerm>>,
}

/// The claims of a pod.
#[derive(Clone, Debug, Default)]
pub(crate) struct Volumes {
    bound: Vec<Arc<PersistentVolume>>,
    waiting: Vec<Waiting>,
    is_gone: bool,
}

/// Names of the claims of a pod.
pub(crate) fn claims(spec: &PodSpec) -> impl Iterator<Item = &str> {
    let sources = spec.volumes.iter().filter_map(|volume| volume.persistent_volume_claim.as_ref());
    sources.map(|source| source.claim_name.as_str())
}

/// True if a claim has its volume.
pub(crate) fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    !claim.spec.volume_name.is_empty() && claim.metadata.annotations.contains_key(annotation::BIND_COMPLETED)
}

/// True if claims of a class wait for a pod.
pub(crate) fn waits_for_consumer(class: &StorageClass) -> bool {
    class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer")
}

/// True if a volume can be reached from a node.
pub(crate) fn is_reachable(volume: &PersistentVolume, node: &Node) -> bool {
    let required = volume.spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    required.is_none_or(|selector| node_affinity::selects(selector, node))
}

fn is_allowed(topologies: &[TopologySelectorTerm], node: &Node) -> bool {
    let fulfils = |term: &TopologySelectorTerm| {
        let mut all = term.match_label_expressions.iter();
        all.all(|it| node.metadata.label(&it.key).is_some_and(|value| it.values.iter().any(|known| known == value)))
    };
    topologies.is_empty() || topologies.iter().any(fulfils)
}

impl Volumes {
    /// Looks up the claims of a pod.
    ///
    /// # Errors
    /// The scheduler's message if no node can fit.
    pub(crate) fn of(spec: &PodSpec, shelf: &impl Shelf) -> Result<Self, String> {
        let mut volumes = Self::default();
        let mut has_unbound = false;
        for name in claims(spec).collect::<BTreeSet<&str>>() {
            let claim = shelf.claim(name).ok_or_else(|| format!("persistentvolumeclaim \"{name}\" not found"))?;
            if claim.metadata.is_being_deleted() {
                return Err(format!("persistentvolumeclaim \"{name}\" is being deleted"));
            }
            if claim.status.phase == "Lost" {
                let volume = &claim.spec.volume_name;
                return Err(format!(
                    "persistentvolumeclaim \"{name}\" bound to non-existent persistentvolume \"{volume}\""
                ));
            }
            if is_bound(&claim) {
                match shelf.volume(&claim.spec.volume_name) {
                    Some(volume) => volumes.bound.push(volume),
                    None => volumes.is_gone = true,
                }
                continue;
            }
            let class = claim.spec.storage_class_name.as_deref().filter(|name| !name.is_empty());
            let class = class.and_then(|name| shelf.class(name)).filter(|class| waits_for_consumer(class));
            match class {
                // A claim that names its volume is bound at once.
                Some(class) if claim.spec.volume_name.is_empty() => {
                    let can_be_made = class.provisioner != NO_PROVISIONER && claim.spec.selector.is_none();
                    let topologies = can_be_made.then(|| class.allowed_topologies.clone());
                    let available = shelf.available(&claim);
                    volumes.waiting.push(Waiting { claim, available, topologies });
                }
                _ => has_unbound = true,
            }
        }
        if has_unbound {
            return Err("pod has unbound immediate PersistentVolumeClaims".to_owned());
        }
        Ok(volumes)
    }

    /// Returns why a node does not fit the pod.
    pub(crate) fn obstacle(&self, node: &Node) -> Option<Obstacle> {
        if self.is_gone {
            return Some(Obstacle::Gone);
        }
        if self.bound.iter().any(|volume| !is_reachable(volume, node)) {
            return Some(Obstacle::Conflict);
        }
        let finds = |waiting: &Waiting| {
            let can_be_made = waiting.topologies.as_ref().is_some_and(|topologies| is_allowed(topologies, node));
            can_be_made || waiting.available.iter().any(|volume| is_reachable(volume, node))
        };
        (!self.waiting.iter().all(finds)).then_some(Obstacle::NoVolume)
    }

    /// Returns the claims that are bound once the pod has a node.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Arc<PersistentVolumeClaim>> {
        self.waiting.iter().map(|waiting| &waiting.claim)
    }
}

#[cfg(test)]
mod tests {
    use apimachinery::Resource;
    use apimachinery::meta::ObjectMeta;
    use serde_json::{Value, json};

    use super::*;

    /// Claims, volumes and classes of a test.
    #[derive(Default)]
    struct Table {
        claims: Vec<Arc<PersistentVolumeClaim>>,
        volumes: Vec<Arc<PersistentVolume>>,
        classes: Vec<Arc<StorageClass>>,
    }

    fn find<K: Resource>(all: &[Arc<K>], name: &str) -> Option<Arc<K>> {
        all.iter().find(|object| object.metadata().name == name).cloned()
    }

    impl Shelf for Table {
        fn claim(&self, name: &str) -> Option<Arc<PersistentVolumeClaim>> {
            find(&self.claims, name)
        }

        fn volume(&self, name: &str) -> Option<Arc<PersistentVolume>> {
            find(&self.volumes, name)
        }

        fn class(&self, name: &str) -> Option<Arc<StorageClass>> {
            find(&self.classes, name)
        }

        fn available(&self, claim: &PersistentVolumeClaim) -> Vec<Arc<PersistentVolume>> {
            let class = claim.spec.storage_class_name.clone().unwrap_or_default();
            let free = self.volumes.iter().filter(|volume| volume.spec.claim_ref.is_none());
            free.filter(|volume| volume.spec.storage_class_name == class).cloned().collect()
        }
    }

    fn typed<K: Resource>(name: &str, value: Value) -> Arc<K> {
        let mut object: K = apimachinery::wire::from_tree(value).expect("an object");
        name.clone_into(&mut object.metadata_mut().name);
        Arc::new(object)
    }

    /// Returns a volume of a zone; an empty zone: none.
    fn volume(name: &str, zone: &str, class: &str) -> Arc<PersistentVolume> {
        let expression = json!({"key": "zone", "operator": "In", "values": [zone]});
        let required = json!({"nodeSelectorTerms": [{"matchExpressions": [expression]}]});
        let affinity = if zone.is_empty() { Value::Null } else { json!({ "required": required }) };
        typed(name, json!({"spec": {"nodeAffinity": affinity, "storageClassName": class}}))
    }

    /// Returns a claim of a class, with its volume if that is not empty.
    fn claim(name: &str, class: Value, volume: &str) -> Arc<PersistentVolumeClaim> {
        let is_bound = !volume.is_empty();
        let annotations = if is_bound { json!({"pv.kubernetes.io/bind-completed": "yes"}) } else { json!({}) };
        typed(
            name,
            json!({"metadata": {"annotations": annotations}, "spec": {"storageClassName": class, "volumeName": volume}}),
        )
    }

    fn table() -> Table {
        let class = |name: &str, provisioner: &str, mode: &str, zones: Value| {
            let topology = json!([{"matchLabelExpressions": [{"key": "zone", "values": zones}]}]);
            let topologies = if zones.is_null() { Value::Null } else { topology };
            typed(name, json!({"provisioner": provisioner, "volumeBindingMode": mode, "allowedTopologies": topologies}))
        };
        let deleted = json!({"metadata": {"deletionTimestamp": "2023-07-27T20:00:00Z"}});
        let lost = json!({"spec": {"volumeName": "gone"}, "status": {"phase": "Lost"}});
        Table {
            claims: vec![
                claim("anywhere", json!("late"), "everywhere"),
                claim("in-a", json!("late"), "of-a"),
                claim("in-b", json!("late"), "of-b"),
                claim("gone", json!("late"), "nothing"),
                claim("new", json!("late"), ""),
                claim("at-once", json!("early"), ""),
                claim("no-class", json!(null), ""),
                claim("unknown-class", json!("nonsense"), ""),
                claim("by-hand", json!("local"), ""),
                claim("confined", json!("b-only"), ""),
                typed("deleted", deleted),
                typed("lost", lost),
            ],
            volumes: vec![
                volume("everywhere", "", ""),
                volume("of-a", "a", ""),
                volume("of-b", "b", ""),
                volume("local-a", "a", "local"),
            ],
            classes: vec![
                class("late", "p", "WaitForFirstConsumer", Value::Null),
                class("early", "p", "Immediate", Value::Null),
                class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer", Value::Null),
                class("b-only", "p", "WaitForFirstConsumer", json!(["b"])),
            ],
        }
    }

    /// Claims of a pod, with the message about it, or about a node in zone `a` and one in zone `b`.
    const PODS: &str = "
=> fits | fits
anywhere => fits | fits
in-a => fits | node(s) had volume node affinity conflict
in-b => node(s) had volume node affinity conflict | fits
in-a in-b => node(s) had volume node affinity conflict | node(s) had volume node affinity conflict
new => fits | fits
new in-a => fits | node(s) had volume node affinity conflict
by-hand => fits | node(s) didn't find available persistent volumes to bind
confined => node(s) didn't find available persistent volumes to bind | fits
gone => node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s) | node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)
missing => persistentvolumeclaim \"missing\" not found
deleted => persistentvolumeclaim \"deleted\" is being deleted
lost => persistentvolumeclaim \"lost\" bound to non-existent persistentvolume \"gone\"
at-once => pod has unbound immediate PersistentVolumeClaims
no-class => pod has unbound immediate PersistentVolumeClaims
unknown-class => pod has unbound immediate PersistentVolumeClaims
new at-once => pod has unbound immediate PersistentVolumeClaims
";

    #[test]
    fn a_pod_runs_on_nodes_that_reach_its_volumes() {
        let table = table();
        let node = |zone: &str| {
            let mut node = Node { metadata: ObjectMeta::named("", zone), ..Node::default() };
            node.metadata.labels.insert("zone".into(), zone.into());
            node
        };
        for row in PODS.lines().filter(|row| !row.is_empty()) {
            let (claims, expected) = row.split_once("=>").expect("a row has an arrow");
            let volumes: Vec<Value> = claims
                .split_whitespace()
                .map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}))
                .collect();
            let spec: PodSpec = apimachinery::wire::from_tree(json!({ "volumes": volumes })).expect("a specification");
            let found = match Volumes::of(&spec, &table) {
                Err(text) => text,
                Ok(volumes) => {
                    let told = |zone| volumes.obstacle(&node(zone)).map_or("fits", Obstacle::text);
                    format!("{} | {}", told("a"), told("b"))
                }
            };
            assert_eq!(found, expected.trim(), "row: {row}");
        }
    }

    #[test]
    fn claims_that_wait_for_a_pod_are_found() {
        let volumes = ["in-a", "new", "by-hand"].map(|name| json!({"persistentVolumeClaim": {"claimName": name}}));
        let spec: PodSpec = apimachinery::wire::from_tree(json!({ "volumes": volumes })).expect("a specification");
        let volumes = Volumes::of(&spec, &table()).expect("nothing is missing");
        let names: Vec<&str> = volumes.waiting().map(|claim| claim.metadata.name.as_str()).collect();
        assert_eq!(names, ["by-hand", "new"]);
    }
}
