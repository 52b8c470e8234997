// SPDX-License-Identifier: Apache-2.0
//! Kind `Event` (`v1`).
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::*;
use crate::impl_resource;

/// A report of something that happened to an object.
#[api_type]
pub struct Event {
    /// Metadata of the object.
    #[schema(required)]
    pub metadata: ObjectMeta,
    /// Object that the Event is about.
    #[schema(required)]
    pub involved_object: ObjectReference,
    /// Reason in one word.
    pub reason: String,
    /// Human-readable message.
    pub message: String,
    /// Component that reported the Event.
    pub source: EventSource,
    /// Time of the first occurrence.
    pub first_timestamp: Time,
    /// Time of the last occurrence.
    pub last_timestamp: Time,
    /// Number of occurrences.
    pub count: i32,
    /// Normal or Warning.
    pub r#type: String,
    /// Time of the first observation.
    pub event_time: MicroTime,
    /// Series of Events that this one belongs to.
    pub series: Option<EventSeries>,
    /// Action that was taken.
    pub action: String,
    /// A second object.
    pub related: Option<ObjectReference>,
    /// Name of the controller that reported the Event.
    #[schema(always)]
    pub reporting_component: String,
    /// Instance of the controller that reported the Event.
    #[schema(always)]
    pub reporting_instance: String,
}

/// A series of Events.
#[api_type]
pub struct EventSeries {
    /// Number of occurrences in the series.
    pub count: i32,
    /// Time of the last occurrence.
    pub last_observed_time: MicroTime,
}

/// Component that reported an Event.
#[api_type]
pub struct EventSource {
    /// Component that reports, such as `gardenlet`.
    pub component: String,
    /// Node of the component.
    pub host: String,
}

impl_resource!(Event, "", "v1", "Event", "events", true);
