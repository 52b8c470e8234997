// SPDX-License-Identifier: Apache-2.0
//! provider-local: the extension controllers of a seed, machine-controller-manager and the node agents, simulated for
//! every provider type.
//!
//! ```text
//! Infrastructure, ControlPlane, Network, …  ── work timer ──► status.lastOperation          [`extensions`]
//! Worker ──► MachineClasses, MachineDeployments ── waits ──► status.lastOperation            [`worker`]
//! MachineDeployment ──► MachineSets ──► Machines ──► Nodes in the shoot's cluster             [`mcm`]
//! ```
//!
//! It reads and writes API objects and nothing else: gardenlet asks by writing extension objects with an operation
//! annotation, and reads the answer in their status.
//!
//! **Invariants.** Whether anything rolls, and how, is decided in `domain`. Every wait is a work timer on an instant
//! that follows from recorded times, so a restarted controller goes on where the last one stopped.

pub mod binary;
mod extensions;
mod mcm;
mod provider;
mod worker;

use domain::garden::components::Program;
use domain::profile::Profile;
use futures::future::BoxFuture;
use process::{Context, Exit};

use self::provider::Provider;

/// Name of its Deployment, and of its process.
pub const DEPLOYMENT: &str = Program::ProviderLocal.name();

/// How a simulated provider is run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Name of the seed that it serves.
    pub seed_name: String,
    /// Documents or upstream.
    pub profile: Profile,
}

/// Runs all controllers until the component is asked to stop.
pub fn run(context: Context, options: Options) -> BoxFuture<'static, Exit> {
    Box::pin(async move {
        let shutdown = context.tasks.shutdown();
        let provider = Provider::new(&context, options);
        extensions::start(&provider);
        worker::start(&provider);
        mcm::start(&provider);
        provider.start_stores();
        shutdown.requested().await;
        Exit::default()
    })
}
