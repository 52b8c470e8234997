// SPDX-License-Identifier: Apache-2.0
//! Entries and appends as bytes, for files and for the wire.
//!
//! ```text
//! number = varint, 7 bits a byte, low ones first        text, bytes = number of bytes · bytes
//! key    = cluster · resource · namespace · name         actor = user · component · version
//! time   = seconds since 1970 as 8 bytes, little endian · nanoseconds as a number
//! frame  = kind (1 byte) · length (4 bytes) · payload · checksum of kind and payload (8 bytes), little endian
//! ```
//!
//! **Invariants.** Decoding refuses any malformed input; it never panics and never takes more memory than a small
//! multiple of its input.

use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};

use crate::entry::{Actor, Entry, Key, Revision, Sections, Verb};
use crate::log::{Append, AppendError, Expect, Guard, ReadError};
use crate::splice::{self, Change, Corrupt, checksum, push_varint};

/// Takes values off the front of bytes.
#[derive(Clone, Debug)]
pub struct Decoder<'a>(&'a [u8]);

impl<'a> Decoder<'a> {
    /// Creates a decoder of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the remaining bytes.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// Checks that no bytes remain.
    pub fn end(&self) -> Result<(), Corrupt> {
        if self.0.is_empty() { Ok(()) } else { Err(Corrupt) }
    }

    /// One byte.
    pub fn byte(&mut self) -> Result<u8, Corrupt> {
        self.0.split_off_first().copied().ok_or(Corrupt)
    }

    /// A number.
    pub fn number(&mut self) -> Result<u64, Corrupt> {
        splice::varint(&mut self.0).map(|value| value as u64)
    }

    /// A revision.
    pub fn revision(&mut self) -> Result<Revision, Corrupt> {
        self.number().map(Revision)
    }

    /// Eight bytes as a number.
    pub fn fixed(&mut self) -> Result<u64, Corrupt> {
        let bytes = self.0.split_off(..8).ok_or(Corrupt)?;
        Ok(u64::from_le_bytes(bytes.try_into().map_err(|_| Corrupt)?))
    }

    /// Bytes behind their length.
    pub fn bytes(&mut self) -> Result<&'a [u8], Corrupt> {
        let length = splice::varint(&mut self.0)?;
        self.0.split_off(..length).ok_or(Corrupt)
    }

    /// A text behind its length.
    pub fn text(&mut self) -> Result<&'a str, Corrupt> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Corrupt)
    }

    /// A key.
    pub fn key(&mut self) -> Result<Key, Corrupt> {
        Ok(Key {
            cluster: self.text()?.into(),
            resource: self.text()?.into(),
            namespace: self.text()?.into(),
            name: self.text()?.into(),
        })
    }

    /// An instant.
    pub fn time(&mut self) -> Result<DateTime<Utc>, Corrupt> {
        let seconds = self.fixed()?.cast_signed();
        let nanos = u32::try_from(self.number()?).map_err(|_| Corrupt)?;
        DateTime::from_timestamp(seconds, nanos).ok_or(Corrupt)
    }

    /// An actor.
    pub fn actor(&mut self) -> Result<Actor, Corrupt> {
        Ok(Actor { user: self.text()?.into(), component: self.text()?.into(), version: self.text()?.into() })
    }

    /// The sections of an object; they share one allocation.
    pub fn sections(&mut self) -> Result<Sections, Corrupt> {
        let mut parts: [&[u8]; 5] = Default::default();
        for part in &mut parts {
            *part = self.bytes()?;
        }
        let mut rest = Bytes::from(parts.concat());
        Ok(Sections { parts: parts.map(|part| rest.split_to(part.len())) })
    }

    /// A verb.
    pub fn verb(&mut self) -> Result<Verb, Corrupt> {
        verb_of(self.byte()?)
    }
}

/// The byte of a verb.
pub(crate) fn verb_byte(verb: Verb) -> u8 {
    match verb {
        Verb::Create => 0,
        Verb::Update => 1,
        Verb::UpdateStatus => 2,
        Verb::Delete => 3,
    }
}

pub(crate) fn verb_of(byte: u8) -> Result<Verb, Corrupt> {
    match byte {
        0 => Ok(Verb::Create),
        1 => Ok(Verb::Update),
        2 => Ok(Verb::UpdateStatus),
        3 => Ok(Verb::Delete),
        _ => Err(Corrupt),
    }
}

/// Appends a number.
pub fn put_number(out: &mut Vec<u8>, value: u64) {
    push_varint(out, usize::try_from(value).expect("a machine with 64 bits"));
}

/// Appends bytes behind their length.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    push_varint(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Appends a key.
pub fn put_key(out: &mut Vec<u8>, key: &Key) {
    for text in [&key.cluster, &key.resource, &key.namespace, &key.name] {
        put_bytes(out, text.as_bytes());
    }
}

/// Appends an instant.
pub fn put_time(out: &mut Vec<u8>, time: DateTime<Utc>) {
    out.extend_from_slice(&time.timestamp().to_le_bytes());
    put_number(out, u64::from(time.timestamp_subsec_nanos()));
}

/// Appends an actor.
pub fn put_actor(out: &mut Vec<u8>, actor: &Actor) {
    for text in [&actor.user, &actor.component, &actor.version] {
        put_bytes(out, text.as_bytes());
    }
}

/// Appends sections.
pub fn put_sections(out: &mut Vec<u8>, sections: &Sections) {
    for part in &sections.parts {
        put_bytes(out, part);
    }
}

/// Appends a frame.
///
/// # Panics
/// If the payload has more than 4 GiB.
pub fn put_frame(out: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    out.push(kind);
    out.extend_from_slice(&u32::try_from(payload.len()).expect("a frame below 4 GiB").to_le_bytes());
    out.extend_from_slice(payload);
    out.extend_from_slice(&frame_checksum(kind, payload).to_le_bytes());
}

/// Bytes that a frame adds to its payload.
pub const FRAME_OVERHEAD: usize = 13;

/// Takes a frame off the front of bytes; `None` if they end before it does, or its checksum is wrong.
pub fn take_frame<'a>(bytes: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&kind, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length) as usize;
    let payload = rest.get(..length)?;
    let (sum, rest) = rest[length..].split_first_chunk::<8>()?;
    if u64::from_le_bytes(*sum) != frame_checksum(kind, payload) {
        return None;
    }
    *bytes = rest;
    Some((kind, payload))
}

fn frame_checksum(kind: u8, payload: &[u8]) -> u64 {
    // Rotated, so that a frame of another kind with the same payload has another sum.
    checksum(payload).rotate_left(u32::from(kind)) ^ u64::from(kind)
}

/// Appends an append.
pub fn put_append(out: &mut Vec<u8>, append: &Append) {
    put_key(out, &append.key);
    match append.expect {
        Expect::Absent => out.push(0),
        Expect::Revision(revision) => {
            out.push(1);
            put_number(out, revision.0);
        }
    }
    put_number(out, append.guards.len() as u64);
    for guard in &append.guards {
        match guard {
            Guard::Key(key, since) => {
                out.push(0);
                put_key(out, key);
                put_number(out, since.0);
            }
            Guard::Collection(cluster, resource, since) => {
                out.push(1);
                put_bytes(out, cluster.as_bytes());
                put_bytes(out, resource.as_bytes());
                put_number(out, since.0);
            }
        }
    }
    out.push(verb_byte(append.verb));
    out.push(u8::from(append.volatile));
    put_actor(out, &append.actor);
    put_time(out, append.time);
    put_number(out, append.writer.0);
    put_number(out, append.writer.1);
    put_sections(out, &append.object);
}

/// Decodes an append, as [`put_append`] wrote it.
pub fn take_append(bytes: &[u8]) -> Result<Append, Corrupt> {
    let mut from = Decoder::new(bytes);
    let key = from.key()?;
    let expect = match from.byte()? {
        0 => Expect::Absent,
        1 => Expect::Revision(from.revision()?),
        _ => return Err(Corrupt),
    };
    let mut guards = Vec::new();
    for _ in 0..from.number()? {
        guards.push(match from.byte()? {
            0 => Guard::Key(from.key()?, from.revision()?),
            1 => Guard::Collection(from.text()?.into(), from.text()?.into(), from.revision()?),
            _ => return Err(Corrupt),
        });
    }
    let append = Append {
        key,
        expect,
        guards,
        verb: from.verb()?,
        volatile: from.byte()? != 0,
        actor: Arc::new(from.actor()?),
        time: from.time()?,
        writer: (from.number()?, from.number()?),
        object: from.sections()?,
    };
    from.end()?;
    Ok(append)
}

/// Appends an entry. With `known` the reader holds the state before it, and only the change is written.
pub fn put_entry(out: &mut Vec<u8>, entry: &Entry, known: bool) {
    put_number(out, entry.revision.0);
    put_key(out, &entry.key);
    out.push(verb_byte(entry.verb));
    out.push(u8::from(entry.volatile) | u8::from(entry.previous.is_some()) << 1 | u8::from(known) << 2);
    put_time(out, entry.time);
    put_actor(out, &entry.actor);
    put_number(out, entry.writer.0);
    put_number(out, entry.writer.1);
    let none = Sections::default();
    let mut before = &none;
    if let Some((revision, sections)) = &entry.previous {
        put_number(out, revision.0);
        if !known {
            put_sections(out, sections);
        }
        before = sections;
    }
    splice::encode(before, &entry.object, out);
}

/// Decodes an entry, as [`put_entry`] wrote it; `state` returns the state that is held of a key at a revision.
pub fn take_entry(bytes: &[u8], state: impl FnOnce(&Key, Revision) -> Option<Sections>) -> Result<Entry, Corrupt> {
    let mut from = Decoder::new(bytes);
    let revision = from.revision()?;
    let key = from.key()?;
    let verb = from.verb()?;
    let flags = from.byte()?;
    let time = from.time()?;
    let actor = Arc::new(from.actor()?);
    let writer = (from.number()?, from.number()?);
    let mut previous = None;
    if flags & 0b10 != 0 {
        let at = from.revision()?;
        let sections = if flags & 0b100 == 0 { from.sections()? } else { state(&key, at).ok_or(Corrupt)? };
        previous = Some((at, sections));
    }
    let none = Sections::default();
    let before = previous.as_ref().map_or(&none, |(_, sections)| sections);
    let object = Change::from_encoded(from.rest().into()).apply(before)?;
    Ok(Entry { revision, key, verb, time, actor, writer, object, previous, volatile: flags & 1 != 0 })
}

/// Encodes the reason of a refused append.
pub fn put_append_error(out: &mut Vec<u8>, error: &AppendError) {
    match error {
        AppendError::Conflict { actual } => {
            out.push(0);
            put_number(out, actual.map_or(0, |revision| revision.0));
        }
        AppendError::GuardFailed => out.push(1),
        AppendError::TooLarge => out.push(2),
        AppendError::Closed => out.push(3),
        AppendError::Storage(message) => {
            out.push(4);
            put_bytes(out, message.as_bytes());
        }
        AppendError::Busy => out.push(5),
        AppendError::LiveLock(message) => {
            out.push(7);
            put_bytes(out, message.as_bytes());
        }
        AppendError::Unknown(message) => {
            out.push(6);
            put_bytes(out, message.as_bytes());
        }
    }
}

/// Decodes the reason of a refused append, as [`put_append_error`] wrote it.
pub fn take_append_error(bytes: &[u8]) -> Result<AppendError, Corrupt> {
    let mut from = Decoder::new(bytes);
    Ok(match from.byte()? {
        0 => AppendError::Conflict { actual: Some(from.revision()?).filter(|revision| revision.0 > 0) },
        1 => AppendError::GuardFailed,
        2 => AppendError::TooLarge,
        3 => AppendError::Closed,
        4 => AppendError::Storage(from.text()?.to_owned()),
        5 => AppendError::Busy,
        6 => AppendError::Unknown(from.text()?.to_owned()),
        7 => AppendError::LiveLock(from.text()?.to_owned()),
        _ => return Err(Corrupt),
    })
}

/// Encodes the reason of a refused read.
pub fn put_read_error(out: &mut Vec<u8>, error: ReadError) {
    let (kind, revision) = match error {
        ReadError::Compacted(revision) => (0, revision),
        ReadError::Future(revision) => (1, revision),
        ReadError::Closed => (2, Revision(0)),
    };
    out.push(kind);
    put_number(out, revision.0);
}

/// Decodes the reason of a refused read, as [`put_read_error`] wrote it.
pub fn take_read_error(bytes: &[u8]) -> Result<ReadError, Corrupt> {
    let mut from = Decoder::new(bytes);
    let (kind, revision) = (from.byte()?, from.revision()?);
    match kind {
        0 => Ok(ReadError::Compacted(revision)),
        1 => Ok(ReadError::Future(revision)),
        2 => Ok(ReadError::Closed),
        _ => Err(Corrupt),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::conformance::{put, update};

    #[test]
    fn an_append_is_decoded_as_it_was() {
        let guards = vec![
            Guard::Key(Key::new("a", "b/c", "", "d"), Revision(300)),
            Guard::Collection("garden".into(), "example/things".into(), Revision(u64::MAX)),
        ];
        for append in [put("a", 1), Append { guards, volatile: true, ..update("b", Revision(7), 2) }] {
            let mut out = Vec::new();
            put_append(&mut out, &append);
            let back = take_append(&out).expect("what was written");
            assert_eq!(format!("{back:?}"), format!("{append:?}"));
            for end in 0..out.len() {
                assert!(take_append(&out[..end]).is_err(), "cut at {end}");
            }
        }
    }

    #[test]
    fn an_entry_is_decoded_as_it_was() {
        let (before, after) = (put("a", 1).object, put("a", 2).object);
        let Append { key, actor, time, .. } = put("a", 1);
        for previous in [None, Some((Revision(3), before.clone()))] {
            for known in [false, true] {
                let object = after.clone();
                let (key, actor, previous) = (key.clone(), actor.clone(), previous.clone());
                let revision = Revision(9);
                let writer = (1, 2);
                let entry =
                    Entry { revision, key, verb: Verb::Update, time, actor, writer, object, previous, volatile: true };
                let mut out = Vec::new();
                put_entry(&mut out, &entry, known);
                let back = take_entry(&out, |_, at| (at == Revision(3)).then(|| before.clone()));
                assert_eq!(back, Ok(entry));
            }
        }
    }

    #[test]
    fn errors_are_decoded_as_they_were() {
        let text = || "text".to_owned();
        let errors = [
            AppendError::Conflict { actual: None },
            AppendError::Conflict { actual: Some(Revision(5)) },
            AppendError::GuardFailed,
            AppendError::TooLarge,
            AppendError::Closed,
            AppendError::Storage(text()),
            AppendError::Busy,
            AppendError::LiveLock(text()),
            AppendError::Unknown(text()),
        ];
        for error in errors {
            let mut out = Vec::new();
            put_append_error(&mut out, &error);
            assert_eq!(take_append_error(&out), Ok(error));
        }
        for error in [ReadError::Compacted(Revision(1)), ReadError::Future(Revision(2)), ReadError::Closed] {
            let mut out = Vec::new();
            put_read_error(&mut out, error);
            assert_eq!(take_read_error(&out), Ok(error));
        }
    }

    #[test]
    fn a_frame_that_is_cut_or_changed_is_none() {
        let mut out = Vec::new();
        put_frame(&mut out, 7, b"the payload");
        assert_eq!(take_frame(&mut &out[..]), Some((7, &b"the payload"[..])));
        for end in 0..out.len() {
            assert_eq!(take_frame(&mut &out[..end]), None, "cut at {end}");
        }
        for bit in 0..out.len() * 8 {
            let mut other = out.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(take_frame(&mut &other[..]), None, "bit {bit}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_refused_but_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = take_append(&bytes);
            let _ = take_entry(&bytes, |_, _| None);
            let _ = take_append_error(&bytes);
            let _ = take_read_error(&bytes);
            let _ = take_frame(&mut &bytes[..]);
        }
    }
}
