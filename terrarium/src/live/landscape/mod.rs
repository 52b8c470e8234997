// SPDX-License-Identifier: Apache-2.0
//! A landscape as the commands and its processes see it: its files, its certificates, ways to it.
//!
//! Nothing here prints.

pub(in crate::live) mod authority;
pub(in crate::live) mod bootstrap;
pub(crate) mod client;
pub(in crate::live) mod consumption;
pub(in crate::live) mod directory;
pub(in crate::live) mod executable;
pub(in crate::live) mod kubeconfig;
pub(in crate::live) mod owner;
pub(in crate::live) mod retention;
pub(in crate::live) mod running;
pub(in crate::live) mod writes;
