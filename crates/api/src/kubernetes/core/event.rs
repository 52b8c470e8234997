// SPDX-License-Identifier: Apache-2.0
//! Kind `Event` (`v1`).
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::*;
use crate::encoding::is_zero;
use crate::impl_resource;

/// Something that happened to an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Event {
    /// Metadata of the object.
    #[schema(required, protobuf = 1)]
    pub metadata: ObjectMeta,
    /// The object.
    #[schema(required, protobuf = 2)]
    pub involved_object: ObjectReference,
    /// Reason in one word.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 3)]
    pub reason: String,
    /// Reason in sentences.
    #[serde(skip_serializing_if = "String::is_empty")]
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
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 8)]
    pub count: i32,
    /// Normal or Warning.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 9)]
    pub r#type: String,
    /// When it was noticed first.
    #[schema(protobuf = 10)]
    pub event_time: MicroTime,
    /// The series that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 11)]
    pub series: Option<EventSeries>,
    /// What was done.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 12)]
    pub action: String,
    /// A second object.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 13)]
    pub related: Option<ObjectReference>,
    /// Who reported it.
    #[schema(protobuf = 14)]
    pub reporting_component: String,
    /// Which instance reported it.
    #[schema(protobuf = 15)]
    pub reporting_instance: String,
}

/// A series of Events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct EventSeries {
    /// How many there are.
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 1)]
    pub count: i32,
    /// When the last one happened.
    #[schema(protobuf = 2)]
    pub last_observed_time: MicroTime,
}

/// Who reported an Event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct EventSource {
    /// Component.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 1)]
    pub component: String,
    /// Node of the component.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 2)]
    pub host: String,
}

impl_resource!(Event, "", "v1", "Event", "events", true);
