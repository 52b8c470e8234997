// SPDX-License-Identifier: Apache-2.0
//! Shared helpers of the tests: landscapes, and a user at a browser.
//!
//! **Tour.** [`driver`] the process that drives browsers; [`browser`] actions and checks in one; this file landscapes, and the
//! check whether there is a browser.

pub(crate) mod browser;
pub(crate) mod driver;

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::path::Path;

use futures::FutureExt;
use parking_lot::Mutex;
use terrarium_e2e::sandbox::{Kubectl, Sandbox, binaries, is_required};

use self::browser::Browser;
use self::driver::Driver;

/// Returns the repository's root.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two levels below the root")
}

/// Returns the path of a manifest in `e2e/landscape`.
pub(crate) fn manifest(name: &str) -> String {
    root().join("e2e/landscape").join(format!("{name}.yaml")).display().to_string()
}

/// Creates a sandbox in a folder of the test's own, without a running landscape.
fn sandbox(name: &str) -> Sandbox {
    static NAMES: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let is_new = NAMES.lock().insert(name.to_owned());
    assert!(is_new, "two tests want sandbox `{name}`: each would remove the landscape of the other");
    Sandbox::new(&binaries(), &Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("browser-{name}")))
}

/// Runs kubectl on cluster `garden`.
#[track_caller]
pub(crate) fn garden(sandbox: &Sandbox, words: &[&str]) -> String {
    sandbox.kubectl(Kubectl::Newest, "garden", words)
}

/// Starts a landscape on the evening before the demo's maintenance: a CloudProfile whose 1.26.4 is deprecated and expires at
/// midnight, and Shoot demo/local, which uses it. The clock is stepped.
pub(crate) fn evening(name: &str, words: &[&str]) -> Sandbox {
    let sandbox = sandbox(name);
    sandbox.terrarium(&[&["up", "--start-time", "2023-07-27T20:00:00Z", "--clock", "stepped"], words].concat());
    // Only maintenance matters here: Shoots are not reconciled every hour, too.
    sandbox.terrarium(&["config", "set", "gardenlet", "controllers.shoot.reconcileInMaintenanceOnly=true"]);
    garden(&sandbox, &["apply", "-f", &manifest("garden")]);
    sandbox.terrarium(&["clock", "until", "2023-07-27T20:05:00Z"]);
    // Newer releases warn of its SecretBinding.
    let applied = sandbox.run_kubectl(Kubectl::Newest, "garden", &["apply", "-f", &manifest("shoot")]);
    assert!(applied.status.success(), "{applied:?}");
    sandbox.terrarium(&["clock", "until", "2023-07-27T21:01:00Z"]);
    sandbox.terrarium(&["clock", "until", "shoot/demo/local=Succeeded", "--max", "1s"]);
    sandbox
}

/// Creates Shoots `s000`, `s001` and so on, as copies of demo/local.
#[track_caller]
pub(crate) fn create_many(sandbox: &Sandbox, count: u32) {
    let text = std::fs::read_to_string(manifest("shoot")).expect("a manifest");
    let (_, shoot) = text.split_once("kind: Shoot\n").expect("the Shoot is the last document");
    // No scheduler handles them: they are rows, and cause no work.
    let shoot = shoot.replacen("spec:\n", "spec:\n  schedulerName: none\n", 1);
    let document = |number: u32| {
        let shoot = shoot.replacen("{name: local,", &format!("{{name: s{number:03},"), 1);
        format!("apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\n{shoot}---\n")
    };
    let all: String = (0..count).map(document).collect();
    garden(sandbox, &["create", "-f", &sandbox.file("many.yaml", &all)]);
}

/// Replaces the Kubernetes versions of CloudProfile `local`; `versions` is JSON.
#[track_caller]
pub(crate) fn offer(sandbox: &Sandbox, versions: &str) {
    let patch = format!(r#"{{"spec":{{"kubernetes":{{"versions":{versions}}}}}}}"#);
    garden(sandbox, &["patch", "cloudprofile", "local", "--type", "merge", "-p", &patch]);
}

/// Runs a test in a browser, if there is one, and ends the browser after success and failure. The test returns its landscape,
/// which outlives the browser: otherwise its end would be an error of the browser's. One browser at a time: each is many
/// processes, and must be fast.
pub(crate) fn with_browser<T, F: Future<Output = T>>(name: &str, test: impl FnOnce(Browser) -> F) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    if let Err(why) = driver::programs() {
        assert!(!is_required("TERRARIUM_TEST_BROWSER"), "{why}");
        // Printed even for tests that pass: a skipped test must not look like a passed one.
        process::child::say(&format!("skipped, in a browser: {why}"));
        return;
    }
    // A failed test has reported its failure itself.
    let _one = ONE_AT_A_TIME.lock();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let outcome = runtime.block_on(async {
        let driver = Driver::start();
        let browser = Browser::start(&driver, name).await;
        let outcome = AssertUnwindSafe(test(browser.clone())).catch_unwind().await;
        let problems = if outcome.is_ok() { browser.problems().await } else { Vec::new() };
        if outcome.is_err() {
            browser.screenshot("failed").await;
        }
        browser.close().await;
        outcome.map(|kept| (kept, problems))
    });
    match outcome {
        Ok((_kept, problems)) => assert_eq!(problems, Vec::<String>::new(), "the browser reports errors"),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
