// SPDX-License-Identifier: Apache-2.0
//! The process of a landscape's host, as a command sees it whose requests get no answer.
//!
//! The end of the host explains an error of a connection; the lock of the landscape's directory shows it. A process that is
//! stopped (by a debugger, or by SIGSTOP) does not answer, and its connections stay open: the command would wait without a
//! reason. Its state is read from `/proc`; where that is not possible, nothing is printed.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use http_body_util::BodyExt;
use process::transport::{BodyError, ResponseFuture};
use process::{Response, Transport, TransportError};

use super::consumption;
use super::directory::{Directory, Holder};
use crate::output;

/// Wall time after which the state of the host's process is checked for a request without an answer.
const PATIENCE: TimeDelta = TimeDelta::seconds(10);

/// Process of a landscape's host. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct HostProcess {
    /// Name of the landscape.
    pub(super) landscape: String,
    /// Process id.
    pub(super) pid: u32,
    /// Directory of the landscape.
    pub(super) directory: Directory,
}

/// Reason for which a process does not run although it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// A signal: SIGSTOP, or that of Ctrl-Z.
    Signal,
    /// A debugger.
    Debugger,
}

impl Stop {
    /// Reads the state of a process; `None`: it is not stopped, has ended, or the system does not provide it.
    fn of(pid: u32) -> Option<Self> {
        Self::read(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Parses a process's file `stat`.
    fn read(stat: &str) -> Option<Self> {
        match consumption::fields(stat).next()? {
            "T" => Some(Self::Signal),
            "t" => Some(Self::Debugger),
            _ => None,
        }
    }

    /// Returns the state, and the way to end it.
    fn text(self, pid: u32) -> String {
        match self {
            Self::Signal => format!("is stopped (state T): `kill -CONT {pid}` continues it"),
            Self::Debugger => "is stopped by a debugger (state t), which has to continue it".to_owned(),
        }
    }
}

/// Returns the state of a process that is stopped, and the way to end it, as a predicate.
pub(in crate::live) fn stopped(pid: u32) -> Option<String> {
    Stop::of(pid).map(|stop| stop.text(pid))
}

impl HostProcess {
    /// Returns a transport whose errors name the end of the process, and which prints a note if a request gets no answer
    /// while the process is stopped; at most one for all requests of this process.
    pub(super) fn watched(self, transport: Transport) -> Transport {
        let shared = transport.shared().clone();
        let watched = Transport::new(move |request| {
            let (host, answer) = (self.clone(), transport.send(request));
            Box::pin(async move {
                let response = host.answer(answer).await?;
                Ok(response.map(|body| body.map_err(move |error| host.of_body(error)).boxed_unsync()))
            })
        });
        watched.sharing(&shared)
    }

    async fn answer(&self, mut answer: ResponseFuture) -> Result<Response, TransportError> {
        let wall = Clock::wall();
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => {
                    return answer.map_err(|error| {
                        // A connection that cannot be established ends at about the time of the note.
                        self.note_stop();
                        self.end().map_or(error, TransportError::Unreachable)
                    });
                }
                () = wall.sleep(PATIENCE, TimerClass::Work) => self.note_stop(),
            }
        }
    }

    /// Error of a body that broke off.
    fn of_body(&self, error: BodyError) -> BodyError {
        self.end().map_or(error, BodyError)
    }

    /// Returns the end of the process with a remedy; `None`: it runs, or its directory cannot be read.
    pub(super) fn end(&self) -> Option<String> {
        let holder = self.directory.holder().ok()?;
        let is_ending = holder.is_some() && self.directory.host().ok()?.is_none();
        self.end_text(self.directory.facts().ok()?.is_some(), holder.as_ref(), is_ending)
    }

    /// `exists`: the landscape was not removed; `holder`: present holder of its directory; `is_ending`: the host has
    /// removed its file, or another process holds the directory.
    fn end_text(&self, exists: bool, holder: Option<&Holder>, is_ending: bool) -> Option<String> {
        let Self { landscape, pid, directory } = self;
        let host = format!("the host of landscape {landscape}, process {pid},");
        let up = directory.hint("terrarium up");
        Some(match holder.filter(|holder| holder.is_host()) {
            _ if !exists => format!("{host} has ended, and the landscape was removed"),
            Some(holder) if holder.pid == Some(*pid) => {
                if !is_ending {
                    return None;
                }
                format!("{host} is ending: `{up}` resumes the landscape")
            }
            Some(other) => format!("{host} has ended, and {other} runs the landscape: try again"),
            None => format!("{host} has ended: `{up}` resumes the landscape"),
        })
    }

    /// Prints once that the process is stopped, if it is.
    fn note_stop(&self) {
        static IS_NOTED: AtomicBool = AtomicBool::new(false);
        if let Some(note) = self.stop_note(Stop::of(self.pid))
            && !IS_NOTED.swap(true, Ordering::Relaxed)
        {
            output::note(&note);
        }
    }

    fn stop_note(&self, stop: Option<Stop>) -> Option<String> {
        let Self { landscape, pid, .. } = self;
        Some(format!("note: landscape {landscape} does not answer: its host, process {pid}, {}", stop?.text(*pid)))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::{Command, Stdio};

    use process::transport::full;
    use rustix::process::{Pid, Signal, kill_process};

    use super::*;
    use crate::live::binaries::ComponentForms;
    use crate::live::directory::{Facts, HOST, HostFile};

    fn host(pid: u32, directory: Directory) -> HostProcess {
        HostProcess { landscape: "a".to_owned(), pid, directory }
    }

    fn nowhere() -> Directory {
        Directory::at(Path::new("/nowhere")).selected_by(" --landscape a".to_owned())
    }

    #[test]
    fn the_end_of_a_host_is_named_with_a_remedy() {
        let host = host(42, nowhere());
        let holder = |pid: u32, role: &str| Holder { pid: Some(pid), role: role.to_owned() };
        let resumes = "`terrarium up --landscape a` resumes the landscape";
        for (exists, holder, is_ending, expected) in [
            (true, Some(holder(42, HOST)), false, None),
            (true, Some(holder(42, HOST)), true, Some(format!("is ending: {resumes}"))),
            (true, None, false, Some(format!("has ended: {resumes}"))),
            (true, Some(holder(7, "doctor")), true, Some(format!("has ended: {resumes}"))),
            (true, Some(Holder { pid: None, role: String::new() }), true, Some(format!("has ended: {resumes}"))),
            (
                true,
                Some(holder(7, HOST)),
                false,
                Some("has ended, and process 7 (host) runs the landscape: try again".to_owned()),
            ),
            (false, None, false, Some("has ended, and the landscape was removed".to_owned())),
        ] {
            let expected = expected.map(|rest| format!("the host of landscape a, process 42, {rest}"));
            assert_eq!(host.end_text(exists, holder.as_ref(), is_ending), expected);
        }
    }

    #[test]
    fn the_holder_of_the_directory_decides() {
        let path = std::env::temp_dir().join(format!("terrarium-host-process-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        let directory = Directory::at(&path);
        let facts: Facts = serde_json::from_value(serde_json::json!({
            "name": "a", "gardenerVersion": "v1.120.0", "profile": "documents", "seed": 1, "seeds": 1,
            "startTime": "2023-07-27T20:00:00Z", "log": "memory", "durable": true, "port": 0,
        }))
        .expect("facts");
        directory.create(|| facts).expect("free").expect("not held");
        let pid = std::process::id();
        let host = host(pid, directory.clone());
        let end = || {
            let text = host.end()?;
            Some(text.trim_start_matches(&format!("the host of landscape a, process {pid}, ")).to_owned())
        };
        let held = directory.hold(HOST).expect("free");
        let (address, program) = ("127.0.0.1:1".to_owned(), "0".to_owned());
        let file = HostFile { pid, address, program, components: ComponentForms::default() };
        directory.write_host(&file).expect("ours");
        assert_eq!(end(), None, "it runs");
        directory.remove_host();
        assert_eq!(end().as_deref(), Some("is ending: `terrarium up` resumes the landscape"));
        directory.purge(&held).expect("ours");
        assert_eq!(end().as_deref(), Some("has ended, and the landscape was removed"));
    }

    #[test]
    fn a_stopped_host_is_named_with_a_remedy() {
        let host = host(42, nowhere());
        let begin = "note: landscape a does not answer: its host, process 42, is stopped";
        for (stat, expected) in [
            ("42 (a) b) T 7 42", Some(" (state T): `kill -CONT 42` continues it")),
            ("42 (T) t 7 42", Some(" by a debugger (state t), which has to continue it")),
            ("42 (T) S 7 42", None),
            ("42 (T) R 7 42", None),
            ("42 (T) Z 7 42", None),
            ("42 (T) D 7 42", None),
            ("", None),
        ] {
            let expected = expected.map(|rest| format!("{begin}{rest}"));
            assert_eq!(host.stop_note(Stop::read(stat)), expected, "{stat}");
        }
    }

    #[test]
    fn a_process_is_stopped_until_it_is_continued() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("every system has cat");
        let pid = Pid::from_child(&child);
        let send = |signal: Signal| kill_process(pid, signal).expect("it runs");
        let until = |expected: Option<Stop>| {
            while Stop::of(child.id()) != expected {
                std::thread::yield_now();
            }
        };
        until(None);
        send(Signal::STOP);
        until(Some(Stop::Signal));
        send(Signal::CONT);
        until(None);
        drop(child.stdin.take());
        child.wait().expect("it ends");
        assert_eq!((Stop::of(child.id()), Stop::of(0)), (None, None));
    }

    #[tokio::test]
    async fn answers_are_passed_on_and_errors_are_explained() {
        let transport = host(42, nowhere()).watched(Transport::new(|request| {
            let is_good = request.uri().path() == "/good";
            let broken = TransportError::Broken("it broke".to_owned());
            Box::pin(async move { if is_good { Ok(http::Response::new(full("x"))) } else { Err(broken) } })
        }));
        let removed = "the host of landscape a, process 42, has ended, and the landscape was removed";
        for (path, expected) in [("/good", Ok(200)), ("/bad", Err(TransportError::Unreachable(removed.to_owned())))] {
            let request = http::Request::get(path).body(full("")).expect("a request");
            assert_eq!(transport.send(request).await.map(|response| response.status().as_u16()), expected);
        }
    }
}
