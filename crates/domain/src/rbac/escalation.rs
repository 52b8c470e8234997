// SPDX-License-Identifier: Apache-2.0
//! Prevention of privilege escalation: a user that writes a role, or binds one, has to hold all of its rules, unless
//! a verb of its own (`escalate`, `bind`) allows it.
//!
//! Source: k8s.io/component-helpers auth/rbac/validation/policy_comparator.go, k8s.io/kubernetes
//! pkg/registry/rbac/validation/{rule.go,policy_compact.go} @ v1.32.

use std::collections::{BTreeMap, BTreeSet};

use api::kubernetes::rbac::PolicyRule;
use apimachinery::go::quote;

use super::{ALL, path_covers};

/// Refusal of a user that sets an aggregation rule without holding all rights.
pub const AGGREGATION: &str = "must have cluster-admin privileges to use the aggregationRule";

/// Returns rules that allow everything: a user that sets an aggregation rule has to hold them.
pub fn full_authority() -> Vec<PolicyRule> {
    vec![super::rule(&[ALL], &[ALL], &[ALL]), super::path_rule(&[ALL], &[ALL])]
}

/// Returns the refusal of a user that holds `held` and grants `given`; `None`: it is allowed.
pub fn refusal(user: &str, groups: &[&str], held: &[PolicyRule], given: &[PolicyRule]) -> Option<String> {
    let missing = missing(held, given);
    if missing.is_empty() {
        return None;
    }
    let lines: BTreeSet<String> = compact(missing).iter().map(shown).collect();
    let lines: Vec<String> = lines.into_iter().collect();
    Some(format!(
        "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        quote(user),
        quoted(groups),
        lines.join("\n")
    ))
}

/// Returns rules of one verb, one resource (or path) and at most one name each that `given` has and `held` does not
/// cover.
pub fn missing(held: &[PolicyRule], given: &[PolicyRule]) -> Vec<PolicyRule> {
    let single = given.iter().flat_map(broken_down);
    single.filter(|rule| !held.iter().any(|held| covers(held, rule))).collect()
}

fn broken_down(rule: &PolicyRule) -> Vec<PolicyRule> {
    let one = |text: &String| vec![text.clone()];
    let mut all = Vec::new();
    for group in &rule.api_groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                let bare = PolicyRule {
                    verbs: one(verb),
                    api_groups: one(group),
                    resources: one(resource),
                    ..PolicyRule::default()
                };
                if rule.resource_names.is_empty() {
                    all.push(bare);
                } else {
                    let named = rule.resource_names.iter();
                    all.extend(named.map(|name| PolicyRule { resource_names: one(name), ..bare.clone() }));
                }
            }
        }
    }
    for path in &rule.non_resource_urls {
        let verbs = rule.verbs.iter();
        all.extend(verbs.map(|verb| PolicyRule {
            verbs: one(verb),
            non_resource_urls: one(path),
            ..PolicyRule::default()
        }));
    }
    all
}

/// Returns true if a rule allows all that another one does, which is broken down.
fn covers(held: &PolicyRule, asked: &PolicyRule) -> bool {
    let all = |held: &[String], asked: &[String]| {
        held.iter().any(|one| one == ALL) || asked.iter().all(|one| held.contains(one))
    };
    let resource = |asked: &String| {
        held.resources.contains(asked)
            || asked.split_once('/').is_some_and(|(_, sub)| held.resources.iter().any(|one| *one == format!("*/{sub}")))
    };
    let resources = held.resources.iter().any(|one| one == ALL) || asked.resources.iter().all(resource);
    let path = |asked: &String| held.non_resource_urls.iter().any(|held| path_covers(held, asked));
    let names = held.resource_names.is_empty()
        || (!asked.resource_names.is_empty()
            && asked.resource_names.iter().all(|one| held.resource_names.contains(one)));
    all(&held.verbs, &asked.verbs)
        && all(&held.api_groups, &asked.api_groups)
        && resources
        && asked.non_resource_urls.iter().all(path)
        && names
}

/// Merges rules about the same resource.
fn compact(rules: Vec<PolicyRule>) -> Vec<PolicyRule> {
    let mut simple: BTreeMap<(String, String, Vec<String>), PolicyRule> = BTreeMap::new();
    let mut rest = Vec::new();
    for rule in rules {
        let ([group], [resource]) = (&rule.api_groups[..], &rule.resources[..]) else {
            rest.push(rule);
            continue;
        };
        let key = (group.clone(), resource.clone(), rule.resource_names.clone());
        match simple.get_mut(&key) {
            Some(known) => known.verbs.extend(rule.verbs),
            None => drop(simple.insert(key, rule)),
        }
    }
    rest.extend(simple.into_values());
    rest
}

/// Formats a rule in one line.
fn shown(rule: &PolicyRule) -> String {
    let parts = [
        ("APIGroups", &rule.api_groups),
        ("Resources", &rule.resources),
        ("NonResourceURLs", &rule.non_resource_urls),
        ("ResourceNames", &rule.resource_names),
        ("Verbs", &rule.verbs),
    ];
    let shown = parts.iter().filter(|(_, list)| !list.is_empty());
    let shown: Vec<String> = shown.map(|(name, list)| format!("{name}:{}", quoted(list))).collect();
    format!("{{{}}}", shown.join(", "))
}

/// Formats texts as Go prints lists of quoted texts.
fn quoted<S: AsRef<str>>(texts: &[S]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quote(text.as_ref())).collect();
    format!("[{}]", texts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::{named_rule, path_rule, rule};
    use super::*;

    #[track_caller]
    fn check(held: &[PolicyRule], given: &[PolicyRule], expected: Option<&str>) {
        let refused = refusal("jane", &["a", "system:authenticated"], held, given);
        let head = "user \"jane\" (groups=[\"a\" \"system:authenticated\"]) is attempting to grant RBAC permissions not \
                    currently held:\n";
        assert_eq!(refused, expected.map(|lines| format!("{head}{lines}")));
    }

    #[test]
    fn granted_rules_must_be_held_by_the_granting_user() {
        let pods = [rule(&["get", "list"], &[""], &["pods"])];
        check(&pods, &pods, None);
        check(&[], &[], None);
        check(&[rule(&["*"], &["*"], &["*"])], &pods, None);
        check(&[rule(&["get"], &[""], &["pods"]), rule(&["list"], &[""], &["pods"])], &pods, None);
        check(&[], &pods, Some("{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\" \"list\"]}"));
        check(
            &[rule(&["get"], &[""], &["pods"])],
            &[rule(&["get", "delete"], &["", "apps"], &["pods"])],
            Some(
                "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}\n{APIGroups:[\"apps\"], \
                 Resources:[\"pods\"], Verbs:[\"get\" \"delete\"]}",
            ),
        );
        check(
            &pods,
            &[rule(&["*"], &[""], &["pods"])],
            Some("{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"*\"]}"),
        );
    }

    #[test]
    fn names_subresources_and_paths_are_covered_each_in_its_way() {
        let named = |names: &[&str]| [named_rule(&["get"], &[""], &["secrets"], names)];
        check(&[rule(&["get"], &[""], &["secrets"])], &named(&["a"]), None);
        check(&named(&["a", "b"]), &named(&["b"]), None);
        let line = "{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}";
        check(&named(&["a"]), &[rule(&["get"], &[""], &["secrets"])], Some(line));
        let line = "{APIGroups:[\"\"], Resources:[\"secrets\"], ResourceNames:[\"c\"], Verbs:[\"get\"]}";
        check(&named(&["a"]), &named(&["a", "c"]), Some(line));

        check(&[rule(&["get"], &["*"], &["*/status"])], &[rule(&["get"], &["x"], &["shoots/status"])], None);
        let line = "{APIGroups:[\"x\"], Resources:[\"shoots\"], Verbs:[\"get\"]}";
        check(&[rule(&["get"], &["*"], &["*/status"])], &[rule(&["get"], &["x"], &["shoots"])], Some(line));

        check(&[path_rule(&["get"], &["/api*"])], &[path_rule(&["get"], &["/apis/*"])], None);
        let line = "{NonResourceURLs:[\"/metrics\"], Verbs:[\"get\"]}";
        check(&[path_rule(&["get"], &["/api*"])], &[path_rule(&["get"], &["/metrics"])], Some(line));
        check(&full_authority(), &full_authority(), None);
    }
}
