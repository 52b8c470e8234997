// SPDX-License-Identifier: Apache-2.0
//! Plugins around ControllerRegistrations.

use api::constants::{annotation, namespace};
use api::core::{
    BackupBucket, BackupEntry, CloudProfile, ControllerRegistration, NamespacedCloudProfile, SecretBinding, Seed, Shoot,
};
use api::core_v1::ControllerDeployment;
use api::kubernetes::core::Namespace;
use api::security::CredentialsBinding;
use apimachinery::Resource;
use apimachinery::field::{FieldError, Path};
use domain::admission::Refusal;
use domain::admission::extensions::{
    Labels, check_backup, check_primary, check_seed, check_shoot, is_built_in, way_out,
};
use domain::profile::Profile;
use domain::skew::enforcement::Enforcement;
use domain::skew::library;
use generic_apiserver::{Attributes, Operation, Plugin, Reads};

use super::{Verdict, refused, stored, writes};

/// Checks that every extension that an object needs is registered.
pub(super) struct ExtensionValidator;

impl Plugin for ExtensionValidator {
    fn name(&self) -> &'static str {
        "ExtensionValidator"
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        let registrations = || reads.list::<ControllerRegistration>(None);
        if writes::<Shoot>(attributes, &["", "binding"]) {
            let old = stored::<Shoot>(attributes).map(|old| &old.spec);
            let Some(shoot) = attributes.object::<Shoot>() else { return Ok(()) };
            if shoot.metadata.is_being_deleted() || old == Some(&shoot.spec) {
                return Ok(());
            }
            let result = check_shoot(&shoot.spec, &registrations());
            return result.map_err(|refusal| refused::<Shoot>(attributes, refusal));
        }
        if writes::<Seed>(attributes, &[""]) {
            let old = stored::<Seed>(attributes).map(|old| &old.spec);
            let Some(seed) = attributes.object::<Seed>() else { return Ok(()) };
            if seed.metadata.is_being_deleted() || old == Some(&seed.spec) {
                return Ok(());
            }
            let result = check_seed(&seed.spec, &registrations());
            return result.map_err(|refusal| refused::<Seed>(attributes, refusal));
        }
        if writes::<BackupBucket>(attributes, &[""]) {
            let old = stored::<BackupBucket>(attributes).map(|old| &old.spec);
            let Some(bucket) = attributes.object::<BackupBucket>() else { return Ok(()) };
            if old == Some(&bucket.spec) {
                return Ok(());
            }
            let result = check_backup("BackupBucket", &bucket.spec.provider.r#type, &registrations());
            return result.map_err(|refusal| refused::<BackupBucket>(attributes, refusal));
        }
        if writes::<BackupEntry>(attributes, &[""]) {
            let old = stored::<BackupEntry>(attributes).map(|old| &old.spec);
            let Some(entry) = attributes.object::<BackupEntry>() else { return Ok(()) };
            let bucket = reads.get::<BackupBucket>("", &entry.spec.bucket_name);
            let Some(bucket) = bucket.filter(|_| old != Some(&entry.spec)) else { return Ok(()) };
            let result = check_backup("BackupEntry", &bucket.spec.provider.r#type, &registrations());
            return result.map_err(|refusal| refused::<BackupEntry>(attributes, refusal));
        }
        Ok(())
    }
}

/// Sets the labels that name the extensions of an object.
pub(super) struct ExtensionLabels;

impl Plugin for ExtensionLabels {
    fn name(&self) -> &'static str {
        "ExtensionLabels"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        label::<Seed>(attributes, |seed| Labels::of_seed(&seed.spec));
        label::<CloudProfile>(attributes, |profile| Labels::providers([profile.spec.r#type.as_str()]));
        label::<SecretBinding>(attributes, |binding| {
            let types = binding.provider.as_ref().map(|provider| provider.r#type.as_str());
            Labels::providers(types.into_iter().flat_map(|types| types.split(',')))
        });
        label::<CredentialsBinding>(attributes, |binding| Labels::providers([binding.provider.r#type.as_str()]));
        label::<BackupBucket>(attributes, |bucket| Labels::providers([bucket.spec.provider.r#type.as_str()]));
        label::<Shoot>(attributes, |shoot| Labels::of_shoot(&shoot.spec, &reads.list::<ControllerRegistration>(None)));
        label::<NamespacedCloudProfile>(attributes, |profile| {
            let parent = reads.get::<CloudProfile>("", &profile.spec.parent.name);
            Labels::providers(parent.iter().map(|parent| parent.spec.r#type.as_str()))
        });
        label::<BackupEntry>(attributes, |entry| {
            let bucket = reads.get::<BackupBucket>("", &entry.spec.bucket_name);
            Labels::providers(bucket.iter().map(|bucket| bucket.spec.provider.r#type.as_str()))
        });
        Ok(())
    }
}

/// Labels an object in requests for the object and for its status. A write of the status cannot change the fields from
/// which the labels are derived, but it can remove labels.
fn label<K: Resource>(attributes: &mut Attributes<'_>, labels: impl FnOnce(&K) -> Labels) {
    if attributes.operation == Operation::Delete || !attributes.is::<K>() {
        return;
    }
    let old = stored::<K>(attributes).map(|old| &old.metadata().labels);
    let is_main = writes::<K>(attributes, &["", "binding"]);
    if let Some(object) = attributes.object::<K>()
        && (is_main || old != Some(&object.metadata().labels))
    {
        labels(object).apply(object.metadata_mut());
    }
}

/// Checks that only one ControllerRegistration is primary for a kind and type.
pub(super) struct ControllerRegistrationResources;

impl Plugin for ControllerRegistrationResources {
    fn name(&self) -> &'static str {
        "ControllerRegistrationResources"
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        if !writes::<ControllerRegistration>(attributes, &[""]) {
            return Ok(());
        }
        let old = stored::<ControllerRegistration>(attributes).map(|old| &old.spec);
        let Some(registration) = attributes.object::<ControllerRegistration>() else { return Ok(()) };
        if old == Some(&registration.spec) {
            return Ok(());
        }
        let others = reads.list_decisive::<ControllerRegistration>();
        let Err(mut refusal) = check_primary(registration, &others) else { return Ok(()) };
        let of_landscape = |other: &ControllerRegistration| {
            let named = other.spec.deployment.iter().flat_map(|deployment| &deployment.deployment_refs);
            let deployments = named.filter_map(|named| reads.get::<ControllerDeployment>("", &named.name));
            deployments.into_iter().any(|deployment| is_built_in(&deployment))
        };
        if let (Refusal::Forbidden(text), Some(way)) = (&mut refusal, way_out(registration, &others, of_landscape)) {
            *text = format!("{text}; {way}");
        }
        Err(refused::<ControllerRegistration>(attributes, refusal))
    }
}

/// Checks that the library version that an extension declares is not newer than any gardenlet (rule E1).
pub(super) struct ExtensionLibrary(pub(super) Profile);

impl ExtensionLibrary {
    /// Returns the violation of a declared library in the request, and its enforcement.
    fn found(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Option<(String, Enforcement)> {
        if !writes::<ControllerDeployment>(attributes, &[""]) {
            return None;
        }
        let old = stored::<ControllerDeployment>(attributes).and_then(library::declared);
        let deployment = attributes.object::<ControllerDeployment>()?;
        if library::declared(deployment) == old {
            return None;
        }
        let seeds = reads.list::<Seed>(None);
        let text = library::violation(deployment, seeds.iter().map(AsRef::as_ref))?;
        let instances = reads.get::<Namespace>("", namespace::INSTANCES);
        let said = instances.as_ref().and_then(|one| one.metadata.annotation(annotation::SKEW_ENFORCEMENT));
        let enforcement = said.and_then(Enforcement::named).unwrap_or_else(|| Enforcement::usual(self.0));
        Some((text, enforcement))
    }
}

impl Plugin for ExtensionLibrary {
    fn name(&self) -> &'static str {
        "ExtensionLibrary"
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        let Some((text, Enforcement::Enforce)) = self.found(attributes, reads) else { return Ok(()) };
        let path = Path::new("metadata").child("annotations").key(annotation::EXTENSIONS_LIBRARY_VERSION);
        let errors = vec![FieldError::forbidden(&path, &text)];
        Err(refused::<ControllerDeployment>(attributes, Refusal::Invalid(errors)))
    }

    fn warnings(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Vec<String> {
        match self.found(attributes, reads) {
            Some((text, Enforcement::Warn)) => vec![format!("version skew: {text}")],
            _ => Vec::new(),
        }
    }
}
