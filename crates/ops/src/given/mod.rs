// SPDX-License-Identifier: Apache-2.0
//! A [`World`] from manifests, read as the API server reads them: decoded strictly, defaulted, validated.
//!
//! A manifest is taken for what a landscape has stored: what the server refuses only of a new object, a version that has
//! expired among them, is none of its faults.
//!
//! **Invariants.** What the server would not take is a [`Violation`], never dropped silently. What is filled in and what
//! is missing is noted.

use std::collections::BTreeMap;
use std::path::PathBuf;

use api::constants::api_version;
use api::core::{CloudProfile, CloudProfileSpec, NamespacedCloudProfile, Shoot, ShootStatus};
use apimachinery::decode;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::{ObjectMeta, Time};
use apimachinery::schema::Schema;
use chrono::{DateTime, Utc};
use clock::Random;
use domain::admission::Refusal;
use domain::admission::namespaced_cloud_profile::check_namespaced;
use domain::admission::shoot::{default_image, default_kubernetes_version};
use domain::profile::Profile;
use domain::validation::{cloud_profile as profiles, shoot as shoots};
use domain::{cloud_profile, defaulting};
use serde::de::DeserializeOwned;

use crate::Error;
use crate::forecast::gates_for;
use crate::manifests::{self, Manifest, ManifestError, Origin, Source, Wanted};
use crate::spelling::nearest;
use crate::world::{ProfileKey, World, name_of};

/// Kinds that play a part.
const KINDS: [&str; 3] = ["CloudProfile", "NamespacedCloudProfile", "Shoot"];

/// More violations than this are counted, not told.
const TOLD: usize = 20;

/// By what manifests are read.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// Draws the windows of Shoots that have none.
    pub random: &'a Random,
    /// The instant at which the manifests hold.
    pub now: DateTime<Utc>,
    /// Documents or upstream.
    pub rules: Profile,
}

/// Something that the API server would refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    origin: Origin,
    /// `Shoot a/b`
    subject: String,
    /// In the server's words.
    what: String,
    /// Nothing is known about the object, since it could not be read.
    is_left_out: bool,
}

impl Violation {
    /// What tells it apart from the same violation of another object, or of another item of a list.
    fn likeness(&self) -> (String, String) {
        let kind = self.subject.split(' ').next().unwrap_or_default();
        let mut what = String::with_capacity(self.what.len());
        let mut rest = self.what.as_str();
        while let Some((before, after)) = rest.split_once('[') {
            what.push_str(before);
            what.push('[');
            rest = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
        }
        what.push_str(rest);
        (kind.to_owned(), what)
    }
}

/// `FILE:LINE: Shoot a/b: WHAT`.
impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}: {}", self.origin, self.subject, self.what.replace('\n', " "))
    }
}

/// A Shoot whose versions are not all complete.
#[derive(Clone, Debug)]
pub struct Incomplete {
    index: usize,
    origin: Origin,
    /// Fields that are completed, and those above them of which nothing can be said before; with their lines.
    fields: Vec<(String, usize)>,
}

/// What is left to be said and done of manifests when all of them have been read.
#[derive(Clone, Debug, Default)]
pub struct Remarks {
    violations: Vec<Violation>,
    incomplete: Vec<Incomplete>,
    /// Places of the NamespacedCloudProfiles, in their order.
    namespaced: Vec<Origin>,
    /// Shoots without a window, in the order of the manifests.
    windowless: Vec<String>,
}

impl World {
    /// From manifests; kinds that play no part are left out with a note.
    ///
    /// # Errors
    /// A file that cannot be read, an object without a name, one that is given twice.
    pub fn of_files(files: &[PathBuf], reading: Reading<'_>) -> Result<Self, ManifestError> {
        Self::of_files_with(files, reading, &mut |_| {})
    }

    /// Reads files as [`World::of_files`] does, and applies `adjust` to each Shoot.
    ///
    /// # Errors
    /// As [`World::of_files`].
    pub fn of_files_with(
        files: &[PathBuf],
        reading: Reading<'_>,
        adjust: &mut dyn FnMut(&mut Manifest),
    ) -> Result<Self, ManifestError> {
        let mut world = Self::default();
        let mut skipped: BTreeMap<String, usize> = BTreeMap::new();
        let mut seen: BTreeMap<(String, String, String), Origin> = BTreeMap::new();
        let mut wanted = Wanted::only(&KINDS);
        manifests::read_each(files, &mut wanted, &mut |mut manifest, source| {
            let kind = manifest.kind().to_owned();
            let is_ours = manifest.api_version() == api_version::CORE;
            let known = is_ours && KINDS.contains(&&*kind);
            if !known {
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
            let id = (kind.clone(), manifest.namespace().to_owned(), manifest.name().to_owned());
            if let Some(first) = seen.insert(id, manifest.origin.clone()) {
                let what = format!("{} is given twice: {first} has it, too", subject(&manifest));
                return Err(ManifestError::at(&manifest.origin, what));
            }
            world.read(manifest, source, reading);
            Ok(())
        })?;
        world.notes.append(&mut wanted.notes);
        if !skipped.is_empty() {
            let kinds: Vec<String> = skipped.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
            world.notes.push(format!("other kinds are left out: {}", kinds.join(", ")));
        }
        world.judge_namespaced(reading.now);
        Ok(world)
    }

    /// Takes an object in, with everything that can be said of it alone.
    fn read(&mut self, manifest: Manifest, source: &Source<'_>, reading: Reading<'_>) {
        let mut judge =
            Judge { origin: manifest.origin.clone(), subject: subject(&manifest), source, found: Vec::new() };
        match manifest.kind() {
            "CloudProfile" => {
                if let Some(mut profile) = judge.typed::<CloudProfile>(manifest) {
                    defaulting::cloud_profile(&mut profile);
                    let stored = stored(&profile, |profile| &mut profile.metadata);
                    judge.fields(profiles::cloud_profile_update(&stored, &stored, reading.rules, reading.now));
                    self.cloud_profiles.push(profile);
                }
            }
            "NamespacedCloudProfile" => {
                if let Some(mut profile) = judge.typed::<NamespacedCloudProfile>(manifest) {
                    defaulting::namespaced_cloud_profile(&mut profile);
                    let stored = stored(&profile, |profile| &mut profile.metadata);
                    judge.fields(profiles::namespaced_cloud_profile_update(&stored, &stored));
                    self.remarks.namespaced.push(judge.origin.clone());
                    self.namespaced.push(profile);
                }
            }
            _ => {
                let is_being_deleted = manifest.is_being_deleted;
                if let Some(mut shoot) = judge.typed::<Shoot>(manifest) {
                    shoot.metadata.deletion_timestamp = is_being_deleted.then(Time::default);
                    self.read_shoot(shoot, &mut judge, reading);
                }
            }
        }
        self.remarks.violations.append(&mut judge.found);
    }

    fn read_shoot(&mut self, mut shoot: Shoot, judge: &mut Judge<'_>, reading: Reading<'_>) {
        let window = shoot.spec.maintenance.as_ref().and_then(|maintenance| maintenance.time_window.as_ref());
        if window.is_none() && !shoot.metadata.is_being_deleted() {
            self.remarks.windowless.push(name_of(&shoot));
        }
        let key = format!("garden/{}/{}", shoot.metadata.namespace, shoot.metadata.name);
        defaulting::shoot(&mut shoot, reading.random.draw("default-maintenance-time-window", &key, 0));
        defaulting::sync_cloud_profile_reference(&mut shoot);
        let open = open_fields(&shoot);
        let is_open = |error: &FieldError| open.iter().any(|field| is_below(error, field));
        judge.fields(violations(&shoot).into_iter().filter(|error| !is_open(error)));
        if !open.is_empty() {
            let line = |field: &String| judge.source.line_of(field).unwrap_or(judge.origin.line);
            self.remarks.incomplete.push(Incomplete {
                index: self.shoots.len(),
                origin: judge.origin.clone(),
                fields: open.iter().map(|field| (field.clone(), line(field))).collect(),
            });
        }
        lighten(&mut shoot);
        self.shoots.push(shoot);
    }

    /// Compares NamespacedCloudProfiles with their parents.
    fn judge_namespaced(&mut self, now: DateTime<Utc>) {
        for (profile, origin) in self.namespaced.iter().zip(&self.remarks.namespaced) {
            let name = format!("NamespacedCloudProfile {}/{}", profile.metadata.namespace, profile.metadata.name);
            let parent = &profile.spec.parent.name;
            let Some(whole) = self.cloud_profiles.iter().find(|whole| whole.metadata.name == *parent) else {
                let shown = if profile.status.cloud_profile_spec == CloudProfileSpec::default() {
                    "and its status offers nothing: what it offers is not known"
                } else {
                    "so it offers what its status says"
                };
                self.notes.push(format!("{name}: its parent CloudProfile {parent:?} is not given, {shown}"));
                continue;
            };
            let mut old = profile.clone();
            old.status.cloud_profile_spec = cloud_profile::merge(&whole.spec, &profile.spec);
            for what in check_namespaced(profile, Some(&old), &whole.spec, now).err().map(texts).unwrap_or_default() {
                let (origin, subject) = (origin.clone(), name.clone());
                self.remarks.violations.push(Violation { origin, subject, what, is_left_out: false });
            }
        }
    }

    /// Takes over the profiles of others.
    pub fn add_profiles(&mut self, others: &[Self]) {
        for other in others {
            self.cloud_profiles.extend_from_slice(&other.cloud_profiles);
            self.namespaced.extend_from_slice(&other.namespaced);
        }
    }

    /// Adds profiles; each replaces its own profile of the same name.
    pub fn replace_profiles(&mut self, others: &[Self]) {
        let id = |meta: &ObjectMeta| (meta.namespace.clone(), meta.name.clone());
        for other in others {
            self.cloud_profiles
                .retain(|own| !other.cloud_profiles.iter().any(|new| id(&new.metadata) == id(&own.metadata)));
            self.namespaced.retain(|own| !other.namespaced.iter().any(|new| id(&new.metadata) == id(&own.metadata)));
        }
        self.add_profiles(others);
    }

    /// Whether some object could not be read.
    pub fn lacks_objects(&self) -> bool {
        self.remarks.violations.iter().any(|violation| violation.is_left_out)
    }

    /// Fills in incomplete versions and images of Shoots, by what their profiles offer.
    pub fn complete(&mut self, now: DateTime<Utc>) {
        let offers = self.offers();
        let mut filled: BTreeMap<(String, String), (String, usize)> = BTreeMap::new();
        for incomplete in std::mem::take(&mut self.remarks.incomplete) {
            let shoot = &mut self.shoots[incomplete.index];
            let key = ProfileKey::of(shoot);
            let Some(offer) = offers.get(&key) else { continue };
            let name = name_of(shoot);
            let (told, mut errors) = complete_versions(shoot, offer, now);
            if errors.is_empty() {
                let is_new = |error: &FieldError| incomplete.fields.iter().any(|(field, _)| is_below(error, field));
                errors.extend(violations(shoot).into_iter().filter(is_new));
            }
            for (field, text) in told {
                filled.entry((field, text)).or_insert_with(|| (name.clone(), 0)).1 += 1;
            }
            for error in errors {
                let above = incomplete.fields.iter().filter(|(field, _)| is_below(&error, field));
                let line = above.max_by_key(|(field, _)| field.len()).map_or(incomplete.origin.line, |(_, line)| *line);
                self.remarks.violations.push(Violation {
                    origin: Origin { file: incomplete.origin.file.clone(), line },
                    subject: format!("Shoot {name}"),
                    what: error.to_string(),
                    is_left_out: false,
                });
            }
        }
        for ((field, text), (name, count)) in filled {
            self.notes.push(format!("Shoot {name}{}: {field} {text}, as for a new Shoot", and_more(count)));
        }
    }

    /// Leaves only the Shoot `NAMESPACE/NAME`.
    ///
    /// # Errors
    /// There is no such Shoot.
    pub fn only(&mut self, name: &str) -> Result<(), Error> {
        if !self.shoots.iter().any(|shoot| name_of(shoot) == name) {
            let names: Vec<String> = self.shoots.iter().map(name_of).collect();
            let hint = nearest(name, names.iter().map(String::as_str));
            return Err(Error::input(format!("there is no Shoot {name} among the manifests"), hint));
        }
        self.shoots.retain(|shoot| name_of(shoot) == name);
        self.remarks.windowless.retain(|windowless| windowless == name);
        Ok(())
    }

    /// Notes Shoots whose window is not in their manifest.
    pub fn note_windows(&mut self) {
        if let Some(first) = self.remarks.windowless.first() {
            self.notes.push(format!(
                "{first}{} without spec.maintenance.timeWindow: a window is drawn, as for a new Shoot",
                and_more(self.remarks.windowless.len())
            ));
        }
    }

    /// What the API server would refuse, in lines: alike violations are one line, and no more than some twenty are told.
    /// `force`: the question is answered all the same, without the objects that cannot be read.
    pub fn refusals(&self, force: bool) -> Vec<String> {
        let mut groups: Vec<((String, String), &Violation, usize)> = Vec::new();
        let mut index: BTreeMap<(String, String), usize> = BTreeMap::new();
        for violation in &self.remarks.violations {
            let likeness = violation.likeness();
            let at = *index.entry(likeness.clone()).or_insert(groups.len());
            if at == groups.len() {
                groups.push((likeness, violation, 0));
            }
            groups[at].2 += 1;
        }
        let mut lines: Vec<String> = groups
            .iter()
            .take(TOLD)
            .map(|(_, violation, count)| {
                let left_out = if violation.is_left_out && force { "; the object is left out" } else { "" };
                let more = if *count > 1 { format!(" (and {} more like it)", count - 1) } else { String::new() };
                format!("{violation}{left_out}{more}")
            })
            .collect();
        if groups.len() > TOLD {
            lines.push(format!("{} more like these", groups.len() - TOLD));
        }
        lines
    }
}

/// What an object is checked by while it is read.
struct Judge<'a> {
    origin: Origin,
    subject: String,
    source: &'a Source<'a>,
    found: Vec<Violation>,
}

impl Judge<'_> {
    fn at(&mut self, field: &str, what: String, is_left_out: bool) {
        let line = self.source.line_of(field).unwrap_or(self.origin.line);
        let origin = Origin { file: self.origin.file.clone(), line };
        self.found.push(Violation { origin, subject: self.subject.clone(), what, is_left_out });
    }

    fn fields(&mut self, errors: impl IntoIterator<Item = FieldError>) {
        for error in errors {
            self.at(&error.field, error.to_string(), false);
        }
    }

    /// Reads an object as an API server does when it is asked to be strict.
    fn typed<T: DeserializeOwned + Schema>(&mut self, manifest: Manifest) -> Option<T> {
        let decoded = match decode::tree(manifest.object, &T::node()) {
            Ok(decoded) => decoded,
            Err(error) => {
                let field = field_of(&error.message).to_owned();
                self.at(&field, error.message, true);
                return None;
            }
        };
        for message in decoded.strict {
            let field = message.split('"').nth(1).unwrap_or_default().to_owned();
            self.at(&field, message, false);
        }
        match serde_json::from_value(decoded.tree) {
            Ok(object) => Some(object),
            Err(error) => {
                self.at("", error.to_string(), true);
                None
            }
        }
    }
}

/// The field in Go's words for a value of a wrong type: `… struct field Kubernetes.spec.kubernetes.version of type …`.
fn field_of(message: &str) -> &str {
    let behind = message.split_once("struct field ").and_then(|(_, rest)| rest.split_once(" of type "));
    behind.and_then(|(path, _)| path.split_once('.')).map_or("", |(_, path)| path)
}

fn subject(manifest: &Manifest) -> String {
    match manifest.namespace() {
        "" => format!("{} {}", manifest.kind(), manifest.name()),
        namespace => format!("{} {namespace}/{}", manifest.kind(), manifest.name()),
    }
}

/// An object as a server has it: with a version.
fn stored<T: Clone>(object: &T, meta: impl Fn(&mut T) -> &mut ObjectMeta) -> T {
    let mut stored = object.clone();
    "1".clone_into(&mut meta(&mut stored).resource_version);
    stored
}

/// What validation says of a Shoot. One that has been reconciled may have come into a state in which the operation that
/// it is annotated with could not be asked for any more.
fn violations(shoot: &Shoot) -> Vec<FieldError> {
    let stored = stored(shoot, |shoot| &mut shoot.metadata);
    let mut errors = shoots::shoot_update(&stored, &stored, gates_for(&stored));
    if shoot.status.last_operation.is_some() {
        errors.retain(|error| !error.field.starts_with("metadata.annotations"));
    }
    errors
}

fn texts(refusal: Refusal) -> Vec<String> {
    match refusal {
        Refusal::Forbidden(text) | Refusal::BadRequest(text) | Refusal::Internal(text) | Refusal::Plain(text) => {
            vec![text]
        }
        Refusal::Invalid(errors) => errors.iter().map(ToString::to_string).collect(),
        Refusal::NotFound(resource, name) => vec![format!("{} {name:?} not found", resource.resource)],
    }
}

/// ` and 2 more` of three.
pub(super) fn and_more(count: usize) -> String {
    if count > 1 { format!(" and {} more", count - 1) } else { String::new() }
}

fn is_below(error: &FieldError, field: &str) -> bool {
    error.field.starts_with(field)
}

/// The versions and images of a Shoot that are to be filled in, and the fields that are judged by them.
fn open_fields(shoot: &Shoot) -> Vec<String> {
    let mut fields = Vec::new();
    if is_open(&shoot.spec.kubernetes.version) {
        let of_control_plane = ["spec.kubernetes", "spec.kubernetes.version", "spec.provider.workers"];
        fields.extend(of_control_plane.map(str::to_owned));
    }
    for (index, worker) in shoot.spec.provider.workers.iter().enumerate() {
        let path = format!("spec.provider.workers[{index}]");
        if worker.kubernetes.as_ref().and_then(|own| own.version.as_deref()).is_some_and(is_open) {
            fields.extend([path.clone(), format!("{path}.kubernetes.version")]);
        }
        let image = worker.machine.image.as_ref().and_then(|image| image.version.as_deref()).unwrap_or_default();
        if is_open(image) {
            fields.push(format!("{path}.machine.image"));
        }
    }
    fields
}

/// Whether a version says less than three numbers.
fn is_open(version: &str) -> bool {
    version.split('.').count() < 3
}

/// Fills in the versions and images of a Shoot that no server has seen yet: what was filled in, each field with words,
/// and what cannot be.
fn complete_versions(
    shoot: &mut Shoot,
    offer: &CloudProfileSpec,
    now: DateTime<Utc>,
) -> (Vec<(String, String)>, Vec<FieldError>) {
    let (mut told, mut errors) = (Vec::new(), Vec::new());
    let words = |before: &str, after: &str| match before {
        "" => format!("is omitted and becomes {after}"),
        before => format!("{before:?} becomes {after}"),
    };
    let versions = &offer.kubernetes.versions;
    let mut complete = |version: &mut String, path: &Path| {
        if !is_open(version) {
            return;
        }
        match default_kubernetes_version(versions, version, now, path) {
            Ok(Some(found)) => {
                told.push((path.to_string(), words(version, &found)));
                *version = found;
            }
            Ok(None) => {}
            Err(error) => errors.push(error),
        }
    };
    let spec = Path::new("spec");
    complete(&mut shoot.spec.kubernetes.version, &spec.child("kubernetes").child("version"));
    let workers = spec.child("provider").child("workers");
    for (index, worker) in shoot.spec.provider.workers.iter_mut().enumerate() {
        if let Some(version) = worker.kubernetes.as_mut().and_then(|kubernetes| kubernetes.version.as_mut()) {
            complete(version, &workers.index(index).child("kubernetes").child("version"));
        }
    }
    for (index, worker) in shoot.spec.provider.workers.iter_mut().enumerate() {
        let image = worker.machine.image.as_ref();
        let (name, version) = image.map_or(("", ""), |one| (&one.name, one.version.as_deref().unwrap_or_default()));
        if !is_open(version) || cloud_profile::machine_image_version(offer, name, version).is_some() {
            continue;
        }
        let path = workers.index(index).child("machine").child("image");
        match default_image(worker, None, &offer.machine_images, &path) {
            Ok(found) => {
                let before = if name.is_empty() { String::new() } else { format!("{name} {version}") };
                let after = format!("{} {}", found.name, found.version.as_deref().unwrap_or_default());
                told.push((path.to_string(), words(before.trim_end(), &after)));
                worker.machine.image = Some(found);
            }
            Err(error) => errors.push(error),
        }
    }
    (told, errors)
}

/// Leaves away what no question about versions looks at: most of a real landscape's bytes, thousands of times over.
fn lighten(shoot: &mut Shoot) {
    let status = std::mem::take(&mut shoot.status);
    shoot.status = ShootStatus {
        gardener: status.gardener,
        hibernated: status.hibernated,
        last_operation: status.last_operation,
        observed_generation: status.observed_generation,
        technical_id: status.technical_id,
        credentials: status.credentials,
        last_hibernation_trigger_time: status.last_hibernation_trigger_time,
        in_place_updates: status.in_place_updates,
        encrypted_resources: status.encrypted_resources,
        ..ShootStatus::default()
    };
}

#[cfg(test)]
mod tests;
