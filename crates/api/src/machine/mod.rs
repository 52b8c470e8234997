// SPDX-License-Identifier: Apache-2.0
//! Kinds of `machine.sapcloud.io/v1alpha1`, one file a kind.

mod common;
#[expect(clippy::module_inception, reason = "one file a kind")]
mod machine;
mod machine_class;
mod machine_deployment;
mod machine_set;

pub use self::common::*;
pub use self::machine::*;
pub use self::machine_class::*;
pub use self::machine_deployment::*;
pub use self::machine_set::*;
