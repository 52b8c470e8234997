// SPDX-License-Identifier: Apache-2.0
//! Hooks of Kubernetes' own kinds, as far as clients can see them.

use apimachinery::DynamicObject;
use apimachinery::field::{FieldError, Path};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use generic_apiserver::registry::Generation;
use generic_apiserver::{RequestContext, Strategy};
use serde_json::{Value, json};

/// How a kind of Kubernetes behaves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CoreStrategy {
    /// Whether `metadata.generation` counts changes.
    pub(crate) generation: bool,
    /// Whether a PUT needs no resource version.
    pub(crate) unconditional: bool,
    /// Whether a PUT creates.
    pub(crate) create_on_update: bool,
    /// Whether a deletion answers the object.
    pub(crate) returns_deleted: bool,
    /// Whether a new object brings its status along: kubelets register Nodes with theirs.
    pub(crate) keeps_status: bool,
    /// Whether `stringData` is merged over `data` and the type defaults to `Opaque`.
    pub(crate) secret: bool,
    /// Whether it is about an object, in whose namespace it has to be.
    pub(crate) event: bool,
}

impl CoreStrategy {
    /// The behaviour of a resource.
    pub(crate) fn of(group: &str, plural: &str) -> Self {
        let workload = matches!(group, "apps" | "policy" | "networking.k8s.io" | "batch" | "autoscaling");
        Self {
            generation: workload,
            unconditional: group != "coordination.k8s.io",
            create_on_update: matches!((group, plural), ("coordination.k8s.io", "leases") | ("", "events")),
            returns_deleted: group.is_empty()
                && matches!(plural, "pods" | "serviceaccounts" | "services" | "persistentvolumes" | "nodes"),
            keeps_status: group.is_empty() && plural == "nodes",
            secret: group.is_empty() && plural == "secrets",
            event: group.is_empty() && plural == "events",
        }
    }
}

impl Strategy<DynamicObject> for CoreStrategy {
    fn default(&self, object: &mut DynamicObject) {
        if !self.secret {
            return;
        }
        let plain = match object.fields.remove("stringData") {
            Some(Value::Object(plain)) => plain,
            _ => serde_json::Map::new(),
        };
        if !plain.is_empty() {
            let data = object.fields.entry("data").or_insert_with(|| json!({}));
            for (key, value) in plain {
                data[key] = json!(STANDARD.encode(value.as_str().unwrap_or_default()));
            }
        }
        let untyped = object.fields.get("type").and_then(Value::as_str).unwrap_or_default().is_empty();
        if untyped {
            object.fields.insert("type".to_owned(), json!("Opaque"));
        }
    }

    fn prepare_for_create(&self, object: &mut DynamicObject, _: &RequestContext) {
        if object.kind == "Pod" {
            object.fields.insert("status".to_owned(), json!({ "phase": "Pending" }));
        }
    }

    /// Source: k8s.io/kubernetes pkg/apis/core/validation/events.go.
    fn validate_create(&self, object: &DynamicObject, _: &RequestContext) -> Vec<FieldError> {
        if !self.event {
            return Vec::new();
        }
        let about = object.get(&["involvedObject", "namespace"]).and_then(Value::as_str).unwrap_or_default();
        let expected = if about.is_empty() { "default" } else { about };
        if object.metadata.namespace == expected {
            return Vec::new();
        }
        let path = Path::new("involvedObject").child("namespace");
        vec![FieldError::invalid(&path, about, "does not match event.namespace")]
    }

    fn generation(&self) -> Generation {
        if self.generation { Generation::Standard } else { Generation::None }
    }

    fn allows_unconditional_update(&self) -> bool {
        self.unconditional
    }

    fn allows_create_on_update(&self) -> bool {
        self.create_on_update
    }

    fn keeps_status_on_create(&self) -> bool {
        self.keeps_status
    }

    fn returns_deleted_object(&self) -> bool {
        self.returns_deleted
    }
}
