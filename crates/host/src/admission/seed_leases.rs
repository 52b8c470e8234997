// SPDX-License-Identifier: Apache-2.0
//! Admission of Leases of gardenlets that other clients than components write.
//!
//! A write does not take a Lease away from its running owner, whose next renewal would undo it: the fields that an owner
//! renews are kept, and a renewal is not stored ([`heartbeats`](crate::time::heartbeats)). Nor does a write renew the Lease of
//! an owner that has ended by leaving the renewal time out.
//!
//! Source: pkg/gardenlet/controller/lease @ v1.120.0.

use api::cluster;
use api::constants::{annotation, namespace};
use api::kubernetes::coordination::Lease;
use apimachinery::meta::MicroTime;
use apimachinery::{DynamicObject, Status};
use generic_apiserver::admission::{Attributes, Operation, Plugin, Reads};
use serde_json::{Value, json};

use crate::time::heartbeats::Heartbeats;

/// Keeps the renewed fields of Leases of gardenlets.
#[derive(Clone, Debug)]
pub(crate) struct SeedLeases(pub(crate) Heartbeats);

impl Plugin for SeedLeases {
    fn name(&self) -> &'static str {
        "SeedLeases"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, _: &mut Reads<'_>) -> Result<(), Status> {
        let request = attributes.request;
        let is_such = attributes.is_main::<Lease>()
            && &*request.cluster == cluster::GARDEN
            && attributes.namespace == namespace::SEED_LEASE;
        if !is_such || attributes.operation == Operation::Delete || request.user.component.is_some() {
            return Ok(());
        }
        let old = attributes.old.and_then(|old| old.downcast_ref::<DynamicObject>());
        let has_owner = self.0.has_owner(attributes.name);
        let Some(lease) = attributes.object.downcast_mut::<DynamicObject>() else { return Ok(()) };
        if has_owner {
            keep(lease, old);
        } else if let Some(Value::Object(spec)) = lease.fields.get_mut("spec")
            && spec.get("renewTime").is_none_or(Value::is_null)
        {
            let last = old.and_then(|old| old.get(&["spec", "renewTime"])).filter(|last| !last.is_null());
            let last = last.cloned().unwrap_or_else(|| json!(MicroTime(request.now)));
            spec.insert("renewTime".to_owned(), last);
        }
        Ok(())
    }
}

/// Undoes a change of the fields of a Lease that its running owner writes with each renewal.
fn keep(lease: &mut DynamicObject, old: Option<&DynamicObject>) {
    lease.metadata.annotations.remove(annotation::OWNER_HAS_GONE);
    let spec = lease.fields.entry("spec").or_insert_with(|| json!({}));
    let Some(spec) = spec.as_object_mut() else { return };
    spec.remove("renewTime");
    let Some(old) = old else { return };
    lease.metadata.owner_references.clone_from(&old.metadata.owner_references);
    for field in ["holderIdentity", "leaseDurationSeconds"] {
        if let Some(value) = old.get(&["spec", field]) {
            spec.insert(field.to_owned(), value.clone());
        }
    }
}
