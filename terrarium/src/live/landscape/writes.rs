// SPDX-License-Identifier: Apache-2.0
//! Checks whether a host can write: its log, and the directory of its landscape.
//!
//! | event | reaction of the host |
//! | --- | --- |
//! | no room on the disk, a store that failed | writes are refused, reads continue, time stands, until it is resolved |
//! | the storage fails | the same, until the landscape is restarted |
//! | the directory is removed or replaced | the host ends, with all processes that it started |

use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use eventlog::sled::Trouble;
use host::time::clock_service::ClockService;
use ops::upgrade::silence::LOG_HOLD;

use crate::failure::Failure;
use crate::live::directory::Held;
use crate::live::host::Log;

/// Wall time between two checks.
const LOOK: TimeDelta = TimeDelta::seconds(1);

/// Watches whether the host can write, and reports changes in its output. Resolves when its directory was removed.
pub(in crate::live) async fn watched(held: &Held, log: &Log, clock: &ClockService) -> Failure {
    let wall = Clock::wall();
    let mut known: Option<Trouble> = None;
    loop {
        // Time would pass with every attempt of clients that retry.
        if let Some(trouble) = &known {
            clock.with(|keeper, wall| keeper.hold(&hold(trouble), wall));
        }
        tokio::select! {
            biased;
            _ = log.trouble_after(known.clone()) => {}
            () = wall.sleep(LOOK, TimerClass::Work) => log.look().await,
        }
        if let Some(gone) = held.gone() {
            return Failure::Failed(format!("{gone}: the landscape ends"));
        }
        let trouble = log.trouble();
        if trouble == known {
            continue;
        }
        if let Some(known) = &known {
            clock.with(|keeper, wall| keeper.release(&hold(known), wall));
        }
        match &trouble {
            None => process::child::say("the event log takes writes again"),
            Some(Trouble::Gone(reason)) => return Failure::Failed(format!("{reason}: the landscape ends")),
            Some(Trouble::Passing(reason)) => {
                process::child::say(&format!("warning: the event log takes no writes at present: {reason}"));
            }
            Some(Trouble::Failed(reason)) => {
                process::child::say(&format!("error: the event log takes no writes: {reason}"));
                process::child::say("hint: `terrarium down` and `terrarium up`, once the reason is gone");
            }
        }
        known = trouble;
    }
}

/// Reason for which time is held.
fn hold(trouble: &Trouble) -> String {
    let remedy = if trouble.is_lasting() { "; `terrarium down` and then `terrarium up` open it again" } else { "" };
    format!("{LOG_HOLD}: {trouble}{remedy}")
}
