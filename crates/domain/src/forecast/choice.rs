// SPDX-License-Identifier: Apache-2.0
//! Why maintenance chooses a version, or leaves it: each higher version that is offered, with a word.

use api::core::{CloudProfileSpec, ExpirableVersion, Shoot, Worker};
use chrono::{DateTime, SecondsFormat, Utc};

use crate::maintenance::decision::unsuitable;
use crate::maintenance::{Outcome, kubernetes_update, machine_image_update};
use crate::versions::{Expirable, State, Version, is_expired, state};

/// What maintenance would do with one version of a Shoot, and what else is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The field.
    pub field: String,
    /// The worker pool; `None` for the control plane.
    pub pool: Option<String>,
    /// The image; `None` for a Kubernetes version.
    pub image: Option<String>,
    /// The version now.
    pub current: String,
    /// Its state now; `None` if it is not offered (any more).
    pub state: Option<State>,
    /// When it expires.
    pub expires: Option<DateTime<Utc>>,
    /// Whether the owner lets it be updated automatically.
    pub auto_update: bool,
    /// What a run now would do.
    pub outcome: Option<Outcome>,
    /// Why nothing can be decided, if it cannot.
    pub trouble: Option<String>,
    /// Higher versions that are not chosen, ascending, and why.
    pub others: Vec<(String, String)>,
}

/// The choices for a Shoot at an instant: control plane, Kubernetes versions of pools, machine images of pools.
pub fn choices(shoot: &Shoot, profile_name: &str, offered: &CloudProfileSpec, now: DateTime<Utc>) -> Vec<Choice> {
    let auto_update = shoot.spec.maintenance.as_ref().and_then(|maintenance| maintenance.auto_update.as_ref());
    let auto_kubernetes = auto_update.is_some_and(|auto_update| auto_update.kubernetes_version);
    let auto_images = auto_update.and_then(|auto_update| auto_update.machine_image_version) == Some(true);
    let control_plane = &shoot.spec.kubernetes.version;
    let mut choices =
        vec![kubernetes("spec.kubernetes.version".to_owned(), None, control_plane, auto_kubernetes, offered, now)];
    for (index, worker) in shoot.spec.provider.workers.iter().enumerate() {
        if let Some(own) = worker.kubernetes.as_ref().and_then(|kubernetes| kubernetes.version.as_deref()) {
            let field = format!("spec.provider.workers[{index}].kubernetes.version");
            choices.push(kubernetes(field, Some(worker.name.clone()), own, auto_kubernetes, offered, now));
        }
    }
    for (index, worker) in shoot.spec.provider.workers.iter().enumerate() {
        let field = format!("spec.provider.workers[{index}].machine.image.version");
        choices.extend(machine_image(field, worker, control_plane, profile_name, offered, auto_images, now));
    }
    choices
}

fn kubernetes(
    field: String,
    pool: Option<String>,
    current: &str,
    auto_update: bool,
    offered: &CloudProfileSpec,
    now: DateTime<Utc>,
) -> Choice {
    let versions = &offered.kubernetes.versions;
    let outcome = kubernetes_update(current, auto_update, versions, None, now);
    let known = versions.iter().find(|entry| entry.version == current);
    let is_malformed = |version: &str| Version::parse(version).is_err();
    // Versions are compared in the order of the list, as far as the one in use.
    let compared = versions.iter().map(|entry| entry.version.as_str()).take_while(|version| *version != current);
    let malformed = std::iter::once(current).chain(compared).find(|version| is_malformed(version));
    let trouble = malformed.map(|version| format!("`{version}` is no version, so nothing can be compared with it"));
    let may_leave_minor = outcome.as_ref().is_some_and(|outcome| outcome.is_forced);
    let others = others(versions.iter(), current, outcome.as_ref(), auto_update, now, |_, version, current| {
        if (version.major, version.minor) == (current.major, current.minor) {
            return None;
        }
        let is_next = version.major == current.major && version.minor == current.minor.saturating_add(1);
        match (may_leave_minor, is_next) {
            (false, _) => {
                Some(format!("is not of minor {}.{}, which only a forced update leaves", current.major, current.minor))
            }
            (true, false) => Some("skips a minor".to_owned()),
            (true, true) => None,
        }
    });
    Choice {
        field,
        pool,
        image: None,
        current: current.to_owned(),
        state: known.map(|entry| state(entry, now)),
        expires: known.and_then(ExpirableVersion::expiration_date),
        auto_update,
        trouble: trouble.filter(|_| outcome.is_none()),
        outcome,
        others,
    }
}

fn machine_image(
    field: String,
    worker: &Worker,
    control_plane: &str,
    profile_name: &str,
    offered: &CloudProfileSpec,
    auto_update: bool,
    now: DateTime<Utc>,
) -> Option<Choice> {
    let image = worker.machine.image.as_ref()?;
    let current = image.version.clone().unwrap_or_default();
    let listed = offered.machine_images.iter().find(|listed| listed.name.eq_ignore_ascii_case(&image.name));
    let entries = listed.map_or(&[][..], |listed| &listed.versions);
    let known = entries.iter().find(|entry| entry.version == current);
    let (outcome, trouble) = match machine_image_update(worker, control_plane, profile_name, offered, auto_update, now)
    {
        Ok(outcome) => (outcome, None),
        Err(error) => (None, Some(error.to_string())),
    };
    let own = worker.kubernetes.as_ref().and_then(|kubernetes| kubernetes.version.as_deref());
    let kubelet = Version::parse(own.unwrap_or(control_plane)).unwrap_or_default();
    let strategy = listed.and_then(|listed| listed.update_strategy.as_deref()).unwrap_or("major");
    let is_forced = outcome.as_ref().is_some_and(|outcome| outcome.is_forced);
    let others = others(entries.iter(), &current, outcome.as_ref(), auto_update, now, |entry, version, current| {
        unsuitable(entry, worker, &kubelet).or_else(|| {
            let same_minor = (version.major, version.minor) == (current.major, current.minor);
            match strategy {
                "patch" if !same_minor && !is_forced => Some("is of another minor (update strategy: patch)".to_owned()),
                "minor" if version.major != current.major && !is_forced => {
                    Some("is of another major (update strategy: minor)".to_owned())
                }
                _ => None,
            }
        })
    });
    Some(Choice {
        field,
        pool: Some(worker.name.clone()),
        image: Some(image.name.clone()),
        state: known.map(|entry| state(entry, now)),
        expires: known.and_then(Expirable::expiration_date),
        current,
        auto_update,
        outcome,
        trouble,
        others,
    })
}

/// The higher versions that are not chosen, each with the first reason that applies.
fn others<'a, V: Expirable + 'a>(
    entries: impl Iterator<Item = &'a V>,
    current: &str,
    outcome: Option<&Outcome>,
    auto_update: bool,
    now: DateTime<Utc>,
    unfit: impl Fn(&V, &Version, &Version) -> Option<String>,
) -> Vec<(String, String)> {
    let Ok(current) = Version::parse(current) else { return Vec::new() };
    let chosen = outcome.and_then(Outcome::version);
    let mut found: Vec<(Version, String, String)> = Vec::new();
    for entry in entries {
        let Ok(version) = Version::parse(entry.version()) else { continue };
        if version <= current || Some(entry.version()) == chosen {
            continue;
        }
        let reason = if entry.is_preview() {
            "is a preview".to_owned()
        } else if let Some(reason) = unfit(entry, &version, &current) {
            reason
        } else if let Some(date) = entry.expiration_date().filter(|_| is_expired(entry, now)) {
            format!("has expired at {}", date.to_rfc3339_opts(SecondsFormat::Secs, true))
        } else if chosen.is_none() && !auto_update {
            "is for automatic updates only, and they are off".to_owned()
        } else if entry.is_deprecated() && chosen.is_some() {
            "is deprecated, and another is not".to_owned()
        } else {
            "fits, but another is preferred: the highest patch of the own minor, else the highest of all".to_owned()
        };
        found.push((version, entry.version().to_owned(), reason));
    }
    found.sort_by(|left, right| left.0.cmp(&right.0));
    found.into_iter().map(|(_, version, reason)| (version, reason)).collect()
}
