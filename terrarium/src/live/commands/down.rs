// SPDX-License-Identifier: Apache-2.0
//! `terrarium down`: stops a landscape.

use chrono::TimeDelta;
use clap::Args;
use clock::{Clock, TimerClass};

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
    note_version(&directory);
    let stopped = match directory.holder()? {
        Some(holder) => block_on(stop(&directory, holder))?,
        None => false,
    };
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

/// Records the Gardener version of a landscape that is about to stop, if it answers at once.
fn note_version(directory: &Directory) {
    let asked = Client::of(directory).and_then(|client| {
        block_on(async {
            tokio::select! {
                biased;
                version = client.gardener_version() => version,
                () = Clock::wall().sleep(ANSWER, TimerClass::Work) => Ok(client.facts.gardener().to_owned()),
            }
        })
    });
    // Without an answer the recorded version stays.
    let _ = asked.and_then(|version| directory.found_gardener(&version));
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
