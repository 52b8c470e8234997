// SPDX-License-Identifier: Apache-2.0
//! Processor time and memory of the processes of a landscape, as the system counts them.

use std::collections::BTreeMap;
use std::fs;

use host::pods::kubelet::POD_VARIABLE;
use serde::Serialize;

/// Number of ticks per second in which Linux counts processor time (`USER_HZ`).
const TICKS: f64 = 100.0;

/// Consumption of one process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Consumption {
    /// Process id.
    pub(crate) pid: u32,
    /// Processor time since its start.
    pub(crate) processor_seconds: f64,
    /// Resident memory, with pages that it shares with other processes.
    pub(crate) memory_bytes: u64,
}

impl Consumption {
    /// Reads the consumption of a process; None: it has ended, or the system does not provide it.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).ok();
        Some(Self {
            pid,
            processor_seconds: processor_seconds(&read("stat")?)?,
            memory_bytes: memory_bytes(&read("status")?)?,
        })
    }
}

/// Fields of a process's file `stat` after the name, which may contain any character and ends with the last bracket.
pub(super) fn fields(stat: &str) -> impl Iterator<Item = &str> {
    stat.rsplit(") ").next().unwrap_or_default().split_ascii_whitespace()
}

fn parent(stat: &str) -> Option<u32> {
    fields(stat).nth(1)?.parse().ok()
}

/// User and system time of all threads.
fn processor_seconds(stat: &str) -> Option<f64> {
    let mut times = fields(stat).skip(11);
    let mut next = || times.next()?.parse::<f64>().ok();
    Some((next()? + next()?) / TICKS)
}

fn memory_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Pod of a process, `CLUSTER/NAME`, by its environment.
fn pod(environment: &[u8]) -> Option<String> {
    let mut all = environment.split(|byte| *byte == 0).filter_map(|variable| std::str::from_utf8(variable).ok());
    all.find_map(|variable| Some(variable.strip_prefix(POD_VARIABLE)?.strip_prefix('=')?.to_owned()))
}

/// Consumption of the children of a host, by pod, `CLUSTER/NAME`.
pub(crate) fn of_pods(host: u32) -> BTreeMap<String, Consumption> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let of = |pid: u32| {
        let is_child = parent(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)? == host;
        let pod = if is_child { pod(&fs::read(format!("/proc/{pid}/environ")).ok()?)? } else { return None };
        Some((pod, Consumption::of(pid)?))
    };
    pids.filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_system_are_read() {
        let stat = "42 (a) b) S 7 42 42 0 -1 4194560 1 2 3 4 150 50 6 7 20 0 9 0 100 200";
        assert_eq!((parent(stat), processor_seconds(stat)), (Some(7), Some(2.0)));
        for broken in ["", "42 (a) S", "42 (a) S x 1 1 1 1 1 1 1 1 1 x 1"] {
            assert_eq!((parent(broken), processor_seconds(broken)), (None, None), "{broken}");
        }
        assert_eq!(memory_bytes("Name:\ta\nVmRSS:\t    12 kB\n"), Some(12 * 1024));
        for broken in ["", "VmRSS:\t12", "VmRSS:\t18446744073709551615 kB"] {
            assert_eq!(memory_bytes(broken), None, "{broken}");
        }
        assert_eq!(pod(b"A=B\0TERRARIUM_POD=runtime/a\0").as_deref(), Some("runtime/a"));
        assert_eq!(pod(b"TERRARIUM_PODS=a\0\xff"), None);
    }

    #[test]
    fn this_process_consumes_and_is_of_no_pod() {
        let own = Consumption::of(std::process::id()).expect("it runs");
        assert!(own.memory_bytes > 0 && own.processor_seconds >= 0.0, "{own:?}");
        assert!(of_pods(std::process::id()).is_empty());
    }
}
