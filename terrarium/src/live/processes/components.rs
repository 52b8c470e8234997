// SPDX-License-Identifier: Apache-2.0
//! The components that this program plays (`terrarium component NAME`), their users, and the defaults of their settings.

use api::constants::user;
use component::Binary;
use domain::garden::components::{Program, seed_of};
use landscape::Component;
use process::User;

/// The binaries of all components.
pub(in crate::live) const BINARIES: [Binary; 7] = [
    ::operator::binary::BINARY,
    ::apiserver::binary::BINARY,
    ::admission_controller::binary::BINARY,
    ::controller_manager::binary::BINARY,
    ::scheduler::binary::BINARY,
    gardenlet_sim::gardenlet::binary::BINARY,
    gardenlet_sim::provider_local::binary::BINARY,
];

/// Returns the binary of a component by its name in the field.
pub(crate) fn binary(name: &str) -> Option<Binary> {
    BINARIES.into_iter().find(|binary| binary.program.name() == name)
}

/// Returns the user of the requests of a component of a cluster, `runtime` or `seed--NAME`.
pub(in crate::live) fn user_of(program: Program, cluster: &str, version: &str) -> User {
    let seed = || seed_of(cluster).to_owned();
    let component = match program {
        Program::Apiserver => Component::Apiserver,
        Program::ControllerManager => Component::ControllerManager,
        Program::Scheduler => Component::Scheduler,
        Program::Gardenlet => Component::Gardenlet(seed()),
        Program::ProviderLocal => Component::ProviderLocal(seed()),
        Program::Operator => {
            let groups = ["system:masters", "system:authenticated"].map(Into::into).to_vec();
            let component = Some((program.name().into(), version.into()));
            return User { name: user::OPERATOR.into(), groups, component };
        }
        Program::AdmissionController => {
            let name = user::ADMISSION_CONTROLLER.into();
            return User { name, groups: vec!["system:authenticated".into()], component: None };
        }
    };
    component.user(version)
}
