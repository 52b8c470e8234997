// SPDX-License-Identifier: Apache-2.0
//! Feature gates, admission plugins and API versions of Kubernetes versions, as a release of gardener-apiserver knows them.
//!
//! The tables are generated (`cargo xtask kubernetes-gates`): an older release does not know the gates of a newer Kubernetes,
//! and a newer one forgets those of a Kubernetes that it does not support.
//!
//! Source: pkg/utils/validation/{features,admissionplugins,apigroups} @ v1.120.0 to v1.149.0.

use std::collections::BTreeMap;
use std::str::SplitWhitespace;
use std::sync::LazyLock;

use crate::release::{Release, Releases};
use crate::versions::Version;

/// Minors of Kubernetes 1.x: from the first, up to and without the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MinorRange {
    added: Option<u64>,
    removed: Option<u64>,
}

impl MinorRange {
    fn contains(self, version: &Version) -> bool {
        self.added.is_none_or(|minor| is_at_least(version, minor))
            && self.removed.is_none_or(|minor| !is_at_least(version, minor))
    }
}

fn is_at_least(version: &Version, minor: u64) -> bool {
    (version.major, version.minor) >= (1, minor)
}

/// Rows by name, each with the releases of Gardener that have it.
type Table<T> = BTreeMap<&'static str, Vec<(Releases, T)>>;

/// Reads a table of lines `NAME COLUMNS SINCE UNTIL`.
fn read<T>(text: &'static str, row: fn(&mut SplitWhitespace<'static>) -> Option<T>) -> Table<T> {
    let mut table = Table::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        let Some(value) = row(&mut words) else { continue };
        let mut minor = || words.next().and_then(|word| word.parse().ok());
        let releases = match (minor(), minor()) {
            (None, None) => Releases::ALL,
            (Some(since), None) => Releases::since(since),
            (None, Some(until)) => Releases::until(until),
            (Some(since), Some(until)) => Releases::between(since, until),
        };
        table.entry(name).or_insert_with(Vec::new).push((releases, value));
    }
    table
}

/// Row of a release; of several rows, that of the newest.
fn row<T: Copy>(table: &Table<T>, name: &str, release: Release) -> Option<T> {
    let rows = table.get(name)?;
    rows.iter().rev().find(|(releases, _)| releases.contain(release)).map(|(_, row)| *row)
}

fn minor(words: &mut SplitWhitespace<'static>) -> Option<u64> {
    words.next().and_then(|word| word.parse().ok())
}

/// A feature gate of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureGate {
    range: MinorRange,
    locked: Option<u64>,
    /// The value that it is locked to.
    pub default: bool,
}

impl FeatureGate {
    /// True if a Kubernetes version has the gate.
    pub fn is_supported(&self, version: &Version) -> bool {
        self.range.contains(version)
    }

    /// True if a Kubernetes version refuses another value than the default.
    pub fn is_locked(&self, version: &Version) -> bool {
        self.locked.is_some_and(|minor| is_at_least(version, minor))
    }
}

/// Feature gate by name; `None` if a release of gardener-apiserver does not know it.
pub fn feature_gate(name: &str, release: Release) -> Option<FeatureGate> {
    static GATES: LazyLock<Table<FeatureGate>> = LazyLock::new(|| read(include_str!("gates.txt"), gate));
    row(&GATES, name, release)
}

/// Columns `ADDED LOCKED REMOVED VALUE`.
fn gate(words: &mut SplitWhitespace<'static>) -> Option<FeatureGate> {
    let (added, locked, removed) = (minor(words), minor(words), minor(words));
    let default = words.next()? == "on";
    Some(FeatureGate { range: MinorRange { added, removed }, locked, default })
}

/// An admission plugin of the kube-apiserver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmissionPlugin {
    range: MinorRange,
    /// True if it cannot be disabled.
    pub required: bool,
    /// True if it is forbidden in a Shoot's configuration.
    pub forbidden: bool,
    /// True if it may have a config, in releases that check this ([`CONFIGS_ARE_CHECKED`]).
    pub allows_config: bool,
}

impl AdmissionPlugin {
    /// True if a Kubernetes version has the plugin.
    pub fn is_supported(&self, version: &Version) -> bool {
        self.range.contains(version)
    }
}

/// Releases that refuse a config for a plugin that takes none, and report forbidden plugins in an error of their own.
pub const CONFIGS_ARE_CHECKED: Releases = Releases::since(127);

/// Names of the forbidden admission plugins, in order.
pub const FORBIDDEN_ADMISSION_PLUGINS: [&str; 1] = ["SecurityContextDeny"];

/// Admission plugin by name; `None` if a release of gardener-apiserver does not know it.
pub fn admission_plugin(name: &str, release: Release) -> Option<AdmissionPlugin> {
    static PLUGINS: LazyLock<Table<AdmissionPlugin>> = LazyLock::new(|| read(include_str!("plugins.txt"), plugin));
    row(&PLUGINS, name, release)
}

/// Columns `ADDED REMOVED WORDS`.
fn plugin(words: &mut SplitWhitespace<'static>) -> Option<AdmissionPlugin> {
    let (added, removed) = (minor(words), minor(words));
    let words: Vec<&str> = words.next()?.split(',').collect();
    Some(AdmissionPlugin {
        range: MinorRange { added, removed },
        required: words.contains(&"required"),
        forbidden: words.contains(&"forbidden"),
        allows_config: words.contains(&"config"),
    })
}

/// A version of an API group (`batch/v1`), or a resource of one (`batch/v1/jobs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiVersion {
    range: MinorRange,
    required: bool,
    required_for_workerless: bool,
}

impl ApiVersion {
    /// True if a Kubernetes version has this API.
    pub fn is_supported(&self, version: &Version) -> bool {
        self.range.contains(version)
    }

    /// Kubernetes versions that have it, in upstream's format.
    pub fn supported_versions(&self) -> String {
        match (self.range.added, self.range.removed) {
            (Some(added), None) => format!("versions >= 1.{added}"),
            (None, Some(removed)) => format!("versions < 1.{removed}"),
            (Some(added), Some(removed)) => format!("versions >= 1.{added}, < 1.{removed}"),
            (None, None) => "all kubernetes versions".to_owned(),
        }
    }

    /// True if it cannot be disabled, in a Shoot with or without workers.
    pub const fn is_required(&self, workerless: bool) -> bool {
        if workerless { self.required_for_workerless } else { self.required }
    }
}

static API_VERSIONS: LazyLock<Table<ApiVersion>> = LazyLock::new(|| read(include_str!("groups.txt"), api));

/// Version of an API group or resource of one; `None` if a release of gardener-apiserver does not know it.
pub fn api_version(name: &str, release: Release) -> Option<ApiVersion> {
    row(&API_VERSIONS, name, release)
}

/// Resources of a version of an API group that a release knows, by name.
pub fn api_resources(group_version: &str, release: Release) -> impl Iterator<Item = (&'static str, ApiVersion)> {
    let names = API_VERSIONS.keys().copied();
    names
        .filter(move |name| name.strip_prefix(group_version).is_some_and(|rest| rest.starts_with('/')))
        .filter_map(move |name| Some((name, api_version(name, release)?)))
}

/// Columns `ADDED REMOVED WORDS`.
fn api(words: &mut SplitWhitespace<'static>) -> Option<ApiVersion> {
    let (added, removed) = (minor(words), minor(words));
    let words: Vec<&str> = words.next()?.split(',').collect();
    Some(ApiVersion {
        range: MinorRange { added, removed },
        required: words.contains(&"required"),
        required_for_workerless: words.contains(&"workerless"),
    })
}

#[cfg(test)]
mod tests;
