// SPDX-License-Identifier: Apache-2.0
//! Claims and volumes: binding, provisioning and protection from deletion.
//!
//! Volumes are provisioned at once, and store no data.
//!
//! Source: k8s.io/kubernetes pkg/controller/volume/{persistentvolume,pvcprotection,pvprotection}.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::constants::{annotation, finalizer, label};
use api::kubernetes::core::{Namespace, Node, Pod};
use api::kubernetes::storage::{PersistentVolume, PersistentVolumeClaim, StorageClass, default_class};
use apimachinery::Resource;
use apimachinery::meta::{DeleteOptions, Preconditions, Time};
use controller::{Api, Change, Controller, Error, EventType, Index, ListOptions, ObjectKey, Reflector, Requeue, Store};
use parking_lot::Mutex;
use process::Context;

use super::binding::{self, Notice, Phase, Step, View};
use super::placement::volumes::{self, Shelf};
use super::{Workload, cluster_of, pods};

const CONCURRENCY: usize = 5;
/// Source component of Events about claims and volumes.
const SOURCE: &str = "persistentvolume-controller";
/// Source component of Events about provisioned volumes.
const PROVISIONER: &str = "external-provisioner";

/// Local copies and indexes.
pub(crate) struct Storage {
    pub(crate) claims: Store<PersistentVolumeClaim>,
    pub(crate) volumes: Store<PersistentVolume>,
    pub(crate) classes: Store<StorageClass>,
    pub(crate) namespaces: Store<Namespace>,
    /// Claims without a volume, by cluster.
    unbound: Index<PersistentVolumeClaim>,
    /// Volumes by the claim that they refer to.
    by_claim: Index<PersistentVolume>,
    /// Volumes without a claim, by cluster.
    free: Index<PersistentVolume>,
    /// Last Event text of each claim, by uid.
    told: Mutex<BTreeMap<String, String>>,
}

/// Returns cluster, namespace and name of a claim as one text.
pub(crate) fn claim_text(cluster: &str, namespace: &str, name: &str) -> String {
    format!("{cluster}/{namespace}/{name}")
}

impl Storage {
    pub(crate) fn start(context: &Context) -> Self {
        let claims = Reflector::new(Api::<PersistentVolumeClaim>::all(context, "*"), ListOptions::default());
        let volumes = Reflector::new(Api::<PersistentVolume>::all(context, "*"), ListOptions::default());
        let unbound = claims.store().index(|claim: &PersistentVolumeClaim| {
            (!volumes::is_bound(claim)).then(|| cluster_of(claim).to_owned()).into_iter().collect()
        });
        let by_claim = volumes.store().index(|volume: &PersistentVolume| {
            let reference = volume.spec.claim_ref.iter();
            reference.map(|it| claim_text(cluster_of(volume), &it.namespace, &it.name)).collect()
        });
        let free = volumes.store().index(|volume: &PersistentVolume| {
            let is_free = volume.spec.claim_ref.as_ref().is_none_or(|it| it.uid.is_empty());
            is_free.then(|| cluster_of(volume).to_owned()).into_iter().collect()
        });
        Self {
            claims: claims.start(),
            volumes: volumes.start(),
            classes: Reflector::new(Api::all(context, "*"), ListOptions::default()).start(),
            namespaces: Reflector::new(Api::all(context, "*"), ListOptions::default()).start(),
            unbound,
            by_claim,
            free,
            told: Mutex::default(),
        }
    }

    fn volume(&self, cluster: &str, name: &str) -> Option<Arc<PersistentVolume>> {
        self.volumes.get(&ObjectKey::new(cluster, "", name))
    }

    fn class(&self, cluster: &str, name: &str) -> Option<Arc<StorageClass>> {
        self.classes.get(&ObjectKey::new(cluster, "", name))
    }

    /// Stores the Event text of a claim; true if it differs from the last one.
    fn is_news(&self, uid: &str, text: &str) -> bool {
        let mut told = self.told.lock();
        told.insert(uid.to_owned(), text.to_owned()).as_deref() != Some(text)
    }

    fn forget(&self, uid: &str) {
        self.told.lock().remove(uid);
    }
}

/// Source of a pod's claims, volumes and classes: the local copies.
pub(crate) struct StoredShelf<'a> {
    pub(crate) storage: &'a Storage,
    pub(crate) cluster: &'a str,
    pub(crate) namespace: &'a str,
}

impl Shelf for StoredShelf<'_> {
    fn claim(&self, name: &str) -> Option<Arc<PersistentVolumeClaim>> {
        self.storage.claims.get(&ObjectKey::new(self.cluster, self.namespace, name))
    }

    fn volume(&self, name: &str) -> Option<Arc<PersistentVolume>> {
        self.storage.volume(self.cluster, name)
    }

    fn class(&self, name: &str) -> Option<Arc<StorageClass>> {
        self.storage.class(self.cluster, name)
    }

    fn available(&self, claim: &PersistentVolumeClaim) -> Vec<Arc<PersistentVolume>> {
        let mut free = self.storage.free.get(self.cluster);
        free.retain(|volume| volume.spec.claim_ref.is_none() && binding::fits(volume, claim));
        free
    }
}

/// Runs the controllers until the component stops.
pub(crate) async fn run(workload: Arc<Workload>) {
    futures::future::join(run_claims(workload.clone()), run_volumes(workload)).await;
}

async fn run_claims(workload: Arc<Workload>) {
    let mut controller = Controller::new("persistentvolume-binder", &workload.context);
    let known = workload.clone();
    controller.watch_store(&workload.storage.claims, move |change| {
        if let (Some(old), None) = (&change.old, &change.new) {
            known.storage.forget(&old.metadata.uid);
        }
        vec![change.key.clone()]
    });
    let known = workload.clone();
    controller.watch_store(&workload.storage.volumes, move |change: &Change<PersistentVolume>| {
        let cluster = &change.key.cluster;
        let volumes = [&change.old, &change.new].into_iter().flatten();
        let mut keys: Vec<ObjectKey> = volumes
            .filter_map(|volume| volume.spec.claim_ref.as_ref())
            .map(|claim| ObjectKey::new(cluster, &claim.namespace, &claim.name))
            .collect();
        keys.dedup();
        // A free or deleted volume may be one that unbound claims wait for, or name.
        let is_free = |volume: &Arc<PersistentVolume>| volume.spec.claim_ref.is_none();
        if change.new.as_ref().is_some_and(is_free) || change.new.is_none() {
            keys.extend(known.storage.unbound.keys(cluster));
        }
        keys
    });
    let known = workload.clone();
    controller.watch_store(&workload.storage.classes, move |change| known.storage.unbound.keys(&change.key.cluster));
    let known = workload.clone();
    controller.watch_store(&workload.pods, move |change: &Change<Pod>| {
        // A claim that is being deleted is removed once its last pod has ended.
        let used = |pod: &Option<Arc<Pod>>| pod.as_ref().is_some_and(|pod| uses_claims(pod));
        let Some(pod) = change.old.as_ref().filter(|_| used(&change.old) && !used(&change.new)) else {
            return Vec::new();
        };
        let keys = volumes::claims(&pod.spec).map(|claim| change.key.sibling(claim));
        let is_going = |key: &ObjectKey| known.storage.claims.get(key).is_some_and(|it| it.metadata.is_being_deleted());
        keys.filter(is_going).collect()
    });
    // Nodes are only read, to choose a zone.
    controller.watch_store(&workload.nodes, |_| Vec::new());
    controller
        .run(CONCURRENCY, move |key| {
            let workload = workload.clone();
            async move { workload.reconcile_claim(&key).await }
        })
        .await;
}

async fn run_volumes(workload: Arc<Workload>) {
    let mut controller = Controller::new("persistentvolume", &workload.context);
    controller.watch_store(&workload.storage.volumes, |change| vec![change.key.clone()]);
    let known = workload.clone();
    controller.watch_store(&workload.storage.claims, move |change: &Change<PersistentVolumeClaim>| {
        if !change.differs(|claim| claim.metadata.uid.clone()) {
            return Vec::new();
        }
        let key = &change.key;
        known.storage.by_claim.keys(&claim_text(&key.cluster, &key.namespace, &key.name))
    });
    controller
        .run(CONCURRENCY, move |key| {
            let workload = workload.clone();
            async move { workload.reconcile_volume(&key).await }
        })
        .await;
}

/// True if a pod keeps its claims from deletion: it has a node and has not ended.
fn uses_claims(pod: &Pod) -> bool {
    !pod.spec.node_name.is_empty() && !pods::is_terminal(pod) && volumes::claims(&pod.spec).next().is_some()
}

impl Workload {
    async fn reconcile_claim(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let storage = &self.storage;
        let Some(claim) = storage.claims.get(key) else { return Ok(Requeue::OnChange) };
        if claim.metadata.is_being_deleted() {
            let in_use = self.pods_by_claim.get(&claim_text(&key.cluster, &key.namespace, &key.name));
            if !in_use.iter().any(|pod| uses_claims(pod)) {
                self.unprotect(&*claim, finalizer::CLAIM_PROTECTION).await?;
            }
            return Ok(Requeue::OnChange);
        }
        let cluster = &*key.cluster;
        let classes = storage.classes.list_in_cluster(cluster);
        let class = claim.spec.storage_class_name.as_deref().filter(|name| !name.is_empty());
        let node = claim.metadata.annotation(annotation::SELECTED_NODE);
        let node: Option<Arc<Node>> = node.and_then(|name| self.nodes.get(&ObjectKey::new(cluster, "", name)));
        // Volumes that were provisioned for the claim refer to it from the beginning.
        let mut free = storage.by_claim.get(&claim_text(cluster, &key.namespace, &key.name));
        free.extend(storage.free.get(cluster));
        let view = View {
            class: class.and_then(|name| storage.class(cluster, name)),
            default_class: default_class(classes.iter().map(|class| &class.metadata)).map(|class| class.name.as_str()),
            volume: storage.volume(cluster, &claim.spec.volume_name),
            free: &free,
            node: node.as_deref(),
            has_nodes: self.places.has_node(cluster, "").is_some(),
        };
        match binding::step(&claim, &view) {
            Step::Settled => {}
            Step::Assign(class) => {
                let mut new = PersistentVolumeClaim::clone(&claim);
                new.spec.storage_class_name = Some(class);
                self.api::<PersistentVolumeClaim>().update(&claim, &new).await?;
            }
            Step::ChooseAgain => {
                let mut new = PersistentVolumeClaim::clone(&claim);
                new.metadata.annotations.remove(annotation::SELECTED_NODE);
                self.api::<PersistentVolumeClaim>().update(&claim, &new).await?;
            }
            Step::Bind(volume) => self.bind(&claim, &volume).await?,
            Step::Provision(class) => self.provision(key, &claim, &class, node.as_deref()).await?,
            Step::Lose => {
                let mut new = PersistentVolumeClaim::clone(&claim);
                "Lost".clone_into(&mut new.status.phase);
                self.api::<PersistentVolumeClaim>().update_status(&claim, &new).await?;
                let text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
                self.event(SOURCE, &*claim, EventType::Warning, "ClaimLost", text).await;
            }
            Step::Wait(notice) => {
                if let Some(Notice { is_warning, reason, message }) = notice
                    && storage.is_news(&claim.metadata.uid, &message)
                {
                    let type_ = if is_warning { EventType::Warning } else { EventType::Normal };
                    self.event(SOURCE, &*claim, type_, reason, &message).await;
                }
            }
        }
        Ok(Requeue::OnChange)
    }

    /// Provisions a volume for a claim. Its creation triggers the next pass, which binds it.
    async fn provision(
        &self,
        key: &ObjectKey,
        claim: &PersistentVolumeClaim,
        class: &StorageClass,
        node: Option<&Node>,
    ) -> Result<(), Error> {
        let nodes = self.nodes.list_in_cluster(&key.cluster);
        let zones: BTreeSet<&str> = nodes.iter().filter_map(|node| node.metadata.label(label::TOPOLOGY_ZONE)).collect();
        let zones: Vec<&str> = zones.into_iter().collect();
        let zone = match node {
            Some(node) => node.metadata.label(label::TOPOLOGY_ZONE),
            None => binding::zone_for(&claim.metadata.name, &zones),
        };
        let volume = binding::provisioned(claim, class, zone);
        let (namespace, name) = (&claim.metadata.namespace, &claim.metadata.name);
        let text = format!("External provisioner is provisioning volume for claim \"{namespace}/{name}\"");
        match self.api::<PersistentVolume>().within(&key.cluster, "").create(&volume).await {
            Ok(_) => {
                self.event(PROVISIONER, claim, EventType::Normal, "Provisioning", &text).await;
                let text = format!("Successfully provisioned volume {}", volume.metadata.name);
                self.event(PROVISIONER, claim, EventType::Normal, "ProvisioningSucceeded", &text).await;
                Ok(())
            }
            // It exists already, and the local copy will show it.
            Err(error) if error.is_already_exists() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Makes volume and claim refer to each other, and sets their status.
    async fn bind(&self, claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> Result<(), Error> {
        if !binding::is_taken_by(volume, claim) {
            let mut new = volume.clone();
            if volume.spec.claim_ref.is_none() {
                new.metadata.annotations.insert(annotation::BOUND_BY_CONTROLLER.to_owned(), "yes".to_owned());
            }
            new.spec.claim_ref = Some(binding::reference(claim));
            self.api().update(volume, &new).await?;
        }
        let provisioner = volume.metadata.annotation(annotation::PROVISIONED_BY);
        let new = binding::bound(claim, volume, provisioner);
        let written = self.api().update(claim, &new).await?;
        let written = super::placed(written, cluster_of(claim));
        let status = PersistentVolumeClaim { status: new.status, ..written.clone() };
        self.api().update_status(&written, &status).await?;
        Ok(())
    }

    async fn reconcile_volume(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(volume) = self.storage.volumes.get(key) else { return Ok(Requeue::OnChange) };
        let reference = volume.spec.claim_ref.as_ref();
        let claim = reference.map(|it| ObjectKey::new(&key.cluster, &it.namespace, &it.name));
        let mut claim = claim.as_ref().and_then(|key| self.storage.claims.get(key));
        if let (None, Some(reference)) = (&claim, reference.filter(|it| !it.uid.is_empty())) {
            // The local copy may be out of date, and a wrong decision loses data.
            let claims = self.api::<PersistentVolumeClaim>().within(&key.cluster, &reference.namespace);
            claim = claims.get_opt(&reference.name).await?.map(Arc::new);
        }
        let phase = Phase::of(&volume, claim.as_deref());
        if volume.metadata.is_being_deleted() {
            if phase != Phase::Bound {
                self.unprotect(&*volume, finalizer::VOLUME_PROTECTION).await?;
            }
            return Ok(Requeue::OnChange);
        }
        let mut current = PersistentVolume::clone(&volume);
        if volume.status.phase != phase.text() {
            let mut new = current.clone();
            phase.text().clone_into(&mut new.status.phase);
            new.status.last_phase_transition_time = Some(Time::from_instant(self.context.clock.now()));
            current = super::placed(self.api::<PersistentVolume>().update_status(&volume, &new).await?, &key.cluster);
        }
        if phase == Phase::Released && current.spec.persistent_volume_reclaim_policy == "Delete" {
            let options = DeleteOptions {
                preconditions: Some(Preconditions { uid: Some(current.metadata.uid.clone()), resource_version: None }),
                ..DeleteOptions::default()
            };
            match self.api::<PersistentVolume>().within(&key.cluster, "").delete(&key.name, &options).await {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
        Ok(Requeue::OnChange)
    }

    /// Removes a finalizer.
    async fn unprotect<K: Resource>(&self, object: &K, finalizer: &str) -> Result<(), Error> {
        let mut new = object.clone();
        new.metadata_mut().finalizers.retain(|present| present != finalizer);
        match self.api::<K>().update(object, &new).await {
            Err(error) if error.is_not_found() => Ok(()),
            other => other.map(drop),
        }
    }
}
