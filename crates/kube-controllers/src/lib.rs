// SPDX-License-Identifier: Apache-2.0
//! What kube-controller-manager does, for every logical cluster at once: namespaces go away with their content, objects
//! with their owners, quotas say what is used of them, and Deployments get their ReplicaSets and pods.
//!
//! One instance serves all clusters: it watches across them (`/clusters/*/…`) and acts in each by its own path, as a
//! client like everybody, through admission.
//!
//! **Invariants.** No polling and no timers but back-off: an object is looked at again when it, its owner, or what is
//! below it changed. But for workload, no kind is known by name except Namespace, ResourceQuota and
//! CustomResourceDefinition; everything else comes from discovery.
//!
//! **Tour.** [`run`]; [`certificates`] which requests are signed; `graph` what is known of all objects;
//! `garbage_collector` owners and dependents; `definitions`
//! kinds that clusters define for themselves; `namespaces`; `resource_quotas` what is used of them;
//! [`namespace_objects`] what every namespace has; [`workload`] Deployments, ReplicaSets and pods.

pub mod certificates;
mod definitions;
mod garbage_collector;
mod graph;
pub mod namespace_objects;
mod namespaces;
mod resource_quotas;
pub mod workload;

use std::sync::Arc;

use chrono::TimeDelta;
use clock::TimerClass;
use controller::discovery::{self, ServedResource};
use futures::future;
use futures::future::BoxFuture;
use process::{Context, Exit};

use crate::graph::Graph;

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How pods run; `None`: Deployments, ReplicaSets and pods are left alone.
    pub workload: Option<workload::Options>,
    /// What every namespace has; `None`: nothing.
    pub namespace_objects: Option<namespace_objects::Options>,
    /// Who signs requests for certificates; `None`: nobody.
    pub certificates: Option<certificates::Options>,
}

/// Runs the controllers until the component is asked to stop.
pub fn run(context: Context, options: Options) -> BoxFuture<'static, Exit> {
    Box::pin(async move {
        let Options { workload, namespace_objects, certificates } = options;
        let certificates = async {
            if let Some(options) = certificates {
                certificates::run(&context, options).await;
            }
        };
        let namespace_objects = async {
            if let Some(options) = namespace_objects {
                namespace_objects::run(&context, options).await;
            }
        };
        let workload = async {
            if let Some(options) = workload {
                workload::run(&context, options).await;
            }
        };
        let resources = resources(&context).await;
        let graph = Arc::new(Graph::start(&context, resources));
        let collector =
            future::join(garbage_collector::run(&context, graph.clone()), definitions::run(&context, graph.clone()));
        let spaces = future::join(namespaces::run(&context, graph.clone()), resource_quotas::run(&context, graph));
        future::join4(collector, spaces, future::join(namespace_objects, certificates), workload).await;
        Exit::default()
    })
}

/// What all clusters serve. While no server answers, it is asked again: on wall time, or landscape time if that moves
/// by itself.
async fn resources(context: &Context) -> Vec<ServedResource> {
    loop {
        match discovery::preferred_resources(context, "*").await {
            Ok((resources, _)) => return resources,
            Err(error) => tracing::debug!(%error, "discovery failed"),
        }
        let delay = TimeDelta::seconds(1);
        let wall = context.wall.sleep(delay, TimerClass::Work);
        future::select(wall, context.clock.sleep(delay, TimerClass::Calendar)).await;
    }
}
