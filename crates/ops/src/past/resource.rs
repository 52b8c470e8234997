// SPDX-License-Identifier: Apache-2.0
//! Names of resources in keys of the log: `GROUP/PLURAL`.

use api::core::{CloudProfile, NamespacedCloudProfile, Project, Seed, Shoot};
use api::joined;
use api::machine::{Machine, MachineDeployment};
use apimachinery::Resource;

/// Name of Shoots in keys of the log.
pub const SHOOTS: &str = joined!(<Shoot as Resource>::GROUP, "/", <Shoot as Resource>::PLURAL);
/// Name of CloudProfiles in keys of the log.
pub const CLOUD_PROFILES: &str = joined!(<CloudProfile as Resource>::GROUP, "/", <CloudProfile as Resource>::PLURAL);
/// Name of NamespacedCloudProfiles in keys of the log.
pub const NAMESPACED_CLOUD_PROFILES: &str =
    joined!(<NamespacedCloudProfile as Resource>::GROUP, "/", <NamespacedCloudProfile as Resource>::PLURAL);
/// Name of Projects in keys of the log.
pub const PROJECTS: &str = joined!(<Project as Resource>::GROUP, "/", <Project as Resource>::PLURAL);
/// Name of Seeds in keys of the log.
pub const SEEDS: &str = joined!(<Seed as Resource>::GROUP, "/", <Seed as Resource>::PLURAL);
/// Name of Machines in keys of the log.
pub const MACHINES: &str = joined!(<Machine as Resource>::GROUP, "/", <Machine as Resource>::PLURAL);
/// Name of MachineDeployments in keys of the log.
pub const MACHINE_DEPLOYMENTS: &str =
    joined!(<MachineDeployment as Resource>::GROUP, "/", <MachineDeployment as Resource>::PLURAL);
