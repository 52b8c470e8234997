// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ContainerRuntime` (`extensions.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/extensions/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// A container runtime to be installed on the nodes of a pool.
#[api_type]
pub struct ContainerRuntime {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the ContainerRuntime.
    #[schema(required)]
    pub spec: ContainerRuntimeSpec,
    /// Observed state of the ContainerRuntime.
    pub status: ContainerRuntimeStatus,
}

/// Specification of a ContainerRuntime.
#[api_type]
pub struct ContainerRuntimeSpec {
    /// Type of the resource; determines the responsible extension.
    #[schema(required)]
    pub r#type: String,
    /// Class of the extension: shoot, seed or garden.
    pub class: Option<String>,
    /// Settings in the format of the provider's extension.
    #[schema(preserve_unknown)]
    pub provider_config: Option<RawExtension>,
    /// Path of the runtime's programs on the node.
    #[schema(required)]
    pub binary_path: String,
    /// Pool whose nodes get the runtime.
    #[schema(required)]
    pub worker_pool: ContainerRuntimeWorkerPool,
}

/// Status of a ContainerRuntime.
#[api_type]
pub struct ContainerRuntimeStatus {
    /// Status that the extension reports for the object, in its own format.
    #[schema(preserve_unknown)]
    pub provider_status: Option<RawExtension>,
    /// Conditions of the object, one of each type.
    pub conditions: Vec<crate::core::Condition>,
    /// The last error.
    pub last_error: Option<crate::core::LastError>,
    /// The current operation, or the last one.
    pub last_operation: Option<crate::core::LastOperation>,
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// State to persist, in the extension's format.
    #[schema(preserve_unknown)]
    pub state: Option<RawExtension>,
    /// Named references to objects that the state uses.
    pub resources: Vec<crate::core::NamedResourceReference>,
}

/// Pool whose nodes get a container runtime.
#[api_type]
pub struct ContainerRuntimeWorkerPool {
    /// Name of the pool.
    #[schema(required)]
    pub name: String,
    /// Labels of the nodes.
    #[schema(required)]
    pub selector: LabelSelector,
}

impl_resource!(
    ContainerRuntime,
    "extensions.gardener.cloud",
    "v1alpha1",
    "ContainerRuntime",
    "containerruntimes",
    true
);
