// SPDX-License-Identifier: Apache-2.0
//! Roles, ClusterRoles and their bindings: defaults and validation. The authorizer decides on permissions to write
//! them.
//!
//! The rules are [`domain::rbac::validation`]'s.

use apimachinery::field::FieldError;
use domain::rbac::validation::RbacKind;
use generic_apiserver::registry::Generation;
use generic_apiserver::{RequestContext, Strategy};

/// Strategy of all four kinds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RbacStrategy;

impl<K: RbacKind> Strategy<K> for RbacStrategy {
    fn default(&self, object: &mut K) {
        object.fill();
    }

    fn validate_create(&self, object: &K, _: &RequestContext) -> Vec<FieldError> {
        object.violations()
    }

    fn validate_update(&self, object: &K, old: &K, _: &RequestContext) -> Vec<FieldError> {
        object.violations_after(old)
    }

    fn generation(&self) -> Generation {
        Generation::None
    }

    fn allows_unconditional_update(&self) -> bool {
        true
    }

    fn allows_create_on_update(&self) -> bool {
        true
    }
}
