// SPDX-License-Identifier: Apache-2.0
//! CloudProfiles, NamespacedCloudProfiles and Shoots, as manifests give them or a landscape has them.
//!
//! **Invariants.** Everything is defaulted as the API server would. A Shoot keeps its place among the manifests.

use std::collections::BTreeMap;
use std::path::PathBuf;

use api::core::{CloudProfile, CloudProfileSpec, NamespacedCloudProfile, Shoot, ShootStatus};
use apimachinery::decode;
use apimachinery::meta::Time;
use apimachinery::schema::Schema;
use chrono::{DateTime, Utc};
use clock::Random;
use controller::{Api, ListOptions};
use domain::admission::shoot::{default_image, default_kubernetes_version};
use domain::cloud_profile::{self, NAMESPACED_CLOUD_PROFILE};
use domain::defaulting;
use process::Context;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::Failure;
use crate::manifests::{self, Manifest, ManifestError, Origin, Wanted};

const API_VERSION: &str = "core.gardener.cloud/v1beta1";
/// Kinds that play a part.
const KINDS: [&str; 3] = ["CloudProfile", "NamespacedCloudProfile", "Shoot"];

/// Profiles and Shoots.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    /// CloudProfiles in the order in which they were given.
    pub(crate) cloud_profiles: Vec<CloudProfile>,
    /// NamespacedCloudProfiles.
    pub(crate) namespaced: Vec<NamespacedCloudProfile>,
    /// Shoots.
    pub(crate) shoots: Vec<Shoot>,
    /// What was left out, and what is taken for granted.
    pub(crate) notes: Vec<String>,
}

/// A profile as a Shoot refers to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProfileKey {
    /// Of a NamespacedCloudProfile.
    pub(crate) namespace: Option<String>,
    /// Its name.
    pub(crate) name: String,
}

impl ProfileKey {
    /// The profile that a Shoot refers to.
    pub(crate) fn of(shoot: &Shoot) -> Self {
        let reference = cloud_profile::reference(&shoot.spec);
        let is_namespaced = reference.as_ref().is_some_and(|reference| reference.kind == NAMESPACED_CLOUD_PROFILE);
        Self {
            namespace: is_namespaced.then(|| shoot.metadata.namespace.clone()),
            name: reference.map(|reference| reference.name).unwrap_or_default(),
        }
    }
}

/// `CloudProfile "aws"`.
impl std::fmt::Display for ProfileKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.namespace {
            None => write!(f, "CloudProfile {:?}", self.name),
            Some(namespace) => write!(f, "NamespacedCloudProfile \"{namespace}/{}\"", self.name),
        }
    }
}

impl World {
    /// From manifests; kinds that play no part are left out with a note.
    ///
    /// # Errors
    /// A file that cannot be read, or an object that is not what its kind says.
    pub(crate) fn of_files(files: &[PathBuf]) -> Result<Self, ManifestError> {
        let mut world = Self::default();
        let mut skipped: BTreeMap<String, usize> = BTreeMap::new();
        let mut seen: BTreeMap<(String, String, String), Origin> = BTreeMap::new();
        let mut wanted = Wanted::only(&KINDS);
        manifests::read_each(files, &mut wanted, &mut |mut manifest| {
            let kind = manifest.kind().to_owned();
            let is_ours = manifest.api_version() == API_VERSION;
            let known = is_ours && KINDS.contains(&&*kind);
            if !known {
                *skipped.entry(kind).or_default() += 1;
                return Ok(());
            }
            if manifest.name().is_empty() {
                return Err(ManifestError::at(&manifest.origin, format!("{kind}: `metadata.name` is missing")));
            }
            if kind != "CloudProfile" && manifest.namespace().is_empty() {
                manifest.object["metadata"]["namespace"] = Value::String("default".to_owned());
            }
            let id = (kind.clone(), manifest.namespace().to_owned(), manifest.name().to_owned());
            if let Some(first) = seen.insert(id, manifest.origin.clone()) {
                let what = format!("{kind} {} is given twice: {first} has it, too", full_name(&manifest));
                return Err(ManifestError::at(&manifest.origin, what));
            }
            match &*kind {
                "CloudProfile" => world.cloud_profiles.push(typed(&mut manifest)?),
                "NamespacedCloudProfile" => world.namespaced.push(typed(&mut manifest)?),
                _ => {
                    let mut shoot: Shoot = typed(&mut manifest)?;
                    shoot.metadata.deletion_timestamp = manifest.is_being_deleted.then(Time::default);
                    lighten(&mut shoot);
                    world.shoots.push(shoot);
                }
            }
            Ok(())
        })?;
        world.notes.append(&mut wanted.notes);
        if !skipped.is_empty() {
            let kinds: Vec<String> = skipped.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
            world.notes.push(format!("other kinds are left out: {}", kinds.join(", ")));
        }
        Ok(world)
    }

    /// From a landscape that runs.
    ///
    /// # Errors
    /// The server's words.
    pub(crate) async fn of_landscape(context: &Context) -> Result<Self, Failure> {
        let failed = |error: controller::Error| Failure::Failed(error.to_string());
        let all = ListOptions::default();
        Ok(Self {
            cloud_profiles: Api::all(context, "garden").list(&all).await.map_err(failed)?.0,
            namespaced: Api::all(context, "garden").list(&all).await.map_err(failed)?.0,
            shoots: Api::all(context, "garden").list(&all).await.map_err(failed)?.0,
            notes: Vec::new(),
        })
    }

    /// Fills in what the API server would: fields, maintenance time windows, incomplete versions and images.
    pub(crate) fn complete(&mut self, random: &Random, now: DateTime<Utc>) {
        for profile in &mut self.cloud_profiles {
            defaulting::cloud_profile(profile);
        }
        for shoot in &mut self.shoots {
            let key = format!("garden/{}/{}", shoot.metadata.namespace, shoot.metadata.name);
            defaulting::shoot(shoot, random.draw("default-maintenance-time-window", &key, 0));
        }
        let offers = self.offers();
        for shoot in &mut self.shoots {
            if let Some(offer) = offers.get(&ProfileKey::of(shoot)) {
                complete_versions(shoot, offer, now);
            }
        }
    }

    /// Notes Shoots whose window is not in their manifest.
    pub(crate) fn note_windows(&mut self) {
        let has_window = |shoot: &Shoot| {
            shoot.spec.maintenance.as_ref().is_some_and(|maintenance| maintenance.time_window.is_some())
        };
        let lacks = |shoot: &&Shoot| !has_window(shoot) && !shoot.metadata.is_being_deleted();
        let without: Vec<String> = self.shoots.iter().filter(lacks).map(name_of).collect();
        if let Some(first) = without.first() {
            let others = if without.len() > 1 { format!(" and {} more", without.len() - 1) } else { String::new() };
            self.notes.push(format!(
                "{first}{others} without spec.maintenance.timeWindow: a window is drawn, as for a new Shoot"
            ));
        }
    }

    /// What each profile offers. A NamespacedCloudProfile whose parent is not given offers what its status says.
    pub(crate) fn offers(&self) -> BTreeMap<ProfileKey, CloudProfileSpec> {
        let whole = |profile: &CloudProfile| ProfileKey { namespace: None, name: profile.metadata.name.clone() };
        let mut offers: BTreeMap<ProfileKey, CloudProfileSpec> =
            self.cloud_profiles.iter().map(|profile| (whole(profile), profile.spec.clone())).collect();
        for profile in &self.namespaced {
            let parent = self.cloud_profiles.iter().find(|parent| parent.metadata.name == profile.spec.parent.name);
            let spec = match parent {
                Some(parent) => cloud_profile::merge(&parent.spec, &profile.spec),
                None => profile.status.cloud_profile_spec.clone(),
            };
            let meta = &profile.metadata;
            offers.insert(ProfileKey { namespace: Some(meta.namespace.clone()), name: meta.name.clone() }, spec);
        }
        offers
    }
}

/// `NAMESPACE/NAME`.
pub(crate) fn name_of(shoot: &Shoot) -> String {
    format!("{}/{}", shoot.metadata.namespace, shoot.metadata.name)
}

fn full_name(manifest: &Manifest) -> String {
    match manifest.namespace() {
        "" => manifest.name().to_owned(),
        namespace => format!("{namespace}/{}", manifest.name()),
    }
}

/// Reads an object as an API server does: `null` is no value, and fields that nobody knows do not matter.
fn typed<T: DeserializeOwned + Schema>(manifest: &mut Manifest) -> Result<T, ManifestError> {
    let (kind, name) = (manifest.kind().to_owned(), full_name(manifest));
    let object = std::mem::take(&mut manifest.object);
    let tree = decode::tree(object, &T::node()).map_err(|error| error.message);
    tree.and_then(|decoded| serde_json::from_value(decoded.tree).map_err(|error| error.to_string()))
        .map_err(|error| ManifestError::at(&manifest.origin, format!("{kind} {name}: {error}")))
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

/// Incomplete versions of a Shoot that no server has seen yet; what cannot be completed stays as it is.
fn complete_versions(shoot: &mut Shoot, offer: &CloudProfileSpec, now: DateTime<Utc>) {
    let path = apimachinery::field::Path::new("spec");
    let versions = &offer.kubernetes.versions;
    let complete = |version: &mut String| {
        if let Ok(Some(found)) = default_kubernetes_version(versions, version, now, &path) {
            *version = found;
        }
    };
    complete(&mut shoot.spec.kubernetes.version);
    for worker in &mut shoot.spec.provider.workers {
        if let Some(version) = worker.kubernetes.as_mut().and_then(|kubernetes| kubernetes.version.as_mut()) {
            complete(version);
        }
        let version = worker.machine.image.as_ref().and_then(|image| image.version.as_deref()).unwrap_or_default();
        if version.is_empty()
            && let Ok(image) = default_image(worker, None, &offer.machine_images, &path)
        {
            worker.machine.image = Some(image);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut manifests = manifests::parse("f.yaml", text).expect("an object");
        let actual = match typed::<Shoot>(&mut manifests[0]) {
            Ok(shoot) => format!("{}: {:?}", name_of(&shoot), shoot.spec.kubernetes.version),
            Err(error) => error.to_string(),
        };
        assert_eq!(actual, expected, "input:\n{text}");
    }

    #[test]
    fn shoots_are_read_as_an_api_server_reads_them() {
        let head = "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: a, namespace: b}\n";
        check(&format!("{head}spec:\n  kubernetes:\n  provider:\n    workers: null\n"), "b/a: \"\"");
        check(&format!("{head}spec: {{kubernetes: {{version: 1.30.1, later: x}}}}\n"), "b/a: \"1.30.1\"");
        check(
            &format!("{head}spec: {{kubernetes: {{version: 1}}}}\n"),
            "f.yaml:1: Shoot b/a: json: cannot unmarshal number into Go struct field \
             Kubernetes.spec.kubernetes.version of type string",
        );
    }

    #[test]
    fn what_is_given_twice_names_both_places_and_a_broken_file_of_another_kind_is_left_out() {
        let folder = std::env::temp_dir().join(format!("terrarium-world-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("written");
        let shoot = "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: a, namespace: b}\n";
        write("a.yaml", shoot);
        write("broken.yaml", "apiVersion: v1\nkind: ConfigMap\ndata: {a\n");
        write("values.yaml", "image: {{ .Values.image }\n");
        let world = World::of_files(std::slice::from_ref(&folder)).expect("one Shoot");
        assert_eq!((world.shoots.len(), world.notes.len()), (1, 2), "{:?}", world.notes);
        write("z.yaml", &format!("# the same\n{shoot}"));
        let place = |name: &str| folder.join(name).display().to_string();
        let error = World::of_files(std::slice::from_ref(&folder)).expect_err("it is given twice").to_string();
        let expected = format!("{}:2: Shoot b/a is given twice: {}:1 has it, too", place("z.yaml"), place("a.yaml"));
        std::fs::remove_dir_all(&folder).expect("removed");
        assert_eq!(error, expected);
    }
}
