// SPDX-License-Identifier: Apache-2.0
//! Validation of Gardens.
//!
//! Unlike upstream: settings of kube-apiserver, kube-controller-manager, the dashboard and etcd's autoscaling, on which
//! nothing here depends, are not checked.
//!
//! Source: pkg/apis/operator/v1alpha1/validation/garden.go, pkg/operator/webhook/validation/garden @ v1.120.0;
//! pkg/api/operator/v1alpha1/validation/garden.go @ v1.129.0 (IP families), v1.133.0 (resources), v1.138.0
//! (gardener-discovery-server) and v1.141.0 (load balancers).

mod operations;
mod time_window;

use std::collections::{BTreeMap, BTreeSet};

use api::constants::{annotation, condition, finalizer};
use api::core::Condition;
use api::operator::*;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::ObjectMeta;

use super::meta::immutable;
use super::network::{Cidr, Network, ip_families};
use super::{Errors, common, meta, vertical_pod_autoscaler};
use crate::annotations::is_true;
use crate::conditions;
use crate::profile::Profile;
use crate::release::{NEWEST, Release, Releases};
use crate::skew::GardenerVersion;
use crate::skew::releases::{feature_gate, is_gate, kubernetes_minors, supports_kubernetes};
use crate::versions::{Version, normalize};

/// IP families of the runtime cluster are checked.
const IP_FAMILIES: Releases = Releases::since(129);
/// Named references are checked.
const RESOURCES: Releases = Releases::since(133);
/// `externalTrafficPolicy` of load balancers is checked.
const TRAFFIC_POLICY: Releases = Releases::since(141);

/// gardener-discovery-server is checked, and stays at its domain once it is enabled.
const DISCOVERY_SERVER_STAYS: Releases = Releases::since(138);

/// Levels of logs, sorted as the schema lists them.
const LOG_LEVELS: [&str; 3] = ["info", "debug", "error"];
/// Maximum probability with which a request closes its connection.
const LARGEST_GO_AWAY_CHANCE: f64 = 0.02;
const HOUR: i64 = 3_600_000_000_000;
/// Maximum expiration in nanoseconds: 2^32 seconds.
const LONGEST_EXPIRATION: i64 = (1 << 32) * 1_000_000_000;

/// Profile and version whose rules apply to a Garden.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Profile: documents or upstream.
    pub profile: Profile,
    /// Version of gardener-operator, for a Garden that no operator has reconciled yet.
    pub version: String,
}

impl Rules {
    /// Returns the release whose rules apply to a Garden: the operator's; the newest for an operator without a version of
    /// Gardener.
    pub fn release(&self, garden: &Garden) -> Release {
        self.operator(garden).map_or(NEWEST, |version| version.served_release())
    }

    /// Returns the version of the operator, which determines feature gates and Kubernetes versions.
    fn operator(&self, garden: &Garden) -> Option<GardenerVersion> {
        let version = garden.status.gardener.as_ref().map_or(&self.version, |gardener| &gardener.version);
        GardenerVersion::parse(version)
    }
}

/// Checks a new Garden.
pub fn garden(garden: &Garden, rules: &Rules) -> Errors {
    judged(garden, None, rules)
}

/// Checks a Garden; `old`: the stored one.
fn judged(garden: &Garden, old: Option<&Garden>, rules: &Rules) -> Errors {
    let mut errors = Errors::new();
    let release = rules.release(garden);
    time_window::check(&mut errors, garden, old, release);
    operations::check(&mut errors, garden, release);
    let (spec, path) = (&garden.spec, Path::new("spec"));
    dns(&mut errors, spec.dns.as_ref(), &path.child("dns"));
    common::extensions(
        &mut errors,
        spec.extensions.iter().map(|extension| &extension.r#type),
        &path.child("extensions"),
    );
    let is_available = spec.virtual_cluster.control_plane.as_ref().is_some_and(|it| it.high_availability.is_some());
    let runtime = path.child("runtimeCluster");
    domains(
        &mut errors,
        spec.dns.as_ref(),
        &spec.runtime_cluster.ingress.domains,
        &runtime.child("ingress").child("domains"),
    );
    runtime_networks(&mut errors, &spec.runtime_cluster.networking, release, &runtime.child("networking"));
    let settings = spec.runtime_cluster.settings.as_ref();
    if let Some(balancers) = settings.and_then(|settings| settings.load_balancer_services.as_ref())
        && let Some(policy) = balancers.external_traffic_policy.as_ref().filter(|_| TRAFFIC_POLICY.contain(release))
    {
        let path = runtime.child("settings").child("loadBalancerServices").child("externalTrafficPolicy");
        common::one_of(&mut errors, policy, &["Cluster", "Local"], &path);
    }
    if let Some(autoscaler) = settings.and_then(|settings| settings.vertical_pod_autoscaler.as_ref()) {
        let path = runtime.child("settings").child("verticalPodAutoscaler");
        let gates = path.child("featureGates");
        vertical_pod_autoscaler::feature_gates(&mut errors, &autoscaler.feature_gates, release, &gates);
        vertical_pod_autoscaler::max_allowed(&mut errors, &autoscaler.max_allowed, &path);
    }
    if settings.and_then(|settings| settings.topology_aware_routing.as_ref()).is_some_and(|routing| routing.enabled) {
        let path = runtime.child("settings").child("topologyAwareRouting").child("enabled");
        if spec.runtime_cluster.provider.zones.len() <= 1 {
            let text = "topology-aware routing can only be enabled on multi-zone garden runtime cluster (with at least \
                        two zones in spec.provider.zones)";
            errors.push(FieldError::forbidden(&path, text));
        }
        if !is_available {
            let text = "topology-aware routing can only be enabled when virtual cluster's high-availability is enabled";
            errors.push(FieldError::forbidden(&path, text));
        }
    }
    if RESOURCES.contain(release) {
        common::secrets_and_config_maps(&mut errors, &spec.resources, release, &path.child("resources"));
    }
    virtual_cluster(&mut errors, garden, rules, &path.child("virtualCluster"));
    errors
}

/// Checks a changed Garden.
pub fn garden_update(new: &Garden, old: &Garden, rules: &Rules) -> Errors {
    let mut errors = Errors::new();
    meta::object_meta_update(&mut errors, &new.metadata, &old.metadata, &Path::new("metadata"));
    let (runtime, was) = (&new.spec.runtime_cluster, &old.spec.runtime_cluster);
    let path = Path::new("spec").child("runtimeCluster");
    if let (Some(new), Some(old)) = (runtime.ingress.domains.first(), was.ingress.domains.first()) {
        immutable(&mut errors, &new.name, &old.name, &path.child("ingress").child("domains").index(0));
    }
    let path = path.child("networking");
    for (new, old, name) in [
        (&runtime.networking.nodes, &was.networking.nodes, "nodes"),
        (&runtime.networking.pods, &was.networking.pods, "pods"),
        (&runtime.networking.services, &was.networking.services, "services"),
    ] {
        only_longer(&mut errors, new, old, name, &path.child(name));
    }
    virtual_cluster_update(&mut errors, new, old, rules.release(new));
    errors.extend(judged(new, Some(old), rules));
    errors
}

/// Checks that a Garden may be deleted.
///
/// # Errors
/// Message of the refusal.
pub fn deletion(metadata: &ObjectMeta) -> Result<(), String> {
    if is_true(&metadata.annotations, annotation::CONFIRMATION_DELETION) {
        return Ok(());
    }
    Err(format!("must have a {:?} annotation to delete", annotation::CONFIRMATION_DELETION))
}

/// Checks that a Garden may be created; `others`: number of existing Gardens.
///
/// # Errors
/// Message of the refusal.
pub fn creation(metadata: &ObjectMeta, others: usize) -> Result<(), String> {
    if others > 0 {
        return Err(
            "there can be only one operator.gardener.cloud/v1alpha1.Garden resource in the system at a time".to_owned()
        );
    }
    let reserved = [finalizer::OPERATOR, finalizer::REFERENCE_PROTECTION];
    match reserved.into_iter().find(|name| metadata.has_finalizer(name)) {
        Some(name) => Err(format!("finalizer {name:?} cannot be added on creation")),
        None => Ok(()),
    }
}

/// Checks that an operator Extension may be deleted.
///
/// # Errors
/// Message of the refusal.
pub fn extension_deletion(extension: &Extension) -> Result<(), String> {
    let required = |type_: &str| {
        let found: Option<&Condition> = conditions::get(&extension.status.conditions, type_);
        found.filter(|found| found.status == condition::TRUE)
    };
    match ["RequiredRuntime", "RequiredVirtual"].into_iter().find_map(required) {
        Some(found) => Err(format!("extension is still being required: {:?}", found.message)),
        None => Ok(()),
    }
}

fn dns(errors: &mut Errors, dns: Option<&DNSManagement>, path: &Path) {
    let mut names = BTreeSet::new();
    for (index, provider) in dns.map(|dns| dns.providers.as_slice()).unwrap_or_default().iter().enumerate() {
        if !names.insert(&provider.name) {
            errors.push(FieldError::duplicate(&path.child("providers").index(index), &provider.name));
        }
    }
}

fn domains(errors: &mut Errors, dns: Option<&DNSManagement>, domains: &[DNSDomain], path: &Path) {
    let mut names = BTreeSet::new();
    for (index, domain) in domains.iter().enumerate() {
        let path = path.index(index);
        meta::invalid_each(errors, &path.child("name"), &domain.name, meta::dns_subdomain(&domain.name));
        if !names.insert(&domain.name) {
            errors.push(FieldError::duplicate(&path.child("name"), &domain.name));
        }
        provider(errors, dns, domain, &path.child("provider"));
    }
}

/// Checks the provider of a domain.
fn provider(errors: &mut Errors, dns: Option<&DNSManagement>, domain: &DNSDomain, path: &Path) {
    let Some(dns) = dns else { return };
    match &domain.provider {
        Some(provider) if dns.providers.iter().any(|known| known.name == *provider) => {}
        Some(provider) => {
            let text = "provider name not found in .spec.dns.providers";
            errors.push(FieldError::invalid(path, provider, text));
        }
        None => {
            errors.push(FieldError::required(path, "provider name must be set if `.spec.dns` is set"));
        }
    }
}

/// Returns the valid networks of a list, each with its index and text.
fn networks<'a>(all: &'a [String]) -> impl Iterator<Item = (usize, &'a String, Network)> + 'a {
    let parsed = |(index, text): (usize, &'a String)| Some((index, text, Network::parse(text)?));
    all.iter().enumerate().filter_map(parsed)
}

fn unparsable(errors: &mut Errors, all: &[String], what: &str, path: &Path) {
    for (index, text) in all.iter().enumerate().filter(|(_, text)| Network::parse(text).is_none()) {
        let text_of = format!("cannot parse {what}: invalid CIDR address: {text}");
        errors.push(FieldError::invalid(&path.index(index), text, &text_of));
    }
}

fn intersections(errors: &mut Errors, these: &[String], those: &[String], text: &str, path: &Path) {
    for (index, name, one) in networks(these) {
        for _ in networks(those).filter(|(_, _, other)| one.overlaps(*other)) {
            errors.push(FieldError::invalid(&path.index(index), name, text));
        }
    }
}

fn runtime_networks(errors: &mut Errors, networking: &RuntimeNetworking, release: Release, path: &Path) {
    let before = errors.len();
    if IP_FAMILIES.contain(release) {
        ip_families(errors, &networking.ip_families, &path.child("ipFamilies"));
        if errors.len() > before {
            return;
        }
    }
    unparsable(errors, &networking.nodes, "node network cidr of runtime cluster", &path.child("nodes"));
    unparsable(errors, &networking.pods, "pod network cidr of runtime cluster", &path.child("pods"));
    unparsable(errors, &networking.services, "service network cidr of runtime cluster", &path.child("services"));
    if errors.len() > before {
        return;
    }
    let RuntimeNetworking { nodes, pods, services, .. } = networking;
    let text = |this: &str, that: &str| {
        format!("{this} network of runtime cluster intersects with {that} network of runtime cluster")
    };
    intersections(errors, nodes, services, &text("node", "service"), &path.child("nodes"));
    intersections(errors, nodes, pods, &text("node", "pod"), &path.child("nodes"));
    intersections(errors, pods, services, &text("pod", "service"), &path.child("pods"));
}

fn virtual_cluster(errors: &mut Errors, garden: &Garden, rules: &Rules, path: &Path) {
    let (cluster, runtime) = (&garden.spec.virtual_cluster, &garden.spec.runtime_cluster.networking);
    domains(errors, garden.spec.dns.as_ref(), &cluster.dns.domains, &path.child("dns").child("domains"));
    kubernetes_version(errors, garden, rules, &path.child("kubernetes").child("version"));
    gardener(errors, garden, rules, &path.child("gardener"));
    let (services, path) = (&cluster.networking.services, path.child("networking").child("services"));
    unparsable(errors, services, "service network cidr", &path);
    for (what, others) in [("pod", &runtime.pods), ("service", &runtime.services), ("node", &runtime.nodes)] {
        let text = format!("{what} network of runtime cluster intersects with service network of virtual cluster");
        intersections(errors, services, others, &text, &path);
    }
    let list = format!("[{}]", services.join(" "));
    if services.len() > 2 {
        errors.push(FieldError::forbidden(&path, &format!("at most two service ranges allowed: {list}")));
    } else if let [first, second] = services.as_slice() {
        let family = |text: &str| Cidr::new(text, Path::default()).network().map(Network::is_ipv4);
        if family(first).is_some() && family(first) == family(second) {
            let text = format!("service ranges must be of different IP families: {list}");
            errors.push(FieldError::forbidden(&path, &text));
        }
    }
}

fn kubernetes_version(errors: &mut Errors, garden: &Garden, rules: &Rules, path: &Path) {
    let version = &garden.spec.virtual_cluster.kubernetes.version;
    let Some(release) = rules.operator(garden) else { return };
    let is_readable = Version::parse(&normalize(version)).is_ok();
    let is_tolerated = rules.profile.tolerates_unknown_kubernetes_versions() && is_readable;
    if is_tolerated || supports_kubernetes(&release, version) {
        return;
    }
    let (oldest, newest) = kubernetes_minors(&release);
    let supported: Vec<String> = (oldest..=newest).map(|minor| format!("1.{minor}")).collect();
    errors.push(FieldError::not_supported(path, version, &supported));
}

fn gardener(errors: &mut Errors, garden: &Garden, rules: &Rules, path: &Path) {
    let gardener = &garden.spec.virtual_cluster.gardener;
    let release = rules.operator(garden);
    let gates = |errors: &mut Errors, gates: &BTreeMap<String, bool>, path: &Path| {
        feature_gates(errors, gates, release.as_ref(), &path.child("featureGates"));
    };
    let level = |errors: &mut Errors, level: &Option<String>, path: &Path| {
        if let Some(level) = level.as_ref().filter(|level| !LOG_LEVELS.contains(&level.as_str())) {
            errors.push(FieldError::not_supported(&path.child("logLevel"), level, &LOG_LEVELS));
        }
    };
    if let Some(config) = &gardener.gardener_api_server {
        let path = path.child("gardenerAPIServer");
        gates(errors, &config.feature_gates, &path);
        for (index, plugin) in config.admission_plugins.iter().enumerate().filter(|(_, it)| it.name.is_empty()) {
            let _ = plugin;
            let path = path.child("admissionPlugins").index(index).child("name");
            errors.push(FieldError::required(&path, "must provide a name"));
        }
        if let Some(chance) = config.go_away_chance.filter(|chance| !(0.0..=LARGEST_GO_AWAY_CHANCE).contains(chance)) {
            let bound = if chance < 0.0 { "greater than or equal to 0" } else { "less than or equal to 0.02" };
            let text = format!("{} in body should be {bound}", path.child("goAwayChance"));
            errors.push(FieldError::invalid(&path.child("goAwayChance"), chance, &text));
        }
        if let Some(expiration) = config.shoot_admin_kubeconfig_max_expiration
            && !(HOUR..=LONGEST_EXPIRATION).contains(&expiration.nanoseconds)
        {
            let path = path.child("shootAdminKubeconfigMaxExpiration");
            let text = "must be between 1h and 2^32 seconds";
            errors.push(super::common::invalid_duration(&path, expiration, text));
        }
    }
    if let Some(config) = &gardener.gardener_admission_controller {
        level(errors, &config.log_level, &path.child("gardenerAdmissionController"));
    }
    if let Some(config) = &gardener.gardener_controller_manager {
        let path = path.child("gardenerControllerManager");
        gates(errors, &config.feature_gates, &path);
        level(errors, &config.log_level, &path);
    }
    if let Some(config) = &gardener.gardener_scheduler {
        let path = path.child("gardenerScheduler");
        gates(errors, &config.feature_gates, &path);
        level(errors, &config.log_level, &path);
    }
    if let Some(config) = &gardener.gardener_discovery_server
        && DISCOVERY_SERVER_STAYS.contain(rules.release(garden))
    {
        discovery_server(errors, garden.spec.dns.as_ref(), config, &path.child("gardenerDiscoveryServer"));
    }
}

fn discovery_server(
    errors: &mut Errors,
    dns: Option<&DNSManagement>,
    config: &GardenerDiscoveryServerConfig,
    path: &Path,
) {
    if let Some(domain) = &config.domain {
        let path = path.child("domain");
        meta::invalid_each(errors, &path.child("name"), &domain.name, meta::dns_subdomain(&domain.name));
        provider(errors, dns, domain, &path.child("provider"));
    }
    if let Some(name) = &config.tls_secret_name {
        meta::invalid_each(errors, &path.child("tlsSecretName"), name, meta::dns_subdomain(name));
    }
}

/// Returns the domain of gardener-discovery-server.
fn discovery_domain(garden: &Garden, config: &GardenerDiscoveryServerConfig) -> String {
    let default = || {
        let domain = garden.spec.runtime_cluster.ingress.domains.first();
        format!("discovery.{}", domain.map_or("", |domain| &domain.name))
    };
    config.domain.as_ref().map_or_else(default, |domain| domain.name.clone())
}

/// Checks that gardener-discovery-server stays, and that a domain that is given for it, or was given, stays as well.
fn discovery_server_update(errors: &mut Errors, new: &Garden, old: &Garden, path: &Path) {
    let server = |garden: &Garden| garden.spec.virtual_cluster.gardener.gardener_discovery_server.clone();
    let Some(was) = server(old) else { return };
    let Some(is) = server(new) else {
        errors.push(FieldError::forbidden(path, "discovery server must not be disabled once enabled"));
        return;
    };
    if is.domain.is_some() || was.domain.is_some() {
        let (is, was) = (discovery_domain(new, &is), discovery_domain(old, &was));
        immutable(errors, &is, &was, &path.child("domain"));
    }
}

/// Checks that some component of the operator's release has each gate, and that the gate is not locked to the other value.
fn feature_gates(errors: &mut Errors, gates: &BTreeMap<String, bool>, release: Option<&GardenerVersion>, path: &Path) {
    for (name, on) in gates {
        let path = path.child(name);
        let known = match release {
            Some(release) => feature_gate(release, name),
            // An invalid version is reported as such, not by its gates.
            None if is_gate(name) => continue,
            None => None,
        };
        match known {
            None => errors.push(FieldError::forbidden(&path, "not supported by Gardener")),
            Some(gate) if gate.is_locked && *on != gate.default => {
                let text = format!("cannot set feature gate to {on}, feature is locked to {}", gate.default);
                errors.push(FieldError::forbidden(&path, &text));
            }
            Some(_) => {}
        }
    }
}

fn virtual_cluster_update(errors: &mut Errors, new_garden: &Garden, old_garden: &Garden, release: Release) {
    let (new, old) = (&new_garden.spec.virtual_cluster, &old_garden.spec.virtual_cluster);
    let path = Path::new("spec").child("virtualCluster");
    if let (Some(new), Some(old)) = (new.dns.domains.first(), old.dns.domains.first()) {
        immutable(errors, &new.name, &old.name, &path.child("dns").child("domains").index(0).child("name"));
    }
    let main = |cluster: &VirtualCluster| cluster.etcd.as_ref().and_then(|etcd| etcd.main.clone());
    let backup = |cluster: &VirtualCluster| main(cluster).and_then(|main| main.backup);
    if let Some(was) = backup(old) {
        let path = path.child("etcd").child("main").child("backup");
        match backup(new) {
            Some(is) => {
                immutable(errors, &is.provider, &was.provider, &path.child("provider"));
                immutable(errors, &is.bucket_name, &was.bucket_name, &path.child("bucketName"));
                immutable(errors, &is.region, &was.region, &path.child("region"));
            }
            None => {
                errors.push(FieldError::forbidden(&path, "backup must not be deactivated if it was set before"));
            }
        }
    }
    let is_available = |cluster: &VirtualCluster| {
        cluster.control_plane.as_ref().is_some_and(|control_plane| control_plane.high_availability.is_some())
    };
    if is_available(old) && !is_available(new) {
        let path = path.child("controlPlane").child("highAvailability");
        immutable(errors, &new.control_plane, &old.control_plane, &path);
    }
    if DISCOVERY_SERVER_STAYS.contain(release) {
        let path = path.child("gardener").child("gardenerDiscoveryServer");
        discovery_server_update(errors, new_garden, old_garden, &path);
    }
    let (is, was) = (&new.gardener.cluster_identity, &old.gardener.cluster_identity);
    if is != was {
        let path = path.child("gardener").child("clusterIdentity");
        errors.push(FieldError::invalid(&path, is, "Value is immutable"));
    }
    let version = path.child("kubernetes").child("version");
    kubernetes_version_update(errors, &new.kubernetes.version, &old.kubernetes.version, &version);
    let services = path.child("networking").child("services");
    only_longer(errors, &new.networking.services, &old.networking.services, "services", &services);
}

fn kubernetes_version_update(errors: &mut Errors, new: &str, old: &str, path: &Path) {
    if new.is_empty() {
        let text = "cannot validate kubernetes version upgrade because it is unset";
        errors.push(FieldError::invalid(path, new, text));
        return;
    }
    let release = |text: &str| Version::parse(&normalize(text)).ok().map(|it| (it.major, it.minor, it.patch));
    let (Some(new), Some(old)) = (release(new), release(old)) else { return };
    if new < old {
        errors.push(FieldError::forbidden(path, "kubernetes version downgrade is not supported"));
    } else if new >= (old.0, old.1 + 2, 0) {
        errors.push(FieldError::forbidden(path, "kubernetes version upgrade cannot skip a minor version"));
    }
}

/// Checks that the entries of a list are unchanged; entries may be appended.
fn only_longer(errors: &mut Errors, new: &[String], old: &[String], name: &str, path: &Path) {
    if new.len() < old.len() {
        errors.push(FieldError::forbidden(path, &format!("{name} cannot be removed")));
    }
    // From the end, as upstream lists them.
    for (index, (new, old)) in new.iter().zip(old).enumerate().rev() {
        immutable(errors, new, old, &path.index(index));
    }
}

#[cfg(test)]
mod tests;
