// SPDX-License-Identifier: Apache-2.0
//! Types of kind `MachineClass` (`machine.sapcloud.io/v1alpha1`).
//!
//! Source: machine-controller-manager pkg/apis/machine/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::impl_resource;

/// What a provider needs to know to make a Machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineClass {
    pub metadata: ObjectMeta,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub node_template: Option<NodeTemplate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_secret_ref: Option<crate::kubernetes::core::SecretReference>,
    #[schema(required, preserve_unknown)]
    pub provider_spec: RawExtension,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<crate::kubernetes::core::SecretReference>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeTemplate {
    #[schema(required)]
    pub capacity: BTreeMap<String, Quantity>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub virtual_capacity: BTreeMap<String, Quantity>,
    #[schema(required)]
    pub instance_type: String,
    #[schema(required)]
    pub region: String,
    #[schema(required)]
    pub zone: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
}

impl_resource!(MachineClass, "machine.sapcloud.io", "v1alpha1", "MachineClass", "machineclasses", true);
