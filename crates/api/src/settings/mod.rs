// SPDX-License-Identifier: Apache-2.0
//! Kinds of `settings.gardener.cloud/v1alpha1`, one file a kind.

mod cluster_openidconnect_preset;
mod common;
mod openidconnect_preset;

pub use self::cluster_openidconnect_preset::*;
pub use self::common::*;
pub use self::openidconnect_preset::*;
