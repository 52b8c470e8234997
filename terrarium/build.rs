// SPDX-License-Identifier: Apache-2.0
//! Links the program at a fixed address where that is possible.
//!
//! A landscape is eight processes of this one program. At a random address, each of them writes some megabytes of relocated
//! addresses into private pages when it starts; at a fixed address they share these pages. The cost: the address of the
//! program itself is predictable. Heap, stacks and libraries stay at random addresses.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var_os(name).is_some_and(|actual| actual == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
