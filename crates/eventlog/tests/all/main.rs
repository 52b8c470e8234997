// SPDX-License-Identifier: Apache-2.0
//! Tests of a log on disk: kills of its process, and failing file operations.

#[cfg(target_os = "linux")]
mod faults;
mod kill;
