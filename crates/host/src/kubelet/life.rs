// SPDX-License-Identifier: Apache-2.0
//! The life of one pod: its process is started until the pod is gone.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;

use api::kubernetes::core::Pod;
use apimachinery::meta::{DeleteOptions, Preconditions};
use chrono::{DateTime, TimeDelta, Utc};
use clock::TimerClass;
use controller::{Api, ObjectKey};
use process::Shutdown;
use tokio::sync::oneshot;

use super::child::{GRACE, News, Process};
use super::status::{self, Ended, State};
use super::{Kubelet, Program, mounts};

/// Lines of a failed process that its pod's status shows.
const LAST_LINES: usize = 5;
/// Wall time after which a pod that lacks something is looked at again.
const CONFIG_AGAIN: TimeDelta = TimeDelta::seconds(2);

/// Runs the pod's process, again and again, until `stopped` resolves (its sender is dropped) or the kubelet ends; in the
/// first case the pod is removed then, if it is to be deleted.
pub(super) async fn run(
    kubelet: &Kubelet,
    key: &ObjectKey,
    pod: Arc<Pod>,
    launch: Result<Program, String>,
    stopped: oneshot::Receiver<()>,
) {
    let mut life = Life {
        api: kubelet.api.within(&key.cluster, &key.namespace),
        kubelet,
        key,
        stop: Stop { stopped, shutdown: kubelet.context.tasks.shutdown(), is_requested: false },
        // A pod that had a process before this kubelet came: the machine was restarted under it.
        restarts: pod.status.container_statuses.first().map_or(0, |container| container.restart_count + 1),
        failures: 0,
        last: None,
        pod: Pod::clone(&pod),
    };
    life.go_on(launch).await;
    life.release();
    if life.stop.shutdown.is_requested() {
        return;
    }
    let preconditions = Preconditions { uid: Some(life.pod.metadata.uid.clone()), ..Preconditions::default() };
    let options =
        DeleteOptions { grace_period_seconds: Some(0), preconditions: Some(preconditions), ..DeleteOptions::default() };
    if let Err(error) = life.api.delete(&key.name, &options).await
        && !error.is_not_found()
        && !error.is_conflict()
    {
        tracing::warn!(%error, pod = %key, "cannot remove the pod");
    }
}

/// The wish that a life ends.
struct Stop {
    stopped: oneshot::Receiver<()>,
    shutdown: Shutdown,
    is_requested: bool,
}

impl Stop {
    /// Resolves when it is there.
    async fn requested(&mut self) {
        if !self.is_requested {
            tokio::select! {
                biased;
                _ = &mut self.stopped => {}
                () = self.shutdown.requested() => {}
            }
            self.is_requested = true;
        }
    }
}

struct Life<'a> {
    kubelet: &'a Kubelet,
    key: &'a ObjectKey,
    api: Api<Pod>,
    stop: Stop,
    pod: Pod,
    restarts: i32,
    /// How often in a row its process failed.
    failures: u32,
    last: Option<Ended>,
}

impl Life<'_> {
    /// Until the life is to end.
    async fn go_on(&mut self, launch: Result<Program, String>) {
        let launch = match launch {
            Ok(launch) => launch,
            Err(reason) => {
                self.write(&State::Refused(reason)).await;
                return self.stop.requested().await;
            }
        };
        while !self.stop.is_requested {
            self.hold();
            self.write(&State::Creating).await;
            let mut launch = launch.clone();
            match mounts::complete(&self.kubelet.context, self.key, &self.pod, launch.assignment.clone()).await {
                Ok(assignment) => {
                    launch.assignment = assignment;
                    launch.assignment.writer += u64::try_from(self.restarts).unwrap_or_default();
                }
                Err(reason) => {
                    self.release();
                    self.write(&State::Refused(reason)).await;
                    self.pause(CONFIG_AGAIN).await;
                    continue;
                }
            }
            let ended = self.once(&launch).await;
            self.release();
            (self.kubelet.options.listener)(self.key, &self.pod, None).await;
            if self.stop.is_requested {
                return;
            }
            let clean = ended.finished_at - ended.started_at >= status::CLEAN_RECORD;
            self.failures = if clean { 1 } else { self.failures.saturating_add(1) };
            self.last = Some(ended);
            let pause = status::back_off(self.failures);
            if pause > TimeDelta::zero() {
                self.write(&State::BackOff(pause)).await;
                self.pause(pause).await;
            }
            self.restarts += 1;
        }
    }

    /// Until either clock has passed it, or the life is to end. It is no work: landscape time must not run ahead to see
    /// a process fail again.
    async fn pause(&mut self, pause: TimeDelta) {
        tokio::select! {
            biased;
            () = self.stop.requested() => {}
            () = self.kubelet.context.clock.sleep(pause, TimerClass::Calendar) => {}
            () = self.kubelet.context.wall.sleep(pause, TimerClass::Calendar) => {}
        }
    }

    /// Runs its process once, to its end.
    async fn once(&mut self, launch: &Program) -> Ended {
        let started_at = self.kubelet.context.clock.now();
        self.kubelet.options.logs.begin(self.key, self.restarts == 0);
        let mut process = match Process::start(launch).await {
            Ok(process) => process,
            Err(error) => {
                let reason = format!("cannot start {}: {error}", launch.path.display());
                self.kubelet.options.logs.line(self.key, &reason);
                return self.ended(started_at, None);
            }
        };
        self.write(&State::Started(started_at)).await;
        let mut patience: Option<clock::Sleep> = None;
        loop {
            let is_asked = patience.is_some();
            let news = tokio::select! {
                biased;
                news = process.news() => news,
                () = self.stop.requested(), if !is_asked => {
                    process.stop();
                    let grace = TimeDelta::from_std(GRACE).unwrap_or_default();
                    patience = Some(self.kubelet.context.wall.sleep(grace, TimerClass::Calendar));
                    continue;
                }
                () = async { if let Some(patience) = &mut patience { patience.await } }, if is_asked => {
                    process.kill();
                    // Killed once; its end is all that is waited for.
                    patience = Some(Box::pin(std::future::pending()));
                    continue;
                }
            };
            match news {
                Ok(News::Line(line)) => self.kubelet.options.logs.line(self.key, &line),
                Ok(News::Ready(ready)) => {
                    self.release();
                    (self.kubelet.options.listener)(self.key, &self.pod, Some(&ready)).await;
                    self.write(&State::Ready(started_at)).await;
                }
                Ok(News::Ended(exit)) => return self.ended(started_at, Some(exit)),
                Err(error) => {
                    self.kubelet.options.logs.line(self.key, &format!("cannot hear the process: {error}"));
                    return self.ended(started_at, None);
                }
            }
        }
    }

    fn ended(&self, started_at: DateTime<Utc>, exit: Option<ExitStatus>) -> Ended {
        let signal = exit.and_then(|exit| exit.signal()).unwrap_or(0);
        // As shells count: 128 and the signal; 128 alone if it never was a process.
        let exit_code = exit.map_or(128, |exit| exit.code().unwrap_or(128 + signal));
        let last_lines = self.kubelet.options.logs.end(self.key, LAST_LINES);
        Ended { exit_code, signal, started_at, finished_at: self.kubelet.context.clock.now(), last_lines }
    }

    async fn write(&mut self, state: &State) {
        let mut new = self.pod.clone();
        let now = self.kubelet.context.clock.now();
        new.status = status::status(&self.pod, state, self.last.as_ref(), self.restarts, now);
        loop {
            match self.api.update_status(&self.pod, &new).await {
                Ok(pod) => self.pod = pod,
                Err(error) if error.is_conflict() => {
                    // Somebody else changed the pod: labels, or a deletion mark.
                    if let Ok(Some(pod)) = self.api.get_opt(&self.key.name).await
                        && pod.metadata.uid == self.pod.metadata.uid
                    {
                        let status = std::mem::take(&mut new.status);
                        self.pod = pod.clone();
                        new = Pod { status, ..pod };
                        continue;
                    }
                }
                Err(error) => tracing::warn!(%error, pod = %self.key, "cannot write the pod's status"),
            }
            return;
        }
    }

    fn hold(&self) {
        (self.kubelet.options.hold)(&self.hold_name(), true);
    }

    fn release(&self) {
        (self.kubelet.options.hold)(&self.hold_name(), false);
    }

    fn hold_name(&self) -> String {
        format!("pod {}", self.key)
    }
}
