// SPDX-License-Identifier: Apache-2.0
//! Every script of `e2e/scripts`, against the binaries of the profile that the tests are built with.

use std::path::{Path, PathBuf};

/// The folder of this build's binaries: the test runs in `target/PROFILE/deps`.
fn binaries() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its path");
    let folder = test.ancestors().nth(2).expect("two levels below the profile's folder").to_owned();
    assert!(
        folder.join("terrarium").is_file(),
        "no `terrarium` in {}: build the workspace first, as `cargo xtask test` does",
        folder.display()
    );
    folder
}

#[test]
fn scripts_print_what_they_say() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&scripts)
        .expect("the scripts are there")
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no script in {}", scripts.display());
    let mut failures = Vec::new();
    for script in files {
        let name = script.file_stem().unwrap_or_default().to_owned();
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // A folder left by an earlier run is replaced.
        let _ = std::fs::remove_dir_all(&scratch);
        std::fs::create_dir_all(&scratch).expect("the target folder is writable");
        if let Err(failure) = terrarium_e2e::run_script(&script, &binaries(), &scratch) {
            failures.push(failure);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
