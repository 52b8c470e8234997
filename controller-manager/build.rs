// SPDX-License-Identifier: Apache-2.0
//! Computes the identity of the sources that the binary is built from.

include!("../crates/component/build_id.rs");
