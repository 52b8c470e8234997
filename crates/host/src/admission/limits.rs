// SPDX-License-Identifier: Apache-2.0
//! LimitRanges: defaults and limits of containers, and the pods and claims that exceed them. The rules are in
//! [`domain::admission::limits`].

use apimachinery::{DynamicObject, GroupResource, Status};
use domain::admission::limits;
use generic_apiserver::admission::{Attributes, Operation, Plugin, Reads};
use serde_json::Value;

const PODS: &str = "pods";
const CLAIMS: &str = "persistentvolumeclaims";

/// Admission plugin `LimitRanger`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimitRanger;

/// True if a request is checked: pods only when they are created, since the resources of their containers are
/// immutable.
fn is_judged(attributes: &Attributes<'_>) -> bool {
    let resource = attributes.resource;
    let is_going = attributes.old.and_then(|old| old.downcast_ref::<DynamicObject>());
    let is_going = is_going.is_some_and(|old| old.metadata.is_being_deleted());
    let is_main = resource.group.is_empty() && attributes.request.subresource.is_empty() && !is_going;
    is_main
        && match attributes.operation {
            Operation::Create => matches!(resource.resource.as_str(), PODS | CLAIMS),
            Operation::Update => resource.resource == CLAIMS,
            Operation::Delete => false,
        }
}

/// Returns the limits of each LimitRange of the request's namespace.
fn ranges(attributes: &Attributes<'_>, reads: &mut Reads<'_>) -> Vec<Vec<Value>> {
    let stored = reads.0.list_any("", "limitranges", Some(attributes.namespace));
    let entries = |range: &DynamicObject| range.get(&["spec", "limits"]).and_then(Value::as_array).cloned();
    stored.iter().filter_map(|range| entries(range.downcast_ref()?)).collect()
}

impl Plugin for LimitRanger {
    fn name(&self) -> &'static str {
        "LimitRanger"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Result<(), Status> {
        if attributes.resource.resource != PODS || !is_judged(attributes) {
            return Ok(());
        }
        let ranges = ranges(attributes, reads);
        let Some(pod) = attributes.object.downcast_mut::<DynamicObject>() else { return Ok(()) };
        for limits in &ranges {
            let Some(spec) = pod.fields.get_mut("spec") else { return Ok(()) };
            if let Some(told) = limits::fill(limits, spec) {
                pod.metadata.annotations.insert(limits::ANNOTATION.to_owned(), told);
            }
        }
        Ok(())
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Result<(), Status> {
        if !is_judged(attributes) {
            return Ok(());
        }
        let ranges = ranges(attributes, reads);
        let resource = attributes.resource;
        let Some(object) = attributes.object.downcast_ref::<DynamicObject>() else { return Ok(()) };
        let spec = object.fields.get("spec").unwrap_or(&Value::Null);
        for limits in &ranges {
            let judged = if resource.resource == PODS {
                limits::check_pod(limits, spec)
            } else {
                limits::check_claim(limits, spec)
            };
            judged.map_err(|text| {
                let group = GroupResource { group: String::new(), resource: resource.resource.clone() };
                Status::forbidden(&group, attributes.name, &text)
            })?;
        }
        Ok(())
    }
}
