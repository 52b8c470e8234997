// SPDX-License-Identifier: Apache-2.0
//! Benchmark of the dashboard's pages over a large landscape: `cargo xtask bench dashboard [quick|full]`.
//!
//! Prints one table, and one line of JSON at the end: the server's time for a page (50th and 95th percentile of 100),
//! the size of the page, and the promised time. 10,000 Shoots and 100,000 entries; `quick` a tenth, `full` a million
//! entries. Requests do not pass a socket. The browser's own work is not included.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its table")]

mod probe;

use std::process::ExitCode;
use std::sync::Arc;

use api::cluster;
use api::core::Shoot;
use axum::body::Body;
use chrono::{DateTime, TimeDelta, Utc};
use clock::Clock;
use controller::{Api, Patch};
use dashboard::access::Entrance;
use dashboard::clock_state::ClockState;
use dashboard::view::administrator;
use dashboard::{Dashboard, Options};
use domain::profile::Profile;
use eventlog::EventLog;
use http::{Request, header};
use http_body_util::BodyExt;
use landscape::{Component, Failure, Landscape, preset};
use serde_json::{Value, json};

use self::probe::{resident_bytes, wall_seconds};

// The allocator of `terrarium`.
use mimalloc as _;

const HOST: &str = "bench.localhost:1";
/// Number of requests for a page.
const TIMES: u64 = 100;
/// Number of requests for a slow page.
const FEW: u64 = 5;
/// Cases of what-if pages: name, number of Shoots, end, promised milliseconds, number of requests.
const WHAT_IFS: [(&str, u64, &str, f64, u64); 2] =
    [("what-if, 500 × 90 days", 500, "90d", 200.0, TIMES), ("what-if, 5,000 × 1 year", 5_000, "365d", 10_000.0, FEW)];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let (shoots, entries) = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => (10_000, 100_000),
        ["quick"] => (1_000, 10_000),
        ["full"] => (10_000, 1_000_000),
        other => {
            eprintln!("error: unknown arguments {other:?}: expected nothing, `quick` or `full`");
            return ExitCode::from(2);
        }
    };
    match measure(shoots, entries) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// A browser that has logged in.
struct Browser {
    dashboard: Dashboard,
    cookie: String,
}

impl Browser {
    fn of(landscape: &Landscape) -> Self {
        let (host, now) = (landscape.host().clone(), landscape.now());
        let dashboard = Dashboard::new(Options {
            landscape: "bench".to_owned(),
            gardener_version: landscape::GARDENER_VERSION.to_owned(),
            rules: Profile::Documents,
            seed: 1,
            door: Arc::new(move |user| host.transport(user)),
            log: Arc::new(landscape.log().clone()),
            clock: Arc::new(move || ClockState { now, settled: true, ..ClockState::default() }),
            wall: Clock::wall(),
            tasks: landscape.client("dashboard").tasks,
            upgrades: None,
            has_threads: false,
        });
        dashboard.add_name(HOST);
        let cookie = format!("terrarium={}", dashboard.sessions().begin(administrator()));
        Self { dashboard, cookie }
    }

    /// Returns the size of a page in bytes, as it is sent to a browser.
    async fn get(&self, path: &str) -> usize {
        let request = Request::get(format!("/dashboard/{path}"));
        let request = request.header(header::HOST, HOST).header(header::COOKIE, &self.cookie);
        let request = request.header(header::ACCEPT_ENCODING, "gzip");
        let response = self.dashboard.answer(Entrance::Loopback, request.body(Body::empty()).expect("a request")).await;
        let code = response.status();
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        assert!(code.is_success(), "{path}: {code} {}", String::from_utf8_lossy(&body));
        body.len()
    }
}

/// Measurement: name, promised milliseconds, number of requests, and the page of the nth request.
type Case<'a> = (&'a str, f64, u64, Box<dyn Fn(u64) -> String + 'a>);

fn measure(shoots: u64, entries: u64) -> Result<(), Failure> {
    let landscape = prepare(shoots, entries)?;
    let head = landscape.log().head().0;
    let before = resident_bytes();
    let browser = Browser::of(&landscape);
    let first = timed(|| landscape.run(browser.get("clusters")))?;
    println!("{shoots} Shoots, {head} entries; the first page: {:.0} ms", first.0);
    let behind = timed(|| {
        landscape.run(async {
            let head = landscape.log().head();
            while browser.dashboard.past().upto() < head {
                tokio::task::yield_now().await;
            }
            while browser.dashboard.timeline().refresh().await.is_ok_and(|span| span.upto < head) {}
        })
    })?;
    println!("with concurrent pages, until all of the log has been read: {:.0} ms", behind.0);
    let fixed = |path: &'static str| -> Box<dyn Fn(u64) -> String> { Box::new(move |_| path.to_owned()) };
    let random = clock::Random::new(1);
    let moment = |number: u64| 1 + head / 2 + random.draw("moment", "bench", number) % (head / 2);
    let cases: Vec<Case<'_>> = vec![
        ("Clusters", 100.0, TIMES, fixed("clusters")),
        (
            "a window of 200 rows",
            100.0,
            TIMES,
            Box::new(|number| format!("rows?windows=4&page={}", 1 + number % 5 * 4)),
        ),
        ("a filter's key stroke", 100.0, TIMES, Box::new(|number| format!("rows?filter=s{}", number % 10))),
        ("sorted by readiness", 100.0, TIMES, fixed("clusters?sort=-readiness")),
        ("sorted by maintenance", 100.0, FEW, fixed("clusters?sort=maintenance")),
        ("Cluster", 50.0, TIMES, Box::new(|number| format!("clusters/demo/s{number}"))),
        ("Create", 50.0, TIMES, fixed("create")),
        ("Versions", 50.0, FEW, fixed("versions")),
        ("Time", 50.0, TIMES, fixed("time")),
        ("Faults", 50.0, TIMES, fixed("faults")),
        ("Landscape", 50.0, FEW, fixed("landscape")),
        ("Clusters at a moment", 100.0, TIMES, Box::new(move |number| format!("clusters?at={}", moment(number)))),
        ("Clusters at the next moment", 100.0, TIMES, Box::new(move |number| format!("clusters?at={}", head - number))),
        ("what-if, 90 days", 10_000.0, FEW, fixed("forecast?until=90d&expire=kubernetes/1.27=2023-09-01")),
    ];
    let mut report = Vec::new();
    println!("{:<30} {:>10} {:>10} {:>10} {:>10}", "page", "p50 ms", "p95 ms", "promised", "KiB");
    for (name, promised, times, path) in cases {
        let mut took = Vec::new();
        let mut bytes = 0;
        for number in 0..times {
            let path = path(number);
            let (milliseconds, length) = timed(|| landscape.run(browser.get(&path)))?;
            took.push(milliseconds);
            bytes = bytes.max(length);
        }
        report.push(row(name, promised, took, bytes));
    }
    report.push(changed(&landscape, &browser)?);
    let mebibytes = resident_bytes().saturating_sub(before) as f64 / f64::from(1 << 20);
    println!("resident, since the dashboard was opened: {mebibytes:.0} MiB more (promised: 40)");
    drop((browser, landscape));
    for (name, count, until, promised, times) in WHAT_IFS {
        report.push(assumption(name, count.min(shoots), until, promised, times)?);
    }
    println!("{}", json!({ "shoots": shoots, "entries": head, "pages": report, "mebibytes": mebibytes }));
    Ok(())
}

/// Measures the forecast of a separate landscape with other dates, different ones for each request: a dragged mark.
fn assumption(name: &str, shoots: u64, until: &str, promised: f64, times: u64) -> Result<Value, Failure> {
    let landscape = prepare(shoots, 0)?;
    let browser = Browser::of(&landscape);
    landscape.run(browser.get("forecast"))?;
    let (mut took, mut bytes) = (Vec::new(), 0);
    for number in 0..times {
        let path = format!("forecast?until={until}&expire=kubernetes/1.27=2023-09-{:02}", 1 + number % 28);
        let (milliseconds, length) = timed(|| landscape.run(browser.get(&path)))?;
        took.push(milliseconds);
        bytes = bytes.max(length);
    }
    Ok(row(name, promised, took, bytes))
}

/// Measures the time from a change in the API until the page that shows it is ready.
fn changed(landscape: &Landscape, browser: &Browser) -> Result<Value, Failure> {
    let api = Api::<Shoot>::namespaced(&landscape.client("admin"), cluster::GARDEN, preset::NAMESPACE);
    let mut took = Vec::new();
    for number in 0..TIMES {
        let patch = json!({ "spec": { "purpose": if number % 2 == 0 { "testing" } else { "development" } } });
        let (milliseconds, answer) = timed(|| {
            landscape.run(async {
                api.patch("s0", &Patch::Merge(patch.clone())).await?;
                Ok::<usize, controller::Error>(browser.get("clusters").await)
            })
        })?;
        answer.map_err(|error| Failure::Refused("patch a Shoot".to_owned(), error))?;
        took.push(milliseconds);
    }
    Ok(row("a change, until it is shown", 150.0, took, 0))
}

fn row(name: &str, promised: f64, mut took: Vec<f64>, bytes: usize) -> Value {
    took.sort_by(f64::total_cmp);
    let at = |share: usize| took[(took.len() * share / 100).min(took.len() - 1)];
    let (median, most, kibibytes) = (at(50), at(95), bytes.div_ceil(1024));
    println!("{name:<30} {median:>10.1} {most:>10.1} {promised:>10.0} {kibibytes:>10}");
    json!({ "name": name, "p50": median, "p95": most, "promised": promised, "kibibytes": kibibytes })
}

/// Returns the milliseconds and the result of a function.
fn timed<T>(act: impl FnOnce() -> Result<T, Failure>) -> Result<(f64, T), Failure> {
    let begun = wall_seconds();
    let outcome = act()?;
    Ok(((wall_seconds() - begun) * 1000.0, outcome))
}

/// Prepares a landscape whose Shoots' status was written repeatedly, without components that act on them.
fn prepare(shoots: u64, entries: u64) -> Result<Landscape, Failure> {
    let start: DateTime<Utc> = "2023-07-27T20:00:00Z".parse().expect("an instant");
    let mut landscape = Landscape::start(landscape::Options::new(1, start))?;
    let admin = landscape.client("admin");
    let refused = |error| Failure::Refused("create the objects of the benchmark".to_owned(), error);
    let limit = start + TimeDelta::hours(1);
    landscape.run_until_done(limit, preset::create(&admin))?.expect("they are created").map_err(refused)?;
    let others: Vec<Component> = landscape.components().filter(|it| **it != Component::Apiserver).cloned().collect();
    for component in others {
        landscape.stop_component(&component)?;
    }
    let api = Api::<Shoot>::namespaced(&admin, cluster::GARDEN, preset::NAMESPACE);
    let done = landscape.run(async {
        for number in 0..shoots {
            api.create(&preset::shoot(&format!("s{number}"))).await?;
        }
        let mut number = 0_u64;
        while landscape.log().head().0 < entries {
            let name = format!("s{}", number % shoots);
            let state = ["True", "False", "Progressing"][usize::try_from(number / shoots % 3).unwrap_or(0)];
            let condition = |kind: &str, status: &str| {
                json!({ "type": kind, "status": status, "reason": "Bench", "message": "All is as the benchmark says it is.",
                    "lastTransitionTime": start, "lastUpdateTime": start })
            };
            let kinds = ["APIServerAvailable", "ControlPlaneHealthy", "EveryNodeReady", "ObservabilityComponentsHealthy"];
            let mut conditions: Vec<Value> = kinds.iter().map(|kind| condition(kind, "True")).collect();
            conditions.push(condition("SystemComponentsHealthy", state));
            let status = json!({
                "technicalID": format!("shoot--demo--{name}"), "seedName": "local", "conditions": conditions,
                "lastOperation": { "type": "Reconcile", "state": "Succeeded", "progress": 100, "lastUpdateTime": start,
                    "description": "Shoot cluster has been successfully reconciled." },
            });
            api.patch_subresource(&name, "status", &Patch::Merge(json!({ "status": status }))).await?;
            number += 1;
        }
        Ok::<(), controller::Error>(())
    })?;
    done.map_err(refused)?;
    Ok(landscape)
}
