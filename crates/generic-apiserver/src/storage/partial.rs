// SPDX-License-Identifier: Apache-2.0
//! The log as seen by a release that does not have some fields: they are cut out of objects that are read, and restored
//! in objects that are written.
//!
//! ```text
//! log ──entry──▶ cut, and keep the value ──▶ fold of the server
//! log ◀─append── put the kept value back ◀── change of an object
//! ```
//!
//! A field is lost when its parent is deleted, one below a list or map when its section of the object is changed.
//! Unlike upstream, where an older gardener-apiserver that updates an object loses the fields that it does not know.

use std::collections::BTreeMap;
use std::sync::Arc;

use apimachinery::catalogue::ResourceInfo;
use apimachinery::schema::EACH;
use bytes::Bytes;
use eventlog::log::Snapshot;
use eventlog::{Append, Entry, EventLog, Key, Revision, Sections, Verb};
use parking_lot::Mutex;

use super::lock;
use super::view::{self, Lens};
use crate::sections::fields::{Path, UnknownField, part_of, put};

/// Returns the log as servers of these rows see it: the log itself if they know every field. `writer`: the server itself.
pub(crate) fn view<'a>(
    log: Arc<dyn EventLog>,
    rows: impl Iterator<Item = &'a ResourceInfo>,
    writer: u64,
) -> Arc<dyn EventLog> {
    let unknown = view::by_resource(rows, UnknownField::of);
    if unknown.is_empty() { log } else { view::through(log, Fields { unknown, writer, kept: Mutex::default() }) }
}

/// The fields that are cut, by resource, and the cut values of objects.
struct Fields {
    unknown: BTreeMap<Arc<str>, Vec<UnknownField>>,
    /// The server's own number as a writer.
    writer: u64,
    kept: Mutex<UnknownFields>,
}

/// Values of unknown fields of objects at a revision, the newest that was read.
#[derive(Default)]
struct UnknownFields {
    at: Revision,
    objects: BTreeMap<Key, HiddenParts>,
}

/// Hidden parts of an object.
#[derive(Default)]
struct HiddenParts {
    /// Values of fields that are not below a list or map.
    values: Vec<(Path, Bytes)>,
    /// Sections with cut fields: index, shown form, stored form.
    sections: Vec<(usize, Bytes, Bytes)>,
}

impl Fields {
    /// Cuts an object's unknown fields; returns them.
    fn cut(&self, key: &Key, object: &mut Sections) -> HiddenParts {
        let mut known = HiddenParts::default();
        for field in self.unknown.get(&key.resource).into_iter().flatten() {
            let part = field.part();
            let Some((without, value)) = field.cut(&object.parts[part]) else { continue };
            let whole = std::mem::replace(&mut object.parts[part], without.into());
            if !field.path.contains(&EACH) {
                known.values.push((field.path, value));
            }
            match known.sections.iter_mut().find(|(known, ..)| *known == part) {
                Some((_, shown, _)) => *shown = object.parts[part].clone(),
                None => known.sections.push((part, object.parts[part].clone(), whole)),
            }
        }
        known
    }
}

impl Lens for Fields {
    fn concerns(&self, resource: &str) -> bool {
        self.unknown.contains_key(resource)
    }

    fn show(&self, key: &Key, object: &mut Sections) {
        self.cut(key, object);
    }

    fn show_new(&self, entry: &Entry) -> Option<Sections> {
        let mut kept = lock(&self.kept);
        let mut object = entry.object.clone();
        // The server leaves out fields that it does not know when it writes: only kept values have been restored.
        let is_new = entry.revision > kept.at;
        let is_shown = is_new && entry.writer.0 == self.writer && !kept.objects.contains_key(&entry.key);
        let known = if is_shown { HiddenParts::default() } else { self.cut(&entry.key, &mut object) };
        let is_cut = !known.sections.is_empty();
        if is_new {
            kept.at = entry.revision;
            if entry.verb == Verb::Delete || !is_cut {
                kept.objects.remove(&entry.key);
            } else {
                kept.objects.insert(entry.key.clone(), known);
            }
        }
        is_cut.then_some(object)
    }

    fn show_state(&self, revision: Revision, state: &mut Snapshot) {
        let mut objects = BTreeMap::new();
        for (key, _, object) in state {
            let found = self.cut(key, object);
            if !found.sections.is_empty() {
                objects.insert(key.clone(), found);
            }
        }
        let mut kept = lock(&self.kept);
        if revision >= kept.at {
            *kept = UnknownFields { at: revision, objects };
        }
    }

    fn restore(&self, append: &mut Append) {
        if append.verb == Verb::Create {
            return;
        }
        let kept = lock(&self.kept);
        let Some(known) = kept.objects.get(&append.key) else { return };
        let mut is_same = [false; 5];
        for (part, shown, whole) in &known.sections {
            if append.object.parts[*part] == *shown {
                append.object.parts[*part] = whole.clone();
                is_same[*part] = true;
            }
        }
        for (path, value) in &known.values {
            let part = part_of(path);
            if !is_same[part]
                && let Some(whole) = put(&append.object.parts[part], path, value)
            {
                append.object.parts[part] = whole.into();
            }
        }
    }
}
