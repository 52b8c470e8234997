// SPDX-License-Identifier: Apache-2.0
//! Landscape time in a landscape of real processes, observed by clients that are not participants.

use std::collections::BTreeMap;

use serde_json::Value;
use terrarium_e2e::client::Client;
use terrarium_e2e::sandbox::{Kubectl, Sandbox};

use crate::support::{manifest, sandbox};

/// Returns a landscape whose time is stopped, with Shoots that were created; the first one's window begins at 9, the next one's
/// an hour later, and so on.
pub(crate) fn landscape(name: &str, shoots: usize) -> Sandbox {
    with_shoots(sandbox(name), shoots)
}

/// Returns [`landscape`] in a sandbox.
pub(crate) fn with_shoots(sandbox: Sandbox, shoots: usize) -> Sandbox {
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z", "--clock", "stepped"]);
    // Only maintenance matters here: Shoots are not reconciled every hour, too.
    sandbox.terrarium(&["config", "set", "gardenlet", "controllers.shoot.reconcileInMaintenanceOnly=true"]);
    let kubectl = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    kubectl(&["apply", "-f", &manifest("garden")]);
    // Time advanced by itself until the landscape was ready.
    sandbox.terrarium(&["clock", "until", "2023-07-27T20:05:00Z"]);
    let text = std::fs::read_to_string(manifest("shoot")).expect("the manifest is there");
    let (secrets, shoot) =
        text.split_once("---\napiVersion: core.gardener.cloud/v1beta1\nkind: Shoot").expect("a Shoot");
    let mut manifests = secrets.to_owned();
    for number in 0..shoots {
        let window = format!("begin: {:02}0000+0000, end: {:02}0000+0000", 9 + number, 10 + number);
        manifests += "---\napiVersion: core.gardener.cloud/v1beta1\nkind: Shoot";
        manifests += &shoot
            .replace("{name: local, namespace: garden-demo}", &format!("{{name: s{number}, namespace: garden-demo}}"))
            .replace("begin: 090000+0000, end: 100000+0000", &window);
    }
    let file = sandbox.folder().join("shoots.yaml");
    std::fs::write(&file, manifests).expect("the folder is writable");
    kubectl(&["apply", "-f", &file.to_string_lossy()]);
    sandbox.terrarium(&["clock", "until", "2023-07-27T21:01:00Z"]);
    for number in 0..shoots {
        // The goal is reached already: the command detects it.
        let goal = format!("shoot/demo/s{number}=Succeeded");
        sandbox.terrarium(&["clock", "until", &goal, "--max", "1s"]);
    }
    sandbox
}

/// Returns a client that watches Shoots as the landscape's administrator.
fn client(sandbox: &Sandbox, words: &[&str]) -> Client {
    let files = ["garden", "runtime"].map(|cluster| {
        let config = sandbox.kubectl(Kubectl::Newest, cluster, &["config", "view", "--raw", "--minify", "-o", "json"]);
        let file = sandbox.folder().join(format!("{cluster}.json"));
        std::fs::write(&file, config).expect("the folder is writable");
        file.to_string_lossy().into_owned()
    });
    let mut client = Client::start("shoots.py", &[&[files[0].as_str(), files[1].as_str()], words].concat());
    assert_eq!(client.line()["ready"], true);
    client
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Every Shoot is maintained once on every day, in its window, and a watch reports it in order.
#[test]
fn thirty_days_have_thirty_maintenances_of_each_shoot() {
    const SHOOTS: usize = 10;
    let sandbox = landscape("thirty-days", SHOOTS);
    let mut client = client(&sandbox, &[]);
    let output = sandbox.terrarium(&["clock", "advance", "30d"]);
    assert!(output.contains("2023-08-26T21:01:00Z · stepped"), "{output}");
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..SHOOTS * 30 {
        *count.entry(text(&client.line()["shoot"]).to_owned()).or_default() += 1;
    }
    let expected = (0..SHOOTS).map(|number| (format!("garden-demo/s{number}"), 30)).collect();
    assert_eq!(count, expected);
    // One more day has one more maintenance of each, in the order of their windows, without leftovers.
    let steps = sandbox.terrarium(&["clock", "advance", "24h", "-o", "json"]);
    let maintained: Vec<String> = (0..SHOOTS).map(|_| text(&client.line()["shoot"]).to_owned()).collect();
    let expected: Vec<String> = (0..SHOOTS).map(|number| format!("garden-demo/s{number}")).collect();
    assert_eq!(maintained, expected);
    let times: Vec<String> = steps
        .lines()
        .filter_map(|line| Some(serde_json::from_str::<Value>(line).ok()?["time"].as_str()?.to_owned()))
        .collect();
    assert!(times.len() > SHOOTS && times.is_sorted(), "{steps}");
}

/// Progress of an advance is on standard error, and `--quiet` turns it off; standard output is the same.
#[test]
fn a_long_advance_shows_progress_by_the_day() {
    let sandbox = landscape("progress", 2);
    let hourly = ["config", "set", "gardenlet", "controllers.shoot.reconcileInMaintenanceOnly="];
    sandbox.terrarium(&hourly);
    // Long enough for every kind of line.
    let days = 14;
    let (out, notes) = sandbox.terrarium_with_notes(&["clock", "advance", &format!("{days}d"), "-o", "json"]);
    let (progress, rest): (Vec<&str>, Vec<&str>) = notes.lines().partition(|line| line.starts_with("progress: "));
    assert!(!progress.is_empty() && progress.len() <= days, "{notes}");
    assert!(progress.iter().all(|line| line.contains(" of 2023-08-10T21:01:00Z · ")), "{notes}");
    let mut of_days: Vec<&str> = progress.iter().map(|line| &line[.."progress: 2023-07-27".len()]).collect();
    of_days.dedup();
    assert_eq!(of_days.len(), progress.len(), "one line for a day: {notes}");
    let [hint] = rest[..] else { panic!("{notes}") };
    let command = "`terrarium config set gardenlet controllers.shoot.reconcileInMaintenanceOnly=true`";
    assert!(
        hint.starts_with("hint: hourly reconciliations are most of the work (") && hint.contains(command),
        "{hint}"
    );
    assert!(!out.contains("progress") && !out.contains("hint"), "standard output has data only");
    let (_, notes) = sandbox.terrarium_with_notes(&["clock", "advance", "2d", "--quiet"]);
    assert_eq!(notes, "");
    let (_, notes) = sandbox.terrarium_with_notes(&["clock", "advance", "1h"]);
    assert_eq!(notes, "");
}

/// A client writes to every Shoot after its maintenance, at the instant of the maintenance: time waits for it.
#[test]
fn a_client_of_ones_own_keeps_up() {
    const DAYS: usize = 3;
    let sandbox = landscape("keeps-up", 2);
    let mut client = client(&sandbox, &["--annotate"]);
    let output = sandbox.terrarium(&["clock", "advance", "3d", "--settle", "1s", "-o", "json"]);
    let steps: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for _ in 0..DAYS * 2 {
        let told = client.line();
        let happened = |step: &&Value| {
            let mut lines = step["happened"].as_array().into_iter().flatten();
            lines.any(|line| text(&line["object"]) == format!("Shoot {}", text(&told["shoot"])))
        };
        // Both have microseconds at least.
        let at = |step: &Value| text(&step["time"]).get(..26).unwrap_or_default().to_owned();
        let now = text(&told["now"]).get(..26).unwrap_or_default();
        assert!(steps.iter().filter(happened).any(|step| at(step) == now), "{told} is at none of the steps\n{output}");
    }
    for shoot in ["s0", "s1"] {
        let path = r"jsonpath={.metadata.annotations.client\.example/maintained}";
        let words = ["-n", "garden-demo", "get", "shoot", shoot, "-o", path];
        assert_eq!(sandbox.kubectl(Kubectl::Newest, "garden", &words), DAYS.to_string());
    }
}

/// The clock's mode is in the log: it outlives every process.
#[test]
fn the_mode_and_a_pause_outlive_the_host() {
    let sandbox = sandbox("mode");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z", "--clock", "scaled=60"]);
    let patch = r#"{"spec":{"paused":true}}"#;
    sandbox.kubectl(Kubectl::Newest, "runtime", &["patch", "clock", "landscape", "--type", "merge", "-p", patch]);
    let before = sandbox.terrarium(&["clock"]);
    assert!(before.contains(" · scaled=60, paused"), "{before}");
    sandbox.terrarium(&["down"]);
    sandbox.terrarium(&["up"]);
    let after = sandbox.terrarium(&["clock"]);
    let clock = |text: &str| text.lines().next().and_then(|line| Some(line.split(" · next").next()?.to_owned()));
    assert_eq!(clock(&after), clock(&before));
    let mode = ["get", "clocks", "landscape", "-o", "jsonpath={.spec.mode} {.spec.rate} {.status.now}"];
    let mode = sandbox.kubectl(Kubectl::Newest, "runtime", &mode);
    assert!(mode.starts_with("Scaled 60 2023-07-27T20:"), "{mode}");
}

/// An impossible order is refused in one line, and Ctrl-C leaves a stopped clock.
#[test]
fn bad_orders_and_interruptions_end_with_one_clear_message() {
    let sandbox = landscape("orders", 1);
    let refused = |words: &[&str], code: i32, text: &str| {
        let (actual, output) = sandbox.terrarium_refused(&[&["clock"], words].concat());
        assert!(actual == code && output.contains(text), "clock {words:?}: {actual}\n{output}");
    };
    refused(&["until", "2023-07-27T20:00:00Z"], 2, "the clock does not go back: it is at 2023-07-27T21:01:00Z");
    refused(&["until", "shoot/demo/none=Failed"], 2, "there is no Shoot none in Project demo");
    refused(&["advance", "3d", "--max", "1d"], 1, "stopped at 2023-07-28T21:01:00Z: --max is too short");
    refused(&["advance", "3y"], 2, "`3y` is no duration");
    let long = sandbox.start_terrarium(&["clock", "advance", "5200w"]);
    while !sandbox.terrarium(&["clock"]).contains("on its way to") {
        std::thread::yield_now();
    }
    refused(&["advance", "1h"], 1, "the clock is already being advanced to");
    let (code, output) = long.interrupt();
    assert_eq!(code, Some(130), "{output}");
    assert!(output.contains("error: interrupted at") && output.contains("resumes it"), "{output}");
    assert!(!sandbox.terrarium(&["clock"]).contains("on its way to"));
}

/// Years have four digits: a demo that would end later is refused before anything is started.
#[test]
fn a_demo_after_the_end_of_time_is_refused() {
    let sandbox = sandbox("late-demo");
    let late = ["--start-time", "9999-12-31T20:00:00Z"];
    for words in [&["up", "--preset", "demo"][..], &["up", "--demo"], &["up", "--demo=images"], &["simulate"]] {
        let (code, error) = sandbox.terrarium_refused(&[words, &late].concat());
        assert!(code == 2 && error.contains("time ends at 9999-12-31T23:59:59Z"), "{words:?}: {error}");
        assert!(error.contains("use --start-time 9999-12-28T23:59:59Z or an earlier one"), "{words:?}: {error}");
    }
    assert!(!sandbox.directory().exists(), "nothing was started");
    sandbox.terrarium(&[&["up", "--clock", "stepped"][..], &late].concat());
    for words in [
        &["fault", "inject", "component-partition", "--component", "gardenlet", "--for", "1d"][..],
        &["clock", "advance", "1d"],
    ] {
        let (code, error) = sandbox.terrarium_refused(words);
        assert!(code == 2 && error.contains("that is further than time goes"), "{words:?}: {error}");
    }
    let (_, error) = sandbox.terrarium_refused(&["up", "--preset", "demo"]);
    assert!(error.contains("time ends at"), "{error}");
}

/// The landscape remains usable at the end of time, also after a restart.
#[test]
fn time_stands_at_its_end_in_every_mode() {
    let sandbox = sandbox("end-of-time");
    let end = "9999-12-31T23:59:59Z";
    sandbox.terrarium(&["up", "--clock", "stepped", "--start-time", "9999-12-31T20:00:00Z"]);
    sandbox.terrarium(&["clock", "until", end]);
    for mode in ["eager", "realtime", "scaled=1000000000", "auto"] {
        sandbox.terrarium(&["clock", "mode", mode]);
        let clock = sandbox.terrarium(&["clock"]);
        assert!(clock.starts_with(end) && clock.contains("stopped: landscape time has ended"), "{mode}: {clock}");
        sandbox.kubectl(Kubectl::Newest, "garden", &["get", "namespaces"]);
    }
    sandbox.terrarium(&["down"]);
    sandbox.terrarium(&["up"]);
    assert!(sandbox.terrarium(&["status"]).contains("stopped: landscape time has ended"));
}
