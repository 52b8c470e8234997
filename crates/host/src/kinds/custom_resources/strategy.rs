// SPDX-License-Identifier: Apache-2.0
//! Strategy of custom objects: pruning, defaults and validation by their schema.
//!
//! Source: k8s.io/apiextensions-apiserver pkg/registry/customresource/{strategy,validator}.go.

use std::sync::Arc;

use apiextensions::Schema;
use apimachinery::field::FieldError;
use apimachinery::{DynamicObject, Object};
use generic_apiserver::{RequestContext, Strategy};
use serde_json::Value;

#[derive(Clone, Debug)]
pub(super) struct CustomStrategy {
    pub(super) schema: Arc<Schema>,
    /// Warning for clients of a deprecated version.
    pub(super) warning: Option<String>,
}

impl CustomStrategy {
    fn violations(&self, object: &DynamicObject, old: Option<&DynamicObject>) -> Vec<FieldError> {
        self.schema.judge(&object.to_tree(), old.map(Object::to_tree).as_ref())
    }
}

impl Strategy<DynamicObject> for CustomStrategy {
    fn default(&self, object: &mut DynamicObject) {
        let mut tree = Value::Object(std::mem::take(&mut object.fields));
        self.schema.fill(&mut tree);
        if let Value::Object(fields) = tree {
            object.fields = fields;
        }
        // The server owns these fields, whatever the schema declares.
        for name in ["apiVersion", "kind", "metadata"] {
            object.fields.remove(name);
        }
    }

    fn validates_long(&self) -> bool {
        true
    }

    fn validate_create(&self, object: &DynamicObject, _: &RequestContext) -> Vec<FieldError> {
        self.violations(object, None)
    }

    fn validate_update(&self, object: &DynamicObject, old: &DynamicObject, _: &RequestContext) -> Vec<FieldError> {
        // A write that only removes finalizers is not validated against a newer schema.
        if object.fields == old.fields {
            return Vec::new();
        }
        self.violations(object, Some(old))
    }

    fn warnings(&self, _: &DynamicObject, _: Option<&DynamicObject>, _: &RequestContext) -> Vec<String> {
        self.warning.iter().cloned().collect()
    }
}
