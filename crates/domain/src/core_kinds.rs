// SPDX-License-Identifier: Apache-2.0
//! Writes of Kubernetes' own kinds: properties of each kind, the fields that an update keeps, the grace period of a
//! deletion. Their defaults are in [`crate::defaulting`], their validation in [`crate::validation`].
//!
//! Source: k8s.io/kubernetes pkg/registry/*/*/strategy.go, pkg/registry/*/*/storage.

use apimachinery::DynamicObject;
use serde_json::{Map, Value, json};

use crate::resource_quota::qos_class;

/// Grace period in seconds of a pod that has none of its own.
const GRACE_SECONDS: i64 = 30;

/// Top-level fields that are validated again when one of them changes.
const VALIDATED: [&str; 9] =
    ["spec", "revision", "data", "binaryData", "type", "immutable", "value", "preemptionPolicy", "handler"];

/// Properties of a kind that its clients can observe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// True if `metadata.generation` counts changes of the specification.
    pub counts_generations: bool,
    /// True if a PUT needs no resource version.
    pub allows_unconditional_update: bool,
    /// True if a PUT creates a missing object.
    pub allows_create_on_update: bool,
    /// True if the response to a deletion has the deleted object.
    pub returns_deleted: bool,
    /// True if a new object may carry its status: kubelets register Nodes with theirs.
    pub keeps_status: bool,
}

impl Traits {
    /// Returns the properties of a kind.
    pub fn of(group: &str, plural: &str) -> Self {
        Self {
            counts_generations: matches!(
                group,
                "apps" | "policy" | "networking.k8s.io" | "batch" | "autoscaling" | "discovery.k8s.io"
            ),
            allows_unconditional_update: group != "coordination.k8s.io",
            allows_create_on_update: matches!((group, plural), ("coordination.k8s.io", "leases") | ("", "events")),
            returns_deleted: group.is_empty()
                && matches!(plural, "pods" | "serviceaccounts" | "services" | "persistentvolumes" | "nodes"),
            keeps_status: group.is_empty() && matches!(plural, "nodes" | "pods"),
        }
    }
}

/// True if no field that validation reads differs.
pub fn is_specified_alike(fields: &Map<String, Value>, old: &Map<String, Value>) -> bool {
    VALIDATED.iter().all(|name| fields.get(*name) == old.get(*name))
}

/// Initial status of a pod that does not run yet.
pub fn pending_pod(fields: &Map<String, Value>) -> Value {
    let class = fields.get("spec").map_or("BestEffort", qos_class);
    json!({ "phase": "Pending", "qosClass": class })
}

/// Reverts all changes of a pod except those of its debug containers.
///
/// Source: pkg/registry/core/pod/strategy.go (dropNonEphemeralContainerUpdates).
pub fn keep_all_but_ephemeral_containers(pod: &mut DynamicObject, old: &DynamicObject) {
    let given = pod.fields.get("spec").and_then(|spec| spec.get("ephemeralContainers")).cloned();
    pod.fields.clone_from(&old.fields);
    pod.metadata.labels.clone_from(&old.metadata.labels);
    pod.metadata.annotations.clone_from(&old.metadata.annotations);
    pod.metadata.finalizers.clone_from(&old.metadata.finalizers);
    pod.metadata.owner_references.clone_from(&old.metadata.owner_references);
    if let Some(Value::Object(spec)) = pod.fields.get_mut("spec") {
        match given.filter(|given| !given.is_null()) {
            Some(given) => spec.insert("ephemeralContainers".to_owned(), given),
            None => spec.remove("ephemeralContainers"),
        };
    }
}

/// Grace period in seconds of the deletion of a pod; 0 for one that has ended or has no node. `asked`: the client's value.
///
/// Source: pkg/registry/core/pod/strategy.go (CheckGracefulDelete).
pub fn pod_grace_seconds(fields: &Map<String, Value>, asked: Option<i64>) -> i64 {
    let get = |outer: &str, name: &str| fields.get(outer).and_then(|outer| outer.get(name));
    let text = |outer: &str, name: &str| get(outer, name).and_then(Value::as_str).unwrap_or_default();
    let is_over = matches!(text("status", "phase"), "Succeeded" | "Failed");
    if is_over || text("spec", "nodeName").is_empty() {
        return 0;
    }
    let own = get("spec", "terminationGracePeriodSeconds").and_then(Value::as_i64);
    asked.or(own).unwrap_or(GRACE_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(tree: &Value) -> Map<String, Value> {
        tree.as_object().cloned().expect("an object")
    }

    /// Generation, unconditional update, creation by an update, deleted object in the response, status of a new object.
    #[test]
    fn kinds_differ_in_their_writes() {
        for (group, plural, expected) in [
            ("", "pods", [false, true, false, true, true]),
            ("", "nodes", [false, true, false, true, true]),
            ("", "services", [false, true, false, true, false]),
            ("", "serviceaccounts", [false, true, false, true, false]),
            ("", "persistentvolumes", [false, true, false, true, false]),
            ("", "persistentvolumeclaims", [false, true, false, false, false]),
            ("", "events", [false, true, true, false, false]),
            ("", "secrets", [false, true, false, false, false]),
            ("apps", "deployments", [true, true, false, false, false]),
            ("batch", "jobs", [true, true, false, false, false]),
            ("policy", "poddisruptionbudgets", [true, true, false, false, false]),
            ("coordination.k8s.io", "leases", [false, false, true, false, false]),
            ("storage.k8s.io", "storageclasses", [false, true, false, false, false]),
        ] {
            let traits = Traits::of(group, plural);
            let found = [
                traits.counts_generations,
                traits.allows_unconditional_update,
                traits.allows_create_on_update,
                traits.returns_deleted,
                traits.keeps_status,
            ];
            assert_eq!(found, expected, "{group} {plural}");
        }
    }

    #[test]
    fn only_validated_fields_make_a_difference() {
        let old = json!({ "spec": { "a": 1 }, "data": { "b": "c" }, "status": { "phase": "Pending" } });
        for (changed, expected) in [
            (json!({}), true),
            (json!({ "status": { "phase": "Running" } }), true),
            (json!({ "involvedObject": {} }), true),
            (json!({ "spec": { "a": 2 } }), false),
            (json!({ "spec": null }), false),
            (json!({ "data": {} }), false),
            (json!({ "binaryData": {} }), false),
            (json!({ "type": "Opaque" }), false),
            (json!({ "immutable": true }), false),
            (json!({ "revision": 1 }), false),
            (json!({ "value": 1 }), false),
            (json!({ "preemptionPolicy": "Never" }), false),
            (json!({ "handler": "runc" }), false),
        ] {
            let mut new = fields(&old);
            new.extend(fields(&changed));
            assert_eq!(is_specified_alike(&new, &fields(&old)), expected, "{changed}");
        }
    }

    #[test]
    fn a_pod_that_does_not_run_is_pending() {
        assert_eq!(pending_pod(&Map::new()), json!({ "phase": "Pending", "qosClass": "BestEffort" }));
        let requests = json!({ "spec": { "containers": [{ "resources": { "requests": { "cpu": "1" } } }] } });
        assert_eq!(pending_pod(&fields(&requests)), json!({ "phase": "Pending", "qosClass": "Burstable" }));
    }

    #[test]
    fn of_a_pod_only_debug_containers_change() {
        let pod = |tree: Value| DynamicObject { fields: fields(&tree), ..DynamicObject::default() };
        let old = pod(json!({ "spec": { "nodeName": "n", "ephemeralContainers": [{ "name": "a" }] } }));
        let debug = json!([{ "name": "a" }, { "name": "b" }]);
        let mut new = pod(json!({ "spec": { "nodeName": "m", "ephemeralContainers": debug }, "status": {} }));
        new.metadata.labels.insert("l".to_owned(), "v".to_owned());
        keep_all_but_ephemeral_containers(&mut new, &old);
        assert_eq!(new, pod(json!({ "spec": { "nodeName": "n", "ephemeralContainers": debug } })));
        let mut without = pod(json!({ "spec": { "ephemeralContainers": null } }));
        keep_all_but_ephemeral_containers(&mut without, &old);
        assert_eq!(without, pod(json!({ "spec": { "nodeName": "n" } })));
    }

    #[test]
    fn pods_on_nodes_have_a_grace_period() {
        for (tree, asked, expected) in [
            (json!({ "spec": {} }), Some(5), 0),
            (json!({ "spec": { "nodeName": "n" } }), None, 30),
            (json!({ "spec": { "nodeName": "n" } }), Some(5), 5),
            (json!({ "spec": { "nodeName": "n", "terminationGracePeriodSeconds": 60 } }), None, 60),
            (json!({ "spec": { "nodeName": "n", "terminationGracePeriodSeconds": 60 } }), Some(0), 0),
            (json!({ "spec": { "nodeName": "n" }, "status": { "phase": "Running" } }), None, 30),
            (json!({ "spec": { "nodeName": "n" }, "status": { "phase": "Succeeded" } }), None, 0),
            (json!({ "spec": { "nodeName": "n" }, "status": { "phase": "Failed" } }), Some(5), 0),
        ] {
            assert_eq!(pod_grace_seconds(&fields(&tree), asked), expected, "{tree} {asked:?}");
        }
    }
}
