// SPDX-License-Identifier: Apache-2.0
//! Starts a landscape, or finds the running one, and waits until it is ready.
//!
//! ```text
//! no process has the directory ──► start a host ──► it has the directory ──► it answers ──► everything is ready
//!             ▲                     │                    │
//!             │                     └── another was faster
//!             └── it ended: killed, stopped, or its disk is full
//! ```
//!
//! A process that has the directory may not run any more: a killed process has it until the kernel has released all of its
//! resources. So the state is checked repeatedly, for changes in both directions, and nothing is concluded from one check.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use ::host::time::clock_service::START;
use ::host::time::timekeeper::Mode;
use chrono::{DateTime, TimeDelta, Utc};
use clock::{Clock, TimerClass};
use component::signals::end_signal;
use eventlog::sled::SledLog;

use super::Arguments;
use super::readiness::{Missing, look};
use crate::failure::Failure;
use crate::live::client::Client;
use crate::live::directory::{Directory, Holder, HostFile, IS_HELD_BY};
use crate::live::{down, executable, owner};

/// Wall time between two checks of a starting landscape.
const LOOK: TimeDelta = TimeDelta::milliseconds(50);
/// File with the host's output.
const HOST_LOG: &str = "host.log";
/// Number of lines of the host's output that are shown if it does not become ready.
const LAST_LINES: usize = 5;
/// Exit code of a host whose directory is held by another process.
const HELD: i32 = 4;

/// A started host.
pub(super) struct Starting {
    child: Child,
    /// Output of the host; `None`: the host does not write to the file.
    output: Option<HostOutput>,
    /// True if this command created the landscape, which is removed if the start fails.
    is_new: bool,
}

/// Output of a started host. The file stays readable if another command removes the landscape.
struct HostOutput {
    file: File,
    /// Size of the file in bytes before the start.
    start: u64,
}

impl HostOutput {
    /// Opens the output file of a landscape, at its end.
    fn open(directory: &Directory) -> io::Result<Self> {
        let file = File::options().create(true).read(true).append(true).open(directory.join(HOST_LOG))?;
        let start = file.metadata()?.len();
        Ok(Self { file, start })
    }

    /// Lines since the start.
    fn lines(&self) -> Vec<String> {
        let end = self.file.metadata().map_or(0, |file| file.len());
        let mut text = vec![0; usize::try_from(end.saturating_sub(self.start)).unwrap_or_default()];
        // The host appends through a copy of this file, so the position is not moved.
        let read = self.file.read_exact_at(&mut text, self.start);
        read.map_or_else(|_| Vec::new(), |()| String::from_utf8_lossy(&text).lines().map(str::to_owned).collect())
    }
}

/// Part that a landscape lacks.
enum MissingPart {
    /// The landscape is ready.
    Nothing,
    /// The host does not run, or has ended.
    Host,
    /// The host runs; the named condition is not met.
    This(String),
}

/// Waits until the landscape is ready, and starts its host whenever no process holds its directory. Returns the host if this
/// command started it; its process id is in `started` from its start on.
pub(super) async fn bring_up(
    directory: &Directory,
    arguments: &Arguments,
    limit: DateTime<Utc>,
    started: &Cell<Option<u32>>,
) -> Result<(Client, Option<Starting>), Failure> {
    let wall = Clock::wall();
    let mut ours: Option<Starting> = None;
    let mut known: Option<Client> = None;
    let mut last = None;
    // Reason for which a host of this command ended after it lost the directory to another process.
    let mut lost: Option<Failure> = None;
    let mut is_new = false;
    loop {
        if let Some(mut host) = ours.take() {
            match host.ended() {
                None => ours = Some(host),
                Some(status) => {
                    let failure = host.failure(directory, status.code());
                    // Another process was faster, or removed the landscape, and maybe created it again: the next check shows
                    // the current state.
                    if status.code() != Some(HELD) && directory.facts()?.is_some() && host.is_in(directory) {
                        return Err(host.failed(directory, failure));
                    }
                    lost = Some(failure);
                }
            }
        }
        let holder = directory.holder()?;
        if holder.is_none() && ours.is_none() && !arguments.is_in_memory(directory)? {
            must_have_room(directory)?;
        }
        // A running host of this command is in the landscape that it was started for: no other one is created for it.
        if ours.is_none() && (directory.facts()?.is_some() || holder.is_none()) {
            match arguments.facts(directory)? {
                Some((facts, made)) if holder.is_none() => {
                    is_new |= made;
                    if facts.log != "memory" {
                        arguments.must_have_log(directory)?;
                    }
                    arguments.adopt(directory)?;
                    match start(directory, arguments, is_new) {
                        Ok(host) => {
                            started.set(Some(host.child.id()));
                            ours = Some(host);
                        }
                        // Another command removed the landscape meanwhile.
                        Err(_) if directory.facts()?.is_none() => {}
                        Err(failure) => return Err(failure),
                    }
                }
                // Another command may be starting it with other flags.
                Some((facts, _)) => arguments.needs_stop(&facts)?,
                None => {}
            }
        }
        let host = directory.host()?;
        let lacks = match &host {
            None => MissingPart::Host,
            Some(host) => lacks(directory, host, &mut known, &mut last, limit).await?,
        };
        if let Some(host) =
            host.filter(|_| arguments.foreground && ours.is_none() && !matches!(lacks, MissingPart::Host))
        {
            let name = arguments.which.name();
            return Err(Failure::Held(format!("landscape {name} runs already, as process {}", host.pid)));
        }
        match (lacks, known.take()) {
            (MissingPart::Nothing, Some(client)) => {
                // A host of this command that has not noticed yet that another one was faster must not take over from it
                // later.
                if let Some(mut late) = ours.take_if(|started| started.child.id() != client.host.pid) {
                    let ended = late.child.kill().and_then(|()| late.child.wait());
                    ended.map_err(|error| Failure::Failed(format!("cannot end a second host: {error}")))?;
                }
                return Ok((client, ours));
            }
            (lacks, _) if wall.now() >= limit => {
                return Err(too_late(directory, &lacks, ours.as_ref(), holder.as_ref(), lost));
            }
            (_, client) => known = client,
        }
        wall.sleep(LOOK, TimerClass::Work).await;
    }
}

/// Refuses to start on a full disk: the log would accept no writes, so that the landscape would never become ready.
fn must_have_room(directory: &Directory) -> Result<(), Failure> {
    let path = std::path::absolute(directory.path()).unwrap_or_else(|_| directory.path().to_owned());
    // A new landscape has no directory yet.
    let full = path.ancestors().find(|path| path.exists()).and_then(SledLog::no_room);
    full.map_or(Ok(()), |full| Err(Failure::input(full.to_string(), "make room and try again: nothing is lost")))
}

/// Requests the part that the landscape lacks; the host may be ending, or have ended. `last`: previous result, returned if
/// the time is over first.
async fn lacks(
    directory: &Directory,
    host: &HostFile,
    known: &mut Option<Client>,
    last: &mut Option<String>,
    limit: DateTime<Utc>,
) -> Result<MissingPart, Failure> {
    if known.as_ref().is_none_or(|client| client.host != *host) {
        *known = match Client::of(directory) {
            Ok(client) => Some(client),
            // The host has just ended.
            Err(Failure::Failed(_)) => None,
            Err(failure) => return Err(failure),
        };
    }
    let Some(client) = known else { return Ok(MissingPart::Host) };
    let context = client.context();
    let asked = async {
        // A running host answers with its time.
        let Ok(clock) = client.clock().await else { return Ok(MissingPart::Host) };
        Ok(match look(client, &context).await {
            Ok(Some(Missing::Refused(line))) => return Err(Failure::Refused(line)),
            Ok(Some(Missing::Yet(missing))) => MissingPart::This(missing),
            // Ready a moment before all initial objects of the landscape exist, and time may pass.
            Ok(None) if clock.waits_for.holds.iter().any(|hold| hold == START) => {
                MissingPart::This("the landscape is not complete yet".to_owned())
            }
            Ok(None) => MissingPart::Nothing,
            // Clusters are being created, and gardener-apiservers restart: the error may be temporary.
            Err(error) => MissingPart::This(error.to_string()),
        })
    };
    tokio::select! {
        biased;
        lacks = asked => {
            *last = match &lacks {
                Ok(MissingPart::This(missing)) => Some(missing.clone()),
                _ => None,
            };
            lacks
        }
        () = Clock::wall().sleep_until(limit, TimerClass::Work) => Ok(last.take().map_or(MissingPart::Host, MissingPart::This)),
    }
}

/// Returns the failure after the time limit, with the reason.
fn too_late(
    directory: &Directory,
    lacks: &MissingPart,
    ours: Option<&Starting>,
    holder: Option<&Holder>,
    lost: Option<Failure>,
) -> Failure {
    let full = SledLog::no_room(directory.path());
    match (lacks, ours, holder) {
        _ if full.is_some() => Failure::input(
            format!("not ready: {}", full.map(|full| full.to_string()).unwrap_or_default()),
            "make room: nothing is lost, and the landscape goes on",
        ),
        (MissingPart::This(missing), ..) => Failure::Failed(format!("not ready: {missing}")),
        (_, Some(_), _) => {
            let log = directory.join(HOST_LOG);
            Failure::Failed(format!("the host is not ready; {} ends with:\n{}", log.display(), last_lines(&log)))
        }
        (_, None, Some(holder)) => {
            Failure::Held(format!("{}, which did not become ready in time", directory.is_held_by(holder)))
        }
        (_, None, None) => lost.unwrap_or_else(|| Failure::Failed("there was no time to start the host".to_owned())),
    }
}

fn last_lines(path: &Path) -> String {
    let text = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

/// Starts the host, in the background unless it is to stay in the foreground.
fn start(directory: &Directory, arguments: &Arguments, is_new: bool) -> Result<Starting, Failure> {
    let failed = |error: io::Error| Failure::Failed(format!("cannot start the host: {error}"));
    let mut command = Command::new(executable::running().map_err(failed)?);
    command.arg0(executable::file().map_err(failed)?).args(["component", "host", "--data-dir"]);
    // The directory identifies the landscape.
    command.env_remove("TERRARIUM_LANDSCAPE").env_remove("TERRARIUM_DATA_DIR");
    // Absolute, since other processes read it in their own working directories.
    command.arg(std::path::absolute(directory.path()).map_err(failed)?).stdin(Stdio::null()).process_group(0);
    // Huge pages would make each of a landscape's eight processes hold some megabytes that it never uses. The host's
    // environment also applies to the processes that it starts.
    command.env("MIMALLOC_ALLOW_THP", "0");
    let output = (!arguments.foreground).then(|| HostOutput::open(directory)).transpose().map_err(failed)?;
    match &output {
        None => command.stdout(Stdio::null()),
        Some(output) => {
            let copy = || output.file.try_clone().map_err(failed);
            command.stderr(copy()?).stdout(copy()?)
        }
    };
    command.args(arguments.losses.flags());
    if is_new && arguments.settings.clock.is_some_and(|mode| mode != Mode::Eager) {
        command.arg("--awaits-clock");
    }
    let own = Some(std::process::id()).filter(|_| arguments.foreground);
    let parent = || owner::parent().filter(|_| arguments.ephemeral);
    if let Some(pid) = own.or(arguments.owner).or_else(parent) {
        command.args(["--owner", &pid.to_string()]);
    }
    let child = command.spawn().map_err(failed)?;
    Ok(Starting { child, output, is_new })
}

/// Waits until the host ends; passes a signal on to it.
pub(super) async fn stay(mut started: Starting, directory: &Directory) -> Result<(), Failure> {
    let wall = Clock::wall();
    let mut signal = std::pin::pin!(end_signal());
    loop {
        tokio::select! {
            biased;
            _ = &mut signal => {
                down::terminate(started.child.id())?;
                signal.set(end_signal());
            }
            () = wall.sleep(LOOK, TimerClass::Work) => {}
        }
        if let Some(status) = started.child.try_wait().map_err(|error| Failure::Failed(error.to_string()))? {
            return if status.success() { Ok(()) } else { Err(started.failure(directory, status.code())) };
        }
    }
}

impl Starting {
    /// Lines of the host's output since this start.
    fn lines(&self) -> Vec<String> {
        self.output.as_ref().map(HostOutput::lines).unwrap_or_default()
    }

    /// Notes and warnings in the host's output.
    pub(super) fn notes(&self) -> Vec<String> {
        let is_note = |line: &String| line.starts_with("note: ") || line.starts_with("warning: ");
        self.lines().into_iter().filter(is_note).collect()
    }

    /// True if the directory is the one in which the host was started, not a later one at the same path.
    fn is_in(&self, directory: &Directory) -> bool {
        self.output.as_ref().is_none_or(|output| directory.has_as(HOST_LOG, &output.file))
    }

    /// Stops the host, and removes a landscape that this command created.
    pub(super) async fn undo(&self, directory: &Directory) -> Result<(), Failure> {
        if let Some(holder) = directory.holder()? {
            down::stop(directory, holder).await?;
        }
        if self.is_new
            && let Ok(held) = directory.try_hold("up")?
        {
            directory.purge(&held)?;
        }
        Ok(())
    }

    /// Exit status of the host; `None`: it runs.
    fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Returns the failure; a landscape that this command created, and that no other command has started since, is removed:
    /// it was never used, and the next `up` may have other flags.
    fn failed(&self, directory: &Directory, failure: Failure) -> Failure {
        if self.is_new
            && let Ok(Ok(held)) = directory.try_hold("up")
        {
            let _ = directory.purge(&held);
        }
        failure
    }

    /// Returns the failure of the ended host, by its last error message.
    fn failure(&self, directory: &Directory, code: Option<i32>) -> Failure {
        let lines = self.lines();
        // Hosts of several commands write to one file: one that lost the directory may write after the one that had it.
        let is_own = |error: &&str| code == Some(HELD) || !error.contains(IS_HELD_BY);
        let error = lines.iter().rev().filter_map(|line| line.strip_prefix("error: ")).find(is_own);
        let hint = lines.iter().rev().find_map(|line| line.strip_prefix("hint: ")).unwrap_or_default();
        if let (None, Some(full)) = (error, SledLog::no_room(directory.path())) {
            // There was no space left for its output either.
            return Failure::input(format!("the host ended: {full}"), "make room and try again: nothing is lost");
        }
        match (code, error) {
            (Some(HELD), Some(error)) => Failure::Held(error.to_owned()),
            (Some(2), Some(error)) => Failure::input(error, hint),
            (_, Some(error)) => Failure::Failed(error.to_owned()),
            (Some(code), None) => {
                Failure::Failed(format!("the host ended with exit code {code}; see `terrarium logs host`"))
            }
            (None, None) => Failure::Failed("the host was killed; see `terrarium logs host`".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    /// The reason of an end is read from the output that this command opened: another command that could not start either
    /// may have removed the landscape, and a third may have created it again.
    #[test]
    fn the_reason_of_an_end_outlives_the_directory() {
        let path = std::env::temp_dir().join(format!("terrarium-start-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        let directory = Directory::at(&path);
        directory.make().expect("a folder for temporary files");
        fs::write(directory.join(HOST_LOG), "error: the end of an earlier host\n").expect("written");
        let output = HostOutput::open(&directory).expect("there");
        let mut lines = output.file.try_clone().expect("open");
        let child = Command::new("true").spawn().expect("every system has true");
        let mut host = Starting { child, output: Some(output), is_new: false };
        host.child.wait().expect("it ends");
        // The second error is of a host that another command started at the same time.
        let said = "note: n\nerror: another process listens there\nerror: /d is held by process 1 (host)\n";
        lines.write_all(said.as_bytes()).expect("written");
        let reason = Failure::Failed("another process listens there".to_owned());
        let held = Failure::Held("/d is held by process 1 (host)".to_owned());
        let check = |is_in: bool, state: &str| {
            assert_eq!(host.failure(&directory, Some(1)), reason, "{state}");
            assert_eq!(host.failure(&directory, Some(HELD)), held, "{state}");
            assert_eq!((host.notes(), host.is_in(&directory)), (vec!["note: n".to_owned()], is_in), "{state}");
        };
        check(true, "there");
        directory.purge(&directory.hold("up").expect("free")).expect("ours");
        check(false, "removed");
        directory.make().expect("created again");
        fs::write(directory.join(HOST_LOG), "error: the end of another host\n").expect("written");
        check(false, "created again");
        let _ = fs::remove_dir_all(directory.path());
    }
}
