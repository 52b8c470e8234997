// SPDX-License-Identifier: Apache-2.0
//! File `clock` of a landscape: the dial that its processes read, and the time at which the landscape resumes.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use process::dial::{self, DialFile};

use crate::failure::Failure;
use crate::live::directory::Directory;

/// File with the time of the clock: its dial.
const CLOCK: &str = "clock";

/// Maximum lag of the file behind the log after a process was killed.
const LAG: TimeDelta = TimeDelta::seconds(1);

/// Function that shows an instant on the dial.
pub(super) type Turn = Arc<dyn Fn(DateTime<Utc>) + Send + Sync>;

/// Creates the dial that processes read and that keeps the time of a stopped landscape. After a failure of the machine it
/// may show an earlier instant than the log's last entry; then the entry counts.
pub(super) fn dial(directory: &Directory, now: DateTime<Utc>) -> Result<(PathBuf, Turn), Failure> {
    let failed = |error: std::io::Error| Failure::Failed(format!("{}: {error}", directory.join(CLOCK).display()));
    let path = std::path::absolute(directory.join(CLOCK)).map_err(failed)?;
    let dial = DialFile::create(&path, now).map_err(failed)?;
    let shown = path.clone();
    let turn = move |now| {
        if let Err(error) = dial.turn(now) {
            process::child::say(&format!("warning: {}: {error}", shown.display()));
        }
    };
    Ok((path, Arc::new(turn)))
}

/// Time of the clock; `None`: the file is missing, or was torn by a failure of the machine.
pub(in crate::live) fn time(directory: &Directory) -> Result<Option<DateTime<Utc>>, Failure> {
    Ok(shown(directory)?.and_then(|text| dial::parse(&text).or_else(|| dial::parse_earlier(&text))))
}

/// Content of the clock's file; `None`: there is no file.
fn shown(directory: &Directory) -> Result<Option<String>, Failure> {
    let path = directory.join(CLOCK);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::Failed(format!("cannot read {}: {error}", path.display()))),
    }
}

/// Contradiction between the clock's file and the log's last entry.
///
/// `start` is the landscape's first instant, `last` that of the log's last entry.
pub(super) fn doubt(
    directory: &Directory,
    start: DateTime<Utc>,
    last: DateTime<Utc>,
) -> Result<Option<String>, Failure> {
    let path = directory.join(CLOCK);
    let path = path.display();
    Ok(match (shown(directory)?, time(directory)?) {
        (None, _) if last > start => Some(format!("{path} is missing")),
        (Some(_), None) => Some(format!("{path} is damaged")),
        (_, Some(clock)) if clock + LAG < last => Some(format!("{path} shows {clock:?}, before the log's last entry")),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock file that is damaged, missing, or older than the log is reported.
    #[test]
    fn a_clock_is_held_against_the_log() {
        let path = std::env::temp_dir().join(format!("terrarium-clock-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder for temporary files");
        let directory = Directory::at(&path);
        let at = |hour: u32| format!("2023-07-27T{hour:02}:00:00Z").parse::<DateTime<Utc>>().expect("an instant");
        let doubted = |last| doubt(&directory, at(1), last).expect("readable").unwrap_or_default();
        assert_eq!(doubted(at(1)), "", "a landscape that begins");
        assert!(doubted(at(2)).ends_with("clock is missing"));
        let (_, turn) = dial(&directory, at(1)).expect("writable");
        turn(at(3));
        assert_eq!((doubted(at(3)), time(&directory)), (String::new(), Ok(Some(at(3)))));
        assert_eq!(doubted(at(3) + LAG), "", "a killed process has written since");
        assert!(doubted(at(4)).ends_with("clock shows 2023-07-27T03:00:00Z, before the log's last entry"));
        let whole = std::fs::read(path.join(CLOCK)).expect("there");
        for index in 0..whole.len() {
            for bit in [1, 0x80] {
                let mut damaged = whole.clone();
                damaged[index] ^= bit;
                std::fs::write(path.join(CLOCK), damaged).expect("writable");
                assert!(doubted(at(2)).ends_with("clock is damaged"), "byte {index}");
                assert_eq!(time(&directory), Ok(None), "byte {index}");
            }
        }
        std::fs::write(path.join(CLOCK), "").expect("writable");
        assert!(doubted(at(2)).ends_with("clock is damaged"));
        let _ = std::fs::remove_dir_all(&path);
    }
}
