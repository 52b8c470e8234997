// SPDX-License-Identifier: Apache-2.0
//! Kinds of `core.gardener.cloud/v1beta1`, one file a kind.

mod accessors;
mod backup_bucket;
mod backup_entry;
mod cloud_profile;
mod common;
mod controller_deployment;
mod controller_installation;
mod controller_registration;
mod exposure_class;
mod internal_secret;
mod namespaced_cloud_profile;
mod project;
mod quota;
mod secret_binding;
mod seed;
mod shoot;
mod shoot_kubelet;
mod shoot_kubernetes;
mod shoot_state;
mod shoot_status;
mod shoot_worker;

pub use self::accessors::*;
pub use self::backup_bucket::*;
pub use self::backup_entry::*;
pub use self::cloud_profile::*;
pub use self::common::*;
pub use self::controller_deployment::*;
pub use self::controller_installation::*;
pub use self::controller_registration::*;
pub use self::exposure_class::*;
pub use self::internal_secret::*;
pub use self::namespaced_cloud_profile::*;
pub use self::project::*;
pub use self::quota::*;
pub use self::secret_binding::*;
pub use self::seed::*;
pub use self::shoot::*;
pub use self::shoot_kubelet::*;
pub use self::shoot_kubernetes::*;
pub use self::shoot_state::*;
pub use self::shoot_status::*;
pub use self::shoot_worker::*;
