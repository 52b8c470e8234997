// SPDX-License-Identifier: Apache-2.0
//! Types of kind `MachineClass` (`machine.sapcloud.io/v1alpha1`).
//!
//! Source: machine-controller-manager pkg/apis/machine/v1alpha1 @ v1.120.0; names, types and order of the fields are
//! the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// Provider-specific properties of Machines.
#[api_type]
pub struct MachineClass {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Resources of the class's nodes, for pools that have none yet.
    #[schema(preserve_unknown)]
    pub node_template: Option<NodeTemplate>,
    /// Secret with the credentials of the infrastructure.
    pub credentials_secret_ref: Option<crate::kubernetes::core::SecretReference>,
    /// Properties of the machine, in the provider's format.
    #[schema(required, preserve_unknown)]
    pub provider_spec: RawExtension,
    /// Provider of the machines.
    pub provider: String,
    /// Secret with the start-up script of a machine.
    pub secret_ref: Option<crate::kubernetes::core::SecretReference>,
}

/// Resources of a class's nodes, for pools that have none yet.
#[api_type]
pub struct NodeTemplate {
    /// Resources of the node.
    #[schema(required)]
    pub capacity: BTreeMap<String, Quantity>,
    /// Resources of the node that the machine does not have.
    pub virtual_capacity: BTreeMap<String, Quantity>,
    /// Machine type.
    #[schema(required)]
    pub instance_type: String,
    /// Region of the machine.
    #[schema(required)]
    pub region: String,
    /// Zone of the machine.
    #[schema(required)]
    pub zone: String,
    /// CPU architecture.
    pub architecture: Option<String>,
}

impl_resource!(MachineClass, "machine.sapcloud.io", "v1alpha1", "MachineClass", "machineclasses", true);
