// SPDX-License-Identifier: Apache-2.0
//! Strategy of kind CustomResourceDefinition.
//!
//! Source: k8s.io/apiextensions-apiserver pkg/registry/customresourcedefinition/{strategy,etcd}.go.

use apiextensions::Definition;
use apiextensions::definition::{self, CLEANUP_FINALIZER};
use apimachinery::DynamicObject;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::Time;
use generic_apiserver::{RequestContext, Strategy};
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DefinitionStrategy;

fn violations(object: &DynamicObject, old: Option<&DynamicObject>) -> Vec<FieldError> {
    let is_kept = |version: &str| {
        let schema = |object: &DynamicObject| {
            let versions = object.fields.get("spec")?.get("versions")?.as_array()?;
            Some(versions.iter().find(|one| one["name"] == version)?["schema"].clone())
        };
        old.is_some_and(|old| schema(old) == schema(object))
    };
    match Definition::of(&object.fields) {
        Ok(read) => {
            let annotation = |key: &str| object.metadata.annotation(key).map(str::to_owned);
            read.violations(&object.metadata.name, annotation, is_kept)
        }
        Err(error) => vec![FieldError::invalid(&Path::new("spec"), "", &error)],
    }
}

fn status(object: &DynamicObject) -> Value {
    object.fields.get("status").cloned().unwrap_or_default()
}

impl Strategy<DynamicObject> for DefinitionStrategy {
    fn default(&self, object: &mut DynamicObject) {
        definition::fill(&mut object.fields);
    }

    fn prepare_for_create(&self, object: &mut DynamicObject, _: &RequestContext) {
        let read = Definition::of(&object.fields).unwrap_or_default();
        let stored: Vec<&str> = read.storage().map(|version| version.name.as_str()).into_iter().collect();
        let status =
            json!({ "conditions": [], "acceptedNames": { "plural": "", "kind": "" }, "storedVersions": stored });
        object.fields.insert("status".to_owned(), status);
    }

    fn validates_long(&self) -> bool {
        true
    }

    fn validate_create(&self, object: &DynamicObject, _: &RequestContext) -> Vec<FieldError> {
        violations(object, None)
    }

    fn validate_update(
        &self,
        object: &DynamicObject,
        old: &DynamicObject,
        request: &RequestContext,
    ) -> Vec<FieldError> {
        // A definition stored by an earlier release must remain deletable: an unchanged specification is not validated.
        if &*request.subresource == "status" || object.fields.get("spec") == old.fields.get("spec") {
            return Vec::new();
        }
        let read = |object: &DynamicObject| Definition::of(&object.fields).unwrap_or_default();
        let (new, before) = (read(object), read(old));
        let mut errors = violations(object, Some(old));
        errors.extend(new.changes(&before, definition::is_true(&status(old), "Established")));
        let stored = status(old)["storedVersions"].as_array().cloned().unwrap_or_default();
        for (index, version) in stored.iter().enumerate() {
            let name = version.as_str().unwrap_or_default();
            if !new.versions.iter().any(|version| version.name == name) {
                let path = Path::new("status").child("storedVersions").index(index);
                errors.push(FieldError::invalid(&path, name, "must appear in spec.versions"));
            }
        }
        errors
    }

    fn prepare_for_delete(&self, object: &mut DynamicObject, request: &RequestContext) {
        let mut status = status(object);
        if !definition::is_true(&status, "Established") {
            return;
        }
        let text = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
        let mut conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let now = Time::from_instant(request.now);
        definition::set_condition(&mut conditions, "Terminating", true, "InstanceDeletionPending", text, &now);
        status["conditions"] = Value::Array(conditions);
        object.fields.insert("status".to_owned(), status);
        if !object.metadata.has_finalizer(CLEANUP_FINALIZER) {
            object.metadata.finalizers.push(CLEANUP_FINALIZER.to_owned());
        }
    }

    fn allows_unconditional_update(&self) -> bool {
        false
    }
}
