// SPDX-License-Identifier: Apache-2.0
//! Admission webhooks, as configured by ValidatingWebhookConfigurations and MutatingWebhookConfigurations of a cluster.
//!
//! ```text
//! plugins admit → mutating webhooks, one after the other → … validation … → plugins validate → validating webhooks at once
//! ```
//!
//! A webhook is selected by rules and selectors ([`configuration`]), receives an AdmissionReview and returns one
//! ([`review`]); [`services`] resolves Services of the cluster; a [`WebhookCaller`] is the transport. Time-outs are
//! wall time.
//!
//! **Invariants.** Webhooks are never called for webhook configurations, or a wrong one could not be repaired. A
//! webhook that is called again after a lost race sees the new object. A cluster without configurations costs nothing.
//!
//! Unlike upstream: `matchConditions` are not evaluated, the webhook is called as if they held; every kind is served in
//! one version only, so `matchPolicy: Equivalent` and `Exact` are the same.
//!
//! Source: k8s.io/apiserver pkg/admission/plugin/webhook @ v0.32.

pub(crate) mod configuration;
mod https;
pub(crate) mod review;
pub(crate) mod services;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use chrono::TimeDelta;
use eventlog::Revision;
use futures::future::BoxFuture;
use parking_lot::Mutex;

use self::configuration::Configuration;
use self::services::Services;
use crate::storage::{CollectionId, Store, range};

pub use configuration::{ClientConfig, ServiceReference};
pub use https::{Dialer, HttpsCaller, Name, Names, Resolved, Trust, bundle};
pub use services::{Endpoint, NoEndpoint};

/// Group of the configurations.
pub(crate) const GROUP: &str = "admissionregistration.k8s.io";

/// True if a server reads the resource to select webhooks or to resolve their Services.
pub fn is_read(group: &str, plural: &str) -> bool {
    group == GROUP || matches!((group, plural), ("", "services" | "endpoints") | ("discovery.k8s.io", "endpointslices"))
}

/// Calls webhooks.
pub trait WebhookCaller: Send + Sync + fmt::Debug + 'static {
    /// Sends a review to a webhook of a cluster; returns the body of the response. `url`: address that upstream would
    /// use; `endpoint`: endpoint of the webhook's Service, or the reason for which it has none. The caller is dropped
    /// when `timeout` of wall time has passed.
    ///
    /// # Errors
    /// The reason for a missing response, in the form that follows `failed to call webhook: `.
    fn call<'a>(
        &'a self,
        cluster: &'a str,
        client: &'a ClientConfig,
        endpoint: Option<&'a Result<Endpoint, NoEndpoint>>,
        url: &'a str,
        review: Bytes,
        timeout: TimeDelta,
    ) -> BoxFuture<'a, Result<Bytes, String>>;
}

/// A configuration and its revision.
type Read = (Revision, Arc<Configuration>);

/// The webhooks of all clusters of a server.
pub(crate) struct Webhooks {
    pub(crate) caller: Arc<dyn WebhookCaller>,
    mutating: Option<CollectionId>,
    validating: Option<CollectionId>,
    services: Services,
    /// Configurations as they were last read, by path.
    read: Mutex<BTreeMap<Arc<str>, Read>>,
}

impl Webhooks {
    pub(crate) fn new(caller: Arc<dyn WebhookCaller>, store: &Store) -> Self {
        Self {
            caller,
            mutating: store.collection(GROUP, "mutatingwebhookconfigurations"),
            validating: store.collection(GROUP, "validatingwebhookconfigurations"),
            services: Services::new(store),
            read: Mutex::default(),
        }
    }

    /// Endpoint of the Service that a webhook of a cluster names; `None` if it names no Service.
    pub(crate) fn endpoint(
        &self,
        store: &Store,
        cluster: &str,
        client: &ClientConfig,
    ) -> Option<Result<Endpoint, NoEndpoint>> {
        client.service.as_ref().map(|service| self.services.find(store, cluster, service))
    }

    /// Configurations of mutating webhooks, by name.
    pub(crate) fn mutating(&self, store: &Store, cluster: &str) -> Vec<Arc<Configuration>> {
        self.of(self.mutating, store, cluster)
    }

    /// Configurations of validating webhooks, by name.
    pub(crate) fn validating(&self, store: &Store, cluster: &str) -> Vec<Arc<Configuration>> {
        self.of(self.validating, store, cluster)
    }

    fn of(&self, collection: Option<CollectionId>, store: &Store, cluster: &str) -> Vec<Arc<Configuration>> {
        let Some(id) = collection else { return Vec::new() };
        let (map, _) = store.root(id);
        let kind = store.kind(id);
        let resource = &kind.names().info.plural;
        let prefix = format!("{cluster}/");
        let mut all = Vec::new();
        for (path, stored) in range(&map, &prefix, "") {
            let mut read = self.read.lock();
            let known = read.get(path).filter(|(revision, _)| *revision == stored.revision);
            if let Some((_, configuration)) = known {
                all.push(configuration.clone());
                continue;
            }
            let tree = store.decoded(stored, &*kind).map(|object| kind.to_tree(&*object)).unwrap_or_default();
            match serde_json::from_value::<Configuration>(tree) {
                Ok(configuration) => {
                    let configuration = Arc::new(configuration);
                    read.insert(path.clone(), (stored.revision, configuration.clone()));
                    all.push(configuration);
                }
                Err(error) => tracing::error!(%error, resource, %path, "cannot read webhooks"),
            }
        }
        all
    }
}
