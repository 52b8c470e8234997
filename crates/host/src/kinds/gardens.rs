// SPDX-License-Identifier: Apache-2.0
//! Gardens and operator Extensions: validation and warnings of gardener-operator's webhooks, implemented in the host so
//! that they apply even while no operator runs.
//!
//! The rules are those of [`domain::validation::garden`], [`domain::validation::operator_extension`] and
//! [`domain::warnings`].

use api::cluster;
use api::constants::annotation;
use api::operator::{Extension, Garden, GardenStatus};
use apimachinery::field::FieldError;
use apimachinery::{GroupKind, GroupResource, Resource, Status};
use domain::validation::{garden, operator_extension};
use domain::warnings;
use generic_apiserver::admission::{Attributes, Operation, Plugin, Reads};
use generic_apiserver::registry::Generation;
use generic_apiserver::{RequestContext, Strategy};

use crate::kinds::installed::Installed;

/// Validation of Gardens.
#[derive(Clone, Debug)]
pub(crate) struct GardenStrategy(pub(crate) garden::Rules);

impl Strategy<Garden> for GardenStrategy {
    fn prepare_for_create(&self, object: &mut Garden, _: &RequestContext) {
        object.status = GardenStatus::default();
    }

    fn validate_create(&self, object: &Garden, _: &RequestContext) -> Vec<FieldError> {
        garden::garden(object, &self.0)
    }

    fn validate_update(&self, object: &Garden, old: &Garden, request: &RequestContext) -> Vec<FieldError> {
        // Stored objects must remain changeable for their controllers: finalizers, status, annotations that are
        // consumed.
        let is_kept = object.spec == old.spec
            && object.metadata.annotation(annotation::OPERATION) == old.metadata.annotation(annotation::OPERATION);
        let consumes = object.spec == old.spec && object.metadata.annotation(annotation::OPERATION).is_none();
        if &*request.subresource == "status" || is_kept || consumes {
            return Vec::new();
        }
        garden::garden_update(object, old, &self.0)
    }

    fn warnings(&self, object: &Garden, _: Option<&Garden>, request: &RequestContext) -> Vec<String> {
        if !request.subresource.is_empty() {
            return Vec::new();
        }
        warnings::garden(object, self.0.release(object))
    }

    fn generation(&self) -> Generation {
        Generation::Standard
    }
}

/// Validation that needs other objects, or only the old object, and that of Extensions, by the release of gardener-operator.
#[derive(Clone, Debug)]
pub(crate) struct GardenAdmission(pub(crate) Installed);

impl GardenAdmission {
    /// Checks a written Extension; one whose specification is unchanged must remain changeable for its controller.
    fn extension(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        let Some(release) = self.0.release(cluster::RUNTIME) else { return Ok(()) };
        let old = attributes.old::<Extension>().cloned();
        let Some(new) = attributes.object::<Extension>() else { return Ok(()) };
        let errors = match &old {
            None => operator_extension::extension(new, release),
            Some(old) if old.spec == new.spec => Vec::new(),
            Some(old) => operator_extension::extension_update(new, old, release),
        };
        if errors.is_empty() {
            return Ok(());
        }
        let kind = GroupKind { group: Extension::GROUP.to_owned(), kind: Extension::KIND.to_owned() };
        Err(Status::invalid(&kind, &new.metadata.name, &errors))
    }
}

impl Plugin for GardenAdmission {
    fn name(&self) -> &'static str {
        "GardenOperator"
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Result<(), Status> {
        match attributes.operation {
            Operation::Create if attributes.is_main::<Garden>() => {
                let others = reads.list_decisive::<Garden>().len();
                let Some(new) = attributes.object::<Garden>() else { return Ok(()) };
                garden::creation(&new.metadata, others).map_err(Status::bad_request)
            }
            Operation::Create | Operation::Update if attributes.is_main::<Extension>() => self.extension(attributes),
            Operation::Delete if attributes.is_main::<Garden>() => {
                let verdict = attributes.old::<Garden>().map(|old| garden::deletion(&old.metadata));
                verdict.unwrap_or(Ok(())).map_err(|text| forbidden::<Garden>(attributes.name, &text))
            }
            Operation::Delete if attributes.is_main::<Extension>() => {
                let verdict = attributes.old::<Extension>().map(garden::extension_deletion);
                verdict.unwrap_or(Ok(())).map_err(|text| forbidden::<Extension>(attributes.name, &text))
            }
            _ => Ok(()),
        }
    }
}

fn forbidden<K: Resource>(name: &str, text: &str) -> Status {
    let resource = GroupResource { group: K::GROUP.to_owned(), resource: K::PLURAL.to_owned() };
    Status::forbidden(&resource, name, text)
}
