// SPDX-License-Identifier: Apache-2.0
//! Retention of a landscape's past: `all`, a number of entries, or a size on disk.

use std::fmt;
use std::str::FromStr;

use eventlog::MemoryLog;
use eventlog::sled::History;
use serde::{Deserialize, Serialize};

/// Amount of the past that is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct Retention(pub(crate) History);

const UNITS: [(&str, u64); 3] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

impl FromStr for Retention {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is neither `all`, a number of entries, nor a size such as 512MiB");
        let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0);
        if text == "all" {
            return Ok(Self(History::All));
        }
        for (unit, bytes) in UNITS {
            if let Some(count) = text.strip_suffix(unit) {
                let size = number(count).and_then(|count| count.checked_mul(bytes));
                return size.map(History::Bytes).map(Self).ok_or_else(wrong);
            }
        }
        number(text).map(History::Entries).map(Self).ok_or_else(wrong)
    }
}

impl TryFrom<String> for Retention {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            History::All => f.write_str("all"),
            History::Entries(count) => write!(f, "{count}"),
            History::Bytes(bytes) => write!(f, "{}KiB", bytes >> 10),
        }
    }
}

impl From<Retention> for String {
    fn from(retention: Retention) -> Self {
        retention.to_string()
    }
}

impl Retention {
    /// Returns a log in memory with this retention; `None` for a size, which applies to disks only.
    pub(crate) fn memory_log(self) -> Option<MemoryLog> {
        match self.0 {
            History::All => Some(MemoryLog::new()),
            History::Entries(count) => Some(MemoryLog::with_history(count)),
            History::Bytes(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retention_is_all_a_number_or_a_size() {
        for (text, history) in [
            ("all", History::All),
            ("5000", History::Entries(5000)),
            ("512KiB", History::Bytes(512 << 10)),
            ("2GiB", History::Bytes(2 << 30)),
        ] {
            let retention = Retention(history);
            assert_eq!(text.parse(), Ok(retention), "{text}");
            assert_eq!(retention.to_string().parse(), Ok(retention), "{text}");
        }
        for text in ["", "none", "0", "-1", "0MiB", "5GB", "1.5GiB", "99999999999999999999", "99999999999999999GiB"] {
            assert!(text.parse::<Retention>().is_err(), "{text}");
        }
    }
}
