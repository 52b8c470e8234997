// SPDX-License-Identifier: Apache-2.0
//! Whether a host can write: its log, and the directory of its landscape.
//!
//! | what happens | what the host does |
//! | --- | --- |
//! | no room on the disk, a store that failed | writes are refused, reads go on, time stands, until that is over |
//! | the storage fails | the same, until the landscape is started again |
//! | the directory is removed or replaced | the host ends, with everything that it started |

use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use eventlog::sled::Trouble;
use host::clock_service::ClockService;

use crate::failure::Failure;
use crate::live::directory::Held;
use crate::live::host::Log;

/// Wall time between two looks.
const LOOK: TimeDelta = TimeDelta::seconds(1);

/// Follows whether the host can write, and says so where it says everything. Resolves when its directory is gone.
pub(in crate::live) async fn watched(held: &Held, log: &Log, clock: &ClockService) -> Failure {
    let wall = Clock::wall();
    let mut known: Option<Trouble> = None;
    loop {
        // Time would go on with every attempt of those who try again.
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

/// What time is held for.
fn hold(trouble: &Trouble) -> String {
    format!("the event log, which takes no writes: {trouble}")
}
