// SPDX-License-Identifier: Apache-2.0
//! Kind `Event` (`v1`).
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::*;
use crate::impl_resource;

/// Something that happened to an object.
#[api_type]
pub struct Event {
    /// Metadata of the object.
    #[schema(required)]
    pub metadata: ObjectMeta,
    /// The object.
    #[schema(required)]
    pub involved_object: ObjectReference,
    /// Reason in one word.
    pub reason: String,
    /// Reason in sentences.
    pub message: String,
    /// Who reported it.
    pub source: EventSource,
    /// When it happened first.
    pub first_timestamp: Time,
    /// When it happened last.
    pub last_timestamp: Time,
    /// How often it happened.
    pub count: i32,
    /// Normal or Warning.
    pub r#type: String,
    /// When it was noticed first.
    pub event_time: MicroTime,
    /// The series that it belongs to.
    pub series: Option<EventSeries>,
    /// What was done.
    pub action: String,
    /// A second object.
    pub related: Option<ObjectReference>,
    /// Who reported it.
    #[schema(always)]
    pub reporting_component: String,
    /// Which instance reported it.
    #[schema(always)]
    pub reporting_instance: String,
}

/// A series of Events.
#[api_type]
pub struct EventSeries {
    /// How many there are.
    pub count: i32,
    /// When the last one happened.
    pub last_observed_time: MicroTime,
}

/// Who reported an Event.
#[api_type]
pub struct EventSource {
    /// Component that reports, such as `gardenlet`.
    pub component: String,
    /// Node of the component.
    pub host: String,
}

impl_resource!(Event, "", "v1", "Event", "events", true);
