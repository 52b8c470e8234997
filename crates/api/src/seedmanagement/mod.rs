// SPDX-License-Identifier: Apache-2.0
//! Kinds of `seedmanagement.gardener.cloud/v1alpha1`, one file a kind.

mod common;
mod gardenlet;
mod managed_seed;
mod managed_seed_set;

pub use self::common::*;
pub use self::gardenlet::*;
pub use self::managed_seed::*;
pub use self::managed_seed_set::*;
