// SPDX-License-Identifier: Apache-2.0
//! Memory of DaemonSets that have a pod of their current template on every eligible node: for these, a pass looks only
//! at the nodes that changed, or whose pods did.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

/// State of a DaemonSet.
#[derive(Debug, Default)]
struct Settled {
    /// Generation at which it was complete; -1: not yet.
    generation: i64,
    /// Names of the eligible nodes.
    nodes: BTreeSet<String>,
    /// Names of the nodes that the next pass has to examine.
    dirty: BTreeSet<String>,
}

/// DaemonSets by uid. Clones share one map.
#[derive(Clone, Debug, Default)]
pub(crate) struct DaemonMemory(Arc<Mutex<BTreeMap<String, Settled>>>);

impl DaemonMemory {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Settled>> {
        self.0.lock()
    }

    /// Marks a node that changed, or whose pod of the DaemonSet did.
    pub(crate) fn mark(&self, uid: &str, node: &str) {
        if let Some(settled) = self.lock().get_mut(uid) {
            settled.dirty.insert(node.to_owned());
        }
    }

    /// Takes the marked nodes and returns them with the number of eligible nodes; later marks are kept. `None` for
    /// another generation.
    pub(crate) fn take(&self, uid: &str, generation: i64) -> Option<(BTreeSet<String>, usize)> {
        let mut all = self.lock();
        let known = all.get_mut(uid).filter(|settled| settled.generation == generation)?;
        Some((std::mem::take(&mut known.dirty), known.nodes.len()))
    }

    /// Starts recording marks, before a full pass over a DaemonSet.
    pub(crate) fn begin(&self, uid: &str) {
        self.lock().insert(uid.to_owned(), Settled { generation: -1, ..Settled::default() });
    }

    /// Stores that the full pass found a pod on each of these nodes; nodes that were marked in the meantime stay
    /// marked.
    pub(crate) fn settle(&self, uid: &str, generation: i64, nodes: BTreeSet<String>) {
        if let Some(known) = self.lock().get_mut(uid) {
            (known.generation, known.nodes) = (generation, nodes);
        }
    }

    /// Adds or removes an eligible node; returns the number of eligible nodes.
    pub(crate) fn change(&self, uid: &str, node: &str, is_wanted: bool) -> usize {
        let mut all = self.lock();
        let Some(known) = all.get_mut(uid) else { return 0 };
        if is_wanted {
            known.nodes.insert(node.to_owned());
        } else {
            known.nodes.remove(node);
        }
        known.nodes.len()
    }

    /// Requires a full pass over a DaemonSet.
    pub(crate) fn forget(&self, uid: &str) {
        self.lock().remove(uid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_recorded_sets_are_marked() {
        let memory = DaemonMemory::default();
        memory.mark("a", "n");
        assert_eq!(memory.take("a", 1), None);
        memory.begin("a");
        memory.mark("a", "n");
        memory.settle("a", 1, BTreeSet::from(["m".to_owned()]));
        assert_eq!(memory.take("a", 1), Some((BTreeSet::from(["n".to_owned()]), 1)));
        memory.mark("a", "o");
        memory.change("a", "n", true);
        assert_eq!(
            memory.take("a", 1),
            Some((BTreeSet::from(["o".to_owned()]), 2)),
            "meanwhile another one was marked"
        );
        assert_eq!(memory.take("a", 2), None, "another generation");
    }
}
