// SPDX-License-Identifier: Apache-2.0
//! Form of an entry in journal and store: the change against the object's last state, or the whole object.
//!
//! ```text
//! record = revision · link · verb · whole or change (1 byte) · key · time · actor · writer · sequence · previous ·
//!          sections or splice · checksum of all before it (8 bytes)
//! ```
//!
//! `link` is the revision of the record before: heartbeats leave gaps in the revisions of records, but not in links.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::codec::{Decoder, put_actor, put_key, put_number, put_sections, put_time, verb_byte};
use crate::entry::{Actor, Key, Revision, Sections, Verb};
use crate::splice::{Change, Corrupt, checksum};

/// A record, decoded.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) revision: Revision,
    pub(super) link: Revision,
    pub(super) verb: Verb,
    pub(super) key: Key,
    pub(super) time: DateTime<Utc>,
    pub(super) actor: Arc<Actor>,
    pub(super) writer: (u64, u64),
    /// Revision of the state that a change is against; 0 for a creation.
    pub(super) previous: Revision,
    pub(super) content: Content,
}

/// Content of a record.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// The whole object.
    Whole(Sections),
    /// The change against the state at `previous`.
    Change(Change),
}

impl Record {
    /// The record as bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        put_number(&mut out, self.revision.0);
        put_number(&mut out, self.link.0);
        out.push(verb_byte(self.verb));
        out.push(u8::from(matches!(self.content, Content::Whole(_))));
        put_key(&mut out, &self.key);
        put_time(&mut out, self.time);
        put_actor(&mut out, &self.actor);
        put_number(&mut out, self.writer.0);
        put_number(&mut out, self.writer.1);
        put_number(&mut out, self.previous.0);
        match &self.content {
            Content::Whole(sections) => put_sections(&mut out, sections),
            Content::Change(change) => out.extend_from_slice(change.encoded()),
        }
        let sum = checksum(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }

    /// A record from bytes; its checksum is checked.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Corrupt> {
        let (bytes, sum) = bytes.split_last_chunk::<8>().ok_or(Corrupt)?;
        if checksum(bytes) != u64::from_le_bytes(*sum) {
            return Err(Corrupt);
        }
        let mut from = Decoder::new(bytes);
        let (revision, link) = (from.revision()?, from.revision()?);
        let verb = from.verb()?;
        let whole = from.byte()? != 0;
        let key = from.key()?;
        let time = from.time()?;
        let actor = Arc::new(from.actor()?);
        let writer = (from.number()?, from.number()?);
        let previous = from.revision()?;
        let content = if whole {
            let sections = from.sections()?;
            from.end()?;
            Content::Whole(sections)
        } else {
            Content::Change(Change::from_encoded(from.rest().into()))
        };
        Ok(Self { revision, link, verb, key, time, actor, writer, previous, content })
    }

    /// The object after the change, given the state at `previous`.
    pub(super) fn object(&self, before: &Sections) -> Result<Sections, Corrupt> {
        match &self.content {
            Content::Whole(sections) => Ok(sections.clone()),
            Content::Change(change) => change.apply(before),
        }
    }
}
