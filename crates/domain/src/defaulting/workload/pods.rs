// SPDX-License-Identifier: Apache-2.0
//! Defaults of pods and their templates: containers, ports, probes, volumes.
//!
//! Fields that deliberately stay empty: ServiceAccount tokens as volumes, and requests of a template, which its pods
//! get from their limits. The changes that admission makes to pods are in
//! [`admission::pods`](crate::admission::pods).
//!
//! Source: k8s.io/kubernetes pkg/apis/core/v1/defaults.go @ v1.31.

use serde_json::{Map, Value, json};

use super::put;

/// Permissions of files in volumes: 0644.
const FILE_MODE: i64 = 0o644;
/// Seconds for which a projected token is valid.
const TOKEN_SECONDS: i64 = 3600;
/// Volumes whose files have permissions.
const WITH_MODE: [&str; 4] = ["secret", "configMap", "downwardAPI", "projected"];

/// Fills in the missing fields of a pod's `spec`.
pub(super) fn pod(spec: &mut Map<String, Value>) {
    for list in ["containers", "initContainers"] {
        for container in objects(spec, list) {
            requests_from_limits(container);
        }
    }
    put(spec, "enableServiceLinks", json!(true));
    if spec.get("hostNetwork") == Some(&Value::Bool(true)) {
        for list in ["containers", "initContainers"] {
            objects(spec, list).for_each(open_on_host);
        }
    }
    let account = text(spec, "serviceAccountName");
    if account.is_empty() && text(spec, "serviceAccount").is_empty() {
        spec.insert("serviceAccountName".to_owned(), json!("default"));
    }
    self::spec(spec);
}

/// Fills in the missing fields of a pod template.
pub fn template(template: &mut Value) {
    if let Some(Value::Object(spec)) = template.get_mut("spec") {
        self::spec(spec);
    }
}

/// Fills in the fields that pods and templates share.
fn spec(spec: &mut Map<String, Value>) {
    for volume in objects(spec, "volumes") {
        self::volume(volume);
    }
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in objects(spec, list) {
            self::container(container);
        }
    }
    put(spec, "restartPolicy", json!("Always"));
    put(spec, "terminationGracePeriodSeconds", json!(30));
    put(spec, "dnsPolicy", json!("ClusterFirst"));
    put(spec, "securityContext", json!({}));
    put(spec, "schedulerName", json!("default-scheduler"));
    // Two names of one field.
    let (new, old) = (text(spec, "serviceAccountName"), text(spec, "serviceAccount"));
    let account = if new.is_empty() { old } else { new };
    if !account.is_empty() {
        spec.insert("serviceAccountName".to_owned(), json!(account));
        spec.insert("serviceAccount".to_owned(), json!(account));
    }
}

fn container(container: &mut Map<String, Value>) {
    for port in objects(container, "ports") {
        put(port, "protocol", json!("TCP"));
    }
    for variable in objects(container, "env") {
        if let Some(Value::Object(source)) = variable.get_mut("valueFrom") {
            version_of_field(source);
        }
    }
    put(container, "resources", json!({}));
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(Value::Object(probe)) = container.get_mut(probe) else { continue };
        handler(probe);
        for (field, default) in
            [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
        {
            if number(probe, field) == 0 {
                probe.insert(field.to_owned(), json!(default));
            }
        }
        if let Some(Value::Object(grpc)) = probe.get_mut("grpc") {
            put(grpc, "service", json!(""));
        }
    }
    if let Some(Value::Object(lifecycle)) = container.get_mut("lifecycle") {
        for hook in ["postStart", "preStop"] {
            if let Some(Value::Object(hook)) = lifecycle.get_mut(hook) {
                handler(hook);
            }
        }
    }
    put(container, "terminationMessagePath", json!("/dev/termination-log"));
    put(container, "terminationMessagePolicy", json!("File"));
    let policy = if is_latest(&text(container, "image")) { "Always" } else { "IfNotPresent" };
    put(container, "imagePullPolicy", json!(policy));
}

/// Returns true if an image is pulled at each start: without tag and digest, or with tag `latest`.
fn is_latest(image: &str) -> bool {
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    let last = name.rsplit('/').next().unwrap_or_default();
    match last.split_once(':') {
        Some((_, tag)) => tag == "latest",
        None => digest.is_none(),
    }
}

fn handler(probe: &mut Map<String, Value>) {
    if let Some(Value::Object(get)) = probe.get_mut("httpGet") {
        put(get, "path", json!("/"));
        put(get, "scheme", json!("HTTP"));
    }
}

fn version_of_field(source: &mut Map<String, Value>) {
    if let Some(Value::Object(field)) = source.get_mut("fieldRef") {
        put(field, "apiVersion", json!("v1"));
    }
}

/// Fills in the defaults of a volume: one without a source is an empty directory.
fn volume(volume: &mut Map<String, Value>) {
    if !volume.iter().any(|(field, source)| field != "name" && !source.is_null()) {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    for name in WITH_MODE {
        if let Some(Value::Object(source)) = volume.get_mut(name) {
            put(source, "defaultMode", json!(FILE_MODE));
        }
    }
    if let Some(Value::Object(source)) = volume.get_mut("downwardAPI") {
        objects(source, "items").for_each(version_of_field);
    }
    if let Some(Value::Object(projected)) = volume.get_mut("projected") {
        for source in objects(projected, "sources") {
            if let Some(Value::Object(token)) = source.get_mut("serviceAccountToken") {
                put(token, "expirationSeconds", json!(TOKEN_SECONDS));
            }
            if let Some(Value::Object(fields)) = source.get_mut("downwardAPI") {
                objects(fields, "items").for_each(version_of_field);
            }
        }
    }
    if let Some(Value::Object(source)) = volume.get_mut("hostPath") {
        put(source, "type", json!(""));
    }
    if let Some(Value::Object(source)) = volume.get_mut("iscsi") {
        put(source, "iscsiInterface", json!("default"));
    }
    let claim = volume.get_mut("ephemeral").and_then(|source| source.get_mut("volumeClaimTemplate"));
    if let Some(Value::Object(spec)) = claim.and_then(|claim| claim.get_mut("spec")) {
        put(spec, "volumeMode", json!("Filesystem"));
    }
}

/// Sets missing requests of a container to its limits.
fn requests_from_limits(container: &mut Map<String, Value>) {
    let Some(Value::Object(resources)) = container.get_mut("resources") else { return };
    let Some(Value::Object(limits)) = resources.get("limits").cloned() else { return };
    if limits.is_empty() {
        return;
    }
    put(resources, "requests", json!({}));
    let Some(Value::Object(requests)) = resources.get_mut("requests") else { return };
    for (name, limit) in limits {
        requests.entry(name).or_insert(limit);
    }
}

/// Sets the host ports of a pod in the node's network to its container ports.
fn open_on_host(container: &mut Map<String, Value>) {
    for port in objects(container, "ports") {
        let own = port.get("containerPort").cloned().unwrap_or_default();
        if number(port, "hostPort") == 0 && own.is_number() {
            port.insert("hostPort".to_owned(), own);
        }
    }
}

fn objects<'a>(
    fields: &'a mut Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> + use<'a> {
    let list = fields.get_mut(name).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

fn text(fields: &Map<String, Value>, name: &str) -> String {
    fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn number(fields: &Map<String, Value>, name: &str) -> i64 {
    fields.get(name).and_then(Value::as_i64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, given: Value, expected: Value) {
        let mut tree = json!({"containers": [{"name": "c", "image": "i:1"}], "volumes": []});
        let place = tree.pointer_mut(path.rsplit_once('/').expect("a slash").0).expect("the parent");
        place[path.rsplit_once('/').expect("a slash").1] = given.clone();
        for _ in 0..2 {
            pod(tree.as_object_mut().expect("an object"));
            assert_eq!(tree.pointer(path), Some(&expected), "{path} {given}");
        }
    }

    #[test]
    fn an_empty_pod_gets_kubernetes_defaults() {
        let mut tree = json!({"containers": [{"name": "c", "image": "nginx"}]});
        pod(tree.as_object_mut().expect("an object"));
        assert_eq!(
            tree,
            json!({
                "containers": [{
                    "name": "c", "image": "nginx", "imagePullPolicy": "Always", "resources": {},
                    "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                }],
                "dnsPolicy": "ClusterFirst", "enableServiceLinks": true, "restartPolicy": "Always",
                "schedulerName": "default-scheduler", "securityContext": {}, "serviceAccount": "default",
                "serviceAccountName": "default", "terminationGracePeriodSeconds": 30,
            })
        );
        let mut of_template = json!({"spec": {"containers": [{"name": "c", "image": "nginx"}]}});
        template(&mut of_template);
        for field in ["enableServiceLinks", "serviceAccount", "serviceAccountName"] {
            assert_eq!(of_template["spec"].get(field), None, "{field} is the pod's");
        }
        assert_eq!(of_template["spec"]["dnsPolicy"], "ClusterFirst");
    }

    #[test]
    fn an_image_without_a_version_is_pulled_each_time() {
        for (image, policy) in [
            ("nginx", "Always"),
            ("nginx:latest", "Always"),
            ("registry:5000/nginx", "Always"),
            ("nginx:1.27", "IfNotPresent"),
            ("registry:5000/nginx:1", "IfNotPresent"),
            ("nginx@sha256:0123", "IfNotPresent"),
            ("nginx:latest@sha256:0123", "Always"),
        ] {
            let mut one = json!({"image": image});
            container(one.as_object_mut().expect("an object"));
            assert_eq!(one["imagePullPolicy"], policy, "{image}");
        }
        check("/containers/0/imagePullPolicy", json!("Never"), json!("Never"));
    }

    #[test]
    fn volumes_and_probes_have_their_defaults() {
        let volumes = json!([
            {"name": "a"}, {"name": "b", "secret": {"secretName": "s"}}, {"name": "c", "configMap": {"defaultMode": 256}},
            {"name": "d", "hostPath": {"path": "/"}},
            {"name": "e", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            {"name": "f", "downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        ]);
        check(
            "/volumes",
            volumes,
            json!([
                {"name": "a", "emptyDir": {}}, {"name": "b", "secret": {"secretName": "s", "defaultMode": 420}},
                {"name": "c", "configMap": {"defaultMode": 256}}, {"name": "d", "hostPath": {"path": "/", "type": ""}},
                {"name": "e", "projected": {
                    "defaultMode": 420, "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
                }},
                {"name": "f", "downwardAPI": {
                    "defaultMode": 420,
                    "items": [{"path": "p", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}],
                }},
            ]),
        );
        check(
            "/containers/0/readinessProbe",
            json!({"httpGet": {"port": 80}, "periodSeconds": 5}),
            json!({
                "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}, "periodSeconds": 5, "timeoutSeconds": 1,
                "successThreshold": 1, "failureThreshold": 3,
            }),
        );
        check("/containers/0/ports", json!([{"containerPort": 80}]), json!([{"containerPort": 80, "protocol": "TCP"}]));
        check(
            "/containers/0/resources",
            json!({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}),
            json!({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}),
        );
        check("/serviceAccount", json!("own"), json!("own"));
    }

    #[test]
    fn values_that_are_no_objects_are_left_to_validation() {
        for spec in [json!({"containers": 1, "volumes": [1]}), json!({"containers": [null, {"ports": {}}]})] {
            pod(&mut spec.as_object().cloned().expect("an object"));
        }
        for mut tree in [json!(null), json!(1), json!({"spec": []})] {
            template(&mut tree);
        }
    }
}
