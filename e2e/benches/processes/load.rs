// SPDX-License-Identifier: Apache-2.0
//! Many concurrent clients, and the latencies of their requests.

use std::future::Future;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _};

use crate::Failure;

/// Latencies of requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies {
    milliseconds: Vec<f64>,
    /// Wall time from the first request to the last answer.
    wall: Duration,
    /// Requests a second.
    pub(crate) per_second: f64,
    /// Median, in milliseconds.
    pub(crate) p50: f64,
    /// 99th percentile, in milliseconds.
    pub(crate) p99: f64,
}

impl Latencies {
    /// Calculates the latencies of requests that were made within a span of wall time.
    pub(crate) fn new(mut milliseconds: Vec<f64>, wall: Duration) -> Self {
        milliseconds.sort_by(f64::total_cmp);
        let per_second = milliseconds.len() as f64 / wall.as_secs_f64().max(f64::MIN_POSITIVE);
        let at = |percent: usize| {
            let last = milliseconds.len().saturating_sub(1);
            milliseconds.get((milliseconds.len() * percent / 100).min(last)).copied().unwrap_or(f64::NAN)
        };
        let (p50, p99) = (at(50), at(99));
        Self { milliseconds, wall, per_second, p50, p99 }
    }

    fn join(parts: Vec<Self>) -> Self {
        let wall = parts.iter().map(|part| part.wall).max().unwrap_or_default();
        Self::new(parts.into_iter().flat_map(|part| part.milliseconds).collect(), wall)
    }
}

/// Lets `clients` make one request after the other for a span of wall time; each request gets a unique name, also among runs with
/// another number of clients.
pub(crate) async fn run<F, R>(
    clients: usize,
    lasts: Duration,
    request: impl Fn(String) -> F,
) -> Result<Latencies, Failure>
where
    F: Future<Output = Result<R, Failure>>,
{
    let began = Instant::now();
    let request = &request;
    let one = |client: usize| async move {
        let mut milliseconds = Vec::new();
        while began.elapsed() < lasts {
            let asked = Instant::now();
            request(format!("{clients}c-{client}-{}", milliseconds.len())).await?;
            milliseconds.push(asked.elapsed().as_secs_f64() * 1e3);
        }
        Ok::<_, Failure>(Latencies::new(milliseconds, began.elapsed()))
    };
    Ok(Latencies::join(futures::future::try_join_all((0..clients).map(one)).await?))
}

/// Lets `clients` together make `count` requests, each with a number for its name.
pub(crate) async fn each<F>(clients: usize, count: usize, request: impl Fn(String) -> F) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>>,
{
    let requests = futures::stream::iter(0..count).map(|number| request(number.to_string()));
    requests.buffer_unordered(clients).try_collect().await
}
