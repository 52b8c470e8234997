// SPDX-License-Identifier: Apache-2.0
//! Numbers of machines of a cluster during its last roll-out: old ones, new ones that do not run yet, new ones.
//!
//! It is calculated from the machines that the page shows, backwards over their changes in the timeline.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::machine::Machine;
use chrono::{DateTime, Utc};
use eventlog::Revision;
use maud::{Markup, html};

use crate::parts::{table, time};
use crate::view::View;

/// Width and height of the picture, in its own units.
const WIDTH: f64 = 1_000.0;
const HEIGHT: f64 = 70.0;
/// Maximum number of rows of the table.
const ROWS: usize = 100;

/// Stage of a machine in the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// The machine has another template than the present one.
    Old,
    /// The machine has the present template, and does not run yet.
    Coming,
    /// The machine has the present template, and runs.
    Ready,
}

/// Numbers of machines of each stage, from an instant on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    old: u32,
    coming: u32,
    ready: u32,
}

impl Count {
    fn of(machines: &BTreeMap<Arc<str>, Stage>) -> Self {
        let mut count = Self::default();
        for stage in machines.values() {
            match stage {
                Stage::Old => count.old += 1,
                Stage::Coming => count.coming += 1,
                Stage::Ready => count.ready += 1,
            }
        }
        count
    }

    fn all(self) -> u32 {
        self.old + self.coming + self.ready
    }
}

fn stage(class: &str, phase: &str, templates: &[&str]) -> Stage {
    match (templates.contains(&class), phase) {
        (false, _) => Stage::Old,
        (true, "Running") => Stage::Ready,
        (true, _) => Stage::Coming,
    }
}

/// A change of a machine, and its stage before; `None`: it did not exist.
type Change = (DateTime<Utc>, Arc<str>, Option<Stage>);

/// Returns counts from instant to instant, the earliest first, of machines as they are now and their stages before each change;
/// changes are in their order. Counts before the first change have no instant, and are left out.
fn counts(mut machines: BTreeMap<Arc<str>, Stage>, changes: &[Change]) -> Vec<(DateTime<Utc>, Count)> {
    let mut counts: Vec<(DateTime<Utc>, Count)> = Vec::new();
    for (at, name, before) in changes.iter().rev() {
        // Of several changes in one instant the last one counts.
        if counts.last().is_none_or(|(known, _)| known != at) {
            counts.push((*at, Count::of(&machines)));
        }
        match before {
            Some(stage) => drop(machines.insert(name.clone(), *stage)),
            None => drop(machines.remove(name)),
        }
    }
    counts.reverse();
    counts.dedup_by(|later, earlier| later.1 == earlier.1);
    counts
}

/// Returns the last roll-out: from the last instant before which no machine was replaced.
fn last_rollout(mut counts: Vec<(DateTime<Utc>, Count)>) -> Vec<(DateTime<Utc>, Count)> {
    // Before it there were only old ones, or none.
    let begin = counts.iter().rposition(|(_, count)| count.coming + count.ready == 0);
    let Some(begin) = begin else { return counts };
    counts.drain(..begin);
    // Only the end of the quiet time before it is shown.
    if let [(first, _), (second, _), ..] = counts[..] {
        let last = counts.last().map_or(second, |(last, _)| *last);
        counts[0].0 = first.max(second - (last - second) / 8);
    }
    counts
}

/// Draws the strip; empty if no machine changed.
pub(super) async fn draw(view: &View, seed: &str, namespace: &str, machines: &[Machine], templates: &[&str]) -> Markup {
    let timeline = view.dashboard.timeline();
    let Ok(span) = timeline.refresh().await else { return html! {} };
    let upto = view.at.map_or(span.head, |moment| Revision(moment.revision));
    let changes: Vec<Change> = timeline
        .machines(seed, namespace, upto)
        .into_iter()
        .map(|change| {
            (change.moment.time, change.name, change.before.map(|(class, phase)| stage(&class, &phase, templates)))
        })
        .collect();
    let now = machines.iter().map(|machine| {
        let (class, phase) = (&machine.spec.class.name, &machine.status.current_status.phase);
        (machine.metadata.name.as_str().into(), stage(class, phase, templates))
    });
    let counts = last_rollout(counts(now.collect(), &changes));
    picture(&counts, view.now())
}

fn picture(counts: &[(DateTime<Utc>, Count)], now: DateTime<Utc>) -> Markup {
    let (Some((begin, _)), Some((last, _))) = (counts.first(), counts.last()) else { return html! {} };
    // A tenth of its length is added after it; the whole time until now would make it too small.
    let length = (*last - *begin).num_milliseconds().max(1_000) as f64 * 1.1;
    let x = |at: DateTime<Utc>| ((at - *begin).num_milliseconds() as f64 / length * WIDTH).min(WIDTH);
    let most = f64::from(counts.iter().map(|(_, count)| count.all()).max().unwrap_or(1).max(1));
    let height = |count: u32| f64::from(count) / most * HEIGHT;
    let rows: Vec<Vec<Markup>> = counts
        .iter()
        .rev()
        .take(ROWS)
        .map(|(at, count)| {
            vec![
                time::instant(*at),
                html! { (count.old) },
                html! { (count.coming) },
                html! { (count.ready) },
                html! { (count.all()) },
            ]
        })
        .collect();
    let name = format!("Machines from {} on, at most {most} at once", time::text(*begin));
    html! {
        h3 { "Machines along time" }
        div.picture tabindex="0" role="region" aria-label="Picture of machines along time" {
            svg viewBox={"0 0 " (WIDTH) " " (HEIGHT + 18.0)} role="img" aria-label=(name) {
                @for (index, (at, count)) in counts.iter().enumerate() {
                    @let left = x(*at);
                    @let right = counts.get(index + 1).map_or(WIDTH, |(next, _)| x(*next));
                    @let width = format!("{:.1}", (right - left).max(0.5));
                    @let (ready, coming, old) = (height(count.ready), height(count.coming), height(count.old));
                    g {
                        title { (time::text(*at)) ": " (count.old) " old, " (count.coming) " new and not running, " (count.ready) " new and running" }
                        rect.b-supported x=(format!("{left:.1}")) width=(width) y=(format!("{:.1}", HEIGHT - ready)) height=(format!("{ready:.1}")) {}
                        rect.coming x=(format!("{left:.1}")) width=(width) y=(format!("{:.1}", HEIGHT - ready - coming)) height=(format!("{coming:.1}")) {}
                        rect.b-deprecated x=(format!("{left:.1}")) width=(width) y=(format!("{:.1}", HEIGHT - ready - coming - old)) height=(format!("{old:.1}")) {}
                    }
                }
                line.line x1="0" x2=(WIDTH) y1=(HEIGHT) y2=(HEIGHT) {}
                text.faint x="0" y=(HEIGHT + 14.0) { (time::text(*begin)) }
                text.faint x=(WIDTH) y=(HEIGHT + 14.0) text-anchor="end" { (time::text(*last)) ", " (time::relative(*last, now)) }
            }
        }
        p.hint { "From the top: old, new and not running (outlined), new and running." }
        details { summary { "Machines along time, as a table" }
            (table::plain("Machines along time, the latest first", &["From", "Old", "New, not running", "New, running", "All"], &rows)) }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    fn at(minute: u32) -> DateTime<Utc> {
        format!("2023-07-28T09:{minute:02}:00Z").parse().expect("an instant")
    }

    fn count(old: u32, coming: u32, ready: u32) -> Count {
        Count { old, coming, ready }
    }

    #[test]
    fn machines_are_counted_backwards_from_what_there_is() {
        let now = BTreeMap::from([("b".into(), Stage::Ready)]);
        let changes: Vec<Change> = vec![
            (at(0), "a".into(), None),
            (at(1), "b".into(), None),
            (at(2), "b".into(), Some(Stage::Coming)),
            (at(2), "a".into(), Some(Stage::Old)),
            (at(3), "a".into(), Some(Stage::Old)),
        ];
        assert_eq!(
            counts(now, &changes),
            [(at(0), count(1, 0, 0)), (at(1), count(1, 1, 0)), (at(2), count(1, 0, 1)), (at(3), count(0, 0, 1))]
        );
    }

    #[test]
    fn a_strip_begins_where_the_last_roll_out_does() {
        let counts =
            vec![(at(0), count(0, 1, 0)), (at(1), count(1, 0, 0)), (at(2), count(1, 1, 0)), (at(3), count(0, 0, 1))];
        let seconds = |seconds: i64| TimeDelta::seconds(seconds);
        let mut begun = counts[1..].to_vec();
        begun[0].0 = at(2) - seconds(7) - TimeDelta::milliseconds(500);
        assert_eq!(last_rollout(counts.clone()), begun);
        assert_eq!(last_rollout(counts[2..].to_vec())[0].0, at(2), "the log does not go farther back");
        assert_eq!(last_rollout(counts[3..].to_vec()), counts[3..]);
    }
}
