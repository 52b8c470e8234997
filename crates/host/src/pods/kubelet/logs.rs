// SPDX-License-Identifier: Apache-2.0
//! Output of processes, and `pods/log`.
//!
//! The store keeps the last [`LINES`] lines of each pod's present process and of the one before. The lines of a deleted
//! pod are kept until a pod of the same name is created.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use api::kubernetes::core::Pod;
use apimachinery::field::{FieldError, Path};
use apimachinery::schema::Schema;
use apimachinery::{GroupKind, Status};
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use clock::Clock;
use controller::ObjectKey;
use futures::future::BoxFuture;
use generic_apiserver::admission::Reads;
use generic_apiserver::subresource::{Facts, Subresource, SubresourceRequest};
use http::header::{CONTENT_TYPE, HeaderValue};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use parking_lot::{Mutex, MutexGuard};
use process::Response;
use process::transport::{BodyError, full};
use process::watch;

/// Maximum number of lines that are kept of a process.
const LINES: usize = 10_000;

/// A line of output.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    number: u64,
    /// Landscape time at which the line was received.
    at: DateTime<Utc>,
    wall: DateTime<Utc>,
    text: Arc<str>,
}

/// Output of one process.
#[derive(Debug, Default)]
struct Run {
    lines: VecDeque<Line>,
    count: u64,
    ended: bool,
}

#[derive(Debug)]
struct PodLogs {
    present: Run,
    previous: Option<Run>,
    /// Incremented with every line and every end.
    changed: watch::Sender<u64>,
}

/// Output of processes. Cheap to clone; clones share the store.
#[derive(Clone)]
pub struct Logs(Arc<Inner>);

struct Inner {
    clock: Clock,
    wall: Clock,
    pods: Mutex<BTreeMap<ObjectKey, PodLogs>>,
}

impl PodLogs {
    fn new() -> Self {
        Self { present: Run::default(), previous: None, changed: watch::Sender::new(0) }
    }
}

impl fmt::Debug for Logs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Logs")
    }
}

impl Logs {
    /// Creates an empty store; lines are stamped with the time of `clock`.
    pub fn new(clock: Clock) -> Self {
        Self(Arc::new(Inner { clock, wall: Clock::wall(), pods: Mutex::default() }))
    }

    /// Records the reason for which the end of the pod's former process was not observed.
    pub(super) fn lost(&self, pod: &ObjectKey, why: &str) {
        self.pods().entry(pod.clone()).or_insert_with(PodLogs::new);
        self.line(pod, why);
        self.end(pod, 0);
    }

    /// Begins the output of a process of the pod. `is_new`: it is the pod's first process.
    pub(super) fn begin(&self, pod: &ObjectKey, is_new: bool) {
        let mut pods = self.pods();
        let logs = pods.entry(pod.clone()).or_insert_with(PodLogs::new);
        let before = std::mem::take(&mut logs.present);
        logs.previous = (!is_new).then_some(before);
        logs.changed.send_modify(|count| *count += 1);
    }

    /// Appends a line of the pod's present process.
    pub(super) fn line(&self, pod: &ObjectKey, text: &str) {
        let (at, wall) = (self.0.clock.now(), self.0.wall.now());
        if let Some(logs) = self.pods().get_mut(pod) {
            let run = &mut logs.present;
            run.count += 1;
            run.lines.push_back(Line { number: run.count, at, wall, text: text.into() });
            if run.lines.len() > LINES {
                run.lines.pop_front();
            }
            logs.changed.send_modify(|count| *count += 1);
        }
    }

    /// True if the present process of the pod has printed anything.
    pub(super) fn has_lines(&self, pod: &ObjectKey) -> bool {
        self.pods().get(pod).is_some_and(|logs| logs.present.count > 0)
    }

    /// Marks the end of the pod's present process; returns its last lines, at most `count`.
    pub(super) fn end(&self, pod: &ObjectKey, count: usize) -> String {
        let mut pods = self.pods();
        let Some(logs) = pods.get_mut(pod) else { return String::new() };
        logs.present.ended = true;
        logs.changed.send_modify(|count| *count += 1);
        let skipped = logs.present.lines.len().saturating_sub(count);
        let last: Vec<&str> = logs.present.lines.iter().skip(skipped).map(|line| &*line.text).collect();
        last.join("\n")
    }

    /// Returns the lines of the pod's present or previous process, and a channel that reports further lines.
    fn read(&self, pod: &ObjectKey, previous: bool) -> Option<(Vec<Line>, watch::Receiver<u64>)> {
        let pods = self.pods();
        let logs = pods.get(pod)?;
        let run = if previous { logs.previous.as_ref()? } else { &logs.present };
        Some((run.lines.iter().cloned().collect(), logs.changed.subscribe()))
    }

    /// Returns the lines after a number, and true if the process has ended; `None`: another process has begun.
    fn after(&self, pod: &ObjectKey, number: u64) -> Option<(Vec<Line>, bool)> {
        let pods = self.pods();
        let run = &pods.get(pod)?.present;
        if run.count < number {
            // Another process has begun.
            return None;
        }
        Some((run.lines.iter().filter(|line| line.number > number).cloned().collect(), run.ended))
    }

    fn pods(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, PodLogs>> {
        self.0.pods.lock()
    }
}

/// Query parameters of a request for `pods/log`.
#[derive(Clone, Copy, Debug, Default)]
struct LogOptions {
    follow: bool,
    previous: bool,
    timestamps: bool,
    /// Adds wall time after the timestamp; upstream does not know this parameter.
    wall_timestamps: bool,
    tail: Option<usize>,
    since: Option<DateTime<Utc>>,
    bytes: Option<usize>,
}

impl LogOptions {
    /// Parses the parameters of a request for the lines of a pod.
    ///
    /// Source: k8s.io/kubernetes pkg/apis/core/validation (ValidatePodLogOptions), pkg/registry/core/pod/strategy.go.
    fn read(request: &SubresourceRequest, now: DateTime<Utc>) -> Result<Self, Status> {
        let mut wanted = Self::default();
        let (mut errors, mut since_seconds) = (Vec::new(), None);
        for (name, value) in &request.query {
            let flag = !matches!(value.as_str(), "false" | "0");
            let number = || {
                let wrong = || Status::bad_request(format!("strconv.ParseInt: parsing {value:?}: invalid syntax"));
                value.parse::<i64>().map_err(|_| wrong())
            };
            let mut at_least = |least: i64| {
                let number = number()?;
                if number < least {
                    let detail =
                        ["must be greater than or equal to 0", "must be greater than 0"][usize::from(least > 0)];
                    errors.push(FieldError::invalid(&Path::new(name.as_str()), number, detail));
                }
                Ok::<_, Status>(number.max(least))
            };
            match name.as_str() {
                "follow" => wanted.follow = flag,
                "previous" => wanted.previous = flag,
                "timestamps" => wanted.timestamps = flag,
                "wallTimestamps" => wanted.wall_timestamps = flag,
                "tailLines" => wanted.tail = usize::try_from(at_least(0)?).ok(),
                "limitBytes" => wanted.bytes = usize::try_from(at_least(1)?).ok(),
                "sinceSeconds" => since_seconds = Some(at_least(1)?),
                "sinceTime" => {
                    let form = "2006-01-02T15:04:05Z07:00";
                    let wrong = || format!("parsing time {value:?} as {form:?}: cannot parse {value:?} as \"2006\"");
                    wanted.since = Some(value.parse().map_err(|_| Status::bad_request(wrong()))?);
                }
                "container" => check_container(request, value)?,
                _ => {}
            }
        }
        if let Some(seconds) = since_seconds {
            if wanted.since.is_some() {
                let detail = "at most one of `sinceTime` or `sinceSeconds` may be specified";
                errors.push(FieldError::forbidden(&Path::new(""), detail));
            }
            wanted.since = TimeDelta::try_seconds(seconds).and_then(|length| now.checked_sub_signed(length));
        }
        if errors.is_empty() {
            return Ok(wanted);
        }
        let kind = GroupKind { group: String::new(), kind: "PodLogOptions".to_owned() };
        Err(Status::invalid(&kind, &request.name, &errors))
    }

    fn select(&self, mut lines: Vec<Line>) -> Vec<Line> {
        lines.retain(|line| self.since.is_none_or(|since| line.at >= since));
        if let Some(tail) = self.tail {
            lines.drain(..lines.len().saturating_sub(tail));
        }
        lines
    }

    fn text(&self, lines: &[Line]) -> String {
        let mut text = String::new();
        for line in lines {
            let times = [(self.timestamps, line.at), (self.wall_timestamps, line.wall)];
            for (_, time) in times.into_iter().filter(|(wanted, _)| *wanted) {
                text.push_str(&time.to_rfc3339_opts(chrono::SecondsFormat::Nanos, true));
                text.push(' ');
            }
            text.push_str(&line.text);
            text.push('\n');
        }
        text
    }
}

/// Returns an error for a container that the pod does not have.
fn check_container(request: &SubresourceRequest, wanted: &str) -> Result<(), Status> {
    let containers = ["containers", "initContainers"].map(|list| request.object["spec"][list].as_array());
    let mut names = containers.into_iter().flatten().flatten().map(|container| &container["name"]);
    if wanted.is_empty() || names.any(|name| name == wanted) {
        return Ok(());
    }
    Err(Status::bad_request(format!("container {wanted} is not valid for pod {}", request.name)))
}

/// Subresource `pods/log`.
#[derive(Clone, Debug)]
pub struct LogHook(pub Logs);

impl Subresource for LogHook {
    fn facts(&self) -> Facts {
        Facts { group: "", version: "v1", kind: "Pod", verbs: &["get"], schema: Pod::node }
    }

    fn answer<'a>(&'a self, request: SubresourceRequest, _: &Reads<'_>) -> BoxFuture<'a, Result<Response, Status>> {
        Box::pin(async move {
            let wanted = LogOptions::read(&request, self.0.0.clock.now())?;
            let pod = ObjectKey::new(&request.context.cluster, &request.namespace, &request.name);
            let Some((lines, changed)) = self.0.read(&pod, wanted.previous) else {
                if wanted.previous {
                    let container = request.object["spec"]["containers"][0]["name"].as_str().unwrap_or_default();
                    return Err(Status::bad_request(format!(
                        "previous terminated container {container:?} in pod {:?} not found",
                        request.name
                    )));
                }
                return Ok(plain(full("")));
            };
            let last = lines.last().map_or(0, |line| line.number);
            let mut text = wanted.text(&wanted.select(lines));
            if let Some(limit) = wanted.bytes {
                text.truncate(text.floor_char_boundary(limit));
            }
            if !wanted.follow || wanted.previous {
                return Ok(plain(full(text)));
            }
            let following = LogFollower { logs: self.0.clone(), pod, wanted, changed, last, first: Some(text) };
            let stream = futures::stream::unfold(following, |mut following| async move {
                let text = following.next().await?;
                Some((Ok::<_, BodyError>(Frame::data(Bytes::from(text))), following))
            });
            Ok(plain(StreamBody::new(stream).boxed_unsync()))
        })
    }
}

struct LogFollower {
    logs: Logs,
    pod: ObjectKey,
    wanted: LogOptions,
    changed: watch::Receiver<u64>,
    last: u64,
    first: Option<String>,
}

impl LogFollower {
    /// Returns the next piece; `None` when the process has ended and everything was read.
    async fn next(&mut self) -> Option<String> {
        if let Some(first) = self.first.take().filter(|text| !text.is_empty()) {
            return Some(first);
        }
        loop {
            let (lines, ended) = self.logs.after(&self.pod, self.last)?;
            if let Some(line) = lines.last() {
                self.last = line.number;
                return Some(self.wanted.text(&lines));
            }
            if ended {
                return None;
            }
            self.changed.changed().await.ok()?;
        }
    }
}

fn plain(body: process::Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}
