// SPDX-License-Identifier: Apache-2.0
//! Classification of request paths.

use apimachinery::catalogue::ResourceInfo;

/// Part of a path below `/clusters/NAME`.
#[derive(Clone, Debug)]
pub(super) enum Route {
    /// Path `/apis`.
    Groups,
    /// Path `/apis/GROUP`.
    Group(String),
    /// `/api/v1`, `/apis/GROUP/VERSION`
    Resources(String, String),
    /// Objects of a resource.
    Objects(Target),
}

/// Objects of a resource; texts that the path leaves out are empty.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) cluster: String,
    pub(super) row: &'static ResourceInfo,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) subresource: String,
}

impl Target {
    /// Formats a request as `shoots garden-dev/s`, with the subresource after the resource, and another cluster than
    /// `garden` before the verb.
    pub(super) fn line(&self, verb: &str) -> String {
        let cluster = if self.cluster == super::GARDEN { String::new() } else { format!("{}: ", self.cluster) };
        let subresource = if self.subresource.is_empty() { String::new() } else { format!("/{}", self.subresource) };
        let object = match (&*self.namespace, &*self.name) {
            ("", "") => String::new(),
            ("", name) => format!(" {name}"),
            (namespace, "") => format!(" {namespace}/"),
            (namespace, name) => format!(" {namespace}/{name}"),
        };
        format!("{cluster}{verb} {}{subresource}{object}", self.row.plural)
    }
}

/// Parses a path into cluster and route; `None` for paths that no server of a landscape serves. `rows` returns the
/// resources of a cluster.
pub(super) fn parse(path: &str, rows: impl Fn(&str) -> Vec<&'static ResourceInfo>) -> Option<(String, Route)> {
    let mut segments = path.strip_prefix("/clusters/")?.split('/');
    let cluster = segments.next()?.to_owned();
    let (group, version) = match segments.next()? {
        "api" => ("", segments.next()?),
        "apis" => {
            let Some(group) = segments.next() else { return Some((cluster, Route::Groups)) };
            let Some(version) = segments.next() else { return Some((cluster, Route::Group(group.to_owned()))) };
            (group, version)
        }
        _ => return None,
    };
    let rest: Vec<&str> = segments.collect();
    let (namespace, rest) = match *rest {
        [] => return Some((cluster, Route::Resources(group.to_owned(), version.to_owned()))),
        // Namespaces are objects, too, and have subresources.
        ["namespaces", namespace, resource, ..] if !matches!(resource, "status" | "finalize") => {
            (namespace, &rest[2..])
        }
        _ => ("", &rest[..]),
    };
    let is_row = |row: &&ResourceInfo| row.group == group && row.version == version && row.plural == rest[0];
    let row = rows(&cluster).into_iter().find(is_row)?;
    let text = |position: usize| rest.get(position).copied().unwrap_or_default().to_owned();
    let target =
        Target { cluster: cluster.clone(), row, namespace: namespace.to_owned(), name: text(1), subresource: text(2) };
    Some((cluster, Route::Objects(target)))
}
