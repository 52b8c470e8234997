// SPDX-License-Identifier: Apache-2.0
//! Aggregated ClusterRoles.
//!
//! Source: k8s.io/kubernetes pkg/controller/clusterroleaggregation @ v1.32.

use api::kubernetes::rbac::{ClusterRole, PolicyRule};
use apimachinery::selector::Labels;

/// Returns the rules that a ClusterRole aggregates from others; `None`: it has its own.
///
/// Order: by selector, then by the names of the roles, which `all` is sorted by; a rule counts once.
pub fn rules<'a>(role: &ClusterRole, all: impl Iterator<Item = &'a ClusterRole> + Clone) -> Option<Vec<PolicyRule>> {
    let aggregation = role.aggregation_rule.as_ref()?;
    let mut rules: Vec<PolicyRule> = Vec::new();
    for selector in &aggregation.cluster_role_selectors {
        // Upstream's controller fails at an invalid selector, which validation refuses.
        let Ok(selector) = Labels::from_selector(selector) else { continue };
        let others = all.clone().filter(|other| other.metadata.name != role.metadata.name);
        for other in others.filter(|other| selector.matches(&other.metadata.labels)) {
            for rule in &other.rules {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    Some(rules)
}

#[cfg(test)]
mod tests {
    use super::super::rule;
    use super::*;
    use api::kubernetes::rbac::AggregationRule;
    use apimachinery::meta::{LabelSelector, ObjectMeta};

    fn role(name: &str, label: &str, rules: Vec<PolicyRule>) -> ClusterRole {
        let labels = [(label.to_owned(), "true".to_owned())].into_iter().collect();
        let metadata = ObjectMeta { name: name.to_owned(), labels, ..ObjectMeta::default() };
        ClusterRole { metadata, rules, aggregation_rule: None }
    }

    #[test]
    fn rules_of_the_selected_roles_are_aggregated_once() {
        let pods = rule(&["get"], &[""], &["pods"]);
        let nodes = rule(&["get"], &[""], &["nodes"]);
        let jobs = rule(&["get"], &["batch"], &["jobs"]);
        let selector = |label: &str| LabelSelector {
            match_labels: [(label.to_owned(), "true".to_owned())].into_iter().collect(),
            ..LabelSelector::default()
        };
        let mut whole = role("whole", "x", vec![rule(&["*"], &["*"], &["*"])]);
        whole.aggregation_rule = Some(AggregationRule { cluster_role_selectors: vec![selector("y"), selector("x")] });
        let all = [
            role("a", "x", vec![pods.clone(), jobs.clone()]),
            role("b", "y", vec![nodes.clone(), pods.clone()]),
            role("c", "z", vec![rule(&["delete"], &[""], &["pods"])]),
            whole.clone(),
        ];
        assert_eq!(rules(&whole, all.iter()), Some(vec![nodes, pods, jobs]));
        assert_eq!(rules(&all[0], all.iter()), None);
    }
}
