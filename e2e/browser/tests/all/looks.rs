// SPDX-License-Identifier: Apache-2.0
//! Every page in both colour schemes and two widths: screenshots, and the findings of the checker of accessibility.

use terrarium_e2e::sandbox::Sandbox;

use crate::support::browser::Browser;
use crate::support::{evening, garden, offer, root, with_browser};

/// Pages with different content, each with a name for its screenshots.
const PAGES: [(&str, &str); 15] = [
    ("clusters", "clusters"),
    ("clusters-none", "clusters?filter=colour:red+nothing"),
    ("cluster", "clusters/demo/local"),
    ("create", "create"),
    ("versions", "versions/local"),
    ("landscape", "landscape?to=1.121"),
    ("time", "time?object=shoot/garden-demo/local"),
    ("forecast", "forecast"),
    ("what-if", "forecast?expire=kubernetes/1.27.1=2023-09-01&explain=garden-demo/local"),
    ("faults", "faults?kind=task-fails"),
    ("past-clusters", "clusters?at=2023-07-27T23:00:00Z"),
    ("past-versions", "versions/local?at=2023-07-27T23:00:00Z"),
    ("no-cluster", "clusters/demo/lokal"),
    ("no-moment", "clusters?at=soon"),
    ("to-come", "clusters?at=2123-01-01"),
];
/// Widths in pixels; the second is that of 1280 pixels at 400 % zoom.
const WIDTHS: [u32; 2] = [1280, 320];
const SCHEMES: [&str; 2] = ["light", "dark"];
/// Picture in README, and its maximum size in bytes.
const PICTURE: &str = "docs/dashboard.png";
const LARGEST: usize = 200_000;

/// Starts a landscape with a past: a maintenance, a fault, versions in each state.
fn landscape(name: &str) -> Sandbox {
    let sandbox = evening(name, &[]);
    sandbox.terrarium(&["clock", "until", "window", "shoot/demo/local"]);
    sandbox.terrarium(&["clock", "advance", "30m"]);
    offer(
        &sandbox,
        r#"[{"version":"1.29.0"},{"version":"1.28.2","classification":"preview"},
            {"version":"1.28.1","classification":"supported"},
            {"version":"1.27.1","classification":"deprecated","expirationDate":"2023-09-30T00:00:00Z"},
            {"version":"1.26.4","classification":"deprecated","expirationDate":"2023-07-28T00:00:00Z"}]"#,
    );
    sandbox.terrarium(&["fault", "inject", "task-fails", "--set", "task=Deploying Shoot infrastructure"]);
    garden(&sandbox, &["-n", "garden-demo", "annotate", "shoot", "local", "note=<script>alert(1)</script>"]);
    sandbox.terrarium(&["clock", "advance", "2h"]);
    sandbox
}

#[test]
fn every_page_is_accessible_in_both_schemes_and_widths() {
    with_browser("look", |browser| async move {
        let sandbox = landscape("look");
        browser.log_in(&sandbox, &[]).await;
        let mut found = Vec::new();
        for width in WIDTHS {
            for scheme in SCHEMES {
                browser.set_window(width, scheme).await;
                for (name, path) in PAGES {
                    browser.open(path).await;
                    look(&browser, &format!("{name}-{width}-{scheme}"), &mut found).await;
                }
            }
        }
        reported(&browser).await;
        assert_eq!(found, Vec::<String>::new(), "{} violations", found.len());
        sandbox
    });
}

async fn look(browser: &Browser, name: &str, found: &mut Vec<String>) {
    browser.until("a page that is loaded", "document.readyState === 'complete'").await;
    browser.screenshot(name).await;
    let violations = browser.violations().await;
    found.extend(violations.into_iter().map(|text| format!("{name}: {text}")));
}

/// Asserts that there are no errors other than answers with an error code, which these pages are.
async fn reported(browser: &Browser) {
    let mut problems = browser.problems().await;
    problems.retain(|problem| !problem.contains("the server responded with a status of 40"));
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn the_page_without_a_session_is_accessible_too() {
    with_browser("stranger", |browser| async move {
        let sandbox = evening("stranger", &[]);
        browser.log_in(&sandbox, &[]).await;
        browser.follow("footer form:has(input[name=token]):last-of-type button").await;
        browser.until_text("h1", "Not logged in").await;
        let text = browser.text("main").await;
        assert!(text.contains("terrarium dashboard"), "{text}");
        let mut found = Vec::new();
        look(&browser, "stranger-1280-light", &mut found).await;
        assert_eq!(found, Vec::<String>::new());
        reported(&browser).await;
        sandbox
    });
}

/// `UPDATE_EXPECT=1` creates the picture again.
#[test]
fn the_picture_in_the_readme_is_small() {
    with_browser("readme", |browser| async move {
        let path = root().join(PICTURE);
        let made = std::env::var_os("UPDATE_EXPECT").map(|_| landscape("readme"));
        if let Some(sandbox) = &made {
            browser.log_in(sandbox, &[]).await;
            browser.set_window(1280, "light").await;
            browser.open("versions/local").await;
            std::fs::write(&path, browser.screenshot_of_window("versions").await).expect("docs are writable");
        }
        let picture = std::fs::read(&path).expect("a picture");
        assert!(picture.starts_with(b"\x89PNG") && picture.len() < LARGEST, "{} bytes", picture.len());
        let readme = std::fs::read_to_string(root().join("README.md")).expect("it is there");
        assert!(readme.contains(PICTURE));
        made
    });
}
