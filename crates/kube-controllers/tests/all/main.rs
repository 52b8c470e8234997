// SPDX-License-Identifier: Apache-2.0
//! One file for each controller: objects in, passes, out: objects, writes, and when it looks again.

mod certificates;
mod definitions;
mod garbage_collector;
mod namespace_objects;
mod namespaces;
mod resource_quotas;
mod workload;

use kube_controllers::{Options, run};
use testkit::{Pass, World};

/// A cluster beside others.
const CLUSTER: &str = "seed--a";

fn world() -> World {
    World::at("2025-06-02T12:00:00Z").component("kube-controller-manager", "v1.32.0")
}

fn start(world: &mut World, options: Options) -> Pass {
    world.start(|context| run(context, options))
}
