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
/// Maximum bytes of their encoded forms; the last one is always kept.
const KEPT_BYTES: usize = 8 << 20;

/// Objects in the order in which they were decoded.
#[derive(Default)]
pub(super) struct RecentlyDecoded(Mutex<Order>);

#[derive(Default)]
struct Order {
    /// Objects with the sizes of their encoded forms.
    objects: VecDeque<(Weak<Stored>, usize)>,
    /// Sum of the sizes.
    bytes: usize,
}

impl Order {
    /// Removes the oldest object if there are too many.
    fn pop_surplus(&mut self) -> Option<Weak<Stored>> {
        let is_full = self.objects.len() > KEPT || self.bytes > KEPT_BYTES;
        let (oldest, size) = if is_full && self.objects.len() > 1 { self.objects.pop_front()? } else { return None };
        self.bytes -= size;
        Some(oldest)
    }
}

impl RecentlyDecoded {
    /// Records an object that has just been decoded, and drops the decoded forms of the oldest.
    pub(super) fn decoded(&self, stored: &Arc<Stored>) {
        let mut order = lock(&self.0);
        order.objects.push_back((Arc::downgrade(stored), stored.size()));
        order.bytes += stored.size();
        let surplus: Vec<_> = std::iter::from_fn(|| order.pop_surplus()).collect();
        drop(order);
        for oldest in surplus.iter().filter_map(Weak::upgrade) {
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
        let lately = RecentlyDecoded::default();
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

    #[test]
    fn large_objects_are_kept_up_to_their_bytes() {
        let lately = RecentlyDecoded::default();
        let key = Key::new("a", "example.com/widgets", "n", "w");
        let object = |size: usize| {
            let mut sections = Sections::default();
            sections.parts[3] = vec![b' '; size].into();
            let stored = Arc::new(Stored::new(&key, Revision(1), sections).with_decoded(Arc::new(())));
            lately.decoded(&stored);
            stored
        };
        let objects = [1, KEPT_BYTES / 2, KEPT_BYTES / 4, KEPT_BYTES / 2].map(object);
        assert_eq!(objects.map(|stored| stored.is_decoded()), [false, false, true, true]);
        assert!(object(2 * KEPT_BYTES).is_decoded());
    }
}
