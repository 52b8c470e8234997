// SPDX-License-Identifier: Apache-2.0
//! How a component runs: its one way to the world, and how it ends.
//!
//! A component is a library with `async fn run(context: Context, …) -> Exit`. It reaches the world only through its
//! [`Context`]; so the same code runs as a process of a landscape and as a task of a simulation.
//!
//! **Invariants.** No noun of Gardener. Nothing here ends a process: a component returns an [`Exit`].
//!
//! **Tour.** [`Context`] and its fields; [`transport`] requests to API servers; [`unread`] unread bodies of requests;
//! [`tasks`] spawning and stopping;
//! [`panics`] messages of panics; [`offload`] long work on separate threads; [`watch`] values that
//! others wait on; [`https`] the transport between processes; [`pki`] keys and certificates;
//! [`child`] the contract of a process, [`logging`] what it says, [`live`] a component outside of a simulation,
//! [`attempts`] what it tries before it is ready,
//! [`participant`], [`activity`], [`reports`] and [`dial`] its part in landscape time; [`lines`] streams of lines.

pub mod activity;
pub mod attempts;
pub mod child;
pub mod dial;
pub mod https;
pub mod lines;
pub mod live;
pub mod logging;
pub mod offload;
pub mod panics;
pub mod participant;
pub mod pki;
pub mod reports;
pub mod tasks;
pub mod transport;
pub mod unread;
pub mod watch;

use std::sync::Arc;

use clock::{Clock, Random};

pub use offload::{Offload, Work};
pub use tasks::{Shutdown, Tasks};
pub use transport::{Body, Request, Response, Shared, Transport, TransportError, User};

/// Who a component is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Name in the field, `gardener-controller-manager`, `gardenlet`.
    pub component: Arc<str>,
    /// Which of several: the pod's name, or the seed for gardenlet.
    pub instance: Arc<str>,
    /// Emulated version, `v1.120.0`.
    pub version: Arc<str>,
}

/// Everything a component may touch. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Context {
    /// Who the component is.
    pub identity: Identity,
    /// Landscape time.
    pub clock: Clock,
    /// Keyed randomness of the landscape.
    pub random: Random,
    /// Wall time, for what touches the outside or is a process. In a simulation its sleeps end only when a test passes
    /// wall time.
    pub wall: Clock,
    /// Requests to API servers, with the component's identity on them.
    pub transport: Transport,
    /// Spawning; everything spawned ends with the component.
    pub tasks: Tasks,
    /// Lines that the component prints.
    pub output: Output,
}

/// Where a component prints: `pods/log` in a landscape, a buffer in a simulation.
#[derive(Clone)]
pub struct Output(Arc<dyn Fn(&str) + Send + Sync>);

impl Output {
    /// An output that hands each line to `sink`.
    pub fn new(sink: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(sink))
    }

    /// Prints one line.
    pub fn line(&self, line: &str) {
        (self.0)(line);
    }
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Output")
    }
}

/// How a component ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// Exit code of the process.
    pub code: u8,
    /// The last line it printed.
    pub last_line: String,
}
