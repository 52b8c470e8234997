// SPDX-License-Identifier: Apache-2.0
//! Fields whose change needs a verb of its own: the right to update a Project does not include the right to change
//! its human members.
//!
//! Source: plugin/pkg/global/customverbauthorizer/admission.go @ v1.120.0.

use std::collections::BTreeSet;

use api::core::{CloudProfileSpec, NamespacedCloudProfile, Project, ProjectMember};
use api::kubernetes::rbac::Subject;
use apimachinery::go::quote;

use super::subject::{self, ACCOUNT_PREFIX, USER};

/// A verb that a change needs, and the operation that needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Verb that the user needs on the changed object.
    pub verb: &'static str,
    /// Operation, as the refusal names it.
    pub operation: &'static str,
}

impl Need {
    /// Returns the refusal of a user without the verb.
    pub fn refusal(&self, user: &str, plural: &str) -> String {
        format!("user {} is not allowed to {} for {}", quote(user), self.operation, quote(plural))
    }
}

/// Returns the verb that a change of a Project needs; `old` is `None` on creation, when the owner
/// has been filled in.
pub fn project(new: &Project, old: Option<&Project>, user: &str, groups: &[&str]) -> Option<Need> {
    let before = old.map(|old| &old.spec);
    let whitelist = |project: &Project| {
        let tolerations = project.spec.tolerations.as_ref();
        tolerations.map(|tolerations| tolerations.whitelist.clone()).unwrap_or_default()
    };
    if whitelist(new) != old.map(whitelist).unwrap_or_default() {
        let operation = "modify .spec.tolerations.whitelist";
        return Some(Need { verb: "modify-spec-tolerations-whitelist", operation });
    }
    let owner = new.spec.owner.as_ref();
    if !is_owner(owner, user, groups) {
        let humans = |members: &[ProjectMember]| -> BTreeSet<String> {
            let people = members.iter().filter(|member| is_human(&member.kind, &member.name));
            let others = people.filter(|member| {
                !owner.is_some_and(|owner| is_human(&owner.kind, &owner.name) && owner.name == member.name)
            });
            others.map(|member| member.name.clone()).collect()
        };
        if humans(before.map_or(&[][..], |before| &before.members)) != humans(&new.spec.members) {
            let operation = "manage human users or groups in .spec.members";
            return Some(Need { verb: "manage-members", operation });
        }
    }
    let was = before.and_then(|before| before.owner.as_ref());
    if was.is_some() && was != owner && !is_owner(was, user, groups) {
        return Some(Need { verb: "manage-members", operation: "manage owner in .spec.owner" });
    }
    None
}

fn is_human(kind: &str, name: &str) -> bool {
    kind == USER && !name.starts_with(ACCOUNT_PREFIX)
}

/// Returns true if a user owns a Project; without an owner, its creator does.
fn is_owner(owner: Option<&Subject>, user: &str, groups: &[&str]) -> bool {
    owner.is_none_or(|owner| subject::is(owner, user, groups))
}

/// Returns all verbs that a change of a NamespacedCloudProfile needs.
pub fn namespaced_cloud_profile(
    new: &NamespacedCloudProfile,
    old: Option<&NamespacedCloudProfile>,
    parent: &CloudProfileSpec,
) -> Vec<Need> {
    let (now, before) = (&new.spec, old.map(|old| &old.spec));
    let nodes = |limits: &api::core::Limits| limits.max_nodes_total.unwrap_or(0);
    let raises = now.limits != before.and_then(|before| before.limits.clone())
        && parent.limits.as_ref().is_some_and(|parent| now.limits.as_ref().map_or(0, nodes) > nodes(parent));
    let needs = [
        (
            now.kubernetes != before.and_then(|before| before.kubernetes.clone()),
            Need { verb: "modify-spec-kubernetes", operation: "modify .spec.kubernetes" },
        ),
        (
            now.machine_images[..] != *before.map_or(&[][..], |before| &before.machine_images),
            Need { verb: "modify-spec-machineimages", operation: "modify .spec.machineImages" },
        ),
        (
            now.provider_config != before.and_then(|before| before.provider_config.clone()),
            Need { verb: "modify-spec-providerconfig", operation: "modify .spec.providerConfig" },
        ),
        (
            raises,
            Need { verb: "raise-spec-limits", operation: "increase .spec.limits above parent CloudProfile limits" },
        ),
    ];
    needs.into_iter().filter_map(|(changed, need)| changed.then_some(need)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::subject::of;
    use super::*;
    use api::core::{Limits, ProjectTolerations, Toleration};

    fn member(kind: &str, name: &str) -> ProjectMember {
        ProjectMember {
            kind: kind.to_owned(),
            name: name.to_owned(),
            role: "viewer".to_owned(),
            ..ProjectMember::default()
        }
    }

    fn project_of(owner: &str, members: &[(&str, &str)]) -> Project {
        let mut project = Project::default();
        project.spec.owner = Some(of("User", owner));
        project.spec.members = members.iter().map(|(kind, name)| member(kind, name)).collect();
        project
    }

    #[track_caller]
    fn check(new: &Project, old: Option<&Project>, user: &str, expected: &str) {
        let need = project(new, old, user, &["devs"]);
        assert_eq!(need.map_or("", |need| need.operation), expected);
    }

    #[test]
    fn changing_human_members_needs_the_verb_manage_members() {
        let before = project_of("olga", &[("User", "olga")]);
        let invited = project_of("olga", &[("User", "olga"), ("User", "vera")]);
        let members = "manage human users or groups in .spec.members";
        check(&invited, Some(&before), "anna", members);
        check(&before, Some(&invited), "anna", members);
        check(&invited, Some(&before), "olga", "");
        check(&invited, Some(&invited), "anna", "");
        // Accounts and groups are not human members.
        let account = project_of("olga", &[("User", "olga"), ("ServiceAccount", "robot")]);
        check(&account, Some(&before), "anna", "");
        let account = project_of("olga", &[("User", "olga"), ("User", "system:serviceaccount:a:b")]);
        check(&account, Some(&before), "anna", "");
        check(&project_of("olga", &[]), Some(&before), "anna", "");
        check(&invited, None, "olga", "");
        check(&invited, None, "anna", members);
    }

    #[test]
    fn the_owner_passes_a_project_on() {
        let (old, new) = (project_of("olga", &[]), project_of("anna", &[]));
        check(&new, Some(&old), "olga", "");
        check(&new, Some(&old), "vera", "manage owner in .spec.owner");
        let mut by_group = old.clone();
        by_group.spec.owner = Some(of("Group", "devs"));
        check(&new, Some(&by_group), "vera", "");
        check(&new, None, "vera", "");
    }

    #[test]
    fn tolerations_that_a_project_may_use_are_the_operators_matter() {
        let toleration = Toleration { key: "x".to_owned(), ..Toleration::default() };
        let old = project_of("olga", &[]);
        let mut new = old.clone();
        new.spec.tolerations = Some(ProjectTolerations { defaults: Vec::new(), whitelist: vec![toleration] });
        check(&new, Some(&old), "olga", "modify .spec.tolerations.whitelist");
        new.spec.tolerations = Some(ProjectTolerations::default());
        check(&new, Some(&old), "olga", "");
        let need = Need { verb: "manage-members", operation: "manage owner in .spec.owner" };
        assert_eq!(
            need.refusal("jane", "projects"),
            "user \"jane\" is not allowed to manage owner in .spec.owner for \"projects\""
        );
    }

    #[test]
    fn each_override_of_a_cloud_profile_needs_a_verb() {
        let verbs = |new: &NamespacedCloudProfile, parent: &CloudProfileSpec| -> Vec<&str> {
            namespaced_cloud_profile(new, None, parent).iter().map(|need| need.verb).collect()
        };
        let mut parent = CloudProfileSpec::default();
        let mut new = NamespacedCloudProfile::default();
        assert!(verbs(&new, &parent).is_empty());
        new.spec.limits = Some(Limits { max_nodes_total: Some(5) });
        assert!(verbs(&new, &parent).is_empty(), "there is no limit above");
        parent.limits = Some(Limits { max_nodes_total: Some(5) });
        assert!(verbs(&new, &parent).is_empty());
        new.spec.limits = Some(Limits { max_nodes_total: Some(6) });
        new.spec.kubernetes = Some(api::core::KubernetesSettings::default());
        new.spec.machine_images = vec![api::core::MachineImage::default()];
        assert_eq!(verbs(&new, &parent), ["modify-spec-kubernetes", "modify-spec-machineimages", "raise-spec-limits"]);
        assert!(namespaced_cloud_profile(&new, Some(&new.clone()), &parent).is_empty());
    }
}
