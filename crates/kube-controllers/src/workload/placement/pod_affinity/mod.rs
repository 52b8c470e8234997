// SPDX-License-Identifier: Apache-2.0
//! Affinity and anti-affinity of a pod to other pods.
//!
//! A node is near to a pod by a label (`topologyKey`) if the pod's node has the same value of it. A pod's required
//! affinity applies only when it is placed; its required anti-affinity also keeps away pods that are placed later.
//!
//! Source: k8s.io/kubernetes pkg/scheduler/framework/plugins/interpodaffinity, pkg/registry/core/pod/strategy.go
//! (`matchLabelKeys`).

use std::collections::{BTreeMap, BTreeSet};

use api::kubernetes::core::{Affinity, PodAffinityTerm, WeightedPodAffinityTerm};
use apimachinery::meta::{LabelSelector, LabelSelectorRequirement, TextMap};
use apimachinery::selector::Labels;

use super::pod_index::{Count, Group, PodIndex, PodTraits};

/// Score of a pod on a node whose required affinity selects the incoming pod.
const DEMAND: i64 = 1;

/// A label of nodes and a selector of pods.
#[derive(Clone, Debug)]
struct Term {
    key: String,
    /// Selector of the pods; `None`: no pods.
    selector: Option<Labels>,
    namespaces: BTreeSet<String>,
    /// Selector of further namespaces by their labels.
    namespace_selector: Option<Labels>,
}

/// Returns the labels of a namespace.
pub(crate) type Namespaces<'a> = &'a dyn Fn(&str) -> TextMap;

/// Returns the selector, narrowed down to pods that share the labels `same` with `labels`, and differ in the labels
/// `other`.
pub(super) fn narrowed(
    selector: Option<&LabelSelector>,
    labels: &TextMap,
    same: &[String],
    other: &[String],
) -> Option<Labels> {
    let mut selector = selector?.clone();
    let more = same.iter().map(|key| (key, "In")).chain(other.iter().map(|key| (key, "NotIn")));
    for (key, operator) in more {
        let Some(value) = labels.get(key) else { continue };
        selector.match_expressions.push(LabelSelectorRequirement {
            key: key.clone(),
            operator: operator.to_owned(),
            values: vec![value.clone()],
        });
    }
    Labels::from_selector(&selector).ok()
}

impl Term {
    /// Returns the term of a pod.
    fn of(term: &PodAffinityTerm, namespace: &str, labels: &TextMap) -> Self {
        let selector =
            narrowed(term.label_selector.as_ref(), labels, &term.match_label_keys, &term.mismatch_label_keys);
        let mut namespaces: BTreeSet<String> = term.namespaces.iter().cloned().collect();
        if namespaces.is_empty() && term.namespace_selector.is_none() {
            namespaces.insert(namespace.to_owned());
        }
        let namespace_selector = term.namespace_selector.as_ref().and_then(|it| Labels::from_selector(it).ok());
        Self { key: term.topology_key.clone(), selector, namespaces, namespace_selector }
    }

    fn selects(&self, traits: &PodTraits, namespaces: Namespaces<'_>) -> bool {
        let is_labelled = |selector: &Labels| selector.is_empty() || selector.matches(&namespaces(&traits.namespace));
        self.selector.as_ref().is_some_and(|selector| selector.matches(&traits.labels))
            && (self.namespaces.contains(&traits.namespace)
                || self.namespace_selector.as_ref().is_some_and(is_labelled))
    }
}

/// Affinity terms of a pod.
#[derive(Clone, Debug, Default)]
pub(crate) struct Affinities {
    /// Required affinity; it counts where pods match all terms.
    near: Vec<Term>,
    /// Required anti-affinity.
    far: Vec<Term>,
    /// Preferred affinity with its weight; negative: anti-affinity.
    wishes: Vec<(i64, Term)>,
}

impl Affinities {
    /// Returns the terms of a pod with these labels.
    pub(crate) fn of(affinity: &Affinity, namespace: &str, labels: &TextMap) -> Self {
        let term = |term: &PodAffinityTerm| Term::of(term, namespace, labels);
        let mut all = Self::default();
        let wish = |sign: i64| {
            move |wish: &WeightedPodAffinityTerm| (sign * i64::from(wish.weight), term(&wish.pod_affinity_term))
        };
        if let Some(near) = &affinity.pod_affinity {
            all.near.extend(near.required_during_scheduling_ignored_during_execution.iter().map(term));
            all.wishes.extend(near.preferred_during_scheduling_ignored_during_execution.iter().map(wish(1)));
        }
        if let Some(far) = &affinity.pod_anti_affinity {
            all.far.extend(far.required_during_scheduling_ignored_during_execution.iter().map(term));
            all.wishes.extend(far.preferred_during_scheduling_ignored_during_execution.iter().map(wish(-1)));
        }
        all
    }

    fn terms(&self) -> impl Iterator<Item = &Term> {
        self.near.iter().chain(&self.far).chain(self.wishes.iter().map(|(_, term)| term))
    }

    /// Returns the namespaces that the terms select; `None`: they may select any.
    fn namespaces(&self) -> Option<BTreeSet<&String>> {
        let is_open = self.terms().any(|term| term.namespace_selector.is_some());
        (!is_open).then(|| self.terms().flat_map(|term| &term.namespaces).collect())
    }
}

/// Values of a label.
type Values = BTreeSet<String>;

/// Effects of the affinity terms of an incoming pod and of the pods on a cluster's nodes.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Label and satisfying values of each required affinity term.
    near: Vec<(String, Values)>,
    /// True if the pod may be the first of a group that has affinity to itself.
    is_first: bool,
    /// Label and violating values of each required anti-affinity term.
    far: Vec<(String, Values)>,
    /// Values of labels at which pods have required anti-affinity to the incoming pod.
    repelled: BTreeMap<String, Values>,
    /// Sum of weights for each value of each label.
    wishes: BTreeMap<String, BTreeMap<String, i64>>,
}

impl Survey {
    /// Evaluates all pods that may matter. `label`: returns the value of a node's label.
    pub(crate) fn of<'a>(
        traits: &PodTraits,
        own: &Affinities,
        pod_index: &PodIndex,
        label: impl Fn(&str, &str) -> Option<&'a str>,
        namespaces: Namespaces<'_>,
    ) -> Self {
        let mut survey = Self {
            near: own.near.iter().map(|term| (term.key.clone(), Values::new())).collect(),
            far: own.far.iter().map(|term| (term.key.clone(), Values::new())).collect(),
            ..Self::default()
        };
        let mut has_near = false;
        let mut add = |other: &PodTraits, group: &Group| {
            if !own.near.is_empty() && own.near.iter().all(|term| term.selects(other, namespaces)) {
                for (key, values) in &mut survey.near {
                    let found = group.nodes.keys().filter_map(|node| label(node, key));
                    values.extend(found.map(str::to_owned));
                }
                has_near |= survey.near.iter().any(|(_, values)| !values.is_empty());
            }
            for (term, (key, values)) in own.far.iter().zip(&mut survey.far) {
                if term.selects(other, namespaces) {
                    let found = group.nodes.keys().filter_map(|node| label(node, key));
                    values.extend(found.map(str::to_owned));
                }
            }
            for (weight, term) in &own.wishes {
                if term.selects(other, namespaces) {
                    survey_wish(&mut survey.wishes, *weight, &term.key, &group.nodes, &label);
                }
            }
        };
        match own.namespaces() {
            Some(few) => {
                let near = few.into_iter().flat_map(|namespace| pod_index.of_namespace(namespace));
                near.for_each(|(other, group)| add(other, group));
            }
            None => pod_index.all().for_each(|(other, group)| add(other, group)),
        }
        survey.is_first = !has_near && own.near.iter().all(|term| term.selects(traits, namespaces));
        for (_, group) in pod_index.wanting() {
            let Some(theirs) = &group.affinities else { continue };
            for term in theirs.far.iter().filter(|term| term.selects(traits, namespaces)) {
                let found = group.nodes.keys().filter_map(|node| label(node, &term.key));
                survey.repelled.entry(term.key.clone()).or_default().extend(found.map(str::to_owned));
            }
            let demands = theirs.near.iter().map(|term| (DEMAND, term));
            let wishes = theirs.wishes.iter().map(|(weight, term)| (*weight, term));
            for (weight, term) in demands.chain(wishes).filter(|(_, term)| term.selects(traits, namespaces)) {
                survey_wish(&mut survey.wishes, weight, &term.key, &group.nodes, &label);
            }
        }
        survey
    }

    /// Returns why a node with these labels does not fit the pod.
    pub(crate) fn obstacle(&self, labels: &TextMap) -> Option<Obstacle> {
        let is_in = |key: &String, values: &Values| labels.get(key).is_some_and(|value| values.contains(value));
        let has_keys = self.near.iter().all(|(key, _)| labels.contains_key(key));
        let is_near = self.near.iter().all(|(key, values)| is_in(key, values));
        if !has_keys || !(is_near || self.is_first) {
            Some(Obstacle::NotNear)
        } else if self.far.iter().any(|(key, values)| is_in(key, values)) {
            Some(Obstacle::NotFar)
        } else if self.repelled.iter().any(|(key, values)| is_in(key, values)) {
            Some(Obstacle::Repelled)
        } else {
            None
        }
    }

    /// True if any preference applies to a node.
    pub(crate) fn has_wishes(&self) -> bool {
        !self.wishes.is_empty()
    }

    /// Returns the sum of the preferences for a node with these labels.
    pub(crate) fn preference(&self, labels: &TextMap) -> i64 {
        let of = |(key, values): (&String, &BTreeMap<String, i64>)| {
            labels.get(key).and_then(|value| values.get(value)).copied().unwrap_or_default()
        };
        self.wishes.iter().map(of).sum()
    }
}

fn survey_wish<'a>(
    wishes: &mut BTreeMap<String, BTreeMap<String, i64>>,
    weight: i64,
    key: &str,
    nodes: &BTreeMap<String, Count>,
    label: &impl Fn(&str, &str) -> Option<&'a str>,
) {
    for (node, count) in nodes {
        if let Some(value) = label(node, key) {
            let values = wishes.entry(key.to_owned()).or_default();
            *values.entry(value.to_owned()).or_default() += weight * count.present;
        }
    }
}

/// Reason why a node does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The pods of the required affinity are elsewhere.
    NotNear,
    /// Pods of the required anti-affinity are near.
    NotFar,
    /// Pods with required anti-affinity to the incoming pod are near.
    Repelled,
}

impl Obstacle {
    /// Returns the reason in the scheduler's words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::NotNear => "node(s) didn't match pod affinity rules",
            Self::NotFar => "node(s) didn't match pod anti-affinity rules",
            Self::Repelled => "node(s) didn't satisfy existing pods anti-affinity rules",
        }
    }
}

#[cfg(test)]
mod tests;
