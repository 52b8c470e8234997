// SPDX-License-Identifier: Apache-2.0
//! Integration tests of the domain's rules, in one binary so that it is linked only once.

mod odd_values;
mod properties;
mod release_rules;
mod releases;
mod rollout;
mod skew;
mod vectors;
mod world;
