// SPDX-License-Identifier: Apache-2.0
//! Kinds of the core group, `v1`: kinds that are read are typed, types that Gardener's kinds embed are complete.
//!
//! The first line of a file states whether its structs lack fields; such objects are changed by patches, or created with all
//! fields.

mod affinity;
mod common;
mod config_map;
mod container;
mod event;
mod namespace;
mod node;
mod pod;
mod resource_quota;
mod secret;
mod service;
mod service_account;
mod volume;
mod volume_storage;

pub use self::affinity::*;
pub use self::common::*;
pub use self::config_map::*;
pub use self::container::*;
pub use self::event::*;
pub use self::namespace::*;
pub use self::node::*;
pub use self::pod::*;
pub use self::resource_quota::*;
pub use self::secret::*;
pub use self::service::*;
pub use self::service_account::*;
pub use self::volume::*;
pub use self::volume_storage::*;
