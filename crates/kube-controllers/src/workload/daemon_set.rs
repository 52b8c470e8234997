// SPDX-License-Identifier: Apache-2.0
//! The DaemonSet controller: one pod on each node that the template's node selector and affinity select.
//!
//! There is no surge: an update deletes the old pod first.
//!
//! Source: k8s.io/kubernetes pkg/controller/daemon/{daemon_controller,update}.go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::constants::label;
use api::kubernetes::apps::DaemonSetStatus;
use api::kubernetes::core::{Node, Pod, PodSpec};
use apimachinery::meta::IntOrString;
use apimachinery::selector::Labels;
use chrono::{DateTime, TimeDelta, Utc};
use controller::{Controller, Error, ObjectKey, Requeue};
use serde_json::Value;

use super::objects::{DaemonSet, controller_uid};
use super::placement::node_affinity;
use super::pod_control::{Draft, Owner, count, mismatch, next_available};
use super::revisions::{self, Recorded};
use super::{Workload, claim, place, pods, template};

const CONCURRENCY: usize = 5;

impl Owner for DaemonSet {
    const SOURCE: &'static str = "daemonset-controller";

    fn selector(&self) -> Option<Labels> {
        claim::selector(self.spec.selector.as_ref())
    }

    fn template(&self) -> &Value {
        &self.spec.template
    }

    fn observed_generation(&self) -> i64 {
        self.status.observed_generation
    }
}

/// Runs the controller until the component stops.
pub(crate) async fn run(workload: Arc<Workload>) {
    let mut controller = Controller::new("daemonset", &workload.context);
    let known = workload.clone();
    controller.watch_store(&workload.daemon_sets, move |change| {
        if let (Some(old), None) = (&change.old, &change.new) {
            known.daemons.forget(&old.metadata.uid);
        }
        vec![change.key.clone()]
    });
    let known = workload.clone();
    controller.watch_store(&workload.pods, move |change| {
        for pod in [&change.old, &change.new].into_iter().flatten() {
            match controller_uid(&pod.metadata) {
                Some(uid) => known.daemons.mark(uid, &pod.spec.node_name),
                // The owner of an orphan is determined by a full pass.
                None => {
                    let keys = Workload::owners_of(&known.daemon_sets, change);
                    let sets = keys.iter().filter_map(|key| known.daemon_sets.get(key));
                    sets.for_each(|set| known.daemons.forget(&set.metadata.uid));
                }
            }
        }
        Workload::owners_of(&known.daemon_sets, change)
    });
    controller.watch_store(&workload.revisions, Workload::revised::<DaemonSet>);
    let known = workload.clone();
    controller.watch_store(&workload.nodes, move |change| {
        // The pass determines which sets select the node; a heartbeat affects none.
        if !change.differs(|node| (node.metadata.labels.clone(), node.metadata.is_being_deleted())) {
            return Vec::new();
        }
        let cluster = &change.key.cluster;
        let sets = known.daemon_sets.list_in_cluster(cluster);
        for set in &sets {
            known.daemons.mark(&set.metadata.uid, &change.key.name);
        }
        sets.iter().map(|set| ObjectKey::new(cluster, &set.metadata.namespace, &set.metadata.name)).collect()
    });
    controller
        .run(CONCURRENCY, move |key| {
            let workload = workload.clone();
            async move { workload.reconcile_daemon_set(&key).await }
        })
        .await;
}

/// State of one pod of a set.
#[derive(Clone, Copy, Debug)]
struct Fact<'a> {
    node: &'a str,
    is_updated: bool,
    is_available: bool,
}

/// Creations and deletions of one pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Plan {
    /// Nodes that get a pod.
    create: Vec<String>,
    /// Indices of the pods to delete.
    delete: Vec<usize>,
}

/// Keeps the first pod on each node; deletes the pods of an old template that are not available, and as many others as
/// may be missing. `max_unavailable`: `None` for strategy OnDelete.
fn plan(nodes: &[String], pods: &[Fact<'_>], max_unavailable: Option<usize>) -> Plan {
    let mut plan = Plan::default();
    let mut by_node: BTreeMap<&str, usize> = BTreeMap::new();
    let wanted: BTreeSet<&str> = nodes.iter().map(String::as_str).collect();
    for (position, pod) in pods.iter().enumerate() {
        if !wanted.contains(pod.node) || by_node.contains_key(pod.node) {
            plan.delete.push(position);
        } else {
            by_node.insert(pod.node, position);
        }
    }
    plan.create = nodes.iter().filter(|node| !by_node.contains_key(node.as_str())).cloned().collect();
    let Some(max_unavailable) = max_unavailable else { return plan };
    let available = by_node.values().filter(|position| pods[**position].is_available).count();
    let mut unavailable = nodes.len() - available;
    for position in by_node.into_values().filter(|position| !pods[*position].is_updated) {
        if !pods[position].is_available {
            plan.delete.push(position);
        } else if unavailable < max_unavailable {
            unavailable += 1;
            plan.delete.push(position);
        }
    }
    plan
}

impl Workload {
    /// Returns the names of a DaemonSet's eligible nodes.
    fn nodes_for(&self, cluster: &str, spec: &PodSpec) -> Vec<String> {
        let nodes = self.nodes.list_in_cluster(cluster);
        if nodes.is_empty() {
            return (self.options.node_of)(cluster).into_iter().collect();
        }
        let fits = nodes.iter().filter(|node| is_meant(node, spec));
        fits.map(|node| node.metadata.name.clone()).collect()
    }

    async fn reconcile_daemon_set(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(set) = self.daemon_sets.get(key) else { return Ok(Requeue::OnChange) };
        let now = self.context.clock.now();
        let Some(selector) = set.selector() else { return Ok(Requeue::OnChange) };
        if let Some((nodes, desired)) = self.changed_nodes(&set) {
            return self.reconcile_changed_nodes(key, &set, nodes, desired, now).await;
        }
        self.daemons.begin(&set.metadata.uid);
        let near = self.pods.list_in(&key.cluster, &key.namespace);
        let active = near.into_iter().filter(|pod| pods::is_active(pod)).collect();
        let mut pods = claim::claim(&self.api(), &*set, &selector, &self.api(), active).await?;
        pods.sort_by_key(|pod| pod.metadata.creation_timestamp.0);
        if set.metadata.is_being_deleted() {
            return Ok(Requeue::OnChange);
        }
        let spec: PodSpec = apimachinery::wire::from_tree(set.spec.template["spec"].clone()).unwrap_or_default();
        let nodes = self.nodes_for(&key.cluster, &spec);
        let hash = template::hash(&set.spec.template, set.status.collision_count);
        let known = match self.record_revision(key, &*set, &selector, &hash).await? {
            Recorded::Done(known) => known,
            Recorded::Unseen => return Ok(Requeue::OnChange),
            Recorded::Collision => {
                let mut changed = DaemonSet::clone(&set);
                changed.status.collision_count = Some(set.status.collision_count.unwrap_or(0).saturating_add(1));
                self.api::<DaemonSet>().update_status(&set, &changed).await?;
                return Ok(Requeue::OnChange);
            }
        };
        let min_ready = TimeDelta::seconds(i64::from(set.spec.min_ready_seconds));
        let is_updated = |pod: &Pod| pod.metadata.label(label::CONTROLLER_REVISION_HASH) == Some(&hash);
        let is_available = |pod: &Pod| pods::available_at(pod, min_ready).is_some_and(|at| at <= now);
        let facts: Vec<Fact<'_>> = pods
            .iter()
            .map(|pod| Fact { node: &pod.spec.node_name, is_updated: is_updated(pod), is_available: is_available(pod) })
            .collect();
        let mut plan = plan(&nodes, &facts, max_unavailable(&set, nodes.len()));
        if let Some(text) = mismatch(&*set, &selector).filter(|_| !plan.create.is_empty()) {
            self.tell_mismatch(&*set, text).await;
            plan.create.clear();
        }
        let desired = i32::try_from(nodes.len()).unwrap_or(i32::MAX);
        let is_idle = plan == Plan::default();
        if !plan.delete.is_empty() {
            let gone: Vec<&Pod> = plan.delete.iter().map(|position| &*pods[*position]).collect();
            self.delete_pods(&*set, &gone).await?;
        } else if !plan.create.is_empty() {
            let was = &set.status;
            let at_once = was.observed_generation == set.metadata.generation
                && was.updated_number_scheduled >= desired
                && was.number_available >= desired;
            let draft = |node| Draft {
                node: Some(node),
                labels: vec![(label::CONTROLLER_REVISION_HASH, hash.clone())],
                at_once,
                ..Draft::default()
            };
            self.create_pods(&*set, plan.create.into_iter().map(draft).collect(), now).await?;
        }
        if !is_idle {
            return Ok(Requeue::OnChange);
        }
        let of_pods = pods.iter().filter_map(|pod| pod.metadata.label(label::CONTROLLER_REVISION_HASH));
        let in_use = of_pods.chain([hash.as_str()]).map(|hash| revisions::name(&key.name, hash)).collect();
        self.forget_revisions(&known, &in_use, set.spec.revision_history_limit).await?;
        let mut changed = DaemonSet::clone(&set);
        let available = count(&pods, is_available);
        changed.status = DaemonSetStatus {
            current_number_scheduled: count(&pods, |_| true),
            number_misscheduled: 0,
            desired_number_scheduled: desired,
            number_ready: count(&pods, |pod| pods::ready_since(pod).is_some()),
            observed_generation: set.metadata.generation,
            updated_number_scheduled: count(&pods, is_updated),
            number_available: available,
            number_unavailable: desired - available,
            ..set.status.clone()
        };
        let is_settled = changed.status.updated_number_scheduled == desired && set.spec.min_ready_seconds == 0;
        if is_settled {
            self.tallies.trust(&set.metadata.uid);
            self.daemons.settle(&set.metadata.uid, set.metadata.generation, nodes.into_iter().collect());
        }
        self.api::<DaemonSet>().update_status(&set, &changed).await?;
        Ok(next_available(&pods, min_ready, now))
    }

    /// Takes the nodes that changed since a set was complete, with the number of eligible nodes; `None`: a full pass is
    /// required.
    fn changed_nodes(&self, set: &DaemonSet) -> Option<(BTreeSet<String>, usize)> {
        let uid = &set.metadata.uid;
        let is_usual = self.tallies.get(uid).is_some() && !set.metadata.is_being_deleted();
        is_usual.then(|| self.daemons.take(uid, set.metadata.generation))?
    }

    /// Reconciles only the nodes that changed, or whose pods of the set did.
    async fn reconcile_changed_nodes(
        &self,
        key: &ObjectKey,
        set: &DaemonSet,
        nodes: BTreeSet<String>,
        mut desired: usize,
        now: DateTime<Utc>,
    ) -> Result<Requeue, Error> {
        let uid = &set.metadata.uid;
        let spec: PodSpec = apimachinery::wire::from_tree(set.spec.template["spec"].clone()).unwrap_or_default();
        let (mut create, mut delete) = (Vec::new(), Vec::new());
        for name in nodes {
            let node = self.nodes.get(&ObjectKey::new(&key.cluster, "", &name));
            let is_wanted = node.map_or_else(|| self.has_node(&key.cluster, &name), |node| is_meant(&node, &spec));
            let on_node = self.pods_by_place.get(&place(&key.cluster, &name));
            let mut own: Vec<Arc<Pod>> =
                on_node.into_iter().filter(|pod| controller_uid(&pod.metadata) == Some(uid)).collect();
            own.sort_by_key(|pod| pod.metadata.creation_timestamp.0);
            delete.extend(own.iter().skip(usize::from(is_wanted)).cloned());
            desired = self.daemons.change(uid, &name, is_wanted);
            if is_wanted && own.is_empty() {
                create.push(name);
            }
        }
        let desired = i32::try_from(desired).unwrap_or(i32::MAX);
        let tally = self.tallies.get(uid).unwrap_or_default();
        let is_idle = create.is_empty() && delete.is_empty();
        let hash = template::hash(&set.spec.template, set.status.collision_count);
        if !is_idle {
            let gone: Vec<&Pod> = delete.iter().map(|pod| &**pod).collect();
            let drafts = create.into_iter().map(|node| Draft {
                node: Some(node),
                labels: vec![(label::CONTROLLER_REVISION_HASH, hash.clone())],
                ..Draft::default()
            });
            let drafts: Vec<Draft> = drafts.collect();
            let result = async {
                if !gone.is_empty() {
                    self.delete_pods(set, &gone).await?;
                }
                if drafts.is_empty() { Ok(0) } else { self.create_pods(set, drafts, now).await }
            };
            // After an error, a full pass finds what was not done.
            result.await.inspect_err(|_| self.daemons.forget(uid))?;
            return Ok(Requeue::OnChange);
        }
        let mut changed = DaemonSet::clone(set);
        changed.status = DaemonSetStatus {
            current_number_scheduled: tally.active,
            desired_number_scheduled: desired,
            number_ready: tally.ready,
            observed_generation: set.metadata.generation,
            updated_number_scheduled: tally.active,
            number_available: tally.ready,
            number_unavailable: desired - tally.ready,
            ..set.status.clone()
        };
        self.api::<DaemonSet>().update_status(set, &changed).await?;
        Ok(Requeue::OnChange)
    }
}

/// True if a node is eligible for a set's pods.
fn is_meant(node: &Node, spec: &PodSpec) -> bool {
    !node.metadata.is_being_deleted() && node_affinity::is_selected(spec, node)
}

/// Returns how many pods may be missing during an update, at least one; `None` for strategy OnDelete: pods are replaced
/// only after a user deletes them.
fn max_unavailable(set: &DaemonSet, nodes: usize) -> Option<usize> {
    let strategy = &set.spec.update_strategy;
    if strategy.r#type == "OnDelete" {
        return None;
    }
    let wanted = strategy.rolling_update.as_ref().and_then(|it| it.max_unavailable.as_ref());
    let nodes = i32::try_from(nodes).unwrap_or(i32::MAX);
    let number = wanted.unwrap_or(&IntOrString::Int(1)).scaled(nodes, true).unwrap_or(1);
    Some(usize::try_from(number).unwrap_or(0).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(node: &str, is_updated: bool, is_available: bool) -> Fact<'_> {
        Fact { node, is_updated, is_available }
    }

    #[track_caller]
    fn check(pods: &[Fact<'_>], max_unavailable: Option<usize>, create: &[&str], delete: &[usize]) {
        let nodes = ["a", "b", "c"].map(str::to_owned);
        let found = plan(&nodes, pods, max_unavailable);
        let create = create.iter().map(|node| (*node).to_owned()).collect();
        assert_eq!(found, Plan { create, delete: delete.to_vec() });
    }

    /// "A DaemonSet ensures that all (or some) Nodes run a copy of a Pod. As nodes are added to the cluster, Pods are
    /// added to them. As nodes are removed from the cluster, those Pods are garbage collected."
    #[test]
    fn each_node_has_one_pod() {
        check(&[], Some(1), &["a", "b", "c"], &[]);
        check(&[pod("a", true, true), pod("b", true, false)], Some(1), &["c"], &[]);
        let all = [pod("a", true, true), pod("a", true, true), pod("b", true, true), pod("c", true, true)];
        check(&all, Some(1), &[], &[1]);
        check(
            &[pod("gone", true, true), pod("a", true, true), pod("b", true, true), pod("c", true, true)],
            None,
            &[],
            &[0],
        );
    }

    /// Source: kubernetes.io, Perform a Rolling Update on a DaemonSet.
    #[test]
    fn an_update_takes_as_many_pods_as_may_be_missing() {
        let old = [pod("a", false, true), pod("b", false, true), pod("c", false, true)];
        check(&old, Some(1), &[], &[0]);
        check(&old, Some(2), &[], &[0, 1]);
        check(&old, None, &[], &[]);
        check(&[pod("a", true, false), pod("b", false, true), pod("c", false, true)], Some(1), &[], &[]);
        check(&[pod("a", true, true), pod("b", false, false), pod("c", false, true)], Some(1), &[], &[1]);
    }
}
