// SPDX-License-Identifier: Apache-2.0
//! What is remembered of DaemonSets that have a pod of their present template on every node they are meant for: then a pass
//! looks at the nodes that changed, or whose pods did, and at no others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

/// A DaemonSet.
#[derive(Debug, Default)]
struct Settled {
    /// Generation at which it had reached its goal; -1 before.
    generation: i64,
    /// The nodes that it is meant for.
    nodes: BTreeSet<String>,
    /// The nodes that a pass has to look at.
    dirty: BTreeSet<String>,
}

/// By uid. Clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct DaemonMemory(Arc<Mutex<BTreeMap<String, Settled>>>);

impl DaemonMemory {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Settled>> {
        self.0.lock()
    }

    /// A node changed, or what of a DaemonSet is on it.
    pub(crate) fn mark(&self, uid: &str, node: &str) {
        if let Some(settled) = self.lock().get_mut(uid) {
            settled.dirty.insert(node.to_owned());
        }
    }

    /// The nodes to look at, and how many it is meant for; marks go on being taken. `None` for another generation.
    pub(crate) fn take(&self, uid: &str, generation: i64) -> Option<(BTreeSet<String>, usize)> {
        let mut all = self.lock();
        let known = all.get_mut(uid).filter(|settled| settled.generation == generation)?;
        Some((std::mem::take(&mut known.dirty), known.nodes.len()))
    }

    /// A DaemonSet is about to be looked at as a whole: marks are taken from here on.
    pub(crate) fn begin(&self, uid: &str) {
        self.lock().insert(uid.to_owned(), Settled { generation: -1, ..Settled::default() });
    }

    /// It was looked at, and has a pod on each of these nodes, but for those that were marked meanwhile.
    pub(crate) fn settle(&self, uid: &str, generation: i64, nodes: BTreeSet<String>) {
        if let Some(known) = self.lock().get_mut(uid) {
            (known.generation, known.nodes) = (generation, nodes);
        }
    }

    /// It is meant for a node, or is not any more; how many there are.
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

    /// A DaemonSet is looked at as a whole.
    pub(crate) fn forget(&self, uid: &str) {
        self.lock().remove(uid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_remembered_is_marked() {
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
