// SPDX-License-Identifier: Apache-2.0
//! Malformed requests to Gardener's kinds: each gets a response, and no server error that the real API server does not have.
//!
//! `TERRARIUM_TEST_MALFORMED` is the number of requests.

use std::cell::RefCell;
use std::collections::BTreeSet;

use api::catalogue;
use apimachinery::catalogue::ResourceInfo;
use generic_apiserver::protobuf::{answer, is_known};
use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};
use serde_json::Value;
use testkit::malformed::{SERIES, Target};

use crate::support::Garden;

fn in_protobuf(tree: &Value) -> Option<Vec<u8>> {
    let find = |api_version: &str, kind: &str| {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let node = (catalogue::find_kind(group, version, kind)?.schema)();
        is_known(&node).then_some(node)
    };
    answer::body(tree.to_string().as_bytes(), &find)
}

#[test]
fn whatever_is_sent_is_answered_without_a_server_error() {
    let count = std::env::var_os("TERRARIUM_TEST_MALFORMED");
    let count = count.and_then(|text| text.to_str()?.parse().ok()).unwrap_or(4_000_u32);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let garden = runtime.block_on(Garden::with_demo_objects());
    let view = std::iter::once(catalogue::controller_deployments_view());
    let rows: Vec<&ResourceInfo> =
        catalogue::all().iter().filter(|row| catalogue::is_aggregated(row)).chain(view).collect();
    let config = ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 400,
        ..ProptestConfig::with_cases(count / SERIES)
    };
    let bytes = (any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 0..2_500));
    let codes = RefCell::new(BTreeSet::new());
    let outcome = TestRunner::new(config).run(&bytes, |(row, bytes)| {
        let target = Target {
            root: "/clusters/garden",
            info: rows[row.index(rows.len())],
            namespace: "garden-demo",
            encode: &in_protobuf,
        };
        let mut codes = codes.borrow_mut();
        target.check(&bytes, &mut codes, |sent| runtime.block_on(garden.answered(sent))).map_err(TestCaseError::fail)
    });
    match outcome {
        // The requests reach all stages: some succeed, others are refused in each way.
        Ok(()) => {
            let codes = codes.into_inner();
            assert!([200, 201, 400, 404, 415, 422].iter().all(|code| codes.contains(code)), "{codes:?}");
        }
        Err(TestError::Fail(why, _)) => panic!("{why}"),
        Err(TestError::Abort(why)) => panic!("aborted: {why}"),
    }
}
