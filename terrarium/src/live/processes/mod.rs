// SPDX-License-Identifier: Apache-2.0
//! The processes of a landscape: the host, the components that it starts, those that join it, and their start-up.

pub(in crate::live) mod admission_controller;
pub(in crate::live) mod apiserver;
pub(in crate::live) mod clock_file;
pub(crate) mod components;
pub(in crate::live) mod configuration;
pub(in crate::live) mod defaults;
pub(crate) mod host;
pub(crate) mod joining;
pub(in crate::live) mod operator;
pub(in crate::live) mod registration;
pub(in crate::live) mod skew_event;
pub(in crate::live) mod skew_watch;
