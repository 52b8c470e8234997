// SPDX-License-Identifier: Apache-2.0
//! The authorizer.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use api::cluster::{self, ClusterName};
use api::kubernetes::rbac::{ClusterRole, ClusterRoleBinding, GROUP, PolicyRule, Role, RoleBinding, RoleRef};
use apimachinery::Resource;
use apimachinery::go::quote;
use domain::rbac::seed::graph::{self, Vertex};
use domain::rbac::seed::{self, Relations};
use domain::rbac::subject::{SubjectName, subject_name};
use domain::rbac::{Attributes, COMPONENTS, MASTERS, allows, defaults, reason};
use generic_apiserver::Builder;
use generic_apiserver::authorization::{Authorizer, Decision, PathRule, Question, ResourceRule, Rules as Listed};
use generic_apiserver::observer::{Observed, Observer};
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use process::User;

use crate::escalation::Escalation;
use crate::graph::Graph;
use crate::index::{Binding, Index, Rules};
use crate::restriction::SeedRestriction;

/// Plural names of the kinds of roles.
const KINDS: [&str; 4] = [Role::PLURAL, ClusterRole::PLURAL, RoleBinding::PLURAL, ClusterRoleBinding::PLURAL];

/// Source of the default roles of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defaults {
    /// The log: another component stores them before the first request.
    Stored,
    /// The defaults, until [`Rbac::is_stored`] was called for the cluster.
    Assumed,
}

/// Authorizer by roles. Cheap to clone; clones share their state.
#[derive(Clone)]
pub struct Rbac(Arc<Inner>);

struct Inner {
    defaults: Defaults,
    clusters: RwLock<BTreeMap<String, Cluster>>,
    graph: RwLock<Graph>,
}

#[derive(Debug, Default)]
struct Cluster {
    index: Index,
    /// True if the default roles of the cluster are in the log, except those that were deleted since.
    is_stored: bool,
}

impl fmt::Debug for Rbac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rbac").field("defaults", &self.0.defaults).finish_non_exhaustive()
    }
}

/// Default roles, by kind of cluster.
static GARDEN: LazyLock<Index> = LazyLock::new(|| Index::of(defaults::of(Some(ClusterName::Garden))));
static RUNTIME: LazyLock<Index> = LazyLock::new(|| Index::of(defaults::of(Some(ClusterName::Runtime))));
static SEED: LazyLock<Index> = LazyLock::new(|| Index::of(defaults::of(Some(ClusterName::Seed("")))));
static SHOOT: LazyLock<Index> = LazyLock::new(|| Index::of(defaults::of(Some(ClusterName::Shoot("")))));

fn begins_with(cluster: &str) -> &'static Index {
    match ClusterName::parse(cluster) {
        Some(ClusterName::Garden) => &GARDEN,
        Some(ClusterName::Runtime) => &RUNTIME,
        Some(ClusterName::Shoot(_)) => &SHOOT,
        Some(ClusterName::Seed(_)) | None => &SEED,
    }
}

/// The effective roles of a cluster.
struct View<'a> {
    stored: Option<&'a Index>,
    assumed: Option<&'static Index>,
}

impl<'a> View<'a> {
    /// Returns the bindings of a user in a namespace (empty: of the cluster): the user's own first, then those of each group.
    fn bindings(&self, user: &'a User, namespace: &'a str) -> impl Iterator<Item = &'a Arc<Binding>> {
        let (stored, assumed) = (self.stored, self.assumed);
        let component = user.component.is_some().then_some(COMPONENTS);
        let groups = move || user.groups.iter().map(|group| &**group).chain(component);
        let of = move |index: &'a Index| {
            index.of_user(&user.name, namespace).chain(groups().flat_map(move |it| index.of_group(it, namespace)))
        };
        let is_assumed = move |binding: &&Arc<Binding>| {
            stored.is_none_or(|stored| !stored.has_binding(&binding.namespace, &binding.name))
        };
        stored.into_iter().flat_map(of).chain(assumed.into_iter().flat_map(of).filter(is_assumed))
    }

    /// Returns the rules of a role.
    fn rules(&self, role: &RoleRef, namespace: &str) -> Option<&'a Rules> {
        let stored = self.stored.and_then(|stored| stored.rules(role, namespace));
        stored.or_else(|| self.assumed?.rules(role, namespace))
    }

    /// Returns the bindings of a user that are effective in a namespace.
    fn all(&self, user: &'a User, namespace: &'a str) -> impl Iterator<Item = &'a Arc<Binding>> {
        let within = (!namespace.is_empty()).then_some(namespace);
        let of_namespace = within.into_iter().flat_map(|namespace| self.bindings(user, namespace).collect::<Vec<_>>());
        self.bindings(user, "").chain(of_namespace)
    }
}

impl Rbac {
    /// Creates an authorizer without clusters.
    pub fn new(defaults: Defaults) -> Self {
        Self(Arc::new(Inner { defaults, clusters: RwLock::default(), graph: RwLock::default() }))
    }

    /// Registers the authorizer, its admission plugins and its observers with a server.
    pub fn attach(&self, builder: Builder) -> Builder {
        let mut builder = builder
            .authorizer(self.clone())
            .admission(Escalation(self.clone()))
            .admission(SeedRestriction(self.clone()));
        for plural in KINDS {
            builder = builder.observer(GROUP, plural, Arc::new(self.clone()));
        }
        for (group, plural) in graph::KINDS {
            builder = builder.observer(group, plural, Arc::new(self.clone()));
        }
        builder
    }

    /// Marks the default roles of a cluster as stored in the log.
    pub fn is_stored(&self, cluster: &str) {
        self.clusters_mut().entry(cluster.to_owned()).or_default().is_stored = true;
    }

    /// Resets the state of a deleted cluster: a new one of the same name starts with the default roles.
    pub fn forget(&self, cluster: &str) {
        if let Some(known) = self.clusters_mut().get_mut(cluster) {
            known.is_stored = false;
        }
    }

    fn clusters(&self) -> RwLockReadGuard<'_, BTreeMap<String, Cluster>> {
        self.0.clusters.read()
    }

    fn clusters_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Cluster>> {
        self.0.clusters.write()
    }

    /// Reads the effective roles of a cluster.
    fn view<T>(&self, cluster: &str, read: impl FnOnce(&View<'_>) -> T) -> T {
        let clusters = self.clusters();
        let known = clusters.get(cluster);
        let is_stored = self.0.defaults == Defaults::Stored || known.is_some_and(|known| known.is_stored);
        let stored = known.map(|known| &known.index);
        read(&View { stored, assumed: (!is_stored).then(|| begins_with(cluster)) })
    }

    /// Reads the ownership graph.
    pub(crate) fn relations<T>(&self, read: impl FnOnce(&dyn Relations) -> T) -> T {
        read(&*self.0.graph.read())
    }

    /// Returns all rules that a user has in a namespace (empty: in the cluster).
    pub(crate) fn held(&self, user: &User, cluster: &str, namespace: &str) -> Vec<PolicyRule> {
        self.view(cluster, |view| {
            let bindings = view.all(user, namespace);
            let rules = bindings.filter_map(|binding| view.rules(&binding.role, &binding.namespace));
            rules.flat_map(|rules| rules.iter().cloned()).collect()
        })
    }

    /// Returns the rules of the role to which a binding of a namespace refers; `None`: there is no such role.
    pub(crate) fn rules_of(&self, cluster: &str, role: &RoleRef, namespace: &str) -> Option<Vec<PolicyRule>> {
        self.view(cluster, |view| view.rules(role, namespace).map(|rules| rules.to_vec()))
    }

    /// Returns the binding that allows a request, or the reason of the refusal.
    fn decide(&self, question: &Question<'_>) -> Result<Option<Arc<Binding>>, String> {
        let Question { user, cluster, .. } = *question;
        if user.groups.iter().any(|group| **group == *MASTERS) {
            return Ok(None);
        }
        if cluster == "*" {
            // Requests across all clusters are for the landscape's own processes only.
            let may = user.component.is_some() && matches!(question.verb, "get" | "list" | "watch");
            return if may { Ok(None) } else { Err(String::new()) };
        }
        let asked = attributes(question);
        let found = self.view(cluster, |view| {
            let mut missing = Vec::new();
            for binding in view.all(user, question.namespace) {
                match view.rules(&binding.role, &binding.namespace) {
                    Some(rules) if rules.iter().any(|rule| allows(rule, &asked)) => return Ok(binding.clone()),
                    Some(_) => {}
                    None => missing.push(not_found(&binding.role)),
                }
            }
            Err(missing)
        });
        let missing = match found {
            Ok(binding) => return Ok(Some(binding)),
            Err(missing) => missing,
        };
        let groups: Vec<&str> = user.groups.iter().map(|group| &**group).collect();
        let mut why = Vec::new();
        if let Some(who) = seed::identity(&user.name, &groups) {
            if cluster == cluster::GARDEN {
                match self.relations(|relations| seed::decide(who, &asked, relations)) {
                    Ok(()) => return Ok(None),
                    Err(reason) if reason.is_empty() => {}
                    Err(reason) => why.push(reason),
                }
            } else if cluster != cluster::RUNTIME && user.component.is_some() {
                let object = Vertex::cluster(cluster);
                // A cluster that belongs to no Seed any more reports itself that it does not exist.
                if self.relations(|relations| !relations.exists(&object) || relations.belongs(&object, who.seed)) {
                    return Ok(None);
                }
                why.push(format!("the cluster is not of seed {}", quote(who.seed)));
            }
        }
        match &missing[..] {
            [] => {}
            [one] => why.push(format!("RBAC: {one}")),
            several => why.push(format!("RBAC: [{}]", several.join(", "))),
        }
        Err(why.join("\n"))
    }
}

fn attributes<'a>(question: &Question<'a>) -> Attributes<'a> {
    let Question { verb, group, resource, subresource, namespace, name, path, .. } = *question;
    Attributes { verb, group, resource, subresource, namespace, name, path }
}

fn not_found(role: &RoleRef) -> String {
    format!("{}.{GROUP} {} not found", role.kind.to_lowercase(), quote(&role.name))
}

impl Authorizer for Rbac {
    fn authorize(&self, question: &Question<'_>) -> Result<(), String> {
        self.decide(question).map(drop)
    }

    fn explain(&self, question: &Question<'_>) -> Decision {
        match self.decide(question) {
            Err(reason) => Decision { allowed: false, reason },
            Ok(None) => Decision { allowed: true, reason: String::new() },
            Ok(Some(binding)) => {
                let User { name, groups, component } = question.user;
                let is_meant = |subject: &&_| match subject_name(subject, &binding.namespace) {
                    Some(SubjectName::User(user)) => *user == **name,
                    Some(SubjectName::Group(group)) => {
                        groups.iter().any(|known| *group == **known) || (component.is_some() && group == COMPONENTS)
                    }
                    None => false,
                };
                let subject = binding.subjects.iter().find(is_meant).cloned().unwrap_or_default();
                let role = (binding.role.kind.as_str(), binding.role.name.as_str());
                Decision { allowed: true, reason: reason(&binding.name, &binding.namespace, role, &subject) }
            }
        }
    }

    fn rules(&self, user: &User, cluster: &str, namespace: &str) -> Listed {
        let mut listed = Listed::default();
        for rule in self.held(user, cluster, namespace) {
            let PolicyRule { verbs, api_groups, resources, resource_names, non_resource_urls } = rule;
            if !resources.is_empty() {
                let verbs = verbs.clone();
                listed.resources.push(ResourceRule { verbs, groups: api_groups, resources, names: resource_names });
            }
            if !non_resource_urls.is_empty() {
                listed.paths.push(PathRule { verbs, paths: non_resource_urls });
            }
        }
        listed
    }
}

impl Observer for Rbac {
    fn reset(&self) {
        for cluster in self.clusters_mut().values_mut() {
            cluster.index = Index::default();
        }
        *self.0.graph.write() = Graph::default();
    }

    fn changed(&self, object: &Observed<'_>) {
        if object.group == GROUP {
            let bytes = object.parts.map(|parts| parts.concat());
            let mut clusters = self.clusters_mut();
            let cluster = clusters.entry(object.cluster.to_owned()).or_default();
            cluster.index.take(object.plural, object.namespace, object.name, bytes.as_deref());
        } else if object.cluster == cluster::GARDEN {
            self.0.graph.write().take(object);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn tell(rbac: &Rbac, cluster: &str, namespace: &str, name: &str, plural: &str, object: Option<&Value>) {
        let parts = object.map(|object| {
            let text = object.to_string();
            [text, String::new(), String::new(), String::new(), String::new()].map(bytes::Bytes::from)
        });
        rbac.changed(&Observed { group: GROUP, plural, cluster, namespace, name, parts: parts.as_ref() });
    }

    fn user(name: &str, groups: &[&str]) -> User {
        User { name: name.into(), groups: groups.iter().map(|group| (*group).into()).collect(), component: None }
    }

    fn get<'a>(user: &'a User, cluster: &'a str, namespace: &'a str, resource: &'a str) -> Question<'a> {
        let (verb, group, subresource, name, path) = ("get", "", "", "", "");
        Question { user, cluster, verb, group, resource, subresource, namespace, name, path }
    }

    fn binding(role: (&str, &str), subject: (&str, &str)) -> Value {
        json!({
            "metadata": {},
            "roleRef": {"apiGroup": GROUP, "kind": role.0, "name": role.1},
            "subjects": [{"kind": subject.0, "name": subject.1}],
        })
    }

    #[test]
    fn masters_are_allowed_everything_without_a_reason() {
        let rbac = Rbac::new(Defaults::Stored);
        let root = user("root", &["system:masters"]);
        assert_eq!(rbac.explain(&get(&root, "a", "", "nodes")), Decision { allowed: true, reason: String::new() });
        assert!(rbac.authorize(&get(&root, "*", "", "nodes")).is_ok());
        assert_eq!(rbac.authorize(&get(&user("jane", &[]), "a", "", "nodes")), Err(String::new()));
    }

    #[test]
    fn a_role_binding_gives_a_cluster_role_in_its_namespace() {
        let rbac = Rbac::new(Defaults::Stored);
        let (jane, john) = (user("jane", &["devs"]), user("john", &[]));
        let role = json!({"metadata": {}, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]});
        tell(&rbac, "a", "", "r", "clusterroles", Some(&role));
        tell(&rbac, "a", "n", "b", "rolebindings", Some(&binding(("ClusterRole", "r"), ("Group", "devs"))));
        for (who, cluster, namespace, expected) in
            [(&jane, "a", "n", true), (&jane, "a", "m", false), (&jane, "b", "n", false), (&john, "a", "n", false)]
        {
            assert_eq!(
                rbac.authorize(&get(who, cluster, namespace, "pods")).is_ok(),
                expected,
                "{cluster} {namespace}"
            );
        }
        assert_eq!(
            rbac.explain(&get(&jane, "a", "n", "pods")).reason,
            "RBAC: allowed by RoleBinding \"b/n\" of ClusterRole \"r\" to Group \"devs\""
        );
        tell(&rbac, "a", "", "r", "clusterroles", None);
        assert_eq!(
            rbac.authorize(&get(&jane, "a", "n", "pods")),
            Err("RBAC: clusterrole.rbac.authorization.k8s.io \"r\" not found".to_owned())
        );
        rbac.reset();
        assert_eq!(rbac.authorize(&get(&jane, "a", "n", "pods")), Err(String::new()));
    }

    #[test]
    fn default_roles_are_effective_until_they_are_stored() {
        let rbac = Rbac::new(Defaults::Assumed);
        let viewer = user("vera", &["gardener.cloud:system:viewers"]);
        let question = get(&viewer, "shoot--p--s", "", "nodes");
        assert!(rbac.authorize(&question).is_ok());
        assert!(Rbac::new(Defaults::Stored).authorize(&question).is_err());
        // A stored binding of the same name is effective already.
        let other = binding(("ClusterRole", "gardener.cloud:system:read-only"), ("User", "jane"));
        for name in ["gardener.cloud:system:read-only", "gardener.cloud:system:viewers"] {
            tell(&rbac, "shoot--p--s", "", name, "clusterrolebindings", Some(&other));
        }
        assert!(rbac.authorize(&question).is_err());
        assert!(rbac.authorize(&get(&user("jane", &[]), "shoot--p--s", "", "nodes")).is_ok());
        rbac.is_stored("shoot--p--s");
        assert!(rbac.authorize(&get(&user("jane", &[]), "shoot--p--s", "", "nodes")).is_err(), "no role is stored");
        rbac.forget("shoot--p--s");
        assert!(rbac.authorize(&get(&user("jane", &[]), "shoot--p--s", "", "nodes")).is_ok());
    }

    #[test]
    fn components_are_a_group_of_their_own() {
        let rbac = Rbac::new(Defaults::Assumed);
        let component = User { component: Some(("x".into(), "v1".into())), ..user("jane", &[]) };
        let faults = |user| Question { group: "terrarium.dev", ..get(user, "runtime", "", "faults") };
        assert_eq!(
            rbac.explain(&faults(&component)).reason,
            "RBAC: allowed by ClusterRoleBinding \"terrarium.dev:components\" of ClusterRole \
             \"terrarium.dev:components\" to Group \"terrarium.dev:components\""
        );
        assert!(rbac.authorize(&faults(&user("jane", &[]))).is_err());
        assert!(rbac.authorize(&get(&component, "*", "", "nodes")).is_ok());
        assert!(rbac.authorize(&Question { verb: "delete", ..get(&component, "*", "", "nodes") }).is_err());
    }
}
