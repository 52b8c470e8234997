// SPDX-License-Identifier: Apache-2.0
//! Kinds of `resources.gardener.cloud/v1alpha1`.

mod managed_resource;

pub use self::managed_resource::*;
