// SPDX-License-Identifier: Apache-2.0
//! Tests of gardenlet's and provider-local's reconcilers, one file each: they put objects, run passes, and compare
//! writes, Events and requeue times. `landscape` tests both together.

mod gardenlet_care;
mod gardenlet_credentials;
mod gardenlet_dns;
mod gardenlet_in_place;
mod gardenlet_installations;
mod gardenlet_managed_seed;
mod gardenlet_readiness;
mod gardenlet_seed;
mod gardenlet_self_deployment;
mod gardenlet_shoot;
mod machines;
mod provider_local_extensions;
mod provider_local_worker;

use api::core::{Project, Seed, Shoot};
use gardenlet_sim::{gardenlet, provider_local};
use serde_json::json;
use testkit::{Pass, World, object};

/// Name of the seed's cluster.
const SEED: &str = "seed--local";
/// Technical ID of Shoot `garden-dev/s`: its namespace in the seed, and its cluster.
const TECHNICAL_ID: &str = "shoot--dev--s";

fn world() -> World {
    World::at("2025-06-02T12:00:00Z").component("gardenlet", "v1.120.0")
}

/// Starts gardenlet of Seed `local`.
fn start_gardenlet(world: &mut World) -> Pass {
    start_with(world, false)
}

/// Starts gardenlet of Seed `local` where pods run as processes.
fn start_gardenlet_with_pods(world: &mut World) -> Pass {
    start_with(world, true)
}

fn start_with(world: &mut World, has_pods: bool) -> Pass {
    let template: Seed = object(json!({
        "metadata": {"name": "local", "labels": {"environment": "test"}},
        "spec": {"provider": {"type": "local", "region": "local"}},
    }));
    let options = gardenlet::Options {
        seed_name: "local".to_owned(),
        seed_template: template,
        has_pods,
        ..gardenlet::Options::default()
    };
    world.start(|context| gardenlet::run(context, options))
}

/// Starts provider-local of Seed `local`, with its machine-controller-manager.
fn start_provider(world: &mut World) -> Pass {
    let options = provider_local::Options { seed_name: "local".to_owned(), ..provider_local::Options::default() };
    world.start(|context| provider_local::run(context, options))
}

fn project() -> Project {
    object(json!({"metadata": {"name": "dev"}, "spec": {"namespace": "garden-dev"}}))
}

fn shoot(world: &World) -> Shoot {
    world.get("garden-dev", "s").expect("the Shoot is there")
}
