// SPDX-License-Identifier: Apache-2.0
//! Table of every resource that is served: names, columns, selectors, subresources, schema; one row per resource.
//!
//! Rows are grouped by file: Gardener's aggregated kinds, the kinds of CustomResourceDefinitions, and Kubernetes' own.
//! [`serves`] decides which logical clusters serve a row.

mod cells;
mod columns;
mod custom;
mod gardener;
mod kubernetes;
mod metric_cells;
mod pod_cells;
mod releases;
mod storage;
mod unemulated;
mod unread;
mod unstored;

use std::sync::LazyLock;

use apimachinery::Resource;
use apimachinery::catalogue::{Cell, Column, ResourceInfo};

use crate::cluster::{self, ClusterName};

pub use unemulated::{MARK, UNEMULATED, Unemulated};

static ALL: LazyLock<Vec<ResourceInfo>> = LazyLock::new(|| {
    let mut rows = gardener::rows();
    rows.extend(custom::rows());
    rows.extend(kubernetes::rows());
    rows.extend(storage::rows());
    rows.extend(unread::rows());
    rows.into_iter().map(columns::described).collect()
});

static REVIEWS: LazyLock<Vec<ResourceInfo>> = LazyLock::new(unstored::reviews);
static EVENTS: LazyLock<ResourceInfo> = LazyLock::new(|| columns::described(unstored::events()));
static AUTOSCALERS: LazyLock<ResourceInfo> = LazyLock::new(|| columns::described(unstored::autoscalers()));
static CONTROLLER_DEPLOYMENTS: LazyLock<ResourceInfo> = LazyLock::new(gardener::controller_deployments);

/// Rows of reviews: served by every cluster, never stored, only created. Not among [`all`].
pub fn reviews() -> &'static [ResourceInfo] {
    &REVIEWS
}

/// The row of Events of `events.k8s.io`, which are stored as those of `v1`. Not among [`all`].
pub fn events_view() -> &'static ResourceInfo {
    &EVENTS
}

/// The row of HorizontalPodAutoscalers of `autoscaling/v1`, which are stored as those of `v2`. Not among [`all`].
pub fn autoscalers_view() -> &'static ResourceInfo {
    &AUTOSCALERS
}

/// The row of ControllerDeployments of `core.gardener.cloud/v1beta1`, which are stored as those of `v1`. Not among [`all`].
pub fn controller_deployments_view() -> &'static ResourceInfo {
    &CONTROLLER_DEPLOYMENTS
}

/// Every row, in a fixed order: Gardener's aggregated kinds first, Kubernetes' own last.
pub fn all() -> &'static [ResourceInfo] {
    &ALL
}

/// Returns the row of a resource.
pub fn find(group: &str, version: &str, plural: &str) -> Option<&'static ResourceInfo> {
    all().iter().find(|row| row.group == group && row.version == version && row.plural == plural)
}

/// Returns the row of a kind, views included.
pub fn find_kind(group: &str, version: &str, kind: &str) -> Option<&'static ResourceInfo> {
    let views: [&'static ResourceInfo; 3] = [&EVENTS, &AUTOSCALERS, &CONTROLLER_DEPLOYMENTS];
    all().iter().chain(views).find(|row| row.group == group && row.version == version && row.kind == kind)
}

/// Returns the row of a typed kind.
///
/// # Panics
/// If the type has no row: a mistake in this crate.
pub fn of<K: Resource>() -> &'static ResourceInfo {
    find(K::GROUP, K::VERSION, K::PLURAL).expect("every typed kind has a row")
}

/// Groups of gardener-apiserver.
pub const AGGREGATED_GROUPS: [&str; 6] = [
    "authentication.gardener.cloud",
    "core.gardener.cloud",
    "operations.gardener.cloud",
    "security.gardener.cloud",
    "seedmanagement.gardener.cloud",
    "settings.gardener.cloud",
];

/// True if gardener-apiserver serves the row, behind the API server of cluster `garden`.
pub fn is_aggregated(row: &ResourceInfo) -> bool {
    AGGREGATED_GROUPS.contains(&row.group)
}

/// True if a logical cluster serves the row; `*` stands for all clusters.
///
/// | group | clusters |
/// |---|---|
/// | Gardener's aggregated groups | `garden` |
/// | `operator.gardener.cloud`, `terrarium.dev` | `runtime` |
/// | `extensions.gardener.cloud`, `resources.gardener.cloud` | `runtime`, `seed--NAME` |
/// | `machine.sapcloud.io` | `seed--NAME` |
/// | Kubernetes' own | every one |
pub fn serves(cluster: &str, row: &ResourceInfo) -> bool {
    if cluster == "*" {
        return true;
    }
    match row.group {
        group if AGGREGATED_GROUPS.contains(&group) => cluster == cluster::GARDEN,
        "operator.gardener.cloud" | "terrarium.dev" => cluster == cluster::RUNTIME,
        "extensions.gardener.cloud" | "resources.gardener.cloud" => {
            matches!(ClusterName::parse(cluster), Some(ClusterName::Runtime | ClusterName::Seed(_)))
        }
        "machine.sapcloud.io" => cluster::seed(cluster).is_some(),
        _ => true,
    }
}

/// Column `Age`.
const AGE: Column = Column::new("Age", "date", Cell::Path(".metadata.creationTimestamp"), 0);

/// Column `Age` of Kubernetes' own kinds, whose printers format the age as text.
const PRINTED_AGE: Column = Column::new("Age", "age", Cell::Path(".metadata.creationTimestamp"), 0);

/// A text column that is always shown.
const fn column(name: &'static str, cell: Cell) -> Column {
    Column::new(name, "string", cell, 0)
}

/// A text column shown only with `-o wide`.
const fn wide(name: &'static str, cell: Cell) -> Column {
    Column::new(name, "string", cell, 1)
}

/// A column of numbers.
const fn integer(name: &'static str, path: &'static str) -> Column {
    Column::new(name, "integer", Cell::Path(path), 0)
}

/// A column of numbers that a function computes.
const fn counted(name: &'static str, cell: fn(&serde_json::Value) -> serde_json::Value) -> Column {
    Column::new(name, "integer", Cell::Function(cell), 0)
}

/// A column with the value at a path.
const fn path(name: &'static str, path: &'static str) -> Column {
    column(name, Cell::Path(path))
}

/// The row of a typed kind, with defaults for the attributes that few rows set.
fn row<K: Resource>(short_names: &'static [&'static str], columns: &'static [Column]) -> ResourceInfo {
    bare(K::GROUP, K::VERSION, K::KIND, K::PLURAL, K::NAMESPACED, short_names, columns, K::node)
}

#[expect(clippy::too_many_arguments, reason = "the columns of a table")]
fn bare(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    namespaced: bool,
    short_names: &'static [&'static str],
    columns: &'static [Column],
    schema: fn() -> apimachinery::schema::Node,
) -> ResourceInfo {
    ResourceInfo {
        group,
        version,
        kind,
        plural,
        // Leaked once per row; the table lives as long as the process.
        singular: kind.to_ascii_lowercase().leak(),
        short_names,
        namespaced,
        columns,
        schema,
        fields: releases::fields(group, version, kind),
        attributes: releases::attributes(group, kind),
        life: releases::life(group, version, plural),
        ..ResourceInfo::BASE
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_row_is_unique_and_its_schema_has_metadata() {
        let mut names = BTreeSet::new();
        for row in all() {
            assert!(names.insert((row.group, row.version, row.plural)), "{} is there twice", row.plural);
            let schema = (row.schema)();
            let schema = schema.as_object().unwrap_or_else(|| panic!("{} is a struct", row.kind));
            assert!(schema.field("metadata").is_some(), "{} has metadata", row.kind);
            assert_eq!(schema.name, row.kind);
        }
    }

    #[test]
    fn short_names_are_unique_within_a_cluster() {
        for cluster in ["garden", "runtime", "seed--a", "shoot--a--b"] {
            let mut names = BTreeSet::new();
            for row in all().iter().filter(|row| serves(cluster, row)) {
                for name in row.short_names {
                    assert!(names.insert(*name), "{name} means two resources in {cluster}");
                }
            }
        }
    }

    #[test]
    fn rows_are_served_in_their_cluster() {
        let served = |cluster, group, version, plural| serves(cluster, find(group, version, plural).expect("a row"));
        assert!(served("garden", "core.gardener.cloud", "v1beta1", "shoots"));
        assert!(!served("seed--a", "core.gardener.cloud", "v1beta1", "shoots"));
        assert!(served("seed--a", "machine.sapcloud.io", "v1alpha1", "machines"));
        assert!(!served("garden", "extensions.gardener.cloud", "v1alpha1", "workers"));
        assert!(served("shoot--a--b", "", "v1", "nodes"));
        assert!(served("runtime", "terrarium.dev", "v1alpha1", "clusters"));
        assert!(!served("garden", "terrarium.dev", "v1alpha1", "clusters"));
    }

    #[test]
    fn paths_of_selectors_and_heartbeats_exist_in_the_schema() {
        for row in all() {
            // The first path with a value is used; `=TEXT` is the value if none has one.
            let alternatives = row.field_selectors.iter().flat_map(|(_, path)| path.split('|'));
            let paths = alternatives.filter(|path| !path.starts_with('='));
            for path in paths.chain(row.heartbeat_fields.iter().copied()) {
                let mut node = (row.schema)();
                for segment in path.trim_start_matches('.').split('.') {
                    let name = segment.trim_end_matches("[]");
                    let found = node.as_object().and_then(|schema| schema.field(name)).map(|field| field.node.clone());
                    node = found.unwrap_or_else(|| panic!("{} has no {path}", row.kind));
                    if let apimachinery::schema::Node::List(items) = node.clone()
                        && segment.ends_with("[]")
                    {
                        node = *items;
                    }
                }
            }
        }
    }
}
