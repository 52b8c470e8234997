// SPDX-License-Identifier: Apache-2.0
//! Ignored fields of manifests: fields of no release, or only of releases other than the chosen one. Each is reported in
//! one note.
//!
//! **Tour.** [`deciding`] unknown fields that may change the answer, which are not ignored.

mod deciding;

use std::collections::BTreeMap;

use apimachinery::catalogue::{ReleasedField, ResourceInfo};
use apimachinery::decode;
use apimachinery::release::{Release, Releases};
use serde_json::Value;

use crate::manifests::Origin;
use crate::renamed_fields::{self, first_place};

/// Maximum number of fields that are listed; the others are counted.
const TOLD: usize = 20;

/// Maximum number of unknown fields of an object that a decoder reports.
const DECODED: usize = 100;

/// Ignored fields, each with its number of objects.
#[derive(Clone, Debug, Default)]
pub struct Ignored {
    /// Unknown fields by kind and path, with `[]` for each item.
    unknown: BTreeMap<(String, String), Occurrences>,
    /// Fields that only some releases have, by kind and path.
    released: BTreeMap<(String, String), (Releases, Occurrences)>,
}

/// Occurrences of a field.
#[derive(Clone, Debug)]
struct Occurrences {
    count: usize,
    /// Place of the field in the first of them.
    first: Origin,
}

/// Formats the occurrences for a kind: `in 40 Shoots (first: all.yaml:17)`.
impl Occurrences {
    fn shown(&self, kind: &str) -> String {
        match (self.count, kind.ends_with('s')) {
            (1, _) => format!("in 1 {kind} ({})", self.first),
            (count, false) => format!("in {count} {kind}s (first: {})", self.first),
            (count, true) => format!("in {count} {kind}es (first: {})", self.first),
        }
    }
}

impl Ignored {
    /// Records the ignored fields of an object that was decoded with the fields of all releases. `unknown`: the decoder's
    /// unknown fields; `place`: place of a field. Returns messages about unknown fields that may decide an answer, each
    /// after its path.
    pub fn take(
        &mut self,
        row: &ResourceInfo,
        tree: &Value,
        unknown: &[String],
        place: &dyn Fn(&str) -> Origin,
    ) -> Vec<(String, String)> {
        let kind = row.kind;
        let mut deciding = Vec::new();
        let mut counted: Vec<String> = Vec::new();
        for path in unknown {
            let general = without_indices(path);
            if deciding::decides(kind, &general) {
                deciding.push((path.clone(), format!("unknown field {path:?}, which may decide the answer")));
            } else if !counted.contains(&general) {
                let seen = || Occurrences { count: 0, first: place(path) };
                self.unknown.entry((kind.to_owned(), general.clone())).or_insert_with(seen).count += 1;
                counted.push(general);
            }
        }
        if unknown.len() >= DECODED {
            deciding.push((String::new(), format!("{DECODED} unknown fields or more: not all of them are looked at")));
        }
        let renamed = row.life.renamed_fields;
        let is_read = |field: &ReleasedField| renamed.iter().any(|one| [one.former, one.new].contains(&field.path));
        for field in row.fields.iter().filter(|field| !is_read(field)) {
            let Some(path) = first_place(tree, field.path) else { continue };
            let general = field.path.join(".").replace(".[]", "[]");
            let seen = || (field.releases, Occurrences { count: 0, first: place(&path) });
            self.released.entry((kind.to_owned(), general)).or_insert_with(seen).1.count += 1;
        }
        deciding
    }

    /// True if some object of a kind has a field that a release does not have.
    pub fn has_others(&self, kind: &str, release: Release) -> bool {
        self.released.iter().any(|((of, _), (releases, _))| of == kind && !releases.contain(release))
    }

    /// Notes about fields that a release does not have, one for each field.
    pub fn notes(&self, release: Release) -> Vec<String> {
        let unknown = self
            .unknown
            .iter()
            .map(|((kind, path), seen)| format!("unknown field {path} {}; ignored", seen.shown(kind)));
        let others: Vec<_> = self.released.iter().filter(|(_, (releases, _))| !releases.contain(release)).collect();
        let is_told = |kind: &str, path: &str| {
            others.iter().any(|((of, above), _)| {
                of == kind && path.strip_prefix(above.as_str()).is_some_and(|rest| rest.starts_with(['.', '[']))
            })
        };
        let others =
            others.iter().filter(|((kind, path), _)| !is_told(kind, path)).map(|((kind, path), (releases, seen))| {
                let (shown, has) = (seen.shown(kind), words(*releases));
                let counts = if deciding::decides(kind, path) {
                    let minor =
                        if releases.since > release.0 { releases.since } else { releases.until.unwrap_or(1) - 1 };
                    format!("; it may decide the answer: --gardener-version v1.{minor} reads it")
                } else {
                    String::new()
                };
                format!("field {path} {shown} is of {has}; ignored by {release}{counts}")
            });
        let mut notes: Vec<String> = unknown.chain(others).collect();
        if notes.len() > TOLD {
            let left = notes.len() - TOLD;
            notes.truncate(TOLD);
            notes.push(format!("{left} more fields are ignored"));
        }
        notes
    }
}

/// Messages about life cycles of a profile's versions that a release does not read, each after its first place: without its
/// stages an expired version counts as supported.
pub fn unread_life_cycles(tree: &Value, row: &ResourceInfo, release: Release) -> Vec<(String, String)> {
    let unread = row.fields.iter().filter(|field| !field.releases.contain(release));
    unread
        .filter(|field| deciding::is_life_cycle(row.kind, field.path))
        .filter_map(|field| {
            let path = first_place(tree, field.path)?;
            let what =
                format!("field {path:?} decides the answer and is of {}, not of {release}", words(field.releases));
            Some((path, what))
        })
        .collect()
}

/// First places of life cycles of a profile's versions, at most one for each list of versions.
pub fn life_cycles(tree: &Value, row: &ResourceInfo) -> Vec<String> {
    let fields = row.fields.iter().filter(|field| deciding::is_life_cycle(row.kind, field.path));
    fields.filter_map(|field| first_place(tree, field.path)).collect()
}

/// Returns a tree without the fields that a release does not have; renamed ones have the name of the release.
pub fn at_release(mut tree: Value, row: &ResourceInfo, release: Release) -> Value {
    renamed_fields::at_release(&mut tree, row, release);
    match decode::tree(tree.clone(), &row.at(release).node()) {
        Ok(decoded) => decoded.tree,
        Err(_) => tree,
    }
}

/// Formats a range of releases: `v1.136 and later`, `releases before v1.142`, `v1.121 to v1.141`.
fn words(releases: Releases) -> String {
    match (releases.since, releases.until) {
        (since, None) => format!("v1.{since} and later"),
        (0, Some(until)) => format!("releases before v1.{until}"),
        (since, Some(until)) => format!("v1.{since} to v1.{}", until - 1),
    }
}

/// Removes indices of items from a text: `spec.workers[12].zones` becomes `spec.workers[].zones`.
pub(crate) fn without_indices(path: &str) -> String {
    let mut general = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('[') {
        general.push_str(before);
        general.push('[');
        rest = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
    }
    general.push_str(rest);
    general
}

#[cfg(test)]
mod tests {
    use api::catalogue;
    use serde_json::json;

    use super::*;

    fn shoots() -> &'static ResourceInfo {
        catalogue::find_kind("core.gardener.cloud", "v1beta1", "Shoot").expect("a row")
    }

    /// Returns the notes of a release and the deciding fields of Shoots that are read from trees.
    fn read(trees: &[Value], release: u16) -> (Vec<String>, Vec<String>) {
        let (mut ignored, mut deciding) = (Ignored::default(), Vec::new());
        for (index, tree) in trees.iter().enumerate() {
            let decoded = decode::tree(tree.clone(), &(shoots().schema)()).expect("a Shoot");
            let place = |path: &str| Origin { file: format!("f.yaml {path}"), line: index + 1 };
            let found = ignored.take(shoots(), &decoded.tree, &decoded.unknown, &place);
            deciding.extend(found.into_iter().map(|(_, text)| text));
        }
        (ignored.notes(Release(release)), deciding)
    }

    #[test]
    fn unknown_fields_are_reported_once_with_number_and_place() {
        let pool = |name: &str| json!({ "name": name, "podSubnets": ["a"] });
        let one = json!({ "spec": { "fast": true, "provider": { "workers": [pool("a"), pool("b")] } } });
        let other = json!({ "spec": { "provider": { "workers": [{ "name": "a" }, pool("b")] } } });
        assert_eq!(
            read(&[other, one], 149),
            (
                vec![
                    "unknown field spec.fast in 1 Shoot (f.yaml spec.fast:2); ignored".to_owned(),
                    "unknown field spec.provider.workers[].podSubnets in 2 Shoots (first: f.yaml \
                     spec.provider.workers[1].podSubnets:1); ignored"
                        .to_owned(),
                ],
                Vec::new()
            )
        );
    }

    #[test]
    fn fields_of_other_releases_are_reported_by_topmost_field() {
        let maintenance = json!({ "autoRotation": { "credentials": { "sshKeypair": { "rotationPeriod": "672h" } } } });
        let shoot = json!({ "spec": { "maintenance": maintenance, "accessRestrictions": [], "kubernetes": { "kubeAPIServer": {
            "encryptionConfig": { "resources": ["secrets"] } } } } });
        let notes = |release: u16| read(std::slice::from_ref(&shoot), release).0;
        assert_eq!(notes(135), [] as [&str; 0]);
        assert_eq!(
            notes(120),
            [
                "field spec.maintenance.autoRotation in 1 Shoot (f.yaml spec.maintenance.autoRotation:1) is of v1.135 and later; \
              ignored by v1.120; it may decide the answer: --gardener-version v1.135 reads it"
            ]
        );
        assert_eq!(notes(85).len(), 3);
    }

    #[test]
    fn life_cycles_are_not_ignored_before_137() {
        let row = catalogue::find_kind("core.gardener.cloud", "v1beta1", "CloudProfile").expect("a row");
        let staged = json!({ "version": "1.34.7", "lifecycle": [{ "classification": "supported" }] });
        let tree = json!({ "spec": { "kubernetes": { "versions": [{ "version": "1.35.0" }, staged] } } });
        assert_eq!(
            unread_life_cycles(&tree, row, Release(136)),
            [(
                "spec.kubernetes.versions[1].lifecycle".to_owned(),
                "field \"spec.kubernetes.versions[1].lifecycle\" decides the answer and is of v1.137 and later, not of v1.136"
                    .to_owned()
            )]
        );
        assert_eq!(unread_life_cycles(&tree, row, Release(137)), []);
        assert_eq!(life_cycles(&tree, row), ["spec.kubernetes.versions[1].lifecycle"]);
        let plain = json!({ "spec": { "kubernetes": { "versions": [{ "version": "1.35.0" }] } } });
        assert_eq!(unread_life_cycles(&plain, row, Release(120)), []);
        assert_eq!(life_cycles(&plain, row), [""; 0]);
    }

    #[test]
    fn too_many_unknown_fields_are_counted_and_may_decide() {
        let fields: serde_json::Map<String, Value> = (0..101).map(|index| (format!("f{index}"), json!(1))).collect();
        let (notes, deciding) = read(&[json!({ "spec": fields })], 149);
        assert_eq!((notes.len(), deciding.len()), (21, 1));
        assert_eq!(notes[20], "80 more fields are ignored");
    }

    #[test]
    fn a_tree_at_a_release_has_its_fields_only() {
        let tree = json!({ "spec": { "region": "r", "maintenance": { "autoRotation": {} } } });
        let spec = |release: u16| at_release(tree.clone(), shoots(), Release(release))["spec"]["maintenance"].clone();
        assert_eq!((spec(134), spec(135)), (json!({}), json!({ "autoRotation": {} })));
    }
}
