// SPDX-License-Identifier: Apache-2.0
//! Combinations of versions: every small landscape against a second implementation of the policy, properties of all legal
//! steps, and plans against an exhaustive search.

mod explorer;
mod plans;
mod properties;
mod restated;

use domain::skew::{Component, Instance, Landscape};

pub(crate) const API: Component = Component::Apiserver;
pub(crate) const GCM: Component = Component::ControllerManager;
pub(crate) const LET: Component = Component::Gardenlet;
pub(crate) const OP: Component = Component::Operator;
pub(crate) const EXT: Component = Component::Extension;

/// Returns a landscape of minors of 1.x.
pub(crate) fn of_minors(all: &[(Component, u64)]) -> Landscape {
    let one = |(component, minor): &(Component, u64)| Instance::owned(*component, "x", &format!("1.{minor}.0"));
    Landscape { instances: all.iter().map(one).collect(), ..Landscape::default() }
}
