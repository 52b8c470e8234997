// SPDX-License-Identifier: Apache-2.0
//! Short names of components, for the tables of tests.

use super::{Component, Instance};

/// Returns the instance of a component with a short name, which is also its owner.
///
/// # Panics
/// No component has this short name.
pub(super) fn instance(name: &str, version: &str) -> Instance {
    let component = match name {
        "api" => Component::Apiserver,
        "gcm" => Component::ControllerManager,
        "sch" => Component::Scheduler,
        "adm" => Component::AdmissionController,
        "let" => Component::Gardenlet,
        "op" => Component::Operator,
        "ext" => Component::Extension,
        other => panic!("no such component: {other}"),
    };
    Instance::owned(component, name, version)
}
