// SPDX-License-Identifier: Apache-2.0
//! Defaults of the API server for fields that a manifest omits (pkg/apis/core/v1beta1/defaults_*.go @ v1.120.0).
//!
//! Defaults run after decoding, on creation and on update, before admission; they are frozen when the object is
//! written. Every function is idempotent: defaulting a defaulted object changes nothing.

mod cloud_profile;
mod extensibility;
mod project;
mod seed;
mod shoot;
pub mod workload;

pub use self::cloud_profile::{cloud_profile, namespaced_cloud_profile, sync_architectures};
pub use self::extensibility::{controller_registration, credentials_binding, internal_secret, secret_binding};
pub use self::project::{owner_role as project_owner_role, project};
pub use self::seed::{seed, sync_backup_references};
pub use self::shoot::{
    canonicalize_shoot, default_node_cidr_mask_size, drop_unread_reference, keep_version_of_creation, new_shoot, shoot,
    sync_cloud_profile_reference, sync_dns_references,
};

use api::core::Toleration;
use apimachinery::meta::{Duration, Quantity};
use serde_json::Value;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;

/// Fills in a duration.
fn fill(duration: &mut Option<Duration>, seconds: i64) {
    duration.get_or_insert(Duration::from_seconds(seconds));
}

fn quantity(text: &str) -> Quantity {
    serde_json::from_value(Value::String(text.to_owned())).unwrap_or_default()
}

/// Adds the toleration unless it is there already.
fn add_toleration(tolerations: &mut Vec<Toleration>, key: &str) {
    let toleration = Toleration { key: key.to_owned(), value: None };
    if !tolerations.contains(&toleration) {
        tolerations.push(toleration);
    }
}
