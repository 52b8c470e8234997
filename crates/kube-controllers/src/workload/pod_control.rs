// SPDX-License-Identifier: Apache-2.0
//! What all controllers of pods do alike: make a pod of a template, create and delete, find out whom a pod concerns.

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
    /// Who its Events come from.
    const SOURCE: &'static str;
    /// Label of its ControllerRevisions that has the hash of their template; unused where the kind has none.
    const REVISION_LABEL: &'static str = label::CONTROLLER_REVISION_HASH;
    /// Its selector; `None` if it selects nothing that can be told, or everything: then the object is left alone.
    fn selector(&self) -> Option<Labels>;
    /// Its pod template.
    fn template(&self) -> &Value;
    /// Generation of the specification that was acted on last.
    fn observed_generation(&self) -> i64;
    /// Text of the Event about a pod that was created, or deleted.
    fn message(&self, created: bool, pod: &str) -> String {
        format!("{} pod: {pod}", if created { "Created" } else { "Deleted" })
    }
}

/// What a new pod is to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    /// Its name; without one the server makes one of the owner's.
    pub(crate) name: Option<String>,
    /// Its node; without one a node is chosen.
    pub(crate) node: Option<String>,
    /// Its template, where that is not the owner's.
    pub(crate) template: Option<Value>,
    /// Labels beside the template's.
    pub(crate) labels: Vec<(&'static str, String)>,
    /// Volumes beside the template's; one of the template with such a name gives way.
    pub(crate) volumes: Vec<Value>,
    /// Whether it runs at once, if it is simulated: it takes the place of one that was available.
    pub(crate) at_once: bool,
}

/// What a pass has created that no local copy shows yet.
#[derive(Debug)]
struct CreationPass {
    now: DateTime<Utc>,
    created: usize,
}

/// When counts of `pods` change by time alone: the next of them has been ready for long enough.
pub(crate) fn next_available(pods: &[Arc<Pod>], min_ready: TimeDelta, now: DateTime<Utc>) -> Requeue {
    let available = pods.iter().filter_map(|pod| pods::available_at(pod, min_ready));
    available.filter(|at| *at > now).min().map_or(Requeue::OnChange, Requeue::WorkAt)
}

/// How many pods count, as a status says it.
pub(crate) fn count(pods: &[Arc<Pod>], counts: impl Fn(&Pod) -> bool) -> i32 {
    i32::try_from(pods.iter().filter(|pod| counts(pod)).count()).unwrap_or(i32::MAX)
}

/// What is wrong with an owner whose template makes pods that its selector does not select: each would be released as
/// soon as it is there, and another one created. The API refuses such objects; one may have been stored before it did.
pub(crate) fn mismatch<O: Owner>(owner: &O, selector: &Labels) -> Option<&'static str> {
    let labels = template::texts(owner.template(), "labels");
    (!selector.matches(&labels)).then_some("the selector does not match the labels of the pod template")
}

impl Workload {
    /// Tells of a [`mismatch`], once for each generation of the owner.
    pub(crate) async fn tell_mismatch<O: Owner>(&self, owner: &O, text: &str) {
        if owner.observed_generation() != owner.metadata().generation {
            let message = format!("Error creating: {text}");
            self.event(O::SOURCE, owner, EventType::Warning, "FailedCreate", &message).await;
        }
    }

    /// Which owners a change of a pod concerns: those that it has or had, or those that may adopt an orphan.
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

    /// A pod of the owner's template.
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
                // The scheduler says why, when it looks at the pod, and has its claims bound.
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

    /// Creates pods, until one fails; how many were created (none counts in a namespace that is going away). Until they
    /// are seen, nothing is said of the owner's pods.
    pub(crate) async fn create_pods<O: Owner>(
        &self,
        owner: &O,
        drafts: Vec<Draft>,
        now: DateTime<Utc>,
    ) -> Result<usize, Error> {
        let count = drafts.len();
        let ObjectMeta { uid, namespace, .. } = owner.metadata();
        let api = self.api::<NewPod>().within(cluster_of(owner), namespace);
        self.expectations.expect(uid, count, &[], now);
        let selector = owner.selector();
        let mut pass = CreationPass { now, created: 0 };
        for (done, draft) in drafts.into_iter().enumerate() {
            let pod = self.make_pod(owner, draft, &pass);
            match api.create(&pod).await {
                Ok(pod) => {
                    pass.created += 1;
                    self.assume(cluster_of(owner), &pod);
                    let message = owner.message(true, &pod.metadata.name);
                    self.event(O::SOURCE, owner, EventType::Normal, "SuccessfulCreate", &message).await;
                    // Somebody changed its labels on its way: more of them would be lost alike.
                    if selector.as_ref().is_some_and(|selector| !selector.matches(&pod.metadata.labels)) {
                        self.expectations.forget_creations(uid, count - done - 1);
                        let name = &pod.metadata.name;
                        return Err(Error::Failed(format!("the selector does not match the labels of pod {name}")));
                    }
                }
                Err(error) if is_terminating(&error) => {
                    self.expectations.forget_creations(uid, count - done);
                    return Ok(0);
                }
                Err(error) => {
                    self.expectations.forget_creations(uid, count - done);
                    let message = format!("Error creating: {error}");
                    self.event(O::SOURCE, owner, EventType::Warning, "FailedCreate", &message).await;
                    return Err(error);
                }
            }
        }
        Ok(count)
    }

    /// A pod that was just created counts on its node until it is seen.
    fn assume(&self, cluster: &str, pod: &NewPod) {
        let key = ObjectKey::new(cluster, &pod.metadata.namespace, &pod.metadata.name);
        let spec: PodSpec = apimachinery::wire::from_tree(pod.spec.clone()).unwrap_or_default();
        let is_known = || self.pods.get(&key).is_some();
        self.places.assume(&key, &pod.metadata.uid, &pod.metadata.labels, &spec, is_known);
    }

    /// Deletes pods; how many. Until they are seen to go, nothing is said of the owner's pods.
    pub(crate) async fn delete_pods<O: Owner>(
        &self,
        owner: &O,
        pods: &[&Pod],
        now: DateTime<Utc>,
    ) -> Result<usize, Error> {
        let metadata = owner.metadata();
        let uids: Vec<&str> = pods.iter().map(|pod| pod.metadata.uid.as_str()).collect();
        self.expectations.expect(&metadata.uid, 0, &uids, now);
        let api = self.api::<Pod>().within(cluster_of(owner), &metadata.namespace);
        let mut result = Ok(pods.len());
        for pod in pods {
            let ObjectMeta { name, uid, .. } = &pod.metadata;
            // Where nothing has to stop for a simulated pod, it goes at once.
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
                Err(error) if error.is_not_found() => self.expectations.forget_deletion(&metadata.uid, uid),
                Err(error) => {
                    self.expectations.forget_deletion(&metadata.uid, uid);
                    let message = format!("Error deleting: {error}");
                    self.event(O::SOURCE, owner, EventType::Warning, "FailedDelete", &message).await;
                    result = Err(error);
                }
            }
        }
        result
    }

    /// The address of a node: its own, or one made of its name.
    pub(crate) fn host_address(&self, cluster: &str, node: &str) -> String {
        let known = self.nodes.get(&ObjectKey::new(cluster, "", node));
        let internal = known.and_then(|node| {
            let address = node.status.addresses.iter().find(|address| address.r#type == "InternalIP")?;
            Some(address.address.clone())
        });
        internal.unwrap_or_else(|| pod_status::address("10.250", &place(cluster, node)))
    }
}
