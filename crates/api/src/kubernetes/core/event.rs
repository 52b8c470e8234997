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

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Event {
    #[schema(required, protobuf = 1)]
    pub metadata: ObjectMeta,
    #[schema(required, protobuf = 2)]
    pub involved_object: ObjectReference,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 3)]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 4)]
    pub message: String,
    #[schema(protobuf = 5)]
    pub source: EventSource,
    #[schema(protobuf = 6)]
    pub first_timestamp: Time,
    #[schema(protobuf = 7)]
    pub last_timestamp: Time,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 8)]
    pub count: i32,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 9)]
    pub r#type: String,
    #[schema(protobuf = 10)]
    pub event_time: MicroTime,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 11)]
    pub series: Option<EventSeries>,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 12)]
    pub action: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 13)]
    pub related: Option<ObjectReference>,
    #[schema(protobuf = 14)]
    pub reporting_component: String,
    #[schema(protobuf = 15)]
    pub reporting_instance: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct EventSeries {
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 1)]
    pub count: i32,
    #[schema(protobuf = 2)]
    pub last_observed_time: MicroTime,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct EventSource {
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 1)]
    pub component: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 2)]
    pub host: String,
}

impl_resource!(Event, "", "v1", "Event", "events", true);
