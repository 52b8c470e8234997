// SPDX-License-Identifier: Apache-2.0
//! Cells that are no plain value.
//!
//! Source: pkg/apiserver/registry/*/storage/tableconvertor.go @ v1.120.0, kubernetes
//! pkg/printers/internalversion/printers.go.

use serde_json::{Value, json};

/// The text at a JSON pointer, or a word for its absence.
pub(super) fn text(object: &Value, pointer: &str, absent: &str) -> Value {
    match object.pointer(pointer).and_then(Value::as_str) {
        Some(text) if !text.is_empty() => json!(text),
        _ => json!(absent),
    }
}

fn str_at<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn number_at(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// The status of a condition.
fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a str> {
    items(&object["status"]["conditions"]).find(|condition| condition["type"] == *type_)?["status"].as_str()
}

/// How many entries a list or map has.
pub(super) fn count(value: &Value) -> Value {
    json!(
        value.as_array().map(Vec::len).or_else(|| value.as_object().map(serde_json::Map::len)).unwrap_or(0).to_string()
    )
}

/// Texts of a list, with commas.
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

/// `Reconcile Succeeded (100%)`.
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

pub(super) fn shoot_cloud_profile(object: &Value) -> Value {
    let name = str_at(object, "/spec/cloudProfile/name");
    match str_at(object, "/spec/cloudProfile/kind") {
        "CloudProfile" => json!(name),
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

/// `Ready`, `NotReady` or `Unknown`, out of four conditions.
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

/// `KIND/TYPE, …`.
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

/// The reference of gardenlet's chart, or repository and tag.
pub(super) fn gardenlet_repository(object: &Value) -> Value {
    let repository = &object["spec"]["deployment"]["helm"]["ociRepository"];
    let reference = str_at(repository, "/ref");
    if !reference.is_empty() {
        return json!(reference);
    }
    let (name, tag) = (str_at(repository, "/repository"), str_at(repository, "/tag"));
    json!(if tag.is_empty() { name.to_owned() } else { format!("{name}:{tag}") })
}

/// The host name, which wins, or the address of a Bastion.
pub(super) fn bastion_address(object: &Value) -> Value {
    let ingress = &object["status"]["ingress"];
    let hostname = str_at(ingress, "/hostname");
    if hostname.is_empty() { text(ingress, "/ip", "<pending>") } else { json!(hostname) }
}

/// `READY/WANTED` of a Deployment, StatefulSet.
pub(super) fn ready_of_replicas(object: &Value) -> Value {
    let wanted = object["spec"]["replicas"].as_i64().unwrap_or(1);
    json!(format!("{}/{wanted}", number_at(object, "/status/readyReplicas")))
}

/// A field of the containers of a template, with commas.
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

/// `READY/CONTAINERS` of a Pod.
pub(super) fn pod_ready(object: &Value) -> Value {
    let ready = items(&object["status"]["containerStatuses"]).filter(|status| status["ready"] == true).count();
    json!(format!("{ready}/{}", items(&object["spec"]["containers"]).count()))
}

pub(super) fn pod_restarts(object: &Value) -> Value {
    let counts = items(&object["status"]["containerStatuses"]).map(|status| number_at(status, "/restartCount"));
    json!(counts.sum::<i64>().to_string())
}

/// The word that describes a Pod best: what a container waits for, how it ended, or the phase.
pub(super) fn pod_status(object: &Value) -> Value {
    let mut word = match str_at(object, "/status/reason") {
        "" => str_at(object, "/status/phase").to_owned(),
        reason => reason.to_owned(),
    };
    let mut running = false;
    let statuses: Vec<&Value> = items(&object["status"]["containerStatuses"]).collect();
    for status in statuses.into_iter().rev() {
        let (waiting, terminated) = (str_at(status, "/state/waiting/reason"), &status["state"]["terminated"]);
        if !waiting.is_empty() {
            waiting.clone_into(&mut word);
        } else if terminated.is_object() {
            word = match (str_at(terminated, "/reason"), number_at(terminated, "/signal")) {
                ("", 0) => format!("ExitCode:{}", number_at(terminated, "/exitCode")),
                ("", signal) => format!("Signal:{signal}"),
                (reason, _) => reason.to_owned(),
            };
        } else if status["ready"] == true && status["state"]["running"].is_object() {
            running = true;
        }
    }
    if word == "Completed" && running {
        (if condition(object, "Ready") == Some("True") { "Running" } else { "NotReady" }).clone_into(&mut word);
    }
    if object["metadata"]["deletionTimestamp"].is_string() {
        let lost = str_at(object, "/status/reason") == "NodeLost";
        (if lost { "Unknown" } else { "Terminating" }).clone_into(&mut word);
    }
    json!(word)
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

/// The roles that a Node's labels name, sorted.
pub(super) fn node_roles(object: &Value) -> Value {
    let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
    let roles: std::collections::BTreeSet<&str> = labels
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

/// `kind/name`, the kind in lower case.
pub(super) fn event_object(object: &Value) -> Value {
    let involved = &object["involvedObject"];
    let (kind, name) = (str_at(involved, "/kind").to_ascii_lowercase(), str_at(involved, "/name"));
    json!(if name.is_empty() { kind } else { format!("{kind}/{name}") })
}

/// When an Event was seen last: in its series, by its timestamp, or when it happened.
pub(super) fn event_last_seen(object: &Value) -> Value {
    first_text(object, &["/series/lastObservedTime", "/lastTimestamp", "/eventTime"])
}

pub(super) fn event_first_seen(object: &Value) -> Value {
    first_text(object, &["/firstTimestamp", "/eventTime"])
}

fn first_text(object: &Value, pointers: &[&str]) -> Value {
    let mut found = pointers.iter().map(|pointer| str_at(object, pointer)).filter(|text| !text.is_empty());
    found.next().map_or(Value::Null, |text| json!(text))
}

/// `component, host`, or who reported.
pub(super) fn event_source(object: &Value) -> Value {
    let (component, host) = match str_at(object, "/source/component") {
        "" => (str_at(object, "/reportingComponent"), str_at(object, "/reportingInstance")),
        component => (component, str_at(object, "/source/host")),
    };
    json!(if host.is_empty() { component.to_owned() } else { format!("{component}, {host}") })
}

pub(super) fn event_count(object: &Value) -> Value {
    let count = match number_at(object, "/series/count") {
        0 => number_at(object, "/count").max(1),
        count => count,
    };
    json!(count.to_string())
}

pub(super) fn event_message(object: &Value) -> Value {
    json!(str_at(object, "/message").trim())
}

/// `PORT[:NODEPORT]/PROTOCOL, …`.
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

pub(super) fn service_external(object: &Value) -> Value {
    let ingress: Vec<&str> = items(&object["status"]["loadBalancer"]["ingress"])
        .map(
            |ingress| {
                if str_at(ingress, "/ip").is_empty() { str_at(ingress, "/hostname") } else { str_at(ingress, "/ip") }
            },
        )
        .collect();
    match (str_at(object, "/spec/type"), ingress.is_empty()) {
        ("LoadBalancer", true) => json!("<pending>"),
        ("LoadBalancer", false) => json!(ingress.join(",")),
        ("ExternalName", _) => text(object, "/spec/externalName", "<none>"),
        _ => json!("<none>"),
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

/// The kind and name that a binding grants.
pub(super) fn binding_role(object: &Value) -> Value {
    json!(format!("{}/{}", str_at(object, "/roleRef/kind"), str_at(object, "/roleRef/name")))
}

/// Names of a binding's subjects of a kind; of ServiceAccounts with their namespace.
pub(super) fn subjects(object: &Value, kind: &str) -> Value {
    let of_kind = items(&object["subjects"]).filter(|subject| subject["kind"] == *kind);
    let names = of_kind.map(|subject| match (kind, str_at(subject, "/namespace")) {
        ("ServiceAccount", namespace) if !namespace.is_empty() => format!("{namespace}/{}", str_at(subject, "/name")),
        _ => str_at(subject, "/name").to_owned(),
    });
    json!(names.collect::<Vec<_>>().join(", "))
}

/// What became of a CertificateSigningRequest: `Approved,Issued`.
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

/// The Service that answers for an APIService: `Local` if it is the server itself.
pub(super) fn service_of_group(object: &Value) -> Value {
    let service = &object["spec"]["service"];
    if service.is_object() { namespaced_name(service) } else { json!("Local") }
}

/// Whether an APIService is available, and why not.
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

/// How many conditions that a Pod waits for hold, of how many: `1/2`.
pub(super) fn readiness_gates(object: &Value) -> Value {
    let gates: Vec<&str> =
        items(&object["spec"]["readinessGates"]).map(|gate| str_at(gate, "/conditionType")).collect();
    if gates.is_empty() {
        return json!("<none>");
    }
    let holding = gates.iter().filter(|gate| condition(object, gate) == Some("True")).count();
    json!(format!("{holding}/{}", gates.len()))
}

/// What is used of a ResourceQuota and what it allows: `pods: 1/3, secrets: 0/2`; those of its names that `wanted` takes.
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
    fn a_signing_request_says_what_became_of_it() {
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
    fn an_api_service_says_who_answers_and_whether() {
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

    #[test]
    fn gates_of_a_pod_are_counted() {
        let mut pod = conditions(&[("a", "True"), ("b", "False")]);
        check(readiness_gates, &pod, "<none>");
        pod["spec"] =
            json!({"readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}, {"conditionType": "c"}]});
        check(readiness_gates, &pod, "1/3");
    }

    fn conditions(statuses: &[(&str, &str)]) -> Value {
        let conditions: Vec<Value> =
            statuses.iter().map(|(type_, status)| json!({"type": type_, "status": status})).collect();
        json!({"status": {"conditions": conditions}})
    }

    #[test]
    fn a_seed_is_ready_when_its_conditions_say_so() {
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
        check(shoot_hibernation, &shoot, "Hibernating");
        check(last_operation, &shoot, "Create Processing (43%)");
        check(last_operation, &json!({}), "<pending>");
        check(shoot_hibernation, &json!({"status": {"hibernated": true}}), "Waking Up");
    }

    #[test]
    fn a_pod_is_described_by_the_most_telling_word() {
        let pod = |state: Value| json!({"status": {"phase": "Running", "containerStatuses": [{"state": state}]}});
        check(pod_status, &pod(json!({"running": {}})), "Running");
        check(pod_status, &pod(json!({"waiting": {"reason": "CrashLoopBackOff"}})), "CrashLoopBackOff");
        check(pod_status, &pod(json!({"terminated": {"exitCode": 3}})), "ExitCode:3");
        check(
            pod_status,
            &json!({"metadata": {"deletionTimestamp": "x"}, "status": {"phase": "Running"}}),
            "Terminating",
        );
    }

    #[test]
    fn a_cordoned_node_says_so() {
        let mut node = conditions(&[("Ready", "True")]);
        node["spec"] = json!({"unschedulable": true});
        check(node_status, &node, "Ready,SchedulingDisabled");
        check(node_roles, &node, "<none>");
    }
}
