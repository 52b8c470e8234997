// SPDX-License-Identifier: Apache-2.0
//! Deletes expired Events with the next request from outside of the landscape for Events of their cluster, and
//! occasionally when new ones are created: no client ever reads an expired Event, and a landscape without clients needs
//! neither a timer nor a log entry for each. The rule is [`domain::event_expiry`]'s.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use domain::event_expiry::judge;
use futures::StreamExt;
use generic_apiserver::Server;
use http::Method;
use parking_lot::Mutex;
use process::transport::full;
use process::{Request, Transport, TransportError, User};

/// Number of new Events of a cluster after which expired ones are deleted.
const OFTEN: u32 = 256;
/// Maximum number of concurrent deletions.
const AT_ONCE: usize = 32;

/// Expiry state of the Events of a cluster.
#[derive(Clone, Copy, Debug, Default)]
struct Expiry {
    /// Earliest instant at which an Event may have expired; `None`: not known yet.
    next: Option<DateTime<Utc>>,
    /// Number of Events created since the last deletion.
    came: u32,
}

/// Deletes expired Events.
#[derive(Debug)]
pub(crate) struct EventExpiry {
    /// Lifetime of an Event; `None`: unlimited.
    ttl: Option<TimeDelta>,
    clusters: Mutex<BTreeMap<String, Expiry>>,
}

/// Deletion of the expired Events of a cluster. If it fails or is cancelled, the next request tries again.
struct Deletion<'a> {
    expiry: &'a EventExpiry,
    cluster: &'a str,
    is_done: bool,
}

impl Drop for Deletion<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.expiry.forget(self.cluster);
        }
    }
}

impl EventExpiry {
    pub(crate) fn new(ttl: Option<TimeDelta>) -> Self {
        Self { ttl, clusters: Mutex::default() }
    }

    /// Returns the cluster whose Events must be checked before a request is answered.
    pub(crate) fn concerned(&self, request: &Request, now: DateTime<Utc>) -> Option<String> {
        self.ttl?;
        let (cluster, is_collection) = cluster(request.uri().path())?;
        let mut clusters = self.clusters.lock();
        let known = clusters.entry(cluster.to_owned()).or_default();
        if *request.method() == Method::POST && is_collection {
            known.came += 1;
        }
        let is_outside = request.extensions().get::<User>().is_none_or(|user| user.component.is_none());
        let is_due = known.next.is_none_or(|next| next <= now);
        let looks = (is_outside && *request.method() != Method::POST) || known.came >= OFTEN;
        (is_due && looks).then(|| cluster.to_owned())
    }

    /// Deletes the expired Events of a cluster.
    ///
    /// # Errors
    /// The log cannot be reached.
    pub(crate) async fn expire(
        &self,
        cluster: &str,
        server: &Server,
        transport: &Transport,
        now: DateTime<Utc>,
    ) -> Result<(), TransportError> {
        let Some(ttl) = self.ttl else { return Ok(()) };
        let events = server.trees(cluster, "", "events").await;
        let expiry = judge(&events, ttl, now);
        // Events created from here on expire later than all existing ones.
        let next = expiry.next.or_else(|| now.checked_add_signed(ttl));
        // Concurrent requests do not delete the same Events.
        self.clusters.lock().insert(cluster.to_owned(), Expiry { next, came: 0 });
        let mut deletion = Deletion { expiry: self, cluster, is_done: false };
        let deletions = expiry.over.into_iter().map(|(namespace, name)| {
            let path = format!("/clusters/{cluster}/api/v1/namespaces/{namespace}/events/{name}");
            async move {
                let request = http::Request::delete(path).body(full(""));
                let request = request.map_err(|error| TransportError::Broken(error.to_string()))?;
                // Another request may have deleted it.
                transport.send(request).await.map(drop)
            }
        });
        let mut deletions = futures::stream::iter(deletions).buffer_unordered(AT_ONCE);
        while let Some(deleted) = deletions.next().await {
            deleted?;
        }
        deletion.is_done = true;
        Ok(())
    }

    /// Removes the state of a deleted cluster.
    pub(crate) fn forget(&self, cluster: &str) {
        self.clusters.lock().remove(cluster);
    }
}

/// True if a request may delete Events, including reads.
pub(crate) fn may_write(request: &Request) -> bool {
    cluster(request.uri().path()).is_some()
}

/// Returns the cluster of a path of Events, and true if the path addresses all Events of a namespace or cluster.
fn cluster(path: &str) -> Option<(&str, bool)> {
    // Most requests are for other resources.
    if !path.contains("/events") {
        return None;
    }
    let (cluster, rest) = path.strip_prefix("/clusters/")?.split_once('/')?;
    let rest = rest.strip_prefix("api/v1/").or_else(|| rest.strip_prefix("apis/events.k8s.io/v1/"))?;
    let segments: Vec<&str> = rest.split('/').filter(|segment| !segment.is_empty() && *segment != "watch").collect();
    let is_collection = match *segments.as_slice() {
        ["events"] | ["namespaces", _, "events"] => true,
        ["namespaces", _, "events", _] => false,
        _ => return None,
    };
    (cluster != "*").then_some((cluster, is_collection))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_events_are_recognized() {
        for (path, expected) in [
            ("/clusters/a/api/v1/events", Some(("a", true))),
            ("/clusters/a/api/v1/namespaces/n/events", Some(("a", true))),
            ("/clusters/a/api/v1/namespaces/n/events/e", Some(("a", false))),
            ("/clusters/a/apis/events.k8s.io/v1/namespaces/n/events", Some(("a", true))),
            ("/clusters/a/api/v1/namespaces/events", None),
            ("/clusters/a/apis/events.k8s.io/v1", None),
            ("/clusters/*/api/v1/events", None),
            ("/clusters/a/api/v1/pods", None),
        ] {
            assert_eq!(cluster(path), expected, "{path}");
        }
    }

    #[test]
    fn a_deletion_that_is_not_done_is_repeated() {
        let now = DateTime::UNIX_EPOCH;
        for is_done in [true, false] {
            let expiry = EventExpiry::new(Some(TimeDelta::hours(1)));
            let known = Expiry { next: Some(now + TimeDelta::hours(1)), came: 0 };
            expiry.clusters.lock().insert("a".to_owned(), known);
            drop(Deletion { expiry: &expiry, cluster: "a", is_done });
            let request = http::Request::get("/clusters/a/api/v1/events").body(full("")).expect("a request");
            assert_eq!(expiry.concerned(&request, now).is_some(), !is_done);
        }
    }
}
