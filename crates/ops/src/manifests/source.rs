// SPDX-License-Identifier: Apache-2.0
//! Line of an object's field in a file.
//!
//! Lines are not recorded while objects are read. The line of an invalid field is found by reading the text again up to
//! that field.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use yaml::{Content, Node};

/// Text from which an object was read.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    text: &'a str,
    line: usize,
    form: Form,
    /// Index of the object among the `items` of a List.
    item: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Yaml,
    Json,
}

impl<'a> Source<'a> {
    /// YAML text that begins at a line, counted from 1.
    pub const fn yaml(text: &'a str, line: usize) -> Self {
        Self { text, line, form: Form::Yaml, item: None }
    }

    /// JSON text that begins at a line, counted from 1.
    pub(super) const fn json(text: &'a str, line: usize) -> Self {
        Self { text, line, form: Form::Json, item: None }
    }

    /// Item of the List in the text; for nested Lists the index of the outer one is kept.
    #[must_use]
    pub(super) const fn item(self, index: usize) -> Self {
        if self.item.is_some() { self } else { Self { item: Some(index), ..self } }
    }

    /// Line of a field, for example `spec.provider.workers[0].name`, or of its closest existing ancestor.
    pub fn line_of(&self, path: &str) -> Option<usize> {
        let mut steps = Vec::new();
        if let Some(index) = self.item {
            steps.extend([Step::Name("items".to_owned()), Step::Index(index)]);
        }
        steps.extend(steps_of(path));
        let line = match self.form {
            Form::Yaml => match yaml::nodes(self.text) {
                Ok(node) => line_in(&node, &steps),
                Err(error) => error.line()?,
            },
            Form::Json => Seek(&steps).deserialize(&mut serde_json::Deserializer::from_str(self.text)).err()?.line(),
        };
        (line > 0).then(|| self.line + line - 1)
    }
}

/// Line of a field in a node: that of its key, or of the node at which the path ends.
fn line_in(node: &Node, steps: &[Step]) -> usize {
    match (steps.split_first(), &node.content) {
        (Some((Step::Name(name), rest)), Content::Map(entries)) => {
            match (entries.iter().find(|entry| entry.key == *name), rest.is_empty()) {
                (Some(entry), true) => entry.line,
                (Some(entry), false) => line_in(&entry.value, rest),
                (None, _) => node.line,
            }
        }
        (Some((Step::Index(index), rest)), Content::List(items)) => {
            items.get(*index).map_or(node.line, |item| line_in(item, rest))
        }
        _ => node.line,
    }
}

/// Step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Name(String),
    Index(usize),
}

/// Splits a path: `workers[0].labels[a/b]` is a name, an index and two names. Text after empty brackets is dropped.
fn steps_of(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let Some((key, after)) = inner.split_once(']') else { break };
            match key.parse() {
                _ if key.is_empty() => break,
                Ok(index) => steps.push(Step::Index(index)),
                Err(_) => steps.push(Step::Name(key.to_owned())),
            }
            rest = after.strip_prefix('.').unwrap_or(after);
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            steps.push(Step::Name(rest[..end].to_owned()));
            let after = &rest[end..];
            rest = after.strip_prefix('.').unwrap_or(after);
        }
    }
    steps
}

/// Visitor that fails at a field of JSON, so that the parser's error has the field's position.
struct Seek<'a>(&'a [Step]);

fn found<T, E: serde::de::Error>() -> Result<T, E> {
    Err(E::custom("here"))
}

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the field that is looked for")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((Step::Name(name), rest)) = self.0.split_first() else { return found() };
        while let Some(is_wanted) = map.next_key_seed(Key { name, is_last: rest.is_empty() })? {
            if is_wanted {
                return map.next_value_seed(Seek(rest));
            }
            map.next_value::<IgnoredAny>()?;
        }
        found()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Some((Step::Index(index), rest)) = self.0.split_first() else { return found() };
        for _ in 0..*index {
            if items.next_element::<IgnoredAny>()?.is_none() {
                return found();
            }
        }
        items.next_element_seed(Seek(rest))?;
        found()
    }
}

/// Key of a map; the search ends at the last key of the path.
struct Key<'a> {
    name: &'a str,
    is_last: bool,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<bool, E> {
        if key == self.name && self.is_last { found() } else { Ok(key == self.name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOOT: &str = "apiVersion: v1
kind: Shoot
metadata: {name: a, labels: {a.b/c: d}}
spec:
  provider:
    # A comment.
    workers:
    - name: one
      machine:
        type: small
    - {name: two, zones: [x,
        y]}
";

    #[track_caller]
    fn check(source: Source<'_>, path: &str, expected: usize) {
        assert_eq!(source.line_of(path), Some(expected), "{path}");
    }

    #[test]
    fn a_field_has_a_line_and_one_that_is_missing_has_that_of_its_parent() {
        let source = Source::yaml(SHOOT, 10);
        check(source, "kind", 11);
        check(source, "metadata.labels[a.b/c]", 12);
        check(source, "spec.provider.workers", 16);
        check(source, "spec.provider.workers[0].machine.type", 19);
        check(source, "spec.provider.workers[0].machine.image.name", 19);
        check(source, "spec.provider.workers[0].maximum", 17);
        check(source, "spec.provider.workers[1]", 20);
        check(source, "spec.provider.workers[1].zones[1]", 21);
        check(source, "spec.provider.workers[7]", 17);
        check(source, "spec.provider.workers.zones", 17);
        check(source, "spec.provider.workers[].zones", 16);
        assert_eq!(Source::yaml("a: [", 1).line_of("a[0].b").map(|line| line > 0), Some(true));
    }

    #[test]
    fn items_of_lists_and_json_have_lines_too() {
        let list = "kind: List\nitems:\n- kind: A\n- kind: B\n  spec:\n    c: 1\n";
        check(Source::yaml(list, 1).item(1), "spec.c", 6);
        check(Source::yaml(list, 1).item(0), "spec.c", 3);
        let list = "{\"items\": [\n{\"kind\": \"A\"},\n{\"kind\": \"B\",\n\"spec\": {\n\"c\": 1}}\n]}";
        check(Source::json(list, 1).item(1), "spec.c", 5);
    }
}
