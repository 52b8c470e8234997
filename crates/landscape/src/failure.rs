// SPDX-License-Identifier: Apache-2.0
//! Reasons for which a landscape halts.

use clock::Instant;
use eventlog::livelock::LiveLock;

use crate::component::Component;

/// Reason for which a landscape has halted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// Controllers reacted to one another in an endless cycle; the landscape has stopped permanently.
    #[error("{0}")]
    LiveLock(LiveLock),
    /// A task of a component panicked: a bug.
    #[error("{0} panicked")]
    Panicked(Component),
    /// A component ended by itself.
    #[error("{component} ended with exit code {code}: {last_line}")]
    Ended {
        /// The component.
        component: Component,
        /// Exit code of the component.
        code: u8,
        /// Last line of its output.
        last_line: String,
    },
    /// The awaited result cannot occur: nothing is runnable and no timer is left that may fire.
    #[error("nothing happens any more at {at}; waiting: {}", waiting.join(", "))]
    Stuck {
        /// Landscape time.
        at: Instant,
        /// Running components, and the due time of the next timer.
        waiting: Vec<String>,
    },
    /// A request of the landscape itself failed.
    #[error("cannot {0}: {1}")]
    Refused(String, controller::Error),
    /// Replaying the log's entries does not produce the served state.
    #[error("replay differs from the live state: {0}")]
    Replay(String),
}
