// SPDX-License-Identifier: Apache-2.0
//! Metadata of objects and lists, selectors, conditions.

use api_derive::api_type;

use super::{RawExtension, TextMap, Time};

/// Metadata of an object.
///
/// `resource_version` is never part of the stored bytes: the server fills it in from the revision of the log.
/// `managed_fields` comes last, so that the metadata splits in front of it.
#[api_type(no_schema)]
pub struct ObjectMeta {
    /// Name, unique within the namespace (or the cluster) and the resource.
    pub name: String,
    /// Prefix from which the server makes a name when `name` is empty.
    pub generate_name: String,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// Deprecated link; accepted and dropped by the server.
    pub self_link: String,
    /// Unique for one life of the object.
    pub uid: String,
    /// Revision as clients see it: opaque, compared only for equality.
    pub resource_version: String,
    /// Counter of the specification; 0 where the kind has none.
    pub generation: i64,
    /// When the object was created, in landscape time. Emitted as `null` when unset, like Go does.
    pub creation_timestamp: Time,
    /// When deletion was requested.
    pub deletion_timestamp: Option<Time>,
    /// Seconds the object may take to go away.
    pub deletion_grace_period_seconds: Option<i64>,
    /// Labels: keys and values that selectors read.
    pub labels: TextMap,
    /// Annotations: keys and values that no selector reads.
    pub annotations: TextMap,
    /// Objects this one depends on.
    pub owner_references: Vec<OwnerReference>,
    /// Who must agree before the object is removed.
    pub finalizers: Vec<String>,
    /// Which manager owns which fields.
    pub managed_fields: Vec<ManagedFieldsEntry>,
}

impl ObjectMeta {
    /// Metadata with a name and, unless it is empty, a namespace.
    pub fn named(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned(), ..Self::default() }
    }

    /// Whether deletion was requested.
    pub fn is_being_deleted(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str)
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }

    /// Whether a finalizer is present.
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
    /// How many items are left, where that is known.
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
    /// Whether this is the managing controller.
    pub controller: Option<bool>,
    /// Whether the owner's foreground deletion waits for this object.
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
    /// When the entry changed last.
    pub time: Option<Time>,
    /// Always `FieldsV1`.
    pub fields_type: String,
    /// The set of fields.
    #[schema(rename = "fieldsV1")]
    pub fields_v1: Option<RawExtension>,
    /// Subresource through which the write came.
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

/// `metav1.Condition`.
#[api_type(no_schema)]
pub struct MetaCondition {
    /// Type of the condition.
    #[schema(rename = "type", always)]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    #[schema(always)]
    pub status: String,
    /// Generation that the condition speaks of.
    pub observed_generation: i64,
    /// When the status changed last.
    pub last_transition_time: Time,
    /// Reason in one word.
    #[schema(always)]
    pub reason: String,
    /// Reason in a sentence.
    #[schema(always)]
    pub message: String,
}

/// `metav1.DeleteOptions`.
#[api_type(no_schema)]
pub struct DeleteOptions {
    /// Seconds the object may take; 0 means at once.
    pub grace_period_seconds: Option<i64>,
    /// What must hold of the object.
    pub preconditions: Option<Preconditions>,
    /// Deprecated form of `propagation_policy`.
    pub orphan_dependents: Option<bool>,
    /// `Orphan`, `Background` or `Foreground`.
    pub propagation_policy: Option<String>,
    /// `All` for a dry run.
    pub dry_run: Vec<String>,
}

/// What must hold of an object before it is changed.
#[api_type(no_schema)]
#[derive(Eq)]
pub struct Preconditions {
    /// Uid it must have.
    pub uid: Option<String>,
    /// Resource version it must have.
    pub resource_version: Option<String>,
}
