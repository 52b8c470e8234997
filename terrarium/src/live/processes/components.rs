// SPDX-License-Identifier: Apache-2.0
//! Components that this program runs itself (`terrarium component NAME`).

use std::sync::Arc;

use component::Binary;
use domain::garden::components::Program;
use futures::future::BoxFuture;
use host::pods::kubelet::RunInside;
use process::{Exit, child};

/// Binaries of all components.
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

/// Returns the function that runs a component as tasks of the host's process.
pub(in crate::live) fn run_inside(program: Program) -> RunInside {
    Arc::new(move |context, assignment, local, end| {
        let run: BoxFuture<'static, Result<Exit, String>> = match binary(program.name()) {
            _ if program == Program::Apiserver => {
                Box::pin(::apiserver::binary::serve(context, assignment, Some(local), end))
            }
            _ if program == Program::AdmissionController => {
                Box::pin(::admission_controller::binary::serve(context, assignment, Some(local), end))
            }
            Some(binary) => (binary.run)(context, assignment, end),
            None => {
                return Box::pin(async move { child::failure(&format!("there is no component {}", program.name())) });
            }
        };
        Box::pin(async move { run.await.unwrap_or_else(|reason| child::failure(&reason)) })
    })
}
