// SPDX-License-Identifier: Apache-2.0
//! Building blocks of pages.
//!
//! **Tour.** [`time`] instants and distances; [`badge`] states of versions; [`table`] tables; [`form`] forms and their
//! fields; [`lines`] lines with links to the history of their objects.

pub mod badge;
pub mod form;
pub mod lines;
pub mod table;
pub mod time;
