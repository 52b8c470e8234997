// SPDX-License-Identifier: Apache-2.0
//! Links the program at a fixed address where that is possible.
//!
//! A landscape is eight processes of this one program. At a random address, each of them writes some megabytes of addresses
//! into pages of its own when it starts; at a fixed one they share these pages. The price: where the program itself lies is
//! no secret. Heap, stacks and libraries stay at random addresses.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var_os(name).is_some_and(|actual| actual == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
