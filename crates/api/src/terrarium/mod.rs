// SPDX-License-Identifier: Apache-2.0
//! Kinds of `terrarium.dev/v1alpha1`: settings and state of the landscape itself, in cluster `runtime`.

mod clock;
mod cluster;
mod fault;
mod timing;

pub use self::clock::*;
pub use self::cluster::*;
pub use self::fault::*;
pub use self::timing::*;
