// SPDX-License-Identifier: Apache-2.0
//! Tests of several gardener-apiservers in containers: one stops, one is cut off, one has a version that the rules
//! refuse.

use http::{Method, StatusCode};
use serde_json::Value;

use crate::support::{Container, Landscape, send, until, with_engine};

/// Number of writes in each part of a test.
const WRITES: usize = 20;

/// Writes objects one after the other; returns the number of attempts beyond the first ones.
async fn write(landscape: &Landscape, part: &str, written: &mut Vec<String>) -> u32 {
    let mut again = 0;
    for number in 0..WRITES {
        let name = format!("{part}-{number:02}");
        again += landscape.write(&name).await - 1;
        written.push(name);
    }
    again
}

/// Starts two instances, a minor version apart, and stops the host's own one.
async fn two(landscape: &Landscape) -> (Container, Container) {
    let older = landscape.join("older", "v1.120.0").await;
    let newer = landscape.join("newer", "v1.121.0").await;
    landscape.only_joined(2).await;
    assert_eq!(landscape.versions().await, ["v1.120.0", "v1.121.0"]);
    (older, newer)
}

/// Returns the version that an instance reports.
async fn version(landscape: &Landscape, container: &Container) -> String {
    let transport = landscape.past_the_host(container).await;
    let (_, version) = send(&transport, Method::GET, "/version", Value::Null).await.expect("an answer");
    version["gitVersion"].as_str().unwrap_or_default().to_owned()
}

async fn lists_all(landscape: &Landscape, container: &Container, written: &[String]) {
    let look = || async { Landscape::names(&landscape.past_the_host(container).await).await };
    let names = until("an instance serves", look, Result::is_ok).await.expect("it is there");
    let missing: Vec<&String> = written.iter().filter(|name| !names.contains(name)).collect();
    assert!(missing.is_empty(), "acknowledged and lost: {missing:?}");
}

#[test]
fn an_instance_restarts_without_failed_requests() {
    with_engine(async {
        let landscape = Landscape::start().await;
        let (older, newer) = two(&landscape).await;
        assert_eq!(version(&landscape, &older).await, "v1.120.0");
        assert_eq!(version(&landscape, &newer).await, "v1.121.0");
        let mut written = Vec::new();
        assert_eq!(write(&landscape, "both", &mut written).await, 0);
        lists_all(&landscape, &older, &written).await;
        lists_all(&landscape, &newer, &written).await;

        let (stopped, _) =
            futures::join!(newer.stop_with_timeout(Some(20)), write(&landscape, "stopping", &mut written));
        stopped.expect("it stops");
        assert_eq!(landscape.state(&newer).await, (false, 0), "it was asked to");
        // It unregisters before it ends, so no request waits for it.
        assert_eq!(landscape.versions().await, ["v1.120.0"]);
        assert_eq!(write(&landscape, "one", &mut written).await, 0);

        newer.start().await.expect("it starts again");
        until("both are registered", || landscape.versions(), |versions| versions.len() == 2).await;
        write(&landscape, "both-again", &mut written).await;
        lists_all(&landscape, &older, &written).await;
        lists_all(&landscape, &newer, &written).await;

        // The last instance of the older version has unregistered: a downgrade is no longer possible.
        older.stop_with_timeout(Some(20)).await.expect("it stops");
        older.start().await.expect("its process starts");
        let state = until("it is refused", || landscape.state(&older), |(running, _)| !running).await;
        assert_eq!(state, (false, 3));
        assert_eq!(landscape.versions().await, ["v1.121.0"]);
        assert_eq!(write(&landscape, "newer", &mut written).await, 0);
        lists_all(&landscape, &newer, &written).await;
        landscape.end(vec![older, newer]).await;
    });
}

#[test]
fn an_isolated_instance_returns_no_old_state() {
    with_engine(async {
        let landscape = Landscape::start().await;
        let (older, newer) = two(&landscape).await;
        let mut written = Vec::new();
        write(&landscape, "before", &mut written).await;
        lists_all(&landscape, &newer, &written).await;

        landscape.cut_off(&newer).await;
        // It runs, and knows the old state, but returns none of it.
        let look = || async {
            let transport = landscape.past_the_host(&newer).await;
            send(&transport, Method::GET, crate::support::EXPOSURE_CLASSES, Value::Null).await
        };
        let (status, answer) = until("an answer past the host", look, Result::is_ok).await.expect("it is there");
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{answer}");
        assert!(answer["message"].as_str().is_some_and(|text| text.contains("the event log")), "{answer}");
        // The others continue without it; a write that was being sent to it is repeated.
        write(&landscape, "cut", &mut written).await;
        lists_all(&landscape, &older, &written).await;
        assert_eq!(look().await.expect("an answer").0, StatusCode::SERVICE_UNAVAILABLE);
        // The host cannot know whether it still runs: its version counts.
        assert_eq!(landscape.versions().await, ["v1.120.0", "v1.121.0"]);

        landscape.mend(&newer).await;
        lists_all(&landscape, &newer, &written).await;
        write(&landscape, "mended", &mut written).await;
        lists_all(&landscape, &newer, &written).await;
        assert_eq!(landscape.state(&newer).await, (true, 0), "it was never started again");
        // It answers requests through the host, too: the other one is stopped, and all objects still exist.
        older.stop_with_timeout(Some(20)).await.expect("it stops");
        write(&landscape, "alone", &mut written).await;
        assert_eq!(Landscape::names(&landscape.door).await.map(|names| names.len()), Ok(written.len()));
        landscape.end(vec![older, newer]).await;
    });
}

#[test]
fn a_version_out_of_order_is_refused() {
    with_engine(async {
        let landscape = Landscape::start().await;
        let (older, newer) = two(&landscape).await;
        let mut written = Vec::new();
        for (name, version, refusal) in [
            // Before controller-manager, scheduler and the others have been updated, and its own older instance.
            (
                "early",
                "v1.122.0",
                "newest and oldest gardener-apiserver instances must be within one minor version (oldest: 1.120.0, \
                 newest: 1.122.0) [rule=A1, component=gardener-apiserver",
            ),
            // After all others: newer versions have run, and none as old as this one runs.
            (
                "late",
                "v1.119.0",
                "downgrading gardener-apiserver is not supported (old version was 1.121.0, my version is v1.119.0) \
                 [rule=T1, component=gardener-apiserver",
            ),
        ] {
            let (code, line) = landscape.refused(name, version).await;
            assert_eq!(code, 3, "{line}");
            assert!(line.contains(refusal), "{line}");
            assert_eq!(write(&landscape, name, &mut written).await, 0, "other writes do not fail");
        }
        assert_eq!(landscape.versions().await, ["v1.120.0", "v1.121.0"]);
        lists_all(&landscape, &older, &written).await;
        lists_all(&landscape, &newer, &written).await;
        landscape.end(vec![older, newer]).await;
    });
}
