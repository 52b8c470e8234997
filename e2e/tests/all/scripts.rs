// SPDX-License-Identifier: Apache-2.0
//! Every script of `e2e/scripts`, against the binaries of the profile that the tests are built with.
//!
//! A test has the name of its script. Scripts are run with the newest installed kubectl. Those whose requests or outputs
//! depend on its version (tables, kinds of their own, patches, subresources) are also run with the oldest, in module
//! `oldest_kubectl`; test `every_kubectl_that_is_found_does_all_it_can` has the requests of each version.

use std::path::{Path, PathBuf};

use terrarium_e2e::sandbox::{Kubectl, binaries};
use terrarium_e2e::script;

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts")
}

#[track_caller]
fn check(name: &str, kubectl: Kubectl) {
    let script = scripts().join(name.replace('_', "-")).with_extension("txt");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("script-{name}-{kubectl:?}"));
    if let Err(failure) = script::run(&script, &binaries(), &folder, kubectl) {
        panic!("{failure}");
    }
}

macro_rules! scripts {
    (newest_kubectl: $($newest:ident)*; both: $($name:ident)*;) => {
        $(
            #[test]
            fn $newest() {
                check(stringify!($newest), Kubectl::Newest);
            }
        )*
        $(
            #[test]
            fn $name() {
                check(stringify!($name), Kubectl::Newest);
            }
        )*

        mod oldest_kubectl {
            use super::*;

            $(
                #[test]
                fn $name() {
                    // The recorded output is that of the newest one.
                    if std::env::var_os("UPDATE_EXPECT").is_none() {
                        check(stringify!($name), Kubectl::Oldest);
                    }
                }
            )*
        }

        const NAMES: &[&str] = &[$(stringify!($newest),)* $(stringify!($name),)*];
    };
}

scripts! {
    newest_kubectl:
        maintenance_confined
        maintenance_consecutive_minors
        maintenance_described
        maintenance_image_strategies
        maintenance_migrations
        maintenance_minor_missing
        maintenance_partial_failure
        maintenance_window
        profiles
        questions_offline
        questions_releases
        rollout
        rollout_drain_budget
        rollout_drain_retries
        rollout_drain_timeout
        rollout_failures
        rollout_hibernation
        rollout_in_place_auto
        rollout_in_place_failed
        rollout_in_place_failure
        rollout_in_place_manual
        rollout_in_place_surge
        rollout_kubelet_patch
        rollout_outlives_window
        rollout_rolling
        rollout_zones
        rotation_automatic
        rotation_failure
        rotation_maintenance
        rotation_refused
        rotation_workers
        simulate_bad_input
        simulate_demo
        simulate_manifests
        timing
        up_manifests
        upgrade_order
        versions_documents
        versions_namespaced
        versions_requirements
        workload_placement;
    both:
        authorization
        core_kinds
        custom_resources
        maintenance_operations
        questions_landscape
        rollout_landscape
        rotation_credentials;

}

#[test]
fn every_script_has_a_test() {
    let files = std::fs::read_dir(scripts()).expect("the scripts are there");
    let mut found: Vec<String> = files
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.replace('-', "_")))
        .collect();
    found.sort();
    let mut named = NAMES.to_vec();
    named.sort_unstable();
    assert_eq!(found, named);
}
