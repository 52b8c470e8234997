// SPDX-License-Identifier: Apache-2.0
//! Counts of a forecast: by week, project or version, and in total.

use std::collections::{BTreeMap, BTreeSet};

use chrono::Datelike;
use domain::forecast::Subject;
use domain::worker_pool::Effect;
use serde_json::{Value, json};

use crate::forecast::rows::{Row, counts};
use crate::spelling::{counted, plural};

/// Key by which rows are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Calendar week, starting on Monday, UTC.
    Week,
    /// Namespace of the Shoots.
    Project,
    /// Version before the change.
    Version,
    /// No grouping: each change is a row.
    None,
}

impl By {
    /// Name of the key column.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Week => "week",
            Self::Project => "project",
            Self::Version => "version",
            Self::None => "",
        }
    }

    fn group(self, row: &Row) -> String {
        let change = &row.change;
        match self {
            Self::Week => {
                let date = change.time.date_naive();
                let monday = date - chrono::TimeDelta::days(i64::from(date.weekday().num_days_from_monday()));
                monday.to_string()
            }
            Self::Project => row.shoot.split('/').next().unwrap_or_default().to_owned(),
            Self::Version => match (&change.from, change.subject) {
                (Some(from), subject) => format!("{} {from}", subject.as_str()),
                (None, subject) => subject.as_str().to_owned(),
            },
            Self::None => String::new(),
        }
    }
}

/// Columns of a summary after the key column.
pub const COLUMNS: [&str; 7] =
    ["shoots", "changes", "forced", "failed", "poolsRolled", "poolsInPlace", "poolsRestarted"];

/// Counts rows by a key: one object per group, in order.
pub fn grouped(rows: &[Row], by: By) -> Vec<Value> {
    let mut groups: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        groups.entry(by.group(row)).or_default().push(row);
    }
    groups
        .into_iter()
        .map(|(group, rows)| {
            let mut object = counts([
                ("shoots", rows.iter().map(|row| &row.shoot).collect::<BTreeSet<_>>().len()),
                ("changes", rows.iter().filter(|row| row.change.failure.is_none()).count()),
                ("forced", rows.iter().filter(|row| row.change.is_forced && row.change.failure.is_none()).count()),
                ("failed", rows.iter().filter(|row| row.change.failure.is_some()).count()),
                ("poolsRolled", pools(rows.iter().copied(), |effect| effect == Effect::Rolling)),
                ("poolsInPlace", pools(rows.iter().copied(), is_in_place)),
                ("poolsRestarted", pools(rows.iter().copied(), |effect| effect == Effect::KubeletRestart)),
            ]);
            object.insert(by.key().to_owned(), json!(group));
            Value::Object(object)
        })
        .collect()
}

/// True if nodes are updated, and stay.
const fn is_in_place(effect: Effect) -> bool {
    matches!(effect, Effect::AutoInPlace | Effect::ManualInPlace)
}

/// Number of effects on pools: all changes of one run count once per pool. A change of the control plane counts as at least
/// one pool; the other pools that follow it are not listed individually.
fn pools<'a>(rows: impl Iterator<Item = &'a Row>, is_counted: impl Fn(Effect) -> bool) -> usize {
    let concerned = rows.filter(|row| is_counted(row.change.effect));
    let runs: BTreeSet<_> = concerned.map(|row| (&row.shoot, row.change.time, &row.change.pool)).collect();
    // The change of the control plane rolls the same pools as a simultaneous change of the pool itself.
    let named: BTreeSet<_> = runs.iter().filter(|(.., pool)| pool.is_some()).map(|run| (run.0, run.1)).collect();
    let alone = runs.iter().filter(|(shoot, time, pool)| pool.is_none() && !named.contains(&(*shoot, *time)));
    runs.iter().filter(|(.., pool)| pool.is_some()).count() + alone.count()
}

/// Counts of a forecast in one line: Shoots with changes, with forced changes, with failures, worker pools that roll, and
/// those that are updated in place.
/// `has_confined`: changes of the spec of some Shoot wait for its window, where they may roll worker pools.
pub fn moved(rows: &[Row], shoots: usize, has_confined: bool) -> String {
    let with = |holds: &dyn Fn(&Row) -> bool| {
        rows.iter().filter(|row| holds(row)).map(|row| row.shoot.as_str()).collect::<BTreeSet<_>>().len()
    };
    let moved = with(&|row| row.change.failure.is_none());
    let forced = with(&|row| row.change.failure.is_none() && row.change.is_forced);
    let opted_out = with(&|row| row.change.failure.is_none() && row.change.was_opted_out && row.change.is_forced);
    let failed = with(&|row| row.change.failure.is_some());
    let blocked = with(&|row| row.change.subject == Subject::Blocked);
    let rolled = pools(rows.iter(), |effect| effect == Effect::Rolling);
    let in_place = pools(rows.iter(), is_in_place);
    let times = |count: usize| if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let mut parts = vec![counted(moved, "moves", "move")];
    if forced > 0 {
        let opted_out = if opted_out > 0 { format!(" ({opted_out} although opted out)") } else { String::new() };
        parts.push(format!("{forced} by force{opted_out}"));
    }
    if failed > 0 {
        let blocked = if blocked > 0 { format!(" ({blocked} refused by the API server)") } else { String::new() };
        parts.push(format!("{}{blocked}", counted(failed, "fails", "fail")));
    }
    parts.push(match rolled {
        0 if has_confined => "no worker pool rolls for a version".to_owned(),
        0 => "no worker pool rolls".to_owned(),
        rolled => format!("worker pools roll at least {}", times(rolled)),
    });
    if in_place > 0 {
        parts.push(format!("worker pools are updated in place at least {}", times(in_place)));
    }
    format!("{}: {}", plural(shoots, "Shoot"), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};
    use domain::forecast::Change;
    use domain::window::Span;

    use super::*;

    /// A change of a pool; None: of the control plane.
    fn row(day: u32, pool: Option<&str>, effect: Effect) -> Row {
        let time: DateTime<Utc> = format!("2025-03-{day:02}T10:00:00Z").parse().expect("an instant");
        let change = Change {
            time,
            window: Span { earliest: time, end: time },
            subject: Subject::MachineImage,
            pool: pool.map(str::to_owned),
            from: Some("1.0.0".to_owned()),
            to: Some("1.1.0".to_owned()),
            reason: String::new(),
            reading: None,
            is_forced: false,
            was_opted_out: false,
            effect,
            is_hibernated: false,
            failure: None,
        };
        Row { shoot: "p/a".to_owned(), change }
    }

    #[test]
    fn pools_that_are_updated_in_place_do_not_roll() {
        let in_place = [
            row(3, Some("a"), Effect::AutoInPlace),
            row(3, Some("b"), Effect::ManualInPlace),
            row(4, Some("a"), Effect::KubeletRestart),
        ];
        let text = "1 Shoot: 1 moves, no worker pool rolls, worker pools are updated in place at least 2 times";
        assert_eq!(moved(&in_place, 1, false), text);
        let mixed = [row(3, None, Effect::Rolling), row(3, Some("b"), Effect::AutoInPlace)];
        let text = "1 Shoot: 1 moves, worker pools roll at least once, worker pools are updated in place at least once";
        assert_eq!(moved(&mixed, 1, false), text);
        let counts = |rows: &[Row]| -> Vec<[u64; 3]> {
            let count = |group: &Value, key: &str| group[key].as_u64().expect("a count");
            let keys = ["poolsRolled", "poolsInPlace", "poolsRestarted"];
            grouped(rows, By::Week).iter().map(|group| keys.map(|key| count(group, key))).collect()
        };
        assert_eq!((counts(&in_place), counts(&mixed)), (vec![[0, 2, 1]], vec![[1, 1, 0]]));
    }

    #[test]
    fn a_summary_without_changes_has_no_breakdown() {
        assert_eq!(moved(&[], 2, false), "2 Shoots: 0 move, no worker pool rolls");
        assert_eq!(moved(&[], 2, true), "2 Shoots: 0 move, no worker pool rolls for a version");
    }
}
