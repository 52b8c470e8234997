// SPDX-License-Identifier: Apache-2.0
//! Spawning and stopping.

use std::future::Future;

/// Spawns the tasks of one component; stopping the component ends them all.
#[derive(Clone, Debug)]
pub struct Tasks {}

impl Tasks {
    /// Tasks of a new component on the current runtime.
    pub fn new() -> Self {
        todo!()
    }

    /// Spawns a task.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(task);
        todo!()
    }

    /// The signal to stop.
    pub fn shutdown(&self) -> Shutdown {
        todo!()
    }

    /// Asks every task to stop; a task that does not watch [`Shutdown`] is dropped at its next suspension point.
    pub fn stop(&self) {
        todo!()
    }

    /// Resolves when every task has ended.
    pub async fn ended(&self) {
        todo!()
    }
}

impl Default for Tasks {
    fn default() -> Self {
        Self::new()
    }
}

/// The signal to stop. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Shutdown {}

impl Shutdown {
    /// Whether stopping was asked for.
    pub fn is_requested(&self) -> bool {
        todo!()
    }

    /// Resolves when stopping is asked for.
    pub async fn requested(&self) {
        todo!()
    }
}
