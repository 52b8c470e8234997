// SPDX-License-Identifier: Apache-2.0
//! What maintenance will do to a Shoot: the functions of `domain::forecast`, as `terrarium forecast` asks them.

use std::fmt::Write as _;

use api::core::{CloudProfileSpec, Shoot};
use chrono::{DateTime, Utc};
use domain::forecast::{self, Change, Offer, Settings};
use domain::skew::GardenerVersion;
use domain::skew::releases::feature_gate;
use domain::validation::shoot::Gates;
use domain::window::Span;
use domain::worker_pool::{Effect, HashVersion};

use crate::view::View;

/// The gates under which a Shoot is forecast: a landscape whose Shoots have pools that are updated in place has the gates for
/// that, and one whose Shoots have automatic rotations the operations.
fn gates_for(shoot: &Shoot) -> Gates {
    let rotates = shoot.spec.maintenance.as_ref().is_some_and(|maintenance| maintenance.auto_rotation.is_some());
    Gates {
        in_place_node_updates: true,
        credentials_rotation_without_workers_rollout: true,
        etcd_encryption_key_rotates_as_a_whole: rotates,
        several_operations: rotates,
    }
}

/// The form of hash that the emulated gardenlet uses by default.
fn hash_version(gardener: &str) -> HashVersion {
    let gate = GardenerVersion::parse(gardener).and_then(|version| feature_gate(&version, "NewWorkerPoolHash"));
    if gate.is_some_and(|gate| gate.default) { HashVersion::V2 } else { HashVersion::V1 }
}

/// When the next maintenance is due, with its effective window.
pub fn next_run(view: &View, shoot: &Shoot) -> (DateTime<Utc>, Span) {
    let random = &view.dashboard.options().random;
    forecast::next_run(shoot, view.now(), &|purpose, key, ordinal| random.draw(purpose, key, ordinal))
}

/// What maintenance changes up to an instant, with what is offered from now on.
pub fn changes(view: &View, shoot: &Shoot, offered: &CloudProfileSpec, until: DateTime<Utc>) -> Vec<Change> {
    changes_with(view, shoot, &Offer { name: String::new(), first: offered.clone(), changes: Vec::new() }, until)
}

/// As [`changes`], with an offer that changes.
pub fn changes_with(view: &View, shoot: &Shoot, offer: &Offer, until: DateTime<Utc>) -> Vec<Change> {
    let options = view.dashboard.options();
    let random = &options.random;
    let draw = |purpose: &str, key: &str, ordinal: u64| random.draw(purpose, key, ordinal);
    let version = hash_version(&options.gardener_version);
    let settings =
        Settings { from: view.now(), until, draw: &draw, gates: gates_for(shoot), forms: &|_| version.into() };
    forecast::course(shoot, offer, &settings).changes
}

/// `kubernetes 1.26.4 → 1.27.1, forced`, `pool a: machineImage … FAILED: …`.
pub fn sentence(change: &Change) -> String {
    let mut text = String::new();
    if let Some(pool) = &change.pool {
        let _ = write!(text, "pool {pool}: ");
    }
    text.push_str(change.subject.as_str());
    if let Some(from) = &change.from {
        let _ = write!(text, " {from}");
    }
    match (&change.to, &change.failure) {
        (_, Some(failure)) => {
            let _ = write!(text, " fails: {failure}");
        }
        (Some(to), None) => {
            let _ = write!(text, " → {to}");
        }
        (None, None) => {}
    }
    if change.is_forced {
        text.push_str(if change.was_opted_out { ", forced although automatic updates are off" } else { ", forced" });
    }
    text
}

/// What a change does to nodes, for a person.
pub fn nodes(change: &Change) -> &'static str {
    match change.effect {
        Effect::None if change.is_hibernated && change.failure.is_none() => "hibernated",
        effect => effect.as_str(),
    }
}
