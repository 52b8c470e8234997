// SPDX-License-Identifier: Apache-2.0
//! Benchmarks of a landscape in one process: `cargo xtask bench [quick|full]`.
//!
//! Prints one table, and one line of JSON at the end. `quick` is for an impression; the default takes some minutes;
//! `full` runs a year of 100 Shoots. A preceding `rollout` measures only roll-outs: 50 and 200 nodes with 10 pods each;
//! 1,000; 5,000.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its table")]

mod probe;

use std::process::ExitCode;

use landscape::Failure;
use landscape::bench::{self, Appends, Probe, Run, StatusPatches};
use serde_json::json;

use self::probe::{resident_bytes, wall_seconds};

// The allocator of `terrarium`.
use mimalloc as _;

#[derive(Debug)]
struct Size {
    /// Number of Shoots and of days of each run.
    runs: &'static [(usize, u32)],
    patches: u32,
    appends: u32,
}

const QUICK: Size = Size { runs: &[(1, 30), (10, 10)], patches: 500, appends: 20_000 };
const NORMAL: Size = Size { runs: &[(1, 365), (100, 30), (1000, 3)], patches: 5_000, appends: 200_000 };
const FULL: Size = Size { runs: &[(1, 365), (100, 365), (1000, 30)], patches: 20_000, appends: 1_000_000 };

/// Numbers of reflectors that watch while a status is patched.
const REFLECTORS: [usize; 3] = [1, 4, 6];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [rollout, size @ ..] = words.as_slice()
        && rollout == "rollout"
    {
        return end(measure_rollouts(size.first().map_or("", String::as_str)));
    }
    let size = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => NORMAL,
        ["quick"] => QUICK,
        ["full"] => FULL,
        other => {
            eprintln!("error: unknown arguments {other:?}: expected nothing, `quick` or `full`");
            return ExitCode::from(2);
        }
    };
    end(measure(&size))
}

fn end(measured: Result<(), Failure>) -> ExitCode {
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Number of pods of each node.
const PODS: usize = 10;

fn measure_rollouts(size: &str) -> Result<(), Failure> {
    let probe = Probe { wall: &wall_seconds, resident: &resident_bytes };
    let nodes: &[usize] = match size {
        "quick" => &[50, 200],
        "full" => &[50, 200, 1_000, 5_000],
        _ => &[50, 200, 1_000],
    };
    println!(
        "{:>7} {:>7} {:>10} {:>12} {:>12} {:>16} {:>14} {:>12}",
        "nodes", "pods", "seconds", "ms/machine", "machines/s", "landscape time", "entries/mach.", "resident"
    );
    let mut rollouts = Vec::new();
    for nodes in nodes {
        let rollout = bench::rollout(*nodes, PODS, 1, &probe)?;
        println!(
            "{:>7} {:>7} {:>10.2} {:>12.1} {:>12.1} {:>14} s {:>14.1} {:>8.0} MiB",
            rollout.nodes,
            rollout.pods,
            rollout.seconds,
            rollout.milliseconds_per_machine,
            rollout.nodes as f64 / rollout.seconds,
            rollout.landscape_seconds,
            rollout.entries_per_machine,
            rollout.resident as f64 / f64::from(1 << 20),
        );
        rollouts.push(rollout);
    }
    println!("{}", json!({"rollouts": rollouts}));
    Ok(())
}

fn measure(size: &Size) -> Result<(), Failure> {
    let probe = Probe { wall: &wall_seconds, resident: &resident_bytes };
    let appends = bench::appends(size.appends, &probe);
    let patches = REFLECTORS
        .iter()
        .map(|reflectors| bench::status_patches(*reflectors, size.patches, &probe))
        .collect::<Result<Vec<_>, _>>()?;
    let mut runs = Vec::new();
    for (shoots, days) in size.runs {
        runs.push(bench::run(*shoots, *days, 1, &probe)?);
    }
    table(&appends, &patches, &runs);
    println!("{}", json!({"appends": appends, "statusPatches": patches, "runs": runs}));
    Ok(())
}

fn table(appends: &Appends, patches: &[StatusPatches], runs: &[Run]) {
    println!("append to the memory log        {:>10.2} µs   {:>10.0} bytes kept", appends.microseconds, appends.bytes);
    for patch in patches {
        println!("status patch, {} reflectors      {:>10.1} µs", patch.reflectors, patch.microseconds);
    }
    println!();
    println!(
        "{:>7} {:>5} {:>12} {:>12} {:>12} {:>12} {:>14} {:>14} {:>10}",
        "shoots",
        "days",
        "create s",
        "days/s",
        "entries/s",
        "year in s",
        "entries/Sh/day",
        "timers/Sh/day",
        "KiB/Shoot"
    );
    for run in runs {
        println!(
            "{:>7} {:>5} {:>12.2} {:>12.2} {:>12.0} {:>12.1} {:>14.1} {:>14.1} {:>10}",
            run.shoots,
            run.days,
            run.create_seconds,
            run.days_per_second,
            run.entries_per_second,
            365.0 / run.days_per_second.max(f64::MIN_POSITIVE),
            run.entries_per_shoot_day,
            run.timers_per_shoot_day,
            run.bytes_per_shoot / 1024,
        );
    }
    println!();
    let owners = ["objects", "entries", "packed", "recent", "resident"];
    let [objects, entries, packed, recent, resident] = owners;
    println!(
        "{:>7} {:>5} {objects:>12} {entries:>12} {packed:>12} {recent:>12} {resident:>14} {:>14}",
        "shoots", "days", "decoded"
    );
    for Run { shoots, days, memory, resident, .. } in runs {
        let mebibytes = |bytes: usize| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
        println!(
            "{shoots:>7} {days:>5} {:>12} {:>12} {:>12} {:>12} {:>14} {:>14}",
            mebibytes(memory.objects),
            mebibytes(memory.entries),
            mebibytes(memory.packed),
            mebibytes(memory.recent),
            mebibytes(usize::try_from(*resident).unwrap_or(usize::MAX)),
            memory.decoded,
        );
    }
}
