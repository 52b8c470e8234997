// SPDX-License-Identifier: Apache-2.0
//! Defaults of Projects.

use api::constants::taint;
use api::core::Project;

use super::add_toleration;

/// Fills the defaults of a Project and brings its members' roles into their stored form: `role` is the first,
/// `roles` the others, without repetition.
pub fn project(project: &mut Project) {
    let spec = &mut project.spec;
    if let Some(owner) = &mut spec.owner {
        subject_group(&owner.kind, &mut owner.api_group);
    }
    for member in &mut spec.members {
        subject_group(&member.kind, &mut member.api_group);
        if member.role.is_empty() && member.roles.is_empty() {
            "viewer".clone_into(&mut member.role);
        }
        let mut roles: Vec<String> = Vec::new();
        for role in std::iter::once(&member.role).chain(&member.roles) {
            if !role.is_empty() && !roles.contains(role) {
                roles.push(role.clone());
            }
        }
        let mut roles = roles.into_iter();
        member.role = roles.next().unwrap_or_default();
        member.roles = roles.collect();
    }
    if spec.namespace.as_deref() == Some("garden") {
        let tolerations = spec.tolerations.get_or_insert_default();
        add_toleration(&mut tolerations.whitelist, taint::SEED_PROTECTED);
        add_toleration(&mut tolerations.defaults, taint::SEED_PROTECTED);
    }
}

fn subject_group(kind: &str, api_group: &mut String) {
    if api_group.is_empty() && (kind == "User" || kind == "Group") {
        "rbac.authorization.k8s.io".clone_into(api_group);
    }
}

#[cfg(test)]
mod tests {
    use api::core::ProjectMember;

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
    fn the_garden_project_may_use_protected_seeds() {
        let mut garden = Project::default();
        garden.spec.namespace = Some("garden".to_owned());
        project(&mut garden);
        let tolerations = garden.spec.tolerations.unwrap();
        assert_eq!(tolerations.defaults[0].key, "seed.gardener.cloud/protected");
        assert_eq!(tolerations.whitelist, tolerations.defaults);
    }
}
