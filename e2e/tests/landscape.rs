// SPDX-License-Identifier: Apache-2.0
//! A landscape of real processes, driven by real kubectl, the oldest and the newest at hand.

mod support;

use std::path::Path;

use terrarium_e2e::sandbox::{Kubectl, Sandbox};

use support::{in_order, manifest, sandbox};

#[test]
fn the_demo_tells_the_requirements_story() {
    let sandbox = sandbox("demo");
    let output = sandbox.terrarium(&["up", "--demo"]);
    in_order(
        &output,
        &[
            "log sled, durable",
            "1/5  Thursday evening",
            "Create Processing (0%)",
            "Create Succeeded (100%)",
            "3 nodes: v1.26.4, gardenlinux 934.8.0",
            "2/5  Midnight",
            "create Shoot late (1.26.4)  403 Forbidden",
            "3/5  The maintenance window opens",
            "lastMaintenance Succeeded",
            "4/5  Both changes roll the nodes once",
            "Reconcile Succeeded (100%)",
            "3 nodes: v1.27.1, gardenlinux 1096.1.0",
            "5/5  14 h 0 min of landscape time",
        ],
    );
    assert!(output.contains("KubernetesVersionMaintenance"));
    assert!(output.contains("MachineImageVersionMaintenance"));
    let again = sandbox.terrarium(&["up", "--demo"]);
    in_order(&again, &["runs already", "The demo has been played in this landscape"]);

    let processes = sandbox.processes();
    assert!(processes.len() > 4, "host and components: {processes:?}");
    sandbox.terrarium(&["down", "--purge"]);
    assert!(!sandbox.directory().exists());
    let left: Vec<_> = processes.iter().filter(|pid| Path::new(&format!("/proc/{pid}/exe")).exists()).collect();
    assert!(left.is_empty(), "{left:?} are left");
    let kubeconfig = std::fs::read_to_string(sandbox.kubeconfig()).expect("a kubeconfig");
    assert!(!kubeconfig.contains("terrarium-default"), "{kubeconfig}");
    in_order(&sandbox.terrarium(&["down"]), &["landscape default does not run"]);
}

#[test]
fn the_oldest_kubectl_works() {
    a_shoot_is_force_updated(Kubectl::Oldest, &sandbox("oldest-kubectl"));
}

#[test]
fn the_newest_kubectl_works() {
    let sandbox = sandbox("newest-kubectl");
    a_shoot_is_force_updated(Kubectl::Newest, &sandbox);
    components_are_deployments(Kubectl::Newest, &sandbox);
    nothing_is_lost_when_everything_is_killed(Kubectl::Newest, &sandbox);
}

fn a_shoot_is_force_updated(kubectl: Kubectl, sandbox: &Sandbox) {
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z"]);
    let garden = |words: &[&str]| sandbox.kubectl(kubectl, "garden", words);
    let demo = |words: &[&str]| garden(&[&["-n", "garden-demo"], words].concat());
    assert_eq!(
        garden(&["apply", "-f", &manifest("garden")]),
        "cloudprofile.core.gardener.cloud/local created\nproject.core.gardener.cloud/demo created\n"
    );
    garden(&["wait", "--for=jsonpath={.status.phase}=Ready", "project/demo", "--timeout=30s"]);
    demo(&["apply", "-f", &manifest("shoot")]);
    demo(&["wait", "--for=jsonpath={.status.lastOperation.state}=Succeeded", "shoot/local", "--timeout=30s"]);
    assert!(demo(&["apply", "-f", &manifest("shoot")]).contains("shoot.core.gardener.cloud/local unchanged"));
    in_order(&demo(&["get", "shoots", "-o", "wide"]), &["CLOUDPROFILE", "local", "1.26.4", "Create Succeeded (100%)"]);
    let explained = garden(&["explain", "shoot.spec.maintenance", "--recursive"]);
    in_order(&explained, &["autoUpdate", "kubernetesVersion", "timeWindow", "begin"]);

    sandbox.terrarium(&["clock", "until", "2023-07-28T00:00:01Z"]);
    let refused = sandbox.kubectl_refused(kubectl, "garden", &["create", "-f", &manifest("late")]);
    in_order(
        &refused,
        &["shoots.core.gardener.cloud \"late\" is forbidden: spec.kubernetes.version: Unsupported value: \"1.26.4\": \
           supported values: \"1.27.1\""],
    );
    in_order(&sandbox.terrarium(&["clock", "until", "2023-07-28T10:00:00Z"]), &["2023-07-28T10:00:00Z"]);
    assert_eq!(
        demo(&["get", "shoot", "local", "-o", "jsonpath={.spec.kubernetes.version} {.status.lastMaintenance.state}"]),
        "1.27.1 Succeeded"
    );
    let described = demo(&["describe", "shoot", "local"]);
    in_order(
        &described,
        &[
            "Control Plane: Updated Kubernetes version from \"1.26.4\" to \"1.27.1\". Reason: Kubernetes version expired \
             - force update required, Worker pool \"local\": Updated machine image \"gardenlinux\" from \"934.8.0\" to \
             \"1096.1.0\".",
            "Events:",
            "KubernetesVersionMaintenance",
            "MachineImageVersionMaintenance",
        ],
    );
    demo(&["label", "shoot", "local", "team=a"]);
    demo(&["annotate", "shoot", "local", "gardener.cloud/operation=reconcile"]);
    let refused = sandbox.kubectl_refused(kubectl, "garden", &["-n", "garden-demo", "delete", "shoot", "local"]);
    in_order(&refused, &["confirmation.gardener.cloud/deletion"]);

    // Thirty days: one maintenance a day, none of which has anything to do.
    sandbox.terrarium(&["clock", "advance", "30d"]);
    let state = demo(&["get", "shoot", "local", "-o", "jsonpath={.status.lastOperation.state}"]);
    assert_eq!(state, "Succeeded");
}

#[test]
fn a_shoot_is_entered_with_a_kubeconfig_of_its_own() {
    let sandbox = sandbox("kubeconfig");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z"]);
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    garden(&["apply", "-f", &manifest("garden")]);
    garden(&["wait", "--for=jsonpath={.status.phase}=Ready", "project/demo", "--timeout=30s"]);
    garden(&["-n", "garden-demo", "apply", "-f", &manifest("shoot")]);
    let done = "--for=jsonpath={.status.lastOperation.state}=Succeeded";
    garden(&["-n", "garden-demo", "wait", done, "shoot/local", "--timeout=30s"]);

    // The way of the documentation: a path without anything in front of it means the user's own cluster.
    let request = sandbox.file("request.json", "{\"spec\":{\"expirationSeconds\":1800}}");
    let path = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots/local/adminkubeconfig";
    let answer = garden(&["create", "--raw", path, "-f", &request]);
    in_order(&answer, &["AdminKubeconfigRequest", "expirationTimestamp", "kubeconfig"]);

    for (kubectl, flags, group) in [
        (Kubectl::Oldest, &["--expiration", "30m"][..], "system:masters"),
        (Kubectl::Newest, &["--viewer"][..], "gardener.cloud:system:viewers"),
    ] {
        let config = sandbox.terrarium(&[&["kubeconfig", "shoot/demo/local"], flags].concat());
        let config = sandbox.file("shoot.kubeconfig", &config);
        let shoot = |words: &[&str]| sandbox.kubectl_with(kubectl, &config, words);
        let nodes = shoot(&["get", "nodes"]).expect("the Shoot's nodes");
        assert_eq!(nodes.matches(" Ready ").count(), 3, "{nodes}");
        in_order(&shoot(&["auth", "whoami"]).expect("an answer"), &["admin", group]);
        let text = std::fs::read_to_string(&config).expect("written above");
        for elsewhere in ["garden", "seed--local", "*", "shoot--demo--other"] {
            let other = sandbox.file("other.kubeconfig", &text.replace("shoot--demo--local", elsewhere));
            let refused =
                sandbox.kubectl_with(kubectl, &other, &["get", "--raw", &format!("/clusters/{elsewhere}/api")]);
            in_order(&refused.expect_err("another cluster's"), &["Unauthorized"]);
        }
    }
    let config = sandbox.terrarium(&["kubeconfig", "shoot/demo/local", "--expiration", "30m"]);
    let config = sandbox.file("shoot.kubeconfig", &config);
    let path = "/clusters/shoot--demo--local/api/v1/nodes";
    let nodes = || sandbox.kubectl_with(Kubectl::Newest, &config, &["get", "--raw", path]);
    sandbox.terrarium(&["clock", "advance", "20m"]);
    assert!(nodes().is_ok());
    sandbox.terrarium(&["clock", "advance", "11m"]);
    in_order(&nodes().expect_err("it has expired"), &["Unauthorized"]);
}

#[test]
fn webhooks_are_asked() {
    let sandbox = sandbox("webhooks");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z"]);
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    let refused = |words: &[&str]| sandbox.kubectl_refused(Kubectl::Oldest, "garden", words);
    garden(&["apply", "-f", &manifest("garden")]);
    garden(&["wait", "--for=jsonpath={.status.phase}=Ready", "project/demo", "--timeout=30s"]);
    in_order(
        &refused(&["delete", "namespace", "garden-demo"]),
        &["admission webhook \"validate-namespace-deletion.gardener.cloud\" denied the request: Namespace \
           \"garden-demo\" is forbidden: direct deletion of namespace \"garden-demo\" is not permitted (you must delete \
           the corresponding project \"demo\")"],
    );
    let kubeconfig = sandbox.file("exec.kubeconfig", "users: [{name: u, user: {exec: {command: sh}}}]\n");
    let create = ["-n", "garden-demo", "create", "secret", "generic", "s", "--from-file"];
    in_order(
        &refused(&[&create[..], &[&format!("kubeconfig={kubeconfig}")]].concat()),
        &[
            "admission webhook \"validate-kubeconfig-secrets.gardener.cloud\" denied the request: Secret \"s\" is invalid: \
             data.kubeconfig: Invalid value: []byte{0x75, ",
            "secret contains invalid kubeconfig: exec configurations are not supported (user \"u\")",
        ],
    );
    let kubeconfig = sandbox.file("token.kubeconfig", "users: [{name: u, user: {token: t}}]\n");
    garden(&[&create[..], &[&format!("kubeconfig={kubeconfig}")]].concat());

    // Without the webhook nobody may write Secrets of a project, since a failure means no.
    let runtime = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "runtime", &[&["-n", "garden"], words].concat());
    let deployment = "deployment/gardener-admission-controller";
    runtime(&["scale", deployment, "--replicas=0"]);
    runtime(&["wait", "--for=delete", "pod", "-l", "role=gardener-admission-controller", "--timeout=30s"]);
    in_order(
        &refused(&["-n", "garden-demo", "create", "secret", "generic", "t"]),
        &["failed calling webhook \"validate-kubeconfig-secrets.gardener.cloud\": failed to call webhook: Post \
           \"https://gardener-admission-controller.garden/webhooks/validate-kubeconfig-secrets?timeout=10s\""],
    );
    garden(&["create", "secret", "generic", "t"]);
    runtime(&["scale", deployment, "--replicas=1"]);
    runtime(&["rollout", "status", deployment, "--timeout=30s"]);
    garden(&["-n", "garden-demo", "create", "secret", "generic", "t"]);
    // The way that the Project's controller takes is open.
    garden(&["annotate", "project", "demo", "confirmation.gardener.cloud/deletion=true"]);
    garden(&["delete", "project", "demo", "--timeout=30s"]);
    garden(&["wait", "--for=delete", "namespace/garden-demo", "--timeout=30s"]);
}

fn components_are_deployments(kubectl: Kubectl, sandbox: &Sandbox) {
    let runtime = |words: &[&str]| sandbox.kubectl(kubectl, "runtime", &[&["-n", "garden"], words].concat());
    let deployments = runtime(&["get", "deployments"]);
    let squeezed = deployments.split_whitespace().collect::<Vec<_>>().join(" ");
    in_order(
        &squeezed,
        &[
            "gardener-admission-controller 1/1",
            "gardener-apiserver 2/2",
            "gardener-controller-manager 1/1",
            "gardener-scheduler 1/1",
        ],
    );
    runtime(&["delete", "pods", "-l", "role=gardener-scheduler"]);
    runtime(&["rollout", "status", "deployment/gardener-scheduler", "--timeout=30s"]);
    runtime(&["rollout", "restart", "deployment/gardener-controller-manager"]);
    runtime(&["rollout", "status", "deployment/gardener-controller-manager", "--timeout=30s"]);
    runtime(&["logs", "-l", "role=gardener-controller-manager"]);
    let pods = sandbox.kubectl(kubectl, "seed-local", &["-n", "shoot--demo--local", "get", "pods"]);
    in_order(&pods, &["kube-apiserver-", "1/1", "Running"]);
    // Its pods decide when a control plane is ready: who wrote the Deployment says nothing about its status.
    let words = ["log", "--object", "Deployment/shoot--demo--local/kube-scheduler", "--actor", "gardenlet"];
    let history = sandbox.terrarium(&words);
    assert!(history.contains(" create ") && !history.contains(" status "), "{history}");
    in_order(&sandbox.terrarium(&["status"]), &["gardener-controller-manager-", "Running", "ready true"]);
}

fn nothing_is_lost_when_everything_is_killed(kubectl: Kubectl, sandbox: &Sandbox) {
    let versions = || {
        let path = "jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name} {.metadata.resourceVersion}{\"\\n\"}{end}";
        sandbox.kubectl(kubectl, "garden", &["get", "shoots,projects,cloudprofiles,secrets", "-A", "-o", path])
    };
    sandbox.terrarium(&["clock", "pause"]);
    let clock = sandbox.terrarium(&["clock"]);
    let before = versions();
    assert!(before.contains("Shoot garden-demo/local"), "{before}");
    sandbox.kill_all();
    sandbox.terrarium(&["up"]);
    assert_eq!(versions(), before);
    let (time, _) = clock.split_once(' ').expect("time and mode");
    let after = sandbox.terrarium(&["clock"]);
    assert!(after.as_str() >= time && after[..16] == time[..16], "the clock stood at {time}, and stands at {after}");
    in_order(&sandbox.terrarium(&["clock", "advance", "24h"]), &["next timer"]);
}
