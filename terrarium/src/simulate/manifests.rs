// SPDX-License-Identifier: Apache-2.0
//! Manifests of a simulation without fields that the landscape's release does not know.

use std::path::PathBuf;

use api::catalogue;
use apimachinery::catalogue::ResourceInfo;
use apimachinery::decode;
use domain::skew::GardenerVersion;
use ops::inventory::ignored::{self, Ignored};
use ops::manifests::{self, Manifest, ManifestError, Origin, WantedKinds};
use ops::release::Chosen;

use super::apply;
use crate::failure::Failure;

/// Manifests, and the release of the simulation.
pub(super) struct SimulatedManifests {
    pub(super) manifests: Vec<Manifest>,
    pub(super) chosen: Chosen,
    /// Notes about ignored fields.
    pub(super) notes: Vec<String>,
    /// True if a profile has life cycles, for which gardener-apiserver needs a feature gate.
    pub(super) has_life_cycles: bool,
}

impl SimulatedManifests {
    /// Reads files and folders; `asked`: requested version.
    ///
    /// # Errors
    /// A file cannot be read, a kind is not served, or an unknown field may affect the simulation.
    pub(super) fn read(paths: &[PathBuf], asked: Option<&GardenerVersion>) -> Result<Self, Failure> {
        let mut ignored = Ignored::default();
        // Each manifest with its row if it has unknown fields.
        let mut read: Vec<(Manifest, Option<&'static ResourceInfo>)> = Vec::new();
        let mut deciding: Vec<ManifestError> = Vec::new();
        manifests::read_each(paths, &mut WantedKinds::all(), &mut |manifest, source| {
            apply::resource_of(&manifest)?;
            let Some(row) = row_of(&manifest) else {
                read.push((manifest, None));
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
                    let subject = format!("{} `{}`", manifest.kind(), manifest.name());
                    ManifestError::at(&at(&field), format!("{subject}: {what}"))
                }));
            }
            read.push((manifest, has_unknown.then_some(row)));
            Ok(())
        })?;
        if let Some(first) = deciding.into_iter().next() {
            let hint = "no release that is known here has this field: correct it, or take it out if it changes nothing";
            return Err(Failure::input(first.to_string(), hint));
        }
        let shoots = read.iter().filter(|(manifest, _)| manifest.kind() == "Shoot").map(|(manifest, _)| {
            let version = manifest.text(&["status", "gardener", "version"]).unwrap_or_default();
            (format!("{}/{}", manifest.namespace(), manifest.name()), version)
        });
        let chosen = Chosen::for_said(asked, shoots);
        let mut manifests = Vec::with_capacity(read.len());
        for (mut manifest, unknown) in read {
            let other = || row_of(&manifest).filter(|row| ignored.has_others(row.kind, chosen.release));
            if let Some(row) = unknown.or_else(other) {
                let unread = ignored::unread_life_cycles(&manifest.object, row, chosen.release);
                if let Some((_, what)) = unread.into_iter().next() {
                    let what = format!("{}: {} `{}`: {what}", manifest.origin, manifest.kind(), manifest.name());
                    let hint = "choose a release that reads it with --gardener-version, or take the field out";
                    return Err(Failure::input(what, hint));
                }
                manifest.object = ignored::at_release(manifest.object, row, chosen.release);
            }
            manifests.push(manifest);
        }
        let has_life_cycles = manifests
            .iter()
            .any(|manifest| row_of(manifest).is_some_and(|row| ignored::has_life_cycle(&manifest.object, row)));
        Ok(Self { manifests, notes: ignored.notes(chosen.release), chosen, has_life_cycles })
    }
}

/// Returns the row of a manifest whose kind belongs to Gardener.
fn row_of(manifest: &Manifest) -> Option<&'static ResourceInfo> {
    let (group, version) = manifest.api_version().rsplit_once('/')?;
    catalogue::find_kind(group, version, manifest.kind()).filter(|row| row.group.ends_with(".gardener.cloud"))
}
