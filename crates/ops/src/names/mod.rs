// SPDX-License-Identifier: Apache-2.0
//! Names of a landscape's objects on the command line: [`clusters`], [`components`], [`profiles`], [`shoots`].

pub mod clusters;
pub mod components;
pub mod profiles;
pub mod shoots;

pub use clusters::NamedCluster;
pub use profiles::ProfileKey;
pub use shoots::{ShootName, name_of};
