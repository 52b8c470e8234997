// SPDX-License-Identifier: Apache-2.0
//! One change of one Shoot, as a row.

use domain::forecast::Change;
use domain::worker_pool::Effect;
use serde_json::{Map, Value, json};

use crate::show;

/// A change with its Shoot.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// `NAMESPACE/NAME` of the Shoot.
    pub shoot: String,
    /// The change.
    pub change: Change,
}

/// Keys of a row, in the order of the CSV columns.
pub const KEYS: [&str; 14] = [
    "time",
    "windowBegin",
    "windowEnd",
    "shoot",
    "pool",
    "subject",
    "from",
    "to",
    "reason",
    "forced",
    "wasOptedOut",
    "rollout",
    "outcome",
    "failureReason",
];

impl Row {
    /// Formats the row as JSON for scripts, with all keys; `failureReason` only for failures.
    pub fn object(&self) -> Value {
        let change = &self.change;
        let mut object = json!({
            "time": show(change.time),
            "windowBegin": show(change.window.earliest),
            "windowEnd": show(change.window.end),
            "shoot": self.shoot,
            "pool": change.pool,
            "subject": change.subject.as_str(),
            "from": change.from,
            "to": change.to,
            "reason": reason(change),
            "forced": change.is_forced,
            "wasOptedOut": change.was_opted_out,
            "rollout": change.effect.as_str(),
            "outcome": if change.failure.is_none() { "Succeeded" } else { "Failed" },
        });
        if let Some(failure) = &change.failure {
            object["failureReason"] = json!(failure);
        }
        object
    }

    /// Formats the row as a line of CSV (RFC 4180) with columns [`KEYS`].
    pub fn csv(&self) -> String {
        let object = self.object();
        let cells: Vec<String> = KEYS.iter().map(|key| quoted(&text(&object[*key]))).collect();
        cells.join(",")
    }
}

/// Formats a value for a table.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Quotes a cell of CSV.
pub fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

/// Returns the header line of CSV.
pub fn csv_header() -> String {
    KEYS.join(",")
}

/// Effect of a change on nodes, as text.
pub fn nodes(change: &Change) -> String {
    match change.effect {
        Effect::None if change.is_hibernated && change.failure.is_none() => "hibernated".to_owned(),
        effect => effect.as_str().to_owned(),
    }
}

/// Reason of a change, with the difference of the requirements documents from upstream's code if there is one.
pub fn reason(change: &Change) -> String {
    match &change.reading {
        Some(reading) => format!("{} ({reading})", change.reason),
        None => change.reason.clone(),
    }
}

/// Returns a JSON object of counts by name, for summaries.
pub(crate) fn counts(entries: impl IntoIterator<Item = (&'static str, usize)>) -> Map<String, Value> {
    entries.into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_csv_are_quoted_where_they_must_be() {
        assert_eq!(quoted("a"), "a");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"a\""), "\"say \"\"a\"\"\"");
    }
}
