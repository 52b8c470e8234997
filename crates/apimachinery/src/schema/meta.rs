// SPDX-License-Identifier: Apache-2.0
//! The trees of the structs in [`crate::meta`], written by hand: the derive refers to this crate from outside.

use std::sync::OnceLock;

use super::{Emit, Field, Node, ObjectRef, ObjectSchema, Protobuf, Schema, Topology};
use crate::meta::{
    DeleteOptions, LabelSelector, LabelSelectorRequirement, ListMeta, ManagedFieldsEntry, MetaCondition, ObjectMeta,
    OwnerReference, Preconditions,
};

/// A field that is left out when it is empty.
fn empty(name: &'static str, protobuf: u32, node: Node, description: &'static str) -> Field {
    Field { description, protobuf: Some(Protobuf::of(protobuf)), ..Field::new(name, node) }
}

/// A field that is left out when it is absent.
fn pointer(name: &'static str, protobuf: u32, node: Node, description: &'static str) -> Field {
    Field { emit: Emit::Pointer, ..empty(name, protobuf, node, description) }
}

/// A required field that is always written.
fn required(name: &'static str, protobuf: u32, node: Node, description: &'static str) -> Field {
    Field { required: true, emit: Emit::Always, ..empty(name, protobuf, node, description) }
}

impl Field {
    fn topology(self, topology: Topology) -> Self {
        Self { topology, ..self }
    }

    fn merged(self, merge_key: Option<&'static str>, list_map_keys: &'static [&'static str]) -> Self {
        Self { merge_key, patch_strategy: Some("merge"), list_map_keys, ..self }
    }
}

const LONG: Node = Node::Integer { bits: 64, signed: true };

fn texts() -> Node {
    Node::List(Box::new(Node::String))
}

fn map() -> Node {
    Node::Map(Box::new(Node::String))
}

macro_rules! object {
    ($type:ty, $name:literal, $description:literal, [$($field:expr),* $(,)?]) => {
        impl Schema for $type {
            fn node() -> Node {
                fn object() -> &'static ObjectSchema {
                    static SCHEMA: OnceLock<ObjectSchema> = OnceLock::new();
                    SCHEMA.get_or_init(|| ObjectSchema {
                        name: $name,
                        package: "k8s.io/apimachinery/pkg/apis/meta/v1",
                        description: $description,
                        fields: vec![$($field),*],
                    })
                }
                Node::Object(ObjectRef::Static(object))
            }
        }
    };
}

object!(
    ObjectMeta,
    "ObjectMeta",
    "Metadata that every object has.",
    [
        empty("name", 1, Node::String, "Unique within the namespace and the resource."),
        empty("generateName", 2, Node::String, "Prefix from which the server makes a name when there is none."),
        empty("namespace", 3, Node::String, "Namespace; empty for cluster-scoped objects."),
        Field { deprecated: true, ..empty("selfLink", 4, Node::String, "No longer filled.") },
        empty("uid", 5, Node::String, "Unique for one life of the object; set by the server."),
        empty("resourceVersion", 6, Node::String, "Opaque version of the object; set by the server."),
        empty("generation", 7, LONG, "Counter of the desired state; set by the server."),
        Field { emit: Emit::Always, ..empty("creationTimestamp", 8, Node::Time, "When the object was created.") },
        pointer("deletionTimestamp", 9, Node::Time, "Time of the object's deletion; set by the server."),
        pointer("deletionGracePeriodSeconds", 10, LONG, "Seconds the object may take to go away."),
        empty("labels", 11, map(), "Keys and values by which objects are selected."),
        empty("annotations", 12, map(), "Keys and values that tools keep with the object."),
        empty("ownerReferences", 13, Vec::<OwnerReference>::node(), "Objects that this one depends on.")
            .topology(Topology::Map)
            .merged(Some("uid"), &["uid"]),
        empty("finalizers", 14, texts(), "Identifiers of components that must agree before the object is removed.")
            .topology(Topology::Set)
            .merged(None, &[]),
        empty("managedFields", 17, Vec::<ManagedFieldsEntry>::node(), "Which manager set which fields.")
            .topology(Topology::Atomic),
    ]
);

object!(
    ListMeta,
    "ListMeta",
    "Metadata that every list has.",
    [
        Field { deprecated: true, ..empty("selfLink", 1, Node::String, "No longer filled.") },
        empty("resourceVersion", 2, Node::String, "Version of the list."),
        empty("continue", 3, Node::String, "Token for the next page; empty on the last."),
        pointer("remainingItemCount", 4, LONG, "How many items are left, where that is known."),
    ]
);

object!(
    OwnerReference,
    "OwnerReference",
    "A dependency on another object.",
    [
        required("apiVersion", 5, Node::String, "API version of the owner."),
        required("kind", 1, Node::String, "Kind of the owner."),
        required("name", 3, Node::String, "Name of the owner."),
        required("uid", 4, Node::String, "Uid of the owner."),
        pointer("controller", 6, Node::Boolean, "Whether this is the managing controller."),
        pointer(
            "blockOwnerDeletion",
            7,
            Node::Boolean,
            "Whether the owner's foreground deletion waits for this object."
        ),
    ]
);

object!(
    ManagedFieldsEntry,
    "ManagedFieldsEntry",
    "Fields that one manager set by one operation.",
    [
        empty("manager", 1, Node::String, "Name of the manager."),
        empty("operation", 2, Node::String, "Apply or Update."),
        empty("apiVersion", 3, Node::String, "Version of the kind that the fields belong to."),
        pointer("time", 4, Node::Time, "When the entry changed last."),
        empty("fieldsType", 6, Node::String, "Always FieldsV1."),
        Field { preserve_unknown: true, ..pointer("fieldsV1", 7, Node::Raw, "The set of fields.") },
        empty("subresource", 8, Node::String, "Subresource through which the write came."),
    ]
);

object!(
    LabelSelector,
    "LabelSelector",
    "Labels that an object must have; an empty one matches every object.",
    [
        empty("matchLabels", 1, map(), "Exact values."),
        empty("matchExpressions", 2, Vec::<LabelSelectorRequirement>::node(), "Requirements; all must hold.")
            .topology(Topology::Atomic),
    ]
);

object!(
    LabelSelectorRequirement,
    "LabelSelectorRequirement",
    "One requirement of a label selector.",
    [
        required("key", 1, Node::String, "Label key."),
        required("operator", 2, Node::String, "In, NotIn, Exists or DoesNotExist."),
        empty("values", 3, texts(), "Values for In and NotIn.").topology(Topology::Atomic),
    ]
);

object!(
    MetaCondition,
    "Condition",
    "One aspect of an object's state.",
    [
        required("type", 1, Node::String, "Type of the condition."),
        required("status", 2, Node::String, "True, False or Unknown."),
        empty("observedGeneration", 3, LONG, "Generation that the condition speaks of."),
        required("lastTransitionTime", 4, Node::Time, "When the status changed last."),
        required("reason", 5, Node::String, "Reason in one word."),
        required("message", 6, Node::String, "Reason in a sentence."),
    ]
);

object!(
    DeleteOptions,
    "DeleteOptions",
    "How an object is to be deleted.",
    [
        pointer("gracePeriodSeconds", 1, LONG, "Seconds the object may take; 0 means at once."),
        pointer("preconditions", 2, Preconditions::node(), "What must hold of the object."),
        Field { deprecated: true, ..pointer("orphanDependents", 3, Node::Boolean, "Older form of propagationPolicy.") },
        pointer("propagationPolicy", 4, Node::String, "Orphan, Background or Foreground."),
        empty("dryRun", 5, texts(), "All for a dry run.").topology(Topology::Atomic),
    ]
);

object!(
    Preconditions,
    "Preconditions",
    "What must hold of an object before it is changed.",
    [
        pointer("uid", 1, Node::String, "Uid it must have."),
        pointer("resourceVersion", 2, Node::String, "Resource version it must have."),
    ]
);
