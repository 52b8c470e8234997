// SPDX-License-Identifier: Apache-2.0
//! Requests to the router, answered without a connection, over a fake API.

mod bad_input;
mod cluster;
mod frame;
mod pages;
mod security;
mod support;
