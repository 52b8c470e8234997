// SPDX-License-Identifier: Apache-2.0
//! The Event about a version that must not run alongside the others: one for each Lease and rule, with a rising
//! count.

use api::cluster;
use api::constants::namespace;
use api::kubernetes::core::{Event, EventSource, ObjectReference};
use apimachinery::meta::{MicroTime, ObjectMeta, Time};
use chrono::{DateTime, Utc};
use controller::{Api, Error};
use domain::skew::registration::Registered;
use domain::skew::start_up::Refused;
use process::Context;

/// Reason of the Event; without `Violation`, also that of a pod's condition.
const REASON: &str = "VersionSkewViolation";

/// The process whose version is refused.
#[derive(Clone, Debug)]
pub(crate) struct About {
    lease: String,
    component: String,
    pod: String,
}

impl About {
    /// Returns the description of a process, as it is registered.
    pub(crate) fn of(me: &Registered<'_>) -> Self {
        Self { lease: me.name(), component: me.component.to_owned(), pod: me.pod.to_owned() }
    }
}

/// Writes the Event, on a best-effort basis: the process logs the same text. `action` is the action that the check
/// has stopped.
pub(crate) async fn publish(context: &Context, about: &About, why: &Refused, action: &str, now: DateTime<Utc>) {
    let events = Api::<Event>::namespaced(context, cluster::GARDEN, namespace::INSTANCES);
    if let Err(error) = write(&events, about, why, action, now).await {
        tracing::debug!(%error, lease = about.lease, "cannot write an Event");
    }
}

async fn write(
    events: &Api<Event>,
    about: &About,
    why: &Refused,
    action: &str,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let name = format!("{}.{}", about.lease, why.rule).to_lowercase();
    if let Some(old) = events.get_opt(&name).await? {
        let new = Event {
            count: old.count.saturating_add(1),
            last_timestamp: Time(now),
            message: why.text.clone(),
            action: action.to_owned(),
            ..old.clone()
        };
        return events.update(&old, &new).await.map(drop);
    }
    let event = Event {
        metadata: ObjectMeta::named(namespace::INSTANCES, &name),
        involved_object: ObjectReference {
            api_version: "coordination.k8s.io/v1".to_owned(),
            kind: "Lease".to_owned(),
            namespace: namespace::INSTANCES.to_owned(),
            name: about.lease.clone(),
            ..ObjectReference::default()
        },
        reason: REASON.to_owned(),
        message: why.text.clone(),
        source: EventSource { component: about.component.clone(), ..EventSource::default() },
        first_timestamp: Time(now),
        last_timestamp: Time(now),
        event_time: MicroTime(now),
        count: 1,
        r#type: "Warning".to_owned(),
        action: action.to_owned(),
        reporting_component: about.component.clone(),
        reporting_instance: about.pod.clone(),
        ..Event::default()
    };
    events.create(&event).await.map(drop)
}
