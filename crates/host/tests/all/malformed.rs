// SPDX-License-Identifier: Apache-2.0
//! Malformed requests for Kubernetes' kinds and custom resources get a response, and no server error that the real API
//! server does not return.
//!
//! `TERRARIUM_TEST_MALFORMED` is the number of requests.

use std::cell::RefCell;
use std::collections::BTreeSet;

use api::catalogue;
use apimachinery::catalogue::ResourceInfo;
use clock::{Clock, SimulatedClock};
use generic_apiserver::protobuf::{answer, is_known};
use host::Host;
use http_body_util::BodyExt;
use process::User;
use process::transport::full;
use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};
use serde_json::{Value, json};
use testkit::malformed::{DrawnRequest, SERIES, Target};

use crate::support::{foundation, host_on, send};

/// Number of polls after which a response counts as missing.
const TURNS: usize = 1_000;

/// Cluster, namespace and resource.
type Place = (&'static str, &'static str, &'static ResourceInfo);

/// Every resource that Kubernetes' API server or a definition serves.
fn places() -> Vec<Place> {
    let views = [catalogue::events_view(), catalogue::autoscalers_view()];
    let rows = catalogue::all().iter().filter(|row| !catalogue::is_aggregated(row)).chain(views);
    let clusters = ["garden", "seed--a", "runtime"];
    let place = |row: &'static ResourceInfo| {
        let cluster = clusters.iter().find(|cluster| catalogue::serves(cluster, row))?;
        Some((*cluster, "default", row))
    };
    // Requests that delete clusters or clocks of the landscape would end the test.
    rows.filter(|row| row.group != "terrarium.dev").filter_map(place).collect()
}

fn in_protobuf(tree: &Value) -> Option<Vec<u8>> {
    let find = |api_version: &str, kind: &str| {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let node = (catalogue::find_kind(group, version, kind)?.schema)();
        is_known(&node).then_some(node)
    };
    answer::body(tree.to_string().as_bytes(), &find)
}

/// Status code and body of a response; `None` for a request that HTTP does not allow.
async fn answered(host: &Host, wall: &SimulatedClock, sent: &DrawnRequest) -> Option<(u16, Vec<u8>)> {
    let mut request = http::Request::builder().method(sent.method).uri(&sent.path);
    for (name, value) in &sent.headers {
        request = request.header(*name, *value);
    }
    let request = request.body(full(sent.body.clone())).ok()?;
    let user = User { name: "admin".into(), groups: vec!["system:masters".into()], component: None };
    let transport = host.transport(user);
    let answer = async {
        let response = transport.send(request).await.expect("a response");
        let code = response.status().as_u16();
        let body = if code == 200 && sent.lasts() {
            Vec::new()
        } else {
            response.into_body().collect().await.expect("a body").to_bytes().into()
        };
        (code, body)
    };
    let mut answer = std::pin::pin!(answer);
    for _ in 0..TURNS {
        if let std::task::Poll::Ready(answer) = futures::poll!(answer.as_mut()) {
            return Some(answer);
        }
        tokio::task::yield_now().await;
        // Some requests wait for a version that never exists.
        wall.fire_next(None);
    }
    panic!("no answer:\n{}", sent.description());
}

#[test]
fn whatever_is_sent_is_answered_without_a_server_error() {
    let count = std::env::var_os("TERRARIUM_TEST_MALFORMED");
    let count = count.and_then(|text| text.to_str()?.parse().ok()).unwrap_or(4_000_u32);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let wall = SimulatedClock::new("2023-07-27T20:00:00Z".parse().expect("an instant"));
    let host = runtime.block_on(async {
        let host = host_on(generic_apiserver::Foundation { wall: Clock::new(wall.clone()), ..foundation() }).await;
        for cluster in ["garden", "seed--a"] {
            let path = format!("/clusters/{cluster}/api/v1/namespaces");
            let namespace = json!({"metadata": {"name": "default"}});
            send(&host, "POST", &path, &[], namespace.to_string()).await;
        }
        host
    });
    let places = places();
    let config = ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 400,
        ..ProptestConfig::with_cases(count / SERIES)
    };
    let mut runner = TestRunner::new(config);
    let bytes = (any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 0..1_500));
    let codes = RefCell::new(BTreeSet::new());
    let outcome = runner.run(&bytes, |(place, bytes)| {
        let (cluster, namespace, info) = *place.get(&places);
        let root = format!("/clusters/{cluster}");
        let target = Target { root: &root, info, namespace, encode: &in_protobuf };
        let mut codes = codes.borrow_mut();
        target
            .check(&bytes, &mut codes, |sent| runtime.block_on(answered(&host, &wall, sent)))
            .map_err(TestCaseError::fail)
    });
    match outcome {
        // The requests reach all stages: some succeed, others fail in each possible way.
        Ok(()) => {
            let codes = codes.into_inner();
            assert!([200, 201, 400, 404, 415, 422].iter().all(|code| codes.contains(code)), "{codes:?}");
        }
        Err(TestError::Fail(why, _)) => panic!("{why}"),
        Err(TestError::Abort(why)) => panic!("aborted: {why}"),
    }
}
