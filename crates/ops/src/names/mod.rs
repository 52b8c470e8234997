// SPDX-License-Identifier: Apache-2.0
//! Names of a landscape's objects on the command line: [`clusters`], [`components`], [`shoots`].

pub mod clusters;
pub mod components;
pub mod shoots;

pub use clusters::NamedCluster;
pub use shoots::ShootName;
