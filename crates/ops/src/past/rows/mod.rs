// SPDX-License-Identifier: Apache-2.0
//! Rows of lists, some hundred bytes per object, and the maps that hold them.

mod shoot;
mod texts;

use std::sync::Arc;

use api::constants::{annotation, namespace};
use api::core::{CloudProfile, CloudProfileSpec, NamespacedCloudProfile, Project, Seed, Shoot};
use api::kubernetes::apps::Deployment;
use api::kubernetes::coordination::Lease;
use api::kubernetes::core::Node;
use api::machine::Machine;
use apimachinery::Resource;
use apimachinery::encode;
use bytes::Bytes;
use domain::skew::{Instance, lease};
use eventlog::{Entry, Key, Revision, Sections, Verb};
use rpds::RedBlackTreeMapSync;

pub use self::shoot::{ConditionRow, OperationRow, PoolRow, ShootRow, SpecRow};
pub use self::texts::{Text, Texts, Words};
use super::resource;
use crate::names::ProfileKey;

/// Rows by `NAMESPACE/NAME`; objects without a namespace by name.
pub type Map<R> = RedBlackTreeMapSync<Arc<str>, Arc<R>>;

/// A CloudProfile. There are few of them, so the row has the whole specification.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileRow {
    /// Key by which Shoots refer to the profile.
    pub key: ProfileKey,
    /// Offered versions and types; for a NamespacedCloudProfile those in its status.
    pub offered: CloudProfileSpec,
}

impl ProfileRow {
    /// Returns the row of a CloudProfile.
    pub fn of(profile: &CloudProfile) -> Self {
        let key = ProfileKey { namespace: None, name: profile.metadata.name.clone() };
        Self { key, offered: profile.spec.clone() }
    }

    /// Returns the row of a NamespacedCloudProfile.
    pub fn of_namespaced(profile: &NamespacedCloudProfile) -> Self {
        let meta = &profile.metadata;
        let key = ProfileKey { namespace: Some(meta.namespace.clone()), name: meta.name.clone() };
        Self { key, offered: profile.status.cloud_profile_spec.clone() }
    }
}

/// A Project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectRow {
    /// Name of the Project.
    pub name: String,
    /// Namespace of the Project; empty: none yet.
    pub namespace: String,
    /// `status.phase`.
    pub phase: String,
}

impl ProjectRow {
    /// Returns the row of a Project.
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
    /// Name of the Seed.
    pub name: String,
    /// Version of its gardenlet; empty: not reported.
    pub gardener: String,
    /// Kubernetes version of the Seed; empty: unknown.
    pub kubernetes: String,
    /// `status.conditions`.
    pub conditions: Arc<[ConditionRow]>,
}

impl SeedRow {
    /// Returns the row of a Seed.
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
    /// Name of the Deployment.
    pub name: String,
    /// Tag of its image; empty: the image has no tag.
    pub version: String,
    /// Numbers of desired, updated and ready pods.
    pub replicas: (i32, i32, i32),
}

impl ComponentRow {
    /// Returns the row of a Deployment.
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

/// Number of a Shoot's Machines or Nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Total number.
    pub all: i64,
    /// Number of Machines in phase `Running`, or of Nodes that are `Ready`.
    pub ready: i64,
}

impl Count {
    fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// Rows at a revision. Cheap to clone: unchanged rows are shared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Shoots by `NAMESPACE/NAME`.
    pub shoots: Map<ShootRow>,
    /// Shoots without metadata and status, in the log's bytes, by the same names.
    pub specs: RedBlackTreeMapSync<Arc<str>, Bytes>,
    /// CloudProfiles by name, NamespacedCloudProfiles by `NAMESPACE/NAME`.
    pub profiles: Map<ProfileRow>,
    /// Projects by name.
    pub projects: Map<ProjectRow>,
    /// Seeds by name.
    pub seeds: Map<SeedRow>,
    /// Deployments of Gardener's components in cluster `runtime`, by `NAMESPACE/NAME`.
    pub components: Map<ComponentRow>,
    /// Running instances by the names of their Leases.
    pub instances: Map<Instance>,
    /// Machines by the control plane's namespace, which is the Shoot's technical ID.
    pub machines: RedBlackTreeMapSync<Arc<str>, Count>,
    /// Nodes by cluster, whose name is the Shoot's technical ID.
    pub nodes: RedBlackTreeMapSync<Arc<str>, Count>,
}

/// Part of the rows to which a resource belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
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

/// Resources that have rows, by their names in keys of the log.
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

/// Names of the resources that have rows, as in keys of the log.
pub fn resources() -> impl Iterator<Item = &'static str> {
    RESOURCES.iter().map(|(resource, _)| *resource)
}

impl Part {
    /// Returns the part of an object's key; `None`: its resource has no rows.
    pub(super) fn of(key: &Key) -> Option<Self> {
        let (_, part) = RESOURCES.iter().find(|(resource, _)| **resource == *key.resource)?;
        let is_shown = match part {
            Self::Components => &*key.cluster == api::cluster::RUNTIME,
            Self::Instances => *key.namespace == *namespace::INSTANCES,
            _ => true,
        };
        is_shown.then_some(*part)
    }

    /// Returns the name of an object in the rows.
    pub(super) fn name(self, key: &Key) -> Arc<str> {
        match self {
            Self::Instances => key.name.clone(),
            Self::Machines => key.namespace.clone(),
            Self::Nodes => key.cluster.clone(),
            _ if key.namespace.is_empty() => key.name.clone(),
            _ => format!("{}/{}", key.namespace, key.name).into(),
        }
    }
}

impl Rows {
    /// Applies an entry to the rows.
    pub fn forwards(&mut self, entry: &Entry, texts: &mut Texts) {
        self.change(entry, before(entry), after(entry), texts);
    }

    /// Reverts an entry.
    pub fn backwards(&mut self, entry: &Entry, texts: &mut Texts) {
        self.change(entry, after(entry), before(entry), texts);
    }

    fn change(&mut self, entry: &Entry, from: Option<Version<'_>>, to: Option<Version<'_>>, texts: &mut Texts) {
        // Heartbeats are not part of the history, and change no row.
        if !entry.volatile {
            self.put(&entry.key, from, to, texts, None);
        }
    }

    /// Replaces the state `from` of an object with `to`. Values equal to those in `like`, the rows of another moment, are
    /// shared.
    pub fn put(
        &mut self,
        key: &Key,
        from: Option<Version<'_>>,
        to: Option<Version<'_>>,
        texts: &mut Texts,
        like: Option<&Self>,
    ) {
        let Some(part) = Part::of(key) else { return };
        let name = part.name(key);
        match part {
            Part::Shoots => self.shoot(name, to, texts, like),
            Part::CloudProfiles => row(&mut self.profiles, name, to, ProfileRow::of),
            Part::NamespacedCloudProfiles => row(&mut self.profiles, name, to, ProfileRow::of_namespaced),
            Part::Projects => row(&mut self.projects, name, to, ProjectRow::of),
            Part::Seeds => row(&mut self.seeds, name, to, SeedRow::of),
            Part::Components => row(&mut self.components, name, to, ComponentRow::of),
            Part::Instances => {
                let found = to.and_then(read::<Lease>).and_then(|lease| lease::registered(&lease.metadata));
                match found {
                    Some(instance) => self.instances.insert_mut(name, Arc::new(instance)),
                    None => drop(self.instances.remove_mut(&name)),
                }
            }
            Part::Machines => count(&mut self.machines, &name, from, to, |machine: &Machine| {
                machine.status.current_status.phase == "Running"
            }),
            Part::Nodes => count(&mut self.nodes, &name, from, to, |node: &Node| {
                node.status.conditions.iter().any(|it| it.r#type == "Ready" && it.status == "True")
            }),
        }
    }

    /// Replaces the state of a Shoot. Shoots are many, and most of their entries do not change the specification: it is
    /// decoded only when its bytes have changed.
    fn shoot(&mut self, name: Arc<str>, to: Option<Version<'_>>, texts: &mut Texts, like: Option<&Self>) {
        let of = |rows: &Self| Some((rows.shoots.get(&name)?.clone(), rows.specs.get(&name)?.clone()));
        let known = of(self).or_else(|| like.and_then(of));
        let row = to.and_then(|(revision, sections)| {
            let same = known.as_ref().filter(|(_, spec)| *spec == sections.parts[3]);
            let Some((row, spec)) = same else {
                let shoot = read::<Shoot>((revision, sections))?;
                let spec = Arc::new(SpecRow::of(&shoot, texts));
                return Some((ShootRow::with(&shoot, spec, texts), texts.bytes(&sections.parts[3])));
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

/// State of an object after a change, with the revision of that change.
pub type Version<'a> = (Revision, &'a Sections);

fn before(entry: &Entry) -> Option<Version<'_>> {
    entry.previous.as_ref().map(|(revision, sections)| (*revision, sections))
}

fn after(entry: &Entry) -> Option<Version<'_>> {
    (entry.verb != Verb::Delete).then_some((entry.revision, &entry.object))
}

/// Decodes an object from its sections, without its managed fields, which are long and not in any row.
pub fn read<K: Resource>((revision, sections): Version<'_>) -> Option<K> {
    let [identity, metadata, _, rest, status] = sections.parts.clone();
    let managed_fields = Bytes::from_static(b"}");
    let whole = encode::Sections { identity, metadata, managed_fields, rest, status }.served(revision.0);
    K::read(&whole).ok()
}

fn row<K: Resource, R>(map: &mut Map<R>, name: Arc<str>, to: Option<Version<'_>>, of: impl Fn(&K) -> R) {
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
