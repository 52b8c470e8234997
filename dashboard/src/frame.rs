// SPDX-License-Identifier: Apache-2.0
//! Frame of every page: head with navigation and clock, messages, and the command at its foot.

use http::StatusCode;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::access::sessions::Scheme;
use crate::clock_state::ClockState;
use crate::message::{Message, Severity};
use crate::page::{Page, Region, Section};
use crate::parts::form;
use crate::parts::time;
use crate::refusal::Refusal;
use crate::steps::Walk;
use crate::view::View;
use crate::{Dashboard, assets, timebar};

/// Sections with path, name and the key that opens them after `g`.
const NAVIGATION: [(Section, &str, &str, &str); 7] = [
    (Section::Clusters, "clusters", "Clusters", "c"),
    (Section::Create, "create", "Create", "n"),
    (Section::Versions, "versions", "Versions", "v"),
    (Section::Landscape, "landscape", "Landscape", "l"),
    (Section::Time, "time", "Time", "t"),
    (Section::Forecast, "forecast", "Forecast", "f"),
    (Section::Faults, "faults", "Faults", "x"),
];

/// Placeholder in [`beginning`] for the remaining regions. No text can contain it: markup in texts is escaped.
pub(crate) const REST: &str = "<!--rest-->";

/// Returns the whole document of a page.
pub async fn document(view: &View, page: &Page) -> Markup {
    around(view, page, &html! {}).await
}

/// Returns the document of a page whose regions are not complete, with a text that is shown until they are.
pub(crate) async fn beginning(view: &View, page: &Page, text: &str) -> Markup {
    around(view, page, &html! { p.making { (text) } (PreEscaped(REST)) }).await
}

async fn around(view: &View, page: &Page, end: &Markup) -> Markup {
    let options = view.dashboard.options();
    let version = &view.gardener;
    let messages = view.session.take_messages();
    let clock = clock(view);
    let bar = timebar::region(view, page).await;
    let is_live = view.at.is_none();
    // A form is not drawn again while a user fills it in: only the time is updated.
    let has_time_alone = is_live && page.follows.is_empty();
    let main = html! {
        h1 { (page.title) }
        div #messages { @for message in &messages { (message.markup()) } }
        @for region in &page.regions { (region.markup()) }
        (end)
    };
    let keys = view.session.has_keys();
    html! {
        (DOCTYPE)
        html lang="en" data-scheme=(view.session.scheme().name()) data-keys=[keys.then_some("on")] {
            (head(&format!("{} · {}", page.title, options.landscape)))
            body data-live=[is_live.then(|| view.here())] data-only=[has_time_alone.then_some("time")] data-past=[view.at.map(|moment| moment.revision)] {
                a.skip href="#main" { "Skip to the content" }
                header {
                    div.name {
                        a href=(view.to("clusters")) { (options.landscape) }
                        span { "Gardener " (version) }
                        span { "rules: " (options.rules.name()) }
                    }
                    nav aria-label="Pages" {
                        ul {
                            @for (section, path, name, key) in NAVIGATION {
                                li {
                                    a href=(view.to(path)) aria-current=[(section == page.section).then_some("page")]
                                        data-key=(key) { (name) }
                                }
                            }
                        }
                    }
                    form.search method="get" action="/dashboard/clusters" role="search" {
                        @if let Some(at) = view.query.get("at") { input type="hidden" name="at" value=(at); }
                        label.unseen for="search" { "Search clusters" }
                        input #search type="search" name="filter" placeholder="Search clusters" autocomplete="off";
                    }
                    section #clock aria-label="Landscape time" data-region=(clock.hash()) { (clock.inner()) }
                }
                (timebar::banner(view))
                main #main tabindex="-1" { (main) }
                section #timebar aria-label="Time" data-region=(bar.hash()) { (bar.inner()) }
                footer {
                    @if let Some(command) = &page.command {
                        p.command { "As a command: " code #command { (command) } " "
                            button type="button" data-copy="command" hidden { "Copy" } }
                    }
                    div.settings {
                        span { "You are " strong { (view.session.user.name) } }
                        @for scheme in [Scheme::System, Scheme::Light, Scheme::Dark] {
                            @if scheme != view.session.scheme() {
                                (form::button(view, "scheme", &[("scheme", scheme.name())], &format!("{} colours", scheme.name()), None))
                            }
                        }
                        (form::button(view, "keys", &[("keys", if keys { "off" } else { "on" })], if keys { "Turn keys off" } else { "Turn keys on" }, None))
                        (form::button(view, "logout", &[], "Log out", None))
                    }
                    @if keys {
                        details #keys { summary { "Keys" }
                            dl.keys {
                                @for (_, _, name, key) in NAVIGATION { div { dt { kbd { "g" } " " kbd { (key) } } dd { (name) } } }
                                div { dt { kbd { "/" } } dd { "Search clusters" } }
                                div { dt { kbd { "space" } } dd { "Pause or resume landscape time" } }
                                div { dt { kbd { "[" } " " kbd { "]" } } dd { "Previous and next change" } }
                                div { dt { kbd { "." } } dd { "Now" } }
                                div { dt { kbd { "?" } } dd { "Show or hide this list" } }
                            }
                        }
                    }
                }
                div #live.unseen role="status" aria-live="polite" {}
            }
        }
    }
}

fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            title { (title) }
            link rel="stylesheet" href=(assets::path("style.css"));
            link rel="icon" type="image/svg+xml" href=(assets::path("icon.svg"));
            script type="module" src=(assets::path("live.js")) {}
            script type="module" src=(assets::path("bar.js")) {}
            script type="module" src=(assets::path("drag.js")) {}
        }
    }
}

/// Returns the document of a refusal, with the frame if the user is logged in.
pub async fn refused(view: Option<&View>, dashboard: &Dashboard, refusal: &Refusal) -> Markup {
    let since = dashboard.silent_since().filter(|_| refusal.code == StatusCode::SERVICE_UNAVAILABLE);
    let body = html! {
        (refusal.body)
        @if let Some(since) = since { p { "It has not answered since " (time::instant(since)) "." } }
        p { a href="/dashboard/clusters" { "Go to all clusters" } }
    };
    match view {
        Some(view) => {
            let page = Page::new(Section::Other, &refusal.title).region("refusal", "", body);
            document(view, &page).await
        }
        None => html! {
            (DOCTYPE)
            html lang="en" {
                (head(&format!("{} · {}", refusal.title, dashboard.options().landscape)))
                body {
                    a.skip href="#main" { "Skip to the content" }
                    header { div.name { span { (dashboard.options().landscape) } } }
                    main #main tabindex="-1" { h1 { (refusal.title) } (refusal.body) }
                    footer { "Pages of a Terrarium landscape" }
                }
            }
        },
    }
}

/// Returns a document of its own that redirects at once: a request that another program began carries no cookies; the next
/// request, which this document sends, does.
pub fn leading_on(to: &str) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="refresh" content={"0; url=" (to)};
                title { "Logged in" }
            }
            body { main { h1 { "Logged in" } p { a href=(to) { "Go on" } } } }
        }
    }
}

/// Returns landscape time and its controls.
pub fn clock(view: &View) -> Region {
    let state = (view.dashboard.options().clock)();
    let walk = view.dashboard.walks().current();
    let control = |command: &str, label: &str| form::button(view, "clock", &[("command", command)], label, None);
    let body = html! {
        div.now {
            (time::instant(state.now)) " "
            span.mode { (state.mode) @if state.paused { ", paused" } }
            " " @match &walk {
                Some(Walk { goal: Some(goal), .. }) => { span.standing { "until " (goal.namespace) "/" (goal.name) " is " (goal.state) } }
                Some(walk) => { span.standing { "step by step to " (time::instant(walk.to)) } }
                None => { (standing(&state)) }
            }
        }
        @if view.at.is_none() {
            div.controls role="group" aria-label="Move landscape time" {
                @if state.target.is_some() || walk.is_some() { (control("stop", "Stop")) }
                @else if state.paused || state.live_lock.is_some() { (control("resume", "Resume")) }
                @else { (control("pause", "Pause")) }
                (control("step", "Next timer"))
                (control("1h", "+1 h"))
                (control("1d", "+1 d"))
                (control("window", "Next window"))
            }
        }
        @let warnings = state.warnings();
        @if !warnings.is_empty() {
            @for warning in warnings { (Message::new(Severity::Warning, warning).markup()) }
        }
    };
    Region::new("clock", "", body)
}

/// Shows that all work is done, or what time waits for.
fn standing(state: &ClockState) -> Markup {
    html! {
        @match state.target {
            Some(target) => { span.standing { "on its way to " (time::instant(target)) } }
            None => {
                @let waits = state.waits();
                @if state.settled { span.standing.settled { "settled" } }
                @else if waits.is_empty() { span.standing { "changed since time last moved" } }
                @else if waits.len() == 1 { span.standing { (waits[0]) } }
                @else { details.standing { summary { "waits for " (waits.len()) } ul { @for wait in &waits { li { (wait) } } } } }
            }
        }
        @if let Some(next) = state.next { " " span.next { "next timer " (time::instant(next)) } }
    }
}
