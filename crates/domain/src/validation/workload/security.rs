// SPDX-License-Identifier: Apache-2.0
//! Validation of the security contexts of a pod and its containers, and of a pod's DNS settings.
//!
//! Deliberately absent: profiles (seccomp, AppArmor), options of SELinux and Windows, sysctls.
//!
//! Source: k8s.io/kubernetes pkg/apis/core/validation/validation.go @ v1.31 (ValidatePodSecurityContext,
//! ValidateSecurityContext, validatePodDNSConfig, ValidateHostAliases).

use std::net::IpAddr;

use apimachinery::field::{FieldError, Path};
use serde_json::Value;

use super::tree::{items, one_of, set, text};
use crate::validation::{Errors, meta};

const NO_ID: &str = "must be between 0 and 2147483647, inclusive";
const NO_ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
/// Maximum number of a pod's name servers.
const NAMESERVERS: usize = 3;

/// Adds violations of a pod's `securityContext`.
pub(super) fn pod(errors: &mut Errors, spec: &Value, path: &Path) {
    let Some(context) = set(spec, "securityContext") else { return };
    let path = path.child("securityContext");
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        id(errors, context.get(field), &path.child(field));
    }
    let at = path.child("supplementalGroups");
    for (index, group) in items(context, "supplementalGroups").iter().enumerate() {
        id(errors, Some(group), &at.index(index));
    }
    let is_set = |name: &str| spec.get(name) == Some(&Value::Bool(true));
    if is_set("shareProcessNamespace") && is_set("hostPID") {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push(FieldError::invalid(&path.child("shareProcessNamespace"), true, detail));
    }
    one_of(errors, context, "fsGroupChangePolicy", &["Always", "OnRootMismatch"], &path);
}

/// Adds violations of a container's `securityContext`.
pub(super) fn container(errors: &mut Errors, container: &Value, path: &Path) {
    let Some(context) = set(container, "securityContext") else { return };
    let path = path.child("securityContext");
    for field in ["runAsUser", "runAsGroup"] {
        id(errors, context.get(field), &path.child(field));
    }
    if context.get("allowPrivilegeEscalation") != Some(&Value::Bool(false)) {
        return;
    }
    // Upstream prints memory addresses of the context's parts, which `…` replaces.
    let invalid = |detail: &str| meta::invalid_unquoted(&path, "core.SecurityContext{…}", detail);
    if context.get("privileged") == Some(&Value::Bool(true)) {
        errors.push(invalid("cannot set `allowPrivilegeEscalation` to false and `privileged` to true"));
    }
    let added = context.get("capabilities").map_or(&[][..], |capabilities| items(capabilities, "add"));
    for _ in added.iter().filter(|capability| *capability == "CAP_SYS_ADMIN") {
        errors.push(invalid("cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"));
    }
}

fn id(errors: &mut Errors, id: Option<&Value>, path: &Path) {
    if let Some(id) = id.and_then(Value::as_i64).filter(|id| !(0..=i64::from(i32::MAX)).contains(id)) {
        errors.push(FieldError::invalid(path, id, NO_ID));
    }
}

fn address(errors: &mut Errors, address: &str, path: &Path) {
    if address.parse::<IpAddr>().is_err() {
        errors.push(FieldError::invalid(path, address, NO_ADDRESS));
    }
}

/// Adds violations of `dnsConfig`.
pub(super) fn dns_config(errors: &mut Errors, spec: &Value, path: &Path) {
    let path = path.child("dnsConfig");
    let config = set(spec, "dnsConfig");
    let at = path.child("nameservers");
    let servers = config.map_or(&[][..], |config| items(config, "nameservers"));
    if text(spec, "dnsPolicy") == "None" {
        if config.is_none() {
            errors.push(FieldError::required(&path, "must provide `dnsConfig` when `dnsPolicy` is None"));
            return;
        }
        if servers.is_empty() {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            errors.push(FieldError::required(&at, detail));
            return;
        }
    }
    if servers.len() > NAMESERVERS {
        let detail = format!("must not have more than {NAMESERVERS} nameservers");
        errors.push(super::go::invalid(
            &at,
            &super::go::string_list(config.and_then(|it| it.get("nameservers"))),
            &detail,
        ));
    }
    for (index, server) in servers.iter().filter_map(Value::as_str).enumerate() {
        address(errors, server, &at.index(index));
    }
    let at = path.child("options");
    for (index, option) in config.map_or(&[][..], |config| items(config, "options")).iter().enumerate() {
        if text(option, "name").is_empty() {
            errors.push(FieldError::required(&at.index(index), "must not be empty"));
        }
    }
}

/// Adds violations of `hostAliases`.
pub(super) fn host_aliases(errors: &mut Errors, spec: &Value, path: &Path) {
    let path = path.child("hostAliases");
    for (index, alias) in items(spec, "hostAliases").iter().enumerate() {
        let path = path.index(index);
        address(errors, text(alias, "ip"), &path.child("ip"));
        for (index, name) in items(alias, "hostnames").iter().filter_map(Value::as_str).enumerate() {
            let at = path.child("hostnames").index(index);
            meta::invalid_each(errors, &at, name, meta::dns_subdomain(name));
        }
    }
}

/// Adds violations of `preemptionPolicy`.
pub(super) fn preemption(errors: &mut Errors, spec: &Value, path: &Path) {
    let allowed = ["PreemptLowerPriority", "Never"];
    if let Some(policy) = set(spec, "preemptionPolicy").and_then(Value::as_str).filter(|it| !allowed.contains(it)) {
        errors.push(FieldError::not_supported(&path.child("preemptionPolicy"), policy, &allowed));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tree::check;
    use super::*;

    #[test]
    fn users_and_groups_are_numbers_of_31_bits() {
        check(pod, json!({"securityContext": {"runAsUser": 0, "fsGroup": 2_147_483_647}}), &[]);
        check(
            pod,
            json!({"securityContext": {"runAsUser": -1, "fsGroup": 2_147_483_648_i64, "supplementalGroups": [1, -2]}}),
            &[
                "spec.securityContext.fsGroup: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive",
                "spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
                "spec.securityContext.supplementalGroups[1]: Invalid value: -2: must be between 0 and 2147483647, \
                 inclusive",
            ],
        );
        check(
            pod,
            json!({"shareProcessNamespace": true, "hostPID": true, "securityContext": {}}),
            &["spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID \
               cannot both be enabled"],
        );
    }

    #[test]
    fn a_privileged_container_cannot_do_without_escalation() {
        check(container, json!({"securityContext": {"privileged": true}}), &[]);
        check(container, json!({"securityContext": {"allowPrivilegeEscalation": false}}), &[]);
        check(
            container,
            json!({"securityContext": {"allowPrivilegeEscalation": false, "privileged": true, "runAsGroup": -1}}),
            &[
                "spec.securityContext.runAsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive",
                "spec.securityContext: Invalid value: core.SecurityContext{…}: cannot set `allowPrivilegeEscalation` \
                 to false and `privileged` to true",
            ],
        );
    }

    #[test]
    fn names_are_resolved_by_servers_with_addresses() {
        check(dns_config, json!({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["10.0.0.1"]}}), &[]);
        check(
            dns_config,
            json!({"dnsPolicy": "None"}),
            &["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
        );
        check(
            dns_config,
            json!({"dnsPolicy": "None", "dnsConfig": {}}),
            &[
                "spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is \
               None",
            ],
        );
        check(
            dns_config,
            json!({"dnsConfig": {"nameservers": ["x"], "options": [{}]}}),
            &[
                "spec.dnsConfig.nameservers[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or \
                 2001:db8::ffff)",
                "spec.dnsConfig.options[0]: Required value: must not be empty",
            ],
        );
        check(host_aliases, json!({"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a.b"]}]}), &[]);
        check(
            host_aliases,
            json!({"hostAliases": [{"ip": "", "hostnames": ["a.b"]}]}),
            &["spec.hostAliases[0].ip: Invalid value: \"\": must be a valid IP address, (e.g. 10.9.8.7 or \
               2001:db8::ffff)"],
        );
    }

    #[test]
    fn a_pod_takes_the_place_of_others_or_never_does() {
        check(preemption, json!({"preemptionPolicy": "Never"}), &[]);
        check(
            preemption,
            json!({"preemptionPolicy": "Always"}),
            &[
                "spec.preemptionPolicy: Unsupported value: \"Always\": supported values: \"PreemptLowerPriority\", \"Never\"",
            ],
        );
    }
}
