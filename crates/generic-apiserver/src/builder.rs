// SPDX-License-Identifier: Apache-2.0
//! Builder of a server: its foundation, its resources and its policies.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use apimachinery::catalogue::ResourceInfo;
use apimachinery::release::Release;
use apimachinery::schema::Node;
use apimachinery::{DynamicObject, Object};
use clock::Clock;
use eventlog::EventLog;
use process::Transport;

use crate::admission::Plugin;
use crate::authentication::Authenticator;
use crate::authorization::{AllowAll, Authorizer};
use crate::backend::{Backend, Foundation, Scheme};
use crate::clusters::{Clusters, FixedClusters};
use crate::http::{Health, Metrics};
use crate::kind::{Kind, Typed};
use crate::observer::Observer;
use crate::registry::{Generic, Shape, Strategy};
use crate::routes::{Routes, Row};
use crate::server::delegates::Delegates;
use crate::server::{Inner, Server};
use crate::storage::{CollectionId, Observers, Store, partial, present, renamed};
use crate::subresource::Subresource;
use crate::views::{self, Renamed, View};
use crate::webhooks::Names;
use crate::webhooks::{WebhookCaller, Webhooks};

/// Parts of the process that serves the log, for a server in the same process.
pub struct Local {
    /// The log.
    pub log: Arc<dyn EventLog>,
    /// Landscape time.
    pub time: Clock,
    /// Servers of the landscape by their names.
    pub names: Names,
    /// Receives the transport to the server before the server is ready. The headers of a front proxy name the user of a request.
    pub offer: Box<dyn FnOnce(Transport) + Send>,
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").finish_non_exhaustive()
    }
}

/// Bytes of objects in recent changes that a server with many clients keeps in memory.
pub const RECENT_BYTES: usize = 16 << 20;

/// Builder of a [`Server`].
pub struct Builder {
    foundation: Foundation,
    kinds: Vec<(Arc<dyn Kind>, bool)>,
    described: Vec<ResourceInfo>,
    plugins: Vec<Arc<dyn Plugin>>,
    authorizer: Arc<dyn Authorizer>,
    clusters: Arc<dyn Clusters>,
    cluster_annotation: &'static str,
    own_agents: &'static [&'static str],
    folds: Option<&'static str>,
    observers: Observers,
    views: Vec<View>,
    reviews: Vec<ResourceInfo>,
    subresources: Vec<(ResourceInfo, &'static str, Arc<dyn Subresource>)>,
    webhooks: Option<Arc<dyn WebhookCaller>>,
    authenticator: Option<Arc<dyn Authenticator>>,
    health: Health,
    metrics: Option<Metrics>,
    release: Release,
    scheme: &'static str,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("foundation", &self.foundation).finish_non_exhaustive()
    }
}

impl Builder {
    /// Creates a builder of a server without resources and clusters, which allows everything.
    pub fn new(foundation: Foundation) -> Self {
        Self {
            foundation,
            kinds: Vec::new(),
            described: Vec::new(),
            plugins: Vec::new(),
            authorizer: Arc::new(AllowAll),
            clusters: Arc::new(FixedClusters::default()),
            cluster_annotation: "",
            own_agents: &[],
            folds: None,
            observers: Observers::new(),
            views: Vec::new(),
            reviews: Vec::new(),
            subresources: Vec::new(),
            webhooks: None,
            authenticator: None,
            health: Health::default(),
            metrics: None,
            release: Release::UNION,
            scheme: "pkg/api/legacyscheme/scheme.go:30",
        }
    }

    /// Sets the source location of upstream's scheme, which refusals show. Default: that of kube-apiserver.
    pub fn scheme(mut self, place: &'static str) -> Self {
        self.scheme = place;
        self
    }

    /// Sets the release of the resources that are added afterwards: only its fields ([`ResourceInfo::fields`]) are served.
    /// Other fields of stored objects are not shown and are kept.
    pub fn release(mut self, release: Release) -> Self {
        self.release = release;
        self
    }

    /// Serves a resource: `O` is a typed kind or [`apimachinery::DynamicObject`]. A second call for one resource
    /// replaces the first.
    pub fn resource<O: Object>(mut self, info: &ResourceInfo, strategy: impl Strategy<O>) -> Self {
        self.kinds.push((Arc::new(Typed::<O, _>::new(&info.at(self.release), strategy)), true));
        self
    }

    /// Folds a resource that another server serves, so that admission and namespace checks can read it.
    pub fn known<O: Object>(mut self, info: &ResourceInfo) -> Self {
        self.kinds.push((Arc::new(Typed::<O, _>::new(&info.at(self.release), Generic)), false));
        self
    }

    /// Serves a resource whose objects are stored as another served resource: [`views::EVENTS`](crate::views::EVENTS).
    pub fn view(mut self, info: &ResourceInfo, target: &ResourceInfo, renamed: Renamed) -> Self {
        self.views.push(View::new(&info.at(self.release), target, renamed, None));
        self
    }

    /// Serves a custom resource of a cluster: its row has no tree.
    pub fn custom(mut self, info: &ResourceInfo, shape: Shape, strategy: impl Strategy<DynamicObject>) -> Self {
        self.kinds.push((Arc::new(Typed::<DynamicObject, _>::shaped(info, shape, strategy)), true));
        self
    }

    /// Serves another version of a custom resource of a cluster, which is stored as `target`.
    pub fn custom_version(mut self, info: &ResourceInfo, described: Node, target: &ResourceInfo) -> Self {
        self.views.push(View::new(info, target, views::VERSION, Some(described)));
        self
    }

    /// Serves a review: SelfSubjectReview, TokenReview, SelfSubjectAccessReview, SelfSubjectRulesReview,
    /// SubjectAccessReview or LocalSubjectAccessReview, in any version.
    pub fn review(mut self, info: &ResourceInfo) -> Self {
        self.reviews.push(info.clone());
        self
    }

    /// Answers a subresource, which the row of the resource names, by a hook.
    pub fn subresource(mut self, info: &ResourceInfo, name: &'static str, hook: impl Subresource) -> Self {
        self.subresources.push((info.clone(), name, Arc::new(hook)));
        self
    }

    /// Sets the authenticator of the tokens in TokenReviews. Default: no token is valid.
    pub fn authenticator(mut self, authenticator: Arc<dyn Authenticator>) -> Self {
        self.authenticator = Some(authenticator);
        self
    }

    /// Sets the caller of the webhooks that clusters configure. Default: no webhook is called.
    pub fn webhooks(mut self, caller: Arc<dyn WebhookCaller>) -> Self {
        self.webhooks = Some(caller);
        self
    }

    /// Sets the checks behind `/livez` and `/readyz` of every cluster.
    pub fn health(mut self, health: Health) -> Self {
        self.health = health;
        self
    }

    /// Serves metrics at `/metrics` of every cluster. Default: the path does not exist.
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Describes a resource of another server behind this one in the OpenAPI documents of the clusters that
    /// serve it, in the form of the release that the request names ([`DescribedRelease`](crate::DescribedRelease)).
    pub fn described(mut self, info: &ResourceInfo) -> Self {
        self.described.push(info.clone());
        self
    }

    /// Adds a plugin at the end of the admission chain.
    pub fn admission(mut self, plugin: impl Plugin) -> Self {
        self.plugins.push(Arc::new(plugin));
        self
    }

    /// Adds plugins at the end of the admission chain.
    pub fn admission_chain(mut self, plugins: Vec<Arc<dyn Plugin>>) -> Self {
        self.plugins.extend(plugins);
        self
    }

    /// Sets the authorizer. Default: [`AllowAll`](crate::authorization::AllowAll).
    pub fn authorizer(mut self, authorizer: impl Authorizer) -> Self {
        self.authorizer = Arc::new(authorizer);
        self
    }

    /// Sets the logical clusters. Default: none.
    pub fn clusters(mut self, clusters: impl Clusters) -> Self {
        self.clusters = Arc::new(clusters);
        self
    }

    /// Sets the key of the annotation that names the cluster of objects listed through cluster `*`.
    pub fn cluster_annotation(mut self, key: &'static str) -> Self {
        self.cluster_annotation = key;
        self
    }

    /// Sets the `User-Agent`s of the landscape's own commands, up to the slash: objects that they create have no
    /// managed fields until a client applies to them, like objects that components create.
    pub fn own_agents(mut self, names: &'static [&'static str]) -> Self {
        self.own_agents = names;
        self
    }

    /// Folds one logical cluster only; objects of others are not known.
    pub fn folds(mut self, cluster: &'static str) -> Self {
        self.folds = Some(cluster);
        self
    }

    /// Notifies an observer of a resource's changes, also if the server does not serve or fold the resource otherwise.
    pub fn observer(mut self, group: &str, plural: &str, observer: Arc<dyn Observer>) -> Self {
        self.observers.entry(format!("{group}/{plural}").into()).or_default().push(observer);
        self
    }

    /// Builds the server. It follows the log on every call, and also between calls once [`Server::start`] was called.
    pub fn build(self) -> Server {
        let (kinds, is_served) = one_per_resource(self.kinds);
        let writer = self.foundation.writer;
        let infos = || kinds.iter().map(|kind| &kind.names().info);
        let log = renamed::view(self.foundation.log.clone(), infos(), writer);
        let log = partial::view(log, infos(), writer);
        let store = Store::new(
            present::view(log, &kinds, writer),
            writer,
            self.folds,
            kinds.clone(),
            self.observers,
            self.foundation.recent_bytes,
        );
        let stored: Vec<ResourceInfo> = kinds.iter().map(|kind| kind.names().info.clone()).collect();
        let others = self.views.iter().map(|view| &view.info).chain(&self.reviews);
        let typed = stored.iter().chain(others).filter(|info| !info.custom);
        let of_hooks = self.subresources.iter().map(|(_, _, hook)| hook.facts());
        let of_hooks = of_hooks.map(|facts| (facts.group, facts.version, facts.kind));
        let typed = typed.map(|info| (info.group, info.version, info.kind)).chain(of_hooks);
        let scheme = Scheme { place: self.scheme, kinds: typed.collect() };
        let rows = kinds.into_iter().zip(is_served).enumerate().filter(|(_, (_, is_served))| *is_served);
        let rows =
            rows.map(|(index, (kind, _))| Row { id: CollectionId(index), kind, views: [].into(), via: None }).collect();
        let routes = Routes::new(self.clusters, rows, self.views, self.reviews, self.subresources);
        let documents = routes.documents(self.described);
        Server(Arc::new(Inner {
            backend: Arc::new(Backend {
                webhooks: self.webhooks.map(|caller| Webhooks::new(caller, &store)),
                namespaces: store.collection("", "namespaces"),
                store: Arc::new(store),
                foundation: self.foundation,
                plugins: self.plugins,
                cluster_annotation: self.cluster_annotation,
                own_agents: self.own_agents,
                scheme,
            }),
            routes,
            documents,
            release: self.release,
            authorizer: self.authorizer,
            authenticator: self.authenticator,
            health: self.health,
            metrics: self.metrics,
            delegates: Delegates::default(),
        }))
    }
}

/// The kinds in the order of their names in the log, one for each, and whether each is served.
///
/// The last one of a name counts, but a resource that is served is not replaced by the mere knowledge of it.
fn one_per_resource(kinds: Vec<(Arc<dyn Kind>, bool)>) -> (Vec<Arc<dyn Kind>>, Vec<bool>) {
    let mut by_resource: BTreeMap<Arc<str>, (Arc<dyn Kind>, bool)> = BTreeMap::new();
    for (kind, is_served) in kinds {
        let resource = kind.names().log_resource.clone();
        if is_served || !by_resource.contains_key(&resource) {
            by_resource.insert(resource, (kind, is_served));
        }
    }
    by_resource.into_values().unzip()
}
