// SPDX-License-Identifier: Apache-2.0
//! Extensions that a Seed requires for itself, its Shoots and its backups, and the registrations that provide them.
//!
//! Source: pkg/utils/gardener/{shoot,seed,controllerregistration}.go,
//! pkg/controllermanager/controller/controllerregistration/seed @ v1.120.0.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use api::constants::condition;
use api::core::{
    Condition, ControllerInstallation, ControllerInstallationSpec, ControllerRegistration, ControllerResource, Seed,
    Shoot,
};
use api::core_v1::ControllerDeployment;
use api::kubernetes::core::ObjectReference;
use apimachinery::meta::{ObjectMeta, Time};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::care::conditions::updated;
use crate::conditions;
use crate::skew::library;

/// Kind and type of an extension resource, `Infrastructure/local`.
pub type KindType = (String, String);

fn kind_type(kind: &str, type_: &str) -> KindType {
    (kind.to_owned(), type_.to_owned())
}

/// DNS type without an extension.
const UNMANAGED: &str = "unmanaged";

/// A domain for DNS records, and its provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Domain, `example.com`.
    pub domain: String,
    /// Type of the DNS provider.
    pub provider: String,
}

/// Returns the extensions that a Shoot requires on its Seed.
///
/// `internal` is the domain below which every Shoot has an address, `defaults` those below which a Shoot may have one
/// without credentials of its own.
pub fn for_shoot(
    shoot: &Shoot,
    seed: &Seed,
    registrations: &[&ControllerRegistration],
    internal: Option<&Domain>,
    defaults: &[Domain],
) -> BTreeSet<KindType> {
    let spec = &shoot.spec;
    let mut needed = BTreeSet::from([kind_type("ControlPlane", &seed.spec.provider.r#type)]);
    if let Some(backup) = &seed.spec.backup {
        needed.insert(kind_type("BackupBucket", &backup.provider));
        needed.insert(kind_type("BackupEntry", &backup.provider));
    }
    if !spec.provider.workers.is_empty() {
        for kind in ["ControlPlane", "Infrastructure", "Worker"] {
            needed.insert(kind_type(kind, &spec.provider.r#type));
        }
        let network = spec.networking.as_ref().and_then(|networking| networking.r#type.as_deref());
        needed.extend(network.map(|type_| kind_type("Network", type_)));
    }
    for worker in &spec.provider.workers {
        let image = worker.machine.image.iter();
        needed.extend(image.map(|image| kind_type("OperatingSystemConfig", &image.name)));
        let runtimes = worker.cri.iter().flat_map(|cri| &cri.container_runtimes);
        needed.extend(runtimes.map(|runtime| kind_type("ContainerRuntime", &runtime.r#type)));
    }
    let dns = spec.dns.as_ref();
    let own = dns.and_then(|dns| dns.providers.iter().find(|provider| provider.primary == Some(true)));
    let external = own.and_then(|provider| provider.r#type.as_deref()).or_else(|| {
        let domain = dns?.domain.as_deref()?;
        let default = defaults.iter().find(|default| domain.ends_with(&format!(".{}", default.domain)))?;
        Some(default.provider.as_str())
    });
    let providers = internal.map(|internal| internal.provider.as_str()).into_iter().chain(external);
    needed.extend(providers.filter(|type_| *type_ != UNMANAGED).map(|type_| kind_type("DNSRecord", type_)));
    needed.extend(extensions_of_shoot(shoot, registrations).iter().map(|type_| kind_type("Extension", type_)));
    needed
}

/// Returns the types of kind `Extension` that a Shoot has: its own, and those that registrations enable for every Shoot,
/// unless the Shoot disables them.
pub fn extensions_of_shoot(shoot: &Shoot, registrations: &[&ControllerRegistration]) -> BTreeSet<String> {
    let is_workerless = shoot.spec.provider.workers.is_empty();
    let brought = resources(registrations)
        .filter(|resource| is_enabled_for("shoot", resource))
        .filter(|resource| !is_workerless || resource.workerless_supported == Some(true));
    enabled_types(&shoot.spec.extensions, brought)
}

/// Returns the extensions that a Seed requires for itself; none if it is being deleted.
pub fn for_seed(seed: &Seed, registrations: &[&ControllerRegistration]) -> BTreeSet<KindType> {
    if seed.metadata.is_being_deleted() {
        return BTreeSet::new();
    }
    let mut needed = BTreeSet::new();
    for kind in ["ControlPlane", "Infrastructure", "Worker"] {
        needed.insert(kind_type(kind, &seed.spec.provider.r#type));
    }
    needed.extend(seed.spec.dns.provider.iter().map(|provider| kind_type("DNSRecord", &provider.r#type)));
    let brought = resources(registrations).filter(|resource| is_enabled_for("seed", resource));
    needed.extend(enabled_types(&seed.spec.extensions, brought).iter().map(|type_| kind_type("Extension", type_)));
    needed
}

fn resources<'a>(registrations: &[&'a ControllerRegistration]) -> impl Iterator<Item = &'a ControllerResource> {
    registrations.iter().flat_map(|registration| &registration.spec.resources)
}

fn is_enabled_for(cluster: &str, resource: &ControllerResource) -> bool {
    resource.kind == "Extension" && resource.auto_enable.iter().any(|enabled| enabled == cluster)
}

fn enabled_types<'a>(
    own: &[api::core::Extension],
    brought: impl Iterator<Item = &'a ControllerResource>,
) -> BTreeSet<String> {
    let mut types: BTreeSet<String> = brought.map(|resource| resource.r#type.clone()).collect();
    for extension in own {
        if extension.disabled == Some(true) {
            types.remove(&extension.r#type);
        } else {
            types.insert(extension.r#type.clone());
        }
    }
    types
}

/// Returns the registrations that provide the required extensions, by name, and the required kinds without a registration.
///
/// `installed_and_required`: names of registrations whose installation reports that objects of its kinds still exist.
pub fn wanted_registrations<'a>(
    needed: &BTreeSet<KindType>,
    registrations: &[&'a ControllerRegistration],
    installed_and_required: &BTreeSet<String>,
    seed: &Seed,
    has_shoots: bool,
) -> (BTreeMap<String, &'a ControllerRegistration>, BTreeSet<KindType>) {
    let mut missing = needed.clone();
    let mut wanted = BTreeMap::new();
    for registration in registrations {
        let deployment = registration.spec.deployment.as_ref();
        let brings = registration.spec.resources.iter().map(|resource| kind_type(&resource.kind, &resource.r#type));
        let mut is_needed = false;
        for brought in brings {
            is_needed |= needed.contains(&brought);
            missing.remove(&brought);
        }
        let is_wanted_always = !registration.metadata.is_being_deleted()
            && match deployment.and_then(|deployment| deployment.policy.as_deref()) {
                Some("Always") => !seed.metadata.is_being_deleted(),
                Some("AlwaysExceptNoShoots") => has_shoots,
                _ => false,
            };
        let selector = deployment.and_then(|deployment| deployment.seed_selector.as_ref());
        let is_selected = selector.is_none_or(|selector| selects(selector, &seed.metadata));
        let is_wanted = is_needed || is_wanted_always || installed_and_required.contains(&registration.metadata.name);
        if is_wanted && is_selected {
            wanted.insert(registration.metadata.name.clone(), *registration);
        }
    }
    (wanted, missing)
}

fn selects(selector: &apimachinery::meta::LabelSelector, metadata: &ObjectMeta) -> bool {
    apimachinery::selector::Labels::from_selector(selector).is_ok_and(|selector| selector.matches(&metadata.labels))
}

/// Returns the desired installation of a registration on a Seed; `stored`: the existing one.
///
/// Its references have resource versions, and hashes in labels. Unlike upstream: the versions change only with the
/// hashes, so that a changed status of the Seed does not cause a new installation.
pub fn installation(
    stored: Option<&ControllerInstallation>,
    seed: &Seed,
    registration: &ControllerRegistration,
    deployment: Option<&ControllerDeployment>,
) -> ControllerInstallation {
    let mut wanted = stored.cloned().unwrap_or_else(|| ControllerInstallation {
        metadata: ObjectMeta { generate_name: format!("{}-", registration.metadata.name), ..ObjectMeta::default() },
        ..ControllerInstallation::default()
    });
    let mut labels = vec![("registration-spec-hash", hash(&registration.spec)), ("seed-spec-hash", hash(&seed.spec))];
    if let Some(deployment) = deployment {
        labels.push(("deployment-hash", hash(&deployment.helm)));
    }
    let is_current = labels.iter().all(|(key, value)| wanted.metadata.label(key) == Some(value))
        && wanted.spec.deployment_ref.is_some() == deployment.is_some();
    if is_current {
        return wanted;
    }
    for (key, value) in labels {
        wanted.metadata.labels.insert(key.to_owned(), value);
    }
    wanted.spec = ControllerInstallationSpec {
        registration_ref: reference(&registration.metadata),
        seed_ref: Some(reference(&seed.metadata)),
        deployment_ref: deployment.map(|deployment| reference(&deployment.metadata)),
        ..ControllerInstallationSpec::default()
    };
    wanted
}

fn reference(metadata: &ObjectMeta) -> ObjectReference {
    ObjectReference {
        name: metadata.name.clone(),
        resource_version: metadata.resource_version.clone(),
        ..ObjectReference::default()
    }
}

/// Returns a hash of 16 hexadecimal digits.
fn hash(value: &impl Serialize) -> String {
    let bytes = serde_json::to_vec(value).unwrap_or_default();
    Sha256::digest(bytes).iter().take(8).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns an installation with condition `Valid` according to the version of its extension's library; `too_new`: reason
/// for which it must not be installed. Once it may, the condition is removed, and gardenlet writes it again.
pub fn judged(installation: &ControllerInstallation, too_new: Option<&str>, now: Time) -> ControllerInstallation {
    let mut new = installation.clone();
    let conditions = &mut new.status.conditions;
    let is_valid = |condition: &Condition| condition.r#type == condition::INSTALLATION_VALID;
    if let Some(text) = too_new {
        let old = conditions::get_or_initial(conditions, condition::INSTALLATION_VALID, now);
        let valid = updated(&old, "False", library::TOO_NEW, text, &[], now);
        match conditions.iter_mut().find(|condition| is_valid(condition)) {
            Some(condition) => *condition = valid,
            None => conditions.push(valid),
        }
    } else {
        conditions.retain(|condition| !is_valid(condition) || condition.reason != library::TOO_NEW);
    }
    new
}

/// Returns the reason for which the extension for a kind and type must not run on a Seed: its library is too new.
pub fn too_new_for<'a>(
    kind: &str,
    type_: &str,
    seed: &str,
    registrations: impl Iterator<Item = &'a ControllerRegistration>,
    mut installations: impl Iterator<Item = &'a ControllerInstallation>,
) -> Option<String> {
    let serves = |one: &&ControllerRegistration| {
        one.spec.resources.iter().any(|resource| resource.kind == kind && resource.r#type == type_)
    };
    let names: BTreeSet<&str> = registrations.filter(serves).map(|one| one.metadata.name.as_str()).collect();
    installations.find_map(|installation| {
        let is_here = installation.spec.seed_ref.as_ref().is_some_and(|reference| reference.name == seed);
        let is_its = names.contains(installation.spec.registration_ref.name.as_str());
        too_new(installation).filter(|_| is_here && is_its).map(str::to_owned)
    })
}

/// Returns the reason for which the extension of an installation does not run, if its library is too new.
pub fn too_new(installation: &ControllerInstallation) -> Option<&str> {
    let valid = conditions::get(&installation.status.conditions, condition::INSTALLATION_VALID)?;
    (valid.reason == library::TOO_NEW).then_some(&valid.message)
}

#[cfg(test)]
mod tests {
    use api::core::*;

    use super::*;

    fn registration(name: &str, resources: &str) -> ControllerRegistration {
        let resources = resources.split_whitespace().map(|text| {
            let (kind, type_) = text.split_once('/').expect("kind and type");
            let (type_, enabled) = type_.split_once('+').unwrap_or((type_, ""));
            ControllerResource {
                kind: kind.to_owned(),
                r#type: type_.to_owned(),
                auto_enable: enabled.split('+').filter(|cluster| !cluster.is_empty()).map(str::to_owned).collect(),
                ..ControllerResource::default()
            }
        });
        let mut registration = ControllerRegistration::default();
        name.clone_into(&mut registration.metadata.name);
        registration.spec.resources = resources.collect();
        registration
    }

    fn seed() -> Seed {
        let mut seed = Seed::default();
        "local".clone_into(&mut seed.spec.provider.r#type);
        seed.spec.backup = Some(Backup { provider: "local".to_owned(), ..Backup::default() });
        seed
    }

    fn shoot() -> Shoot {
        let mut shoot = Shoot::default();
        "aws".clone_into(&mut shoot.spec.provider.r#type);
        shoot.spec.networking = Some(Networking { r#type: Some("calico".to_owned()), ..Networking::default() });
        shoot.spec.provider.workers.push(Worker {
            machine: Machine {
                image: Some(ShootMachineImage { name: "gardenlinux".to_owned(), ..ShootMachineImage::default() }),
                ..Machine::default()
            },
            cri: Some(CRI {
                name: "containerd".to_owned(),
                container_runtimes: vec![ContainerRuntime { r#type: "gvisor".to_owned(), provider_config: None }],
            }),
            ..Worker::default()
        });
        shoot
    }

    fn names(needed: &BTreeSet<KindType>) -> String {
        needed.iter().map(|(kind, type_)| format!("{kind}/{type_}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn shoots_need_their_provider_network_images_and_runtimes() {
        let needed = for_shoot(&shoot(), &seed(), &[], None, &[]);
        assert_eq!(
            names(&needed),
            "BackupBucket/local BackupEntry/local ContainerRuntime/gvisor ControlPlane/aws ControlPlane/local \
             Infrastructure/aws Network/calico OperatingSystemConfig/gardenlinux Worker/aws"
        );
    }

    #[test]
    fn workerless_shoots_need_no_provider() {
        let mut shoot = shoot();
        shoot.spec.provider.workers.clear();
        assert_eq!(
            names(&for_shoot(&shoot, &seed(), &[], None, &[])),
            "BackupBucket/local BackupEntry/local ControlPlane/local"
        );
    }

    #[test]
    fn dns_records_need_internal_and_default_domains() {
        let mut shoot = shoot();
        shoot.spec.provider.workers.clear();
        shoot.spec.dns = Some(DNS { domain: Some("s.p.example.com".to_owned()), ..DNS::default() });
        let internal = Domain { domain: "internal.example.com".to_owned(), provider: "unmanaged".to_owned() };
        let default = Domain { domain: "example.com".to_owned(), provider: "local".to_owned() };
        let needed = for_shoot(&shoot, &seed(), &[], Some(&internal), &[default]);
        assert_eq!(names(&needed), "BackupBucket/local BackupEntry/local ControlPlane/local DNSRecord/local");
    }

    #[test]
    fn required_extensions_are_configured_or_global() {
        let registrations = [
            registration("a", "Extension/oidc+shoot"),
            registration("b", "Extension/audit+shoot Extension/seeds+seed"),
        ];
        let registrations: Vec<_> = registrations.iter().collect();
        let mut shoot = shoot();
        let extension =
            |type_: &str, disabled| Extension { r#type: type_.to_owned(), disabled, ..Extension::default() };
        shoot.spec.extensions = vec![extension("own", None), extension("audit", Some(true))];
        let types: Vec<_> = extensions_of_shoot(&shoot, &registrations).into_iter().collect();
        assert_eq!(types, ["oidc", "own"]);
        assert_eq!(
            names(&for_seed(&seed(), &registrations)),
            "ControlPlane/local Extension/seeds Infrastructure/local Worker/local"
        );
    }

    #[test]
    fn policies_and_still_required_kinds_add_registrations() {
        let mut always = registration("always", "Extension/x");
        always.spec.deployment =
            Some(ControllerRegistrationDeployment { policy: Some("Always".to_owned()), ..Default::default() });
        let on_demand = registration("on-demand", "Worker/local");
        let left_over = registration("left-over", "Worker/old");
        let registrations = [&always, &on_demand, &left_over];
        let needed = BTreeSet::from([kind_type("Worker", "local"), kind_type("Network", "calico")]);
        let required = BTreeSet::from(["left-over".to_owned()]);
        let (wanted, missing) = wanted_registrations(&needed, &registrations, &required, &seed(), false);
        assert_eq!(wanted.keys().collect::<Vec<_>>(), ["always", "left-over", "on-demand"]);
        assert_eq!(names(&missing), "Network/calico");
    }

    #[test]
    fn installation_changes_with_the_specifications_only() {
        let mut seed = seed();
        "1".clone_into(&mut seed.metadata.resource_version);
        let registration = registration("provider-local", "Worker/local");
        let first = installation(None, &seed, &registration, None);
        assert_eq!(first.metadata.generate_name, "provider-local-");
        assert_eq!(first.metadata.labels["seed-spec-hash"].len(), 16);
        "2".clone_into(&mut seed.metadata.resource_version);
        assert_eq!(installation(Some(&first), &seed, &registration, None), first);
        "region".clone_into(&mut seed.spec.provider.region);
        let second = installation(Some(&first), &seed, &registration, None);
        assert_eq!(second.spec.seed_ref.map(|seed| seed.resource_version).as_deref(), Some("2"));
    }

    #[test]
    fn an_extension_with_a_newer_library_is_checked_again() {
        let mut installation = ControllerInstallation::default();
        "local".clone_into(&mut installation.spec.registration_ref.name);
        installation.spec.seed_ref = Some(ObjectReference { name: "a".to_owned(), ..ObjectReference::default() });
        let registrations = [registration("local", "Worker/local"), registration("other", "Worker/other")];
        let found = |installation: &ControllerInstallation, type_: &str, seed: &str| {
            too_new_for("Worker", type_, seed, registrations.iter(), [installation].into_iter())
        };
        let now = Time::default();
        assert_eq!(judged(&installation, None, now), installation);
        assert_eq!(found(&installation, "local", "a"), None);

        let judged_so = judged(&installation, Some("too new"), now);
        assert_eq!(too_new(&judged_so), Some("too new"));
        assert_eq!(found(&judged_so, "local", "a").as_deref(), Some("too new"));
        assert_eq!(found(&judged_so, "other", "a"), None, "another extension");
        assert_eq!(found(&judged_so, "local", "b"), None, "another Seed");
        assert_eq!(judged(&judged_so, None, now).status.conditions, []);

        let valid = updated(
            &conditions::initial(condition::INSTALLATION_VALID, now),
            "True",
            "RegistrationValid",
            "",
            &[],
            now,
        );
        installation.status.conditions = vec![valid];
        assert_eq!(judged(&installation, None, now), installation, "what gardenlet says stays");
    }
}
