// SPDX-License-Identifier: Apache-2.0
//! Keyed randomness: there is no stream, so a new draw changes no other.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// Draws that depend only on (seed, purpose, key, ordinal). Cheap to clone.
///
/// `key` is `cluster/namespace/name` of the object of the draw; `ordinal` distinguishes draws of one purpose and key:
/// the window's date for the maintenance instant, the number of creations of that key for a uid.
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
}

/// Kubernetes' alphabet for generated names, without vowels and similar digits.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

impl Random {
    /// Creates the draws of a landscape with this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Returns 64 random bits.
    pub fn draw(&self, purpose: &str, key: &str, ordinal: u64) -> u64 {
        self.words(purpose, key, ordinal)[0]
    }

    /// Returns a number in `0..bound`; 0 for a bound of 0.
    pub fn below(&self, bound: u64, purpose: &str, key: &str, ordinal: u64) -> u64 {
        if bound == 0 { 0 } else { self.draw(purpose, key, ordinal) % bound }
    }

    /// Returns a version 4 uuid as text.
    pub fn uid(&self, key: &str, ordinal: u64) -> String {
        let [high, low, ..] = self.words("uid", key, ordinal);
        let high = high & !0xf000 | 0x4000;
        let low = low & !(0b11 << 62) | 0b10 << 62;
        let mut text = String::with_capacity(36);
        write!(text, "{:08x}-{:04x}-{:04x}-", high >> 32, high >> 16 & 0xffff, high & 0xffff)
            .and_then(|()| write!(text, "{:04x}-{:012x}", low >> 48, low & 0xffff_ffff_ffff))
            .expect("a String takes everything");
        text
    }

    /// Returns `length` characters of Kubernetes' alphabet for generated names, `bcdfghjklmnpqrstvwxz2456789`.
    pub fn suffix(&self, length: usize, purpose: &str, key: &str, ordinal: u64) -> String {
        let mut text = String::with_capacity(length);
        let mut ordinal = ordinal;
        while text.len() < length {
            for mut word in self.words(purpose, key, ordinal) {
                // With nine characters the bias of a word's last digit is negligible.
                for _ in 0..(length - text.len()).min(9) {
                    text.push(char::from(ALPHABET[(word % 27) as usize]));
                    word /= 27;
                }
            }
            ordinal = ordinal.wrapping_add(1 << 63);
        }
        text
    }

    fn words(&self, purpose: &str, key: &str, ordinal: u64) -> [u64; 4] {
        let mut hash = Sha256::new();
        hash.update(self.seed.to_le_bytes());
        hash.update(ordinal.to_le_bytes());
        // The length keeps (`a`, `bc`) and (`ab`, `c`) apart.
        hash.update((purpose.len() as u64).to_le_bytes());
        hash.update(purpose);
        hash.update(key);
        let digest = hash.finalize();
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(digest.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().expect("chunks of eight bytes"));
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_draw_depends_on_seed_purpose_key_and_ordinal() {
        let draws = [
            Random::new(1).draw("window", "garden/ns/a", 0),
            Random::new(2).draw("window", "garden/ns/a", 0),
            Random::new(1).draw("uid", "garden/ns/a", 0),
            Random::new(1).draw("window", "garden/ns/b", 0),
            Random::new(1).draw("window", "garden/ns/a", 1),
            Random::new(1).draw("windowgarden", "/ns/a", 0),
        ];
        assert_eq!(draws.iter().collect::<BTreeSet<_>>().len(), draws.len());
        assert_eq!(draws[0], Random::new(1).draw("window", "garden/ns/a", 0));
    }

    /// The values are part of every recorded landscape: a change here changes all of them.
    #[test]
    fn draws_are_the_same_in_every_version() {
        let random = Random::new(1);
        assert_eq!(random.draw("window", "garden/garden-demo/local", 19_566), DRAW);
        assert_eq!(random.uid("garden/garden-demo/local", 0), UID);
        assert_eq!(random.suffix(5, "name", "garden/garden-demo/local", 0), SUFFIX);
    }

    const DRAW: u64 = 10_129_179_009_856_350_812;
    const UID: &str = "955aa34d-c350-41a2-ac2b-9016243a5f07";
    const SUFFIX: &str = "rhkvt";

    #[test]
    fn a_uid_is_a_version_4_uuid() {
        for ordinal in 0..100 {
            let uid = Random::new(7).uid("garden/garden-demo/local", ordinal);
            let groups: Vec<_> = uid.split('-').map(str::len).collect();
            assert_eq!(groups, [8, 4, 4, 4, 12], "{uid}");
            assert_eq!(&uid[14..15], "4", "{uid}");
            assert!("89ab".contains(&uid[19..20]), "{uid}");
        }
    }

    #[test]
    fn a_suffix_has_its_length_and_alphabet() {
        for length in [0, 1, 5, 10, 36, 37, 100] {
            let suffix = Random::new(1).suffix(length, "name", "a", 3);
            assert_eq!(suffix.len(), length);
            assert!(suffix.bytes().all(|c| b"bcdfghjklmnpqrstvwxz2456789".contains(&c)), "{suffix}");
        }
        let characters: BTreeSet<_> =
            (0..100).flat_map(|n| Random::new(1).suffix(5, "name", "a", n).into_bytes()).collect();
        assert_eq!(characters.len(), 27);
    }

    #[test]
    fn a_number_stays_below_its_bound() {
        let random = Random::new(1);
        assert_eq!(random.below(0, "p", "k", 0), 0);
        assert_eq!(random.below(1, "p", "k", 0), 0);
        assert_eq!((0..200).map(|n| random.below(6, "p", "k", n)).collect::<BTreeSet<_>>().len(), 6);
    }
}
