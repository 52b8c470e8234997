// SPDX-License-Identifier: Apache-2.0
//! `gardener-apiserver`: the component as a program.

use std::process::ExitCode;

// The allocator of `terrarium`: JSON is many small, short-lived allocations.
use mimalloc as _;

fn main() -> ExitCode {
    component::main(&apiserver::binary::BINARY)
}
