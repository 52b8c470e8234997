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
//! It reads and writes API objects only: gardenlet requests operations by an annotation on extension objects, and reads
//! the result in their status.
//!
//! **Invariants.** Decisions about roll-outs are made in `domain`. Every wait is a work timer for an instant that is
//! derived from recorded times, so a restarted controller continues where the last one stopped.

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

/// Name of its Deployment and of its process.
pub const DEPLOYMENT: &str = Program::ProviderLocal.name();

/// Options of a simulated provider.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Name of the seed that it serves.
    pub seed_name: String,
    /// Profile of the emulation: documented or upstream behaviour.
    pub profile: Profile,
}

/// Runs all controllers until the component is requested to stop.
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
