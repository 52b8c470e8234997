// SPDX-License-Identifier: Apache-2.0
//! State and configuration that the handlers of resources need, independent of transport and routing.

use std::collections::BTreeSet;
use std::sync::Arc;

use clock::{Clock, Random};
use eventlog::EventLog;

use crate::admission::Plugin;
use crate::storage::{CollectionId, Store};
use crate::webhooks::Webhooks;

/// Log, clocks and randomness that a server depends on.
#[derive(Clone, Debug)]
pub struct Foundation {
    /// Log that holds the state.
    pub log: Arc<dyn EventLog>,
    /// Landscape time.
    pub clock: Clock,
    /// Wall time, for time-outs of watches.
    pub wall: Clock,
    /// Keyed randomness, for uids and generated names.
    pub random: Random,
    /// Id of the writer; two servers that write to one log have different ids.
    pub writer: u64,
    /// Bytes of objects in recent changes that the server keeps in memory, which speeds up continued lists and watches from
    /// past revisions. Usually [`RECENT_BYTES`](crate::RECENT_BYTES).
    pub recent_bytes: usize,
}

/// The kinds that the server can decode.
pub(crate) struct Scheme {
    /// See [`crate::Builder::scheme`].
    pub(crate) place: &'static str,
    /// Group, version and kind of each typed kind.
    pub(crate) kinds: BTreeSet<(&'static str, &'static str, &'static str)>,
}

impl Scheme {
    /// True if the typed kind is registered.
    pub(crate) fn knows(&self, group: &str, version: &str, kind: &str) -> bool {
        self.kinds.contains(&(group, version, kind))
    }
}

/// State and configuration for the handlers of resources.
pub(crate) struct Backend {
    /// Clocks and randomness.
    pub(crate) foundation: Foundation,
    pub(crate) store: Arc<Store>,
    /// Collection of Namespaces, if the server folds them.
    pub(crate) namespaces: Option<CollectionId>,
    /// The admission chain, in its order.
    pub(crate) plugins: Vec<Arc<dyn Plugin>>,
    pub(crate) webhooks: Option<Webhooks>,
    /// See [`crate::Builder::own_agents`].
    pub(crate) own_agents: &'static [&'static str],
    pub(crate) scheme: Scheme,
    /// See [`crate::Builder::cluster_annotation`].
    pub(crate) cluster_annotation: &'static str,
}
