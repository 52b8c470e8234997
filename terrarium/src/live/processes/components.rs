// SPDX-License-Identifier: Apache-2.0
//! The components that this program plays (`terrarium component NAME`), their users, and the defaults of their settings.

use std::sync::Arc;

use api::constants::user;
use component::Binary;
use domain::garden::components::{Program, seed_of};
use futures::future::BoxFuture;
use host::kubelet::{Local, RunInside};
use landscape::Component;
use process::{Exit, User, child};

/// The binaries of all components.
const BINARIES: [Binary; 7] = [
    ::operator::binary::BINARY,
    ::apiserver::binary::BINARY,
    ::admission_controller::binary::BINARY,
    ::controller_manager::binary::BINARY,
    ::scheduler::binary::BINARY,
    gardenlet_sim::gardenlet::binary::BINARY,
    gardenlet_sim::provider_local::binary::BINARY,
];

/// Returns the binary of a component by its name in the field.
pub(crate) fn binary(name: &str) -> Option<&'static Binary> {
    BINARIES.iter().find(|binary| binary.program.name() == name)
}

/// Returns the function that runs a component as tasks of the host's process.
pub(in crate::live) fn run_inside(program: Program) -> RunInside {
    Arc::new(move |context, assignment, local, end| {
        let run: BoxFuture<'static, Result<Exit, String>> = match binary(program.name()) {
            _ if program == Program::Apiserver => {
                let Local { log, time, offer } = local;
                let local = ::apiserver::instance::Local { log, time, offer };
                Box::pin(::apiserver::binary::serve(context, assignment, Some(local), end))
            }
            Some(binary) => (binary.run)(context, assignment, end),
            None => return Box::pin(async move { child::failure(&format!("there is no component {}", program.name())) }),
        };
        Box::pin(async move { run.await.unwrap_or_else(|reason| child::failure(&reason)) })
    })
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
