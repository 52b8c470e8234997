// SPDX-License-Identifier: Apache-2.0
//! Plugins around deletion.

use api::constants::finalizer;
use api::core::{Project, SecretBinding, Shoot, ShootState};
use api::security::CredentialsBinding;
use apimachinery::{GroupResource, Resource, Status};
use domain::admission::bindings::{
    check_binding_finalizer, check_deletion, check_shoot_finalizer, record_confirmation,
};
use domain::admission::{Refusal, multierror};
use generic_apiserver::{Attributes, Operation, Plugin, Reads};

use super::{Verdict, project_of, refused, stored, writes};

/// Allows the deletion of Shoots, Projects and ShootStates only after a confirmation.
pub(super) struct DeletionConfirmation;

fn check<K: Resource>(attributes: &mut Attributes<'_>, reads: &Reads<'_>) -> Verdict {
    if !attributes.is_main::<K>() {
        return Ok(());
    }
    if attributes.request.collection {
        return check_all::<K>(attributes, reads);
    }
    let Some(meta) = stored::<K>(attributes).map(Resource::metadata) else { return Ok(()) };
    let project = project_of(&meta.namespace, reads);
    let user = &attributes.request.user.name;
    check_deletion(meta, K::PLURAL, project.as_deref(), user).map_err(|refusal| refused::<K>(attributes, refusal))
}

/// Checks, as [`check`], every object of the collection regardless of selectors: upstream's plugin gets no name.
fn check_all<K: Resource>(attributes: &mut Attributes<'_>, reads: &Reads<'_>) -> Verdict {
    let namespace = Some(attributes.namespace).filter(|namespace| !namespace.is_empty());
    let user = &attributes.request.user.name;
    let resource = GroupResource { group: K::GROUP.to_owned(), resource: K::PLURAL.to_owned() };
    let all = reads.list::<K>(namespace);
    let refusals = all.iter().filter_map(|object| {
        let meta = object.metadata();
        let project = project_of(&meta.namespace, reads);
        match check_deletion(meta, K::PLURAL, project.as_deref(), user) {
            Err(Refusal::Forbidden(text)) => Some(Status::forbidden(&resource, &meta.name, &text).message),
            _ => None,
        }
    });
    let refusals: Vec<String> = refusals.collect();
    if refusals.is_empty() { Ok(()) } else { Err(Status::forbidden(&resource, "Unknown", &multierror(&refusals))) }
}

impl Plugin for DeletionConfirmation {
    fn name(&self) -> &'static str {
        "DeletionConfirmation"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, _: &mut Reads<'_>) -> Verdict {
        if !writes::<Shoot>(attributes, &[""]) {
            return Ok(());
        }
        let old = stored::<Shoot>(attributes).map(|old| &old.metadata);
        let user = &attributes.request.user.name;
        if let Some(shoot) = attributes.object::<Shoot>() {
            record_confirmation(&mut shoot.metadata, old, user);
        }
        Ok(())
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        if attributes.operation != Operation::Delete {
            return Ok(());
        }
        check::<Shoot>(attributes, reads)?;
        check::<Project>(attributes, reads)?;
        check::<ShootState>(attributes, reads)
    }
}

/// Keeps Gardener's finalizer as long as it is needed.
pub(super) struct FinalizerRemoval;

impl Plugin for FinalizerRemoval {
    fn name(&self) -> &'static str {
        "FinalizerRemoval"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        if attributes.operation != Operation::Update {
            return Ok(());
        }
        if attributes.is::<Shoot>() {
            if !removes_gardener_finalizer::<Shoot>(attributes) {
                return Ok(());
            }
            let Some(old) = stored::<Shoot>(attributes) else { return Ok(()) };
            let Some(shoot) = attributes.object::<Shoot>() else { return Ok(()) };
            let result = check_shoot_finalizer(shoot, old);
            return result.map_err(|refusal| refused::<Shoot>(attributes, refusal));
        }
        binding::<SecretBinding>(attributes, "secret binding", reads, |shoot, name| {
            shoot.spec.secret_binding_name.as_deref() == Some(name)
        })?;
        binding::<CredentialsBinding>(attributes, "credentials binding", reads, |shoot, name| {
            shoot.spec.credentials_binding_name.as_deref() == Some(name)
        })
    }
}

/// True if an update removes Gardener's finalizer, determined without copying the object.
fn removes_gardener_finalizer<K: Resource>(attributes: &mut Attributes<'_>) -> bool {
    stored::<K>(attributes).is_some_and(|old| old.metadata().has_finalizer(finalizer::GARDENER))
        && attributes.object::<K>().is_some_and(|new| !new.metadata().has_finalizer(finalizer::GARDENER))
}

fn binding<K: Resource>(
    attributes: &mut Attributes<'_>,
    what: &str,
    reads: &Reads<'_>,
    uses: fn(&Shoot, &str) -> bool,
) -> Verdict {
    if !attributes.is::<K>() || !removes_gardener_finalizer::<K>(attributes) {
        return Ok(());
    }
    let Some(old) = stored::<K>(attributes).map(Resource::metadata) else { return Ok(()) };
    let Some(new) = attributes.object::<K>().map(|new| new.metadata()) else { return Ok(()) };
    let in_use = || reads.list::<Shoot>(Some(&old.namespace)).iter().any(|shoot| uses(shoot, &old.name));
    check_binding_finalizer(what, new, old, in_use).map_err(|refusal| refused::<K>(attributes, refusal))
}
