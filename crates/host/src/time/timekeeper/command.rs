// SPDX-License-Identifier: Apache-2.0
//! Command that moves landscape time.

use chrono::TimeDelta;
use clock::{END, Instant};

use super::{Anchor, CommandError, Timekeeper};

/// Command that moves time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    pub(super) to: Instant,
    /// Wall time that other clients have to act after a step that reached them.
    pub(super) settle: TimeDelta,
    /// True if the command continues when a component is dropped.
    pub(super) ignores_absence: bool,
}

impl Timekeeper {
    /// Begins to advance to an instant, through every timer on the way. After a step that reached other clients, time
    /// stands for `settle` of wall time.
    ///
    /// # Errors
    /// Another command is running, or the instant has passed or is after the end of time.
    pub fn advance(&mut self, to: Instant, settle: TimeDelta, wall: Instant) -> Result<(), CommandError> {
        if let Some(command) = self.command {
            return Err(CommandError::Busy(command.to));
        }
        let now = self.now(wall);
        if to < now {
            return Err(CommandError::Backwards(now));
        }
        if to > END.max(now) {
            return Err(CommandError::Ended);
        }
        self.now = now;
        self.command = Some(Command { to, settle, ignores_absence: false });
        self.others_until = None;
        self.live_lock = None;
        Ok(())
    }

    /// Lets the current command continue when a component is dropped.
    pub fn ignore_absence(&mut self) {
        if let Some(command) = &mut self.command {
            command.ignores_absence = true;
            self.awaited.clear();
        }
    }

    /// Ends a command at once, at the present instant.
    pub fn cancel(&mut self, wall: Instant) {
        if self.command.take().is_some() {
            self.anchor = Anchor { landscape: self.now, wall };
        }
    }

    /// Ends a command at the present instant, as soon as all participants are idle there.
    pub fn halt(&mut self) {
        if let Some(command) = &mut self.command {
            command.to = self.now;
        }
    }

    /// Goal of the running command.
    pub fn target(&self) -> Option<Instant> {
        self.command.map(|command| command.to)
    }
}
