// SPDX-License-Identifier: Apache-2.0
//! Version rules at the registration of instances.

use std::sync::Arc;

use clock::{Clock, Random};
use domain::profile::Profile;
use eventlog::MemoryLog;
use generic_apiserver::Foundation;
use generic_apiserver::http::Metrics;
use host::registry::{self, Registered};
use host::{Host, Parts};
use process::Tasks;
use serde_json::{Value, json};

use crate::support::{get, send};

const LEASES: &str = "/clusters/garden/apis/coordination.k8s.io/v1/namespaces/gardener-system-instances/leases";

async fn host(profile: Profile) -> Host {
    let foundation = Foundation {
        log: Arc::new(MemoryLog::new()),
        clock: Clock::wall(),
        wall: Clock::wall(),
        random: Random::new(1),
        writer: 1,
        recent_bytes: generic_apiserver::RECENT_BYTES,
    };
    let parts = Parts { profile: Some(profile), metrics: Some(Metrics::default()), ..Parts::default() };
    let host = Host::with(foundation, &Tasks::new(), parts);
    let cluster = json!({"metadata": {"name": "garden"}, "spec": {"kubernetesVersion": "1.27.1"}}).to_string();
    assert_eq!(
        send(&host, "POST", "/clusters/runtime/apis/terrarium.dev/v1alpha1/clusters", &[], cluster).await.code,
        201
    );
    let namespace = json!({"metadata": {"name": "gardener-system-instances"}}).to_string();
    assert_eq!(send(&host, "POST", "/clusters/garden/api/v1/namespaces", &[], namespace).await.code, 201);
    host
}

fn lease(component: &str, pod: &str, version: &str) -> Value {
    let me = Registered { cluster: "runtime", pod, component, version, address: "127.0.0.1:1" };
    serde_json::to_value(me.lease("2025-06-01T00:00:00Z".parse().expect("an instant"))).expect("JSON")
}

/// Registers an instance; returns the status code, and the rule's text if it is rejected.
async fn register(host: &Host, component: &str, pod: &str, version: &str) -> (u16, String) {
    let answer = send(host, "POST", LEASES, &[], lease(component, pod, version).to_string()).await;
    let cause = answer.json()["details"]["causes"][0]["message"].as_str().unwrap_or_default().to_owned();
    (answer.code, cause)
}

/// Registers an instance of a seed like [`register`].
async fn register_on(host: &Host, seed: &str, component: &str, version: &str) -> (u16, String) {
    let cluster = format!("seed--{seed}");
    let me = Registered { cluster: &cluster, pod: "x", component, version, address: "" };
    let lease = me.lease("2025-06-01T00:00:00Z".parse().expect("an instant"));
    let answer = send(host, "POST", LEASES, &[], json!(lease).to_string()).await;
    (answer.code, answer.json()["details"]["causes"][0]["message"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn a_version_out_of_skew_is_not_registered() {
    let host = host(Profile::Documents).await;
    let created = (201, String::new());
    assert_eq!(register(&host, "gardener-scheduler", "early", "v1.1.0").await, created, "no other instance");
    assert_eq!(register(&host, "gardener-apiserver", "a", "v1.2.0").await, created);
    assert_eq!(register(&host, "gardener-extension-provider-local", "x", "v9.9.9").await, created);
    let answer = send(&host, "POST", LEASES, &[], lease("gardener-scheduler", "s", "v1.3.0").to_string()).await;
    let text = "gardener-scheduler version must not be newer than gardener-apiserver version (gardener-apiserver \
                version: 1.2.0, gardener-scheduler version: 1.3.0)";
    assert_eq!(answer.code, 403);
    let status = answer.json();
    assert_eq!(
        status["message"].as_str(),
        Some(&*format!("leases.coordination.k8s.io \"gardener-scheduler-s\" is forbidden: version skew: {text}"))
    );
    assert_eq!(
        status["details"],
        json!({
            "name": "gardener-scheduler-s",
            "group": "coordination.k8s.io",
            "kind": "leases",
            "causes": [{
                "reason": "FieldValueForbidden",
                "message": text,
                "field": "metadata.annotations[terrarium.dev/version]",
            }],
        })
    );
    let (code, text) = register(&host, "gardener-apiserver", "b", "v1.4.0").await;
    let expected = "newest and oldest gardener-apiserver instances must be within one minor version (oldest: 1.2.0, \
                    newest: 1.4.0)";
    assert_eq!((code, &*text), (403, expected));
    let (code, text) = register(&host, "gardener-apiserver", "b", "v1.3.0").await;
    let expected = "gardener-scheduler version must not be older than one minor gardener-apiserver version \
                    (gardener-apiserver version: 1.3.0, gardener-scheduler version: 1.1.0)";
    assert_eq!((code, &*text), (403, expected), "an instance does not evict others");
}

#[tokio::test]
async fn a_lease_keeps_its_version_or_is_judged_again() {
    let host = host(Profile::Documents).await;
    assert_eq!(register(&host, "gardener-apiserver", "a", "v1.2.0").await.0, 201);
    assert_eq!(register(&host, "gardener-scheduler", "s", "v1.2.0").await.0, 201);
    let path = format!("{LEASES}/gardener-scheduler-s");
    let mut renewed = get(&host, &path).await.json();
    renewed["spec"]["holderIdentity"] = json!("other");
    let renewed = send(&host, "PUT", &path, &[], renewed.to_string()).await;
    assert_eq!(renewed.code, 200);
    let mut newer = renewed.json();
    newer["metadata"]["annotations"]["terrarium.dev/version"] = json!("v1.3.0");
    assert_eq!(send(&host, "PUT", &path, &[], newer.to_string()).await.code, 403);
    newer["metadata"]["annotations"]["terrarium.dev/version"] = json!("v1.1.5");
    assert_eq!(send(&host, "PUT", &path, &[], newer.to_string()).await.code, 200);
    // A deregistered instance is not counted.
    assert_eq!(register(&host, "gardener-apiserver", "b", "v1.3.0").await.0, 403);
    assert_eq!(send(&host, "DELETE", &path, &[], "").await.code, 200);
    assert_eq!(register(&host, "gardener-apiserver", "b", "v1.3.0").await.0, 201);
}

/// If the versions of two concurrent registrations exclude each other, one of them is rejected.
#[tokio::test]
async fn two_at_once_do_not_both_pass() {
    for _ in 0..20 {
        let host = host(Profile::Documents).await;
        assert_eq!(register(&host, "gardener-apiserver", "a", "v1.2.0").await.0, 201);
        let newer = register(&host, "gardener-apiserver", "b", "v1.3.0");
        let older = register(&host, "gardener-scheduler", "s", "v1.1.0");
        let (newer, older) = futures::future::join(newer, older).await;
        let mut codes = [newer.0, older.0];
        codes.sort_unstable();
        assert_eq!(codes, [201, 403], "{newer:?} {older:?}");
    }
}

#[tokio::test]
async fn upstream_profile_registers_any_version() {
    let host = host(Profile::Upstream).await;
    assert_eq!(register(&host, "gardener-apiserver", "a", "v1.2.0").await.0, 201);
    assert_eq!(register(&host, "gardener-scheduler", "s", "v1.9.0").await.0, 201);
    let user = process::User { name: "admin".into(), groups: vec!["system:masters".into()], component: None };
    registry::remove(&host.transport(user), None).await.expect("an answer");
    assert_eq!(get(&host, LEASES).await.json()["items"], json!([]));
}

/// The namespace of the Leases sets the enforcement of version rules.
#[tokio::test]
async fn enforcement_warn_and_off_admit_versions_out_of_skew() {
    let text = "version skew: gardener-scheduler version must not be newer than gardener-apiserver version \
                (gardener-apiserver version: 1.2.0, gardener-scheduler version: 1.3.0)";
    for (profile, annotation, code, warning) in [
        (Profile::Documents, "", 403, None),
        (Profile::Documents, "enforce", 403, None),
        (Profile::Documents, "nonsense", 403, None),
        (Profile::Documents, "warn", 201, Some(text)),
        (Profile::Documents, "off", 201, None),
        (Profile::Upstream, "", 201, Some(text)),
        (Profile::Upstream, "enforce", 403, None),
        (Profile::Upstream, "off", 201, None),
    ] {
        let host = host(profile).await;
        annotate(&host, json!({ "terrarium.dev/skew-enforcement": annotation })).await;
        assert_eq!(register(&host, "gardener-apiserver", "a", "v1.2.0").await.0, 201);
        let answer = send(&host, "POST", LEASES, &[], lease("gardener-scheduler", "s", "v1.3.0").to_string()).await;
        assert_eq!(answer.code, code, "{profile:?} {annotation}");
        let expected = warning.map(|text| format!("299 - \"{text}\"")).unwrap_or_default();
        assert_eq!(answer.header("warning"), expected, "{profile:?} {annotation}");
        let count = "terrarium_version_skew_violations_total{rule=\"C1\",component=\"gardener-scheduler\"} 1\n";
        let metrics = get(&host, "/clusters/garden/metrics").await.body;
        let metrics = String::from_utf8_lossy(&metrics);
        assert_eq!(metrics.contains(count), annotation != "off", "{profile:?} {annotation}: {metrics}");
    }
}

#[tokio::test]
async fn downgrades_are_possible_if_allowed() {
    let host = host(Profile::Documents).await;
    let marks = json!({ "gardener-apiserver": "v1.3.0" }).to_string();
    annotate(&host, json!({ "terrarium.dev/high-water-marks": marks })).await;
    let (code, text) = register(&host, "gardener-apiserver", "a", "v1.2.0").await;
    let expected = "downgrading gardener-apiserver is not supported (old version was 1.3.0, my version is v1.2.0)";
    assert_eq!((code, &*text), (403, expected));
    annotate(&host, json!({ "terrarium.dev/allow-downgrade": "true" })).await;
    assert_eq!(register(&host, "gardener-apiserver", "a", "v1.2.0").await.0, 201);
    assert_eq!(register(&host, "gardener-scheduler", "s", "v1.3.0").await.0, 403, "all other rules hold");
}

/// All instances of gardener-apiserver were scaled down.
#[tokio::test]
async fn the_first_apiserver_after_a_restart_skips_no_minor() {
    let host = host(Profile::Documents).await;
    let marks = json!({ "gardener-apiserver": "v1.2.0" }).to_string();
    annotate(&host, json!({ "terrarium.dev/high-water-marks": marks })).await;
    let (code, text) = register(&host, "gardener-apiserver", "a", "v1.4.0").await;
    let expected = "skipping gardener-apiserver versions is unsupported (old version was 1.2.0, my version is v1.4.0)";
    assert_eq!((code, &*text), (403, expected));
    assert_eq!(register(&host, "gardener-apiserver", "a", "v1.3.0").await.0, 201);
}

#[tokio::test]
async fn the_oldest_gardenlet_bounds_provider_local_on_every_seed() {
    let host = host(Profile::Documents).await;
    let on = async |seed: &str, component: &str, version: &str| register_on(&host, seed, component, version).await;
    assert_eq!(register(&host, "gardener-apiserver", "a", "v1.3.0").await.0, 201);
    assert_eq!(on("a", "gardenlet", "v1.3.0").await.0, 201);
    assert_eq!(on("b", "gardenlet", "v1.2.0").await.0, 201);
    let text = "extension \"provider-local\" depends on extensions library 1.3.0, which is newer than gardenlet 1.2.0 on seed \
                \"b\"";
    assert_eq!(on("a", "gardener-extension-provider-local", "v1.3.0").await, (403, text.to_owned()));
    assert_eq!(on("a", "gardener-extension-provider-local", "v1.2.4").await.0, 201);
}

/// A killed host leaves the Leases of its processes.
#[tokio::test]
async fn registrations_of_a_former_host_refuse_no_process() {
    let host = host(Profile::Documents).await;
    let created = (201, String::new());
    assert_eq!(register(&host, "gardener-apiserver", "a", "v1.3.0").await, created);
    assert_eq!(register_on(&host, "a", "gardenlet", "v1.2.0").await, created);
    let provider = "gardener-extension-provider-local";
    let text = "extension \"provider-local\" depends on extensions library 1.3.0, which is newer than gardenlet 1.2.0 on seed \
                \"a\"";
    assert_eq!(register_on(&host, "a", provider, "v1.3.0").await, (403, text.to_owned()));
    let user = process::User { name: "kubelet".into(), groups: vec!["system:masters".into()], component: None };
    let settings = registry::Settings { enforcement: None, allows_downgrades: true };
    registry::begin(&host.transport(user), settings).await.expect("an answer");
    assert_eq!(get(&host, LEASES).await.json()["items"], json!([]));
    // provider-local may start before the others.
    assert_eq!(register_on(&host, "a", provider, "v1.3.0").await, created);
    assert_eq!(register_on(&host, "a", "gardenlet", "v1.3.0").await, created);
    let namespace = get(&host, "/clusters/garden/api/v1/namespaces/gardener-system-instances").await.json();
    assert_eq!(namespace["metadata"]["annotations"]["terrarium.dev/allow-downgrade"], "true");
}

async fn annotate(host: &Host, annotations: Value) {
    let path = "/clusters/garden/api/v1/namespaces/gardener-system-instances";
    let headers = [("content-type", "application/merge-patch+json")];
    let patch = json!({ "metadata": { "annotations": annotations } }).to_string();
    assert_eq!(send(host, "PATCH", path, &headers, patch).await.code, 200);
}
