// SPDX-License-Identifier: Apache-2.0
//! Updates on which upstream's code and the documents differ.
//!
//! | upstream, and here | the documents |
//! | --- | --- |
//! | strategy `major`, forced, the highest version has expired: the highest that has not | the update fails |
//! | Kubernetes, forced, all higher patches have expired: the next minor at once | first the latest patch of the minor |

use api::core::{CloudProfileSpec, ExpirableVersion, Worker};

use super::decision::{Outcome, suitable_versions};
use crate::versions::{Expirable, Moment, Strategy, Version};

/// Returns the difference to the documents for a forced update of a Kubernetes version; None: no difference.
pub fn of_kubernetes(current: &str, offered: &[ExpirableVersion], outcome: &Outcome, at: Moment) -> Option<String> {
    let (from, to) = (Version::parse(current).ok()?, Version::parse(outcome.version()?).ok()?);
    if !outcome.is_forced || (from.major, from.minor) == (to.major, to.minor) {
        return None;
    }
    let patches = offered.iter().filter(|entry| !at.is_preview(*entry)).filter_map(|entry| {
        let version = Version::parse(entry.version()).ok()?;
        (version > from && (version.major, version.minor) == (from.major, from.minor)).then_some((version, entry))
    });
    let (latest, _) = patches.max_by(|(one, _), (other, _)| one.cmp(other))?;
    Some(format!("the documents read: first {latest}, the latest patch of the minor, although it has expired"))
}

/// Returns the difference to the documents for a forced update of a pool's machine image; None: no difference.
pub fn of_machine_image(
    worker: &Worker,
    control_plane: &str,
    profile: &CloudProfileSpec,
    outcome: &Outcome,
    at: Moment,
) -> Option<String> {
    let image = worker.machine.image.as_ref()?;
    let offered = profile.machine_images.iter().find(|offered| offered.name.eq_ignore_ascii_case(&image.name))?;
    let (from, to) = (image.version.as_deref().unwrap_or_default(), outcome.version()?);
    if !outcome.is_forced || Strategy::of_image(offered.update_strategy.as_deref()) != Strategy::Major {
        return None;
    }
    let (from, to) = (Version::parse(from).ok()?, Version::parse(to).ok()?);
    // Both update to a patch of the minor first.
    if (from.major, from.minor) == (to.major, to.minor) {
        return None;
    }
    let kubelet = worker.kubernetes.as_ref().and_then(|kubernetes| kubernetes.version.as_deref());
    let kubelet = Version::parse(kubelet.unwrap_or(control_plane)).ok()?;
    let suitable = suitable_versions(offered, worker, &kubelet, profile, at);
    let versions = suitable.iter().filter(|entry| !at.is_preview(*entry)).filter_map(|entry| {
        let version = Version::parse(entry.version()).ok()?;
        (version > from).then_some((version, entry))
    });
    let (highest, entry) = versions.max_by(|(one, _), (other, _)| one.cmp(other))?;
    (highest > to && at.is_expired(*entry))
        .then(|| format!("the documents read: the update fails, since {highest}, the highest version, has expired"))
}
