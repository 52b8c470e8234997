// SPDX-License-Identifier: Apache-2.0
//! Kinds of `operations.gardener.cloud/v1alpha1`, one file a kind.

mod bastion;

pub use self::bastion::*;
