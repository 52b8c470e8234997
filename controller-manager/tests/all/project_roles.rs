// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/component/garden/projectrbac/projectrbac_test.go @ v1.120.0. The roles themselves are a table in
//! `domain::rbac::project`.

use api::core::Project;
use api::kubernetes::core::Namespace;
use api::kubernetes::rbac::{ClusterRole, ClusterRoleBinding, RoleBinding};
use controller_manager::Options;
use serde_json::{Value, json};
use testkit::{World, object};

use super::{ALL, world};

const UID: &str = "4b0a3b8e-6ac5-4d3d-a9c4-0f6b2f3b6a52";
const NAMESPACE: &str = "garden-dev";
const OF_EXTENSION: &str = "gardener.cloud:extension:project:dev:logs";

fn member(name: &str, role: &str) -> Value {
    json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name, "role": role})
}

/// Returns Project `dev` with its namespace, after the Project controller has reconciled it.
fn started(members: &[Value]) -> World {
    let project: Project = object(json!({
        "metadata": {"name": "dev", "uid": UID, "generation": 1},
        "spec": {"namespace": NAMESPACE, "members": members},
    }));
    let labels = json!({"gardener.cloud/role": "project", "project.gardener.cloud/name": "dev"});
    let namespace: Namespace = object(json!({"metadata": {"name": NAMESPACE, "labels": labels,
        "annotations": {"namespace.gardener.cloud/project": UID}}}));
    let mut world = world("2025-06-02T12:00:00Z").with(project).with(namespace);
    let disabled = ALL.into_iter().filter(|other| *other != "project").collect();
    world.start(|context| {
        controller_manager::run(context, Options { disabled, project_roles: true, ..Options::default() })
    });
    world
}

fn change(world: &mut World, change: impl FnOnce(&mut Project)) {
    world.change::<Project>("", "dev", |project| {
        change(project);
        project.metadata.generation += 1;
    });
    world.pass();
}

/// Returns the names of a role binding's subjects.
fn given(world: &World, binding: &str) -> Option<Vec<String>> {
    let binding: Option<RoleBinding> = world.get(NAMESPACE, binding);
    binding.map(|binding| binding.subjects.into_iter().map(|subject| subject.name).collect())
}

#[test]
fn members_of_a_new_project_get_their_roles() {
    let world = started(&[member("ada", "admin"), member("vera", "viewer")]);
    let role: ClusterRole = world.get("", "gardener.cloud:system:project-member:dev").expect("a role");
    assert_eq!(role.metadata.owner_references[0].uid, UID);
    let binding: ClusterRoleBinding = world.get("", "gardener.cloud:system:project-member:dev").expect("a binding");
    assert_eq!((binding.role_ref.name, binding.subjects.len()), (role.metadata.name, 1));
    assert_eq!(given(&world, "gardener.cloud:system:project-member"), Some(vec!["ada".to_owned()]));
    assert_eq!(given(&world, "gardener.cloud:system:project-viewer"), Some(vec!["vera".to_owned()]));
    assert_eq!(world.get::<Project>("", "dev").expect("the Project").status.phase, "Ready");
}

#[test]
fn a_member_that_leaves_loses_its_roles() {
    let mut world = started(&[member("ada", "admin"), member("max", "admin")]);
    change(&mut world, |project| project.spec.members.retain(|member| member.name != "ada"));
    assert_eq!(given(&world, "gardener.cloud:system:project-member"), Some(vec!["max".to_owned()]));
    let binding: ClusterRoleBinding = world.get("", "gardener.cloud:system:project-member:dev").expect("a binding");
    assert_eq!(binding.subjects.len(), 1);
}

#[test]
fn a_role_that_was_changed_by_hand_is_put_right() {
    let mut world = started(&[member("ada", "admin")]);
    world.change::<ClusterRole>("", "gardener.cloud:system:project:dev", |role| role.rules.clear());
    change(&mut world, |_| {});
    let role: ClusterRole = world.get("", "gardener.cloud:system:project:dev").expect("a role");
    assert_eq!(role.rules.len(), 2);
}

#[test]
fn extension_roles_keep_aggregated_rules_while_they_have_members() {
    let mut world = started(&[member("ada", "admin"), member("leo", "extension:logs")]);
    assert_eq!(given(&world, OF_EXTENSION), Some(vec!["leo".to_owned()]));
    let rules = json!([{"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}]);
    let filled: ClusterRole = object(json!({"metadata": {"name": OF_EXTENSION}, "rules": rules}));
    world.change::<ClusterRole>("", OF_EXTENSION, |role| role.rules = filled.rules);
    change(&mut world, |project| project.spec.description = Some("d".to_owned()));
    assert_eq!(world.get::<ClusterRole>("", OF_EXTENSION).expect("a role").rules.len(), 1);
    change(&mut world, |project| project.spec.members.retain(|member| member.name != "leo"));
    assert_eq!((given(&world, OF_EXTENSION), world.get::<ClusterRole>("", OF_EXTENSION)), (None, None));
}

#[test]
fn roles_are_deleted_with_their_project() {
    let mut world = started(&[member("ada", "admin"), member("leo", "extension:logs")]);
    world.delete_in::<Project>("garden", "", "dev");
    world.pass();
    assert_eq!(world.list_in::<ClusterRole>("garden"), []);
    assert_eq!(world.list_in::<ClusterRoleBinding>("garden"), []);
    assert_eq!(world.list_in::<RoleBinding>("garden"), []);
}
