// SPDX-License-Identifier: Apache-2.0
//! Decoding of manifests, and their conversion to an inventory once the answering release is known.
//!
//! The release may be that of the last Shoot, and all processing by an API server depends on it. So objects are decoded
//! first, with the fields of all releases, and are completed and validated once all are present. The lines of invalid
//! fields are found at the end, by reading the affected texts again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use api::catalogue;
use api::constants::api_version;
use api::core::{CloudProfile, NamespacedCloudProfile, Shoot};
use apimachinery::field::FieldError;
use apimachinery::meta::{ObjectMeta, Time};
use apimachinery::schema::Schema;
use apimachinery::{Object, Resource, decode};
use domain::defaulting;
use domain::validation::cloud_profile as profiles;
use serde::de::DeserializeOwned;

use super::Inventory;
use super::completion::{
    Incomplete, Kind, Reading, Remarks, Violation, is_below, lighten, open_fields, stored, violations,
};
use super::ignored::{self, Ignored};
use crate::gates::gates_for;
use crate::manifests::{self, Manifest, ManifestError, Origin, Source, Text, WantedKinds};
use crate::names::name_of;

/// Kinds that are read.
const KINDS: [&str; 3] = ["CloudProfile", "NamespacedCloudProfile", "Shoot"];

/// Decoded objects of manifests, neither completed nor validated.
#[derive(Debug)]
pub struct DecodedManifests {
    texts: Vec<Text>,
    objects: Vec<(Decoded, Place)>,
    found: Vec<UnplacedViolation>,
    ignored: Ignored,
    notes: Vec<String>,
}

/// A decoded object of one of the [`KINDS`].
#[derive(Debug)]
enum Decoded {
    CloudProfile(Box<CloudProfile>),
    NamespacedCloudProfile(Box<NamespacedCloudProfile>),
    Shoot(Box<Shoot>),
}

/// Index of an object's text, and number of objects before it in that text.
type Number = (usize, usize);

#[derive(Clone, Debug)]
struct Place {
    number: Number,
    origin: Origin,
}

/// A violation whose line is still to be found, by its field.
#[derive(Debug)]
struct UnplacedViolation {
    number: Number,
    field: Option<String>,
    violation: Violation,
}

impl DecodedManifests {
    /// Reads manifests; `adjust` may change each Shoot. Other kinds are skipped with a note.
    ///
    /// # Errors
    /// A file cannot be read, an object has no name, or an object occurs twice.
    pub fn read(files: &[PathBuf], adjust: &mut dyn FnMut(&mut Manifest)) -> Result<Self, ManifestError> {
        Self::of_texts(manifests::texts(files)?, adjust)
    }

    /// Reads manifests from texts, like [`DecodedManifests::read`].
    ///
    /// # Errors
    /// Those of [`DecodedManifests::read`].
    pub(super) fn of_texts(texts: Vec<Text>, adjust: &mut dyn FnMut(&mut Manifest)) -> Result<Self, ManifestError> {
        let (objects, found, notes) = (Vec::new(), Vec::new(), Vec::new());
        let mut given = Self { texts: Vec::new(), objects, found, ignored: Ignored::default(), notes };
        let mut skipped: BTreeMap<String, usize> = BTreeMap::new();
        let mut seen: BTreeMap<(String, String, String), Origin> = BTreeMap::new();
        let mut wanted = WantedKinds::only(&KINDS);
        for (index, text) in texts.iter().enumerate() {
            let mut count = 0;
            text.read_each(&mut wanted, &mut |mut manifest, source| {
                count += 1;
                let kind = manifest.kind().to_owned();
                if manifest.api_version() != api_version::CORE || !KINDS.contains(&&*kind) {
                    *skipped.entry(kind).or_default() += 1;
                    return Ok(());
                }
                if manifest.name().is_empty() {
                    return Err(ManifestError::at(&manifest.origin, format!("{kind}: `metadata.name` is missing")));
                }
                if kind == "Shoot" {
                    adjust(&mut manifest);
                }
                if kind != "CloudProfile" && manifest.namespace().is_empty() {
                    manifest.object["metadata"]["namespace"] = "default".into();
                }
                let id = (kind, manifest.namespace().to_owned(), manifest.name().to_owned());
                if let Some(first) = seen.insert(id, manifest.origin.clone()) {
                    let what = format!("{} is given twice: {first} has it, too", subject_of(&manifest));
                    return Err(ManifestError::at(&manifest.origin, what));
                }
                given.take((index, count - 1), manifest, source);
                Ok(())
            })?;
        }
        given.texts = texts;
        given.notes.append(&mut wanted.notes);
        if !skipped.is_empty() {
            let kinds: Vec<String> = skipped.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
            given.notes.push(format!("other kinds are left out: {}", kinds.join(", ")));
        }
        Ok(given)
    }

    fn take(&mut self, number: Number, manifest: Manifest, source: &Source<'_>) {
        let place = Place { number, origin: manifest.origin.clone() };
        let is_served = manifest.is_served;
        let decoded = match manifest.kind() {
            "CloudProfile" => self.decode::<CloudProfile>(manifest, &place, source).map(|mut profile| {
                mark_stored(&mut profile.metadata, is_served);
                Decoded::CloudProfile(profile)
            }),
            "NamespacedCloudProfile" => {
                self.decode::<NamespacedCloudProfile>(manifest, &place, source).map(|mut profile| {
                    mark_stored(&mut profile.metadata, is_served);
                    Decoded::NamespacedCloudProfile(profile)
                })
            }
            _ => {
                let is_being_deleted = manifest.is_being_deleted;
                self.decode::<Shoot>(manifest, &place, source).map(|mut shoot| {
                    shoot.metadata.deletion_timestamp = is_being_deleted.then(Time::default);
                    mark_stored(&mut shoot.metadata, is_served || shoot.status.last_operation.is_some());
                    lighten(&mut shoot);
                    Decoded::Shoot(shoot)
                })
            }
        };
        self.objects.extend(decoded.map(|decoded| (decoded, place)));
    }

    /// Decodes an object with the fields of all releases.
    fn decode<T: Resource + Schema + DeserializeOwned + Object>(
        &mut self,
        manifest: Manifest,
        place: &Place,
        source: &Source<'_>,
    ) -> Option<Box<T>> {
        let subject = subject_of(&manifest);
        let at = |field: &str| {
            let line = source.line_of(field).unwrap_or(place.origin.line);
            Origin { file: place.origin.file.clone(), line }
        };
        let found = |field: &str, what: String, kind: Kind| {
            let violation = Violation { origin: at(field), subject: subject.clone(), what, kind };
            UnplacedViolation { number: place.number, field: None, violation }
        };
        let decoded = match decode::tree(manifest.object, &T::node()) {
            Ok(decoded) => decoded,
            Err(error) => {
                let field = super::completion::field_of(&error.message).to_owned();
                self.found.push(found(&field, error.message, Kind::LeftOut));
                return None;
            }
        };
        let deciding = self.ignored.take(catalogue::of::<T>(), &decoded.tree, &decoded.unknown, &at);
        self.found.extend(deciding.into_iter().map(|(field, what)| found(&field, what, Kind::Decides)));
        match serde_json::from_value(decoded.tree) {
            Ok(object) => Some(Box::new(object)),
            Err(error) => {
                self.found.push(found("", error.to_string(), Kind::LeftOut));
                None
            }
        }
    }

    /// Shoots before completion.
    pub fn shoots(&self) -> impl Iterator<Item = &Shoot> {
        self.objects.iter().filter_map(|(object, _)| match object {
            Decoded::Shoot(shoot) => Some(&**shoot),
            _ => None,
        })
    }

    /// Completes and validates all objects like an API server of a release.
    pub fn inventory(self, reading: Reading<'_>) -> Inventory {
        let Self { texts, objects, found, ignored, mut notes } = self;
        notes.extend(ignored.notes(reading.release));
        let mut inventory = Inventory::new(reading.release);
        inventory.notes = notes;
        let mut judge = Judge { inventory, reading, ignored, found, open: Vec::new() };
        for (object, place) in objects {
            match object {
                Decoded::CloudProfile(profile) => judge.cloud_profile(*profile, &place),
                Decoded::NamespacedCloudProfile(profile) => judge.namespaced(*profile, place),
                Decoded::Shoot(shoot) => judge.shoot(*shoot, &place),
            }
        }
        let mut inventory = judge.placed(&texts);
        inventory.judge_namespaced(reading.now);
        inventory
    }
}

/// Emulation of an API server that accepts objects in sequence.
struct Judge<'a> {
    inventory: Inventory,
    reading: Reading<'a>,
    ignored: Ignored,
    found: Vec<UnplacedViolation>,
    /// Numbers of the Shoots in `inventory.remarks.incomplete`, in the same order.
    open: Vec<Number>,
}

impl Judge<'_> {
    fn cloud_profile(&mut self, profile: CloudProfile, place: &Place) {
        self.life_cycles(&profile, place, &format!("CloudProfile {}", profile.metadata.name));
        let mut profile = self.of_release(profile);
        defaulting::cloud_profile(&mut profile);
        defaulting::sync_architectures(&mut profile.spec, None, self.reading.release);
        let stored = stored(&profile, |profile| &mut profile.metadata);
        let errors = profiles::cloud_profile_update(
            &stored,
            &stored,
            self.reading.rules,
            gates_for(self.reading.release),
            self.reading.now,
        );
        let subject = format!("CloudProfile {}", profile.metadata.name);
        self.fields(place, &subject, errors, Kind::of_refusal(&profile.metadata));
        self.inventory.cloud_profiles.push(profile);
    }

    fn namespaced(&mut self, profile: NamespacedCloudProfile, place: Place) {
        let subject = format!("NamespacedCloudProfile {}/{}", profile.metadata.namespace, profile.metadata.name);
        self.life_cycles(&profile, &place, &subject);
        let mut profile = self.of_release(profile);
        defaulting::namespaced_cloud_profile(&mut profile);
        let stored = stored(&profile, |profile| &mut profile.metadata);
        let errors = profiles::namespaced_cloud_profile_update(&stored, &stored, gates_for(self.reading.release));
        self.fields(&place, &subject, errors, Kind::of_refusal(&profile.metadata));
        self.inventory.remarks.namespaced.push(place.origin);
        self.inventory.namespaced.push(profile);
    }

    fn shoot(&mut self, shoot: Shoot, place: &Place) {
        let mut shoot = self.of_release(shoot);
        let Remarks { incomplete, windowless, .. } = &mut self.inventory.remarks;
        let window = shoot.spec.maintenance.as_ref().and_then(|maintenance| maintenance.time_window.as_ref());
        if window.is_none() && !shoot.metadata.is_being_deleted() {
            windowless.push(name_of(&shoot));
        }
        let key = format!("garden/{}/{}", shoot.metadata.namespace, shoot.metadata.name);
        let draw = self.reading.random.draw("default-maintenance-time-window", &key, 0);
        defaulting::shoot(&mut shoot, draw, self.reading.release);
        let stored = shoot.clone();
        defaulting::sync_cloud_profile_reference(&mut shoot, Some(&stored), self.reading.release);
        defaulting::sync_dns_references(&mut shoot, self.reading.release);
        let open = open_fields(&shoot);
        if !open.is_empty() {
            self.open.push(place.number);
            incomplete.push(Incomplete {
                index: self.inventory.shoots.len(),
                origin: place.origin.clone(),
                fields: open.iter().map(|field| (field.clone(), place.origin.line)).collect(),
            });
        }
        let is_open = |error: &FieldError| open.iter().any(|field| is_below(error, field));
        let errors = violations(&shoot, self.reading.release).into_iter().filter(|error| !is_open(error));
        self.fields(place, &format!("Shoot {}", name_of(&shoot)), errors, Kind::of_refusal(&shoot.metadata));
        self.inventory.shoots.push(shoot);
    }

    /// Adds violations for life cycles that the release does not know.
    fn life_cycles<T: Resource + Object>(&mut self, profile: &T, place: &Place, subject: &str) {
        let (row, release) = (catalogue::of::<T>(), self.reading.release);
        if !self.ignored.has_others(row.kind, release) {
            return;
        }
        let unread = ignored::unread_life_cycles(&profile.to_tree(), row, release);
        self.found.extend(unread.into_iter().map(|(field, what)| {
            let (origin, subject) = (place.origin.clone(), subject.to_owned());
            let violation = Violation { origin, subject, what, kind: Kind::Decides };
            UnplacedViolation { number: place.number, field: Some(field), violation }
        }));
    }

    /// Returns an object without the fields that the release does not have, and with its names of renamed ones.
    fn of_release<T: Resource + Object>(&self, object: T) -> T {
        let (row, release) = (catalogue::of::<T>(), self.reading.release);
        if !self.ignored.has_others(row.kind, release) && row.life.renamed_fields.is_empty() {
            return object;
        }
        T::from_tree(ignored::at_release(object.to_tree(), row, release)).unwrap_or(object)
    }

    fn fields(&mut self, place: &Place, subject: &str, errors: impl IntoIterator<Item = FieldError>, kind: Kind) {
        self.found.extend(errors.into_iter().map(|error| {
            let (origin, subject, what) = (place.origin.clone(), subject.to_owned(), error.to_string());
            let violation = Violation { origin, subject, what, kind };
            UnplacedViolation { number: place.number, field: Some(error.field), violation }
        }));
    }

    /// Returns the inventory, with the lines of all violations.
    fn placed(self, texts: &[Text]) -> Inventory {
        let Self { mut inventory, mut found, open, .. } = self;
        let incomplete = &mut inventory.remarks.incomplete;
        let fields = found.iter().filter_map(|found| Some((found.number, found.field.clone()?)));
        let open_fields = open.iter().zip(&*incomplete);
        let open_fields =
            open_fields.flat_map(|(number, one)| one.fields.iter().map(|(field, _)| (*number, field.clone())));
        let lines = lines(texts, &fields.chain(open_fields).collect());
        for found in &mut found {
            let line = found.field.take().and_then(|field| lines.get(&(found.number, field)));
            found.violation.origin.line = line.copied().unwrap_or(found.violation.origin.line);
        }
        for (number, one) in open.iter().zip(incomplete) {
            for (field, line) in &mut one.fields {
                *line = lines.get(&(*number, field.clone())).copied().unwrap_or(*line);
            }
        }
        // Decoding and validation may both find violations of an object: sort them in the order of the manifests.
        found.sort_by_key(|found| found.number);
        inventory.remarks.violations.extend(found.into_iter().map(|found| found.violation));
        inventory
    }
}

/// Gives an object that a server has stored a resource version, which manifests are read without.
fn mark_stored(metadata: &mut ObjectMeta, is_stored: bool) {
    if is_stored {
        "1".clone_into(&mut metadata.resource_version);
    }
}

/// Lines of fields of objects, found by reading the objects' texts again.
fn lines(texts: &[Text], wanted: &BTreeSet<(Number, String)>) -> BTreeMap<(Number, String), usize> {
    let mut lines = BTreeMap::new();
    let of = |from: Number, to: Number| wanted.range((from, String::new())..(to, String::new()));
    for (index, text) in texts.iter().enumerate() {
        if of((index, 0), (index + 1, 0)).next().is_none() {
            continue;
        }
        let mut count = 0;
        let read = text.read_each(&mut WantedKinds::only(&KINDS), &mut |_, source| {
            for (number, field) in of((index, count), (index, count + 1)) {
                lines.extend(source.line_of(field).map(|line| ((*number, field.clone()), line)));
            }
            count += 1;
            Ok(())
        });
        debug_assert!(read.is_ok(), "it was read before");
    }
    lines
}

/// Names an object in messages: `Shoot a/b`.
pub fn subject_of(manifest: &Manifest) -> String {
    match manifest.namespace() {
        "" => format!("{} {}", manifest.kind(), manifest.name()),
        namespace => format!("{} {namespace}/{}", manifest.kind(), manifest.name()),
    }
}
