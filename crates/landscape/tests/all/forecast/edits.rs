// SPDX-License-Identifier: Apache-2.0
//! Edits of Shoots by users: settings, windows, versions, pools, hibernation, profiles, operations.

use api::core::{CloudProfileSpec, Shoot};
use chrono::{DateTime, Utc};
use domain::cloud_profile::NAMESPACED_CLOUD_PROFILE;
use domain::rotation::{PREPARED, WAITING_FOR_WORKERS_ROLLOUT};
use domain::shoot_facts::{is_confined, is_hibernation_enabled};
use domain::versions::{Moment, Version};

use super::world::{World, reference, window};

/// Windows that do not overlap, so that a run planned in one is not in another.
const WINDOWS: [(&str, &str); 3] =
    [("150000+0000", "160000+0000"), ("180000+0000", "183000+0000"), ("063000+0000", "073000+0000")];

/// Returns the Shoot after an edit; the same Shoot if there is nothing to change.
pub(super) fn edited(
    world: &World,
    ordinal: u64,
    shoot: &Shoot,
    offered: &CloudProfileSpec,
    now: DateTime<Utc>,
) -> Shoot {
    let mut edited = shoot.clone();
    let maintenance = edited.spec.maintenance.get_or_insert_default();
    match world.below(11, "edit", ordinal) {
        0 => {
            let auto_update = maintenance.auto_update.get_or_insert_default();
            auto_update.kubernetes_version = !auto_update.kubernetes_version;
            auto_update.machine_image_version = auto_update.machine_image_version.map(|is_on| !is_on);
        }
        // A changed window of a confined Shoot applies after the upcoming maintenance.
        1 => {
            // Only this window overlaps with one of them.
            if maintenance.time_window.as_ref().is_some_and(|present| present.begin != "060000+0000") {
                maintenance.time_window = Some(window(world.pick(&WINDOWS, "new-window", ordinal)));
            }
        }
        2 => maintenance.confine_spec_update_rollout = Some(!is_confined(&shoot.spec)),
        3 | 4 => {
            let is_asleep = is_hibernation_enabled(&shoot.spec);
            edited.spec.hibernation.get_or_insert_default().enabled = Some(!is_asleep);
        }
        5 => raise(world, ordinal, &mut edited, offered, now),
        6 => {
            let is_extended = shoot.spec.cloud_profile.as_ref().is_some_and(|one| one.kind == NAMESPACED_CLOUD_PROFILE);
            edited.spec.cloud_profile = Some(reference(!is_extended));
            edited.spec.cloud_profile_name = None;
        }
        7 => {
            let workers = &mut edited.spec.provider.workers;
            if workers.len() > 1 {
                workers.pop();
            } else if let Some(like) = workers.first().cloned() {
                workers.push(api::core::Worker { name: format!("x{}", ordinal % 10), kubernetes: None, ..like });
            }
        }
        8 | 9 => {
            let operation = operation(world, ordinal, shoot);
            edited.metadata.annotations.insert("maintenance.gardener.cloud/operation".to_owned(), operation);
        }
        _ => {
            edited.metadata.annotations.insert("gardener.cloud/operation".to_owned(), "maintain".to_owned());
        }
    }
    edited
}

/// Changes to another version that is allowed now.
fn raise(world: &World, ordinal: u64, shoot: &mut Shoot, offered: &CloudProfileSpec, now: DateTime<Utc>) {
    let Ok(current) = Version::parse(&shoot.spec.kubernetes.version) else { return };
    let at = Moment::new(now, world.release());
    let choices: Vec<&String> = offered
        .kubernetes
        .versions
        .iter()
        .filter(|entry| !at.is_preview(*entry) && !at.is_expired(*entry))
        .filter(|entry| {
            let version = Version::parse(&entry.version);
            version.is_ok_and(|version| version > current && version.minor <= current.minor + 1)
        })
        .map(|entry| &entry.version)
        .collect();
    if !choices.is_empty() {
        shoot.spec.kubernetes.version.clone_from(*world.pick(&choices, "raised", ordinal));
    }
}

/// Returns the next operation of a pending rotation; without a rotation, an arbitrary operation.
fn operation(world: &World, ordinal: u64, shoot: &Shoot) -> String {
    let rotation = shoot.status.credentials.as_ref().and_then(|credentials| credentials.rotation.as_ref());
    let phase = |phase: Option<&String>| phase.cloned().unwrap_or_default();
    let authorities = phase(rotation.and_then(|one| one.certificate_authorities.as_ref()).map(|one| &one.phase));
    let key = phase(rotation.and_then(|one| one.service_account_key.as_ref()).map(|one| &one.phase));
    let etcd = phase(rotation.and_then(|one| one.etcd_encryption_key.as_ref()).map(|one| &one.phase));
    let pools: Vec<&str> = shoot.spec.provider.workers.iter().map(|worker| worker.name.as_str()).collect();
    if [&authorities, &key].contains(&&WAITING_FOR_WORKERS_ROLLOUT.to_owned()) {
        return format!("rotate-rollout-workers={}", pools.join(","));
    }
    let of_all = [&authorities, &key, &etcd];
    if of_all.iter().all(|phase| *phase == PREPARED) {
        return "rotate-credentials-complete".to_owned();
    }
    let each = ["rotate-ca-complete", "rotate-serviceaccount-key-complete", "rotate-etcd-encryption-key-complete"];
    let prepared = of_all.into_iter().zip(each).find(|(phase, _)| *phase == PREPARED);
    prepared.map_or_else(
        || world.some_operation(is_hibernation_enabled(&shoot.spec), ordinal).to_owned(),
        |(_, operation)| operation.to_owned(),
    )
}
