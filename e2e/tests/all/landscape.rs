// SPDX-License-Identifier: Apache-2.0
//! A landscape of real processes, driven by real kubectl, the oldest and the newest installed.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use clock::Clock;
use generic_apiserver::authentication::FixedAuthenticator;
use generic_apiserver::http::{self as http_server, Options as ServeOptions};
use http_body_util::BodyExt;
use process::pki::{Authority, Key, Leaf, Validity};
use process::transport::{ResponseFuture, full};
use process::{Request, Response, Tasks};
use serde_json::{Value, json};
use terrarium_e2e::sandbox::{Kubectl, Sandbox};

use crate::support::{in_order, manifest, sandbox};

#[test]
fn the_demo_has_the_steps_of_the_requirements() {
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
    assert!(!processes.is_empty(), "the host, and components that are processes");
    sandbox.terrarium(&["down", "--purge"]);
    assert!(!sandbox.directory().exists());
    let left: Vec<_> = processes.iter().filter(|pid| Path::new(&format!("/proc/{pid}/exe")).exists()).collect();
    assert!(left.is_empty(), "{left:?} are left");
    assert!(!sandbox.kubeconfig().exists(), "it held contexts of the landscape, and nothing else");
    in_order(&sandbox.terrarium(&["down"]), &["landscape default does not run"]);
}

#[test]
fn a_landscape_reports_its_version() {
    let sandbox = sandbox("kubernetes-version");
    sandbox.terrarium(&["up", "--kubernetes-version", "v1.30.4", "--start-time", "2023-07-27T20:00:00Z"]);
    for cluster in ["runtime", "garden", "seed-local"] {
        let told = sandbox.kubectl(Kubectl::Newest, cluster, &["get", "--raw", "/version"]);
        in_order(&told, &["\"gitVersion\": \"v1.30.4\""]);
    }
    sandbox.terrarium(&["up", "--kubernetes-version", "1.30.4"]);
    // A client that is not a component finds everything that an API server behind ours needs.
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", &[&["-n", "kube-system"], words].concat());
    let trust = garden(&["get", "configmap", "extension-apiserver-authentication", "-o", "jsonpath={.data}"]);
    for text in ["client-ca-file", "BEGIN CERTIFICATE", "requestheader-client-ca-file", "front-proxy-client"] {
        assert!(trust.contains(text), "{text}: {trust}");
    }
    let identity = garden(&["get", "configmap", "cluster-identity", "-o", "jsonpath={.data.cluster-identity}"]);
    assert_eq!(identity, "garden");
}

/// Groups, resources and fields of later releases do not exist; components run nevertheless.
#[test]
fn a_landscape_of_an_older_release_lacks_later_resources() {
    let sandbox = sandbox("release-80");
    sandbox.terrarium(&["up", "--gardener-version", "v1.80.0", "--start-time", "2023-07-27T20:00:00Z"]);
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    let resources = garden(&["api-resources", "-o", "name"]);
    let has = |name: &str| resources.lines().any(|line| line == name);
    for name in ["shoots.core.gardener.cloud", "controllerdeployments.core.gardener.cloud"] {
        assert!(has(name), "{name}: {resources}");
    }
    for name in [
        "namespacedcloudprofiles.core.gardener.cloud",
        "credentialsbindings.security.gardener.cloud",
        "gardenlets.seedmanagement.gardener.cloud",
    ] {
        assert!(!has(name), "{name}: {resources}");
    }
    let services = garden(&["get", "apiservices", "-o", "name"]);
    assert!(services.contains("v1beta1.core.gardener.cloud") && !services.contains("security.gardener.cloud"));
    let refused = sandbox.kubectl_refused(Kubectl::Newest, "garden", &["get", "credentialsbindings", "-A"]);
    in_order(&refused, &["the server doesn't have a resource type \"credentialsbindings\""]);
    // Fields of later releases are dropped with a warning.
    garden(&["apply", "--validate=false", "-f", &manifest("garden")]);
    garden(&["wait", "--for=jsonpath={.status.phase}=Ready", "project/demo", "--timeout=300s"]);
    a_shoot_has_the_name_of_its_profile_alone(&sandbox);
}

/// `spec.cloudProfile` is a field of 1.92 and later.
fn a_shoot_has_the_name_of_its_profile_alone(sandbox: &Sandbox) {
    let demo = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", &[&["-n", "garden-demo"], words].concat());
    let refused = |words: &[&str]| sandbox.kubectl_refused(Kubectl::Newest, "garden", words);
    in_order(&refused(&["apply", "-f", &manifest("shoot")]), &["unknown field \"spec.cloudProfile\""]);
    in_order(
        &refused(&["apply", "--validate=false", "-f", &manifest("shoot")]),
        &["could not find referenced cloud profile: cloudprofile.core.gardener.cloud \"\" not found"],
    );
    let text = std::fs::read_to_string(manifest("shoot")).expect("a manifest");
    let text = text.replace("cloudProfile: {name: local}", "cloudProfileName: local");
    demo(&["apply", "-f", &sandbox.file("named.yaml", &text)]);
    let succeeded = "--for=jsonpath={.status.lastOperation.state}=Succeeded";
    demo(&["wait", succeeded, "shoot/local", "--timeout=300s"]);
    let references = "jsonpath={.spec.cloudProfileName} {.spec.cloudProfile}";
    assert_eq!(demo(&["get", "shoot", "local", "-o", references]), "local ");
    in_order(&demo(&["get", "shoots"]), &["CLOUDPROFILE", "local   local", "Create Succeeded (100%)"]);
    in_order(&demo(&["explain", "shoot.spec"]), &["cloudProfileName\t<string> -required-"]);
    in_order(&refused(&["explain", "shoot.spec.cloudProfile"]), &["field \"cloudProfile\" does not exist"]);
    let selected = |label: &str| ["get", "shoots", "-A", "-o", "name", "--field-selector", label].map(str::to_owned);
    let words = selected("spec.cloudProfileName=local");
    assert_eq!(demo(&words.each_ref().map(String::as_str)), "shoot.core.gardener.cloud/local\n");
    let words = selected("spec.cloudProfile.Name=local");
    let told = refused(&words.each_ref().map(String::as_str));
    in_order(&told, &["field label not supported: spec.cloudProfile.Name"]);
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
    garden(&["wait", "--for=jsonpath={.status.phase}=Ready", "project/demo", "--timeout=300s"]);
    demo(&["apply", "-f", &manifest("shoot")]);
    demo(&["wait", "--for=jsonpath={.status.lastOperation.state}=Succeeded", "shoot/local", "--timeout=300s"]);
    assert!(demo(&["apply", "-f", &manifest("shoot")]).contains("shoot.core.gardener.cloud/local unchanged"));
    in_order(&demo(&["get", "shoots", "-o", "wide"]), &["CLOUDPROFILE", "local", "1.26.4", "Create Succeeded (100%)"]);
    let explained = garden(&["explain", "shoot.spec.maintenance", "--recursive"]);
    in_order(&explained, &["autoUpdate", "kubernetesVersion", "timeWindow", "begin"]);
    assert!(!explained.contains("autoRotation"), "a later release has it: {explained}");

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

    // Thirty days: one maintenance a day, none of which changes anything.
    sandbox.terrarium(&["config", "set", "gardenlet", "controllers.shoot.reconcileInMaintenanceOnly=true"]);
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
    garden(&["wait", "--for=jsonpath={.status.phase}=Ready", "project/demo", "--timeout=300s"]);
    garden(&["-n", "garden-demo", "apply", "-f", &manifest("shoot")]);
    let done = "--for=jsonpath={.status.lastOperation.state}=Succeeded";
    garden(&["-n", "garden-demo", "wait", done, "shoot/local", "--timeout=300s"]);

    // As documented upstream: a path without a prefix is in the user's own cluster.
    let request = sandbox.file("request.json", "{\"spec\":{\"expirationSeconds\":1800}}");
    let path = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots/local/adminkubeconfig";
    let answer = garden(&["create", "--raw", path, "-f", &request]);
    in_order(&answer, &["AdminKubeconfigRequest", "expirationTimestamp", "kubeconfig"]);

    for (kubectl, flags, group) in [
        (Kubectl::Oldest, &["--expiration", "30m"][..], "system:masters"),
        (Kubectl::Newest, &["--viewer"][..], "gardener.cloud:system:viewers"),
    ] {
        let config = sandbox.terrarium(&[&["kubeconfig", "shoot/demo/local"], flags].concat());
        assert!(config.contains("command: /") && !config.contains("client-certificate-data"), "{config}");
        let static_config = sandbox.terrarium(&[&["kubeconfig", "shoot/demo/local", "--static"], flags].concat());
        assert!(static_config.contains("client-certificate-data") && !static_config.contains("exec:"));
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
    let lasting = sandbox.terrarium(&["kubeconfig", "shoot/demo/local"]);
    let lasting = sandbox.file("lasting.kubeconfig", &lasting);
    let config = sandbox.terrarium(&["kubeconfig", "shoot/demo/local", "--static", "--expiration", "30m"]);
    let config = sandbox.file("shoot.kubeconfig", &config);
    let path = "/clusters/shoot--demo--local/api/v1/nodes";
    let nodes = || sandbox.kubectl_with(Kubectl::Newest, &config, &["get", "--raw", path]);
    sandbox.terrarium(&["clock", "advance", "20m"]);
    assert!(nodes().is_ok());
    sandbox.terrarium(&["clock", "advance", "11m"]);
    in_order(&nodes().expect_err("it has expired"), &["Unauthorized"]);

    // A client that requests credentials works after any length of time.
    for step in ["2h", "30d"] {
        for kubectl in [Kubectl::Oldest, Kubectl::Newest] {
            let nodes = sandbox.kubectl_with(kubectl, &lasting, &["get", "nodes"]).expect("it renews itself");
            assert_eq!(nodes.matches(" Ready ").count(), 3, "{nodes}");
        }
        sandbox.terrarium(&["clock", "advance", step]);
    }
    let credential = sandbox.terrarium(&["credential", "shoot/demo/local"]);
    in_order(
        &credential,
        &["client.authentication.k8s.io/v1", "ExecCredential", "clientCertificateData", "clientKeyData"],
    );
    let (code, text) = sandbox.terrarium_refused(&["credential", "shoot/demo/other"]);
    assert_eq!(code, 2);
    in_order(&text, &["other"]);
}

/// Each other demo in a landscape of its own, and flags that contradict one.
#[test]
fn other_demos_have_their_steps() {
    let sandbox = sandbox("demos");
    let list = sandbox.terrarium(&["up", "--demo=list"]);
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["expiry", "hibernation", "images", "confined"]);
    assert!(!sandbox.directory().exists(), "a list starts nothing");
    let (code, text) = sandbox.terrarium_refused(&["up", "--demo=hibernate"]);
    assert_eq!(code, 2);
    in_order(&text, &["there is no demo `hibernate`", "the nearest is `hibernation`"]);
    let (code, text) = sandbox.terrarium_refused(&["up", "--demo", "--step"]);
    assert_eq!(code, 2);
    in_order(&text, &["--step waits for Enter, and standard input is not a terminal", "--pace"]);
    assert!(!sandbox.directory().exists(), "nothing was begun");

    let story = |name: &str, parts: &[&str]| {
        in_order(&sandbox.terrarium(&["up", &format!("--demo={name}"), "--pace", "1ms"]), parts);
        sandbox.terrarium(&["down", "--purge"]);
    };
    story(
        "hibernation",
        &[
            "1/4  A cluster that is needed by day",
            "Create Succeeded (100%)",
            "3 nodes: v1.27.1, gardenlinux 1096.1.0",
            "enabled false, hibernated false, 3 nodes",
            "2/4  Nine in the evening",
            "07-27 21:0",
            "enabled true, hibernated true, 0 nodes",
            "3/4  Seven in the morning",
            "07-28 07:0",
            "enabled false, hibernated false, 3 nodes",
            "4/4  11 h 30 min of landscape time",
        ],
    );
    story(
        "images",
        &[
            "1/3  One cluster, three pools",
            "Create Succeeded (100%)",
            "2/3  The maintenance window opens",
            "(image update strategy: patch)",
            "(image update strategy: minor)",
            "(image update strategy: major)",
            "Reconcile Succeeded (100%)",
            "3/3  14 h 30 min of landscape time",
        ],
    );
    story(
        "confined",
        &[
            "1/4  Two clusters of three nodes",
            "2/4  In the evening both owners ask for a fourth node",
            "07-27 2",
            "free 4 nodes, confined 3 nodes",
            "3/4  The maintenance window opens",
            "07-28 09:",
            "free 4 nodes, confined 4 nodes",
            "4/4  14 h 30 min of landscape time",
        ],
    );
}

#[test]
fn webhooks_are_called() {
    let sandbox = sandbox("webhooks");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z"]);
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    let refused = |words: &[&str]| sandbox.kubectl_refused(Kubectl::Oldest, "garden", words);
    garden(&["apply", "-f", &manifest("garden")]);
    garden(&["wait", "--for=jsonpath={.status.phase}=Ready", "project/demo", "--timeout=300s"]);
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

    let log =
        sandbox.kubectl(Kubectl::Newest, "runtime", &["-n", "garden", "logs", "deploy/gardener-admission-controller"]);
    in_order(
        &log,
        &[
            "\"msg\":\"Starting gardener-admission-controller\"",
            "\"msg\":\"Registering webhook\",\"path\":\"/webhooks/validate-namespace-deletion\"",
            "\"ts\":\"2023-07-27T20:",
            "\"msg\":\"Rejected request\",\"webhook\":\"/webhooks/validate-namespace-deletion\",\"operation\":\"DELETE\"",
            "\"msg\":\"Rejected request\",\"webhook\":\"/webhooks/validate-kubeconfig-secrets\",\"operation\":\"CREATE\"",
        ],
    );

    // Without the webhook no user may write Secrets of a project, since its failure policy is Fail.
    let runtime = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "runtime", &[&["-n", "garden"], words].concat());
    let deployment = "deployment/gardener-admission-controller";
    runtime(&["scale", deployment, "--replicas=0"]);
    runtime(&["wait", "--for=delete", "pod", "-l", "role=gardener-admission-controller", "--timeout=300s"]);
    in_order(
        &refused(&["-n", "garden-demo", "create", "secret", "generic", "t"]),
        &["failed calling webhook \"validate-kubeconfig-secrets.gardener.cloud\": failed to call webhook: Post \
           \"https://gardener-admission-controller.garden/webhooks/validate-kubeconfig-secrets?timeout=10s\""],
    );
    garden(&["create", "secret", "generic", "t"]);
    runtime(&["scale", deployment, "--replicas=1"]);
    runtime(&["rollout", "status", deployment, "--timeout=300s"]);
    garden(&["-n", "garden-demo", "create", "secret", "generic", "t"]);
    // Deletion by the Project's controller is possible.
    garden(&["annotate", "project", "demo", "confirmation.gardener.cloud/deletion=true"]);
    garden(&["delete", "project", "demo", "--timeout=300s"]);
    garden(&["wait", "--for=delete", "namespace/garden-demo", "--timeout=300s"]);
}

/// A user's webhook: Shoots with label `refuse` are refused, others get label `seen`.
fn webhook(request: Request) -> ResponseFuture {
    Box::pin(async move {
        let path = request.uri().path().to_owned();
        let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let review: Value = serde_json::from_slice(&body).expect("a review");
        let labels = &review["request"]["object"]["metadata"]["labels"];
        let mut answer = json!({ "uid": review["request"]["uid"], "allowed": true });
        if path == "/label" {
            let patch = json!([{ "op": "add", "path": "/metadata/labels/seen", "value": "true" }]).to_string();
            answer["patchType"] = json!("JSONPatch");
            answer["patch"] = json!(STANDARD.encode(patch));
        } else if labels["refuse"] == "true" {
            answer["allowed"] = json!(false);
            answer["status"] = json!({ "code": 403, "message": "not here" });
        }
        let review = json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer });
        Ok(Response::new(full(review.to_string())))
    })
}

/// Every instance of gardener-apiserver calls webhooks for Gardener's kinds, at a URL and through a Service.
#[test]
fn webhooks_are_called_for_shoots_by_every_instance() {
    let sandbox = sandbox("webhooks-shoots");
    sandbox.terrarium(&["up", "--preset", "demo", "--clock", "stepped"]);
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);

    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let validity = Validity::starting(Clock::wall().now() - TimeDelta::hours(1), TimeDelta::hours(2));
    let authority = Authority::new("hooks", Key::transport().expect("a key"), validity).expect("an authority");
    let leaf = Leaf::Server(&["127.0.0.1", "hooks.default.svc"]);
    let certificate = authority.issue(leaf, &Key::transport().expect("a key"), validity).expect("a certificate");
    let options = ServeOptions::new(certificate, FixedAuthenticator::default(), Clock::wall(), Clock::wall());
    let _entered = runtime.enter();
    let tasks = Tasks::new();
    let serving = runtime.block_on(http_server::serve(&tasks, webhook, options)).expect("a free port");
    let bundle = STANDARD.encode(&authority.pair().certificate);
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "hooks", "namespace": "default" },
        "spec": { "type": "ExternalName", "externalName": "localhost" },
    });
    garden(&["apply", "-f", &sandbox.file("service.json", &service.to_string())]);
    let port = serving.address().port();
    let configuration = |kind: &str, path: &str, place: (&str, Value)| {
        let (field, place) = place;
        let text = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": { "name": "own" },
            "webhooks": [{
                "name": format!("{path}.example.org"),
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "clientConfig": { field: place, "caBundle": bundle },
                "objectSelector": { "matchExpressions": [{ "key": "refuse", "operator": "Exists" }] },
                "rules": [{
                    "operations": ["CREATE", "UPDATE"], "apiGroups": ["core.gardener.cloud"],
                    "apiVersions": ["v1beta1"], "resources": ["shoots"],
                }],
            }],
        });
        sandbox.file(&format!("{kind}.json"), &text.to_string())
    };
    let reference = json!({ "namespace": "default", "name": "hooks", "path": "/judge", "port": port });
    let url = json!(format!("https://{}/label", serving.address()));
    garden(&["apply", "-f", &configuration("ValidatingWebhookConfiguration", "judge", ("service", reference))]);
    garden(&["apply", "-f", &configuration("MutatingWebhookConfiguration", "label", ("url", url))]);
    let manifests = std::fs::read_to_string(manifest("shoot")).expect("manifests");
    let shoot = manifests.rsplit("---\n").next().expect("the Shoot comes last");
    let labelled = |name: &str, refuse: &str| {
        let (from, to) = ("{name: local, ", format!("{{name: {name}, labels: {{refuse: \"{refuse}\"}}, "));
        assert!(shoot.starts_with("apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot") && shoot.contains(from));
        sandbox.file(&format!("{name}.yaml"), &shoot.replacen(from, &to, 1))
    };
    let bad = labelled("bad", "true");
    // Requests go to the instances in turn.
    for _ in 0..4 {
        let refused = sandbox.kubectl_refused(Kubectl::Oldest, "garden", &["create", "--validate=false", "-f", &bad]);
        in_order(&refused, &["admission webhook \"judge.example.org\" denied the request: not here"]);
    }
    garden(&["create", "-f", &labelled("good", "false")]);
    let seen = garden(&["-n", "garden-demo", "get", "shoot", "good", "-o", "jsonpath={.metadata.labels.seen}"]);
    assert_eq!(seen, "true");
    for _ in 0..4 {
        let words = ["-n", "garden-demo", "label", "--overwrite", "shoot", "good", "refuse=true"];
        in_order(&sandbox.kubectl_refused(Kubectl::Newest, "garden", &words), &["not here"]);
    }
    serving.stop();
    tasks.stop();
}

/// A missing gardenlet is detected; nodes need no gardenlet; all conditions are met when it is back.
#[test]
fn a_stopped_gardenlet_is_noticed() {
    let sandbox = sandbox("gone-gardenlet");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z"]);
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    garden(&["apply", "-f", &manifest("garden")]);
    garden(&["wait", "--for=jsonpath={.status.phase}=Ready", "project/demo", "--timeout=300s"]);
    let seed = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "seed-local", &[&["-n", "garden"], words].concat());
    garden(&["apply", "-f", &manifest("shoot")]);
    let succeeded = "--for=jsonpath={.status.lastOperation.state}=Succeeded";
    garden(&["-n", "garden-demo", "wait", succeeded, "shoot/local", "--timeout=300s"]);
    sandbox.terrarium(&["clock", "advance", "10m"]);
    let renewed = || {
        let lease = ["-n", "gardener-system-seed-lease", "get", "lease", "local", "-o", "jsonpath={.spec.renewTime}"];
        garden(&lease)
    };
    let ready = || {
        let path =
            "jsonpath={range .status.conditions[?(@.type==\"GardenletReady\")]}{.status} {.reason} {.message}{end}";
        garden(&["get", "seed", "local", "-o", path])
    };
    let health = || {
        let path = "jsonpath={range .status.conditions[*]}{.status} {end}{range .status.constraints[*]}{.status} {end}";
        let all = garden(&["-n", "garden-demo", "get", "shoot", "local", "-o", path]);
        let mut words: Vec<String> = all.split_whitespace().map(str::to_owned).collect();
        words.dedup();
        words.join(" ")
    };
    assert_eq!(health(), "True");
    assert_eq!(ready(), "True GardenletReady Gardenlet is posting ready status.");
    let lives = renewed();
    sandbox.terrarium(&["clock", "advance", "1h"]);
    assert!(renewed() > lives, "{lives} and {}", renewed());

    // A gardenlet that was killed with all other processes counts as running until then, and is started again.
    sandbox.terrarium(&["clock", "pause"]);
    sandbox.kill_all();
    sandbox.terrarium(&["up"]);
    sandbox.terrarium(&["clock", "resume"]);
    sandbox.terrarium(&["clock", "advance", "1h"]);
    assert_eq!((ready().split(' ').next(), health().as_str()), (Some("True"), "True"));

    seed(&["scale", "deployment/gardenlet", "--replicas=0"]);
    seed(&["wait", "--for=delete", "pod", "-l", "role=gardenlet", "--timeout=300s"]);
    let gone = renewed();
    sandbox.terrarium(&["clock", "advance", "5m"]);
    assert_eq!(renewed(), gone);
    assert_eq!(ready(), "Unknown SeedStatusUnknown Gardenlet stopped posting seed status.");
    sandbox.terrarium(&["clock", "advance", "1m"]);
    assert_eq!(health(), "Unknown");
    let kubeconfig = sandbox.terrarium(&["kubeconfig", "shoot/demo/local"]);
    let kubeconfig = sandbox.file("shoot.kubeconfig", &kubeconfig);
    let nodes = sandbox.kubectl_with(Kubectl::Newest, &kubeconfig, &["get", "nodes"]).expect("nodes are there");
    assert_eq!(nodes.matches(" Ready ").count(), 3, "{nodes}");

    seed(&["scale", "deployment/gardenlet", "--replicas=1"]);
    seed(&["rollout", "status", "deployment/gardenlet", "--timeout=300s"]);
    sandbox.terrarium(&["clock", "advance", "2m"]);
    assert_eq!(ready(), "True GardenletReady Gardenlet is posting ready status.");
    assert_eq!(health(), "True");
    // One replaces the other: the Lease is kept.
    seed(&["rollout", "restart", "deployment/gardenlet"]);
    seed(&["rollout", "status", "deployment/gardenlet", "--timeout=300s"]);
    let now = renewed();
    sandbox.terrarium(&["clock", "advance", "10m"]);
    assert!(renewed() > now);
    assert_eq!(ready(), "True GardenletReady Gardenlet is posting ready status.");
    sandbox.terrarium(&["replay", "--verify"]);
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
    runtime(&["rollout", "status", "deployment/gardener-scheduler", "--timeout=300s"]);
    runtime(&["rollout", "restart", "deployment/gardener-controller-manager"]);
    runtime(&["rollout", "status", "deployment/gardener-controller-manager", "--timeout=300s"]);
    runtime(&["logs", "-l", "role=gardener-controller-manager"]);
    let pods = sandbox.kubectl(kubectl, "seed-local", &["-n", "shoot--demo--local", "get", "pods"]);
    in_order(&pods, &["kube-apiserver-", "1/1", "Running"]);
    // Its pods decide when a control plane is ready: the writer of the Deployment does not write its status.
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
