// SPDX-License-Identifier: Apache-2.0
//! Sets the conditions of each Seed about its extensions and its backup buckets.
//!
//! Source: pkg/controllermanager/controller/seed/{extensionscheck,backupbucketscheck} @ v1.120.0. Unlike upstream,
//! which checks every 30 s, a check runs when one of its inputs changes, and when its threshold has passed.

use std::sync::Arc;

use api::constants::condition;
use api::core::{BackupBucket, ControllerInstallation, Seed};
use apimachinery::meta::Time;
use controller::{Api, Change, Controller, Error, ObjectKey, Requeue};
use domain::conditions;
use domain::seed_checks::{self, Checked};
use process::Context;

use crate::protection::garden_key;
use crate::stores::Stores;
use crate::{Config, GARDEN};

/// Name of the controller of condition `ExtensionsReady`.
pub const EXTENSIONS: &str = "seed-extensions-check";
/// Name of the controller of condition `BackupBucketsReady`.
pub const BACKUP_BUCKETS: &str = "seed-backupbuckets-check";

/// Returns Seeds whose condition was changed, including changes by gardenlet, which resets all conditions to
/// `Progressing` when it has reconciled its Seed.
fn changed(type_: &'static str) -> impl Fn(&Change<Seed>) -> Vec<ObjectKey> {
    move |change| {
        let status = |seed: &Seed| {
            let condition = seed.status.conditions.iter().find(|condition| condition.r#type == type_);
            condition.map(|condition| condition.status.clone())
        };
        if change.new.is_some() && change.differs(status) { vec![change.key.clone()] } else { Vec::new() }
    }
}

/// Runs the controller of condition `ExtensionsReady`.
pub async fn run_extensions(context: Context, stores: Stores, config: Config) {
    let mut controller = Controller::new(EXTENSIONS, &context);
    controller.watch_store(&stores.seeds, changed(condition::SEED_EXTENSIONS_READY));
    controller.watch_store(&stores.controller_installations, |change| {
        if !change.differs(|installation| installation.status.conditions.clone()) {
            return Vec::new();
        }
        let seed = change.object().and_then(|installation| installation.spec.seed_ref.as_ref());
        seed.map(|seed| garden_key("", &seed.name)).into_iter().collect()
    });
    run(context, stores, config, controller, |seed, stores, config, now| {
        let installations = stores.controller_installations.list();
        let is_here = |installation: &&Arc<ControllerInstallation>| {
            installation.spec.seed_ref.as_ref().is_some_and(|reference| reference.name == seed.metadata.name)
        };
        let installations: Vec<_> = installations.iter().filter(is_here).map(|entry| &**entry).collect();
        Some(seed_checks::extensions_ready(&seed.status.conditions, &installations, config.seed_threshold, now))
    })
    .await;
}

/// Runs the controller of condition `BackupBucketsReady`.
pub async fn run_backup_buckets(context: Context, stores: Stores, config: Config) {
    let mut controller = Controller::new(BACKUP_BUCKETS, &context);
    controller.watch_store(&stores.seeds, changed(condition::SEED_BACKUP_BUCKETS_READY));
    controller.watch_store(&stores.backup_buckets, |change| {
        if !change.differs(|bucket| bucket.status.last_error.clone()) {
            return Vec::new();
        }
        let seed = change.object().and_then(|bucket| bucket.spec.seed_name.as_ref());
        seed.map(|seed| garden_key("", seed)).into_iter().collect()
    });
    run(context, stores, config, controller, |seed, stores, config, now| {
        let buckets = stores.backup_buckets.list();
        let is_here = |bucket: &&Arc<BackupBucket>| bucket.spec.seed_name.as_ref() == Some(&seed.metadata.name);
        let buckets: Vec<_> = buckets.iter().filter(is_here).map(|entry| &**entry).collect();
        seed_checks::backup_buckets_ready(&seed.status.conditions, &buckets, config.seed_threshold, now)
    })
    .await;
}

async fn run(
    context: Context,
    stores: Stores,
    config: Config,
    controller: Controller,
    check: fn(&Seed, &Stores, Config, Time) -> Option<Checked>,
) {
    let seeds = Api::<Seed>::all(&context, GARDEN);
    controller
        .run(config.concurrent_syncs, move |key| {
            let (seeds, stores, context) = (seeds.clone(), stores.clone(), context.clone());
            async move {
                let Some(seed) = stores.seeds.get(&key) else { return Ok(Requeue::OnChange) };
                let now = Time::from_instant(context.clock.now());
                let Some(checked) = check(&seed, &stores, config, now) else { return Ok(Requeue::OnChange) };
                write(&seeds, &seed, &checked).await?;
                Ok(checked.changes_at.map_or(Requeue::OnChange, Requeue::WorkAt))
            }
        })
        .await;
}

async fn write(seeds: &Api<Seed>, seed: &Seed, checked: &Checked) -> Result<(), Error> {
    let mut new = seed.clone();
    conditions::merge(&mut new.status.conditions, [checked.condition.clone()]);
    seeds.update_status(seed, &new).await.map(drop)
}
