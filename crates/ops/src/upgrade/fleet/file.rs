// SPDX-License-Identifier: Apache-2.0
//! LANDSCAPE.yaml: component names as in the field, each with one version or a list.

use domain::skew::{Component, Instance};

use super::plan::KEYS;
use super::texts::{Document, Node};
use super::{Fleet, Place};
use crate::Error;
use crate::spelling::nearest;

/// Key of the extensions, which are listed by name.
const EXTENSIONS: &str = "extensions";
/// Key of the version that last operated the Garden.
const GARDEN: &str = "garden";

/// Returns the component of a key.
pub(super) fn component(key: &str) -> Option<Component> {
    match key {
        EXTENSIONS => Some(Component::Extension),
        _ => Component::named(key),
    }
}

/// Returns the key of a component.
pub const fn key(component: Component) -> &'static str {
    match component {
        Component::Extension => EXTENSIONS,
        _ => component.name(),
    }
}

/// Reads a landscape.
///
/// # Errors
/// The file is invalid; the error has file and line.
pub(super) fn read(file: &str, text: String, fleet: &mut Fleet) -> Result<(), Error> {
    let document = Document::read(file, &text)?;
    read_node(&document, &document.root, "", fleet)?;
    fleet.texts.push((file.to_owned(), text));
    Ok(())
}

/// Reads a landscape below the path `start`. Its text is the next one in the fleet's list of texts.
pub(super) fn read_node(document: &Document<'_>, node: &Node, below: &str, fleet: &mut Fleet) -> Result<(), Error> {
    let Some(entries) = node.entries() else {
        return Err(document.error(below, "expected components of Gardener, each with its version").into());
    };
    let text = fleet.texts.len();
    let no_version =
        |path: &str, what: &str| document.error(path, format!("{what} has no version: it is left out")).to_string();
    let place = |path| Place::In { text, path };
    for (name, node) in entries {
        let path = if below.is_empty() { name.clone() } else { format!("{below}.{name}") };
        let is_known = name == GARDEN || component(name).is_some();
        if is_known && node.is_empty() {
            fleet.notes.push(no_version(&path, &format!("`{name}`")));
            continue;
        }
        if name == GARDEN {
            let mut versions = versions(document, node, &path)?;
            if versions.len() > 1 {
                return Err(document.error(&path, "there is one Garden at most, and it has one version").into());
            }
            if let Some((version, path)) = versions.pop() {
                fleet.landscape.garden = Some(version);
                fleet.garden_place = Some(place(path));
            }
            continue;
        }
        let Some(component) = component(name) else {
            let what = document.error(&path, format!("`{name}` is not a component of Gardener"));
            let known = Component::ALL.map(key).into_iter().chain([GARDEN]);
            let hint = match name.as_str() {
                _ if KEYS.contains(&name.as_str()) => {
                    "that is a plan: `terrarium upgrade check -f` reads it".to_owned()
                }
                _ => nearest(name, known),
            };
            return Err(Error::input(what.to_string(), hint));
        };
        if !matches!(component, Component::Gardenlet | Component::Extension) {
            for (version, path) in versions(document, node, &path)? {
                fleet.add(Instance::new(component, &version), place(path));
            }
            continue;
        }
        let Some(owners) = node.entries() else {
            let of = if component == Component::Gardenlet { "seeds" } else { "names" };
            let example = format!("{name}: {{a: 1.37.2}}");
            return Err(Error::input(
                document.error(&path, format!("`{name}` has {of}, each with a version")).to_string(),
                format!("write it as {example}"),
            ));
        };
        for (owner, node) in owners {
            let path = format!("{path}[{owner}]");
            if node.is_empty() {
                fleet.notes.push(no_version(&path, &format!("`{owner}` of `{name}`")));
                continue;
            }
            for (version, path) in versions(document, node, &path)? {
                fleet.add(Instance::owned(component, owner, &version), place(path));
            }
        }
    }
    Ok(())
}

/// Reads one version, a list of versions or nothing; each version with its path.
fn versions(document: &Document<'_>, node: &Node, path: &str) -> Result<Vec<(String, String)>, Error> {
    match node {
        Node::Empty => Ok(Vec::new()),
        Node::Text(version) => Ok(vec![(version.clone(), path.to_owned())]),
        Node::Map(_) => Err(document.error(path, "expected a version, or a list of them").into()),
        Node::List(all) => all
            .iter()
            .enumerate()
            .map(|(index, one)| match one {
                Node::Text(version) => Ok((version.clone(), format!("{path}[{index}]"))),
                _ => Err(document.error(&format!("{path}[{index}]"), "expected a version").into()),
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut fleet = Fleet::default();
        let actual = match read("f.yaml", text.to_owned(), &mut fleet) {
            Err(failure) => format!("error {failure}, hint {}", failure.hint()),
            Ok(()) => {
                let lines: Vec<String> = (fleet.landscape.instances.iter().enumerate())
                    .map(|(index, one)| {
                        let name = fleet.name_of(index).unwrap_or_else(|| "-".to_owned());
                        let line = fleet.origin(index).expect("it is written").line;
                        format!("{} {name} {} {line}", one.component.name(), one.version)
                    })
                    .chain(fleet.landscape.garden.iter().map(|garden| format!("garden {garden}")))
                    .collect();
                lines.join("; ")
            }
        };
        assert_eq!(actual, expected, "{text}");
    }

    #[test]
    fn a_landscape_is_read_with_its_lines() {
        check(
            "# mine\ngardener-apiserver: [1.37.2, 1.120]\ngardener-scheduler: v1.37.2\ngardenlet:\n  a: 1.37.2\n  b:\n  - \
             1.36.9\n  - 1.37.0\nextensions: {local: 1.36.0}\ngarden: 1.37.2\ngardener-operator: []\n",
            "gardener-apiserver 0 1.37.2 2; gardener-apiserver 1 1.120 2; gardener-scheduler - v1.37.2 3; gardenlet a \
             1.37.2 5; gardenlet b 1.36.9 7; gardenlet b 1.37.0 8; extension local 1.36.0 9; garden 1.37.2",
        );
        check("{\"gardener-scheduler\": \"1.37.2\"}", "gardener-scheduler - 1.37.2 1");
        check("", "");
    }

    #[test]
    fn a_component_without_a_version_is_noted() {
        for nothing in ["", "~", "[]", "{}"] {
            let mut fleet = Fleet::default();
            let text = format!(
                "gardener-apiserver: 1.37.2\ngardener-scheduler: {nothing}\ngardenlet:\n  a: 1.37.2\n  b: \
                 {nothing}\nextensions: {nothing}\ngarden: {nothing}\n"
            );
            read("f.yaml", text, &mut fleet).unwrap_or_else(|error| panic!("{nothing}: {error}"));
            assert_eq!(fleet.landscape.instances.len(), 2, "{nothing}");
            assert_eq!(fleet.landscape.garden, None, "{nothing}");
            assert_eq!(
                fleet.notes,
                [
                    "f.yaml:2: `gardener-scheduler` has no version: it is left out",
                    "f.yaml:5: `b` of `gardenlet` has no version: it is left out",
                    "f.yaml:6: `extensions` has no version: it is left out",
                    "f.yaml:7: `garden` has no version: it is left out",
                ],
                "{nothing}"
            );
        }
    }

    #[test]
    fn errors_of_a_landscape_file_name_the_line() {
        check(
            "gardener-apiserver: 1.37.2\n\ngardenerscheduler: 1.37.2\n",
            "error f.yaml:3: `gardenerscheduler` is not a component of Gardener, hint the nearest is `gardener-scheduler`",
        );
        check(
            "gardenlet: 1.37.2\n",
            "error f.yaml:1: `gardenlet` has seeds, each with a version, hint write it as gardenlet: {a: 1.37.2}",
        );
        check("gardener-apiserver: {a: 1.37.2}\n", "error f.yaml:1: expected a version, or a list of them, hint ");
        check("gardener-apiserver:\n- 1.37.2\n- [1]\n", "error f.yaml:3: expected a version, hint ");
        check(
            "garden: [1.37.2, 1.37.3]\n",
            "error f.yaml:1: there is one Garden at most, and it has one version, hint ",
        );
        check("- 1.37.2\n", "error f.yaml:1: expected components of Gardener, each with its version, hint ");
        check(
            "steps: []\n",
            "error f.yaml:1: `steps` is not a component of Gardener, hint that is a plan: `terrarium upgrade check -f` reads it",
        );
    }
}
