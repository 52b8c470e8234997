// SPDX-License-Identifier: Apache-2.0
//! Plugins around Projects.

use api::core::{Project, Shoot};
use apimachinery::release::Release;
use generic_apiserver::{Attributes, Operation, Plugin, Reads};

use super::{
    Verdict, add_default_tolerations, admit_project, check_tolerations, project_of_shoot, refused, stored, writes,
};

/// Sets and checks owner, creator and namespace of a Project.
pub(super) struct ProjectValidator(pub(super) Release);

impl Plugin for ProjectValidator {
    fn name(&self) -> &'static str {
        "ProjectValidator"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, _: &mut Reads<'_>) -> Verdict {
        if !writes::<Project>(attributes, &[""]) {
            return Ok(());
        }
        let is_new = attributes.operation == Operation::Create;
        let user = attributes.request.user.name.clone();
        let Some(project) = attributes.object::<Project>() else { return Ok(()) };
        let result = admit_project(project, is_new, &user, self.0);
        result.map_err(|refusal| refused::<Project>(attributes, refusal))
    }
}

/// Restricts tolerations of Shoots by their Project.
pub(super) struct ShootTolerationRestriction;

impl Plugin for ShootTolerationRestriction {
    fn name(&self) -> &'static str {
        "ShootTolerationRestriction"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        if attributes.operation != Operation::Create || !attributes.is_main::<Shoot>() {
            return Ok(());
        }
        let Some(shoot) = attributes.object::<Shoot>() else { return Ok(()) };
        let result = project_of_shoot(shoot, reads).map(|project| add_default_tolerations(shoot, &project));
        result.map_err(|refusal| refused::<Shoot>(attributes, refusal))
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        if !writes::<Shoot>(attributes, &["", "binding"]) {
            return Ok(());
        }
        let old = stored::<Shoot>(attributes);
        let Some(shoot) = attributes.object::<Shoot>() else { return Ok(()) };
        if old.map_or(&[][..], |old| &old.spec.tolerations) == shoot.spec.tolerations {
            return Ok(());
        }
        let result = project_of_shoot(shoot, reads).and_then(|project| check_tolerations(shoot, old, &project));
        result.map_err(|refusal| refused::<Shoot>(attributes, refusal))
    }
}
