// SPDX-License-Identifier: Apache-2.0
//! Renewals of gardenlets' Leases, which are shown to clients and not stored.
//!
//! ```text
//! stored without renewTime   the owner runs: a read returns the current time as renewal time
//! stored with renewTime      the owner has ended (an annotation marks this): time of its last renewal
//! ```
//!
//! So a day in which a gardenlet runs costs no entry, and its end costs one. The code that starts and ends processes
//! reports the start of an owner ([`crate::Host::start_renewing`]) and its end ([`crate::Host::stop_renewing`]);
//! several processes may own one Lease while one of them replaces another.
//!
//! Writes of other clients leave this as it is ([`crate::admission`]).
//!
//! Components get the stored Lease, and so observe the end of an owner in their watches. All other clients read the
//! renewal, and each of their watches gets one every 10 seconds of wall time, or of landscape time while that runs
//! faster ([`renewed`]). It has the current landscape time, and the resource version up to which the watch has sent
//! everything, so that a watch from there misses nothing. It costs no log entry and no step of the clock. A watch from a
//! resource version gets the first one at once, since the client may have read the Lease long before: clients whose
//! watches are shorter than the period would get none otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};

use api::constants::{annotation, namespace};
use apimachinery::meta::MicroTime;
use bytes::Bytes;
use chrono::TimeDelta;
use clock::{Clock, Instant, Sleep, TimerClass};
use eventlog::Revision;
use generic_apiserver::EventForm;
use http::Method;
use http_body::Frame;
use http_body_util::BodyExt;
use parking_lot::{Mutex, MutexGuard};
use process::transport::{Body, BodyError, Decoded, full};
use process::{Response, Transport, TransportError};
use serde_json::{Value, json};

use crate::aggregation;

/// Path of the API group of Leases, relative to the cluster.
const GROUP: &str = "/apis/coordination.k8s.io/v1/";

/// Period of renewals in a watch, the same as that of gardenlets and kubelets.
const PERIOD: TimeDelta = TimeDelta::seconds(10);

/// Wall time between two checks of the clocks.
const TICK: TimeDelta = TimeDelta::seconds(1);

/// Path of the Leases of gardenlets.
static LEASES: LazyLock<String> =
    LazyLock::new(|| format!("/clusters/garden{GROUP}namespaces/{}/leases", namespace::SEED_LEASE));

/// Running owners of each Lease.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heartbeats(Arc<Mutex<BTreeMap<String, BTreeSet<String>>>>);

impl Heartbeats {
    fn owners(&self) -> MutexGuard<'_, BTreeMap<String, BTreeSet<String>>> {
        self.0.lock()
    }

    /// True if an owner of a Lease runs.
    pub(crate) fn has_owner(&self, lease: &str) -> bool {
        self.owners().get(lease).is_some_and(|owners| !owners.is_empty())
    }

    /// Adds a running owner.
    pub(crate) fn begin(&self, lease: &str, owner: &str) {
        self.owners().entry(lease.to_owned()).or_default().insert(owner.to_owned());
    }

    /// Removes an owner; returns true if none is left.
    pub(crate) fn end(&self, lease: &str, owner: &str) -> bool {
        let mut all = self.owners();
        let Some(owners) = all.get_mut(lease) else { return true };
        owners.remove(owner);
        owners.is_empty()
    }
}

/// True if a response for a path may contain such Leases.
pub(crate) fn is_shown_at(path: &str) -> bool {
    let rest = path.strip_prefix("/clusters/garden").or_else(|| path.strip_prefix("/clusters/*"));
    rest.is_some_and(|rest| rest.starts_with(GROUP))
}

/// Fills in the renewal of every Lease whose owner runs.
pub(crate) async fn show(response: Response, now: Instant) -> Response {
    let (mut parts, body) = response.into_parts();
    parts.extensions.remove::<Decoded>();
    let is_json = parts.headers.get(http::header::CONTENT_TYPE).is_some_and(|value| value == "application/json");
    if !parts.status.is_success() || !is_json {
        return Response::from_parts(parts, body);
    }
    let Ok(body) = body.collect().await else {
        let mut broken = Response::new(full(""));
        *broken.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
        return broken;
    };
    let body = body.to_bytes();
    let Ok(mut tree) = serde_json::from_slice::<Value>(&body) else { return Response::from_parts(parts, full(body)) };
    let changed = match tree["kind"].as_str() {
        Some("Lease") => fill(&mut tree, now),
        Some("LeaseList") => {
            let items = tree["items"].as_array_mut().into_iter().flatten();
            items.fold(false, |changed, item| fill(item, now) | changed)
        }
        // Rows have the whole object if the client requested it.
        Some("Table") => {
            let rows = tree["rows"].as_array_mut().into_iter().flatten();
            let objects = rows.filter_map(|row| row.get_mut("object"));
            objects.fold(false, |changed, object| fill(object, now) | changed)
        }
        _ => false,
    };
    Response::from_parts(parts, if changed { full(format!("{tree}\n")) } else { full(body) })
}

fn fill(lease: &mut Value, now: Instant) -> bool {
    let is_renewed = is_renewed(lease);
    if is_renewed {
        lease["spec"]["renewTime"] = json!(MicroTime(now));
    }
    is_renewed
}

/// True if the owner of a stored Lease runs.
fn is_renewed(lease: &Value) -> bool {
    let is_seeds = lease["metadata"]["namespace"] == namespace::SEED_LEASE;
    is_seeds && lease["spec"].is_object() && lease["spec"]["renewTime"].is_null()
}

fn name(lease: &Value) -> String {
    lease["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

/// Returns the Leases that a watch on a path with this query selects and whose owners run, by name. They are read after
/// the watch was opened, so that it misses no later change of them.
pub(crate) async fn running(
    transport: &Transport,
    path: &str,
    query: Option<&str>,
) -> Result<BTreeMap<String, Value>, TransportError> {
    let is_selector = |pair: &&str| pair.starts_with("fieldSelector=") || pair.starts_with("labelSelector=");
    let selectors: Vec<&str> = query.unwrap_or_default().split('&').filter(is_selector).collect();
    let path = path.replacen("/v1/watch/", "/v1/", 1);
    let tree = ask(transport, Method::GET, &format!("{path}?{}", selectors.join("&")), &Value::Null).await?;
    let items = match tree["kind"].as_str() {
        Some("Lease") => vec![tree],
        _ => tree["items"].as_array().cloned().unwrap_or_default(),
    };
    let running = items.into_iter().filter(is_renewed).map(|mut lease| {
        // Items of a list have neither field.
        lease["apiVersion"] = json!("coordination.k8s.io/v1");
        lease["kind"] = json!("Lease");
        (name(&lease), lease)
    });
    Ok(running.collect())
}

/// Body of a watch in JSON with the renewals of the Leases that it shows; `leases`: those at its beginning; `position`:
/// revision up to which the watch has sent entries of the log. `resumes`: the watch begins with what its client has not
/// read, so that a renewal is due. The events of `body` have whole Leases, those of the result the form, if there is one.
pub(crate) fn renewed(
    (body, form): (Body, Option<EventForm>),
    leases: BTreeMap<String, Value>,
    time: Clock,
    wall: Clock,
    resumes: bool,
    position: impl Fn() -> Revision + Send + 'static,
) -> Body {
    let body = aggregation::whole_lines(body);
    let sleep = wall.sleep(TICK, TimerClass::Calendar);
    let since = if resumes { PERIOD } else { TimeDelta::zero() };
    let sent = (wall.now() - since, time.now());
    Renewed { body, form, time, wall, position: Box::new(position), sleep, sent, leases }.boxed_unsync()
}

struct Renewed {
    body: Body,
    /// Form of the events for the client; `None`: whole objects.
    form: Option<EventForm>,
    time: Clock,
    wall: Clock,
    position: Box<dyn Fn() -> Revision + Send>,
    sleep: Sleep,
    /// Wall time and landscape time of the last renewals.
    sent: (Instant, Instant),
    /// Leases that the watch shows and whose owners run, by name.
    leases: BTreeMap<String, Value>,
}

impl Renewed {
    /// Inserts renewals into the lines of a watch.
    fn look_at(&mut self, lines: &Bytes) -> Bytes {
        let mut out = Vec::with_capacity(lines.len() + 64);
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            match serde_json::from_slice::<Value>(line) {
                Ok(mut tree) if tree["object"]["kind"] == "Lease" => {
                    let mut lease = tree["object"].take();
                    let name = name(&lease);
                    let is_renewed = fill(&mut lease, self.time.now());
                    if is_renewed && tree["type"] != "DELETED" {
                        if self.leases.is_empty() {
                            self.sent = (self.wall.now(), self.time.now());
                        }
                        self.leases.insert(name, lease.clone());
                    } else if tree["type"] != "BOOKMARK" {
                        self.leases.remove(&name);
                    }
                    out.extend_from_slice(self.event(&tree["type"], lease).as_bytes());
                }
                _ => out.extend_from_slice(line),
            }
        }
        out.into()
    }

    /// True if renewals are due.
    fn is_due(&self) -> bool {
        self.wall.now() - self.sent.0 >= PERIOD || self.time.now() - self.sent.1 >= PERIOD
    }

    fn renewals(&mut self, position: Revision) -> Bytes {
        self.sent = (self.wall.now(), self.time.now());
        let now = json!(MicroTime(self.sent.1));
        let mut out = String::new();
        let leases: Vec<Value> = self.leases.values().cloned().collect();
        for mut lease in leases {
            lease["spec"]["renewTime"] = now.clone();
            let stored = lease["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
            let version = position.0.max(stored.unwrap_or_default());
            lease["metadata"]["resourceVersion"] = json!(version.to_string());
            out.push_str(&self.event(&json!("MODIFIED"), lease));
        }
        out.into()
    }

    /// Formats an event of a Lease.
    fn event(&mut self, type_: &Value, lease: Value) -> String {
        let object = match &mut self.form {
            Some(form) => form.convert(type_.as_str().unwrap_or_default(), lease, self.time.now()),
            None => lease,
        };
        frame(type_, &object)
    }
}

/// Formats a watch event; field `type` is the first, as in all watches.
fn frame(type_: &Value, object: &Value) -> String {
    format!("{{\"type\":{type_},\"object\":{object}}}\n")
}

impl http_body::Body for Renewed {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        loop {
            // Must be read before the waiting lines: everything up to this revision is among them, or was sent before.
            let position = (this.position)();
            match Pin::new(&mut this.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    let frame = frame.map_data(|lines| this.look_at(&lines));
                    return Poll::Ready(Some(Ok(frame)));
                }
                Poll::Ready(end) => return Poll::Ready(end),
                Poll::Pending if !this.leases.is_empty() && this.is_due() => {
                    return Poll::Ready(Some(Ok(Frame::data(this.renewals(position)))));
                }
                Poll::Pending => match this.sleep.as_mut().poll(cx) {
                    Poll::Ready(()) => this.sleep = this.wall.sleep(TICK, TimerClass::Calendar),
                    Poll::Pending => return Poll::Pending,
                },
            }
        }
    }
}

/// Stores `at` as the last renewal of Leases that have none: of the named one, or of all; `None`: removes the renewal,
/// since their owner runs again.
pub(crate) async fn fix(transport: &Transport, name: Option<&str>, at: Option<Instant>) -> Result<(), TransportError> {
    let tree = ask(transport, Method::GET, &LEASES, &Value::Null).await?;
    for lease in tree["items"].as_array().into_iter().flatten() {
        let Some(lease_name) = lease["metadata"]["name"].as_str() else { continue };
        let is_fixed = !lease["spec"]["renewTime"].is_null();
        // An owner that starts may have removed the renewal itself, but not the mark.
        let is_marked = !lease["metadata"]["annotations"][annotation::OWNER_HAS_GONE].is_null();
        let is_due = if at.is_some() { !is_fixed } else { is_fixed || is_marked };
        if name.is_none_or(|name| name == lease_name) && is_due {
            let patch = json!({
                "metadata": { "annotations": { annotation::OWNER_HAS_GONE: at.map(|_| "true") } },
                "spec": { "renewTime": at.map(MicroTime) },
            });
            ask(transport, Method::PATCH, &format!("{}/{lease_name}", *LEASES), &patch).await?;
        }
    }
    Ok(())
}

/// Sends a request to the host's own server. An error response is ignored: the Lease no longer exists.
async fn ask(transport: &Transport, method: Method, uri: &str, body: &Value) -> Result<Value, TransportError> {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let request = http::Request::builder()
        .method(method)
        .uri(uri)
        .header(http::header::CONTENT_TYPE, "application/merge-patch+json")
        .body(full(text))
        .map_err(|error| TransportError::Broken(error.to_string()))?;
    let response = transport.send(request).await?;
    let body = response.into_body().collect().await.map_err(|error| TransportError::Broken(error.to_string()))?;
    Ok(serde_json::from_slice(&body.to_bytes()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use http_body::Body as _;

    use super::*;

    #[test]
    fn a_lease_exists_as_long_as_an_owner() {
        let heartbeats = Heartbeats::default();
        heartbeats.begin("local", "old");
        heartbeats.begin("local", "new");
        assert!(!heartbeats.end("local", "old"));
        assert!(heartbeats.end("local", "new"));
        assert!(heartbeats.end("other", "nobody"));
    }

    /// Reads the available frames.
    fn waiting(body: &mut Body) -> String {
        let mut text = String::new();
        let mut cx = Context::from_waker(std::task::Waker::noop());
        while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut *body).poll_frame(&mut cx) {
            text.push_str(&String::from_utf8_lossy(&frame.into_data().unwrap_or_default()));
        }
        text
    }

    fn shown(text: &str) -> Vec<(String, String, String)> {
        let event = |line: &str| {
            let event: Value = serde_json::from_str(line).expect("JSON");
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let object = &event["object"];
            let (version, renewed) = (&object["metadata"]["resourceVersion"], &object["spec"]["renewTime"]);
            (text(&event["type"]), text(version), text(renewed))
        };
        text.lines().map(event).collect()
    }

    #[test]
    fn a_watch_gets_renewals_while_the_owner_runs() {
        use clock::{SimulatedClock, TimeSource};
        use http_body_util::StreamBody;

        /// Advances time to an instant and fires the timers on the way.
        fn pass(clock: &SimulatedClock, to: Instant) {
            clock.advance_to(to);
            while clock.now() < to {
                clock.fire_next(None);
                clock.advance_to(to);
            }
        }

        let start: Instant = "2023-07-27T20:00:00Z".parse().expect("an instant");
        let (time, wall) = (SimulatedClock::new(start), SimulatedClock::new(start));
        let (lines, stored) = futures::channel::mpsc::unbounded::<Result<Frame<Bytes>, BodyError>>();
        let send = |type_: &str, version: &str, renewed: Value| {
            let metadata = json!({ "name": "a", "namespace": namespace::SEED_LEASE, "resourceVersion": version });
            let lease = json!({ "kind": "Lease", "metadata": metadata, "spec": { "renewTime": renewed } });
            lines.unbounded_send(Ok(Frame::data(frame(&json!(type_), &lease).into()))).expect("the body is read");
        };
        let body = StreamBody::new(stored).boxed_unsync();
        let (time_, wall_) = (Clock::new(time.clone()), Clock::new(wall.clone()));
        let mut body = renewed((body, None), BTreeMap::new(), time_, wall_, false, || Revision(9));
        let event = |type_: &str, version: &str, renewed: &str| {
            vec![(type_.to_owned(), version.to_owned(), renewed.to_owned())]
        };

        send("ADDED", "4", Value::Null);
        assert_eq!(shown(&waiting(&mut body)), event("ADDED", "4", "2023-07-27T20:00:00.000000Z"));
        pass(&wall, start + TimeDelta::seconds(9));
        assert_eq!(waiting(&mut body), "", "not yet");
        time.advance_to(start + TimeDelta::minutes(5));
        for seconds in [10, 20] {
            pass(&wall, start + TimeDelta::seconds(seconds));
            assert_eq!(shown(&waiting(&mut body)), event("MODIFIED", "9", "2023-07-27T20:05:00.000000Z"));
        }
        time.advance_to(start + TimeDelta::minutes(6));
        pass(&wall, start + TimeDelta::seconds(21));
        assert_eq!(shown(&waiting(&mut body)), event("MODIFIED", "9", "2023-07-27T20:06:00.000000Z"), "faster");
        send("MODIFIED", "12", json!("2023-07-27T20:04:00.000000Z"));
        assert_eq!(shown(&waiting(&mut body)), event("MODIFIED", "12", "2023-07-27T20:04:00.000000Z"));
        pass(&wall, start + TimeDelta::seconds(40));
        assert_eq!(waiting(&mut body), "", "its owner has gone");
        send("MODIFIED", "13", Value::Null);
        assert_eq!(shown(&waiting(&mut body)), event("MODIFIED", "13", "2023-07-27T20:06:00.000000Z"));
        pass(&wall, start + TimeDelta::seconds(60));
        assert_eq!(shown(&waiting(&mut body)), event("MODIFIED", "13", "2023-07-27T20:06:00.000000Z"));
        send("DELETED", "14", Value::Null);
        let _ = waiting(&mut body);
        pass(&wall, start + TimeDelta::seconds(90));
        assert_eq!(waiting(&mut body), "", "it was deleted");
    }

    #[test]
    fn leases_are_renewed_as_long_as_nothing_else_is_stored() {
        let now = "2023-07-27T20:00:00Z".parse().expect("an instant");
        for (namespace, renewed, expected) in [
            ("gardener-system-seed-lease", Value::Null, json!("2023-07-27T20:00:00.000000Z")),
            ("gardener-system-seed-lease", json!("2023-07-27T19:00:00.000000Z"), json!("2023-07-27T19:00:00.000000Z")),
            ("kube-system", Value::Null, Value::Null),
        ] {
            let mut lease = json!({ "metadata": { "namespace": namespace }, "spec": { "renewTime": renewed } });
            fill(&mut lease, now);
            assert_eq!(lease["spec"]["renewTime"], expected, "{namespace}");
        }
        for (path, expected) in [
            ("/clusters/garden/apis/coordination.k8s.io/v1/leases", true),
            ("/clusters/*/apis/coordination.k8s.io/v1/leases", true),
            ("/clusters/runtime/apis/coordination.k8s.io/v1/leases", false),
            ("/clusters/garden/api/v1/pods", false),
        ] {
            assert_eq!(is_shown_at(path), expected, "{path}");
        }
    }
}
