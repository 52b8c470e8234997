// SPDX-License-Identifier: Apache-2.0
//! Intentional ends of processes: fault `component-crash`.

use api::cluster;
use api::terrarium::Fault;
use apimachinery::meta::Time;
use clock::Clock;
use controller::Api;
use domain::fault::{self, Process};
use process::{Context, watch};

use crate::pods::faults::Faults;

/// Watches for faults that end one process.
pub(super) struct Crashes<'a> {
    context: &'a Context,
    faults: &'a Faults,
    changes: watch::Receiver<()>,
    /// True once the present faults were checked.
    has_looked: bool,
    process: Process<'a>,
}

impl<'a> Crashes<'a> {
    pub(super) fn of(context: &'a Context, faults: &'a Faults, process: Process<'a>) -> Self {
        Self { context, faults, changes: faults.changes(), has_looked: false, process }
    }

    fn clock(&self) -> &Clock {
        &self.context.clock
    }

    /// Resolves with the name of a fault that is to end the process.
    pub(super) async fn next(&mut self) -> String {
        loop {
            if self.has_looked && self.changes.changed().await.is_err() {
                return std::future::pending().await;
            }
            self.has_looked = true;
            let now = self.clock().now();
            if let Some(found) = self.faults.all().iter().find(|it| fault::crashes(it, self.process, now)) {
                return found.metadata.name.clone();
            }
        }
    }

    /// Counts a hit of a fault; returns false if the fault has reached its limit or cannot be updated.
    pub(super) async fn count(&self, name: &str) -> bool {
        let api = Api::<Fault>::all(self.context, cluster::RUNTIME);
        loop {
            let Ok(Some(present)) = api.get_opt(name).await else { return false };
            let now = self.clock().now();
            if !fault::crashes(&present, self.process, now) {
                return false;
            }
            let status = fault::hit_process(&present, self.process, Time::from_instant(now));
            match api.update_status(&present, &Fault { status, ..present.clone() }).await {
                // The hit of another process was counted meanwhile.
                Err(error) if error.is_conflict() => {}
                Err(error) => {
                    tracing::warn!(%error, fault = name, "cannot count what a fault has done");
                    return false;
                }
                Ok(_) => return true,
            }
        }
    }
}
