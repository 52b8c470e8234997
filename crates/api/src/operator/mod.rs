// SPDX-License-Identifier: Apache-2.0
//! Kinds of `operator.gardener.cloud/v1alpha1`, one file a kind.

mod extension;
mod garden;
mod garden_components;

pub use self::extension::*;
pub use self::garden::*;
pub use self::garden_components::*;
