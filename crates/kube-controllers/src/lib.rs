// SPDX-License-Identifier: Apache-2.0
//! Controllers of kube-controller-manager for all logical clusters at once: namespace deletion, garbage collection,
//! resource quotas, and Deployments with their ReplicaSets and pods.
//!
//! One instance serves all clusters: it watches across them (`/clusters/*/…`) and writes to each by its own path, as an
//! ordinary client that is subject to admission.
//!
//! **Invariants.** No polling and no timers except back-off: an object is reconciled again when it, its owner, or one
//! of its dependents changed. Except for workload, no kind is known by name but Namespace, ResourceQuota and
//! CustomResourceDefinition; all other kinds are found by discovery.
//!
//! **Tour.** [`run`]; [`certificates`] signing of certificate requests; `graph` metadata of all objects;
//! `garbage_collector` owners and dependents; `definitions` kinds that clusters define for themselves; `namespaces`;
//! `resource_quotas` their usage; [`namespace_objects`] default objects of every namespace; [`workload`] Deployments,
//! ReplicaSets and pods.

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

/// Options of the controllers.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Options of the workload controllers; `None`: Deployments, ReplicaSets and pods are left alone.
    pub workload: Option<workload::Options>,
    /// Content of the default objects of every namespace; `None`: none are created.
    pub namespace_objects: Option<namespace_objects::Options>,
    /// Signer of certificate requests; `None`: requests are not signed.
    pub certificates: Option<certificates::Options>,
}

/// Runs the controllers until the component is requested to stop.
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

/// Returns the resources that all clusters serve. While no server answers, the request is repeated: on wall time, or on
/// landscape time if that advances by itself.
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
