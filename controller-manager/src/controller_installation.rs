// SPDX-License-Identifier: Apache-2.0
//! Installs the required extensions on each Seed, and removes the others.
//!
//! Source: pkg/controllermanager/controller/controllerregistration/seed @ v1.120.0.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::constants::{annotation, condition, label, role};
use api::core::{ControllerInstallation, ControllerRegistration, Seed, Shoot};
use api::kubernetes::core::Secret;
use apimachinery::meta::Time;
use clock::Clock;
use controller::{Api, Change, Controller, Error, ObjectKey, Requeue};
use domain::required_extensions::{self as required, Domain, KindType};
use domain::skew::library;
use process::Context;

use crate::protection::garden_key;
use crate::stores::Stores;
use crate::{Config, GARDEN};

/// Name of the controller.
pub const NAME: &str = "controllerregistration-seed";

/// Runs the controller.
pub async fn run(context: Context, stores: Stores, config: Config) {
    let mut controller = Controller::new(NAME, &context);
    controller.watch_store(&stores.seeds, |change| {
        let is_relevant = change.new.is_some()
            && change.differs(|seed| {
                (seed.metadata.generation, seed.metadata.labels.clone(), seed.metadata.is_being_deleted())
            });
        if is_relevant { vec![change.key.clone()] } else { Vec::new() }
    });
    controller.watch_store(&stores.shoots, seeds_of_shoot);
    controller.watch_store(&stores.backup_buckets, |change| seed_keys(change, |bucket| bucket.spec.seed_name.clone()));
    controller.watch_store(&stores.backup_entries, |change| seed_keys(change, |entry| entry.spec.seed_name.clone()));
    let all = stores.clone();
    controller.watch_store(&stores.controller_registrations, move |change| {
        if change.differs(|registration| (registration.spec.clone(), registration.metadata.is_being_deleted())) {
            all.seeds.keys()
        } else {
            Vec::new()
        }
    });
    let all = stores.clone();
    controller.watch_store(&stores.controller_deployments, move |change| {
        let is_news =
            change.differs(|deployment| (deployment.helm.clone(), library::declared(deployment).map(str::to_owned)));
        if is_news { all.seeds.keys() } else { Vec::new() }
    });
    let all = stores.clone();
    controller.watch_store(&stores.seeds, move |change| {
        // The version of the oldest gardenlet applies to all seeds.
        let version = |seed: &Seed| seed.status.gardener.as_ref().map(|gardener| gardener.version.clone());
        if change.differs(version) { all.seeds.keys() } else { Vec::new() }
    });
    controller.watch_store(&stores.controller_installations, |change| {
        seed_keys(change, |installation| installation.spec.seed_ref.as_ref().map(|seed| seed.name.clone()))
    });
    let all = stores.clone();
    controller.watch_store(&stores.secrets, move |change| {
        let is_domain = change.object().is_some_and(|secret| domain_of(secret).is_some());
        if is_domain && change.differs(|secret| domain_of(secret).map(|(_, domain)| domain)) {
            all.seeds.keys()
        } else {
            Vec::new()
        }
    });
    let installations = Api::all(&context, GARDEN).with_store(&stores.controller_installations);
    let reconciler = Arc::new(Reconciler { clock: context.clock.clone(), installations, stores });
    controller
        .run(config.concurrent_syncs, move |key| {
            let reconciler = reconciler.clone();
            async move { reconciler.reconcile(&key).await }
        })
        .await;
}

/// Returns the seeds of an object that was created, deleted, or moved.
fn seed_keys<K>(change: &Change<K>, seed: impl Fn(&K) -> Option<String>) -> Vec<ObjectKey> {
    if !change.differs(&seed) {
        return Vec::new();
    }
    let seeds: BTreeSet<String> =
        [&change.old, &change.new].into_iter().flatten().filter_map(|object| seed(object)).collect();
    seeds.iter().map(|name| garden_key("", name)).collect()
}

/// Returns the seeds of a Shoot whose required extensions may have changed.
fn seeds_of_shoot(change: &Change<Shoot>) -> Vec<ObjectKey> {
    if let (Some(old), Some(new)) = (&change.old, &change.new)
        && old.status.seed_name == new.status.seed_name
        && (old.metadata.generation == new.metadata.generation && old.spec.seed_name == new.spec.seed_name)
    {
        return Vec::new();
    }
    let names: BTreeSet<&String> = [&change.old, &change.new]
        .into_iter()
        .flatten()
        .flat_map(|shoot| [&shoot.spec.seed_name, &shoot.status.seed_name])
        .flatten()
        .collect();
    names.into_iter().map(|name| garden_key("", name)).collect()
}

/// Returns the role and domain of a Secret in the garden.
fn domain_of(secret: &Secret) -> Option<(&str, Domain)> {
    let role = secret
        .metadata
        .label(label::ROLE)
        .filter(|role| matches!(*role, role::INTERNAL_DOMAIN | role::DEFAULT_DOMAIN))?;
    let annotation = |key| secret.metadata.annotation(key).map(str::to_owned);
    (secret.metadata.namespace == "garden").then(|| {
        Some((
            role,
            Domain { domain: annotation(annotation::DNS_DOMAIN)?, provider: annotation(annotation::DNS_PROVIDER)? },
        ))
    })?
}

struct Reconciler {
    clock: Clock,
    stores: Stores,
    installations: Api<ControllerInstallation>,
}

impl Reconciler {
    async fn reconcile(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(seed) = self.stores.seeds.get(key) else { return Ok(Requeue::OnChange) };
        let registrations = self.stores.controller_registrations.list();
        let registrations: Vec<&ControllerRegistration> = registrations.iter().map(|entry| &**entry).collect();
        let (needed, has_shoots) = self.needed(&seed, &registrations);
        let mut known = self.stores.controller_installations.list();
        known.retain(|installation| {
            installation.spec.seed_ref.as_ref().is_some_and(|reference| reference.name == seed.metadata.name)
        });
        let (wanted, missing) =
            required::wanted_registrations(&needed, &registrations, &still_required(&known), &seed, has_shoots);
        if !missing.is_empty() {
            tracing::debug!(seed = seed.metadata.name, ?missing, "no ControllerRegistration for needed extensions");
        }
        for (name, registration) in &wanted {
            let found = known.iter().find(|installation| installation.spec.registration_ref.name == *name);
            let stored = found.map(|found| &**found);
            if registration.metadata.is_being_deleted()
                || stored.is_some_and(|stored| stored.metadata.is_being_deleted())
            {
                continue;
            }
            let named = registration.spec.deployment.as_ref().and_then(|deployment| deployment.deployment_refs.first());
            let deployment = named.and_then(|named| self.stores.controller_deployments.find("", &named.name));
            if named.is_some() && deployment.is_none() {
                continue;
            }
            let installation = required::installation(stored, &seed, registration, deployment.as_deref());
            match stored {
                None => drop(self.installations.create(&installation).await?),
                Some(stored) => drop(self.installations.update(stored, &installation).await?),
            }
        }
        for installation in &known {
            self.judge_library(installation).await?;
        }
        for installation in known.iter().filter(|known| !wanted.contains_key(&known.spec.registration_ref.name)) {
            if !installation.metadata.is_being_deleted() {
                self.installations.delete_object(installation, false, None).await?;
            }
        }
        Ok(Requeue::OnChange)
    }

    /// Returns the extensions that the Seed, its Shoots and its backups require, and true if it has Shoots.
    fn needed(&self, seed: &Seed, registrations: &[&ControllerRegistration]) -> (BTreeSet<KindType>, bool) {
        let name = Some(&seed.metadata.name);
        let mut needed = required::for_seed(seed, registrations);
        let secrets = self.stores.secrets.list_in(GARDEN, "garden");
        let domains: Vec<(&str, Domain)> = secrets.iter().filter_map(|secret| domain_of(secret)).collect();
        let internal = domains.iter().find(|(role, _)| *role == role::INTERNAL_DOMAIN).map(|(_, domain)| domain);
        let defaults: Vec<Domain> = domains
            .iter()
            .filter(|(role, _)| *role == role::DEFAULT_DOMAIN)
            .map(|(_, domain)| domain.clone())
            .collect();
        let mut has_shoots = false;
        for shoot in self.stores.shoots.list() {
            if shoot.spec.seed_name.as_ref() == name || shoot.status.seed_name.as_ref() == name {
                has_shoots = true;
                needed.extend(required::for_shoot(&shoot, seed, registrations, internal, &defaults));
            }
        }
        let buckets = self.stores.backup_buckets.list();
        for bucket in buckets.iter().filter(|bucket| bucket.spec.seed_name.as_ref() == name) {
            needed.insert(("BackupBucket".to_owned(), bucket.spec.provider.r#type.clone()));
        }
        for entry in self.stores.backup_entries.list().iter().filter(|entry| entry.spec.seed_name.as_ref() == name) {
            let bucket = buckets.iter().find(|bucket| bucket.metadata.name == entry.spec.bucket_name);
            needed.extend(bucket.map(|bucket| ("BackupEntry".to_owned(), bucket.spec.provider.r#type.clone())));
        }
        (needed, has_shoots)
    }

    /// Sets the condition about an extension library that is too new for a gardenlet; gardenlet sets all other
    /// conditions.
    async fn judge_library(&self, installation: &ControllerInstallation) -> Result<(), Error> {
        let named = installation.spec.deployment_ref.as_ref();
        let deployment = named.and_then(|named| self.stores.controller_deployments.find("", &named.name));
        let seeds = self.stores.seeds.list();
        let text = deployment.and_then(|deployment| library::violation(&deployment, seeds.iter().map(AsRef::as_ref)));
        let now = Time::from_instant(self.clock.now());
        let new = required::judged(installation, text.as_deref(), now);
        if new.status != installation.status {
            self.installations.update_status(installation, &new).await?;
        }
        Ok(())
    }
}

/// Returns the registrations whose installation reports that objects of its kinds still exist.
fn still_required(known: &[Arc<ControllerInstallation>]) -> BTreeSet<String> {
    let is_required = |installation: &&Arc<ControllerInstallation>| {
        let condition = domain::conditions::get(&installation.status.conditions, condition::INSTALLATION_REQUIRED);
        condition.is_some_and(|condition| condition.status == "True")
    };
    known.iter().filter(is_required).map(|installation| installation.spec.registration_ref.name.clone()).collect()
}
