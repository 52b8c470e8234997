// SPDX-License-Identifier: Apache-2.0
//! Signals that end a process.

use std::io;
use std::sync::OnceLock;

use parking_lot::Mutex;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Bit of SIGHUP in masks of signals.
const SIGHUP: u64 = 1;

/// Number of SIGXFSZ on Linux.
const SIGXFSZ: i32 = 25;

/// Mask of the signals that a process ignores, by its file `status`.
fn ignored_signals(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

/// Streams of the signals that end a process, kept between two waits: a signal that arrives there ends the second wait.
/// An installed handler replaces the system's default action, so the signal would be lost otherwise.
static STREAMS: Mutex<Option<Streams>> = Mutex::new(None);

/// Signals that end a process, since the installation of their handlers.
struct Streams {
    terminate: Signal,
    interrupt: Signal,
    /// `None`: the process ignores SIGHUP, which a handler would end.
    hangup: Option<Signal>,
}

impl Streams {
    /// Installs the handlers of this process, if they are not installed.
    ///
    /// # Errors
    /// The system's.
    fn new() -> io::Result<Self> {
        static IGNORED: OnceLock<u64> = OnceLock::new();
        // Read before the first handler is installed: from then on no signal is ignored.
        let status = || std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let is_ignored = IGNORED.get_or_init(|| ignored_signals(&status())) & SIGHUP != 0;
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: if is_ignored { None } else { signal(SignalKind::hangup()).ok() },
        })
    }

    async fn next(&mut self) -> &'static str {
        let Self { terminate, interrupt, hangup } = self;
        let hangup = async {
            match hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
            _ = hangup => "SIGHUP",
        }
    }
}

/// Streams during one wait. They are put back for the next wait when the value is dropped.
struct Wait(Option<Streams>);

impl Drop for Wait {
    fn drop(&mut self) {
        *STREAMS.lock() = self.0.take();
    }
}

/// Lets a write beyond a limit of the size of files (`ulimit -f`) fail from now on: SIGXFSZ would end the process. To be
/// called on a tokio runtime.
pub fn fail_writes_beyond_limits() {
    // The handler stays installed without the stream.
    let _ = signal(SignalKind::from_raw(SIGXFSZ));
}

/// Waits for a signal that ends the process, or returns at once for one that has arrived since the previous call ended;
/// returns its name. SIGHUP stays ignored if `nohup` has set that.
pub async fn end_signal() -> &'static str {
    let kept = STREAMS.lock().take();
    let Ok(streams) = kept.map_or_else(Streams::new, Ok) else { return std::future::pending().await };
    match &mut Wait(Some(streams)).0 {
        Some(streams) => streams.next().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use rustix::process::{getpid, kill_process};

    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        let hangup = "Name:\tterrarium\nSigBlk:\t0000000000000003\nSigIgn:\t0000000000000001\nSigCgt:\t00\n";
        assert_eq!(ignored_signals(hangup), 1);
        assert_eq!(ignored_signals("SigIgn:\t0000000000001002\n"), 0x1002);
        assert_eq!(ignored_signals(""), 0);
    }

    #[test]
    fn a_signal_between_two_waits_ends_the_second() {
        // As commands do: each wait has a runtime of its own.
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let arrived = || runtime().block_on(async { end_signal().now_or_never() });
        assert_eq!(arrived(), None);
        kill_process(getpid(), rustix::process::Signal::INT).expect("a signal");
        assert_eq!(runtime().block_on(end_signal()), "SIGINT");
        assert_eq!(arrived(), None, "each signal counts once");
    }
}
