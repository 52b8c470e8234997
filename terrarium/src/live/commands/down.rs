// SPDX-License-Identifier: Apache-2.0
//! `terrarium down`: stops a landscape.

use std::cell::Cell;

use chrono::TimeDelta;
use clap::Args;
use clock::{Clock, TimerClass};
use component::signals::end_signal;

use crate::failure::Failure;
use crate::live::client::Client;
use crate::live::directory::{Directory, Holder};
use crate::live::{KubeconfigFile, Which, block_on, host_process, kubeconfig, owner};
use crate::output::Output;

/// Maximum wall time until a landscape has stopped.
const TIMEOUT: TimeDelta = TimeDelta::seconds(30);
/// Maximum wall time between the release of the lock and the end of the process.
const LAST_STEP: TimeDelta = TimeDelta::seconds(2);
/// Maximum wall time for the answer with the landscape's version.
const ANSWER: TimeDelta = TimeDelta::seconds(1);
const LOOK: TimeDelta = TimeDelta::milliseconds(20);

/// Stop a landscape
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    kubeconfig: KubeconfigFile,
    /// Also delete its data and contexts
    #[arg(long)]
    purge: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let directory = arguments.which.directory()?;
    let name = &arguments.which.name();
    let ephemeral = directory.facts().ok().flatten().and_then(|facts| facts.ephemeral);
    let began = Cell::new(false);
    let stopped = block_on(async {
        tokio::select! {
            biased;
            _ = end_signal() => Err(arguments.interrupted(&directory, began.get())),
            stopped = async {
                note_version(&directory).await;
                began.set(true);
                match directory.holder()? {
                    Some(holder) => stop(&directory, holder).await,
                    None => Ok(false),
                }
            } => stopped,
        }
    })?;
    output.line(&format!("landscape {name} {}", if stopped { "stopped" } else { "does not run" }))?;
    if arguments.purge || ephemeral.is_some() {
        let place = directory.real();
        directory.remove("down")?;
        let other = ephemeral.and_then(|ephemeral| ephemeral.kubeconfig);
        for path in arguments.kubeconfig.path().into_iter().chain(other) {
            kubeconfig::unmerge(&path, name, &place)?;
        }
        output.line(&format!("removed its data and its contexts: {}", directory.path().display()))?;
    }
    Ok(())
}

impl Arguments {
    /// Failure after a signal, with the state of the landscape and the command that resumes this one. `began`: the end of
    /// the host was requested.
    fn interrupted(&self, directory: &Directory, began: bool) -> Failure {
        let holder = directory.holder().ok().flatten();
        let host = holder.as_ref().filter(|holder| holder.is_host()).and_then(|holder| holder.pid);
        let (stopped, down) = (host.and_then(host_process::stopped), if self.purge { " --purge" } else { "" });
        let again = self.which.hint(&format!("terrarium down{down}"));
        let state = state(&self.which.name(), holder.as_ref(), began, stopped.as_deref());
        let effect = if began { "waits for its end" } else { "stops it" };
        Failure::Interrupted(match (&holder, self.purge) {
            (None, false) => format!("interrupted: {state}"),
            (None, true) => format!("interrupted: {state}, and its data was kept; `{again}` removes it"),
            (Some(_), false) => format!("interrupted: {state}; `{again}` {effect}"),
            (Some(_), true) => format!("interrupted: {state}; `{again}` {effect} and removes its data"),
        })
    }
}

/// Describes a landscape that is being stopped. `began`: the end of the host was requested; `stopped`: state of the host's
/// process, if it is stopped.
fn state(name: &str, holder: Option<&Holder>, began: bool, stopped: Option<&str>) -> String {
    match (holder, stopped) {
        (None, _) => format!("landscape {name} does not run"),
        (Some(holder), _) if !holder.is_host() => format!("landscape {name} does not run, and is held by {holder}"),
        (Some(holder), _) if !began => format!("landscape {name} goes on as {holder}"),
        (Some(holder), None) => format!("landscape {name} is stopping, {holder}"),
        (Some(holder), Some(stopped)) => format!("landscape {name} does not stop, since {holder} {stopped}"),
    }
}

/// Records the Gardener version of a landscape that is about to stop, if it answers at once.
async fn note_version(directory: &Directory) {
    let Ok(client) = Client::of(directory) else { return };
    let version = tokio::select! {
        biased;
        version = client.gardener_version() => version,
        () = Clock::wall().sleep(ANSWER, TimerClass::Work) => return,
    };
    // Without an answer the recorded version stays.
    let _ = version.and_then(|version| directory.found_gardener(&version));
}

/// Ends the host, whether or not it is ready, and waits until the directory is released. Short holders, such as a command
/// that reads the log of a stopped landscape, are waited for. Returns true if there was a host.
pub(in crate::live) async fn stop(directory: &Directory, mut holder: Holder) -> Result<bool, Failure> {
    let wall = Clock::wall();
    let limit = wall.now() + TIMEOUT;
    let mut asked = None;
    loop {
        if let Some(pid) = holder.pid.filter(|pid| holder.is_host() && asked != Some(*pid)) {
            asked = Some(pid);
            terminate(pid)?;
        }
        match directory.holder()? {
            None => break,
            Some(present) => holder = present,
        }
        if wall.now() >= limit {
            return Err(match asked {
                Some(pid) => Failure::Failed(unending(pid, host_process::stopped(pid).as_deref())),
                None => Failure::Held(directory.is_held_by(&holder)),
            });
        }
        wall.sleep(LOOK, TimerClass::Work).await;
    }
    // The host releases the directory as its last action. A process that is not reaped stays as a zombie.
    let limit = wall.now() + LAST_STEP;
    while asked.is_some_and(owner::is_alive) && wall.now() < limit {
        wall.sleep(LOOK, TimerClass::Work).await;
    }
    Ok(asked.is_some())
}

/// Describes a process that does not end; `stopped`: its state, if it is stopped.
fn unending(pid: u32, stopped: Option<&str>) -> String {
    match stopped {
        Some(stopped) => format!("process {pid} does not end, since it {stopped}"),
        None => format!("process {pid} does not end: kill -9 {pid}"),
    }
}

/// Sends SIGTERM to a process; one that has ended already is no error.
pub(in crate::live) fn terminate(pid: u32) -> Result<(), Failure> {
    let failed = |why: String| Failure::Failed(format!("cannot end process {pid}: {why}"));
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .ok_or_else(|| failed("no such process".to_owned()))?;
    match rustix::process::kill_process(pid, rustix::process::Signal::TERM) {
        Err(error) if error != rustix::io::Errno::SRCH => Err(failed(error.to_string())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::directory::HOST;

    #[test]
    fn the_state_of_an_interrupted_stop_is_named() {
        let holder = |role: &str| Holder { pid: Some(7), role: role.to_owned() };
        for (holder, began, stopped, expected) in [
            (None, true, None, "landscape a does not run"),
            (Some(holder("doctor")), true, None, "landscape a does not run, and is held by process 7 (doctor)"),
            (Some(holder(HOST)), false, None, "landscape a goes on as process 7 (host)"),
            (Some(holder(HOST)), true, None, "landscape a is stopping, process 7 (host)"),
            (
                Some(holder(HOST)),
                true,
                Some("is stopped (state T): `kill -CONT 7` continues it"),
                "landscape a does not stop, since process 7 (host) is stopped (state T): `kill -CONT 7` continues it",
            ),
        ] {
            assert_eq!(state("a", holder.as_ref(), began, stopped), expected);
        }
    }

    #[test]
    fn a_process_that_does_not_end_is_killed_unless_it_is_stopped() {
        assert_eq!(unending(7, None), "process 7 does not end: kill -9 7");
        let stopped = "is stopped (state T): `kill -CONT 7` continues it";
        assert_eq!(unending(7, Some(stopped)), format!("process 7 does not end, since it {stopped}"));
    }
}
