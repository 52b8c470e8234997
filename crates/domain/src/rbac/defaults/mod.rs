// SPDX-License-Identifier: Apache-2.0
//! The initial roles and bindings of a cluster.
//!
//! | cluster | has |
//! | --- | --- |
//! | every one | those of Kubernetes |
//! | the garden | those of Gardener's charts, and those that the landscape's processes need in addition |
//! | `runtime` | those that the landscape's processes need |
//! | a Shoot's | the rights of its viewers and administrators |
//!
//! Aggregated roles have their rules from the start.
//!
//! **Shape.** The texts in this directory are the tables; the first one describes their format.

use std::collections::BTreeMap;

use api::catalogue;
use api::cluster::{self, ClusterName};
use api::constants::{annotation, user};
use api::kubernetes::rbac::{
    AggregationRule, ClusterRole, ClusterRoleBinding, GROUP, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use apimachinery::meta::{LabelSelector, ObjectMeta, TextMap};

use super::{aggregation, rule, subject};

const KUBERNETES: &str = include_str!("kubernetes.txt");
const GARDEN: &str = include_str!("garden.txt");
const TERRARIUM: &str = include_str!("terrarium.txt");

/// Name of the role, and of its binding, for viewers of a Shoot.
pub const READ_ONLY: &str = "gardener.cloud:system:read-only";

/// Initial roles and bindings of a cluster, each list in the order of names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Defaults {
    /// ClusterRoles that the cluster begins with.
    pub cluster_roles: Vec<ClusterRole>,
    /// ClusterRoleBindings that the cluster begins with.
    pub cluster_role_bindings: Vec<ClusterRoleBinding>,
    /// Roles that the cluster begins with.
    pub roles: Vec<Role>,
    /// RoleBindings that the cluster begins with.
    pub role_bindings: Vec<RoleBinding>,
}

/// Returns the initial roles and bindings of a cluster.
pub fn of(cluster: Option<ClusterName<'_>>) -> Defaults {
    let mut reader = Reader::default();
    reader.read(KUBERNETES);
    reader.common = TextMap::default();
    reader.common_annotations = TextMap::default();
    match cluster {
        Some(ClusterName::Garden) => {
            reader.read(GARDEN);
            reader.read(section("garden"));
        }
        Some(ClusterName::Runtime) => reader.read(section("runtime")),
        Some(ClusterName::Shoot(_)) => {
            reader.defaults.cluster_roles.push(read_only());
            reader.read(&format!("bind {READ_ONLY} Group:{}", user::VIEWERS));
            for (group, role) in SHOOT_GROUPS {
                reader.defaults.cluster_role_bindings.push(binding_of_group(group, role));
            }
        }
        Some(ClusterName::Seed(_)) | None => {}
    }
    let mut defaults = reader.defaults;
    defaults.cluster_roles.sort_by(|left, right| left.metadata.name.cmp(&right.metadata.name));
    defaults.cluster_role_bindings.sort_by(|left, right| left.metadata.name.cmp(&right.metadata.name));
    aggregate(&mut defaults.cluster_roles);
    defaults
}

/// Groups of a Shoot's users, and the role of each.
///
/// Unlike upstream: of every release, not since 1.126; the groups of older ones have no members.
/// Source: pkg/component/shoot/system/system.go @ v1.126.0, pkg/component/gardener/access/access.go @ v1.149.0.
const SHOOT_GROUPS: [(&str, &str); 4] = [
    (user::SYSTEM_ADMINS, "cluster-admin"),
    (user::PROJECT_ADMINS, "cluster-admin"),
    (user::VIEWERS, READ_ONLY),
    (user::PROJECT_VIEWERS, READ_ONLY),
];

/// A ClusterRoleBinding with the name of its group.
fn binding_of_group(group: &str, role: &str) -> ClusterRoleBinding {
    let mut metadata = ObjectMeta::named("", group);
    metadata.annotations.insert(annotation::DELETE_ON_INVALID_UPDATE.to_owned(), "true".to_owned());
    ClusterRoleBinding {
        metadata,
        role_ref: RoleRef { api_group: GROUP.to_owned(), kind: "ClusterRole".to_owned(), name: role.to_owned() },
        subjects: vec![Subject {
            api_group: GROUP.to_owned(),
            kind: "Group".to_owned(),
            name: group.to_owned(),
            ..Subject::default()
        }],
    }
}

/// Returns the section of the landscape's own table for a cluster.
fn section(name: &str) -> &'static str {
    let mut parts = TERRARIUM.split("\n[").skip(1);
    let found = parts.find_map(|part| part.strip_prefix(name)?.strip_prefix("]\n"));
    found.expect("the table has the section")
}

/// Fills in the rules of aggregated roles, until nothing changes: one may aggregate another such role.
fn aggregate(roles: &mut [ClusterRole]) {
    loop {
        let filled: Vec<Option<Vec<PolicyRule>>> =
            roles.iter().map(|role| aggregation::rules(role, roles.iter())).collect();
        let mut changed = false;
        for (role, rules) in roles.iter_mut().zip(filled) {
            if let Some(rules) = rules.filter(|rules| *rules != role.rules) {
                role.rules = rules;
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}

/// Returns the role of a Shoot's viewers: read access to every kind but Secrets, which are encrypted.
///
/// Source: pkg/component/shoot/system/system.go (readOnlyRBACResources) @ v1.120.0.
fn read_only() -> ClusterRole {
    let any_shoot = cluster::technical_id("", "");
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for row in catalogue::all().iter().filter(|row| catalogue::serves(&any_shoot, row)) {
        if row.group.is_empty() && row.plural == "secrets" {
            continue;
        }
        let resources = groups.entry(row.group).or_default();
        resources.push(row.plural.to_owned());
        if row.group.is_empty() && row.plural == "pods" {
            resources.push("pods/log".to_owned());
        }
    }
    groups.entry("events.k8s.io").or_default().push("events".to_owned());
    let rules = groups.into_iter().map(|(group, mut resources)| {
        resources.sort();
        resources.dedup();
        let names: Vec<&str> = resources.iter().map(String::as_str).collect();
        rule(&["get", "list", "watch"], &[group], &names)
    });
    let metadata = ObjectMeta { name: READ_ONLY.to_owned(), ..ObjectMeta::default() };
    ClusterRole { metadata, rules: rules.collect(), aggregation_rule: None }
}

/// Reads the tables. They are part of the program, so an unreadable line is a mistake of its author.
#[derive(Default)]
struct Reader {
    defaults: Defaults,
    /// Labels and annotations of all following objects.
    common: TextMap,
    common_annotations: TextMap,
    /// True if the rules that follow are those of a Role.
    in_role: bool,
}

impl Reader {
    fn read(&mut self, text: &str) {
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match (line.starts_with(' '), &words[..]) {
                (true, ["from", label]) => self.from(label),
                (true, [verbs, rest @ ..]) => self.rule(verbs, rest),
                (false, ["@", label, annotation]) => {
                    self.common = pairs(&[label]);
                    self.common_annotations = pairs(&[annotation]);
                }
                (false, ["role", name, "in", namespace, labels @ ..]) => self.role(name, namespace, labels),
                (false, ["role", name, labels @ ..]) => self.role(name, "", labels),
                (false, ["bind", name, "in", namespace, subjects @ ..]) => self.bind(name, namespace, subjects),
                (false, ["bind", name, subjects @ ..]) => self.bind(name, "", subjects),
                _ => unreachable!("the table has no such line: {line}"),
            }
        }
    }

    fn metadata(&self, name: &str, namespace: &str, labels: &[&str]) -> ObjectMeta {
        let mut all = self.common.clone();
        for (key, value) in &pairs(labels) {
            all.insert(key.clone(), value.clone());
        }
        ObjectMeta {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            labels: all,
            annotations: self.common_annotations.clone(),
            ..ObjectMeta::default()
        }
    }

    fn role(&mut self, name: &str, namespace: &str, labels: &[&str]) {
        let metadata = self.metadata(name, namespace, labels);
        self.in_role = !namespace.is_empty();
        if self.in_role {
            self.defaults.roles.push(Role { metadata, rules: Vec::new() });
        } else {
            self.defaults.cluster_roles.push(ClusterRole { metadata, ..ClusterRole::default() });
        }
    }

    fn from(&mut self, label: &str) {
        let role = self.defaults.cluster_roles.last_mut().expect("a role comes before its rules");
        let selector = LabelSelector { match_labels: pairs(&[label]), ..LabelSelector::default() };
        role.aggregation_rule.get_or_insert_with(AggregationRule::default).cluster_role_selectors.push(selector);
    }

    fn rule(&mut self, verbs: &str, rest: &[&str]) {
        let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<String>>();
        let verbs = match verbs {
            "ro" => list("get,list,watch"),
            "w" => list("create,delete,deletecollection,patch,update"),
            "rw" => list("create,delete,deletecollection,get,list,patch,update,watch"),
            "crud" => list("create,delete,deletecollection,get,list,watch,patch,update"),
            verbs => list(verbs),
        };
        let rule = match rest {
            [paths] => {
                let bare = |path: String| if path == "//*" { "*".to_owned() } else { path };
                PolicyRule {
                    verbs,
                    non_resource_urls: list(paths).into_iter().map(bare).collect(),
                    ..PolicyRule::default()
                }
            }
            [groups, resources, names @ ..] => {
                let core = |group: String| if group == "core" { String::new() } else { group };
                PolicyRule {
                    verbs,
                    api_groups: list(groups).into_iter().map(core).collect(),
                    resources: list(resources),
                    resource_names: names.iter().flat_map(|names| list(names)).collect(),
                    ..PolicyRule::default()
                }
            }
            [] => unreachable!("a rule says of what"),
        };
        let last = if self.in_role {
            self.defaults.roles.last_mut().map(|role| &mut role.rules)
        } else {
            self.defaults.cluster_roles.last_mut().map(|role| &mut role.rules)
        };
        last.expect("a role comes before its rules").push(rule);
    }

    fn bind(&mut self, name: &str, namespace: &str, subjects: &[&str]) {
        let (name, role) = name.split_once('=').unwrap_or((name, name));
        let (kind, role) = match role.strip_prefix("cluster:") {
            Some(role) => ("ClusterRole", role),
            None if namespace.is_empty() => ("ClusterRole", role),
            None => ("Role", role),
        };
        let metadata = self.metadata(name, namespace, &[]);
        let role_ref = RoleRef { api_group: GROUP.to_owned(), kind: kind.to_owned(), name: role.to_owned() };
        let subjects = subjects.iter().map(|text| named(text)).collect();
        if namespace.is_empty() {
            self.defaults.cluster_role_bindings.push(ClusterRoleBinding { metadata, subjects, role_ref });
        } else {
            self.defaults.role_bindings.push(RoleBinding { metadata, subjects, role_ref });
        }
    }
}

/// `Kind:name`, or `ServiceAccount:namespace:name`.
fn named(text: &str) -> Subject {
    let (kind, name) = text.split_once(':').expect("a subject has a kind");
    if kind != subject::SERVICE_ACCOUNT {
        return subject::of(kind, name);
    }
    let (namespace, name) = name.split_once(':').expect("an account has a namespace");
    Subject { kind: kind.to_owned(), name: name.to_owned(), namespace: namespace.to_owned(), ..Subject::default() }
}

fn pairs(texts: &[&str]) -> TextMap {
    let pairs = texts.iter().filter_map(|text| text.split_once('='));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Attributes, allows};
    use super::*;

    fn rules<'a>(defaults: &'a Defaults, name: &str) -> &'a [PolicyRule] {
        let role = defaults.cluster_roles.iter().find(|role| role.metadata.name == name);
        &role.unwrap_or_else(|| panic!("no role {name}")).rules
    }

    #[track_caller]
    fn check(defaults: &Defaults, role: &str, asked: &str, expected: bool) {
        let words: Vec<&str> = asked.split_whitespace().collect();
        let [verb, group, resource] = words[..] else { panic!("three words: {asked}") };
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let group = if group == "core" { "" } else { group };
        let asked = Attributes { verb, group, resource, subresource, ..Attributes::default() };
        assert_eq!(rules(defaults, role).iter().any(|rule| allows(rule, &asked)), expected, "{role}: {asked:?}");
    }

    #[test]
    fn view_edit_and_admin_grow_out_of_each_other() {
        let defaults = of(Some(ClusterName::Seed("a")));
        for (role, asked, expected) in [
            ("view", "get core pods", true),
            ("view", "get core secrets", false),
            ("view", "update core pods", false),
            ("edit", "get core pods", true),
            ("edit", "get core secrets", true),
            ("edit", "delete apps deployments", true),
            ("edit", "create rbac.authorization.k8s.io rolebindings", false),
            ("admin", "create rbac.authorization.k8s.io rolebindings", true),
            ("admin", "watch core pods", true),
            ("admin", "delete core nodes", false),
            ("cluster-admin", "delete core nodes", true),
        ] {
            check(&defaults, role, asked, expected);
        }
        let [everything, paths] = rules(&defaults, "cluster-admin") else { panic!("two rules") };
        assert_eq!(*everything, rule(&["*"], &["*"], &["*"]));
        assert_eq!(*paths, super::super::path_rule(&["*"], &["*"]));
    }

    #[test]
    fn roles_of_projects_are_those_of_the_charts() {
        let defaults = of(Some(ClusterName::Garden));
        let (member, viewer) = ("gardener.cloud:system:project-member", "gardener.cloud:system:project-viewer");
        for (role, asked, expected) in [
            (member, "patch core.gardener.cloud shoots", true),
            (member, "patch core.gardener.cloud shoots/status", false),
            (member, "update core.gardener.cloud shoots/binding", false),
            (member, "create core.gardener.cloud shoots/adminkubeconfig", true),
            (member, "deletecollection core.gardener.cloud namespacedcloudprofiles", false),
            (member, "create security.gardener.cloud workloadidentities/token", false),
            (viewer, "get core.gardener.cloud shoots", true),
            (viewer, "get core secrets", false),
            (viewer, "create core.gardener.cloud shoots/adminkubeconfig", false),
            (viewer, "create core.gardener.cloud shoots/viewerkubeconfig", true),
            ("gardener.cloud:system:viewers", "list core.gardener.cloud projects", true),
            ("gardener.cloud:system:viewers", "list core.gardener.cloud secretbindings", true),
            ("gardener.cloud:system:administrators", "create core serviceaccounts/token", true),
            ("gardener.cloud:admin", "manage-members core.gardener.cloud projects", true),
            ("gardener.cloud:system:read-global-resources", "patch core.gardener.cloud cloudprofiles", false),
        ] {
            check(&defaults, role, asked, expected);
        }
        let bound = |name: &str| defaults.cluster_role_bindings.iter().any(|binding| binding.role_ref.name == name);
        assert!(bound("gardener.cloud:system:read-global-resources"));
        assert!(!bound("gardener.cloud:system:project-creation"), "the chart leaves it to the operator of the garden");
        assert_eq!(defaults.roles.len(), 6);
    }

    #[test]
    fn viewers_of_a_shoot_read_everything_but_secrets() {
        let defaults = of(Some(ClusterName::Shoot("shoot--p--s")));
        for (asked, expected) in [
            ("list core pods", true),
            ("get core pods/log", true),
            ("get apps deployments", true),
            ("list core nodes", true),
            ("get core secrets", false),
            ("delete core pods", false),
            ("get events.k8s.io events", true),
        ] {
            check(&defaults, READ_ONLY, asked, expected);
        }
        let binding = defaults.cluster_role_bindings.iter().find(|binding| binding.metadata.name == READ_ONLY);
        assert_eq!(binding.expect("a binding").subjects[0].name, "gardener.cloud:system:viewers");
        for (group, role) in [
            ("gardener.cloud:system:admins", "cluster-admin"),
            ("gardener.cloud:project:admins", "cluster-admin"),
            ("gardener.cloud:system:viewers", "gardener.cloud:system:read-only"),
            ("gardener.cloud:project:viewers", "gardener.cloud:system:read-only"),
        ] {
            let binding = defaults.cluster_role_bindings.iter().find(|binding| binding.metadata.name == group);
            let binding = binding.expect("a binding of the group's name");
            assert_eq!((binding.subjects[0].name.as_str(), binding.role_ref.name.as_str()), (group, role));
        }
        assert!(of(None).cluster_roles.iter().all(|role| role.metadata.name != READ_ONLY));
    }

    #[test]
    fn lists_are_in_the_order_of_names() {
        for cluster in ["garden", "runtime", "seed--a", "shoot--p--s"] {
            let defaults = of(ClusterName::parse(cluster));
            let names: Vec<&str> = defaults.cluster_roles.iter().map(|role| role.metadata.name.as_str()).collect();
            assert!(names.is_sorted(), "{cluster}");
            assert!(names.contains(&"admin"), "{cluster}");
            assert!(defaults.cluster_roles.iter().all(|role| !role.rules.is_empty()), "{cluster}");
        }
    }
}
