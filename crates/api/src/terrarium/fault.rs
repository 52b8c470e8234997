// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Fault` (`terrarium.dev/v1alpha1`).

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// Something that goes wrong on purpose, as often and as long as it is told.
///
/// The component that a fault hits carries it out, and counts it in the status. What the kinds do is in
/// `domain::fault`.
#[api_type]
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
#[api_type]
pub struct FaultSpec {
    /// Kind of fault, `never-joins`: `terrarium fault list --kinds` tells of all.
    #[schema(required)]
    pub kind: String,
    /// The one Shoot that it hits. Without it any Shoot.
    pub shoot: Option<FaultShoot>,
    /// The component that it hits, as its Deployment is named.
    pub component: String,
    /// The one pod of the component that it hits. Without it any.
    pub instance: String,
    /// The Seed whose cluster it hits.
    pub seed_name: String,
    /// The one worker pool whose machines it hits. Without it any.
    pub pool: String,
    /// The one zone of a pool whose machines it hits: its number in the pool, from 1 on. Without it any.
    pub zone: Option<i32>,
    /// The one machine that it hits: its number in its MachineDeployment in the order of creation, from 1 on. Without it
    /// any.
    pub machine: Option<i32>,
    /// The one Node that it hits. Without it any.
    pub node: String,
    /// How often it hits, at least once. Defaults to 1, unless `always` is set; what lasts until it is cleared is always
    /// there.
    pub times: Option<i32>,
    /// Whether it hits every time.
    pub always: bool,
    /// First instant at which it hits no more. Without it there is none.
    pub until: Option<Time>,
    /// Settings of the kind of fault.
    pub settings: TextMap,
}

/// A Shoot.
#[api_type]
#[derive(Eq)]
pub struct FaultShoot {
    /// Its namespace.
    #[schema(required)]
    pub namespace: String,
    /// Its name.
    #[schema(required)]
    pub name: String,
}

/// What a fault has done.
#[api_type]
pub struct FaultStatus {
    /// How often it has hit.
    pub times: i32,
    /// When it hit last.
    pub last_time: Option<Time>,
    /// Whom it hit last: `Shoot NAMESPACE/NAME`, `Pod NAME`.
    pub last_target: String,
}

impl_resource!(Fault, "terrarium.dev", "v1alpha1", "Fault", "faults", false);
