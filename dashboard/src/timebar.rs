// SPDX-License-Identifier: Apache-2.0
//! The bar of time at the foot of every page: from the start of the history to now, with marks of important changes.
//!
//! Without a script it is a picture, links and a form. The script adds a handle that is dragged or moved by keys; when it is
//! released, the page is loaded at that moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::cluster::GARDEN;
use api::core::{CloudProfile, MaintenanceTimeWindow, Shoot};
use chrono::{DateTime, TimeDelta, Utc};
use domain::maintenance::upcoming;
use domain::versions::Expirable;
use eventlog::Revision;
use maud::{Markup, html};
use ops::past::resource;
use ops::past::rows::ShootRow;
use ops::past::timeline::{Mark, Subject};
use ops::spelling::counted;

use crate::page::{About, Page, Region};
use crate::pages::clusters::source;
use crate::parts::time;
use crate::view::{Moment, View};

/// Width of the picture of the past, in its own units; the picture of the future follows.
const WIDTH: f64 = 900.0;
/// Width of the whole picture.
const WHOLE: f64 = 1000.0;
/// Width of a place for marks.
const GRAIN: f64 = 3.0;
/// Height of the picture.
const HEIGHT: f64 = 44.0;
/// Length of future time that the bar shows.
const AHEAD: TimeDelta = TimeDelta::days(30);
/// Maximum number of expirations that are drawn and listed.
const EXPIRATIONS: usize = 200;
/// Maximum number of listed marks: the last ones before the moment.
const LISTED: usize = 30;

/// Returns the note above a page of the past.
pub fn banner(view: &View) -> Markup {
    html! {
        @if let Some(Moment { revision, time: at }) = view.at {
            aside.past aria-label="Moment that is shown" {
                strong { "Showing revision " (revision) ", " (time::instant(at)) ". Read only." }
                " " a href=(view.here_with(&[("at", "")])) { "Show the present" }
            }
        }
    }
}

/// Formats `28 July 2023 09:20, revision 1042`.
fn spoken(moment: Moment) -> String {
    format!("{}, revision {}", moment.time.format("%-d %B %Y %H:%M"), moment.revision)
}

/// Returns the bar, which is live if the page is.
pub async fn region(view: &View, page: &Page) -> Region {
    Region::new("timebar", "", markup(view, page).await)
}

async fn markup(view: &View, page: &Page) -> Markup {
    let timeline = view.dashboard.timeline();
    let Ok(span) = timeline.refresh().await else {
        return html! { p { "The log does not answer: nothing is known of the past." } };
    };
    let is_read = span.upto >= span.head;
    if !is_read {
        view.dashboard.read_on();
    }
    let now = view.dashboard.now();
    let begin = span.begin.unwrap_or(now).min(now);
    let shown = view.at.unwrap_or(Moment { revision: span.head.0, time: now });
    let (before, behind) = match &page.about {
        Some(About { key, machines }) => {
            let machines = machines.as_ref().map(|(cluster, namespace)| (cluster.as_str(), namespace.as_str()));
            timeline.neighbours_of(Revision(shown.revision), key, machines)
        }
        None => timeline.neighbours(Revision(shown.revision), &page.follows),
    };
    let behind = if view.at.is_some() { behind } else { None };
    let marks = seen(view, timeline.marks()).await;
    let expirations = expirations(view, begin, now + AHEAD).await;
    let windows = windows(view, page, now).await;
    let x = |at: DateTime<Utc>| if at <= now { position(at, begin, now) } else { to_come(at, now) };
    let subjects: BTreeMap<Subject, usize> = marks.iter().fold(BTreeMap::new(), |mut counts, mark| {
        *counts.entry(mark.subject).or_default() += 1;
        counts
    });
    // Several marks at one place become one.
    let mut drawn: BTreeMap<(Subject, i64), (usize, &Mark)> = BTreeMap::new();
    for mark in &marks {
        #[expect(clippy::cast_possible_truncation, reason = "it is within the picture")]
        let place = (x(mark.moment.time) / GRAIN).round() as i64 * GRAIN as i64;
        drawn.entry((mark.subject, place)).or_insert((0, mark)).0 += 1;
    }
    let listed = marks.iter().rev().filter(|mark| mark.moment.time <= shown.time).take(LISTED);
    let is_past = view.at.is_some();
    html! {
            div.timeline {
                svg viewBox={"0 0 " (WHOLE) " " (HEIGHT)} preserveAspectRatio="none" role="img"
                    aria-label={"From " (time::text(begin)) " to now, " (time::text(now)) ", with " (marks.len()) " marks"} {
                    defs {
                        pattern #to-come width="8" height="8" patternUnits="userSpaceOnUse" {
                            path.line d="M0 8 L8 0" {}
                        }
                    }
                    rect.past-band x="0" y="8" width=(WIDTH) height="28" {}
                    rect.to-come x=(WIDTH) y="8" width=(WHOLE - WIDTH) height="28" fill="url(#to-come)" {}
                    @for ((subject, at), (count, mark)) in &drawn {
                        line class={"mark k-" (class(*subject))} x1=(at) x2=(at) y1=(top(*subject)) y2=(top(*subject) + 6.0) {
                            title { (time::text(mark.moment.time)) " " (mark.text) @if *count > 1 { ", and " (count - 1) " more" } }
                        }
                    }
                    @for (date, text) in &expirations {
                        line.mark.k-expiration x1=(x(*date)) x2=(x(*date)) y1="35" y2="43" { title { (time::text(*date)) " " (text) } }
                    }
                    @for (at, text) in one_at_a_place(&windows, now) {
                        line.mark.k-window x1=(at) x2=(at) y1="9" y2="15" { title { (text) } }
                    }
                    line.handle x1=(x(shown.time)) x2=(x(shown.time)) y1="0" y2=(HEIGHT) {}
                }
                div.slide role="slider" tabindex="0" hidden data-bar=(view.here_with(&[("at", "")]))
                    data-begin=(begin.timestamp()) data-end=(now.timestamp())
                    aria-label="Moment that the page shows" aria-valuemin=(begin.timestamp()) aria-valuemax=(now.timestamp())
                    aria-valuenow=(shown.time.timestamp()) aria-valuetext=(spoken(shown)) {}
            }
            @if !is_read {
                p.hint { "The log is being read: what was written behind revision " (span.upto) " is not in this bar, nor in pictures of the past, yet. Load the page again in a while." }
            }
            div.moves {
                span #bar-label { (time::instant(shown.time)) " revision " (shown.revision) }
                @match before {
                    Some(at) => { a.button #bar-previous rel="prev" href=(view.here_with(&[("at", &at.to_string())])) { "Previous change" } }
                    None => { span.hint { "no earlier change" } }
                }
                @if let Some(at) = behind {
                    a.button #bar-next rel="next" href=(view.here_with(&[("at", &at.to_string())])) { "Next change" }
                }
                @if is_past { a.button #bar-now href=(view.here_with(&[("at", "")])) { "Now" } }
                form.filter method="get" action={(crate::PREFIX) (view.path)} {
                    @for (name, value) in view.query.iter().filter(|(name, _)| *name != "at") {
                        input type="hidden" name=(name) value=(value);
                    }
                    label for="bar-at" { "Go to" }
                    input #bar-at type="text" name="at" value=(view.query.text("at")) autocomplete="off"
                        placeholder="1042, 2h or 2023-07-28";
                    button type="submit" { "Show" }
                }
                a.button href=(view.to("forecast?until=30d")) { "Next 30 days: forecast" }
            }
            details {
                summary { "Marks as a table: " @for (index, (subject, count)) in subjects.iter().enumerate() {
                    @if index > 0 { ", " } (subject.as_str()) " " (count) } @if subjects.is_empty() { "none" }
                    @if !expirations.is_empty() { ", expiration " (expirations.len()) }
                    @if !windows.is_empty() { ", window to come " (windows.len()) } }
                ul.marks {
                    @for mark in listed {
                        li { a href=(view.here_with(&[("at", &mark.moment.revision.to_string())])) { (time::instant(mark.moment.time)) }
                            " " (mark.subject.as_str()) ": " (mark.text) }
                    }
                    @for (date, text) in &expirations {
                        li {
                            @if *date <= now { a href=(view.here_with(&[("at", &time::machine(*date))])) { (time::instant(*date)) } }
                            @else { (time::instant_from(*date, now)) }
                            " expiration: " (text)
                        }
                    }
                    @for (begin, text) in windows.iter().take(LISTED) {
                        li { (time::instant_from(*begin, now)) " window: " (text) }
                    }
                }
            }
    }
}

/// Returns the marks whose objects the session's user may list.
async fn seen(view: &View, marks: Vec<Mark>) -> Vec<Mark> {
    let mut may = crate::may::May::new(view);
    let mut seen = Vec::new();
    for mark in marks {
        if may.list(&mark.key).await {
            seen.push(mark);
        }
    }
    seen
}

/// Returns the expirations between two instants, in the order of time: of versions that the CloudProfiles of the view offer.
async fn expirations(view: &View, begin: DateTime<Utc>, end: DateTime<Utc>) -> Vec<(DateTime<Utc>, String)> {
    // No dates are shown to users who may not see profiles, and while the API does not answer.
    let profiles = view.list::<CloudProfile>(GARDEN, None, "").await.unwrap_or_default();
    let mut all = Vec::new();
    for profile in &profiles {
        let mut add = |subject: &str, entry: &dyn Expirable| {
            if let Some(date) = entry.expiration_date().filter(|date| *date >= begin && *date <= end) {
                all.push((date, format!("{subject} {} of {}", entry.version(), profile.metadata.name)));
            }
        };
        profile.spec.kubernetes.versions.iter().for_each(|entry| add("kubernetes", entry));
        for image in &profile.spec.machine_images {
            image.versions.iter().for_each(|entry| add(&image.name, entry));
        }
    }
    all.sort();
    all.truncate(EXPIRATIONS);
    all
}

/// Returns maintenance windows that begin within [`AHEAD`], in the order of time: of the page's Shoot, or of all Shoots that the
/// user may see. Windows that begin together are one.
async fn windows(view: &View, page: &Page, now: DateTime<Utc>) -> Vec<(DateTime<Utc>, String)> {
    let rows = source::known(view).await;
    let own = page.about.as_ref().map(|about| &about.key).filter(|key| *key.resource == *resource::SHOOTS);
    let is_meant =
        |row: &&Arc<ShootRow>| own.is_none_or(|key| *row.namespace == *key.namespace && *row.name == *key.name);
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for row in rows.iter().filter(is_meant).filter(|row| row.deleted.is_none()) {
        if let Some((begin, end)) = &row.spec.window {
            *counts.entry((begin, end)).or_default() += 1;
        }
    }
    let mut all: BTreeMap<DateTime<Utc>, usize> = BTreeMap::new();
    let mut shoot = Shoot::default();
    for ((begin, end), count) in counts {
        let window = MaintenanceTimeWindow { begin: begin.to_owned(), end: end.to_owned() };
        shoot.spec.maintenance.get_or_insert_default().time_window = Some(window);
        let mut at = upcoming::next_begin(&shoot, now);
        while let Some(begin) = at.filter(|begin| *begin <= now + AHEAD) {
            *all.entry(begin).or_default() += count;
            at = upcoming::next_begin(&shoot, begin + TimeDelta::seconds(1)).filter(|next| *next > begin);
        }
    }
    let text = |count: usize| match (own, count) {
        (Some(_), _) => "maintenance may begin".to_owned(),
        (None, count) => format!("maintenance of {} may begin", counted(count, "cluster", "clusters")),
    };
    all.into_iter().map(|(begin, count)| (begin, text(count))).collect()
}

/// Returns the places of windows in the picture; a place with several has the text of the first and the number of the others.
fn one_at_a_place(windows: &[(DateTime<Utc>, String)], now: DateTime<Utc>) -> Vec<(f64, String)> {
    let mut drawn: Vec<(f64, String, usize)> = Vec::new();
    for (begin, text) in windows {
        let x = (to_come(*begin, now) / GRAIN).round() * GRAIN;
        match drawn.last_mut() {
            Some(last) if (last.0 - x).abs() < GRAIN / 2.0 => last.2 += 1,
            _ => drawn.push((x, format!("{} {text}", time::text(*begin)), 0)),
        }
    }
    let text = |text: String, more: usize| if more == 0 { text } else { format!("{text}, and {more} more") };
    drawn.into_iter().map(|(x, first, more)| (x, text(first, more))).collect()
}

/// Returns the position of a future instant in the picture.
fn to_come(at: DateTime<Utc>, now: DateTime<Utc>) -> f64 {
    let share = (at - now).num_milliseconds() as f64 / AHEAD.num_milliseconds() as f64;
    ((WIDTH + share.clamp(0.0, 1.0) * (WHOLE - WIDTH)) * 10.0).round() / 10.0
}

/// Returns the position of a past instant in the picture.
fn position(at: DateTime<Utc>, begin: DateTime<Utc>, end: DateTime<Utc>) -> f64 {
    let length = (end - begin).num_milliseconds().max(1) as f64;
    let share = (at - begin).num_milliseconds() as f64 / length;
    (share.clamp(0.0, 1.0) * WIDTH * 10.0).round() / 10.0
}

const fn class(subject: Subject) -> &'static str {
    match subject {
        Subject::Maintenance => "maintenance",
        Subject::RollOut => "rollout",
        Subject::Upgrade => "upgrade",
        Subject::Fault => "fault",
        Subject::LifeCycle => "lifecycle",
    }
}

/// Returns the top of a subject's row. Each has a row of its own, so that colour is never the only difference.
const fn top(subject: Subject) -> f64 {
    match subject {
        Subject::Maintenance => 8.0,
        Subject::RollOut => 13.5,
        Subject::Upgrade => 19.0,
        Subject::Fault => 24.5,
        Subject::LifeCycle => 30.0,
    }
}
