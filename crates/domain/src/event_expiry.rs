// SPDX-License-Identifier: Apache-2.0
//! How long Events are kept: for a time behind their last write.
//!
//! Unlike upstream, where the store forgets them at that instant, somebody has to look (see the host): so what is decided here
//! is which Events of some are over, and when the next one is.
//!
//! Source: k8s.io/kubernetes pkg/registry/core/event (TTLFunc), `--event-ttl` of kube-apiserver.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

/// How long an Event is kept unless somebody says otherwise.
pub const USUAL: TimeDelta = TimeDelta::hours(1);

/// What is over of some Events, and when the next one is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expiry {
    /// Namespaces and names of those that are over.
    pub over: Vec<(String, String)>,
    /// When the first of the others is; `None`: there is none.
    pub next: Option<DateTime<Utc>>,
}

/// Judges Events of `v1`; `ttl` is how long one is kept.
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

/// When an Event was written last, as far as it says; those who write one say when.
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
    fn an_event_is_kept_for_its_time_behind_its_last_write() {
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
