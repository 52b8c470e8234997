// SPDX-License-Identifier: Apache-2.0
//! Types of kind `InternalSecret` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::impl_resource;

/// A Secret that only Gardener's components may read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct InternalSecret {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Whether the data can no longer be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub immutable: Option<bool>,
    /// Data by key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, ByteString>,
    /// Data by key as plain text; goes into data and is never served.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub string_data: BTreeMap<String, String>,
    /// Type of the data, for programs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub r#type: String,
}

impl_resource!(InternalSecret, "core.gardener.cloud", "v1beta1", "InternalSecret", "internalsecrets", true);
