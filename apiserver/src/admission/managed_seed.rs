// SPDX-License-Identifier: Apache-2.0
//! Plugins for ManagedSeeds and their Shoots.

use std::sync::Arc;

use api::constants::{annotation, label, namespace, role};
use api::core::Shoot;
use api::kubernetes::core::Secret;
use api::seedmanagement::{Gardenlet, ManagedSeed as Object};
use apimachinery::release::{Release, Releases};
use apimachinery::{Resource, Status};
use domain::admission::bindings::check_seed_deletion;
use domain::admission::managed_seed as rules;
use domain::validation::gardenlet_configuration;
use generic_apiserver::{Attributes, Operation, Plugin, Reads};
use serde_json::{Value, json};

use super::{Verdict, refused, seed, stored, writes};

/// Releases whose Seeds name the credentials of their DNS provider by `credentialsRef`.
const CREDENTIALS_REF: Releases = Releases::since(135);

/// Validates and completes a ManagedSeed by its Shoot.
pub(super) struct ManagedSeed {
    pub(super) release: Release,
}

impl Plugin for ManagedSeed {
    fn name(&self) -> &'static str {
        "ManagedSeed"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        if !attributes.is_main::<Object>() || attributes.operation == Operation::Delete {
            return Ok(());
        }
        let old = stored::<Object>(attributes);
        let Some(managed) = attributes.object::<Object>() else { return Ok(()) };
        let (shoot, other) = around(managed, reads);
        let provider = dns_provider(shoot.as_deref(), self.release, reads);
        let uses = seed::uses(reads, self.release);
        let result = rules::admit(managed, old, shoot.as_deref(), other.as_deref(), &provider, &uses);
        result.map_err(|refusal| refused::<Object>(attributes, refusal))
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        if !attributes.is_main::<Object>() || attributes.operation == Operation::Delete {
            return Ok(());
        }
        let old = stored::<Object>(attributes);
        let Some(managed) = attributes.object::<Object>() else { return Ok(()) };
        let (shoot, other) = around(managed, reads);
        let uses = seed::uses(reads, self.release);
        let result = rules::validate(managed, old, shoot.as_deref(), other.as_deref(), &uses);
        result.map_err(|refusal| refused::<Object>(attributes, refusal))
    }
}

/// Returns the Shoot of a ManagedSeed, and the name of another ManagedSeed of the same Shoot.
fn around(managed: &Object, reads: &mut Reads<'_>) -> (Option<Arc<Shoot>>, Option<String>) {
    let name = managed.spec.shoot.as_ref().map(|shoot| shoot.name.clone()).unwrap_or_default();
    let shoot = reads.get_decisive::<Shoot>(&managed.metadata.namespace, &name);
    let others = reads.list::<Object>(Some(&managed.metadata.namespace));
    let is_other = |other: &&Arc<Object>| {
        other.metadata.name != managed.metadata.name && other.spec.shoot.as_ref().is_some_and(|it| it.name == name)
    };
    let other = others.iter().find(is_other);
    (shoot, other.map(|other| format!("{}/{}", other.metadata.namespace, other.metadata.name)))
}

/// Returns the provider of the default domain to which a Shoot's domain belongs; null: it belongs to none.
fn dns_provider(shoot: Option<&Shoot>, release: Release, reads: &Reads<'_>) -> Value {
    let domain = shoot.and_then(|shoot| shoot.spec.dns.as_ref()?.domain.clone()).unwrap_or_default();
    let secrets = reads.list::<Secret>(Some(namespace::GARDEN));
    let of_domain = |secret: &&Arc<Secret>| {
        let own = secret.metadata.annotation(annotation::DNS_DOMAIN).unwrap_or_default();
        secret.metadata.label(label::ROLE) == Some(role::DEFAULT_DOMAIN)
            && !own.is_empty()
            && domain.strip_suffix(own).is_some_and(|rest| rest.ends_with('.'))
    };
    secrets.iter().find(of_domain).map_or(Value::Null, |secret| {
        let mut provider = json!({ "type": secret.metadata.annotation(annotation::DNS_PROVIDER) });
        let name = &secret.metadata.name;
        if CREDENTIALS_REF.contain(release) {
            provider["credentialsRef"] =
                json!({ "apiVersion": "v1", "kind": Secret::KIND, "name": name, "namespace": namespace::GARDEN });
        } else {
            provider["secretRef"] = json!({ "name": name, "namespace": namespace::GARDEN });
        }
        provider
    })
}

/// Refuses Gardenlets and ManagedSeeds whose configuration cannot be read. Upstream reads it with the object, before admission.
pub(super) struct Configurations {
    pub(super) release: Release,
}

impl Plugin for Configurations {
    fn name(&self) -> &'static str {
        "GardenletConfiguration"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, _: &mut Reads<'_>) -> Verdict {
        let (config, kind) = if writes::<Object>(attributes, &[""]) {
            (attributes.object::<Object>().map(|seed| seed.spec.gardenlet.config.clone()), Object::KIND)
        } else if writes::<Gardenlet>(attributes, &[""]) {
            (attributes.object::<Gardenlet>().map(|gardenlet| gardenlet.spec.config.clone()), Gardenlet::KIND)
        } else {
            return Ok(());
        };
        let Some(Err(reason)) = config.map(|config| gardenlet_configuration::read(&config, self.release)) else {
            return Ok(());
        };
        let text = format!("{kind} in version \"v1alpha1\" cannot be handled as a {kind}: {reason}");
        Err(Status::bad_request(text))
    }
}

/// Allows the deletion of a ManagedSeed only if its Seed has no Shoots.
pub(super) struct ManagedSeedShoot;

impl Plugin for ManagedSeedShoot {
    fn name(&self) -> &'static str {
        "ManagedSeedShoot"
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        if !attributes.is_main::<Object>() || attributes.operation != Operation::Delete {
            return Ok(());
        }
        let Some(seed) = stored::<Object>(attributes) else { return Ok(()) };
        let shoots = reads.list_decisive::<Shoot>();
        let is_in_use = check_seed_deletion(&seed.metadata.name, shoots.iter().map(AsRef::as_ref)).is_err();
        rules::check_deletion(seed, is_in_use).map_err(|refusal| refused::<Object>(attributes, refusal))
    }
}

/// Refuses changes that make the Shoot of a Seed unsuitable, and its deletion.
pub(super) struct ShootManagedSeed;

impl Plugin for ShootManagedSeed {
    fn name(&self) -> &'static str {
        "ShootManagedSeed"
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        if !attributes.is_main::<Shoot>() {
            return Ok(());
        }
        let Some(old) = stored::<Shoot>(attributes).filter(|old| old.metadata.namespace == namespace::GARDEN) else {
            return Ok(());
        };
        let seeds = reads.list::<Object>(Some(namespace::GARDEN));
        let is_its =
            |seed: &&Arc<Object>| seed.spec.shoot.as_ref().is_some_and(|shoot| shoot.name == old.metadata.name);
        let Some(seed) = seeds.iter().find(is_its) else { return Ok(()) };
        let result = match attributes.operation {
            Operation::Create => Ok(()),
            Operation::Delete => Err(rules::is_referenced(old)),
            Operation::Update => {
                let Some(shoot) = attributes.object::<Shoot>() else { return Ok(()) };
                rules::check_shoot_update(shoot, old, seed)
            }
        };
        result.map_err(|refusal| refused::<Shoot>(attributes, refusal))
    }
}
