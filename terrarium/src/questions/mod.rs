// SPDX-License-Identifier: Apache-2.0
//! Questions before acting, answered by the rules alone, without an API server. Computations are in `ops`.
//!
//! **Tour.** [`forecast`] future maintenance; [`versions`] offered versions and their users; [`why`] reasons for which a
//! Shoot waits; [`rollout`] effects of a change on nodes; [`rows`] output of changes. [`skew`] and [`upgrade`] are about
//! the versions of Gardener's components, which [`fleet`] reads.

pub(crate) mod fleet;
pub(crate) mod forecast;
pub(crate) mod rollout;
mod rows;
pub(crate) mod skew;
pub(crate) mod upgrade;
pub(crate) mod versions;
pub(crate) mod why;
