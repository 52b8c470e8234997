// SPDX-License-Identifier: Apache-2.0
//! Short names of components, for the tables of tests.

use super::{Component, Instance};

/// The instance of a component with a short name, which is its owner, too.
///
/// # Panics
/// No component is called so.
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
