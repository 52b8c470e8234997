// SPDX-License-Identifier: Apache-2.0
//! How each component is started in a simulation.

use crate::component::{Component, Running};
use crate::failure::Failure;
use crate::landscape::Landscape;

/// Starts a component on tasks of its own.
pub(crate) fn start(landscape: &mut Landscape, component: &Component) -> Result<Running, Failure> {
    let _ = (landscape, component);
    todo!()
}
