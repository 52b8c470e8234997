// SPDX-License-Identifier: Apache-2.0
//! Kinds of `authentication.gardener.cloud/v1alpha1`, one file a kind.

mod admin_kubeconfig_request;
mod viewer_kubeconfig_request;

pub use self::admin_kubeconfig_request::*;
pub use self::viewer_kubeconfig_request::*;
