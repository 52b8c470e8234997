// SPDX-License-Identifier: Apache-2.0
//! Sets the default class on a new claim that names none, before it is stored.
//!
//! Source: k8s.io/kubernetes plugin/pkg/admission/storage/storageclass/setdefault.

use api::constants::annotation;
use api::kubernetes::storage::{PersistentVolumeClaim, StorageClass, default_class};
use apimachinery::{DynamicObject, Resource as _, Status};
use generic_apiserver::admission::{Attributes, Operation, Plugin, Reads};
use serde_json::{Map, Value};

/// Admission plugin `DefaultStorageClass`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DefaultStorageClass;

impl Plugin for DefaultStorageClass {
    fn name(&self) -> &'static str {
        "DefaultStorageClass"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Result<(), Status> {
        if attributes.operation != Operation::Create || !attributes.is_main::<PersistentVolumeClaim>() {
            return Ok(());
        }
        let Some(claim) = attributes.object.downcast_mut::<DynamicObject>() else { return Ok(()) };
        let is_named = claim.get(&["spec", "storageClassName"]).is_some_and(|name| !name.is_null())
            || claim.metadata.annotation(annotation::BETA_STORAGE_CLASS).is_some();
        if is_named {
            return Ok(());
        }
        let classes = reads.0.list_any(StorageClass::GROUP, StorageClass::PLURAL, None);
        let classes = classes.iter().filter_map(|class| class.downcast_ref::<DynamicObject>());
        if let Some(class) = default_class(classes.map(|class| &class.metadata)) {
            let spec = claim.fields.entry("spec").or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(spec) = spec {
                spec.insert("storageClassName".to_owned(), Value::String(class.name.clone()));
            }
        }
        Ok(())
    }
}
