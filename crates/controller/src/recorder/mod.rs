// SPDX-License-Identifier: Apache-2.0
//! Events about objects, in one of two forms: Events of `core/v1`, counted and aggregated as client-go does, or Events of
//! `events.k8s.io/v1` with an action and [`series`].
//!
//! Source: client-go tools/record/{event,events_cache}.go, tools/events/event_recorder.go.

mod series;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use apimachinery::fnv::fnv64;
use apimachinery::meta::{MicroTime, Time};
use chrono::{DateTime, TimeDelta, Utc};
use futures::future::BoxFuture;
use http::Method;
use parking_lot::{Mutex, MutexGuard};
use process::Context;
use serde_json::{Value, json};

use crate::error::Error;
use crate::request;

/// Type of an Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventType {
    /// Event of type `Normal`.
    Normal,
    /// Event of type `Warning`.
    Warning,
}

impl EventType {
    /// Value of the field `type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Action that a controller took or that failed, in Events of `events.k8s.io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Action `Reconcile`.
    Reconcile,
    /// Action `Delete`.
    Delete,
    /// Action `Migrate`.
    Migrate,
}

impl Action {
    /// Value of the field `action`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reconcile => "Reconcile",
            Self::Delete => "Delete",
            Self::Migrate => "Migrate",
        }
    }
}

/// Object of an Event.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// API version, `group/version`.
    pub api_version: String,
    /// Kind of the object: `Shoot`.
    pub kind: String,
    /// Namespace of the object; empty if it has none.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Uid of the object.
    pub uid: String,
    /// Resource version.
    pub resource_version: String,
}

impl ObjectRef {
    /// Creates a reference to a typed object.
    pub fn of<K: apimachinery::Resource>(object: &K) -> Self {
        let metadata = object.metadata();
        Self {
            api_version: K::api_version(),
            kind: K::KIND.to_owned(),
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone(),
            uid: metadata.uid.clone(),
            resource_version: metadata.resource_version.clone(),
        }
    }

    /// Namespace of Events about the object: `default` for cluster-scoped objects.
    fn event_namespace(&self) -> &str {
        if self.namespace.is_empty() { "default" } else { &self.namespace }
    }

    /// Value of the field `involvedObject` or `regarding`; empty fields are omitted.
    fn to_tree(&self) -> Value {
        let fields = [
            ("kind", &self.kind),
            ("namespace", &self.namespace),
            ("name", &self.name),
            ("uid", &self.uid),
            ("apiVersion", &self.api_version),
            ("resourceVersion", &self.resource_version),
        ];
        fields.into_iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| (name, value.as_str())).collect()
    }
}

/// Events that differ in their message only, within this time of each other …
const AGGREGATION_INTERVAL: TimeDelta = TimeDelta::seconds(600);
/// … are written as one from this number of messages on.
const AGGREGATION_LIMIT: usize = 10;
/// Maximum number of Events of one source about one object that are written at once …
const BURST: f64 = 25.0;
/// … and number of seconds until the next one is allowed.
const SECONDS_PER_EVENT: f64 = 300.0;
/// Maximum number of Events that a recorder keeps for aggregation.
const MEMORY: usize = 4096;

/// All properties of an Event except its message and the version of the object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    about: ObjectRef,
    type_: EventType,
    reason: String,
}

#[derive(Debug)]
struct Similar {
    messages: BTreeSet<String>,
    last: DateTime<Utc>,
}

#[derive(Debug)]
struct Allowance {
    tokens: f64,
    last: DateTime<Utc>,
}

#[derive(Clone, Debug)]
struct Observed {
    name: String,
    count: u32,
    first: DateTime<Utc>,
}

/// Written Events, in the order in which they are dropped.
#[derive(Debug)]
struct Memory<Key, Value> {
    values: BTreeMap<Key, Value>,
    order: VecDeque<Key>,
}

impl<Key, Value> Default for Memory<Key, Value> {
    fn default() -> Self {
        Self { values: BTreeMap::new(), order: VecDeque::new() }
    }
}

impl<Key: Ord + Clone, Value> Memory<Key, Value> {
    fn entry(&mut self, key: &Key, make: impl FnOnce() -> Value) -> &mut Value {
        if !self.values.contains_key(key) {
            self.order.push_back(key.clone());
            if self.order.len() > MEMORY
                && let Some(oldest) = self.order.pop_front()
            {
                self.values.remove(&oldest);
            }
        }
        self.values.entry(key.clone()).or_insert_with(make)
    }
}

/// Memory of a recorder: the rules of client-go's correlator, without requests.
#[derive(Debug, Default)]
struct Correlator {
    similar: Memory<Kind, Similar>,
    allowances: Memory<ObjectRef, Allowance>,
    observed: Memory<(Kind, String), Observed>,
    last_name: i64,
}

/// An Event to be written.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    name: String,
    message: String,
    count: u32,
    first: DateTime<Utc>,
}

impl Correlator {
    /// Returns the Event to be written; `None` if there are too many about the object.
    fn correlate(&mut self, kind: &Kind, message: &str, now: DateTime<Utc>, jitter: i64) -> Option<Entry> {
        let similar = self.similar.entry(kind, || Similar { messages: BTreeSet::new(), last: now });
        if now - similar.last > AGGREGATION_INTERVAL {
            similar.messages.clear();
        }
        similar.last = now;
        similar.messages.insert(message.to_owned());
        let aggregated = similar.messages.len() >= AGGREGATION_LIMIT;
        if aggregated {
            similar.messages.pop_first();
        }
        let (key, message) = if aggregated {
            ((kind.clone(), String::new()), format!("(combined from similar events): {message}"))
        } else {
            ((kind.clone(), message.to_owned()), message.to_owned())
        };

        let nanoseconds = now.timestamp_nanos_opt().unwrap_or_default().saturating_add(jitter).max(self.last_name + 1);
        let mut is_new = false;
        let observed = self.observed.entry(&key, || {
            is_new = true;
            Observed { name: format!("{}.{nanoseconds:x}", kind.about.name), count: 0, first: now }
        });
        observed.count += 1;
        let entry = Entry { name: observed.name.clone(), message, count: observed.count, first: observed.first };
        if is_new {
            self.last_name = nanoseconds;
        }

        // Last, so that dropped Events count for the next one that is written.
        let allowance = self.allowances.entry(&kind.about, || Allowance { tokens: BURST, last: now });
        let elapsed = (now - allowance.last).num_milliseconds() as f64 / 1000.0;
        allowance.tokens = (allowance.tokens + elapsed / SECONDS_PER_EVENT).min(BURST);
        allowance.last = now;
        if allowance.tokens < 1.0 {
            return None;
        }
        allowance.tokens -= 1.0;
        Some(entry)
    }
}

/// Writes Events of one component into one cluster. Cheap to clone; clones share their counts.
#[derive(Clone, Debug)]
pub struct Recorder {
    context: Context,
    cluster: Arc<str>,
    source: Arc<str>,
    correlator: Arc<Mutex<Correlator>>,
    /// Series of Events with actions; `None`: the recorder writes Events of `core/v1` only.
    series: Option<Arc<Mutex<series::Cache>>>,
}

impl Recorder {
    /// Creates a recorder for `cluster`; the component's name becomes the Event's source.
    pub fn new(context: &Context, cluster: &str) -> Self {
        Self::named(context, cluster, &context.identity.component)
    }

    /// Creates a recorder with another source than the component's name: a controller's, `shoot-scheduler`.
    pub fn named(context: &Context, cluster: &str, source: &str) -> Self {
        Self {
            context: context.clone(),
            cluster: cluster.into(),
            source: source.into(),
            correlator: Arc::default(),
            series: None,
        }
    }

    /// Selects the form of Events that have an action: `events.k8s.io/v1`, or `core/v1` without the action.
    #[must_use]
    pub fn with_actions(self, has_actions: bool) -> Self {
        Self { series: has_actions.then(Arc::default), ..self }
    }

    /// Writes an Event with an action. In the form of `events.k8s.io/v1` an Event that differs only in its message from
    /// one of the last 6 minutes only increments the count of that one's series.
    pub fn publish_action<'a>(
        &'a self,
        about: &'a ObjectRef,
        type_: EventType,
        reason: &'a str,
        action: Action,
        message: &'a str,
    ) -> BoxFuture<'a, Result<(), Error>> {
        let Some(series) = &self.series else { return self.publish(about, type_, reason, message) };
        Box::pin(async move {
            let now = self.context.clock.now();
            trace(about, type_, reason, message);
            let key = series::Key { about: about.clone(), type_, reason: reason.to_owned(), action };
            let entry = series.lock().observe(&key, message, now, self.jitter(about));
            if entry.count > 1 {
                let patch = json!({"series": series_tree(&entry)});
                match self.patch(format!("{}/{}", self.series_path(about), entry.name), &patch).await {
                    Err(error) if error.is_not_found() => {}
                    result => return result,
                }
            }
            let mut event = json!({
                "apiVersion": "events.k8s.io/v1",
                "kind": "Event",
                "metadata": {"name": entry.name, "namespace": about.event_namespace()},
                "eventTime": MicroTime(entry.first),
                "reportingController": &*self.source,
                "reportingInstance": format!("{}-{}", self.source, self.context.identity.instance),
                "action": action.as_str(),
                "reason": reason,
                "regarding": about.to_tree(),
                "note": entry.note,
                "type": type_.as_str(),
            });
            if entry.count > 1 {
                event["series"] = series_tree(&entry);
            }
            self.post(self.series_path(about), &event).await
        })
    }

    /// Writes an Event, or increments the count of an equal one. After 10 that differ only in their messages within 10
    /// minutes they are counted together; of more than 25 at once about one object the rest is dropped.
    pub fn publish<'a>(
        &'a self,
        about: &'a ObjectRef,
        type_: EventType,
        reason: &'a str,
        message: &'a str,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let now = self.context.clock.now();
            trace(about, type_, reason, message);
            // The version of the object does not distinguish Events.
            let identity = ObjectRef { resource_version: String::new(), ..about.clone() };
            let kind = Kind { about: identity, type_, reason: reason.to_owned() };
            let jitter = self.jitter(about);
            let Some(entry) = self.lock().correlate(&kind, message, now, jitter) else { return Ok(()) };
            if entry.count > 1 {
                match self.raise(about, &entry, now).await {
                    Err(error) if error.is_not_found() => {}
                    result => return result,
                }
            }
            self.create(about, type_, reason, entry, now).await
        })
    }

    async fn raise(&self, about: &ObjectRef, entry: &Entry, now: DateTime<Utc>) -> Result<(), Error> {
        let patch = json!({"count": entry.count, "lastTimestamp": Time::from(now), "message": entry.message});
        self.patch(format!("{}/{}", self.path(about), entry.name), &patch).await
    }

    async fn create(
        &self,
        about: &ObjectRef,
        type_: EventType,
        reason: &str,
        entry: Entry,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        let event = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": entry.name, "namespace": about.event_namespace()},
            "involvedObject": about.to_tree(),
            "reason": reason,
            "message": entry.message,
            "source": {"component": &*self.source},
            "firstTimestamp": Time::from(entry.first),
            "lastTimestamp": Time::from(now),
            "count": entry.count,
            "type": type_.as_str(),
            "eventTime": null,
            "reportingComponent": &*self.source,
            "reportingInstance": "",
        });
        self.post(self.path(about), &event).await
    }

    /// Nanoseconds that give Events distinct names when several sources write at one instant about one object, as with
    /// real clocks.
    fn jitter(&self, about: &ObjectRef) -> i64 {
        let key = format!("{}/{}/{}", self.cluster, about.event_namespace(), about.name);
        self.context.random.below(1_000_000, "event-name", &key, fnv64(self.source.bytes())) as i64
    }

    async fn patch(&self, path: String, patch: &Value) -> Result<(), Error> {
        let body = ("application/strategic-merge-patch+json", patch.to_string().into_bytes());
        request::send(&self.context, Method::PATCH, path, Some(body)).await.map(drop)
    }

    async fn post(&self, path: String, event: &Value) -> Result<(), Error> {
        let body = ("application/json", event.to_string().into_bytes());
        match request::send(&self.context, Method::POST, path, Some(body)).await {
            // As in client-go, an Event that exists, or whose namespace is terminating, is not retried.
            Err(error) if error.is_already_exists() || is_terminating(&error) => Ok(()),
            result => result.map(drop),
        }
    }

    fn path(&self, about: &ObjectRef) -> String {
        format!("/clusters/{}/api/v1/namespaces/{}/events", self.cluster, about.event_namespace())
    }

    fn series_path(&self, about: &ObjectRef) -> String {
        format!("/clusters/{}/apis/events.k8s.io/v1/namespaces/{}/events", self.cluster, about.event_namespace())
    }

    fn lock(&self) -> MutexGuard<'_, Correlator> {
        self.correlator.lock()
    }
}

fn trace(about: &ObjectRef, type_: EventType, reason: &str, message: &str) {
    let (kind, namespace, name, type_) = (&*about.kind, &*about.namespace, &*about.name, type_.as_str());
    tracing::info!(kind, namespace, name, "type" = type_, reason, note = message, "Event occurred");
}

/// Value of the field `series`.
fn series_tree(entry: &series::Entry) -> Value {
    json!({"count": entry.count, "lastObservedTime": MicroTime(entry.last)})
}

fn is_terminating(error: &Error) -> bool {
    let details = error.status().and_then(|status| status.details.as_ref());
    details.is_some_and(|details| details.causes.iter().any(|cause| cause.reason == "NamespaceTerminating"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_690_488_000;

    fn instant(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(NOW + seconds, 0).expect("a valid instant")
    }

    fn kind(reason: &str) -> Kind {
        let about = ObjectRef { name: "local".to_owned(), ..ObjectRef::default() };
        Kind { about, type_: EventType::Normal, reason: reason.to_owned() }
    }

    fn written(correlator: &mut Correlator, reason: &str, message: &str, at: i64) -> Option<(String, String, u32)> {
        let entry = correlator.correlate(&kind(reason), message, instant(at), 0)?;
        Some((entry.name, entry.message, entry.count))
    }

    #[track_caller]
    fn check(correlator: &mut Correlator, message: &str, at: i64, expected: (&str, &str, u32)) {
        let (name, message, count) = written(correlator, "R", message, at).expect("the Event is written");
        assert_eq!((name.as_str(), message.as_str(), count), expected);
    }

    #[test]
    fn an_equal_event_raises_the_count_of_the_first() {
        let mut correlator = Correlator::default();
        check(&mut correlator, "a", 0, ("local.1775d1e1210f8000", "a", 1));
        check(&mut correlator, "a", 1, ("local.1775d1e1210f8000", "a", 2));
        check(&mut correlator, "b", 1, ("local.1775d1e15caa4a00", "b", 1));
        check(&mut correlator, "a", 7200, ("local.1775d1e1210f8000", "a", 3));
    }

    #[test]
    fn events_of_one_instant_have_different_names() {
        let mut correlator = Correlator::default();
        check(&mut correlator, "a", 0, ("local.1775d1e1210f8000", "a", 1));
        check(&mut correlator, "b", 0, ("local.1775d1e1210f8001", "b", 1));
        check(&mut correlator, "c", 0, ("local.1775d1e1210f8002", "c", 1));
    }

    #[test]
    fn ten_messages_in_ten_minutes_are_counted_together() {
        let mut correlator = Correlator::default();
        for number in 1..=9 {
            let (_, message, count) = written(&mut correlator, "R", &format!("m{number}"), number).expect("written");
            assert_eq!((message, count), (format!("m{number}"), 1));
        }
        let (name, message, count) = written(&mut correlator, "R", "m10", 10).expect("written");
        assert_eq!((message.as_str(), count), ("(combined from similar events): m10", 1));
        let again = written(&mut correlator, "R", "m11", 11);
        assert_eq!(again, Some((name, "(combined from similar events): m11".to_owned(), 2)));
        let other = written(&mut correlator, "other", "m12", 12).expect("written");
        assert_eq!((other.1.as_str(), other.2), ("m12", 1));
        let later = written(&mut correlator, "R", "m13", 11 + 601).expect("written");
        assert_eq!((later.1.as_str(), later.2), ("m13", 1));
    }

    #[test]
    fn bursts_are_25_events_and_then_one_in_5_minutes() {
        let mut correlator = Correlator::default();
        let burst = (0..40).filter(|_| written(&mut correlator, "R", "a", 0).is_some()).count();
        assert_eq!(burst, 25);
        assert!(written(&mut correlator, "R", "a", 299).is_none());
        let next = written(&mut correlator, "R", "a", 300).expect("written");
        assert_eq!(next.2, 42, "those that were dropped count");
        assert!(written(&mut correlator, "R", "a", 301).is_none());
    }
}
