// SPDX-License-Identifier: Apache-2.0
//! Kinds of `extensions.gardener.cloud/v1alpha1`, one file a kind.

mod backup_bucket;
mod backup_entry;
mod bastion;
mod cluster;
mod common;
mod container_runtime;
mod control_plane;
mod dns_record;
mod extension;
mod infrastructure;
mod network;
mod operating_system_config;
mod self_hosted_shoot_exposure;
mod worker;

pub use self::backup_bucket::*;
pub use self::backup_entry::*;
pub use self::bastion::*;
pub use self::cluster::*;
pub use self::common::*;
pub use self::container_runtime::*;
pub use self::control_plane::*;
pub use self::dns_record::*;
pub use self::extension::*;
pub use self::infrastructure::*;
pub use self::network::*;
pub use self::operating_system_config::*;
pub use self::self_hosted_shoot_exposure::*;
pub use self::worker::*;
