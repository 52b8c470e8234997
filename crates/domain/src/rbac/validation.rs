// SPDX-License-Identifier: Apache-2.0
//! Validation of the four kinds of RBAC.
//!
//! Source: k8s.io/kubernetes pkg/apis/rbac/validation/validation.go @ v1.32.

use api::kubernetes::rbac::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject};
use apimachinery::field::{FieldError, Path};
use apimachinery::selector::Labels;
use apimachinery::validation;

use super::subject::{ACCOUNT_PREFIX, GROUP, SERVICE_ACCOUNT, USER};

/// The group of roles and of subjects that are no accounts.
const RBAC: &str = api::kubernetes::rbac::GROUP;

/// A kind of RBAC.
pub trait RbacKind {
    /// Fills in the missing fields.
    fn fill(&mut self) {}

    /// Returns the violations of a new object.
    fn violations(&self) -> Vec<FieldError>;

    /// Returns the violations of a changed object.
    fn violations_after(&self, _old: &Self) -> Vec<FieldError> {
        self.violations()
    }
}

impl RbacKind for Role {
    fn violations(&self) -> Vec<FieldError> {
        rules(&self.rules, true)
    }
}

impl RbacKind for ClusterRole {
    fn violations(&self) -> Vec<FieldError> {
        cluster_role(self)
    }
}

impl RbacKind for RoleBinding {
    fn fill(&mut self) {
        default_binding(&mut self.role_ref, &mut self.subjects);
    }

    fn violations(&self) -> Vec<FieldError> {
        binding(&self.role_ref, &self.subjects, true)
    }

    fn violations_after(&self, old: &Self) -> Vec<FieldError> {
        [self.violations(), changed_binding(&self.role_ref, &old.role_ref)].concat()
    }
}

impl RbacKind for ClusterRoleBinding {
    fn fill(&mut self) {
        default_binding(&mut self.role_ref, &mut self.subjects);
    }

    fn violations(&self) -> Vec<FieldError> {
        binding(&self.role_ref, &self.subjects, false)
    }

    fn violations_after(&self, old: &Self) -> Vec<FieldError> {
        [self.violations(), changed_binding(&self.role_ref, &old.role_ref)].concat()
    }
}

/// Returns the violations of rules; paths that are no resource are allowed in ClusterRoles only.
fn rules(rules: &[PolicyRule], is_namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        let at = Path::new("rules").index(index);
        let required = |field: &str, what: &str| FieldError::required(&at.child(field), what);
        if rule.verbs.is_empty() {
            errors.push(required("verbs", "verbs must contain at least one value"));
        }
        if !rule.non_resource_urls.is_empty() {
            let path = at.child("nonResourceURLs");
            if is_namespaced {
                let detail = "namespaced rules cannot apply to non-resource URLs";
                errors.push(FieldError::invalid(&path, &rule.non_resource_urls, detail));
            }
            if !rule.api_groups.is_empty() || !rule.resources.is_empty() || !rule.resource_names.is_empty() {
                let detail = "rules cannot apply to both regular resources and non-resource URLs";
                errors.push(FieldError::invalid(&path, &rule.non_resource_urls, detail));
            }
            continue;
        }
        if rule.api_groups.is_empty() {
            errors.push(required("apiGroups", "resource rules must supply at least one api group"));
        }
        if rule.resources.is_empty() {
            errors.push(required("resources", "resource rules must supply at least one resource"));
        }
    }
    errors
}

/// The violations of a ClusterRole.
fn cluster_role(role: &ClusterRole) -> Vec<FieldError> {
    let mut errors = rules(&role.rules, false);
    let Some(aggregation) = &role.aggregation_rule else { return errors };
    let at = Path::new("aggregationRule").child("clusterRoleSelectors");
    if aggregation.cluster_role_selectors.is_empty() {
        errors
            .push(FieldError::required(&at, "at least one clusterRoleSelector required if aggregationRule is non-nil"));
    }
    for (index, selector) in aggregation.cluster_role_selectors.iter().enumerate() {
        if let Err(why) = Labels::from_selector(selector) {
            errors.push(FieldError::invalid(&at.index(index), selector, &why));
        }
    }
    errors
}

/// The violations of a binding.
fn binding(role: &RoleRef, subjects: &[Subject], is_namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = Path::new("roleRef");
    if role.api_group != RBAC {
        errors.push(FieldError::not_supported(&at.child("apiGroup"), &role.api_group, &[RBAC]));
    }
    let kinds: &[&str] = if is_namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&role.kind.as_str()) {
        errors.push(FieldError::not_supported(&at.child("kind"), &role.kind, kinds));
    }
    if role.name.is_empty() {
        errors.push(FieldError::required(&at.child("name"), ""));
    } else {
        let reasons = validation::path_segment_name(&role.name);
        errors.extend(reasons.iter().map(|why| FieldError::invalid(&at.child("name"), &role.name, why)));
    }
    for (index, one) in subjects.iter().enumerate() {
        subject(&mut errors, one, &Path::new("subjects").index(index), is_namespaced);
    }
    errors
}

fn subject(errors: &mut Vec<FieldError>, subject: &Subject, at: &Path, is_namespaced: bool) {
    if subject.name.is_empty() {
        errors.push(FieldError::required(&at.child("name"), ""));
    }
    match subject.kind.as_str() {
        SERVICE_ACCOUNT => {
            if !subject.name.is_empty() {
                let reasons = validation::dns1123_subdomain(&subject.name);
                errors.extend(reasons.iter().map(|why| FieldError::invalid(&at.child("name"), &subject.name, why)));
            }
            if !subject.api_group.is_empty() {
                errors.push(FieldError::not_supported(&at.child("apiGroup"), &subject.api_group, &[""]));
            }
            if !is_namespaced && subject.namespace.is_empty() {
                errors.push(FieldError::required(&at.child("namespace"), ""));
            }
        }
        USER | GROUP => {
            if subject.api_group != RBAC {
                errors.push(FieldError::not_supported(&at.child("apiGroup"), &subject.api_group, &[RBAC]));
            }
        }
        _ => errors.push(FieldError::not_supported(&at.child("kind"), &subject.kind, &[SERVICE_ACCOUNT, USER, GROUP])),
    }
}

/// Returns the violations of a changed binding: its role must stay.
fn changed_binding(new: &RoleRef, old: &RoleRef) -> Vec<FieldError> {
    if new == old {
        return Vec::new();
    }
    vec![FieldError::invalid(&Path::new("roleRef"), new, "cannot change roleRef")]
}

/// Fills in the groups of subjects and of the role, as `v1` does.
///
/// Source: k8s.io/kubernetes pkg/apis/rbac/v1/defaults.go.
fn default_binding(role: &mut RoleRef, subjects: &mut [Subject]) {
    if role.api_group.is_empty() {
        RBAC.clone_into(&mut role.api_group);
    }
    for subject in subjects {
        if subject.api_group.is_empty() && matches!(subject.kind.as_str(), USER | GROUP) {
            RBAC.clone_into(&mut subject.api_group);
        }
    }
}

/// Returns true if a user's name is one of an account.
pub fn is_account(user: &str) -> bool {
    user.starts_with(ACCOUNT_PREFIX)
}

#[cfg(test)]
mod tests {
    use super::super::{path_rule, rule};
    use super::*;

    fn texts(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rules_name_verbs_groups_and_resources_or_paths() {
        assert!(rules(&[rule(&["get"], &[""], &["pods"])], true).is_empty());
        assert!(rules(&[path_rule(&["get"], &["/x"])], false).is_empty());
        assert_eq!(
            texts(&rules(&[rule(&[], &[], &[])], true)),
            [
                "rules[0].verbs: Required value: verbs must contain at least one value",
                "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[0].resources: Required value: resource rules must supply at least one resource",
            ]
        );
        assert_eq!(
            texts(&rules(&[path_rule(&["get"], &["/x"])], true)),
            ["rules[0].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to non-resource URLs"]
        );
        let both = PolicyRule { api_groups: vec![String::new()], ..path_rule(&["get"], &["/x"]) };
        assert_eq!(
            texts(&rules(&[both], false)),
            ["rules[0].nonResourceURLs: Invalid value: [\"/x\"]: rules cannot apply to both regular resources and \
              non-resource URLs"]
        );
    }

    #[test]
    fn bindings_name_a_role_and_subjects() {
        let role = |group: &str, kind: &str, name: &str| RoleRef {
            api_group: group.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
        };
        let subject = |kind: &str, group: &str, namespace: &str| Subject {
            kind: kind.to_owned(),
            api_group: group.to_owned(),
            name: "x".to_owned(),
            namespace: namespace.to_owned(),
        };
        let good = role(RBAC, "ClusterRole", "view");
        let all = [subject("User", RBAC, ""), subject("Group", RBAC, ""), subject("ServiceAccount", "", "n")];
        assert!(binding(&good, &all, false).is_empty());
        assert!(binding(&role(RBAC, "Role", "view"), &[subject("ServiceAccount", "", "")], true).is_empty());
        assert_eq!(
            texts(&binding(&role("", "Role", ""), &[subject("ServiceAccount", RBAC, "")], false)),
            [
                "roleRef.apiGroup: Unsupported value: \"\": supported values: \"rbac.authorization.k8s.io\"",
                "roleRef.kind: Unsupported value: \"Role\": supported values: \"ClusterRole\"",
                "roleRef.name: Required value",
                "subjects[0].apiGroup: Unsupported value: \"rbac.authorization.k8s.io\": supported values: \"\"",
                "subjects[0].namespace: Required value",
            ]
        );
        assert_eq!(
            texts(&binding(&good, &[subject("User", "", ""), subject("Robot", "", "")], true)),
            [
                "subjects[0].apiGroup: Unsupported value: \"\": supported values: \"rbac.authorization.k8s.io\"",
                "subjects[1].kind: Unsupported value: \"Robot\": supported values: \"ServiceAccount\", \"User\", \
                 \"Group\"",
            ]
        );
        assert_eq!(
            texts(&changed_binding(&role(RBAC, "ClusterRole", "edit"), &good)),
            ["roleRef: Invalid value: {\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\
              \"name\":\"edit\"}: cannot change roleRef"]
        );
        assert!(changed_binding(&good, &good).is_empty());
    }

    #[test]
    fn kinds_differ_in_namespaced_rules_and_in_kept_roles() {
        let rules = vec![path_rule(&["get"], &["/x"])];
        assert_eq!(Role { rules: rules.clone(), ..Role::default() }.violations().len(), 1);
        assert!(ClusterRole { rules, ..ClusterRole::default() }.violations().is_empty());
        let role = |kind: &str, name: &str| RoleRef {
            api_group: RBAC.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
        };
        let namespaced = |kind: &str, name: &str| RoleBinding { role_ref: role(kind, name), ..RoleBinding::default() };
        let of_cluster =
            |kind: &str, name: &str| ClusterRoleBinding { role_ref: role(kind, name), ..ClusterRoleBinding::default() };
        assert!(namespaced("Role", "a").violations().is_empty());
        assert_eq!(of_cluster("Role", "a").violations().len(), 1);
        assert!(namespaced("Role", "a").violations_after(&namespaced("Role", "a")).is_empty());
        assert_eq!(namespaced("Role", "a").violations_after(&namespaced("Role", "b")).len(), 1);
        assert_eq!(of_cluster("ClusterRole", "a").violations_after(&of_cluster("ClusterRole", "b")).len(), 1);
    }

    #[test]
    fn groups_of_subjects_are_filled_in() {
        let mut role = RoleRef { kind: "ClusterRole".to_owned(), ..RoleRef::default() };
        let bare = |kind: &str| Subject { kind: kind.to_owned(), ..Subject::default() };
        let mut subjects = [bare("User"), bare("Group"), bare("ServiceAccount")];
        default_binding(&mut role, &mut subjects);
        assert_eq!(role.api_group, "rbac.authorization.k8s.io");
        assert_eq!(
            subjects.map(|subject| subject.api_group),
            ["rbac.authorization.k8s.io", "rbac.authorization.k8s.io", ""]
        );
    }

    #[test]
    fn an_aggregation_selects() {
        use api::kubernetes::rbac::AggregationRule;
        let role = ClusterRole { aggregation_rule: Some(AggregationRule::default()), ..ClusterRole::default() };
        assert_eq!(
            texts(&cluster_role(&role)),
            ["aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if \
              aggregationRule is non-nil"]
        );
    }
}
