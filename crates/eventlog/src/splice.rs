// SPDX-License-Identifier: Apache-2.0
//! Changes of bytes: the difference between two states of an object, section by section.
//!
//! ```text
//! change   = changed sections as bits of one byte, first section lowest; then for each of them:
//! section  = varint kept at the front · varint removed · varint inserted · the inserted bytes · checksum of the result
//! varint   = 7 bits a byte, low ones first        checksum = 8 bytes, little endian
//! ```

use std::fmt;

use bytes::Bytes;

use crate::entry::Sections;

/// Difference between two states of an object, encoded; one splice per section.
#[derive(Clone, PartialEq, Eq)]
pub struct Change(Box<[u8]>);

/// A malformed change, or one that belongs to another state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored change does not fit the object it is for")]
pub struct Corrupt;

impl Change {
    /// Computes the change from `old` to `new`.
    pub fn between(old: &Sections, new: &Sections) -> Self {
        let mut out = Vec::with_capacity(96);
        encode(old, new, &mut out);
        Self(out.into_boxed_slice())
    }

    /// Wraps an encoded change; it is checked when it is applied.
    pub fn from_encoded(encoded: Box<[u8]>) -> Self {
        Self(encoded)
    }

    /// The encoded form.
    pub fn encoded(&self) -> &[u8] {
        &self.0
    }

    /// The state after the change. Sections without a change share their bytes with `old`.
    ///
    /// # Errors
    /// The change is malformed, or a section's checksum shows that `old` is another state.
    pub fn apply(&self, old: &Sections) -> Result<Sections, Corrupt> {
        let (&mask, mut rest) = self.0.split_first().ok_or(Corrupt)?;
        let mut new = old.clone();
        for (index, part) in new.parts.iter_mut().enumerate() {
            if mask & 1 << index == 0 {
                continue;
            }
            let kept = varint(&mut rest)?;
            let removed = varint(&mut rest)?;
            let inserted = varint(&mut rest)?;
            let inserted = rest.split_off(..inserted).ok_or(Corrupt)?;
            let front = part.get(..kept).ok_or(Corrupt)?;
            let back = part.get(kept..).and_then(|tail| tail.get(removed..)).ok_or(Corrupt)?;
            let mut bytes = Vec::with_capacity(front.len() + inserted.len() + back.len());
            bytes.extend_from_slice(front);
            bytes.extend_from_slice(inserted);
            bytes.extend_from_slice(back);
            let sum = rest.split_off(..8).ok_or(Corrupt)?;
            if checksum(&bytes).to_le_bytes() != sum {
                return Err(Corrupt);
            }
            *part = Bytes::from(bytes);
        }
        if rest.is_empty() && mask >> new.parts.len() == 0 { Ok(new) } else { Err(Corrupt) }
    }
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Change({} bytes)", self.0.len())
    }
}

/// Appends the encoded change between two states to `out`.
pub(crate) fn encode(old: &Sections, new: &Sections, out: &mut Vec<u8>) {
    let mask_at = out.len();
    out.push(0);
    for (index, (old, new)) in old.parts.iter().zip(&new.parts).enumerate() {
        if old == new {
            continue;
        }
        out[mask_at] |= 1 << index;
        let front = common_prefix(old, new);
        let back = common_suffix(&old[front..], &new[front..]);
        push_varint(out, front);
        push_varint(out, old.len() - front - back);
        let inserted = &new[front..new.len() - back];
        push_varint(out, inserted.len());
        out.extend_from_slice(inserted);
        out.extend_from_slice(&checksum(new).to_le_bytes());
    }
}

const CHUNK: usize = 64;

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let chunks = a.chunks_exact(CHUNK).zip(b.chunks_exact(CHUNK)).take_while(|(a, b)| a == b).count() * CHUNK;
    chunks + a[chunks..].iter().zip(&b[chunks..]).take_while(|(a, b)| a == b).count()
}

fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let chunks = a.rchunks_exact(CHUNK).zip(b.rchunks_exact(CHUNK)).take_while(|(a, b)| a == b).count() * CHUNK;
    let (a, b) = (&a[..a.len() - chunks], &b[..b.len() - chunks]);
    chunks + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

pub(crate) fn push_varint(out: &mut Vec<u8>, value: usize) {
    let mut value = value as u64;
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7f) as u8);
}

pub(crate) fn varint(from: &mut &[u8]) -> Result<usize, Corrupt> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let &byte = from.split_off_first().ok_or(Corrupt)?;
        value |= u64::from(byte & 0x7f).checked_shl(shift).ok_or(Corrupt)?;
        if byte & 0x80 == 0 {
            return usize::try_from(value).map_err(|_| Corrupt);
        }
    }
    Err(Corrupt)
}

/// Computes a checksum of 64 bits against accidents, not attackers: four lanes of multiply and rotate, mixed with the
/// length.
pub fn checksum(bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    const STEP: u64 = 0xc2b2_ae3d_27d4_eb4f;
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let mut lanes = [ODD, STEP, !ODD, !STEP];
    let mut blocks = bytes.chunks_exact(32);
    for block in &mut blocks {
        for (lane, bytes) in lanes.iter_mut().zip(block.chunks_exact(8)) {
            *lane = (*lane ^ word(bytes)).wrapping_mul(STEP).rotate_left(31);
        }
    }
    let mut sum = (bytes.len() as u64).wrapping_mul(ODD);
    for lane in lanes {
        sum = (sum.rotate_left(27) ^ lane).wrapping_mul(ODD);
    }
    let mut words = blocks.remainder().chunks_exact(8);
    for bytes in &mut words {
        sum = (sum ^ word(bytes)).wrapping_mul(STEP).rotate_left(29);
    }
    for byte in words.remainder() {
        sum = (sum ^ u64::from(*byte)).wrapping_mul(ODD).rotate_left(11);
    }
    sum ^= sum >> 32;
    sum = sum.wrapping_mul(STEP);
    sum ^ sum >> 29
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sections(parts: [&str; 5]) -> Sections {
        Sections { parts: parts.map(|part| Bytes::copy_from_slice(part.as_bytes())) }
    }

    /// Checks the bytes of the change, and that it leads from `old` to `new`.
    #[track_caller]
    fn check(old: [&str; 5], new: [&str; 5], size: usize) {
        let (old, new) = (sections(old), sections(new));
        let change = Change::between(&old, &new);
        assert_eq!(change.apply(&old).as_ref(), Ok(&new));
        assert_eq!(change.encoded().len(), size, "{old:?} to {new:?}");
    }

    #[test]
    fn a_change_has_only_the_differences() {
        let none = ["", "", "", "", ""];
        check(none, none, 1);
        check(["a", "b", "c", "d", "e"], ["a", "b", "c", "d", "e"], 1);
        // Three varints, the inserted bytes, eight of checksum.
        check(none, ["", "", "", "", "abc"], 1 + 3 + 3 + 8);
        check(["", "", "", "", "abc"], none, 1 + 3 + 8);
        check(["", "", "", "", "progress: 71"], ["", "", "", "", "progress: 82"], 1 + 3 + 2 + 8);
        check(["", "aa", "", "", "a"], ["", "a", "", "", "aa"], 1 + 3 + 8 + 3 + 1 + 8);
    }

    #[test]
    fn a_change_for_another_state_is_corrupt() {
        let old = sections(["a", "b", "c", "d", "some status"]);
        let new = sections(["a", "b", "c", "d", "some other status"]);
        let change = Change::between(&old, &new);
        assert_eq!(change.apply(&sections(["a", "b", "c", "d", "same status"])), Err(Corrupt));
        assert_eq!(change.apply(&sections(["a", "b", "c", "d", ""])), Err(Corrupt));
        for end in 0..change.encoded().len() {
            let cut = Change::from_encoded(change.encoded()[..end].into());
            assert_eq!(cut.apply(&old), Err(Corrupt), "cut at {end}");
        }
        for mask in [0b10_0000, 0xff] {
            assert_eq!(Change::from_encoded([mask].into()).apply(&old), Err(Corrupt));
        }
        assert_eq!(Change::from_encoded([0b1, 0xff, 0xff].into()).apply(&old), Err(Corrupt));
    }

    #[test]
    fn a_checksum_sees_every_bit_and_the_length() {
        let bytes: Vec<u8> = (0..77).collect();
        let sum = checksum(&bytes);
        for bit in 0..bytes.len() * 8 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(checksum(&other), sum, "bit {bit}");
        }
        let zeros: std::collections::BTreeSet<_> = (0..200).map(|length| checksum(&vec![0; length])).collect();
        assert_eq!(zeros.len(), 200);
    }

    proptest! {
        #[test]
        fn applying_a_change_gives_the_new_state(
            old in proptest::array::uniform5("[ab]{0,150}"), new in proptest::array::uniform5("[ab]{0,150}"),
        ) {
            let (old, new) = (sections(old.each_ref().map(String::as_str)), sections(new.each_ref().map(String::as_str)));
            prop_assert_eq!(Change::between(&old, &new).apply(&old), Ok(new));
        }

        #[test]
        fn arbitrary_bytes_are_refused_or_applied_but_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = Change::from_encoded(bytes.into()).apply(&sections(["a", "bb", "ccc", "", "e"]));
        }
    }
}
