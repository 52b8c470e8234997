// SPDX-License-Identifier: Apache-2.0
//! Claims, volumes and their classes, as far as they are read.
//!
//! Source: k8s.io/api/core/v1, k8s.io/api/storage/v1 (1.32); names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::Resource;
use apimachinery::meta::{ObjectMeta, Quantity, TextMap, Time};
use apimachinery::schema::{Node, Schema};

use crate::constants::annotation;

use super::core::{NodeSelector, ObjectReference, PersistentVolumeClaimSpec};
use super::tables;

/// A claim for storage.
#[api_type(no_schema)]
pub struct PersistentVolumeClaim {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired properties of the volume.
    pub spec: PersistentVolumeClaimSpec,
    /// Observed state of the PersistentVolumeClaim.
    pub status: PersistentVolumeClaimStatus,
}

/// Status of a claim.
#[api_type(no_schema)]
pub struct PersistentVolumeClaimStatus {
    /// Pending, Bound or Lost.
    pub phase: String,
    /// Access modes of the volume.
    pub access_modes: Vec<String>,
    /// Capacity of the volume.
    pub capacity: BTreeMap<String, Quantity>,
}

/// A piece of storage.
#[api_type(no_schema)]
pub struct PersistentVolume {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Specification of the volume.
    pub spec: PersistentVolumeSpec,
    /// Observed state of the volume.
    pub status: PersistentVolumeStatus,
}

/// Specification of a PersistentVolume.
#[api_type(no_schema)]
pub struct PersistentVolumeSpec {
    /// Capacity of the volume.
    pub capacity: BTreeMap<String, Quantity>,
    /// Storage of a CSI driver.
    pub csi: Option<CSIPersistentVolumeSource>,
    /// Access modes of the volume.
    pub access_modes: Vec<String>,
    /// Claim to which the volume is bound, or for which it is reserved.
    pub claim_ref: Option<ObjectReference>,
    /// Policy for a volume whose claim was deleted: Retain, Delete or Recycle. Default: Retain.
    pub persistent_volume_reclaim_policy: String,
    /// Name of the StorageClass.
    pub storage_class_name: String,
    /// Filesystem or Block.
    pub volume_mode: Option<String>,
    /// Nodes that can access the volume. Default: all.
    pub node_affinity: Option<VolumeNodeAffinity>,
}

/// Storage of a CSI driver.
#[api_type(no_schema)]
pub struct CSIPersistentVolumeSource {
    /// Name of the driver.
    #[schema(always)]
    pub driver: String,
    /// Identifier of the volume at its driver.
    #[schema(always)]
    pub volume_handle: String,
    /// Type of the file system.
    pub fs_type: String,
}

/// Nodes that can access a volume.
#[api_type(no_schema)]
pub struct VolumeNodeAffinity {
    /// The nodes.
    pub required: Option<NodeSelector>,
}

/// Status of a PersistentVolume.
#[api_type(no_schema)]
pub struct PersistentVolumeStatus {
    /// Pending, Available, Bound, Released or Failed.
    pub phase: String,
    /// Time of the last change of phase.
    pub last_phase_transition_time: Option<Time>,
}

/// A class of storage.
#[api_type(no_schema)]
pub struct StorageClass {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Provisioner of the volumes.
    #[schema(always)]
    pub provisioner: String,
    /// Settings for the provisioner.
    pub parameters: TextMap,
    /// Policy for volumes whose claim was deleted. Default: Delete.
    pub reclaim_policy: Option<String>,
    /// Time of binding: Immediate or WaitForFirstConsumer. Default: Immediate.
    pub volume_binding_mode: Option<String>,
    /// Nodes for which volumes can be provisioned: those that match any of the terms. Default: all.
    pub allowed_topologies: Vec<TopologySelectorTerm>,
}

/// Nodes that meet all requirements.
#[api_type(no_schema)]
pub struct TopologySelectorTerm {
    /// Requirements on labels.
    pub match_label_expressions: Vec<TopologySelectorLabelRequirement>,
}

/// A label that has one of several values.
#[api_type(no_schema)]
pub struct TopologySelectorLabelRequirement {
    /// Key of the label.
    #[schema(always)]
    pub key: String,
    /// Allowed values.
    #[schema(always)]
    pub values: Vec<String>,
}

macro_rules! kind {
    ($type:ident, $group:literal, $package:literal, $plural:literal, $namespaced:literal) => {
        impl Resource for $type {
            const GROUP: &'static str = $group;
            const VERSION: &'static str = "v1";
            const KIND: &'static str = stringify!($type);
            const PLURAL: &'static str = $plural;
            const NAMESPACED: bool = $namespaced;

            fn metadata(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }

        impl Schema for $type {
            fn node() -> Node {
                tables::node($package, stringify!($type))
                    .expect("the tables hold every kind of Kubernetes that is served")
            }
        }
    };
}

kind!(PersistentVolumeClaim, "", "core", "persistentvolumeclaims", true);
kind!(PersistentVolume, "", "core", "persistentvolumes", false);
kind!(StorageClass, "storage.k8s.io", "storage", "storageclasses", false);

/// Metadata of the default StorageClass, used by claims without a class: the newest of several, then the first by name.
///
/// Source: k8s.io/kubernetes pkg/volume/util/storageclass.go.
pub fn default_class<'a>(classes: impl IntoIterator<Item = &'a ObjectMeta>) -> Option<&'a ObjectMeta> {
    let is_default = |class: &&ObjectMeta| {
        class.annotation(annotation::DEFAULT_STORAGE_CLASS) == Some("true") && !class.is_being_deleted()
    };
    let newest_last = |a: &&ObjectMeta, b: &&ObjectMeta| {
        a.creation_timestamp.0.cmp(&b.creation_timestamp.0).then_with(|| b.name.cmp(&a.name))
    };
    classes.into_iter().filter(is_default).max_by(newest_last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Source: kubernetes.io, Storage Classes: default StorageClass.
    #[test]
    fn the_newest_default_class_is_the_default() {
        let class = |name: &str, is_default: &str, second: u32| {
            let mut metadata = ObjectMeta::named("", name);
            metadata.annotations.insert(annotation::DEFAULT_STORAGE_CLASS.to_owned(), is_default.to_owned());
            let created = format!("2023-07-27T20:00:0{second}Z").parse().expect("an instant");
            metadata.creation_timestamp = Time::from_instant(created);
            metadata
        };
        let none = class("a", "false", 1);
        assert_eq!(default_class([&none]), None);
        let all = [class("a", "true", 1), class("c", "true", 2), class("b", "true", 2), class("d", "false", 3)];
        assert_eq!(default_class(&all).map(|class| class.name.as_str()), Some("b"));
    }
}
