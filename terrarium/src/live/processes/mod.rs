// SPDX-License-Identifier: Apache-2.0
//! The processes of a landscape: the host, the components that it starts, and what they start with.

pub(crate) mod binaries;
pub(in crate::live) mod clock_file;
pub(crate) mod components;
pub(in crate::live) mod defaults;
pub(crate) mod host;
pub(in crate::live) mod operator;
pub(crate) mod start;
