// SPDX-License-Identifier: Apache-2.0
//! What lists show of objects: rows of some hundred bytes, and the maps that hold them.

use std::sync::Arc;

use api::constants::{annotation, namespace};
use api::core::{CloudProfile, CloudProfileSpec, Condition, NamespacedCloudProfile, Project, Seed, Shoot, Worker};
use api::kubernetes::apps::Deployment;
use api::kubernetes::coordination::Lease;
use api::kubernetes::core::Node;
use api::machine::Machine;
use apimachinery::Resource;
use apimachinery::encode;
use chrono::{DateTime, Utc};
use domain::reconcile::{is_confined, is_hibernation_enabled};
use domain::skew::{Instance, lease};
use eventlog::{Entry, Key, Revision, Sections, Verb};
use rpds::RedBlackTreeMapSync;

use super::resource;
use crate::world::ProfileKey;

/// Rows by `NAMESPACE/NAME`; of objects without a namespace by name.
pub type Map<R> = RedBlackTreeMapSync<Arc<str>, Arc<R>>;

/// A condition, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionRow {
    /// Type of the condition: `APIServerAvailable`.
    pub name: String,
    /// `True`, `False`, `Unknown`, `Progressing`.
    pub status: String,
    /// In one word.
    pub reason: String,
    /// Since when it has this status.
    pub since: Option<DateTime<Utc>>,
}

impl ConditionRow {
    fn all(conditions: &[Condition]) -> Vec<Self> {
        let row = |condition: &Condition| Self {
            name: condition.r#type.clone(),
            status: condition.status.clone(),
            reason: condition.reason.clone(),
            since: Some(condition.last_transition_time.0),
        };
        conditions.iter().map(row).collect()
    }
}

/// The last operation of a Shoot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationRow {
    /// `Create`, `Reconcile`, `Delete`, `Migrate`, `Restore`.
    pub kind: String,
    /// `Processing`, `Succeeded`, `Error`, `Failed`, `Pending`, `Aborted`.
    pub state: String,
    /// Progress of the operation in percent, 0 to 100.
    pub progress: i32,
    /// When it was written.
    pub time: DateTime<Utc>,
}

/// A worker pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolRow {
    /// Its name.
    pub name: String,
    /// Name of its machine image; empty: none is set.
    pub image: String,
    /// Version of the image.
    pub image_version: String,
    /// A Kubernetes version of its own.
    pub kubernetes: Option<String>,
    /// Least and most nodes.
    pub nodes: (i32, i32),
}

/// A Shoot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShootRow {
    /// Namespace of its Project.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Revision of its last change.
    pub revision: u64,
    /// When it was created.
    pub created: DateTime<Utc>,
    /// Whether it is being deleted.
    pub is_being_deleted: bool,
    /// Name of its control plane, `shoot--PROJECT--NAME`; empty: it has none yet.
    pub technical_id: String,
    /// `spec.kubernetes.version`.
    pub kubernetes: String,
    /// The profile that it refers to.
    pub profile: ProfileKey,
    /// Type of the provider.
    pub provider: String,
    /// `spec.region`.
    pub region: String,
    /// `spec.purpose`; empty: none.
    pub purpose: String,
    /// The Seed that it is on or goes to.
    pub seed: Option<String>,
    /// Version of the gardenlet that reconciled it last; empty: none has.
    pub gardener: String,
    /// Whether it is to be, and whether it is hibernated.
    pub hibernation: (bool, bool),
    /// Whether changes wait for the maintenance window, and whether some do.
    pub confined: (bool, bool),
    /// Its worker pools.
    pub pools: Vec<PoolRow>,
    /// `status.lastOperation`.
    pub operation: Option<OperationRow>,
    /// Codes of `status.lastErrors`.
    pub errors: Vec<String>,
    /// `status.conditions`.
    pub conditions: Vec<ConditionRow>,
    /// `status.constraints` that are not `True`.
    pub constraints: Vec<ConditionRow>,
}

impl ShootRow {
    /// Of a Shoot.
    pub fn of(shoot: &Shoot) -> Self {
        let (spec, status) = (&shoot.spec, &shoot.status);
        let pool = |worker: &Worker| {
            let image = worker.machine.image.as_ref();
            PoolRow {
                name: worker.name.clone(),
                image: image.map(|image| image.name.clone()).unwrap_or_default(),
                image_version: image.and_then(|image| image.version.clone()).unwrap_or_default(),
                kubernetes: worker.kubernetes.as_ref().and_then(|own| own.version.clone()),
                nodes: (worker.minimum, worker.maximum),
            }
        };
        let is_behind = shoot.metadata.generation != status.observed_generation;
        let confines = is_confined(spec);
        let mut constraints = ConditionRow::all(&status.constraints);
        constraints.retain(|constraint| constraint.status != "True");
        Self {
            namespace: shoot.metadata.namespace.clone(),
            name: shoot.metadata.name.clone(),
            revision: shoot.metadata.resource_version.parse().unwrap_or_default(),
            created: shoot.metadata.creation_timestamp.0,
            is_being_deleted: shoot.metadata.is_being_deleted(),
            technical_id: status.technical_id.clone(),
            kubernetes: spec.kubernetes.version.clone(),
            profile: ProfileKey::of(shoot),
            provider: spec.provider.r#type.clone(),
            region: spec.region.clone(),
            purpose: spec.purpose.clone().unwrap_or_default(),
            seed: status.seed_name.clone().or_else(|| spec.seed_name.clone()),
            gardener: status.gardener.version.clone(),
            hibernation: (is_hibernation_enabled(spec), status.hibernated),
            confined: (confines, confines && is_behind),
            pools: spec.provider.workers.iter().map(pool).collect(),
            operation: status.last_operation.as_ref().map(|last| OperationRow {
                kind: last.r#type.clone(),
                state: last.state.clone(),
                progress: last.progress,
                time: last.last_update_time.0,
            }),
            errors: status.last_errors.iter().flat_map(|error| error.codes.iter().cloned()).collect(),
            conditions: ConditionRow::all(&status.conditions),
            constraints,
        }
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
    pub conditions: Vec<ConditionRow>,
}

impl SeedRow {
    /// Of a Seed.
    pub fn of(seed: &Seed) -> Self {
        let status = &seed.status;
        Self {
            name: seed.metadata.name.clone(),
            gardener: status.gardener.as_ref().map(|own| own.version.clone()).unwrap_or_default(),
            kubernetes: status.kubernetes_version.clone().unwrap_or_default(),
            conditions: ConditionRow::all(&status.conditions),
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
    pub fn forwards(&mut self, entry: &Entry) {
        self.change(entry, before(entry), after(entry));
    }

    /// What undoing an entry does to them.
    pub fn backwards(&mut self, entry: &Entry) {
        self.change(entry, after(entry), before(entry));
    }

    fn change(&mut self, entry: &Entry, from: Option<Version<'_>>, to: Option<Version<'_>>) {
        // Heartbeats are no history, and say nothing that is in a row.
        if !entry.volatile {
            self.put(&entry.key, from, to);
        }
    }

    /// An object that was `from` is `to`.
    pub fn put(&mut self, key: &Key, from: Option<Version<'_>>, to: Option<Version<'_>>) {
        let Some((_, part)) = RESOURCES.iter().find(|(resource, _)| **resource == *key.resource) else { return };
        match part {
            Part::Shoots => row(&mut self.shoots, key, to, ShootRow::of),
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
}

/// An object as a change left it, and the revision of that change.
pub type Version<'a> = (Revision, &'a Sections);

fn before(entry: &Entry) -> Option<Version<'_>> {
    entry.previous.as_ref().map(|(revision, sections)| (*revision, sections))
}

fn after(entry: &Entry) -> Option<Version<'_>> {
    (entry.verb != Verb::Delete).then_some((entry.revision, &entry.object))
}

/// The object that sections are.
pub fn read<K: Resource>((revision, sections): Version<'_>) -> Option<K> {
    let [identity, metadata, managed_fields, rest, status] = sections.parts.clone();
    let whole = encode::Sections { identity, metadata, managed_fields, rest, status }.served(revision.0);
    K::read(&whole).ok()
}

fn row<K: Resource, R>(map: &mut Map<R>, key: &Key, to: Option<Version<'_>>, of: impl Fn(&K) -> R) {
    let name: Arc<str> =
        if key.namespace.is_empty() { key.name.clone() } else { format!("{}/{}", key.namespace, key.name).into() };
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
