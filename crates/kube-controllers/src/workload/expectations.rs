// SPDX-License-Identifier: Apache-2.0
//! Requests of a controller that its local copy does not show yet: until it does, the pods must not be counted.
//!
//! Source: k8s.io/kubernetes pkg/controller/controller_utils.go (UIDTrackingControllerExpectations).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::kubernetes::core::Pod;
use chrono::{DateTime, TimeDelta, Utc};
use controller::Change;
use parking_lot::{Mutex, MutexGuard};

use super::objects::controller_uid;

/// Time after which expectations expire.
const LIMIT: TimeDelta = TimeDelta::minutes(5);

#[derive(Debug, Default)]
struct Expected {
    since: DateTime<Utc>,
    creations: usize,
    deletions: BTreeSet<String>,
}

/// Expectations by uid of the owner. Clones share one map.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expectations(Arc<Mutex<BTreeMap<String, Expected>>>);

impl Expectations {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Expected>> {
        self.0.lock()
    }

    /// Returns the time until which the owner's pods must not be counted; `None`: nothing is outstanding.
    pub(crate) fn pending(&self, owner: &str, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let mut all = self.lock();
        let until = all.get(owner)?.since + LIMIT;
        if now < until {
            return Some(until);
        }
        all.remove(owner);
        None
    }

    /// Stores expected changes. Must be called before the requests are sent.
    pub(crate) fn expect(&self, owner: &str, creations: usize, deletions: &[&str], now: DateTime<Utc>) {
        let deletions: BTreeSet<String> = deletions.iter().map(|uid| (*uid).to_owned()).collect();
        if creations > 0 || !deletions.is_empty() {
            self.lock().insert(owner.to_owned(), Expected { since: now, creations, deletions });
        }
    }

    /// Removes expected creations that failed.
    pub(crate) fn forget_creations(&self, owner: &str, count: usize) {
        self.change(owner, |expected| expected.creations = expected.creations.saturating_sub(count));
    }

    /// Removes an expected deletion that failed.
    pub(crate) fn forget_deletion(&self, owner: &str, uid: &str) {
        self.change(owner, |expected| expected.deletions.retain(|known| known != uid));
    }

    /// Removes the expectations of a deleted owner.
    pub(crate) fn forget(&self, owner: &str) {
        self.lock().remove(owner);
    }

    /// Fulfils expectations by a change of a pod.
    pub(crate) fn observe(&self, change: &Change<Pod>) {
        let Some(pod) = change.object() else { return };
        let Some(owner) = controller_uid(&pod.metadata) else { return };
        if change.old.is_none() {
            self.forget_creations(owner, 1);
        }
        if change.new.as_ref().is_none_or(|new| new.metadata.is_being_deleted()) {
            self.forget_deletion(owner, &pod.metadata.uid);
        }
    }

    fn change(&self, owner: &str, change: impl FnOnce(&mut Expected)) {
        let mut all = self.lock();
        let Some(expected) = all.get_mut(owner) else { return };
        change(expected);
        if expected.creations == 0 && expected.deletions.is_empty() {
            all.remove(owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use apimachinery::meta::{ObjectMeta, OwnerReference};
    use controller::ObjectKey;

    use super::*;

    fn change(uid: &str, present: (bool, bool)) -> Change<Pod> {
        let mut metadata = ObjectMeta { uid: uid.to_owned(), ..ObjectMeta::default() };
        let owner = OwnerReference { uid: "owner".to_owned(), controller: Some(true), ..OwnerReference::default() };
        metadata.owner_references = vec![owner];
        let pod = Arc::new(Pod { metadata, ..Pod::default() });
        let (old, new) = present;
        Change { key: ObjectKey::new("c", "n", uid), old: old.then(|| pod.clone()), new: new.then(|| pod.clone()) }
    }

    #[test]
    fn counting_waits_until_all_requests_are_observed() {
        let now = DateTime::<Utc>::UNIX_EPOCH;
        let expectations = Expectations::default();
        assert_eq!(expectations.pending("owner", now), None);
        expectations.expect("owner", 2, &[], now);
        expectations.observe(&change("a", (false, true)));
        assert_eq!(expectations.pending("owner", now), Some(now + LIMIT));
        expectations.observe(&change("a", (true, true)));
        assert!(expectations.pending("owner", now).is_some(), "a change is no creation");
        expectations.forget_creations("owner", 1);
        assert_eq!(expectations.pending("owner", now), None);

        expectations.expect("owner", 0, &["a"], now);
        expectations.observe(&change("b", (true, false)));
        assert!(expectations.pending("owner", now).is_some());
        expectations.observe(&change("a", (true, false)));
        assert_eq!(expectations.pending("owner", now), None);

        expectations.expect("owner", 1, &[], now);
        assert_eq!(expectations.pending("owner", now + LIMIT), None, "expectations expire");
    }
}
