// SPDX-License-Identifier: Apache-2.0
//! The components that this program plays (`terrarium component NAME`).

use component::Binary;

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
