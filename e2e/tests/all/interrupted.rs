// SPDX-License-Identifier: Apache-2.0
//! A landscape that is killed while its time moves, while nodes with a budget are replaced, and while its control plane is
//! upgraded: each Shoot is maintained on every day, no day twice, and every operation that was interrupted succeeds.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};
use clock::Random;
use http::Method;
use process::Transport;
use serde_json::Value;
use terrarium_e2e::sandbox::{Kubectl, Running, Sandbox};

use crate::support::{administrator, campaign, sandbox, send};
use crate::time::with_shoots;

/// Default of the number of kills; an environment variable overrides it.
const KILLS: u64 = 3;
const SHOOTS: usize = 3;
/// Upper bound of the number of log entries between the start of a step and its kill; a day has about as many.
const ENTRIES: u64 = 250;
/// The Shoot with a workload and a budget.
const WORKLOAD: &str = "shoot/demo/s0";

const WEB: &str = r"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx:1.27}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: default}
spec: {minAvailable: 3, selector: {matchLabels: {app: web}}}
";

/// Operation during which the landscape is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A day of landscape time.
    Advance,
    /// A day of landscape time with a roll-out of the nodes of [`WORKLOAD`].
    RollOut,
    /// An upgrade of Gardener by a patch version.
    Upgrade,
}

impl Step {
    const ALL: [Self; 3] = [Self::Advance, Self::RollOut, Self::Upgrade];
}

/// Returns the log's head, as a list shows it.
async fn head(transport: &Transport) -> Option<u64> {
    let path = "/clusters/garden/api/v1/namespaces?limit=1";
    let (_, list) = send(transport, Method::GET, path, Value::Null).await?;
    list["metadata"]["resourceVersion"].as_str()?.parse().ok()
}

/// Waits until the log has grown by a number of entries, or the command has ended.
fn wait(runtime: &tokio::runtime::Runtime, transport: &Transport, entries: u64, running: &mut Running) {
    let Some(begin) = runtime.block_on(head(transport)) else { return };
    while !running.has_ended() && runtime.block_on(head(transport)).is_some_and(|head| head < begin + entries) {}
}

/// Returns the instants of all maintenances of a Shoot.
fn maintenances(sandbox: &Sandbox, shoot: &str) -> Vec<DateTime<Utc>> {
    let object = format!("Shoot/garden-demo/{shoot}");
    let log = sandbox.terrarium(&["log", "--actor", "shoot-maintenance", "--object", &object, "-o", "json"]);
    let entries = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let gives_tasks = |entry: &Value| {
        let changes = entry["changes"].as_array().into_iter().flatten();
        changes.into_iter().any(|change| {
            change["path"] == ".metadata.annotations[shoot.gardener.cloud/tasks]" && !change["after"].is_null()
        })
    };
    entries.filter(gives_tasks).map(|entry| instant(entry["time"].as_str().expect("a time"))).collect()
}

fn instant(text: &str) -> DateTime<Utc> {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns landscape time.
fn now(sandbox: &Sandbox) -> DateTime<Utc> {
    let shown = sandbox.terrarium(&["clock"]);
    instant(shown.split(" · ").next().unwrap_or_default())
}

/// Asserts that a Shoot was maintained once on each day from `first` to `last`; once more for each restart within its window
/// of an hour, since gardener-controller-manager checks every Shoot when it starts.
fn check(sandbox: &Sandbox, number: usize, (first, last): (NaiveDate, NaiveDate), restarts: &[DateTime<Utc>]) {
    let shoot = format!("s{number}");
    let begin = NaiveTime::from_hms_opt(9 + u32::try_from(number).expect("few"), 0, 0).expect("an hour of the day");
    let mut per_day: BTreeMap<NaiveDate, Vec<DateTime<Utc>>> = BTreeMap::new();
    for at in maintenances(sandbox, &shoot) {
        per_day.entry(at.date_naive()).or_default().push(at);
    }
    for day in first.iter_days().take_while(|day| *day <= last) {
        let window = day.and_time(begin).and_utc();
        let is_within = |at: &&DateTime<Utc>| **at >= window && **at <= window + TimeDelta::hours(1);
        let restarts = restarts.iter().filter(is_within).count();
        let found = per_day.remove(&day).unwrap_or_default();
        assert!(found.iter().all(|at| is_within(&at)), "{shoot} is maintained outside of its window: {found:?}");
        assert!((1..=1 + restarts).contains(&found.len()), "{shoot} on {day}, {restarts} restarts: {found:?}");
    }
    assert!(per_day.is_empty(), "{shoot}: days that have not come yet: {per_day:?}");
}

/// Starts the landscape after a kill; a failure shows what it waits for.
fn start_again(sandbox: &Sandbox, what: &str) {
    let Err(failure) = sandbox.try_terrarium(&["up"]) else { return };
    let show = |words: &[&str]| sandbox.try_terrarium(words).unwrap_or_else(|error| error);
    let log = std::fs::read_to_string(sandbox.directory().join("host.log")).unwrap_or_default();
    let (clock, status) = (show(&["clock", "-o", "json"]), show(&["status"]));
    panic!("{what}: {failure}\n{clock}\n{status}\n{log}");
}

#[test]
fn kills_skip_and_repeat_no_maintenance() {
    skip_and_repeat_no_maintenance(sandbox("killed-in-time").with_components("processes"));
}

#[test]
fn kills_of_the_only_process_skip_and_repeat_no_maintenance() {
    skip_and_repeat_no_maintenance(sandbox("killed-in-time-inside").with_components("inside"));
}

fn skip_and_repeat_no_maintenance(sandbox: Sandbox) {
    let _campaign = campaign();
    let kills = std::env::var_os("TERRARIUM_TEST_KILLS").and_then(|text| text.to_str()?.parse().ok()).unwrap_or(KILLS);
    let (sandbox, random) = (with_shoots(sandbox, SHOOTS), Random::new(13));
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    let web = sandbox.file("web.yaml", WEB);
    sandbox.terrarium(&["kubectl", "--cluster", WORKLOAD, "apply", "-f", &web]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut restarts = Vec::new();
    let begin = instant("2023-07-27T21:01:00Z");
    let mut target = begin;
    for round in 0..kills {
        let step = Step::ALL[usize::try_from(round).expect("few") % Step::ALL.len()];
        target += TimeDelta::days(1);
        let until = target.to_rfc3339();
        let advance = ["clock", "until", until.as_str()];
        let version = format!("v1.120.{}", 1 + round);
        let upgrade = ["upgrade", "apply", "--to", version.as_str()];
        if step == Step::RollOut {
            // Another provider configuration replaces the nodes.
            let patch = format!(
                r#"[{{"op": "add", "path": "/spec/provider/workers/0/providerConfig", "value": {{"round": {round}}}}}]"#
            );
            let words = ["-n", "garden-demo", "patch", "shoot", "s0", "--type", "json", "-p", &patch];
            // After some 90 days there are warnings about credentials that are due for rotation.
            let patched = sandbox.run_kubectl(Kubectl::Newest, "garden", &words);
            assert!(patched.status.success(), "{}", String::from_utf8_lossy(&patched.stderr));
        }
        let mut running = sandbox.start_terrarium(if step == Step::Upgrade { &upgrade } else { &advance });
        let entries = 1 + random.below(ENTRIES, "entries", "", round);
        wait(&runtime, &administrator(&sandbox), entries, &mut running);
        if random.below(4, "all processes", "", round) == 0 {
            sandbox.kill_all();
        } else {
            sandbox.kill_host();
        }
        // The command reports the end of the landscape, or has ended before.
        running.wait();
        start_again(&sandbox, &format!("round {round}: {step:?}"));
        restarts.push(now(&sandbox));
        if step == Step::Upgrade {
            sandbox.terrarium(&upgrade);
            restarts.push(now(&sandbox));
        }
        sandbox.terrarium(&advance);
        let states = r#"jsonpath={range .items[*]}{.metadata.name} {.status.lastOperation.state}{"\n"}{end}"#;
        let states = garden(&["-n", "garden-demo", "get", "shoots", "-o", states]);
        let expected: Vec<String> = (0..SHOOTS).map(|number| format!("s{number} Succeeded")).collect();
        assert_eq!(states.lines().collect::<Vec<_>>(), expected, "round {round}: {step:?}");
        for number in 0..SHOOTS {
            let days = (begin.date_naive() + TimeDelta::days(1), target.date_naive());
            check(&sandbox, number, days, &restarts);
        }
    }
    let ready = ["get", "deployment", "web", "-o", "jsonpath={.status.readyReplicas}"];
    let ready = sandbox.terrarium(&[&["kubectl", "--cluster", WORKLOAD], &ready[..]].concat());
    assert_eq!(ready, "4");
    let verified = sandbox.terrarium(&["replay", "--verify"]);
    assert!(verified.contains("the same as the API lists"), "{verified}");
    assert_eq!(sandbox.panics(), Vec::<String>::new());
}
