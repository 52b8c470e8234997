// SPDX-License-Identifier: Apache-2.0
//! How people name things of a landscape: [`clusters`], [`shoots`].

pub mod clusters;
pub mod shoots;

pub use clusters::NamedCluster;
pub use shoots::ShootName;
