// SPDX-License-Identifier: Apache-2.0
//! Kinds of `security.gardener.cloud/v1alpha1`, one file a kind.

mod credentials_binding;
mod workload_identity;

pub use self::credentials_binding::*;
pub use self::workload_identity::*;
