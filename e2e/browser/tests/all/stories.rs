// SPDX-License-Identifier: Apache-2.0
//! Tasks of users on the pages: by pointer, by keyboard alone, and some without scripts.

use fantoccini::key::Key;
use serde_json::Value;
use terrarium_e2e::sandbox::Sandbox;

use crate::support::browser::{Browser, By};
use crate::support::{create_many, evening, garden, offer, with_browser};

/// The buttons of the clock.
const NEXT_WINDOW: &str = "#clock form:has(input[value=window]) button";
const STOP: &str = "#clock form:has(input[value=stop]) button";
/// The handle of the time bar.
const SLIDER: &str = "[role=slider][data-bar]";
/// Three machines of the new template whose nodes are ready, and none of the old one.
const ROLLED: &str = "(() => { const rows = [...document.querySelectorAll('#roll-out tbody tr')].filter((row) => row.querySelector('.badge')); \
     return rows.length === 3 && rows.every((row) => row.querySelector('.v-supported') && row.querySelector('.c-True')); })()";
/// Machines of both templates at the same time.
const ROLLING: &str =
    "!!document.querySelector('#roll-out .v-deprecated') && !!document.querySelector('#roll-out .v-supported')";

/// Advances time past the maintenance of Shoot demo/local.
fn maintained(sandbox: &Sandbox) {
    sandbox.terrarium(&["clock", "until", "window", "shoot/demo/local"]);
    sandbox.terrarium(&["clock", "advance", "30m"]);
    sandbox.terrarium(&["clock", "until", "shoot/demo/local=Succeeded", "--max", "1s"]);
}

async fn reads(browser: &Browser, selector: &str, texts: &[&str]) {
    let shown = browser.text(selector).await;
    for text in texts {
        assert!(shown.contains(text), "`{text}` is not in {selector} at {}:\n{shown}", browser.address().await);
    }
}

#[test]
fn a_maintenance_is_watched_step_by_step() {
    with_browser("maintenance", |browser| async move {
        let sandbox = evening("maintenance", &[]);
        browser.log_in(&sandbox, &[]).await;
        reads(&browser, "#list", &["1 cluster", "demo", "local", "1.26.4", "deprecated"]).await;
        // The list is filtered while the user types.
        browser.fill("#filter", "version:1.27").await;
        browser.until_text("#list", "No cluster is like that").await;
        browser.until_at("clusters?filter=version%3A1.27").await;
        browser.by(By::Keyboard).fill("#filter", "version:1.26").await;
        browser.until_text("#list", "1.26.4").await;
        browser.follow(NEXT_WINDOW).await;
        browser.until_text("#clock", "2023-07-28 09:00:01").await;
        browser.open("time").await;
        browser.fill("#goal", "1h").await;
        browser.fill("#pause", "200").await;
        browser.follow("#move form[action$=time-steps] button").await;
        browser.until_text("#clock", "step by step to 2023-07-28 10:00:01").await;
        browser.open("clusters/demo/local").await;
        browser.evaluate("window.stays = true").await;
        browser.until("machines of both templates", ROLLING).await;
        browser.until("three new nodes that are ready", ROLLED).await;
        assert_eq!(browser.evaluate("window.stays").await, true, "the page was not loaded again");
        browser.until_text("#overview", "1.27.1").await;
        browser.by(By::Keyboard).follow(STOP).await;
        browser.until_gone("#clock", "step by step").await;
        let before = browser.text("#clock time").await;
        assert!(before.as_str() < "2023-07-28 10:00:01", "{before}: it stopped on its way");

        browser.set_scripts(false).await;
        browser.open("clusters").await;
        browser.fill("#filter", "version:1.26").await;
        browser.follow("#filter-box button").await;
        reads(&browser, "#list", &["No cluster is like that"]).await;
        browser.follow("#list a").await;
        reads(&browser, "#list", &["1 cluster", "1.27.1"]).await;
        browser.follow("#clock form:has(input[value='1h']) button").await;
        // Without scripts nothing is updated: the page is loaded again.
        while !browser.text("#clock").await.contains("settled") {
            browser.open("clusters").await;
        }
        browser.follow("#list tbody th a").await;
        reads(&browser, "#roll-out", &["new"]).await;
        browser.set_scripts(true).await;
        sandbox
    });
}

#[test]
fn the_time_bar_leads_to_before_midnight_and_back() {
    with_browser("bar", |browser| async move {
        let sandbox = evening("bar", &[]);
        maintained(&sandbox);
        browser.log_in(&sandbox, &[]).await;
        reads(&browser, "#list", &["1.27.1"]).await;
        browser.drag_to_leave(SLIDER, 0.99, 0.2).await;
        then(&browser).await;
        browser.follow("#bar-now").await;
        now(&browser).await;

        let keys = browser.by(By::Keyboard);
        for key in [Key::Home, Key::PageUp, Key::PageUp] {
            keys.tab_to(SLIDER).await;
            keys.press_to_leave(&[key.into()]).await;
        }
        then(&keys).await;
        keys.press_to_leave(&['.']).await;
        now(&keys).await;
        keys.press_to_leave(&['[']).await;
        reads(&keys, ".past", &["Read only"]).await;
        keys.press_to_leave(&['.']).await;

        browser.set_scripts(false).await;
        browser.open("clusters").await;
        browser.fill("#bar-at", "2023-07-27T23:00:00Z").await;
        browser.follow("#timebar form button").await;
        then(&browser).await;
        browser.follow("#bar-now").await;
        now(&browser).await;
        browser.set_scripts(true).await;
        sandbox
    });
}

/// Every page with versions shows the state before midnight.
async fn then(browser: &Browser) {
    reads(browser, ".past", &["Showing revision", "2023-07-27 2", "Read only"]).await;
    reads(browser, "#list", &["1.26.4", "deprecated"]).await;
    browser.follow("#list tbody th a").await;
    reads(browser, "#overview", &["1.26.4", "deprecated"]).await;
    browser.follow("nav a[data-key=v]").await;
    reads(browser, "#table", &["1.26.4", "deprecated", "1 Shoot"]).await;
    browser.follow("nav a[data-key=f]").await;
    reads(browser, "#rows", &["garden-demo/local", "1.26.4", "1.27.1"]).await;
    reads(browser, "#happened", &["1.26.4 → 1.27.1"]).await;
    browser.follow("nav a[data-key=c]").await;
    reads(browser, ".past", &["Read only"]).await;
}

async fn now(browser: &Browser) {
    assert!(!browser.has(".past").await, "the present is shown");
    reads(browser, "#list", &["1.27.1", "supported"]).await;
}

#[test]
fn a_new_cluster_gets_the_latest_supported_version_or_none() {
    with_browser("create", |browser| async move {
        let sandbox = evening("create", &[]);
        let others = r#"{"version":"1.28.0","classification":"preview"},{"version":"1.27.0","classification":"deprecated"},
            {"version":"1.26.4","classification":"deprecated","expirationDate":"2023-07-28T00:00:00Z"}"#;
        offer(&sandbox, &format!(r#"[{{"version":"1.27.1","classification":"supported"}},{others}]"#));
        sandbox.terrarium(&["clock", "until", "2023-07-28T00:05:00Z"]);
        browser.log_in(&sandbox, &[]).await;
        browser.open("create").await;
        assert_eq!(browser.value("#version").await, "1.27.1");
        let offered = browser.text("#version").await;
        assert!(offered.contains("1.28.0 (preview)") && offered.contains("1.27.0 (deprecated)"), "{offered}");
        assert!(!offered.contains("1.26.4"), "it has expired: {offered}");
        for by in [By::Pointer, By::Keyboard] {
            let browser = browser.by(by);
            let name = if by == By::Pointer { "first" } else { "second" };
            browser.open("create").await;
            browser.fill("#name", name).await;
            browser.follow("#form button[value=check]").await;
            reads(&browser, "#answer", &["the API would create this", "Kubernetes 1.27.1"]).await;
            browser.follow("#form button[value=create]").await;
            browser.until_at(&format!("clusters/demo/{name}")).await;
            reads(&browser, "main", &[&format!("Shoot garden-demo/{name} is created")]).await;
        }
        let versions = garden(
            &sandbox,
            &["-n", "garden-demo", "get", "shoots", "-o", "jsonpath={.items[*].spec.kubernetes.version}"],
        );
        assert_eq!(versions, "1.27.1 1.26.4 1.27.1");
        garden(
            &sandbox,
            &[
                "-n",
                "garden-demo",
                "annotate",
                "shoots",
                "first",
                "second",
                "confirmation.gardener.cloud/deletion=true",
            ],
        );
        garden(&sandbox, &["-n", "garden-demo", "delete", "shoots", "first", "second", "--wait=false"]);
        sandbox.terrarium(&["clock", "advance", "2h"]);
        offer(&sandbox, &format!("[{others}]"));
        browser.open("create").await;
        assert_eq!(browser.value("#version").await, "");
        reads(&browser, "#form", &["no version is supported or unclassified and not expired"]).await;
        let keys = browser.by(By::Keyboard);
        keys.choose("#version", "1.28.0").await;
        keys.fill("#name", "third").await;
        keys.follow("#form button[value=check]").await;
        reads(&keys, "#answer", &["the API would create this", "Kubernetes 1.28.0"]).await;
        sandbox
    });
}

#[test]
fn a_refused_creation_shows_the_apis_error_at_the_field() {
    with_browser("refused", |browser| async move {
        let sandbox = evening("refused", &[]);
        browser.log_in(&sandbox, &[]).await;
        let keys = browser.by(By::Keyboard);
        keys.open("create").await;
        keys.fill("#name", "Late_One").await;
        // Time advances while the user types.
        sandbox.terrarium(&["clock", "until", "2023-07-27T21:02:00Z"]);
        keys.until_text("#clock", "2023-07-27 21:02:00").await;
        assert_eq!(keys.value("#name").await, "Late_One");
        keys.follow("#form button[value=create]").await;
        reads(&keys, "#name-causes", &["Late_One"]).await;
        assert_eq!(keys.value("#name").await, "Late_One", "the form is as it was");
        keys.expect_code(422).await;
        // The form was drawn when 1.26.4 could still be chosen, and is sent when that has expired.
        browser.open("create").await;
        browser.fill("#name", "late").await;
        browser.choose("#version", "1.26.4").await;
        sandbox.terrarium(&["clock", "until", "2023-07-28T00:05:00Z"]);
        browser.follow("#form button[value=create]").await;
        let texts = [
            "shoots.core.gardener.cloud \"late\" is forbidden",
            "spec.kubernetes.version: Unsupported value: \"1.26.4\"",
        ];
        reads(&browser, "#version-causes", &texts).await;
        assert_eq!(browser.value("#name").await, "late", "the form is as it was");
        browser.expect_code(403).await;
        sandbox
    });
}

#[test]
fn life_cycles_of_versions_follow_the_profile() {
    with_browser("versions", |browser| async move {
        let sandbox = evening("versions", &[]);
        browser.log_in(&sandbox, &[]).await;
        browser.press_to_leave(&['g', 'v']).await;
        let status: Value = serde_json::from_str(&sandbox.terrarium(&["status", "-o", "json"])).expect("an object");
        let shown = |text: &str| format!("document.querySelector('#pictures svg').textContent.includes('{text}')");
        browser.evaluate("window.stays = true").await;
        assert_eq!(browser.evaluate(&shown("1.28.0")).await, false);
        offer(
            &sandbox,
            r#"[{"version":"1.28.0","classification":"preview"},{"version":"1.27.1","classification":"supported"},
                {"version":"1.26.4","classification":"deprecated","expirationDate":"2023-08-31T00:00:00Z"}]"#,
        );
        browser.until("the new version in the picture", &shown("1.28.0 preview from")).await;
        browser.until("the new date in the picture", &shown("1.26.4 expires 2023-08-31 00:00:00")).await;
        browser.until_text("#table", "2023-08-31 00:00:00").await;
        assert_eq!(browser.evaluate("window.stays").await, true, "the page was not loaded again");
        browser.open(&format!("versions/local?at={}", status["head"])).await;
        assert_eq!(browser.evaluate(&shown("1.28.0")).await, false, "it was not offered then");
        assert_eq!(browser.evaluate(&shown("1.26.4 expires 2023-07-28 00:00:00")).await, true);
        browser.by(By::Keyboard).follow("#bar-now").await;
        assert_eq!(browser.evaluate(&shown("1.28.0")).await, true);

        let own = sandbox.file(
            "own.yaml",
            "apiVersion: core.gardener.cloud/v1beta1\nkind: NamespacedCloudProfile\nmetadata: {name: own, namespace: garden-demo}\n\
             spec: {parent: {kind: CloudProfile, name: local}, \
             kubernetes: {versions: [{version: 1.26.4, expirationDate: \"2023-09-30T00:00:00Z\"}]}}\n",
        );
        garden(&sandbox, &["apply", "-f", &own]);
        sandbox.terrarium(&["clock", "advance", "1m"]);
        browser.open("versions/garden-demo/own").await;
        browser.until("the date of its own", &shown("1.26.4 expires 2023-09-30 00:00:00")).await;
        sandbox
    });
}

#[test]
fn a_dragged_assumption_is_forecast_and_applied() {
    const DATE: &str = "input[type=range][data-version='kubernetes/1.26.4']";
    with_browser("what-if", |browser| async move {
        let sandbox = evening("what-if", &[]);
        offer(
            &sandbox,
            r#"[{"version":"1.27.1","classification":"supported"},
                {"version":"1.26.4","classification":"deprecated","expirationDate":"2023-12-31T00:00:00Z"}]"#,
        );
        browser.log_in(&sandbox, &[]).await;
        browser.open("forecast").await;
        assert!(!browser.has("#difference").await);
        browser.drag_to_leave(DATE, 0.99, 0.1).await;
        browser.until_text("#difference", "Newly forced: 1: garden-demo/local").await;
        let address = browser.address().await;
        assert!(address.contains("expire=kubernetes%2F1.26.4%3D2023-08-"), "{address}");
        let unchanged =
            ["get", "cloudprofile", "local", "-o", "jsonpath={.spec.kubernetes.versions[1].expirationDate}"];
        assert_eq!(garden(&sandbox, &unchanged), "2023-12-31T00:00:00Z", "a what-if changes nothing");

        let keys = browser.by(By::Keyboard);
        keys.open("forecast").await;
        keys.activate(".dates summary").await;
        keys.tab_to(DATE).await;
        let pages = browser.evaluate("history.length").await;
        keys.press_to_leave(&[Key::Home.into(), Key::Right.into(), Key::Right.into()]).await;
        let after = browser.evaluate("history.length").await;
        assert_eq!(after.as_u64(), pages.as_u64().map(|pages| pages + 1), "three moves are one request");
        keys.until_text("#difference", "Newly forced: 1: garden-demo/local").await;
        keys.follow("#difference button[value=look]").await;
        reads(
            &keys,
            "main",
            &["kubernetes 1.26.4: expires 2023-07-29T00:00:00Z", "Newly forced: 1: garden-demo/local"],
        )
        .await;
        keys.follow("#difference button[value=apply]").await;
        keys.until_at("versions/local").await;
        assert_eq!(garden(&sandbox, &unchanged), "2023-07-29T00:00:00Z");
        sandbox.terrarium(&["clock", "until", "2023-07-29T09:30:00Z"]);
        browser.open("clusters").await;
        browser.until_text("#list", "1.27.1").await;
        sandbox
    });
}

#[test]
fn the_start_of_a_stage_is_dragged_and_applied() {
    let range = |stage: &str| format!("input[type=range][data-version='kubernetes/1.26.4'][data-stage='{stage}']");
    let shown = |text: &str| format!("document.querySelector('#pictures svg').textContent.includes('{text}')");
    with_browser("stages", |browser| async move {
        let sandbox = evening("stages", &["--gardener-version", "v1.149.0"]);
        let gate = "featureGates.VersionClassificationLifecycle=true";
        sandbox.terrarium(&["config", "set", "gardener-apiserver", gate]);
        offer(
            &sandbox,
            r#"[{"version":"1.27.1","lifecycle":[{"classification":"supported"}]},
                {"version":"1.26.4","lifecycle":[{"classification":"supported"},
                    {"classification":"deprecated","startTime":"2023-08-20T00:00:00Z"},
                    {"classification":"expired","startTime":"2023-12-31T00:00:00Z"}]}]"#,
        );
        browser.log_in(&sandbox, &[]).await;
        browser.open("versions/local").await;
        for band in ["supported from", "deprecated from 2023-08-20", "expired from 2023-12-31"] {
            browser.until(band, &shown(band)).await;
        }
        browser.open("forecast").await;
        browser.drag_to_leave(&range("deprecated"), 0.26, 0.5).await;
        let address = browser.address().await;
        assert!(address.contains("classify=kubernetes%2F1.26.4%3Ddeprecated%402023-09-"), "{address}");
        browser.drag_to_leave(&range("expired"), 0.99, 0.9).await;
        browser.until_text("#difference", "Newly forced: 1: garden-demo/local").await;
        let unchanged =
            ["get", "cloudprofile", "local", "-o", "jsonpath={.spec.kubernetes.versions[1].lifecycle[2].startTime}"];
        assert_eq!(garden(&sandbox, &unchanged), "2023-12-31T00:00:00Z", "a what-if changes nothing");
        browser.follow("#difference button[value=look]").await;
        browser.until_text("main", "kubernetes 1.26.4: deprecated from 2023-09-").await;
        browser.follow("#difference button[value=apply]").await;
        browser.until_at("versions/local").await;
        let start = garden(&sandbox, &unchanged);
        assert!(start.starts_with("2023-10-"), "{start}");
        // On the page of the versions a stage is dragged, too, and its change is previewed.
        browser.drag_to_leave(&range("expired"), 0.24, 0.5).await;
        browser.until_text("main", "kubernetes 1.26.4: expired from 2024-").await;
        sandbox
    });
}

#[test]
fn an_illegal_version_of_a_component_shows_the_rule() {
    let version = |component: &str| format!("#image-runtime-gardener-{component}");
    let set = |component: &str| format!("form:has({}) button", version(component));
    with_browser("skew", |browser| async move {
        let sandbox = evening("skew", &["--operator=false"]);
        browser.log_in(&sandbox, &[]).await;
        for (component, by) in [("scheduler", By::Pointer), ("admission-controller", By::Keyboard)] {
            let browser = browser.by(by);
            let rule = format!("gardener-{component} version must not be newer than gardener-apiserver version");
            browser.open("landscape").await;
            browser.fill(&version(component), "v1.121.0").await;
            browser.follow(&set(component)).await;
            browser.until_text("#components", &rule).await;
            browser.fill(&version(component), "v1.120.0").await;
            browser.follow(&set(component)).await;
            browser.until_gone("#components", &rule).await;
        }
        browser.set_scripts(false).await;
        let component = "scheduler";
        browser.open("landscape").await;
        browser.fill(&version(component), "v1.121.0").await;
        browser.follow(&set(component)).await;
        // Without scripts nothing is updated: the page is loaded again.
        while !browser.text("#components").await.contains("must not be newer than gardener-apiserver version") {
            browser.open("landscape").await;
        }
        browser.set_scripts(true).await;
        sandbox
    });
}

#[test]
fn an_upgrade_is_carried_out_and_watched() {
    with_browser("upgrade", |browser| async move {
        let sandbox = evening("upgrade", &[]);
        browser.log_in(&sandbox, &[]).await;
        browser.open("landscape?to=1.121").await;
        browser.until_text("#upgrade", "gardener-operator").await;
        browser.until_text("#upgrade", "waits for step 1").await;
        browser.follow("#upgrade form[action$='do/upgrade'] button").await;
        browser.until_text("#upgrade", "steps done").await;
        browser.until_text("#upgrade", "the upgrade to 1.121.0 is done").await;
        browser.until_text("#components", "v1.121.0").await;
        browser.open("landscape?to=1.121").await;
        browser.until_text("#upgrade", "Nothing to do: every component is at 1.121.0").await;
        sandbox
    });
}

#[test]
fn scrolling_to_the_end_of_the_list_loads_more_rows() {
    with_browser("scroll", |browser| async move {
        let sandbox = evening("scroll", &[]);
        create_many(&sandbox, 249);
        browser.log_in(&sandbox, &[]).await;
        browser.open("clusters?sort=name").await;
        let rows = |count: u32| format!("document.querySelectorAll('#list tbody tr').length === {count}");
        browser.until("a window of the list", &rows(50)).await;
        browser.evaluate("window.stays = true").await;
        browser.evaluate("window.scrollTo(0, document.body.scrollHeight)").await;
        browser.until("the rest of the list", &rows(250)).await;
        assert!(browser.address().await.contains("windows=5"), "the address says what is shown");
        // Fetched rows are live, too.
        let patch = ["patch", "shoot", "s248", "--type=merge", "-p", r#"{"spec":{"purpose":"testing"}}"#];
        garden(&sandbox, &[&["-n", "garden-demo"], &patch[..]].concat());
        browser.until_text("#list tbody tr:last-of-type", "testing").await;
        assert_eq!(browser.evaluate("window.stays").await, true, "the page was not loaded again");
        // The filter starts at the first row again.
        browser.fill("#filter", "s24").await;
        browser.until("what the filter finds", &rows(9)).await;
        assert!(!browser.address().await.contains("windows"), "{}", browser.address().await);
        // Without scripts there are links.
        browser.set_scripts(false).await;
        browser.open("clusters?sort=name").await;
        browser.follow("#list a[rel=next]").await;
        browser.until_at("page=2").await;
        browser.until("the second window", &rows(50)).await;
        sandbox
    });
}
