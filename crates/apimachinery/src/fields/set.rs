// SPDX-License-Identifier: Apache-2.0
//! Sets of paths, and `fieldsV1`, their form in objects.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::path::Element;

/// A set of paths. A path may be in it without any longer path, and vice versa.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    nodes: BTreeMap<Element, Node>,
}

/// Part of a set at an element and below; never empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Node {
    /// True if the path that ends here is in the set.
    is_member: bool,
    below: Set,
}

impl Node {
    fn is_empty(&self) -> bool {
        !self.is_member && self.below.is_empty()
    }
}

impl Set {
    /// Creates a set of these paths of fields.
    pub fn of_names(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Vec<Element> = path.iter().map(|name| Element::field(name)).collect();
            set.insert(&path);
        }
        set
    }

    /// True if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds a path; the empty path is in no set.
    pub fn insert(&mut self, path: &[Element]) {
        let Some((first, rest)) = path.split_first() else { return };
        let node = self.nodes.entry(first.clone()).or_default();
        if rest.is_empty() {
            node.is_member = true;
        } else {
            node.below.insert(rest);
        }
    }

    /// True if a path is in the set.
    pub fn has(&self, path: &[Element]) -> bool {
        let Some((first, rest)) = path.split_first() else { return false };
        self.nodes.get(first).is_some_and(|node| if rest.is_empty() { node.is_member } else { node.below.has(rest) })
    }

    /// True if the path of one element is in the set.
    pub(super) fn has_element(&self, element: &Element) -> bool {
        self.nodes.get(element).is_some_and(|node| node.is_member)
    }

    /// Returns the rests of the paths after an element, if there are any.
    pub(super) fn below(&self, element: &Element) -> Option<&Self> {
        self.nodes.get(element).map(|node| &node.below).filter(|below| !below.is_empty())
    }

    /// Returns the last elements of its paths as they are written in `fieldsV1`, each once: a text that has none of
    /// them holds no path of this set. An element with several JSON forms is cut before the difference.
    pub(super) fn ends(&self) -> BTreeSet<String> {
        let mut ends = BTreeSet::new();
        self.collect_ends(&mut ends);
        ends
    }

    fn collect_ends(&self, ends: &mut BTreeSet<String>) {
        for (element, node) in &self.nodes {
            if node.is_member {
                let mut key = String::new();
                element.write(&mut key);
                let quoted = Value::from(key).to_string();
                let plain = quoted.split(['<', '>', '&', '\u{2028}', '\u{2029}']).next().unwrap_or_default();
                // `\\u003c` is the form in which a scalar was written first.
                ends.insert(plain.split("\\\\u").next().unwrap_or_default().to_owned());
            }
            node.below.collect_ends(ends);
        }
    }

    /// Returns every path that is in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut out = self.clone();
        for (element, node) in &other.nodes {
            let into = out.nodes.entry(element.clone()).or_default();
            into.is_member |= node.is_member;
            into.below = into.below.union(&node.below);
        }
        out
    }

    /// Returns every path that is in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.map(|element, node| {
            let other = other.nodes.get(element)?;
            let is_member = node.is_member && other.is_member;
            Some(Node { is_member, below: node.below.intersection(&other.below) })
        })
    }

    /// Returns every path that is not in the other set; longer paths than those of the other stay.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.map(|element, node| match other.nodes.get(element) {
            None => Some(node.clone()),
            Some(other) => {
                let is_member = node.is_member && !other.is_member;
                Some(Node { is_member, below: node.below.difference(&other.below) })
            }
        })
    }

    /// Returns the set without the paths whose first step is an unwanted field.
    #[must_use]
    pub fn retain(&self, wanted: impl Fn(&str) -> bool) -> Self {
        self.map(|element, node| element.name().is_none_or(&wanted).then(|| node.clone()))
    }

    fn map(&self, change: impl Fn(&Element, &Node) -> Option<Node>) -> Self {
        let changed = self.nodes.iter().filter_map(|(element, node)| {
            let node = change(element, node).filter(|node| !node.is_empty())?;
            Some((element.clone(), node))
        });
        Self { nodes: changed.collect() }
    }

    /// Adds every element that `step` reports as named and that has paths below; `step` also returns the place below.
    pub(super) fn with_parents<P: Copy>(&self, place: P, step: &impl Fn(P, &Element) -> Option<(P, bool)>) -> Self {
        self.map(|element, node| {
            let Some((place, is_named)) = step(place, element) else { return Some(node.clone()) };
            let is_member = node.is_member || is_named && !node.below.is_empty();
            Some(Node { is_member, below: node.below.with_parents(place, step) })
        })
    }

    /// Returns the paths, in the order of upstream: those that end at a level before longer ones.
    pub fn paths(&self) -> Vec<Vec<Element>> {
        let mut out = Vec::new();
        self.collect(&mut Vec::new(), &mut out);
        out
    }

    fn collect(&self, prefix: &mut Vec<Element>, out: &mut Vec<Vec<Element>>) {
        for (element, _) in self.nodes.iter().filter(|(_, node)| node.is_member) {
            out.push(prefix.iter().chain([element]).cloned().collect());
        }
        for (element, node) in &self.nodes {
            prefix.push(element.clone());
            node.below.collect(prefix, out);
            prefix.pop();
        }
    }

    /// Formats the set as `fieldsV1`.
    pub fn to_fields_v1(&self) -> String {
        let mut out = String::with_capacity(256);
        self.write(&mut out, false);
        out
    }

    fn write(&self, out: &mut String, is_member: bool) {
        out.push('{');
        if is_member {
            out.push_str("\".\":{}");
        }
        let mut is_first = !is_member;
        let mut key = String::new();
        for (element, node) in &self.nodes {
            if !is_first {
                out.push(',');
            }
            is_first = false;
            key.clear();
            element.write(&mut key);
            out.push_str(&Value::from(key.as_str()).to_string());
            out.push(':');
            node.below.write(out, node.is_member && !node.below.is_empty());
        }
        out.push('}');
    }

    /// Parses `fieldsV1`. Elements of an unknown kind are left out.
    ///
    /// # Errors
    /// A text that is not such a set.
    pub fn from_fields_v1(text: &str) -> Result<Self, String> {
        let tree: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match &tree {
            Value::Object(fields) => Self::read(fields),
            Value::Null => Ok(Self::default()),
            _ => Err("a set of fields must be an object".to_owned()),
        }
    }

    fn read(fields: &Map<String, Value>) -> Result<Self, String> {
        let mut set = Self::default();
        for (key, value) in fields.iter().filter(|(key, _)| *key != ".") {
            let Some(element) = Element::read(key)? else { continue };
            let Value::Object(inner) = value else { return Err(format!("{key} must be an object")) };
            let below = Self::read(inner)?;
            let is_member = below.is_empty() || inner.contains_key(".");
            set.nodes.insert(element, Node { is_member, below });
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn round_trips(text: &str, paths: &[&str]) {
        let set = Set::from_fields_v1(text).expect("a set");
        let found: Vec<String> = set.paths().iter().map(|path| super::super::path::text_of(path)).collect();
        assert_eq!(found, paths);
        assert_eq!(set.to_fields_v1(), text);
        assert!(set.paths().iter().all(|path| set.has(path)));
    }

    #[test]
    fn fields_v1_is_read_and_written() {
        round_trips("{}", &[]);
        round_trips(r#"{"f:data":{".":{},"f:a":{},"f:b.c/d":{}}}"#, &[".data", ".data.a", ".data.b.c/d"]);
        round_trips(
            r#"{"f:metadata":{"f:finalizers":{"v:\"a\"":{}}},"f:spec":{"f:workers":{"k:{\"name\":\"w\",\"port\":80}":{".":{},"f:minimum":{}}}}}"#,
            &[
                r#".metadata.finalizers[="a"]"#,
                r#".spec.workers[name="w",port=80]"#,
                r#".spec.workers[name="w",port=80].minimum"#,
            ],
        );
        round_trips(r#"{"f:a":{"i:2":{},"i:10":{}}}"#, &[".a[2]", ".a[10]"]);
        round_trips(r#"{"f:p":{"k:{\"port\":80}":{},"k:{\"port\":443}":{}}}"#, &[".p[port=80]", ".p[port=443]"]);
    }

    #[test]
    fn invalid_sets_are_refused_and_unknown_elements_are_left_out() {
        assert!(Set::from_fields_v1("{").is_err());
        assert!(Set::from_fields_v1("[]").is_err());
        assert!(Set::from_fields_v1(r#"{"spec":{}}"#).is_err());
        assert!(Set::from_fields_v1(r#"{"f:spec":1}"#).is_err());
        assert!(Set::from_fields_v1(r#"{"k:1":{}}"#).is_err());
        let set = Set::from_fields_v1(r#"{"x:spec":{},"f:a":{}}"#).expect("a set");
        assert_eq!(set.to_fields_v1(), r#"{"f:a":{}}"#);
    }

    #[test]
    fn sets_are_combined() {
        let set = |text: &str| Set::from_fields_v1(text).expect("a set");
        let (one, two) = (set(r#"{"f:a":{".":{},"f:b":{}},"f:c":{}}"#), set(r#"{"f:a":{},"f:d":{}}"#));
        assert_eq!(one.union(&two).to_fields_v1(), r#"{"f:a":{".":{},"f:b":{}},"f:c":{},"f:d":{}}"#);
        assert_eq!(one.intersection(&two).to_fields_v1(), r#"{"f:a":{}}"#);
        assert_eq!(one.difference(&two).to_fields_v1(), r#"{"f:a":{"f:b":{}},"f:c":{}}"#);
        assert_eq!(two.difference(&two), Set::default());
        assert_eq!(one.retain(|name| name != "a").to_fields_v1(), r#"{"f:c":{}}"#);
    }
}
