// SPDX-License-Identifier: Apache-2.0
//! Metrics of requests, under kube-apiserver's names.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use http::header::{CONTENT_TYPE, HeaderValue};
use parking_lot::{Mutex, MutexGuard};
use process::Response;
use process::transport::full;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// Upper ends of the buckets of durations, in seconds.
const BUCKETS: [f64; 12] = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 10.0, 60.0];

/// Labels of a request. The labels of a path that is not served name no resource: clients could invent any number.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Labels {
    pub(super) verb: String,
    pub(super) group: String,
    pub(super) version: String,
    pub(super) resource: String,
    pub(super) subresource: String,
}

impl Labels {
    fn pairs(&self) -> [(&'static str, &str); 5] {
        [
            ("verb", &self.verb),
            ("group", &self.group),
            ("version", &self.version),
            ("resource", &self.resource),
            ("subresource", &self.subresource),
        ]
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Durations {
    count: u64,
    sum: f64,
    /// Counts of each bucket, and of durations above the last.
    counts: [u64; BUCKETS.len() + 1],
}

#[derive(Debug, Default)]
struct Counts {
    requests: BTreeMap<(Labels, u16), u64>,
    durations: BTreeMap<Labels, Durations>,
    in_flight: u64,
    long_running: u64,
}

/// Counts of requests, and other registered metrics. Cheap to clone; clones share their counts.
#[derive(Clone)]
pub struct Metrics {
    counts: Arc<Mutex<Counts>>,
    registry: Arc<Mutex<Registry>>,
}

impl Default for Metrics {
    fn default() -> Self {
        let counts = Arc::new(Mutex::new(Counts::default()));
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Requests(counts.clone())));
        Self { counts, registry: Arc::new(Mutex::new(registry)) }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

/// Counter with labels. Cheap to clone; clones share their counts.
#[derive(Clone, Debug, Default)]
pub struct Count(Family<Vec<(&'static str, String)>, Counter>);

impl Count {
    /// Adds 1 to the counter with these labels.
    pub fn add(&self, labels: &[(&'static str, &str)]) {
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.0.get_or_create(&labels).inc();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl Metrics {
    /// Registers further metrics; the collector is called whenever metrics are read.
    pub fn register(&self, collector: impl Collector) {
        lock(&self.registry).register_collector(Box::new(collector));
    }

    /// Registers a counter, which is shown as `NAME_total`.
    pub fn count(&self, name: &str, help: &str) -> Count {
        let count = Count::default();
        lock(&self.registry).register(name, help, count.0.clone());
        count
    }

    /// Formats the metrics as OpenMetrics text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a text cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &lock(&self.registry));
        text
    }

    /// Returns the response to `/metrics`.
    pub(crate) fn answer(&self) -> Response {
        let mut response = Response::new(full(self.text()));
        let type_ = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, type_);
        response
    }

    /// Number of requests that are being answered, except long-running ones.
    pub(super) fn in_flight(&self) -> u64 {
        lock(&self.counts).in_flight
    }

    /// Counts a request until the returned value is dropped.
    pub(super) fn begin(&self) -> Running {
        lock(&self.counts).in_flight += 1;
        Running { counts: self.counts.clone(), long: false }
    }

    /// Number of long-running requests, such as watches.
    pub(super) fn long_running(&self) -> usize {
        usize::try_from(lock(&self.counts).long_running).unwrap_or(usize::MAX)
    }

    /// Counts a response; `seconds`: duration of a request that is not long-running.
    pub(super) fn end(&self, labels: Labels, code: u16, seconds: Option<f64>) {
        let mut counts = lock(&self.counts);
        if let Some(seconds) = seconds {
            let durations = counts.durations.entry(labels.clone()).or_default();
            durations.count += 1;
            durations.sum += seconds.max(0.0);
            let bucket = BUCKETS.iter().position(|end| seconds <= *end).unwrap_or(BUCKETS.len());
            durations.counts[bucket] += 1;
        }
        *counts.requests.entry((labels, code)).or_default() += 1;
    }
}

/// A request that is being answered, until it is dropped.
#[derive(Debug)]
pub(super) struct Running {
    counts: Arc<Mutex<Counts>>,
    long: bool,
}

impl Running {
    /// Marks the request as a long-running stream.
    pub(super) fn lasts(mut self) -> Self {
        if !self.long {
            let mut counts = lock(&self.counts);
            counts.in_flight -= 1;
            counts.long_running += 1;
            drop(counts);
            self.long = true;
        }
        self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut counts = lock(&self.counts);
        if self.long {
            counts.long_running -= 1;
        } else {
            counts.in_flight -= 1;
        }
    }
}

/// Writes the counts in the order of their labels.
#[derive(Debug)]
struct Requests(Arc<Mutex<Counts>>);

impl Collector for Requests {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let counts = lock(&self.0);
        let help = "Requests by what they asked for and HTTP code";
        let mut metric = encoder.encode_descriptor("apiserver_request", help, None, MetricType::Counter)?;
        for ((labels, code), count) in &counts.requests {
            let code = code.to_string();
            let mut pairs = labels.pairs().to_vec();
            pairs.push(("code", &code));
            metric.encode_family(&pairs)?.encode_counter::<NoLabelSet, _, f64>(count, None)?;
        }
        let (name, help) =
            ("apiserver_request_duration_seconds", "Seconds until requests were answered, watches apart");
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for (labels, durations) in &counts.durations {
            let ends = BUCKETS.into_iter().chain([f64::INFINITY]);
            let buckets: Vec<(f64, u64)> = ends.zip(durations.counts).collect();
            let pairs = labels.pairs();
            let mut family = metric.encode_family(&pairs)?;
            family.encode_histogram::<NoLabelSet>(durations.sum, durations.count, &buckets, None)?;
        }
        for (name, help, value) in [
            ("apiserver_current_inflight_requests", "Requests being answered, watches apart", counts.in_flight),
            ("apiserver_longrunning_requests", "Watches and other streams", counts.long_running),
        ] {
            encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_in_the_order_of_their_labels() {
        let metrics = Metrics::default();
        let labels = |verb: &str| Labels { verb: verb.to_owned(), resource: "shoots".to_owned(), ..Labels::default() };
        metrics.end(labels("watch"), 200, None);
        metrics.end(labels("get"), 404, Some(0.01));
        metrics.end(labels("get"), 200, Some(0.01));
        metrics.end(labels("get"), 200, Some(100.0));
        let running = metrics.begin().lasts();
        let text = metrics.text();
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("apiserver_request_total")).collect();
        assert_eq!(
            lines,
            [
                r#"apiserver_request_total{verb="get",group="",version="",resource="shoots",subresource="",code="200"} 2"#,
                r#"apiserver_request_total{verb="get",group="",version="",resource="shoots",subresource="",code="404"} 1"#,
                r#"apiserver_request_total{verb="watch",group="",version="",resource="shoots",subresource="",code="200"} 1"#,
            ]
        );
        let bucket = |end: &str| {
            let line = text.lines().find(|line| line.contains("_bucket") && line.contains(&format!("le=\"{end}\"")));
            line.and_then(|line| line.rsplit(' ').next()).map(ToOwned::to_owned)
        };
        assert_eq!(
            (bucket("0.005"), bucket("0.025"), bucket("+Inf")),
            (Some("0".into()), Some("2".into()), Some("3".into()))
        );
        assert!(text.contains("apiserver_longrunning_requests 1\n"));
        assert!(text.contains("apiserver_current_inflight_requests 0\n"));
        drop(running);
        assert_eq!(metrics.long_running(), 0);
    }
}
