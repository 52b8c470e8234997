// SPDX-License-Identifier: Apache-2.0
//! Node affinity: the nodes that a pod requires, and those that it prefers.
//!
//! Source: k8s.io/kubernetes pkg/scheduler/framework/plugins/nodeaffinity, k8s.io/component-helpers
//! scheduling/corev1/nodeaffinity.

use api::kubernetes::core::{Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodSpec};

/// True if a pod may be placed on a node by its `nodeSelector` and its required node affinity: both have to hold.
pub(crate) fn is_selected(spec: &PodSpec, node: &Node) -> bool {
    let mut labels = spec.node_selector.iter();
    labels.all(|(key, value)| node.metadata.label(key) == Some(value))
        && required(spec).is_none_or(|selector| selects(selector, node))
}

/// Returns a pod's required node affinity, without its `nodeSelector`.
fn required(spec: &PodSpec) -> Option<&NodeSelector> {
    let affinity = spec.affinity.as_ref()?.node_affinity.as_ref()?;
    affinity.required_during_scheduling_ignored_during_execution.as_ref()
}

/// Returns a pod's preference for a node: the sum of the weights of the terms that select it.
pub(crate) fn preference(spec: &PodSpec, node: &Node) -> i64 {
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let terms = affinity.map_or(&[][..], |it| &it.preferred_during_scheduling_ignored_during_execution);
    terms.iter().filter(|term| fulfils(&term.preference, node)).map(|term| i64::from(term.weight)).sum()
}

/// True if any of a selector's terms selects a node.
pub(crate) fn selects(selector: &NodeSelector, node: &Node) -> bool {
    selector.node_selector_terms.iter().any(|term| fulfils(term, node))
}

/// True if a node fulfils all requirements of a term; an empty term selects no node.
fn fulfils(term: &NodeSelectorTerm, node: &Node) -> bool {
    let is_empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
    !is_empty
        && term.match_expressions.iter().all(|it| holds(it, node.metadata.label(&it.key)))
        && term.match_fields.iter().all(|it| holds_of_field(it, node))
}

/// True if a label's value fulfils a requirement.
fn holds(requirement: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let is_in = || value.is_some_and(|value| requirement.values.iter().any(|known| known == value));
    let compare = |is_right: fn(i64, i64) -> bool| {
        let [bound] = &requirement.values[..] else { return false };
        match (value.map(str::parse), bound.parse()) {
            (Some(Ok(number)), Ok(bound)) => is_right(number, bound),
            _ => false,
        }
    };
    match requirement.operator.as_str() {
        "In" => is_in(),
        "NotIn" => !is_in(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compare(|number, bound| number > bound),
        "Lt" => compare(|number, bound| number < bound),
        _ => false,
    }
}

/// True if a node fulfils a field requirement: only `metadata.name` with one value is supported.
fn holds_of_field(requirement: &NodeSelectorRequirement, node: &Node) -> bool {
    let [value] = &requirement.values[..] else { return false };
    let is_it = node.metadata.name == *value;
    match (requirement.key.as_str(), requirement.operator.as_str()) {
        ("metadata.name", "In") => is_it,
        ("metadata.name", "NotIn") => !is_it,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use apimachinery::meta::ObjectMeta;
    use serde_json::{Value, json};

    use super::*;

    /// Returns node `n`: label `disk` is `ssd`, `zone` is `a`, `cores` is `8`.
    fn node() -> Node {
        let mut node = Node { metadata: ObjectMeta::named("", "n"), ..Node::default() };
        for (key, value) in [("disk", "ssd"), ("zone", "a"), ("cores", "8")] {
            node.metadata.labels.insert(key.to_owned(), value.to_owned());
        }
        node
    }

    fn spec(value: Value) -> PodSpec {
        apimachinery::wire::from_tree(value).expect("a specification")
    }

    fn terms(terms: &Value) -> PodSpec {
        let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}});
        spec(json!({"affinity": {"nodeAffinity": required}}))
    }

    /// Parses `KEY OPERATOR VALUES`, several separated by ` & `.
    fn term(text: &str) -> Value {
        let requirement = |text: &str| {
            let mut words = text.split(' ');
            let mut next = || words.next().unwrap_or_default();
            let (key, operator, values) = (next(), next(), next());
            let values: Vec<&str> = values.split(',').filter(|value| !value.is_empty()).collect();
            json!({"key": key, "operator": operator, "values": values})
        };
        let all: Vec<Value> = text.split(" & ").filter(|part| !part.is_empty()).map(requirement).collect();
        json!({"matchExpressions": all})
    }

    /// Source: kubernetes.io, Assigning Pods to Nodes: operators, `matchExpressions`.
    #[test]
    fn all_requirements_of_a_term_have_to_hold() {
        for (text, expected) in [
            ("disk In ssd,nvme", true),
            ("disk In hdd", false),
            ("disk NotIn hdd", true),
            ("disk NotIn ssd", false),
            ("gpu NotIn x", true),
            ("disk Exists", true),
            ("gpu Exists", false),
            ("gpu DoesNotExist", true),
            ("disk DoesNotExist", false),
            ("cores Gt 7", true),
            ("cores Gt 8", false),
            ("cores Lt 9", true),
            ("cores Lt 8", false),
            ("disk Gt 1", false),
            ("gpu Lt 1", false),
            ("cores Gt many", false),
            ("cores Gt 1,2", false),
            ("disk Like ssd", false),
            ("disk In ssd & zone In a", true),
            ("disk In ssd & zone In b", false),
            ("", false),
        ] {
            assert_eq!(is_selected(&terms(&json!([term(text)])), &node()), expected, "{text}");
        }
    }

    /// Source: kubernetes.io, Assigning Pods to Nodes: `nodeSelectorTerms` and `nodeSelector`.
    #[test]
    fn one_term_and_the_node_selector_must_match() {
        let (yes, no) = (term("zone In a"), term("zone In b"));
        for (given, expected) in [
            (json!([no, yes]), true),
            (json!([no, no]), false),
            (json!([]), false),
            (json!([{}, yes]), true),
            (json!([{}]), false),
        ] {
            assert_eq!(is_selected(&terms(&given), &node()), expected, "{given}");
        }
        let mut both = terms(&json!([yes]));
        both.node_selector.insert("disk".into(), "ssd".into());
        assert!(is_selected(&both, &node()));
        both.node_selector.insert("disk".into(), "hdd".into());
        assert!(!is_selected(&both, &node()));
        assert!(is_selected(&PodSpec::default(), &node()));
    }

    #[test]
    fn fields_are_the_name_of_the_node() {
        for (key, operator, values, expected) in [
            ("metadata.name", "In", &["n"][..], true),
            ("metadata.name", "In", &["m"], false),
            ("metadata.name", "NotIn", &["m"], true),
            ("metadata.name", "NotIn", &["n"], false),
            ("metadata.name", "In", &["n", "m"], false),
            ("metadata.name", "Exists", &[], false),
            ("spec.providerID", "In", &["n"], false),
        ] {
            let field = json!({"key": key, "operator": operator, "values": values});
            let given = terms(&json!([{"matchFields": [field]}]));
            assert_eq!(is_selected(&given, &node()), expected, "{key} {operator} {values:?}");
        }
        let both = json!([{
            "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
            "matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}],
        }]);
        assert!(!is_selected(&terms(&both), &node()));
    }

    /// "the scheduler iterates through every preferred rule that the node satisfies and adds the value of the weight for
    /// that expression to a sum."
    #[test]
    fn weights_of_preferences_add_up() {
        let preferred: Vec<Value> = [("zone In a", 10), ("disk In hdd", 20), ("disk Exists", 5), ("", 40)]
            .map(|(text, weight)| json!({"weight": weight, "preference": term(text)}))
            .into();
        let affinity = json!({"preferredDuringSchedulingIgnoredDuringExecution": preferred});
        let spec = spec(json!({"affinity": {"nodeAffinity": affinity}}));
        assert_eq!(preference(&spec, &node()), 15);
        assert!(is_selected(&spec, &node()), "a preference excludes nothing");
        assert_eq!(preference(&PodSpec::default(), &node()), 0);
    }
}
