// SPDX-License-Identifier: Apache-2.0
//! Tests of several gardener-apiservers, some of which are killed, and of versions that the rules refuse together.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use clock::Clock;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use process::Transport;
use process::transport::full;
use serde_json::{Value, json};
use terrarium_e2e::sandbox::{Kubectl, Sandbox};

use crate::support::{LIMIT, administrator, container, manifest, sandbox, send, signal, until_pods, until_pods_in};

/// Number of concurrent writing clients.
const CLIENTS: usize = 4;
/// Number of writes of each client that are answered, before the kill and after it.
const WRITES: usize = 20;
const EXPOSURE_CLASSES: &str = "/clusters/garden/apis/core.gardener.cloud/v1beta1/exposureclasses";

/// Writes until it is stopped and has enough answers; returns the acknowledged names.
async fn write(transport: Transport, client: usize, acknowledged: &AtomicUsize, killed: &AtomicBool) -> Vec<String> {
    let (mut names, mut after) = (Vec::new(), 0);
    for number in 0.. {
        let name = format!("client-{client}-{number}");
        let body = json!({
            "apiVersion": "core.gardener.cloud/v1beta1",
            "kind": "ExposureClass",
            "metadata": { "name": name },
            "handler": "test",
        });
        let was_killed = killed.load(Ordering::SeqCst);
        if let Some((StatusCode::CREATED, _)) = send(&transport, Method::POST, EXPOSURE_CLASSES, body).await {
            names.push(name);
            acknowledged.fetch_add(1, Ordering::SeqCst);
            after += usize::from(was_killed);
        }
        if after >= WRITES {
            break;
        }
    }
    names
}

/// Follows the collection over as many watches as necessary, until enough objects were added; returns the number of watches.
async fn follow(
    transport: &Transport,
    mut version: String,
    seen: &mut Vec<String>,
    is_enough: impl Fn(&[String]) -> bool,
) -> usize {
    let mut watches = 0;
    while !is_enough(seen) {
        watches += 1;
        let path = format!("{EXPOSURE_CLASSES}?watch=true&resourceVersion={version}");
        let request = http::Request::get(path).body(full("")).expect("a request");
        let Ok(response) = transport.send(request).await else { continue };
        let mut body = response.into_body();
        let mut rest: Vec<u8> = Vec::new();
        while let Some(Ok(frame)) = body.frame().await {
            rest.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                let event: Value = serde_json::from_slice(&line).expect("a watch's line is JSON");
                let meta = &event["object"]["metadata"];
                meta["resourceVersion"].as_str().expect("a version").clone_into(&mut version);
                if event["type"] == "ADDED" {
                    seen.push(meta["name"].as_str().expect("a name").to_owned());
                }
            }
            if is_enough(seen) {
                break;
            }
        }
        // A watch ends cleanly, after a whole line.
        assert_eq!(String::from_utf8_lossy(&rest), "");
    }
    watches
}

/// Returns the processes of gardener-apiserver.
fn apiservers(sandbox: &Sandbox) -> Vec<u32> {
    let all = sandbox.processes_of("gardener-apiserver");
    assert_eq!(all.len(), 2, "two instances");
    all
}

fn kill(pid: u32) {
    signal("-9", pid);
}

/// A stopped instance that does not end delays neither clients for long nor landscape time.
#[test]
fn a_stopped_gardener_apiserver_gets_no_requests_until_it_answers() {
    let sandbox = sandbox("stopped-apiserver").with_components("processes");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z"]);
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    let stopped = apiservers(&sandbox)[0];
    let begun = Clock::wall().now();
    signal("-STOP", stopped);
    sandbox.terrarium(&["clock", "advance", "10m"]);
    let status = sandbox.terrarium(&["status"]);
    let dropped = |status: &str| status.lines().filter(|line| line.contains("  dropped ")).count();
    assert_eq!(dropped(&status), 1, "no other participant is dropped: {status}");
    assert!(status.contains("gardener-apiserver-") && status.contains(": it does not answer"), "{status}");
    garden(&["apply", "-f", &manifest("garden")]);
    garden(&["wait", "--for=jsonpath={.status.phase}=Ready", "project/demo", "--timeout=300s"]);
    sandbox.terrarium(&["clock", "advance", "24h"]);
    signal("-CONT", stopped);
    while dropped(&sandbox.terrarium(&["status"])) > 0 {
        assert!(Clock::wall().now() - begun < LIMIT, "it does not come back");
    }
    // Both answer, and both have all objects.
    for _ in 0..4 {
        assert!(garden(&["get", "projects"]).contains("Ready"));
    }
    sandbox.terrarium(&["clock", "advance", "10m"]);
}

/// No instance answers: an advance would skip the work of all components.
#[test]
fn an_advance_stops_when_every_gardener_apiserver_hangs() {
    let sandbox = sandbox("hung-apiservers").with_components("processes");
    sandbox.terrarium(&["up", "--clock", "stepped", "--start-time", "2023-07-27T20:00:00Z"]);
    let hung = apiservers(&sandbox);
    for pid in &hung {
        signal("-STOP", *pid);
    }
    // The second advance is refused at once.
    for _ in 0..2 {
        let (code, said) = sandbox.start_terrarium(&["clock", "advance", "3d", "-q"]).wait();
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("does not answer, and what it is to do would be missing"), "{said}");
        assert!(said.contains("gardener-apiserver-") && said.contains("--ignore-absence"), "{said}");
    }
    let status = sandbox.terrarium(&["status"]);
    let lacks = |status: &str| status.lines().any(|line| line.contains("  without ") && line.contains(" to now"));
    assert!(status.contains("2023-07-27T20:") && lacks(&status), "{status}");
    for pid in &hung {
        signal("-CONT", *pid);
    }
    let begun = Clock::wall().now();
    while lacks(&sandbox.terrarium(&["status"])) {
        assert!(Clock::wall().now() - begun < LIMIT, "they do not come back");
    }
    sandbox.terrarium(&["clock", "advance", "10m"]);
}

#[test]
fn a_killed_gardener_apiserver_takes_nothing_that_was_acknowledged() {
    let sandbox = sandbox("killed-apiserver").with_components("processes");
    sandbox.terrarium(&["up"]);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let transport = administrator(&sandbox);
    let begun = Clock::wall().now();
    let (acknowledged, killed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let list = runtime.block_on(send(&transport, Method::GET, EXPOSURE_CLASSES, Value::Null));
    let version = list.expect("an answer").1["metadata"]["resourceVersion"].as_str().expect("a version").to_owned();

    let written: Vec<String> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (runtime, sandbox, acknowledged, killed) = (&runtime, &sandbox, &acknowledged, &killed);
                scope.spawn(move || runtime.block_on(write(administrator(sandbox), client, acknowledged, killed)))
            })
            .collect();
        while acknowledged.load(Ordering::SeqCst) < CLIENTS * WRITES {
            assert!(Clock::wall().now() - begun < LIMIT, "clients do not come along");
            std::thread::yield_now();
        }
        kill(apiservers(&sandbox)[0]);
        killed.store(true, Ordering::SeqCst);
        clients.into_iter().flat_map(|client| client.join().expect("a client that goes on")).collect()
    });
    assert!(Clock::wall().now() - begun < LIMIT, "clients went on, but how slowly");

    let (status, list) =
        runtime.block_on(send(&transport, Method::GET, EXPOSURE_CLASSES, Value::Null)).expect("an answer");
    assert_eq!(status, StatusCode::OK);
    let there: BTreeSet<&str> =
        list["items"].as_array().expect("a list").iter().filter_map(|item| item["metadata"]["name"].as_str()).collect();
    let lost: Vec<&String> = written.iter().filter(|name| !there.contains(name.as_str())).collect();
    assert!(lost.is_empty(), "acknowledged, and not there: {lost:?}");
    // A client that watches from the beginning sees each existing object once.
    let mut seen = Vec::new();
    runtime.block_on(follow(&transport, version, &mut seen, |seen| seen.len() >= there.len()));
    let distinct: BTreeSet<&str> = seen.iter().map(String::as_str).collect();
    assert_eq!((seen.len(), distinct), (there.len(), there));

    let of_runtime = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "runtime", &[&["-n", "garden"], words].concat());
    of_runtime(&["rollout", "status", "deployment/gardener-apiserver", "--timeout=300s"]);
    until_pods(&sandbox, "role=gardener-apiserver", |pods| {
        pods.iter().all(|pod| container(pod)["ready"] == true)
            && pods.iter().any(|pod| container(pod)["restartCount"] == 1)
    });
    let leases = sandbox.kubectl(
        Kubectl::Newest,
        "garden",
        &[
            "-n",
            "gardener-system-instances",
            "get",
            "leases",
            "-l",
            "terrarium.dev/component=gardener-apiserver",
            "-o",
            "name",
        ],
    );
    assert_eq!(leases.lines().count(), 2, "{leases}");
}

/// The watch of a client ends with its instance, and continues with the other.
#[test]
fn a_watch_ends_with_its_instance_and_is_resumed() {
    let sandbox = sandbox("resumed-watch").with_components("processes");
    sandbox.terrarium(&["up"]);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let transport = administrator(&sandbox);
    let list = runtime.block_on(send(&transport, Method::GET, EXPOSURE_CLASSES, Value::Null));
    let version = list.expect("an answer").1["metadata"]["resourceVersion"].as_str().expect("a version").to_owned();
    let (acknowledged, killed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (written, followed) = std::thread::scope(|scope| {
        let watchers: Vec<_> = (0..2)
            .map(|_| {
                let (transport, version, runtime) = (administrator(&sandbox), version.clone(), &runtime);
                scope.spawn(move || {
                    let mut seen = Vec::new();
                    let is_last = |seen: &[String]| seen.last().is_some_and(|name| name == "client-9-999999");
                    (runtime.block_on(follow(&transport, version, &mut seen, is_last)), seen)
                })
            })
            .collect();
        let writer = {
            let (runtime, acknowledged, killed, transport) =
                (&runtime, &acknowledged, &killed, administrator(&sandbox));
            scope.spawn(move || runtime.block_on(write(transport, 0, acknowledged, killed)))
        };
        while acknowledged.load(Ordering::SeqCst) < WRITES {
            std::thread::yield_now();
        }
        // One after the other, so that every watch has lost its instance.
        let both = apiservers(&sandbox);
        kill(both[0]);
        let all_ready = |restarted: usize| {
            until_pods(&sandbox, "role=gardener-apiserver", |pods| {
                pods.iter().all(|pod| container(pod)["ready"] == true)
                    && pods.iter().filter(|pod| container(pod)["restartCount"] == 1).count() == restarted
            })
        };
        all_ready(1);
        kill(both[1]);
        all_ready(2);
        killed.store(true, Ordering::SeqCst);
        let mut written = writer.join().expect("a writer that goes on");
        let last = json!({
            "apiVersion": "core.gardener.cloud/v1beta1",
            "kind": "ExposureClass",
            "metadata": { "name": "client-9-999999" },
            "handler": "test",
        });
        let created = runtime.block_on(send(&transport, Method::POST, EXPOSURE_CLASSES, last));
        assert!(matches!(created, Some((StatusCode::CREATED, _))), "{created:?}");
        written.push("client-9-999999".to_owned());
        let followed: Vec<(usize, Vec<String>)> =
            watchers.into_iter().map(|watcher| watcher.join().expect("a watcher that goes on")).collect();
        (written, followed)
    });
    let number = |name: &String| -> usize { name.rsplit('-').next().and_then(|it| it.parse().ok()).expect("a number") };
    for (watches, seen) in followed {
        assert!(watches > 1, "every watch has lost its instance");
        let numbers: Vec<usize> = seen.iter().map(number).collect();
        assert!(numbers.is_sorted_by(|one, next| one < next), "each once and in order: {numbers:?}");
        // A write whose answer was lost may exist, too.
        let last = numbers.last().copied().expect("it saw something");
        let missed: Vec<&String> =
            written.iter().filter(|name| number(name) <= last && !seen.contains(*name)).collect();
        assert!(missed.is_empty(), "acknowledged, and not seen: {missed:?}");
    }
}

#[test]
fn a_version_out_of_skew_crash_loops() {
    let sandbox = sandbox("out-of-skew");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z"]);
    let runtime = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "runtime", &[&["-n", "garden"], words].concat());
    let shown = runtime(&["get", "deploy,pods"]);
    let words: Vec<&str> = shown.split_whitespace().collect();
    assert!(words.windows(2).any(|pair| pair == ["deployment.apps/gardener-apiserver", "2/2"]), "{shown}");
    runtime(&["set", "image", "deployment/gardener-controller-manager", "*=gardener/controller-manager:v1.122.0"]);
    let labels = "role=gardener-controller-manager";
    let pods = until_pods(&sandbox, labels, |pods| {
        pods.iter().any(|pod| container(pod)["state"]["waiting"]["reason"] == "CrashLoopBackOff")
    });
    let text = "skipping gardener-controller-manager versions is unsupported (old version was 1.120.0, my version is \
                v1.122.0)";
    let line = format!(
        "Error: failed verifying Gardener version: {text} [rule=T2, component=gardener-controller-manager, \
         version=v1.122.0, against=1.120.0]"
    );
    let refused = pods.iter().find(|pod| container(pod)["ready"] == false).expect("the new pod");
    let last = &container(refused)["lastState"]["terminated"];
    let message = last["message"].as_str().and_then(|message| message.lines().last());
    assert_eq!((last["exitCode"].as_i64(), message), (Some(3), Some(line.as_str())));
    let name = refused["metadata"]["name"].as_str().expect("a name");
    assert_eq!(runtime(&["logs", "--previous", name]).lines().last(), Some(line.as_str()));
    let events = sandbox.kubectl(Kubectl::Newest, "garden", &["-n", "gardener-system-instances", "get", "events"]);
    assert!(events.contains("VersionSkewViolation") && events.contains(text), "{events}");
    // The old one continues: a new Project is reconciled.
    assert_eq!(pods.iter().filter(|pod| container(pod)["ready"] == true).count(), 1);
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    garden(&["apply", "-f", &manifest("garden")]);
    garden(&["wait", "--for=jsonpath={.status.phase}=Ready", "project/demo", "--timeout=300s"]);

    // In the legal order it succeeds: gardener-apiserver first.
    runtime(&["set", "image", "deployment/gardener-apiserver", "*=gardener/apiserver:v1.121.0"]);
    runtime(&["rollout", "status", "deployment/gardener-apiserver", "--timeout=300s"]);
    runtime(&["set", "image", "deployment/gardener-controller-manager", "*=gardener/controller-manager:v1.121.0"]);
    runtime(&["rollout", "status", "deployment/gardener-controller-manager", "--timeout=300s"]);
    let version = garden(&["get", "--raw", "/clusters/garden/gardener/version"]);
    assert!(version.contains("\"gitVersion\": \"v1.121.0\""), "{version}");
    runtime(&["delete", "pods", "-l", "role=gardener-apiserver", "--wait=false"]);
    runtime(&["rollout", "status", "deployment/gardener-apiserver", "--timeout=300s"]);
    garden(&["get", "seeds"]);

    // A downgrade is refused even if no newer instance runs.
    runtime(&["scale", "deployment/gardener-controller-manager", "--replicas=0"]);
    until_pods(&sandbox, labels, <[_]>::is_empty);
    runtime(&["set", "image", "deployment/gardener-controller-manager", "*=gardener/controller-manager:v1.120.0"]);
    runtime(&["scale", "deployment/gardener-controller-manager", "--replicas=1"]);
    let pods = until_pods(&sandbox, labels, |pods| {
        pods.iter().any(|pod| container(pod)["state"]["waiting"]["reason"] == "CrashLoopBackOff")
    });
    let message = container(&pods[0])["lastState"]["terminated"]["message"].as_str().unwrap_or_default();
    let text =
        "downgrading gardener-controller-manager is not supported (old version was 1.121.0, my version is v1.120.0)";
    assert!(message.contains(text) && message.contains("[rule=T1, "), "{message}");
}

#[test]
fn an_extension_newer_than_the_oldest_gardenlet_crash_loops() {
    let sandbox = sandbox("extension-out-of-skew");
    sandbox.terrarium(&["up", "--operator=false", "--preset=demo", "--seeds=2"]);
    let seed = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "seed-local", &[&["-n", "garden"], words].concat());
    let (deployment, image) = ("deployment/gardener-extension-provider-local", "*=gardener/extensions/provider-local");
    seed(&["set", "image", deployment, &format!("{image}:v1.121.0")]);
    let pods = until_pods_in(&sandbox, "seed-local", "role=gardener-extension-provider-local", |pods| {
        pods.iter().any(|pod| container(pod)["state"]["waiting"]["reason"] == "CrashLoopBackOff")
    });
    let refused = pods.iter().find(|pod| container(pod)["ready"] == false).expect("the new pod");
    assert_eq!(container(refused)["lastState"]["terminated"]["exitCode"], 3);
    let line = "Error: failed verifying Gardener version: extension \"provider-local\" depends on extensions library \
                1.121.0, which is newer than gardenlet 1.120.0 on seed \"local\" [rule=E1, component=extension, \
                version=v1.121.0, against=1.120.0]";
    let name = refused["metadata"]["name"].as_str().expect("a name");
    assert_eq!(seed(&["logs", "--previous", name]).lines().last(), Some(line));
    assert_eq!(pods.iter().filter(|pod| container(pod)["ready"] == true).count(), 1);
    // An older one may run, and so may a newer one whose gardenlet is updated first.
    seed(&["set", "image", deployment, &format!("{image}:v1.119.0")]);
    seed(&["rollout", "status", deployment, "--timeout=300s"]);
    let runtime = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "runtime", &[&["-n", "garden"], words].concat());
    runtime(&["set", "image", "deployment/gardener-apiserver", "*=gardener/apiserver:v1.121.0"]);
    runtime(&["rollout", "status", "deployment/gardener-apiserver", "--timeout=300s"]);
    seed(&["set", "image", "deployment/gardenlet", "*=gardener/gardenlet:v1.121.0"]);
    seed(&["rollout", "status", "deployment/gardenlet", "--timeout=300s"]);
    // The oldest gardenlet of the landscape counts, and not that of its own seed.
    seed(&["set", "image", deployment, &format!("{image}:v1.121.0")]);
    let pods = until_pods_in(&sandbox, "seed-local", "role=gardener-extension-provider-local", |pods| {
        pods.iter().any(|pod| container(pod)["state"]["waiting"]["reason"] == "CrashLoopBackOff")
    });
    let refused = pods.iter().find(|pod| container(pod)["ready"] == false).expect("the new pod");
    let message = container(refused)["lastState"]["terminated"]["message"].as_str().unwrap_or_default();
    let text =
        "depends on extensions library 1.121.0, which is newer than gardenlet 1.120.0 on seed \"local-2\" [rule=E1";
    assert!(message.contains(text), "{message}");
    let other = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "seed-local-2", &[&["-n", "garden"], words].concat());
    other(&["set", "image", "deployment/gardenlet", "*=gardener/gardenlet:v1.121.0"]);
    other(&["rollout", "status", "deployment/gardenlet", "--timeout=300s"]);
    seed(&["rollout", "status", deployment, "--timeout=300s"]);
}
