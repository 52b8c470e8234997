// SPDX-License-Identifier: Apache-2.0
//! A log on disk whose process is killed, or whose files fail.

#[cfg(target_os = "linux")]
mod faults;
mod kill;
