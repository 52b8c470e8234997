// SPDX-License-Identifier: Apache-2.0
//! Seeds.
//!
//! Source: pkg/apis/core/validation/seed.go and pkg/api/core/validation/seed.go, v1.120.0 to v1.149.0.

mod dns;

use std::collections::BTreeSet;

use api::constants::{annotation, operation};
use api::core::*;
use apimachinery::field::{FieldError, Path};

use super::common::{self, one_of};
use super::meta::{self, NameRule, immutable, object_meta, object_meta_update};
use super::network::{Cidr, Network, ip_families, primary_family};
use super::{Errors, objects, vertical_pod_autoscaler};
use crate::release::{Release, Releases};

/// Range into which upstream maps the ranges of a kube-apiserver's clients.
const RESERVED_MAPPING_RANGE: &str = "240.0.0.0/8";
/// Range of the VPN between seeds and shoots.
const VPN_RANGE: &str = "fd8f:6d53:b97a:1::/96";

/// Ranges of the Seed and defaults of its Shoots are compared by group, and with every reserved range.
const NETWORKS_BY_GROUP: Releases = Releases::since(132);

const TRAFFIC_POLICIES: [&str; 2] = ["Cluster", "Local"];

/// Checks a new Seed by the rules of a release.
pub fn seed(seed: &Seed, release: Release) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &seed.metadata, false, NameRule::Label, &Path::new("metadata"));
    if let Some(operation) = seed.metadata.annotation(annotation::OPERATION).filter(|operation| !operation.is_empty()) {
        let supported = [
            operation::RECONCILE,
            "renew-garden-access-secrets",
            operation::RENEW_KUBECONFIG,
            "renew-workload-identity-tokens",
        ];
        one_of(&mut errors, operation, &supported, &operation_path());
    }
    spec(&mut errors, &seed.spec, &Path::new("spec"), false, release);
    errors
}

/// Checks the specification of a Seed that is completed later, as in a template, by the rules of a release.
pub fn template(errors: &mut Errors, template: &SeedSpec, path: &Path, release: Release) {
    spec(errors, template, path, true, release);
}

fn operation_path() -> Path {
    Path::new("metadata").child("annotations").key(annotation::OPERATION)
}

/// Checks a changed Seed by the rules of a release.
pub fn seed_update(new: &Seed, old: &Seed, release: Release) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &new.metadata, &old.metadata, &Path::new("metadata"));
    let operation = |seed: &Seed| seed.metadata.annotation(annotation::OPERATION).unwrap_or_default().to_owned();
    let (now, before) = (operation(new), operation(old));
    if !now.is_empty() && !before.is_empty() && now != before {
        let text = format!("must not overwrite operation {before:?} with {now:?}");
        errors.push(FieldError::forbidden(&operation_path(), &text));
    }
    spec_update(&mut errors, &new.spec, &old.spec, &Path::new("spec"));
    dns::update(&mut errors, &new.spec.dns, &old.spec.dns, &Path::new("spec"), release);
    errors.extend(seed(new, release));
    errors
}

/// Checks a changed specification.
pub fn spec_update(errors: &mut Errors, new: &SeedSpec, old: &SeedSpec, path: &Path) {
    let (networks, before) = (&new.networks, &old.networks);
    let networks_path = path.child("networks");
    immutable(errors, &networks.ip_families, &before.ip_families, &networks_path.child("ipFamilies"));
    immutable(errors, &networks.pods, &before.pods, &networks_path.child("pods"));
    immutable(errors, &networks.services, &before.services, &networks_path.child("services"));
    if before.nodes.is_some() {
        immutable(errors, &networks.nodes, &before.nodes, &networks_path.child("nodes"));
    }
    if let (Some(ingress), Some(before)) = (&new.ingress, &old.ingress) {
        immutable(errors, &ingress.domain, &before.domain, &path.child("ingress").child("domain"));
    }
    let backup_path = path.child("backup");
    match (&new.backup, &old.backup) {
        (Some(backup), Some(before)) => {
            immutable(errors, &backup.provider, &before.provider, &backup_path.child("provider"));
            immutable(errors, &backup.region, &before.region, &backup_path.child("region"));
        }
        (removed, before @ Some(_)) => immutable(errors, removed, before, &backup_path),
        (_, None) => {}
    }
}

/// Checks a changed status of a Seed.
pub fn seed_status_update(new: &Seed, old: &Seed) -> Errors {
    let mut errors = Errors::new();
    if old.status.cluster_identity.is_some() {
        let path = Path::new("status").child("clusterIdentity");
        immutable(&mut errors, &new.status.cluster_identity, &old.status.cluster_identity, &path);
    }
    errors
}

fn spec(errors: &mut Errors, spec: &SeedSpec, path: &Path, in_template: bool, release: Release) {
    let provider = path.child("provider");
    if !in_template && spec.provider.r#type.is_empty() {
        errors.push(FieldError::required(&provider.child("type"), "must provide a provider type"));
    }
    if !in_template && spec.provider.region.is_empty() {
        errors.push(FieldError::required(&provider.child("region"), "must provide a provider region"));
    }
    let mut zones = BTreeSet::new();
    if let Some((index, zone)) = spec.provider.zones.iter().enumerate().find(|(_, zone)| !zones.insert(*zone)) {
        errors.push(FieldError::duplicate(&provider.child("zones").index(index), zone));
    }
    networks(errors, &spec.networks, &path.child("networks"), in_template, release);
    if let Some(each) = &spec.backup {
        backup(errors, each, &spec.provider.r#type, release, &path.child("backup"));
    }
    let mut seen = BTreeSet::new();
    for (index, taint) in spec.taints.iter().enumerate() {
        let path = path.child("taints").index(index);
        if taint.key.is_empty() {
            errors.push(FieldError::required(&path.child("key"), "cannot be empty"));
        }
        let id = common::key_and_value(&taint.key, taint.value.as_deref());
        if !seen.insert(id.clone()) {
            errors.push(FieldError::duplicate(&path, &id));
        }
    }
    // Gates and domains of a template are checked in the Seed created from it.
    let release_of_seed = (!in_template).then_some(release);
    if let Some(each) = &spec.volume {
        volume(errors, each, &path.child("volume"));
    }
    if let Some(each) = &spec.settings {
        settings(errors, each, &spec.provider.zones, release_of_seed, &path.child("settings"));
    }
    ingress(errors, spec, path, in_template);
    dns::dns(errors, spec, path, release_of_seed);
    let types = spec.extensions.iter().map(|extension| &extension.r#type);
    common::extensions_in(errors, types, release, &path.child("extensions"));
    common::resources_in(errors, &spec.resources, release, &path.child("resources"));
}

fn networks(errors: &mut Errors, networks: &SeedNetworks, path: &Path, in_template: bool, release: Release) {
    let found = errors.len();
    ip_families(errors, &networks.ip_families, &path.child("ipFamilies"));
    if errors.len() > found {
        return;
    }
    let services = Cidr::new(&networks.services, path.child("services"));
    if let Some(network) = services.network()
        && network.is_ipv4()
        && network.prefix() < 8
    {
        errors.push(FieldError::invalid(&services.path, &services.text, "cannot be larger than /8"));
    }
    let is_given = |cidr: &Cidr| !in_template || !cidr.text.is_empty();
    let pods = Cidr::new(&networks.pods, path.child("pods"));
    let given = [("pod", pods), ("service", services)].into_iter().filter(|(_, cidr)| is_given(cidr));
    let nodes = networks.nodes.as_ref().map(|text| ("node", Cidr::new(text, path.child("nodes"))));
    let own: Vec<(&str, Cidr)> = given.chain(nodes).collect();
    let path = path.child("shootDefaults");
    let shoot = networks.shoot_defaults.as_ref();
    let defaults = [
        ("pod", shoot.and_then(|shoot| shoot.pods.as_ref()), path.child("pods")),
        ("service", shoot.and_then(|shoot| shoot.services.as_ref()), path.child("services")),
    ];
    let defaults: Vec<(&str, Cidr)> =
        defaults.into_iter().filter_map(|(kind, text, path)| Some((kind, Cidr::new(text?, path)))).collect();
    let all: Vec<Cidr> = own.iter().chain(&defaults).map(|(_, cidr)| cidr.clone()).collect();
    for cidr in &all {
        cidr.check_parse(errors);
    }
    if networks.ip_families.len() != 2 {
        for cidr in &all {
            cidr.check_family(errors, primary_family(&networks.ip_families));
        }
    }
    if NETWORKS_BY_GROUP.contain(release) {
        if errors.len() == found {
            networks_by_group(errors, &own, &defaults);
        }
        return;
    }
    no_overlaps(errors, &all);
    Cidr::new(RESERVED_MAPPING_RANGE, Path::default()).check_no_overlap(errors, &all);
    Cidr::new(VPN_RANGE, Path::default()).check_no_overlap(errors, &all);
}

/// Checks that the networks of a list do not overlap.
fn no_overlaps(errors: &mut Errors, networks: &[Cidr]) {
    for (index, cidr) in networks.iter().enumerate() {
        cidr.check_no_overlap(errors, &networks[index + 1..]);
    }
}

/// Checks the overlaps of a Seed's own networks and of the defaults of its Shoots, each with its kind. Only defaults of
/// IPv6 must be apart from the networks of the Seed.
fn networks_by_group(errors: &mut Errors, own: &[(&str, Cidr)], defaults: &[(&str, Cidr)]) {
    let plain = |group: &[(&str, Cidr)]| group.iter().map(|(_, cidr)| cidr.clone()).collect::<Vec<_>>();
    let is_ipv4 = |cidr: &Cidr| cidr.network().is_some_and(Network::is_ipv4);
    let seed = plain(own);
    let (ipv4, ipv6): (Vec<Cidr>, Vec<Cidr>) = plain(defaults).into_iter().partition(is_ipv4);
    no_overlaps(errors, &seed);
    no_overlaps(errors, &ipv4);
    no_overlaps(errors, &ipv6);
    for cidr in &seed {
        cidr.check_no_overlap(errors, &ipv6);
    }
    for (kind, cidr) in own.iter().chain(defaults) {
        cidr.check_reserved(errors, kind);
    }
}

fn backup(errors: &mut Errors, backup: &Backup, provider: &str, release: Release, path: &Path) {
    if backup.provider.is_empty() {
        errors.push(FieldError::required(&path.child("provider"), "must provide a backup cloud provider name"));
    }
    if provider != backup.provider && backup.region.as_deref().is_none_or(str::is_empty) {
        let text = "region must be specified for if backup provider is different from seed provider used in \
                    `spec.provider.type`";
        errors.push(FieldError::invalid(&path.child("region"), "", text));
    }
    if backup.credentials_ref.is_none() {
        let text = "must be set to refer a Secret or WorkloadIdentity";
        errors.push(FieldError::required(&path.child("credentialsRef"), text));
    }
    let name = "spec.backup.credentialsRef";
    objects::backup_references(errors, &backup.secret_ref, backup.credentials_ref.as_ref(), name, release, path);
}

fn volume(errors: &mut Errors, volume: &SeedVolume, path: &Path) {
    if let Some(size) = &volume.minimum_size {
        meta::quantity(errors, size, &path.child("minimumSize"));
    }
    let mut purposes = BTreeSet::new();
    for (index, provider) in volume.providers.iter().enumerate() {
        let path = path.child("providers").index(index);
        if provider.purpose.is_empty() {
            errors.push(FieldError::required(&path.child("purpose"), "cannot be empty"));
        }
        if provider.name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), "cannot be empty"));
        }
        if !purposes.insert(&provider.purpose) {
            errors.push(FieldError::duplicate(&path.child("purpose"), &provider.purpose));
        }
    }
}

fn settings(errors: &mut Errors, settings: &SeedSettings, zones: &[String], release: Option<Release>, path: &Path) {
    if let Some(reservation) = &settings.excess_capacity_reservation {
        for (index, config) in reservation.configs.iter().enumerate() {
            let path = path.child("excessCapacityReservation").child("configs").index(index).child("resources");
            if config.resources.is_empty() {
                errors.push(FieldError::required(&path, "cannot be empty"));
            }
            for (resource, value) in &config.resources {
                meta::quantity(errors, value, &path.child(resource));
            }
        }
    }
    if let Some(services) = &settings.load_balancer_services {
        let path = path.child("loadBalancerServices");
        meta::annotations(errors, &services.annotations, &path.child("annotations"));
        if let Some(class) = &services.class {
            meta::invalid_each(errors, &path.child("class"), class, meta::qualified_name(class));
        }
        if let Some(policy) = &services.external_traffic_policy {
            one_of(errors, policy, &TRAFFIC_POLICIES, &path.child("externalTrafficPolicy"));
        }
        if zones.len() <= 1 && !services.zones.is_empty() {
            let text = "zone-specific load balancer settings only allowed with at least two zones in \
                        spec.provider.zones";
            errors.push(FieldError::forbidden(&path.child("zones"), text));
        }
        let mut seen = BTreeSet::new();
        for (index, zone) in services.zones.iter().enumerate() {
            let path = path.child("zones").index(index);
            if !zones.contains(&zone.name) {
                errors.push(FieldError::not_found(&path.child("name"), &zone.name));
            }
            if !seen.insert(&zone.name) {
                errors.push(FieldError::duplicate(&path.child("name"), &zone.name));
            }
            meta::annotations(errors, &zone.annotations, &path.child("annotations"));
            if let Some(policy) = &zone.external_traffic_policy {
                one_of(errors, policy, &TRAFFIC_POLICIES, &path.child("externalTrafficPolicy"));
            }
        }
    }
    let autoscaler = settings.vertical_pod_autoscaler.as_ref();
    let autoscaler_path = path.child("verticalPodAutoscaler");
    if let Some(autoscaler) = autoscaler {
        vertical_pod_autoscaler::max_allowed(errors, &autoscaler.max_allowed, &autoscaler_path);
    }
    if let Some(selection) = &settings.zone_selection {
        let path = path.child("zoneSelection");
        if zones.is_empty() {
            let text = "zone selection can only be configured when spec.provider.zones is non-empty";
            errors.push(FieldError::forbidden(&path, text));
        }
        one_of(errors, &selection.mode, &["Prefer", "Enforce"], &path.child("mode"));
    }
    if settings.topology_aware_routing.as_ref().is_some_and(|routing| routing.enabled) && zones.len() <= 1 {
        let text = "topology-aware routing can only be enabled on multi-zone Seed clusters (with at least two zones \
                    in spec.provider.zones)";
        errors.push(FieldError::forbidden(&path.child("topologyAwareRouting").child("enabled"), text));
    }
    if let (Some(autoscaler), Some(release)) = (autoscaler, release) {
        let path = autoscaler_path.child("featureGates");
        vertical_pod_autoscaler::feature_gates(errors, &autoscaler.feature_gates, release, &path);
    }
}

fn ingress(errors: &mut Errors, spec: &SeedSpec, path: &Path, in_template: bool) {
    let ingress_path = path.child("ingress");
    let Some(ingress) = &spec.ingress else {
        if !in_template {
            errors.push(FieldError::required(&ingress_path, "cannot be empty"));
        }
        return;
    };
    let domain = ingress_path.child("domain");
    if ingress.domain.is_empty() {
        errors.push(FieldError::required(&domain, "cannot be empty"));
    } else {
        meta::invalid_each(errors, &domain, &ingress.domain, meta::dns_subdomain(&ingress.domain));
    }
    one_of(errors, &ingress.controller.kind, &["nginx"], &ingress_path.child("controller").child("kind"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::DOCUMENTED;

    fn seed(change: impl FnOnce(&mut Seed)) -> Seed {
        let spec = serde_json::json!({
            "provider": {"type": "local", "region": "here", "zones": ["a"]},
            "networks": {"pods": "10.1.0.0/16", "services": "10.2.0.0/16", "nodes": "10.0.0.0/16"},
            "ingress": {"domain": "ingress.example.com", "controller": {"kind": "nginx"}},
            "dns": {"provider": {"type": "local", "secretRef": {"name": "dns", "namespace": "garden"}}},
        });
        let mut seed = Seed::default();
        seed.metadata.name = "local".to_owned();
        seed.spec = serde_json::from_value(spec).unwrap();
        crate::defaulting::seed(&mut seed, DOCUMENTED);
        change(&mut seed);
        seed
    }

    #[track_caller]
    fn check(seed: &Seed, expected: &[&str]) {
        let errors = super::seed(seed, DOCUMENTED);
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_empty_seed_lacks_everything_in_order() {
        check(&seed(|_| {}), &[]);
        let mut empty = Seed::default();
        empty.metadata.name = "local".to_owned();
        check(
            &empty,
            &[
                "spec.provider.type: Required value: must provide a provider type",
                "spec.provider.region: Required value: must provide a provider region",
                "spec.networks.pods: Invalid value: \"\": invalid CIDR address: ",
                "spec.networks.services: Invalid value: \"\": invalid CIDR address: ",
                "spec.ingress: Required value: cannot be empty",
            ],
        );
    }

    #[test]
    fn networks_of_a_seed_do_not_meet() {
        check(
            &seed(|seed| seed.spec.networks.services = "10.1.128.0/17".to_owned()),
            &[
                "spec.networks.services: Invalid value: \"10.1.128.0/17\": must not overlap with \"spec.networks.pods\" \
               (\"10.1.0.0/16\")",
            ],
        );
        check(
            &seed(|seed| seed.spec.networks.nodes = Some("240.1.0.0/16".to_owned())),
            &["spec.networks.nodes: Invalid value: \"240.1.0.0/16\": must not overlap with \"[]\" (\"240.0.0.0/8\")"],
        );
        check(
            &seed(|seed| seed.spec.networks.services = "32.0.0.0/7".to_owned()),
            &["spec.networks.services: Invalid value: \"32.0.0.0/7\": cannot be larger than /8"],
        );
    }

    /// Rows: networks, errors of 1.131, and errors of 1.132, joined by ` | `.
    #[test]
    fn networks_are_compared_by_group_since_1_132() {
        let path = "spec.networks";
        let vpn = "fd8f:6d53:b97a:1::/96";
        for (networks, before, after) in [
            // The default of a Shoot may be a range of the Seed if it is IPv4.
            (
                r#"{"pods": "10.1.0.0/16", "services": "10.2.0.0/16", "shootDefaults": {"pods": "10.1.0.0/16"}}"#,
                format!(
                    "{path}.shootDefaults.pods: Invalid value: \"10.1.0.0/16\": must not overlap with \"{path}.pods\" (\"10.1.0.0/16\")"
                ),
                String::new(),
            ),
            (
                r#"{"pods": "10.1.0.0/16", "services": "10.2.0.0/16", "shootDefaults": {"pods": "10.3.0.0/16", "services": "10.3.0.0/24"}}"#,
                format!(
                    "{path}.shootDefaults.services: Invalid value: \"10.3.0.0/24\": must not overlap with \"{path}.shootDefaults.pods\" (\"10.3.0.0/16\")"
                ),
                format!(
                    "{path}.shootDefaults.services: Invalid value: \"10.3.0.0/24\": must not overlap with \"{path}.shootDefaults.pods\" (\"10.3.0.0/16\")"
                ),
            ),
            (
                r#"{"ipFamilies": ["IPv6"], "pods": "2001:db8::/56", "services": "2001:db8:1::/56", "shootDefaults": {"pods": "2001:db8::/64"}}"#,
                format!(
                    "{path}.shootDefaults.pods: Invalid value: \"2001:db8::/64\": must not overlap with \"{path}.pods\" (\"2001:db8::/56\")"
                ),
                format!(
                    "{path}.shootDefaults.pods: Invalid value: \"2001:db8::/64\": must not overlap with \"{path}.pods\" (\"2001:db8::/56\")"
                ),
            ),
            (
                r#"{"pods": "240.1.0.0/16", "services": "10.2.0.0/16", "nodes": "243.0.0.0/16"}"#,
                format!("{path}.pods: Invalid value: \"240.1.0.0/16\": must not overlap with \"[]\" (\"240.0.0.0/8\")"),
                format!(
                    "{path}.pods: Invalid value: \"240.1.0.0/16\": pod network intersects with reserved kube-apiserver mapping \
                     range (240.0.0.0/8) | {path}.nodes: Invalid value: \"243.0.0.0/16\": node network intersects with reserved \
                     shoot service network mapping range (243.0.0.0/8)"
                ),
            ),
            (
                r#"{"ipFamilies": ["IPv6"], "pods": "fd8f:6d53:b97a:1::/120", "services": "2001:db8:1::/56"}"#,
                format!(
                    "{path}.pods: Invalid value: \"fd8f:6d53:b97a:1::/120\": must not overlap with \"[]\" (\"{vpn}\")"
                ),
                format!(
                    "{path}.pods: Invalid value: \"fd8f:6d53:b97a:1::/120\": pod network intersects with default vpn network ({vpn})"
                ),
            ),
            // Overlaps are not checked if a network is invalid.
            (
                r#"{"pods": "x", "services": "10.2.0.0/16", "nodes": "10.2.0.0/16"}"#,
                format!(
                    "{path}.pods: Invalid value: \"x\": invalid CIDR address: x | {path}.nodes: Invalid value: \"10.2.0.0/16\": \
                     must not overlap with \"{path}.services\" (\"10.2.0.0/16\")"
                ),
                format!("{path}.pods: Invalid value: \"x\": invalid CIDR address: x"),
            ),
        ] {
            let seed = seed(|seed| seed.spec.networks = serde_json::from_str(networks).expect("networks"));
            for (minor, expected) in [(131, &before), (132, &after), (149, &after)] {
                let errors = super::seed(&seed, Release(minor));
                let texts = errors.iter().map(ToString::to_string).filter(|text| text.starts_with(path));
                assert_eq!(texts.collect::<Vec<_>>().join(" | "), *expected, "{minor} {networks}");
            }
        }
    }

    #[test]
    fn topology_aware_routing_needs_two_zones() {
        let with = |zones: &[&str]| {
            seed(|seed| {
                seed.spec.provider.zones = zones.iter().map(|zone| (*zone).to_owned()).collect();
                seed.spec.settings.get_or_insert_default().topology_aware_routing =
                    Some(SeedSettingTopologyAwareRouting { enabled: true });
            })
        };
        check(&with(&["a", "b"]), &[]);
        let text = "spec.settings.topologyAwareRouting.enabled: Forbidden: topology-aware routing can only be enabled on \
                    multi-zone Seed clusters (with at least two zones in spec.provider.zones)";
        check(&with(&["a"]), &[text]);
    }

    #[test]
    fn a_seed_keeps_its_networks_and_does_not_change_operations() {
        let old = seed(|seed| {
            seed.metadata.annotations.insert("gardener.cloud/operation".to_owned(), "renew-kubeconfig".to_owned());
        });
        let mut new = old.clone();
        new.spec.networks.pods = "10.9.0.0/16".to_owned();
        new.metadata.annotations.insert("gardener.cloud/operation".to_owned(), "reconcile".to_owned());
        let errors = seed_update(&new, &old, DOCUMENTED);
        assert_eq!(
            errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "metadata.annotations[gardener.cloud/operation]: Forbidden: must not overwrite operation \
                 \"renew-kubeconfig\" with \"reconcile\"",
                "spec.networks.pods: Invalid value: \"10.9.0.0/16\": field is immutable",
            ]
        );
        assert_eq!(seed_update(&old, &old, DOCUMENTED), []);
    }

    #[test]
    fn a_backup_elsewhere_names_its_region() {
        let with = |provider: &str, region: Option<&str>| {
            seed(|seed| {
                let mut backup =
                    Backup { provider: provider.to_owned(), region: region.map(str::to_owned), ..Backup::default() };
                backup.secret_ref.name = "backup".to_owned();
                backup.secret_ref.namespace = "garden".to_owned();
                crate::defaulting::sync_backup_references(&mut backup.secret_ref, &mut backup.credentials_ref);
                seed.spec.backup = Some(backup);
            })
        };
        check(&with("local", None), &[]);
        check(&with("aws", Some("eu")), &[]);
        check(
            &with("aws", None),
            &[
                "spec.backup.region: Invalid value: \"\": region must be specified for if backup provider is different from \
               seed provider used in `spec.provider.type`",
            ],
        );
    }

    /// Release, settings of the vertical pod autoscaler, and the error of a Seed; feature gates of a template are not checked.
    #[test]
    fn limits_of_the_autoscaler_of_a_seed_are_judged() {
        let limit = "spec.settings.verticalPodAutoscaler.maxAllowed.storage: Unsupported value: \"storage\": supported values: \
                     \"cpu\", \"memory\"";
        let gate = "spec.settings.verticalPodAutoscaler.featureGates.InPlaceOrRecreate: Invalid value: \"InPlaceOrRecreate\": \
                    unknown feature gate";
        for (release, settings, expected, of_template) in [
            (144, r#"{"enabled": true, "featureGates": {"InPlaceOrRecreate": true}}"#, None, None),
            (145, r#"{"enabled": true, "featureGates": {"InPlaceOrRecreate": true}}"#, Some(gate), None),
            (125, r#"{"enabled": true, "maxAllowed": {"cpu": "1", "memory": "1Gi"}}"#, None, None),
            (125, r#"{"enabled": true, "maxAllowed": {"storage": "1Gi"}}"#, Some(limit), Some(limit)),
        ] {
            let seed = seed(|seed| {
                seed.spec.settings.get_or_insert_default().vertical_pod_autoscaler =
                    Some(serde_json::from_str(settings).expect("settings"));
            });
            let found = |errors: &Errors| {
                let texts = errors.iter().map(ToString::to_string);
                texts.filter(|text| text.contains("verticalPodAutoscaler")).collect::<Vec<_>>()
            };
            let errors = super::seed(&seed, Release(release));
            assert_eq!(found(&errors), expected.into_iter().collect::<Vec<_>>(), "{release} {settings}");
            let mut errors = Errors::new();
            template(&mut errors, &seed.spec, &Path::new("spec"), Release(release));
            assert_eq!(found(&errors), of_template.into_iter().collect::<Vec<_>>(), "{release} {settings}");
        }
    }

    #[test]
    fn load_balancers_of_single_zones_need_two_zones() {
        let with = |zones: &[&str]| {
            seed(|seed| {
                seed.spec.provider.zones = zones.iter().map(|zone| (*zone).to_owned()).collect();
                let services = serde_json::json!({"zones": [{"name": "a"}]});
                seed.spec.settings.get_or_insert_default().load_balancer_services =
                    Some(serde_json::from_value(services).expect("settings"));
            })
        };
        check(&with(&["a", "b"]), &[]);
        let text = "spec.settings.loadBalancerServices.zones: Forbidden: zone-specific load balancer settings only allowed \
                    with at least two zones in spec.provider.zones";
        check(&with(&["a"]), &[text]);
    }
}
