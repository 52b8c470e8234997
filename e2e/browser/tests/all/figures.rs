// SPDX-License-Identifier: Apache-2.0
//! Times until a browser shows pages: printed, and never asserted. `cargo test … -- figures:: --ignored --nocapture`.

use serde_json::Value;

use crate::support::{create_many, evening, with_browser};

/// Number of times that a page is opened.
const TIMES: usize = 20;
const PAGES: [&str; 8] =
    ["clusters", "clusters/demo/local", "create", "versions/local", "landscape", "time", "forecast", "faults"];

/// Milliseconds until the first paint of the shown page, its first byte, and its last one.
const PAINTED: &str = "new Promise((done) => new PerformanceObserver((list) => \
     list.getEntries().forEach((entry) => entry.name === 'first-contentful-paint' && done(entry.startTime))\
     ).observe({ type: 'paint', buffered: true })).then((painted) => { \
       const page = performance.getEntriesByType('navigation')[0]; \
       return [painted, page.responseStart, page.domInteractive]; })";
/// Names of the results of [`PAINTED`], in their order.
const STEPS: [&str; 3] = ["first contentful paint", "first byte", "all read"];

/// Frames a second, and the longest time between two in milliseconds, while the page is scrolled for 2 seconds, 3 pixels in each
/// millisecond.
const SCROLLED: &str = "new Promise((done) => { const begin = performance.now(), times = []; \
     const length = document.documentElement.scrollHeight - innerHeight; \
     const step = (now) => { times.push(now); const passed = performance.now() - begin; \
       scrollTo(0, (passed * 3) % length); \
       if (passed < 2000) { requestAnimationFrame(step); return; } \
       const gaps = times.slice(1).map((time, index) => time - times[index]); \
       done([gaps.length * 1000 / (times.at(-1) - times[0]), Math.max(...gaps)]); }; \
     requestAnimationFrame(step); })";

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
#[ignore = "figures, which a busy machine makes worse; nothing is claimed"]
fn pages_are_painted_and_lists_are_scrolled() {
    with_browser("figures", |browser| async move {
        let sandbox = evening("figures", &[]);
        create_many(&sandbox, 1199);
        browser.log_in(&sandbox, &[]).await;
        for page in PAGES {
            let mut times = [const { Vec::new() }; STEPS.len()];
            for _ in 0..TIMES {
                browser.open(page).await;
                browser.until("a page that is loaded", "document.readyState === 'complete'").await;
                let found = browser.evaluate(PAINTED).await;
                times.iter_mut().enumerate().for_each(|(step, times)| times.push(number(&found[step])));
            }
            let told = STEPS.iter().zip(&mut times).map(|(step, times)| {
                times.sort_by(f64::total_cmp);
                format!("{step} p50 {:.0} ms, p95 {:.0} ms", times[TIMES / 2], times[TIMES * 95 / 100])
            });
            process::child::say(&format!("{page}: {}", told.collect::<Vec<_>>().join("; ")));
        }
        for windows in [4, 20] {
            browser.open(&format!("clusters?sort=name&windows={windows}")).await;
            let rows = browser.evaluate("document.querySelectorAll('#list tbody tr').length").await;
            let scrolled = browser.evaluate(SCROLLED).await;
            let (frames, longest) = (number(&scrolled[0]), number(&scrolled[1]));
            process::child::say(&format!(
                "{rows} rows, scrolled: {frames:.0} frames a second, longest gap {longest:.0} ms"
            ));
        }
        sandbox
    });
}
