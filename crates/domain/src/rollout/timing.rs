// SPDX-License-Identifier: Apache-2.0
//! Durations of processes that a real landscape waits for: contents of object `Timing`, and its defaults.

use std::collections::BTreeMap;

use api::terrarium;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::Duration;
use chrono::TimeDelta;

/// Name of the only object.
pub const NAME: &str = "landscape";
/// Jitter unless configured otherwise, in percent.
const JITTER_PERCENT: i32 = 20;
/// Maximum value of a duration.
const LONGEST: Duration = Duration::from_hours(24 * 7);

/// A duration of the simulated world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parameter {
    /// Time from the creation of a Machine until it has a provider ID.
    VmCreate,
    /// Time from phase `Pending` until the Node registers.
    Boot,
    /// Time from the registration of the Node until it is Ready.
    Join,
    /// Time from readiness of the Node until its critical components run: the taint is removed and the Machine is
    /// `Running`.
    CriticalComponents,
    /// Deletion of the VM.
    VmDelete,
    /// Deletion of the Node object and removal of the Machine's finalizer.
    NodeDelete,
    /// Termination of a pod without finalizers; its grace period is the maximum.
    PodTerminate,
    /// Time from the deletion of a pod until its volumes are detached from the node.
    VolumeDetach,
    /// Time from the deletion of a pod until its volumes are attached to another node.
    VolumeReattach,
    /// Restart of a kubelet with another patch version.
    KubeletPatchRestart,
    /// Update of a node's operating system in place, including the restart.
    InPlaceOperatingSystem,
    /// Update of a kubelet in place to another minor version or other settings.
    InPlaceKubelet,
    /// Renewal of a node's credentials in place.
    InPlaceCredentials,
    /// Work on an extension object that requires changes.
    ExtensionReconcile,
    /// Work on an Infrastructure that requires changes.
    ExtensionInfrastructure,
    /// Start of a control plane's etcd until it is ready.
    Etcd,
    /// Start of a kube-apiserver until it is ready.
    KubeApiserver,
    /// Start of the provider's part of a control plane until it is ready.
    ControlPlane,
    /// Start of any other component until it is ready.
    Component,
}

impl Parameter {
    /// All parameters, in the order of the documentation.
    pub const ALL: [Self; 19] = [
        Self::VmCreate,
        Self::Boot,
        Self::Join,
        Self::CriticalComponents,
        Self::VmDelete,
        Self::NodeDelete,
        Self::PodTerminate,
        Self::VolumeDetach,
        Self::VolumeReattach,
        Self::KubeletPatchRestart,
        Self::InPlaceOperatingSystem,
        Self::InPlaceKubelet,
        Self::InPlaceCredentials,
        Self::ExtensionReconcile,
        Self::ExtensionInfrastructure,
        Self::Etcd,
        Self::KubeApiserver,
        Self::ControlPlane,
        Self::Component,
    ];

    /// Returns the parameter of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|parameter| parameter.name() == name)
    }

    /// Returns the name in configurations, which is also the purpose of the draw for its jitter.
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
            Self::Etcd => "flow.etcd",
            Self::KubeApiserver => "flow.kubeAPIServer",
            Self::ControlPlane => "flow.controlPlane",
            Self::Component => "component.ready",
        }
    }

    /// Returns the duration with provider-local, whose machines are containers; `None`: the default applies.
    const fn provider_local_base(self) -> Option<TimeDelta> {
        Some(TimeDelta::seconds(match self {
            Self::Boot => 20,
            Self::Join | Self::CriticalComponents | Self::VmDelete => 10,
            Self::VmCreate | Self::InPlaceOperatingSystem | Self::KubeApiserver | Self::ExtensionInfrastructure => 5,
            Self::Etcd | Self::ControlPlane => 3,
            Self::ExtensionReconcile | Self::Component => 2,
            _ => return None,
        }))
    }

    /// Returns the default duration, typical of clouds.
    pub const fn default_base(self) -> TimeDelta {
        TimeDelta::seconds(match self {
            Self::VmCreate | Self::VmDelete => 30,
            Self::Boot => 60,
            Self::Join | Self::CriticalComponents | Self::InPlaceCredentials | Self::ExtensionInfrastructure => 15,
            Self::InPlaceOperatingSystem => 180,
            Self::InPlaceKubelet | Self::KubeApiserver => 20,
            Self::NodeDelete => 2,
            Self::KubeletPatchRestart | Self::VolumeDetach | Self::VolumeReattach | Self::Etcd | Self::ControlPlane => {
                10
            }
            Self::ExtensionReconcile | Self::PodTerminate | Self::Component => 5,
        })
    }
}

/// Durations of a landscape and their jitter.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// Durations other than the default.
    pub bases: BTreeMap<Parameter, TimeDelta>,
    /// Maximum deviation as a fraction of the duration, between 0 and 1; 0: none.
    pub jitter: f64,
}

impl Default for Timing {
    fn default() -> Self {
        Self { bases: BTreeMap::new(), jitter: 0.2 }
    }
}

impl Timing {
    /// Reads the values of an object; missing and invalid values have their default.
    pub fn of(spec: &terrarium::TimingSpec) -> Self {
        let named = |(name, text): (&String, &String)| Some((Parameter::named(name)?, duration(text).ok()?));
        let percent = spec.jitter_percent.unwrap_or(JITTER_PERCENT).clamp(0, 100);
        Self { bases: spec.durations.iter().filter_map(named).collect(), jitter: f64::from(percent) / 100.0 }
    }

    /// Returns the default durations without jitter.
    pub fn exact() -> Self {
        Self { jitter: 0.0, ..Self::default() }
    }

    /// Returns the duration of one attempt, from 64 random bits drawn for it: `base * (1 + jitter * u)` with `u` in
    /// -1..=1, rounded to milliseconds and never negative.
    #[expect(clippy::cast_possible_truncation, reason = "durations are far below 2^53 milliseconds")]
    pub fn duration(&self, parameter: Parameter, draw: u64) -> TimeDelta {
        let base = self.bases.get(&parameter).copied().unwrap_or_else(|| parameter.default_base());
        // 53 bits are what a double holds exactly.
        let unit = (draw >> 11) as f64 / ((1_u64 << 53) - 1) as f64;
        let factor = 1.0 + self.jitter * (2.0 * unit - 1.0);
        TimeDelta::milliseconds((base.num_milliseconds() as f64 * factor).round().max(0.0) as i64)
    }
}

/// Returns the values of a Timing object for a landscape as fast as one of provider-local: durations by name, where they
/// differ from the defaults.
pub fn of_provider_local() -> Vec<(String, String)> {
    let says = |parameter: Parameter| Some((parameter.name().to_owned(), text_of(parameter.provider_local_base()?)));
    Parameter::ALL.into_iter().filter_map(says).collect()
}

fn text_of(duration: TimeDelta) -> String {
    Duration { nanoseconds: duration.num_milliseconds() * 1_000_000 }.to_string()
}

/// Sets the defaults of missing values, so that a user who edits the object sees all values.
pub fn default(spec: &mut terrarium::TimingSpec) {
    spec.jitter_percent.get_or_insert(JITTER_PERCENT);
    for parameter in Parameter::ALL {
        spec.durations.get_or_insert(parameter.name(), || text_of(parameter.default_base()));
    }
}

/// Returns the errors of an object.
pub fn validate(timing: &terrarium::Timing) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if timing.metadata.name != NAME {
        let path = Path::new("metadata").child("name");
        errors.push(FieldError::invalid(
            &path,
            &*timing.metadata.name,
            "a landscape has one object of this kind, named `landscape`",
        ));
    }
    let spec = Path::new("spec");
    if let Some(percent) = timing.spec.jitter_percent.filter(|percent| !(0..=100).contains(percent)) {
        errors.push(FieldError::invalid(&spec.child("jitterPercent"), percent, "must be between 0 and 100, inclusive"));
    }
    for (name, text) in &timing.spec.durations {
        let path = spec.child("durations").key(name);
        if Parameter::named(name).is_none() {
            let mut names = Parameter::ALL.map(Parameter::name);
            names.sort_unstable();
            errors.push(FieldError::not_supported(&path, name.as_str(), &names));
        } else if let Err(why) = duration(text) {
            errors.push(FieldError::invalid(&path, text.as_str(), why));
        }
    }
    errors
}

fn duration(text: &str) -> Result<TimeDelta, &'static str> {
    let duration: Duration = text.parse().map_err(|_| "must be a duration such as 90s or 1m30s")?;
    if duration.nanoseconds < 0 || duration.nanoseconds > LONGEST.nanoseconds {
        return Err("must be between 0s and 168h");
    }
    Ok(duration.to_chrono())
}

#[cfg(test)]
mod tests {
    use api::terrarium::TimingSpec;

    use super::*;

    fn errors(change: impl FnOnce(&mut terrarium::Timing)) -> Vec<String> {
        let mut timing = terrarium::Timing::default();
        NAME.clone_into(&mut timing.metadata.name);
        default(&mut timing.spec);
        change(&mut timing);
        validate(&timing).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn provider_local_is_quicker_where_machines_and_components_are() {
        let said = of_provider_local();
        assert!(said.contains(&("machine.vmCreate".to_owned(), "5s".to_owned())), "{said:?}");
        assert!(said.iter().all(|(name, _)| !name.starts_with("drain.")), "{said:?}");
        assert_eq!(errors(|timing| timing.spec.durations.extend(said.clone())), [""; 0]);
        let quick = TimingSpec { durations: said.into_iter().collect(), ..TimingSpec::default() };
        let (quick, usual) = (Timing { jitter: 0.0, ..Timing::of(&quick) }, Timing::exact());
        let slower = Parameter::ALL.into_iter().filter(|one| quick.duration(*one, 0) > usual.duration(*one, 0));
        assert_eq!(slower.count(), 0);
    }

    #[test]
    fn an_empty_object_has_the_defaults() {
        assert_eq!(errors(|_| {}), [""; 0]);
        let mut spec = terrarium::TimingSpec::default();
        default(&mut spec);
        assert_eq!(spec.durations.get("machine.boot").map(String::as_str), Some("1m0s"));
        assert_eq!(spec.durations.len(), Parameter::ALL.len(), "each has a name of its own");
        let (said, silent) = (Timing::of(&spec), Timing::of(&terrarium::TimingSpec::default()));
        for parameter in Parameter::ALL {
            assert_eq!(said.duration(parameter, 7), silent.duration(parameter, 7), "{parameter:?}");
            assert_eq!(Parameter::named(parameter.name()), Some(parameter));
        }
    }

    #[test]
    fn values_of_an_object_apply() {
        let mut spec = terrarium::TimingSpec { jitter_percent: Some(0), ..terrarium::TimingSpec::default() };
        spec.durations.insert("machine.boot".to_owned(), "20s".to_owned());
        let timing = Timing::of(&spec);
        assert_eq!(timing.duration(Parameter::Boot, 12345), TimeDelta::seconds(20));
        assert_eq!(timing.duration(Parameter::VmCreate, 12345), TimeDelta::seconds(30));
    }

    #[test]
    fn nonsense_is_refused() {
        let set = |name: &'static str, text: &'static str| {
            errors(|timing| drop(timing.spec.durations.insert(name.to_owned(), text.to_owned())))
        };
        let refused = set("machine.boot", "soon");
        let text = "spec.durations[machine.boot]: Invalid value: \"soon\": must be a duration such as 90s or 1m30s";
        assert_eq!(refused, [text]);
        assert_eq!(set("machine.boot", "-1s").len(), 1);
        assert_eq!(set("machine.boot", "169h").len(), 1);
        assert!(set("machine.sleep", "1s")[0].starts_with("spec.durations[machine.sleep]: Unsupported value: "));
        let jitter = errors(|timing| timing.spec.jitter_percent = Some(101));
        assert_eq!(jitter, ["spec.jitterPercent: Invalid value: 101: must be between 0 and 100, inclusive"]);
        assert_eq!(errors(|timing| timing.metadata.name = "other".to_owned()).len(), 1);
    }

    #[test]
    fn jitter_stays_within_its_part_of_the_base() {
        let timing = Timing::default();
        let milliseconds = |draw| timing.duration(Parameter::Boot, draw).num_milliseconds();
        assert_eq!((milliseconds(0), milliseconds(u64::MAX)), (48_000, 72_000));
        assert_eq!(Timing::exact().duration(Parameter::Boot, 12345), TimeDelta::seconds(60));
    }
}
