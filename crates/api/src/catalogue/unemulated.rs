// SPDX-License-Identifier: Apache-2.0
//! Fields that are served and have no effect, by topic. Their descriptions end with [`MARK`], in `kubectl explain` as well.
//!
//! The fields of gardenlet's `logging` are not listed: no schema is served for its configuration.

/// End of the description of a field that is served and has no effect.
pub const MARK: &str = "Served; not emulated.";

/// Fields of a kind that are served and have no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unemulated {
    /// Feature to which the fields belong.
    pub topic: &'static str,
    /// API group of the kind.
    pub group: &'static str,
    /// Kind; a kind of another version has the same fields.
    pub kind: &'static str,
    /// Paths of the fields from the root of an object, `[]` for each item of a list. A path that ends with `.*` stands for all
    /// fields of its parent, an empty one for the kind.
    pub paths: &'static [&'static str],
}

const CORE: &str = "core.gardener.cloud";
const EXTENSIONS: &str = "extensions.gardener.cloud";
const OPERATOR: &str = "operator.gardener.cloud";

const SELF_HOSTED: &str = "self-hosted Shoots";
const LIVE_MIGRATION: &str = "live migration of control planes";
const VERTICAL_AUTOSCALING: &str = "vertical pod autoscaler";
const ZONE_PINNING: &str = "zone pinning of control planes";

const fn of(
    topic: &'static str,
    group: &'static str,
    kind: &'static str,
    paths: &'static [&'static str],
) -> Unemulated {
    Unemulated { topic, group, kind, paths }
}

/// All such fields.
pub const UNEMULATED: &[Unemulated] = &[
    of(SELF_HOSTED, CORE, "BackupBucket", &["spec.shootRef"]),
    of(SELF_HOSTED, CORE, "BackupEntry", &["spec.shootRef"]),
    of(SELF_HOSTED, CORE, "ControllerInstallation", &["spec.shootRef"]),
    of(SELF_HOSTED, CORE, "ControllerRegistration", &["spec.resources.[].continuousEndpointUpdate"]),
    of(
        SELF_HOSTED,
        CORE,
        "Shoot",
        &[
            "spec.provider.workers.[].controlPlane",
            "spec.provider.workers.[].controlPlane.*",
            "spec.provider.workers.[].controlPlane.exposure.*",
            "spec.provider.workers.[].controlPlane.exposure.extension.*",
        ],
    ),
    of(
        SELF_HOSTED,
        EXTENSIONS,
        "SelfHostedShootExposure",
        &["", "spec", "spec.*", "spec.endpoints.[].*", "status", "status.*"],
    ),
    of(SELF_HOSTED, OPERATOR, "Extension", &["spec.resources.[].continuousEndpointUpdate"]),
    of(LIVE_MIGRATION, CORE, "Shoot", &["status.liveMigration", "status.liveMigration.*"]),
    of(
        VERTICAL_AUTOSCALING,
        CORE,
        "Shoot",
        &[
            "spec.kubernetes.clusterAutoscaler.autoscaling",
            "spec.kubernetes.clusterAutoscaler.autoscaling.*",
            "spec.kubernetes.etcd.events.autoscaling",
            "spec.kubernetes.etcd.main.autoscaling",
            "spec.kubernetes.kubeAPIServer.autoscaling",
            "spec.kubernetes.verticalPodAutoscaler",
            "spec.kubernetes.verticalPodAutoscaler.*",
        ],
    ),
    of(
        VERTICAL_AUTOSCALING,
        CORE,
        "Seed",
        &["spec.settings.verticalPodAutoscaler", "spec.settings.verticalPodAutoscaler.*"],
    ),
    of(
        VERTICAL_AUTOSCALING,
        OPERATOR,
        "Garden",
        &[
            "spec.runtimeCluster.settings.verticalPodAutoscaler",
            "spec.runtimeCluster.settings.verticalPodAutoscaler.*",
            "spec.virtualCluster.etcd.events.autoscaling",
            "spec.virtualCluster.etcd.main.autoscaling",
            "spec.virtualCluster.kubernetes.kubeAPIServer.autoscaling",
        ],
    ),
    of(ZONE_PINNING, CORE, "Seed", &["spec.settings.zoneSelection", "spec.settings.zoneSelection.*"]),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use apimachinery::schema::{EACH, Field, Node};

    use super::*;
    use crate::catalogue;

    /// Fields at a path; for a path that ends with `*`, all fields of the struct.
    fn fields(node: &Node, path: &[&str]) -> Vec<Field> {
        match (node, path) {
            (Node::List(inner) | Node::Map(inner), [EACH, rest @ ..]) => fields(inner, rest),
            (node, ["*"]) => node.as_object().map(|schema| schema.fields.clone()).unwrap_or_default(),
            (node, [name, rest @ ..]) => {
                let Some(field) = node.as_object().and_then(|schema| schema.field(name)) else { return Vec::new() };
                if rest.is_empty() { vec![field.clone()] } else { fields(&field.node, rest) }
            }
            (_, []) => Vec::new(),
        }
    }

    #[test]
    fn descriptions_of_unemulated_fields_end_with_the_mark() {
        let mut wrong = Vec::new();
        for Unemulated { group, kind, paths, .. } in UNEMULATED {
            let row = catalogue::all().iter().find(|row| row.group == *group && row.kind == *kind).expect("a row");
            let node = (row.schema)();
            for path in *paths {
                let described: Vec<&str> = if path.is_empty() {
                    node.as_object().map(|schema| schema.description).into_iter().collect()
                } else {
                    let found = fields(&node, &path.split('.').collect::<Vec<_>>());
                    found.iter().map(|field| field.description).collect()
                };
                if described.is_empty() || described.iter().any(|text| !text.ends_with(MARK)) {
                    wrong.push(format!("{kind} {path}: {described:?}"));
                }
            }
        }
        assert_eq!(wrong, Vec::<String>::new());
    }

    /// Collects the names of marked fields of a kind and their parents, as far as a struct's fields are its own.
    fn marked(node: &Node, path: &str, depth: usize, found: &mut BTreeSet<String>) {
        match node {
            Node::List(inner) | Node::Map(inner) => marked(inner, &format!("{path}.[]"), depth, found),
            _ if depth == 0 => {}
            node => {
                for field in node.as_object().into_iter().flat_map(|schema| &schema.fields) {
                    let path = format!("{path}.{}", field.name);
                    if field.description.ends_with(MARK) {
                        found.insert(path.trim_start_matches('.').to_owned());
                    }
                    marked(&field.node, &path, depth - 1, found);
                }
            }
        }
    }

    #[test]
    fn every_marked_field_is_in_the_table() {
        let copies = ["ManagedSeedSet", "Cluster"];
        let mut count = 0;
        for row in catalogue::all().iter().filter(|row| !copies.contains(&row.kind)) {
            let mut found = BTreeSet::new();
            marked(&(row.schema)(), "", 9, &mut found);
            let rows = || UNEMULATED.iter().filter(|one| one.group == row.group && one.kind == row.kind);
            for path in found {
                let is_below = |known: &&str| {
                    let start = known.trim_end_matches('*').trim_end_matches('.');
                    path == start || path.starts_with(start) && path[start.len()..].starts_with('.')
                };
                assert!(rows().flat_map(|one| one.paths).any(is_below), "{} {path} has no row", row.kind);
                count += 1;
            }
        }
        assert!(count > 60, "{count}");
    }
}
