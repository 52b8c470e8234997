// SPDX-License-Identifier: Apache-2.0
//! Checks of a Shoot's networks against those of its Seed.

use api::core::*;
use apimachinery::field::{FieldError, Path};

use super::{Context, Errors};
use crate::release::{Release, Releases};
use crate::validation::network::{Network, RESERVED, intersect};

/// Networks of a Shoot with high availability must not overlap with those of its Seed.
const HIGH_AVAILABILITY_IS_APART: Releases = Releases::until(124);

/// Networks are required whatever the defaults of the Seed, and texts about reserved ranges do not name the Shoot.
const DEFAULTS_ARE_SET_BEFORE: Releases = Releases::since(132);

/// A Shoot without IPv4 and workers needs a network for its services; later releases choose one.
const SERVICES_OF_IPV6: Releases = Releases::between(132, 148);

/// The networks of a Shoot are compared with each other before it has a Seed.
const OWN_COME_FIRST: Releases = Releases::since(146);

/// Sets the seed's defaults.
pub(super) fn default_networks(shoot: &mut Shoot, seed: Option<&Seed>) {
    let workerless = shoot.spec.provider.workers.is_empty();
    let (Some(seed), Some(networking)) = (seed, &mut shoot.spec.networking) else { return };
    let Some(defaults) = &seed.spec.networks.shoot_defaults else { return };
    let has = |family: &str| networking.ip_families.iter().any(|one| one == family);
    let (ipv4, ipv6) = (has("IPv4"), has("IPv6"));
    let matching = |text: &Option<String>| {
        let network = text.as_deref().and_then(Network::parse)?;
        if network.is_ipv4() { ipv4 } else { ipv6 }.then(|| text.clone()).flatten()
    };
    if networking.pods.is_none() && !workerless {
        networking.pods = matching(&defaults.pods);
    }
    if networking.services.is_none() {
        networking.services = matching(&defaults.services);
    }
}

/// Sets the seed's defaults, and checks that networks do not overlap.
///
/// Source: plugin/pkg/shoot/validator/admission.go (`validateShootNetworks`), pkg/utils/validation/cidr/disjoint.go @ v1.120.0,
/// v1.124.0, v1.132.0 and v1.146.0.
pub(super) fn networks(errors: &mut Errors, shoot: &mut Shoot, context: &Context<'_>) {
    let release = context.at.release;
    let workerless = shoot.spec.provider.workers.is_empty();
    let is_available = shoot.spec.control_plane.as_ref().is_some_and(|plane| plane.high_availability.is_some());
    let is_apart = is_available && HIGH_AVAILABILITY_IS_APART.contain(release);
    default_networks(shoot, context.seed);
    let Some(networking) = &shoot.spec.networking else { return };
    let path = Path::new("spec").child("networking");
    let has = |family: &str| networking.ip_families.iter().any(|one| one == family);
    let ipv4 = has("IPv4");
    if ipv4 && OWN_COME_FIRST.contain(release) {
        overlaps(errors, networking, &path);
    }
    let Some(seed) = context.seed else { return };
    let no_default = DEFAULTS_ARE_SET_BEFORE.contain(release) || seed.spec.networks.shoot_defaults.is_none();
    if networking.pods.is_none() && !workerless && ipv4 && no_default {
        errors.push(FieldError::required(&path.child("pods"), "pods is required"));
    }
    let needs_ipv6 = workerless && has("IPv6") && SERVICES_OF_IPV6.contain(release);
    if networking.services.is_none() && (ipv4 && no_default || needs_ipv6) {
        errors.push(FieldError::required(&path.child("services"), "services is required"));
    }
    if !ipv4 {
        return;
    }
    if !OWN_COME_FIRST.contain(release) {
        overlaps(errors, networking, &path);
        required(errors, networking, workerless, &path);
    }
    let scheduled = context.old.and_then(|old| old.spec.seed_name.as_ref()) != shoot.spec.seed_name.as_ref();
    for _ in 0..usize::from(is_apart) + usize::from(scheduled) {
        let networks = [("node", &networking.nodes), ("service", &networking.services), ("pod", &networking.pods)];
        for (kind, network) in networks {
            if let Some(network) = network {
                let path = path.child(&format!("{kind}s"));
                against_seed(errors, kind, network, (&seed.spec.networks, !is_apart), release, &path);
            }
        }
    }
}

/// Checks that the Shoot's own networks do not overlap.
fn overlaps(errors: &mut Errors, networking: &Networking, path: &Path) {
    let (pods, services) = (path.child("pods"), path.child("services"));
    let meet = |one: Option<&String>, other: Option<&String>| matches!((one, other), (Some(one), Some(other)) if intersect(one, other));
    let (node, pod, service) = (networking.nodes.as_ref(), networking.pods.as_ref(), networking.services.as_ref());
    if meet(pod, service) {
        let text = "shoot pod network intersects with shoot service network";
        errors.push(FieldError::invalid(&services, service, text));
    }
    if meet(pod, node) {
        let text = "shoot pod network intersects with shoot node network";
        errors.push(FieldError::invalid(&pods, pod, text));
    }
    if meet(service, node) {
        let text = "shoot service network intersects with shoot node network";
        errors.push(FieldError::invalid(&services, service, text));
    }
}

fn required(errors: &mut Errors, networking: &Networking, workerless: bool, path: &Path) {
    if networking.pods.is_none() && !workerless {
        errors.push(FieldError::required(&path.child("pods"), "shoot pod network is required"));
    }
    if networking.services.is_none() {
        errors.push(FieldError::required(&path.child("services"), "shoot service network is required"));
    }
}

fn against_seed(
    errors: &mut Errors,
    kind: &str,
    network: &str,
    (seed, may_overlap): (&SeedNetworks, bool),
    release: Release,
    path: &Path,
) {
    let mut others = Vec::new();
    if !may_overlap || Network::parse(network).is_some_and(|network| !network.is_ipv4()) {
        others.push(("seed service network".to_owned(), Some(seed.services.as_str())));
        others.push(("seed pod network".to_owned(), Some(seed.pods.as_str())));
        others.push(("seed node network".to_owned(), seed.nodes.as_deref()));
    }
    let of_seed = others.len();
    others.extend(RESERVED.iter().map(|(name, range)| (format!("{name} ({range})"), Some(*range))));
    for (index, (name, other)) in others.into_iter().enumerate() {
        if other.is_some_and(|other| intersect(other, network)) {
            let names_shoot = index < of_seed || !DEFAULTS_ARE_SET_BEFORE.contain(release);
            let shoot = if names_shoot { "shoot " } else { "" };
            let text = format!("{shoot}{kind} network intersects with {name}");
            errors.push(FieldError::invalid(path, network, &text));
        }
    }
}
