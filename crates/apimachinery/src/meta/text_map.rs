// SPDX-License-Identifier: Apache-2.0
//! Small maps from text to text, such as labels and annotations.

use std::fmt;
use std::ops::Index;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A small map from text to text, in order of the keys.
///
/// Copies share the entries until one of them is changed; an empty one takes no memory. Look-ups are binary searches.
#[derive(Clone, Default)]
pub struct TextMap(Option<Arc<Vec<(String, String)>>>);

/// The entries of a [`TextMap`], in order of the keys.
pub(crate) type Iter<'a> =
    std::iter::Map<std::slice::Iter<'a, (String, String)>, fn(&'a (String, String)) -> (&'a String, &'a String)>;

impl TextMap {
    /// Creates an empty map.
    pub const fn new() -> Self {
        Self(None)
    }

    fn entries(&self) -> &[(String, String)] {
        self.0.as_ref().map_or(&[], |entries| entries.as_slice())
    }

    fn entries_mut(&mut self) -> &mut Vec<(String, String)> {
        Arc::make_mut(self.0.get_or_insert_default())
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.entries().binary_search_by(|(present, _)| present.as_str().cmp(key))
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&String> {
        self.find(key).ok().map(|at| &self.entries()[at].1)
    }

    /// Returns the value of a key for changes.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut String> {
        let at = self.find(key).ok()?;
        Some(&mut self.entries_mut()[at].1)
    }

    /// True if the map has a key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.find(key).is_ok()
    }

    /// Sets a value; returns the previous one.
    pub fn insert(&mut self, key: String, value: String) -> Option<String> {
        match self.find(&key) {
            Ok(at) if self.entries()[at].1 == value => Some(value),
            Ok(at) => Some(std::mem::replace(&mut self.entries_mut()[at].1, value)),
            Err(at) => {
                self.entries_mut().insert(at, (key, value));
                None
            }
        }
    }

    /// Returns the value of a key, which is set to `default` if it is missing.
    pub fn get_or_insert(&mut self, key: &str, default: impl FnOnce() -> String) -> &mut String {
        let at = self.find(key).unwrap_or_else(|at| {
            self.entries_mut().insert(at, (key.to_owned(), default()));
            at
        });
        &mut self.entries_mut()[at].1
    }

    /// Removes a key; returns its value.
    pub fn remove(&mut self, key: &str) -> Option<String> {
        let at = self.find(key).ok()?;
        Some(self.entries_mut().remove(at).1)
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.0 = None;
    }

    /// Removes the entries for which `keep` returns false.
    pub fn retain(&mut self, mut keep: impl FnMut(&String, &String) -> bool) {
        if self.iter().any(|(key, value)| !keep(key, value)) {
            self.entries_mut().retain(|(key, value)| keep(key, value));
        }
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// True if the map is empty.
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// Returns the entries in order of the keys.
    pub fn iter(&self) -> Iter<'_> {
        self.entries().iter().map(|(key, value)| (key, value))
    }

    /// Returns the keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &String> + ExactSizeIterator + Clone {
        self.entries().iter().map(|(key, _)| key)
    }

    /// Returns the values, in order of the keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &String> + ExactSizeIterator + Clone {
        self.entries().iter().map(|(_, value)| value)
    }
}

impl PartialEq for TextMap {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other) || own == other,
            _ => self.entries() == other.entries(),
        }
    }
}

impl Eq for TextMap {}

impl PartialOrd for TextMap {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TextMap {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.entries().cmp(other.entries())
    }
}

impl fmt::Debug for TextMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Index<&str> for TextMap {
    type Output = String;

    fn index(&self, key: &str) -> &String {
        self.get(key).unwrap_or_else(|| panic!("there is no key {key:?}"))
    }
}

impl FromIterator<(String, String)> for TextMap {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<const N: usize> From<[(String, String); N]> for TextMap {
    fn from(entries: [(String, String); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl Extend<(String, String)> for TextMap {
    fn extend<I: IntoIterator<Item = (String, String)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl IntoIterator for TextMap {
    type Item = (String, String);
    type IntoIter = std::vec::IntoIter<(String, String)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.map(Arc::unwrap_or_clone).unwrap_or_default().into_iter()
    }
}

impl<'a> IntoIterator for &'a TextMap {
    type Item = (&'a String, &'a String);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl Serialize for TextMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de> Deserialize<'de> for TextMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(std::collections::BTreeMap::<String, String>::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// An operation on a map.
    #[derive(Clone, Debug)]
    enum Step {
        Insert(String, String),
        Remove(String),
        Default(String),
        Retain(char),
        Clear,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let key = "[a-d]{1,2}";
        let step = prop_oneof![
            6 => (key, "[x-z]").prop_map(|(key, value)| Step::Insert(key, value)),
            3 => key.prop_map(Step::Remove),
            1 => key.prop_map(Step::Default),
            1 => prop::char::range('a', 'd').prop_map(Step::Retain),
            1 => Just(Step::Clear),
        ];
        prop::collection::vec(step, 0..40)
    }

    proptest! {
        /// The map behaves like a `BTreeMap`, and earlier copies do not change.
        #[test]
        fn text_map_behaves_like_a_btree_map(steps in steps()) {
            let (mut map, mut model) = (TextMap::new(), BTreeMap::<String, String>::new());
            for step in steps {
                let (copy, before) = (map.clone(), model.clone());
                match step {
                    Step::Insert(key, value) => {
                        prop_assert_eq!(map.insert(key.clone(), value.clone()), model.insert(key, value));
                    }
                    Step::Remove(key) => prop_assert_eq!(map.remove(&key), model.remove(&key)),
                    Step::Default(key) => {
                        map.get_or_insert(&key, || "d".to_owned()).push('!');
                        model.entry(key).or_insert_with(|| "d".to_owned()).push('!');
                    }
                    Step::Retain(first) => {
                        map.retain(|key, _| key.starts_with(first));
                        model.retain(|key, _| key.starts_with(first));
                    }
                    Step::Clear => {
                        map.clear();
                        model.clear();
                    }
                }
                prop_assert!(map.iter().eq(model.iter()));
                prop_assert!(copy.iter().eq(before.iter()));
                prop_assert_eq!(copy == map, before == model);
                prop_assert_eq!(copy.cmp(&map), before.cmp(&model));
                prop_assert_eq!(map.is_empty(), model.is_empty());
            }
            let text = serde_json::to_string(&map).expect("a map of texts");
            prop_assert_eq!(&text, &serde_json::to_string(&model).expect("a map of texts"));
            prop_assert_eq!(serde_json::from_str::<TextMap>(&text).expect("a map of texts"), map);
        }
    }
}
