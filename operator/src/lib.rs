// SPDX-License-Identifier: Apache-2.0
//! gardener-operator: reconciles Gardener's control plane with the Garden, in the operator's own version.
//!
//! ```text
//! Garden ──► start write: status.gardener, observedGeneration ──► flow ──► Succeeded 100
//!                                                                  │
//!     gardener-apiserver, until no old instance is left ◄──────────┤ tasks in the order of `domain::garden::flow`
//!     admission-controller, controller-manager, scheduler ◄────────┤
//!     ConfigMap gardener-info, then Gardenlets that follow ◄───────┘
//! ```
//!
//! It reads Gardens, Deployments and Pods of cluster `runtime`, and writes Deployments, ConfigMaps, the Garden's status
//! and, in cluster `garden`, objects that depend on the version. An operation is not one long run: every pass
//! determines the progress of the flow by `domain`, executes the tasks that are ready, and writes the progress. So
//! another process continues where this one stopped, and a failed task continues once its cause is resolved.
//!
//! **Invariants.** No rule of Gardener is implemented here. A wait is a watch. An object that already has the desired
//! state is not written. Only the process that holds the Lease ([`election`]) works; the version check is earlier, when
//! a process registers.
//!
//! **Deliberately absent.** Parts of the Garden other than Gardener's control plane: etcds, DNS, ingress,
//! observability; their tasks are done at once. Periodic reconciliation: a pass runs when something changes; a
//! Deployment of the control plane that was changed by others is repaired an hour after the last operation.
//!
//! **Tour.** [`garden`] the reconciler, [`apply`] its writes, [`gardenlets`] Gardenlets that it deploys and updates,
//! [`extension`] operator Extensions.
//!
//! Source: pkg/operator @ v1.120.0.

mod apply;
pub mod binary;
mod extension;
mod garden;
mod gardenlets;

use api::cluster::{GARDEN, RUNTIME};
use api::constants::{label, namespace};
use api::core::Gardener;
use controller::leadership::{self, Election};
use domain::garden::control_plane::Settings;
use futures::future::BoxFuture;
use process::{Context, Exit, watch};

/// Settings from the command line.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Settings that are passed to the components.
    pub settings: Settings,
}

/// Runs the operator until it is requested to stop, or no longer leads.
pub fn run(context: Context, options: Options) -> BoxFuture<'static, Exit> {
    Box::pin(async move {
        let (lead, leads) = watch::channel(false);
        // The watches start before it leads, so that a replica that takes over begins at once.
        let (told, reconciled) = watch::channel(false);
        let gardens = garden::start(&context, options.settings.clone(), identity(&context), leads, told);
        context.tasks.spawn(extension::run(context.clone(), gardens.clone(), reconciled.clone()));
        context.tasks.spawn(gardenlets::run(context.clone(), options.settings, gardens, reconciled));
        let shutdown = context.tasks.shutdown();
        leadership::run(context, election(), || async move {
            lead.send_replace(true);
            shutdown.requested().await;
            Exit::default()
        })
        .await
    })
}

/// Returns the leader election among several operators.
fn election() -> Election {
    Election {
        cluster: RUNTIME.to_owned(),
        namespace: namespace::GARDEN.to_owned(),
        name: "gardener-operator-leader-election".to_owned(),
        registry: GARDEN.to_owned(),
        registrations: namespace::INSTANCES.to_owned(),
        selector: format!("{}=gardener-operator", label::COMPONENT),
    }
}

/// Returns `status.gardener`: the id is that of the process, so it changes with every start.
fn identity(context: &Context) -> Gardener {
    let started = u64::try_from(context.clock.now().timestamp()).unwrap_or_default();
    let instance = &context.identity.instance;
    let part = |part| format!("{:016x}", context.random.draw("operator-id", instance, started * 4 + part));
    let id = [0, 1, 2, 3].map(part).concat();
    Gardener { id, name: instance.to_string(), version: context.identity.version.to_string() }
}
