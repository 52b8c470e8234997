// SPDX-License-Identifier: Apache-2.0
//! Read and write access to the log through the host.

use std::sync::Arc;

use bytes::Bytes;
use clock::{Clock, Random};
use eventlog::conformance::put;
use eventlog::{AppendError, EventLog, MemoryLog, ReadError};
use eventlog_remote::{Options, Remote};
use generic_apiserver::Foundation;
use host::Host;
use http_body_util::{BodyExt, Full};
use process::transport::full;
use process::{Tasks, User};

use crate::support;

fn host(log: &MemoryLog) -> Host {
    let foundation = Foundation {
        log: Arc::new(log.clone()),
        clock: Clock::wall(),
        wall: Clock::wall(),
        random: Random::new(1),
        writer: 99,
        recent_bytes: generic_apiserver::RECENT_BYTES,
    };
    let host = Host::new(foundation, &Tasks::new());
    host.serve_log(Arc::new(log.clone()));
    host
}

/// The log as seen by a user in these groups.
fn remote(host: &Host, groups: &[&str], is_component: bool) -> Remote {
    let component = is_component.then(|| ("toy".into(), "v1".into()));
    let groups = groups.iter().map(|group| Arc::from(*group)).collect();
    let transport = host.transport(User { name: "jane".into(), groups, component });
    let send = move |request: http::Request<Full<Bytes>>| {
        let (parts, body) = request.into_parts();
        let transport = transport.clone();
        async move {
            let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            transport.send(http::Request::from_parts(parts, full(bytes))).await
        }
    };
    Remote::new(send, Clock::wall(), Options { attempts: 1, ..Options::default() })
}

#[tokio::test]
async fn access_to_the_log_depends_on_component_and_group() {
    let log = MemoryLog::new();
    let host = host(&log);
    let apiserver = remote(&host, &["system:masters"], true);
    assert_eq!(apiserver.append(put("a", 0)).await.map(|done| done.revision), Ok(log.head()));
    let before = log.head();
    assert_eq!(apiserver.fetch_head().await, Ok(before));
    for (groups, is_component, reads) in
        [(vec!["system:masters"], false, true), (vec![], true, true), (vec!["developers"], false, false)]
    {
        let somebody = remote(&host, &groups, is_component);
        let head = somebody.fetch_head().await;
        assert_eq!(head, if reads { Ok(log.head()) } else { Err(ReadError::Closed) }, "{groups:?}");
        let entries = somebody.read(eventlog::Revision(0), log.head(), None).await;
        assert_eq!(entries.is_ok_and(|entries| !entries.is_empty()), reads, "{groups:?}");
        let append = somebody.append(put("b", 0)).await;
        assert!(matches!(append, Err(AppendError::Unknown(_))), "{groups:?}: {append:?}");
    }
    let answer = support::send(&host, "POST", "/log/v1/append", &[], "").await;
    assert_eq!((answer.code, &*answer.body), (403, &b"only an API server of the landscape may write to the log\n"[..]));
    assert_eq!(log.head(), before);
    assert_eq!(remote(&host, &[], true).compact(before).await, Err(ReadError::Closed), "components forget nothing");
    assert_eq!(remote(&host, &["system:masters"], false).compact(before).await, Ok(()));
    assert_eq!(log.compacted(), before);
}
