// SPDX-License-Identifier: Apache-2.0
//! Shared parts of the binaries of Gardener's components: command line, configuration file, registration, skew checks,
//! leader election, and joining a landscape.
//!
//! ```text
//! main.rs of a room ──► main(&BINARY) ─┬─ started by a host: assignment on standard input ─┐
//!                                      └─ --kubeconfig: requests it from the host ─────────┴─► BINARY.serve
//! ```
//!
//! A room describes its component as a [`Binary`]: its row in the table of components, its flags, and the function that
//! serves an assignment. `terrarium component NAME` starts the same value, so a component behaves alike in both.
//!
//! **Invariants.** No code of a single component: the function is passed in. No environment variable is read.
//!
//! **Tour.** [`binary`] a component's binary and its command line; [`controllers`] components that take part in
//! landscape time; [`configuration`] files and [`Flags`] of a container; [`registration`] the check before a
//! component is ready, [`skew_watch`] the one while it runs, `skew_event` their Events; [`joining`] components that
//! no host has started; [`signals`] the signals that end a process.

pub mod binary;
pub mod configuration;
pub mod controllers;
mod flags;
pub mod joining;
pub mod registration;
pub mod signals;
mod skew_event;
pub mod skew_watch;

use clock::{Clock, Random};
use domain::rbac::Mode;
use domain::skew::registration::Registered;
use process::child::{self, Assignment, Ready};
use process::{ChildMessage, Context, Tasks};

pub use binary::{Binary, main};
pub use flags::{Flag, Flags, PROFILE};

/// Returns the registration of a process; `address` is empty if it does not serve.
pub fn registered<'a>(assignment: &'a Assignment, address: &'a str) -> Registered<'a> {
    Registered {
        cluster: &assignment.cluster,
        pod: &assignment.instance,
        component: &assignment.component,
        version: &assignment.version,
        address,
    }
}

/// Returns the state of a ready component of this build; `address` is empty if it does not serve.
pub fn ready(address: &str) -> ChildMessage {
    ChildMessage::Ready(Ready { program: env!("CARGO_PKG_VERSION").to_owned(), address: address.to_owned() })
}

/// Returns the mode of authorization of the landscape.
///
/// # Errors
/// A mode that does not exist.
pub fn authorization(assignment: &Assignment) -> Result<Mode, String> {
    match assignment.authorization.as_str() {
        "" => Ok(Mode::default()),
        name => Mode::named(name).ok_or_else(|| format!("there is no authorization {name}")),
    }
}

/// Returns the context of a component that takes no part in landscape time: both its clocks show wall time.
///
/// # Errors
/// The assignment holds no certificates, or no address.
pub fn wall_context(assignment: &Assignment) -> Result<Context, String> {
    Ok(Context {
        identity: assignment.identity(),
        clock: Clock::wall(),
        random: Random::new(assignment.seed),
        wall: Clock::wall(),
        transport: assignment.transport()?,
        tasks: Tasks::new(),
        output: child::output(),
    })
}

/// Runs a server of a component on this thread.
///
/// # Errors
/// The server's own, or no runtime can be created.
pub fn block_on<T>(server: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot make a runtime: {error}"))?;
    runtime.block_on(server)
}
