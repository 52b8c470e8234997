// SPDX-License-Identifier: Apache-2.0
//! Expiry of Events: each is kept for a duration after its last write.
//!
//! Unlike upstream, where the store removes expired Events at that instant, the host has to check them: this module
//! returns the expired ones among some Events, and the instant of the next expiry.
//!
//! Source: k8s.io/kubernetes pkg/registry/core/event (TTLFunc), `--event-ttl` of kube-apiserver.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

/// Default duration for which an Event is kept.
pub const USUAL: TimeDelta = TimeDelta::hours(1);

/// Expired Events, and the instant of the next expiry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expiry {
    /// Namespaces and names of expired Events.
    pub over: Vec<(String, String)>,
    /// Instant of the next expiry; `None`: no further Event expires.
    pub next: Option<DateTime<Utc>>,
}

/// Determines expired Events of `v1`; `ttl`: duration for which an Event is kept.
pub fn judge<'a>(events: impl IntoIterator<Item = &'a Value>, ttl: TimeDelta, now: DateTime<Utc>) -> Expiry {
    let mut expiry = Expiry::default();
    for event in events {
        let Some(end) = written(event).and_then(|written| written.checked_add_signed(ttl)) else { continue };
        if end <= now {
            let text = |name: &str| event["metadata"][name].as_str().unwrap_or_default().to_owned();
            expiry.over.push((text("namespace"), text("name")));
        } else if expiry.next.is_none_or(|next| end < next) {
            expiry.next = Some(end);
        }
    }
    expiry
}

/// Returns the instant of an Event's last write, as recorded in its own fields.
fn written(event: &Value) -> Option<DateTime<Utc>> {
    let times = [
        &event["metadata"]["creationTimestamp"],
        &event["lastTimestamp"],
        &event["eventTime"],
        &event["series"]["lastObservedTime"],
    ];
    let instants = times.into_iter().filter_map(Value::as_str).filter_map(|text| text.parse::<DateTime<Utc>>().ok());
    instants.max()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().expect("an instant")
    }

    #[test]
    fn an_event_expires_after_its_last_write() {
        let event = |name: &str, fields: Value| {
            let mut tree = fields;
            tree["metadata"]["name"] = json!(name);
            tree["metadata"]["namespace"] = json!("n");
            tree["metadata"]["creationTimestamp"] = json!("2025-06-02T12:00:00Z");
            tree
        };
        let events = [
            event("once", json!({})),
            event("counted", json!({"lastTimestamp": "2025-06-02T12:30:00Z"})),
            event("new", json!({"eventTime": "2025-06-02T12:00:00.5Z"})),
            event("series", json!({"series": {"count": 2, "lastObservedTime": "2025-06-02T12:40:00.000001Z"}})),
            json!({"metadata": {"name": "timeless"}}),
        ];
        let judged = |now: &str| judge(&events, USUAL, at(now));
        let before = judged("2025-06-02T12:59:59Z");
        assert_eq!((before.over.len(), before.next), (0, Some(at("2025-06-02T13:00:00Z"))));
        let first = judged("2025-06-02T13:00:00Z");
        assert_eq!(first.over, [("n".to_owned(), "once".to_owned())]);
        assert_eq!(first.next, Some(at("2025-06-02T13:00:00.5Z")));
        let last = judged("2025-06-02T14:00:00Z");
        assert_eq!((last.over.len(), last.next), (4, None), "what says no time stays");
        assert_eq!(judge(&events, TimeDelta::MAX, at("2025-06-02T14:00:00Z")), Expiry::default());
    }
}
