// SPDX-License-Identifier: Apache-2.0
//! Comparison and progress of gardenlet's Deployments, StatefulSets and DaemonSets.

use api::constants::annotation;
use api::kubernetes::apps::{DaemonSet, Deployment, StatefulSet};
use api::kubernetes::core::{Container, PodTemplateSpec};
use apimachinery::Resource;
use apimachinery::meta::TextMap;
use domain::care::components;

use super::super::shared::Local;

/// Comparison and state of Deployments, StatefulSets and DaemonSets.
pub(crate) trait Workload: Local {
    /// True if the stored object has the desired state `wanted`.
    fn says(&self, wanted: &Self) -> bool;
    /// Returns the progress of the object.
    fn state(&self) -> components::Workload;
}

/// True if the object has all labels and annotations of `wanted`.
fn has_metadata<K: Resource>(present: &K, wanted: &K) -> bool {
    let has = |present: &TextMap, wanted: &TextMap| wanted.iter().all(|(key, value)| present.get(key) == Some(value));
    has(&present.metadata().labels, &wanted.metadata().labels)
        && has(&present.metadata().annotations, &wanted.metadata().annotations)
}

/// True if the fields of a pod template that gardenlet writes are equal: servers add defaults to others.
fn has_template(present: &PodTemplateSpec, wanted: &PodTemplateSpec) -> bool {
    // A changed start duration does not replace pods.
    let annotations = |template: &PodTemplateSpec| -> Vec<(String, String)> {
        let all = template.metadata.annotations.iter();
        all.filter(|(key, _)| *key != annotation::POD_START).map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let (stored, asked) = (&present.spec.containers, &wanted.spec.containers);
    let is_same = |(stored, asked): (&Container, &Container)| {
        stored.name == asked.name
            && stored.image == asked.image
            && stored.command == asked.command
            && stored.args == asked.args
    };
    present.metadata.labels == wanted.metadata.labels
        && annotations(present) == annotations(wanted)
        && stored.len() == asked.len()
        && stored.iter().zip(asked).all(is_same)
}

/// Returns the state of an object with these numbers of desired, updated and available replicas.
fn state<K: Resource>(
    object: &K,
    observed_generation: i64,
    [replicas, updated_replicas, available_replicas]: [i32; 3],
) -> components::Workload {
    let metadata = object.metadata();
    components::Workload {
        name: metadata.name.clone(),
        generation: metadata.generation,
        observed_generation,
        replicas,
        updated_replicas,
        available_replicas,
    }
}

impl Workload for Deployment {
    fn says(&self, wanted: &Self) -> bool {
        has_metadata(self, wanted)
            && self.spec.replicas == wanted.spec.replicas
            && has_template(&self.spec.template, &wanted.spec.template)
    }

    fn state(&self) -> components::Workload {
        let status = &self.status;
        let wanted = self.spec.replicas.unwrap_or(1);
        state(self, status.observed_generation, [wanted, status.updated_replicas, status.available_replicas])
    }
}

impl Workload for StatefulSet {
    fn says(&self, wanted: &Self) -> bool {
        has_metadata(self, wanted)
            && self.spec.replicas == wanted.spec.replicas
            && has_template(&self.spec.template, &wanted.spec.template)
    }

    fn state(&self) -> components::Workload {
        let status = &self.status;
        let wanted = self.spec.replicas.unwrap_or(1);
        state(self, status.observed_generation, [wanted, status.updated_replicas, status.available_replicas])
    }
}

impl Workload for DaemonSet {
    fn says(&self, wanted: &Self) -> bool {
        has_metadata(self, wanted) && has_template(&self.spec.template, &wanted.spec.template)
    }

    fn state(&self) -> components::Workload {
        let status = &self.status;
        let numbers = [status.desired_number_scheduled, status.updated_number_scheduled, status.number_available];
        state(self, status.observed_generation, numbers)
    }
}
