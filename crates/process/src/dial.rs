// SPDX-License-Identifier: Apache-2.0
//! The dial of the landscape's clock: landscape time, readable by every process.
//!
//! The host updates the dial *before* it grants the new instant to a participant. So a process that observes a
//! consequence of it reads at least that instant, without a message: a step of the clock costs nothing for processes
//! without a timer then.
//!
//! Between processes the dial is a file of one line that is overwritten in place: the instant and its CRC-32. A reader that
//! finds a mismatch has read a partial write, and reads again.
//!
//! **Invariants.** The dial never goes back.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};

/// Maximum length of the line in bytes.
const LINE: usize = 128;
/// Maximum number of attempts of a reader; after that it continues without the dial.
const LOOKS: usize = 1000;

/// Reader of the dial. Cheap to clone.
#[derive(Clone)]
pub struct Dial(Arc<dyn Fn() -> Option<DateTime<Utc>> + Send + Sync>);

impl Dial {
    /// Creates a dial that is read by a function, within a process.
    pub fn new(read: impl Fn() -> Option<DateTime<Utc>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// Opens the dial in a file.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        Ok(Self::new(move || {
            let mut line = [0; LINE];
            for _ in 0..LOOKS {
                let length = file.read_at(&mut line, 0).ok()?;
                let now = std::str::from_utf8(&line[..length]).ok().and_then(parse);
                if now.is_some() {
                    return now;
                }
            }
            None
        }))
    }

    /// Landscape time of the latest grant; `None`: the dial cannot be read.
    pub fn read(&self) -> Option<DateTime<Utc>> {
        (self.0)()
    }
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Dial").field(&self.read()).finish()
    }
}

/// Parses a dial's line; `None` if it was written partially or is damaged.
pub fn parse(line: &str) -> Option<DateTime<Utc>> {
    let (now, sum) = line.strip_suffix('\n')?.split_once(' ')?;
    let is_whole = u32::from_str_radix(sum, 16) == Ok(crc32fast::hash(now.as_bytes()));
    now.parse().ok().filter(|_| is_whole)
}

/// Parses a line of an earlier version: the instant, twice.
pub fn parse_earlier(line: &str) -> Option<DateTime<Utc>> {
    let (one, other) = line.strip_suffix('\n')?.split_once(' ')?;
    if one == other { one.parse().ok() } else { None }
}

/// Writer of the dial's file.
#[derive(Debug)]
pub struct DialFile(File);

impl DialFile {
    /// Creates the file, which only its owner may read, or opens the existing one, and shows `now`.
    ///
    /// # Errors
    /// The file cannot be created or written.
    pub fn create(path: &Path, now: DateTime<Utc>) -> io::Result<Self> {
        let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(path)?;
        let dial = Self(file);
        dial.turn(now)?;
        // Truncates the file: an older line may be longer.
        dial.0.set_len(line(now).len() as u64)?;
        Ok(dial)
    }

    /// Shows another instant. The write is not durable: after a failure of the machine the file may show an earlier
    /// instant.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn turn(&self, now: DateTime<Utc>) -> io::Result<()> {
        self.0.write_all_at(line(now).as_bytes(), 0)
    }
}

fn line(now: DateTime<Utc>) -> String {
    let now = now.to_rfc3339_opts(SecondsFormat::Nanos, true);
    let sum = crc32fast::hash(now.as_bytes());
    format!("{now} {sum:08x}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dial_shows_complete_writes_only() {
        let folder = std::env::temp_dir().join(format!("dial-{}", std::process::id()));
        let at = |text: &str| text.parse::<DateTime<Utc>>().expect("an instant");
        let dial = DialFile::create(&folder, at("2023-07-27T20:00:00Z")).expect("writable");
        let reader = Dial::open(&folder).expect("readable");
        assert_eq!(reader.read(), Some(at("2023-07-27T20:00:00Z")));
        dial.turn(at("2023-07-28T03:04:05.678901234Z")).expect("writable");
        assert_eq!(reader.read(), Some(at("2023-07-28T03:04:05.678901234Z")));
        dial.0.write_all_at(b"2024", 0).expect("writable");
        assert_eq!(reader.read(), None);
        let whole = line(at("2023-07-28T03:04:05Z"));
        assert!(parse(&whole).is_some());
        for index in 0..whole.len() {
            let mut damaged = whole.clone().into_bytes();
            damaged[index] ^= 1;
            let read = String::from_utf8(damaged).ok().and_then(|text| parse(&text));
            assert_eq!(read, None, "byte {index}");
        }
        let earlier = "2023-07-28T03:04:05Z 2023-07-28T03:04:05Z\n";
        assert_eq!((parse(earlier), parse_earlier(earlier)), (None, Some(at("2023-07-28T03:04:05Z"))));
        std::fs::remove_file(folder).expect("it is there");
    }
}
