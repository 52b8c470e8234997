// SPDX-License-Identifier: Apache-2.0
//! Admission of pods and PriorityClasses: Kubernetes' plugins `Priority`, `DefaultTolerationSeconds` and
//! `RuntimeClass`. They set values from classes and defaults, and admit at most one default PriorityClass. The rules
//! are in [`domain::admission::pods`].

use apimachinery::{DynamicObject, GroupResource, Status};
use domain::admission::pods;
use generic_apiserver::admission::{Attributes, Operation, Plugin, Reads};
use serde_json::{Map, Value};

const SCHEDULING: &str = "scheduling.k8s.io";
const PRIORITY_CLASSES: &str = "priorityclasses";
const NODE: &str = "node.k8s.io";
const RUNTIME_CLASSES: &str = "runtimeclasses";

/// Admission plugins `Priority`, `DefaultTolerationSeconds` and `RuntimeClass`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PodAdmission;

impl Plugin for PodAdmission {
    fn name(&self) -> &'static str {
        "Priority"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Result<(), Status> {
        let (resource, request) = (attributes.resource, attributes.request);
        let is_pod = resource.group.is_empty() && resource.resource == "pods" && request.subresource.is_empty();
        if !is_pod || attributes.operation == Operation::Delete {
            return Ok(());
        }
        let old = attributes.old.and_then(|old| old.downcast_ref::<DynamicObject>()).and_then(spec_of);
        let Some(pod) = attributes.object.downcast_mut::<DynamicObject>() else { return Ok(()) };
        let Some(Value::Object(spec)) = pod.fields.get_mut("spec") else { return Ok(()) };
        if let Some(old) = old {
            pods::keep_priority(spec, old);
            pods::tolerate_lost_nodes(spec, Some(old));
            return Ok(());
        }
        let group = GroupResource { group: resource.group.clone(), resource: resource.resource.clone() };
        let refused = |text: String| Status::forbidden(&group, attributes.name, &text);
        let class = |group: &'static str, plural: &'static str, name: &str| {
            let found = reads.0.get_any(group, plural, "", name)?;
            Some(found.downcast_ref::<DynamicObject>()?.fields.clone())
        };
        let all = reads.0.list_any(SCHEDULING, PRIORITY_CLASSES, None);
        let all = all.iter().filter_map(|class| class.downcast_ref::<DynamicObject>());
        let default = pods::default_class(all.map(|class| (class.metadata.name.as_str(), &class.fields)));
        pods::set_priority(spec, |name| class(SCHEDULING, PRIORITY_CLASSES, name), default).map_err(refused)?;
        pods::tolerate_lost_nodes(spec, None);
        pods::apply_runtime_class(spec, |name| class(NODE, RUNTIME_CLASSES, name)).map_err(refused)
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Result<(), Status> {
        let resource = attributes.resource;
        let is_class = resource.group == SCHEDULING && resource.resource == PRIORITY_CLASSES;
        if !is_class || attributes.operation == Operation::Delete {
            return Ok(());
        }
        let Some(class) = attributes.object.downcast_ref::<DynamicObject>() else { return Ok(()) };
        if class.fields.get("globalDefault") != Some(&Value::Bool(true)) {
            return Ok(());
        }
        // Two concurrent requests for a default class must not both succeed.
        reads.0.guard_collection(SCHEDULING, PRIORITY_CLASSES);
        let all = reads.0.list_any(SCHEDULING, PRIORITY_CLASSES, None);
        let all = all.iter().filter_map(|class| class.downcast_ref::<DynamicObject>());
        let default = pods::default_class(all.map(|class| (class.metadata.name.as_str(), &class.fields)));
        let is_new = attributes.operation == Operation::Create;
        match default {
            Some((name, _)) if is_new || name != class.metadata.name => {
                let group = GroupResource { group: resource.group.clone(), resource: resource.resource.clone() };
                let text = format!("PriorityClass {name} is already marked as default. Only one default can exist");
                Err(Status::forbidden(&group, attributes.name, &text))
            }
            _ => Ok(()),
        }
    }
}

fn spec_of(pod: &DynamicObject) -> Option<&Map<String, Value>> {
    pod.fields.get("spec")?.as_object()
}
