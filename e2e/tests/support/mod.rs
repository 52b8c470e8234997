// SPDX-License-Identifier: Apache-2.0
//! What the tests of landscapes share.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};

use terrarium_e2e::sandbox::Sandbox;

fn binaries() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its path");
    test.ancestors().nth(2).expect("two levels below the profile's folder").to_owned()
}

/// A landscape in a folder of the test's own.
pub(crate) fn sandbox(name: &str) -> Sandbox {
    Sandbox::new(&binaries(), &Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
}

/// A manifest of `e2e/landscape`.
pub(crate) fn manifest(name: &str) -> String {
    format!("{}/landscape/{name}.yaml", env!("CARGO_MANIFEST_DIR"))
}

/// Asserts that texts come one behind the other.
#[track_caller]
pub(crate) fn in_order(output: &str, texts: &[&str]) {
    let mut rest = output;
    for text in texts {
        let place = rest.find(text).unwrap_or_else(|| panic!("`{text}` does not come where it should in\n{output}"));
        rest = &rest[place + text.len()..];
    }
}
