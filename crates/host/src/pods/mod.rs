// SPDX-License-Identifier: Apache-2.0
//! Pods of Gardener's components: the processes behind them, the names by which they reach one another, and faults.

pub mod faults;
pub(crate) mod joined;
pub mod kubelet;
pub(crate) mod services;
pub(crate) mod streams;
