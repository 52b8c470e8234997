// SPDX-License-Identifier: Apache-2.0
//! Groups and versions of a server, in the order of preference for clients.

use apimachinery::catalogue::ResourceInfo;

use crate::kind::is_part;
use crate::routes::Routes;

const VERBS: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const READ_VERBS: &[&str] = &["get", "list"];
const OBJECT_VERBS: &[&str] = &["get", "patch", "update"];

/// Kubernetes' own groups, the preferred first; all others follow by name. An ambiguous name, `events`, means the first
/// group that has it.
const ORDER: [&str; 19] = [
    "",
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "flowcontrol.apiserver.k8s.io",
];

/// Position of a group in the order.
pub(super) fn place(group: &str) -> (usize, &str) {
    (ORDER.iter().position(|known| *known == group).unwrap_or(ORDER.len()), group)
}

/// A group.
pub(super) struct Group<'a> {
    pub(super) name: &'a str,
    /// The preferred version first.
    pub(super) versions: Vec<Version<'a>>,
}

/// A version of a group.
pub(super) struct Version<'a> {
    pub(super) name: &'a str,
    /// Resources in the order of their names.
    pub(super) resources: Vec<Resource<'a>>,
}

/// A resource.
pub(super) struct Resource<'a> {
    pub(super) info: &'a ResourceInfo,
    pub(super) verbs: &'a [&'a str],
    /// Subresources in the order of their names.
    pub(super) subresources: Vec<Subresource<'a>>,
}

/// A subresource, and the kind of its request and response.
pub(super) struct Subresource<'a> {
    pub(super) name: &'a str,
    pub(super) group: &'a str,
    pub(super) version: &'a str,
    pub(super) kind: &'a str,
    pub(super) verbs: &'a [&'a str],
}

/// Returns the groups that a cluster serves, by a server itself and its delegate; `all`: also those that their releases lack.
pub(super) fn groups<'a>(own: &'a Routes, delegate: Option<&'a Routes>, cluster: &str, all: bool) -> Vec<Group<'a>> {
    let served = |routes: &'a Routes| {
        let verbs = |info: &ResourceInfo| if info.read_only { READ_VERBS } else { VERBS };
        let resources = routes.resources().map(move |info| (routes, info, verbs(info)));
        let reviews = routes.reviews().map(move |info| (routes, info, &["create"][..]));
        resources.chain(reviews).filter(move |(_, info, _)| routes.shows(cluster, info, all))
    };
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (routes, info, verbs) in std::iter::once(own).chain(delegate).flat_map(served) {
        let resource = Resource { info, verbs, subresources: subresources(routes, info) };
        let group =
            entry(&mut groups, |group| group.name == info.group, || Group { name: info.group, versions: Vec::new() });
        let version = entry(
            &mut group.versions,
            |version| version.name == info.version,
            || Version { name: info.version, resources: Vec::new() },
        );
        version.resources.push(resource);
    }
    groups.sort_by_key(|group| place(group.name));
    for group in &mut groups {
        group.versions.sort_by_key(|version| preference(version.name));
        for version in &mut group.versions {
            version.resources.sort_by_key(|resource| resource.info.plural);
        }
    }
    groups
}

fn entry<T>(list: &mut Vec<T>, is: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> &mut T {
    let index = list.iter().position(is).unwrap_or_else(|| {
        list.push(make());
        list.len() - 1
    });
    &mut list[index]
}

fn subresources<'a>(routes: &'a Routes, info: &'a ResourceInfo) -> Vec<Subresource<'a>> {
    let own = |name: &'a str, verbs: &'a [&'a str]| Subresource {
        name,
        group: info.group,
        version: info.version,
        kind: info.kind,
        verbs,
    };
    let mut all: Vec<Subresource<'a>> = Vec::new();
    let served = |name: &&&str| routes.subresource(info, name).is_some() || is_part(name) && info.serves(name);
    for name in info.subresources.iter().filter(served) {
        all.push(match routes.subresource(info, name) {
            Some(hook) => {
                let facts = hook.facts();
                Subresource { name, group: facts.group, version: facts.version, kind: facts.kind, verbs: facts.verbs }
            }
            None if *name == "scale" => {
                Subresource { name, group: "autoscaling", version: "v1", kind: "Scale", verbs: OBJECT_VERBS }
            }
            None if *name == "finalize" => own(name, &["update"]),
            None => own(name, OBJECT_VERBS),
        });
    }
    all.sort_by_key(|subresource| subresource.name);
    all
}

/// Sort key of a version: stable versions before beta before alpha, newer ones first.
fn preference(version: &str) -> (u8, std::cmp::Reverse<u32>) {
    let stage = match version {
        version if version.contains("alpha") => 2,
        version if version.contains("beta") => 1,
        _ => 0,
    };
    let digits: String = version.chars().skip(1).take_while(char::is_ascii_digit).collect();
    (stage, std::cmp::Reverse(digits.parse().unwrap_or(0)))
}
