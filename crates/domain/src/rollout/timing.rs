// SPDX-License-Identifier: Apache-2.0
//! How long things take that a real landscape waits for.

use std::collections::BTreeMap;

use chrono::TimeDelta;

/// A duration of the simulated world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parameter {
    /// Machine created, until it has a provider ID.
    VmCreate,
    /// Machine `Pending`, until its Node registers.
    Boot,
    /// Node registered, until it is Ready.
    Join,
    /// Node Ready, until the taint for missing critical components goes and the Machine is `Running`.
    CriticalComponents,
    /// Deletion of the VM.
    VmDelete,
    /// Deletion of the Node object and removal of the Machine's finalizer.
    NodeDelete,
    /// A pod without finalizers that was asked to end, until it is gone; its grace period is the most.
    PodTerminate,
    /// Volumes of a pod that is gone, until they are detached from the node.
    VolumeDetach,
    /// The same, until they are attached to another one.
    VolumeReattach,
    /// Restart of a kubelet in another patch version.
    KubeletPatchRestart,
    /// Update of a node's operating system in place, with the restart.
    InPlaceOperatingSystem,
    /// Update of a kubelet in place to another minor version or other settings.
    InPlaceKubelet,
    /// Renewal of a node's credentials in place.
    InPlaceCredentials,
    /// Work on an extension object that has something to do.
    ExtensionReconcile,
    /// The same for an Infrastructure.
    ExtensionInfrastructure,
}

impl Parameter {
    /// Name in configurations; also the purpose of the draw for its jitter.
    pub const fn name(self) -> &'static str {
        match self {
            Self::VmCreate => "machine.vmCreate",
            Self::Boot => "machine.boot",
            Self::Join => "machine.join",
            Self::CriticalComponents => "machine.criticalComponents",
            Self::VmDelete => "machine.vmDelete",
            Self::NodeDelete => "machine.nodeDelete",
            Self::PodTerminate => "drain.podTerminate",
            Self::VolumeDetach => "drain.pvDetach",
            Self::VolumeReattach => "drain.pvReattach",
            Self::KubeletPatchRestart => "kubelet.patchRestart",
            Self::InPlaceOperatingSystem => "inPlace.os",
            Self::InPlaceKubelet => "inPlace.kubelet",
            Self::InPlaceCredentials => "inPlace.credentials",
            Self::ExtensionReconcile => "extension.reconcile",
            Self::ExtensionInfrastructure => "extension.infrastructure",
        }
    }

    /// The duration unless configured otherwise.
    pub const fn default_base(self) -> TimeDelta {
        TimeDelta::seconds(match self {
            Self::VmCreate | Self::VmDelete => 30,
            Self::Boot => 60,
            Self::Join | Self::CriticalComponents | Self::InPlaceCredentials | Self::ExtensionInfrastructure => 15,
            Self::InPlaceOperatingSystem => 180,
            Self::InPlaceKubelet => 20,
            Self::NodeDelete => 2,
            Self::KubeletPatchRestart | Self::VolumeDetach | Self::VolumeReattach => 10,
            Self::ExtensionReconcile | Self::PodTerminate => 5,
        })
    }
}

/// The durations of a landscape and how much they vary.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// Durations other than the default.
    pub bases: BTreeMap<Parameter, TimeDelta>,
    /// Greatest deviation as a part of the duration; 0 for none. Between 0 and 1.
    pub jitter: f64,
}

impl Default for Timing {
    fn default() -> Self {
        Self { bases: BTreeMap::new(), jitter: 0.2 }
    }
}

impl Timing {
    /// Durations without deviation.
    pub fn exact() -> Self {
        Self { jitter: 0.0, ..Self::default() }
    }

    /// The duration of one attempt, from 64 random bits drawn for it: `base * (1 + jitter * u)` with `u` in -1..=1,
    /// rounded to milliseconds and never negative.
    #[expect(clippy::cast_possible_truncation, reason = "durations are far below 2^53 milliseconds")]
    pub fn duration(&self, parameter: Parameter, draw: u64) -> TimeDelta {
        let base = self.bases.get(&parameter).copied().unwrap_or_else(|| parameter.default_base());
        // 53 bits are what a double holds exactly.
        let unit = (draw >> 11) as f64 / ((1_u64 << 53) - 1) as f64;
        let factor = 1.0 + self.jitter * (2.0 * unit - 1.0);
        TimeDelta::milliseconds((base.num_milliseconds() as f64 * factor).round().max(0.0) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_stays_within_its_part_of_the_base() {
        let timing = Timing::default();
        let milliseconds = |draw| timing.duration(Parameter::Boot, draw).num_milliseconds();
        assert_eq!((milliseconds(0), milliseconds(u64::MAX)), (48_000, 72_000));
        assert_eq!(Timing::exact().duration(Parameter::Boot, 12345), TimeDelta::seconds(60));
    }
}
