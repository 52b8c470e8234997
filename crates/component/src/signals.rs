// SPDX-License-Identifier: Apache-2.0
//! Signals that end a process.

use std::sync::OnceLock;

/// Bit of SIGHUP in masks of signals.
const SIGHUP: u64 = 1;

/// Mask of the signals that a process ignores, by its file `status`.
fn ignored_signals(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

/// Waits for a signal that ends the process; returns its name. SIGHUP stays ignored if `nohup` has set that.
pub async fn end_signal() -> &'static str {
    use tokio::signal::unix::{SignalKind, signal};
    static IGNORED: OnceLock<u64> = OnceLock::new();
    // Read before the first handler is installed: from then on no signal is ignored.
    let status = || std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let is_ignored = IGNORED.get_or_init(|| ignored_signals(&status())) & SIGHUP != 0;
    let (terminate, interrupt) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    let (Ok(mut terminate), Ok(mut interrupt)) = (terminate, interrupt) else { return std::future::pending().await };
    let hangup = async {
        // Installing a handler would stop the signal from being ignored.
        if is_ignored {
            return std::future::pending().await;
        }
        match signal(SignalKind::hangup()) {
            Ok(mut hangup) => hangup.recv().await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
        _ = hangup => "SIGHUP",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        let hangup = "Name:\tterrarium\nSigBlk:\t0000000000000003\nSigIgn:\t0000000000000001\nSigCgt:\t00\n";
        assert_eq!(ignored_signals(hangup), 1);
        assert_eq!(ignored_signals("SigIgn:\t0000000000001002\n"), 0x1002);
        assert_eq!(ignored_signals(""), 0);
    }
}
