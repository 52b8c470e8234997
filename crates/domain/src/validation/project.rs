// SPDX-License-Identifier: Apache-2.0
//! Validation of Projects (pkg/apis/core/validation/project.go @ v1.120.0).

use std::collections::BTreeSet;

use api::constants::namespace;
use api::core::{Project, ProjectMember};
use apimachinery::field::{FieldError, Path};

use super::common::{self, consecutive_hyphens};
use super::meta::{self, NameRule, immutable, object_meta, object_meta_update};
use super::{Errors, common::one_of};

const MAX_NAME_LENGTH: usize = 10;
const MAX_EXTENSION_ROLE_LENGTH: usize = 20;
const RESERVED_NAMESPACES: [&str; 3] = [namespace::SEED_LEASE, namespace::SHOOT_ISSUER, namespace::PUBLIC];

/// Checks a new Project.
pub fn project(project: &Project) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &project.metadata, false, NameRule::Subdomain, &Path::new("metadata"));
    if project.metadata.name.len() > MAX_NAME_LENGTH {
        errors.push(FieldError::too_long(&Path::new("metadata").child("name"), MAX_NAME_LENGTH));
    }
    consecutive_hyphens(&mut errors, &project.metadata.name);
    let (spec, path) = (&project.spec, Path::new("spec"));
    if let Some(namespace) = &spec.namespace
        && RESERVED_NAMESPACES.contains(&namespace.as_str())
    {
        let list: Vec<String> = RESERVED_NAMESPACES.iter().map(|name| format!("{name:?}")).collect();
        let text = format!("Project namespaces [{}] are reserved by Gardener", list.join(" "));
        errors.push(FieldError::invalid(&path.child("namespace"), namespace, &text));
    }
    members(&mut errors, &spec.members, &path.child("members"));
    for (field, subject_) in [("createdBy", &spec.created_by), ("owner", &spec.owner)] {
        if let Some(one) = subject_ {
            subject(&mut errors, &one.kind, &one.api_group, &one.namespace, &one.name, &path.child(field));
        }
    }
    for (field, text) in [("description", &spec.description), ("purpose", &spec.purpose)] {
        if text.as_deref() == Some("") {
            let detail = format!("must provide a {field} when key is present");
            errors.push(FieldError::required(&path.child(field), &detail));
        }
    }
    if let Some(tolerations) = &spec.tolerations {
        let path = path.child("tolerations");
        common::tolerations(&mut errors, &tolerations.defaults, &path.child("defaults"));
        common::tolerations(&mut errors, &tolerations.whitelist, &path.child("whitelist"));
        common::tolerations_against(
            &mut errors,
            &tolerations.defaults,
            &tolerations.whitelist,
            &path.child("defaults"),
        );
    }
    let mut resources = BTreeSet::new();
    for (index, approval) in spec.dual_approval_for_deletion.iter().enumerate() {
        let path = path.child("dualApprovalForDeletion").index(index);
        let resource = path.child("resource");
        if approval.resource.is_empty() {
            errors.push(FieldError::required(&resource, "cannot be empty"));
        } else {
            one_of(&mut errors, &approval.resource, &["shoots"], &resource);
            if !resources.insert(&approval.resource) {
                errors.push(FieldError::duplicate(&resource, &approval.resource));
            }
        }
        meta::label_selector(&mut errors, &approval.selector, &path.child("selector"));
    }
    errors
}

/// Checks a changed Project.
pub fn project_update(new: &Project, old: &Project) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &new.metadata, &old.metadata, &Path::new("metadata"));
    errors.extend(project(new));
    let path = Path::new("spec");
    if old.spec.created_by.is_some() {
        immutable(&mut errors, &new.spec.created_by, &old.spec.created_by, &path.child("createdBy"));
    }
    if old.spec.namespace.is_some() {
        immutable(&mut errors, &new.spec.namespace, &old.spec.namespace, &path.child("namespace"));
    }
    if old.spec.owner.is_some() && new.spec.owner.is_none() {
        errors.push(FieldError::invalid(&path.child("owner"), &new.spec.owner, "owner cannot be reset"));
    }
    errors
}

/// Checks a changed status of a Project.
pub fn project_status_update(new: &Project, old: &Project) -> Errors {
    let mut errors = Errors::new();
    if !old.status.phase.is_empty() && new.status.phase.is_empty() {
        let path = Path::new("status").child("phase");
        errors.push(FieldError::invalid(&path, "", "phase cannot be updated to an empty string"));
    }
    errors
}

/// Returns the roles of a member in upstream's internal form: the first one, then the others, without repetition.
fn roles(member: &ProjectMember) -> Vec<&str> {
    let mut roles: Vec<&str> = Vec::new();
    if !member.role.is_empty() {
        roles.push(&member.role);
    }
    roles.extend(member.roles.iter().map(String::as_str).filter(|role| *role != member.role));
    roles
}

fn members(errors: &mut Errors, members: &[ProjectMember], path: &Path) {
    let mut seen = BTreeSet::new();
    let mut owner_found = false;
    for (index, member) in members.iter().enumerate() {
        let path = path.index(index);
        let mut id = (member.api_group.clone(), member.kind.clone(), member.namespace.clone(), member.name.clone());
        if member.kind == "User" && member.name.starts_with("system:serviceaccount:") {
            let [_, _, namespace, name, ..] = member.name.split(':').collect::<Vec<_>>()[..] else {
                let text = format!("unsupported service account user name: {:?}", member.name);
                errors.push(FieldError::invalid(&path.child("name"), &member.name, &text));
                continue;
            };
            id = (String::new(), "ServiceAccount".to_owned(), namespace.to_owned(), name.to_owned());
        }
        if !seen.insert(id) {
            errors.push(FieldError::duplicate(&path, member));
        }
        subject(errors, &member.kind, &member.api_group, &member.namespace, &member.name, &path);
        let roles = roles(member);
        for (index, role) in roles.iter().enumerate() {
            let path = path.child("roles").index(index);
            if roles[..index].contains(role) {
                errors.push(FieldError::duplicate(&path, role));
            }
            member_role(errors, role, &path);
        }
        for (index, _) in roles.iter().enumerate().filter(|(_, role)| **role == "owner") {
            if owner_found {
                let text = "cannot have more than one member having the owner role";
                errors.push(FieldError::forbidden(&path.child("roles").index(index), text));
            }
            owner_found = true;
        }
    }
}

fn member_role(errors: &mut Errors, role: &str, path: &Path) {
    const SUPPORTED: [&str; 6] = ["admin", "owner", "serviceaccountmanager", "uam", "viewer", "extension:*"];
    let Some(extension) = role.strip_prefix("extension:") else {
        if !SUPPORTED[..5].contains(&role) {
            errors.push(FieldError::not_supported(path, role, &SUPPORTED));
        }
        return;
    };
    if extension.len() > MAX_EXTENSION_ROLE_LENGTH {
        errors.push(FieldError::too_long(path, MAX_EXTENSION_ROLE_LENGTH));
    }
    let mut texts = Vec::new();
    if extension == "." || extension == ".." {
        texts.push(format!("may not be '{extension}'"));
    }
    texts.extend(
        ["/", "%"].iter().filter(|part| extension.contains(*part)).map(|part| format!("may not contain '{part}'")),
    );
    if !texts.is_empty() {
        errors.push(FieldError::invalid(path, role, &texts.join(", ")));
    }
}

fn subject(errors: &mut Errors, kind: &str, api_group: &str, namespace: &str, name: &str, path: &Path) {
    const RBAC: &str = "rbac.authorization.k8s.io";
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), ""));
    }
    match kind {
        "ServiceAccount" => {
            if !name.is_empty() {
                meta::invalid_each(errors, &path.child("name"), name, meta::dns_subdomain(name));
            }
            if !api_group.is_empty() {
                errors.push(FieldError::not_supported(&path.child("apiGroup"), api_group, &[""]));
            }
            if namespace.is_empty() {
                errors.push(FieldError::required(&path.child("namespace"), ""));
            }
        }
        "User" | "Group" => one_of(errors, api_group, &[RBAC], &path.child("apiGroup")),
        other => {
            let kinds = ["ServiceAccount", "User", "Group"];
            errors.push(FieldError::not_supported(&path.child("kind"), other, &kinds));
        }
    }
}

#[cfg(test)]
mod tests {
    use api::core::ProjectTolerations;
    use api::core::Toleration;

    use super::*;

    fn project(change: impl FnOnce(&mut Project)) -> Project {
        let mut project = Project::default();
        project.metadata.name = "dev".to_owned();
        change(&mut project);
        crate::defaulting::project(&mut project);
        project
    }

    #[track_caller]
    fn check(project: &Project, expected: &[&str]) {
        let errors = super::project(project);
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    fn member(kind: &str, namespace: &str, name: &str, role: &str) -> ProjectMember {
        ProjectMember {
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            role: role.to_owned(),
            ..ProjectMember::default()
        }
    }

    #[test]
    fn names_are_short() {
        check(&project(|project| project.metadata.name = "a".repeat(10)), &[]);
        check(
            &project(|project| project.metadata.name = "a".repeat(11)),
            &["metadata.name: Too long: may not be more than 10 bytes"],
        );
        check(
            &project(|project| project.metadata.name = "a--b".to_owned()),
            &["metadata.name: Invalid value: \"a--b\": name may not contain two consecutive hyphens"],
        );
    }

    #[test]
    fn reserved_namespaces_are_refused() {
        check(&project(|project| project.spec.namespace = Some("garden-dev".to_owned())), &[]);
        check(
            &project(|project| project.spec.namespace = Some("gardener-system-public".to_owned())),
            &["spec.namespace: Invalid value: \"gardener-system-public\": Project namespaces \
               [\"gardener-system-seed-lease\" \"gardener-system-shoot-issuer\" \"gardener-system-public\"] are reserved by \
               Gardener"],
        );
    }

    #[test]
    fn members_are_known_once_and_one_owns() {
        let with = |members: Vec<ProjectMember>| project(|project| project.spec.members = members);
        check(&with(vec![member("User", "", "alice", "owner"), member("User", "", "bob", "extension:dns")]), &[]);
        check(
            &with(vec![member("User", "", "alice", "owner"), member("User", "", "bob", "owner")]),
            &["spec.members[1].roles[0]: Forbidden: cannot have more than one member having the owner role"],
        );
        check(
            &with(vec![member("User", "", "alice", "king")]),
            &["spec.members[0].roles[0]: Unsupported value: \"king\": supported values: \"admin\", \"owner\", \
               \"serviceaccountmanager\", \"uam\", \"viewer\", \"extension:*\""],
        );
        let same = with(vec![
            member("User", "", "system:serviceaccount:garden-dev:robot", "admin"),
            member("ServiceAccount", "garden-dev", "robot", "viewer"),
        ]);
        let errors = super::project(&same);
        assert_eq!(errors.len(), 1);
        assert!(errors[0].to_string().starts_with("spec.members[1]: Duplicate value: "), "{errors:?}");
    }

    #[test]
    fn default_tolerations_are_among_the_allowed_ones() {
        let toleration = |key: &str| Toleration { key: key.to_owned(), value: None };
        let with = |defaults: &[&str]| {
            project(|project| {
                let defaults = defaults.iter().map(|key| toleration(key)).collect();
                project.spec.tolerations = Some(ProjectTolerations { defaults, whitelist: vec![toleration("a")] });
            })
        };
        check(&with(&["a"]), &[]);
        check(
            &with(&["b"]),
            &["spec.tolerations.defaults[0]: Forbidden: only the following tolerations are allowed: [a]"],
        );
    }

    #[test]
    fn owners_stay() {
        let mut old = project(|_| {});
        old.spec.owner = Some(api::kubernetes::rbac::Subject {
            kind: "User".to_owned(),
            api_group: "rbac.authorization.k8s.io".to_owned(),
            name: "alice".to_owned(),
            namespace: String::new(),
        });
        let mut new = old.clone();
        new.spec.owner = None;
        let errors = project_update(&new, &old);
        assert_eq!(errors[0].to_string(), "spec.owner: Invalid value: null: owner cannot be reset");
        assert_eq!(project_update(&old, &old), []);
    }
}
