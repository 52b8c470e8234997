// SPDX-License-Identifier: Apache-2.0
//! Processes of a landscape: the host, the components that it starts, and their start parameters.

pub(crate) mod binaries;
pub(in crate::live) mod clock_file;
pub(crate) mod components;
pub(in crate::live) mod defaults;
mod exposure;
pub(crate) mod host;
pub(in crate::live) mod operator;
pub(crate) mod start;
