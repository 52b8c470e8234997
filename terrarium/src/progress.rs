// SPDX-License-Identifier: Apache-2.0
//! Progress of a command that moves time, as one line of text.
//!
//! **Deliberately absent.** Clocks and terminals: callers pass wall time, and [`crate::output`] draws the line.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

use ops::spelling::first_of;

/// Wall time before a command shows progress.
const DELAY: TimeDelta = TimeDelta::seconds(1);
/// Minimum wall time between two updates of the line on a terminal.
const REDRAW: TimeDelta = TimeDelta::milliseconds(200);
/// Minimum wall time between two lines in other output.
const PAUSE: TimeDelta = TimeDelta::seconds(2);
/// Wall time without movement after which the text shows how long time has stood.
const STANDSTILL: TimeDelta = TimeDelta::seconds(2);
/// Wall time without movement and without a line after which there is a line in other output, too.
const SILENCE: TimeDelta = TimeDelta::seconds(10);
/// Wall time after which a command counts as long.
const LONG: TimeDelta = TimeDelta::seconds(2);
/// Minimum wall time of a span whose speed the estimate assumes.
const SPAN: TimeDelta = TimeDelta::seconds(3);
/// Wall time after which there is an estimate even if less than one percent is done.
const PATIENCE: TimeDelta = TimeDelta::seconds(10);
/// Maximum number of names in the text.
const NAMES: usize = 2;
/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// Goal of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// An instant of landscape time.
    Time(DateTime<Utc>),
    /// A condition that may hold at any time.
    State {
        /// Description of the condition: `shoot/demo/local is Succeeded`.
        text: String,
        /// Instant at which the command ends without it.
        limit: DateTime<Utc>,
    },
    /// A number of steps, one after the other.
    Steps(usize),
}

/// Place where progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// A terminal with this number of columns: one line, rewritten in place.
    Terminal(usize),
    /// A file or pipe: a line per landscape day at most, and one for each [`SILENCE`] in which time stands.
    Lines,
}

/// Position at an instant of wall time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Milliseconds since 1970 of landscape time, or the number of completed steps.
    position: i64,
    wall: DateTime<Utc>,
}

/// Progress of one command.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    goal: Goal,
    /// Landscape time.
    now: DateTime<Utc>,
    first: Look,
    /// Begin of the span whose speed the estimate assumes: the last landscape days.
    base: Look,
    /// Begin of the next such span.
    mark: Look,
    /// The last look at which the position or landscape time had changed.
    moved: Look,
    last: Look,
    waits_for: Vec<String>,
}

impl Progress {
    /// Returns the progress of a command that begins at an instant of landscape time.
    pub(crate) fn of_time(goal: Goal, now: DateTime<Utc>, wall: DateTime<Utc>) -> Self {
        Self::new(goal, now, Look { position: now.timestamp_millis(), wall })
    }

    /// Returns the progress of a command with a number of steps.
    pub(crate) fn of_steps(steps: usize, now: DateTime<Utc>, wall: DateTime<Utc>) -> Self {
        Self::new(Goal::Steps(steps), now, Look { position: 0, wall })
    }

    fn new(goal: Goal, now: DateTime<Utc>, first: Look) -> Self {
        Self { goal, now, first, base: first, mark: first, moved: first, last: first, waits_for: Vec::new() }
    }

    /// Updates the landscape time and the names of its obstacles.
    pub(crate) fn at(&mut self, now: DateTime<Utc>, wall: DateTime<Utc>, waits_for: Vec<String>) {
        self.look(now, now.timestamp_millis(), wall, waits_for);
    }

    /// Updates the number of completed steps, the landscape time and the obstacles of the next step.
    pub(crate) fn at_step(&mut self, done: usize, now: DateTime<Utc>, wall: DateTime<Utc>, waits_for: Vec<String>) {
        self.look(now, i64::try_from(done).unwrap_or(i64::MAX), wall, waits_for);
    }

    fn look(&mut self, now: DateTime<Utc>, position: i64, wall: DateTime<Utc>, waits_for: Vec<String>) {
        // Other clients may set both clocks back.
        let look = Look { position: position.max(self.last.position), wall: wall.max(self.last.wall) };
        if look.position != self.last.position || now > self.now {
            self.moved = look;
        }
        if look.position.saturating_sub(self.mark.position) >= DAY && look.wall - self.mark.wall >= SPAN {
            (self.base, self.mark) = (self.mark, look);
        }
        (self.now, self.last, self.waits_for) = (now, look, waits_for);
    }

    /// Wall time for which time has stood; None: it moves.
    fn standstill(&self) -> Option<TimeDelta> {
        Some(self.last.wall - self.moved.wall).filter(|stood| *stood >= STANDSTILL)
    }

    /// True if the command has taken so long that advice about its speed is useful.
    pub(crate) fn is_long(&self) -> bool {
        self.last.wall - self.first.wall >= LONG
    }

    /// True if a line must be shown now; `shown`: look of the last displayed line.
    pub(crate) fn is_due(&self, medium: Medium, shown: Option<Look>) -> bool {
        if self.last.wall - self.first.wall < DELAY {
            return false;
        }
        // The line of an earlier command does not count.
        let shown = shown.filter(|shown| shown.wall >= self.first.wall);
        let passed = |pause| shown.is_none_or(|shown| self.last.wall - shown.wall >= pause);
        match medium {
            Medium::Terminal(_) => passed(REDRAW),
            Medium::Lines if matches!(self.goal, Goal::Steps(_)) => false,
            Medium::Lines => {
                let day = |look: Look| look.position.div_euclid(DAY);
                let told = shown.map_or(self.moved.wall, |shown| shown.wall.max(self.moved.wall));
                let is_silent = self.last.wall - told >= SILENCE;
                is_silent || (passed(PAUSE) && day(self.last) != day(shown.unwrap_or(self.first)))
            }
        }
    }

    /// Returns the last look, which [`Progress::is_due`] takes after a line was displayed.
    pub(crate) fn last(&self) -> Look {
        self.last
    }

    /// Formats the line: position and goal, percent, time left, and obstacles.
    pub(crate) fn text(&self) -> String {
        let mut parts = vec![self.place()];
        if let Some(end) = self.end() {
            parts.push(format!("{} %", self.percent(end)));
            parts.extend(self.left(end).map(left));
        }
        parts.extend(self.obstacle());
        parts.join(" · ")
    }

    fn place(&self) -> String {
        let now = time(self.now);
        match &self.goal {
            Goal::Time(to) => format!("{now} of {}", time(*to)),
            Goal::State { text, limit } => format!("{now} until {text}, limit {}", time(*limit)),
            Goal::Steps(all) => {
                let next = usize::try_from(self.last.position).unwrap_or(usize::MAX).saturating_add(1);
                format!("{now}, step {} of {all}", next.min(*all))
            }
        }
    }

    /// Position at the end of the command; None: unknown.
    fn end(&self) -> Option<i64> {
        match self.goal {
            Goal::Time(to) => Some(to.timestamp_millis()),
            Goal::State { .. } => None,
            Goal::Steps(all) => Some(i64::try_from(all).unwrap_or(i64::MAX)),
        }
    }

    /// Completed part in percent, rounded down; 0 to 100.
    fn percent(&self, end: i64) -> i128 {
        let [first, last, end] = [self.first.position, self.last.position, end].map(i128::from);
        if end <= first { 100 } else { ((last - first) * 100 / (end - first)).clamp(0, 100) }
    }

    /// Estimated wall time to the end; None: too few looks, the end is reached, or time stands, for an unknown while.
    fn left(&self, end: i64) -> Option<TimeDelta> {
        let passed = self.last.wall - self.base.wall;
        let [done, rest] =
            [self.last.position.saturating_sub(self.base.position), end.saturating_sub(self.last.position)];
        let is_early = self.percent(end) < 1 && self.last.wall - self.first.wall < PATIENCE;
        if passed < DELAY || done <= 0 || rest <= 0 || is_early || self.standstill().is_some() {
            return None;
        }
        let left = i128::from(rest) * i128::from(passed.num_milliseconds()) / i128::from(done);
        TimeDelta::try_milliseconds(i64::try_from(left).unwrap_or(i64::MAX)).or(Some(TimeDelta::MAX))
    }

    fn obstacle(&self) -> Option<String> {
        let names = first_of(self.waits_for.iter().map(String::as_str), NAMES);
        match (names.as_str(), self.standstill().map(span)) {
            ("", None) => None,
            ("", Some(stood)) => Some(format!("unchanged for {stood}")),
            (names, None) => Some(format!("waits for {names}")),
            (names, Some(stood)) => Some(format!("has waited {stood} for {names}")),
        }
    }
}

fn time(instant: DateTime<Utc>) -> String {
    instant.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Formats an estimate.
fn left(time: TimeDelta) -> String {
    if time < TimeDelta::seconds(1) {
        "less than 1 s left".to_owned()
    } else if time > TimeDelta::days(99) {
        "more than 99 d left".to_owned()
    } else {
        format!("about {} left", span(time))
    }
}

/// Formats a duration with one unit, rounded down.
fn span(time: TimeDelta) -> String {
    match (time.num_seconds(), time.num_minutes(), time.num_hours()) {
        (seconds @ ..120, ..) => format!("{seconds} s"),
        (_, minutes @ ..120, _) => format!("{minutes} min"),
        (_, _, hours @ ..48) => format!("{hours} h"),
        _ => format!("{} d", time.num_days()),
    }
}

/// Truncates a line to a number of columns.
pub(crate) fn cut(line: &str, columns: usize) -> String {
    if line.chars().count() <= columns {
        return line.to_owned();
    }
    let kept: String = line.chars().take(columns.saturating_sub(1)).collect();
    if columns == 0 { kept } else { kept + "…" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wall(milliseconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(1_700_000_000_000 + milliseconds).expect("in range")
    }

    fn at(hours: i64) -> DateTime<Utc> {
        "2023-07-27T20:00:00Z".parse::<DateTime<Utc>>().expect("an instant") + TimeDelta::hours(hours)
    }

    /// Progress of 100 hours of landscape time after looks at milliseconds of wall time and hours of landscape time.
    fn progress(looks: &[(i64, i64)]) -> Progress {
        let mut progress = Progress::of_time(Goal::Time(at(100)), at(0), wall(0));
        for (milliseconds, hours) in looks {
            progress.at(at(*hours), wall(*milliseconds), Vec::new());
        }
        progress
    }

    #[test]
    fn percent_and_estimate_stay_within_their_bounds() {
        for (looks, expected, why) in [
            (&[][..], "2023-07-27T20:00:00Z of 2023-08-01T00:00:00Z · 0 %", "nothing is known"),
            (&[(500, 10)], "2023-07-28T06:00:00Z of 2023-08-01T00:00:00Z · 10 %", "too little is known"),
            (&[(1000, 10)], "2023-07-28T06:00:00Z of 2023-08-01T00:00:00Z · 10 % · about 9 s left", "one look"),
            (&[(1000, 0)], "2023-07-27T20:00:00Z of 2023-08-01T00:00:00Z · 0 %", "it has not moved"),
            (&[(1500, 99)], "2023-07-31T23:00:00Z of 2023-08-01T00:00:00Z · 99 % · less than 1 s left", "nearly there"),
            (&[(1500, 100)], "2023-08-01T00:00:00Z of 2023-08-01T00:00:00Z · 100 %", "a jump to the target"),
            (&[(1500, 200)], "2023-08-05T04:00:00Z of 2023-08-01T00:00:00Z · 100 %", "past the target"),
            (
                &[(60_000, 1), (60_100, 1)],
                "2023-07-27T21:00:00Z of 2023-08-01T00:00:00Z · 1 % · about 99 min left",
                "slow",
            ),
            (
                &[(2000, 5), (1000, 1)],
                "2023-07-27T21:00:00Z of 2023-08-01T00:00:00Z · 5 % · about 38 s left",
                "set back",
            ),
        ] {
            assert_eq!(progress(looks).text(), expected, "{why}");
        }
    }

    #[test]
    fn the_estimate_follows_the_last_days() {
        // A jump over days without events does not affect the estimate for busy days.
        let text = |looks: &[(i64, i64)]| progress(looks).text().rsplit(" · ").next().unwrap_or_default().to_owned();
        assert_eq!(text(&[(3000, 26)]), "about 8 s left");
        assert_eq!(text(&[(3000, 26), (13_000, 50)]), "about 20 s left");
        assert_eq!(text(&[(3000, 26), (13_000, 50), (23_000, 74)]), "about 10 s left");
        // The span is too short for an estimate.
        assert_eq!(text(&[(3000, 26), (3500, 60)]), "about 2 s left");
    }

    #[test]
    fn there_is_no_estimate_by_less_than_a_percent() {
        let estimate = |wall_milliseconds: i64| {
            let mut progress = Progress::of_time(Goal::Time(at(1000)), at(0), wall(0));
            progress.at(at(9), wall(wall_milliseconds), Vec::new());
            progress.text().split_once(" %").unwrap_or_default().1.to_owned()
        };
        assert_eq!(estimate(9999), "");
        assert_eq!(estimate(10_000), " · about 18 min left");
    }

    #[test]
    fn there_is_no_estimate_while_time_stands() {
        let rest = |progress: &Progress| progress.text().split_once(" % · ").unwrap_or_default().1.to_owned();
        for (looks, expected) in [
            (&[(1000, 10), (2999, 10)][..], "about 26 s left"),
            (&[(1000, 10), (3000, 10)], "unchanged for 2 s"),
            (&[(1000, 10), (11_000, 10)], "unchanged for 10 s"),
            (&[(1000, 10), (11_000, 10), (11_100, 11)], "about 89 s left"),
            // Another client has set the clock back: it moves.
            (&[(1000, 10), (2000, 5), (3500, 6)], "about 31 s left"),
        ] {
            assert_eq!(rest(&progress(looks)), expected, "{looks:?}");
        }
        // Time moves within a step.
        let mut steps = Progress::of_steps(4, at(0), wall(0));
        steps.at_step(1, at(1), wall(2000), Vec::new());
        steps.at_step(1, at(2), wall(5000), Vec::new());
        assert_eq!(rest(&steps), "about 15 s left");
        steps.at_step(1, at(2), wall(7000), vec!["a".to_owned()]);
        assert_eq!(rest(&steps), "has waited 2 s for a");
    }

    #[test]
    fn far_goals_do_not_overflow() {
        let mut progress = Progress::of_time(Goal::Time(DateTime::<Utc>::MAX_UTC), DateTime::<Utc>::MIN_UTC, wall(0));
        progress.at(DateTime::<Utc>::MIN_UTC + TimeDelta::milliseconds(1), wall(31_536_000_000), Vec::new());
        assert!(progress.text().ends_with(" · 0 % · more than 99 d left"), "{}", progress.text());
        let mut nowhere = Progress::of_time(Goal::Time(at(0)), at(0), wall(0));
        nowhere.at(at(0), wall(1000), Vec::new());
        assert!(nowhere.text().ends_with(" · 100 %"), "{}", nowhere.text());
    }

    #[test]
    fn obstacles_are_named_and_timed() {
        for (stood, names, expected) in [
            (500, &[][..], None),
            (500, &["a"], Some("waits for a")),
            (500, &["a", "b", "c"], Some("waits for a, b and 1 more")),
            (2000, &["a"], Some("has waited 2 s for a")),
            (300_000, &["a"], Some("has waited 5 min for a")),
            (2000, &[], Some("unchanged for 2 s")),
        ] {
            let mut progress = progress(&[(100, 1)]);
            progress.at(at(1), wall(100 + stood), names.iter().map(|name| (*name).to_owned()).collect());
            assert_eq!(progress.obstacle().as_deref(), expected, "{stood} {names:?}");
        }
    }

    #[test]
    fn a_state_has_a_limit_instead_of_a_percentage() {
        let goal = Goal::State { text: "shoot/demo/a is Succeeded".to_owned(), limit: at(24) };
        let mut progress = Progress::of_time(goal, at(0), wall(0));
        progress.at(at(1), wall(5000), vec!["b".to_owned()]);
        let expected = "2023-07-27T21:00:00Z until shoot/demo/a is Succeeded, limit 2023-07-28T20:00:00Z · waits for b";
        assert_eq!(progress.text(), expected);
    }

    #[test]
    fn steps_are_counted_from_one() {
        let mut progress = Progress::of_steps(4, at(0), wall(0));
        for (done, milliseconds, expected) in [
            (0, 1500, "2023-07-27T21:00:00Z, step 1 of 4 · 0 % · waits for b"),
            (1, 2000, "2023-07-27T21:00:00Z, step 2 of 4 · 25 % · about 6 s left · waits for b"),
            (4, 8000, "2023-07-27T21:00:00Z, step 4 of 4 · 100 % · waits for b"),
        ] {
            progress.at_step(done, at(1), wall(milliseconds), vec!["b".to_owned()]);
            assert_eq!(progress.text(), expected);
        }
    }

    #[test]
    fn lines_are_due_by_medium() {
        let shown = |milliseconds: i64, hours: i64| {
            Some(Look { position: at(hours).timestamp_millis(), wall: wall(milliseconds) })
        };
        for (looks, before, terminal, lines, why) in [
            (&[(900, 50)][..], None, false, false, "a short command shows nothing"),
            (&[(1000, 3)], None, true, false, "the day of the begin"),
            (&[(1000, 4)], None, true, true, "the next day"),
            (&[(1100, 4)], shown(1000, 3), false, false, "just shown"),
            (&[(1300, 4)], shown(1000, 3), true, false, "shown a moment ago"),
            (&[(4000, 5)], shown(1000, 4), true, false, "shown on this day"),
            (&[(4000, 28)], shown(1000, 5), true, true, "shown on the day before"),
            (&[(1000, 4)], shown(-100, 2), true, true, "shown for an earlier command"),
            (&[(9999, 0)], None, true, false, "it has not moved at all"),
            (&[(10_000, 0)], None, true, true, "for ten seconds"),
            (&[(1000, 1), (10_999, 1)], None, true, false, "it stands where it was a moment ago"),
            (&[(1000, 1), (11_000, 1)], None, true, true, "for ten seconds"),
            (&[(1000, 1), (20_999, 1)], shown(11_000, 1), true, false, "which is known"),
            (&[(1000, 1), (21_000, 1)], shown(11_000, 1), true, true, "for ten more"),
        ] {
            let progress = progress(looks);
            assert_eq!(progress.is_due(Medium::Terminal(80), before), terminal, "{why}");
            assert_eq!(progress.is_due(Medium::Lines, before), lines, "{why}");
        }
        let mut steps = Progress::of_steps(2, at(0), wall(0));
        steps.at_step(1, at(0), wall(5000), Vec::new());
        assert!(steps.is_due(Medium::Terminal(80), None) && !steps.is_due(Medium::Lines, None));
    }

    #[test]
    fn spans_have_one_unit() {
        for (seconds, expected) in [
            (0, "0 s"),
            (119, "119 s"),
            (120, "2 min"),
            (7199, "119 min"),
            (7200, "2 h"),
            (172_799, "47 h"),
            (172_800, "2 d"),
        ] {
            assert_eq!(span(TimeDelta::seconds(seconds)), expected);
        }
    }

    #[test]
    fn lines_are_cut_to_the_columns() {
        for (columns, expected) in [(9, "a · b · c"), (8, "a · b ·…"), (1, "…"), (0, "")] {
            assert_eq!(cut("a · b · c", columns), expected);
        }
    }
}
