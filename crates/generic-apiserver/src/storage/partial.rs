// SPDX-License-Identifier: Apache-2.0
//! The log as a release sees it that does not have some fields: they are cut out of what is read, and put back into what
//! is written.
//!
//! ```text
//! log ──entry──▶ cut, and keep the value ──▶ fold of the server
//! log ◀─append── put the kept value back ◀── change of an object
//! ```
//!
//! A field goes when its parent goes. Unlike upstream: there an older gardener-apiserver that updates an object loses
//! what it does not know.

use std::collections::BTreeMap;
use std::sync::Arc;

use apimachinery::catalogue::ResourceInfo;
use bytes::Bytes;
use eventlog::log::Snapshot;
use eventlog::{Append, Entry, EventLog, Key, Revision, Sections, Verb};
use memchr::memmem;
use parking_lot::Mutex;

use super::lock;
use super::splice::Pairs;
use super::view::{self, Lens};

/// JSON names from the root of an object to a field.
type Path = &'static [&'static str];

/// The log as servers of these rows see it: the log itself if they know every field.
pub(crate) fn view<'a>(log: Arc<dyn EventLog>, rows: impl Iterator<Item = &'a ResourceInfo>) -> Arc<dyn EventLog> {
    let unknown: BTreeMap<Arc<str>, Vec<Path>> = rows
        .map(|row| (row.log_resource().into(), row.unknown_fields().collect::<Vec<_>>()))
        .filter(|(_, paths)| !paths.is_empty())
        .collect();
    if unknown.is_empty() { log } else { view::through(log, Fields { unknown, kept: Mutex::default() }) }
}

/// The fields that are cut, by resource, and what objects have in them.
struct Fields {
    unknown: BTreeMap<Arc<str>, Vec<Path>>,
    kept: Mutex<Kept>,
}

/// What objects had in unknown fields at a revision, the newest that was read.
#[derive(Default)]
struct Kept {
    at: Revision,
    values: BTreeMap<Key, Vec<(Path, Bytes)>>,
}

impl Fields {
    /// Cuts an object's unknown fields; what was in them.
    fn cut(&self, key: &Key, object: &mut Sections) -> Vec<(Path, Bytes)> {
        let mut values = Vec::new();
        for path in self.unknown.get(&key.resource).into_iter().flatten() {
            if let Some((without, value)) = cut(&object.parts[REST], path) {
                object.parts[REST] = without.into();
                values.push((*path, value));
            }
        }
        values
    }
}

impl Lens for Fields {
    fn concerns(&self, resource: &str) -> bool {
        self.unknown.contains_key(resource)
    }

    fn show(&self, key: &Key, object: &mut Sections) {
        self.cut(key, object);
    }

    fn show_new(&self, entry: &mut Entry) {
        let values = self.cut(&entry.key, &mut entry.object);
        let mut kept = lock(&self.kept);
        if entry.revision > kept.at {
            kept.at = entry.revision;
            if entry.verb == Verb::Delete || values.is_empty() {
                kept.values.remove(&entry.key);
            } else {
                kept.values.insert(entry.key.clone(), values);
            }
        }
    }

    fn show_state(&self, revision: Revision, state: &mut Snapshot) {
        let mut values = BTreeMap::new();
        for (key, _, object) in state {
            let found = self.cut(key, object);
            if !found.is_empty() {
                values.insert(key.clone(), found);
            }
        }
        let mut kept = lock(&self.kept);
        if revision >= kept.at {
            *kept = Kept { at: revision, values };
        }
    }

    fn restore(&self, append: &mut Append) {
        if append.verb == Verb::Create {
            return;
        }
        let kept = lock(&self.kept);
        for (path, value) in kept.values.get(&append.key).into_iter().flatten() {
            if let Some(whole) = put(&append.object.parts[REST], path, value) {
                append.object.parts[REST] = whole.into();
            }
        }
    }
}

/// The section that holds all fields but `metadata` and `status`.
const REST: usize = 3;

/// `section` (a sequence of `,"name":value`) without the field at `path`, and the field's value.
pub(crate) fn cut(section: &[u8], path: &[&str]) -> Option<(Vec<u8>, Bytes)> {
    // Few objects have it, and to look for its name is much cheaper than to walk to its place.
    memmem::find(section, path.last()?.as_bytes())?;
    cut_at(section, path)
}

fn cut_at(section: &[u8], path: &[&str]) -> Option<(Vec<u8>, Bytes)> {
    let (name, rest) = path.split_first()?;
    let (_, start, end) = Pairs::new(section).find(|(found, ..)| *found == name.as_bytes())?;
    if rest.is_empty() {
        // `,"NAME":` stands before the value.
        let begin = start - name.len() - 4;
        return Some(([&section[..begin], &section[end..]].concat(), Bytes::copy_from_slice(&section[start..end])));
    }
    let (without, value) = cut_at(&inner(section, start, end)?, rest)?;
    Some((enclose(section, start, end, &without), value))
}

/// `section` with the field at `path`, which comes last in its parent; `None`: it has no such parent.
fn put(section: &[u8], path: &[&str], value: &[u8]) -> Option<Vec<u8>> {
    let (name, rest) = path.split_first()?;
    if rest.is_empty() {
        let without = cut(section, path).map(|(without, _)| without);
        let mut whole = without.unwrap_or_else(|| section.to_vec());
        whole.extend_from_slice(b",\"");
        whole.extend_from_slice(name.as_bytes());
        whole.extend_from_slice(b"\":");
        whole.extend_from_slice(value);
        return Some(whole);
    }
    let (_, start, end) = Pairs::new(section).find(|(found, ..)| *found == name.as_bytes())?;
    let whole = put(&inner(section, start, end)?, rest, value)?;
    Some(enclose(section, start, end, &whole))
}

/// The fields of the object that is the value from `start` to `end`, as a sequence of `,"name":value`.
fn inner(section: &[u8], start: usize, end: usize) -> Option<Vec<u8>> {
    let fields = section.get(start..end)?.strip_prefix(b"{")?.strip_suffix(b"}")?;
    let comma: &[u8] = if fields.is_empty() { b"" } else { b"," };
    Some([comma, fields].concat())
}

/// `section` with these fields in place of those of the value from `start` to `end`.
fn enclose(section: &[u8], start: usize, end: usize, fields: &[u8]) -> Vec<u8> {
    let fields = fields.strip_prefix(b",").unwrap_or(fields);
    [&section[..start], b"{", fields, b"}", &section[end..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &[&str] = &["spec", "maintenance", "autoRotation"];

    #[track_caller]
    fn check(section: &str, without: Option<&str>) {
        let found = cut(section.as_bytes(), PATH);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        assert_eq!(found.as_ref().map(|(without, _)| text(without)).as_deref(), without);
        if let Some((without, value)) = found {
            assert_eq!(put(&without, PATH, &value).map(|whole| text(&whole)).as_deref(), Some(section), "put back");
        }
    }

    #[test]
    fn a_field_is_cut_out_and_put_back() {
        check(
            r#","spec":{"a":1,"maintenance":{"b":"}\"","autoRotation":{"c":[1,{}]}}}"#,
            Some(r#","spec":{"a":1,"maintenance":{"b":"}\""}}"#),
        );
        check(r#","spec":{"maintenance":{"autoRotation":null},"z":1}"#, Some(r#","spec":{"maintenance":{},"z":1}"#));
        check(r#","spec":{"maintenance":{}}"#, None);
        check(r#","spec":{"maintenance":[]}"#, None);
        check(r#","spec":{},"autoRotation":1"#, None);
        check("", None);
    }

    #[test]
    fn what_is_put_replaces_what_is_there_and_goes_with_its_parent() {
        let put =
            |section: &str| put(section.as_bytes(), PATH, b"2").map(|whole| String::from_utf8(whole).expect("text"));
        let whole = Some(r#","spec":{"maintenance":{"a":1,"autoRotation":2}}"#.to_owned());
        assert_eq!(put(r#","spec":{"maintenance":{"autoRotation":1,"a":1}}"#), whole);
        assert_eq!(put(r#","spec":{"maintenance":{"a":1}}"#), whole);
        assert_eq!(put(r#","spec":{"a":1}"#), None);
        assert_eq!(put(""), None);
    }
}
