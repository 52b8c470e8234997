// SPDX-License-Identifier: Apache-2.0
//! The process of a landscape's host, as a command sees it whose requests get no answer.
//!
//! A process that is stopped (by a debugger, or by SIGSTOP) answers nothing, and its connections stay open: the command
//! would wait without a reason. Its state is read from `/proc`; where that is not possible nothing is printed.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use process::transport::ResponseFuture;
use process::{Response, Transport, TransportError};

use super::consumption;
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
    /// Returns a transport that prints a note if a request gets no answer while the process is stopped; at most one for
    /// all requests of this process.
    pub(super) fn watched(self, transport: Transport) -> Transport {
        let shared = transport.shared().clone();
        let watched = Transport::new(move |request| {
            let (host, answer) = (self.clone(), transport.send(request));
            Box::pin(async move { host.answer(answer).await })
        });
        watched.sharing(&shared)
    }

    async fn answer(&self, mut answer: ResponseFuture) -> Result<Response, TransportError> {
        let wall = Clock::wall();
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => {
                    // A connection that cannot be established ends at about the same time.
                    if answer.is_err() {
                        self.note_stop();
                    }
                    return answer;
                }
                () = wall.sleep(PATIENCE, TimerClass::Work) => self.note_stop(),
            }
        }
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
        let Self { landscape, pid } = self;
        Some(format!("note: landscape {landscape} does not answer: its host, process {pid}, {}", stop?.text(*pid)))
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use process::transport::full;
    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    #[test]
    fn a_stopped_host_is_named_with_a_remedy() {
        let host = HostProcess { landscape: "a".to_owned(), pid: 42 };
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
    async fn answers_and_errors_are_passed_on() {
        let host = HostProcess { landscape: "a".to_owned(), pid: std::process::id() };
        let transport = host.watched(Transport::new(|request| {
            let is_good = request.uri().path() == "/good";
            let broken = TransportError::Broken("it broke".to_owned());
            Box::pin(async move { if is_good { Ok(http::Response::new(full("x"))) } else { Err(broken) } })
        }));
        for (path, expected) in [("/good", Ok(200)), ("/bad", Err(TransportError::Broken("it broke".to_owned())))] {
            let request = http::Request::get(path).body(full("")).expect("a request");
            assert_eq!(transport.send(request).await.map(|response| response.status().as_u16()), expected);
        }
    }
}
