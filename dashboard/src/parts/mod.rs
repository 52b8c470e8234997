// SPDX-License-Identifier: Apache-2.0
//! What pages are made of.
//!
//! **Tour.** [`time`] instants and distances; [`badge`] states of versions; [`table`] tables; [`message`] what a request
//! answered; [`form`] forms and their fields; [`lines`] lines that know what they are about.

pub mod badge;
pub mod form;
pub mod lines;
pub mod message;
pub mod table;
pub mod time;
