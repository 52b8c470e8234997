// SPDX-License-Identifier: Apache-2.0
//! Plugins for Seeds.

use api::core::{Seed, Shoot};
use domain::admission::bindings::{check_seed_deletion, check_seed_zones, label_seed};
use generic_apiserver::{Attributes, Operation, Plugin, Reads};

use super::{Verdict, refused, stored, writes};

/// Prevents the deletion of a Seed with Shoots, and changes of its zones.
pub(super) struct SeedValidator;

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
                check_seed_zones(seed, old, in_use)
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
