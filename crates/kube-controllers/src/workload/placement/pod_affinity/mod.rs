// SPDX-License-Identifier: Apache-2.0
//! Which pods a pod wants to be near to, and which it wants to be far from.
//!
//! A node is near to a pod by a label (`topologyKey`) if the pod's node has the same value of it. What a pod demands counts
//! when it comes; that it wants to be far from others holds for those that come later, too.
//!
//! Source: k8s.io/kubernetes pkg/scheduler/framework/plugins/interpodaffinity, pkg/registry/core/pod/strategy.go
//! (`matchLabelKeys`).

use std::collections::{BTreeMap, BTreeSet};

use api::kubernetes::core::{Affinity, PodAffinityTerm, WeightedPodAffinityTerm};
use apimachinery::meta::{LabelSelector, LabelSelectorRequirement, TextMap};
use apimachinery::selector::Labels;

use super::pod_index::{Count, Group, PodIndex, PodTraits};

/// How much it counts that a pod on a node demands to be near to pods such as the one that comes.
const DEMAND: i64 = 1;

/// Pods, and what is near to them.
#[derive(Clone, Debug)]
struct Term {
    key: String,
    /// `None`: no pods.
    selector: Option<Labels>,
    namespaces: BTreeSet<String>,
    /// More namespaces, by their labels.
    namespace_selector: Option<Labels>,
}

/// The labels of namespaces.
pub(crate) type Namespaces<'a> = &'a dyn Fn(&str) -> TextMap;

/// A selector, narrowed down to pods that have some labels in common with one, and others with another value.
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
    /// A term of a pod.
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

/// What a pod wants of others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Affinities {
    /// Demands to be near to pods of each of them.
    near: Vec<Term>,
    /// Demands to be far from them.
    far: Vec<Term>,
    /// Wishes to be near to them, or with a negative weight far from them.
    wishes: Vec<(i64, Term)>,
}

impl Affinities {
    /// What a pod with these labels wants.
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

    /// The namespaces that the terms are about; `None`: any.
    fn namespaces(&self) -> Option<BTreeSet<&String>> {
        let is_open = self.terms().any(|term| term.namespace_selector.is_some());
        (!is_open).then(|| self.terms().flat_map(|term| &term.namespaces).collect())
    }
}

/// Values of a label.
type Values = BTreeSet<String>;

/// What the pods on a cluster's nodes mean to one that comes.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// For each demand to be near: the label, and the values where it is fulfilled.
    near: Vec<(String, Values)>,
    /// The pod may be the first of those that want to be near to each other.
    is_first: bool,
    /// For each demand to be far: the label, and the values where it is not fulfilled.
    far: Vec<(String, Values)>,
    /// Where pods are that demand to be far from such a pod.
    repelled: BTreeMap<String, Values>,
    /// How much is for or against each value of each label.
    wishes: BTreeMap<String, BTreeMap<String, i64>>,
}

impl Survey {
    /// Looks at all pods that may matter. `label`: the value of a node's label.
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

    /// Why a node with these labels is none for the pod.
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

    /// Whether anything is for or against some node.
    pub(crate) fn has_wishes(&self) -> bool {
        !self.wishes.is_empty()
    }

    /// How much is for a node with these labels.
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

/// Why a node is none for a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The pods that it wants to be near to are elsewhere.
    NotNear,
    /// Pods are near that it wants to be far from.
    NotFar,
    /// Pods are near that want to be far from it.
    Repelled,
}

impl Obstacle {
    /// In the scheduler's words.
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
