// SPDX-License-Identifier: Apache-2.0
//! Parts of Kubernetes' own kinds that Terrarium reads or embeds.

mod accessors;
pub mod apps;
pub mod autoscaling;
pub mod coordination;
pub mod core;
pub mod networking;
pub mod policy;
pub mod rbac;
pub mod storage;
pub mod tables;

pub use self::accessors::*;
