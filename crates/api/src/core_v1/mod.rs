// SPDX-License-Identifier: Apache-2.0
//! Kinds of `core.gardener.cloud/v1`, one file a kind.

mod controller_deployment;

pub use self::controller_deployment::*;
