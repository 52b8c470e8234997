// SPDX-License-Identifier: Apache-2.0
//! gardener-operator: it deploys the control plane, updates a landscape in the legal order, and refuses illegal versions.

use clock::Clock;
use serde_json::Value;
use terrarium_e2e::sandbox::{Kubectl, Sandbox};

use crate::support::{LIMIT, in_order, manifest, sandbox};

/// A landscape, accessed as its administrator.
struct Operated<'a>(&'a Sandbox);

impl Operated<'_> {
    fn runtime(&self, words: &[&str]) -> String {
        self.0.kubectl(Kubectl::Newest, "runtime", &[&["-n", "garden"], words].concat())
    }

    fn garden(&self, words: &[&str]) -> String {
        self.0.kubectl(Kubectl::Newest, "garden", words)
    }

    /// Returns the value at a path of the Garden.
    fn says(&self, path: &str) -> String {
        self.runtime(&["get", "garden", "local", "-o", &format!("jsonpath={{{path}}}")])
    }

    fn set_operator(&self, version: &str) {
        let image = format!("*=gardener/operator:{version}");
        self.runtime(&["set", "image", "deployment/gardener-operator", &image]);
    }

    /// Waits until the Garden is reconciled by a version.
    fn reconciled(&self, version: &str) {
        let path = "{.status.gardener.version} {.status.lastOperation.state} {.status.lastOperation.progress}";
        let expected = format!("{version} Succeeded 100");
        self.until(&expected, || self.runtime(&["get", "garden", "local", "-o", &format!("jsonpath={path}")]));
    }

    #[track_caller]
    fn until(&self, expected: &str, look: impl Fn() -> String) {
        let begun = Clock::wall().now();
        loop {
            let seen = look();
            if seen == expected {
                return;
            }
            assert!(
                Clock::wall().now() - begun < LIMIT,
                "`{expected}` is expected, `{seen}` is there\n{}",
                self.runtime(&["get", "garden,deploy,pods", "-o", "wide"])
            );
        }
    }

    /// Returns the images of the Deployments of a context, in the order of their names.
    fn images(&self, context: &str) -> String {
        let path = "jsonpath={range .items[*]}{.spec.template.spec.containers[0].image}{\"\\n\"}{end}";
        let words = ["-n", "garden", "get", "deployments", "-o", path];
        self.0.kubectl(Kubectl::Newest, context, &words)
    }
}

#[test]
fn a_landscape_is_updated_in_the_legal_order() {
    let sandbox = sandbox("operator-update").with_components("processes");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z"]);
    let it = Operated(&sandbox);
    it.reconciled("v1.120.0");
    let path = "jsonpath={.spec.clusterIP}";
    let address =
        sandbox.kubectl(Kubectl::Newest, "runtime", &["-n", "default", "get", "service", "kubernetes", "-o", path]);
    assert_eq!(address, "10.2.0.1", "the first of the Garden's network");
    let shown = it.runtime(&["get", "garden"]);
    in_order(&shown, &["K8S VERSION", "GARDENER VERSION", "LAST OPERATION", "RUNTIME", "VIRTUAL", "API SERVER"]);
    in_order(&shown, &["local", "1.31.1", "v1.120.0", "Succeeded", "True", "True", "True", "True"]);
    in_order(
        &it.garden(&["-n", "garden", "get", "gardenlets"]),
        &["local", "gardener/charts/gardenlet:v1.120.0", "True"],
    );
    let info = [
        "-n",
        "gardener-system-public",
        "get",
        "configmap",
        "gardener-info",
        "-o",
        "jsonpath={.data.gardenerAPIServer}",
    ];
    in_order(&it.garden(&info), &["version: v1.120.0\n", "workloadIdentityIssuerURL: https://discovery."]);
    it.garden(&["apply", "-f", &manifest("garden")]);
    it.garden(&["wait", "--for=jsonpath={.status.phase}=Ready", "project/demo", "--timeout=300s"]);
    it.garden(&["-n", "garden-demo", "apply", "-f", &manifest("shoot")]);
    sandbox.terrarium(&["clock", "until", "shoot/demo/local=Succeeded"]);

    it.set_operator("v1.121.0");
    it.reconciled("v1.121.0");
    in_order(
        &it.images("runtime"),
        &[
            "gardener/admission-controller:v1.121.0",
            "gardener/apiserver:v1.121.0",
            "gardener/controller-manager:v1.121.0",
            "gardener/operator:v1.121.0",
            "gardener/scheduler:v1.121.0",
        ],
    );
    in_order(&it.garden(&info), &["version: v1.121.0\n"]);
    let seed = || it.garden(&["get", "seed", "local", "-o", "jsonpath={.status.gardener.version}"]);
    it.until("v1.121.0", seed);
    let expected = "gardener/extensions/provider-local:v1.121.0\ngardener/gardenlet:v1.121.0\n";
    it.until(expected, || it.images("seed-local"));
    in_order(&it.garden(&["-n", "garden", "get", "gardenlets"]), &["gardener/charts/gardenlet:v1.121.0", "True"]);
    // A gardenlet that starts reconciles its Shoots at once.
    let path = "jsonpath={.status.gardener.version} {.status.lastOperation.state}";
    it.until("v1.121.0 Succeeded", || it.garden(&["-n", "garden-demo", "get", "shoot", "local", "-o", path]));

    // Registrations and unregistrations, in the order of the log.
    let history = sandbox.terrarium(&["log"]);
    let begin = history.find("image gardener/operator:v1.120.0").expect("the image was set");
    let lines: Vec<&str> = history[begin..].lines().collect();
    let place = |verb: &str, component: &str, last: bool| {
        let lease = format!(" {verb}  Lease gardener-system-instances/{component}-");
        let mut found = lines.iter().enumerate().filter(|(_, line)| line.contains(&lease)).map(|(place, _)| place);
        let found = if last { found.next_back() } else { found.next() };
        found.unwrap_or_else(|| panic!("no{lease}\n{history}"))
    };
    let old_apiservers_gone = place("delete", "gardener-apiserver", true);
    let others = ["gardener-admission-controller", "gardener-controller-manager", "gardener-scheduler"];
    let first = others.map(|name| place("create", name, false)).into_iter().min().expect("three");
    let last = others.map(|name| place("delete", name, true)).into_iter().max().expect("three");
    assert!(place("create", "gardener-apiserver", false) < old_apiservers_gone);
    assert!(old_apiservers_gone < first, "{history}");
    assert!(last < place("create", "gardenlet", false), "{history}");
    sandbox.terrarium(&["replay", "--verify"]);
}

#[test]
fn manual_changes_are_repaired_by_the_hourly_reconciliation() {
    let sandbox = sandbox("operator-repairs");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z"]);
    let it = Operated(&sandbox);
    it.reconciled("v1.120.0");
    it.runtime(&["set", "image", "deployment/gardener-scheduler", "*=gardener/scheduler:v1.119.0"]);
    let ended = "jsonpath={.items[*].status.containerStatuses[*].lastState.terminated.exitCode}";
    it.until("3", || it.runtime(&["get", "pods", "-l", "role=gardener-scheduler", "-o", ended]));
    let image = "jsonpath={.spec.template.spec.containers[0].image}";
    let image = || it.runtime(&["get", "deployment", "gardener-scheduler", "-o", image]);
    sandbox.terrarium(&["clock", "advance", "30m"]);
    assert_eq!(image(), "gardener/scheduler:v1.119.0");
    sandbox.terrarium(&["clock", "advance", "31m"]);
    it.until("gardener/scheduler:v1.120.0", image);
    it.reconciled("v1.120.0");
    it.runtime(&["rollout", "status", "deployment/gardener-scheduler", "--timeout=300s"]);
}

#[test]
fn an_operator_that_must_not_run_does_no_harm() {
    let sandbox = sandbox("operator-refused");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z"]);
    let it = Operated(&sandbox);
    let refused = |version: &str, line: &str| {
        it.set_operator(version);
        let path = "jsonpath={range .items[*].status.containerStatuses[*]}{.lastState.terminated.exitCode} \
                    {.lastState.terminated.message}{end}";
        let begun = Clock::wall().now();
        loop {
            let seen = it.runtime(&["get", "pods", "-l", "role=gardener-operator", "-o", path]);
            if seen.contains(line) {
                assert!(seen.contains("3 "), "{seen}");
                break;
            }
            assert!(Clock::wall().now() - begun < LIMIT, "{seen}");
        }
        it.until("True", || it.says(r#".status.conditions[?(@.type=="VirtualComponentsHealthy")].status"#));
        // Nothing was changed, and the earlier change is reverted by setting the image back.
        assert_eq!(it.says(".status.gardener.version"), "v1.120.0");
        it.set_operator("v1.120.0");
        it.runtime(&["rollout", "status", "deployment/gardener-operator", "--timeout=300s"]);
    };
    let hint = "please consult https://github.com/gardener/gardener/blob/master/docs/deployment/version_skew_policy.md";
    refused(
        "v1.119.2",
        &format!(
            "Error: failed verifying Gardener version: downgrading Gardener is not supported (old version was 1.120.0, my \
             version is v1.119.2), {hint} [rule=O3a, component=gardener-operator, version=v1.119.2, against=v1.120.0]"
        ),
    );
    refused(
        "v1.122.0",
        &format!(
            "Error: failed verifying Gardener version: skipping Gardener versions is unsupported (old version was 1.120.0, \
             my version is v1.122.0), {hint} [rule=O3b, component=gardener-operator, version=v1.122.0, against=v1.120.0]"
        ),
    );

    // The Garden is validated, must be the only one, and its deletion requires a confirmation.
    let patch = |patch: &str| {
        let words = ["patch", "garden", "local", "--type", "merge", "-p", patch];
        sandbox.kubectl_refused(Kubectl::Newest, "runtime", &words)
    };
    in_order(
        &patch(r#"{"spec":{"virtualCluster":{"kubernetes":{"version":"1.30.0"}}}}"#),
        &["spec.virtualCluster.kubernetes.version: Forbidden: kubernetes version downgrade is not supported"],
    );
    in_order(
        &sandbox.kubectl_refused(Kubectl::Newest, "runtime", &["delete", "garden", "local"]),
        &["must have a \"confirmation.gardener.cloud/deletion\" annotation to delete"],
    );
    let other =
        it.runtime(&["get", "garden", "local", "-o", "json"]).replace("\"name\": \"local\"", "\"name\": \"other\"");
    let mut other: Value = serde_json::from_str(&other).expect("JSON");
    other["metadata"] = serde_json::json!({ "name": "other" });
    let file = sandbox.file("other.json", &other.to_string());
    in_order(
        &sandbox.kubectl_refused(Kubectl::Newest, "runtime", &["create", "-f", &file]),
        &["there can be only one operator.gardener.cloud/v1alpha1.Garden resource in the system at a time"],
    );
}

#[test]
fn a_failed_roll_out_has_a_reason_and_continues() {
    let sandbox = sandbox("operator-mended");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z"]);
    let it = Operated(&sandbox);
    // A flag that no gardener-apiserver knows.
    let overrides = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gardener-apiserver-overrides, namespace: garden}\n\
                     data:\n  config.yaml: |\n    nonsense: yes\n";
    it.runtime(&["apply", "-f", &sandbox.file("overrides.yaml", overrides)]);
    it.until("Error", || it.says(".status.lastOperation.state"));
    in_order(
        &it.says(".status.lastOperation.description"),
        &[
            "Flow \"Garden reconciliation\" encountered task errors: [task \"Waiting until Gardener API server rolled out\" \
             failed: ",
            "unknown flag: --nonsense=true",
            "Operation will be retried.",
        ],
    );
    // The old instances serve.
    it.garden(&["get", "seeds"]);
    it.runtime(&["delete", "configmap", "gardener-apiserver-overrides"]);
    it.reconciled("v1.120.0");
    it.runtime(&["rollout", "status", "deployment/gardener-apiserver", "--timeout=300s"]);
    // The virtual garden's Kubernetes is updated after it.
    let patch = r#"{"spec":{"virtualCluster":{"kubernetes":{"version":"1.32.0"}}}}"#;
    it.runtime(&["patch", "garden", "local", "--type", "merge", "-p", patch]);
    it.until("v1.32.0", || {
        let version: Value =
            serde_json::from_str(&it.garden(&["get", "--raw", "/clusters/garden/version"])).expect("JSON");
        version["gitVersion"].as_str().unwrap_or_default().to_owned()
    });
    it.reconciled("v1.120.0");
}

#[test]
fn an_extension_is_registered_in_the_garden() {
    let sandbox = sandbox("operator-extension");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z"]);
    let it = Operated(&sandbox);
    let extension = "apiVersion: operator.gardener.cloud/v1alpha1\nkind: Extension\nmetadata: {name: extension-foo}\nspec:\n  \
                     resources:\n  - {kind: Extension, type: foo, clusterCompatibility: [shoot, garden]}\n  deployment:\n    \
                     extension:\n      helm: {ociRepository: {ref: 'registry.example/foo:v1.0.0'}}\n      policy: Always\n";
    it.runtime(&["apply", "-f", &sandbox.file("extension.yaml", extension)]);
    it.runtime(&["wait", "--for=condition=Installed", "extop/extension-foo", "--timeout=300s"]);
    let path = "jsonpath={.spec.resources[0].clusterCompatibility} {.spec.deployment.policy}";
    let registration = ["get", "controllerregistration", "extension-foo", "-o", path];
    assert_eq!(it.garden(&registration), r#"["shoot"] Always"#);
    // A seed has it, because of its policy, and does not require it: it may be deleted.
    it.runtime(&["wait", "--for=condition=RequiredVirtual=false", "extop/extension-foo", "--timeout=300s"]);
    sandbox.kubectl(Kubectl::Newest, "runtime", &["delete", "extop", "extension-foo", "--timeout=300s"]);
    let gone = ["get", "controllerregistration", "extension-foo"];
    in_order(&sandbox.kubectl_refused(Kubectl::Newest, "garden", &gone), &["not found"]);
}

#[test]
fn a_landscape_without_an_operator_is_adopted() {
    let sandbox = sandbox("operator-adopts");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z", "--operator=false"]);
    let it = Operated(&sandbox);
    assert!(!it.images("runtime").contains("operator"));
    let flags = ["featureGates.InPlaceNodeUpdates=true", "shoot-credentials-rotation-interval=24h"];
    sandbox.terrarium(&[&["config", "set", "gardener-apiserver"][..], &flags].concat());
    sandbox.terrarium(&["config", "set", "gardener-scheduler", "schedulers.shoot.concurrentSyncs=7"]);
    sandbox.terrarium(&["config", "set", "gardenlet", "controllers.shoot.syncPeriod=30m"]);
    let pods = || it.runtime(&["get", "pods", "-l", "role=gardener-apiserver", "-o", "name"]);
    let before = pods();
    sandbox.terrarium(&["down"]);
    // As a landscape that was created before there was an operator.
    let path = sandbox.directory().join("landscape.json");
    let mut facts: Value = serde_json::from_str(&std::fs::read_to_string(&path).expect("facts")).expect("JSON");
    assert_eq!(facts.as_object_mut().and_then(|facts| facts.remove("operator")), Some(Value::Bool(false)));
    std::fs::write(&path, facts.to_string()).expect("the file can be written");

    sandbox.terrarium(&["up"]);
    it.reconciled("v1.120.0");
    assert_eq!(pods(), before, "gardener-apiserver was not replaced");
    assert_eq!(
        it.says(".spec.virtualCluster.gardener.gardenerAPIServer.featureGates"),
        r#"{"InPlaceNodeUpdates":true}"#
    );
    let get = |component: &str, key: &str| sandbox.terrarium(&["config", "get", component, key]).trim().to_owned();
    assert_eq!(get("gardener-apiserver", "shoot-credentials-rotation-interval"), "24h");
    assert_eq!(get("gardener-scheduler", "schedulers.shoot.concurrentSyncs"), "7");
    assert_eq!(get("gardenlet", "controllers.shoot.syncPeriod"), "30m0s");
    let (code, text) = sandbox.terrarium_refused(&["up", "--operator=false"]);
    assert_eq!(code, 2);
    in_order(&text, &["--operator contradicts what landscape"]);
}
