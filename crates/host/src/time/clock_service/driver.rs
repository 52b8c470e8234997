// SPDX-License-Identifier: Apache-2.0
//! Driver of landscape time: carries out the decisions of the [`Timekeeper`](crate::time::timekeeper::Timekeeper).

use std::collections::BTreeSet;

use chrono::TimeDelta;
use clock::TimerClass;

use super::ClockService;
use crate::time::timekeeper::{Decision, REPORT_LIMIT};

/// Wall time after which the line counts are requested again from API servers that did not report.
const BARRIER_AGAIN: TimeDelta = TimeDelta::milliseconds(50);

impl ClockService {
    /// Moves time for as long as the service exists.
    pub(super) async fn drive(self) {
        let mut shown = None;
        loop {
            let (decision, gone, granted, head) = {
                let mut state = self.0.state();
                // Must be read after the reports: a report that arrived meanwhile may depend on a write that an earlier
                // head does not have.
                let (head, wall) = (self.0.log.head(), self.0.wall.now());
                let before: BTreeSet<String> = state.keeper.dropped().map(str::to_owned).collect();
                let was_commanded = state.keeper.target().is_some();
                let decision = state.keeper.decide(head, wall);
                state.withholds_grant = matches!(decision, Decision::Grant { .. });
                let gone = state.keeper.dropped().filter(|name| !before.contains(*name));
                let gone: Vec<String> = gone.map(str::to_owned).collect();
                for name in &gone {
                    // If it continues, its next report shows it that it was dropped.
                    state.waiting.remove(name);
                }
                if gone.iter().any(|name| state.commands(name)) {
                    state.keeper.cancel(wall);
                }
                // Ended before its goal because a component or the client is missing.
                if was_commanded && state.keeper.target().is_none() && decision != Decision::Done {
                    state.commands_ended += 1;
                    self.0.moved.notify_waiters();
                }
                if state.keeper.dropped().count() != before.len() {
                    self.0.moved.notify_waiters();
                }
                (decision, gone, state.keeper.granted(), head)
            };
            // Also when time was paused or changed its mode: a restarted host begins at the stored instant, so
            // everything that happened before it must be durable, too.
            if shown.is_none_or(|shown| granted > shown) && self.0.log.durable(head).await.is_ok() {
                shown = Some(granted);
                if let Some(turn) = self.0.turn.get() {
                    turn(granted);
                }
            }
            // Log lines carry the clock's time: nothing is logged while the clock's state is locked.
            for participant in gone {
                let seconds = REPORT_LIMIT.num_seconds();
                tracing::warn!(participant, "it takes no part in landscape time any more: no answer for {seconds} s");
            }
            match decision {
                Decision::Barrier { number, .. } => {
                    if let Some(line_counts) = (self.0.barriers)().await {
                        let wall = self.0.wall.now();
                        let mut state = self.0.state();
                        state.keeper.barrier_stands(number, line_counts, wall);
                        state.ask();
                    } else {
                        self.0.wall.sleep(BARRIER_AGAIN, TimerClass::Work).await;
                        self.0.state().keeper.barrier_failed(number);
                    }
                }
                Decision::Grant { to, .. } => {
                    self.0.state().deliver(&to);
                    self.0.moved.notify_waiters();
                }
                Decision::Done => {
                    self.0.state().commands_ended += 1;
                    self.0.moved.notify_waiters();
                }
                Decision::Wait { until } => {
                    let changed = self.0.changed.notified();
                    match until {
                        None => changed.await,
                        Some(until) => {
                            tokio::select! {
                                biased;
                                () = changed => {}
                                () = self.0.wall.sleep_until(until, TimerClass::Work) => {}
                            }
                        }
                    }
                }
            }
        }
    }
}
