// SPDX-License-Identifier: Apache-2.0
//! Tests of each reconciler, in files named as those that they test: they put objects, run passes, and compare writes,
//! Events and requeue times.

mod extension;
mod garden;
mod gardenlets;

use api::kubernetes::apps::{Deployment, DeploymentStatus};
use api::operator::Garden;
use operator::{Options, run};
use serde_json::json;
use testkit::{Pass, World, object};

/// Returns a Garden without any status.
fn garden() -> Garden {
    object(json!({
        "metadata": {"name": "garden", "generation": 1},
        "spec": {
            "runtimeCluster": {"ingress": {"domains": [{"name": "example.com"}]}},
            "virtualCluster": {"dns": {"domains": [{"name": "virtual.example.com"}]}, "kubernetes": {"version": "1.32.0"}},
        },
    }))
}

fn world() -> World {
    World::at("2025-06-02T12:00:00Z").component("gardener-operator", "v1.120.0")
}

fn start(world: &mut World) -> Pass {
    world.start(|context| {
        let mut options = Options::default();
        "v1.120.0".clone_into(&mut options.settings.version);
        run(context, options)
    })
}

fn stored(world: &World) -> Garden {
    world.get_in("runtime", "", "garden").expect("the Garden is there")
}

/// Returns the names of the control plane's Deployments.
fn deployments(world: &World) -> Vec<String> {
    world.list_in::<Deployment>("runtime").into_iter().map(|deployment| deployment.metadata.name).collect()
}

/// Makes every Deployment ready, as kube-controller-manager and a kubelet do, until no new one is created.
fn roll_out(world: &mut World) {
    for _ in 0..20 {
        for deployment in world.list_in::<Deployment>("runtime") {
            let replicas = deployment.spec.replicas.unwrap_or(1);
            let ready = DeploymentStatus {
                observed_generation: deployment.metadata.generation,
                replicas,
                updated_replicas: replicas,
                available_replicas: replicas,
                ready_replicas: replicas,
                ..DeploymentStatus::default()
            };
            if deployment.status != ready {
                world.put_in("runtime", &Deployment { status: ready, ..deployment });
            }
        }
        if world.pass().writes.is_empty() {
            return;
        }
    }
    panic!("the operator does not come to an end");
}
