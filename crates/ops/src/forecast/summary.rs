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
pub const COLUMNS: [&str; 6] = ["shoots", "changes", "forced", "failed", "poolsRolled", "poolsRestarted"];

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
                ("poolsRolled", pools(rows.iter().copied(), |effect| effect >= Effect::AutoInPlace)),
                ("poolsRestarted", pools(rows.iter().copied(), |effect| effect == Effect::KubeletRestart)),
            ]);
            object.insert(by.key().to_owned(), json!(group));
            Value::Object(object)
        })
        .collect()
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

/// Counts of a forecast in one line: Shoots with changes, with forced changes, with failures, and rolled worker pools.
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
    let rolled = pools(rows.iter(), |effect| effect >= Effect::AutoInPlace);
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
        1 => "worker pools roll at least once".to_owned(),
        rolled => format!("worker pools roll at least {rolled} times"),
    });
    format!("{}: {}", plural(shoots, "Shoot"), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_without_changes_has_no_breakdown() {
        assert_eq!(moved(&[], 2, false), "2 Shoots: 0 move, no worker pool rolls");
        assert_eq!(moved(&[], 2, true), "2 Shoots: 0 move, no worker pool rolls for a version");
    }
}
