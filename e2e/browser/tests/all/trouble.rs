// SPDX-License-Identifier: Apache-2.0
//! Problems around the pages are shown on them, and disappear when they are solved.

use terrarium_e2e::sandbox::{Kubectl, Sandbox};

use crate::support::{evening, garden, with_browser};

fn scale(sandbox: &Sandbox, replicas: u32) {
    let words = ["-n", "garden", "scale", "deployment", "gardener-apiserver", &format!("--replicas={replicas}")];
    sandbox.kubectl(Kubectl::Newest, "runtime", &words);
}

#[test]
fn an_unresponsive_host_is_reported_until_it_answers() {
    with_browser("lost", |browser| async move {
        let sandbox = evening("lost", &[]);
        browser.log_in(&sandbox, &[]).await;
        browser.evaluate("window.stays = true").await;
        let host = sandbox.host().expect("it runs").to_string();
        let signal = |name: &str| {
            let sent = std::process::Command::new("kill").args([name, &host]).status();
            assert!(sent.expect("every system has kill").success(), "kill {name} {host}");
        };
        signal("-STOP");
        browser.until_text("#lost", "The landscape does not answer").await;
        signal("-CONT");
        let label =
            ["-n", "garden-demo", "patch", "shoot", "local", "--type=merge", "-p", r#"{"spec":{"purpose":"testing"}}"#];
        garden(&sandbox, &label);
        browser.until("the connection", "!document.querySelector('#lost')").await;
        browser.until_text("#list", "testing").await;
        assert_eq!(browser.evaluate("window.stays").await, true, "the page was not loaded again");
        let _ = browser.problems().await;
        sandbox
    });
}

#[test]
fn a_new_host_requires_a_log_in() {
    with_browser("gone", |browser| async move {
        let sandbox = evening("gone", &[]);
        browser.log_in(&sandbox, &[]).await;
        sandbox.terrarium(&["down"]);
        browser.until_text("#lost", "Landscape stopped").await;
        sandbox.terrarium(&["up"]);
        // Sessions end with their host.
        browser.until_text("#lost", "terrarium dashboard").await;
        browser.log_in(&sandbox, &[]).await;
        browser.until_text("#list", "local").await;
        let _ = browser.problems().await;
        sandbox
    });
}

#[test]
fn pages_of_the_host_answer_while_gardener_apiserver_is_away() {
    with_browser("apiserver", |browser| async move {
        let sandbox = evening("apiserver", &["--operator=false"]);
        browser.log_in(&sandbox, &[]).await;
        browser.open("landscape").await;
        scale(&sandbox, 0);
        // An open page reports it as soon as it is drawn again.
        browser.until_text("#lost", "The API does not answer since 2023-07-27 21:0").await;
        let next = "#clock form:has(input[value='1h']) button";
        sandbox.terrarium(&["fault", "inject", "task-fails", "--set", "task=Deploying Shoot infrastructure"]);
        browser.open("faults").await;
        browser.until_text("#faults", "task-fails").await;
        assert!(browser.has(next).await, "the clock is there");
        let _ = browser.problems().await;
        browser.open("clusters").await;
        browser.until_text("main", "503 ServiceUnavailable").await;
        browser.until_text("main", "since 2023-07-27 21:0").await;
        assert!(browser.has(next).await, "the clock is there");
        browser.expect_code(503).await;
        scale(&sandbox, 1);
        sandbox.kubectl(
            Kubectl::Newest,
            "runtime",
            &["-n", "garden", "rollout", "status", "deployment/gardener-apiserver", "--timeout=60s"],
        );
        while !browser.has("#list").await {
            browser.open("clusters").await;
        }
        browser.until_text("#list", "1.26.4").await;
        let _ = browser.problems().await;
        sandbox
    });
}
