// SPDX-License-Identifier: Apache-2.0
//! Objects in the form that their kind has now, whatever it was when they were stored. For custom kinds: fields that
//! the schema does not name are pruned, and missing ones have their default. For kinds that had fewer fields in older
//! releases: a field that was added later has its default.
//!
//! Source: `schemaCoercingDecoder` and the defaulting of pkg/apiserver/customresource_handler.go,
//! k8s.io/apiextensions-apiserver; the decoder with defaults of pkg/server/storage/storage_codec.go, k8s.io/apiserver.

use std::collections::BTreeMap;
use std::sync::Arc;

use eventlog::{EventLog, Key, Sections};

use super::view::{self, Lens};
use crate::kind::Kind;

/// Returns the log as a server of these kinds sees it; the log itself if no kind changes stored objects.
///
/// Entries of `writer`, the server itself, are not changed: a write is decoded, defaulted and pruned before it is stored.
pub(crate) fn view(log: Arc<dyn EventLog>, kinds: &[Arc<dyn Kind>], writer: u64) -> Arc<dyn EventLog> {
    let shown = kinds.iter().filter(|kind| {
        let info = &kind.names().info;
        info.custom || info.released_defaults().next().is_some()
    });
    let shown: BTreeMap<_, _> = shown.map(|kind| (kind.names().log_resource.clone(), kind.clone())).collect();
    if shown.is_empty() { log } else { view::through(log, Present { kinds: shown, writer }) }
}

struct Present {
    /// The kinds by resource.
    kinds: BTreeMap<Arc<str>, Arc<dyn Kind>>,
    /// The server's own number as a writer.
    writer: u64,
}

impl Lens for Present {
    fn concerns(&self, resource: &str) -> bool {
        self.kinds.contains_key(resource)
    }

    fn is_shown_by(&self, writer: u64) -> bool {
        writer == self.writer
    }

    fn show(&self, key: &Key, object: &mut Sections) {
        if let Some(shown) = self.kinds.get(&key.resource).and_then(|kind| kind.present(object)) {
            *object = shown;
        }
    }
}
