// SPDX-License-Identifier: Apache-2.0
//! An upgrade of the landscape that is carried out component by component, as `terrarium upgrade apply` does. Who serves the
//! pages brings it along: this crate asks for it, and says how far it is.

use process::User;

/// Carries upgrades out, one at a time.
pub trait Upgrades: Send + Sync {
    /// Begins to bring the landscape to a version, `v1.121.0`, by requests of a user. Nothing comes of it while one is going on.
    fn begin(&self, user: User, to: &str);

    /// Ends it before the next component; what was begun goes on.
    fn pause(&self);

    /// How far the last one is; `None`: there has been none.
    fn progress(&self) -> Option<Progress>;

    /// A number that changes with it.
    fn changes(&self) -> u64;
}

/// How far an upgrade is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Where it goes.
    pub to: String,
    /// Its steps, in their order: `gardener-apiserver v1.120.0 -> v1.121.0 (2 instances)`.
    pub steps: Vec<String>,
    /// How many of them are done.
    pub done: usize,
    /// Whether it is going on.
    pub is_running: bool,
    /// Whether it ends before the next component.
    pub is_pausing: bool,
    /// Why it ended before it was done.
    pub problem: Option<String>,
}
