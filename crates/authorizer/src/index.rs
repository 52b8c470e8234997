// SPDX-License-Identifier: Apache-2.0
//! The roles of one cluster, indexed by the subjects of their bindings.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::kubernetes::rbac::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject};
use apimachinery::Resource;
use domain::rbac::defaults::Defaults;
use domain::rbac::subject::{SubjectName, subject_name};
use rustc_hash::FxHashMap;

/// Rules of a role.
pub(crate) type Rules = Arc<[PolicyRule]>;

/// A RoleBinding or ClusterRoleBinding.
#[derive(Debug)]
pub(crate) struct Binding {
    /// Namespace; empty for a ClusterRoleBinding.
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) role: RoleRef,
    pub(crate) subjects: Vec<Subject>,
}

/// Bindings by namespace (empty: of the cluster), in the order of their names.
type ByNamespace = BTreeMap<String, BTreeMap<String, Arc<Binding>>>;

/// The roles and bindings of one cluster.
#[derive(Debug, Default)]
pub(crate) struct Index {
    cluster_roles: FxHashMap<String, Rules>,
    /// Rules of Roles by namespace and name.
    roles: FxHashMap<String, FxHashMap<String, Rules>>,
    bindings: ByNamespace,
    users: FxHashMap<String, ByNamespace>,
    groups: FxHashMap<String, ByNamespace>,
}

impl Index {
    /// Creates the index of a cluster's default roles and bindings.
    pub(crate) fn of(defaults: Defaults) -> Self {
        let mut index = Self::default();
        for ClusterRole { metadata, rules, .. } in defaults.cluster_roles {
            index.set_role("", &metadata.name, Some(rules));
        }
        for Role { metadata, rules } in defaults.roles {
            index.set_role(&metadata.namespace, &metadata.name, Some(rules));
        }
        for ClusterRoleBinding { metadata, subjects, role_ref } in defaults.cluster_role_bindings {
            index.set_binding("", &metadata.name, Some((subjects, role_ref)));
        }
        for RoleBinding { metadata, subjects, role_ref } in defaults.role_bindings {
            index.set_binding(&metadata.namespace, &metadata.name, Some((subjects, role_ref)));
        }
        index
    }

    /// Updates the index for an object that was written; `None`: it was deleted.
    pub(crate) fn take(&mut self, plural: &str, namespace: &str, name: &str, object: Option<&[u8]>) {
        fn read<K: Resource>(object: Option<&[u8]>, name: &str) -> Option<K> {
            let read = K::read(object?);
            read.inspect_err(|error| tracing::error!(%error, kind = K::KIND, name, "cannot read a stored role")).ok()
        }
        match plural {
            Role::PLURAL => self.set_role(namespace, name, read::<Role>(object, name).map(|role| role.rules)),
            ClusterRole::PLURAL => self.set_role("", name, read::<ClusterRole>(object, name).map(|role| role.rules)),
            RoleBinding::PLURAL => {
                let read = read::<RoleBinding>(object, name);
                self.set_binding(namespace, name, read.map(|read| (read.subjects, read.role_ref)));
            }
            ClusterRoleBinding::PLURAL => {
                let read = read::<ClusterRoleBinding>(object, name);
                self.set_binding("", name, read.map(|read| (read.subjects, read.role_ref)));
            }
            _ => {}
        }
    }

    fn set_role(&mut self, namespace: &str, name: &str, rules: Option<Vec<PolicyRule>>) {
        let roles = match namespace {
            "" => &mut self.cluster_roles,
            namespace => self.roles.entry(namespace.to_owned()).or_default(),
        };
        match rules {
            Some(rules) => drop(roles.insert(name.to_owned(), rules.into())),
            None => drop(roles.remove(name)),
        }
        if self.roles.get(namespace).is_some_and(FxHashMap::is_empty) {
            self.roles.remove(namespace);
        }
    }

    fn set_binding(&mut self, namespace: &str, name: &str, new: Option<(Vec<Subject>, RoleRef)>) {
        if let Some(old) = self.bindings.get(namespace).and_then(|bindings| bindings.get(name)).cloned() {
            for subject_name in subjects(&old) {
                let (subjects, key) = self.subjects(subject_name);
                if let Some(bindings) = subjects.get_mut(&key) {
                    remove(bindings, namespace, name);
                    if bindings.is_empty() {
                        subjects.remove(&key);
                    }
                }
            }
            remove(&mut self.bindings, namespace, name);
        }
        let Some((of, role)) = new else { return };
        let binding = Arc::new(Binding { namespace: namespace.to_owned(), name: name.to_owned(), role, subjects: of });
        for subject_name in subjects(&binding) {
            let (subjects, key) = self.subjects(subject_name);
            insert(subjects.entry(key).or_default(), &binding);
        }
        insert(&mut self.bindings, &binding);
    }

    fn subjects(&mut self, subject_name: SubjectName) -> (&mut FxHashMap<String, ByNamespace>, String) {
        match subject_name {
            SubjectName::User(name) => (&mut self.users, name),
            SubjectName::Group(name) => (&mut self.groups, name),
        }
    }

    /// True if a binding of this name exists.
    pub(crate) fn has_binding(&self, namespace: &str, name: &str) -> bool {
        self.bindings.get(namespace).is_some_and(|bindings| bindings.contains_key(name))
    }

    /// Returns the bindings of a user, in the order of their names.
    pub(crate) fn of_user(&self, user: &str, namespace: &str) -> impl Iterator<Item = &Arc<Binding>> {
        let found = self.users.get(user).and_then(|bindings| bindings.get(namespace));
        found.into_iter().flat_map(BTreeMap::values)
    }

    /// Returns the bindings of a group, in the order of their names.
    pub(crate) fn of_group(&self, group: &str, namespace: &str) -> impl Iterator<Item = &Arc<Binding>> {
        let found = self.groups.get(group).and_then(|bindings| bindings.get(namespace));
        found.into_iter().flat_map(BTreeMap::values)
    }

    /// Returns the rules of the role to which a binding of a namespace refers.
    pub(crate) fn rules(&self, role: &RoleRef, namespace: &str) -> Option<&Rules> {
        match role.kind.as_str() {
            ClusterRole::KIND => self.cluster_roles.get(&role.name),
            Role::KIND => self.roles.get(namespace)?.get(&role.name),
            _ => None,
        }
    }
}

fn subjects(binding: &Binding) -> Vec<SubjectName> {
    let mut all: Vec<SubjectName> =
        binding.subjects.iter().filter_map(|one| subject_name(one, &binding.namespace)).collect();
    all.sort();
    all.dedup();
    all
}

fn insert(bindings: &mut ByNamespace, binding: &Arc<Binding>) {
    bindings.entry(binding.namespace.clone()).or_default().insert(binding.name.clone(), binding.clone());
}

fn remove(bindings: &mut ByNamespace, namespace: &str, name: &str) {
    if let Some(named) = bindings.get_mut(namespace) {
        named.remove(name);
        if named.is_empty() {
            bindings.remove(namespace);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn binding(subjects: &serde_json::Value) -> Vec<u8> {
        json!({
            "kind": "RoleBinding", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": { "name": "b" },
            "subjects": subjects,
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r" },
        })
        .to_string()
        .into_bytes()
    }

    #[test]
    fn a_binding_is_found_by_its_subjects() {
        let mut index = Index::default();
        let names = |index: &Index, user: &str| index.of_user(user, "n").map(|it| it.name.clone()).collect::<Vec<_>>();
        let jane = binding(&json!([{ "kind": "User", "name": "jane" }, { "kind": "Group", "name": "devs" }]));
        index.take("rolebindings", "n", "b", Some(&jane));
        assert_eq!(names(&index, "jane"), ["b"]);
        assert_eq!(index.of_group("devs", "n").count(), 1);
        assert_eq!(index.of_group("devs", "m").count(), 0);
        assert!(index.has_binding("n", "b"));

        let robot = binding(&json!([{ "kind": "ServiceAccount", "name": "robot" }]));
        index.take("rolebindings", "n", "b", Some(&robot));
        assert!(names(&index, "jane").is_empty());
        assert_eq!(names(&index, "system:serviceaccount:n:robot"), ["b"]);

        index.take("rolebindings", "n", "b", None);
        assert!(names(&index, "system:serviceaccount:n:robot").is_empty());
        assert!(index.users.is_empty() && index.groups.is_empty() && index.bindings.is_empty());
    }

    #[test]
    fn a_role_belongs_to_its_namespace() {
        let mut index = Index::default();
        let role = json!({
            "kind": "Role", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": { "name": "r" },
            "rules": [{ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] }],
        });
        index.take("roles", "n", "r", Some(role.to_string().as_bytes()));
        let reference = RoleRef { kind: "Role".to_owned(), name: "r".to_owned(), ..RoleRef::default() };
        assert_eq!(index.rules(&reference, "n").map(|rules| rules.len()), Some(1));
        assert!(index.rules(&reference, "m").is_none());
        assert!(index.rules(&RoleRef { kind: "ClusterRole".to_owned(), ..reference.clone() }, "n").is_none());
        index.take("roles", "n", "r", None);
        assert!(index.rules(&reference, "n").is_none());
        assert!(index.roles.is_empty());
    }
}
