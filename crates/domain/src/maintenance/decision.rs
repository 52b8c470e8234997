// SPDX-License-Identifier: Apache-2.0
//! Decision about an update of a version: whether it is due, its reason, and its target.

use api::core::{CloudProfileSpec, ExpirableVersion, MachineImage, MachineImageVersion, Worker};

use crate::capabilities;
use crate::cloud_profile::{self, unsuitable};
use crate::versions::{Bound, Expirable, Moment, Operator, ParseError, Strategy, Version, choose};

/// Reason of a forced update: the CloudProfile does not offer the version any more.
const MISSING: &str = "Version does not exist in CloudProfile";
/// Text that all other reasons of a forced update contain.
const FORCED: &str = "force update required";

/// True if a sentence about an update, of an Event or of `status.lastMaintenance`, reports a forced update.
pub fn says_forced(sentence: &str) -> bool {
    [FORCED, MISSING].iter().any(|reason| sentence.contains(reason))
}

/// Outcome of an update that was due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The new version, or the reason of the failure.
    pub result: Result<String, String>,
    /// Description for users of the update or the failure.
    pub description: String,
    /// Reason for which the update was due.
    pub reason: String,
    /// True if the update was due regardless of the owner's configuration.
    pub is_forced: bool,
}

impl Outcome {
    /// Returns the new version, unless the update failed.
    pub fn version(&self) -> Option<&str> {
        self.result.as_deref().ok()
    }
}

/// Reason for which an update is due; a forced one may exceed the range of automatic updates.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Due {
    reason: String,
    is_forced: bool,
}

impl Due {
    fn forced(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_forced: true }
    }

    fn automatic(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_forced: false }
    }
}

/// Returns the update of a Kubernetes version; `None` if none is due or there is no higher version.
///
/// `cap` is the highest version allowed: for a worker pool that of the control plane. An invalid version is left
/// unchanged, unless no version at all is offered.
pub fn kubernetes_update(
    current: &str,
    auto_update: bool,
    offered: &[ExpirableVersion],
    cap: Option<&Version>,
    at: Moment,
) -> Option<Outcome> {
    let mut known = None;
    let same = Bound::parse(Operator::Equal, current);
    for entry in offered {
        match same.as_ref().map_err(Clone::clone).and_then(|same| same.is_met_by(&entry.version)) {
            Ok(true) => {
                known = Some(entry);
                break;
            }
            Ok(false) => {}
            Err(_) => return None,
        }
    }
    let due = match known {
        None => Due::forced(MISSING),
        Some(entry) if at.is_expired(entry) => Due::forced("Kubernetes version expired - force update required"),
        Some(_) if auto_update => Due::automatic("Automatic update of Kubernetes version configured"),
        Some(_) => return None,
    };
    let outcome = match target(offered, current, Strategy::Kubernetes, due.is_forced, at) {
        Ok(None) => return None,
        Ok(Some(version)) => {
            let version = capped(&version, cap);
            let description = format!("Updated Kubernetes version from {current:?} to {version:?}");
            Outcome { result: Ok(version), description, reason: due.reason, is_forced: due.is_forced }
        }
        Err(error) => {
            let description = format!("could not determine higher suitable version than {current:?}: {error}");
            Outcome { result: Err(error), description, reason: due.reason, is_forced: due.is_forced }
        }
    };
    Some(outcome)
}

fn capped(version: &str, cap: Option<&Version>) -> String {
    match (cap, version.parse::<Version>()) {
        (Some(cap), Ok(version)) => (if version > *cap { cap } else { &version }).to_string(),
        _ => version.to_owned(),
    }
}

/// Returns the target of an update; `None` if there is none and the update is not forced.
fn target<V: Expirable>(
    versions: &[V],
    current: &str,
    strategy: Strategy,
    is_forced: bool,
    at: Moment,
) -> Result<Option<String>, String> {
    let choice = choose(versions, current, strategy, is_forced, at).map_err(|broken| {
        let what = if broken.is_automatic { "a higher patch version for automatic" } else { "version for forceful" };
        format!("failed to determine {what} update: {}", broken.text)
    })?;
    match choice.entry {
        Some(entry) => Ok(Some(entry.version().to_owned())),
        None if !is_forced => Ok(None),
        None => Err(format!(
            "cannot perform forceful update of expired version {current:?}. No suitable version found in CloudProfile - \
             this is most likely a misconfiguration of the CloudProfile"
        )),
    }
}

/// Reason for which the machine images of a Shoot cannot be checked further.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// The CloudProfile has no such image, in any case of its name.
    #[error(
        "failure while determining the default machine image in the CloudProfile: no machineImage with name {image:?} \
         (specified in shoot) could be found in the cloudProfile {profile:?}"
    )]
    Unknown {
        /// Name of the Shoot's image.
        image: String,
        /// Name of the profile.
        profile: String,
    },
    /// The CloudProfile does not have the machine type of a pool.
    #[error("machine type {machine_type:?} of worker {worker:?} does not exist in cloudprofile")]
    UnknownMachineType {
        /// Machine type of the pool.
        machine_type: String,
        /// Name of the pool.
        worker: String,
    },
    /// The kubelet's version is invalid.
    #[error(transparent)]
    Version(#[from] ParseError),
}

/// Returns the update of a worker pool's machine image; `None` if none is due or there is no higher version.
///
/// `control_plane` is the Kubernetes version before this run, which applies to pools without their own.
///
/// # Errors
/// The image is not in the CloudProfile at all, nor (since v1.125) the machine type, or the kubelet's version is invalid.
pub fn machine_image_update(
    worker: &Worker,
    control_plane: &str,
    profile_name: &str,
    profile: &CloudProfileSpec,
    auto_update: bool,
    at: Moment,
) -> Result<Option<Outcome>, ImageError> {
    let Some(image) = &worker.machine.image else { return Ok(None) };
    let machine_type = &worker.machine.r#type;
    if capabilities::choices_fit(at.release) && cloud_profile::machine_type(profile, machine_type).is_none() {
        let (machine_type, worker) = (machine_type.clone(), worker.name.clone());
        return Err(ImageError::UnknownMachineType { machine_type, worker });
    }
    let current = image.version.as_deref().unwrap_or_default();
    let offered = profile
        .machine_images
        .iter()
        .find(|offered| offered.name.eq_ignore_ascii_case(&image.name))
        .ok_or_else(|| ImageError::Unknown { image: image.name.clone(), profile: profile_name.to_owned() })?;
    let kubelet = worker.kubernetes.as_ref().and_then(|kubernetes| kubernetes.version.as_deref());
    let kubelet: Version = kubelet.unwrap_or(control_plane).parse()?;
    let suitable = suitable_versions(offered, worker, &kubelet, profile, at);
    let strategy = offered.update_strategy.as_deref().unwrap_or("major");

    let known = suitable.iter().find(|entry| offered.name == image.name && entry.version == current);
    let due = match known {
        None => Due::forced(MISSING),
        Some(entry) if at.is_expired(*entry) => Due::forced(format!(
            "Machine image version expired - force update required (image update strategy: {strategy})"
        )),
        Some(_) if auto_update => Due::automatic(format!(
            "Automatic update of the machine image version is configured (image update strategy: {strategy})"
        )),
        Some(_) => return Ok(None),
    };
    let outcome = match image_target(offered, strategy, &suitable, &image.name, current, due.is_forced, at) {
        Ok(None) => return Ok(None),
        Ok(Some(version)) => {
            let description = format!("Updated machine image {:?} from {current:?} to {version:?}", image.name);
            Outcome { result: Ok(version), description, reason: due.reason, is_forced: due.is_forced }
        }
        Err(error) => {
            let description = format!("failed to update machine image {:?}: {error}", image.name);
            Outcome { result: Err(error), description, reason: due.reason, is_forced: due.is_forced }
        }
    };
    Ok(Some(outcome))
}

fn image_target(
    offered: &MachineImage,
    strategy: &str,
    suitable: &[&MachineImageVersion],
    image: &str,
    current: &str,
    is_forced: bool,
    at: Moment,
) -> Result<Option<String>, String> {
    let by = Strategy::of_image(Some(strategy));
    let found = match target(suitable, current, by, is_forced, at) {
        // No other strategy is left if all versions were considered from the start.
        Err(_) if by == Strategy::Major && choose(suitable, current, by, is_forced, at).is_ok() => Err(format!(
            "failed to determine version for forceful update: either the machine image {image:?} is reaching end of life \
             and migration to another machine image is required or there is a misconfiguration in the CloudProfile. If it \
             is the latter, make sure the machine image in the CloudProfile has at least one version that is not expired, \
             not in preview and greater or equal to the current Shoot image version {current:?}"
        )),
        found => found,
    };
    found.map_err(|error| {
        let image = &offered.name;
        format!(
            "failed to determine the target version for maintenance of machine image {image:?} with strategy \
             {strategy:?}: {error}"
        )
    })
}

/// Returns the versions of an image that a pool can run, by CPU architecture, capabilities, container runtimes, kubelet
/// version, and updates in place.
pub(super) fn suitable_versions<'a>(
    offered: &'a MachineImage,
    worker: &Worker,
    kubelet: &Version,
    profile: &CloudProfileSpec,
    at: Moment,
) -> Vec<&'a MachineImageVersion> {
    offered.versions.iter().filter(|entry| unsuitable(entry, worker, kubelet, profile, at).is_none()).collect()
}
