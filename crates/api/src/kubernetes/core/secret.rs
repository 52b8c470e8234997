// SPDX-License-Identifier: Apache-2.0
//! Kind `Secret` (`v1`).
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::impl_resource;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Secret {
    #[schema(protobuf = 1)]
    pub metadata: ObjectMeta,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 5)]
    pub immutable: Option<bool>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(protobuf = 2)]
    pub data: BTreeMap<String, ByteString>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(protobuf = 4)]
    pub string_data: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 3)]
    pub r#type: String,
}

impl_resource!(Secret, "", "v1", "Secret", "secrets", true);
