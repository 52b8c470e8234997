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
//! [`child`] the contract of a process, [`logging`] and [`printing`] its lines, [`live`] a component outside of a simulation,
//! [`inside`] several components on one thread, [`attempts`] retries before a component is ready,
//! [`participant`], [`activity`], [`reports`] and [`dial`] its part in landscape time; [`lines`] streams of lines.

pub mod activity;
pub mod attempts;
pub mod child;
pub mod dial;
pub mod https;
pub mod inside;
pub mod lines;
pub mod live;
pub mod logging;
pub mod offload;
pub mod panics;
pub mod participant;
pub mod pki;
pub mod printing;
pub mod reports;
pub mod tasks;
pub mod transport;
pub mod unread;
pub mod watch;

use std::sync::Arc;

use clock::{Clock, Random};

pub use child::Said;
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

/// The output of a component: lines for `pods/log`, and its state for whoever runs it.
#[derive(Clone)]
pub struct Output {
    line: Arc<dyn Fn(&str) + Send + Sync>,
    state: Arc<dyn Fn(Said) + Send + Sync>,
}

impl Output {
    /// An output that hands each line to `sink`. States are dropped.
    pub fn new(sink: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::with_state(sink, |_| {})
    }

    /// An output that hands lines to one function and states to another.
    pub fn with_state(
        line: impl Fn(&str) + Send + Sync + 'static,
        state: impl Fn(Said) + Send + Sync + 'static,
    ) -> Self {
        Self { line: Arc::new(line), state: Arc::new(state) }
    }

    /// Prints one line.
    pub fn line(&self, line: &str) {
        (self.line)(line);
    }

    /// Reports a state.
    pub fn state(&self, state: Said) {
        (self.state)(state);
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
