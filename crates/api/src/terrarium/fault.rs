// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Fault` (`terrarium.dev/v1alpha1`).

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::encoding::is_zero;
use crate::impl_resource;

/// Something that goes wrong on purpose, as often and as long as it is told.
///
/// Whoever would suffer it looks for it, lets it happen, and counts in the status. What the kinds do is in
/// `domain::fault`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Fault {
    /// Metadata of the object; the name is the fault's ID.
    pub metadata: ObjectMeta,
    /// What goes wrong.
    #[schema(required)]
    pub spec: FaultSpec,
    /// What it has done so far.
    pub status: FaultStatus,
}

/// What goes wrong, where, how often and how long.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct FaultSpec {
    /// Kind of fault: `task-fails`.
    #[schema(required)]
    pub kind: String,
    /// The one Shoot that it hits. Without it any Shoot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shoot: Option<FaultShoot>,
    /// How often it hits, at least once. Defaults to 1, unless `always` is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<i32>,
    /// Whether it hits every time.
    #[serde(skip_serializing_if = "is_zero")]
    pub always: bool,
    /// First instant at which it hits no more. Without it there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// What the kind of fault wants to know.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// A Shoot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct FaultShoot {
    /// Its namespace.
    #[schema(required)]
    pub namespace: String,
    /// Its name.
    #[schema(required)]
    pub name: String,
}

/// What a fault has done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct FaultStatus {
    /// How often it has hit.
    #[serde(skip_serializing_if = "is_zero")]
    pub times: i32,
    /// When it hit last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_time: Option<Time>,
    /// Whom it hit last: `Shoot NAMESPACE/NAME`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_target: String,
}

impl_resource!(Fault, "terrarium.dev", "v1alpha1", "Fault", "faults", false);
