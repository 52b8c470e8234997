// SPDX-License-Identifier: Apache-2.0
//! Resources that pods request of nodes.
//!
//! Source: k8s.io/kubernetes pkg/scheduler/framework/plugins/noderesources.

use std::collections::BTreeMap;

use api::kubernetes::core::{Container, PodSpec};
use apimachinery::meta::Quantity;

/// Amounts of a node's resources: thousandths of processors, bytes, pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resources {
    pub(super) cpu: i64,
    pub(super) memory: i64,
    pub(super) pods: i64,
}

impl Resources {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_add(other.cpu),
            memory: self.memory.saturating_add(other.memory),
            pods: self.pods.saturating_add(other.pods),
        }
    }

    pub(super) fn minus(self, other: Self) -> Self {
        self.plus(Self { cpu: -other.cpu, memory: -other.memory, pods: -other.pods })
    }

    /// Returns a node's allocatable resources; a missing one counts as unlimited.
    pub(super) fn of_node(allocatable: &BTreeMap<String, Quantity>) -> Self {
        let get = |name: &str, of: fn(&Quantity) -> i64| allocatable.get(name).map_or(i64::MAX, of);
        Self {
            cpu: get("cpu", Quantity::millis),
            memory: get("memory", Quantity::value),
            pods: get("pods", Quantity::value),
        }
    }

    /// Returns a pod's requests: the sum of its containers, or its greatest init container. Limits replace missing
    /// requests.
    pub(super) fn of_pod(spec: &PodSpec) -> Self {
        let of = |container: &Container| {
            let resources = &container.resources;
            let get = |name: &str| resources.requests.get(name).or_else(|| resources.limits.get(name));
            let cpu = get("cpu").map_or(0, Quantity::millis).max(0);
            let memory = get("memory").map_or(0, Quantity::value).max(0);
            Self { cpu, memory, pods: 0 }
        };
        let sum = spec.containers.iter().map(of).fold(Self::default(), Self::plus);
        let first = spec.init_containers.iter().map(of);
        let most = first.fold(sum, |a, b| Self { cpu: a.cpu.max(b.cpu), memory: a.memory.max(b.memory), pods: 0 });
        Self { pods: 1, ..most }
    }

    /// Returns the missing resources, in the scheduler's words, if `self` is requested in addition to `used`.
    pub(super) fn shortages(self, used: Self, allocatable: Self) -> Vec<&'static str> {
        let Self { cpu, memory, pods } = used.plus(self);
        let short = [
            (pods > allocatable.pods, "Too many pods"),
            (self.cpu > 0 && cpu > allocatable.cpu, "Insufficient cpu"),
            (self.memory > 0 && memory > allocatable.memory, "Insufficient memory"),
        ];
        short.into_iter().filter(|(is_short, _)| *is_short).map(|(_, text)| text).collect()
    }

    /// True if no resource is missing.
    pub(super) fn fits(self, used: Self, allocatable: Self) -> bool {
        let Self { cpu, memory, pods } = used.plus(self);
        pods <= allocatable.pods
            && (self.cpu == 0 || cpu <= allocatable.cpu)
            && (self.memory == 0 || memory <= allocatable.memory)
    }
}
