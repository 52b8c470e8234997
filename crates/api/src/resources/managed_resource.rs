// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ManagedResource` (`resources.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/resources/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::encoding::is_zero;
use crate::impl_resource;
use crate::kubernetes::core::LocalObjectReference;

/// Objects that gardener-resource-manager keeps in a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedResource {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: ManagedResourceSpec,
    /// What is there.
    pub status: ManagedResourceStatus,
}

/// What a ManagedResource is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedResourceSpec {
    /// Which gardener-resource-manager is responsible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Secrets with the objects as YAML.
    #[schema(required)]
    pub secret_refs: Vec<LocalObjectReference>,
    /// Labels that every object gets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub inject_labels: BTreeMap<String, String>,
    /// Whether labels that somebody else set are removed. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force_overwrite_labels: Option<bool>,
    /// Whether annotations that somebody else set are removed. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force_overwrite_annotations: Option<bool>,
    /// Whether the objects stay when the ManagedResource goes. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_objects: Option<bool>,
    /// Sets of kinds that stand for one another: an object that moves from one to the other is not deleted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub equivalences: Vec<Vec<GroupKind>>,
    /// Whether claims for storage of deleted StatefulSets are deleted, too. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_persistent_volume_claims: Option<bool>,
}

/// A kind of any version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GroupKind {
    /// Group of the kind; empty for the core group.
    #[schema(required)]
    pub group: String,
    /// Kind.
    #[schema(required)]
    pub kind: String,
}

/// What is known of a ManagedResource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedResourceStatus {
    /// ResourcesApplied, ResourcesHealthy and ResourcesProgressing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<crate::core::Condition>,
    /// Generation of the specification that was acted on last.
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// Objects that were made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ObjectReference>,
    /// Checksum of the Secrets' data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secrets_data_checksum: Option<String>,
}

/// An object that was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ObjectReference {
    /// Kind of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Namespace of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Uid of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Version of the object's kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// Version of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// Part of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field_path: String,
    /// Labels that the object was given.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations that the object was given.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl_resource!(ManagedResource, "resources.gardener.cloud", "v1alpha1", "ManagedResource", "managedresources", true);
