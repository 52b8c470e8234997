// SPDX-License-Identifier: Apache-2.0
//! Reading and writing objects of which the gardenlet keeps a local copy.
//!
//! A flow that finds everything as it should be asks no server for it. A copy may lag behind, so it is never the last
//! word on a write: what is written names the version that it is made from, and if the server has a later version, the object is
//! read and the write is made anew.

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

/// How often a write is tried again when somebody else wrote the object meanwhile.
pub(crate) const CONFLICTS: usize = 5;

/// A kind of which the gardenlet keeps a local copy.
pub(crate) trait Kept: Resource {
    /// The object as far as is known here.
    fn known(stores: &Stores, key: &ObjectKey) -> Option<Arc<Self>>;

    /// Takes over the answer to a write.
    fn remember(_: &Stores, _cluster: &str, _object: &Arc<Self>) {}
}

/// Kinds whose copy is a store, or a ledger, which has its own writes before the watch sends them.
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
    /// An object of a cluster as far as is known here.
    pub(crate) fn known<K: Kept>(&self, cluster: &str, namespace: &str, name: &str) -> Option<Arc<K>> {
        K::known(&self.stores, &ObjectKey::new(cluster, namespace, name))
    }

    /// An object of the garden that users write; from the server where `is_fresh`.
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

    /// Creates or updates an object; tries again when somebody else writes it meanwhile. No request if what is known
    /// here says what `object` says.
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
