// SPDX-License-Identifier: Apache-2.0
//! Faults as objects: `faults.terrarium.dev` in cluster `runtime`.
//!
//! The rules are [`domain::fault`]'s. No fault acts on the host: components read the faults that apply to them.

use api::terrarium::{Fault, FaultStatus};
use apimachinery::field::FieldError;
use domain::fault;
use generic_apiserver::{RequestContext, Strategy};

/// Defaults and validation of faults.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FaultStrategy;

impl Strategy<Fault> for FaultStrategy {
    fn default(&self, object: &mut Fault) {
        fault::default(object);
    }

    fn prepare_for_create(&self, object: &mut Fault, _: &RequestContext) {
        object.status = FaultStatus::default();
    }

    fn validate_create(&self, object: &Fault, _: &RequestContext) -> Vec<FieldError> {
        fault::validate(object)
    }

    fn validate_update(&self, object: &Fault, _: &Fault, _: &RequestContext) -> Vec<FieldError> {
        fault::validate(object)
    }
}
