// SPDX-License-Identifier: Apache-2.0
//! The roles of a Project's members.
//!
//! | member with role | holds |
//! | --- | --- |
//! | owner of the Project | ClusterRole `gardener.cloud:system:project:P` |
//! | `owner`, `admin` | ClusterRole `…:project-member:P`; `…:project-member` in the namespace |
//! | `viewer` | ClusterRole `…:project-viewer:P`; `…:project-viewer` in the namespace |
//! | `uam` | ClusterRole `…:project-uam:P` |
//! | owner, `owner`, `serviceaccountmanager` | `…:project-serviceaccountmanager` in the namespace |
//! | `extension:R` | ClusterRole `gardener.cloud:extension:project:P:R` in the namespace, which extensions fill by a label |
//!
//! Source: pkg/component/garden/projectrbac/projectrbac.go @ v1.120.0.

use std::collections::BTreeMap;

use api::constants::{label, role};
use api::core::Project;
use api::kubernetes::rbac::{
    AggregationRule, ClusterRole, ClusterRoleBinding, GROUP, PolicyRule, RoleBinding, RoleRef, Subject,
};
use apimachinery::Resource;
use apimachinery::meta::{LabelSelector, ObjectMeta, OwnerReference, TextMap};

use super::named_rule;

const PREFIX: &str = "gardener.cloud:system:project";
const EXTENSION_PREFIX: &str = "gardener.cloud:extension:project:";
/// Prefix of the roles of extensions.
const EXTENSION: &str = "extension:";

/// The roles and bindings of a Project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Roles {
    /// ClusterRoles that the Project controller maintains.
    pub cluster_roles: Vec<ClusterRole>,
    /// ClusterRoleBindings that the Project controller maintains.
    pub cluster_role_bindings: Vec<ClusterRoleBinding>,
    /// RoleBindings, in the Project's namespace.
    pub role_bindings: Vec<RoleBinding>,
}

/// Returns the roles and bindings that a Project must have; none while it has no namespace.
pub fn roles(project: &Project) -> Roles {
    let Some(namespace) = project.spec.namespace.as_deref() else { return Roles::default() };
    let name = project.metadata.name.as_str();
    let members = |wanted: &[&str]| -> Vec<Subject> {
        let has = |member: &&api::core::ProjectMember| {
            std::iter::once(&member.role).chain(&member.roles).any(|role| wanted.contains(&role.as_str()))
        };
        project.spec.members.iter().filter(has).map(subject).collect()
    };
    let owner: Vec<Subject> = project.spec.owner.iter().cloned().collect();
    let namespace_rule = named_rule(&["get"], &[""], &["namespaces"], &[namespace]);
    let project_rule = |verbs: &[&str]| named_rule(verbs, &[Project::GROUP], &[Project::PLURAL], &[name]);
    let managers = owner.iter().cloned().chain(members(&["serviceaccountmanager", "owner"])).collect();

    let mut maker = Maker { project, namespace, roles: Roles::default() };
    let all = &["get", "patch", "manage-members", "update", "delete"];
    maker.of_cluster(&format!("{PREFIX}:{name}"), owner, vec![namespace_rule.clone(), project_rule(all)]);
    let managed = &["get", "manage-members", "patch", "update"];
    maker.of_cluster(&format!("{PREFIX}-uam:{name}"), members(&["uam"]), vec![project_rule(managed)]);
    let admins = members(&["admin", "owner"]);
    let changed = vec![namespace_rule.clone(), project_rule(&["get", "patch", "update", "delete"])];
    maker.of_cluster(&format!("{PREFIX}-member:{name}"), admins.clone(), changed);
    let viewers = members(&["viewer"]);
    maker.of_cluster(&format!("{PREFIX}-viewer:{name}"), viewers.clone(), vec![namespace_rule, project_rule(&["get"])]);
    maker.in_namespace(&format!("{PREFIX}-member"), admins, TextMap::default());
    maker.in_namespace(&format!("{PREFIX}-viewer"), viewers, TextMap::default());
    maker.in_namespace(&format!("{PREFIX}-serviceaccountmanager"), managers, TextMap::default());
    maker.extensions();
    maker.roles
}

/// Labels of the roles of extensions in a Project; roles that no member has any more are found by them.
pub fn extension_labels(project: &str) -> TextMap {
    [(label::ROLE, role::EXTENSION_PROJECT_ROLE), (label::PROJECT_NAME, project)]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into_iter()
        .collect()
}

struct Maker<'a> {
    project: &'a Project,
    namespace: &'a str,
    roles: Roles,
}

impl Maker<'_> {
    fn metadata(&self, name: &str, namespace: &str, labels: TextMap) -> ObjectMeta {
        let owner = OwnerReference {
            api_version: Project::api_version(),
            kind: Project::KIND.to_owned(),
            name: self.project.metadata.name.clone(),
            uid: self.project.metadata.uid.clone(),
            controller: Some(true),
            block_owner_deletion: Some(false),
        };
        ObjectMeta { labels, owner_references: vec![owner], ..ObjectMeta::named(namespace, name) }
    }

    /// A ClusterRole and its ClusterRoleBinding.
    fn of_cluster(&mut self, name: &str, subjects: Vec<Subject>, rules: Vec<PolicyRule>) {
        let metadata = self.metadata(name, "", TextMap::default());
        self.roles.cluster_roles.push(ClusterRole { metadata: metadata.clone(), rules, aggregation_rule: None });
        let subjects = unique(subjects);
        self.roles.cluster_role_bindings.push(ClusterRoleBinding { metadata, subjects, role_ref: role_ref(name) });
    }

    /// A RoleBinding of the ClusterRole of the same name.
    fn in_namespace(&mut self, name: &str, subjects: Vec<Subject>, labels: TextMap) {
        let metadata = self.metadata(name, self.namespace, labels);
        let subjects = unique(subjects);
        self.roles.role_bindings.push(RoleBinding { metadata, subjects, role_ref: role_ref(name) });
    }

    fn extensions(&mut self) {
        let mut extensions: BTreeMap<&str, Vec<Subject>> = BTreeMap::new();
        for member in &self.project.spec.members {
            for role in std::iter::once(&member.role).chain(&member.roles) {
                if let Some(extension) = role.strip_prefix(EXTENSION) {
                    extensions.entry(extension).or_default().push(subject(member));
                }
            }
        }
        let project = &self.project.metadata.name;
        for (extension, subjects) in extensions {
            let name = format!("{EXTENSION_PREFIX}{project}:{extension}");
            let labels = extension_labels(project);
            let selected = [(label::AGGREGATE_TO_EXTENSION_ROLE.to_owned(), extension.to_owned())];
            let selector = LabelSelector { match_labels: selected.into_iter().collect(), ..LabelSelector::default() };
            self.roles.cluster_roles.push(ClusterRole {
                metadata: self.metadata(&name, "", labels.clone()),
                rules: Vec::new(),
                aggregation_rule: Some(AggregationRule { cluster_role_selectors: vec![selector] }),
            });
            self.in_namespace(&name, subjects, labels);
        }
    }
}

fn role_ref(name: &str) -> RoleRef {
    RoleRef { api_group: GROUP.to_owned(), kind: ClusterRole::KIND.to_owned(), name: name.to_owned() }
}

fn subject(member: &api::core::ProjectMember) -> Subject {
    Subject {
        kind: member.kind.clone(),
        api_group: member.api_group.clone(),
        name: member.name.clone(),
        namespace: member.namespace.clone(),
    }
}

fn unique(subjects: Vec<Subject>) -> Vec<Subject> {
    let mut all: Vec<Subject> = Vec::new();
    for subject in subjects {
        if !all.contains(&subject) {
            all.push(subject);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::subject::of;
    use super::*;
    use api::core::{ProjectMember, ProjectSpec};

    fn member(name: &str, roles: &[&str]) -> ProjectMember {
        let (first, rest) = roles.split_first().expect("a role");
        ProjectMember {
            kind: "User".to_owned(),
            api_group: GROUP.to_owned(),
            name: name.to_owned(),
            namespace: String::new(),
            role: (*first).to_owned(),
            roles: rest.iter().map(|role| (*role).to_owned()).collect(),
        }
    }

    fn project() -> Project {
        let members = vec![
            member("olga", &["admin", "owner"]),
            member("anna", &["admin"]),
            member("vera", &["viewer", "extension:billing"]),
            member("ulla", &["uam", "extension:billing"]),
            member("sam", &["serviceaccountmanager"]),
        ];
        Project {
            metadata: ObjectMeta { uid: "1".to_owned(), ..ObjectMeta::named("", "dev") },
            spec: ProjectSpec {
                owner: Some(of("User", "olga")),
                members,
                namespace: Some("garden-dev".to_owned()),
                ..ProjectSpec::default()
            },
            ..Project::default()
        }
    }

    #[test]
    fn members_hold_the_roles_that_the_project_gives_them() {
        let roles = roles(&project());
        let names = |subjects: &[Subject]| subjects.iter().map(|it| it.name.clone()).collect::<Vec<_>>().join(",");
        let of_cluster: Vec<String> = roles
            .cluster_role_bindings
            .iter()
            .map(|binding| format!("{} {}", binding.metadata.name, names(&binding.subjects)))
            .collect();
        assert_eq!(
            of_cluster,
            [
                "gardener.cloud:system:project:dev olga",
                "gardener.cloud:system:project-uam:dev ulla",
                "gardener.cloud:system:project-member:dev olga,anna",
                "gardener.cloud:system:project-viewer:dev vera",
            ]
        );
        let in_namespace: Vec<String> = roles
            .role_bindings
            .iter()
            .map(|binding| {
                let ObjectMeta { namespace, name, .. } = &binding.metadata;
                assert_eq!(binding.role_ref, role_ref(name));
                format!("{namespace} {name} {}", names(&binding.subjects))
            })
            .collect();
        assert_eq!(
            in_namespace,
            [
                "garden-dev gardener.cloud:system:project-member olga,anna",
                "garden-dev gardener.cloud:system:project-viewer vera",
                "garden-dev gardener.cloud:system:project-serviceaccountmanager olga,sam",
                "garden-dev gardener.cloud:extension:project:dev:billing vera,ulla",
            ]
        );
        let verbs = |name: &str| {
            let role = roles.cluster_roles.iter().find(|role| role.metadata.name == name).expect("a role");
            role.rules.last().expect("a rule").verbs.join(",")
        };
        assert_eq!(verbs("gardener.cloud:system:project:dev"), "get,patch,manage-members,update,delete");
        assert_eq!(verbs("gardener.cloud:system:project-uam:dev"), "get,manage-members,patch,update");
        assert_eq!(verbs("gardener.cloud:system:project-member:dev"), "get,patch,update,delete");
        assert_eq!(verbs("gardener.cloud:system:project-viewer:dev"), "get");
        let billing = roles.cluster_roles.last().expect("a role");
        let selectors = &billing.aggregation_rule.as_ref().expect("made of others").cluster_role_selectors;
        let label = selectors[0].match_labels.get("rbac.gardener.cloud/aggregate-to-extension-role");
        assert_eq!(label.map(String::as_str), Some("billing"));
        let owner = &billing.metadata.owner_references[0];
        assert_eq!((owner.kind.as_str(), owner.uid.as_str()), ("Project", "1"));
    }

    #[test]
    fn a_project_without_namespace_has_no_roles() {
        let mut project = project();
        project.spec.namespace = None;
        assert_eq!(roles(&project), Roles::default());
    }
}
