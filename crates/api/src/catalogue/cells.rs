// SPDX-License-Identifier: Apache-2.0
//! Cells that are computed by a function.
//!
//! Source: pkg/apiserver/registry/*/storage/tableconvertor.go @ v1.120.0, kubernetes pkg/printers/internalversion/printers.go.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// Returns the text at a JSON pointer, or `absent`.
pub(super) fn text(object: &Value, pointer: &str, absent: &str) -> Value {
    match object.pointer(pointer).and_then(Value::as_str) {
        Some(text) if !text.is_empty() => json!(text),
        _ => json!(absent),
    }
}

pub(super) fn str_at<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn number_at(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

pub(super) fn items(list: &Value) -> std::slice::Iter<'_, Value> {
    list.as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

/// Returns the status of a condition.
pub(super) fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a str> {
    items(&object["status"]["conditions"]).find(|condition| condition["type"] == *type_)?["status"].as_str()
}

/// Number of entries of a list or map.
pub(super) fn count(value: &Value) -> Value {
    json!(value.as_array().map(Vec::len).or_else(|| value.as_object().map(serde_json::Map::len)).unwrap_or(0))
}

/// Number of keys of a ConfigMap.
pub(super) fn data(object: &Value) -> Value {
    let of = |name: &str| object[name].as_object().map_or(0, serde_json::Map::len);
    json!(of("data") + of("binaryData"))
}

/// Number at a JSON pointer; 0 if absent, since Go omits zero.
pub(super) fn number(object: &Value, pointer: &str) -> Value {
    json!(number_at(object, pointer))
}

/// Boolean at a JSON pointer; `default` if absent.
pub(super) fn flag(object: &Value, pointer: &str, default: bool) -> Value {
    json!(object.pointer(pointer).and_then(Value::as_bool).unwrap_or(default))
}

/// Texts of a list, separated by commas.
pub(super) fn joined(list: &Value) -> Value {
    json!(items(list).filter_map(Value::as_str).collect::<Vec<_>>().join(","))
}

/// `NAMESPACE/NAME` of a reference.
pub(super) fn namespaced_name(reference: &Value) -> Value {
    json!(format!("{}/{}", str_at(reference, "/namespace"), str_at(reference, "/name")))
}

/// A label selector as text; `<none>` when it selects everything.
pub(super) fn selector(selector: &Value) -> Value {
    let parsed = serde_json::from_value::<apimachinery::meta::LabelSelector>(selector.clone()).unwrap_or_default();
    match apimachinery::selector::Labels::from_selector(&parsed) {
        Ok(labels) if labels.is_empty() => json!("<none>"),
        Ok(labels) => json!(labels.to_string()),
        Err(_) => json!("<error>"),
    }
}

/// Labels of a map as text; `<none>` for none.
pub(super) fn labels(map: &Value) -> Value {
    let pairs = map.as_object().into_iter().flatten();
    let pairs: Vec<String> =
        pairs.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    json!(if pairs.is_empty() { "<none>".to_owned() } else { pairs.join(",") })
}

/// Last operation, in the form `Reconcile Succeeded (100%)`.
pub(super) fn last_operation(object: &Value) -> Value {
    let operation = &object["status"]["lastOperation"];
    if !operation.is_object() {
        return json!("<pending>");
    }
    let (type_, state) = (str_at(operation, "/type"), str_at(operation, "/state"));
    json!(format!("{type_} {state} ({}%)", number_at(operation, "/progress")))
}

pub(super) fn progress(object: &Value) -> Value {
    json!(number_at(object, "/status/lastOperation/progress").to_string())
}

/// Profile of a Shoot: `NAME`, or `NAMESPACE/NAME`. `cloudProfileName` is used if there is no `cloudProfile`.
pub(super) fn shoot_cloud_profile(object: &Value) -> Value {
    if !object["spec"]["cloudProfile"].is_object() {
        return json!(str_at(object, "/spec/cloudProfileName"));
    }
    let name = str_at(object, "/spec/cloudProfile/name");
    match str_at(object, "/spec/cloudProfile/kind") {
        "" | "CloudProfile" => json!(name),
        "NamespacedCloudProfile" => json!(format!("{}/{name}", str_at(object, "/metadata/namespace"))),
        _ => json!(""),
    }
}

pub(super) fn shoot_hibernation(object: &Value) -> Value {
    let wanted = object["spec"]["hibernation"]["enabled"] == true;
    let reached = object["status"]["hibernated"] == true;
    json!(match (wanted, reached) {
        (true, true) => "Hibernated",
        (true, false) => "Hibernating",
        (false, true) => "Waking Up",
        (false, false) => "Awake",
    })
}

/// Status of a Seed, derived from four conditions: `Ready`, `NotReady` or `Unknown`.
pub(super) fn seed_status(object: &Value) -> Value {
    let failed = |status| matches!(status, Some("False" | "Unknown"));
    let gardenlet = condition(object, "GardenletReady");
    if gardenlet == Some("Unknown") {
        return json!("Unknown");
    }
    let extensions = condition(object, "ExtensionsReady");
    let not_ready = gardenlet != Some("True")
        || condition(object, "BackupBucketsReady").is_some_and(|status| status != "True")
        || extensions.is_none()
        || failed(extensions)
        || failed(condition(object, "SeedSystemComponentsHealthy"));
    json!(if not_ready { "NotReady" } else { "Ready" })
}

pub(super) fn quota_scope(object: &Value) -> Value {
    let scope = &object["spec"]["scope"];
    json!(format!("{}.{}", str_at(scope, "/apiVersion"), str_at(scope, "/kind")))
}

pub(super) fn quota_lifetime(object: &Value) -> Value {
    match object["spec"]["clusterLifetimeDays"].as_i64() {
        Some(days) => json!(format!("{days} days")),
        None => json!("<unspecified>"),
    }
}

/// Resources of a ControllerRegistration: `KIND/TYPE, …`.
pub(super) fn registration_resources(object: &Value) -> Value {
    let resources = items(&object["spec"]["resources"]);
    let resources: Vec<String> =
        resources.map(|resource| format!("{}/{}", str_at(resource, "/kind"), str_at(resource, "/type"))).collect();
    json!(resources.join(", "))
}

pub(super) fn managed_seed_status(object: &Value) -> Value {
    json!(match condition(object, "SeedRegistered") {
        None | Some("Unknown") => "Unknown",
        Some("True") => "Registered",
        Some(_) => "NotRegistered",
    })
}

pub(super) fn managed_seed_set_ready(object: &Value) -> Value {
    let wanted = object["spec"]["replicas"].as_i64().unwrap_or(1);
    json!(format!("{}/{wanted}", number_at(object, "/status/readyReplicas")))
}

pub(super) fn managed_seed_set_pending(object: &Value) -> Value {
    let pending = &object["status"]["pendingReplica"];
    if !pending.is_object() {
        return json!("");
    }
    json!(format!("{}:{}", str_at(pending, "/name"), str_at(pending, "/reason")))
}

/// Reference of gardenlet's chart, or repository and tag.
pub(super) fn gardenlet_repository(object: &Value) -> Value {
    let repository = &object["spec"]["deployment"]["helm"]["ociRepository"];
    let reference = str_at(repository, "/ref");
    if !reference.is_empty() {
        return json!(reference);
    }
    let (name, tag) = (str_at(repository, "/repository"), str_at(repository, "/tag"));
    json!(if tag.is_empty() { name.to_owned() } else { format!("{name}:{tag}") })
}

/// Host name of a Bastion, or its address if it has none.
pub(super) fn bastion_address(object: &Value) -> Value {
    let ingress = &object["status"]["ingress"];
    let hostname = str_at(ingress, "/hostname");
    if hostname.is_empty() { text(ingress, "/ip", "<pending>") } else { json!(hostname) }
}

/// `READY/DESIRED` replicas of a Deployment or StatefulSet.
pub(super) fn ready_of_replicas(object: &Value) -> Value {
    let wanted = object["spec"]["replicas"].as_i64().unwrap_or(1);
    json!(format!("{}/{wanted}", number_at(object, "/status/readyReplicas")))
}

/// A field of the containers of a template, separated by commas.
fn containers(object: &Value, field: &str) -> Value {
    let containers = items(&object["spec"]["template"]["spec"]["containers"]);
    json!(containers.map(|container| str_at(container, field)).collect::<Vec<_>>().join(","))
}

pub(super) fn container_names(object: &Value) -> Value {
    containers(object, "/name")
}

pub(super) fn container_images(object: &Value) -> Value {
    containers(object, "/image")
}

pub(super) fn node_status(object: &Value) -> Value {
    let mut words = vec![match condition(object, "Ready") {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }];
    if object["spec"]["unschedulable"] == true {
        words.push("SchedulingDisabled");
    }
    json!(words.join(","))
}

/// Roles of a Node by its labels, sorted.
pub(super) fn node_roles(object: &Value) -> Value {
    let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
    let roles: BTreeSet<&str> = labels
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None if key == "kubernetes.io/role" => value.as_str(),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    json!(if roles.is_empty() { "<none>".to_owned() } else { roles.into_iter().collect::<Vec<_>>().join(",") })
}

fn node_address(object: &Value, type_: &str) -> Value {
    let mut of_type = items(&object["status"]["addresses"]).filter(|address| address["type"] == *type_);
    of_type.next().map_or_else(|| json!("<none>"), |address| address["address"].clone())
}

pub(super) fn node_internal_ip(object: &Value) -> Value {
    node_address(object, "InternalIP")
}

pub(super) fn node_external_ip(object: &Value) -> Value {
    node_address(object, "ExternalIP")
}

/// Object of an Event: `kind/name`, with the kind in lower case.
pub(super) fn event_object(object: &Value) -> Value {
    let involved = &object["involvedObject"];
    let (kind, name) = (str_at(involved, "/kind").to_ascii_lowercase(), str_at(involved, "/name"));
    json!(if name.is_empty() { kind } else { format!("{kind}/{name}") })
}

/// Time at which an Event was seen last: from its series, else its timestamps, else `eventTime`.
pub(super) fn event_last_seen(object: &Value) -> Value {
    if object["series"].is_object() {
        return first_text(object, &["/series/lastObservedTime"]);
    }
    first_text(object, &["/lastTimestamp", "/firstTimestamp", "/eventTime"])
}

pub(super) fn event_first_seen(object: &Value) -> Value {
    first_text(object, &["/firstTimestamp", "/eventTime"])
}

fn first_text(object: &Value, pointers: &[&str]) -> Value {
    let mut found = pointers.iter().map(|pointer| str_at(object, pointer)).filter(|text| !text.is_empty());
    found.next().map_or(Value::Null, |text| json!(text))
}

/// `component, host` of `source`; an absent part is replaced by the reporting component or instance.
pub(super) fn event_source(object: &Value) -> Value {
    let either = |one: &str, other: &str| match str_at(object, one) {
        "" => str_at(object, other).to_owned(),
        text => text.to_owned(),
    };
    let component = either("/source/component", "/reportingComponent");
    let host = either("/source/host", "/reportingInstance");
    json!(if host.is_empty() { component } else { format!("{component}, {host}") })
}

pub(super) fn event_count(object: &Value) -> Value {
    if object["series"].is_object() {
        return number(object, "/series/count");
    }
    json!(number_at(object, "/count").max(1))
}

pub(super) fn event_message(object: &Value) -> Value {
    json!(str_at(object, "/message").trim())
}

/// Ports of a Service: `PORT[:NODEPORT]/PROTOCOL, …`.
pub(super) fn service_ports(object: &Value) -> Value {
    let ports: Vec<String> = items(&object["spec"]["ports"])
        .map(|port| {
            let protocol = if str_at(port, "/protocol").is_empty() { "TCP" } else { str_at(port, "/protocol") };
            match number_at(port, "/nodePort") {
                0 => format!("{}/{protocol}", number_at(port, "/port")),
                node => format!("{}:{node}/{protocol}", number_at(port, "/port")),
            }
        })
        .collect();
    json!(if ports.is_empty() { "<none>".to_owned() } else { ports.join(",") })
}

/// Addresses of a load balancer, sorted and separated by commas.
pub(super) fn load_balancer(object: &Value) -> String {
    let address = |ingress: &Value| match (str_at(ingress, "/ip"), str_at(ingress, "/hostname")) {
        ("", "") => None,
        ("", name) => Some(name.to_owned()),
        (ip, _) => Some(ip.to_owned()),
    };
    let found: BTreeSet<String> = items(&object["status"]["loadBalancer"]["ingress"]).filter_map(address).collect();
    found.into_iter().collect::<Vec<_>>().join(",")
}

/// External addresses of a Service.
pub(super) fn service_external(object: &Value) -> Value {
    let own: Vec<&str> = items(&object["spec"]["externalIPs"]).filter_map(Value::as_str).collect();
    match str_at(object, "/spec/type") {
        "ClusterIP" | "NodePort" if own.is_empty() => json!("<none>"),
        "ClusterIP" | "NodePort" => json!(own.join(",")),
        "LoadBalancer" => {
            let balanced = load_balancer(object);
            let all: Vec<&str> = std::iter::once(&*balanced).filter(|text| !text.is_empty()).chain(own).collect();
            json!(if all.is_empty() { "<pending>".to_owned() } else { all.join(",") })
        }
        "ExternalName" => json!(str_at(object, "/spec/externalName")),
        _ => json!("<unknown>"),
    }
}

/// An integer or a percentage, `N/A` when absent.
pub(super) fn or_not_applicable(value: &Value) -> Value {
    match value {
        Value::String(text) => json!(text),
        Value::Number(number) => json!(number.to_string()),
        _ => json!("N/A"),
    }
}

/// Kind and name of the role that a binding grants.
pub(super) fn binding_role(object: &Value) -> Value {
    json!(format!("{}/{}", str_at(object, "/roleRef/kind"), str_at(object, "/roleRef/name")))
}

/// Names of a binding's subjects of a kind; ServiceAccounts with their namespace.
pub(super) fn subjects(object: &Value, kind: &str) -> Value {
    let of_kind = items(&object["subjects"]).filter(|subject| subject["kind"] == *kind);
    let names = of_kind.map(|subject| match kind {
        "ServiceAccount" => format!("{}/{}", str_at(subject, "/namespace"), str_at(subject, "/name")),
        _ => str_at(subject, "/name").to_owned(),
    });
    json!(names.collect::<Vec<_>>().join(", "))
}

/// Conditions of a CertificateSigningRequest: `Approved,Issued`.
pub(super) fn signing_request(object: &Value) -> Value {
    let has = |type_: &str| items(&object["status"]["conditions"]).any(|condition| condition["type"] == *type_);
    let decision = if has("Denied") {
        "Denied"
    } else if has("Approved") {
        "Approved"
    } else {
        "Pending"
    };
    let failed = if has("Failed") { ",Failed" } else { "" };
    let issued = if str_at(object, "/status/certificate").is_empty() { "" } else { ",Issued" };
    json!(format!("{decision}{failed}{issued}"))
}

/// Service that implements an APIService; `Local` for the server itself.
pub(super) fn service_of_group(object: &Value) -> Value {
    let service = &object["spec"]["service"];
    if service.is_object() { namespaced_name(service) } else { json!("Local") }
}

/// Availability of an APIService, with the reason if it is not available.
pub(super) fn availability(object: &Value) -> Value {
    let found = items(&object["status"]["conditions"]).find(|condition| condition["type"] == "Available");
    json!(match found {
        Some(condition) if condition["status"] != "True" => {
            format!("{} ({})", str_at(condition, "/status"), str_at(condition, "/reason"))
        }
        Some(_) => "True".to_owned(),
        None => "Unknown".to_owned(),
    })
}

/// Usage and limit of each resource in a ResourceQuota for which `wanted` returns true: `pods: 1/3, secrets: 0/2`.
pub(super) fn quota(object: &Value, wanted: fn(&str) -> bool) -> Value {
    let text = |of: &str, name: &str| object["status"][of][name].as_str().unwrap_or("0").to_owned();
    let names = object["status"]["hard"].as_object().into_iter().flatten().map(|(name, _)| name);
    let shown = names.filter(|name| wanted(name));
    let shown: Vec<String> =
        shown.map(|name| format!("{name}: {}/{}", text("used", name), text("hard", name))).collect();
    Value::from(shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(cell: fn(&Value) -> Value, object: &Value, expected: &str) {
        assert_eq!(cell(object), json!(expected));
    }

    #[test]
    fn bindings_name_their_subjects() {
        let binding = json!({"subjects": [
            {"kind": "User", "name": "a"}, {"kind": "User", "name": "b"}, {"kind": "Group", "name": "g"},
            {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
        ]});
        for (kind, expected) in [("User", "a, b"), ("Group", "g"), ("ServiceAccount", "n/s"), ("Other", "")] {
            assert_eq!(subjects(&binding, kind), json!(expected));
        }
    }

    #[test]
    fn a_service_shows_its_external_addresses() {
        let service = |kind: &str, own: &[&str], given: Value| {
            json!({
                "spec": {"type": kind, "externalIPs": own, "externalName": "x.example.com"},
                "status": {"loadBalancer": {"ingress": given}},
            })
        };
        let given = json!([{"ip": "10.0.0.2"}, {"hostname": "b"}, {"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}, {}]);
        check(service_external, &service("ClusterIP", &[], json!(null)), "<none>");
        check(service_external, &service("NodePort", &["1.1.1.1", "1.1.1.0"], json!(null)), "1.1.1.1,1.1.1.0");
        check(service_external, &service("LoadBalancer", &[], json!([])), "<pending>");
        check(service_external, &service("LoadBalancer", &["9.9.9.9"], given), "10.0.0.1,10.0.0.2,b,9.9.9.9");
        check(service_external, &service("ExternalName", &[], json!(null)), "x.example.com");
        check(service_external, &json!({}), "<unknown>");
    }

    #[test]
    fn an_event_shows_its_time_count_and_source() {
        let event = json!({"firstTimestamp": "a", "source": {"component": "kubelet"}, "reportingInstance": "node"});
        check(event_last_seen, &event, "a");
        check(event_source, &event, "kubelet, node");
        assert_eq!(event_count(&event), json!(1));
        let series = json!({
            "lastTimestamp": "b", "series": {"lastObservedTime": "c", "count": 7}, "count": 3, "reportingComponent": "r",
        });
        check(event_last_seen, &series, "c");
        check(event_source, &series, "r");
        assert_eq!(event_count(&series), json!(7));
        assert_eq!(event_last_seen(&json!({})), Value::Null);
    }

    #[test]
    fn a_signing_request_shows_its_decision() {
        let request = |types: &[&str], certificate: &str| {
            let conditions: Vec<Value> = types.iter().map(|type_| json!({"type": type_, "status": "True"})).collect();
            json!({"status": {"conditions": conditions, "certificate": certificate}})
        };
        check(signing_request, &json!({}), "Pending");
        check(signing_request, &request(&["Approved"], ""), "Approved");
        check(signing_request, &request(&["Approved"], "eA=="), "Approved,Issued");
        check(signing_request, &request(&["Approved", "Failed"], ""), "Approved,Failed");
        check(signing_request, &request(&["Approved", "Denied"], ""), "Denied");
    }

    #[test]
    fn an_api_service_shows_its_service_and_availability() {
        let served = |status: &str| {
            json!({
                "spec": {"service": {"name": "s", "namespace": "n"}},
                "status": {"conditions": [{"type": "Available", "status": status, "reason": "MissingEndpoints"}]},
            })
        };
        check(service_of_group, &json!({"spec": {}}), "Local");
        check(service_of_group, &served("True"), "n/s");
        check(availability, &served("True"), "True");
        check(availability, &served("False"), "False (MissingEndpoints)");
        check(availability, &json!({}), "Unknown");
    }

    fn conditions(statuses: &[(&str, &str)]) -> Value {
        let conditions: Vec<Value> =
            statuses.iter().map(|(type_, status)| json!({"type": type_, "status": status})).collect();
        json!({"status": {"conditions": conditions}})
    }

    #[test]
    fn a_seed_is_ready_when_all_its_conditions_are_true() {
        let ready = ("GardenletReady", "True");
        check(seed_status, &conditions(&[ready, ("ExtensionsReady", "True")]), "Ready");
        check(seed_status, &conditions(&[ready, ("ExtensionsReady", "Progressing")]), "Ready");
        check(seed_status, &conditions(&[ready]), "NotReady");
        check(seed_status, &conditions(&[("GardenletReady", "Unknown")]), "Unknown");
        check(seed_status, &conditions(&[("GardenletReady", "Progressing"), ("ExtensionsReady", "True")]), "NotReady");
        let bucket = ("BackupBucketsReady", "Progressing");
        check(seed_status, &conditions(&[ready, ("ExtensionsReady", "True"), bucket]), "NotReady");
        let system = ("SeedSystemComponentsHealthy", "False");
        check(seed_status, &conditions(&[ready, ("ExtensionsReady", "True"), system]), "NotReady");
    }

    #[test]
    fn cells_of_shoots_read_like_upstreams() {
        let shoot = json!({
            "metadata": {"namespace": "garden-dev"},
            "spec": {"cloudProfile": {"kind": "NamespacedCloudProfile", "name": "p"}, "hibernation": {"enabled": true}},
            "status": {"lastOperation": {"type": "Create", "state": "Processing", "progress": 43}},
        });
        check(shoot_cloud_profile, &shoot, "garden-dev/p");
        for (spec, expected) in [
            (json!({"cloudProfileName": "a"}), "a"),
            (json!({"cloudProfileName": "a", "cloudProfile": {"kind": "CloudProfile", "name": "b"}}), "b"),
            (json!({"cloudProfile": {"kind": "Other", "name": "b"}}), ""),
            (json!({}), ""),
        ] {
            check(shoot_cloud_profile, &json!({ "spec": spec }), expected);
        }
        check(shoot_hibernation, &shoot, "Hibernating");
        check(last_operation, &shoot, "Create Processing (43%)");
        check(last_operation, &json!({}), "<pending>");
        check(shoot_hibernation, &json!({"status": {"hibernated": true}}), "Waking Up");
    }

    #[test]
    fn a_cordoned_node_is_shown_as_such() {
        let mut node = conditions(&[("Ready", "True")]);
        node["spec"] = json!({"unschedulable": true});
        check(node_status, &node, "Ready,SchedulingDisabled");
        check(node_roles, &node, "<none>");
    }
}
