// SPDX-License-Identifier: Apache-2.0
//! Commands that query or change a landscape: arguments, reading of input, printing.
//!
//! Computations of commands are in `ops`; shared access to landscapes is in [`landscape`](super::landscape).

pub(crate) mod ask;
pub(crate) mod assert;
pub(crate) mod at;
pub(crate) mod clock;
pub(crate) mod config;
pub(crate) mod credential;
pub(crate) mod dashboard;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod down;
pub(crate) mod dump;
pub(crate) mod events;
pub(crate) mod fault;
pub(crate) mod get;
pub(crate) mod history;
pub(crate) mod kubeconfig_command;
pub(crate) mod kubectl;
pub(crate) mod landscapes;
pub(crate) mod log;
pub(crate) mod logs;
pub(crate) mod replay;
pub(crate) mod status;
pub(crate) mod up;
pub(crate) mod upgrade;
