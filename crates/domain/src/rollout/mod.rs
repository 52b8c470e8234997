// SPDX-License-Identifier: Apache-2.0
//! Roll-outs of nodes: from a Worker through MachineDeployments and MachineSets to Machines and their Nodes.
//!
//! ```text
//! Worker ── wanted ──► MachineDeployment per pool and zone      [`wanted`], [`crate::worker_pool::zones`], [`replicas`]
//! MachineDeployment ── deployment::pass ──► MachineSets          [`deployment`], [`scaling`], [`limits`]
//! MachineSet ── machine_set::pass ──► Machines                   [`machine_set`], [`safety`]
//! Machine ── machine::step ──► VM, Node                          [`machine`], [`node`], [`preservation`], [`timing`]
//! ```
//!
//! Every pass is a function from observed state to changes: it returns the changes, or the reason it waits for
//! ([`WaitingOn`]), or the instant of the next change. Passes are repeated until none changes anything; then the time may
//! advance.
//! Source: pkg/controller, pkg/util/provider/machinecontroller of machine-controller-manager v0.58.0,
//! extensions/pkg/controller/worker @ v1.120.0.

pub mod arguments;
pub mod conditions;
pub mod deployment;
pub mod drain;
pub mod in_place;
pub mod limits;
pub mod machine;
pub mod machine_set;
pub mod names;
pub mod node;
pub mod preservation;
pub mod replicas;
pub mod safety;
pub mod scaling;
pub mod timing;
pub mod wanted;
pub mod worker_wait;

pub use self::arguments::Arguments;
pub use self::limits::Limits;
pub use self::timing::{Parameter, Timing};

/// Reason for which a roll-out pass waits. Ordered: the first that applies is reported.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitingOn {
    /// Manual in-place: no node is selected yet.
    UserSelection {
        /// Number of nodes that can be selected.
        candidates: u32,
    },
    /// New machines are not Running.
    MachineCreation {
        /// Number of missing machines.
        missing: u32,
    },
    /// Evictions are in progress.
    Drain {
        /// Name of the node that is drained.
        node: String,
        /// Number of pods still on it.
        pods_left: u32,
    },
    /// A finalizer is still held, so the surge is not free.
    MachineDeletion {
        /// Number of machines being deleted.
        terminating: u32,
    },
    /// gardener-node-agent updates the node.
    InPlaceUpdate {
        /// Name of the node.
        node: String,
    },
    /// `replicas - maxUnavailable` is not met.
    Availability {
        /// Number of available machines.
        have: u32,
        /// Required number of available machines.
        need: u32,
    },
}
