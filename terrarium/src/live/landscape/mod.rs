// SPDX-License-Identifier: Apache-2.0
//! Access of the commands and processes to a landscape: its files, certificates and transports.
//!
//! Nothing here prints, except notes of [`client`] and [`host_process`] on standard error.

pub(in crate::live) mod authority;
pub(in crate::live) mod bootstrap;
pub(crate) mod client;
pub(in crate::live) mod consumption;
pub(in crate::live) mod directory;
pub(in crate::live) mod executable;
pub(in crate::live) mod host_process;
pub(in crate::live) mod kubeconfig;
pub(in crate::live) mod owner;
pub(in crate::live) mod retention;
pub(in crate::live) mod running;
pub(in crate::live) mod writes;
