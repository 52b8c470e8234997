// SPDX-License-Identifier: Apache-2.0
//! Admission of Projects, and the values that Projects and ExposureClasses set on Shoots.

use std::collections::BTreeSet;

use api::constants::namespace;
use api::core::*;
use api::kubernetes::rbac::Subject;
use apimachinery::field::Path;

use super::Refusal;
use super::aggregate;
use crate::release::{Release, Releases};
use crate::validation::common::{key_and_value, tolerations_against};

/// The prefix of namespaces is checked here; later, validation checks it.
const PREFIXED_NAMESPACE: Releases = Releases::until(127);

/// Checks the namespace's name; a new Project is owned by its member with role `owner`, else by its creator, and the owner
/// becomes a member (ProjectValidator).
///
/// # Errors
/// 403 for a namespace that does not begin with `garden-`, until 1.126.
pub fn admit_project(project: &mut Project, is_new: bool, user: &str, release: Release) -> Result<(), Refusal> {
    let namespace = project.spec.namespace.as_deref().unwrap_or("garden");
    let has_prefix = namespace == namespace::GARDEN || namespace.starts_with(namespace::PROJECT_PREFIX);
    if !has_prefix && PREFIXED_NAMESPACE.contain(release) {
        return Err(Refusal::Forbidden(".spec.namespace must start with garden-".to_owned()));
    }
    if project.metadata.is_being_deleted() {
        return Ok(());
    }
    let spec = &mut project.spec;
    if is_new {
        let creator = subject_of(user);
        let owning = spec
            .members
            .iter()
            .find(|member| member.role == "owner" || member.roles.iter().any(|role| role == "owner"));
        let owner = owning.map_or_else(|| creator.clone(), subject_of_member);
        spec.created_by = Some(creator);
        spec.owner.get_or_insert(owner);
    }
    let Some(owner) = &spec.owner else { return Ok(()) };
    let is_owner = |member: &ProjectMember| subject_of_member(member) == *owner;
    if spec.members.iter().any(is_owner) {
        return Ok(());
    }
    spec.members.push(ProjectMember {
        kind: owner.kind.clone(),
        api_group: owner.api_group.clone(),
        name: owner.name.clone(),
        namespace: owner.namespace.clone(),
        role: "admin".to_owned(),
        roles: vec!["owner".to_owned()],
    });
    Ok(())
}

fn subject_of(user: &str) -> Subject {
    Subject {
        kind: "User".to_owned(),
        api_group: "rbac.authorization.k8s.io".to_owned(),
        name: user.to_owned(),
        namespace: String::new(),
    }
}

fn subject_of_member(member: &ProjectMember) -> Subject {
    Subject {
        kind: member.kind.clone(),
        api_group: member.api_group.clone(),
        name: member.name.clone(),
        namespace: member.namespace.clone(),
    }
}

/// Adds the Project's tolerations for keys that a new Shoot does not name itself (ShootTolerationRestriction).
pub fn add_default_tolerations(shoot: &mut Shoot, project: &Project) {
    let keys: BTreeSet<String> = shoot.spec.tolerations.iter().map(|one| one.key.clone()).collect();
    let defaults = project.spec.tolerations.iter().flat_map(|tolerations| &tolerations.defaults);
    shoot.spec.tolerations.extend(defaults.filter(|one| !keys.contains(&one.key)).cloned());
}

/// Checks that new tolerations are on the Project's list (ShootTolerationRestriction).
///
/// # Errors
/// 403 with the tolerations that are not on it.
pub fn check_tolerations(shoot: &Shoot, old: Option<&Shoot>, project: &Project) -> Result<(), Refusal> {
    let id = |one: &Toleration| key_and_value(&one.key, one.value.as_deref());
    let before: BTreeSet<String> = old.iter().flat_map(|old| &old.spec.tolerations).map(id).collect();
    let new: Vec<Toleration> =
        shoot.spec.tolerations.iter().filter(|one| !before.contains(&id(one))).cloned().collect();
    let allowed = project.spec.tolerations.as_ref().map_or(&[][..], |tolerations| &tolerations.whitelist);
    let mut errors = Vec::new();
    tolerations_against(&mut errors, &new, allowed, &Path::new("spec").child("tolerations"));
    if errors.is_empty() {
        return Ok(());
    }
    // Upstream prints the list itself, with brackets even around a single error.
    let text = aggregate(&errors);
    let text = if errors.len() == 1 { format!("[{text}]") } else { text };
    Err(Refusal::Forbidden(format!("error while validating tolerations against allowlist: {text}")))
}

/// Adds the class's seed selector and tolerations to the Shoot's (ShootExposureClass).
///
/// # Errors
/// 403 if the two contradict each other.
pub fn apply_exposure_class(shoot: &mut Shoot, class: &ExposureClass) -> Result<(), Refusal> {
    let Some(scheduling) = &class.scheduling else { return Ok(()) };
    if let Some(selector) = &scheduling.seed_selector {
        let own = shoot.spec.seed_selector.get_or_insert_default();
        let conflicts =
            selector.match_labels.iter().any(|(key, value)| own.match_labels.get(key).is_some_and(|own| own != value));
        if conflicts {
            let text = "matching labels of the seed selector conflicts with the ones of referenced exposureclass";
            return Err(Refusal::Forbidden(text.to_owned()));
        }
        own.match_labels.extend(selector.match_labels.clone());
        for expression in &selector.match_expressions {
            if !own.match_expressions.contains(expression) {
                own.match_expressions.push(expression.clone());
            }
        }
        let types: BTreeSet<String> = own.provider_types.iter().chain(&selector.provider_types).cloned().collect();
        own.provider_types = types.into_iter().collect();
    }
    for toleration in &scheduling.tolerations {
        if shoot.spec.tolerations.contains(toleration) {
            continue;
        }
        if shoot.spec.tolerations.iter().any(|one| one.key == toleration.key) {
            let key = &toleration.key;
            return Err(Refusal::Forbidden(format!(
                "toleration with key {key:?} conflicts with the ones of referenced exposureclass"
            )));
        }
        shoot.spec.tolerations.push(toleration.clone());
    }
    Ok(())
}

/// Sets the resource reservations of a Shoot's kubelets that are unset (ShootResourceReservation).
pub fn reserve_resources(shoot: &mut Shoot) {
    if shoot.metadata.is_being_deleted() || shoot.spec.provider.workers.is_empty() {
        return;
    }
    let reserved = shoot.spec.kubernetes.kubelet.get_or_insert_default().kube_reserved.get_or_insert_default();
    let parts = [(&mut reserved.cpu, "80m"), (&mut reserved.memory, "1Gi"), (&mut reserved.pid, "20k")];
    for (part, amount) in parts {
        if part.is_none() {
            *part = amount.parse().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::DOCUMENTED;

    #[test]
    fn the_creator_of_a_project_owns_it() {
        let mut project = Project::default();
        admit_project(&mut project, true, "alice", DOCUMENTED).unwrap();
        assert_eq!(project.spec.created_by, Some(subject_of("alice")));
        assert_eq!(project.spec.owner, Some(subject_of("alice")));
        let member = &project.spec.members[0];
        assert_eq!(
            (member.name.as_str(), member.role.as_str(), &member.roles[..]),
            ("alice", "admin", &["owner".to_owned()][..])
        );
        admit_project(&mut project, false, "bob", DOCUMENTED).unwrap();
        assert_eq!(project.spec.members.len(), 1);
    }

    #[test]
    fn namespaces_of_projects_begin_with_garden() {
        let check = |minor: u16, namespace: &str, accepted: bool| {
            let mut project = Project::default();
            project.spec.namespace = Some(namespace.to_owned());
            let admitted = admit_project(&mut project, true, "alice", Release(minor));
            assert_eq!(admitted.is_ok(), accepted, "{minor} {namespace}");
        };
        check(120, "garden", true);
        check(120, "garden-dev", true);
        check(120, "gardendev", false);
        check(126, "dev", false);
        check(127, "dev", true);
    }

    #[test]
    fn tolerations_must_be_on_the_list_of_the_project() {
        let toleration = |key: &str| Toleration { key: key.to_owned(), value: None };
        let mut project = Project::default();
        project.spec.tolerations =
            Some(ProjectTolerations { defaults: vec![toleration("a")], whitelist: vec![toleration("a")] });
        let mut shoot = Shoot::default();
        add_default_tolerations(&mut shoot, &project);
        assert_eq!(shoot.spec.tolerations, [toleration("a")]);
        assert_eq!(check_tolerations(&shoot, None, &project), Ok(()));
        let old = shoot.clone();
        shoot.spec.tolerations.push(toleration("b"));
        // Upstream counts positions among the new tolerations only.
        let text = "error while validating tolerations against allowlist: [spec.tolerations[0]: Forbidden: only the \
                    following tolerations are allowed: [a]]";
        let refusal = Refusal::Forbidden(text.to_owned());
        assert_eq!(check_tolerations(&shoot, Some(&old), &project), Err(refusal));
    }
}
