// SPDX-License-Identifier: Apache-2.0
//! A whole landscape in one process: the integration tests of this crate, in one binary that is linked once.

mod budget;
mod crash;
mod determinism;
mod drained_worlds;
mod faults;
mod forecast;
mod foretold;
mod garden;
mod gardenlet;
mod in_place;
mod life_and_death;
mod maintenance;

mod node_drains;
mod node_rollout;
mod pages;
mod past;
mod preservation;
mod profiles;
mod releases;
mod releases_of_rollouts;
mod rotation;
mod scheduling;
mod seed_lifecycle;
mod settled;
mod stages;
mod start;
mod story;
mod support;
mod traces;
