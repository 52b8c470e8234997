// SPDX-License-Identifier: Apache-2.0
//! Shared helpers of the tests of landscapes.

use std::collections::BTreeSet;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use clock::Clock;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use parking_lot::{Mutex, MutexGuard};
use process::Transport;
use process::https::{self, Credentials};
use process::pki::Pair;
use process::transport::full;
use serde_json::Value;
use terrarium_e2e::sandbox::{Kubectl, Sandbox, binaries};

/// Maximum wall time until an expected state: disks and machines stall.
pub(crate) const LIMIT: TimeDelta = TimeDelta::minutes(5);

/// Creates a sandbox in a folder of the test's own. Tests run concurrently: no two may use the same one.
pub(crate) fn sandbox(name: &str) -> Sandbox {
    static NAMES: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let is_new = NAMES.lock().insert(name.to_owned());
    assert!(is_new, "two tests want sandbox `{name}`: each would remove the landscape of the other");
    Sandbox::new(&binaries(), &Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
}

/// Returns a lock that a campaign holds until it is over: it sends requests at the maximum rate, for as long as the environment
/// configures. Two at once would share the processors, and each would measure the effect of the other. Other tests run meanwhile:
/// they have landscapes of their own, and enough time.
pub(crate) fn campaign() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    // A failed campaign has reported its failure itself.
    ONE_AT_A_TIME.lock()
}

/// Returns the path of a manifest in `e2e/landscape`.
pub(crate) fn manifest(name: &str) -> String {
    format!("{}/landscape/{name}.yaml", env!("CARGO_MANIFEST_DIR"))
}

/// Asserts that an output contains texts in their order.
#[track_caller]
pub(crate) fn in_order(output: &str, texts: &[&str]) {
    let mut rest = output;
    for text in texts {
        let place = rest.find(text).unwrap_or_else(|| panic!("`{text}` does not come where it should in\n{output}"));
        rest = &rest[place + text.len()..];
    }
}

/// Returns the administrator's transport to the landscape, from the kubeconfig.
pub(crate) fn administrator(sandbox: &Sandbox) -> Transport {
    let text = std::fs::read_to_string(sandbox.kubeconfig()).expect("a kubeconfig");
    let config: Value = serde_yaml_ng::from_str(&text).expect("YAML");
    let (cluster, user) = (&config["clusters"][0]["cluster"], &config["users"][0]["user"]);
    let data = |value: &Value| {
        let bytes = STANDARD.decode(value.as_str().expect("data")).expect("base64");
        String::from_utf8(bytes).expect("PEM")
    };
    let server = cluster["server"].as_str().and_then(|url| url.strip_prefix("https://")).expect("an URL");
    let options = https::Options {
        server: server.split('/').next().unwrap_or_default().to_owned(),
        authorities: data(&cluster["certificate-authority-data"]),
        credentials: Credentials::Certificate(Pair {
            certificate: data(&user["client-certificate-data"]),
            key: data(&user["client-key-data"]),
        }),
        ..https::Options::default()
    };
    https::transport(&options).expect("a kubeconfig that works")
}

/// Sends a request; `None`: there was no answer.
pub(crate) async fn send(
    transport: &Transport,
    method: Method,
    path: &str,
    body: Value,
) -> Option<(StatusCode, Value)> {
    let content = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = http::Request::builder().method(method).uri(path).header("content-type", content);
    let response = transport.send(request.body(full(body)).expect("a request")).await.ok()?;
    let status = response.status();
    let bytes = response.into_body().collect().await.ok()?.to_bytes();
    Some((status, serde_json::from_slice(&bytes).unwrap_or_default()))
}

/// Sends a signal to a process.
pub(crate) fn signal(signal: &str, pid: u32) {
    let sent = std::process::Command::new("kill").args([signal, &pid.to_string()]).status();
    assert!(sent.expect("every system has kill").success(), "kill {signal} {pid}");
}

/// Returns the container of a pod.
pub(crate) fn container(pod: &Value) -> &Value {
    &pod["status"]["containerStatuses"][0]
}

/// Returns the pods of a component in cluster `runtime`, once a condition holds for them.
#[track_caller]
pub(crate) fn until_pods(sandbox: &Sandbox, labels: &str, is_right: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    until_pods_in(sandbox, "runtime", labels, is_right)
}

/// Returns [`until_pods`] of another cluster.
#[track_caller]
pub(crate) fn until_pods_in(
    sandbox: &Sandbox,
    cluster: &str,
    labels: &str,
    is_right: impl Fn(&[Value]) -> bool,
) -> Vec<Value> {
    let begun = Clock::wall().now();
    loop {
        let text =
            sandbox.kubectl(Kubectl::Newest, cluster, &["-n", "garden", "get", "pods", "-l", labels, "-o", "json"]);
        let mut list: Value = serde_json::from_str(&text).expect("JSON");
        let pods = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
        if is_right(&pods) {
            return pods;
        }
        assert!(Clock::wall().now() - begun < LIMIT, "{labels}: {text}");
    }
}
