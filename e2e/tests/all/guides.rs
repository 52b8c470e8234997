// SPDX-License-Identifier: Apache-2.0
//! The guides of `docs/guides`, run as a reader runs them: the output in a guide must be the real output.

use std::path::{Path, PathBuf};

use terrarium_e2e::sandbox::{Kubectl, binaries};
use terrarium_e2e::script;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guides")
}

#[track_caller]
fn check(name: &str) {
    let page = folder().join(name.replace('_', "-")).with_extension("md");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("guide-{name}"));
    if let Err(failure) = script::run(&page, &binaries(), &folder, Kubectl::Newest) {
        panic!("{failure}");
    }
}

macro_rules! guides {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name));
            }
        )*

        const NAMES: &[&str] = &[$(stringify!($name),)*];
    };
}

guides! {
    node_roll_outs
    rehearsing_an_update
    testing_a_controller
    the_life_of_a_version
    upgrade_order_in_ci
}

/// `containers` requires an engine and images: `xtask test --containers` covers its content.
#[test]
fn every_guide_is_run() {
    let files = std::fs::read_dir(folder()).expect("the guides are there");
    let mut found: Vec<String> = files
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.replace('-', "_")))
        .filter(|name| name != "containers")
        .collect();
    found.sort();
    let mut named = NAMES.to_vec();
    named.sort_unstable();
    assert_eq!(found, named);
}

/// The current context of a reader's kubeconfig may be that of a production cluster.
#[test]
fn no_guide_reaches_a_cluster_of_its_reader() {
    let names_context = |line: &str| line.contains("--context ") || line.contains("terrarium kubectl");
    let pages =
        std::fs::read_dir(folder()).expect("the guides are there").filter_map(Result::ok).map(|entry| entry.path());
    let pages = pages.chain([folder().join("../../README.md")]);
    for page in pages.filter(|page| page.extension().is_some_and(|extension| extension == "md")) {
        let text = std::fs::read_to_string(&page).expect("a page");
        let commands = text.lines().filter_map(|line| line.strip_prefix("$ "));
        let mut has_own = false;
        for command in commands {
            has_own |= command.starts_with("export ") && command.contains("KUBECONFIG=");
            let is_bare = command.contains("kubectl ") && !names_context(command);
            assert!(has_own || !is_bare, "{}: $ {command}", page.display());
        }
    }
}
