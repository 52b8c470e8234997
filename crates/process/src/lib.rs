// SPDX-License-Identifier: Apache-2.0
//! Runtime environment of a component: its context, and its exit.
//!
//! A component is a library with `async fn run(context: Context, …) -> Exit`. It reaches its environment only through
//! its [`Context`]; so the same code runs as a process of a landscape and as a task of a simulation.
//!
//! **Invariants.** No concept of Gardener. Nothing here ends a process: a component returns an [`Exit`].
//!
//! **Tour.** [`Context`] and its fields; [`transport`] requests to API servers; [`unread`] unread bodies of requests;
//! [`tasks`] spawning and stopping; [`polls`] the component that occupies a thread; [`panics`] messages of panics;
//! [`offload`] long work on separate threads; [`watch`] values with change notification; [`https`] the transport
//! between processes; [`pki`] keys and certificates; [`child`] the contract of a process, [`logging`] and [`printing`]
//! its lines, [`live`] a component outside of a simulation, [`inside`] several components on one thread, [`attempts`]
//! retries before a component is ready, [`participant`], [`activity`], [`reports`] and [`dial`] its part in landscape
//! time; [`lines`] streams of lines.

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
pub mod polls;
pub mod printing;
pub mod reports;
pub mod tasks;
pub mod transport;
pub mod unread;
pub mod watch;

use std::sync::Arc;

use clock::{Clock, Random};

pub use child::ChildMessage;
pub use offload::{Offload, Work};
pub use tasks::{Shutdown, Tasks};
pub use transport::{Body, Request, Response, Shared, Transport, TransportError, User};

/// Identity of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Name of the component, as upstream: `gardener-controller-manager`, `gardenlet`.
    pub component: Arc<str>,
    /// Name of the instance: the pod's name, or the seed for gardenlet.
    pub instance: Arc<str>,
    /// Emulated version, `v1.120.0`.
    pub version: Arc<str>,
}

/// Environment of a component. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Context {
    /// Identity of the component.
    pub identity: Identity,
    /// Landscape time.
    pub clock: Clock,
    /// Keyed randomness of the landscape.
    pub random: Random,
    /// Wall time, for interaction with the outside and with processes. In a simulation its sleeps end only when a test
    /// advances wall time.
    pub wall: Clock,
    /// Requests to API servers, with the component's identity.
    pub transport: Transport,
    /// Spawns tasks, which end with the component.
    pub tasks: Tasks,
    /// Lines that the component prints.
    pub output: Output,
}

/// Output of a component: lines for `pods/log`, and states for its parent.
#[derive(Clone)]
pub struct Output {
    line: Arc<dyn Fn(&str) + Send + Sync>,
    state: Arc<dyn Fn(ChildMessage) + Send + Sync>,
}

impl Output {
    /// Creates an output that passes each line to `sink` and drops states.
    pub fn new(sink: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::with_state(sink, |_| {})
    }

    /// Creates an output that passes lines to one function and states to another.
    pub fn with_state(
        line: impl Fn(&str) + Send + Sync + 'static,
        state: impl Fn(ChildMessage) + Send + Sync + 'static,
    ) -> Self {
        Self { line: Arc::new(line), state: Arc::new(state) }
    }

    /// Prints one line.
    pub fn line(&self, line: &str) {
        (self.line)(line);
    }

    /// Reports a state.
    pub fn state(&self, state: ChildMessage) {
        (self.state)(state);
    }
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Output")
    }
}

/// Result of a component that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// Exit code of the process.
    pub code: u8,
    /// Last line of its output: the reason of its end.
    pub last_line: String,
}
