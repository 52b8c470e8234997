// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Fault` (`terrarium.dev/v1alpha1`).

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// An injected failure, with limits on the number of hits and the duration.
///
/// The component that is the target injects the fault, and counts it in the status. `domain::fault` describes the kinds.
#[api_type]
pub struct Fault {
    /// Metadata of the object; the name is the fault's ID.
    pub metadata: ObjectMeta,
    /// Kind, target and duration of the fault.
    #[schema(required)]
    pub spec: FaultSpec,
    /// Hits so far.
    pub status: FaultStatus,
}

/// Kind, target, number of hits and duration of a fault.
#[api_type]
pub struct FaultSpec {
    /// Kind of fault, `never-joins`: `terrarium fault list --kinds` lists all.
    #[schema(required)]
    pub kind: String,
    /// The only Shoot to hit. Default: any Shoot.
    pub shoot: Option<FaultShoot>,
    /// The component to hit, by the name of its Deployment.
    pub component: String,
    /// The only pod of the component to hit. Default: any.
    pub instance: String,
    /// The Seed whose cluster to hit.
    pub seed_name: String,
    /// The only worker pool whose machines to hit. Default: any.
    pub pool: String,
    /// The only zone of a pool whose machines to hit: its number in the pool, from 1 on. Default: any.
    pub zone: Option<i32>,
    /// The only machine to hit: its number in its MachineDeployment in the order of creation, from 1 on. Default: any.
    pub machine: Option<i32>,
    /// The only Node to hit. Default: any.
    pub node: String,
    /// Maximum number of hits; at least 1. Defaults to 1, unless `always` is set; kinds that last until they are cleared are
    /// always active.
    pub times: Option<i32>,
    /// True if the number of hits is not limited.
    pub always: bool,
    /// Instant from which on the fault hits no more. Default: no end.
    pub until: Option<Time>,
    /// Settings of the kind of fault.
    pub settings: TextMap,
}

/// A Shoot.
#[api_type]
#[derive(Eq)]
pub struct FaultShoot {
    /// Namespace of the Shoot.
    #[schema(required)]
    pub namespace: String,
    /// Name of the Shoot.
    #[schema(required)]
    pub name: String,
}

/// Hits of a fault.
#[api_type]
pub struct FaultStatus {
    /// Number of hits.
    pub times: i32,
    /// Time of the last hit.
    pub last_time: Option<Time>,
    /// Target of the last hit: `Shoot NAMESPACE/NAME`, `Pod NAME`.
    pub last_target: String,
}

impl_resource!(Fault, "terrarium.dev", "v1alpha1", "Fault", "faults", false);
