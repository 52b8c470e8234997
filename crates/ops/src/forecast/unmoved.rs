// SPDX-License-Identifier: Apache-2.0
//! Shoots without a change until the end of a forecast: the reason, and the first change after the end.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use domain::forecast::{Change, Next, Subject};

use crate::show;
use crate::spelling::{counted, first_of};

/// A Shoot that does not change until the end of a forecast.
#[derive(Clone, Debug, PartialEq)]
pub struct Unmoved {
    /// `NAMESPACE/NAME` of the Shoot.
    pub shoot: String,
    /// Future of the Shoot.
    pub prospect: Prospect,
}

/// Future of an unmoved Shoot after the end of the forecast.
#[derive(Clone, Debug, PartialEq)]
pub enum Prospect {
    /// First change after the end.
    Later(Box<Change>),
    /// No change until this instant, the end of the computation.
    NotBefore(DateTime<Utc>),
    /// No change at all, with the reason.
    Never(String),
    /// Undecided since an object is missing, with the reason.
    Unknown(String),
}

impl Prospect {
    /// Prospect of a Shoot by its next change; `reason`: reason for which no run before the end changes it.
    pub fn of(next: Next, reason: String) -> Self {
        match next {
            Next::Never => Self::Never(reason),
            Next::NotBefore(instant) => Self::NotBefore(instant),
            Next::Change(change) => Self::Later(change),
        }
    }

    /// Formats the prospect of one Shoot as a sentence without its subject.
    pub fn sentence(&self, until: DateTime<Utc>) -> String {
        match self {
            Self::Later(change) => {
                format!("nothing happens before {}; next: {}", show(until), next(&Step::of(change), change.time))
            }
            Self::NotBefore(instant) => format!("nothing happens before {}", show(*instant)),
            Self::Never(reason) => format!("nothing happens, {reason}"),
            Self::Unknown(reason) => format!("what happens is unknown, {reason}"),
        }
    }
}

/// Returns a sentence about the first change after a run that changes no version; None if there is none.
pub fn later(next_change: &Next) -> Option<String> {
    match next_change {
        Next::Never => None,
        Next::NotBefore(instant) => Some(format!("no version changes before {}", show(*instant))),
        Next::Change(change) => Some(format!("the next change: {}", next(&Step::of(change), change.time))),
    }
}

/// Part of a change that several Shoots have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    subject: Subject,
    from: Option<String>,
    to: Option<String>,
    is_forced: bool,
    was_opted_out: bool,
    fails: bool,
}

impl Step {
    fn of(change: &Change) -> Self {
        Self {
            subject: change.subject,
            from: change.from.clone(),
            to: change.to.clone(),
            is_forced: change.is_forced,
            was_opted_out: change.was_opted_out,
            fails: change.failure.is_some(),
        }
    }
}

/// Formats a change: `2027-02-28T22:14:11Z kubernetes 1.31.1 to 1.32.2, forced`.
fn next(step: &Step, at: DateTime<Utc>) -> String {
    let mut text = format!("{} {}", show(at), step.subject.as_str());
    for (word, version) in [(" ", &step.from), (" to ", &step.to)] {
        if let Some(version) = version {
            text.extend([word, version]);
        }
    }
    if step.fails {
        text.push_str(" fails");
    }
    if step.is_forced {
        text.push_str(if step.was_opted_out { ", forced although opted out" } else { ", forced" });
    }
    text
}

/// Key under which Shoots with the same prospect are grouped on one line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Later(Step),
    NotBefore(DateTime<Utc>),
    Never(String),
    Unknown(String),
}

/// Returns a line for each prospect: number of Shoots, prospect, the first `shown` names. `until`: end of the forecast.
pub fn lines(all: &[Unmoved], until: DateTime<Utc>, shown: usize) -> Vec<String> {
    let mut groups: BTreeMap<Key, (DateTime<Utc>, Vec<&str>)> = BTreeMap::new();
    for unmoved in all {
        let (key, at) = match &unmoved.prospect {
            Prospect::Later(change) => (Key::Later(Step::of(change)), change.time),
            Prospect::NotBefore(instant) => (Key::NotBefore(*instant), *instant),
            Prospect::Never(reason) => (Key::Never(reason.clone()), until),
            Prospect::Unknown(reason) => (Key::Unknown(reason.clone()), until),
        };
        let (first, names) = groups.entry(key).or_insert((at, Vec::new()));
        *first = at.min(*first);
        names.push(&unmoved.shoot);
    }
    let line = |(key, (first, names)): (&Key, &(DateTime<Utc>, Vec<&str>))| {
        let counted = |one: &str, many: &str| counted(names.len(), one, many);
        let still = || counted("Shoot does not move", "Shoots do not move");
        let text = match key {
            Key::Later(step) => {
                let from = if names.len() > 1 { "from " } else { "" };
                format!("{} before {}; next: {from}{}", still(), show(until), next(step, *first))
            }
            Key::NotBefore(instant) => format!("{} before {}", still(), show(*instant)),
            Key::Never(reason) => format!("{}, {reason}", counted("Shoot never moves", "Shoots never move")),
            Key::Unknown(reason) => {
                format!("{}, {reason}", counted("Shoot is not foreseen", "Shoots are not foreseen"))
            }
        };
        format!("{text}: {}", first_of(names.iter().copied(), shown))
    };
    groups.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use domain::window::Span;
    use domain::worker_pool::Effect;

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().expect("an instant")
    }

    fn later(time: &str, to: Option<&str>) -> Prospect {
        let time = at(time);
        Prospect::Later(Box::new(Change {
            time,
            window: Span { earliest: time, end: time },
            subject: Subject::Kubernetes,
            pool: None,
            from: Some("1.31.1".to_owned()),
            to: to.map(str::to_owned),
            reason: String::new(),
            reading: None,
            is_forced: true,
            was_opted_out: true,
            effect: Effect::Rolling,
            is_hibernated: false,
            failure: to.is_none().then(|| "no version".to_owned()),
        }))
    }

    #[test]
    fn shoots_with_the_same_prospect_are_one_line() {
        let of = |shoot: &str, prospect: Prospect| Unmoved { shoot: shoot.to_owned(), prospect };
        let all = [
            of("p/a", later("2027-03-02T10:00:00Z", Some("1.32.2"))),
            of("p/b", later("2027-03-01T10:00:00Z", Some("1.32.2"))),
            of("p/c", later("2027-03-01T10:00:00Z", None)),
            of("p/d", Prospect::NotBefore(at("2036-12-31T00:00:00Z"))),
            of("p/e", Prospect::Never("being deleted".to_owned())),
            of("p/f", Prospect::Never("being deleted".to_owned())),
            of("p/g", Prospect::Unknown("since x is not given".to_owned())),
        ];
        let end = at("2026-12-31T00:00:00Z");
        assert_eq!(
            lines(&all, end, 1),
            [
                "1 Shoot does not move before 2026-12-31T00:00:00Z; next: 2027-03-01T10:00:00Z kubernetes 1.31.1 fails, \
                 forced although opted out: p/c",
                "2 Shoots do not move before 2026-12-31T00:00:00Z; next: from 2027-03-01T10:00:00Z kubernetes 1.31.1 to \
                 1.32.2, forced although opted out: p/a and 1 more",
                "1 Shoot does not move before 2036-12-31T00:00:00Z: p/d",
                "2 Shoots never move, being deleted: p/e and 1 more",
                "1 Shoot is not foreseen, since x is not given: p/g",
            ]
        );
    }
}
