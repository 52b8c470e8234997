// SPDX-License-Identifier: Apache-2.0
//! Cache of decoded objects: the most recently decoded ones, by a write or by a read, over all collections of a store.
//! A decoded object takes several times the memory of its bytes, and most are never read again.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::lock;
use super::stored::Stored;

/// Maximum number of objects of a store that are kept decoded. Decoding one again takes some ten microseconds.
const KEPT: usize = 1024;

/// Objects in the order in which they were decoded.
#[derive(Default)]
pub(super) struct Lately(Mutex<VecDeque<Weak<Stored>>>);

impl Lately {
    /// Records an object that has just been decoded, and drops the decoded form of the oldest.
    pub(super) fn decoded(&self, stored: &Arc<Stored>) {
        let mut order = lock(&self.0);
        order.push_back(Arc::downgrade(stored));
        let oldest = if order.len() > KEPT { order.pop_front() } else { None };
        drop(order);
        if let Some(oldest) = oldest.and_then(|oldest| oldest.upgrade()) {
            oldest.forget_decoded();
        }
    }
}

#[cfg(test)]
mod tests {
    use eventlog::{Key, Revision, Sections};

    use super::*;

    #[test]
    fn the_objects_that_were_decoded_last_are_kept() {
        let lately = Lately::default();
        let key = Key::new("a", "example.com/widgets", "n", "w");
        let object = || {
            let stored = Stored::new(&key, Revision(1), Sections::default()).with_decoded(Arc::new(()));
            Arc::new(stored)
        };
        let objects: Vec<_> = (0..KEPT + 2).map(|_| object()).collect();
        for stored in &objects {
            lately.decoded(stored);
        }
        let kept: Vec<_> = objects.iter().map(|stored| stored.is_decoded()).collect();
        assert_eq!(kept[..3], [false, false, true]);
        assert_eq!(kept.iter().filter(|kept| **kept).count(), KEPT);
    }
}
