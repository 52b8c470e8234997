// SPDX-License-Identifier: Apache-2.0
//! Who may do what: the roles that the logical clusters hold, in an index by who they are given to.
//!
//! ```text
//! fold of the log ──Role, RoleBinding, …──▶ index: cluster ▶ user or group ▶ bindings ▶ rules
//!                 ──Shoot, Seed, …────────▶ graph: which object of the garden belongs to which Seed
//! request ──▶ masters? ▶ index ▶ (from a seed) graph ──▶ allowed, or why not
//! ```
//!
//! A server attaches a [`Rbac`] ([`Rbac::attach`]): it answers the server's questions, and judges in admission who gives
//! away more than they have ([`escalation`]) and what a gardenlet creates ([`restriction`]). The rules are
//! [`domain::rbac`]'s. What a server has folded, its index holds; so an answer rests on what was written before the
//! request.
//!
//! **Invariants.** No rule is decided here. Nothing is read from the server while it asks. An index is as large as the
//! roles and bindings that are stored: what a cluster begins with is shared until it is stored.
//!
//! **Tour.** [`Mode`] whether there are rules at all; [`Rbac`] the authorizer; `index` roles of one cluster; `graph` whose
//! an object is.

mod escalation;
mod graph;
mod index;
mod rbac;
mod restriction;

pub use domain::rbac::Mode;
pub use rbac::{Defaults, Rbac};
