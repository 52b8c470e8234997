// SPDX-License-Identifier: Apache-2.0
//! State that all controllers of one gardenlet share: identity, local copies, and change signals.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::cluster;
pub(crate) use api::cluster::{GARDEN, RUNTIME};
use api::constants::{label, role};
use api::core::{
    BackupEntry, CloudProfile, ControllerInstallation, ControllerRegistration, Gardener, InternalSecret,
    NamespacedCloudProfile, Project, SecretBinding, Seed, Shoot,
};
use api::extensions::{
    Cluster, ContainerRuntime, ControlPlane, DNSRecord, Extension, Infrastructure, Network, OperatingSystemConfig,
    Worker,
};
use api::kubernetes::apps::{DaemonSet, Deployment, StatefulSet};
use api::kubernetes::core::{ConfigMap, Namespace, Node, Secret};
use api::machine::{Machine, MachineDeployment};
use api::security::CredentialsBinding;
use api::terrarium::{self, Fault};
use apimachinery::Resource;
use chrono::TimeDelta;
use clock::TimerClass;
use controller::{Api, Change, Controller, Error, ListOptions, ObjectKey, Recorder, Store};
use domain::cloud_profile::Profiles;
use domain::events;
use domain::release::{NEWEST, Release};
use domain::required_extensions::too_new_for;
use domain::skew::GardenerVersion;
use domain::upgrade::changes::has_component;
use parking_lot::Mutex;
use process::{Context, watch};

use super::Options;
use super::botanist::credentials::Credentials;
use super::copies::Copies;
use crate::durations::Durations;

/// A gardenlet process.
#[derive(Debug)]
pub(crate) struct Gardenlet {
    pub(crate) context: Context,
    pub(crate) options: Options,
    /// Content of `status.gardener` of Seed and Shoots.
    pub(crate) identity: Gardener,
    /// Name of the seed's cluster.
    pub(crate) seed_cluster: String,
    pub(crate) stores: Stores,
    pub(crate) signals: Signals,
    pub(crate) durations: Durations,
    /// Credentials of Shoots that this process has generated.
    pub(crate) credentials: MadeCredentials,
    /// Recorder of Events in the garden.
    pub(crate) recorder: Recorder,
    /// Copies of CloudProfiles and the Seed for Cluster objects.
    pub(crate) copies: Copies,
}

impl Gardenlet {
    /// Returns the gardenlet's version; `None` if it is not a Gardener version.
    pub(crate) fn version(&self) -> Option<GardenerVersion> {
        GardenerVersion::parse(&self.identity.version)
    }

    /// Returns the gardenlet's release; the newest known one for a version that is not Gardener's.
    pub(crate) fn release(&self) -> Release {
        self.version().map_or(NEWEST, |version| version.served_release())
    }

    /// Returns a recorder of Events of a controller, in the form of its release.
    pub(crate) fn recorder(&self, controller: &str) -> Recorder {
        recorder(&self.context, controller)
    }

    /// True if the gardenlet's version deploys a component that was added or removed with a release.
    pub(crate) fn has_component(&self, what: &str) -> bool {
        self.version().is_none_or(|version| has_component(what, &version))
    }

    /// Returns the reason why the extension of a kind and type does not work here: its library is too new for the
    /// gardenlet.
    pub(crate) fn extension_is_too_new(&self, kind: &str, type_: &str) -> Option<String> {
        if !self.options.profile.enforces_extensions() {
            return None;
        }
        let registrations = self.stores.controller_registrations.list();
        let installations = self.stores.controller_installations.list();
        let seed = &self.options.seed_name;
        let (registrations, installations) = (registrations.iter(), installations.iter());
        too_new_for(kind, type_, seed, registrations.map(AsRef::as_ref), installations.map(AsRef::as_ref))
    }

    /// Returns a client for objects of the garden; empty `namespace`: all namespaces.
    pub(crate) fn garden<K: Resource>(&self, namespace: &str) -> Api<K> {
        scoped(&self.context, GARDEN, namespace)
    }

    /// Returns a client for objects of the seed.
    pub(crate) fn seed<K: Resource>(&self, namespace: &str) -> Api<K> {
        scoped(&self.context, &self.seed_cluster, namespace)
    }

    /// Returns a client for objects of a shoot.
    pub(crate) fn shoot<K: Resource>(&self, technical_id: &str, namespace: &str) -> Api<K> {
        scoped(&self.context, technical_id, namespace)
    }

    /// Returns a client for Shoots, whose writes the local copy shows at once.
    pub(crate) fn shoots(&self, namespace: &str) -> Api<Shoot> {
        self.garden(namespace).with_store(&self.stores.shoots)
    }

    /// Returns an object of a cluster from the local copy.
    pub(crate) fn known<K: Local>(&self, cluster: &str, namespace: &str, name: &str) -> Option<Arc<K>> {
        K::store(&self.stores).get(&ObjectKey::new(cluster, namespace, name))
    }

    /// Returns an object of the garden that users write; from the server if `is_fresh`.
    pub(crate) async fn read<K: Local>(
        &self,
        namespace: &str,
        name: &str,
        is_fresh: bool,
    ) -> Result<Option<Arc<K>>, Error> {
        if is_fresh {
            return self.garden::<K>(namespace).get_shared(name).await;
        }
        Ok(self.known(GARDEN, namespace, name))
    }

    /// Creates or updates an object. Sends no request if the local copy equals `object`.
    pub(crate) async fn apply<K: Local>(&self, api: &Api<K>, object: &K) -> Result<K, Error> {
        api.with_store(K::store(&self.stores)).create_or_update(object).await
    }

    /// Returns the key of an object of the seed.
    pub(crate) fn seed_key(&self, namespace: &str, name: &str) -> ObjectKey {
        ObjectKey { cluster: self.seed_cluster.as_str().into(), namespace: namespace.into(), name: name.into() }
    }

    /// Waits until `ready` returns a value; it is called at once and whenever something about the Shoot changes. `None`
    /// if `timeout` passes first.
    pub(crate) async fn wait<T>(
        &self,
        technical_id: &str,
        timeout: TimeDelta,
        mut ready: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        let mut changes = self.signals.subscribe(technical_id);
        if let Some(answer) = ready() {
            return Some(answer);
        }
        let mut end = self.context.clock.sleep(timeout, TimerClass::Work);
        loop {
            tokio::select! {
                biased;
                _ = changes.changed() => {
                    if let Some(answer) = ready() {
                        return Some(answer);
                    }
                }
                () = &mut end => return ready(),
            }
        }
    }
}

/// Returns a recorder of Events in the garden, in the form of the component's release.
pub(crate) fn recorder(context: &Context, controller: &str) -> Recorder {
    Recorder::named(context, GARDEN, controller).with_actions(events::have_actions(&context.identity.version))
}

fn scoped<K: Resource>(context: &Context, cluster: &str, namespace: &str) -> Api<K> {
    if namespace.is_empty() { Api::all(context, cluster) } else { Api::namespaced(context, cluster, namespace) }
}

/// Returns the key of an object of the garden.
pub(crate) fn garden_key(namespace: &str, name: &str) -> ObjectKey {
    ObjectKey { cluster: GARDEN.into(), namespace: namespace.into(), name: name.into() }
}

/// Credentials by technical ID. They are reproducible, and cached because generating them takes long.
#[derive(Debug, Default)]
pub(crate) struct MadeCredentials(Mutex<BTreeMap<String, Arc<Credentials>>>);

impl MadeCredentials {
    pub(crate) fn get(&self, technical_id: &str) -> Option<Arc<Credentials>> {
        self.0.lock().get(technical_id).cloned()
    }

    pub(crate) fn insert(&self, technical_id: &str, made: Credentials) -> Arc<Credentials> {
        let made = Arc::new(made);
        let mut all = self.0.lock();
        all.insert(technical_id.to_owned(), made.clone());
        made
    }

    pub(crate) fn forget(&self, technical_id: &str) {
        self.0.lock().remove(technical_id);
    }
}

/// Change signals for the objects of a Shoot, by technical ID.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signals(Arc<Mutex<BTreeMap<Arc<str>, watch::Sender<u64>>>>);

impl Signals {
    fn subscribe(&self, technical_id: &str) -> watch::Receiver<u64> {
        let mut senders = self.0.lock();
        senders.entry(technical_id.into()).or_insert_with(|| watch::channel(0).0).subscribe()
    }

    /// Signals a change of a Shoot's objects.
    pub(crate) fn raise(&self, technical_id: &str) {
        let mut senders = self.0.lock();
        let Some(sender) = senders.get(technical_id) else { return };
        if sender.receiver_count() == 0 {
            senders.remove(technical_id);
        } else {
            sender.send_modify(|count| *count += 1);
        }
    }
}

impl Profiles for &Stores {
    fn cloud_profile(&mut self, name: &str) -> Option<Arc<CloudProfile>> {
        self.cloud_profiles.get(&garden_key("", name))
    }

    fn namespaced_cloud_profile(&mut self, namespace: &str, name: &str) -> Option<Arc<NamespacedCloudProfile>> {
        self.namespaced_cloud_profiles.get(&garden_key(namespace, name))
    }
}

/// Local copies of objects. They show what the gardenlet writes through [`Gardenlet::apply`] and [`Gardenlet::shoots`]
/// before the watch delivers it.
#[derive(Clone, Debug)]
pub(crate) struct Stores {
    pub(crate) shoots: Store<Shoot>,
    pub(crate) seeds: Store<Seed>,
    pub(crate) projects: Store<Project>,
    pub(crate) cloud_profiles: Store<CloudProfile>,
    pub(crate) namespaced_cloud_profiles: Store<NamespacedCloudProfile>,
    pub(crate) controller_registrations: Store<ControllerRegistration>,
    pub(crate) controller_installations: Store<ControllerInstallation>,
    pub(crate) namespaces: Store<Namespace>,
    pub(crate) infrastructures: Store<Infrastructure>,
    pub(crate) control_planes: Store<ControlPlane>,
    pub(crate) networks: Store<Network>,
    pub(crate) operating_system_configs: Store<OperatingSystemConfig>,
    pub(crate) workers: Store<Worker>,
    pub(crate) dns_records: Store<DNSRecord>,
    pub(crate) extensions: Store<Extension>,
    pub(crate) container_runtimes: Store<ContainerRuntime>,
    pub(crate) machine_deployments: Store<MachineDeployment>,
    pub(crate) machines: Store<Machine>,
    pub(crate) deployments: Store<Deployment>,
    pub(crate) stateful_sets: Store<StatefulSet>,
    pub(crate) daemon_sets: Store<DaemonSet>,
    pub(crate) nodes: Store<Node>,
    /// Faults that are injected.
    pub(crate) faults: Store<Fault>,
    /// Durations of simulated work.
    pub(crate) timing: Store<terrarium::Timing>,
    /// Copies of Shoots and what they refer to, for extensions.
    pub(crate) clusters: Store<Cluster>,
    /// The logical clusters of Shoots.
    pub(crate) shoot_clusters: Store<terrarium::Cluster>,
    pub(crate) config_maps: Store<ConfigMap>,
    pub(crate) secrets: Store<Secret>,
    /// The landscape's own domains.
    pub(crate) domain_secrets: Store<Secret>,
    pub(crate) internal_secrets: Store<InternalSecret>,
    pub(crate) backup_entries: Store<BackupEntry>,
    pub(crate) secret_bindings: Store<SecretBinding>,
    pub(crate) credentials_bindings: Store<CredentialsBinding>,
}

/// A kind of which the gardenlet has a local copy.
pub(crate) trait Local: Resource {
    /// Returns the local copy.
    fn store(stores: &Stores) -> &Store<Self>;
}

macro_rules! local {
    ($($kind:ty: $store:ident,)*) => {
        $(impl Local for $kind {
            fn store(stores: &Stores) -> &Store<Self> {
                &stores.$store
            }
        })*
    };
}

local! {
    BackupEntry: backup_entries,
    Cluster: clusters,
    ConfigMap: config_maps,
    CredentialsBinding: credentials_bindings,
    DaemonSet: daemon_sets,
    Deployment: deployments,
    InternalSecret: internal_secrets,
    Namespace: namespaces,
    Secret: secrets,
    SecretBinding: secret_bindings,
    StatefulSet: stateful_sets,
    terrarium::Cluster: shoot_clusters,
}

/// Returns the technical ID of the Shoot that an object of a seed or of a shoot belongs to.
fn technical_id<K>(change: &Change<K>) -> Option<Arc<str>> {
    let key = &change.key;
    if cluster::is_technical_id(&key.cluster) {
        Some(key.cluster.clone())
    } else if cluster::is_technical_id(&key.namespace) {
        Some(key.namespace.clone())
    } else if key.namespace.is_empty() && cluster::is_technical_id(&key.name) {
        Some(key.name.clone())
    } else {
        None
    }
}

/// Returns the key by which care queues a Shoot: its technical ID.
pub(crate) fn care_key(technical_id: &Arc<str>) -> ObjectKey {
    ObjectKey { cluster: GARDEN.into(), namespace: "".into(), name: technical_id.clone() }
}

impl Stores {
    /// Creates the local copies, watched by `care`, which checks a Shoot's health whenever one of its objects changes.
    pub(crate) fn new(context: &Context, options: &Options, care: &mut Controller, signals: &Signals) -> Self {
        let seed_cluster = cluster::of_seed(&options.seed_name);
        /// Creates a store of objects that belong to Shoots: a change signals the Shoot's flow and queues its care.
        fn owned<K: Resource>(care: &mut Controller, signals: &Signals, api: Api<K>, is_health: bool) -> Store<K> {
            let signals = signals.clone();
            care.watch(api, ListOptions::default(), move |change| {
                let Some(technical_id) = technical_id(change) else { return Vec::new() };
                signals.raise(&technical_id);
                if is_health { vec![care_key(&technical_id)] } else { Vec::new() }
            })
        }
        let seed = seed_cluster.as_str();
        let shoots = {
            let options = ListOptions {
                label_selector: format!("{}{}=true", label::SEED_NAME_PREFIX, options.seed_name),
                ..ListOptions::default()
            };
            let signals = signals.clone();
            care.watch(Api::<Shoot>::all(context, GARDEN), options, move |change: &Change<Shoot>| {
                let Some(new) = &change.new else { return Vec::new() };
                let technical_id: Arc<str> = new.status.technical_id.as_str().into();
                if technical_id.is_empty() {
                    return Vec::new();
                }
                signals.raise(&technical_id);
                let is_news = change.old.as_ref().is_none_or(|old| health_inputs_differ(old, new));
                if is_news { vec![care_key(&technical_id)] } else { Vec::new() }
            })
        };
        Self {
            shoots,
            seeds: care.store(
                Api::all(context, GARDEN),
                ListOptions {
                    field_selector: format!("metadata.name={}", options.seed_name),
                    ..ListOptions::default()
                },
            ),
            projects: care.store(Api::all(context, GARDEN), ListOptions::default()),
            cloud_profiles: care.store(Api::all(context, GARDEN), ListOptions::default()),
            namespaced_cloud_profiles: care.store(Api::all(context, GARDEN), ListOptions::default()),
            controller_registrations: care.store(Api::all(context, GARDEN), ListOptions::default()),
            controller_installations: care.store(Api::all(context, GARDEN), ListOptions::default()),
            namespaces: owned(care, signals, Api::all(context, seed), false),
            infrastructures: owned(care, signals, Api::all(context, seed), false),
            control_planes: owned(care, signals, Api::all(context, seed), false),
            networks: owned(care, signals, Api::all(context, seed), false),
            operating_system_configs: owned(care, signals, Api::all(context, seed), false),
            workers: owned(care, signals, Api::all(context, seed), false),
            dns_records: owned(care, signals, Api::all(context, seed), false),
            extensions: owned(care, signals, Api::all(context, seed), false),
            container_runtimes: owned(care, signals, Api::all(context, seed), false),
            machine_deployments: owned(care, signals, Api::all(context, seed), true),
            machines: owned(care, signals, Api::all(context, seed), true),
            deployments: owned(care, signals, Api::all(context, "*"), true),
            stateful_sets: owned(care, signals, Api::all(context, seed), true),
            daemon_sets: owned(care, signals, Api::all(context, "*"), true),
            nodes: owned(care, signals, Api::all(context, "*"), true),
            faults: care.store(Api::all(context, RUNTIME), ListOptions::default()),
            timing: care.store(Api::all(context, RUNTIME), ListOptions::default()),
            clusters: care.store(Api::all(context, seed), ListOptions::default()),
            shoot_clusters: care.store(Api::all(context, RUNTIME), ListOptions::default()),
            config_maps: care.store(Api::all(context, "*"), ListOptions::default()),
            secrets: care.store(Api::all(context, "*"), ListOptions::default()),
            domain_secrets: care.store(Api::namespaced(context, GARDEN, "garden"), domain_secrets()),
            internal_secrets: care.store(Api::all(context, GARDEN), ListOptions::default()),
            backup_entries: care.store(Api::all(context, GARDEN), ListOptions::default()),
            secret_bindings: care.store(Api::all(context, GARDEN), ListOptions::default()),
            credentials_bindings: care.store(Api::all(context, GARDEN), ListOptions::default()),
        }
    }

    /// Resolves once the stores of user-written objects are synced: then a missing object does not exist.
    pub(crate) async fn user_objects_are_synced(&self) {
        self.config_maps.synced().await;
        self.secrets.synced().await;
        self.domain_secrets.synced().await;
        self.secret_bindings.synced().await;
        self.credentials_bindings.synced().await;
    }
}

/// Selects the Secrets that hold the landscape's domains.
pub(crate) fn domain_secrets() -> ListOptions {
    let label_selector = format!("{} in ({},{})", label::ROLE, role::INTERNAL_DOMAIN, role::DEFAULT_DOMAIN);
    ListOptions { label_selector, ..ListOptions::default() }
}

/// True if a change of a Shoot can change its health.
fn health_inputs_differ(old: &Shoot, new: &Shoot) -> bool {
    let operation = |shoot: &Shoot| {
        let operation = shoot.status.last_operation.as_ref();
        operation.map(|operation| (operation.r#type.clone(), operation.state.clone()))
    };
    old.metadata.generation != new.metadata.generation
        || old.spec != new.spec
        || operation(old) != operation(new)
        || old.status.technical_id != new.status.technical_id
        || old.status.hibernated != new.status.hibernated
        || old.status.last_errors.is_empty() != new.status.last_errors.is_empty()
        || old.status.conditions != new.status.conditions
        || old.status.constraints != new.status.constraints
        || old.status.in_place_updates != new.status.in_place_updates
}
