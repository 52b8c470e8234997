// SPDX-License-Identifier: Apache-2.0
//! How people name things of a landscape: [`clusters`], [`components`], [`shoots`].

pub mod clusters;
pub mod components;
pub mod shoots;

pub use clusters::NamedCluster;
pub use shoots::ShootName;
