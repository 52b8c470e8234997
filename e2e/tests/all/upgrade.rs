// SPDX-License-Identifier: Apache-2.0
//! `terrarium upgrade apply`: the planned order, carried out on a landscape, stopped and continued, with an operator and without,
//! during writes.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use terrarium_e2e::sandbox::{Kubectl, Sandbox};

use crate::support::{container, in_order, manifest, sandbox, until_pods};

/// Returns names and images of the Deployments in the control plane namespace of Shoot `local`.
fn control_plane(sandbox: &Sandbox) -> String {
    let path = "jsonpath={range .items[*]}{.spec.template.spec.containers[0].image}{\"\\n\"}{end}";
    let words = ["-n", "shoot--demo--local", "get", "deployments", "-o", path];
    sandbox.kubectl(Kubectl::Newest, "seed-local", &words)
}

/// Returns names and purposes of the ControlPlanes of the Shoot whose API server has no external DNS record.
fn control_planes(sandbox: &Sandbox) -> String {
    let path = "jsonpath={range .items[*]}{.metadata.name} {.spec.purpose}{\"\\n\"}{end}";
    sandbox.kubectl(Kubectl::Newest, "seed-local", &["-n", "shoot--demo--no-dns", "get", "controlplanes", "-o", path])
}

/// Returns the rows of `upgrade status`: cluster, name and running versions of each component.
fn versions(sandbox: &Sandbox) -> Vec<String> {
    let status: Value = serde_json::from_str(&sandbox.terrarium(&["upgrade", "status", "-o", "json"])).expect("JSON");
    let rows = status["components"].as_array().expect("rows").iter();
    rows.map(|row| row["runs"].as_array().expect("versions").iter().map(Value::to_string).collect()).collect()
}

#[test]
fn an_upgrade_over_several_minors_reaches_the_shoots() {
    let sandbox = sandbox("upgrade-apply");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z", "--seeds", "2"]);
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    garden(&["apply", "-f", &manifest("garden")]);
    garden(&["wait", "--for=jsonpath={.status.phase}=Ready", "project/demo", "--timeout=300s"]);
    garden(&["-n", "garden-demo", "apply", "-f", &manifest("shoot")]);
    sandbox.terrarium(&["clock", "until", "shoot/demo/local=Succeeded"]);
    let seed = garden(&["-n", "garden-demo", "get", "shoot", "local", "-o", "jsonpath={.spec.seedName}"]);
    assert_eq!(seed, "local", "the control plane is looked at in its seed");
    let before = control_plane(&sandbox);
    in_order(&before, &["gardener-resource-manager:v1.120.0"]);
    let local = std::fs::read_to_string(manifest("shoot")).expect("a manifest");
    let no_dns = sandbox.folder().join("no-dns.yaml");
    let (_, shoot) = local.split_once("kind: Shoot\n").expect("the Shoot is the last document");
    let spec = "spec:\n  seedName: local\n  dns: {providers: [{type: unmanaged, primary: true}]}\n";
    let shoot = shoot.replacen("{name: local,", "{name: no-dns,", 1).replacen("spec:\n", spec, 1);
    std::fs::write(&no_dns, format!("apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\n{shoot}")).expect("written");
    garden(&["-n", "garden-demo", "create", "-f", no_dns.to_str().expect("a path")]);
    sandbox.terrarium(&["clock", "until", "shoot/demo/no-dns=Succeeded"]);
    assert_eq!(control_planes(&sandbox), "no-dns normal\nno-dns-exposure exposure\n");

    // gardener-operator does not wait between components.
    let (code, text) = sandbox.terrarium_refused(&["upgrade", "apply", "--to", "1.121", "--pause-between"]);
    assert_eq!(code, 2);
    in_order(&text, &["--pause-between: gardener-operator replaces gardener-apiserver by itself"]);
    let gardenlet =
        |patch: &str| garden(&["-n", "garden", "patch", "gardenlet", "local-2", "--type=merge", "-p", patch]);
    gardenlet(r#"{"spec":{"deployment":{"image":{"tag":"v1.120.0"}}}}"#);
    let pin = "Gardenlet garden/local-2 pins spec.deployment.image.tag to v1.120.0, whatever its chart is";
    let (_, notes) = sandbox.terrarium_with_notes(&["upgrade", "plan", "--to", "1.121"]);
    assert_eq!(
        notes.matches(&format!("note: gardenlet of seed local-2 v1.120.0 -> v1.121.0: {pin}\n")).count(),
        1,
        "{notes}"
    );
    let file = sandbox.folder().join("refused.xml");
    let report = ["--report", file.to_str().expect("a path")];
    let apply = ["upgrade", "apply", "--to", "1.121"];
    let (code, text) = sandbox.terrarium_refused(&[&apply[..], &report].concat());
    assert_eq!(code, 2);
    let written = std::fs::read_to_string(&file).expect("a report");
    in_order(
        &written,
        &["tests=\"1\" failures=\"1\"", "time=\"0.000\"", "<failure message=", "pins spec.deployment.image"],
    );
    in_order(
        &text,
        &["gardenlet of seed local-2", pin, "`kubectl --context terrarium-default -n garden edit gardenlet local-2`"],
    );
    gardenlet(r#"{"spec":{"deployment":{"image":null}}}"#);
    // An extension is released separately: the version in its manifest stays.
    let declared = sandbox.file(
        "extension.yaml",
        "apiVersion: core.gardener.cloud/v1\nkind: ControllerDeployment\nmetadata:\n  name: mine\n  annotations: \
         {terrarium.dev/extensions-library-version: v1.119.0}\nhelm: {ociRepository: {ref: 'r.example/mine:v1'}}\n",
    );
    garden(&["create", "-f", &declared]);

    let dry = sandbox.terrarium(&["upgrade", "apply", "--to", "1.122", "--dry-run"]);
    in_order(&dry, &["gardener-operator", "1.121.0", "gardener-apiserver", "gardenlet"]);
    assert_eq!(versions(&sandbox)[0], "\"v1.120.0\"", "a dry run changes nothing");

    // An ordinary client writes all the time: a failed write is repeated.
    let is_over = AtomicBool::new(false);
    let (report, file) = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while !is_over.load(Ordering::Relaxed) {
                number += 1;
                let value = format!("number={number}");
                let words = ["-n", "garden-demo", "annotate", "shoot", "local", "--overwrite", &value];
                let write = || sandbox.run_kubectl(Kubectl::Newest, "garden", &words).status.success();
                assert!((0..3).any(|_| write()), "write {number} fails again and again");
            }
        });
        let file = sandbox.folder().join("report.json");
        let words = ["upgrade", "apply", "--to", "1.122", "--report", file.to_str().expect("a path")];
        let told = sandbox.try_terrarium(&words);
        is_over.store(true, Ordering::Relaxed);
        (told.expect("it goes through"), file)
    });
    in_order(
        &report,
        &[
            "gardener-operator v1.120.0 -> v1.121.0",
            "gardener-apiserver v1.120.0 -> v1.121.0 (2 instances)",
            "gardenlet of seed local",
            "gardener-operator v1.121.0 -> v1.122.0",
            "gardenlet of seed local",
            "every component is at v1.122.0",
        ],
    );
    let written: Value = serde_json::from_slice(&std::fs::read(&file).expect("a report")).expect("JSON");
    assert_eq!(written["succeeded"], true);
    let library = "jsonpath={.metadata.annotations.terrarium\\.dev/extensions-library-version}";
    assert_eq!(garden(&["get", "controllerdeployment", "mine", "-o", library]), "v1.119.0");
    let found: Value = serde_json::from_str(&sandbox.terrarium(&["landscape", "list", "-o", "json"])).expect("JSON");
    assert_eq!(found["landscapes"][0]["version"], "v1.122.0");
    assert!(versions(&sandbox).iter().all(|runs| runs == "\"v1.122.0\""), "{:?}", versions(&sandbox));
    in_order(&sandbox.terrarium(&["skew", "check"]), &["allowed"]);
    let again = sandbox.terrarium(&["upgrade", "apply", "--to", "1.122"]);
    in_order(&again, &["nothing to do: every component is at v1.122.0"]);
    let rows = sandbox.terrarium(&["forecast", "--until", "90d", "-o", "json"]);
    let rows: Vec<Value> = rows.lines().map(|row| serde_json::from_str(row).expect("JSON")).collect();
    assert!(!rows.is_empty() && rows.iter().all(|row| row["release"] == "v1.122"), "{rows:?}");

    // Starting gardenlets reconcile their Shoots: the release's changes of a control plane are visible.
    sandbox.terrarium(&["clock", "advance", "2h", "--quiet"]);
    let path = "jsonpath={.status.gardener.version} {.status.lastOperation.state}";
    assert_eq!(garden(&["-n", "garden-demo", "get", "shoot", "local", "-o", path]), "v1.122.0 Succeeded");
    assert_eq!(control_planes(&sandbox), "no-dns normal\n", "the exposure goes with 1.121");
    let after = control_plane(&sandbox);
    in_order(&after, &["gardener-resource-manager:v1.122.0"]);
    let path = "jsonpath={.spec.template.spec.containers[0].image}";
    let words = ["-n", "kube-system", "get", "deployment", "coredns", "-o", path];
    let kubeconfig = sandbox.folder().join("shoot.kubeconfig");
    let kubeconfig = kubeconfig.to_str().expect("a path");
    sandbox.terrarium(&["kubeconfig", "shoot/demo/local", "--out", kubeconfig]);
    let image = sandbox.kubectl_with(Kubectl::Newest, kubeconfig, &words).expect("the Shoot answers");
    assert_eq!(image, "coredns:v1.12.2");
    let (code, text) = sandbox.terrarium_refused(&["upgrade", "apply", "--to", "1.120"]);
    assert_eq!(code, 2);
    in_order(&text, &["is at 1.122.0 already, above 1.120.0, and downgrades are not supported (T1)"]);
    sandbox.terrarium(&["replay", "--verify"]);
}

#[test]
fn a_stopped_upgrade_continues() {
    let sandbox = sandbox("upgrade-stopped");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z", "--operator=false"]);
    // There is no input: it stops before the first component.
    let (code, text) = sandbox.start_terrarium(&["upgrade", "apply", "--to", "1.121", "--pause-between"]).wait();
    assert_eq!(code, Some(130), "{text}");
    in_order(&text, &["stopped before gardener-apiserver v1.120.0 -> v1.121.0 (2 instances)"]);
    // A user updates a component out of order, and is refused; the order is planned from the running versions.
    let image = "*=gardener/scheduler:v1.121.0";
    sandbox.kubectl(
        Kubectl::Newest,
        "runtime",
        &["-n", "garden", "set", "image", "deployment/gardener-scheduler", image],
    );
    let told = sandbox.terrarium(&["upgrade", "apply", "--to", "1.121"]);
    in_order(
        &told,
        &[
            "1/6  gardener-apiserver",
            "gardener-scheduler",
            "gardenlet of seed local",
            "extension provider-local",
            "every component is at v1.121.0",
        ],
    );
    assert!(versions(&sandbox).iter().all(|runs| runs == "\"v1.121.0\""), "{:?}", versions(&sandbox));
    // The process that carries the upgrade out is killed during it.
    let running = sandbox.start_terrarium(&["upgrade", "apply", "--to", "1.123"]);
    running.kill();
    sandbox.terrarium(&["upgrade", "apply", "--to", "1.123"]);
    assert!(versions(&sandbox).iter().all(|runs| runs == "\"v1.123.0\""), "{:?}", versions(&sandbox));
}

#[test]
fn an_upgrade_is_not_over_while_a_component_crash_loops() {
    let sandbox = sandbox("upgrade-broken");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z", "--operator=false"]);
    let runtime = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "runtime", &[&["-n", "garden"], words].concat());
    let scheduler = |version: &str| {
        let image = format!("*=gardener/scheduler:{version}");
        runtime(&["set", "image", "deployment/gardener-scheduler", &image]);
    };
    scheduler("v1.118.0");
    let rows = || {
        let status: Value =
            serde_json::from_str(&sandbox.terrarium(&["upgrade", "status", "-o", "json"])).expect("JSON");
        status["components"].as_array().expect("rows").clone()
    };
    let row = || rows().into_iter().find(|row| row["component"] == "gardener-scheduler").expect("a row");
    while row()["rule"].is_null() {}
    assert_eq!((&row()["rule"], &row()["exitCode"]), (&Value::from("T1"), &Value::from(3)));
    assert_eq!(row()["runs"], Value::from(vec!["v1.120.0"]), "what crash-loops does not run");
    let (code, text) = sandbox.terrarium_refused(&["upgrade", "apply", "--to", "1.120"]);
    assert_eq!(code, 3, "{text}");
    let line = "gardener-scheduler v1.118.0 (runtime) does not start: failed verifying Gardener version: downgrading \
                gardener-scheduler is not supported (old version was 1.120.0, my version is v1.118.0) [rule=T1, ";
    in_order(&text, &["not every component is at v1.120.0: ", line]);
    in_order(&sandbox.terrarium(&["skew", "check"]), &["allowed: ", "\nnot among them: ", line]);
    scheduler("v1.120.0");
    runtime(&["rollout", "status", "deployment/gardener-scheduler", "--timeout=300s"]);
    in_order(
        &sandbox.terrarium(&["upgrade", "apply", "--to", "1.120"]),
        &["nothing to do: every component is at v1.120.0"],
    );

    // A gate with which a component would not start is reported before the first step.
    sandbox.terrarium(&["config", "set", "gardenlet", "featureGates.NewVPN=true"]);
    let gone = "W4 FeatureGateGone: gardenlet of Seed local sets NewVPN=true, with which 1.127.0 does not start";
    let plan = sandbox.terrarium(&["upgrade", "plan", "--to", "1.126"]);
    in_order(&plan, &["gardenlet"]);
    // Another context may be the current one, and each of these objects is in one cluster only.
    for command in [
        "`kubectl --context terrarium-default-runtime -n garden get deployments -o wide`",
        "`kubectl --context terrarium-default get seeds`",
    ] {
        assert!(plan.contains(command), "{plan}");
    }
    assert!(!plan.contains("`kubectl -n") && !plan.contains("`kubectl get"), "{plan}");
    let file = sandbox.folder().join("refused.xml");
    let words = ["upgrade", "apply", "--to", "1.127", "--report", file.to_str().expect("a path")];
    let (code, text) = sandbox.terrarium_refused(&words);
    assert_eq!(code, 2, "{text}");
    let gone = gone.trim_start_matches("W4 FeatureGateGone: ");
    in_order(&text, &[gone, "`terrarium config set gardenlet featureGates.NewVPN= --cluster seed/local`"]);
    let written = std::fs::read_to_string(&file).expect("a report");
    in_order(&written, &["tests=\"1\" failures=\"1\"", "<failure message=", gone]);
    sandbox.terrarium(&["config", "set", "gardenlet", "featureGates.NewVPN="]);

    // The host has ended: the upgrade cannot continue.
    let sandbox = &sandbox;
    let running = sandbox.start_terrarium(&["upgrade", "apply", "--to", "1.130"]);
    sandbox.terrarium(&["down"]);
    let (code, text) = running.wait();
    assert_eq!(code, Some(1), "{text}");
    assert!(!text.contains("nothing has changed"), "{text}");
}

/// Both components start in v1.121.0 only, and then in v1.122.0.
#[test]
fn a_plan_has_steps_for_components_that_crash_loop() {
    let sandbox = sandbox("upgrade-plan-crash");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z", "--operator=false"]);
    let runtime = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "runtime", &[&["-n", "garden"], words].concat());
    let names = ["gardener-controller-manager", "gardener-scheduler"];
    let scale = |replicas: &str| {
        let deployments = names.map(|name| format!("deployment/{name}"));
        runtime(&["scale", &deployments[0], &deployments[1], "--replicas", replicas]);
    };
    let plan = |to: &str| sandbox.start_terrarium(&["upgrade", "plan", "--to", to]).wait();
    scale("0");
    until_pods(&sandbox, "role=gardener-scheduler", <[_]>::is_empty);
    let (code, text) = sandbox.terrarium_refused(&["upgrade", "apply", "--to", "1.122", "--wait", "2s"]);
    assert_eq!(code, 3, "{text}");
    let (code, text) = plan("1.122");
    assert_eq!(code, Some(3), "{text}");
    let zero = "not among them: gardener-scheduler (runtime): its Deployment has 0 replicas";
    in_order(
        &text,
        &["no steps: every component that runs is at 1.122.0", zero, "not every component gets to v1.122.0: "],
    );
    scale("1");
    let refused = || {
        let status: Value =
            serde_json::from_str(&sandbox.terrarium(&["upgrade", "status", "-o", "json"])).expect("JSON");
        status["components"].as_array().expect("rows").iter().filter(|row| row["rule"] == "C2").count()
    };
    while refused() < names.len() {}
    let (code, text) = plan("1.122");
    assert_eq!(code, Some(0), "{text}");
    in_order(&text, &["gardener-controller-manager", "1.120.0", "1.121.0", "gardener-scheduler", "1.120.0", "1.121.0"]);
    let written = sandbox.terrarium(&["upgrade", "plan", "--to", "1.122", "-o", "yaml"]);
    in_order(
        &sandbox.terrarium(&["upgrade", "check", "-f", &sandbox.file("plan.yaml", &written)]),
        &["allowed: 4 steps"],
    );
    in_order(&sandbox.terrarium(&["upgrade", "apply", "--to", "1.122"]), &["every component is at v1.122.0"]);

    // A configuration with which the new version does not start.
    runtime(&[
        "patch",
        "configmap",
        "gardener-scheduler-config",
        "--type=merge",
        "-p",
        &broken(&runtime(&["get", "configmap", "gardener-scheduler-config", "-o", "jsonpath={.data.config\\.yaml}"])),
    ]);
    let (code, text) = sandbox.terrarium_refused(&["upgrade", "apply", "--to", "1.123", "--wait", "3s"]);
    assert_eq!(code, 1, "{text}");
    in_order(&text, &["gardener-scheduler v1.122.0 -> v1.123.0: ", "unknown field \"nonsense\""]);
}

/// Patch of a ConfigMap with an unknown field in the configuration.
fn broken(configuration: &str) -> String {
    serde_json::json!({ "data": { "config.yaml": format!("{}\nnonsense: 1\n", configuration.trim_end()) } }).to_string()
}

/// Components that wait for gardener-apiserver end with the landscape, and have not failed.
#[test]
fn a_start_ends_with_the_component_that_is_refused() {
    let sandbox = sandbox("up-refused");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z", "--operator=false"]);
    let runtime = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "runtime", &[&["-n", "garden"], words].concat());
    let programs = ["apiserver", "controller-manager", "scheduler", "admission-controller"];
    let all = programs.map(|program| format!("deployment/gardener-{program}"));
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    runtime(&[&["scale", "--replicas=0"][..], &all[..]].concat());
    until_pods(&sandbox, "role=gardener-apiserver", <[_]>::is_empty);
    for (program, deployment) in programs.iter().zip(&all) {
        runtime(&["set", "image", deployment, &format!("*=gardener/{program}:v1.122.0")]);
    }
    runtime(&[&["scale", "--replicas=1"][..], &all[..]].concat());
    let crashes = |pods: &[Value]| pods.iter().any(|pod| container(pod)["lastState"]["terminated"]["exitCode"] == 3);
    until_pods(&sandbox, "role=gardener-apiserver", crashes);
    for kills in [false, true] {
        if kills {
            sandbox.kill_host();
        } else {
            sandbox.terrarium(&["down"]);
        }
        let (code, text) = sandbox.terrarium_refused(&["up", "--wait", "20s"]);
        assert_eq!(code, 3, "{text}");
        in_order(&text, &["gardener-apiserver did not start: ", "skipping gardener-apiserver versions", "rule=T2"]);
    }
}

/// Gardenlets and Seeds are served by gardener-apiserver alone.
#[test]
fn an_upgrade_without_a_gardener_apiserver_has_a_reason() {
    let sandbox = sandbox("upgrade-silent");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z", "--operator=false"]);
    let runtime = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "runtime", &[&["-n", "garden"], words].concat());
    let apiserver = || {
        let status: Value =
            serde_json::from_str(&sandbox.terrarium(&["upgrade", "status", "-o", "json"])).expect("JSON");
        let rows = status["components"].as_array().expect("rows");
        rows.iter().find(|row| row["component"] == "gardener-apiserver").expect("a row").clone()
    };
    let refused = |why: &str| {
        let (code, text) = sandbox.terrarium_refused(&["upgrade", "apply", "--to", "1.121", "--wait", "1s"]);
        assert_eq!(code, 3, "{text}");
        let rest = "; without gardener-apiserver, Gardenlets and Seeds cannot be read";
        in_order(&text, &["not every component is at v1.121.0: ", why, rest]);
    };
    runtime(&["scale", "deployment/gardener-apiserver", "--replicas=0"]);
    while apiserver()["runs"] != Value::from(Vec::<String>::new()) {}
    refused("no instance of gardener-apiserver v1.120.0 (runtime) runs");

    runtime(&["set", "image", "deployment/gardener-apiserver", "*=gardener/apiserver:v1.118.0"]);
    runtime(&["scale", "deployment/gardener-apiserver", "--replicas=1"]);
    while apiserver()["rule"].is_null() {}
    assert_eq!(apiserver()["rule"], "T1");
    refused("gardener-apiserver v1.118.0 (runtime) does not start: failed verifying Gardener version: ");
    in_order(&sandbox.terrarium(&["skew", "check"]), &["not among them: gardener-apiserver v1.118.0 (runtime)", "T1"]);
}

/// An image of no component is not found; a component that no Deployment starts is reported and prevents the end of an upgrade.
#[test]
fn an_upgrade_waits_for_every_component() {
    let sandbox = sandbox("upgrade-absent");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z", "--operator=false"]);
    let runtime = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "runtime", &[&["-n", "garden"], words].concat());
    let refused = |component: &str, why: &str| {
        let whole = format!("{component} (runtime): {why}");
        let (code, text) = sandbox.terrarium_refused(&["upgrade", "apply", "--to", "1.120", "--wait", "1s"]);
        assert_eq!(code, 3, "{text}");
        in_order(&text, &["not every component is at v1.120.0: ", &whole]);
        in_order(&sandbox.terrarium(&["upgrade", "status"]), &[component, why]);
        in_order(&sandbox.terrarium(&["skew", "check"]), &["allowed", "not among them: ", &whole]);
    };
    let waits =
        |pods: &[Value]| pods.iter().any(|pod| container(pod)["state"]["waiting"]["reason"] == "ImagePullBackOff");
    runtime(&["set", "image", "deployment/gardener-controller-manager", "*=gardener/gcm:v1.120.0"]);
    let pods = until_pods(&sandbox, "role=gardener-controller-manager", waits);
    assert_eq!(pods.iter().filter(|pod| container(pod)["ready"] == true).count(), 1, "the old one goes on");
    refused("gardener-controller-manager", "its image gardener/gcm:v1.120.0 is not one of this component");
    runtime(&["set", "image", "deployment/gardener-controller-manager", "*=gardener/controller-manager:v1.120.0"]);
    runtime(&["rollout", "status", "deployment/gardener-controller-manager", "--timeout=300s"]);

    // A workload of a user has any image.
    runtime(&["create", "deployment", "web", "--image=gardener/gcm:v1.120.0"]);
    sandbox.terrarium(&["clock", "advance", "10s", "--quiet"]);
    runtime(&["rollout", "status", "deployment/web", "--timeout=300s"]);

    runtime(&["scale", "deployment/gardener-scheduler", "--replicas=0"]);
    until_pods(&sandbox, "role=gardener-scheduler", <[_]>::is_empty);
    refused("gardener-scheduler", "its Deployment has 0 replicas");
    in_order(&sandbox.terrarium(&["doctor"]), &["gardener-scheduler (runtime): its Deployment has 0 replicas"]);
    runtime(&["delete", "deployment/gardener-scheduler"]);
    refused("gardener-scheduler", "there is no Deployment of it");
}

#[test]
fn a_wrong_order_ends_with_the_rule_that_forbids_it() {
    let sandbox = sandbox("upgrade-check");
    let plan = sandbox.file(
        "plan.yaml",
        "start:\n  gardener-apiserver: 1.37.2\n  gardenlet: {a: 1.37.2}\nsteps:\n- {component: gardenlet, instance: a, to: \
         1.38.0}\n- {component: gardener-apiserver, to: 1.38.0}\n",
    );
    let (code, text) = sandbox.start_terrarium(&["upgrade", "check", "-f", &plan]).wait();
    assert_eq!(code, Some(1), "{text}");
    in_order(&text, &["G1"]);
    let landscape = sandbox.file("landscape.yaml", "gardener-apiserver: [1.37.2]\ngardenlet: {a: 1.37.2, b: 1.36.9}\n");
    in_order(&sandbox.terrarium(&["skew", "check", "-f", &landscape]), &["allowed"]);
    in_order(
        &sandbox.terrarium(&["upgrade", "plan", "--to", "1.38", "-f", &landscape]),
        &["gardenlet", "b", "1.36.9", "1.37.2", "gardener-apiserver", "1.37.2", "1.38.0", "gardenlet", "1.38.0"],
    );
}

/// v1.128 renames the fields of capabilities in CloudProfiles.
#[test]
fn the_past_has_the_field_names_of_its_release() {
    const PROFILE: &str = "apiVersion: core.gardener.cloud/v1beta1
kind: CloudProfile
metadata: {name: c}
spec:
  type: local
  capabilities: [{name: architecture, values: [amd64]}]
  kubernetes: {versions: [{version: 1.32.0}]}
  machineImages:
  - name: gardenlinux
    versions:
    - {version: 1.0.0, cri: [{name: containerd}], capabilitySets: [{architecture: [amd64]}]}
  machineTypes: [{name: local, cpu: '4', gpu: '0', memory: 8Gi, capabilities: {architecture: [amd64]}}]
  regions: [{name: local, zones: [{name: local-a}]}]
";
    let sandbox = sandbox("renamed-fields");
    let start = ["--start-time", "2025-09-10T00:00:00Z", "--clock", "stepped"];
    sandbox.terrarium(&[&["up", "--gardener-version", "v1.127.0"][..], &start].concat());
    sandbox.terrarium(&["config", "set", "gardener-apiserver", "featureGates.CloudProfileCapabilities=true"]);
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    let file = sandbox.folder().join("capabilities.yaml");
    std::fs::write(&file, PROFILE).expect("written");
    garden(&["create", "-f", file.to_str().expect("a path")]);
    let entries = || -> Vec<Value> {
        let text = sandbox.terrarium(&["log", "--object", "cloudprofile/c", "-o", "json"]);
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let before = entries().last().expect("entries")["revision"].to_string();
    sandbox.terrarium(&["upgrade", "apply", "--to", "v1.128"]);
    garden(&["annotate", "cloudprofile", "c", "a=b"]);
    let last = entries().pop().expect("entries");
    assert_eq!(last["summary"], "metadata.annotations.a = b", "{last}");

    let get = ["get", "cloudprofile", "c", "-o", "json"];
    let names = |words: &[&str]| {
        let object: Value = serde_json::from_str(&sandbox.terrarium(words)).expect("JSON");
        let image = &object["spec"]["machineImages"][0]["versions"][0];
        let is_there = |object: &Value, name: &str| object.get(name).is_some_and(|value| !value.is_null());
        [("capabilities", "machineCapabilities"), ("capabilitySets", "capabilityFlavors")]
            .map(|(former, new)| [former, new].map(|name| is_there(&object["spec"], name) || is_there(image, name)))
    };
    assert_eq!(names(&get), [[false, true]; 2]);
    assert_eq!(names(&[&["at", before.as_str()][..], &get].concat()), [[true, false]; 2]);
    sandbox.terrarium(&["down"]);
    assert_eq!(names(&[&["at", before.as_str()][..], &get].concat()), [[true, false]; 2], "of a stopped landscape");
}
