// SPDX-License-Identifier: Apache-2.0
//! Validation of a Shoot's spec, part by part in upstream's order.

use std::collections::BTreeSet;

use api::constants::label;
use api::core::*;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::{Duration, TextMap};
use chrono::TimeDelta;

use super::super::Errors;
use super::super::common::{self, invalid_duration, one_of};
use super::super::meta::{self, invalid_unquoted};
use super::super::network::{Cidr, ip_families, primary_family};
use super::super::objects::MAX_SECRET_BYTES;
use super::gates::Gates;
use super::refused::{Field, refuse};
use super::shared::{WORKERLESS, cloud_profile_name, cloud_profile_reference, forbidden_for_workerless};
use super::{dns, hibernation, kubernetes, workers};
use crate::release::{Release, Releases};
use crate::window::Window;

/// Releases that check the names of exposure class and network extension, suffixes that are rewritten, and source ranges
/// and configuration of nginx-ingress.
const NAMES_ARE_JUDGED: Releases = Releases::since(125);

/// The type of the provider and the name of the scheduler must be labels.
const TYPE_IS_LABEL: Releases = Releases::since(130);

const PURPOSES: [&str; 4] = ["development", "evaluation", "production", "testing"];
const GARDEN_PURPOSES: [&str; 5] = ["development", "evaluation", "infrastructure", "production", "testing"];

pub(super) fn spec(errors: &mut Errors, shoot: &Shoot, gates: Gates) {
    let (spec, path) = (&shoot.spec, Path::new("spec"));
    let workerless = spec.provider.workers.is_empty();
    cloud_profile_reference(errors, spec, gates.release, &path);
    provider(errors, spec, workerless, gates.release, &path.child("provider"));
    addons(errors, spec, workerless, gates.release, &path.child("addons"));
    dns::dns(errors, spec, gates.release, &path.child("dns"));
    let types = spec.extensions.iter().map(|extension| &extension.r#type);
    common::extensions_in(errors, types, gates.release, &path.child("extensions"));
    common::resources_in(errors, &spec.resources, gates.release, &path.child("resources"));
    kubernetes::kubernetes(errors, spec, workerless, gates.release, &path.child("kubernetes"));
    networking(errors, spec.networking.as_ref(), workerless, gates.release, &path.child("networking"));
    maintenance(errors, spec.maintenance.as_ref(), workerless, &path.child("maintenance"));
    monitoring(errors, spec.monitoring.as_ref(), &path.child("monitoring"));
    hibernation::hibernation(errors, shoot, gates, &path.child("hibernation"));
    if spec.region.is_empty() {
        errors.push(FieldError::required(&path.child("region"), "must specify a region"));
    }
    cloud_profile_name(errors, spec, gates.release, &path);
    bindings(errors, spec, workerless, gates.release, &path);
    if spec.seed_name.as_deref() == Some("") {
        let text = "seed name must not be empty when providing the key";
        errors.push(FieldError::invalid(&path.child("seedName"), "", text));
    }
    if let Some(selector) = &spec.seed_selector {
        let (labels, expressions) = (&selector.match_labels, &selector.match_expressions);
        common::seed_selector(errors, labels, expressions, gates.release, &path.child("seedSelector"));
    }
    if let Some(purpose) = &spec.purpose {
        let supported: &[&str] = if shoot.metadata.namespace == "garden" { &GARDEN_PURPOSES } else { &PURPOSES };
        one_of(errors, purpose, supported, &path.child("purpose"));
    }
    common::tolerations_in(errors, &spec.tolerations, gates.release, &path.child("tolerations"));
    let components = spec.system_components.as_ref();
    system_components(errors, components, workerless, gates.release, &path.child("systemComponents"));
    if NAMES_ARE_JUDGED.contain(gates.release)
        && let Some(class) = &spec.exposure_class_name
    {
        let problems = meta::dns_subdomain(class).into_iter();
        let texts = problems.map(|problem| format!("exposureClassName is not a valid DNS subdomain: {problem:?}"));
        meta::invalid_each(errors, &path.child("exposureClassName"), class, texts.collect());
    }
    if let Some(name) = spec.scheduler_name.as_ref().filter(|_| TYPE_IS_LABEL.contain(gates.release)) {
        meta::invalid_each(errors, &path.child("schedulerName"), name, meta::dns_label(name));
    }
}

fn bindings(errors: &mut Errors, spec: &ShootSpec, workerless: bool, release: Release, path: &Path) {
    if workerless {
        let fields = [
            ("secretBindingName", spec.secret_binding_name.is_some()),
            ("credentialsBindingName", spec.credentials_binding_name.is_some()),
        ];
        return forbidden_for_workerless(errors, &fields, path);
    }
    let is_set = |name: &Option<String>| name.as_deref().is_some_and(|name| !name.is_empty());
    let path = path.child("secretBindingName");
    match (is_set(&spec.secret_binding_name), is_set(&spec.credentials_binding_name)) {
        (false, false) => errors.push(FieldError::required(&path, "must be set when credentialsBindingName is not")),
        (true, true) => errors.push(FieldError::forbidden(&path, "is incompatible with credentialsBindingName")),
        _ => {}
    }
    if is_set(&spec.secret_binding_name) {
        refuse(errors, Field::SecretBindingName, &spec.kubernetes.version, release, &path);
    }
}

fn provider(errors: &mut Errors, spec: &ShootSpec, workerless: bool, release: Release, path: &Path) {
    let provider = &spec.provider;
    if provider.r#type.is_empty() {
        errors.push(FieldError::required(&path.child("type"), "must specify a provider type"));
    } else if TYPE_IS_LABEL.contain(release) {
        meta::invalid_each(errors, &path.child("type"), &provider.r#type, meta::dns_label(&provider.r#type));
    }
    if workerless {
        let fields = [
            ("infrastructureConfig", provider.infrastructure_config.is_some()),
            ("controlPlaneConfig", provider.control_plane_config.is_some()),
            ("workersSettings", provider.workers_settings.is_some()),
        ];
        forbidden_for_workerless(errors, &fields, path);
    } else {
        let path = path.child("workers");
        for (index, worker) in provider.workers.iter().enumerate() {
            workers::worker(errors, worker, &spec.kubernetes, release, &path.index(index));
        }
        workers::names(errors, &provider.workers, &path);
        workers::system_component_pools(errors, &provider.workers, &path);
    }
    node_cidr_mask(errors, spec);
}

/// Checks that a node's pod network holds the maximum number of pods of every pool.
fn node_cidr_mask(errors: &mut Errors, spec: &ShootSpec) {
    let manager = spec.kubernetes.kube_controller_manager.as_ref();
    let (Some(mask), Some(networking)) = (manager.and_then(|manager| manager.node_cidr_mask_size), &spec.networking)
    else {
        return;
    };
    let shoot_wide = spec.kubernetes.kubelet.as_ref().and_then(|kubelet| kubelet.max_pods);
    let of_pools =
        spec.provider.workers.iter().filter_map(|worker| worker.kubernetes.as_ref()?.kubelet.as_ref()?.max_pods);
    let most = of_pools.chain(shoot_wide).max().filter(|most| *most > 0).unwrap_or(110);
    let (bits, default) = if networking.ip_families == ["IPv6"] { (128, 64) } else { (32, 24) };
    let subnet = u32::try_from(bits - mask).unwrap_or(0);
    let available = 1_i128.checked_shl(subnet).filter(|count| *count > 0).unwrap_or(i128::MAX) - 2;
    if available < i128::from(most) {
        let path = Path::new("spec").child("kubernetes").child("kubeControllerManager").child("nodeCIDRMaskSize");
        let text = format!(
            "kubelet or kube-controller-manager configuration incorrect. Please adjust the nodeCIDRMaskSize to \
             support the highest maxPod on any worker pool. The nodeCIDRMaskSize of {mask} (default: {default}) only \
             supports {available} IP addresses. The highest maxPod setting is {most} (default: 110). Please choose a \
             nodeCIDRMaskSize that at least supports {most} IP addresses"
        );
        errors.push(FieldError::invalid(&path, mask, &text));
    }
}

fn addons(errors: &mut Errors, spec: &ShootSpec, workerless: bool, release: Release, path: &Path) {
    let Some(addons) = &spec.addons else { return };
    if workerless {
        errors.push(FieldError::forbidden(path, "addons cannot be enabled for Workerless Shoot clusters"));
        return;
    }
    if refuse(errors, Field::Addons, &spec.kubernetes.version, release, path) {
        return;
    }
    let ingress = addons.nginx_ingress.as_ref().filter(|addon| addon.enabled);
    let dashboard = addons.kubernetes_dashboard.as_ref().filter(|addon| addon.enabled);
    let purpose = spec.purpose.as_deref();
    if (ingress.is_some() || dashboard.is_some()) && purpose.is_some_and(|purpose| purpose != "evaluation") {
        let text = "addons can only be enabled on shoots with .spec.purpose=evaluation";
        errors.push(FieldError::forbidden(path, text));
    }
    let ranges = ingress.map(|ingress| ingress.load_balancer_source_ranges.as_slice()).unwrap_or_default();
    if NAMES_ARE_JUDGED.contain(release) {
        let path = path.child("nginxIngress");
        let ranges_path = path.child("loadBalancerSourceRanges");
        for (index, range) in ranges.iter().enumerate() {
            Cidr::new(range, ranges_path.index(index)).check_parse(errors);
        }
        if let Some(ingress) = ingress {
            ingress_config(errors, &ingress.config, &path.child("config"));
        }
    }
    if let Some(policy) = ingress.and_then(|ingress| ingress.external_traffic_policy.as_ref()) {
        let path = path.child("nginxIngress").child("externalTrafficPolicy");
        one_of(errors, policy, &["Cluster", "Local"], &path);
    }
    if let Some(mode) = dashboard.and_then(|dashboard| dashboard.authentication_mode.as_ref()) {
        one_of(errors, mode, &["token"], &path.child("kubernetesDashboard").child("authenticationMode"));
    }
}

/// Checks the entries of the ConfigMap of nginx-ingress: their keys, and the size of all values.
fn ingress_config(errors: &mut Errors, config: &TextMap, path: &Path) {
    for key in config.keys() {
        meta::invalid_each(errors, &path.key(key), key, meta::config_map_key(key));
    }
    let size: usize = config.values().map(String::len).sum();
    if size > MAX_SECRET_BYTES {
        errors.push(FieldError::too_long(path, MAX_SECRET_BYTES));
    }
}

fn networking(errors: &mut Errors, networking: Option<&Networking>, workerless: bool, release: Release, path: &Path) {
    let Some(networking) = networking else {
        if !workerless {
            errors.push(FieldError::required(path, "networking should not be nil for a Shoot with workers"));
        }
        return;
    };
    if workerless {
        let fields = [
            ("type", networking.r#type.is_some()),
            ("providerConfig", networking.provider_config.is_some()),
            ("pods", networking.pods.is_some()),
            ("nodes", networking.nodes.is_some()),
        ];
        forbidden_for_workerless(errors, &fields, path);
    } else if networking.r#type.as_deref().unwrap_or_default().is_empty() {
        errors.push(FieldError::required(&path.child("type"), "networking type must be provided"));
    } else if let Some(type_) = networking.r#type.as_ref().filter(|_| NAMES_ARE_JUDGED.contain(release))
        && !meta::qualified_name(&format!("networking{}{type_}", label::EXTENSION_CLASS_INFIX)).is_empty()
    {
        errors.push(FieldError::invalid(&path.child("type"), type_, "type must be a valid label name"));
    }
    let found = errors.len();
    ip_families(errors, &networking.ip_families, &path.child("ipFamilies"));
    if errors.len() > found {
        return;
    }
    let networks = [("nodes", &networking.nodes), ("pods", &networking.pods), ("services", &networking.services)];
    for (field, text) in networks {
        let Some(text) = text else { continue };
        let cidr = Cidr::new(text, path.child(field));
        cidr.check_parse(errors);
        if networking.ip_families.len() < 2 {
            cidr.check_family(errors, primary_family(&networking.ip_families));
        }
        cidr.check_canonical(errors);
    }
}

fn maintenance(errors: &mut Errors, maintenance: Option<&Maintenance>, workerless: bool, path: &Path) {
    let Some(maintenance) = maintenance else { return };
    if workerless && maintenance.auto_update.as_ref().is_some_and(|update| update.machine_image_version.is_some()) {
        let path = path.child("autoUpdate").child("machineImageVersion");
        errors.push(FieldError::forbidden(&path, WORKERLESS));
    }
    auto_rotation(errors, maintenance.auto_rotation.as_ref(), workerless, &path.child("autoRotation"));
    let Some(written) = &maintenance.time_window else { return };
    let path = path.child("timeWindow");
    let window = match Window::parse(&written.begin, &written.end) {
        Ok(window) => window,
        Err(error) => {
            let dump = format!("core.MaintenanceTimeWindow{{Begin:{:?}, End:{:?}}}", written.begin, written.end);
            errors.push(invalid_unquoted(&path.child("begin/end"), &dump, &error.to_string()));
            return;
        }
    };
    let length = window.duration();
    let shown = Duration { nanoseconds: length.num_nanoseconds().unwrap_or(i64::MAX) };
    if length > TimeDelta::hours(6) {
        errors.push(invalid_duration(&path, shown, "time window must not be greater than 6h0m0s"));
    } else if length < TimeDelta::minutes(30) {
        errors.push(invalid_duration(&path, shown, "time window must not be smaller than 30m0s"));
    }
}

/// Source: pkg/apis/core/validation @ v1.135.0.
fn auto_rotation(errors: &mut Errors, rotation: Option<&MaintenanceAutoRotation>, workerless: bool, path: &Path) {
    let Some(credentials) = rotation.and_then(|rotation| rotation.credentials.as_ref()) else { return };
    let path = path.child("credentials");
    let all = [
        ("observability", &credentials.observability),
        ("sshKeypair", &credentials.ssh_keypair),
        ("etcdEncryptionKey", &credentials.etcd_encryption_key),
    ];
    for (name, config) in all {
        let (Some(config), path) = (config, path.child(name)) else { continue };
        if workerless && name == "sshKeypair" {
            errors.push(FieldError::forbidden(&path, WORKERLESS));
            continue;
        }
        let Some(period) = config.rotation_period else { continue };
        let length = TimeDelta::nanoseconds(period.nanoseconds);
        if !length.is_zero() && !(TimeDelta::minutes(30)..=TimeDelta::days(90)).contains(&length) {
            let text = "value must be either 0 to disable rotation or between 30m and 90d";
            errors.push(FieldError::invalid(&path.child("rotationPeriod"), period, text));
        }
    }
}

fn monitoring(errors: &mut Errors, monitoring: Option<&Monitoring>, path: &Path) {
    let Some(alerting) = monitoring.and_then(|monitoring| monitoring.alerting.as_ref()) else { return };
    let mut seen = BTreeSet::new();
    for (index, email) in alerting.email_receivers.iter().enumerate() {
        let path = path.child("alerting").child("emailReceivers").index(index);
        if !is_email(email) {
            errors.push(FieldError::invalid(&path, email, "must provide a valid email"));
        }
        if !seen.insert(email) {
            errors.push(FieldError::duplicate(&path, email));
        }
    }
}

/// True for `local@label.label…` with at least two letters in the last label.
fn is_email(text: &str) -> bool {
    let mut parts = text.split('@');
    let (Some(local), Some(domain), None) = (parts.next(), parts.next(), parts.next()) else { return false };
    let labels: Vec<&str> = domain.split('.').collect();
    let Some((top, others)) = labels.split_last() else { return false };
    let is_label =
        |label: &&str| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let is_top = top.len() >= 2 && top.bytes().all(|byte| byte.is_ascii_alphabetic());
    !local.is_empty() && !others.is_empty() && others.iter().all(is_label) && is_top
}

fn system_components(
    errors: &mut Errors,
    components: Option<&SystemComponents>,
    workerless: bool,
    release: Release,
    path: &Path,
) {
    let Some(components) = components else { return };
    if workerless {
        errors.push(FieldError::forbidden(path, WORKERLESS));
        return;
    }
    let Some(dns) = &components.core_dns else { return };
    let path = path.child("coreDNS");
    if let Some(autoscaling) = &dns.autoscaling {
        let modes = ["cluster-proportional", "horizontal"];
        one_of(errors, &autoscaling.mode, &modes, &path.child("autoscaling").child("mode"));
    }
    let Some(rewriting) = &dns.rewriting else { return };
    let mut seen = BTreeSet::new();
    for (index, suffix) in rewriting.common_suffixes.iter().enumerate() {
        let path = path.child("rewriting").child("commonSuffixes").index(index);
        let rest = suffix.strip_prefix('.').unwrap_or(suffix);
        if !rest.contains('.') {
            let text = "must contain at least one non-leading dot ('.')";
            errors.push(FieldError::invalid(&path, suffix, text));
        }
        if !seen.insert(rest) {
            errors.push(FieldError::duplicate(&path, rest));
        }
        let name = rest.strip_suffix('.').unwrap_or(rest);
        if NAMES_ARE_JUDGED.contain(release) && !meta::dns_subdomain(name).is_empty() {
            errors.push(FieldError::invalid(&path, rest, "must be a valid DNS subdomain"));
        }
    }
}
