// SPDX-License-Identifier: Apache-2.0
//! A server of any kinds: the integration tests of this crate, in one binary that is linked once.

mod admission;
mod apply;
mod kubectl;
mod list;
mod refusals;
mod releases;
mod statuses;
mod support;
mod uids;
mod unstored;
mod verbs;
mod watch;
mod webhooks;
mod wire;
