// SPDX-License-Identifier: Apache-2.0
//! Tests of each controller in a file of its own: they put objects, run passes, and compare objects, writes and requeue
//! times.

mod certificates;
mod definitions;
mod garbage_collector;
mod namespace_objects;
mod namespaces;
mod resource_quotas;
mod workload;

use kube_controllers::{Options, run};
use testkit::{Pass, World};

/// Name of a second cluster.
const CLUSTER: &str = "seed--a";

fn world() -> World {
    World::at("2025-06-02T12:00:00Z").component("kube-controller-manager", "v1.32.0")
}

fn start(world: &mut World, options: Options) -> Pass {
    world.start(|context| run(context, options))
}
