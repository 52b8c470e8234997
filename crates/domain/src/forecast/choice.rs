// SPDX-License-Identifier: Apache-2.0
//! Reasons for which maintenance chooses or skips a version: each higher version that is offered, with its reason.
//!
//! The reasons are those of the selection itself ([`crate::versions::Choice::reason`]); this module formats them.

use api::core::{CloudProfileSpec, Shoot, Worker};
use chrono::{DateTime, SecondsFormat, Utc};

use crate::cloud_profile::unsuitable;
use crate::maintenance::{Outcome, kubernetes_update, machine_image_update};
use crate::versions::{Expirable, Moment, Reason, State, Strategy, Version, choose};

/// Decision of maintenance about one version of a Shoot, and the other versions that are offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Path of the version's field.
    pub field: String,
    /// The worker pool; `None` for the control plane.
    pub pool: Option<String>,
    /// The image; `None` for a Kubernetes version.
    pub image: Option<String>,
    /// The version now.
    pub current: String,
    /// Present state of the version; `None` if it is not offered.
    pub state: Option<State>,
    /// Expiration of the current version; `None`: it does not expire.
    pub expires: Option<DateTime<Utc>>,
    /// True if the owner has enabled automatic updates of this version.
    pub auto_update: bool,
    /// Result of a run at this instant; `None`: no update.
    pub outcome: Option<Outcome>,
    /// Reason why no decision is possible.
    pub trouble: Option<String>,
    /// Higher versions that are not chosen, ascending, each with the reason.
    pub others: Vec<(String, String)>,
}

/// The choices for a Shoot at an instant: control plane, Kubernetes versions of pools, machine images of pools.
pub fn choices(shoot: &Shoot, profile_name: &str, offered: &CloudProfileSpec, at: Moment) -> Vec<Choice> {
    let auto_update = shoot.spec.maintenance.as_ref().and_then(|maintenance| maintenance.auto_update.as_ref());
    let auto_kubernetes = auto_update.is_some_and(|auto_update| auto_update.kubernetes_version);
    let auto_images = auto_update.and_then(|auto_update| auto_update.machine_image_version) == Some(true);
    let control_plane = &shoot.spec.kubernetes.version;
    let asked = OfferAt { offered, at };
    let field = "spec.kubernetes.version".to_owned();
    let mut choices = vec![asked.kubernetes(field, None, control_plane, auto_kubernetes, None)];
    let raised = choices[0].outcome.as_ref().and_then(Outcome::version).unwrap_or(control_plane);
    let cap = Version::parse(raised).ok();
    for (index, worker) in shoot.spec.provider.workers.iter().enumerate() {
        if let Some(own) = worker.kubernetes.as_ref().and_then(|kubernetes| kubernetes.version.as_deref()) {
            let field = format!("spec.provider.workers[{index}].kubernetes.version");
            choices.push(asked.kubernetes(field, Some(worker.name.clone()), own, auto_kubernetes, cap.as_ref()));
        }
    }
    for (index, worker) in shoot.spec.provider.workers.iter().enumerate() {
        let field = format!("spec.provider.workers[{index}].machine.image.version");
        choices.extend(asked.machine_image(field, worker, control_plane, profile_name, auto_images));
    }
    choices
}

/// Versions that are offered, and the instant at which they are judged.
#[derive(Clone, Copy)]
struct OfferAt<'a> {
    offered: &'a CloudProfileSpec,
    at: Moment,
}

impl OfferAt<'_> {
    /// Judges a Kubernetes version. `cap` is the version of the control plane after the run, which no pool exceeds.
    fn kubernetes(
        self,
        field: String,
        pool: Option<String>,
        current: &str,
        auto_update: bool,
        cap: Option<&Version>,
    ) -> Choice {
        let versions = &self.offered.kubernetes.versions;
        let outcome = kubernetes_update(current, auto_update, versions, cap, self.at);
        let known = versions.iter().find(|entry| entry.version == current);
        let is_malformed = |version: &str| Version::parse(version).is_err();
        // Versions are compared in the order of the list, up to the one in use.
        let compared = versions.iter().map(|entry| entry.version.as_str()).take_while(|version| *version != current);
        let malformed = std::iter::once(current).chain(compared).find(|version| is_malformed(version));
        let trouble =
            malformed.map(|version| format!("`{version}` is not a version, so nothing can be compared with it"));
        let trouble = trouble.filter(|_| outcome.is_none());
        let candidates: Vec<_> = versions.iter().map(|entry| (entry, None)).collect();
        let others = match trouble {
            Some(_) => Vec::new(),
            None => self.others(&candidates, current, Strategy::Kubernetes, outcome.as_ref(), auto_update, cap),
        };
        Choice {
            field,
            pool,
            image: None,
            current: current.to_owned(),
            state: known.map(|entry| self.at.state(entry)),
            expires: known.and_then(|entry| self.at.expiration(entry)),
            auto_update,
            trouble,
            outcome,
            others,
        }
    }

    fn machine_image(
        self,
        field: String,
        worker: &Worker,
        control_plane: &str,
        profile_name: &str,
        auto_update: bool,
    ) -> Option<Choice> {
        let (offered, at) = (self.offered, self.at);
        let image = worker.machine.image.as_ref()?;
        let current = image.version.clone().unwrap_or_default();
        let listed = offered.machine_images.iter().find(|listed| listed.name.eq_ignore_ascii_case(&image.name));
        let entries = listed.map_or(&[][..], |listed| &listed.versions);
        let known = entries.iter().find(|entry| entry.version == current);
        let update = machine_image_update(worker, control_plane, profile_name, offered, auto_update, at);
        let (outcome, trouble) = match update {
            Ok(outcome) => (outcome, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let own = worker.kubernetes.as_ref().and_then(|kubernetes| kubernetes.version.as_deref());
        let kubelet = Version::parse(own.unwrap_or(control_plane)).unwrap_or_default();
        let strategy = Strategy::of_image(listed.and_then(|listed| listed.update_strategy.as_deref()));
        let candidates: Vec<_> =
            entries.iter().map(|entry| (entry, unsuitable(entry, worker, &kubelet, offered, at))).collect();
        let others = match trouble {
            Some(_) => Vec::new(),
            None => self.others(&candidates, &current, strategy, outcome.as_ref(), auto_update, None),
        };
        Some(Choice {
            field,
            pool: Some(worker.name.clone()),
            image: Some(image.name.clone()),
            state: known.map(|entry| at.state(entry)),
            expires: known.and_then(|entry| at.expiration(entry)),
            current,
            auto_update,
            outcome,
            trouble,
            others,
        })
    }

    /// Returns the higher versions that are not chosen, each with its reason. A candidate has the reason for which it
    /// does not take part, if there is one; `cap` is the version to which the selected one is lowered.
    fn others<V: Expirable>(
        self,
        candidates: &[(&V, Option<String>)],
        current: &str,
        strategy: Strategy,
        outcome: Option<&Outcome>,
        auto_update: bool,
        cap: Option<&Version>,
    ) -> Vec<(String, String)> {
        let Ok(parsed) = Version::parse(current) else { return Vec::new() };
        let is_forced = outcome.is_some_and(|outcome| outcome.is_forced);
        let suitable: Vec<&V> = candidates.iter().filter(|(_, why)| why.is_none()).map(|(entry, _)| *entry).collect();
        let choice = choose(&suitable, current, strategy, is_forced, self.at);
        let selected = choice.as_ref().ok().and_then(|choice| choice.entry.map(Expirable::version));
        let cap = cap.filter(|cap| selected.is_some_and(|one| Version::parse(one).is_ok_and(|one| one > **cap)));
        let words =
            Words { at: self.at, current: &parsed, strategy, selected, cap, is_off: outcome.is_none() && !auto_update };
        let mut found: Vec<(Version, String, String)> = Vec::new();
        for (entry, unsuitable) in candidates {
            let Ok(version) = Version::parse(entry.version()) else { continue };
            if version <= parsed {
                continue;
            }
            let reason = match (&choice, unsuitable) {
                _ if self.at.is_preview(*entry) => words.of(Some(Reason::Preview), *entry, &version),
                (_, Some(why)) => Some(why.clone()),
                (Err(broken), None) => Some(format!("is not looked at: {}", broken.text)),
                (Ok(choice), None) => words.of(choice.reason(entry), *entry, &version),
            };
            if let Some(reason) = reason {
                found.push((version, entry.version().to_owned(), reason));
            }
        }
        found.sort_by(|left, right| left.0.cmp(&right.0));
        found.into_iter().map(|(_, version, reason)| (version, reason)).collect()
    }
}

/// Inputs of the text of a reason.
struct Words<'a> {
    at: Moment,
    current: &'a Version,
    strategy: Strategy,
    selected: Option<&'a str>,
    /// Version of the control plane, which is chosen since the selected version is above it.
    cap: Option<&'a Version>,
    /// Automatic updates are off, so nothing is chosen.
    is_off: bool,
}

impl Words<'_> {
    /// Returns the text after `it`; `None` for the chosen version. No reason means that the version is selected.
    fn of(&self, reason: Option<Reason>, entry: &impl Expirable, version: &Version) -> Option<String> {
        let (major, minor) = (self.current.major, self.current.minor);
        if let Some(cap) = self.cap {
            if version == cap {
                return None;
            }
            if version > cap {
                return Some(format!("is above {cap} of the control plane"));
            }
            if matches!(reason, Some(Reason::Lower | Reason::Deprecated)) {
                return Some(format!("is lower than {cap} of the control plane"));
            }
        }
        let name = match self.strategy {
            Strategy::Minor => "minor",
            Strategy::Major => "major",
            Strategy::Patch | Strategy::Kubernetes => "patch",
        };
        let selected = self.selected.unwrap_or("another");
        let next = "the next one that has a version that is no preview is taken";
        Some(match reason {
            Some(Reason::Preview) => "is a preview".to_owned(),
            Some(Reason::Expired) => {
                let date = self.at.expiration(entry).map(|date| date.to_rfc3339_opts(SecondsFormat::Secs, true));
                format!("has expired at {}", date.unwrap_or_default())
            }
            Some(Reason::OtherMinor) if self.strategy == Strategy::Kubernetes => {
                format!("is not of minor {major}.{minor}, which only a forced update leaves")
            }
            Some(Reason::OtherMajor) if self.strategy == Strategy::Kubernetes => "is of another major".to_owned(),
            Some(Reason::OtherMinor) => format!("is of another minor (update strategy: {name})"),
            Some(Reason::OtherMajor) => format!("is of another major (update strategy: {name})"),
            Some(Reason::NotHigher) => format!("is not higher than {}", self.current),
            _ if self.is_off => "is for automatic updates only, and they are off".to_owned(),
            None => return None,
            Some(Reason::Deprecated) => format!("is deprecated, and {selected} is not"),
            Some(Reason::Lower) => format!("is lower than {selected}"),
            Some(Reason::LaterMinor) => format!("is of a later minor than {selected}: {next}"),
            Some(Reason::LaterMajor) => format!("is of a later major than {selected}: {next}"),
            Some(Reason::PatchFirst) => format!("is not of minor {major}.{minor}, of which {selected} comes first"),
            Some(Reason::MajorFirst) => format!("is not of major {major}, of which {selected} comes first"),
            Some(Reason::SkipsMinor) => "skips a minor".to_owned(),
        })
    }
}
