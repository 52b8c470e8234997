// SPDX-License-Identifier: Apache-2.0
//! Kinds by the names that kubectl takes: `shoots`, `shoot`, `Shoot`, `shoots.core.gardener.cloud`, short names.

use api::catalogue;
use apimachinery::catalogue::ResourceInfo;

use crate::failure::Failure;
pub(crate) use ops::read::path;
use ops::spelling::distance;

/// Returns the kind with a name in a cluster (by its name in paths, or `*`).
///
/// # Errors
/// No kind of the cluster has the name.
pub(crate) fn find(cluster: &str, name: &str) -> Result<&'static ResourceInfo, Failure> {
    let (first, group) = match name.split_once('.') {
        Some((first, group)) => (first, Some(group)),
        None => (name, None),
    };
    let first = first.to_ascii_lowercase();
    let is_named = |row: &&ResourceInfo| {
        first == row.plural
            || first == row.singular
            || first == row.kind.to_ascii_lowercase()
            || row.short_names.contains(&first.as_str())
    };
    // `deployments.apps` or `deployments.v1.apps`.
    let is_of_group = |row: &&ResourceInfo| {
        group.is_none_or(|group| {
            group == row.group
                || group.strip_prefix(row.version).and_then(|rest| rest.strip_prefix('.')) == Some(row.group)
        })
    };
    let rows = || catalogue::all().iter().filter(|row| catalogue::serves(cluster, row));
    rows().filter(is_of_group).find(is_named).ok_or_else(|| {
        let mut near: Vec<&str> = rows().map(|row| row.plural).filter(|plural| distance(&first, plural) <= 3).collect();
        near.sort_by_key(|plural| distance(&first, plural));
        let hint = near.first().map_or_else(String::new, |plural| format!("the nearest is `{plural}`"));
        let place =
            if cluster == "*" { "no cluster has a kind".to_owned() } else { format!("cluster {cluster} has no kind") };
        Failure::input(format!("{place} `{name}`"), hint)
    })
}

/// Group and version of a kind, for example `core.gardener.cloud/v1beta1` or `v1`.
pub(crate) fn api_version(row: &ResourceInfo) -> String {
    if row.group.is_empty() { row.version.to_owned() } else { format!("{}/{}", row.group, row.version) }
}

/// Name of a kind with its group, for example `shoot.core.gardener.cloud` or `pod`.
pub(crate) fn full_name(row: &ResourceInfo) -> String {
    if row.group.is_empty() { row.singular.to_owned() } else { format!("{}.{}", row.singular, row.group) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_names_that_kubectl_takes() {
        for (cluster, name, plural) in [
            ("garden", "shoots", "shoots"),
            ("garden", "Shoot", "shoots"),
            ("garden", "shoot.core.gardener.cloud", "shoots"),
            ("garden", "shoots.v1beta1.core.gardener.cloud", "shoots"),
            ("runtime", "deploy", "deployments"),
            ("seed--local", "machines", "machines"),
        ] {
            assert_eq!(find(cluster, name).map(|row| row.plural), Ok(plural), "{name}");
        }
        assert_eq!(
            find("garden", "shots").map(|row| row.plural),
            Err(Failure::input("cluster garden has no kind `shots`", "the nearest is `shoots`"))
        );
        assert!(find("runtime", "shoots").is_err(), "Gardener's kinds are in the garden only");
        assert!(find("garden", "shoots.apps").is_err());
    }

    #[test]
    fn paths_have_a_namespace_where_the_kind_has_one() {
        let shoots = find("garden", "shoots").expect("a kind");
        let all = path("garden", shoots, None, None);
        assert_eq!(all, "/clusters/garden/apis/core.gardener.cloud/v1beta1/shoots");
        assert_eq!(path("garden", shoots, Some("a"), Some("b")), all.replace("shoots", "namespaces/a/shoots/b"));
        let nodes = find("garden", "nodes").expect("a kind");
        assert_eq!(path("garden", nodes, Some("a"), None), "/clusters/garden/api/v1/nodes");
    }
}
