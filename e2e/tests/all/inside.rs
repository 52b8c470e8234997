// SPDX-License-Identifier: Apache-2.0
//! Components as tasks of the host's process, the default of a new landscape.

use std::time::Duration;

use domain::garden::components::Program;
use http_body_util::BodyExt;
use process::transport::full;
use serde_json::Value;
use terrarium_e2e::sandbox::{Kubectl, Sandbox};

use crate::support::{administrator, container, in_order, manifest, sandbox, until_pods};

const SUCCEEDED: &str = "--for=jsonpath={.status.lastOperation.state}=Succeeded";

/// A landscape with one Shoot, which its components have created.
fn with_shoot(sandbox: &Sandbox) {
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    garden(&["apply", "-f", &manifest("garden")]);
    garden(&["wait", "--for=jsonpath={.status.phase}=Ready", "project/demo", "--timeout=300s"]);
    garden(&["apply", "-f", &manifest("shoot")]);
    garden(&["-n", "garden-demo", "wait", SUCCEEDED, "shoot/local", "--timeout=300s"]);
}

/// Returns the pods of the components of a cluster, each with the name of its component.
fn pods(sandbox: &Sandbox, context: &str) -> Vec<(String, Value)> {
    let list = sandbox.kubectl(Kubectl::Newest, context, &["-n", "garden", "get", "pods", "-o", "json"]);
    let list: Value = serde_json::from_str(&list).expect("a list");
    let pods = list["items"].as_array().cloned().unwrap_or_default();
    let component = |pod: &Value| {
        let image = pod["spec"]["containers"][0]["image"].as_str().unwrap_or_default();
        Program::of(image).map(|(program, _)| program.name().to_owned())
    };
    pods.into_iter().filter_map(|pod| Some((component(&pod)?, pod))).collect()
}

/// The log of each component has its own lines alone. `down` and `up` change the form, which lasts without the flag.
#[test]
fn a_landscape_inside_one_process_is_as_one_of_processes() {
    let sandbox = sandbox("inside").with_components("default");
    let up = sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z"]);
    in_order(&up, &["Components:   inside the host's process"]);
    assert_eq!(sandbox.processes(), Vec::from_iter(sandbox.host()), "no process but the host");
    let status = sandbox.terrarium(&["status"]);
    let host = format!("process {} (host and components): ", sandbox.host().unwrap_or_default());
    in_order(&status, &["components inside the host's process\n", &host, " s of processor time, ", " MiB in memory\n"]);
    assert_eq!(status.matches(" in memory").count(), 1, "{status}");
    with_shoot(&sandbox);
    let status: Value = serde_json::from_str(&sandbox.terrarium(&["status", "-o", "json"])).expect("JSON");
    let components = status["processes"].as_array().expect("a list");
    let has_work = |work: &Value| work["processorSeconds"].as_f64() > Some(0.0);
    assert!(components.len() > 6 && components.iter().all(|it| has_work(&it["work"])), "{status}");
    let passes = |name: &str| {
        let one = components.iter().find(|it| it["name"].as_str().is_some_and(|it| it.starts_with(name)));
        one.and_then(|one| one["work"]["passes"].as_u64())
    };
    assert!(passes("gardenlet-") > Some(5) && passes("gardener-controller-manager-") > Some(5), "{status}");
    assert!(has_work(&status["hostParts"]["kube-controller-manager"]), "{status}");
    let names = Program::ALL.map(Program::name);
    let mut seen = Vec::new();
    for context in ["runtime", "seed-local"] {
        for (component, pod) in pods(&sandbox, context) {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            let log = sandbox.kubectl(Kubectl::Newest, context, &["-n", "garden", "logs", name]);
            let starts = |name: &str| log.contains(&format!("Starting {name}\""));
            assert!(starts(&component), "{component}: {log}");
            assert!(names.iter().all(|other| *other == component || !starts(other)), "{component}: {log}");
            seen.push(component);
        }
    }
    seen.dedup();
    assert_eq!(seen.len(), 7, "{seen:?}");
    let (code, refused) = sandbox.terrarium_refused(&["up", "--components", "processes"]);
    assert!(code == 2 && refused.contains("--components cannot be changed while"), "{code}: {refused}");

    let before = sandbox.terrarium(&["clock", "advance", "1d"]);
    assert!(!before.is_empty());
    sandbox.terrarium(&["down"]);
    sandbox.terrarium(&["up", "--components", "processes"]);
    assert_eq!(sandbox.processes().len(), 9);
    sandbox.terrarium(&["clock", "advance", "1d"]);
    sandbox.terrarium(&["down"]);
    // A landscape that is older than this choice has processes, and keeps them.
    let file = sandbox.directory().join("landscape.json");
    let mut facts: Value = serde_json::from_slice(&std::fs::read(&file).expect("facts")).expect("JSON");
    assert_eq!(facts.as_object_mut().and_then(|facts| facts.remove("components")), Some("processes".into()));
    std::fs::write(&file, facts.to_string()).expect("the facts are written");
    sandbox.terrarium(&["up"]);
    assert_eq!(sandbox.processes().len(), 9);
    sandbox.terrarium(&["down"]);
    in_order(&sandbox.terrarium(&["up", "--components", "inside"]), &["inside the host's process"]);
    sandbox.terrarium(&["clock", "advance", "1d"]);
    let shoot = ["-n", "garden-demo", "get", "shoot", "local", "-o", "jsonpath={.status.lastOperation.state}"];
    assert_eq!(sandbox.kubectl(Kubectl::Newest, "garden", &shoot), "Succeeded");
    sandbox.terrarium(&["down"]);
    in_order(&sandbox.terrarium(&["replay", "--verify"]), &["the same as the API lists"]);
    assert_eq!(sandbox.panics(), Vec::<String>::new());
}

/// A component that ends on purpose is restarted with the reason; the others continue, and watches of a gardener-apiserver end
/// with it.
#[test]
fn a_component_inside_ends_alone_and_is_restarted() {
    let sandbox = sandbox("inside-restarts").with_components("inside");
    sandbox.terrarium(&["up", "--apiservers", "1", "--log", "memory"]);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let transport = administrator(&sandbox);
    let path = "/clusters/garden/apis/core.gardener.cloud/v1beta1/projects?watch=true";
    let request = http::Request::get(path).body(full("")).expect("a request");
    let watch = runtime.block_on(transport.send(request)).expect("a watch").into_body();
    sandbox.terrarium(&["fault", "inject", "component-crash", "--component", "gardener-apiserver"]);
    let pods = until_pods(&sandbox, "role=gardener-apiserver", |pods| {
        pods.iter().any(|pod| container(pod)["restartCount"] == 1 && container(pod)["ready"] == true)
    });
    let last = &container(&pods[0])["lastState"]["terminated"];
    assert_eq!(last["exitCode"], 1, "{last}");
    assert!(last["message"].as_str().is_some_and(|message| message.contains("this instance ends")), "{last}");
    let rest = runtime.block_on(async { tokio::time::timeout(Duration::from_mins(1), watch.collect()).await });
    assert!(rest.is_ok(), "a watch ends with its server");
    // It serves again, and no other component has ended.
    sandbox.kubectl(Kubectl::Newest, "garden", &["get", "cloudprofiles"]);
    until_pods(&sandbox, "role=gardener-controller-manager", |pods| {
        pods.iter().all(|pod| container(pod)["restartCount"] == 0 && container(pod)["ready"] == true)
    });

    // Another version at the same time, which the rules refuse.
    let image = ["-n", "garden", "set", "image", "deployment/gardener-scheduler", "*=gardener/scheduler:v1.117.0"];
    sandbox.kubectl(Kubectl::Newest, "runtime", &image);
    let pods = until_pods(&sandbox, "role=gardener-scheduler", |pods| {
        pods.iter().any(|pod| container(pod)["lastState"]["terminated"]["exitCode"] == 3)
    });
    assert!(pods.iter().any(|pod| container(pod)["ready"] == true), "the one before goes on");
}

/// A component whose pods request a process is one, with the others inside; a process can be killed, and time advances through
/// it.
#[test]
fn a_component_inside_becomes_a_process_by_its_annotation() {
    let sandbox = sandbox("inside-form").with_components("inside");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z", "--apiservers", "1"]);
    let annotate = |deployment: &str, value: &str| {
        let patch =
            format!(r#"{{"spec":{{"template":{{"metadata":{{"annotations":{{"terrarium.dev/form":{value}}}}}}}}}}}"#);
        let words = ["-n", "garden", "patch", "deployment", deployment, "-p", &patch];
        sandbox.kubectl(Kubectl::Newest, "runtime", &words);
    };
    let settled = |deployment: &str| {
        let words = ["-n", "garden", "rollout", "status", "deployment", deployment, "--timeout=300s"];
        sandbox.kubectl(Kubectl::Newest, "runtime", &words);
    };
    for deployment in ["gardener-scheduler", "gardener-apiserver"] {
        annotate(deployment, r#""process""#);
        settled(deployment);
    }
    let scheduler = sandbox.process_of("gardener-scheduler");
    sandbox.process_of("gardener-apiserver");
    assert_eq!(sandbox.processes().len(), 3, "the host and two components");
    in_order(&sandbox.terrarium(&["status"]), &["inside the host's process", &format!("process {scheduler}: ")]);
    with_shoot(&sandbox);
    assert!(
        std::process::Command::new("kill").args(["-9", &scheduler.to_string()]).status().is_ok_and(|it| it.success())
    );
    until_pods(&sandbox, "role=gardener-scheduler", |pods| {
        pods.iter().any(|pod| container(pod)["restartCount"] == 1 && container(pod)["ready"] == true)
    });
    assert_ne!(sandbox.process_of("gardener-scheduler"), scheduler);
    sandbox.terrarium(&["clock", "advance", "1d"]);
    // The pod reports an invalid value, and the previous instance continues.
    annotate("gardener-scheduler", r#""thread""#);
    until_pods(&sandbox, "role=gardener-scheduler", |pods| {
        let said = |pod: &Value| pod["status"].to_string().contains("is not a form: expected process");
        pods.iter().any(said) && pods.iter().any(|pod| container(pod)["ready"] == true)
    });
    for deployment in ["gardener-scheduler", "gardener-apiserver"] {
        annotate(deployment, "null");
        settled(deployment);
        // The process of the previous pod has ended when that pod is deleted.
        until_pods(&sandbox, &format!("role={deployment}"), |pods| pods.len() == 1);
    }
    assert_eq!(sandbox.processes(), Vec::from_iter(sandbox.host()));
    sandbox.terrarium(&["clock", "advance", "1d"]);
    let shoot = ["-n", "garden-demo", "get", "shoot", "local", "-o", "jsonpath={.status.lastOperation.state}"];
    assert_eq!(sandbox.kubectl(Kubectl::Newest, "garden", &shoot), "Succeeded");
    sandbox.terrarium(&["down"]);
    in_order(&sandbox.terrarium(&["replay", "--verify"]), &["the same as the API lists"]);
}

const RESTART: &str = r#"{"spec":{"template":{"metadata":{"annotations":{"restart":"1"}}}}}"#;

/// Returns the log of a user's session in which landscape time passes only by `clock advance`.
fn session(sandbox: &Sandbox) -> Vec<Value> {
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    sandbox.terrarium(&["up", "--clock", "stepped", "--start-time", "2023-07-27T20:00:00Z"]);
    garden(&["apply", "-f", &manifest("garden"), "-f", &manifest("shoot")]);
    sandbox.terrarium(&["clock", "advance", "1h"]);
    // Each command is several requests, of which the later ones meet the reactions to the earlier ones.
    garden(&["-n", "garden-demo", "create", "secret", "generic", "a", "--from-literal=key=value"]);
    garden(&["-n", "garden-demo", "annotate", "shoot", "local", "gardener.cloud/operation=reconcile"]);
    garden(&["-n", "garden-demo", "label", "shoot,secret", "--all", "team=a"]);
    sandbox.kubectl(
        Kubectl::Newest,
        "runtime",
        &["-n", "garden", "patch", "deployment", "gardener-scheduler", "-p", RESTART],
    );
    sandbox.terrarium(&["clock", "advance", "2d"]);
    garden(&["-n", "garden-demo", "delete", "secret", "a"]);
    let log = sandbox.terrarium(&["log", "-o", "json"]);
    log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Two concurrent sessions, which compete for the processors, and a third one alone.
#[test]
fn repeated_sessions_have_the_same_log() {
    let sandboxes = ["a", "b", "c"].map(|name| sandbox(&format!("inside-again-{name}")).with_components("inside"));
    let [a, b, c] = &sandboxes;
    let (first, second) = std::thread::scope(|scope| {
        let second = scope.spawn(|| session(b));
        (session(a), second.join().expect("a session"))
    });
    let third = session(c);
    assert!(first.len() > 1000, "{} entries", first.len());
    let line = |entry: &Value| {
        let fields = ["time", "component", "controller", "verb", "resource", "namespace", "name", "summary"];
        fields.map(|field| entry[field].as_str().unwrap_or_default().to_owned()).join(" ")
    };
    for other in [second, third] {
        if let Some(at) = (0..first.len().max(other.len())).find(|at| first.get(*at) != other.get(*at)) {
            let around = |log: &[Value]| log.iter().skip(at.saturating_sub(3)).take(8).map(line).collect::<Vec<_>>();
            panic!("entry {at} differs: {:#?} and {:#?}", around(&first), around(&other));
        }
    }
}
