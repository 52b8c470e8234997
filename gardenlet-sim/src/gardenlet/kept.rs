// SPDX-License-Identifier: Apache-2.0
//! Reading and writing of objects of which the gardenlet has a local copy.
//!
//! A flow that needs no change sends no request. A local copy may lag behind, so a write names the version that it is
//! made from; if the server has a later version, the object is read and the write is repeated.

use std::sync::Arc;

use api::core::{BackupEntry, InternalSecret, SecretBinding};
use api::extensions::Cluster;
use api::kubernetes::apps::{DaemonSet, Deployment, StatefulSet};
use api::kubernetes::core::{ConfigMap, Namespace, Secret};
use api::security::CredentialsBinding;
use api::terrarium;
use apimachinery::Resource;
use controller::{Api, Error, ObjectKey};

use super::shared::{Gardenlet, Stores, garden_key};

/// Maximum number of retries of a write after conflicts.
pub(crate) const CONFLICTS: usize = 5;

/// A kind of which the gardenlet has a local copy.
pub(crate) trait Kept: Resource {
    /// Returns the object from the local copy.
    fn known(stores: &Stores, key: &ObjectKey) -> Option<Arc<Self>>;

    /// Stores the object that a write returned.
    fn remember(_: &Stores, _cluster: &str, _object: &Arc<Self>) {}
}

/// Implements the trait for kinds whose local copy is a store, or a ledger, which includes its own writes before the
/// watch delivers them.
macro_rules! kept {
    (stores { $($kind:ty: $store:ident,)* } ledgers { $($own:ty: $ledger:ident,)* }) => {
        $(impl Kept for $kind {
            fn known(stores: &Stores, key: &ObjectKey) -> Option<Arc<Self>> {
                stores.$store.get(key)
            }
        })*
        $(impl Kept for $own {
            fn known(stores: &Stores, key: &ObjectKey) -> Option<Arc<Self>> {
                stores.$ledger.get(key)
            }

            fn remember(stores: &Stores, cluster: &str, object: &Arc<Self>) {
                stores.$ledger.remember(cluster, object);
            }
        })*
    };
}

kept! {
    stores {
        CredentialsBinding: credentials_bindings,
        DaemonSet: daemon_sets,
        Deployment: deployments,
        Namespace: namespaces,
        SecretBinding: secret_bindings,
        StatefulSet: stateful_sets,
    }
    ledgers {
        BackupEntry: backup_entries,
        Cluster: clusters,
        ConfigMap: config_maps,
        InternalSecret: internal_secrets,
        Secret: secrets,
        terrarium::Cluster: shoot_clusters,
    }
}

impl Gardenlet {
    /// Returns an object of a cluster from the local copy.
    pub(crate) fn known<K: Kept>(&self, cluster: &str, namespace: &str, name: &str) -> Option<Arc<K>> {
        K::known(&self.stores, &ObjectKey::new(cluster, namespace, name))
    }

    /// Returns an object of the garden that users write; from the server if `is_fresh`.
    pub(crate) async fn read<K: Kept>(
        &self,
        namespace: &str,
        name: &str,
        is_fresh: bool,
    ) -> Result<Option<Arc<K>>, Error> {
        if is_fresh {
            return self.garden::<K>(namespace).get_shared(name).await;
        }
        Ok(K::known(&self.stores, &garden_key(namespace, name)))
    }

    /// Creates or updates an object; retries after conflicts. Sends no request if the local copy equals `object`.
    pub(crate) async fn apply<K: Kept>(&self, api: &Api<K>, object: &K) -> Result<Arc<K>, Error> {
        let metadata = object.metadata();
        let key = ObjectKey::new(api.cluster(), &metadata.namespace, &metadata.name);
        let known = K::known(&self.stores, &key).filter(|known| !known.metadata().is_being_deleted());
        let mut result = match &known {
            Some(known) => api.apply_to(known, object).await,
            None => api.create(object).await,
        };
        let is_outdated = |error: &Error| {
            error.is_conflict() || error.is_already_exists() || (known.is_some() && error.is_not_found())
        };
        let mut tries = 0;
        loop {
            match result {
                Err(error) if is_outdated(&error) && tries < CONFLICTS => {
                    tries += 1;
                    result = api.create_or_update(object).await;
                }
                result => {
                    let written = Arc::new(result?);
                    K::remember(&self.stores, api.cluster(), &written);
                    return Ok(written);
                }
            }
        }
    }
}
