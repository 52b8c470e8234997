// SPDX-License-Identifier: Apache-2.0
//! Kind `ConfigMap` (`v1`).
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// Settings by key.
#[api_type]
pub struct ConfigMap {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// True if the data can no longer be changed.
    pub immutable: Option<bool>,
    /// Texts by key.
    pub data: TextMap,
    /// Data by key, in base64.
    pub binary_data: BTreeMap<String, ByteString>,
}

impl_resource!(ConfigMap, "", "v1", "ConfigMap", "configmaps", true);
