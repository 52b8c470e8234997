// SPDX-License-Identifier: Apache-2.0
//! Owner process of a landscape: the landscape ends with it.

use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use rustix::process::{Pid, getppid, test_kill_process};

/// Wall time between two checks.
const LOOK: TimeDelta = TimeDelta::milliseconds(250);

/// Process that started this one; `None`: it has ended already.
pub(crate) fn parent() -> Option<u32> {
    getppid().and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok())
}

/// True if a process of any user exists.
pub(crate) fn is_alive(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
}

/// Waits until a process has ended, and returns its id; `None`: waits indefinitely.
pub(crate) async fn ended(pid: Option<u32>) -> u32 {
    let Some(pid) = pid else { return std::future::pending().await };
    let wall = Clock::wall();
    while is_alive(pid) {
        wall.sleep(LOOK, TimerClass::Work).await;
    }
    pid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_there_until_they_have_ended() {
        assert!(is_alive(std::process::id()));
        assert!(parent().is_some_and(is_alive));
        let mut child = std::process::Command::new("true").spawn().expect("every system has true");
        let pid = child.id();
        child.wait().expect("it ends");
        assert!(!is_alive(pid));
        assert!(!is_alive(0) && !is_alive(u32::MAX));
    }
}
