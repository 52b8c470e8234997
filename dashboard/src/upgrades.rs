// SPDX-License-Identifier: Apache-2.0
//! An upgrade of the landscape that is carried out component by component, as `terrarium upgrade apply` does. The process that
//! serves the pages provides the implementation: this crate starts it, and shows its progress.

use process::User;

/// Carries upgrades out, one at a time.
pub trait Upgrades: Send + Sync {
    /// Begins to upgrade the landscape to a version, `v1.121.0`, by requests of a user. Has no effect while an upgrade is
    /// running.
    fn begin(&self, user: User, to: &str);

    /// Ends the upgrade before the next component; the begun step continues.
    fn pause(&self);

    /// Returns the progress of the last upgrade; `None`: there has been none.
    fn progress(&self) -> Option<Progress>;

    /// Returns a number that changes with the progress.
    fn changes(&self) -> u64;
}

/// Progress of an upgrade.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Target version.
    pub to: String,
    /// Steps, in their order: `gardener-apiserver v1.120.0 -> v1.121.0 (2 instances)`.
    pub steps: Vec<String>,
    /// Number of completed steps.
    pub done: usize,
    /// True if it is running.
    pub is_running: bool,
    /// True if it will end before the next component.
    pub is_pausing: bool,
    /// Reason why it ended before it was complete.
    pub problem: Option<String>,
}
