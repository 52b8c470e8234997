// SPDX-License-Identifier: Apache-2.0
//! Lifetime of Events.

use std::sync::Arc;

use chrono::TimeDelta;
use clock::{Clock, SimulatedClock};
use eventlog::{EventLog, MemoryLog};
use generic_apiserver::Foundation;
use host::{Host, Parts};
use process::Tasks;
use serde_json::json;

use crate::support::{foundation, get, send};

const EVENTS: &str = "/clusters/runtime/api/v1/namespaces/default/events";

#[tokio::test]
async fn expired_events_are_never_read() {
    let start = "2023-07-27T20:00:00Z".parse().expect("an instant");
    let (clock, log) = (SimulatedClock::new(start), Arc::new(MemoryLog::new()));
    let foundation = Foundation { log: log.clone(), clock: Clock::new(clock.clone()), ..foundation() };
    let parts = Parts { event_ttl: Some(TimeDelta::hours(1)), ..Parts::default() };
    let host = Host::with(foundation, &Tasks::new(), parts);
    let create = |name: &'static str, seen: &'static str| {
        let about = json!({"kind": "Pod", "namespace": "default", "name": "p"});
        let event = json!({
            "metadata": {"name": name}, "involvedObject": about, "lastTimestamp": seen, "type": "Normal", "count": 1,
        });
        send(&host, "POST", EVENTS, &[], event.to_string())
    };
    assert_eq!(create("first", "2023-07-27T20:00:00Z").await.code, 201);
    clock.advance_to(start + TimeDelta::minutes(30));
    assert_eq!(create("second", "2023-07-27T20:30:00Z").await.code, 201);
    let names = || async {
        let list = get(&host, EVENTS).await.json();
        let names = list["items"].as_array().into_iter().flatten().map(|item| item["metadata"]["name"].clone());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["first", "second"]);
    let before = log.head();
    clock.advance_to(start + TimeDelta::minutes(59));
    assert_eq!(names().await, ["first", "second"]);
    assert_eq!(log.head(), before, "to look costs nothing");
    clock.advance_to(start + TimeDelta::hours(1));
    assert_eq!(names().await, ["second"]);
    assert_eq!(log.head().0, before.0 + 1);
    // An Event that is counted again is kept for longer.
    let counted = json!({"lastTimestamp": "2023-07-27T21:00:00Z", "count": 2}).to_string();
    let merge = [("content-type", "application/merge-patch+json")];
    assert_eq!(send(&host, "PATCH", &format!("{EVENTS}/second"), &merge, counted).await.code, 200);
    clock.advance_to(start + TimeDelta::minutes(119));
    assert_eq!(names().await, ["second"]);
    clock.advance_to(start + TimeDelta::hours(3));
    assert_eq!(get(&host, &format!("{EVENTS}/second")).await.code, 404);
}

#[tokio::test]
async fn servers_behind_read_which_authorities_to_trust() {
    let foundation = foundation();
    let trust = |front_proxies: &str| host::Trust {
        clients: Arc::new(|cluster: &str| format!("authority of {cluster}")),
        front_proxies: front_proxies.to_owned(),
        front_proxy: "front".to_owned(),
    };
    let path = "/clusters/runtime/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    for start in ["first", "second"] {
        let parts = Parts { trust: Some(trust(start)), ..Parts::default() };
        let host = Host::with(Foundation { writer: start.len() as u64, ..foundation.clone() }, &Tasks::new(), parts);
        let data = get(&host, path).await.json()["data"].clone();
        assert_eq!(data["client-ca-file"], "authority of runtime");
        assert_eq!(data["requestheader-client-ca-file"], start, "the newest start's");
        assert_eq!(data["requestheader-allowed-names"], "[\"front\"]");
    }
}
