// SPDX-License-Identifier: Apache-2.0
//! Resources as keys of the log name them: `GROUP/PLURAL`.

use api::core::{CloudProfile, NamespacedCloudProfile, Project, Seed, Shoot};
use api::joined;
use api::machine::{Machine, MachineDeployment};
use apimachinery::Resource;

/// Shoots, as entries of the log name their resource.
pub const SHOOTS: &str = joined!(<Shoot as Resource>::GROUP, "/", <Shoot as Resource>::PLURAL);
/// CloudProfiles, as entries of the log name their resource.
pub const CLOUD_PROFILES: &str = joined!(<CloudProfile as Resource>::GROUP, "/", <CloudProfile as Resource>::PLURAL);
/// NamespacedCloudProfiles, as entries of the log name their resource.
pub const NAMESPACED_CLOUD_PROFILES: &str =
    joined!(<NamespacedCloudProfile as Resource>::GROUP, "/", <NamespacedCloudProfile as Resource>::PLURAL);
/// Projects, as entries of the log name their resource.
pub const PROJECTS: &str = joined!(<Project as Resource>::GROUP, "/", <Project as Resource>::PLURAL);
/// Seeds, as entries of the log name their resource.
pub const SEEDS: &str = joined!(<Seed as Resource>::GROUP, "/", <Seed as Resource>::PLURAL);
/// Machines, as entries of the log name their resource.
pub const MACHINES: &str = joined!(<Machine as Resource>::GROUP, "/", <Machine as Resource>::PLURAL);
/// MachineDeployments, as entries of the log name their resource.
pub const MACHINE_DEPLOYMENTS: &str =
    joined!(<MachineDeployment as Resource>::GROUP, "/", <MachineDeployment as Resource>::PLURAL);
