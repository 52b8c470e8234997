// SPDX-License-Identifier: Apache-2.0
//! A host on a memory log, and raw requests into it.

use std::sync::Arc;

use bytes::Bytes;
use clock::{Clock, Random, SimulatedClock};
use eventlog::MemoryLog;
use generic_apiserver::Foundation;
use host::Host;
use http_body_util::BodyExt;
use process::transport::full;
use process::{Tasks, User};
use serde_json::{Value, json};

pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }

    /// Code, reason and message of a failure.
    #[track_caller]
    pub(crate) fn expect_failure(&self, code: u16, reason: &str, message: &str) {
        let status = self.json();
        let found = (self.code, status["reason"].as_str(), status["message"].as_str());
        assert_eq!(found, (code, Some(reason), Some(message)));
    }
}

/// A host with clusters `runtime`, `garden`, `seed--a`, `shoot--p--a` and `shoot--p--b`.
pub(crate) async fn host() -> Host {
    host_on(foundation()).await
}

/// An empty log and a clock that stands.
pub(crate) fn foundation() -> Foundation {
    let start = "2023-07-27T20:00:00Z".parse().expect("an instant");
    Foundation {
        log: Arc::new(MemoryLog::new()),
        clock: Clock::new(SimulatedClock::new(start)),
        wall: Clock::new(SimulatedClock::new(start)),
        random: Random::new(1),
        writer: 1,
        recent_bytes: generic_apiserver::RECENT_BYTES,
    }
}

/// Creates a host as [`host`]; clusters that exist in the log are not changed.
pub(crate) async fn host_on(foundation: Foundation) -> Host {
    let host = Host::new(foundation, &Tasks::new());
    for name in ["garden", "seed--a", "shoot--p--a", "shoot--p--b"] {
        let cluster = json!({"metadata": {"name": name}, "spec": {"kubernetesVersion": "1.27.1"}});
        let path = "/clusters/runtime/apis/terrarium.dev/v1alpha1/clusters";
        let code = send(&host, "POST", path, &[], cluster.to_string()).await.code;
        assert!(matches!(code, 201 | 409), "{code}");
    }
    host
}

pub(crate) async fn send(
    host: &Host,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Answer {
    let mut request = http::Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let user = User { name: "admin".into(), groups: vec!["system:masters".into()], component: None };
    let request = request.body(full(body.into())).expect("a request");
    let response = host.transport(user).send(request).await.expect("a response");
    let (parts, body) = response.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    Answer { code: parts.status.as_u16(), headers: parts.headers, body }
}

pub(crate) async fn get(host: &Host, path: &str) -> Answer {
    send(host, "GET", path, &[], "").await
}
