// SPDX-License-Identifier: Apache-2.0
//! Comparison of a Shoot's networks with those of a seed.
//!
//! Source: networksAreDisjointed in pkg/scheduler/controller/shoot/reconciler.go, and
//! pkg/utils/validation/cidr/disjoint.go @ v1.120.0.

use api::constants::annotation;
use api::core::{Seed, Shoot};
use apimachinery::field::{FieldError, Path};

use crate::validation::network::{RESERVED, intersect};

/// Returns the conflicts of the Shoot's networks on this seed, as upstream's messages without the field.
pub(super) fn conflicts(seed: &Seed, shoot: &Shoot) -> Vec<String> {
    let Some(networking) = &shoot.spec.networking else { return Vec::new() };
    let workerless = shoot.spec.provider.workers.is_empty();
    let overlap_allowed = !has_high_availability_vpn(shoot);
    let defaults = seed.spec.networks.shoot_defaults.as_ref();
    let default = |network: Option<&String>| {
        let network = network.filter(|network| {
            let family = if is_ipv6(network) { "IPv6" } else { "IPv4" };
            networking.ip_families.iter().any(|it| it == family)
        });
        network.cloned()
    };
    let pods = networking
        .pods
        .clone()
        .or_else(|| default(defaults.and_then(|defaults| defaults.pods.as_ref()).filter(|_| !workerless)));
    let services =
        networking.services.clone().or_else(|| default(defaults.and_then(|defaults| defaults.services.as_ref())));

    let mut out = Vec::new();
    let lists = |nodes: &[String], services: &[String], pods: &[String], out: &mut Vec<String>| {
        check(seed, nodes, "node", false, overlap_allowed, out);
        check(seed, services, "service", true, overlap_allowed, out);
        check(seed, pods, "pod", !workerless, overlap_allowed, out);
    };
    lists(networking.nodes.as_slice(), services.as_slice(), pods.as_slice(), &mut out);
    if let Some(status) = &shoot.status.networking {
        lists(&status.nodes, &status.services, &status.pods, &mut out);
    }
    out
}

fn check(seed: &Seed, networks: &[String], kind: &str, required: bool, overlap_allowed: bool, out: &mut Vec<String>) {
    let path = Path::default();
    for network in networks {
        if !overlap_allowed || is_ipv6(network) {
            let of_seed = &seed.spec.networks;
            let ranges =
                [(Some(&of_seed.services), "service"), (Some(&of_seed.pods), "pod"), (of_seed.nodes.as_ref(), "node")];
            for (range, name) in ranges {
                if range.is_some_and(|range| intersect(range, network)) {
                    let text = format!("shoot {kind} network intersects with seed {name} network");
                    out.push(FieldError::invalid(&path, network, &text).body);
                }
            }
        }
        for (name, range) in RESERVED {
            if intersect(range, network) {
                let text = format!("shoot {kind} network intersects with {name} ({range})");
                out.push(FieldError::invalid(&path, network, &text).body);
            }
        }
    }
    if networks.is_empty() && required {
        out.push(FieldError::required(&path, &format!("{kind}s is required")).body);
    }
}

fn has_high_availability_vpn(shoot: &Shoot) -> bool {
    match shoot.metadata.annotation(annotation::HIGH_AVAILABILITY_VPN) {
        Some("1" | "t" | "T" | "true" | "TRUE" | "True") => true,
        Some("0" | "f" | "F" | "false" | "FALSE" | "False") => false,
        _ => super::failure_tolerance(shoot).is_some(),
    }
}

fn is_ipv6(network: &str) -> bool {
    network.contains(':')
}
