// SPDX-License-Identifier: Apache-2.0
//! Defaults of Projects.

use api::constants::taint;
use api::core::{Project, ProjectMember};

use super::add_toleration;

/// Role of the one member that owns a Project.
const OWNER: &str = "owner";

/// Fills the defaults of a Project and brings its members' roles into their stored form: `role` is the first,
/// `roles` the others, without repetition; only the owner has role `owner`.
pub fn project(project: &mut Project) {
    let spec = &mut project.spec;
    if let Some(owner) = &mut spec.owner {
        subject_group(&owner.kind, &mut owner.api_group);
    }
    for member in &mut spec.members {
        subject_group(&member.kind, &mut member.api_group);
        let roles = roles(member);
        set_roles(member, roles);
    }
    owner_role(project);
    if project.spec.namespace.as_deref() == Some("garden") {
        let tolerations = project.spec.tolerations.get_or_insert_default();
        add_toleration(&mut tolerations.whitelist, taint::SEED_PROTECTED);
        add_toleration(&mut tolerations.defaults, taint::SEED_PROTECTED);
    }
}

/// Gives role `owner` to the members that `spec.owner` names, as their last role, and takes it from all others.
///
/// Upstream does so whenever it converts a Project (pkg/apis/core/v1beta1/conversions.go @ v1.120.0), and does not look at
/// namespaces of ServiceAccounts either.
pub fn owner_role(project: &mut Project) {
    let Some(owner) = &project.spec.owner else { return };
    for member in &mut project.spec.members {
        let is_owner = (&member.name, &member.kind, &member.api_group) == (&owner.name, &owner.kind, &owner.api_group);
        let mut roles = roles(member);
        let has_role = roles.iter().any(|role| role == OWNER);
        match (is_owner, has_role) {
            (true, false) => roles.push(OWNER.to_owned()),
            (false, true) => roles.retain(|role| role != OWNER),
            _ => continue,
        }
        set_roles(member, roles);
    }
}

/// All roles of a member, `role` first, without repetition.
fn roles(member: &ProjectMember) -> Vec<String> {
    let mut roles: Vec<String> = Vec::new();
    for role in std::iter::once(&member.role).chain(&member.roles) {
        if !role.is_empty() && !roles.contains(role) {
            roles.push(role.clone());
        }
    }
    roles
}

/// Sets the roles of a member; a member without a role becomes a viewer.
fn set_roles(member: &mut ProjectMember, roles: Vec<String>) {
    let mut roles = roles.into_iter();
    member.role = roles.next().unwrap_or_else(|| "viewer".to_owned());
    member.roles = roles.collect();
}

fn subject_group(kind: &str, api_group: &mut String) {
    if api_group.is_empty() && (kind == "User" || kind == "Group") {
        "rbac.authorization.k8s.io".clone_into(api_group);
    }
}

#[cfg(test)]
mod tests {
    use api::kubernetes::rbac::Subject;

    use super::*;

    #[test]
    fn roles_of_members_are_stored_first_and_others() {
        let check = |role: &str, roles: &[&str], stored: (&str, &[&str])| {
            let mut project = Project::default();
            project.spec.members.push(ProjectMember {
                kind: "User".to_owned(),
                role: role.to_owned(),
                roles: roles.iter().map(|role| (*role).to_owned()).collect(),
                ..ProjectMember::default()
            });
            super::project(&mut project);
            let member = &project.spec.members[0];
            assert_eq!(
                (member.role.as_str(), &member.roles[..]),
                (stored.0, &stored.1.iter().map(|role| (*role).to_owned()).collect::<Vec<_>>()[..])
            );
            assert_eq!(member.api_group, "rbac.authorization.k8s.io");
        };
        check("", &[], ("viewer", &[]));
        check("admin", &[], ("admin", &[]));
        check("", &["admin", "uam"], ("admin", &["uam"]));
        check("admin", &["uam", "admin"], ("admin", &["uam"]));
    }

    #[test]
    fn the_owner_alone_has_role_owner() {
        let check = |owner: &str, members: &[(&str, &[&str])], expected: &[(&str, &[&str])]| {
            let mut project = Project::default();
            let subject = |name: &str| Subject { kind: "User".to_owned(), name: name.to_owned(), ..Subject::default() };
            project.spec.owner = Some(owner).filter(|name| !name.is_empty()).map(subject);
            project.spec.members = members
                .iter()
                .map(|(name, roles)| ProjectMember {
                    kind: "User".to_owned(),
                    name: (*name).to_owned(),
                    roles: roles.iter().map(|role| (*role).to_owned()).collect(),
                    ..ProjectMember::default()
                })
                .collect();
            super::project(&mut project);
            let found: Vec<(&str, Vec<String>)> =
                project.spec.members.iter().map(|member| (member.name.as_str(), roles(member))).collect();
            let found: Vec<(&str, Vec<&str>)> =
                found.iter().map(|(name, roles)| (*name, roles.iter().map(String::as_str).collect())).collect();
            let expected: Vec<(&str, Vec<&str>)> =
                expected.iter().map(|(name, roles)| (*name, roles.to_vec())).collect();
            assert_eq!(found, expected);
        };
        // Another owner gets the role.
        check(
            "bob",
            &[("alice", &["admin", "owner"]), ("bob", &["viewer"])],
            &[("alice", &["admin"]), ("bob", &["viewer", "owner"])],
        );
        // Admission adds an owner that is not a member yet; the old owner loses the role at once.
        check("carol", &[("alice", &["owner", "uam"])], &[("alice", &["uam"])]);
        check("carol", &[("alice", &["owner"])], &[("alice", &["viewer"])]);
        // The role alone does not make a member the owner.
        check(
            "alice",
            &[("alice", &["admin", "owner"]), ("bob", &["admin", "owner"])],
            &[("alice", &["admin", "owner"]), ("bob", &["admin"])],
        );
        check("", &[("alice", &["owner"]), ("bob", &["owner"])], &[("alice", &["owner"]), ("bob", &["owner"])]);
    }

    #[test]
    fn the_garden_project_may_use_protected_seeds() {
        let mut garden = Project::default();
        garden.spec.namespace = Some("garden".to_owned());
        project(&mut garden);
        let tolerations = garden.spec.tolerations.unwrap();
        assert_eq!(tolerations.defaults[0].key, "seed.gardener.cloud/protected");
        assert_eq!(tolerations.whitelist, tolerations.defaults);
    }
}
