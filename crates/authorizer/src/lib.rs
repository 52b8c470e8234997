// SPDX-License-Identifier: Apache-2.0
//! Role-based access control: the roles of the logical clusters, indexed by the subjects of their bindings.
//!
//! ```text
//! fold of the log ──Role, RoleBinding, …──▶ index: cluster ▶ user or group ▶ bindings ▶ rules
//!                 ──Shoot, Seed, …────────▶ graph: objects of the garden that belong to each Seed
//! request ──▶ masters? ▶ index ▶ (from a seed) graph ──▶ allowed, or the reason of the refusal
//! ```
//!
//! A server attaches a [`Rbac`] ([`Rbac::attach`]): it decides the server's questions, and its admission plugins refuse
//! grants beyond the user's own permissions ([`escalation`]) and check objects that a gardenlet creates
//! ([`restriction`]). The rules are those of [`domain::rbac`]. The index holds all objects that the server has folded,
//! so a decision takes account of all writes before the request.
//!
//! **Invariants.** No rule is decided here. Nothing is read from the server during a question. An index is as large as
//! the stored roles and bindings: the default ones of a cluster are shared until they are stored.
//!
//! **Tour.** [`Mode`] selects whether rules apply; [`Rbac`] is the authorizer; `index` the roles of one cluster;
//! `graph` the ownership of objects by Seeds.

mod escalation;
mod graph;
mod index;
mod rbac;
mod restriction;

pub use domain::rbac::Mode;
pub use rbac::{Defaults, Rbac};
