// SPDX-License-Identifier: Apache-2.0
//! Index of the pods on a cluster's nodes, by the properties that rules about other pods read.
//!
//! Pods of one Deployment have the same properties, so such a rule is evaluated once for all of them.

use std::collections::{BTreeMap, BTreeSet};

use api::kubernetes::core::{Affinity, PodSpec};
use apimachinery::meta::TextMap;

use super::pod_affinity::Affinities;

/// The properties of a pod that rules about other pods read.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PodTraits {
    /// Namespace of the pods.
    pub(crate) namespace: String,
    /// Labels of the pods.
    pub(crate) labels: TextMap,
    /// Affinity and anti-affinity to pods, as JSON; `None`: the pods have none.
    affinity: Option<String>,
}

impl PodTraits {
    /// Extracts the properties from a pod.
    pub(crate) fn of(namespace: &str, labels: &TextMap, spec: &PodSpec) -> Self {
        let of_pods = spec.affinity.as_ref().filter(|it| it.pod_affinity.is_some() || it.pod_anti_affinity.is_some());
        let affinity = of_pods.and_then(|it| {
            let of_pods = Affinity { node_affinity: None, ..Affinity::clone(it) };
            serde_json::to_string(&of_pods).ok()
        });
        Self { namespace: namespace.to_owned(), labels: labels.clone(), affinity }
    }

    /// Returns the affinity terms of such pods.
    fn affinities(&self) -> Option<Affinities> {
        let affinity: Affinity = serde_json::from_str(self.affinity.as_ref()?).ok()?;
        Some(Affinities::of(&affinity, &self.namespace, &self.labels))
    }
}

/// Number of pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// All pods.
    pub(crate) present: i64,
    /// Pods that are not ending.
    pub(crate) staying: i64,
}

/// Pods with the same properties.
#[derive(Debug, Default)]
pub(crate) struct Group {
    /// Affinity terms of the pods.
    pub(crate) affinities: Option<Affinities>,
    /// Number of pods on each node.
    pub(crate) nodes: BTreeMap<String, Count>,
}

/// All pods on a cluster's nodes.
#[derive(Debug, Default)]
pub(crate) struct PodIndex {
    groups: BTreeMap<PodTraits, Group>,
    /// Groups whose pods have affinity terms.
    wanting: BTreeSet<PodTraits>,
}

impl PodIndex {
    /// Changes the number of pods with these properties on a node.
    pub(crate) fn change(&mut self, traits: &PodTraits, node: &str, by: Count) {
        if !self.groups.contains_key(traits) {
            let affinities = traits.affinities();
            if affinities.is_some() {
                self.wanting.insert(traits.clone());
            }
            self.groups.insert(traits.clone(), Group { affinities, nodes: BTreeMap::new() });
        }
        let Some(group) = self.groups.get_mut(traits) else { return };
        let count = group.nodes.entry(node.to_owned()).or_default();
        count.present += by.present;
        count.staying += by.staying;
        if *count == Count::default() {
            group.nodes.remove(node);
        }
        if group.nodes.is_empty() {
            self.groups.remove(traits);
            self.wanting.remove(traits);
        }
    }

    /// Returns the pods of a namespace.
    pub(crate) fn of_namespace(&self, namespace: &str) -> impl Iterator<Item = (&PodTraits, &Group)> {
        let first = PodTraits { namespace: namespace.to_owned(), ..PodTraits::default() };
        let namespace = first.namespace.clone();
        self.groups.range(first..).take_while(move |(traits, _)| traits.namespace == namespace)
    }

    /// Returns a function that counts the pods with these properties on a node, without ending ones; `None` if there
    /// are none, or the pods have no labels.
    pub(crate) fn alike<'i>(&'i self, traits: &PodTraits) -> Option<impl Fn(&str) -> i64 + use<'i>> {
        let group = self.groups.get(traits).filter(|_| !traits.labels.is_empty())?;
        Some(|node: &str| group.nodes.get(node).map_or(0, |count| count.staying))
    }

    /// Returns all pods.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&PodTraits, &Group)> {
        self.groups.iter()
    }

    /// Returns the pods with affinity terms.
    pub(crate) fn wanting(&self) -> impl Iterator<Item = (&PodTraits, &Group)> {
        self.wanting.iter().filter_map(|traits| self.groups.get_key_value(traits))
    }

    /// True if any pod has affinity terms.
    pub(crate) fn has_wanting(&self) -> bool {
        !self.wanting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_that_look_alike_are_counted_together() {
        let traits = |namespace: &str, app: &str, affinity: serde_json::Value| {
            let mut labels = TextMap::new();
            labels.insert("app".into(), app.into());
            let spec = apimachinery::wire::from_tree(json!({"affinity": affinity})).expect("a specification");
            PodTraits::of(namespace, &labels, &spec)
        };
        let far = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "b"}}},
        ]}});
        let (a, b, c) = (traits("n", "a", json!(null)), traits("n", "b", far), traits("o", "a", json!(null)));
        let mut pod_index = PodIndex::default();
        let one = Count { present: 1, staying: 1 };
        for (traits, node) in [(&a, "x"), (&a, "x"), (&a, "y"), (&b, "x"), (&c, "x")] {
            pod_index.change(traits, node, one);
        }
        let found: Vec<(&str, i64)> = pod_index
            .of_namespace("n")
            .map(|(traits, group)| (traits.labels["app"].as_str(), group.nodes.values().map(|it| it.present).sum()))
            .collect();
        assert_eq!(found, [("a", 3), ("b", 1)]);
        assert_eq!(pod_index.all().count(), 3);
        assert_eq!(pod_index.wanting().count(), 1);
        pod_index.change(&b, "x", Count { present: 0, staying: -1 });
        assert!(pod_index.has_wanting(), "an ending pod is still counted");
        pod_index.change(&b, "x", Count { present: -1, staying: 0 });
        assert!(!pod_index.has_wanting());
        assert_eq!(pod_index.all().count(), 2);
    }
}
