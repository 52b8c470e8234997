// SPDX-License-Identifier: Apache-2.0
//! Arguments of a control plane's machine-controller-manager: defaults for settings that a pool leaves unset.
//!
//! Source: pkg/component/nodemanagement/machinecontrollermanager @ v1.120.0; flags supported by a provider's sidecar:
//! pkg/util/provider/app/options of machine-controller-manager v0.58.0. Rows 6 to 8 of the profiles.

use api::machine::MachineSpec;
use apimachinery::meta::Duration;
use chrono::TimeDelta;

use super::machine::Settings;
use crate::profile::Profile;

/// Start-up arguments of a machine-controller-manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// Value of flag `--machine-creation-timeout`.
    pub creation_timeout: Duration,
    /// Value of flag `--machine-drain-timeout`.
    pub drain_timeout: Duration,
    /// Value of flag `--machine-health-timeout`.
    pub health_timeout: Duration,
    /// Value of flag `--machine-inplace-update-timeout`.
    pub in_place_update_timeout: Duration,
    /// `--machine-preserve-timeout`, which gardenlet leaves at its default.
    pub preserve_timeout: Duration,
    /// Value of flag `--machine-max-evict-retries`.
    pub max_evict_retries: i32,
    /// Value of flag `--node-conditions`.
    pub node_conditions: &'static [&'static str],
    /// `--safety-up`: number of Machines beyond replicas and surge at which a MachineSet is frozen.
    pub safety_up: i32,
    /// `--safety-down`: number of Machines below that limit at which a MachineSet is unfrozen.
    pub safety_down: i32,
    /// `--machine-safety-overshooting-period`: interval at which Machines are counted for the safety limits.
    pub overshooting_period: Duration,
}

impl Arguments {
    /// Returns the arguments that gardenlet sets.
    pub const fn of(profile: Profile) -> Self {
        Self {
            creation_timeout: Duration::from_minutes(profile.machine_creation_timeout_minutes()),
            drain_timeout: Duration::from_minutes(120),
            health_timeout: Duration::from_minutes(10),
            in_place_update_timeout: Duration::from_minutes(20),
            preserve_timeout: Duration::from_minutes(96 * 60),
            max_evict_retries: profile.max_evict_retries(),
            node_conditions: profile.node_conditions(),
            safety_up: 2,
            safety_down: 1,
            overshooting_period: Duration::from_minutes(1),
        }
    }

    /// Returns the command of container `machine-controller-manager`, which reconciles MachineDeployments and MachineSets.
    pub fn command(&self, namespace: &str) -> Vec<String> {
        vec![
            "./machine-controller-manager".to_owned(),
            "--control-kubeconfig=inClusterConfig".to_owned(),
            format!("--machine-safety-overshooting-period={}", short(self.overshooting_period)),
            format!("--namespace={namespace}"),
            format!("--safety-up={}", self.safety_up),
            format!("--safety-down={}", self.safety_down),
            "--concurrent-syncs=30".to_owned(),
        ]
    }

    /// Returns the arguments of the provider's container, which reconciles Machines.
    pub fn of_provider(&self, namespace: &str) -> Vec<String> {
        vec![
            "--control-kubeconfig=inClusterConfig".to_owned(),
            format!("--machine-creation-timeout={}", short(self.creation_timeout)),
            format!("--machine-drain-timeout={}", short(self.drain_timeout)),
            format!("--machine-health-timeout={}", short(self.health_timeout)),
            format!("--machine-inplace-update-timeout={}", short(self.in_place_update_timeout)),
            format!("--machine-max-evict-retries={}", self.max_evict_retries),
            format!("--node-conditions={}", self.node_conditions.join(",")),
            format!("--namespace={namespace}"),
        ]
    }

    /// Returns the settings of a Machine: its own values, with these arguments as defaults.
    pub fn settings(&self, machine: &MachineSpec) -> Settings {
        let duration = |own: Option<Duration>, default: Duration| -> TimeDelta { own.unwrap_or(default).to_chrono() };
        Settings {
            creation_timeout: duration(machine.creation_timeout, self.creation_timeout),
            health_timeout: duration(machine.health_timeout, self.health_timeout),
            drain_timeout: duration(machine.drain_timeout, self.drain_timeout),
            max_evict_retries: machine.max_evict_retries.unwrap_or(self.max_evict_retries),
            disable_health_timeout: machine.disable_health_timeout == Some(true),
            in_place_update_timeout: duration(machine.in_place_update_timeout, self.in_place_update_timeout),
            preserve_timeout: duration(machine.machine_preserve_timeout, self.preserve_timeout),
        }
    }

    /// Returns the types of Node conditions that make the Machine unhealthy.
    pub fn unhealthy_if<'a>(&'a self, machine: &'a MachineSpec) -> Vec<&'a str> {
        match machine.node_conditions.as_deref().filter(|given| !given.is_empty()) {
            Some(given) => given.split(',').collect(),
            None => self.node_conditions.to_vec(),
        }
    }
}

/// Formats a whole number of hours or minutes without trailing zero units: `2h`, `10m`.
fn short(duration: Duration) -> String {
    let text = duration.to_string();
    let text = text.strip_suffix("0s").filter(|text| text.ends_with('m')).unwrap_or(&text);
    text.strip_suffix("0m").filter(|text| text.ends_with('h')).unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows 6 to 8 of the profiles.
    #[test]
    fn the_arguments_of_each_profile() {
        let of = |profile| Arguments::of(profile).of_provider("shoot--dev--a");
        let differing = |profile| -> Vec<String> {
            let common = ["--control", "--machine-drain", "--machine-health", "--machine-inplace", "--namespace"];
            of(profile).into_iter().filter(|it| common.iter().all(|prefix| !it.starts_with(prefix))).collect()
        };
        let documents = [
            "--machine-creation-timeout=10m",
            "--machine-max-evict-retries=10",
            "--node-conditions=KernelDeadlock,ReadonlyFilesystem,DiskPressure",
        ];
        let upstream = [
            "--machine-creation-timeout=20m",
            "--machine-max-evict-retries=360",
            "--node-conditions=KernelDeadlock,ReadonlyFilesystem,DiskPressure,NetworkUnavailable",
        ];
        assert_eq!(differing(Profile::Documents), documents);
        assert_eq!(differing(Profile::Upstream), upstream);
        assert!(of(Profile::Upstream).contains(&"--machine-drain-timeout=2h".to_owned()));
    }

    #[test]
    fn machine_settings_override_arguments() {
        let arguments = Arguments::of(Profile::Documents);
        let silent = MachineSpec::default();
        assert_eq!(arguments.settings(&silent).creation_timeout, TimeDelta::minutes(10));
        assert_eq!(arguments.unhealthy_if(&silent), ["KernelDeadlock", "ReadonlyFilesystem", "DiskPressure"]);
        let own = MachineSpec {
            creation_timeout: Some(Duration::from_minutes(3)),
            max_evict_retries: Some(1),
            node_conditions: Some("Broken,Worn".to_owned()),
            ..MachineSpec::default()
        };
        let settings = arguments.settings(&own);
        assert_eq!((settings.creation_timeout, settings.max_evict_retries), (TimeDelta::minutes(3), 1));
        assert_eq!(settings.drain_timeout, TimeDelta::hours(2));
        assert_eq!(arguments.unhealthy_if(&own), ["Broken", "Worn"]);
        let none = MachineSpec { node_conditions: Some(String::new()), ..MachineSpec::default() };
        assert_eq!(arguments.unhealthy_if(&none).len(), 3);
    }
}
