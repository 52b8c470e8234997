// SPDX-License-Identifier: Apache-2.0
//! Creation parameters of a landscape, and the flags of `up` that an existing landscape accepts.
//!
//! Most facts are immutable: a contradicting flag is refused. A few may change while the landscape is stopped
//! ([`Arguments::adopt`]), and are refused while it runs ([`Arguments::needs_stop`]).

use std::io::ErrorKind;
use std::path::PathBuf;

use clock::Clock;
use domain::skew::{GardenerVersion, releases};
use landscape::preset::Preset;
use ops::instant::When;

use super::Arguments;
use crate::failure::Failure;
use crate::live::binaries::INSIDE;
use crate::live::bootstrap;
use crate::live::client::Client;
use crate::live::directory::{Directory, Ephemeral, Facts, loopback};

impl Arguments {
    /// Returns the facts of the landscape, and true if this command created it. `None`: another process is about to create
    /// it.
    pub(super) fn facts(&self, directory: &Directory) -> Result<Option<(Facts, bool)>, Failure> {
        let found = match directory.facts()? {
            Some(facts) => Some((facts, false)),
            None => {
                if self.ephemeral && self.settings.log.as_ref().is_some_and(|log| log != "memory") {
                    return Err(Failure::input(
                        "--log contradicts --ephemeral, whose log is in memory",
                        "leave one of them out",
                    ));
                }
                self.check_kubernetes_version()?;
                directory.create(|| self.new_facts())?
            }
        };
        if let Some((facts, false)) = &found {
            self.contradiction(facts)?;
        }
        Ok(found)
    }

    /// True if the log of the landscape is in memory, or will be.
    pub(super) fn is_in_memory(&self, directory: &Directory) -> Result<bool, Failure> {
        let wanted = || if self.ephemeral { Some("memory".to_owned()) } else { self.settings.log.clone() };
        Ok(directory.facts()?.map(|facts| facts.log).or_else(wanted).is_some_and(|log| log == "memory"))
    }

    /// True if a landscape without a recorded choice gets a gardener-operator.
    fn has_operator(&self) -> bool {
        self.settings.operator.unwrap_or(true)
    }

    /// Changes the facts that may change while a landscape is stopped. A landscape from before the introduction of the
    /// operator gets one, except with `--operator=false`.
    pub(super) fn adopt(&self, directory: &Directory) -> Result<(), Failure> {
        let Some(facts) = directory.facts()? else { return Ok(()) };
        let changed = Facts {
            operator: facts.operator.or_else(|| Some(self.has_operator())),
            skew_enforcement: self.settings.skew_enforcement.clone().or_else(|| facts.skew_enforcement.clone()),
            allow_downgrade: self.settings.allow_downgrade.unwrap_or(facts.allow_downgrade),
            authorization: self.settings.authorization.clone().or_else(|| facts.authorization.clone()),
            components: self.settings.components.clone().or_else(|| facts.components.clone()),
            event_ttl: self.settings.event_ttl.map(|ttl| ttl.num_seconds()).or(facts.event_ttl),
            ..facts.clone()
        };
        if changed == facts { Ok(()) } else { directory.write_facts(&changed) }
    }

    /// Refuses flags that change a fact of a running landscape.
    pub(super) fn needs_stop(&self, facts: &Facts) -> Result<(), Failure> {
        let flags = [
            (
                "--skew-enforcement",
                self.settings.skew_enforcement.is_some() && self.settings.skew_enforcement != facts.skew_enforcement,
            ),
            ("--event-ttl", self.settings.event_ttl.is_some_and(|it| it != bootstrap::event_ttl(facts))),
            ("--allow-downgrade", self.settings.allow_downgrade.is_some_and(|it| it != facts.allow_downgrade)),
            ("--components", self.settings.components.as_deref().is_some_and(|it| (it == INSIDE) != facts.is_inside())),
            (
                "--authorization",
                self.settings.authorization.as_deref().is_some_and(|it| it != bootstrap::authorization(facts).name()),
            ),
        ];
        match flags.into_iter().find(|(_, differs)| *differs) {
            None => Ok(()),
            Some((flag, _)) => Err(self.unchangeable(flag, &facts.name)),
        }
    }

    fn unchangeable(&self, flag: &str, name: &str) -> Failure {
        let hint = format!("stop it with `{}`, and start it again with the flag", self.which.hint("terrarium down"));
        Failure::input(format!("{flag} cannot be changed while landscape {name} runs"), hint)
    }

    /// Refuses the form of components if another command has started the landscape meanwhile, with another one.
    pub(super) fn has_requested_form(&self, client: &Client) -> Result<(), Failure> {
        let (requested, running) = (self.settings.components.as_deref(), client.host.components.form.as_str());
        let differs = requested.is_some_and(|requested| !running.is_empty() && requested != running);
        if differs { Err(self.unchangeable("--components", &client.facts.name)) } else { Ok(()) }
    }

    /// Requested emulated version: `newest` stands for the newest known release.
    fn asked_gardener_version(&self) -> Option<String> {
        let asked = self.settings.gardener_version.as_ref()?;
        Some(if asked == ops::release::NEWEST_WORD { format!("v{}", releases::newest()) } else { asked.clone() })
    }

    /// Emulated version of a new landscape.
    fn new_gardener_version(&self) -> String {
        self.asked_gardener_version().unwrap_or_else(|| landscape::GARDENER_VERSION.to_owned())
    }

    /// Note on an emulated version that is newer or older than every known release, or an unknown patch, of a landscape with
    /// these facts or a new one.
    pub(super) fn unknown_release(&self, facts: Option<&Facts>) -> Option<String> {
        let version = facts.map_or_else(|| self.new_gardener_version(), |facts| facts.gardener().to_owned());
        let version = GardenerVersion::parse(&version)?;
        releases::unknown_release(&version)
    }

    /// Kubernetes version of a new landscape, without `v`.
    fn new_kubernetes_version(&self) -> String {
        match &self.settings.kubernetes_version {
            Some(version) => version.trim_start_matches('v').to_owned(),
            None => bootstrap::usual_kubernetes(&self.new_gardener_version()),
        }
    }

    /// Checks that the emulated Gardener supports the requested Kubernetes version.
    fn check_kubernetes_version(&self) -> Result<(), Failure> {
        let Some(version) = &self.settings.kubernetes_version else { return Ok(()) };
        let gardener = self.new_gardener_version();
        // An invalid version of Gardener is refused where the version is needed.
        let Some(known) = GardenerVersion::parse(&gardener) else { return Ok(()) };
        if releases::supports_kubernetes(&known, version) {
            return Ok(());
        }
        let (oldest, newest) = releases::kubernetes_minors(&known);
        Err(Failure::input(
            format!("Gardener {gardener} does not support Kubernetes version {version}"),
            format!("use a version from 1.{oldest}.0 to 1.{newest}"),
        ))
    }

    /// Absolute path of the kubeconfig, for processes in other working directories.
    fn absolute_kubeconfig(&self) -> Option<PathBuf> {
        let path = self.kubeconfig.path()?;
        Some(std::path::absolute(&path).unwrap_or(path))
    }

    /// Returns the facts of a new landscape.
    pub(super) fn new_facts(&self) -> Facts {
        let is_demo = self.demo.is_some() || self.settings.preset.as_deref() == Some("demo");
        let now = Clock::wall().now();
        let gardener_version = self.new_gardener_version();
        let start = || if is_demo { Preset::of_text(&gardener_version).start() } else { now };
        let start_time = self.settings.start_time.map_or_else(start, |when| when.behind(now));
        Facts {
            name: self.which.name(),
            kubernetes_version: Some(self.new_kubernetes_version()),
            gardener_version,
            gardener_found: None,
            profile: self.settings.profile.clone().unwrap_or_else(|| "documents".to_owned()),
            seed: self.settings.seed.unwrap_or(1),
            seeds: self.settings.seeds.unwrap_or(1),
            apiservers: self.settings.apiservers.unwrap_or(2),
            operator: Some(self.has_operator()),
            skew_enforcement: self.settings.skew_enforcement.clone(),
            allow_downgrade: self.settings.allow_downgrade.unwrap_or_default(),
            authorization: self.settings.authorization.clone(),
            components: self.settings.components.clone().or_else(|| Some(INSIDE.to_owned())),
            event_ttl: self.settings.event_ttl.map(|ttl| ttl.num_seconds()),
            start_time,
            log: self.settings.log.clone().unwrap_or_else(|| if self.ephemeral { "memory" } else { "sled" }.to_owned()),
            durable: self.settings.durability.as_deref() != Some("fast"),
            port: self.settings.port.unwrap_or(0),
            bind: self.settings.bind.unwrap_or(loopback()),
            san: self.settings.san.clone(),
            history: self.settings.history.unwrap_or_default(),
            dashboard: None,
            demo: is_demo,
            ephemeral: self.ephemeral.then(|| Ephemeral { kubeconfig: self.absolute_kubeconfig() }),
        }
    }

    /// Checks that a landscape that has run has a log. Without it, a different landscape would start under the same name.
    pub(super) fn must_have_log(&self, directory: &Directory) -> Result<(), Failure> {
        // Another command may have removed the landscape meanwhile.
        if !directory.has_run() || directory.join("log").exists() || directory.facts()?.is_none() {
            return Ok(());
        }
        if !self.losses.start_empty {
            let hint = self.which.hint("terrarium up --start-empty");
            return Err(Failure::input(
                format!(
                    "the log of landscape {} is gone: there is no {}",
                    self.which.name(),
                    directory.join("log").display()
                ),
                format!("restore it from a copy; `{hint}` begins with an empty landscape"),
            ));
        }
        // Time restarts as well.
        match std::fs::remove_file(directory.join("clock")) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Failure::Failed(format!("cannot remove {}: {error}", directory.join("clock").display())))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a flag that contradicts the landscape's creation parameters.
    fn contradiction(&self, facts: &Facts) -> Result<(), Failure> {
        let flags = [
            (
                "--gardener-version",
                self.asked_gardener_version().is_some_and(|it| !is_same_version(&it, &facts.gardener_version)),
            ),
            (
                "--kubernetes-version",
                self.settings
                    .kubernetes_version
                    .as_ref()
                    .is_some_and(|it| it.trim_start_matches('v') != bootstrap::kubernetes_version(facts)),
            ),
            ("--profile", self.settings.profile.as_ref().is_some_and(|it| *it != facts.profile)),
            ("--seed", self.settings.seed.is_some_and(|it| it != facts.seed)),
            ("--apiservers", self.settings.apiservers.is_some_and(|it| it != facts.apiservers)),
            ("--operator", self.settings.operator.is_some_and(|it| facts.operator.is_some_and(|was| it != was))),
            ("--seeds", self.settings.seeds.is_some_and(|it| it != facts.seeds)),
            (
                "--start-time",
                self.settings.start_time.is_some_and(|it| matches!(it, When::At(at) if at != facts.start_time)),
            ),
            ("--log", self.settings.log.as_ref().is_some_and(|it| *it != facts.log)),
            ("--durability", self.settings.durability.as_ref().is_some_and(|it| (it == "durable") != facts.durable)),
            ("--port", self.settings.port.is_some_and(|it| it != facts.port)),
            ("--bind", self.settings.bind.is_some_and(|it| it != facts.bind)),
            ("--san", !self.settings.san.is_empty() && self.settings.san != facts.san),
            ("--history", self.settings.history.is_some_and(|it| it != facts.history)),
            ("--ephemeral", self.ephemeral && facts.ephemeral.is_none()),
        ];
        match flags.into_iter().find(|(_, contradicts)| *contradicts) {
            None => Ok(()),
            Some((flag, _)) => Err(Failure::input(
                format!("{flag} contradicts what landscape {} was created with", facts.name),
                format!(
                    "leave the flag out, choose another name with --landscape, or remove it with `{}`",
                    self.which.hint("terrarium down --purge")
                ),
            )),
        }
    }
}

/// True if two texts are the same version of Gardener: earlier landscapes have versions without `v` or patch.
fn is_same_version(one: &str, other: &str) -> bool {
    let shown = |text: &str| GardenerVersion::parse(text).map(|version| version.completed().to_string());
    one == other || shown(one).is_some_and(|one| Some(one) == shown(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_the_same_without_its_patch() {
        for (one, other, expected) in [
            ("v1.150.0", "v1.150", true),
            ("v1.120.0", "1.120.0", true),
            ("v1.150.0-dev", "v1.150-dev", true),
            ("v1.150.0", "v1.150.1", false),
            ("v1.150.0", "v1.150.0-dev", false),
            ("odd", "odd", true),
            ("odd", "v1.150.0", false),
        ] {
            assert_eq!(is_same_version(one, other), expected, "{one} {other}");
        }
    }
}
