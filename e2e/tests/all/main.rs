// SPDX-License-Identifier: Apache-2.0
//! Real binaries, driven as users drive them: the integration tests of this crate, in one binary that is linked once.

mod apiservers;
mod bad_input;
mod binaries;
mod commands;
mod compatibility;
mod completion;
mod config;
mod empty;
mod expectations;
mod faults;
mod gardenlet_configuration;
mod guides;
mod history;
mod inside;
mod interrupted;
mod kills;
mod landscape;
mod linearizable;
mod lives;
mod lost_files;
mod malformed;
mod operator;
mod scripts;
mod seeds;
mod skew;
mod support;
mod time;
mod trouble;
mod upgrade;
mod upgrade_all;
