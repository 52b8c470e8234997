// SPDX-License-Identifier: Apache-2.0
//! Lifecycle of one pod: its process is restarted until the pod is deleted.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;

use api::cluster;
use api::kubernetes::core::{ContainerStateTerminated, Pod};
use chrono::{DateTime, TimeDelta, Utc};
use clock::TimerClass;
use controller::{Api, ObjectKey};
use domain::fault::Process as Faulty;
use process::Shutdown;
use process::child::Unready;
use process::panics::Panicked;
use tokio::sync::oneshot;

use super::child::{GRACE, News, Process};
use super::crash::Crashes;
use super::status::{self, Ended, State};
use super::{Kubelet, Program, Refusal, mounts};

/// Number of output lines of a failed process in its pod's status.
const LAST_LINES: usize = 5;
/// Wait status of exit code 1.
const FAILURE: i32 = 1 << 8;
/// Wall time after which the configuration of a pod is resolved again.
const CONFIG_AGAIN: TimeDelta = TimeDelta::seconds(2);

/// Runs the pod's process and restarts it, until `stopped` resolves (its sender is dropped) or the kubelet ends.
pub(super) async fn run(
    kubelet: &Kubelet,
    key: &ObjectKey,
    pod: Arc<Pod>,
    launch: Result<Program, Refusal>,
    stopped: oneshot::Receiver<()>,
) {
    let last = status::before(&pod, &kubelet.options.before, kubelet.context.clock.now());
    let had_one = pod.status.container_statuses.first().is_some_and(|container| container.state.running.is_some());
    if let Some(last) = last.as_ref().filter(|_| had_one) {
        kubelet.options.logs.lost(key, &last.message);
    }
    let mut life = Life {
        api: kubelet.api.within(&key.cluster, &key.namespace),
        kubelet,
        key,
        stop: Stop { stopped, shutdown: kubelet.context.tasks.shutdown(), is_requested: false },
        // A pod that already had a process before this kubelet started: the machine was restarted.
        restarts: pod.status.container_statuses.first().map_or(0, |container| {
            let is_without_image =
                container.state.waiting.as_ref().is_some_and(|it| status::is_without_image(&it.reason));
            container.restart_count + i32::from(!is_without_image)
        }),
        failures: 0,
        last,
        panicked: None,
        unready: None,
        state: State::Creating,
        pod: Pod::clone(&pod),
    };
    life.go_on(launch).await;
    life.release();
}

/// Request to end a process.
struct Stop {
    stopped: oneshot::Receiver<()>,
    shutdown: Shutdown,
    is_requested: bool,
}

impl Stop {
    /// Resolves when the request is made.
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
    /// Number of consecutive failures of the process.
    failures: u32,
    last: Option<ContainerStateTerminated>,
    /// Latest panic that the process survived.
    panicked: Option<Panicked>,
    /// Reason for which the process is not ready; `None`: it is ready.
    unready: Option<Unready>,
    state: State,
}

impl Life<'_> {
    /// Runs until the lifecycle is to end.
    async fn go_on(&mut self, launch: Result<Program, Refusal>) {
        let launch = match launch {
            Ok(launch) => launch,
            Err(Refusal::NoImage) => {
                for again in [false, true] {
                    self.write(&State::NoImage { again }).await;
                }
                return self.stop.requested().await;
            }
            Err(Refusal::Config(reason)) => {
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
                    self.write(&State::Refused(reason)).await;
                    self.release();
                    self.pause(CONFIG_AGAIN).await;
                    continue;
                }
            }
            let ended = self.once(&launch).await;
            // Landscape time is held until the process is started again, or until the pod's status shows when that will
            // be.
            self.hold();
            (self.kubelet.options.listener)(self.key, &self.pod, None).await;
            if self.stop.is_requested {
                return;
            }
            let clean = ended.finished_at - ended.started_at >= status::CLEAN_RECORD;
            self.failures = if clean { 1 } else { self.failures.saturating_add(1) };
            self.last = Some(status::terminated(&ended));
            let pause = status::back_off(self.failures);
            if pause > TimeDelta::zero() {
                self.write(&State::BackOff(pause)).await;
                self.release();
                self.pause(pause).await;
            }
            self.restarts += 1;
        }
    }

    /// Waits until either clock has passed the back-off, or the lifecycle is to end. The timer is not a work timer:
    /// landscape time must not jump ahead only to restart a failing process.
    async fn pause(&mut self, pause: TimeDelta) {
        tokio::select! {
            biased;
            () = self.stop.requested() => {}
            () = self.kubelet.context.clock.sleep(pause, TimerClass::Calendar) => {}
            () = self.kubelet.context.wall.sleep(pause, TimerClass::Calendar) => {}
        }
    }

    /// Runs the process once, to its end.
    async fn once(&mut self, launch: &Program) -> Ended {
        let started_at = self.kubelet.context.clock.now();
        (self.panicked, self.unready) = (None, None);
        self.kubelet.options.logs.begin(self.key, self.restarts == 0);
        let (context, inside) = (&self.kubelet.context, self.kubelet.options.inside.as_ref());
        let mut process = match Process::start(launch, context, inside).await {
            Ok(process) => process,
            Err(error) => return self.ended(started_at, None, Some(error.to_string()), None),
        };
        let pid = process.id();
        self.write(&State::Started(started_at)).await;
        let assignment = &launch.assignment;
        let (component, seed) = (assignment.component.as_str(), cluster::seed(&self.key.cluster));
        let itself = Faulty { component, pod: &self.key.name, seed };
        let kubelet = self.kubelet;
        let mut crashes = Crashes::of(&kubelet.context, &kubelet.options.faults, itself);
        let mut crashed: Option<String> = None;
        let mut patience: Option<clock::Sleep> = None;
        let mut killed = false;
        loop {
            let is_stop_requested = patience.is_some();
            let news = tokio::select! {
                biased;
                news = process.news() => news,
                () = self.stop.requested(), if !is_stop_requested => {
                    process.stop();
                    let grace = TimeDelta::from_std(GRACE).unwrap_or_default();
                    patience = Some(self.kubelet.context.wall.sleep(grace, TimerClass::Calendar));
                    continue;
                }
                name = crashes.next(), if crashed.is_none() => {
                    if crashes.count(&name).await {
                        process.kill();
                        crashed = Some(name);
                    }
                    continue;
                }
                () = async { if let Some(patience) = &mut patience { patience.await } }, if is_stop_requested => {
                    process.kill();
                    killed = true;
                    // It was killed; only its end is awaited.
                    patience = Some(Box::pin(std::future::pending()));
                    continue;
                }
            };
            match news {
                Ok(News::Ended(_)) if crashed.is_some() => {
                    let words = format!("fault {}: this instance ends", crashed.unwrap_or_default());
                    return self.ended(started_at, Some(ExitStatus::from_raw(FAILURE)), Some(words), pid);
                }
                Ok(News::Line(line)) => self.kubelet.options.logs.line(self.key, &line),
                Ok(News::Ready(served)) => {
                    (self.kubelet.options.listener)(self.key, &self.pod, Some(&served)).await;
                    (self.kubelet.options.readiness_listener)(self.key, self.unready.is_none());
                    self.write(&State::Ready(started_at)).await;
                    self.release();
                }
                Ok(News::Panicked(panicked)) => {
                    let Panicked { name, times, message, .. } = &panicked;
                    tracing::error!(pod = %self.key, process = pid, name, times, message, "a process goes on after a panic");
                    self.panicked = Some(panicked);
                    let state = self.state.clone();
                    self.write(&state).await;
                }
                Ok(News::Unready(unready)) => {
                    (self.kubelet.options.readiness_listener)(self.key, unready.is_none());
                    self.unready = unready;
                    let state = self.state.clone();
                    self.write(&state).await;
                }
                Ok(News::Ended(exit)) => {
                    let end = match exit.signal() {
                        Some(signal) => status::End::Signal(signal),
                        None => status::End::Code(exit.code().unwrap_or_default()),
                    };
                    let has_said = self.kubelet.options.logs.has_lines(self.key);
                    let words = status::end_words(end, is_stop_requested, killed, has_said);
                    return self.ended(started_at, Some(exit), words, pid);
                }
                Err(error) => {
                    let words = format!("its output cannot be read any more, so it was killed: {error}");
                    return self.ended(started_at, None, Some(words), pid);
                }
            }
        }
    }

    /// Records the end of a process; `words`: the kubelet's own explanation in addition to the process's output.
    fn ended(
        &self,
        started_at: DateTime<Utc>,
        exit: Option<ExitStatus>,
        words: Option<String>,
        process: Option<u32>,
    ) -> Ended {
        let signal = exit.and_then(|exit| exit.signal()).unwrap_or(0);
        // As in shells: 128 plus the signal; 128 alone if the process could not be started.
        let exit_code = exit.map_or(128, |exit| exit.code().unwrap_or(128 + signal));
        let logs = &self.kubelet.options.logs;
        if let Some(words) = &words {
            logs.line(self.key, words);
        }
        let last_lines = logs.end(self.key, LAST_LINES);
        let (pod, why) = (self.key, last_lines.lines().last().unwrap_or_default());
        if self.stop.is_requested && exit_code == 0 {
            let why = if self.stop.shutdown.is_requested() { "the kubelet stops" } else { "the pod is deleted" };
            tracing::info!(%pod, process, why, "a process has ended on request");
        } else {
            tracing::warn!(%pod, process, exit_code, signal, why, "a process has ended");
        }
        Ended { exit_code, signal, started_at, finished_at: self.kubelet.context.clock.now(), last_lines }
    }

    async fn write(&mut self, state: &State) {
        self.state = state.clone();
        let mut new = self.pod.clone();
        let now = self.kubelet.context.clock.now();
        let said = status::SaidSo { panicked: self.panicked.as_ref(), unready: self.unready.as_ref() };
        let network = (self.kubelet.options.pod_network_of)(&self.key.cluster);
        new.status = status::status(&self.pod, state, self.last.as_ref(), said, self.restarts, now);
        status::set_address(&mut new, &self.key.cluster, network.as_deref());
        loop {
            match self.api.update_status(&self.pod, &new).await {
                Ok(pod) => self.pod = pod,
                Err(error) if error.is_conflict() => {
                    // The pod was changed by another client: labels, or a deletion timestamp.
                    match self.api.get_opt(&self.key.name).await {
                        Ok(Some(pod)) if pod.metadata.uid == self.pod.metadata.uid => {
                            let status = std::mem::take(&mut new.status);
                            self.pod = pod.clone();
                            new = Pod { status, ..pod };
                            continue;
                        }
                        // The pod was deleted, or replaced by another one of its name.
                        Ok(_) => {}
                        Err(error) => tracing::warn!(%error, pod = %self.key, "cannot write the pod's status"),
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
