// SPDX-License-Identifier: Apache-2.0
//! Admission of ManagedSeeds and the Shoots on which they are based.
//!
//! Unlike upstream: the DNS provider of the Seed is that of the default domain of its Shoot, never one of the Shoot's
//! own; zones that Shoots on the Seed use are checked with the Seed; a Shoot without a domain causes no panic.
//!
//! Source: plugin/pkg/{managedseed/validator,managedseed/shoot,shoot/managedseed} @ v1.120.0, v1.127.0, v1.131.0, v1.135.0
//! and v1.136.0.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use api::constants::{label, namespace};
use api::core::{SeedDNS, Shoot};
use api::seedmanagement::ManagedSeed;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::RawExtension;
use serde_json::{Map, Value, json};

use super::Refusal;
use super::seed_domains::{Loss, Uses};
use crate::release::Releases;

/// The namespace, the Shoot and changes are checked after mutation, and all defects of the Shoot are reported. Before, the
/// first defect is reported alone.
const VALIDATES: Releases = Releases::since(135);
/// The Seed is compared with its Shoot after mutation.
const COMPARES_WHEN_VALIDATING: Releases = Releases::since(136);
/// Prefix of the Seed's ingress domain, before the domain of its Shoot.
const INGRESS: &str = "ingress";
const NO_INGRESS_ADDON: &str =
    "shoot ingress addon is not supported for managed seeds - use the managed seed ingress controller";
const NEEDS_AUTOSCALER: &str = "shoot VPA has to be enabled for managed seeds";

fn name_of(shoot: &Shoot) -> String {
    format!("{}/{}", shoot.metadata.namespace, shoot.metadata.name)
}

fn has_ingress_addon(shoot: &Shoot) -> bool {
    let addon = shoot.spec.addons.as_ref().and_then(|addons| addons.nginx_ingress.as_ref());
    addon.is_some_and(|addon| addon.enabled)
}

fn has_autoscaler(shoot: &Shoot) -> bool {
    shoot.spec.kubernetes.vertical_pod_autoscaler.as_ref().is_some_and(|autoscaler| autoscaler.enabled)
}

fn zones(shoot: &Shoot) -> BTreeSet<&str> {
    shoot.spec.provider.workers.iter().flat_map(|worker| &worker.zones).map(String::as_str).collect()
}

fn seed_path() -> Path {
    Path::new("spec").child("gardenlet").child("config").child("seedConfig").child("spec")
}

fn unless_empty(errors: Vec<FieldError>) -> Result<(), Refusal> {
    if errors.is_empty() { Ok(()) } else { Err(Refusal::Invalid(errors)) }
}

/// Completes the Seed of a ManagedSeed from its Shoot, and checks what the release checks when it does so. `other`: name of
/// another ManagedSeed of the Shoot; `dns_provider`: DNS provider for a Seed without one, as JSON; `uses`: Shoots that may
/// use the Seed.
///
/// # Errors
/// 422.
pub fn admit(
    seed: &mut ManagedSeed,
    old: Option<&ManagedSeed>,
    shoot: Option<&Shoot>,
    other: Option<&str>,
    dns_provider: &Value,
    uses: &Uses,
) -> Result<(), Refusal> {
    let validates_later = VALIDATES.contain(uses.release);
    if !validates_later {
        unless_empty(outside(seed))?;
        unless_empty(without_shoot(seed, &Path::new("spec")))?;
    } else if !without_shoot(seed, &Path::new("spec")).is_empty() {
        // Reported by validation.
        return Ok(());
    }
    let shoot = found(seed, shoot)?;
    if !validates_later {
        unless_empty(unfit(seed, shoot, other).into_iter().take(1).collect())?;
    }
    let mut config = serde_json::to_value(&seed.spec.gardenlet.config).unwrap_or_default();
    let mut errors = Vec::new();
    if let Some(template) = config.get_mut("seedConfig").filter(|it| it.is_object()) {
        if !template["spec"].is_object() {
            template["spec"] = Value::Object(Map::new());
        }
        complete(&mut errors, &mut template["spec"], shoot, dns_provider, &seed_path());
        if !COMPARES_WHEN_VALIDATING.contain(uses.release) {
            compare(&mut errors, &template["spec"], shoot, &seed_path());
        }
        if !validates_later {
            check_change(&mut errors, &seed.metadata.name, &template["spec"], old, shoot, uses);
        }
        seed.spec.gardenlet.config = serde_json::from_value::<RawExtension>(config).unwrap_or_default();
    }
    seed.metadata.labels.retain(|key, _| !key.starts_with(label::SEED_NAME_PREFIX));
    if let Some(host) = &shoot.spec.seed_name {
        seed.metadata.labels.insert(format!("{}{host}", label::SEED_NAME_PREFIX), "true".to_owned());
    }
    unless_empty(errors)
}

/// Checks a ManagedSeed that [`admit`] has completed, in releases that check it after mutation.
///
/// # Errors
/// 422.
pub fn validate(
    seed: &ManagedSeed,
    old: Option<&ManagedSeed>,
    shoot: Option<&Shoot>,
    other: Option<&str>,
    uses: &Uses,
) -> Result<(), Refusal> {
    if !VALIDATES.contain(uses.release) {
        return Ok(());
    }
    unless_empty(outside(seed))?;
    if !without_shoot(seed, &Path::new("spec")).is_empty() {
        // Reported by validation.
        return Ok(());
    }
    let shoot = found(seed, shoot)?;
    let mut errors = unfit(seed, shoot, other);
    let config = serde_json::to_value(&seed.spec.gardenlet.config).unwrap_or_default();
    if let Some(template) = config.get("seedConfig").filter(|it| it.is_object()) {
        if COMPARES_WHEN_VALIDATING.contain(uses.release) {
            compare(&mut errors, &template["spec"], shoot, &seed_path());
        }
        check_change(&mut errors, &seed.metadata.name, &template["spec"], old, shoot, uses);
    }
    unless_empty(errors)
}

/// Checks the namespace of a ManagedSeed.
fn outside(seed: &ManagedSeed) -> Vec<FieldError> {
    if seed.metadata.namespace == namespace::GARDEN {
        return Vec::new();
    }
    let path = Path::new("metadata").child("namespace");
    vec![FieldError::invalid(&path, &seed.metadata.namespace, "namespace must be garden")]
}

/// Checks that a ManagedSeed names its Shoot. `path`: that of `spec`.
pub(crate) fn without_shoot(seed: &ManagedSeed, path: &Path) -> Vec<FieldError> {
    let path = path.child("shoot");
    match &seed.spec.shoot {
        None => vec![FieldError::required(&path, "shoot is required")],
        Some(shoot) if shoot.name.is_empty() => {
            vec![FieldError::required(&path.child("name"), "shoot name is required")]
        }
        Some(_) => Vec::new(),
    }
}

/// Returns the error for the Shoot of a ManagedSeed.
fn about_shoot(seed: &ManagedSeed, text: &str) -> FieldError {
    let name = seed.spec.shoot.as_ref().map(|shoot| shoot.name.as_str()).unwrap_or_default();
    FieldError::invalid(&Path::new("spec").child("shoot").child("name"), name, text)
}

fn found<'a>(seed: &ManagedSeed, shoot: Option<&'a Shoot>) -> Result<&'a Shoot, Refusal> {
    let name = seed.spec.shoot.as_ref().map(|shoot| shoot.name.as_str()).unwrap_or_default();
    let text = format!("shoot {}/{name} not found", seed.metadata.namespace);
    shoot.ok_or_else(|| Refusal::Invalid(vec![about_shoot(seed, &text)]))
}

/// Returns the reasons for which a Shoot cannot become the Seed of a ManagedSeed.
fn unfit(seed: &ManagedSeed, shoot: &Shoot, other: Option<&str>) -> Vec<FieldError> {
    let name = name_of(shoot);
    let domain = shoot.spec.dns.as_ref().and_then(|dns| dns.domain.as_deref()).unwrap_or_default();
    let mut texts = Vec::new();
    if domain.is_empty() {
        texts.push(format!("shoot {name} does not specify a domain"));
    }
    if has_ingress_addon(shoot) {
        texts.push(NO_INGRESS_ADDON.to_owned());
    }
    if !has_autoscaler(shoot) {
        texts.push(NEEDS_AUTOSCALER.to_owned());
    }
    if shoot.spec.provider.workers.is_empty() {
        texts.push("workerless shoot cannot be used to create managed seed".to_owned());
    }
    if let Some(other) = other {
        texts.push(format!("shoot {name} already registered as seed by managed seed {other}"));
    }
    texts.iter().map(|text| about_shoot(seed, text)).collect()
}

/// Values of the Shoot that its Seed takes over, with their path and the text for another value; fields that the Shoot does
/// not have are `None`.
fn shared(shoot: &Shoot) -> [([&'static str; 2], Option<String>, &'static str); 6] {
    let networking = shoot.spec.networking.clone().unwrap_or_default();
    let domain = shoot.spec.dns.as_ref().and_then(|dns| dns.domain.as_deref());
    let ingress = domain.map(|domain| format!("{INGRESS}.{domain}"));
    let (type_, region) = (Some(shoot.spec.provider.r#type.clone()), Some(shoot.spec.region.clone()));
    [
        (["ingress", "domain"], ingress, "seed ingress domain must be equal to shoot DNS domain"),
        (["networks", "nodes"], networking.nodes, "seed nodes CIDR must be equal to shoot nodes CIDR"),
        (["networks", "pods"], networking.pods, "seed pods CIDR must be equal to shoot pods CIDR"),
        (["networks", "services"], networking.services, "seed services CIDR must be equal to shoot services CIDR"),
        (["provider", "type"], type_, "seed provider type must be equal to shoot provider type"),
        (["provider", "region"], region, "seed provider region must be equal to shoot region"),
    ]
}

/// Completes the Seed from its Shoot.
fn complete(errors: &mut Vec<FieldError>, spec: &mut Value, shoot: &Shoot, dns_provider: &Value, path: &Path) {
    let field = |value: &mut Value, default: Value| {
        if value.is_null() || value == "" {
            *value = default;
        }
    };
    if spec["backup"].is_object() {
        field(&mut spec["backup"]["provider"], json!(shoot.spec.provider.r#type));
    }
    field(&mut spec["ingress"], json!({ "controller": { "kind": "nginx" } }));
    if !spec["dns"]["provider"].is_object() {
        if dns_provider.is_null() {
            let text = format!("domain of shoot {} is neither a custom domain nor a default domain", name_of(shoot));
            errors.push(FieldError::invalid(&path.child("ingress"), &spec["ingress"], &text));
        } else {
            spec["dns"]["provider"] = dns_provider.clone();
        }
    }
    for ([group, name], value, _) in shared(shoot) {
        if let Some(value) = value {
            field(&mut spec[group][name], json!(value));
        }
    }
    if spec["provider"]["zones"].as_array().is_none_or(Vec::is_empty) {
        let zones = zones(shoot);
        if !zones.is_empty() {
            spec["provider"]["zones"] = json!(zones);
        }
    }
    field(&mut spec["settings"]["verticalPodAutoscaler"], json!({ "enabled": false }));
}

/// Reports the fields of a Seed that contradict its Shoot.
fn compare(errors: &mut Vec<FieldError>, spec: &Value, shoot: &Shoot, path: &Path) {
    for ([group, name], wanted, what) in shared(shoot) {
        let Some(wanted) = wanted else { continue };
        let text = |name: &str| spec[group][name].as_str().unwrap_or_default();
        if text(name) != wanted {
            // Upstream shows the range of the pods for that of the services.
            let shown = if name == "services" { text("pods") } else { text(name) };
            errors.push(FieldError::invalid(&path.child(group).child(name), shown, &format!("{what} {wanted}")));
        }
    }
    let settings = path.child("settings");
    if spec["settings"]["verticalPodAutoscaler"]["enabled"] == true {
        let path = settings.child("verticalPodAutoscaler").child("enabled");
        let text = "seed VPA is not supported for managed seeds - use the shoot VPA";
        errors.push(FieldError::invalid(&path, true, text));
    }
    if spec["settings"]["topologyAwareRouting"]["enabled"] == true {
        let kubernetes = &shoot.spec.kubernetes;
        let path = settings.child("topologyAwareRouting").child("enabled");
        for (component, gates) in [
            ("kube-apiserver", kubernetes.kube_api_server.as_ref().map(|config| &config.feature_gates)),
            (
                "kube-controller-manager",
                kubernetes.kube_controller_manager.as_ref().map(|config| &config.feature_gates),
            ),
            ("kube-proxy", kubernetes.kube_proxy.as_ref().map(|config| &config.feature_gates)),
        ] {
            if gates.is_some_and(|gates| gates.get("TopologyAwareHints") == Some(&false)) {
                let text = format!(
                    "the topology-aware routing seed setting cannot be enabled when the TopologyAwareHints feature gate is \
                     disabled for {component}"
                );
                errors.push(FieldError::invalid(&path, true, &text));
            }
        }
    }
}

/// Checks the domains and zones of a new or changed Seed.
fn check_change(
    errors: &mut Vec<FieldError>,
    name: &str,
    spec: &Value,
    old: Option<&ManagedSeed>,
    shoot: &Shoot,
    uses: &Uses,
) {
    let held = old.map(|old| serde_json::to_value(&old.spec.gardenlet.config).unwrap_or_default());
    let held = held.as_ref().map(|held| &held["seedConfig"]["spec"]);
    if let Some(held) = held {
        check_domains(errors, name, (&spec["dns"], &held["dns"]), uses, &seed_path().child("dns"));
    }
    check_zones(errors, spec, held, shoot, &seed_path());
}

/// Checks that a change of the Seed's domains takes none from its Shoots.
fn check_domains(errors: &mut Vec<FieldError>, name: &str, (is, was): (&Value, &Value), uses: &Uses, path: &Path) {
    let read = |dns: &Value| serde_json::from_value::<SeedDNS>(dns.clone()).unwrap_or_default();
    for lost in uses.lost(name, &read(is), &read(was)) {
        let (path, text) = match lost {
            Loss::Internal => (
                path.child("internal").child("domain"),
                "internal domain must not be changed while shoots are still scheduled onto seed",
            ),
            Loss::Defaults(_) | Loss::Missing(_) => {
                (path.child("defaults"), "default domains must not be removed while shoots are still using them")
            }
        };
        errors.push(FieldError::forbidden(&path, text));
    }
}

/// Checks that the Seed has only zones of its Shoot; for an update only new zones are checked.
fn check_zones(errors: &mut Vec<FieldError>, spec: &Value, old: Option<&Value>, shoot: &Shoot, path: &Path) {
    let listed = |spec: &Value| -> Vec<String> {
        let zones = spec["provider"]["zones"].as_array().into_iter().flatten();
        zones.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (known, text) = match old {
        None => (Vec::new(), "cannot use zone in seed provider that is not available in referenced shoot"),
        Some(old) => {
            (listed(old), "added zones must match zone names configured for workers in the referenced shoot cluster")
        }
    };
    let new: Vec<String> = listed(spec).into_iter().filter(|zone| !known.contains(zone)).collect();
    let available = zones(shoot);
    if !new.iter().all(|zone| available.contains(zone.as_str())) {
        errors.push(FieldError::invalid(&path.child("provider").child("zones"), &new, text));
    }
}

/// Checks that a ManagedSeed may be deleted: no Shoot runs on its Seed.
///
/// # Errors
/// 403.
pub fn check_deletion(seed: &ManagedSeed, is_in_use: bool) -> Result<(), Refusal> {
    let (namespace, name) = (&seed.metadata.namespace, &seed.metadata.name);
    let text = format!("cannot delete managed seed {namespace}/{name} since its seed {name} is still used by shoot(s)");
    if is_in_use { Err(Refusal::Forbidden(text)) } else { Ok(()) }
}

/// Returns the refusal to delete a Shoot that a ManagedSeed references: 403.
pub fn is_referenced(shoot: &Shoot) -> Refusal {
    Refusal::Forbidden(format!("cannot delete shoot {} since it is still referenced by a managed seed", name_of(shoot)))
}

/// Checks that an updated Shoot still meets the requirements of its ManagedSeed.
///
/// # Errors
/// 422.
pub fn check_shoot_update(shoot: &Shoot, old: &Shoot, seed: &ManagedSeed) -> Result<(), Refusal> {
    let (mut errors, spec) = (Vec::new(), Path::new("spec"));
    if has_ingress_addon(shoot) {
        let path = spec.child("addons").child("nginxIngress").child("enabled");
        errors.push(FieldError::invalid(&path, true, NO_INGRESS_ADDON));
    }
    if !has_autoscaler(shoot) {
        let path = spec.child("kubernetes").child("verticalPodAutoscaler").child("enabled");
        errors.push(FieldError::invalid(&path, false, NEEDS_AUTOSCALER));
    }
    let nodes = |shoot: &Shoot| shoot.spec.networking.as_ref().and_then(|networking| networking.nodes.clone());
    if nodes(old).is_some() && nodes(shoot) != nodes(old) {
        let path = spec.child("networking").child("nodes");
        errors.push(FieldError::invalid(&path, nodes(shoot), "field is immutable for managed seeds"));
    }
    let config = serde_json::to_value(&seed.spec.gardenlet.config).unwrap_or_default();
    let (is, was) = (zones(shoot), zones(old));
    let used = config["seedConfig"]["spec"]["provider"]["zones"].as_array().into_iter().flatten();
    if used.filter_map(Value::as_str).any(|zone| was.contains(zone) && !is.contains(zone)) {
        let text = "shoot worker zone(s) must not be removed as long as registered in managedseed";
        errors.push(FieldError::forbidden(&spec.child("providers").child("workers"), text));
    }
    if errors.is_empty() { Ok(()) } else { Err(Refusal::Invalid(errors)) }
}
