// SPDX-License-Identifier: Apache-2.0
//! ResourceQuotas: reject creations that exceed a quota. The counted collections are guarded, so that concurrent
//! creations cannot exceed it together.
//!
//! Deliberately absent: custom resources of a cluster (`count/…` of them is counted, but not enforced).

use std::sync::Arc;

use api::kubernetes::core::{self, ResourceQuota};
use apimachinery::{DynamicObject, GroupResource, Resource as _, Status};
use domain::resource_quota::{self, Request};
use generic_apiserver::admission::{Attributes, Operation, Plugin, Reads};
use serde_json::{Map, Value};

/// Admission plugin `ResourceQuota`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResourceQuotas;

impl Plugin for ResourceQuotas {
    fn name(&self) -> &'static str {
        "ResourceQuota"
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Result<(), Status> {
        let is_write = attributes.operation != Operation::Delete && attributes.request.subresource.is_empty();
        if !is_write || attributes.namespace.is_empty() {
            return Ok(());
        }
        let stored = reads.0.list_any(ResourceQuota::GROUP, ResourceQuota::PLURAL, Some(attributes.namespace));
        if stored.is_empty() {
            return Ok(());
        }
        let resource =
            &GroupResource { group: attributes.resource.group.clone(), resource: attributes.resource.resource.clone() };
        let none = Map::new();
        let old = attributes.old.map(|old| old.downcast_ref::<DynamicObject>().map_or(&none, |old| &old.fields));
        let new = attributes.object.downcast_ref::<DynamicObject>().map_or(&none, |new| &new.fields);
        let request = Request { resource, new, old };
        let refused = |text: String| Status::forbidden(resource, attributes.name, &text);
        for quota in stored.iter().filter_map(|quota| typed(quota.downcast_ref()?)) {
            let asked = request.asks(&quota).map_err(refused)?;
            if asked.is_empty() {
                continue;
            }
            reads.0.guard_collection(&resource.group, &resource.resource);
            reads.0.guard_collection(ResourceQuota::GROUP, ResourceQuota::PLURAL);
            let there = reads.0.list_any(&resource.group, &resource.resource, Some(attributes.namespace));
            let fields = |object: &'_ Arc<dyn std::any::Any + Send + Sync>| {
                object.downcast_ref::<DynamicObject>().map_or_else(Map::new, |object| object.fields.clone())
            };
            let there: Vec<Map<String, Value>> = there.iter().map(fields).collect();
            let mut used = resource_quota::used(&quota, resource, &there);
            // The updated object is counted once: with its old usage.
            used.retain(|name, _| asked.contains_key(name));
            resource_quota::check(&quota, &asked, &used).map_err(refused)?;
        }
        Ok(())
    }
}

/// Decodes a quota; invalid fields are ignored.
pub(crate) fn typed(quota: &DynamicObject) -> Option<ResourceQuota> {
    let spec = quota.fields.get("spec").cloned().unwrap_or_else(|| Value::Object(Map::new()));
    let spec: core::ResourceQuotaSpec = serde_json::from_value(spec).ok()?;
    Some(ResourceQuota { metadata: quota.metadata.clone(), spec, ..ResourceQuota::default() })
}
