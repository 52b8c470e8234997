// SPDX-License-Identifier: Apache-2.0
//! Admission of NamespacedCloudProfiles by their parents.

use api::core::{CloudProfile, NamespacedCloudProfile};
use domain::admission::Refusal;
use domain::admission::namespaced_cloud_profile::check_namespaced;
use domain::validation::shoot::Gates;
use generic_apiserver::{Attributes, Plugin, Reads};

use super::{Verdict, refused, stored, writes};

/// Checks that a NamespacedCloudProfile is compatible with its parent.
pub(super) struct NamespacedCloudProfileValidator(pub(super) Gates);

impl Plugin for NamespacedCloudProfileValidator {
    fn name(&self) -> &'static str {
        "NamespacedCloudProfileValidator"
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        if !writes::<NamespacedCloudProfile>(attributes, &[""]) {
            return Ok(());
        }
        let old = stored::<NamespacedCloudProfile>(attributes);
        let now = attributes.request.now;
        let Some(profile) = attributes.object::<NamespacedCloudProfile>() else { return Ok(()) };
        let unchanged = |old: &NamespacedCloudProfile| {
            old.spec == profile.spec && (old.metadata == profile.metadata || profile.metadata.is_being_deleted())
        };
        if old.is_some_and(unchanged) {
            return Ok(());
        }
        let result = match reads.get_decisive::<CloudProfile>("", &profile.spec.parent.name) {
            Some(parent) => check_namespaced(profile, old, &parent.spec, self.0, now),
            None => Err(Refusal::BadRequest("parent CloudProfile could not be found".to_owned())),
        };
        result.map_err(|refusal| refused::<NamespacedCloudProfile>(attributes, refusal))
    }
}
