// SPDX-License-Identifier: Apache-2.0
//! A checkpoint: every object at a revision, in one plain file.
//!
//! ```text
//! file   = "terrarium checkpoint 1\n" · frames
//! frame 1 head     revision · link · time                          first
//!       2 object   key · revision of its last change · records since a whole one (1 byte) · sections; in key order
//!       3 entry    a heartbeat that is its object's last entry     4 writers   writer · sequence · revision, …
//!       5 fact     name · value                                    6 end       number of objects, last
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::codec::{Decoder, FRAME_OVERHEAD, put_bytes, put_frame, put_key, put_number, put_sections, put_time};
use crate::codec::{put_entry, take_entry, take_frame};
use crate::entry::{Entry, Key, Revision, Sections};
use crate::splice::Corrupt;

use super::OpenError;
use super::state::Writers;
use super::store::Broken;

const MAGIC: &[u8] = b"terrarium checkpoint 1\n";
const HEAD: u8 = 1;
const OBJECT: u8 = 2;
const HEARTBEAT: u8 = 3;
const WRITERS: u8 = 4;
const FACT: u8 = 5;
const END: u8 = 6;

/// Head of a checkpoint: position of the log as a whole.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Head {
    pub(super) revision: Revision,
    /// Last record at or before it.
    pub(super) link: Revision,
    pub(super) time: DateTime<Utc>,
}

/// An object of a checkpoint.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) key: Key,
    pub(super) revision: Revision,
    pub(super) changes: u8,
    pub(super) sections: Sections,
}

/// Writes a checkpoint, frame by frame.
pub(super) struct Writer<W> {
    out: W,
    scratch: Vec<u8>,
    frame: Vec<u8>,
    objects: u64,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(mut out: W, head: Head) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        let mut writer = Self { out, scratch: Vec::new(), frame: Vec::new(), objects: 0 };
        put_number(&mut writer.scratch, head.revision.0);
        put_number(&mut writer.scratch, head.link.0);
        put_time(&mut writer.scratch, head.time);
        writer.frame(HEAD)?;
        Ok(writer)
    }

    fn frame(&mut self, kind: u8) -> io::Result<()> {
        self.frame.clear();
        put_frame(&mut self.frame, kind, &self.scratch);
        self.scratch.clear();
        self.out.write_all(&self.frame)
    }

    pub(super) fn object(&mut self, key: &Key, revision: Revision, changes: u8, sections: &Sections) -> io::Result<()> {
        put_key(&mut self.scratch, key);
        put_number(&mut self.scratch, revision.0);
        self.scratch.push(changes);
        put_sections(&mut self.scratch, sections);
        self.objects += 1;
        self.frame(OBJECT)
    }

    pub(super) fn heartbeat(&mut self, entry: &Entry) -> io::Result<()> {
        put_entry(&mut self.scratch, entry, false);
        self.frame(HEARTBEAT)
    }

    pub(super) fn writers(&mut self, writers: &Writers) -> io::Result<()> {
        for ((writer, sequence), revision) in writers.iter() {
            put_number(&mut self.scratch, writer);
            put_number(&mut self.scratch, sequence);
            put_number(&mut self.scratch, revision.0);
        }
        self.frame(WRITERS)
    }

    pub(super) fn fact(&mut self, name: &str, value: &[u8]) -> io::Result<()> {
        put_bytes(&mut self.scratch, name.as_bytes());
        put_bytes(&mut self.scratch, value);
        self.frame(FACT)
    }

    pub(super) fn end(mut self) -> io::Result<()> {
        put_number(&mut self.scratch, self.objects);
        self.frame(END)
    }
}

/// Contents of a checkpoint.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) head: Head,
    pub(super) heartbeats: Vec<Entry>,
    pub(super) writers: Writers,
    pub(super) facts: BTreeMap<String, Vec<u8>>,
}

/// Reads a checkpoint; `each` gets every object, and the position of its frame.
pub(super) fn read(path: &Path, mut each: impl FnMut(Object, u64, usize)) -> Result<Contents, OpenError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => OpenError::corrupt(path, error.to_string()),
        _ => OpenError::io(path, &error),
    };
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).map_err(failed)?);
    let mut magic = [0; MAGIC.len()];
    file.read_exact(&mut magic).map_err(failed)?;
    if magic != MAGIC {
        return Err(OpenError::corrupt(path, "it is no checkpoint of this version"));
    }
    let mut at = MAGIC.len() as u64;
    let (mut contents, mut objects, mut frame) = (Contents::default(), 0_u64, Vec::new());
    loop {
        read_frame(&mut file, &mut frame).map_err(failed)?;
        let damaged = || OpenError::corrupt(path, format!("the frame at byte {at} is damaged"));
        let (kind, payload) = take_frame(&mut &frame[..]).ok_or_else(damaged)?;
        let mut from = Decoder::new(payload);
        let mut apply = || -> Result<bool, Corrupt> {
            match kind {
                HEAD => {
                    contents.head = Head { revision: from.revision()?, link: from.revision()?, time: from.time()? };
                }
                OBJECT => {
                    each(object(&mut from)?, at, frame.len());
                    objects += 1;
                }
                HEARTBEAT => contents.heartbeats.push(take_entry(from.rest(), |_, _| None)?),
                WRITERS => {
                    while from.end().is_err() {
                        contents.writers.push((from.number()?, from.number()?), from.revision()?);
                    }
                }
                FACT => {
                    contents.facts.insert(from.text()?.to_owned(), from.bytes()?.to_owned());
                }
                END if from.number()? == objects => return Ok(true),
                _ => return Err(Corrupt),
            }
            Ok(false)
        };
        if apply().map_err(|Corrupt| damaged())? {
            return Ok(contents);
        }
        at += frame.len() as u64;
    }
}

fn object(from: &mut Decoder<'_>) -> Result<Object, Corrupt> {
    Ok(Object { key: from.key()?, revision: from.revision()?, changes: from.byte()?, sections: from.sections()? })
}

/// The bytes of the next frame; checked by the caller.
fn read_frame(file: &mut impl BufRead, frame: &mut Vec<u8>) -> io::Result<()> {
    let mut head = [0; 5];
    file.read_exact(&mut head)?;
    let length = u64::from(u32::from_le_bytes([head[1], head[2], head[3], head[4]]));
    frame.clear();
    frame.extend_from_slice(&head);
    let rest = length + FRAME_OVERHEAD as u64 - 5;
    // The memory is not reserved at once: the length may be damaged.
    if file.take(rest).read_to_end(frame)? as u64 == rest { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// The checkpoint below retained history, for reading single objects.
#[derive(Debug, Default)]
pub(super) struct Base {
    pub(super) head: Head,
    objects: BTreeMap<Arc<Key>, (Revision, u64, usize)>,
    file: Option<(PathBuf, File)>,
}

impl Base {
    /// Reads the positions of a checkpoint's objects.
    pub(super) fn open(path: &Path) -> Result<Self, OpenError> {
        let mut objects = BTreeMap::new();
        let contents = read(path, |object, at, length| {
            objects.insert(Arc::new(object.key), (object.revision, at, length));
        })?;
        let file = File::open(path).map_err(|error| OpenError::io(path, &error))?;
        Ok(Self { head: contents.head, objects, file: Some((path.to_owned(), file)) })
    }

    /// Revision up to which history is forgotten.
    pub(super) fn revision(&self) -> Revision {
        self.head.revision
    }

    /// Every object with its last change.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&Arc<Key>, Revision)> {
        self.objects.iter().map(|(key, (revision, _, _))| (key, *revision))
    }

    /// An object's last change at the base, and its state.
    pub(super) fn get(&self, key: &Key) -> Result<Option<(Revision, Sections)>, Broken> {
        let (Some((revision, at, length)), Some((path, file))) = (self.objects.get(key), &self.file) else {
            return Ok(None);
        };
        let mut frame = vec![0; *length];
        let read = file.read_exact_at(&mut frame, *at);
        read.map_err(|error| Broken(format!("cannot read {}: {error}", path.display())))?;
        let (_, payload) = take_frame(&mut &frame[..]).ok_or(Corrupt)?;
        Ok(Some((*revision, object(&mut Decoder::new(payload))?.sections)))
    }
}
