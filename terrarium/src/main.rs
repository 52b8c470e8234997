// SPDX-License-Identifier: Apache-2.0
//! `terrarium`: the command line of the landscape in a jar.
mod manifests;
mod simulate;
fn main() {}
