// SPDX-License-Identifier: Apache-2.0
//! An [`Inventory`] from manifests, read as the API server reads them: decoded strictly, defaulted, validated.
//!
//! A manifest is treated as a stored object: rules that the server applies only to new objects, such as the one about
//! expired versions, do not apply.
//!
//! **Invariants.** Input that the server would refuse becomes a [`Violation`] and is never dropped silently. Notes list
//! everything that is filled in, ignored or missing. An object has a resource version if a server has stored it: its violations
//! do not prevent an answer.

use domain::versions::Moment;
use std::collections::BTreeMap;

use api::core::{CloudProfileSpec, Shoot, ShootStatus};
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::ObjectMeta;
use chrono::{DateTime, Utc};
use clock::Random;
use domain::admission::Refusal;
use domain::admission::namespaced_cloud_profile::check_namespaced;
use domain::admission::project::reserve_resources;
use domain::admission::shoot::{default_architectures, default_image, default_kubernetes_version};
use domain::cloud_profile;
use domain::profile::Profile;
use domain::release::Release;
use domain::validation::shoot as shoots;

use super::{Inventory, ignored};
use crate::Error;
use crate::gates::gates_for;
use crate::manifests::Origin;
use crate::names::{ProfileKey, name_of};
use crate::spelling::nearest;

/// Maximum number of violations that are listed; the others are counted.
const TOLD: usize = 20;

/// Parameters for completing and validating manifests.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// Draws the windows of Shoots that have none.
    pub random: &'a Random,
    /// Instant for which the manifests are valid.
    pub now: DateTime<Utc>,
    /// Profile of the rules: documents or upstream.
    pub rules: Profile,
    /// Release of the API server.
    pub release: Release,
}

/// A problem for which the API server would refuse an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) origin: Origin,
    /// `Shoot a/b`
    pub(super) subject: String,
    /// Message of the server.
    pub(super) what: String,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The server would refuse it.
    Refused,
    /// A server has stored the object; it would refuse the object's next change.
    Stored,
    /// The object could not be read and is left out.
    LeftOut,
    /// The field is unknown, or unknown to the release, and may decide the answer.
    Decides,
}

impl Kind {
    /// Kind of a refusal of an object with this metadata.
    pub(super) const fn of_refusal(metadata: &ObjectMeta) -> Self {
        if metadata.resource_version.is_empty() { Self::Refused } else { Self::Stored }
    }
}

impl Violation {
    /// Key under which violations of several objects or list items are grouped: kind and message without indices.
    fn likeness(&self) -> (String, String) {
        let kind = self.subject.split(' ').next().unwrap_or_default();
        (kind.to_owned(), ignored::without_indices(&self.what))
    }
}

/// `FILE:LINE: Shoot a/b: WHAT`.
impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}: {}", self.origin, self.subject, self.what.replace('\n', " "))
    }
}

/// A Shoot with incomplete versions.
#[derive(Clone, Debug)]
pub(super) struct Incomplete {
    pub(super) index: usize,
    pub(super) origin: Origin,
    /// Fields to complete, and the fields above them that cannot be validated before; each with its line.
    pub(super) fields: Vec<(String, usize)>,
}

/// Results of reading manifests that are processed after all of them have been read.
#[derive(Clone, Debug, Default)]
pub(super) struct Remarks {
    pub(super) violations: Vec<Violation>,
    pub(super) incomplete: Vec<Incomplete>,
    /// Places of the NamespacedCloudProfiles, in the same order.
    pub(super) namespaced: Vec<Origin>,
    /// Shoots without a window, in the order of the manifests.
    pub(super) windowless: Vec<String>,
}

/// Lines about objects that the API server would refuse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// Violations of stored objects.
    pub notes: Vec<String>,
    /// Violations in spite of which the question is answered.
    pub warnings: Vec<String>,
    /// Violations because of which the question is not answered.
    pub errors: Vec<String>,
}

impl Inventory {
    /// Compares NamespacedCloudProfiles with their parents.
    pub(super) fn judge_namespaced(&mut self, now: DateTime<Utc>) {
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
            for what in check_namespaced(profile, Some(&old), &whole.spec, gates_for(self.release), now)
                .err()
                .map(texts)
                .unwrap_or_default()
            {
                let (origin, subject) = (origin.clone(), name.clone());
                let kind = Kind::of_refusal(&profile.metadata);
                self.remarks.violations.push(Violation { origin, subject, what, kind });
            }
        }
    }

    /// Adds all profiles of other inventories.
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

    /// True if some object could not be read.
    pub fn lacks_objects(&self) -> bool {
        self.remarks.violations.iter().any(|violation| violation.kind == Kind::LeftOut)
    }

    /// Completes Shoots like admission plugins: reservations of kubelets, and, by the offer of their profiles, CPU
    /// architectures and incomplete versions and images.
    pub fn complete(&mut self, now: DateTime<Utc>) {
        let offers = self.offers();
        for shoot in &mut self.shoots {
            reserve_resources(shoot);
            if let Some(offer) = offers.get(&ProfileKey::of(shoot)) {
                default_architectures(shoot, offer, self.release);
            }
        }
        let mut filled: BTreeMap<(String, String), (String, usize)> = BTreeMap::new();
        for incomplete in std::mem::take(&mut self.remarks.incomplete) {
            let (shoot, release) = (&mut self.shoots[incomplete.index], self.release);
            let key = ProfileKey::of(shoot);
            let Some(offer) = offers.get(&key) else { continue };
            let (name, kind) = (name_of(shoot), Kind::of_refusal(&shoot.metadata));
            let (told, mut errors) = complete_versions(shoot, offer, Moment::new(now, release));
            if errors.is_empty() {
                let is_new = |error: &FieldError| incomplete.fields.iter().any(|(field, _)| is_below(error, field));
                errors.extend(violations(shoot, release).into_iter().filter(is_new));
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
                    kind,
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

    /// Adds a note about Shoots without a window in their manifest.
    pub fn note_windows(&mut self) {
        if let Some(first) = self.remarks.windowless.first() {
            self.notes.push(format!(
                "{first}{} without spec.maintenance.timeWindow: a window is drawn, as for a new Shoot",
                and_more(self.remarks.windowless.len())
            ));
        }
    }

    /// Formats the violations as lines: similar ones are grouped, and at most 20 lines are listed. `force`: the question is
    /// answered without the objects that cannot be read, unless an unknown value may decide the answer.
    pub fn refusals(&self, force: bool) -> Refusals {
        let is_stored = |violation: &&Violation| violation.kind == Kind::Stored;
        let is_error = |violation: &&Violation| !force || violation.kind == Kind::Decides;
        let (stored, others): (Vec<&Violation>, Vec<&Violation>) = self.remarks.violations.iter().partition(is_stored);
        let (errors, warnings): (Vec<&Violation>, Vec<&Violation>) = others.into_iter().partition(is_error);
        Refusals { notes: lines(&stored, force), warnings: lines(&warnings, force), errors: lines(&errors, force) }
    }
}

/// A field that is not read and may decide an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecidingField {
    /// Position of the field.
    pub origin: Origin,
    /// The object, as [`Inventory::refusals`] names it.
    pub subject: String,
    /// Message about the field.
    pub what: String,
}

/// Formats fields as lines, like [`Inventory::refusals`].
pub fn deciding_lines(fields: impl IntoIterator<Item = DecidingField>) -> Vec<String> {
    let violation = |DecidingField { origin, subject, what }| Violation { origin, subject, what, kind: Kind::Decides };
    let violations: Vec<Violation> = fields.into_iter().map(violation).collect();
    lines(&violations.iter().collect::<Vec<_>>(), false)
}

/// Formats violations as lines: similar ones are grouped, and at most 20 lines are listed. `leaves_out`: objects that cannot
/// be read are left out.
fn lines(violations: &[&Violation], leaves_out: bool) -> Vec<String> {
    let mut groups: Vec<(&Violation, usize)> = Vec::new();
    let mut index: BTreeMap<(String, String), usize> = BTreeMap::new();
    for violation in violations {
        let at = *index.entry(violation.likeness()).or_insert(groups.len());
        if at == groups.len() {
            groups.push((violation, 0));
        }
        groups[at].1 += 1;
    }
    let line = |(violation, count): &(&Violation, usize)| {
        let consequence = match violation.kind {
            Kind::LeftOut if leaves_out => "; the object is left out",
            Kind::Stored => "; it is stored, and its next change will be refused",
            _ => "",
        };
        let more = if *count > 1 { format!(" (and {} more like it)", count - 1) } else { String::new() };
        format!("{violation}{consequence}{more}")
    };
    let mut lines: Vec<String> = groups.iter().take(TOLD).map(line).collect();
    if groups.len() > TOLD {
        lines.push(format!("{} more like these", groups.len() - TOLD));
    }
    lines
}

/// Extracts the field from Go's error about a value of a wrong type: `… struct field Kubernetes.spec.kubernetes.version of
/// type …`.
pub(super) fn field_of(message: &str) -> &str {
    let behind = message.split_once("struct field ").and_then(|(_, rest)| rest.split_once(" of type "));
    behind.and_then(|(path, _)| path.split_once('.')).map_or("", |(_, path)| path)
}

/// Returns an object as stored by a server, with a resource version.
pub(super) fn stored<T: Clone>(object: &T, meta: impl Fn(&mut T) -> &mut ObjectMeta) -> T {
    let mut stored = object.clone();
    "1".clone_into(&mut meta(&mut stored).resource_version);
    stored
}

/// Validates a stored Shoot. Errors about annotations are dropped for a reconciled Shoot: its state may have changed since
/// the annotated operation was requested.
pub(super) fn violations(shoot: &Shoot, release: Release) -> Vec<FieldError> {
    let stored = stored(shoot, |shoot| &mut shoot.metadata);
    let mut errors = shoots::shoot_update(&stored, &stored, gates_for(release));
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

/// Formats the rest of a count: ` and 2 more` of three.
pub(super) fn and_more(count: usize) -> String {
    if count > 1 { format!(" and {} more", count - 1) } else { String::new() }
}

pub(super) fn is_below(error: &FieldError, field: &str) -> bool {
    error.field.starts_with(field)
}

/// Paths of a Shoot's incomplete versions and images, and of the fields that are validated by them.
pub(super) fn open_fields(shoot: &Shoot) -> Vec<String> {
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

/// True if a version has fewer than three numbers.
fn is_open(version: &str) -> bool {
    version.split('.').count() < 3
}

/// Completes the versions and images of a Shoot that is not stored yet; returns the completed fields with a message each,
/// and those that cannot be completed.
fn complete_versions(
    shoot: &mut Shoot,
    offer: &CloudProfileSpec,
    at: Moment,
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
        match default_kubernetes_version(versions, version, at, path) {
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
    default_architectures(shoot, offer, at.release);
    for (index, worker) in shoot.spec.provider.workers.iter_mut().enumerate() {
        let image = worker.machine.image.as_ref();
        let (name, version) = image.map_or(("", ""), |one| (&one.name, one.version.as_deref().unwrap_or_default()));
        if !is_open(version) || cloud_profile::machine_image_version(offer, name, version).is_some() {
            continue;
        }
        let path = workers.index(index).child("machine").child("image");
        match default_image(worker, None, offer, at, &path) {
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

/// Removes fields that no question about versions reads: most of the bytes of a real landscape with thousands of Shoots.
pub(super) fn lighten(shoot: &mut Shoot) {
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
        last_errors: status.last_errors,
        encrypted_resources: status.encrypted_resources,
        ..ShootStatus::default()
    };
}

#[cfg(test)]
mod tests;
