// SPDX-License-Identifier: Apache-2.0
//! Kind `ConfigMap` (`v1`).
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::impl_resource;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ConfigMap {
    #[schema(protobuf = 1)]
    pub metadata: ObjectMeta,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 4)]
    pub immutable: Option<bool>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(protobuf = 2)]
    pub data: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(protobuf = 3)]
    pub binary_data: BTreeMap<String, ByteString>,
}

impl_resource!(ConfigMap, "", "v1", "ConfigMap", "configmaps", true);
