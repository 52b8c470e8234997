// SPDX-License-Identifier: Apache-2.0
//! Types of kind `InternalSecret` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// A Secret that only Gardener's components may read.
#[api_type]
pub struct InternalSecret {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// True if the data can no longer be changed.
    pub immutable: Option<bool>,
    /// Data by key.
    pub data: BTreeMap<String, ByteString>,
    /// Data by key as plain text; written to data and never served.
    pub string_data: TextMap,
    /// Type of the data, for programs.
    pub r#type: String,
}

impl_resource!(InternalSecret, "core.gardener.cloud", "v1beta1", "InternalSecret", "internalsecrets", true);
