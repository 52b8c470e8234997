// SPDX-License-Identifier: Apache-2.0
//! Namespaces: phase, their own finalizer, and three permanent namespaces.
//!
//! Source: k8s.io/kubernetes pkg/registry/core/namespace/strategy.go, plugin/pkg/admission/namespace/lifecycle.

use api::constants::label;
use apimachinery::{DynamicObject, Status};
use generic_apiserver::admission::{Attributes, Operation, Plugin, Reads};
use generic_apiserver::{RequestContext, Strategy};
use serde_json::{Value, json};

/// Finalizer in `spec.finalizers` that the namespace controller removes.
const KUBERNETES: &str = "kubernetes";
/// Namespaces that cannot be deleted.
const PERMANENT: [&str; 3] = ["default", "kube-public", "kube-system"];

/// Strategy of kind Namespace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NamespaceStrategy;

fn set(object: &mut DynamicObject, section: &str, field: &str, value: Value) {
    let entry = object.fields.entry(section).or_insert_with(|| json!({}));
    if !entry.is_object() {
        *entry = json!({});
    }
    entry[field] = value;
}

fn finalizers(object: &DynamicObject) -> Value {
    object.get(&["spec", "finalizers"]).cloned().unwrap_or_else(|| json!([]))
}

impl Strategy<DynamicObject> for NamespaceStrategy {
    fn default(&self, object: &mut DynamicObject) {
        if !object.metadata.name.is_empty() {
            let name = object.metadata.name.clone();
            object.metadata.labels.insert(label::METADATA_NAME.to_owned(), name);
        }
    }

    fn prepare_for_create(&self, object: &mut DynamicObject, _: &RequestContext) {
        // A generated name is known only here.
        Strategy::default(self, object);
        let mut list = finalizers(object).as_array().cloned().unwrap_or_default();
        if !list.iter().any(|finalizer| finalizer == KUBERNETES) {
            list.push(json!(KUBERNETES));
        }
        set(object, "spec", "finalizers", Value::Array(list));
        object.fields.insert("status".to_owned(), json!({ "phase": "Active" }));
    }

    fn prepare_for_update(&self, object: &mut DynamicObject, old: &DynamicObject, request: &RequestContext) {
        if &*request.subresource != "finalize" {
            set(object, "spec", "finalizers", finalizers(old));
        }
    }

    fn prepare_for_delete(&self, object: &mut DynamicObject, _: &RequestContext) {
        set(object, "status", "phase", json!("Terminating"));
    }

    fn holds_deletion(&self, object: &DynamicObject) -> bool {
        finalizers(object).as_array().is_some_and(|list| !list.is_empty())
    }

    fn generation(&self) -> generic_apiserver::registry::Generation {
        generic_apiserver::registry::Generation::None
    }

    fn allows_unconditional_update(&self) -> bool {
        true
    }

    fn returns_deleted_object(&self) -> bool {
        true
    }
}

/// Admission plugin that rejects the deletion of namespaces that every cluster needs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PermanentNamespaces;

impl Plugin for PermanentNamespaces {
    fn name(&self) -> &'static str {
        "NamespaceLifecycle"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, _: &mut Reads<'_>) -> Result<(), Status> {
        let namespaces = attributes.resource.group.is_empty() && attributes.resource.resource == "namespaces";
        if namespaces && attributes.operation == Operation::Delete && PERMANENT.contains(&attributes.name) {
            let resource = apimachinery::GroupResource { group: String::new(), resource: "namespaces".to_owned() };
            return Err(Status::forbidden(&resource, attributes.name, "this namespace may not be deleted"));
        }
        Ok(())
    }
}
