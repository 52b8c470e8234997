// SPDX-License-Identifier: Apache-2.0
//! Number of pods of each owner, updated with each change, so that a pass need not list them.
//!
//! If an owner has as many pods as desired, a pass writes the counts and is done. The pods themselves are examined when
//! there are too many, or when a pod was orphaned, or its labels or owner changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::kubernetes::core::Pod;
use controller::Change;
use parking_lot::{Mutex, MutexGuard};

use super::objects::controller_uid;
use super::pods;

/// Counts of an owner's pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Number of active pods: neither ended nor being deleted.
    pub(crate) active: i32,
    /// Number of active pods that are ready.
    pub(crate) ready: i32,
}

#[derive(Debug, Default)]
struct Inner {
    tallies: BTreeMap<String, Tally>,
    /// Owners whose pods have to be examined.
    unsure: BTreeSet<String>,
}

/// Counts by uid of the owner. Clones share one map.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tallies(Arc<Mutex<Inner>>);

fn part(pod: Option<&Arc<Pod>>) -> Option<(&str, Tally)> {
    let pod = pod.filter(|pod| pods::is_active(pod))?;
    let tally = Tally { active: 1, ready: i32::from(pods::ready_since(pod).is_some()) };
    Some((controller_uid(&pod.metadata)?, tally))
}

impl Tallies {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock()
    }

    /// Updates the counts by a change of a pod.
    pub(crate) fn observe(&self, change: &Change<Pod>) {
        let (old, new) = (part(change.old.as_ref()), part(change.new.as_ref()));
        let mut inner = self.lock();
        if let (Some(old), Some(new)) = (&change.old, &change.new)
            && (old.metadata.labels != new.metadata.labels
                || old.metadata.owner_references != new.metadata.owner_references)
        {
            let owners = [old, new].map(|pod| controller_uid(&pod.metadata).map(str::to_owned));
            inner.unsure.extend(owners.into_iter().flatten());
        }
        if old == new {
            return;
        }
        if let Some((owner, tally)) = old
            && let Some(known) = inner.tallies.get_mut(owner)
        {
            known.active -= tally.active;
            known.ready -= tally.ready;
            if known.active == 0 {
                inner.tallies.remove(owner);
            }
        }
        if let Some((owner, tally)) = new {
            let known = inner.tallies.entry(owner.to_owned()).or_default();
            known.active += tally.active;
            known.ready += tally.ready;
        }
    }

    /// Requires the next pass to examine an owner's pods: an orphan may belong to it.
    pub(crate) fn doubt(&self, owner: &str) {
        self.lock().unsure.insert(owner.to_owned());
    }

    /// Marks an owner's pods as examined.
    pub(crate) fn trust(&self, owner: &str) {
        self.lock().unsure.remove(owner);
    }

    /// Returns the counts of an owner's pods; `None` if they have to be examined.
    pub(crate) fn get(&self, owner: &str) -> Option<Tally> {
        let inner = self.lock();
        (!inner.unsure.contains(owner)).then(|| inner.tallies.get(owner).copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use api::kubernetes::core::PodCondition;
    use apimachinery::meta::{ObjectMeta, OwnerReference};
    use controller::ObjectKey;

    use super::*;

    fn pod(label: &str, is_ready: bool) -> Arc<Pod> {
        let mut metadata = ObjectMeta { uid: "p".to_owned(), ..ObjectMeta::default() };
        metadata.labels.insert("app".to_owned(), label.to_owned());
        let owner = OwnerReference { uid: "o".to_owned(), controller: Some(true), ..OwnerReference::default() };
        metadata.owner_references = vec![owner];
        let mut pod = Pod { metadata, ..Pod::default() };
        if is_ready {
            let ready = PodCondition { r#type: "Ready".into(), status: "True".into(), ..PodCondition::default() };
            pod.status.conditions.push(ready);
        }
        Arc::new(pod)
    }

    #[test]
    fn created_and_deleted_pods_are_counted() {
        let tallies = Tallies::default();
        let change = |old: Option<Arc<Pod>>, new: Option<Arc<Pod>>| {
            tallies.observe(&Change { key: ObjectKey::new("c", "n", "p"), old, new });
            tallies.get("o").map(|tally| (tally.active, tally.ready))
        };
        assert_eq!(change(None, Some(pod("web", false))), Some((1, 0)));
        assert_eq!(change(Some(pod("web", false)), Some(pod("web", true))), Some((1, 1)));
        assert_eq!(change(Some(pod("web", true)), Some(pod("other", true))), None, "its selector may be another's");
        tallies.trust("o");
        assert_eq!(change(Some(pod("other", true)), None), Some((0, 0)));
        tallies.doubt("o");
        assert_eq!(tallies.get("o"), None);
    }
}
