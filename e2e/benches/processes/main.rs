// SPDX-License-Identifier: Apache-2.0
//! The benchmarks of a running landscape, as a client measures it: `cargo xtask bench processes [quick|full]`.
//!
//! Prints one table, and one line of JSON at the end. Runs `terrarium` of the release profile; etcd, if it is on the PATH, takes
//! the same writes on the same disk in the same run. `quick` gives a rough result; the default takes up to half an hour and ends
//! with 1,000 working Shoots, or as many as exist after a quarter of an hour; `full` waits for all of them.
//!
//! Everything except the 1,000 working Shoots is measured for both forms: components inside the host's process, then processes of
//! their own, whose lines end with `processes`. Writes, reads, lists and watches are measured once more without authorization
//! (`up --authorization=always-allow`), inside; these lines end with `always-allow`.
//!
//! With `TERRARIUM_BENCH_GARDENER_APISERVER`, a path, the same requests are made to that real gardener-apiserver on etcd, too.
//!
//! A machine may be slow: a measurement that exceeds its time is reported with its progress, a failed one with its reason, and
//! the rest is measured nevertheless.
//!
//! **Tour.** [`client`] requests with the kubeconfig that `up` wrote; [`load`] many clients at once, and their latencies;
//! [`peers`] etcd and the disk; [`real`] a real gardener-apiserver; [`shoots`] creating, listing and watching.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its table")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]

mod client;
mod load;
mod peers;
mod real;
mod shoots;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use terrarium_e2e::sandbox::Sandbox;

use client::Client;
use load::Latencies;

/// Error with a text for the user.
type Failure = Box<dyn std::error::Error>;

#[derive(Debug)]
struct Size {
    /// Duration of each load, in seconds of wall time.
    seconds: u64,
    /// Numbers of Shoots that are created and awaited, one run after the other, and the maximum duration of each run in seconds.
    created: &'static [(usize, u64)],
    /// Number of Shoots that are created at the end of the benchmark, in a landscape of its own that is still busy if
    /// they are not ready in time, and the maximum duration in seconds.
    working: Option<(usize, u64)>,
    /// Number of working Shoots, which are created within an hour, and the following number of days.
    worked: (usize, u32),
    /// Number of listed Shoots without a seed.
    listed: usize,
    watchers: usize,
}

const QUICK: Size = Size { seconds: 1, created: &[(1, 60)], worked: (2, 1), working: None, listed: 500, watchers: 100 };
const NORMAL: Size = Size {
    seconds: 5,
    created: &[(1, 60), (100, 240)],
    worked: (30, 10),
    working: Some((1000, 900)),
    listed: 10_000,
    watchers: 1000,
};
const FULL: Size = Size {
    seconds: 10,
    created: &[(1, 60), (100, 900)],
    worked: (30, 10),
    working: Some((1000, 7200)),
    listed: 10_000,
    watchers: 1000,
};

/// Forms of the components, and the suffix of lines about them.
const FORMS: [(&str, &str); 2] = [("inside", ""), ("processes", "processes")];
/// Ticks of `/proc/PID/stat` in a second, on all architectures of Linux that Rust's standard library supports.
const TICKS_PER_SECOND: f64 = 100.0;
/// Numbers of concurrent writing clients.
const CLIENTS: [usize; 3] = [1, 16, 128];
/// Size of a written object's data, in bytes.
const VALUE: usize = 1000;
/// Number of events a second that watchers receive.
const EVENTS_PER_SECOND: u32 = 500;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let size = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => NORMAL,
        ["quick"] => QUICK,
        ["full"] => FULL,
        other => {
            eprintln!("error: unknown arguments {other:?}: expected nothing, `quick` or `full`");
            return ExitCode::from(2);
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.map_err(Failure::from).and_then(|runtime| runtime.block_on(measure(&size))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// A line of the table, and the same for machines. Each key and each text has a suffix with the special property of the
/// landscape.
struct Report {
    lines: serde_json::Map<String, Value>,
    special: &'static str,
}

impl Report {
    fn line(&mut self, key: &str, text: &str, value: Value) {
        if self.special.is_empty() {
            println!("{text}");
        } else {
            println!("{text}   {}", self.special);
        }
        let key = if self.special.is_empty() { key.to_owned() } else { format!("{key} {}", self.special) };
        self.lines.insert(key, value);
    }

    /// Reports a part that could not be measured.
    fn failed(&mut self, key: &str, what: &str, failure: &dyn std::fmt::Display) {
        let reason = failure.to_string();
        let reason = reason.lines().next().unwrap_or_default();
        self.line(key, &format!("{what:<52} not measured: {reason}"), json!({"failed": reason}));
    }

    /// Reports the number of created Shoots, and how many of them were ready in time.
    fn created(&mut self, count: usize, created: Result<shoots::Created, Failure>) {
        let key = format!("create{count}Shoots");
        let text = format!("{count} Shoots from the first create to the last `Succeeded`");
        match created {
            Ok(shoots::Created { seconds, done }) if done == count => {
                self.line(&format!("{key}Seconds"), &format!("{text:<52} {seconds:>10.2} s"), json!(seconds));
            }
            Ok(shoots::Created { seconds, done }) => {
                let text = format!("{text:<52} {done:>10} within {seconds:.0} s");
                self.line(&key, &text, json!({"done": done, "seconds": seconds}));
            }
            Err(failure) => self.failed(&key, &text, &failure),
        }
    }

    fn latencies(&mut self, key: &str, what: &str, latencies: &Latencies) {
        let Latencies { per_second, p50, p99, .. } = latencies;
        let text = format!("{what:<52} {per_second:>10.0} /s   p50 {p50:>9.3} ms   p99 {p99:>9.3} ms");
        self.line(key, &text, json!({"perSecond": per_second, "p50Milliseconds": p50, "p99Milliseconds": p99}));
    }
}

async fn measure(size: &Size) -> Result<(), Failure> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench");
    let mut report = Report { lines: serde_json::Map::new(), special: "" };
    let lasts = Duration::from_secs(size.seconds);

    for (form, special) in FORMS {
        report.special = special;
        begun(&mut report, size, &folder, form).await?;
        worked(&mut report, size, &folder, form).await?;
    }
    report.special = "";
    match peers::fdatasyncs(&folder, lasts) {
        Ok(syncs) => report.latencies("fdatasync", "fdatasync of 4 KiB on this disk", &syncs),
        Err(failure) => report.failed("fdatasync", "fdatasync of 4 KiB on this disk", &failure),
    }
    for (form, special) in FORMS {
        report.special = special;
        served(&mut report, size, &folder, &["up", "--components", form], Some(&folder)).await?;
    }
    report.special = "always-allow";
    served(&mut report, size, &folder, &["up", "--authorization=always-allow"], None).await?;
    report.special = "";
    if let Some(program) = std::env::var_os(real::PROGRAM) {
        let sandbox = Sandbox::new(&binaries()?, &folder);
        sandbox.terrarium(&["up"]);
        if let Err(failure) = real::compare(&mut report, &sandbox, &folder, Path::new(&program), lasts).await {
            report.failed("real", "compared with a real gardener-apiserver", &failure);
        }
    }
    if let Some((count, seconds)) = size.working {
        let sandbox = Sandbox::new(&binaries()?, &folder);
        sandbox.terrarium(&["up"]);
        // A gardenlet accepts 250 Shoots by default.
        sandbox.terrarium(&["config", "set", "gardenlet", &format!("resources.capacity.shoots={count}")]);
        let client = Client::of(&sandbox.kubeconfig())?;
        shoots::prepare(&client).await?;
        report.created(count, shoots::create_and_await(&client, count, Duration::from_secs(seconds)).await);
        memory(&mut report, &sandbox, "workingShoots", "resident memory with them working");
    }

    println!("{}", Value::Object(report.lines));
    Ok(())
}

/// Measures starts of a landscape, and creations of Shoots in it.
async fn begun(report: &mut Report, size: &Size, folder: &Path, form: &str) -> Result<(), Failure> {
    let sandbox = Sandbox::new(&binaries()?, folder);
    let started = Instant::now();
    sandbox.terrarium(&["up", "--components", form]);
    let seconds = started.elapsed().as_secs_f64();
    report.line(
        "upSeconds",
        &format!("{:<52} {seconds:>10.2} s", "`up` of an empty landscape, until it is ready"),
        json!(seconds),
    );
    let client = Client::of(&sandbox.kubeconfig())?;
    memory(report, &sandbox, "idle", "resident memory of all processes, idle");
    shoots::prepare(&client).await?;
    for (count, seconds) in size.created {
        report.created(*count, shoots::create_and_await(&client, *count, Duration::from_secs(*seconds)).await);
    }
    let past = shoots::revision(&client).await?;
    at(report, &sandbox, &past);
    Ok(())
}

/// Measures the same landscape time in each form: Shoots that are created, days of their maintenance, and a day of hourly
/// reconciliations.
async fn worked(report: &mut Report, size: &Size, folder: &Path, form: &str) -> Result<(), Failure> {
    let (count, days) = size.worked;
    let sandbox = Sandbox::new(&binaries()?, folder);
    sandbox.terrarium(&["up", "--components", form, "--clock", "stepped"]);
    let client = Client::of(&sandbox.kubeconfig())?;
    shoots::prepare(&client).await?;
    let entries = async || Ok::<u64, Failure>(shoots::revision(&client).await?.parse()?);
    let (begun, first) = (processor_seconds(&sandbox), entries().await?);
    shoots::create_all_of(&client, count).await?;
    advance(report, &sandbox, "hour", &format!("{count} Shoots created, and an hour"), "1h");
    windows_only(&sandbox, true)?;
    advance(report, &sandbox, "windows", &format!("... then {days} days of windows"), &format!("{days}d"));
    let (written, spent) = (entries().await? - first, processor_seconds(&sandbox) - begun);
    let each = spent * 1e3 / written as f64;
    let what = format!("... in all {written} entries, of an entry");
    report.line(
        "entry",
        &format!("{what:<52} {each:>10.3} ms of processor time"),
        json!({"entries": written, "milliseconds": each}),
    );
    memory(report, &sandbox, "worked", "resident memory after that");
    windows_only(&sandbox, false)?;
    advance(report, &sandbox, "hourly", "... then a day of hourly reconciliations", "1d");
    Ok(())
}

/// Confines reconciliations of unchanged Shoots to their windows, or lets them happen every hour.
fn windows_only(sandbox: &Sandbox, is_confined: bool) -> Result<(), Failure> {
    let setting = format!("controllers.shoot.reconcileInMaintenanceOnly={is_confined}");
    sandbox.try_terrarium(&["config", "set", "gardenlet", &setting])?;
    Ok(())
}

/// Moves time, and reports the wall time and the processor time that it takes.
fn advance(report: &mut Report, sandbox: &Sandbox, key: &str, what: &str, span: &str) {
    let (began, processor) = (Instant::now(), processor_seconds(sandbox));
    if let Err(failure) = sandbox.try_terrarium(&["clock", "advance", span, "--quiet"]) {
        return report.failed(key, what, &failure);
    }
    let (seconds, processor) = (began.elapsed().as_secs_f64(), processor_seconds(sandbox) - processor);
    let line = format!("{what:<52} {seconds:>10.2} s   {processor:>10.2} s of processor time");
    report.line(&format!("{key}Worked"), &line, json!({"seconds": seconds, "processorSeconds": processor}));
}

/// Measures lists, watches, writes and reads in a new landscape without working Shoots.
///
/// `etcd`: folder in which etcd takes the same writes.
async fn served(
    report: &mut Report,
    size: &Size,
    folder: &Path,
    up: &[&str],
    etcd: Option<&Path>,
) -> Result<(), Failure> {
    let lasts = Duration::from_secs(size.seconds);
    let sandbox = Sandbox::new(&binaries()?, folder);
    sandbox.terrarium(up);
    let client = Client::of(&sandbox.kubeconfig())?;
    shoots::prepare(&client).await?;
    listed(report, &client, &sandbox, size.listed).await;
    watched(report, &client, size.watchers, lasts).await;
    writes_and_reads(report, &client, etcd, lasts).await;
    Ok(())
}

/// `folder`: folder in which etcd takes the same writes.
async fn writes_and_reads(report: &mut Report, client: &Client, folder: Option<&Path>, lasts: Duration) {
    if let Err(failure) = writes(report, client, folder, lasts).await {
        report.failed("writes", "writes", &failure);
    }
    if let Err(failure) = reads(report, client, lasts).await {
        report.failed("reads", "GET of a ConfigMap", &failure);
    }
}

/// Measures Shoots without a seed: memory, and lists of them.
async fn listed(report: &mut Report, client: &Client, sandbox: &Sandbox, count: usize) {
    let mut there = 0;
    for until in [1000, count] {
        if until <= there || until > count {
            continue;
        }
        if let Err(failure) = shoots::create_without_seed(client, there..until).await {
            return report.failed("listedShoots", &format!("{until} Shoots without a seed"), &failure);
        }
        there = until;
        let what = format!("resident memory with {until} Shoots without a seed");
        memory(report, sandbox, &format!("listed{until}Shoots"), &what);
    }
    for (key, what, accept, limit) in shoots::LISTS {
        let text = format!("LIST of {count} Shoots, {what}");
        match shoots::list(client, accept, limit).await {
            Ok((seconds, bytes)) => {
                let megabytes = bytes as f64 / 1e6;
                let line = format!("{text:<52} {seconds:>10.2} s   {megabytes:>10.1} MB");
                report.line(key, &line, json!({"seconds": seconds, "bytes": bytes}));
            }
            Err(failure) => report.failed(key, &text, &failure),
        }
    }
}

/// Measures an exact read of the past.
fn at(report: &mut Report, sandbox: &Sandbox, revision: &str) {
    let what = format!("`at {revision} get shoots -A`: an exact read of the past");
    let began = Instant::now();
    match sandbox.try_terrarium(&["at", revision, "get", "shoots", "-A", "-o", "name"]) {
        Ok(names) => {
            let (seconds, count) = (began.elapsed().as_secs_f64(), names.lines().count());
            let line = format!("{what:<52} {seconds:>10.2} s   {count:>10} Shoots");
            report.line("at", &line, json!({"seconds": seconds, "shoots": count}));
        }
        Err(failure) => report.failed("at", &what, &failure),
    }
}

async fn watched(report: &mut Report, client: &Client, watchers: usize, lasts: Duration) {
    let watched = match shoots::watch(client, watchers, EVENTS_PER_SECOND, lasts).await {
        Ok(watched) => watched,
        Err(failure) => return report.failed("watch", &format!("{watchers} watchers"), &failure),
    };
    let deliveries = watched.latencies;
    let text = format!("{watchers} watchers, {:.0} events/s", watched.events_per_second);
    report.line(
        "watch",
        &format!(
            "{text:<52} {:>10.0} /s   p50 {:>9.3} ms   p99 {:>9.3} ms   {} lost",
            deliveries.per_second, deliveries.p50, deliveries.p99, watched.lost
        ),
        json!({
            "watchers": watchers, "eventsPerSecond": watched.events_per_second, "deliveriesPerSecond": deliveries.per_second,
            "p50Milliseconds": deliveries.p50, "p99Milliseconds": deliveries.p99, "lost": watched.lost,
        }),
    );
}

async fn reads(report: &mut Report, client: &Client, lasts: Duration) -> Result<(), Failure> {
    let name = client.create_config_map("read", "").await?;
    for clients in [1, 16] {
        let gets = load::run(clients, lasts, |_| client.get_config_map(&name)).await?;
        report.latencies(&format!("get{clients}"), &format!("GET of a ConfigMap, {clients} clients"), &gets);
    }
    Ok(())
}

/// Measures acknowledged writes: directly to the host, through gardener-apiserver, and the same into etcd.
async fn writes(report: &mut Report, client: &Client, folder: Option<&Path>, lasts: Duration) -> Result<(), Failure> {
    let value = "x".repeat(VALUE);
    let etcd = match folder {
        Some(folder) => peers::Etcd::start(folder).await?,
        None => None,
    };
    if etcd.is_none() && folder.is_some() {
        eprintln!("note: no etcd on the PATH (Debian: etcd-server): its figures are left out");
    }
    for clients in CLIENTS {
        let direct = load::run(clients, lasts, |name| client.create_config_map_of(name, &value)).await?;
        report.latencies(&format!("write{clients}"), &format!("create of 1 KB, {clients} clients"), &direct);
        let through = load::run(clients, lasts, |name| client.create_internal_secret("garden", name, &value)).await?;
        let what = format!("  through gardener-apiserver, {clients} clients");
        report.latencies(&format!("writeAggregated{clients}"), &what, &through);
        if let Some(etcd) = &etcd {
            let puts = load::run(clients, lasts, |name| etcd.put(name, &value)).await?;
            report.latencies(&format!("etcd{clients}"), &format!("  etcd, put of 1 KB, {clients} clients"), &puts);
            let ratio = direct.per_second / puts.per_second.max(f64::MIN_POSITIVE);
            let text = format!("{:<52} {ratio:>10.2}", "  ours to etcd's");
            report.line(&format!("ratioToEtcd{clients}"), &text, json!(ratio));
        }
    }
    Ok(())
}

/// Reports memory of the host and its processes; shared memory is counted once.
fn memory(report: &mut Report, sandbox: &Sandbox, key: &str, what: &str) {
    let processes = sandbox.processes();
    let kilobytes: u64 = processes.iter().map(|pid| pss(*pid)).sum();
    let text = format!("{what:<52} {:>10.1} MiB in {} processes", kilobytes as f64 / 1024.0, processes.len());
    report.line(&format!("{key}Memory"), &text, json!({"kibibytes": kilobytes, "processes": processes.len()}));
}

/// Returns processor time of the host and its processes, in seconds.
fn processor_seconds(sandbox: &Sandbox) -> f64 {
    sandbox.processes().into_iter().map(processor_ticks).sum::<u64>() as f64 / TICKS_PER_SECOND
}

/// Returns ticks of processor time of a process; 0 for one that has just ended.
fn processor_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name of the program, in parentheses, may have spaces. After it: state and ten numbers, then utime and stime.
    let rest = stat.rsplit(')').next().unwrap_or_default();
    rest.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

/// Returns the proportional set size of a process in kibibytes; 0 for one that has just ended.
fn pss(pid: u32) -> u64 {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let pss = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
    pss.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Returns the folder of the release build's programs.
fn binaries() -> Result<PathBuf, Failure> {
    let bench = std::env::current_exe()?;
    let folder = bench.ancestors().nth(2).ok_or("a benchmark lies two levels below the profile's folder")?;
    if folder.join("terrarium").is_file() {
        Ok(folder.to_owned())
    } else {
        Err(format!("{} is missing: `cargo xtask bench` builds it", folder.join("terrarium").display()).into())
    }
}
