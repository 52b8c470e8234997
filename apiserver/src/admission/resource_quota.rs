// SPDX-License-Identifier: Apache-2.0
//! ResourceQuotas of Kubernetes in the namespaces of Projects: maximum numbers of objects of Gardener's kinds
//! (`count/shoots.core.gardener.cloud`). The counted collection is guarded, so that two instances together do not
//! exceed a quota.

use api::kubernetes::core::ResourceQuota;
use apimachinery::{GroupResource, Resource as _, Status};
use domain::resource_quota::{self, Request};
use generic_apiserver::{Attributes, Operation, Plugin, Reads};
use serde_json::Map;

/// Admission plugin `ResourceQuota`.
pub(super) struct ResourceQuotas;

impl Plugin for ResourceQuotas {
    fn name(&self) -> &'static str {
        "ResourceQuota"
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Result<(), Status> {
        let is_new = attributes.operation == Operation::Create && attributes.request.subresource.is_empty();
        if !is_new || attributes.namespace.is_empty() {
            return Ok(());
        }
        let resource =
            &GroupResource { group: attributes.resource.group.clone(), resource: attributes.resource.resource.clone() };
        // Only the number of objects of these kinds counts.
        let nothing = Map::new();
        let request = Request { resource, new: &nothing, old: None };
        let refused = |text: String| Status::forbidden(resource, attributes.name, &text);
        for quota in reads.list::<ResourceQuota>(Some(attributes.namespace)) {
            let asked = request.asks(&quota).map_err(refused)?;
            if asked.is_empty() {
                continue;
            }
            reads.0.guard_collection(&resource.group, &resource.resource);
            reads.0.guard_collection(ResourceQuota::GROUP, ResourceQuota::PLURAL);
            let count = reads.0.list_any(&resource.group, &resource.resource, Some(attributes.namespace)).len();
            let used = resource_quota::used(&quota, resource, std::iter::repeat_n(&nothing, count));
            resource_quota::check(&quota, &asked, &used).map_err(refused)?;
        }
        Ok(())
    }
}
