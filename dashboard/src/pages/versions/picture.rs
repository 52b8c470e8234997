// SPDX-License-Identifier: Apache-2.0
//! The picture of a profile's versions: their past, present and future states.
//!
//! ```text
//!            past, from the log │ future, from the profile
//! 1.27.1     ░ preview ░│██ supported ██│████████████████████
//! 1.26.4     ███████ supported ███│: deprecated :◆▒ expired ▒
//! ```

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use domain::release::Release;
use domain::versions::{Moment, State, Version};
use maud::{Markup, html};

use super::history::{Change, Offered};
use crate::parts::{table, time};

/// An interval of time in which a version has one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Band {
    pub(super) from: DateTime<Utc>,
    pub(super) to: DateTime<Utc>,
    pub(super) state: State,
}

/// Returns the bands of each version of a subject between two instants; the highest version first.
pub(super) fn bands(
    changes: &[Change],
    subject: &str,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
    release: Release,
) -> Vec<(String, Vec<Band>)> {
    let mut all: BTreeMap<String, Vec<Band>> = BTreeMap::new();
    for (index, (begin, offered)) in changes.iter().enumerate() {
        let begin = (*begin).max(from);
        let end = changes.get(index + 1).map_or(to, |(next, _)| (*next).min(to));
        for entry in offered.get(subject).into_iter().flatten().filter(|_| begin < end) {
            let bands = all.entry(entry.version.clone()).or_default();
            let at = Moment::new(begin, release);
            let (mut since, mut state) = (begin, at.state(entry));
            for (date, next) in at.changes(entry) {
                if date > begin && date < end {
                    push(bands, since, date, state);
                    (since, state) = (date, next);
                }
            }
            push(bands, since, end, state);
        }
    }
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by(|(one, _), (other, _)| {
        let (one, other) = (Version::parse(one).ok(), Version::parse(other).ok());
        other.cmp(&one)
    });
    all
}

fn push(bands: &mut Vec<Band>, from: DateTime<Utc>, to: DateTime<Utc>, state: State) {
    match bands.last_mut() {
        Some(last) if last.state == state && last.to == from => last.to = to,
        _ => bands.push(Band { from, to, state }),
    }
}

/// Numbers of Shoots and pools that use a version.
pub(super) type Users = BTreeMap<String, (usize, usize)>;

const LEFT: i64 = 120;
const WIDTH: i64 = 900;
const RIGHT: i64 = 190;
const ROW: i64 = 34;
const TOP: i64 = 26;

/// Returns the interval of time of the picture: the changes in the log and the dates in the profile, with at least a tenth of the
/// width for the past.
pub(super) fn range(changes: &[Change], now: DateTime<Utc>) -> (DateTime<Utc>, DateTime<Utc>) {
    let first = changes.first().map_or(now, |(first, _)| (*first).min(now));
    let offered = changes.last().map(|(_, offered)| offered.clone()).unwrap_or_default();
    let starts = |entry: &Offered| entry.stages.iter().filter_map(|stage| stage.start_time).map(|start| start.0).max();
    let last = offered.values().flatten().filter_map(|entry| entry.expires.max(starts(entry)));
    let last = last.max().unwrap_or(now).max(now);
    let ahead = ((last - now) * 11 / 10).max(TimeDelta::days(14));
    let behind = (now - first).max(ahead / 8);
    (now - behind, now + ahead)
}

/// Draws a subject's picture, and a table with the same content.
pub(super) fn draw(id: &str, subject: &str, changes: &[Change], at: Moment, users: &Users) -> Markup {
    let now = at.now;
    let (from, to) = range(changes, now);
    let rows = bands(changes, subject, from, to, at.release);
    let current: Vec<Offered> =
        changes.last().and_then(|(_, offered)| offered.get(subject).cloned()).unwrap_or_default();
    let height = TOP + ROW * i64::try_from(rows.len()).unwrap_or(0) + 24;
    let x = |at: DateTime<Utc>| {
        let span = (to - from).num_seconds().max(1);
        LEFT + i64::try_from(i128::from((at - from).num_seconds()) * i128::from(WIDTH) / i128::from(span)).unwrap_or(0)
    };
    let name = format!("Versions of {subject}: their states from {} to {}", time::text(from), time::text(to));
    let minor = |version: &str| Version::parse(version).ok().map(|version| (version.major, version.minor));
    html! {
        div.picture tabindex="0" role="region" aria-label={"Picture of " (subject)} {
            svg role="img" aria-label=(name) viewBox={"0 0 " (LEFT + WIDTH + RIGHT) " " (height)} width=(LEFT + WIDTH + RIGHT) height=(height) xmlns="http://www.w3.org/2000/svg" {
                defs {
                    pattern id={(id) "-preview"} width="8" height="8" patternUnits="userSpaceOnUse" { path.p-stroke d="M0 8L8 0" {} }
                    pattern id={(id) "-deprecated"} width="6" height="6" patternUnits="userSpaceOnUse" { circle.p-ground cx="3" cy="3" r="1.3" {} }
                    pattern id={(id) "-expired"} width="7" height="7" patternUnits="userSpaceOnUse" { path.p-stroke d="M0 0L7 7M0 7L7 0" {} }
                    pattern id={(id) "-unavailable"} width="8" height="8" patternUnits="userSpaceOnUse" { path.p-stroke d="M4 0V8M0 4H8" {} }
                    pattern id={(id) "-unclassified"} width="8" height="4" patternUnits="userSpaceOnUse" { path.p-stroke d="M0 2H8" {} }
                }
                text.faint x=(LEFT) y="14" { (from.format("%Y-%m-%d").to_string()) }
                text.faint x=(LEFT + WIDTH) y="14" text-anchor="end" { (to.format("%Y-%m-%d").to_string()) }
                text.faint x=(LEFT + WIDTH + 12) y="14" { "used by" }
                @for (index, (version, bands)) in rows.iter().enumerate() {
                    @let y = TOP + ROW * i64::try_from(index).unwrap_or(0);
                    @if index > 0 && minor(&rows[index - 1].0) != minor(version) {
                        line.line x1="0" x2=(LEFT + WIDTH + RIGHT) y1=(y - 3) y2=(y - 3) {}
                    }
                    text x=(LEFT - 10) y=(y + 19) text-anchor="end" { (version) }
                    @for band in bands {
                        @let (left, right) = (x(band.from), x(band.to));
                        @let state = band.state.to_string();
                        g {
                            title { (version) " " (state) " from " (time::text(band.from)) " to " (time::text(band.to)) }
                            rect class={"band b-" (state)} x=(left) y=(y) width=((right - left).max(1)) height="26" {}
                            @if band.state != State::Supported {
                                rect x=(left) y=(y + 18) width=((right - left).max(1)) height="8" fill={"url(#" (id) "-" (state) ")"} {}
                            }
                            @let length = 8 * i64::try_from(state.len()).unwrap_or(0);
                            // After the line of the present, and after the diamond at the end of the previous band.
                            @let begin = next_to(left, x(now), length);
                            @let begin = if band.state == State::Expired { begin.max(left + 8) } else { begin };
                            @if right - begin > length {
                                text.inband x=(begin + 5) y=(y + 13) { (state) }
                            }
                        }
                    }
                    @if let Some(date) = current.iter().find(|entry| entry.version == *version).and_then(|entry| at.expiration(entry)) {
                        @if date >= from && date <= to {
                            path.mark d={"M" (x(date)) " " (y + 4) "l7 9l-7 9l-7 -9z"} { title { (version) " " (if date < now { "expired" } else { "expires" }) " " (time::text(date)) } }
                        }
                    }
                    @let (shoots, pools) = users.get(version).copied().unwrap_or_default();
                    text x=(LEFT + WIDTH + 12) y=(y + 19) { (used(shoots, pools)) }
                }
                line.now-line x1=(x(now)) x2=(x(now)) y1="18" y2=(height - 20) {}
                text x=(x(now)) y=(height - 6) text-anchor="middle" { "now " (now.format("%Y-%m-%d").to_string()) }
            }
        }
        details { summary { (subject) " as a table" }
            (table::plain(&name, &["Version", "State", "From", "To"], &rows.iter().flat_map(|(version, bands)| bands.iter().map(move |band| vec![
                html! { (version) }, html! { (band.state.to_string()) }, time::instant(band.from),
                html! { @if band.to == to { "end of the picture" } @else { (time::instant(band.to)) } },
            ])).collect::<Vec<_>>()))
        }
    }
}

/// Returns the start of a text that should begin at a place, so that a mark is not drawn across its `length`: the place, or the
/// mark.
fn next_to(place: i64, mark: i64, length: i64) -> i64 {
    if (place..place + length).contains(&mark) { mark } else { place }
}

/// Formats `3 Shoots, 1 pool`.
pub(super) fn used(shoots: usize, pools: usize) -> String {
    let count = |count: usize, noun: &str| match count {
        0 => None,
        1 => Some(format!("1 {noun}")),
        count => Some(format!("{count} {noun}s")),
    };
    let all: Vec<String> = count(shoots, "Shoot").into_iter().chain(count(pools, "pool")).collect();
    if all.is_empty() { "nobody".to_owned() } else { all.join(", ") }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::release::DOCUMENTED;

    use super::*;

    fn at(day: u32) -> DateTime<Utc> {
        format!("2025-01-{day:02}T00:00:00Z").parse().expect("an instant")
    }

    fn change(day: u32, versions: &[(&str, &str, Option<u32>)]) -> Change {
        let versions = versions.iter().map(|(version, class, expires)| Offered {
            version: (*version).to_owned(),
            classification: (!class.is_empty()).then(|| (*class).to_owned()),
            stages: Vec::new(),
            expires: expires.map(at),
        });
        (at(day), Arc::new(BTreeMap::from([("kubernetes".to_owned(), versions.collect())])))
    }

    #[test]
    fn a_text_begins_behind_the_mark_that_would_cross_it() {
        for (place, mark, begin) in [(10, 5, 10), (10, 10, 10), (10, 12, 12), (10, 59, 59), (10, 60, 10)] {
            assert_eq!(next_to(place, mark, 50), begin, "{place} {mark}");
        }
    }

    #[test]
    fn bands_show_past_and_present_offers() {
        let changes = [
            change(2, &[("1.26.4", "supported", None)]),
            change(4, &[("1.26.4", "supported", None), ("1.27.1", "preview", None)]),
            change(6, &[("1.26.4", "deprecated", Some(9)), ("1.27.1", "supported", None)]),
        ];
        let band = |from, to, state| Band { from: at(from), to: at(to), state };
        assert_eq!(
            bands(&changes, "kubernetes", at(1), at(12), DOCUMENTED),
            [
                ("1.27.1".to_owned(), vec![band(4, 6, State::Preview), band(6, 12, State::Supported)]),
                (
                    "1.26.4".to_owned(),
                    vec![band(2, 6, State::Supported), band(6, 9, State::Deprecated), band(9, 12, State::Expired)]
                ),
            ]
        );
        let removed = [changes[0].clone(), change(5, &[])];
        assert_eq!(
            bands(&removed, "kubernetes", at(3), at(12), DOCUMENTED),
            [("1.26.4".to_owned(), vec![band(3, 5, State::Supported)])],
            "a version that was removed ends there"
        );
    }
}
