// SPDX-License-Identifier: Apache-2.0
//! Manifests of `up -f`: read and checked before the landscape is started, without fields that only a server writes.
//!
//! ```text
//! file ──► objects ──► kind is served, name is given ──► Seeds are decoded ──► left out, or kept without status
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;

use api::constants::annotation;
use domain::skew::GardenerVersion;
use ops::inventory::subject_of;
use ops::manifests::{self, Manifest, ManifestError};
use ops::spelling::first_of;

use super::applied::count;
use crate::failure::Failure;
use crate::input::paths;
use crate::simulate::{self, apply};

/// Kinds whose objects are created by the controllers of a landscape, and are not copied from another one.
const OF_CONTROLLERS: &[&str] =
    &["BackupBucket", "BackupEntry", "ControllerInstallation", "Event", "InternalSecret", "Lease", "ShootState"];

/// Annotation in which kubectl keeps the last applied manifest.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Maximum number of left out objects that are named in a note.
const NAMED: usize = 3;

/// Manifests that can be applied.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Manifests {
    pub(super) objects: Vec<Manifest>,
    /// Notes on objects and fields that are left out.
    pub(super) notes: Vec<String>,
    /// Newest `status.gardener.version` of a Shoot.
    pub(super) gardener: Option<GardenerVersion>,
}

impl Manifests {
    /// Reads files and folders; `recursive`: with their subfolders.
    ///
    /// # Errors
    /// A file cannot be read, a kind is served by no cluster, an object has no name, or a Seed has an unknown field.
    pub(super) fn read(files: &[PathBuf], recursive: bool) -> Result<Self, Failure> {
        let read = manifests::read(&paths(files, recursive)?)?;
        for manifest in &read {
            check(manifest)?;
        }
        Ok(Self::kept(read))
    }

    /// Leaves out objects that are being deleted, objects of controllers, and fields that only a server writes.
    fn kept(read: Vec<Manifest>) -> Self {
        let mut kept = Self::default();
        // Left out objects, and those that lose fields, by kind.
        let mut deleted: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut of_controllers: BTreeMap<String, usize> = BTreeMap::new();
        let mut served: BTreeMap<String, usize> = BTreeMap::new();
        for mut manifest in read {
            let kind = manifest.kind().to_owned();
            if kind == "Shoot"
                && let Some(version) =
                    manifest.text(&["status", "gardener", "version"]).and_then(GardenerVersion::parse)
                && kept.gardener.as_ref().is_none_or(|newest| newest.full() < version.full())
            {
                kept.gardener = Some(version);
            }
            if manifest.is_being_deleted {
                deleted.entry(kind).or_default().push(subject_of(&manifest));
            } else if manifest.is_served && OF_CONTROLLERS.contains(&kind.as_str()) {
                *of_controllers.entry(kind).or_default() += 1;
            } else {
                strip(&mut manifest);
                if manifest.is_served {
                    *served.entry(kind).or_default() += 1;
                }
                kept.objects.push(manifest);
            }
        }
        for (kind, number) in served {
            let what = count(number, &kind);
            kept.notes.push(format!(
                "{what} from a server: left out are status, last applied configuration, and metadata that only a server \
                 writes"
            ));
        }
        for (kind, number) in of_controllers {
            let what = count(number, &kind);
            kept.notes
                .push(format!("{what} from a server: left out, since the landscape's controllers create their own"));
        }
        for subjects in deleted.into_values() {
            let names = first_of(subjects.iter().map(String::as_str), NAMED);
            let was = if subjects.len() == 1 { "it was" } else { "they were" };
            kept.notes.push(format!("{names}: left out, since {was} being deleted"));
        }
        kept
    }
}

/// Refuses objects that cannot be applied in any landscape.
fn check(manifest: &Manifest) -> Result<(), Failure> {
    apply::resource_of(manifest)?;
    if manifest.name().is_empty() {
        let what = format!("{}: `metadata.generateName` would create an object each time", manifest.kind());
        let refused = ManifestError::at(&manifest.origin, what);
        return Err(Failure::input(refused.to_string(), "give it a `metadata.name`"));
    }
    if manifest.kind() == "Seed" {
        simulate::seed_template(manifest)?;
    }
    Ok(())
}

/// Removes fields that only a server writes, and what kubectl keeps of an object from a server.
fn strip(manifest: &mut Manifest) {
    let is_served = manifest.is_served;
    let Some(fields) = manifest.object.as_object_mut() else { return };
    fields.remove("status");
    let Some(metadata) = fields.get_mut("metadata").and_then(|metadata| metadata.as_object_mut()) else { return };
    metadata.remove("creationTimestamp");
    if is_served {
        metadata.remove("generateName");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(|annotations| annotations.as_object_mut()) {
            annotations.remove(LAST_APPLIED);
            // The uid of the Project that has the namespace there.
            annotations.remove(annotation::NAMESPACE_PROJECT);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn kept(text: &str) -> Manifests {
        Manifests::kept(manifests::parse("f.yaml", text).expect("manifests"))
    }

    fn shoot(minor: u32, metadata: &str) -> String {
        format!(
            "- apiVersion: core.gardener.cloud/v1beta1\n  kind: Shoot\n  metadata: {{name: s-{minor}, namespace: \
             garden-dev{metadata}}}\n  spec: {{region: r}}\n  status: {{gardener: {{version: 1.{minor}.0}}}}\n"
        )
    }

    #[test]
    fn fields_of_a_server_are_left_out_with_a_note() {
        let served = ", uid: u, resourceVersion: '7', generation: 3, creationTimestamp: 2025-01-01T00:00:00Z, \
                      finalizers: [gardener], annotations: {a: b, kubectl.kubernetes.io/last-applied-configuration: c}";
        let items = [shoot(120, served), shoot(121, served), shoot(99, "")].concat();
        let kept = kept(&format!("apiVersion: v1\nkind: List\nitems:\n{items}"));
        let expected = [
            json!({"name": "s-120", "namespace": "garden-dev", "annotations": {"a": "b"}}),
            json!({"name": "s-121", "namespace": "garden-dev", "annotations": {"a": "b"}}),
            json!({"name": "s-99", "namespace": "garden-dev"}),
        ];
        for (kept, expected) in kept.objects.iter().zip(&expected) {
            assert_eq!(&kept.object["metadata"], expected);
            assert_eq!((&kept.object["spec"], kept.object.get("status")), (&json!({"region": "r"}), None));
        }
        assert_eq!(
            kept.notes,
            [
                "2 Shoots from a server: left out are status, last applied configuration, and metadata that only a server \
              writes"
            ]
        );
        assert_eq!(kept.gardener.map(|version| version.to_string()).as_deref(), Some("1.121.0"));
    }

    #[test]
    fn deleted_objects_and_those_of_controllers_are_left_out() {
        let object = |kind: &str, name: &str, more: &str| {
            format!("apiVersion: core.gardener.cloud/v1beta1\nkind: {kind}\nmetadata: {{name: {name}{more}}}\n---\n")
        };
        let gone = ", uid: u, deletionTimestamp: 2025-01-01T00:00:00Z";
        let text = [
            object("Project", "a", gone),
            object("Project", "b", ""),
            object("Seed", "c", gone),
            object("Seed", "d", gone),
            object("ControllerInstallation", "e", ", uid: u"),
            object("BackupBucket", "f", ""),
        ]
        .concat();
        let kept = kept(&text);
        let names: Vec<&str> = kept.objects.iter().map(Manifest::name).collect();
        assert_eq!(names, ["b", "f"], "a written object of a controller's kind is kept");
        assert_eq!(
            kept.notes,
            [
                "1 ControllerInstallation from a server: left out, since the landscape's controllers create their own",
                "Project a: left out, since it was being deleted",
                "Seed c, Seed d: left out, since they were being deleted",
            ]
        );
    }

    #[test]
    fn unserved_kinds_are_refused() {
        let refusal = |text: &str| {
            let manifests = manifests::parse("f.yaml", text).expect("manifests");
            manifests.iter().try_for_each(check).expect_err("it is refused").to_string()
        };
        assert_eq!(
            refusal("apiVersion: core.gardener.cloud/v1beta1\nkind: Shot\nmetadata: {name: a}\n"),
            "f.yaml:1: no matches for kind \"Shot\" in version \"core.gardener.cloud/v1beta1\""
        );
        assert_eq!(
            refusal("\napiVersion: v1\nkind: Secret\nmetadata: {generateName: a-}\n"),
            "f.yaml:2: Secret: `metadata.generateName` would create an object each time"
        );
        let seed = "apiVersion: core.gardener.cloud/v1beta1\nkind: Seed\nmetadata: {name: a}\nspec: {porvider: {}}\n";
        assert_eq!(refusal(seed), "f.yaml:1: Seed `a`: unknown field \"spec.porvider\"");
    }
}
