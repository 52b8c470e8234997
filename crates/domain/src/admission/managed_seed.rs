// SPDX-License-Identifier: Apache-2.0
//! Admission of ManagedSeeds and the Shoots on which they are based.
//!
//! Unlike upstream: the DNS provider of the Seed is that of the default domain of its Shoot, never one of the Shoot's
//! own; zones that Shoots on the Seed use are checked with the Seed.
//!
//! Source: plugin/pkg/{managedseed/validator,managedseed/shoot,shoot/managedseed} @ v1.120.0, v1.127.0 and v1.131.0.

use std::collections::BTreeSet;

use api::constants::label;
use api::core::{SeedDNS, Shoot};
use api::seedmanagement::ManagedSeed;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::RawExtension;
use serde_json::{Map, Value, json};

use super::Refusal;
use super::seed_domains::{Loss, Uses};

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

/// Checks a ManagedSeed against its Shoot, and completes its Seed from the Shoot. `other`: name of another ManagedSeed of
/// the Shoot; `dns_provider`: DNS provider for a Seed without one, as JSON; `uses`: Shoots that may use the Seed.
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
    let name = seed.spec.shoot.as_ref().map(|shoot| shoot.name.clone()).unwrap_or_default();
    if name.is_empty() {
        // Reported by validation.
        return Ok(());
    }
    let path = Path::new("spec").child("shoot").child("name");
    let no = |text: &str| Err(Refusal::Invalid(vec![FieldError::invalid(&path, &name, text)]));
    let Some(shoot) = shoot else { return no(&format!("shoot {}/{name} not found", seed.metadata.namespace)) };
    let domain = shoot.spec.dns.as_ref().and_then(|dns| dns.domain.as_deref()).unwrap_or_default();
    if domain.is_empty() {
        return no(&format!("shoot {} does not specify a domain", name_of(shoot)));
    }
    if has_ingress_addon(shoot) {
        return no(NO_INGRESS_ADDON);
    }
    if !has_autoscaler(shoot) {
        return no(NEEDS_AUTOSCALER);
    }
    if shoot.spec.provider.workers.is_empty() {
        return no("workerless shoot cannot be used to create managed seed");
    }
    if let Some(other) = other {
        let text = format!("shoot {} already registered as seed by managed seed {other}", name_of(shoot));
        return no(&text);
    }
    let mut config = serde_json::to_value(&seed.spec.gardenlet.config).unwrap_or_default();
    let mut errors = Vec::new();
    if let Some(spec) = config.get_mut("seedConfig").filter(|it| it.is_object()) {
        let path = Path::new("spec").child("gardenlet").child("config").child("seedConfig").child("spec");
        if !spec["spec"].is_object() {
            spec["spec"] = Value::Object(Map::new());
        }
        complete(&mut errors, &mut spec["spec"], shoot, domain, dns_provider, &path);
        let held = old.map(|old| serde_json::to_value(&old.spec.gardenlet.config).unwrap_or_default());
        if let Some(held) = &held {
            let (is, was) = (&spec["spec"]["dns"], &held["seedConfig"]["spec"]["dns"]);
            check_domains(&mut errors, &seed.metadata.name, (is, was), uses, &path.child("dns"));
        }
        check_zones(&mut errors, &spec["spec"], held.as_ref().map(|held| &held["seedConfig"]["spec"]), shoot, &path);
        seed.spec.gardenlet.config = serde_json::from_value::<RawExtension>(config).unwrap_or_default();
    }
    seed.metadata.labels.retain(|key, _| !key.starts_with(label::SEED_NAME_PREFIX));
    if let Some(host) = &shoot.spec.seed_name {
        seed.metadata.labels.insert(format!("{}{host}", label::SEED_NAME_PREFIX), "true".to_owned());
    }
    if errors.is_empty() { Ok(()) } else { Err(Refusal::Invalid(errors)) }
}

/// Completes the Seed from its Shoot; a field that differs from the Shoot's is an error.
fn complete(
    errors: &mut Vec<FieldError>,
    spec: &mut Value,
    shoot: &Shoot,
    domain: &str,
    dns_provider: &Value,
    path: &Path,
) {
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
    let networking = shoot.spec.networking.clone().unwrap_or_default();
    let ingress = Some(format!("{INGRESS}.{domain}"));
    let (type_, region) = (Some(shoot.spec.provider.r#type.clone()), Some(shoot.spec.region.clone()));
    for (at, wanted, what) in [
        (["ingress", "domain"], &ingress, "seed ingress domain must be equal to shoot DNS domain"),
        (["networks", "nodes"], &networking.nodes, "seed nodes CIDR must be equal to shoot nodes CIDR"),
        (["networks", "pods"], &networking.pods, "seed pods CIDR must be equal to shoot pods CIDR"),
        (["networks", "services"], &networking.services, "seed services CIDR must be equal to shoot services CIDR"),
        (["provider", "type"], &type_, "seed provider type must be equal to shoot provider type"),
        (["provider", "region"], &region, "seed provider region must be equal to shoot region"),
    ] {
        let Some(wanted) = wanted else { continue };
        let value = &mut spec[at[0]][at[1]];
        field(value, json!(wanted));
        if value.as_str() != Some(wanted) {
            let path = path.child(at[0]).child(at[1]);
            errors.push(FieldError::invalid(&path, &*value, &format!("{what} {wanted}")));
        }
    }
    if spec["provider"]["zones"].as_array().is_none_or(Vec::is_empty) {
        let zones = zones(shoot);
        if !zones.is_empty() {
            spec["provider"]["zones"] = json!(zones);
        }
    }
    let autoscaler = &mut spec["settings"]["verticalPodAutoscaler"];
    field(autoscaler, json!({ "enabled": false }));
    if autoscaler["enabled"] == true {
        let path = path.child("settings").child("verticalPodAutoscaler").child("enabled");
        let text = "seed VPA is not supported for managed seeds - use the shoot VPA";
        errors.push(FieldError::invalid(&path, true, text));
    }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::release::{DOCUMENTED, NEWEST, Release};

    fn uses(release: Release, shoots: &[Shoot]) -> Uses {
        let shoots = shoots.iter().cloned().map(Arc::new).collect();
        Uses { shoots, default_domains: Vec::new(), release }
    }

    fn shoot(change: impl FnOnce(&mut Value)) -> Shoot {
        let mut tree = json!({
            "metadata": { "name": "s", "namespace": "garden" },
            "spec": {
                "region": "local",
                "seedName": "host",
                "dns": { "domain": "s.example.org" },
                "networking": { "nodes": "10.0.0.0/16", "pods": "10.1.0.0/16" },
                "kubernetes": { "version": "1.31.1", "verticalPodAutoscaler": { "enabled": true } },
                "provider": { "type": "local", "workers": [{ "name": "w", "zones": ["b", "a"] }] },
            },
        });
        change(&mut tree["spec"]);
        serde_json::from_value(tree).expect("a Shoot")
    }

    fn seed(spec: Value) -> ManagedSeed {
        let tree = json!({
            "metadata": { "name": "child", "namespace": "garden" },
            "spec": { "shoot": { "name": "s" }, "gardenlet": { "config": { "seedConfig": { "spec": spec } } } },
        });
        serde_json::from_value(tree).expect("a ManagedSeed")
    }

    fn provider() -> Value {
        json!({ "type": "local", "secretRef": { "name": "d", "namespace": "garden" } })
    }

    /// Returns the errors of a ManagedSeed as path and text.
    fn judged(spec: Value, old: Option<&ManagedSeed>, shoot: Option<&Shoot>, other: Option<&str>) -> Vec<String> {
        match admit(&mut seed(spec), old, shoot, other, &provider(), &uses(DOCUMENTED, &[])) {
            Ok(()) => Vec::new(),
            Err(Refusal::Invalid(errors)) => errors.iter().map(ToString::to_string).collect(),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_shoot_must_be_fit_to_be_a_seed() {
        let at = |text: &str| vec![format!("spec.shoot.name: Invalid value: \"s\": {text}")];
        assert_eq!(judged(json!({}), None, None, None), at("shoot garden/s not found"));
        type Change = fn(&mut Value);
        let cases: [(Change, &str); 4] = [
            (|spec| spec["dns"] = json!({}), "shoot garden/s does not specify a domain"),
            (|spec| spec["addons"] = json!({ "nginxIngress": { "enabled": true } }), NO_INGRESS_ADDON),
            (|spec| spec["kubernetes"] = json!({ "version": "1.31.1" }), NEEDS_AUTOSCALER),
            (|spec| spec["provider"]["workers"] = json!([]), "workerless shoot cannot be used to create managed seed"),
        ];
        for (change, expected) in cases {
            assert_eq!(judged(json!({}), None, Some(&shoot(change)), None), at(expected));
        }
        let taken = "shoot garden/s already registered as seed by managed seed garden/x";
        assert_eq!(judged(json!({}), None, Some(&shoot(|_| {})), Some("garden/x")), at(taken));
    }

    #[test]
    fn a_seed_takes_over_what_its_shoot_has() {
        let mut made = seed(json!({}));
        admit(&mut made, None, Some(&shoot(|_| {})), None, &provider(), &uses(DOCUMENTED, &[])).expect("it is fit");
        let config = serde_json::to_value(&made.spec.gardenlet.config).expect("JSON");
        let expected = json!({
            "dns": { "provider": provider() },
            "ingress": { "controller": { "kind": "nginx" }, "domain": "ingress.s.example.org" },
            "networks": { "nodes": "10.0.0.0/16", "pods": "10.1.0.0/16" },
            "provider": { "type": "local", "region": "local", "zones": ["a", "b"] },
            "settings": { "verticalPodAutoscaler": { "enabled": false } },
        });
        assert_eq!(config["seedConfig"]["spec"], expected);
        assert_eq!(made.metadata.label("name.seed.gardener.cloud/host"), Some("true"));
    }

    #[test]
    fn a_seed_that_contradicts_its_shoot_is_refused() {
        let spec = json!({
            "ingress": { "domain": "other" },
            "networks": { "nodes": "10.9.0.0/16" },
            "provider": { "type": "aws", "region": "eu", "zones": ["c"] },
            "settings": { "verticalPodAutoscaler": { "enabled": true } },
        });
        let path = "spec.gardenlet.config.seedConfig.spec";
        let expected = [
            "ingress.domain: Invalid value: \"other\": seed ingress domain must be equal to shoot DNS domain \
             ingress.s.example.org",
            "networks.nodes: Invalid value: \"10.9.0.0/16\": seed nodes CIDR must be equal to shoot nodes CIDR 10.0.0.0/16",
            "provider.type: Invalid value: \"aws\": seed provider type must be equal to shoot provider type local",
            "provider.region: Invalid value: \"eu\": seed provider region must be equal to shoot region local",
            "settings.verticalPodAutoscaler.enabled: Invalid value: true: seed VPA is not supported for managed seeds - use \
             the shoot VPA",
            "provider.zones: Invalid value: [\"c\"]: cannot use zone in seed provider that is not available in referenced \
             shoot",
        ];
        assert_eq!(judged(spec, None, Some(&shoot(|_| {})), None), expected.map(|text| format!("{path}.{text}")));
        let old = seed(json!({ "provider": { "zones": ["c"] } }));
        let spec = json!({ "provider": { "zones": ["c", "a"] } });
        assert_eq!(judged(spec, Some(&old), Some(&shoot(|_| {})), None), Vec::<String>::new());
    }

    #[test]
    fn domains_stay_while_shoots_use_the_seed() {
        let with = |internal: &str, default: &str| {
            let dns = json!({ "internal": { "domain": internal }, "defaults": [{ "domain": default }] });
            seed(json!({ "dns": dns }))
        };
        let user = shoot(|spec| {
            spec["seedName"] = json!("child");
            spec["dns"] = json!({ "domain": "u.a.example" });
        });
        let refused = |release: Release, shoots: &[Shoot]| {
            let (mut new, old) = (with("j", "b.example"), with("i", "a.example"));
            let shoots = uses(release, shoots);
            match admit(&mut new, Some(&old), Some(&shoot(|_| {})), None, &provider(), &shoots) {
                Err(Refusal::Invalid(errors)) => errors.iter().map(ToString::to_string).collect(),
                _ => Vec::new(),
            }
        };
        let path = "spec.gardenlet.config.seedConfig.spec.dns";
        let expected = [
            format!(
                "{path}.internal.domain: Forbidden: internal domain must not be changed while shoots are still scheduled onto \
                 seed"
            ),
            format!(
                "{path}.defaults: Forbidden: default domains must not be removed while shoots are still using them"
            ),
        ];
        assert_eq!(refused(NEWEST, std::slice::from_ref(&user)), expected);
        assert_eq!(refused(Release(127), std::slice::from_ref(&user)), expected[..1]);
        assert_eq!(refused(Release(126), &[user]), Vec::<String>::new());
        assert_eq!(refused(NEWEST, &[]), Vec::<String>::new());
    }

    #[test]
    fn a_shoot_that_is_a_seed_stays_fit_and_stays() {
        let (old, seed) = (shoot(|_| {}), seed(json!({ "provider": { "zones": ["a"] } })));
        assert_eq!(check_shoot_update(&old, &old, &seed), Ok(()));
        let new = shoot(|spec| {
            spec["kubernetes"] = json!({ "version": "1.31.1" });
            spec["networking"]["nodes"] = json!("10.7.0.0/16");
            spec["provider"]["workers"][0]["zones"] = json!(["b"]);
        });
        let Err(Refusal::Invalid(errors)) = check_shoot_update(&new, &old, &seed) else { panic!("it is not fit") };
        let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "spec.kubernetes.verticalPodAutoscaler.enabled: Invalid value: false: shoot VPA has to be enabled for \
                 managed seeds",
                "spec.networking.nodes: Invalid value: \"10.7.0.0/16\": field is immutable for managed seeds",
                "spec.providers.workers: Forbidden: shoot worker zone(s) must not be removed as long as registered in \
                 managedseed",
            ]
        );
        let refused = |text: &str| Err::<(), _>(Refusal::Forbidden(text.to_owned()));
        let text = "cannot delete shoot garden/s since it is still referenced by a managed seed";
        assert_eq!(Err(is_referenced(&old)), refused(text));
        let text = "cannot delete managed seed garden/child since its seed child is still used by shoot(s)";
        assert_eq!(check_deletion(&seed, true), refused(text));
        assert_eq!(check_deletion(&seed, false), Ok(()));
    }
}
