// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ManagedResource` (`resources.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/resources/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;
use crate::kubernetes::core::LocalObjectReference;

/// Objects that gardener-resource-manager deploys to a cluster.
#[api_type]
pub struct ManagedResource {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the ManagedResource.
    pub spec: ManagedResourceSpec,
    /// Observed state of the ManagedResource.
    pub status: ManagedResourceStatus,
}

/// Specification of a ManagedResource.
#[api_type]
pub struct ManagedResourceSpec {
    /// Class of the responsible gardener-resource-manager.
    pub class: Option<String>,
    /// Secrets with the objects as YAML.
    #[schema(required)]
    pub secret_refs: Vec<LocalObjectReference>,
    /// Labels that are added to every object.
    pub inject_labels: TextMap,
    /// True if labels set by others are removed. Default: false.
    pub force_overwrite_labels: Option<bool>,
    /// True if annotations set by others are removed. Default: false.
    pub force_overwrite_annotations: Option<bool>,
    /// True if the objects are kept when the ManagedResource is deleted. Default: false.
    pub keep_objects: Option<bool>,
    /// Sets of equivalent kinds: an object that moves from one to another is not deleted.
    pub equivalences: Vec<Vec<GroupKind>>,
    /// True if PersistentVolumeClaims of deleted StatefulSets are deleted, too. Default: false.
    pub delete_persistent_volume_claims: Option<bool>,
}

/// A kind of any version.
#[api_type]
pub struct GroupKind {
    /// Group of the kind; empty for the core group.
    #[schema(required)]
    pub group: String,
    /// Kind of the object: `Deployment`.
    #[schema(required)]
    pub kind: String,
}

/// Status of a ManagedResource.
#[api_type]
pub struct ManagedResourceStatus {
    /// ResourcesApplied, ResourcesHealthy and ResourcesProgressing.
    pub conditions: Vec<crate::core::Condition>,
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// Objects that were deployed.
    pub resources: Vec<ObjectReference>,
    /// Checksum of the Secrets' data.
    pub secrets_data_checksum: Option<String>,
}

/// An object that was deployed.
#[api_type]
pub struct ObjectReference {
    /// Kind of the object.
    pub kind: String,
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Uid of the object.
    pub uid: String,
    /// Version of the object's kind.
    pub api_version: String,
    /// Version of the object.
    pub resource_version: String,
    /// Part of the object.
    pub field_path: String,
    /// Labels that were set on the object.
    pub labels: TextMap,
    /// Annotations that were set on the object.
    pub annotations: TextMap,
}

impl_resource!(ManagedResource, "resources.gardener.cloud", "v1alpha1", "ManagedResource", "managedresources", true);
