// SPDX-License-Identifier: Apache-2.0
//! Spread of pods over the parts of a cluster: nodes with the same value of a label form a part.
//!
//! Source: k8s.io/kubernetes pkg/scheduler/framework/plugins/podtopologyspread.

use std::collections::{BTreeMap, BTreeSet};

use api::constants::label;
use api::kubernetes::core::{Node, PodSpec, TopologySpreadConstraint};
use apimachinery::meta::TextMap;
use apimachinery::selector::Labels;

use super::node_affinity;
use super::pod_affinity::narrowed;
use super::pod_index::{PodIndex, PodTraits};
use super::taints::is_hindered;

/// Highest score of a plug-in.
const MOST: i64 = 100;

/// Reason why a node does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The node belongs to no part.
    NoLabel,
    /// The node's part would have too many pods.
    Skew,
}

impl Obstacle {
    /// Returns the reason in the scheduler's words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::NoLabel => "node(s) didn't match pod topology spread constraints (missing required label)",
            Self::Skew => "node(s) didn't match pod topology spread constraints",
        }
    }
}

/// A spread constraint of a pod.
#[derive(Debug)]
struct Constraint<'a> {
    of: &'a TopologySpreadConstraint,
    /// Selector of the pods that are counted; `None`: none are.
    selector: Option<Labels>,
    /// Number of counted pods in each part.
    counts: BTreeMap<String, i64>,
}

impl<'a> Constraint<'a> {
    fn of(of: &'a TopologySpreadConstraint, traits: &PodTraits) -> Self {
        let selector = narrowed(of.label_selector.as_ref(), &traits.labels, &of.match_label_keys, &[]);
        Self { of, selector, counts: BTreeMap::new() }
    }

    /// True if the pods of a node count.
    fn includes(&self, spec: &PodSpec, node: &Node) -> bool {
        let honors_affinity = self.of.node_affinity_policy.as_deref() != Some("Ignore");
        let honors_taints = self.of.node_taints_policy.as_deref() == Some("Honor");
        (!honors_affinity || node_affinity::is_selected(spec, node))
            && (!honors_taints || !node.spec.taints.iter().any(|taint| is_hindered(spec, taint)))
    }

    /// Returns the number of counted pods on each node.
    fn on_nodes<'c>(&'c self, traits: &PodTraits, pod_index: &'c PodIndex) -> impl Iterator<Item = (&'c str, i64)> {
        let selects =
            |other: &PodTraits| self.selector.as_ref().is_some_and(|selector| selector.matches(&other.labels));
        let groups = pod_index.of_namespace(&traits.namespace).filter(move |(other, _)| selects(other));
        groups.flat_map(|(_, group)| group.nodes.iter().map(|(node, count)| (node.as_str(), count.staying)))
    }

    fn is_about_nodes(&self) -> bool {
        self.of.topology_key == label::HOSTNAME
    }
}

fn constraints<'a>(spec: &'a PodSpec, traits: &PodTraits, unsatisfiable: &str) -> Vec<Constraint<'a>> {
    let all = spec.topology_spread_constraints.iter();
    all.filter(|it| it.when_unsatisfiable == unsatisfiable).map(|it| Constraint::of(it, traits)).collect()
}

/// True if a node has the labels of all constraints.
fn has_labels(constraints: &[Constraint<'_>], labels: &TextMap) -> bool {
    constraints.iter().all(|it| labels.contains_key(&it.of.topology_key))
}

/// The mandatory constraints of a pod (`DoNotSchedule`).
#[derive(Debug)]
pub(crate) struct Demands<'a> {
    constraints: Vec<Constraint<'a>>,
    own_labels: TextMap,
}

impl<'a> Demands<'a> {
    /// Counts the pods of all parts. `nodes`: nodes of the cluster, by name.
    pub(crate) fn of<'n>(
        spec: &'a PodSpec,
        traits: &PodTraits,
        nodes: impl Fn(&str) -> Option<&'n Node>,
        all: impl Iterator<Item = &'n Node>,
        pod_index: &PodIndex,
    ) -> Self {
        let mut constraints = constraints(spec, traits, "DoNotSchedule");
        if !constraints.is_empty() {
            let eligible: Vec<&Node> = all.filter(|node| has_labels(&constraints, &node.metadata.labels)).collect();
            for constraint in &mut constraints {
                let key = &constraint.of.topology_key;
                let parts = eligible.iter().filter(|node| constraint.includes(spec, node));
                let mut counts: BTreeMap<String, i64> =
                    parts.filter_map(|node| Some((node.metadata.labels.get(key)?.clone(), 0))).collect();
                let included: BTreeSet<&str> = eligible
                    .iter()
                    .filter(|node| constraint.includes(spec, node))
                    .map(|node| node.metadata.name.as_str())
                    .collect();
                for (name, count) in constraint.on_nodes(traits, pod_index).filter(|(name, _)| included.contains(name))
                {
                    let value = nodes(name).and_then(|node| node.metadata.labels.get(key));
                    if let Some(sum) = value.and_then(|value| counts.get_mut(value)) {
                        *sum += count;
                    }
                }
                constraint.counts = counts;
            }
        }
        Self { constraints, own_labels: traits.labels.clone() }
    }

    /// Returns why a node with these labels does not fit the pod.
    pub(crate) fn obstacle(&self, labels: &TextMap) -> Option<Obstacle> {
        for constraint in &self.constraints {
            let Some(value) = labels.get(&constraint.of.topology_key) else { return Some(Obstacle::NoLabel) };
            let few = constraint
                .of
                .min_domains
                .is_some_and(|least| i64::try_from(constraint.counts.len()).unwrap_or(i64::MAX) < i64::from(least));
            let least = if few { 0 } else { constraint.counts.values().copied().min().unwrap_or(0) };
            let is_own = constraint.selector.as_ref().is_some_and(|selector| selector.matches(&self.own_labels));
            let count = constraint.counts.get(value).copied().unwrap_or(0) + i64::from(is_own);
            if count - least > i64::from(constraint.of.max_skew) {
                return Some(Obstacle::Skew);
            }
        }
        None
    }
}

/// Returns scores of nodes that fit, 0 to 100 each, by the optional constraints of a pod (`ScheduleAnyway`); in the
/// order of the nodes.
pub(crate) fn preferences<'n>(
    spec: &PodSpec,
    traits: &PodTraits,
    nodes: impl Fn(&str) -> Option<&'n Node>,
    fit: &[&Node],
    pod_index: &PodIndex,
) -> Vec<i64> {
    let mut constraints = constraints(spec, traits, "ScheduleAnyway");
    if constraints.is_empty() {
        return vec![0; fit.len()];
    }
    let of_parts = |node: &&&Node| has_labels(&constraints, &node.metadata.labels);
    let parts: Vec<&Node> = fit.iter().filter(of_parts).copied().collect();
    for constraint in &mut constraints {
        let by_node = constraint.is_about_nodes();
        let key = &constraint.of.topology_key;
        let value = |node: &Node| {
            if by_node { Some(node.metadata.name.clone()) } else { node.metadata.labels.get(key).cloned() }
        };
        let mut counts: BTreeMap<String, i64> = parts.iter().filter_map(|node| Some((value(node)?, 0))).collect();
        for (name, count) in constraint.on_nodes(traits, pod_index) {
            let Some(node) = nodes(name).filter(|node| by_node || constraint.includes(spec, node)) else { continue };
            if let Some(sum) = value(node).and_then(|value| counts.get_mut(&value)) {
                *sum += count;
            }
        }
        constraint.counts = counts;
    }
    let raw = |node: &&Node| -> Option<f64> {
        let labels = &node.metadata.labels;
        has_labels(&constraints, labels).then(|| {
            let of = |constraint: &Constraint<'_>| {
                let value = if constraint.is_about_nodes() {
                    &node.metadata.name
                } else {
                    labels.get(&constraint.of.topology_key)?
                };
                let count = constraint.counts.get(value).copied().unwrap_or(0);
                Some(as_float(count) * weight(constraint.counts.len()) + f64::from(constraint.of.max_skew - 1))
            };
            constraints.iter().filter_map(of).sum()
        })
    };
    let raw: Vec<Option<i64>> = fit.iter().map(|node| raw(node).map(rounded)).collect();
    let (least, most) = (raw.iter().flatten().min().copied(), raw.iter().flatten().max().copied());
    let (least, most) = (least.unwrap_or(0), most.unwrap_or(0));
    let normal = |raw: Option<i64>| match raw {
        None => 0,
        Some(_) if most == 0 => MOST,
        Some(raw) => MOST * (most + least - raw) / most,
    };
    raw.into_iter().map(normal).collect()
}

/// Returns the weight of a constraint, which grows with the number of parts: over many parts, unevenness counts more.
fn weight(parts: usize) -> f64 {
    as_float(i64::try_from(parts).unwrap_or(i64::MAX) + 2).ln()
}

#[expect(clippy::cast_precision_loss, reason = "numbers of pods and nodes are far below 2^52")]
fn as_float(number: i64) -> f64 {
    number as f64
}

#[expect(clippy::cast_possible_truncation, reason = "sums of numbers of pods")]
fn rounded(number: f64) -> i64 {
    number.round() as i64
}

#[cfg(test)]
mod tests {
    use apimachinery::meta::ObjectMeta;
    use serde_json::{Value, json};

    use super::super::pod_index::Count;
    use super::*;

    /// Returns nodes `a1`, `a2` of zone `a`, `b1` of zone `b`, `x` without zone; all but `x` have label `pool: p`.
    fn all_nodes() -> Vec<Node> {
        let node = |name: &str| {
            let mut node = Node { metadata: ObjectMeta::named("", name), ..Node::default() };
            let mut put = |key: &str, value: &str| drop(node.metadata.labels.insert(key.into(), value.into()));
            put("kubernetes.io/hostname", name);
            if name != "x" {
                put("zone", &name[..1]);
                put("pool", "p");
            }
            node
        };
        ["a1", "a2", "b1", "x"].map(node).into()
    }

    fn web() -> PodTraits {
        let mut labels = TextMap::new();
        labels.insert("app".into(), "web".into());
        PodTraits::of("n", &labels, &PodSpec::default())
    }

    fn pod_index(pods: &[(&str, i64)]) -> PodIndex {
        let mut pod_index = PodIndex::default();
        for (node, count) in pods {
            pod_index.change(&web(), node, Count { present: *count, staying: *count });
        }
        // Pods with other labels, or of another namespace, do not count.
        for other in [
            PodTraits::of("o", &web().labels, &PodSpec::default()),
            PodTraits::of("n", &TextMap::new(), &PodSpec::default()),
        ] {
            pod_index.change(&other, "b1", Count { present: 9, staying: 9 });
        }
        // Ending pods do not count either.
        pod_index.change(&web(), "b1", Count { present: 1, staying: 0 });
        pod_index
    }

    fn spec(constraints: Value, more: Value) -> PodSpec {
        let mut spec = more;
        spec["topologySpreadConstraints"] = constraints;
        apimachinery::wire::from_tree(spec).expect("a specification")
    }

    fn constraint(skew: i32, key: &str, unsatisfiable: &str) -> Value {
        json!({
            "maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": unsatisfiable,
            "labelSelector": {"matchLabels": {"app": "web"}},
        })
    }

    #[track_caller]
    fn check(spec: &PodSpec, pods: &[(&str, i64)], expected: &str) {
        let nodes = all_nodes();
        let by_name = |name: &str| nodes.iter().find(|node| node.metadata.name == name);
        let pod_index = pod_index(pods);
        let demands = Demands::of(spec, &web(), by_name, nodes.iter(), &pod_index);
        let fits = |node: &&Node| demands.obstacle(&node.metadata.labels).is_none();
        let fit: Vec<&str> = nodes.iter().filter(fits).map(|node| node.metadata.name.as_str()).collect();
        assert_eq!(fit.join(" "), expected, "{pods:?}");
    }

    /// "maxSkew describes the degree to which Pods may be unevenly distributed. … it defines the maximum permitted
    /// difference between the number of matching pods in the target topology and the global minimum".
    #[test]
    fn no_part_gets_more_pods_than_the_skew_allows() {
        let zones = spec(json!([constraint(1, "zone", "DoNotSchedule")]), json!({}));
        check(&zones, &[], "a1 a2 b1");
        check(&zones, &[("a1", 1)], "b1");
        check(&zones, &[("a1", 1), ("b1", 1)], "a1 a2 b1");
        check(&zones, &[("a1", 1), ("a2", 1), ("b1", 1)], "b1");
        let loose = spec(json!([constraint(2, "zone", "DoNotSchedule")]), json!({}));
        check(&loose, &[("a1", 1)], "a1 a2 b1");
        check(&loose, &[("a1", 2)], "b1");
        let hosts = spec(json!([constraint(1, "kubernetes.io/hostname", "DoNotSchedule")]), json!({}));
        check(&hosts, &[("a1", 1)], "a2 b1 x");
        // "the pod must fulfil all of them".
        let both =
            json!([constraint(1, "zone", "DoNotSchedule"), constraint(1, "kubernetes.io/hostname", "DoNotSchedule")]);
        check(&spec(both, json!({})), &[("a1", 1), ("b1", 1)], "a2");
        let soft = spec(json!([constraint(1, "zone", "ScheduleAnyway")]), json!({}));
        check(&soft, &[("a1", 5)], "a1 a2 b1 x");
    }

    /// "nodeAffinityPolicy … Honor: only nodes matching nodeAffinity/nodeSelector are included in the calculations";
    /// "minDomains … When the number of eligible domains with match topology keys is less than minDomains, Pod topology
    /// spread treats global minimum as 0".
    #[test]
    fn policies_and_minimum_domains_select_the_counted_parts() {
        let selector = json!({"nodeSelector": {"kubernetes.io/hostname": "a1"}});
        let mut zones = constraint(1, "zone", "DoNotSchedule");
        check(&spec(json!([zones]), selector.clone()), &[("a1", 3)], "a1 a2 b1");
        zones["nodeAffinityPolicy"] = json!("Ignore");
        check(&spec(json!([zones]), selector), &[("a1", 3)], "b1");
        let mut domains = constraint(1, "zone", "DoNotSchedule");
        let balanced = [("a1", 1), ("b1", 1)];
        domains["minDomains"] = json!(2);
        check(&spec(json!([domains]), json!({})), &balanced, "a1 a2 b1");
        domains["minDomains"] = json!(3);
        check(&spec(json!([domains]), json!({})), &balanced, "");
        let mut others = constraint(1, "zone", "DoNotSchedule");
        others["labelSelector"] = json!(null);
        check(&spec(json!([others]), json!({})), &[("a1", 5)], "a1 a2 b1");
    }

    #[test]
    fn the_message_names_missing_resources() {
        let nodes = all_nodes();
        let by_name = |name: &str| nodes.iter().find(|node| node.metadata.name == name);
        let zones = spec(json!([constraint(1, "zone", "DoNotSchedule")]), json!({}));
        let pod_index = pod_index(&[("a1", 1)]);
        let demands = Demands::of(&zones, &web(), by_name, nodes.iter(), &pod_index);
        let texts = nodes.iter().map(|node| demands.obstacle(&node.metadata.labels).map_or("", Obstacle::text));
        let skew = "node(s) didn't match pod topology spread constraints";
        let no_label = "node(s) didn't match pod topology spread constraints (missing required label)";
        assert_eq!(texts.collect::<Vec<_>>(), [skew, skew, "", no_label]);
    }

    /// Source: kubernetes.io, Pod Topology Spread Constraints: `whenUnsatisfiable: ScheduleAnyway`.
    #[test]
    fn emptier_parts_are_preferred() {
        let scores = |constraints: Value, pods: &[(&str, i64)]| {
            let nodes = all_nodes();
            let by_name = |name: &str| nodes.iter().find(|node| node.metadata.name == name);
            let fit: Vec<&Node> = nodes.iter().collect();
            preferences(&spec(constraints, json!({})), &web(), by_name, &fit, &pod_index(pods))
        };
        let zones = json!([constraint(1, "zone", "ScheduleAnyway")]);
        assert_eq!(scores(zones.clone(), &[]), [100, 100, 100, 0], "a node without a zone has the lowest score");
        let found = scores(zones, &[("a1", 2), ("b1", 1)]);
        assert!(found[0] == found[1] && found[0] < found[2] && found[3] == 0, "{found:?}");
        let hosts = scores(json!([constraint(1, "kubernetes.io/hostname", "ScheduleAnyway")]), &[("a1", 1)]);
        assert_eq!(hosts, [0, 100, 100, 100]);
        assert_eq!(scores(json!([]), &[("a1", 1)]), [0; 4]);
    }
}
