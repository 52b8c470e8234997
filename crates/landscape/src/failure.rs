// SPDX-License-Identifier: Apache-2.0
//! Why a landscape came to a halt.

use clock::Instant;
use eventlog::livelock::LiveLock;

use crate::component::Component;

/// Why a landscape came to a halt.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// Controllers answered one another without end; the landscape has stopped for good.
    #[error("{0}")]
    LiveLock(LiveLock),
    /// A task of a component panicked: a bug.
    #[error("{0} panicked")]
    Panicked(Component),
    /// A component ended by itself.
    #[error("{component} ended with exit code {code}: {last_line}")]
    Ended {
        /// Which one.
        component: Component,
        /// Its exit code.
        code: u8,
        /// The last line that it printed.
        last_line: String,
    },
    /// What was waited for cannot come: nothing is runnable and no timer is left that may fire.
    #[error("nothing happens any more at {at}; waiting: {}", waiting.join(", "))]
    Stuck {
        /// Landscape time.
        at: Instant,
        /// Who is alive, and when the next timer is due.
        waiting: Vec<String>,
    },
    /// A request of the landscape itself was refused.
    #[error("cannot {0}: {1}")]
    Refused(String, controller::Error),
    /// The log's entries do not lead to the state that is served.
    #[error("replay differs from the live state: {0}")]
    Replay(String),
}
