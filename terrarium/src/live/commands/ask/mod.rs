// SPDX-License-Identifier: Apache-2.0
//! Requests to a landscape's API, and output in the form of kubectl.
//!
//! Works over any [`Transport`]: that of a running landscape, or of servers over the log of a stopped one. The server
//! computes the rows including ages, so that these are ages in landscape time; nothing here reads a clock.
//!
//! **Tour.** [`kinds`] names of kinds (names of clusters and Shoots are in `ops::names`); [`query`] reading objects;
//! [`lines`] reading streams; [`table`] printing rows.

pub(crate) mod kinds;
pub(crate) mod lines;
pub(crate) mod query;
pub(crate) mod table;

pub(crate) use ops::read::{create, response, tree};
