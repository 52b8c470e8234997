// SPDX-License-Identifier: Apache-2.0
//! Keyed randomness: there is no stream, so a new draw changes no other.

use std::sync::Arc;

/// Draws that depend on nothing but (seed, purpose, key, ordinal). Cheap to clone.
///
/// `key` is `cluster/namespace/name` of the object that the draw is for, `ordinal` tells draws of one purpose and key
/// apart: the window's date for the maintenance instant, the count of creations of that key for a uid.
#[derive(Clone, Debug)]
pub struct Random {
    seed: Arc<u64>,
}

impl Random {
    /// Draws of a landscape with this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed: Arc::new(seed) }
    }

    /// 64 random bits.
    pub fn draw(&self, purpose: &str, key: &str, ordinal: u64) -> u64 {
        let _ = (purpose, key, ordinal, &self.seed);
        todo!()
    }

    /// A number in `0..bound`; 0 for a bound of 0.
    pub fn below(&self, bound: u64, purpose: &str, key: &str, ordinal: u64) -> u64 {
        if bound == 0 { 0 } else { self.draw(purpose, key, ordinal) % bound }
    }

    /// A version 4 uuid as text.
    pub fn uid(&self, key: &str, ordinal: u64) -> String {
        let _ = (key, ordinal);
        todo!()
    }

    /// `length` characters of Kubernetes' alphabet for generated names, `bcdfghjklmnpqrstvwxz2456789`.
    pub fn suffix(&self, length: usize, purpose: &str, key: &str, ordinal: u64) -> String {
        let _ = (length, purpose, key, ordinal);
        todo!()
    }
}
