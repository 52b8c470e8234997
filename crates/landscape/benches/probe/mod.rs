// SPDX-License-Identifier: Apache-2.0
//! Measurements of a benchmark's own process.

use std::time::SystemTime;

/// Seconds of wall time.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
pub(crate) fn wall_seconds() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |elapsed| elapsed.as_secs_f64())
}

/// Resident memory in bytes, as reported by the kernel; 0 where that is not available.
pub(crate) fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()));
    pages.unwrap_or(0) * 4096
}
