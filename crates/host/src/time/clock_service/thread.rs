// SPDX-License-Identifier: Apache-2.0
//! Thread of the host's process on which the clock is driven and components run.

use clock::Instant;
use process::polls::Polls;

use super::ClockService;
use crate::time::timekeeper::{OVERDUE, WaitsFor};

/// A participant on whose thread the clock is driven.
pub(super) struct OwnThread {
    participant: &'static str,
    pub(super) polls: Polls,
}

impl ClockService {
    /// Sets the participant on whose thread the clock is driven, and the components that it polls: it is an obstacle
    /// while it does not run, with the component that occupies it. Only the first call has an effect.
    pub fn drive_on(&self, participant: &'static str, polls: Polls) {
        if self.0.thread.set(OwnThread { participant, polls }).is_ok() {
            self.with(|keeper, _| keeper.decide_on(participant));
        }
    }
}

impl OwnThread {
    /// Adds the component that has occupied the thread for long: `components (runtime/a, running for 12 s)`.
    pub(super) fn describe(&self, waits_for: &mut WaitsFor, wall: Instant) {
        let Some((name, time)) = self.polls.look(wall).filter(|(_, time)| *time >= OVERDUE) else { return };
        let text = format!("{} ({name}, running for {} s)", self.participant, time.num_seconds());
        match waits_for.participants.iter_mut().find(|participant| *participant == self.participant) {
            Some(participant) => *participant = text,
            None => waits_for.participants.push(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use process::Tasks;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn the_component_that_occupies_the_thread_is_shown() {
        let polls = Polls::default();
        let thread = OwnThread { participant: "components", polls: polls.clone() };
        let tasks = Tasks::new();
        tasks.show_on(&polls, "runtime/a");
        let (sender, described) = oneshot::channel();
        tasks.spawn(async move {
            let describe = |seconds: i64, known: &[&str]| {
                let participants = known.iter().map(|&name| name.to_owned()).collect();
                let mut waits_for = WaitsFor { participants, holds: Vec::new() };
                thread.describe(&mut waits_for, Instant::UNIX_EPOCH + TimeDelta::seconds(seconds));
                waits_for.participants.join(", ")
            };
            let known = ["clock-1", "components", "runtime/b"];
            let _ = sender.send([describe(0, &known), describe(2, &known), describe(12, &known), describe(12, &[])]);
        });
        let unknown = "clock-1, components, runtime/b";
        let expected = [
            unknown,
            unknown,
            "clock-1, components (runtime/a, running for 12 s), runtime/b",
            "components (runtime/a, running for 12 s)",
        ];
        assert_eq!(described.await.expect("it ran"), expected);
    }
}
