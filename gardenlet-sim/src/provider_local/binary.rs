// SPDX-License-Identifier: Apache-2.0
//! gardener-extension-provider-local as a binary.

use component::{Binary, Flags, controllers};
use domain::garden::components::{Program, seed_of};

use super::{Options, run};

/// The definition of the binary.
pub const BINARY: Binary = Binary {
    program: Program::ProviderLocal,
    build: env!("TERRARIUM_BUILD"),
    flags: Flags::KNOWN,
    in_landscape_time: true,
    run: |context, assignment, end| {
        Box::pin(controllers::run(context, assignment, end, |context, assignment, flags| {
            let seed_name = seed_of(&assignment.cluster).to_owned();
            Ok(run(context, Options { seed_name, profile: flags.profile }))
        }))
    },
};
