// SPDX-License-Identifier: Apache-2.0
//! Operations shared by all controllers of pods: build a pod from a template, create and delete pods, find a pod's
//! owners.

use std::sync::Arc;

use api::constants::label;
use api::kubernetes::apps::DaemonSet;
use api::kubernetes::core::{Pod, PodSpec};
use apimachinery::Resource;
use apimachinery::meta::{DeleteOptions, ObjectMeta, Preconditions};
use apimachinery::selector::Labels;
use chrono::{DateTime, TimeDelta, Utc};
use controller::{Change, Error, EventType, ObjectKey, Requeue, Store};
use serde_json::{Value, json};

use super::objects::{NewPod, controller_uid};
use super::placement::Choice;
use super::{Workload, claim, cluster_of, is_terminating, place, pod_status, pods, template};

/// A kind whose objects own pods.
pub(crate) trait Owner: Resource {
    /// Source component of its Events.
    const SOURCE: &'static str;
    /// Label of the ControllerRevisions that has the hash of their template; unused by kinds without revisions.
    const REVISION_LABEL: &'static str = label::CONTROLLER_REVISION_HASH;
    /// Returns the selector; `None` if it is missing, invalid or selects everything: then the object is left alone.
    fn selector(&self) -> Option<Labels>;
    /// Returns the pod template.
    fn template(&self) -> &Value;
    /// Returns the generation of the specification that was reconciled last.
    fn observed_generation(&self) -> i64;
    /// Returns the text of the Event about a pod that was created, or deleted.
    fn message(&self, created: bool, pod: &str) -> String {
        format!("{} pod: {pod}", if created { "Created" } else { "Deleted" })
    }
}

/// Properties of a new pod.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    /// Name; `None`: the server generates one from the owner's name.
    pub(crate) name: Option<String>,
    /// Node; `None`: a node is chosen.
    pub(crate) node: Option<String>,
    /// Template; `None`: the owner's.
    pub(crate) template: Option<Value>,
    /// Labels in addition to the template's.
    pub(crate) labels: Vec<(&'static str, String)>,
    /// Volumes in addition to the template's; they replace volumes of the same name.
    pub(crate) volumes: Vec<Value>,
    /// True if a simulated pod is running at once: it replaces one that was available.
    pub(crate) at_once: bool,
}

/// A pass that creates pods, and how many it has created.
#[derive(Debug)]
struct CreationPass {
    now: DateTime<Utc>,
    created: usize,
}

/// Returns when counts of `pods` change by time alone: when the next pod has been ready for long enough.
pub(crate) fn next_available(pods: &[Arc<Pod>], min_ready: TimeDelta, now: DateTime<Utc>) -> Requeue {
    let available = pods.iter().filter_map(|pod| pods::available_at(pod, min_ready));
    available.filter(|at| *at > now).min().map_or(Requeue::OnChange, Requeue::WorkAt)
}

/// Counts pods, in the integer type of a status.
pub(crate) fn count(pods: &[Arc<Pod>], counts: impl Fn(&Pod) -> bool) -> i32 {
    i32::try_from(pods.iter().filter(|pod| counts(pod)).count()).unwrap_or(i32::MAX)
}

/// Returns an error text if the template makes pods that the owner's selector does not select: each would be released
/// as soon as it exists, and another one created. The API rejects such objects; one may have been stored before it did.
pub(crate) fn mismatch<O: Owner>(owner: &O, selector: &Labels) -> Option<&'static str> {
    let labels = template::texts(owner.template(), "labels");
    (!selector.matches(&labels)).then_some("the selector does not match the labels of the pod template")
}

impl Workload {
    /// Reports a [`mismatch`] as an Event, once for each generation of the owner.
    pub(crate) async fn tell_mismatch<O: Owner>(&self, owner: &O, text: &str) {
        if owner.observed_generation() != owner.metadata().generation {
            let message = format!("Error creating: {text}");
            self.event(O::SOURCE, owner, EventType::Warning, "FailedCreate", &message).await;
        }
    }

    /// Returns the owners that a change of a pod concerns: those that it has or had, or those that may adopt an orphan.
    pub(crate) fn owners_of<O: Owner>(store: &Store<O>, change: &Change<Pod>) -> Vec<ObjectKey> {
        let states = [&change.old, &change.new].into_iter().flatten();
        let mut keys: Vec<ObjectKey> = states.filter_map(|pod| Self::owner_key::<O, _>(&change.key, &**pod)).collect();
        keys.dedup();
        let orphan = change.new.as_ref().filter(|pod| controller_uid(&pod.metadata).is_none());
        if let Some(pod) = orphan.filter(|pod| !pod.metadata.is_being_deleted() && !pod.metadata.labels.is_empty()) {
            let near = store.list_in(&change.key.cluster, &change.key.namespace);
            let selects = |owner: &&Arc<O>| {
                let selector = owner.selector();
                selector.is_some_and(|selector| selector.matches(&pod.metadata.labels))
            };
            keys.extend(near.iter().filter(selects).map(|found| change.key.sibling(&found.metadata().name)));
        }
        keys
    }

    /// Returns a pod of the owner's template.
    fn make_pod<O: Owner>(&self, owner: &O, draft: Draft, pass: &CreationPass) -> NewPod {
        let cluster = cluster_of(owner);
        let (from, template) = (owner.metadata(), draft.template.as_ref().unwrap_or_else(|| owner.template()));
        let mut spec = template["spec"].clone();
        if !draft.volumes.is_empty() && spec.is_object() {
            let known = spec["volumes"].as_array().cloned().unwrap_or_default();
            let gives_way = |volume: &Value| draft.volumes.iter().any(|more| more["name"] == volume["name"]);
            let kept = known.into_iter().filter(|volume| !gives_way(volume));
            spec["volumes"] = kept.chain(draft.volumes.iter().cloned()).collect();
        }
        if let (true, Value::Object(spec)) = (O::KIND == DaemonSet::KIND, &mut spec) {
            domain::admission::pods::tolerate_as_daemon(spec);
        }
        let known: PodSpec = apimachinery::wire::from_tree(spec.clone()).unwrap_or_default();
        let mut metadata = ObjectMeta {
            namespace: from.namespace.clone(),
            labels: template::texts(template, "labels"),
            annotations: template::texts(template, "annotations"),
            ..ObjectMeta::default()
        };
        match draft.name {
            Some(name) => metadata.name = name,
            None => metadata.generate_name = format!("{}-", from.name),
        }
        metadata.labels.extend(draft.labels.into_iter().map(|(key, value)| (key.to_owned(), value)));
        metadata.owner_references.push(claim::reference(owner));
        let node = match (draft.node, known.node_name.as_str()) {
            (Some(node), _) => Some(node),
            (None, "") => match self.choose_node(cluster, &from.namespace, &metadata.labels, &known) {
                Choice::Node(node) => Some(node),
                // The scheduler reports the reason when it handles the pod, and has its claims bound.
                Choice::Bind(..) | Choice::Nowhere(_) | Choice::NoNodes => None,
            },
            (None, name) => Some(name.to_owned()),
        };
        if let (Some(node), true) = (&node, spec.is_object()) {
            spec["nodeName"] = json!(node);
        }
        let takes_time = (self.options.pod_end_of)(cluster) > TimeDelta::zero();
        let is_at_once = (draft.at_once && !takes_time) || self.options.pod_start <= TimeDelta::zero();
        let mut status = None;
        let is_chosen = known.node_name.is_empty();
        let is_process = self.is_process(cluster, &metadata.labels, &known);
        if let Some(node) = node.filter(|_| is_at_once && is_chosen && !is_process) {
            let own = pod_status::annotations(&metadata);
            if own.start.is_none() && own.fault.is_none() {
                let seed = format!("{cluster}/{}/{}/{}", from.uid, pass.created, pass.now.timestamp_micros());
                let (host, network) = (self.host_address(cluster, &node), (self.options.pod_network_of)(cluster));
                let at = pod_status::At { host: &host, network: network.as_deref() };
                status = Some(pod_status::running(&known, at, &seed, None, pass.now));
            }
        }
        NewPod { metadata, spec, status }
    }

    /// Creates pods until a creation fails; returns how many were created (0 in a namespace that is being deleted). The
    /// local copy shows them at once.
    pub(crate) async fn create_pods<O: Owner>(
        &self,
        owner: &O,
        drafts: Vec<Draft>,
        now: DateTime<Utc>,
    ) -> Result<usize, Error> {
        let count = drafts.len();
        let api = self.api::<NewPod>().within(cluster_of(owner), &owner.metadata().namespace).with_store(&self.pods);
        let selector = owner.selector();
        let mut pass = CreationPass { now, created: 0 };
        for draft in drafts {
            let pod = self.make_pod(owner, draft, &pass);
            match api.create(&pod).await {
                Ok(pod) => {
                    pass.created += 1;
                    let message = owner.message(true, &pod.metadata.name);
                    self.event(O::SOURCE, owner, EventType::Normal, "SuccessfulCreate", &message).await;
                    // Admission changed its labels: further pods would be lost in the same way.
                    if selector.as_ref().is_some_and(|selector| !selector.matches(&pod.metadata.labels)) {
                        let name = &pod.metadata.name;
                        return Err(Error::Failed(format!("the selector does not match the labels of pod {name}")));
                    }
                }
                Err(error) if is_terminating(&error) => return Ok(0),
                Err(error) => {
                    let message = format!("Error creating: {error}");
                    self.event(O::SOURCE, owner, EventType::Warning, "FailedCreate", &message).await;
                    return Err(error);
                }
            }
        }
        Ok(count)
    }

    /// Deletes pods; returns how many. The local copy shows the deletions at once.
    pub(crate) async fn delete_pods<O: Owner>(&self, owner: &O, pods: &[&Pod]) -> Result<usize, Error> {
        let api = self.api::<Pod>().within(cluster_of(owner), &owner.metadata().namespace).with_store(&self.pods);
        let mut result = Ok(pods.len());
        for pod in pods {
            let ObjectMeta { name, uid, .. } = &pod.metadata;
            // Where simulated pods take no time to end, they are deleted without a grace period.
            let takes_time = (self.options.pod_end_of)(cluster_of(owner)) > TimeDelta::zero();
            let simulated = !takes_time && !self.is_process(cluster_of(owner), &pod.metadata.labels, &pod.spec);
            let options = DeleteOptions {
                grace_period_seconds: simulated.then_some(0),
                preconditions: Some(Preconditions { uid: Some(uid.clone()), resource_version: None }),
                ..DeleteOptions::default()
            };
            match api.delete(name, &options).await {
                Ok(()) => {
                    let message = owner.message(false, name);
                    self.event(O::SOURCE, owner, EventType::Normal, "SuccessfulDelete", &message).await;
                }
                Err(error) if error.is_not_found() => {}
                Err(error) => {
                    let message = format!("Error deleting: {error}");
                    self.event(O::SOURCE, owner, EventType::Warning, "FailedDelete", &message).await;
                    result = Err(error);
                }
            }
        }
        result
    }

    /// Returns the address of a node: its own, or one generated from its name.
    pub(crate) fn host_address(&self, cluster: &str, node: &str) -> String {
        let known = self.nodes.get(&ObjectKey::new(cluster, "", node));
        let internal = known.and_then(|node| {
            let address = node.status.addresses.iter().find(|address| address.r#type == "InternalIP")?;
            Some(address.address.clone())
        });
        internal.unwrap_or_else(|| pod_status::address("10.250", &place(cluster, node)))
    }
}
