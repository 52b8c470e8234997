// SPDX-License-Identifier: Apache-2.0
//! `terrarium simulate`.
pub(crate) mod complete;
mod layout;
mod story;
