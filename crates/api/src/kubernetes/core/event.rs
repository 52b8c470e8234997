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
    #[schema(required, protobuf = 1)]
    pub metadata: ObjectMeta,
    /// The object.
    #[schema(required, protobuf = 2)]
    pub involved_object: ObjectReference,
    /// Reason in one word.
    #[schema(protobuf = 3)]
    pub reason: String,
    /// Reason in sentences.
    #[schema(protobuf = 4)]
    pub message: String,
    /// Who reported it.
    #[schema(protobuf = 5)]
    pub source: EventSource,
    /// When it happened first.
    #[schema(protobuf = 6)]
    pub first_timestamp: Time,
    /// When it happened last.
    #[schema(protobuf = 7)]
    pub last_timestamp: Time,
    /// How often it happened.
    #[schema(protobuf = 8)]
    pub count: i32,
    /// Normal or Warning.
    #[schema(protobuf = 9)]
    pub r#type: String,
    /// When it was noticed first.
    #[schema(protobuf = 10)]
    pub event_time: MicroTime,
    /// The series that it belongs to.
    #[schema(protobuf = 11)]
    pub series: Option<EventSeries>,
    /// What was done.
    #[schema(protobuf = 12)]
    pub action: String,
    /// A second object.
    #[schema(protobuf = 13)]
    pub related: Option<ObjectReference>,
    /// Who reported it.
    #[schema(always, protobuf = 14)]
    pub reporting_component: String,
    /// Which instance reported it.
    #[schema(always, protobuf = 15)]
    pub reporting_instance: String,
}

/// A series of Events.
#[api_type]
pub struct EventSeries {
    /// How many there are.
    #[schema(protobuf = 1)]
    pub count: i32,
    /// When the last one happened.
    #[schema(protobuf = 2)]
    pub last_observed_time: MicroTime,
}

/// Who reported an Event.
#[api_type]
pub struct EventSource {
    /// Component.
    #[schema(protobuf = 1)]
    pub component: String,
    /// Node of the component.
    #[schema(protobuf = 2)]
    pub host: String,
}

impl_resource!(Event, "", "v1", "Event", "events", true);
