// SPDX-License-Identifier: Apache-2.0
//! Manifests of a simulation without fields that the landscape's release does not know.

use std::collections::BTreeMap;
use std::path::PathBuf;

use api::catalogue;
use apimachinery::catalogue::ResourceInfo;
use apimachinery::decode;
use domain::skew::GardenerVersion;
use ops::inventory::ignored::{self, Ignored};
use ops::inventory::{DecidingField, deciding_lines, subject_of};
use ops::manifests::{self, Manifest, Origin, WantedKinds};
use ops::release::Chosen;

use super::apply;
use crate::failure::Failure;

/// Manifests, and the release of the simulation.
pub(super) struct SimulatedManifests {
    pub(super) manifests: Vec<Manifest>,
    pub(super) chosen: Chosen,
    /// Messages about fields that are not read and may affect the simulation.
    pub(super) deciding: Vec<String>,
    /// Notes about ignored fields.
    pub(super) notes: Vec<String>,
    /// True if a profile has life cycles, for which gardener-apiserver needs a feature gate.
    pub(super) has_life_cycles: bool,
}

/// A manifest before the release is known.
struct ReadManifest {
    manifest: Manifest,
    /// Row of its kind if it has unknown fields.
    unknown: Option<&'static ResourceInfo>,
    /// Positions of the life cycles of versions, by their paths.
    life_cycles: BTreeMap<String, Origin>,
}

impl SimulatedManifests {
    /// Reads files and folders; `asked`: requested version.
    ///
    /// # Errors
    /// A file cannot be read, or a kind is not served.
    pub(super) fn read(paths: &[PathBuf], asked: Option<&GardenerVersion>) -> Result<Self, Failure> {
        let mut ignored = Ignored::default();
        let mut read: Vec<ReadManifest> = Vec::new();
        // Each with the number of its manifest.
        let mut deciding: Vec<(usize, DecidingField)> = Vec::new();
        manifests::read_each(paths, &mut WantedKinds::all(), &mut |manifest, source| {
            apply::resource_of(&manifest)?;
            let Some(row) = row_of(&manifest) else {
                read.push(ReadManifest { manifest, unknown: None, life_cycles: BTreeMap::new() });
                return Ok(());
            };
            let at = |field: &str| {
                let Origin { file, line } = manifest.origin.clone();
                Origin { file, line: source.line_of(field).unwrap_or(line) }
            };
            let mut has_unknown = false;
            // The server refuses values of a wrong type.
            if let Ok(decoded) = decode::tree(manifest.object.clone(), &(row.schema)()) {
                has_unknown = !decoded.unknown.is_empty();
                let found = ignored.take(row, &decoded.tree, &decoded.unknown, &at);
                deciding.extend(found.into_iter().map(|(field, what)| {
                    (read.len(), DecidingField { origin: at(&field), subject: subject_of(&manifest), what })
                }));
            }
            let life_cycles = ignored::life_cycles(&manifest.object, row).into_iter();
            let life_cycles = life_cycles.map(|path| (path.clone(), at(&path))).collect();
            read.push(ReadManifest { manifest, unknown: has_unknown.then_some(row), life_cycles });
            Ok(())
        })?;
        let all = read.iter().map(|read| &read.manifest);
        let shoots = all.filter(|manifest| manifest.kind() == "Shoot").map(|manifest| {
            let version = manifest.text(&["status", "gardener", "version"]).unwrap_or_default();
            (format!("{}/{}", manifest.namespace(), manifest.name()), version)
        });
        let chosen = Chosen::for_said(asked, shoots);
        let mut manifests = Vec::with_capacity(read.len());
        for (number, ReadManifest { mut manifest, unknown, life_cycles }) in read.into_iter().enumerate() {
            let other = || row_of(&manifest).filter(|row| ignored.has_others(row.kind, chosen.release));
            if let Some(row) = unknown.or_else(other) {
                let unread = ignored::unread_life_cycles(&manifest.object, row, chosen.release);
                deciding.extend(unread.into_iter().map(|(path, what)| {
                    let origin = life_cycles.get(&path).unwrap_or(&manifest.origin).clone();
                    (number, DecidingField { origin, subject: subject_of(&manifest), what })
                }));
                manifest.object = ignored::at_release(manifest.object, row, chosen.release);
            }
            manifests.push(manifest);
        }
        let has_life_cycles = manifests.iter().any(|manifest| {
            row_of(manifest).is_some_and(|row| !ignored::life_cycles(&manifest.object, row).is_empty())
        });
        deciding.sort_by_key(|(number, _)| *number);
        let deciding = deciding_lines(deciding.into_iter().map(|(_, field)| field));
        Ok(Self { manifests, deciding, notes: ignored.notes(chosen.release), chosen, has_life_cycles })
    }
}

/// Returns the row of a manifest whose kind belongs to Gardener.
fn row_of(manifest: &Manifest) -> Option<&'static ResourceInfo> {
    let (group, version) = manifest.api_version().rsplit_once('/')?;
    catalogue::find_kind(group, version, manifest.kind()).filter(|row| row.group.ends_with(".gardener.cloud"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "apiVersion: core.gardener.cloud/v1beta1
kind: CloudProfile
metadata: {name: c}
spec:
  kubernetes:
    versions:
    - version: 1.34.2
      lifecycle:
      - classification: supported
    - version: 1.35.1
      stages: 3
  machineImages:
  - name: gardenlinux
    versions:
    - version: 1.0.0
      until: 2027
    - version: 1.1.0
      lifecycle: [{classification: preview}]
";

    #[test]
    fn each_deciding_field_has_its_line() {
        let folder = std::env::temp_dir().join(format!("terrarium-deciding-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for temporary files");
        let path = folder.join("c.yaml");
        std::fs::write(&path, PROFILE).expect("ours");
        let read = |version: &str| {
            let asked = ops::release::parse(version).expect("a version");
            let read = SimulatedManifests::read(std::slice::from_ref(&path), Some(&asked)).expect("manifests");
            let place = format!("{}:", path.display());
            read.deciding.iter().map(|line| line.replace(&place, "")).collect::<Vec<_>>()
        };
        let unknown = [
            "11: CloudProfile c: unknown field \"spec.kubernetes.versions[1].stages\", which may decide the answer",
            "16: CloudProfile c: unknown field \"spec.machineImages[0].versions[0].until\", which may decide the answer",
        ];
        assert_eq!(read("v1.149"), unknown);
        let unread = |line: usize, field: &str| {
            format!(
                "{line}: CloudProfile c: field {field:?} decides the answer and is of v1.137 and later, not of v1.136"
            )
        };
        let mut all = read("v1.136");
        let mut expected = unknown.map(str::to_owned).to_vec();
        expected.push(unread(8, "spec.kubernetes.versions[0].lifecycle"));
        expected.push(unread(18, "spec.machineImages[0].versions[1].lifecycle"));
        all.sort();
        expected.sort();
        assert_eq!(all, expected);
        std::fs::remove_dir_all(folder).expect("ours");
    }
}
