// SPDX-License-Identifier: Apache-2.0
//! What lists show of objects: rows of some hundred bytes, and the maps that hold them.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::constants::{annotation, namespace};
use api::core::{
    CloudProfile, CloudProfileSpec, Condition, LastError, LastOperation, MaintenanceTimeWindow, NamespacedCloudProfile,
    Project, Seed, Shoot, Worker,
};
use api::kubernetes::apps::Deployment;
use api::kubernetes::coordination::Lease;
use api::kubernetes::core::Node;
use api::machine::Machine;
use apimachinery::Resource;
use apimachinery::encode;
use apimachinery::meta::Time;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use domain::reconcile::{is_confined, is_hibernation_enabled};
use domain::skew::{Instance, lease};
use eventlog::{Entry, Key, Revision, Sections, Verb};
use rpds::RedBlackTreeMapSync;

use super::resource;
use crate::world::ProfileKey;

/// Rows by `NAMESPACE/NAME`; of objects without a namespace by name.
pub type Map<R> = RedBlackTreeMapSync<Arc<str>, Arc<R>>;

/// A text that is kept once, however many rows have it.
pub type Text = Arc<str>;

/// Annotations that no page shows and no rule reads, and that are long.
const LONG: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Texts that many rows have.
///
/// **Invariant.** Texts that no row has any more go when there are twice as many as after the last look.
#[derive(Debug, Default)]
pub struct Texts {
    known: BTreeSet<Text>,
    looked: usize,
}

/// Texts that are kept before somebody looks whether they are used.
const FEW: usize = 1024;

impl Texts {
    fn of(&mut self, text: &str) -> Text {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        if self.known.len() >= 2 * self.looked.max(FEW) {
            self.known.retain(|known| Arc::strong_count(known) > 1);
            self.looked = self.known.len();
        }
        let text: Text = text.into();
        self.known.insert(text.clone());
        text
    }

    fn all<'a>(&mut self, texts: impl IntoIterator<Item = &'a String>) -> Arc<[Text]> {
        texts.into_iter().map(|text| self.of(text)).collect()
    }

    fn pairs<'a>(&mut self, pairs: impl IntoIterator<Item = (&'a String, &'a String)>) -> Arc<[(Text, Text)]> {
        pairs.into_iter().map(|(key, value)| (self.of(key), self.of(value))).collect()
    }
}

/// A condition, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionRow {
    /// Type of the condition: `APIServerAvailable`.
    pub name: Text,
    /// `True`, `False`, `Unknown`, `Progressing`.
    pub status: Text,
    /// In one word.
    pub reason: Text,
    /// In a sentence.
    pub message: Text,
    /// Since when it has this status.
    pub since: DateTime<Utc>,
}

impl ConditionRow {
    fn of(condition: &Condition, texts: &mut Texts) -> Self {
        Self {
            name: texts.of(&condition.r#type),
            status: texts.of(&condition.status),
            reason: texts.of(&condition.reason),
            message: texts.of(&condition.message),
            since: condition.last_transition_time.0,
        }
    }

    fn all<'a>(conditions: impl IntoIterator<Item = &'a Condition>, texts: &mut Texts) -> Arc<[Self]> {
        conditions.into_iter().map(|condition| Self::of(condition, texts)).collect()
    }

    fn condition(&self) -> Condition {
        Condition {
            r#type: self.name.to_string(),
            status: self.status.to_string(),
            reason: self.reason.to_string(),
            message: self.message.to_string(),
            last_transition_time: Time::from_instant(self.since),
            ..Condition::default()
        }
    }
}

/// The last operation of a Shoot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationRow {
    /// `Create`, `Reconcile`, `Delete`, `Migrate`, `Restore`.
    pub kind: Text,
    /// `Processing`, `Succeeded`, `Error`, `Failed`, `Pending`, `Aborted`.
    pub state: Text,
    /// Progress of the operation in percent, 0 to 100.
    pub progress: i32,
    /// When it was written.
    pub time: DateTime<Utc>,
}

/// A worker pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolRow {
    /// Its name.
    pub name: Text,
    /// Name of its machine image; empty: none is set.
    pub image: Text,
    /// Version of the image.
    pub image_version: Text,
    /// A Kubernetes version of its own.
    pub kubernetes: Option<Text>,
    /// Least and most nodes.
    pub nodes: (i32, i32),
}

/// What a row has of a Shoot's specification. It seldom changes, and rows of many moments share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecRow {
    /// `spec.kubernetes.version`.
    pub kubernetes: Text,
    /// The profile that it refers to.
    pub profile: ProfileKey,
    /// Type of the provider.
    pub provider: Text,
    /// `spec.purpose`; empty: none.
    pub purpose: Text,
    /// `spec.seedName`.
    pub seed: Option<Text>,
    /// Whether it is to be hibernated.
    pub hibernates: bool,
    /// Whether changes wait for the maintenance window.
    pub confines: bool,
    /// Begin and end of the maintenance window, as they are written.
    pub window: Option<(Text, Text)>,
    /// Its worker pools.
    pub pools: Box<[PoolRow]>,
}

impl SpecRow {
    fn of(shoot: &Shoot, texts: &mut Texts) -> Self {
        let spec = &shoot.spec;
        let mut pool = |worker: &Worker| {
            let image = worker.machine.image.as_ref();
            PoolRow {
                name: texts.of(&worker.name),
                image: texts.of(image.map(|image| image.name.as_str()).unwrap_or_default()),
                image_version: texts.of(image.and_then(|image| image.version.as_deref()).unwrap_or_default()),
                kubernetes: worker
                    .kubernetes
                    .as_ref()
                    .and_then(|own| own.version.as_deref())
                    .map(|version| texts.of(version)),
                nodes: (worker.minimum, worker.maximum),
            }
        };
        let pools = spec.provider.workers.iter().map(&mut pool).collect();
        let window = spec.maintenance.as_ref().and_then(|maintenance| maintenance.time_window.as_ref());
        Self {
            kubernetes: texts.of(&spec.kubernetes.version),
            profile: ProfileKey::of(shoot),
            provider: texts.of(&spec.provider.r#type),
            purpose: texts.of(spec.purpose.as_deref().unwrap_or_default()),
            seed: spec.seed_name.as_deref().map(|seed| texts.of(seed)),
            hibernates: is_hibernation_enabled(spec),
            confines: is_confined(spec),
            window: window.map(|window| (texts.of(&window.begin), texts.of(&window.end))),
            pools,
        }
    }
}

/// A Shoot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShootRow {
    /// Namespace of its Project.
    pub namespace: Text,
    /// Its name.
    pub name: Text,
    /// Revision of its last change.
    pub revision: u64,
    /// When it was created.
    pub created: DateTime<Utc>,
    /// When its deletion was asked for.
    pub deleted: Option<DateTime<Utc>>,
    /// Labels.
    pub labels: Arc<[(Text, Text)]>,
    /// Annotations, without the one of `kubectl apply`.
    pub annotations: Arc<[(Text, Text)]>,
    /// What the specification says.
    pub spec: Arc<SpecRow>,
    /// Name of its control plane, `shoot--PROJECT--NAME`; empty: it has none yet.
    pub technical_id: Text,
    /// `status.seedName`.
    pub seed: Option<Text>,
    /// Version of the gardenlet that reconciled it last; empty: none has.
    pub gardener: Text,
    /// Whether it is hibernated.
    pub is_hibernated: bool,
    /// Whether changes of its specification have not been rolled out yet.
    pub is_behind: bool,
    /// Whether nothing of its status has a say in what maintenance will do, but what is in the row.
    pub is_plain: bool,
    /// `status.lastOperation`.
    pub operation: Option<OperationRow>,
    /// Codes of `status.lastErrors`.
    pub errors: Arc<[Text]>,
    /// `status.conditions`.
    pub conditions: Arc<[ConditionRow]>,
    /// `status.constraints` that are not `True`.
    pub constraints: Arc<[ConditionRow]>,
}

impl ShootRow {
    /// Of a Shoot.
    pub fn of(shoot: &Shoot) -> Self {
        let mut texts = Texts::default();
        let spec = Arc::new(SpecRow::of(shoot, &mut texts));
        Self::with(shoot, spec, &mut texts)
    }

    fn with(shoot: &Shoot, spec: Arc<SpecRow>, texts: &mut Texts) -> Self {
        let (metadata, status) = (&shoot.metadata, &shoot.status);
        let rotates = status.credentials.as_ref().is_some_and(|credentials| credentials.rotation.is_some());
        let bad = status.constraints.iter().filter(|constraint| constraint.status != "True");
        Self {
            namespace: texts.of(&metadata.namespace),
            name: metadata.name.as_str().into(),
            revision: metadata.resource_version.parse().unwrap_or_default(),
            created: metadata.creation_timestamp.0,
            deleted: metadata.deletion_timestamp.map(|time| time.0),
            labels: texts.pairs(&metadata.labels),
            annotations: texts.pairs(metadata.annotations.iter().filter(|(key, _)| *key != LONG)),
            spec,
            technical_id: status.technical_id.as_str().into(),
            seed: status.seed_name.as_deref().map(|seed| texts.of(seed)),
            gardener: texts.of(&status.gardener.version),
            is_hibernated: status.hibernated,
            is_behind: metadata.generation != status.observed_generation,
            is_plain: !rotates && status.in_place_updates.is_none() && status.last_hibernation_trigger_time.is_none(),
            operation: status.last_operation.as_ref().map(|last| OperationRow {
                kind: texts.of(&last.r#type),
                state: texts.of(&last.state),
                progress: last.progress,
                time: last.last_update_time.0,
            }),
            errors: texts.all(status.last_errors.iter().flat_map(|error| &error.codes)),
            conditions: ConditionRow::all(&status.conditions, texts),
            constraints: ConditionRow::all(bad, texts),
        }
    }

    /// Takes from another row of the same Shoot what is the same.
    fn share(&mut self, known: &Self) {
        fn same<T: ?Sized + PartialEq>(own: &mut Arc<T>, known: &Arc<T>) {
            if own == known {
                *own = known.clone();
            }
        }
        same(&mut self.name, &known.name);
        same(&mut self.technical_id, &known.technical_id);
        same(&mut self.labels, &known.labels);
        same(&mut self.annotations, &known.annotations);
        same(&mut self.errors, &known.errors);
        same(&mut self.conditions, &known.conditions);
        same(&mut self.constraints, &known.constraints);
    }

    /// `NAMESPACE/NAME`.
    pub fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// The Seed that it is on or goes to.
    pub fn placed(&self) -> Option<&Text> {
        self.seed.as_ref().or(self.spec.seed.as_ref())
    }

    /// What decides when the Shoot's maintenance is due: a Shoot with nothing else is written over.
    pub fn schedule(&self, shoot: &mut Shoot) {
        let metadata = &mut shoot.metadata;
        (*self.namespace).clone_into(&mut metadata.namespace);
        (*self.name).clone_into(&mut metadata.name);
        metadata.annotations.clear();
        let kept = self.annotations.iter().filter(|(key, _)| **key == *annotation::UPCOMING_TIME_WINDOW);
        metadata.annotations.extend(kept.map(|(key, value)| (key.to_string(), value.to_string())));
        let maintenance = shoot.spec.maintenance.get_or_insert_default();
        maintenance.time_window = self
            .spec
            .window
            .as_ref()
            .map(|(begin, end)| MaintenanceTimeWindow { begin: begin.to_string(), end: end.to_string() });
        maintenance.confine_spec_update_rollout = Some(self.spec.confines);
    }

    /// The Shoot as far as its row and its specification, as the log has it, tell: of its status what the row has. `None`: the
    /// specification cannot be read.
    pub fn shoot(&self, spec: &Bytes) -> Option<Shoot> {
        let whole = [b"{\"metadata\":{}", &spec[..], b"}"].concat();
        let mut shoot = Shoot::read(&whole).ok()?;
        let pairs =
            |pairs: &[(Text, Text)]| pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let metadata = &mut shoot.metadata;
        (metadata.namespace, metadata.name) = (self.namespace.to_string(), self.name.to_string());
        metadata.resource_version = self.revision.to_string();
        metadata.creation_timestamp = Time::from_instant(self.created);
        metadata.deletion_timestamp = self.deleted.map(Time::from_instant);
        (metadata.labels, metadata.annotations) = (pairs(&self.labels), pairs(&self.annotations));
        metadata.generation = 1 + i64::from(self.is_behind);
        let status = &mut shoot.status;
        status.observed_generation = 1;
        status.technical_id = self.technical_id.to_string();
        status.seed_name = self.seed.as_ref().map(ToString::to_string);
        status.gardener.version = self.gardener.to_string();
        status.hibernated = self.is_hibernated;
        status.last_operation = self.operation.as_ref().map(|last| LastOperation {
            r#type: last.kind.to_string(),
            state: last.state.to_string(),
            progress: last.progress,
            last_update_time: Time::from_instant(last.time),
            ..LastOperation::default()
        });
        if !self.errors.is_empty() {
            let codes = self.errors.iter().map(ToString::to_string).collect();
            status.last_errors = vec![LastError { codes, ..LastError::default() }];
        }
        status.conditions = self.conditions.iter().map(ConditionRow::condition).collect();
        status.constraints = self.constraints.iter().map(ConditionRow::condition).collect();
        Some(shoot)
    }
}

/// What a CloudProfile offers. There are few of them: the specification is whole.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileRow {
    /// What it is referred to as.
    pub key: ProfileKey,
    /// Of a NamespacedCloudProfile what its status says.
    pub offered: CloudProfileSpec,
}

impl ProfileRow {
    /// Of a CloudProfile.
    pub fn of(profile: &CloudProfile) -> Self {
        let key = ProfileKey { namespace: None, name: profile.metadata.name.clone() };
        Self { key, offered: profile.spec.clone() }
    }

    /// Of a NamespacedCloudProfile.
    pub fn of_namespaced(profile: &NamespacedCloudProfile) -> Self {
        let meta = &profile.metadata;
        let key = ProfileKey { namespace: Some(meta.namespace.clone()), name: meta.name.clone() };
        Self { key, offered: profile.status.cloud_profile_spec.clone() }
    }
}

/// A Project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectRow {
    /// Its name.
    pub name: String,
    /// Its namespace; empty: none yet.
    pub namespace: String,
    /// `status.phase`.
    pub phase: String,
}

impl ProjectRow {
    /// Of a Project.
    pub fn of(project: &Project) -> Self {
        Self {
            name: project.metadata.name.clone(),
            namespace: project.spec.namespace.clone().unwrap_or_default(),
            phase: project.status.phase.clone(),
        }
    }
}

/// A Seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedRow {
    /// Its name.
    pub name: String,
    /// Version of its gardenlet; empty: it has not said.
    pub gardener: String,
    /// Its Kubernetes version; empty: not known.
    pub kubernetes: String,
    /// `status.conditions`.
    pub conditions: Arc<[ConditionRow]>,
}

impl SeedRow {
    /// Of a Seed.
    pub fn of(seed: &Seed) -> Self {
        let status = &seed.status;
        Self {
            name: seed.metadata.name.clone(),
            gardener: status.gardener.as_ref().map(|own| own.version.clone()).unwrap_or_default(),
            kubernetes: status.kubernetes_version.clone().unwrap_or_default(),
            conditions: ConditionRow::all(&status.conditions, &mut Texts::default()),
        }
    }
}

/// A Deployment of a component of Gardener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentRow {
    /// Its name.
    pub name: String,
    /// Tag of its image; empty: it has none.
    pub version: String,
    /// Wanted, updated and ready pods.
    pub replicas: (i32, i32, i32),
}

impl ComponentRow {
    /// Of a Deployment.
    pub fn of(deployment: &Deployment) -> Self {
        let containers = &deployment.spec.template.spec.containers;
        let image = containers.first().map(|container| container.image.as_str()).unwrap_or_default();
        let last = image.split('@').next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        let annotated = deployment.metadata.annotation(annotation::COMPONENT_VERSION);
        let status = &deployment.status;
        Self {
            name: deployment.metadata.name.clone(),
            version: last.rsplit_once(':').map(|(_, tag)| tag).or(annotated).unwrap_or_default().to_owned(),
            replicas: (deployment.spec.replicas.unwrap_or(1), status.updated_replicas, status.ready_replicas),
        }
    }
}

/// Machines or Nodes of a Shoot, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// All of them.
    pub all: i64,
    /// Machines that are `Running`, Nodes that are `Ready`.
    pub ready: i64,
}

impl Count {
    fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// Rows at a revision. Cheap to clone: what is the same is shared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Shoots, by namespace and name.
    pub shoots: Map<ShootRow>,
    /// All of Shoots but metadata and status, as the log has it, by the same names.
    pub specs: RedBlackTreeMapSync<Arc<str>, Bytes>,
    /// CloudProfiles by name, NamespacedCloudProfiles by `NAMESPACE/NAME`.
    pub profiles: Map<ProfileRow>,
    /// Projects, by name.
    pub projects: Map<ProjectRow>,
    /// Seeds, by name.
    pub seeds: Map<SeedRow>,
    /// Deployments of Gardener's components in cluster `runtime`, by `NAMESPACE/NAME`.
    pub components: Map<ComponentRow>,
    /// Instances that run, by the names of their Leases.
    pub instances: Map<Instance>,
    /// Machines by the namespace of the control plane, which is the Shoot's technical ID.
    pub machines: RedBlackTreeMapSync<Arc<str>, Count>,
    /// Nodes by the cluster, whose name is the Shoot's technical ID.
    pub nodes: RedBlackTreeMapSync<Arc<str>, Count>,
}

/// What a resource's objects are in the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Shoots,
    CloudProfiles,
    NamespacedCloudProfiles,
    Projects,
    Seeds,
    Components,
    Instances,
    Machines,
    Nodes,
}

/// Resources of which there are rows, as keys of the log name them.
const RESOURCES: [(&str, Part); 9] = [
    (resource::SHOOTS, Part::Shoots),
    (resource::CLOUD_PROFILES, Part::CloudProfiles),
    (resource::NAMESPACED_CLOUD_PROFILES, Part::NamespacedCloudProfiles),
    (resource::PROJECTS, Part::Projects),
    (resource::SEEDS, Part::Seeds),
    ("apps/deployments", Part::Components),
    ("coordination.k8s.io/leases", Part::Instances),
    (resource::MACHINES, Part::Machines),
    ("/nodes", Part::Nodes),
];

/// Resources of which there are rows, as keys of the log name them.
pub fn resources() -> impl Iterator<Item = &'static str> {
    RESOURCES.iter().map(|(resource, _)| *resource)
}

impl Rows {
    /// What an entry does to them.
    pub fn forwards(&mut self, entry: &Entry, texts: &mut Texts) {
        self.change(entry, before(entry), after(entry), texts);
    }

    /// What undoing an entry does to them.
    pub fn backwards(&mut self, entry: &Entry, texts: &mut Texts) {
        self.change(entry, after(entry), before(entry), texts);
    }

    fn change(&mut self, entry: &Entry, from: Option<Version<'_>>, to: Option<Version<'_>>, texts: &mut Texts) {
        // Heartbeats are no history, and say nothing that is in a row.
        if !entry.volatile {
            self.put(&entry.key, from, to, texts, None);
        }
    }

    /// An object that was `from` is `to`. What is the same in rows of another moment, `like`, is shared with them.
    pub fn put(
        &mut self,
        key: &Key,
        from: Option<Version<'_>>,
        to: Option<Version<'_>>,
        texts: &mut Texts,
        like: Option<&Self>,
    ) {
        let Some((_, part)) = RESOURCES.iter().find(|(resource, _)| **resource == *key.resource) else { return };
        match part {
            Part::Shoots => self.shoot(key, to, texts, like),
            Part::CloudProfiles => row(&mut self.profiles, key, to, ProfileRow::of),
            Part::NamespacedCloudProfiles => row(&mut self.profiles, key, to, ProfileRow::of_namespaced),
            Part::Projects => row(&mut self.projects, key, to, ProjectRow::of),
            Part::Seeds => row(&mut self.seeds, key, to, SeedRow::of),
            Part::Components if &*key.cluster == api::cluster::RUNTIME => {
                row(&mut self.components, key, to, ComponentRow::of);
            }
            Part::Instances if *key.namespace == *namespace::INSTANCES => {
                let found = to.and_then(read::<Lease>).and_then(|lease| lease::registered(&lease.metadata));
                match found {
                    Some(instance) => self.instances.insert_mut(key.name.clone(), Arc::new(instance)),
                    None => drop(self.instances.remove_mut(&key.name)),
                }
            }
            Part::Components | Part::Instances => {}
            Part::Machines => count(&mut self.machines, &key.namespace, from, to, |machine: &Machine| {
                machine.status.current_status.phase == "Running"
            }),
            Part::Nodes => count(&mut self.nodes, &key.cluster, from, to, |node: &Node| {
                node.status.conditions.iter().any(|it| it.r#type == "Ready" && it.status == "True")
            }),
        }
    }

    /// A Shoot is `to`. There are many, and most entries of theirs leave the specification as it is: it is read only when its
    /// bytes are others.
    fn shoot(&mut self, key: &Key, to: Option<Version<'_>>, texts: &mut Texts, like: Option<&Self>) {
        let name = name_of(key);
        let of = |rows: &Self| Some((rows.shoots.get(&name)?.clone(), rows.specs.get(&name)?.clone()));
        let known = of(self).or_else(|| like.and_then(of));
        let row = to.and_then(|(revision, sections)| {
            let same = known.as_ref().filter(|(_, spec)| *spec == sections.parts[3]);
            let Some((row, spec)) = same else {
                let shoot = read::<Shoot>((revision, sections))?;
                let spec = Arc::new(SpecRow::of(&shoot, texts));
                return Some((ShootRow::with(&shoot, spec, texts), sections.parts[3].clone()));
            };
            let mut without = sections.clone();
            without.parts[3] = Bytes::new();
            let shoot = read::<Shoot>((revision, &without))?;
            let mut changed = ShootRow::with(&shoot, row.spec.clone(), texts);
            changed.share(row);
            Some((changed, spec.clone()))
        });
        match row {
            Some((row, spec)) => {
                let same = known.filter(|(known, _)| **known == row).map(|(known, _)| known);
                self.shoots.insert_mut(name.clone(), same.unwrap_or_else(|| Arc::new(row)));
                if self.specs.get(&name).is_none_or(|known| known.as_ptr() != spec.as_ptr()) {
                    self.specs.insert_mut(name, spec);
                }
            }
            None => {
                self.shoots.remove_mut(&name);
                self.specs.remove_mut(&name);
            }
        }
    }
}

fn name_of(key: &Key) -> Arc<str> {
    if key.namespace.is_empty() { key.name.clone() } else { format!("{}/{}", key.namespace, key.name).into() }
}

/// An object as a change left it, and the revision of that change.
pub type Version<'a> = (Revision, &'a Sections);

fn before(entry: &Entry) -> Option<Version<'_>> {
    entry.previous.as_ref().map(|(revision, sections)| (*revision, sections))
}

fn after(entry: &Entry) -> Option<Version<'_>> {
    (entry.verb != Verb::Delete).then_some((entry.revision, &entry.object))
}

/// The object that sections are, without its managed fields: no row has them, and they are long.
pub fn read<K: Resource>((revision, sections): Version<'_>) -> Option<K> {
    let [identity, metadata, _, rest, status] = sections.parts.clone();
    let managed_fields = Bytes::from_static(b"}");
    let whole = encode::Sections { identity, metadata, managed_fields, rest, status }.served(revision.0);
    K::read(&whole).ok()
}

fn row<K: Resource, R>(map: &mut Map<R>, key: &Key, to: Option<Version<'_>>, of: impl Fn(&K) -> R) {
    let name = name_of(key);
    match to.and_then(read::<K>) {
        Some(object) => map.insert_mut(name, Arc::new(of(&object))),
        None => drop(map.remove_mut(&name)),
    }
}

fn count<K: Resource>(
    map: &mut RedBlackTreeMapSync<Arc<str>, Count>,
    name: &Arc<str>,
    from: Option<Version<'_>>,
    to: Option<Version<'_>>,
    is_ready: impl Fn(&K) -> bool,
) {
    let mut count = map.get(name).copied().unwrap_or_default();
    for (version, step) in [(from, -1), (to, 1)] {
        let Some(version) = version else { continue };
        count.all += step;
        if read::<K>(version).is_some_and(|object| is_ready(&object)) {
            count.ready += step;
        }
    }
    if count.is_none() {
        map.remove_mut(name);
    } else {
        map.insert_mut(name.clone(), count);
    }
}
