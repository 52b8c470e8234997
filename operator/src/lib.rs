// SPDX-License-Identifier: Apache-2.0
//! gardener-operator: makes Gardener's control plane what the Garden says, in the operator's own version.
//!
//! ```text
//! Garden ──► start write: status.gardener, observedGeneration ──► flow ──► Succeeded 100
//!                                                                  │
//!     gardener-apiserver, until no old instance is left ◄──────────┤ tasks in the order of `domain::garden::flow`
//!     admission-controller, controller-manager, scheduler ◄────────┤
//!     ConfigMap gardener-info, then Gardenlets that follow ◄───────┘
//! ```
//!
//! It looks at Gardens, Deployments and Pods of cluster `runtime`, and writes Deployments, ConfigMaps, the Garden's status
//! and, in cluster `garden`, what tells others of the version. An operation is no long run: every pass asks `domain` how
//! far the flow is, does what may be done now, and says so; so another process goes on where this one stopped, and what
//! failed goes on when it is mended.
//!
//! **Invariants.** No rule of Gardener is decided here. A wait is a watch. What says already what it should is not written.
//! One process works, the one that holds the Lease ([`election`]); the version check comes before that, when a process
//! registers.
//!
//! **Deliberately absent.** What the Garden has beside Gardener's control plane: etcds, DNS, ingress, observability; their
//! tasks are done at once. A clock that reconciles: nothing is looked at again until something changes, so a Deployment of
//! the control plane that was changed by hand stays so until the next operation.
//!
//! **Tour.** [`garden`] the reconciler, [`apply`] what it writes, [`gardenlets`] the Gardenlets that it deploys and
//! updates, [`extension`] operator Extensions.
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

/// What the command line says.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What it hands on to the components.
    pub settings: Settings,
}

/// Runs the operator until it is asked to stop, or does not lead any more.
pub fn run(context: Context, options: Options) -> BoxFuture<'static, Exit> {
    Box::pin(async move {
        let (lead, leads) = watch::channel(false);
        // It looks before it leads, so that a replica that takes over begins at once.
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

/// Which of several operators works.
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

/// As `status.gardener` says it: the id is that of the process, so it changes with every start.
fn identity(context: &Context) -> Gardener {
    let started = u64::try_from(context.clock.now().timestamp()).unwrap_or_default();
    let instance = &context.identity.instance;
    let part = |part| format!("{:016x}", context.random.draw("operator-id", instance, started * 4 + part));
    let id = [0, 1, 2, 3].map(part).concat();
    Gardener { id, name: instance.to_string(), version: context.identity.version.to_string() }
}
