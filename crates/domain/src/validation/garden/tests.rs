// SPDX-License-Identifier: Apache-2.0
use serde_json::{Value, json};

use super::*;

fn tree() -> Value {
    json!({
        "metadata": { "name": "local" },
        "spec": {
            "dns": { "providers": [{ "name": "primary", "type": "local", "secretRef": { "name": "s" } }] },
            "runtimeCluster": {
                "ingress": {
                    "domains": [{ "name": "ingress.example", "provider": "primary" }], "controller": { "kind": "nginx" },
                },
                "networking": { "nodes": ["172.18.0.0/16"], "pods": ["10.1.0.0/16"], "services": ["10.2.0.0/16"] },
                "provider": { "zones": ["0"] },
            },
            "virtualCluster": {
                "dns": { "domains": [{ "name": "virtual.example", "provider": "primary" }] },
                "gardener": { "clusterIdentity": "local" },
                "kubernetes": { "version": "1.31.1" },
                "maintenance": { "timeWindow": { "begin": "220000+0100", "end": "230000+0100" } },
                "networking": { "services": ["100.64.0.0/13"] },
            },
        },
    })
}

fn read(tree: Value) -> Garden {
    serde_json::from_value(tree).expect("a Garden")
}

fn set(mut tree: Value, pointer: &str, value: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    match tree.pointer_mut(parent).expect("it is there") {
        Value::Object(fields) => {
            fields.insert(name.to_owned(), value);
        }
        Value::Array(items) => items.push(value),
        other => panic!("{other}"),
    }
    tree
}

fn rules(profile: Profile) -> Rules {
    Rules { profile, version: "v1.120.0".to_owned() }
}

fn texts(errors: &Errors) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn check(pointer: &str, value: Value, profile: Profile, expected: &[&str]) {
    let found = garden(&read(set(tree(), pointer, value)), &rules(profile));
    assert_eq!(texts(&found), expected, "{pointer}");
}

#[track_caller]
fn check_update(pointer: &str, value: Value, expected: &[&str]) {
    let (old, new) = (read(tree()), read(set(tree(), pointer, value)));
    assert_eq!(texts(&garden_update(&new, &old, &rules(Profile::Documents))), expected, "{pointer}");
}

#[test]
fn a_new_garden_is_judged_field_by_field() {
    let documents = Profile::Documents;
    check("/spec/extensions", json!([]), documents, &[]);
    check(
        "/spec/extensions",
        json!([{ "type": "a" }, { "type": "a" }]),
        documents,
        &["spec.extensions[1].type: Duplicate value: \"a\""],
    );
    check(
        "/spec/virtualCluster/dns/domains/-",
        json!({ "name": "other.example", "provider": "other" }),
        documents,
        &["spec.virtualCluster.dns.domains[1].provider: Invalid value: \"other\": provider name not found in \
             .spec.dns.providers"],
    );
    check(
        "/spec/virtualCluster/dns/domains/-",
        json!({ "name": "other.example" }),
        documents,
        &["spec.virtualCluster.dns.domains[1].provider: Required value: provider name must be set if `.spec.dns` is \
             set"],
    );
    check(
        "/spec/runtimeCluster/networking/pods/-",
        json!("10.2.1.0/24"),
        documents,
        &["spec.runtimeCluster.networking.pods[1]: Invalid value: \"10.2.1.0/24\": pod network of runtime cluster \
             intersects with service network of runtime cluster"],
    );
    check(
        "/spec/runtimeCluster/networking/pods/-",
        json!("10.2"),
        documents,
        &["spec.runtimeCluster.networking.pods[1]: Invalid value: \"10.2\": cannot parse pod network cidr of runtime \
             cluster: invalid CIDR address: 10.2"],
    );
    check(
        "/spec/virtualCluster/networking/services/-",
        json!("100.80.0.0/13"),
        documents,
        &["spec.virtualCluster.networking.services: Forbidden: service ranges must be of different IP families: \
             [100.64.0.0/13 100.80.0.0/13]"],
    );
    check(
        "/spec/runtimeCluster/settings",
        json!({ "topologyAwareRouting": { "enabled": true } }),
        documents,
        &[
            "spec.runtimeCluster.settings.topologyAwareRouting.enabled: Forbidden: topology-aware routing can only be \
             enabled on multi-zone garden runtime cluster (with at least two zones in spec.provider.zones)",
            "spec.runtimeCluster.settings.topologyAwareRouting.enabled: Forbidden: topology-aware routing can only be \
             enabled when virtual cluster's high-availability is enabled",
        ],
    );
    check(
        "/spec/runtimeCluster/settings",
        json!({ "verticalPodAutoscaler": { "featureGates": { "Nonsense": true }, "maxAllowed": { "storage": "1Gi" } } }),
        documents,
        &[
            "spec.runtimeCluster.settings.verticalPodAutoscaler.featureGates.Nonsense: Invalid value: \"Nonsense\": unknown \
             feature gate",
            "spec.runtimeCluster.settings.verticalPodAutoscaler.maxAllowed.storage: Unsupported value: \"storage\": supported \
             values: \"cpu\", \"memory\"",
        ],
    );
    check(
        "/spec/virtualCluster/maintenance/timeWindow/begin",
        json!("220000-0500"),
        documents,
        &["spec.virtualCluster.maintenance.timeWindow.begin: Invalid value: \"220000-0500\": \
             spec.virtualCluster.maintenance.timeWindow.begin in body should match \
             '([0-1][0-9]|2[0-3])[0-5][0-9][0-5][0-9]\\+[0-1][0-4]00'"],
    );
    let config = json!({
        "featureGates": { "InPlaceNodeUpdates": true, "Nonsense": true },
        "shootAdminKubeconfigMaxExpiration": "30m",
    });
    check(
        "/spec/virtualCluster/gardener/gardenerAPIServer",
        config,
        documents,
        &[
            "spec.virtualCluster.gardener.gardenerAPIServer.featureGates.Nonsense: Forbidden: not supported by Gardener",
            "spec.virtualCluster.gardener.gardenerAPIServer.shootAdminKubeconfigMaxExpiration: Invalid value: 30m0s: \
             must be between 1h and 2^32 seconds",
        ],
    );
    check(
        "/spec/virtualCluster/gardener/gardenerScheduler",
        json!({ "logLevel": "loud" }),
        documents,
        &["spec.virtualCluster.gardener.gardenerScheduler.logLevel: Unsupported value: \"loud\": supported values: \
             \"info\", \"debug\", \"error\""],
    );
}

#[test]
fn kubernetes_versions_are_those_of_the_release_in_profile_upstream() {
    let path = "/spec/virtualCluster/kubernetes/version";
    check(path, json!("1.26.4"), Profile::Documents, &[]);
    check(
        path,
        json!("1.26.4"),
        Profile::Upstream,
        &["spec.virtualCluster.kubernetes.version: Unsupported value: \"1.26.4\": supported values: \"1.27\", \
             \"1.28\", \"1.29\", \"1.30\", \"1.31\", \"1.32\""],
    );
    check(path, json!("1.32.0"), Profile::Upstream, &[]);
}

#[test]
fn kubernetes_is_raised_by_one_minor() {
    let path = "/spec/virtualCluster/kubernetes/version";
    let field = "spec.virtualCluster.kubernetes.version";
    check_update(path, json!("1.31.4"), &[]);
    check_update(path, json!("1.32.0"), &[]);
    check_update(
        path,
        json!("1.31.0"),
        &[&format!("{field}: Forbidden: kubernetes version downgrade is not supported")],
    );
    check_update(
        path,
        json!("1.33.0"),
        &[&format!("{field}: Forbidden: kubernetes version upgrade cannot skip a minor version")],
    );
}

#[test]
fn immutable_fields_of_a_garden_are_kept() {
    check_update(
        "/spec/virtualCluster/gardener/clusterIdentity",
        json!("other"),
        &["spec.virtualCluster.gardener.clusterIdentity: Invalid value: \"other\": Value is immutable"],
    );
    check_update(
        "/spec/virtualCluster/dns/domains",
        json!([{ "name": "other.example", "provider": "primary" }]),
        &["spec.virtualCluster.dns.domains[0].name: Invalid value: \"other.example\": field is immutable"],
    );
    check_update(
        "/spec/runtimeCluster/networking/nodes",
        json!([]),
        &["spec.runtimeCluster.networking.nodes: Forbidden: nodes cannot be removed"],
    );
    check_update("/spec/runtimeCluster/networking/nodes/-", json!("172.20.0.0/16"), &[]);
}

/// The operation, the phase of every credential, and the expected errors.
#[test]
fn operations_need_the_phase_before_them() {
    let check = |operation: &str, phase: &str, expected: &[&str]| {
        let mut tree = set(tree(), "/metadata/annotations", json!({ "gardener.cloud/operation": operation }));
        if !phase.is_empty() {
            let one = json!({ "phase": phase });
            tree["status"] = json!({ "credentials": { "rotation": {
                "certificateAuthorities": one, "serviceAccountKey": one, "etcdEncryptionKey": one,
                "workloadIdentityKey": one,
            } } });
        }
        let found = garden(&read(tree), &rules(Profile::Documents));
        let field = "metadata.annotations[gardener.cloud/operation]: ";
        let expected: Vec<String> = expected.iter().map(|text| format!("{field}{text}")).collect();
        assert_eq!(texts(&found), expected, "{operation} {phase}");
    };
    check("reconcile", "", &[]);
    check("rotate-credentials-start", "", &[]);
    check("rotate-ca-start", "Completed", &[]);
    check("rotate-ca-complete", "Prepared", &[]);
    check(
        "rotate-ca-start",
        "Prepared",
        &[
            "Forbidden: cannot start CA rotation if .status.credentials.rotation.certificateAuthorities.phase is not 'Completed'",
        ],
    );
    check(
        "rotate-workload-identity-key-complete",
        "",
        &["Forbidden: cannot complete workload identity key rotation if \
             .status.credentials.rotation.workloadIdentityKey.phase is not 'Prepared'"],
    );
    check(
        "restart",
        "",
        &["Unsupported value: \"restart\": supported values: \"reconcile\", \"rotate-ca-complete\", \
             \"rotate-ca-start\", \"rotate-credentials-complete\", \"rotate-credentials-start\", \
             \"rotate-etcd-encryption-key-complete\", \"rotate-etcd-encryption-key-start\", \
             \"rotate-observability-credentials\", \"rotate-serviceaccount-key-complete\", \
             \"rotate-serviceaccount-key-start\", \"rotate-workload-identity-key-complete\", \
             \"rotate-workload-identity-key-start\""],
    );
}

/// Checks a Garden with a change by the rules of a release of gardener-operator.
#[track_caller]
fn check_release(minor: u16, garden_tree: Value, expected: &[&str]) {
    let rules = Rules { profile: Profile::Documents, version: format!("v1.{minor}.0") };
    let found = garden(&read(garden_tree), &rules);
    assert_eq!(texts(&found), expected, "1.{minor}");
}

/// Release, version of Kubernetes, operations, phase of all credentials, and errors.
#[test]
fn operations_of_a_garden_depend_on_both_versions() {
    let halves = |one: &str| {
        format!(
            "Forbidden: for Kubernetes versions >= 1.34, operation '{one}' is no longer supported, please use \
             'rotate-etcd-encryption-key' instead, which performs a complete etcd encryption key rotation"
        )
    };
    let (start, complete) = ("rotate-etcd-encryption-key-start", "rotate-etcd-encryption-key-complete");
    let unsupported = |one: &str, with_whole: bool| {
        let whole = if with_whole { "\"rotate-etcd-encryption-key\", " } else { "" };
        format!(
            "Unsupported value: \"{one}\": supported values: \"reconcile\", \"rotate-ca-complete\", \"rotate-ca-start\", \
             \"rotate-credentials-complete\", \"rotate-credentials-start\", {whole}\
             \"rotate-etcd-encryption-key-complete\", \"rotate-etcd-encryption-key-start\", \
             \"rotate-observability-credentials\", \"rotate-serviceaccount-key-complete\", \
             \"rotate-serviceaccount-key-start\", \"rotate-workload-identity-key-complete\", \
             \"rotate-workload-identity-key-start\""
        )
    };
    let not_prepared = |field: &str| {
        format!(
            "Forbidden: cannot complete rotation of all credentials if .status.credentials.rotation.{field}.phase is not \
             'Prepared'"
        )
    };
    let both = "rotate-ca-start;rotate-etcd-encryption-key";
    let together = "rotate-etcd-encryption-key; rotate-etcd-encryption-key-start";
    let apart = "Forbidden: operation 'rotate-etcd-encryption-key' is not permitted to be run together with \
                 rotate-etcd-encryption-key-start operations";
    let all = ["certificateAuthorities", "serviceAccountKey", "etcdEncryptionKey", "workloadIdentityKey"];
    let three = [all[0], all[1], all[3]];
    for (minor, kubernetes, asked, phase, expected) in [
        (127, "1.33.1", "rotate-etcd-encryption-key", "", vec![unsupported("rotate-etcd-encryption-key", false)]),
        (128, "1.33.1", "rotate-etcd-encryption-key", "", vec![]),
        (
            128,
            "1.33.1",
            "rotate-etcd-encryption-key",
            "Prepared",
            vec![
                "Forbidden: cannot start ETCD encryption key rotation if \
                 .status.credentials.rotation.etcdEncryptionKey.phase is not 'Completed'"
                    .to_owned(),
            ],
        ),
        (128, "1.33.1", start, "", vec![]),
        (127, "1.34.0", start, "", vec![]),
        (128, "1.34.0", start, "", vec![halves(start)]),
        (149, "1.34.0", complete, "Prepared", vec![halves(complete)]),
        (127, "1.34.0", "rotate-credentials-complete", "Completed", all.map(not_prepared).to_vec()),
        (149, "1.33.9", "rotate-credentials-complete", "Completed", all.map(not_prepared).to_vec()),
        (149, "1.34.0", "rotate-credentials-complete", "Completed", three.map(not_prepared).to_vec()),
        (132, "1.33.1", both, "", vec![unsupported(both, true)]),
        (133, "1.33.1", both, "", vec![]),
        (133, "1.33.1", "rotate-ca-start;restart", "", vec![unsupported("restart", true)]),
        (133, "1.33.1", together, "", vec![apart.to_owned()]),
        (149, "1.34.0", together, "", vec![apart.to_owned(), halves(start)]),
    ] {
        let mut tree = set(tree(), "/metadata/annotations", json!({ "gardener.cloud/operation": asked }));
        tree["spec"]["virtualCluster"]["kubernetes"]["version"] = json!(kubernetes);
        if !phase.is_empty() {
            let rotation: Value = all.iter().map(|field| ((*field).to_owned(), json!({ "phase": phase }))).collect();
            tree["status"] = json!({ "credentials": { "rotation": rotation } });
        }
        let expected: Vec<String> =
            expected.iter().map(|text| format!("metadata.annotations[gardener.cloud/operation]: {text}")).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        check_release(minor, tree, &expected);
    }
}

/// Release, named references, and errors.
#[test]
fn resources_of_a_garden_are_judged_since_133() {
    let reference = |name: &str, version: &str, kind: &str| {
        let to = json!({ "apiVersion": version, "kind": kind, "name": "n" });
        json!({ "name": name, "resourceRef": to })
    };
    let (secret, identity) =
        (reference("a", "v1", "Secret"), reference("b", "security.gardener.cloud/v1alpha1", "WorkloadIdentity"));
    let twice = "spec.resources[1].name: Duplicate value: \"a\"";
    let (version, kind) = (
        "spec.resources[0].resourceRef.apiVersion: Unsupported value: \"security.gardener.cloud/v1alpha1\": supported \
         values: \"v1\"",
        "spec.resources[0].resourceRef.kind: Unsupported value: \"WorkloadIdentity\": supported values: \"Secret\", \
         \"ConfigMap\"",
    );
    let unsupported = "spec.resources[0].resourceRef: Unsupported value: \"security.gardener.cloud/v1alpha1, \
                       Kind=WorkloadIdentity\": supported values: \"/v1, Kind=Secret\", \"/v1, Kind=ConfigMap\"";
    for (minor, resources, expected) in [
        (132, json!([secret, secret, identity]), vec![]),
        (133, json!([secret]), vec![]),
        (133, json!([secret, secret]), vec![twice]),
        (134, json!([identity]), vec![version, kind]),
        (135, json!([identity]), vec![unsupported]),
        (149, json!([secret, reference("c", "v1", "ConfigMap")]), vec![]),
    ] {
        check_release(minor, set(tree(), "/spec/resources", resources), &expected);
    }
}

/// Release, field of the runtime cluster, its value, and errors.
#[test]
fn settings_of_a_runtime_cluster_are_judged_by_release() {
    let policy = "/spec/runtimeCluster/settings";
    let of = |policy: &str| json!({ "loadBalancerServices": { "externalTrafficPolicy": policy } });
    let families = "/spec/runtimeCluster/networking/ipFamilies";
    let family = "spec.runtimeCluster.networking.ipFamilies";
    let odd = format!("{family}[0]: Unsupported value: \"IPv5\": supported values: \"IPv4\", \"IPv6\"");
    let twice = format!("{family}[1]: Duplicate value: \"IPv4\"");
    let global = "spec.runtimeCluster.settings.loadBalancerServices.externalTrafficPolicy: Unsupported value: \"Global\": \
                  supported values: \"Cluster\", \"Local\"";
    for (minor, pointer, value, expected) in [
        (128, families, json!(["IPv5"]), vec![]),
        (129, families, json!(["IPv4", "IPv6"]), vec![]),
        (129, families, json!(["IPv5"]), vec![odd.as_str()]),
        (149, families, json!(["IPv4", "IPv4"]), vec![twice.as_str()]),
        (140, policy, of("Global"), vec![]),
        (141, policy, of("Local"), vec![]),
        (141, policy, of("Global"), vec![global]),
    ] {
        check_release(minor, set(tree(), pointer, value), &expected);
    }
}

#[test]
fn there_is_one_garden_and_its_deletion_is_confirmed() {
    let mut garden = read(tree());
    assert_eq!(creation(&garden.metadata, 0), Ok(()));
    assert_eq!(
        creation(&garden.metadata, 1).unwrap_err(),
        "there can be only one operator.gardener.cloud/v1alpha1.Garden resource in the system at a time"
    );
    assert_eq!(
        deletion(&garden.metadata).unwrap_err(),
        "must have a \"confirmation.gardener.cloud/deletion\" annotation to delete"
    );
    garden.metadata.annotations.insert("confirmation.gardener.cloud/deletion".to_owned(), "true".to_owned());
    assert_eq!(deletion(&garden.metadata), Ok(()));
    garden.metadata.finalizers.push("gardener.cloud/operator".to_owned());
    assert_eq!(
        creation(&garden.metadata, 0).unwrap_err(),
        "finalizer \"gardener.cloud/operator\" cannot be added on creation"
    );
}

/// Rows: minor, settings of gardener-discovery-server before and after, errors joined by ` | `.
#[test]
fn the_discovery_server_stays_at_its_domain_since_1_138() {
    let path = "spec.virtualCluster.gardener.gardenerDiscoveryServer";
    let disabled = format!("{path}: Forbidden: discovery server must not be disabled once enabled");
    let moved = |to: &str| format!("{path}.domain: Invalid value: {to:?}: field is immutable");
    let at = |name: &str| json!({ "domain": { "name": name, "provider": "primary" } });
    for (minor, old, new, expected) in [
        (137, json!({}), Value::Null, String::new()),
        (138, json!({}), Value::Null, disabled),
        (138, Value::Null, json!({}), String::new()),
        (138, json!({}), at("a.example"), moved("a.example")),
        (138, json!({}), at("discovery.ingress.example"), String::new()),
        (149, at("a.example"), json!({}), moved("discovery.ingress.example")),
        (149, at("a.example"), at("a.example"), String::new()),
        (
            149,
            Value::Null,
            json!({ "domain": { "name": "A" }, "tlsSecretName": "b" }),
            format!(
                "{path}.domain.name: Invalid value | {path}.domain.provider: Required value: provider name must be set if \
                 `.spec.dns` is set"
            ),
        ),
        (149, Value::Null, json!({ "tlsSecretName": "B" }), format!("{path}.tlsSecretName: Invalid value")),
    ] {
        let with = |server: Value| read(set(tree(), "/spec/virtualCluster/gardener/gardenerDiscoveryServer", server));
        let rules = Rules { profile: Profile::Documents, version: format!("v1.{minor}.0") };
        let errors = garden_update(&with(new.clone()), &with(old.clone()), &rules);
        let cut = |text: String| match text.split_once(": Invalid value: ") {
            Some((field, detail)) if !detail.contains("immutable") => format!("{field}: Invalid value"),
            _ => text,
        };
        let found: Vec<String> = texts(&errors).into_iter().filter(|text| text.starts_with(path)).map(cut).collect();
        assert_eq!(found.join(" | "), expected, "{minor} {old} {new}");
    }
}
