// SPDX-License-Identifier: Apache-2.0
//! Asking a landscape's API and printing what it says, as kubectl does.
//!
//! Works over any [`Transport`]: that of a landscape which runs, or of servers over the log of one which does not. The
//! server makes the rows, ages included, so that they are landscape ages; nothing here reads a clock.
//!
//! **Tour.** [`kinds`] what people call kinds (names of clusters and Shoots are in `ops::names`); [`query`] reading objects;
//! [`lines`] reading streams; [`table`] printing rows.

pub(crate) mod kinds;
pub(crate) mod lines;
pub(crate) mod query;
pub(crate) mod table;

pub(crate) use ops::read::{create, response, tree};
