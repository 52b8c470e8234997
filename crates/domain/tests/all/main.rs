// SPDX-License-Identifier: Apache-2.0
//! The domain's rules: the integration tests of this crate, in one binary that is linked once.

mod odd_values;
mod properties;
mod release_rules;
mod releases;
mod rollout;
mod skew;
mod vectors;
mod world;
