// SPDX-License-Identifier: Apache-2.0
//! Goals of `terrarium clock`, the landscape time or state to run to, as users write them.

use api::constants::operation_state;
use chrono::TimeDelta;

use crate::instant::When;
use crate::names::shoots::ShootName;

/// States of a last operation.
const STATES: [&str; 6] = [
    operation_state::ABORTED,
    operation_state::ERROR,
    operation_state::FAILED,
    operation_state::PENDING,
    operation_state::PROCESSING,
    operation_state::SUCCEEDED,
];
/// State that stands for a deleted Shoot.
pub const DELETED: &str = "Deleted";
/// Default time limit for a Shoot's state.
pub const FAR: TimeDelta = TimeDelta::days(30);

/// Goal of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// An instant, or a duration from now.
    Time(When),
    /// The next maintenance window.
    Window,
    /// A Shoot's last operation is in this state; [`DELETED`]: the Shoot is deleted.
    State(ShootName, &'static str),
}

/// Reads a time, `window`, or `shoot/PROJECT/NAME=STATE`.
///
/// # Errors
/// The text has none of these forms; the error lists them.
pub fn until(text: &str) -> Result<Until, String> {
    if text == "window" {
        return Ok(Until::Window);
    }
    let name = text.split_once('=').map_or(text, |(name, _)| name);
    if name.parse::<ShootName>().is_ok() || name.starts_with("shoot/") {
        let (name, state) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` names no state: use shoot/PROJECT/NAME=Succeeded, or `window {text}`"))?;
        let known = STATES.iter().chain([&DELETED]).find(|known| known.eq_ignore_ascii_case(state));
        let state = known
            .ok_or_else(|| format!("`{state}` is no state of a Shoot: use one of {}, {DELETED}", STATES.join(", ")))?;
        return Ok(Until::State(name.parse()?, state));
    }
    text.parse().map(Until::Time).map_err(|_| {
        format!("`{text}` is no time as 2027-01-31T00:00:00Z or 90d, nor `window`, nor shoot/PROJECT/NAME=STATE")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local() -> ShootName {
        "shoot/demo/local".parse().expect("a name")
    }

    #[test]
    fn goals_are_instants_windows_and_states() {
        let instant = |text: &str| Until::Time(When::At(text.parse().expect("an instant")));
        assert_eq!(until("2027-01-31T10:00:00Z"), Ok(instant("2027-01-31T10:00:00Z")));
        assert_eq!(until("2027-01-31"), Ok(instant("2027-01-31T00:00:00Z")));
        assert_eq!(until("90d"), Ok(Until::Time(When::Off(TimeDelta::days(90)))));
        assert_eq!(until("window"), Ok(Until::Window));
        assert_eq!(until("shoot/demo/local=succeeded"), Ok(Until::State(local(), "Succeeded")));
        assert_eq!(until("shoot/demo/local=Deleted"), Ok(Until::State(local(), DELETED)));
        assert_eq!(until("Shoot/demo/local=Failed"), until("demo/local=Failed"));
        for text in
            ["", "tomorrow", "shoot/demo/local", "shoot/demo/local=Happy", "shoot/demo=Failed", "shoot///=Failed"]
        {
            assert!(until(text).is_err(), "{text}");
        }
    }
}
