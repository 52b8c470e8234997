// SPDX-License-Identifier: Apache-2.0
//! Compares the fields and kinds that each release adds and removes with a table of facts.

use std::collections::BTreeSet;

use api::catalogue;
use apimachinery::catalogue::ResourceInfo;
use apimachinery::release::Release;
use apimachinery::schema::{EACH, Node};

const FACTS: &str = include_str!("fields/released.txt");

/// Releases that the facts are about: each is compared with its predecessor.
const MINORS: std::ops::RangeInclusive<u16> = 121..=149;

/// Adds the paths of all fields below a node.
fn collect(node: &Node, before: &str, paths: &mut BTreeSet<String>) {
    match node {
        Node::List(item) | Node::Map(item) => collect(item, &format!("{before}{EACH}."), paths),
        node => {
            for field in node.as_object().into_iter().flat_map(|schema| &schema.fields) {
                let path = format!("{before}{}", field.name);
                collect(&field.node, &format!("{path}."), paths);
                paths.insert(path);
            }
        }
    }
}

/// Gardener's and machine-controller-manager's kinds and fields of a release, as `GROUP/VERSION KIND PATH`; the kind itself has
/// the path `-`. Kubernetes' own kinds are the same in every release, and the schema of a CustomResourceDefinition is recursive.
fn served(release: Release) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let rows = catalogue::all().iter().chain([catalogue::controller_deployments_view()]);
    let is_own = |row: &&ResourceInfo| row.group.ends_with(".gardener.cloud") || row.group == "machine.sapcloud.io";
    let own = rows.filter(is_own).map(|row| row.at(release));
    for row in own.filter(ResourceInfo::is_served) {
        let mut paths = BTreeSet::new();
        collect(&row.node(), "", &mut paths);
        let name = format!("{}/{} {}", row.group, row.version, row.kind);
        all.insert(format!("{name} -"));
        all.extend(paths.iter().map(|path| format!("{name} {path}")));
    }
    all
}

/// Returns the members of a difference that are not below another member.
fn tops(difference: &BTreeSet<String>) -> BTreeSet<String> {
    let is_top = |line: &&String| {
        let (kind, path) = line.rsplit_once(' ').expect("a path");
        let parents = path.match_indices('.').map(|(at, _)| format!("{kind} {}", &path[..at]));
        let is_below =
            parents.chain([format!("{kind} -")]).any(|parent| parent != **line && difference.contains(&parent));
        !is_below
    };
    difference.iter().filter(is_top).cloned().collect()
}

/// Returns the facts with a word (`since`, `until`) for a release.
fn facts(word: &str, minor: u16) -> BTreeSet<String> {
    let end = format!("{word} {minor}");
    let is_it = |line: &&str| line.ends_with(&end) || line.contains(&format!("{end} "));
    let path = |line: &str| line.splitn(4, ' ').take(3).collect::<Vec<_>>().join(" ");
    FACTS.lines().filter(|line| !line.starts_with('#')).filter(is_it).map(path).collect()
}

#[test]
fn each_release_adds_and_removes_its_documented_fields() {
    let mut count = 0;
    let mut before = served(Release(MINORS.start() - 1));
    for minor in MINORS {
        let now = served(Release(minor));
        let added = tops(&now.difference(&before).cloned().collect());
        let removed = tops(&before.difference(&now).cloned().collect());
        assert_eq!(added, facts("since", minor), "added by 1.{minor}");
        assert_eq!(removed, facts("until", minor), "removed by 1.{minor}");
        count += added.len() + removed.len();
        before = now;
    }
    let lines = FACTS.lines().filter(|line| !line.starts_with('#'));
    let words: usize = lines.map(|line| line.matches(" since ").count() + line.matches(" until ").count()).sum();
    assert_eq!(count, words, "every fact is about one of these releases");
    assert!(count >= 160, "{count} changes");
}
