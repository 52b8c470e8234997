// SPDX-License-Identifier: Apache-2.0
//! Metadata of objects and lists, selectors, conditions.

use api_derive::api_type;

use super::{RawExtension, TextMap, Time};

/// Metadata of an object.
///
/// `resource_version` is never part of the stored bytes: the server sets it from the revision of the log.
/// `managed_fields` is the last field, so that the metadata can be split before it.
#[api_type(no_schema)]
pub struct ObjectMeta {
    /// Name, unique within the namespace (or the cluster) and the resource.
    pub name: String,
    /// Prefix from which the server generates a name when `name` is empty.
    pub generate_name: String,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// Deprecated link; accepted and ignored by the server.
    pub self_link: String,
    /// Identifier of one life of the object.
    pub uid: String,
    /// Revision for clients: opaque, compared only for equality.
    pub resource_version: String,
    /// Counter of the specification; 0 where the kind has none.
    pub generation: i64,
    /// Time of creation, in landscape time. Emitted as `null` when unset, as in Go.
    pub creation_timestamp: Time,
    /// Time at which the deletion was requested.
    pub deletion_timestamp: Option<Time>,
    /// Grace period of the deletion in seconds.
    pub deletion_grace_period_seconds: Option<i64>,
    /// Labels: keys and values that selectors match.
    pub labels: TextMap,
    /// Annotations: keys and values that no selector matches.
    pub annotations: TextMap,
    /// Objects this one depends on.
    pub owner_references: Vec<OwnerReference>,
    /// Identifiers of components that must agree before the object is removed.
    pub finalizers: Vec<String>,
    /// Managers and their fields.
    pub managed_fields: Vec<ManagedFieldsEntry>,
}

impl ObjectMeta {
    /// Creates metadata with a name and, unless it is empty, a namespace.
    pub fn named(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned(), ..Self::default() }
    }

    /// True if deletion was requested.
    pub fn is_being_deleted(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// Returns the value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str)
    }

    /// Returns the value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }

    /// True if a finalizer is present.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|present| present == finalizer)
    }
}

/// Metadata of a list.
#[api_type(no_schema)]
pub struct ListMeta {
    /// Deprecated link.
    pub self_link: String,
    /// Revision of the list.
    pub resource_version: String,
    /// Token for the next page; empty on the last.
    #[schema(rename = "continue")]
    pub continue_token: String,
    /// Number of further items, if it is known.
    pub remaining_item_count: Option<i64>,
}

/// A dependency on another object of the same namespace, or on a cluster-scoped one.
#[api_type(no_schema)]
#[derive(Eq, PartialOrd, Ord)]
pub struct OwnerReference {
    /// API version of the owner.
    #[schema(always)]
    pub api_version: String,
    /// Kind of the owner.
    #[schema(always)]
    pub kind: String,
    /// Name of the owner.
    #[schema(always)]
    pub name: String,
    /// Uid of the owner.
    #[schema(always)]
    pub uid: String,
    /// True if this is the managing controller.
    pub controller: Option<bool>,
    /// True if the owner's foreground deletion waits for this object.
    pub block_owner_deletion: Option<bool>,
}

/// Fields that one manager set by one operation.
#[api_type(no_schema)]
pub struct ManagedFieldsEntry {
    /// Name of the manager.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// Version of the kind that the fields belong to.
    pub api_version: String,
    /// Time of the entry's last change.
    pub time: Option<Time>,
    /// Type of the fields: always `FieldsV1`.
    pub fields_type: String,
    /// The set of fields.
    #[schema(rename = "fieldsV1")]
    pub fields_v1: Option<RawExtension>,
    /// Subresource of the write.
    pub subresource: String,
}

/// Labels an object must have.
#[api_type(no_schema)]
#[derive(Eq)]
pub struct LabelSelector {
    /// Exact values.
    pub match_labels: TextMap,
    /// Requirements; all must hold.
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// One requirement of a [`LabelSelector`].
#[api_type(no_schema)]
#[derive(Eq)]
pub struct LabelSelectorRequirement {
    /// Label key.
    #[schema(always)]
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    #[schema(always)]
    pub operator: String,
    /// Values for `In` and `NotIn`.
    pub values: Vec<String>,
}

/// Equivalent of Go's `metav1.Condition`.
#[api_type(no_schema)]
pub struct MetaCondition {
    /// Type of the condition.
    #[schema(rename = "type", always)]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    #[schema(always)]
    pub status: String,
    /// Generation to which the condition refers.
    pub observed_generation: i64,
    /// Time of the last change of the status.
    pub last_transition_time: Time,
    /// One-word reason.
    #[schema(always)]
    pub reason: String,
    /// Reason in a sentence.
    #[schema(always)]
    pub message: String,
}

/// Equivalent of Go's `metav1.DeleteOptions`.
#[api_type(no_schema)]
pub struct DeleteOptions {
    /// Grace period in seconds; 0: delete at once.
    pub grace_period_seconds: Option<i64>,
    /// Conditions that the object must meet.
    pub preconditions: Option<Preconditions>,
    /// Deprecated form of `propagation_policy`.
    pub orphan_dependents: Option<bool>,
    /// `Orphan`, `Background` or `Foreground`.
    pub propagation_policy: Option<String>,
    /// `All` for a dry run.
    pub dry_run: Vec<String>,
}

/// Conditions that an object must meet before it is changed.
#[api_type(no_schema)]
#[derive(Eq)]
pub struct Preconditions {
    /// Required uid.
    pub uid: Option<String>,
    /// Required resource version.
    pub resource_version: Option<String>,
}
