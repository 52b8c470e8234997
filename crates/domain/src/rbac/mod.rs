// SPDX-License-Identifier: Apache-2.0
//! Role-based access control: rules and the requests that they allow.
//!
//! ```text
//! user, groups ──▶ bindings that name them ──▶ roles ──▶ rules ──▶ does one of them match the request?
//! ```
//!
//! **Tour.** [`Mode`] with or without roles; [`allows`] one rule and one request; [`subject`] users that a binding
//! names; [`escalation`] the check that a user grants no more rights than they have; [`aggregation`] aggregated
//! ClusterRoles; [`defaults`] the initial roles of a cluster; [`kubeconfig`] users of kubeconfigs for Shoots;
//! [`project`] the roles of a Project; [`custom_verbs`] fields that need a verb of their own; [`seed`] rights of a
//! gardenlet in the garden; [`validation`] of the four kinds.
//!
//! Source: k8s.io/kubernetes pkg/apis/rbac/v1/evaluation_helpers.go, plugin/pkg/auth/authorizer/rbac/rbac.go @ v1.32.

pub mod aggregation;
pub mod custom_verbs;
pub mod defaults;
pub mod escalation;
pub mod kubeconfig;
pub mod project;
pub mod seed;
pub mod subject;
pub mod validation;

use api::kubernetes::rbac::PolicyRule;

/// Group whose members have all rights.
pub const MASTERS: &str = "system:masters";
/// Group of all authenticated users.
pub const AUTHENTICATED: &str = "system:authenticated";
/// Group of all unauthenticated users.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// Group, of Terrarium, of the processes that the landscape has started: they are authenticated by their
/// certificates.
pub const COMPONENTS: &str = "terrarium.dev:components";
/// Wildcard of rules.
const ALL: &str = "*";

/// Mode of authorization of a landscape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Every authenticated user has all rights. Default of the libraries: a simulation serves only its own
    /// components.
    #[default]
    AlwaysAllow,
    /// Roles decide.
    Rbac,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 2] = [Self::AlwaysAllow, Self::Rbac];

    /// Name of the mode on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AlwaysAllow => "always-allow",
            Self::Rbac => "rbac",
        }
    }

    /// Returns the mode of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// Attributes of a request; a text is empty if it does not apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes<'a> {
    /// `get`, `list`, …; the lower-case HTTP method for a path that is no resource.
    pub verb: &'a str,
    /// API group.
    pub group: &'a str,
    /// Plural name; empty for a path that is no resource.
    pub resource: &'a str,
    /// Subresource; empty for the object itself.
    pub subresource: &'a str,
    /// Namespace; empty for all namespaces, and for cluster-scoped resources.
    pub namespace: &'a str,
    /// Name of the object; empty for collections.
    pub name: &'a str,
    /// A path that is no resource.
    pub path: &'a str,
}

/// Returns true if a rule allows a request.
pub fn allows(rule: &PolicyRule, asked: &Attributes<'_>) -> bool {
    let verb = has(&rule.verbs, asked.verb);
    if asked.resource.is_empty() {
        return verb && rule.non_resource_urls.iter().any(|path| path_covers(path, asked.path));
    }
    verb && has(&rule.api_groups, asked.group)
        && rule.resources.iter().any(|known| is_resource(known, asked))
        && (rule.resource_names.is_empty() || rule.resource_names.iter().any(|name| name == asked.name))
}

/// Returns true if a list contains a text, or `*`.
fn has(list: &[String], text: &str) -> bool {
    list.iter().any(|known| known == ALL || known == text)
}

fn is_resource(known: &str, asked: &Attributes<'_>) -> bool {
    if known == ALL {
        return true;
    }
    if asked.subresource.is_empty() {
        return known == asked.resource;
    }
    let Some((resource, subresource)) = known.split_once('/') else { return false };
    subresource == asked.subresource && (resource == ALL || resource == asked.resource)
}

/// Returns true if a path of a rule covers another path.
fn path_covers(known: &str, path: &str) -> bool {
    known == ALL || known == path || (known.ends_with('*') && path.starts_with(known.trim_end_matches('*')))
}

/// Returns the reason of an allowed request: the binding that grants the role to the subject.
///
/// Shape: `RBAC: allowed by RoleBinding "name/namespace" of ClusterRole "role" to ServiceAccount "account/namespace"`.
pub fn reason(binding: &str, namespace: &str, role: (&str, &str), subject: &api::kubernetes::rbac::Subject) -> String {
    let quoted = |text: &str| apimachinery::go::quote(text);
    let binding = match namespace {
        "" => format!("ClusterRoleBinding {}", quoted(binding)),
        namespace => format!("RoleBinding {}", quoted(&format!("{binding}/{namespace}"))),
    };
    let to = match subject.kind.as_str() {
        subject::SERVICE_ACCOUNT => {
            let namespace = if subject.namespace.is_empty() { namespace } else { &subject.namespace };
            quoted(&format!("{}/{namespace}", subject.name))
        }
        _ => quoted(&subject.name),
    };
    format!("RBAC: allowed by {binding} of {} {} to {} {to}", role.0, quoted(role.1), subject.kind)
}

/// A rule about resources: verbs, groups, resources.
pub fn rule(verbs: &[&str], groups: &[&str], resources: &[&str]) -> PolicyRule {
    PolicyRule { verbs: owned(verbs), api_groups: owned(groups), resources: owned(resources), ..PolicyRule::default() }
}

/// A rule about resources of these names.
pub fn named_rule(verbs: &[&str], groups: &[&str], resources: &[&str], names: &[&str]) -> PolicyRule {
    PolicyRule { resource_names: owned(names), ..rule(verbs, groups, resources) }
}

/// A rule about paths that are no resource.
pub fn path_rule(verbs: &[&str], paths: &[&str]) -> PolicyRule {
    PolicyRule { verbs: owned(verbs), non_resource_urls: owned(paths), ..PolicyRule::default() }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::kubernetes::rbac::Subject;

    /// `verbs groups resources names | verb group resource/subresource name`; `-` is the empty text, `,` separates.
    const RESOURCES: &str = "
get          -                    pods            -    | get    -                    pods             a  => yes
get          -                    pods            -    | list   -                    pods             -  => no
*            -                    pods            -    | list   -                    pods             -  => yes
get          apps                 pods            -    | get    -                    pods             a  => no
get          *                    pods            -    | get    -                    pods             a  => yes
get          -                    pods            -    | get    -                    pods/log         a  => no
get          -                    pods/log        -    | get    -                    pods/log         a  => yes
get          -                    pods/log        -    | get    -                    pods             a  => no
patch        *                    */status        -    | patch  core.gardener.cloud  shoots/status    a  => yes
patch        *                    */status        -    | patch  core.gardener.cloud  shoots           a  => no
patch        *                    */status        -    | patch  core.gardener.cloud  shoots/binding   a  => no
get          *                    *               -    | get    core.gardener.cloud  shoots/binding   a  => yes
get          -                    secrets         a,b  | get    -                    secrets          b  => yes
get          -                    secrets         a,b  | get    -                    secrets          c  => no
get,list     -                    secrets         a,b  | list   -                    secrets          -  => no
create       core.gardener.cloud  shoots          -    | create core.gardener.cloud  shoots           -  => yes
";

    #[test]
    fn a_rule_allows_named_verbs_and_resources() {
        let list =
            |text: &str| text.split(',').map(|one| if one == "-" { "" } else { one }).map(str::to_owned).collect();
        for row in RESOURCES.lines().filter(|row| !row.is_empty()) {
            let (given, expected) = row.split_once("=>").expect("an arrow");
            let words: Vec<&str> = given.split_whitespace().collect();
            let [verbs, groups, resources, names, "|", verb, group, resource, name] = words[..] else {
                panic!("nine words: {row}")
            };
            let rule = PolicyRule {
                verbs: list(verbs),
                api_groups: list(groups),
                resources: list(resources),
                resource_names: if names == "-" { Vec::new() } else { list(names) },
                non_resource_urls: Vec::new(),
            };
            let bare = |text| if text == "-" { "" } else { text };
            let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            let (group, name) = (bare(group), bare(name));
            let asked = Attributes { verb, group, resource, subresource, name, ..Attributes::default() };
            assert_eq!(allows(&rule, &asked), expected.trim() == "yes", "{row}");
        }
    }

    #[test]
    fn a_rule_about_paths_covers_no_resources() {
        for (path, asked, expected) in [
            ("/healthz", "/healthz", true),
            ("/healthz", "/healthz/ping", false),
            ("/healthz/*", "/healthz/ping", true),
            ("/healthz/*", "/healthz", false),
            ("/api*", "/apis/apps", true),
            ("*", "/metrics", true),
        ] {
            let rule = path_rule(&["get"], &[path]);
            let asked_path = Attributes { verb: "get", path: asked, ..Attributes::default() };
            assert_eq!(allows(&rule, &asked_path), expected, "{path} {asked}");
            let pods = Attributes { verb: "get", resource: "pods", ..Attributes::default() };
            assert!(!allows(&rule, &pods));
        }
        let pods = rule(&["*"], &["*"], &["*"]);
        assert!(!allows(&pods, &Attributes { verb: "get", path: "/healthz", ..Attributes::default() }));
    }

    #[test]
    fn reasons_are_those_of_the_real_api_server() {
        let subject = |kind: &str, name: &str, namespace: &str| Subject {
            kind: kind.to_owned(),
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            ..Subject::default()
        };
        assert_eq!(
            reason("x", "", ("ClusterRole", "y"), &subject("Group", "z", "")),
            "RBAC: allowed by ClusterRoleBinding \"x\" of ClusterRole \"y\" to Group \"z\""
        );
        assert_eq!(
            reason("x", "n", ("Role", "y"), &subject("ServiceAccount", "robot", "m")),
            "RBAC: allowed by RoleBinding \"x/n\" of Role \"y\" to ServiceAccount \"robot/m\""
        );
    }
}
