// SPDX-License-Identifier: Apache-2.0
//! Creates each Seed's namespace in the garden, with copies of the Secrets that all Seeds need.
//!
//! Source: pkg/controllermanager/controller/seed/secrets @ v1.120.0.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::constants::{label, namespace, role};
use api::core::Seed;
use api::kubernetes::core::{Namespace, Secret};
use apimachinery::Resource;
use apimachinery::meta::{ObjectMeta, OwnerReference};
use controller::{Api, Controller, Error, ObjectKey, Requeue};
use process::Context;

use crate::stores::Stores;
use crate::{Config, GARDEN};

/// Name of the controller.
pub const NAME: &str = "seed-secrets";

/// Roles of Secrets that controllers create; these are not copied.
const CONTROL_PLANE_ROLES: [&str; 3] = ["kubeconfig", "ssh-keypair", role::MONITORING];

struct Reconciler {
    stores: Stores,
    namespaces: Api<Namespace>,
    secrets: Api<Secret>,
}

/// Runs the controller.
pub async fn run(context: Context, stores: Stores, config: Config) {
    let mut controller = Controller::new(NAME, &context);
    controller.watch_store(&stores.seeds, |change| {
        if change.old.is_none() && change.new.is_some() { vec![change.key.clone()] } else { Vec::new() }
    });
    let seeds = stores.seeds.clone();
    controller.watch_store(&stores.secrets, move |change| {
        let is_copied = [&change.old, &change.new].into_iter().flatten().any(|secret| is_copied(secret));
        if is_copied && change.differs(content) { seeds.keys() } else { Vec::new() }
    });
    let reconciler =
        Arc::new(Reconciler { namespaces: Api::all(&context, GARDEN), secrets: Api::all(&context, GARDEN), stores });
    controller
        .run(config.concurrent_syncs, move |key| {
            let reconciler = reconciler.clone();
            async move { reconciler.reconcile(&key).await }
        })
        .await;
}

fn is_copied(secret: &Secret) -> bool {
    let role = secret.metadata.label(label::ROLE);
    secret.metadata.namespace == namespace::GARDEN && role.is_some_and(|role| !CONTROL_PLANE_ROLES.contains(&role))
}

/// Returns a Secret without the fields that the server sets.
fn content(secret: &Secret) -> Secret {
    Secret {
        metadata: ObjectMeta {
            name: secret.metadata.name.clone(),
            labels: secret.metadata.labels.clone(),
            annotations: secret.metadata.annotations.clone(),
            ..ObjectMeta::default()
        },
        ..secret.clone()
    }
}

impl Reconciler {
    async fn reconcile(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(seed) = self.stores.seeds.get(key) else { return Ok(Requeue::OnChange) };
        let name = format!("{}{}", namespace::SEED_PREFIX, seed.metadata.name);
        if !self.reconcile_namespace(&seed, &name).await? {
            tracing::warn!(namespace = name, seed = seed.metadata.name, "the namespace is not controlled by the Seed");
            return Ok(Requeue::OnChange);
        }
        let copies = self.secrets.within(GARDEN, &name);
        let mut names = BTreeSet::new();
        for secret in self.stores.secrets.list_in(GARDEN, namespace::GARDEN).iter().filter(|secret| is_copied(secret)) {
            let mut copy = content(secret);
            name.clone_into(&mut copy.metadata.namespace);
            match self.stores.secrets.find(&name, &copy.metadata.name) {
                Some(stored) => drop(copies.apply_to(&stored, &copy).await?),
                None => drop(copies.create_or_update(&copy).await?),
            }
            names.insert(copy.metadata.name);
        }
        for stale in self.stores.secrets.list_in(GARDEN, &name) {
            if stale.metadata.label(label::ROLE).is_some() && !names.contains(&stale.metadata.name) {
                copies.delete_object(&stale, false, None).await?;
            }
        }
        Ok(Requeue::OnChange)
    }

    /// Creates the namespace; returns true if it belongs to the Seed.
    async fn reconcile_namespace(&self, seed: &Seed, name: &str) -> Result<bool, Error> {
        let known = self.stores.namespaces.find("", name).map(|namespace| Namespace::clone(&namespace));
        let known = if known.is_some() { known } else { self.namespaces.get_opt(name).await? };
        let Some(namespace) = known else {
            let owner = OwnerReference {
                api_version: Seed::api_version(),
                kind: Seed::KIND.to_owned(),
                name: seed.metadata.name.clone(),
                uid: seed.metadata.uid.clone(),
                controller: Some(true),
                block_owner_deletion: Some(true),
            };
            let metadata = ObjectMeta {
                labels: [(label::ROLE.to_owned(), role::SEED.to_owned())].into(),
                owner_references: vec![owner],
                ..ObjectMeta::named("", name)
            };
            self.namespaces.create(&Namespace { metadata, ..Namespace::default() }).await?;
            return Ok(true);
        };
        let is_owned = |owner: &OwnerReference| owner.controller == Some(true) && owner.uid == seed.metadata.uid;
        if !namespace.metadata.owner_references.iter().any(is_owned) {
            return Ok(false);
        }
        let mut labelled = namespace.clone();
        labelled.metadata.labels.insert(label::ROLE.to_owned(), role::SEED.to_owned());
        self.namespaces.update(&namespace, &labelled).await?;
        Ok(true)
    }
}
