// SPDX-License-Identifier: Apache-2.0
//! Sets the conditions of Seeds whose gardenlet no longer renews its Lease, and then of their Shoots, to `Unknown`.
//!
//! A Lease without a renewal time counts as renewed; its last renewal is stored when its gardenlet has stopped.
//!
//! Unlike upstream, which checks every 10 s, a period ends exactly, and not up to 10 s later.
//! Source: pkg/controllermanager/controller/seed/lifecycle @ v1.120.0.

use std::sync::Arc;

use api::constants::{condition, namespace};
use api::core::{Condition, Seed, Shoot};
use apimachinery::meta::Time;
use controller::{Api, Controller, Error, Requeue};
use domain::conditions;
use domain::seed_lifecycle::{Verdict, forget_health, judge};
use process::Context;

use crate::protection::garden_key;
use crate::stores::Stores;
use crate::{Config, GARDEN};

/// Name of the controller.
pub const NAME: &str = "seed-lifecycle";

/// Runs the controller.
pub async fn run(context: Context, stores: Stores, config: Config) {
    let mut controller = Controller::new(NAME, &context);
    controller.watch_store(&stores.seeds, |change| {
        let ready = |seed: &Seed| conditions::get(&seed.status.conditions, condition::SEED_GARDENLET_READY).cloned();
        if change.new.is_some() && change.differs(ready) { vec![change.key.clone()] } else { Vec::new() }
    });
    controller.watch_store(&stores.seed_leases, |change| {
        let is_of_seed = &*change.key.namespace == namespace::SEED_LEASE;
        if is_of_seed { vec![garden_key("", &change.key.name)] } else { Vec::new() }
    });
    let seeds = stores.seeds.clone();
    controller.watch_store(&stores.shoots, move |change| {
        // While a gardenlet is alive, it maintains the conditions of its Shoots.
        let seed = change.new.as_ref().and_then(|shoot| shoot.status.seed_name.as_deref());
        let key = seed.map(|seed| garden_key("", seed));
        key.filter(|key| seeds.get(key).is_some_and(|seed| is_unknown(&seed.status.conditions))).into_iter().collect()
    });
    let seeds = Api::<Seed>::all(&context, GARDEN);
    let shoots = Api::<Shoot>::all(&context, GARDEN);
    controller
        .run(config.concurrent_syncs, move |key| {
            let (seeds, shoots, stores, context) = (seeds.clone(), shoots.clone(), stores.clone(), context.clone());
            async move {
                let Some(seed) = stores.seeds.get(&key) else { return Ok(Requeue::OnChange) };
                let lease = stores.seed_leases.get(&garden_key(namespace::SEED_LEASE, &seed.metadata.name));
                let renewed = match lease {
                    // The gardenlet is alive.
                    Some(lease) if lease.spec.renew_time.is_none() => return Ok(Requeue::OnChange),
                    Some(lease) => lease.spec.renew_time.map(|renewed| renewed.0),
                    None => None,
                };
                // The exact instant is used: a period may end within a second, while conditions have whole seconds.
                let now = context.clock.now();
                match judge(&seed, renewed, config.seed_periods, Time(now)) {
                    None => Ok(Requeue::OnChange),
                    Some(Verdict::Wait(until)) => Ok(Requeue::At(until)),
                    Some(Verdict::SeedUnknown(condition, until)) => {
                        write(&seeds, &seed, condition).await?;
                        Ok(Requeue::At(until))
                    }
                    Some(Verdict::ShootsUnknown(condition)) => {
                        write(&seeds, &seed, condition).await?;
                        forget(&shoots, &stores, &seed, Time::from_instant(now)).await?;
                        Ok(Requeue::OnChange)
                    }
                }
            }
        })
        .await;
}

fn is_unknown(all: &[Condition]) -> bool {
    conditions::get(all, condition::SEED_GARDENLET_READY).is_some_and(|condition| condition.status == "Unknown")
}

async fn write(seeds: &Api<Seed>, seed: &Seed, mut condition: Condition) -> Result<(), Error> {
    for time in [&mut condition.last_transition_time, &mut condition.last_update_time] {
        *time = Time::from_instant(time.0);
    }
    if !is_unknown(&seed.status.conditions) {
        tracing::info!(
            name = seed.metadata.name,
            "Setting Seed status to 'Unknown' as gardenlet stopped reporting seed status"
        );
    }
    let mut new = seed.clone();
    conditions::merge(&mut new.status.conditions, [condition]);
    seeds.update_status(seed, &new).await.map(drop)
}

async fn forget(shoots: &Api<Shoot>, stores: &Stores, seed: &Seed, now: Time) -> Result<(), Error> {
    let is_here = |shoot: &&Arc<Shoot>| shoot.status.seed_name.as_ref() == Some(&seed.metadata.name);
    for shoot in stores.shoots.list().iter().filter(is_here) {
        let mut new = (**shoot).clone();
        forget_health(&mut new, now);
        match shoots.in_namespace_of(&**shoot).update_status(shoot, &new).await {
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
