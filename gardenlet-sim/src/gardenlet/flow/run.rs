// SPDX-License-Identifier: Apache-2.0
//! Runs a flow: tasks concurrently, with a report of progress at the end of each instant.

use std::future::Future;

use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use domain::last_operation::TaskFailure;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt as _};

use super::{Plan, Task};

/// Delay of a progress report, so that all changes of one instant are in one report.
const END_OF_INSTANT: TimeDelta = TimeDelta::milliseconds(1);

/// Progress of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Progress in percent.
    pub(crate) percent: i32,
    /// Running tasks, in table order.
    pub(crate) running: Vec<&'static str>,
    /// Tasks that succeeded since the last report.
    pub(crate) succeeded: Vec<&'static str>,
}

/// Result of a flow.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Failed tasks, in the order in which they failed; empty if the flow succeeded.
    pub(crate) failures: Vec<TaskFailure>,
    /// Progress in percent.
    pub(crate) percent: i32,
}

/// Runs all tasks of a plan. `perform` executes a task; `report` is called with the progress, at most once per instant,
/// while the flow waits for time or for other components.
pub(crate) async fn run<'a, R, RFut>(
    mut plan: Plan,
    clock: &Clock,
    perform: impl Fn(&'static Task) -> BoxFuture<'a, Result<(), TaskFailure>>,
    mut report: R,
) -> Ended
where
    R: FnMut(Progress) -> RFut,
    RFut: Future<Output = ()>,
{
    let mut running = FuturesUnordered::new();
    let mut failures = Vec::new();
    let mut succeeded = Vec::new();
    let mut reported = 0;
    let mut is_news = false;
    loop {
        for task in plan.start_ready() {
            let work = perform(task);
            running.push(async move { (task, work.await) });
            is_news = true;
        }
        if running.is_empty() {
            break;
        }
        // Created only when awaited: an unused timer would stop a simulated clock needlessly.
        let end_of_instant = async {
            if is_news {
                clock.sleep(END_OF_INSTANT, TimerClass::Work).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            Some((task, result)) = running.next() => {
                plan.finish(task.number, result.is_ok());
                match result {
                    Ok(()) => succeeded.push(task.name(plan.facts())),
                    Err(failure) => failures.push(failure),
                }
                is_news = true;
            }
            () = end_of_instant => {
                is_news = false;
                report(Progress {
                    percent: plan.progress(),
                    running: plan.running().collect(),
                    succeeded: succeeded[reported..].to_vec(),
                })
                .await;
                reported = succeeded.len();
            }
        }
    }
    Ended { failures, percent: plan.progress() }
}
