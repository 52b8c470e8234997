// SPDX-License-Identifier: Apache-2.0
//! Expectations that end an advance.
//!
//! The watches of the advance tell that an object in question has changed; the expectations are then judged by reads that
//! take no part in landscape time, before the report that lets time move on.

use std::borrow::Cow;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use controller::{Api, ApiResource, ListOptions, PartialObject, Reflector};
use parking_lot::Mutex;
use process::Context;

use crate::failure::Failure;
use crate::live::client::Client;
use ops::expectation::{Expectation, Times, WatchScope};
use ops::names::clusters::NamedCluster;

/// Expectations all of which must hold.
#[derive(Debug)]
pub(super) struct ExpectationGoal {
    expectations: Vec<Expectation>,
    /// Instant at which the landscape began.
    start: DateTime<Utc>,
    judged: Mutex<Judgement>,
}

#[derive(Debug, Default)]
struct Judgement {
    /// Number of changes of the objects in question.
    changes: u64,
    /// Number of changes at the last judgement; `None`: not judged yet.
    at: Option<u64>,
    /// Differences of each expectation at the last judgement.
    differences: Vec<Vec<String>>,
}

impl ExpectationGoal {
    /// Creates them. `start`: instant at which the landscape began.
    pub(super) fn new(expectations: Vec<Expectation>, start: DateTime<Utc>) -> Self {
        Self { expectations, start, judged: Mutex::default() }
    }

    /// The expectations, each with its differences at the last judgement.
    pub(super) fn last(&self) -> Vec<(&Expectation, Vec<String>)> {
        let judged = self.judged.lock();
        self.expectations.iter().zip(judged.differences.iter().cloned()).collect()
    }

    /// Formats the goal.
    pub(super) fn goal(&self) -> String {
        match &self.expectations[..] {
            [one] => format!("the expectation about {} holds", one.subject()),
            several => format!("{} expectations hold", several.len()),
        }
    }

    /// Failure at the end of the time.
    pub(super) fn failure(&self, end: DateTime<Utc>) -> Failure {
        let end = super::time(end);
        Failure::Failed(match self.last().iter().filter(|(_, differences)| !differences.is_empty()).count() {
            _ if self.expectations.len() == 1 => format!("the expectation does not hold by {end}"),
            1 => format!("1 of {} expectations does not hold by {end}", self.expectations.len()),
            broken => format!("{broken} of {} expectations do not hold by {end}", self.expectations.len()),
        })
    }

    /// Watches the objects in question, as a participant in landscape time.
    pub(super) async fn watch(self: &Arc<Self>, client: &Client, context: &Context) {
        for WatchScope { cluster, row, namespace, fields, labels } in
            self.expectations.iter().filter_map(Expectation::watched)
        {
            let cluster = match cluster {
                None => "*".to_owned(),
                // If the Projects cannot be read, the name may nevertheless be the usual one.
                Some(NamedCluster::Shoot(shoot)) => {
                    shoot.usual(&client.transport()).await.unwrap_or(shoot).cluster().logical()
                }
                Some(other) => other.logical(),
            };
            let resource = ApiResource {
                group: Cow::Borrowed(row.group),
                version: Cow::Borrowed(row.version),
                plural: Cow::Borrowed(row.plural),
                namespaced: row.namespaced,
            };
            let api = Api::<PartialObject>::of(context, &cluster, resource);
            let api = namespace.map_or_else(|| api.clone(), |namespace| api.within(&cluster, &namespace));
            let awaited = self.clone();
            Reflector::new(api, ListOptions { label_selector: labels, field_selector: fields })
                .on_change(move |_| awaited.judged.lock().changes += 1)
                .start();
        }
    }

    /// True if the last judgement may be outdated.
    pub(super) fn is_due(&self) -> bool {
        let judged = self.judged.lock();
        judged.at != Some(judged.changes) || self.expectations.iter().any(Expectation::depends_on_time)
    }

    /// Judges all expectations; true if they hold. An expectation whose objects cannot be read does not hold.
    pub(super) async fn judge(&self, client: &Client, now: DateTime<Utc>) -> bool {
        let changes = self.judged.lock().changes;
        let (times, transport) = (Times { now, start: self.start }, client.transport());
        let mut differences = Vec::new();
        for expectation in &self.expectations {
            differences.push(match expectation.look(&transport, None).await {
                Ok(seen) => expectation.differences(&seen, times),
                Err(error) => vec![error.to_string()],
            });
        }
        let holds = differences.iter().all(Vec::is_empty);
        let mut judged = self.judged.lock();
        (judged.at, judged.differences) = (Some(changes), differences);
        holds
    }
}
