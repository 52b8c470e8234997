// SPDX-License-Identifier: Apache-2.0
//! Kind `Secret` (`v1`).
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// Confidential data.
#[api_type]
pub struct Secret {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// True if the data can no longer be changed.
    pub immutable: Option<bool>,
    /// Data by key, in base64.
    pub data: BTreeMap<String, ByteString>,
    /// Data by key as plain text; written to data and never served.
    pub string_data: TextMap,
    /// Type of the data, for programs. Default: Opaque.
    pub r#type: String,
}

impl_resource!(Secret, "", "v1", "Secret", "secrets", true);
