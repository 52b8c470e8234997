// SPDX-License-Identifier: Apache-2.0
//! Instants of landscape time, and distances between them.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use maud::{Markup, html};

/// Formats `2023-07-28 09:17:09`, in UTC.
pub fn text(instant: DateTime<Utc>) -> String {
    instant.format("%Y-%m-%d %H:%M:%S").to_string()
}

/// Formats an instant as the API does.
pub fn machine(instant: DateTime<Utc>) -> String {
    instant.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Returns the markup of an instant.
pub fn instant(instant: DateTime<Utc>) -> Markup {
    html! { time datetime=(machine(instant)) { (text(instant)) } }
}

/// Returns an instant and its distance from `now`.
pub fn instant_from(at: DateTime<Utc>, now: DateTime<Utc>) -> Markup {
    html! { (instant(at)) " " span.far { (relative(at, now)) } }
}

/// Returns the distance of an instant from `now`; the instant itself is its title.
pub fn distance(at: DateTime<Utc>, now: DateTime<Utc>) -> Markup {
    html! { time datetime=(machine(at)) title=(text(at)) { (relative(at, now)) } }
}

/// Formats `in 3 d 4 h`, `2 h 5 min ago`, `now`.
pub fn relative(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let distance = at - now;
    match distance.num_seconds() {
        0 => "now".to_owned(),
        1.. => format!("in {}", length(distance)),
        _ => format!("{} ago", length(-distance)),
    }
}

/// Formats the two largest units of a length of time: `3 d 4 h`, `5 min 2 s`.
pub fn length(length: TimeDelta) -> String {
    let seconds = length.num_seconds().unsigned_abs();
    let parts = [(seconds / 86_400, "d"), (seconds / 3_600 % 24, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")];
    let Some(first) = parts.iter().position(|(count, _)| *count > 0) else { return "0 s".to_owned() };
    let shown: Vec<String> = parts[first..]
        .iter()
        .take(2)
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| format!("{count} {unit}"))
        .collect();
    shown.join(" ")
}

/// Returns whole days until an instant; 0 within the last 24 hours, negative after it.
pub fn days_until(at: DateTime<Utc>, now: DateTime<Utc>) -> i64 {
    (at - now).num_seconds().div_euclid(86_400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_two_units() {
        for (seconds, expected) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3_661, "1 h 1 min"),
            (86_400, "1 d"),
            (273_600, "3 d 4 h"),
            (86_405, "1 d"),
        ] {
            assert_eq!(length(TimeDelta::seconds(seconds)), expected, "{seconds}");
        }
    }

    #[test]
    fn instants_are_ahead_or_ago() {
        let at = |text: &str| text.parse::<DateTime<Utc>>().expect("an instant");
        let now = at("2023-07-28T09:17:09Z");
        assert_eq!(relative(at("2023-07-31T13:17:09Z"), now), "in 3 d 4 h");
        assert_eq!(relative(at("2023-07-28T07:12:09Z"), now), "2 h 5 min ago");
        assert_eq!(relative(now, now), "now");
        assert_eq!(instant(now).into_string(), "<time datetime=\"2023-07-28T09:17:09Z\">2023-07-28 09:17:09</time>");
        assert_eq!(days_until(at("2023-07-29T09:17:09Z"), now), 1);
        assert_eq!(days_until(at("2023-07-29T09:17:08Z"), now), 0);
        assert_eq!(days_until(at("2023-07-28T09:17:08Z"), now), -1);
    }
}
