// SPDX-License-Identifier: Apache-2.0
//! `terrarium down`: stops a landscape.

use chrono::TimeDelta;
use clap::Args;
use clock::{Clock, TimerClass};

use super::{KubeconfigFile, Which, block_on, kubeconfig, owner};
use crate::failure::Failure;
use crate::output::Output;

/// Wall time that a landscape has to stop.
const PATIENCE: TimeDelta = TimeDelta::seconds(30);
/// Wall time between the end of its work and that of its process, at most.
const LAST_STEP: TimeDelta = TimeDelta::seconds(2);
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
    if let Some(host) = directory.host()? {
        terminate(host.pid)?;
        block_on(async {
            let wall = Clock::wall();
            let limit = wall.now() + PATIENCE;
            while directory.is_held()? {
                if wall.now() >= limit {
                    return Err(Failure::Failed(format!("process {} does not end: kill -9 {}", host.pid, host.pid)));
                }
                wall.sleep(LOOK, TimerClass::Work).await;
            }
            // The last thing that it does is to let go of the directory. One that nobody reaps stays as a name.
            let limit = wall.now() + LAST_STEP;
            while owner::is_alive(host.pid) && wall.now() < limit {
                wall.sleep(LOOK, TimerClass::Work).await;
            }
            Ok(())
        })?;
        output.line(&format!("landscape {name} stopped"))?;
    } else {
        output.line(&format!("landscape {name} does not run"))?;
    }
    if arguments.purge || ephemeral.is_some() {
        directory.purge()?;
        let other = ephemeral.and_then(|ephemeral| ephemeral.kubeconfig);
        for path in arguments.kubeconfig.path().into_iter().chain(other) {
            kubeconfig::unmerge(&path, name)?;
        }
        output.line(&format!("removed its data and its contexts: {}", directory.path().display()))?;
    }
    Ok(())
}

/// Asks a process to end.
pub(super) fn terminate(pid: u32) -> Result<(), Failure> {
    let failed = |why: String| Failure::Failed(format!("cannot end process {pid}: {why}"));
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .ok_or_else(|| failed("no such process".to_owned()))?;
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).map_err(|error| failed(error.to_string()))
}
