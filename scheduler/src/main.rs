// SPDX-License-Identifier: Apache-2.0
//! `gardener-scheduler`: the component as a program.

use std::process::ExitCode;

/// The allocator of `terrarium`: JSON is many small, short-lived allocations.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    component::main(&scheduler::binary::BINARY)
}
