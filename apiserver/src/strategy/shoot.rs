// SPDX-License-Identifier: Apache-2.0
//! Strategy of Shoots: main resource, `status` and `binding`, each of which allows other changes.

use api::cluster::GARDEN;
use api::constants::annotation;
use api::core::Shoot;
use apimachinery::field::FieldError;
use chrono::{DateTime, TimeDelta, Utc};
use clock::Random;
use domain::maintenance::upcoming;
use domain::profile::Profile;
use domain::skew::GardenerVersion;
use domain::validation::shoot::{self, Gates};
use domain::{annotations, defaulting, generation, reconcile, warnings};
use generic_apiserver::registry::Generation;
use generic_apiserver::{RequestContext, Strategy};

use crate::Options;

/// Strategy of Shoots.
#[derive(Clone, Debug)]
pub struct ShootStrategy {
    gates: Gates,
    credentials_rotation_interval: TimeDelta,
    profile: Profile,
    version: GardenerVersion,
    random: Random,
}

impl ShootStrategy {
    /// Creates the strategy of a server; `random` draws default maintenance time windows, and the times of upcoming maintenance.
    pub fn new(options: &Options, random: Random) -> Self {
        let credentials_rotation_interval = options.credentials_rotation_interval;
        let version = options.version.clone();
        Self {
            gates: options.judging_gates(),
            credentials_rotation_interval,
            profile: options.profile,
            version,
            random,
        }
    }

    /// Keeps the effective window until the upcoming maintenance, whatever the client sends.
    fn keep_upcoming_window(&self, object: &mut Shoot, old: &Shoot, now: DateTime<Utc>) {
        let draw = |purpose: &str, key: &str, ordinal: u64| self.random.draw(purpose, key, ordinal);
        match upcoming::on_update(old, object, self.profile, now, &draw) {
            Some(kept) => drop(object.metadata.annotations.insert(annotation::UPCOMING_TIME_WINDOW.to_owned(), kept)),
            None => drop(object.metadata.annotations.remove(annotation::UPCOMING_TIME_WINDOW)),
        }
    }
}

impl Strategy<Shoot> for ShootStrategy {
    fn default(&self, object: &mut Shoot) {
        let meta = &object.metadata;
        let name = if meta.name.is_empty() { &meta.generate_name } else { &meta.name };
        let key = format!("{GARDEN}/{}/{name}", meta.namespace);
        let draw = self.random.draw("default-maintenance-time-window", &key, 0);
        defaulting::shoot(object, draw, self.gates.release);
    }

    fn prepare_for_create(&self, object: &mut Shoot, _: &RequestContext) {
        defaulting::sync_cloud_profile_reference(object, None, self.gates.release);
        defaulting::sync_dns_references(object, self.gates.release);
        object.metadata.annotations.remove(annotation::UPCOMING_TIME_WINDOW);
        defaulting::new_shoot(object, &self.version);
    }

    fn validate_create(&self, object: &Shoot, _: &RequestContext) -> Vec<FieldError> {
        shoot::shoot(object, self.gates)
    }

    fn prepare_for_update(&self, object: &mut Shoot, old: &Shoot, request: &RequestContext) {
        let raised = match &*request.subresource {
            "status" => reconcile::status_update_raises_generation(old, object),
            "binding" => generation::shoot_binding(object, old),
            _ => {
                object.spec.seed_name.clone_from(&old.spec.seed_name);
                // Unlike for a subresource, a reference that is filled in raises the generation.
                defaulting::sync_dns_references(object, self.gates.release);
                let change = reconcile::generation_on_update(old, object);
                annotations::set_operation(&mut object.metadata.annotations, change.operation);
                defaulting::sync_cloud_profile_reference(object, Some(old), self.gates.release);
                change.increase
            }
        };
        defaulting::sync_dns_references(object, self.gates.release);
        if raised {
            object.metadata.generation = old.metadata.generation + 1;
        }
        self.keep_upcoming_window(object, old, request.now);
        defaulting::keep_version_of_creation(object, old);
    }

    fn validate_update(&self, object: &Shoot, old: &Shoot, request: &RequestContext) -> Vec<FieldError> {
        match &*request.subresource {
            "status" => shoot::shoot_status_update(object, old),
            _ => shoot::shoot_update(object, old, self.gates),
        }
    }

    fn canonicalize(&self, object: &mut Shoot) {
        defaulting::canonicalize_shoot(object);
    }

    fn warnings(&self, object: &Shoot, old: Option<&Shoot>, request: &RequestContext) -> Vec<String> {
        if !request.subresource.is_empty() {
            return Vec::new();
        }
        warnings::shoot(object, old, self.credentials_rotation_interval, request.now, self.gates.release)
    }

    fn generation(&self) -> Generation {
        Generation::Strategy
    }
}
