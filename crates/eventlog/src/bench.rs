// SPDX-License-Identifier: Apache-2.0
//! Throughput of a log: acknowledged appends of some writers, and syncs of the disk alone. Wall time comes from the
//! caller.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use chrono::DateTime;

use crate::entry::{Actor, Key, Revision, Sections, Verb};
use crate::log::{Append, AppendError, EventLog, Expect, append_durably};

/// Acknowledged operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Number of concurrent writers.
    pub writers: usize,
    /// Total number of operations.
    pub operations: u64,
    /// Operations per second.
    pub per_second: f64,
    /// Milliseconds until half of them were acknowledged.
    pub p50: f64,
    /// Milliseconds until 99 of 100 were acknowledged.
    pub p99: f64,
}

impl Rate {
    fn of(writers: usize, seconds: f64, mut latencies: Vec<f64>) -> Self {
        latencies.sort_by(f64::total_cmp);
        let at = |hundredths: usize| latencies.get(latencies.len() * hundredths / 100).copied().unwrap_or_default();
        let operations = latencies.len() as u64;
        Self {
            writers,
            operations,
            per_second: operations as f64 / seconds.max(f64::MIN_POSITIVE),
            p50: at(50) * 1e3,
            p99: at(99) * 1e3,
        }
    }
}

/// Lets `writers` writers append status changes, each to an object of its own with `object` bytes of which `status`
/// are new each time, in sequence: `appends` in all. `run` separates this run's objects from those of others on the
/// same log. `wall` returns seconds since any fixed instant.
///
/// # Errors
/// The first append that is refused.
pub async fn appends(
    log: &dyn EventLog,
    run: u64,
    writers: usize,
    appends: u64,
    (object, status): (usize, usize),
    wall: &dyn Fn() -> f64,
) -> Result<Rate, AppendError> {
    let actor = Arc::new(Actor::default());
    let rest = Bytes::from(vec![b'x'; object.saturating_sub(status)]);
    let each = appends / writers.max(1) as u64;
    let append = |writer: usize, number: u64, expect: Expect| {
        let noise = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let noise = (0..status as u64).map(|at| b'a' + (noise.wrapping_mul(at * at + 1) >> 60).to_le_bytes()[0]);
        let parts = [Bytes::new(), Bytes::new(), Bytes::new(), rest.clone(), noise.collect::<Vec<_>>().into()];
        Append {
            key: Key::new("garden", "example/things", "bench", &format!("{run}-{writer}")),
            expect,
            guards: Vec::new(),
            verb: if expect == Expect::Absent { Verb::Create } else { Verb::UpdateStatus },
            object: Sections { parts },
            volatile: false,
            actor: actor.clone(),
            time: DateTime::UNIX_EPOCH,
            writer: (run << 32 | writer as u64, number),
        }
    };
    let mut created = Vec::new();
    for writer in 0..writers {
        created.push(append_durably(log, append(writer, 0, Expect::Absent)).await?.revision);
    }
    let began = wall();
    let all = created.into_iter().enumerate().map(async |(writer, mut at): (usize, Revision)| {
        let mut latencies = Vec::new();
        for number in 1..=each {
            let append = append(writer, number, Expect::Revision(at));
            let began = wall();
            at = append_durably(log, append).await?.revision;
            latencies.push(wall() - began);
        }
        Ok(latencies)
    });
    let latencies = futures::future::try_join_all(all).await?.concat();
    Ok(Rate::of(writers, wall() - began, latencies))
}

/// Measures the disk: appends `bytes` to a file and syncs it (`fdatasync`), `count` times in sequence.
///
/// # Errors
/// The file system's. The file is removed.
pub fn syncs(file: &Path, count: u64, bytes: usize, wall: &dyn Fn() -> f64) -> io::Result<Rate> {
    let mut out = std::fs::File::create(file)?;
    let piece = vec![b'x'; bytes];
    let mut latencies = Vec::new();
    let began = wall();
    for _ in 0..count {
        let began = wall();
        out.write_all(&piece)?;
        out.sync_data()?;
        latencies.push(wall() - began);
    }
    let rate = Rate::of(1, wall() - began, latencies);
    std::fs::remove_file(file)?;
    Ok(rate)
}
