// SPDX-License-Identifier: Apache-2.0
//! Conditions and constraints of Gardener's kinds: creating and changing one, and merging lists of them.
//!
//! Source: pkg/apis/core/v1beta1/helper/{condition,condition_builder}.go @ v1.120.0.

use api::core::Condition;
use apimachinery::meta::Time;

/// Returns a condition of an unknown status.
pub fn initial(type_: &str, now: Time) -> Condition {
    Condition {
        r#type: type_.to_owned(),
        status: "Unknown".to_owned(),
        last_transition_time: now,
        last_update_time: now,
        reason: "ConditionInitialized".to_owned(),
        message: "The condition has been initialized but its semantic check has not been performed yet.".to_owned(),
        codes: Vec::new(),
    }
}

/// Returns the condition with new content: `lastTransitionTime` moves with the status, `lastUpdateTime` with reason,
/// message or codes. Error codes are not carried over. Neither reason nor message is left empty.
pub fn updated(
    condition: &Condition,
    status: &str,
    reason: &str,
    message: &str,
    codes: &[String],
    now: Time,
) -> Condition {
    let reason = if reason.is_empty() { "Unspecified" } else { reason };
    let message = if message.is_empty() { "No message given." } else { message };
    let mut new = condition.clone();
    if new.last_transition_time.is_zero() {
        new.last_transition_time = now;
    }
    if new.last_update_time.is_zero() {
        new.last_update_time = now;
    }
    if new.status != status {
        status.clone_into(&mut new.status);
        new.last_transition_time = now;
    }
    if new.reason != reason || new.message != message || new.codes != codes {
        reason.clone_into(&mut new.reason);
        message.clone_into(&mut new.message);
        new.codes = codes.to_vec();
        new.last_update_time = now;
    }
    new
}

/// Returns the condition after a check that failed to run.
pub fn check_error(condition: &Condition, error: &str, now: Time) -> Condition {
    updated(condition, "Unknown", "ConditionCheckError", error, &[], now)
}

/// The condition of a type.
pub fn get<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.r#type == type_)
}

/// The condition of a type, or an [`initial`] one.
pub fn get_or_initial(conditions: &[Condition], type_: &str, now: Time) -> Condition {
    get(conditions, type_).cloned().unwrap_or_else(|| initial(type_, now))
}

/// Replaces conditions of the same type; others are appended, in their order.
pub fn merge(conditions: &mut Vec<Condition>, new: impl IntoIterator<Item = Condition>) {
    for condition in new {
        match conditions.iter_mut().find(|known| known.r#type == condition.r#type) {
            Some(known) => *known = condition,
            None => conditions.push(condition),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(minute: i64) -> Time {
        let start: chrono::DateTime<chrono::Utc> = "2025-06-15T12:00:00Z".parse().expect("RFC 3339");
        Time(start + chrono::TimeDelta::minutes(minute))
    }

    /// Changed fields, and which of the two times moves to minute 1: status, reason, message, code => transition,
    /// update.
    const CHANGES: &str = "
Unknown | ConditionInitialized | same | -   => stays stays
True    | ConditionInitialized | same | -   => moves stays
Unknown | Checked              | same | -   => stays moves
Unknown | ConditionInitialized | new  | -   => stays moves
Unknown | ConditionInitialized | same | ERR => stays moves
False   | Checked              | new  | -   => moves moves
";

    #[test]
    fn each_time_moves_with_its_own_fields() {
        let old = initial("Ready", time(0));
        for row in CHANGES.lines().filter(|row| !row.is_empty()) {
            let (change, expected) = row.split_once("=>").expect("row has an arrow");
            let cells: Vec<&str> = change.split('|').map(str::trim).collect();
            let message = if cells[2] == "same" { old.message.as_str() } else { cells[2] };
            let codes: Vec<String> = (cells[3] != "-").then(|| cells[3].to_owned()).into_iter().collect();
            let new = updated(&old, cells[0], cells[1], message, &codes, time(1));
            let moved = |at: Time| if at == time(1) { "moves" } else { "stays" };
            let actual = format!("{} {}", moved(new.last_transition_time), moved(new.last_update_time));
            assert_eq!(actual, expected.trim(), "row: {row}");
        }
    }

    #[test]
    fn empty_texts_are_replaced_and_codes_are_not_carried_over() {
        let old = updated(&initial("Ready", time(0)), "False", "Broken", "", &["ERR".to_owned()], time(1));
        assert_eq!((old.message.as_str(), old.codes.len()), ("No message given.", 1));
        let new = check_error(&old, "boom", time(2));
        assert_eq!((new.status.as_str(), new.reason.as_str()), ("Unknown", "ConditionCheckError"));
        assert!(new.codes.is_empty());
    }

    #[test]
    fn merging_keeps_places_and_appends() {
        let mut conditions = vec![initial("A", time(0)), initial("B", time(0))];
        merge(&mut conditions, [initial("C", time(1)), initial("A", time(1))]);
        let listed: Vec<_> = conditions.iter().map(|c| (c.r#type.as_str(), c.last_update_time)).collect();
        assert_eq!(listed, [("A", time(1)), ("B", time(0)), ("C", time(1))]);
    }
}
