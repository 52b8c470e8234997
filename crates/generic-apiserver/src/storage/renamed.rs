// SPDX-License-Identifier: Apache-2.0
//! The log as seen by a release in which some fields have another name. A field may be stored under either name, and is
//! read under the name of the release. Objects are written with the names of the writer's release.
//!
//! Unlike a field of [`super::partial`], a renamed field is never lost: upstream stores protobuf, where both names have the
//! same field number.

use std::collections::BTreeMap;
use std::sync::Arc;

use apimachinery::catalogue::ResourceInfo;
use eventlog::{EventLog, Key, Sections};
use memchr::memmem;

use super::view::{self, Lens};
use crate::sections::fields::{part_of, renamed};

/// Returns the log as servers of these rows see it: the log itself if no field of them was renamed.
pub(crate) fn view<'a>(
    log: Arc<dyn EventLog>,
    rows: impl Iterator<Item = &'a ResourceInfo>,
    writer: u64,
) -> Arc<dyn EventLog> {
    let names = view::by_resource(rows, |row| row.foreign_names().map(ForeignName::new).collect());
    if names.is_empty() { log } else { view::through(log, Names { names, writer }) }
}

/// A name of a field that the release does not have.
struct ForeignName {
    /// JSON names from the root of an object to the field.
    path: &'static [&'static str],
    /// Name that the release has.
    own: &'static str,
    /// Finder of the name, which few objects have.
    name: memmem::Finder<'static>,
}

impl ForeignName {
    fn new((path, own): (&'static [&'static str], &'static str)) -> Self {
        Self { path, own, name: memmem::Finder::new(path.last().copied().unwrap_or_default()) }
    }
}

/// Foreign names by resource.
struct Names {
    names: BTreeMap<Arc<str>, Vec<ForeignName>>,
    /// The server's own number as a writer.
    writer: u64,
}

impl Lens for Names {
    fn concerns(&self, resource: &str) -> bool {
        self.names.contains_key(resource)
    }

    fn is_shown_by(&self, writer: u64) -> bool {
        writer == self.writer
    }

    fn show(&self, key: &Key, object: &mut Sections) {
        for foreign in self.names.get(&key.resource).into_iter().flatten() {
            let section = &mut object.parts[part_of(foreign.path)];
            if foreign.name.find(section).is_some()
                && let Some(shown) = renamed(section, foreign.path, foreign.own)
            {
                *section = shown.into();
            }
        }
    }
}
