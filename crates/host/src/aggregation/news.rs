// SPDX-License-Identifier: Apache-2.0
//! Number of log entries of the aggregated groups. The host compares it to decide whether it must query their API
//! servers for line counts again.
//!
//! Watches of these groups send lines only for entries of these groups, and are opened through the host. An API server
//! that has reported since the last such entry and the last such watch would report the same counts again. The host's
//! own server counts the entries as it follows the log, so writes of all writers are counted: an instance over HTTPS,
//! an instance in the process of the host, and an instance that was killed while its last write waited for the disk.
//!
//! **Invariants.** The number is complete up to the position of the host's own server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use api::catalogue;
use generic_apiserver::Builder;
use generic_apiserver::observer::{Observed, Observer};

/// Counter of the entries. Cheap to clone; clones share the counter.
#[derive(Clone, Debug, Default)]
pub(crate) struct News(Arc<AtomicU64>);

impl News {
    /// Registers the counter with the server that follows the log.
    pub(crate) fn attach(&self, builder: Builder) -> Builder {
        let rows = catalogue::all().iter().filter(|row| catalogue::is_aggregated(row));
        rows.fold(builder, |builder, row| builder.observer(row.group, row.plural, Arc::new(self.clone())))
    }

    /// Number of entries so far.
    pub(crate) fn entries(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    fn count(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Observer for News {
    fn changed(&self, _: &Observed<'_>) {
        self.count();
    }

    fn reset(&self) {
        self.count();
    }
}
