// SPDX-License-Identifier: Apache-2.0
//! Parts of objects that decide about versions, windows and roll-outs.
//!
//! An unknown field in them may change the answer: a version whose life cycle is not read stays supported indefinitely.
//! Other unknown fields are ignored with a note.

use crate::spelling::distance;

/// Paths of a kind below which an unknown field may decide, with `[]` for each item; also misspellings of a path's last
/// name.
type Table = &'static [&'static str];

/// Lists of versions: life cycle, classification, expiration, update strategy.
const CLOUD_PROFILE: Table = &["spec.kubernetes", "spec.machineImages"];

const NAMESPACED_CLOUD_PROFILE: Table = &[
    "spec.kubernetes",
    "spec.machineImages",
    "spec.parent",
    "status.cloudProfileSpec.kubernetes",
    "status.cloudProfileSpec.machineImages",
];

/// Window, automatic updates, hibernation, the profile, and the parts of a pool that decide how its nodes are updated.
const SHOOT: Table = &[
    "spec.cloudProfile",
    "spec.cloudProfileName",
    "spec.hibernation",
    "spec.kubernetes.version",
    "spec.maintenance",
    "spec.provider.workers",
    "spec.provider.workers[].kubernetes.version",
    "spec.provider.workers[].machine",
    "spec.provider.workers[].maxSurge",
    "spec.provider.workers[].maxUnavailable",
    "spec.provider.workers[].updateStrategy",
    "spec.provider.workers[].zones",
];

/// Parts of the table below which new fields are common and decide nothing: only misspellings count.
const OPEN: Table = &["spec.provider.workers"];

/// Maximum number of differing letters in a misspelt name: for a short name, and for others.
const MISSPELT: (usize, usize) = (1, 2);

/// Maximum length of a short name.
const SHORT: usize = 6;

/// True if an unknown field, its path with `[]` for each item, may decide an answer.
pub(super) fn decides(kind: &str, path: &str) -> bool {
    let table = match kind {
        "CloudProfile" => CLOUD_PROFILE,
        "NamespacedCloudProfile" => NAMESPACED_CLOUD_PROFILE,
        "Shoot" => SHOOT,
        _ => return false,
    };
    let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
    table.iter().any(|known| (!OPEN.contains(known) && is_below(path, known)) || is_misspelt(known, parent, name))
}

/// True if a field is the life cycle of a version of a profile.
pub(super) fn is_life_cycle(kind: &str, path: &[&str]) -> bool {
    kind.ends_with("CloudProfile") && path.last() == Some(&"lifecycle")
}

/// True if a path is a prefix of a known one, or continues it.
fn is_below(path: &str, known: &str) -> bool {
    path.strip_prefix(known).is_some_and(|rest| rest.starts_with(['.', '[']))
}

/// True if a name is a misspelling of the name at the same place in the known path.
fn is_misspelt(known: &str, parent: &str, name: &str) -> bool {
    let mut before = String::new();
    for part in known.split('.') {
        if before == parent {
            let part = part.trim_end_matches("[]");
            let most = if part.len() <= SHORT { MISSPELT.0 } else { MISSPELT.1 };
            return distance(&part.to_lowercase(), &name.to_lowercase()) <= most;
        }
        if !before.is_empty() {
            before.push('.');
        }
        before.push_str(part);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_versions_and_windows_decide_and_others_do_not() {
        for (kind, path, expected) in [
            ("CloudProfile", "spec.kubernetes.versions[].lifecycles", true),
            ("CloudProfile", "spec.kubernetes.versions[].lifecycle[].until", true),
            ("CloudProfile", "spec.kubernetes.skipped", true),
            ("CloudProfile", "spec.machineImages[].updateStrategie", true),
            ("CloudProfile", "spec.machineImages[].versions[].stages", true),
            ("CloudProfile", "spec.machineImage", true),
            ("CloudProfile", "spec.machineTypes[].sockets", false),
            ("CloudProfile", "spec.controlPlane", false),
            ("CloudProfile", "spec.kubernetesSettings", false),
            ("CloudProfile", "status.kubernetes.versions[].next", false),
            ("NamespacedCloudProfile", "spec.kubernetes.versions[].stages", true),
            ("NamespacedCloudProfile", "spec.parent.revision", true),
            ("NamespacedCloudProfile", "status.cloudProfileSpec.machineImages[].versions[].stages", true),
            ("NamespacedCloudProfile", "status.cloudProfileSpec.regions[].zones[].tier", false),
            ("Shoot", "spec.maintenance.timeWindow.days", true),
            ("Shoot", "spec.maintenance.autoUpdate.kubelet", true),
            ("Shoot", "spec.maintenence", true),
            ("Shoot", "spec.hibernation.schedules[].days", true),
            ("Shoot", "spec.kubernetes.verison", true),
            ("Shoot", "spec.kubernetes.kubeAPIServer.fast", false),
            ("Shoot", "spec.kubernetes.etcd.druid", false),
            ("Shoot", "spec.provider.workers[].updateStrategie", true),
            ("Shoot", "spec.provider.workers[].machine.image.channel", true),
            ("Shoot", "spec.provider.workers[].machines", true),
            ("Shoot", "spec.provider.workers[].podSubnets", false),
            ("Shoot", "spec.provider.workers[].nodes", false),
            ("Shoot", "spec.provider.workers[].zone", true),
            ("Shoot", "spec.provider.workers[].kubernetes.kubelet.fast", false),
            ("Shoot", "spec.provider.worker", true),
            ("Shoot", "spec.controlPlane.zones", false),
            ("Shoot", "status.maintenance", false),
            ("Project", "spec.maintenance", false),
        ] {
            assert_eq!(decides(kind, path), expected, "{kind} {path}");
        }
    }
}
