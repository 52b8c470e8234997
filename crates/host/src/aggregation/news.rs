// SPDX-License-Identifier: Apache-2.0
//! Number of entries of the aggregated groups, by which the host knows whether their API servers have to be asked again what
//! their watches were told.
//!
//! Watches of these groups follow on entries of these groups and are opened through the host. An API server that was asked
//! since the last such entry and the last such watch gives the same answer again. The host's own server counts the entries
//! as it follows the log, for all writers: an instance over HTTPS, one in the process of the host, one that was killed while
//! its last write waited for the disk.
//!
//! **Invariants.** The number is complete up to the position of the host's own server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use api::catalogue;
use generic_apiserver::Builder;
use generic_apiserver::observer::{Observed, Observer};

/// Number of entries. Cheap to clone; clones are one number.
#[derive(Clone, Debug, Default)]
pub(crate) struct News(Arc<AtomicU64>);

impl News {
    /// Counts the entries that the server follows.
    pub(crate) fn attach(&self, builder: Builder) -> Builder {
        let rows = catalogue::all().iter().filter(|row| catalogue::is_aggregated(row));
        rows.fold(builder, |builder, row| builder.observer(row.group, row.plural, Arc::new(self.clone())))
    }

    /// The number; it rises with each entry.
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
