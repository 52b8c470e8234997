// SPDX-License-Identifier: Apache-2.0
//! A world from its first day to its last, in a landscape: profiles change, Shoots are edited, time passes.

use std::sync::Arc;

use api::core::{CloudProfile, NamespacedCloudProfile, Shoot};
use chrono::{DateTime, Utc};
use clock::Random;
use controller::{Api, Patch};
use domain::cloud_profile::{self, NAMESPACED_CLOUD_PROFILE};
use domain::forecast::Offer;
use domain::shoot_facts::is_hibernation_enabled;
use domain::skew::releases;
use domain::validation::shoot::Gates;
use domain::worker_pool::HashVersion;
use eventlog::Entry;
use landscape::preset::{self, Preset};
use landscape::{Options, wait};
use serde_json::json;

use super::edits;
use super::world::{self, World};
use crate::support::{Audited, instant, is};

const START: &str = "2023-06-15T12:00:00Z";
/// Start: all Shoots exist, and none has been maintained.
const FROM: &str = "2023-06-15T13:00:00Z";
const END: &str = "2023-08-14T12:00:00Z";

/// A Shoot as of an instant, and the period without edits that begins then.
#[derive(Debug)]
pub(crate) struct Stretch {
    pub(crate) given: Shoot,
    pub(crate) from: DateTime<Utc>,
    /// End, exclusive.
    pub(crate) until: DateTime<Utc>,
    /// True if an earlier edit has not been rolled out yet.
    pub(crate) is_pending: bool,
}

impl Stretch {
    /// True if the Shoot's window was changed and the new one applies after the upcoming maintenance.
    pub(crate) fn has_waiting_window(&self) -> bool {
        self.given.metadata.annotation("maintenance.terrarium.dev/upcoming-time-window").is_some()
    }
}

/// History of a world.
pub(crate) struct Life {
    pub(crate) stretches: Vec<Stretch>,
    pub(crate) entries: Vec<Arc<Entry>>,
    pub(crate) random: Random,
    pub(crate) gates: Gates,
    /// Form in which pools are hashed.
    pub(crate) form: HashVersion,
    /// Number of edits of Shoots that the server accepted.
    pub(crate) edits: usize,
    /// Number of changes of profiles that the server accepted.
    pub(crate) reoffered: usize,
    plain: Offer,
    extended: Offer,
}

impl Life {
    /// Versions that are offered to a Shoot.
    pub(crate) fn offer_of(&self, shoot: &Shoot) -> &Offer {
        let reference = cloud_profile::reference(&shoot.spec).expect("every Shoot has one");
        if reference.kind == NAMESPACED_CLOUD_PROFILE { &self.extended } else { &self.plain }
    }

    /// Runs the world of a seed.
    pub(crate) fn of(seed: u64) -> Self {
        let world = World::new(seed, instant(START));
        let gates = world.gates();
        let (gardener_version, kubernetes_version) =
            (format!("{}", world.gardener()), releases::usual_kubernetes(world.gardener()));
        let usual = Options::new(seed, instant(START));
        let mut audited = Audited::start(Options { gates, gardener_version, kubernetes_version, ..usual });
        let mut game = Game::begin(&world, &mut audited);
        for event in world.events() {
            game.audited.until(&event.at.max(game.audited.landscape.now()).to_rfc3339());
            match event.what {
                world::What::Profile(number) => game.change_profile(number),
                world::What::Namespaced(number) => game.change_namespaced(number),
                world::What::Shoot { index, number } => game.edit(index, number),
            }
        }
        game.audited.until(END);
        let Game { mut stretches, plain, extended, edits, reoffered, namespaced, .. } = game;
        for stretch in stretches.iter_mut().filter(|stretch| stretch.until > instant(END)) {
            stretch.until = instant(END);
        }
        let admin = audited.admin.clone();
        let profiles = Api::<NamespacedCloudProfile>::namespaced(&admin, "garden", preset::NAMESPACE);
        let last = audited.run(profiles.get(&namespaced.metadata.name)).expect("it is there").status.cloud_profile_spec;
        let merged = extended.changes.last().map_or(&extended.first, |(_, spec)| spec);
        assert_eq!(&last.kubernetes, &merged.kubernetes, "seed {seed}: what a NamespacedCloudProfile comes to");
        let (random, form) = (audited.landscape.random().clone(), world.form());
        Self { stretches, entries: audited.entries(), random, gates, form, edits, reoffered, plain, extended }
    }
}

struct Game<'a> {
    world: &'a World,
    audited: &'a mut Audited,
    shoots: Api<Shoot>,
    profiles: Api<CloudProfile>,
    own: Api<NamespacedCloudProfile>,
    profile: CloudProfile,
    namespaced: NamespacedCloudProfile,
    plain: Offer,
    extended: Offer,
    stretches: Vec<Stretch>,
    edits: usize,
    reoffered: usize,
}

impl<'a> Game<'a> {
    /// Creates profiles and Shoots, before the first window.
    fn begin(world: &'a World, audited: &'a mut Audited) -> Self {
        let admin = audited.admin.clone();
        let created = async {
            let preset = Preset::of(world.gardener());
            preset.create(&admin, preset.expiration(instant(START)).expect("a midnight")).await?;
            if preset.has_credentials_binding() {
                let bindings = Api::namespaced(&admin, "garden", preset::NAMESPACE);
                bindings.create(&preset::secret_binding()).await?;
            }
            Ok(())
        };
        audited.until_done("2023-06-15T12:01:00Z", created);
        let profiles = Api::<CloudProfile>::all(&admin, "garden");
        let stored = audited.run(profiles.get("local")).expect("the preset has it");
        let profile = audited.run(profiles.replace(&world.profile(stored))).expect("a valid CloudProfile");
        let own = Api::<NamespacedCloudProfile>::namespaced(&admin, "garden", preset::NAMESPACE);
        let namespaced = audited.run(own.create(&world.namespaced(&profile))).expect("a valid NamespacedCloudProfile");
        audited.until("2023-06-15T12:02:00Z");
        let offer = |name: &str, first| Offer { name: name.to_owned(), first, changes: Vec::new() };
        let mut game = Self {
            plain: offer("local", profile.spec.clone()),
            extended: offer(&namespaced.metadata.name, cloud_profile::merge(&profile.spec, &namespaced.spec)),
            shoots: Api::namespaced(&admin, "garden", preset::NAMESPACE),
            world,
            audited,
            profiles,
            own,
            profile,
            namespaced,
            stretches: Vec::new(),
            edits: 0,
            reoffered: 0,
        };
        for index in 0..world::SHOOTS {
            game.create(index);
        }
        game
    }

    fn create(&mut self, index: u64) {
        let shoot = self.world.shoot(index, &self.profile);
        let name = shoot.metadata.name.clone();
        self.audited.run(self.shoots.create(&shoot)).unwrap_or_else(|error| panic!("Shoot {name}: {error}"));
        let created = wait::for_object(&self.shoots, &name, |shoot| is(shoot, "Create", "Succeeded"));
        let mut given = self.audited.until_done(FROM, created);
        if let Some(operation) = self.world.operation(index) {
            let annotations = json!({ "annotations": { "maintenance.gardener.cloud/operation": operation } });
            let patch = Patch::Merge(json!({ "metadata": annotations }));
            let annotated = self.audited.run(self.shoots.patch(&name, &patch));
            given = annotated.unwrap_or_else(|error| panic!("{name} {operation}: {error}"));
        }
        let until = instant(END) + chrono::TimeDelta::days(1);
        self.stretches.push(Stretch { given, from: instant(FROM), until, is_pending: false });
    }

    /// Versions in use cannot be removed: in that case the profile stays unchanged.
    fn change_profile(&mut self, number: u64) {
        let present = self.audited.run(self.profiles.get("local")).expect("it is there");
        let wanted = self.world.changed(number, present, self.audited.landscape.now());
        if let Ok(changed) = self.audited.run(self.profiles.replace(&wanted)) {
            self.profile = changed;
            self.record_offer(true);
        }
    }

    fn change_namespaced(&mut self, number: u64) {
        let name = self.namespaced.metadata.name.clone();
        let present = self.audited.run(self.own.get(&name)).expect("it is there");
        let wanted = self.world.changed_namespaced(number, present, &self.profile, self.audited.landscape.now());
        if let Ok(changed) = self.audited.run(self.own.replace(&wanted)) {
            self.namespaced = changed;
            self.record_offer(false);
        }
    }

    fn record_offer(&mut self, with_parent: bool) {
        let now = self.audited.landscape.now();
        if with_parent {
            self.plain.changes.push((now, self.profile.spec.clone()));
        }
        self.extended.changes.push((now, cloud_profile::merge(&self.profile.spec, &self.namespaced.spec)));
        self.reoffered += 1;
    }

    /// Edits a Shoot, waits until it has been reconciled, and begins another stretch. A rejected edit has no effect.
    fn edit(&mut self, index: u64, number: u64) {
        let name = world::name(index);
        let at = self.audited.landscape.now();
        let present = self.audited.run(self.shoots.get(&name)).expect("it is there");
        let offered = if present.spec.cloud_profile.as_ref().is_some_and(|one| one.kind == NAMESPACED_CLOUD_PROFILE) {
            self.extended.at(at)
        } else {
            self.plain.at(at)
        };
        let wanted = edits::edited(self.world, index * 10 + number, &present, offered, at);
        if wanted == present {
            return;
        }
        let Ok(mut given) = self.audited.run(self.shoots.replace(&wanted)) else { return };
        self.edits += 1;
        let is_run_at_once = given.metadata.annotation("gardener.cloud/operation") == Some("maintain");
        if !is_run_at_once {
            let limit = (at + chrono::TimeDelta::hours(2)).to_rfc3339();
            given = self.audited.until_done(&limit, wait::for_object(&self.shoots, &name, is_settled));
            // The edit itself is not part of the forecast.
            self.audited.until(&(self.audited.landscape.now() + chrono::TimeDelta::seconds(1)).to_rfc3339());
        }
        let now = if is_run_at_once { at } else { self.audited.landscape.now() };
        let before = self.stretches.iter_mut().rev().find(|stretch| stretch.given.metadata.name == name);
        let before = before.expect("there is one from the beginning");
        let is_confined = given.metadata.generation == present.metadata.generation && given.spec != present.spec;
        let is_pending = is_confined || (before.is_pending && at - before.from < chrono::TimeDelta::days(1));
        let until = std::mem::replace(&mut before.until, at);
        self.stretches.push(Stretch { given, from: now, until, is_pending });
    }
}

/// True if gardenlet has nothing left to do.
fn is_settled(shoot: &Shoot) -> bool {
    let is_done = shoot.status.last_operation.as_ref().is_some_and(|last| last.state == "Succeeded");
    is_done
        && shoot.status.observed_generation == shoot.metadata.generation
        && shoot.status.hibernated == is_hibernation_enabled(&shoot.spec)
        && shoot.metadata.annotation("gardener.cloud/operation").is_none()
}
