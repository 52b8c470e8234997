// SPDX-License-Identifier: Apache-2.0
//! Checks of single fields that a release adds, changes or ends, as tables.

use serde_json::{Value, json};

use super::release_tests::{Rule, errors, gates, merge, shoot_with};
use super::*;

const STRUCTURED: &str = r#"{"kubernetes": {"kubeAPIServer": {"structuredAuthentication": {"configMapName": "a"}}}}"#;
const WATCHED: &str = r#"{"kubernetes": {"kubeAPIServer": {"watchCacheSizes": {"resources": [
    {"apiGroup": "Apps,x", "resource": "Pods.v1", "size": 1}, {"apiGroup": "", "resource": "pods", "size": 1}]}}}}"#;
const MANY_READS: &str = r#"{"kubernetes": {"kubeAPIServer": {"requests": {"maxNonMutatingInflight": 900}}}}"#;
const TOO_MANY: &str = r#"{"kubernetes": {"kubeAPIServer": {"requests":
    {"maxNonMutatingInflight": 5001, "maxMutatingInflight": 2501}}}}"#;
const ISSUERS: &str = r#"{"kubernetes": {"kubeAPIServer": {"serviceAccountConfig":
    {"issuer": "http://a", "acceptedIssuers": ["https://b", "c"]}}}}"#;
const TLS: &str = r#"{"kubernetes": {"kubeAPIServer": {"tlsMinVersion": "VersionTLS11"}}}"#;
const AUDIENCES: &str = r#"{"kubernetes": {"kubeAPIServer": {"apiAudiences": ["a,b", "c", "c"]}}}"#;
const ISSUER_ONLY: &str = r#"{"kubernetes": {"kubeAPIServer": {"oidcConfig": {"issuerURL": "https://a"}}}}"#;
const OIDC_CLIENT: &str = r#"{"kubernetes": {"kubeAPIServer": {"oidcConfig":
    {"clientID": "a", "issuerURL": "https://a", "clientAuthentication": {"secret": "s"}}}}}"#;
const SYSTEM_RESERVED: &str = r#"{"kubernetes": {"kubelet": {"systemReserved": {"cpu": "100m"}}}}"#;
const KUBELET: &str = r#"{"kubernetes": {"kubelet": {"cpuManagerPolicy": "dynamic", "containerLogMaxSize": "-1"}}}"#;
const ROTATION: &str = r#"{"maintenance": {"autoUpdate": {"kubernetesVersion": true, "machineImageVersion": true},
    "autoRotation": {"credentials": {"sshKeypair": {"rotationPeriod": "1m"}, "observability": {"rotationPeriod": "1m"}}}}}"#;

const FIELDS: &[Rule] = &[
    (129, "1.32.0", r#"{"provider": {"type": "a.b"}, "schedulerName": "c.d"}"#, &[]),
    (
        130,
        "1.32.0",
        r#"{"provider": {"type": "a.b"}, "schedulerName": "c.d"}"#,
        &[
            "spec.provider.type: Invalid value: \"a.b\": must not contain dots",
            "spec.schedulerName: Invalid value: \"c.d\": must not contain dots",
        ],
    ),
    (129, "1.32.0", r#"{"extensions": [{"type": "a.b"}]}"#, &[]),
    (
        130,
        "1.32.0",
        r#"{"extensions": [{"type": "a.b"}]}"#,
        &["spec.extensions[0].type: Invalid value: \"a.b\": must not contain dots"],
    ),
    (129, "1.32.0", r#"{"kubernetes": {"kubeScheduler": {"kubeMaxPDVols": "x"}}}"#, &[]),
    (
        130,
        "1.32.0",
        r#"{"kubernetes": {"kubeScheduler": {"kubeMaxPDVols": "x"}}}"#,
        &[
            "spec.kubernetes.kubeScheduler.kubeMaxPDVols: Invalid value: \"x\": conversion error: strconv.Atoi: parsing \"x\": \
           invalid syntax",
        ],
    ),
    (
        149,
        "1.34.0",
        r#"{"kubernetes": {"kubeScheduler": {"kubeMaxPDVols": "99999999999999999999"}}}"#,
        &["spec.kubernetes.kubeScheduler.kubeMaxPDVols: Invalid value: \"99999999999999999999\": conversion error: \
           strconv.Atoi: parsing \"99999999999999999999\": value out of range"],
    ),
    (
        149,
        "1.34.0",
        r#"{"kubernetes": {"kubeScheduler": {"kubeMaxPDVols": "0"}}}"#,
        &["spec.kubernetes.kubeScheduler.kubeMaxPDVols: Invalid value: \"0\": must be positive"],
    ),
    (127, "1.32.0", KUBELET, &[]),
    (
        128,
        "1.32.0",
        KUBELET,
        &[
            "spec.kubernetes.kubelet.cpuManagerPolicy: Unsupported value: \"dynamic\": supported values: \"none\", \"static\"",
            "spec.kubernetes.kubelet.containerLogMaxSize: Invalid value: \"-1\": must be greater than or equal to 0",
        ],
    ),
    (
        135,
        "1.31.0",
        SYSTEM_RESERVED,
        &[
            "spec.kubernetes.kubelet.systemReserved: Invalid value: {\"cpu\":\"100m\"}: systemReserved is no longer supported by \
           Gardener starting from Kubernetes 1.31",
        ],
    ),
    (
        136,
        "1.31.0",
        SYSTEM_RESERVED,
        &[
            "spec.kubernetes.kubelet.systemReserved: Invalid value: {\"cpu\":\"100m\"}: for Kubernetes versions >= 1.31, \
           systemReserved field is no longer supported",
        ],
    ),
    (140, "1.30.0", SYSTEM_RESERVED, &[]),
    (141, "1.35.0", SYSTEM_RESERVED, &[]),
    (
        132,
        "1.29.0",
        STRUCTURED,
        &[
            "spec.kubernetes.kubeAPIServer.structuredAuthentication: Forbidden: is available for Kubernetes versions >= v1.30",
        ],
    ),
    (133, "1.29.0", STRUCTURED, &[]),
    (128, "1.32.0", WATCHED, &[]),
    (
        129,
        "1.32.0",
        WATCHED,
        &[
            "spec.kubernetes.kubeAPIServer.watchCacheSizes.resources[0].resource: Invalid value: \"Pods.v1\": must be lower case",
            "spec.kubernetes.kubeAPIServer.watchCacheSizes.resources[0].resource: Invalid value: \"Pods.v1\": must not contain \
             any of the following characters: \",. #\"",
            "spec.kubernetes.kubeAPIServer.watchCacheSizes.resources[0].apiGroup: Invalid value: \"Apps,x\": must be lower case",
            "spec.kubernetes.kubeAPIServer.watchCacheSizes.resources[0].apiGroup: Invalid value: \"Apps,x\": must not contain \
             any of the following characters: \", #\"",
        ],
    ),
    (
        134,
        "1.32.0",
        MANY_READS,
        &[
            "spec.kubernetes.kubeAPIServer.requests.maxNonMutatingInflight: Invalid value: 900: cannot set higher than 800",
        ],
    ),
    (135, "1.32.0", MANY_READS, &[]),
    (
        149,
        "1.32.0",
        TOO_MANY,
        &[
            "spec.kubernetes.kubeAPIServer.requests.maxNonMutatingInflight: Invalid value: 5001: cannot set higher than 5000",
            "spec.kubernetes.kubeAPIServer.requests.maxMutatingInflight: Invalid value: 2501: cannot set higher than 2500",
        ],
    ),
    (131, "1.32.0", ISSUERS, &[]),
    (
        132,
        "1.32.0",
        ISSUERS,
        &[
            "spec.kubernetes.kubeAPIServer.serviceAccountConfig.issuer: Invalid value: \"http://a\": must have https scheme",
            "spec.kubernetes.kubeAPIServer.serviceAccountConfig.acceptedIssuers[1]: Invalid value: \"c\": must be a valid URL and \
             have https scheme",
            "spec.kubernetes.kubeAPIServer.serviceAccountConfig.acceptedIssuers[1]: Invalid value: \"c\": must have https scheme",
        ],
    ),
    (
        149,
        "1.32.0",
        TLS,
        &["spec.kubernetes.kubeAPIServer.tlsMinVersion: Unsupported value: \"VersionTLS11\": supported values: \
           \"VersionTLS12\", \"VersionTLS13\""],
    ),
    (126, "1.32.0", AUDIENCES, &[]),
    (
        127,
        "1.32.0",
        AUDIENCES,
        &[
            "spec.kubernetes.kubeAPIServer.apiAudiences[0]: Invalid value: \"a,b\": audience must not contain commas",
            "spec.kubernetes.kubeAPIServer.apiAudiences[2]: Duplicate value: \"c\"",
        ],
    ),
    (
        132,
        "1.31.0",
        ISSUER_ONLY,
        &[
            "spec.kubernetes.kubeAPIServer.oidcConfig.clientID: Invalid value: null: clientID must be set when issuerURL is \
           provided",
        ],
    ),
    (
        133,
        "1.31.0",
        ISSUER_ONLY,
        &[
            "spec.kubernetes.kubeAPIServer.oidcConfig.clientID: Required value: clientID must be set when oidcConfig is provided",
        ],
    ),
    (142, "1.33.0", ISSUER_ONLY, &[]),
    (
        135,
        "1.31.0",
        OIDC_CLIENT,
        &[
            "spec.kubernetes.kubeAPIServer.oidcConfig.clientAuthentication: Invalid value: {\"secret\":\"s\"}: for Kubernetes \
           versions >= 1.31, clientAuthentication field is no longer supported",
        ],
    ),
    (
        136,
        "1.31.0",
        OIDC_CLIENT,
        &[
            "spec.kubernetes.kubeAPIServer.oidcConfig.clientAuthentication: Forbidden: for Kubernetes versions >= 1.31, \
           clientAuthentication field is no longer supported",
        ],
    ),
    (141, "1.31.0", OIDC_CLIENT, &[]),
    (
        135,
        "1.32.0",
        ROTATION,
        &[
            "spec.maintenance.autoRotation.credentials.observability.rotationPeriod: Invalid value: \"1m0s\": value must be \
             either 0 to disable rotation or between 30m and 90d",
            "spec.maintenance.autoRotation.credentials.sshKeypair.rotationPeriod: Invalid value: \"1m0s\": value must be either \
             0 to disable rotation or between 30m and 90d",
        ],
    ),
    (122, "1.32.0", r#"{"kubernetes": {"kubeAPIServer": {"encryptionConfig": {"resources": ["Pods"]}}}}"#, &[]),
    (
        123,
        "1.32.0",
        r#"{"kubernetes": {"kubeAPIServer": {"encryptionConfig": {"resources": ["Pods"]}}}}"#,
        &[
            "spec.kubernetes.kubeAPIServer.encryptionConfig.resources[0]: Invalid value: \"Pods\": resource must be lower case",
        ],
    ),
];

#[test]
fn fields_are_checked_by_release() {
    for (release, version, change, expected) in FIELDS {
        assert_eq!(errors(*release, version, change), *expected, "1.{release} {version} {change}");
    }
}

/// First release with a check, change, and the start of the error.
#[test]
fn names_and_values_are_judged_since_their_release() {
    for (since, change, expected) in [
        (
            127,
            r#"{"seedSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}}"#,
            "spec.seedSelector.matchExpressions[0].values[0]: Invalid value: \"b c\": a valid label must be",
        ),
        (
            130,
            r#"{"tolerations": [{"key": "a b"}]}"#,
            "spec.tolerations[0].key: Invalid value: \"a b\": name part must consist of alphanumeric characters",
        ),
        (
            132,
            r#"{"kubernetes": {"kubeAPIServer": {"auditConfig": {"auditPolicy": {"configMapRef": {"name": "A"}}}}}}"#,
            "spec.kubernetes.kubeAPIServer.auditConfig.auditPolicy.configMapRef.name: Invalid value: \"A\": a lowercase RFC 1123 \
             subdomain",
        ),
    ] {
        assert_eq!(errors(since - 1, "1.32.0", change), [""; 0], "{change}");
        let found = errors(since, "1.32.0", change);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{found:?}");
    }
}

/// Release, fields of a pool, and the errors below its path.
const POOLS: &[(u16, &str, &[&str])] = &[
    (125, r#"{"priority": -2}"#, &[]),
    (126, r#"{"priority": -2}"#, &["priority: Invalid value: -2: can not be less than -1"]),
    (149, r#"{"priority": -1}"#, &[]),
    (126, r#"{"volume": {"name": "", "size": "1Gi"}}"#, &[]),
    (127, r#"{"volume": {"name": "", "size": "1Gi"}}"#, &["volume.name: Required value: must specify a name"]),
    (
        149,
        r#"{"volume": {"name": "name.of.a.volume", "size": "1"}}"#,
        &[
            "volume.name: Invalid value: \"name.of.a.volume\": must not contain dots",
            "volume.name: Too long: may not be more than 15 bytes",
            "volume.size: Invalid value: \"1\": volume size must match the regex ^(\\d)+Gi$",
        ],
    ),
    (132, r#"{"sysctls": {"a b": ""}}"#, &[]),
    (
        133,
        r#"{"sysctls": {"a b": ""}}"#,
        &[
            "sysctls.a b: Invalid value: \"a b\": sysctl key must must match regex \
             \"^(?:(?:[a-zA-Z0-9-][a-zA-Z0-9_/-]*|\\\\*)\\\\.)*[a-zA-Z0-9_/-]*[a-zA-Z0-9]$\"",
            "sysctls.a b: Required value: sysctl requires a non-empty value",
        ],
    ),
    (133, r#"{"sysctls": {"net.ipv4.conf.*.forwarding": "1", "vm/max_map_count": "2"}}"#, &[]),
];

/// Returns the errors of a pool with some fields, without those that it has anyway, below the path of the pool.
fn errors_of_pool(release: u16, fields: &Value) -> Vec<String> {
    let mut pool = serde_json::to_value(&shoot_with("1.32.0", "{}").spec.provider.workers[0]).expect("a pool");
    merge(&mut pool, fields);
    let change = json!({ "provider": { "workers": [pool] } }).to_string();
    let below = |error: String| error.strip_prefix("spec.provider.workers[0].").map(str::to_owned).unwrap_or(error);
    errors(release, "1.32.0", &change).into_iter().map(below).collect()
}

#[test]
fn fields_of_pools_are_checked_by_release() {
    for (release, fields, expected) in POOLS {
        let fields = serde_json::from_str(fields).expect("fields");
        assert_eq!(errors_of_pool(*release, &fields), *expected, "1.{release} {fields}");
    }
}

/// A part of a key has at most 255 bytes, a key at most as many as the path of a file below `/proc/sys/`.
#[test]
fn keys_of_kernel_parameters_have_a_length() {
    let part = "a".repeat(255);
    let fits = format!("{part}.").repeat(15) + &"a".repeat(246);
    let longer = format!("{fits}a");
    let long_part = format!("b.a{part}");
    assert_eq!(fits.len(), 4086);
    for (key, expected) in [
        (&fits, vec![]),
        (&longer, vec![format!("sysctls.{longer}: Too long: may not be more than 4086 bytes")]),
        (
            &long_part,
            vec![format!(
                "sysctls.{long_part}: Invalid value: \"a{part}\": sub key of sysctl must not exceed 255 bytes"
            )],
        ),
    ] {
        assert_eq!(errors_of_pool(133, &json!({ "sysctls": { key.as_str(): "1" } })), expected, "{}", key.len());
    }
}

/// Returns the errors of a change of the spec, without those that the new Shoot has anyway.
fn errors_of_update(release: u16, old: &str, new: &str) -> Vec<String> {
    let (old, new) = (shoot_with("1.32.0", old), shoot_with("1.32.0", new));
    let said = |old: &Shoot| -> Vec<String> {
        shoot_update(&new, old, gates(release)).iter().map(ToString::to_string).collect()
    };
    let always = said(&new);
    said(&old).into_iter().filter(|error| !always.contains(error)).collect()
}

/// Release, spec before and after, and errors.
const UPDATES: &[(u16, &str, &str, &[&str])] = &[
    (
        138,
        r#"{"exposureClassName": "a"}"#,
        r#"{"exposureClassName": "b"}"#,
        &["spec.exposureClassName: Invalid value: \"b\": field is immutable"],
    ),
    (139, r#"{"exposureClassName": "a"}"#, r#"{"exposureClassName": "b"}"#, &[]),
    (
        135,
        r#"{"seedName": "s"}"#,
        r#"{"seedName": "s", "seedSelector": {"matchLabels": {"a": "b"}}}"#,
        &["spec.seedSelector: Forbidden: cannot set seed selector when .spec.seedName is set"],
    ),
    (136, r#"{"seedName": "s"}"#, r#"{"seedName": "s", "seedSelector": {"matchLabels": {"a": "b"}}}"#, &[]),
];

#[test]
fn updates_of_fields_are_checked_by_release() {
    for (release, old, new, expected) in UPDATES {
        assert_eq!(errors_of_update(*release, old, new), *expected, "1.{release} {old} {new}");
    }
}

#[test]
fn changes_during_the_deletion_are_refused_since_121() {
    let deleted = |region: &str| -> Shoot {
        let change = json!({ "region": region }).to_string();
        let mut tree = serde_json::to_value(shoot_with("1.32.0", &change)).expect("a tree");
        merge(&mut tree, &json!({ "metadata": { "deletionTimestamp": "2025-06-01T00:00:00Z" } }));
        serde_json::from_value(tree).expect("a Shoot")
    };
    for (release, head) in
        [(120, ""), (121, "cannot update shoot spec if deletion timestamp is set. Requested changes: ")]
    {
        let errors = shoot_update(&deleted("b"), &deleted("a"), gates(release));
        let found = errors.iter().map(ToString::to_string).find(|error| error.starts_with("spec: "));
        assert_eq!(found, Some(format!("spec: Forbidden: {head}Region: b != a")), "1.{release}");
    }
}

/// Updates may keep invalid accepted issuers since 1.135.
#[test]
fn invalid_accepted_issuers_may_stay_since_135() {
    let with = |issuers: &[&str]| {
        let config = json!({ "acceptedIssuers": issuers });
        let change = json!({ "kubernetes": { "kubeAPIServer": { "serviceAccountConfig": config } } });
        shoot_with("1.32.0", &change.to_string())
    };
    let invalid = with(&["c"]);
    for (release, old, is_refused) in [
        (131, &["c"][..], false),
        (134, &["c"], true),
        (135, &["c"], false),
        (135, &["c", "https://d"], true),
        (149, &[], true),
    ] {
        let errors = shoot_update(&invalid, &with(old), gates(release));
        let found = errors.iter().any(|error| error.field.ends_with("acceptedIssuers[0]"));
        assert_eq!(found, is_refused, "1.{release}");
    }
}
