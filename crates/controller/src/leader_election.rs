// SPDX-License-Identifier: Apache-2.0
//! Leader election by a Lease, on wall time.
//!
//! A Lease is renewed on the wall clock only, so landscape time never drives it and a simulation writes it once.

use apimachinery::meta::MicroTime;
use chrono::{DateTime, TimeDelta, Utc};
use clock::TimerClass;
use futures::future::BoxFuture;
use http::Method;
use process::Context;
use serde_json::{Value, json};

use crate::api::Error;
use crate::{decode, request};

/// Which Lease, and how fast; the defaults are client-go's.
#[derive(Clone, Debug)]
pub struct Options {
    /// Logical cluster.
    pub cluster: String,
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease.
    pub name: String,
    /// How long a Lease counts without being renewed.
    pub lease_duration: TimeDelta,
    /// How long the leader tries to renew before it gives up.
    pub renew_deadline: TimeDelta,
    /// Time between two tries.
    pub retry_period: TimeDelta,
}

impl Options {
    /// 15 s, 10 s and 2 s.
    pub fn new(cluster: &str, namespace: &str, name: &str) -> Self {
        Self {
            cluster: cluster.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            lease_duration: TimeDelta::seconds(15),
            renew_deadline: TimeDelta::seconds(10),
            retry_period: TimeDelta::seconds(2),
        }
    }
}

/// A Lease as far as an election needs it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Record {
    resource_version: String,
    holder: String,
    transitions: i64,
    duration: i64,
    renewed: Value,
}

impl Record {
    fn read(bytes: &[u8]) -> Result<Self, Error> {
        let lease: Value = decode::read_any(bytes)?;
        let spec = &lease["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(Self {
            resource_version: text(&lease["metadata"]["resourceVersion"]),
            holder: text(&spec["holderIdentity"]),
            transitions: spec["leaseTransitions"].as_i64().unwrap_or_default(),
            duration: spec["leaseDurationSeconds"].as_i64().unwrap_or_default(),
            renewed: spec["renewTime"].clone(),
        })
    }
}

/// What a candidate knows: the record it saw last, and since when it is unchanged by the candidate's own wall clock.
#[derive(Debug)]
struct Candidate {
    identity: String,
    observed: Option<(Record, DateTime<Utc>)>,
}

impl Candidate {
    /// Whether the Lease is free for this candidate. It is if it has no holder, if the holder is this instance (an
    /// instance runs once: an earlier run of it has ended), or if it was not renewed for its duration.
    fn may_take(&mut self, record: &Record, wall: DateTime<Utc>) -> bool {
        if self.observed.as_ref().is_none_or(|(seen, _)| seen != record) {
            self.observed = Some((record.clone(), wall));
        }
        let since = self.observed.as_ref().map_or(wall, |(_, since)| *since);
        record.holder.is_empty()
            || record.holder == self.identity
            || since + TimeDelta::seconds(record.duration) <= wall
    }
}

/// A Lease that is held. Drop it and the Lease runs out; [`Leadership::lost`] renews it.
#[derive(Debug)]
pub struct Leadership {
    context: Context,
    options: Options,
    record: Record,
}

/// Resolves when this instance holds the Lease.
///
/// Without another holder that is at once. Otherwise the Lease is looked at every `retry_period` of wall time.
pub fn acquire<'a>(context: &'a Context, options: &'a Options) -> BoxFuture<'a, Leadership> {
    Box::pin(async move {
        let mut candidate = Candidate { identity: context.identity.instance.to_string(), observed: None };
        let lease = options.name.as_str();
        tracing::info!(lease, "attempting to acquire leader lease");
        loop {
            match try_acquire(context, options, &mut candidate).await {
                Ok(Some(record)) => {
                    tracing::info!(lease, "successfully acquired lease");
                    return Leadership { context: context.clone(), options: options.clone(), record };
                }
                Ok(None) => {}
                Err(error) => tracing::debug!(lease = options.name, %error, "leader election failed"),
            }
            context.wall.sleep(options.retry_period, TimerClass::Work).await;
        }
    })
}

async fn try_acquire(context: &Context, options: &Options, candidate: &mut Candidate) -> Result<Option<Record>, Error> {
    let collection = collection(options);
    let path = format!("{collection}/{}", options.name);
    let now = context.clock.now();
    match request::send(context, Method::GET, path.clone(), None).await {
        Ok(bytes) => {
            let record = Record::read(&bytes)?;
            if !candidate.may_take(&record, context.wall.now()) {
                return Ok(None);
            }
            let transitions = record.transitions + i64::from(record.holder != candidate.identity);
            let lease = lease(options, &candidate.identity, &record.resource_version, transitions, now);
            put(context, Method::PUT, path, &lease).await
        }
        Err(error) if error.is_not_found() => {
            put(context, Method::POST, collection, &lease(options, &candidate.identity, "", 0, now)).await
        }
        Err(error) => Err(error),
    }
}

/// Writes a Lease; `None` if somebody else was faster.
async fn put(context: &Context, method: Method, path: String, lease: &Value) -> Result<Option<Record>, Error> {
    let body = ("application/json", lease.to_string().into_bytes());
    match request::send(context, method, path, Some(body)).await {
        Ok(bytes) => Record::read(&bytes).map(Some),
        Err(error) if error.is_conflict() || error.is_already_exists() => Ok(None),
        Err(error) => Err(error),
    }
}

fn collection(options: &Options) -> String {
    format!("/clusters/{}/apis/coordination.k8s.io/v1/namespaces/{}/leases", options.cluster, options.namespace)
}

fn lease(options: &Options, holder: &str, resource_version: &str, transitions: i64, now: DateTime<Utc>) -> Value {
    let mut metadata = json!({"name": options.name, "namespace": options.namespace});
    if !resource_version.is_empty() {
        metadata["resourceVersion"] = resource_version.into();
    }
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": options.lease_duration.num_seconds(),
            "acquireTime": MicroTime(now),
            "renewTime": MicroTime(now),
            "leaseTransitions": transitions,
        },
    })
}

impl Leadership {
    /// Renews the Lease every `retry_period` of wall time; resolves when it was lost, or could not be renewed for
    /// `renew_deadline`. When the component is asked to stop, the Lease is given back and this resolves, too.
    pub fn lost(mut self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let shutdown = self.context.tasks.shutdown();
            let mut renewed = self.context.wall.now();
            loop {
                let sleep = self.context.wall.sleep(self.options.retry_period, TimerClass::Work);
                let stopped = std::pin::pin!(shutdown.requested());
                if let futures::future::Either::Right(_) = futures::future::select(sleep, stopped).await {
                    self.release().await;
                    return;
                }
                match self.renew().await {
                    Ok(true) => renewed = self.context.wall.now(),
                    Ok(false) => return,
                    Err(error) => {
                        tracing::debug!(lease = self.options.name, %error, "cannot renew");
                        if self.context.wall.now() - renewed >= self.options.renew_deadline {
                            return;
                        }
                    }
                }
            }
        })
    }

    async fn renew(&mut self) -> Result<bool, Error> {
        let path = format!("{}/{}", collection(&self.options), self.options.name);
        let patch = json!({
            "metadata": {"resourceVersion": self.record.resource_version},
            "spec": {"renewTime": MicroTime(self.context.clock.now())},
        });
        let body = ("application/merge-patch+json", patch.to_string().into_bytes());
        match request::send(&self.context, Method::PATCH, path, Some(body)).await {
            Ok(bytes) => {
                let record = Record::read(&bytes)?;
                let kept = record.holder == *self.context.identity.instance;
                self.record = record;
                Ok(kept)
            }
            Err(error) if error.is_conflict() => self.look_again().await,
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Somebody else wrote the Lease: perhaps a label, and this instance still has it.
    async fn look_again(&mut self) -> Result<bool, Error> {
        let path = format!("{}/{}", collection(&self.options), self.options.name);
        let record = Record::read(&request::send(&self.context, Method::GET, path, None).await?)?;
        let kept = record.holder == *self.context.identity.instance;
        self.record = record;
        // It is renewed with the next try, long before it runs out.
        Ok(kept)
    }

    /// Gives the Lease back, so that the next candidate need not wait.
    async fn release(&self) {
        let path = format!("{}/{}", collection(&self.options), self.options.name);
        let patch = json!({
            "metadata": {"resourceVersion": self.record.resource_version},
            "spec": {"holderIdentity": "", "leaseDurationSeconds": 1},
        });
        let body = ("application/merge-patch+json", patch.to_string().into_bytes());
        if let Err(error) = request::send(&self.context, Method::PATCH, path, Some(body)).await {
            tracing::debug!(lease = self.options.name, %error, "cannot give the Lease back");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_free_without_holder_for_an_earlier_run_of_the_same_instance_and_after_its_duration() {
        let wall = |seconds| DateTime::from_timestamp(seconds, 0).expect("a valid instant");
        let record = |holder: &str, version: &str| Record {
            holder: holder.to_owned(),
            resource_version: version.to_owned(),
            duration: 15,
            ..Record::default()
        };
        let mut candidate = Candidate { identity: "a".to_owned(), observed: None };
        assert!(candidate.may_take(&record("", "1"), wall(0)));
        assert!(candidate.may_take(&record("a", "2"), wall(0)));
        assert!(!candidate.may_take(&record("b", "3"), wall(0)));
        assert!(!candidate.may_take(&record("b", "3"), wall(14)));
        assert!(!candidate.may_take(&record("b", "4"), wall(15)), "it was renewed");
        assert!(!candidate.may_take(&record("b", "4"), wall(29)));
        assert!(candidate.may_take(&record("b", "4"), wall(30)));
    }
}
