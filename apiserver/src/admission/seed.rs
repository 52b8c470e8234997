// SPDX-License-Identifier: Apache-2.0
//! Plugins for Seeds.

use api::constants::{annotation, label, namespace, role};
use api::core::{Seed, Shoot};
use api::kubernetes::core::Secret;
use apimachinery::release::Release;
use apimachinery::{GroupResource, Resource, Status};
use domain::admission::Refusal;
use domain::admission::bindings::{check_seed_deletion, check_seed_zones, label_seed};
use domain::admission::seed_domains::Uses;
use generic_apiserver::{Attributes, Operation, Plugin, Reads};

use super::{Verdict, refused, stored, writes};

/// Returns what changes of the domains of a Seed depend on.
pub(super) fn uses(reads: &Reads<'_>, release: Release) -> Uses {
    let secrets = reads.list::<Secret>(Some(namespace::GARDEN));
    let secrets = secrets.iter().filter(|secret| secret.metadata.label(label::ROLE) == Some(role::DEFAULT_DOMAIN));
    let domains = secrets.filter_map(|secret| secret.metadata.annotation(annotation::DNS_DOMAIN));
    let default_domains = domains.filter(|domain| !domain.is_empty()).map(str::to_owned).collect();
    Uses { shoots: reads.list::<Shoot>(None), default_domains, release }
}

/// Prevents the deletion of a Seed with Shoots, and changes of its zones and domains.
pub(super) struct SeedValidator {
    pub(super) release: Release,
}

impl Plugin for SeedValidator {
    fn name(&self) -> &'static str {
        "SeedValidator"
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        if !attributes.is_main::<Seed>() {
            return Ok(());
        }
        let Some(old) = stored::<Seed>(attributes) else { return Ok(()) };
        let name = old.metadata.name.as_str();
        let result = match attributes.operation {
            Operation::Create => Ok(()),
            Operation::Delete => {
                let shoots = reads.list_decisive::<Shoot>();
                check_seed_deletion(name, shoots.iter().map(AsRef::as_ref))
            }
            Operation::Update => {
                let Some(seed) = attributes.object::<Seed>() else { return Ok(()) };
                let in_use = || {
                    let shoots = reads.list::<Shoot>(None);
                    check_seed_deletion(name, shoots.iter().map(AsRef::as_ref)).is_err()
                };
                let result = check_seed_zones(seed, old, in_use).and_then(|()| {
                    let (new, old) = (&seed.spec.dns, &old.spec.dns);
                    let lost = if new == old { Vec::new() } else { uses(reads, self.release).lost(name, new, old) };
                    lost.first().map_or(Ok(()), |lost| Err(Refusal::Forbidden(lost.text(name))))
                });
                // Upstream names the kind in place of the resource.
                let resource = GroupResource { group: Seed::GROUP.to_owned(), resource: Seed::KIND.to_owned() };
                return result.map_err(|refusal| match refusal {
                    Refusal::Forbidden(text) => Status::forbidden(&resource, name, &text),
                    other => refused::<Seed>(attributes, other),
                });
            }
        };
        result.map_err(|refusal| refused::<Seed>(attributes, refusal))
    }
}

/// Sets the label with a Seed's own name.
pub(super) struct SeedMutator;

impl Plugin for SeedMutator {
    fn name(&self) -> &'static str {
        "SeedMutator"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, _: &mut Reads<'_>) -> Verdict {
        if writes::<Seed>(attributes, &["", "status"])
            && let Some(seed) = attributes.object::<Seed>()
        {
            label_seed(seed);
        }
        Ok(())
    }
}
