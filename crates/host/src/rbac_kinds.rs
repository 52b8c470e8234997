// SPDX-License-Identifier: Apache-2.0
//! Roles, ClusterRoles and their bindings: defaults and validation. The authorizer decides on permissions to write
//! them.
//!
//! The rules are [`domain::rbac::validation`]'s.

use api::kubernetes::rbac::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use apimachinery::field::FieldError;
use domain::rbac::validation as rules;
use generic_apiserver::registry::Generation;
use generic_apiserver::{RequestContext, Strategy};

/// Strategy of all four kinds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RbacStrategy;

impl Strategy<Role> for RbacStrategy {
    fn validate_create(&self, object: &Role, _: &RequestContext) -> Vec<FieldError> {
        rules::rules(&object.rules, true)
    }

    fn validate_update(&self, object: &Role, _: &Role, _: &RequestContext) -> Vec<FieldError> {
        rules::rules(&object.rules, true)
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

impl Strategy<ClusterRole> for RbacStrategy {
    fn validate_create(&self, object: &ClusterRole, _: &RequestContext) -> Vec<FieldError> {
        rules::cluster_role(object)
    }

    fn validate_update(&self, object: &ClusterRole, _: &ClusterRole, _: &RequestContext) -> Vec<FieldError> {
        rules::cluster_role(object)
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

impl Strategy<RoleBinding> for RbacStrategy {
    fn default(&self, object: &mut RoleBinding) {
        rules::default_binding(&mut object.role_ref, &mut object.subjects);
    }

    fn validate_create(&self, object: &RoleBinding, _: &RequestContext) -> Vec<FieldError> {
        rules::binding(&object.role_ref, &object.subjects, true)
    }

    fn validate_update(&self, object: &RoleBinding, old: &RoleBinding, _: &RequestContext) -> Vec<FieldError> {
        let mut errors = rules::binding(&object.role_ref, &object.subjects, true);
        errors.extend(rules::changed_binding(&object.role_ref, &old.role_ref));
        errors
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

impl Strategy<ClusterRoleBinding> for RbacStrategy {
    fn default(&self, object: &mut ClusterRoleBinding) {
        rules::default_binding(&mut object.role_ref, &mut object.subjects);
    }

    fn validate_create(&self, object: &ClusterRoleBinding, _: &RequestContext) -> Vec<FieldError> {
        rules::binding(&object.role_ref, &object.subjects, false)
    }

    fn validate_update(
        &self,
        object: &ClusterRoleBinding,
        old: &ClusterRoleBinding,
        _: &RequestContext,
    ) -> Vec<FieldError> {
        let mut errors = rules::binding(&object.role_ref, &object.subjects, false);
        errors.extend(rules::changed_binding(&object.role_ref, &old.role_ref));
        errors
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
