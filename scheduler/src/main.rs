// SPDX-License-Identifier: Apache-2.0
//! `gardener-scheduler`: the component as a program.

use std::process::ExitCode;

// The same allocator as in `terrarium`: JSON causes many small, short-lived allocations.
use mimalloc as _;

fn main() -> ExitCode {
    component::main(&scheduler::binary::BINARY)
}
