// SPDX-License-Identifier: Apache-2.0
//! Label `shoot.gardener.cloud/status`: one word for the health of a Shoot.

use api::constants::{operation_state, operation_type};
use api::core::{Condition, LastError, LastOperation, ShootStatus};

/// Health in one word, ordered from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// Value `healthy` of the label.
    Healthy,
    /// Value `progressing` of the label.
    Progressing,
    /// Value `unknown` of the label.
    Unknown,
    /// Value `unhealthy` of the label.
    Unhealthy,
}

impl Health {
    /// Returns the value of the label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Progressing => "progressing",
            Self::Unknown => "unknown",
            Self::Unhealthy => "unhealthy",
        }
    }

    const fn healthy_if(holds: bool) -> Self {
        if holds { Self::Healthy } else { Self::Unhealthy }
    }
}

/// Returns the health of a Shoot. Constraints are ignored.
pub fn of_status(status: &ShootStatus) -> Health {
    of(status.last_operation.as_ref(), &status.last_errors, &status.conditions)
}

/// Returns the health: for a Shoot that is created or deleted, whether there are errors; otherwise the worst of its
/// conditions and its last operation.
pub fn of(last_operation: Option<&LastOperation>, last_errors: &[LastError], conditions: &[Condition]) -> Health {
    let Some(operation) = last_operation else { return Health::Healthy };
    let has_no_errors = Health::healthy_if(last_errors.is_empty());
    if operation.r#type == operation_type::DELETE
        || (operation.r#type == operation_type::CREATE && operation.state != operation_state::SUCCEEDED)
    {
        return has_no_errors;
    }
    let by_conditions = conditions.iter().map(|condition| match condition.status.as_str() {
        "True" => Health::Healthy,
        "Progressing" => Health::Progressing,
        "False" => Health::Unhealthy,
        _ => Health::Unknown,
    });
    let by_operation = if operation.state == operation_state::PROCESSING {
        has_no_errors
    } else {
        Health::healthy_if(operation.state == operation_state::SUCCEEDED)
    };
    by_conditions.max().unwrap_or(Health::Healthy).max(by_operation)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `TYPE STATE errors conditions => label`; `-`: none.
    const ROWS: &str = "
-         -          0 -                 => healthy
Create    Processing 0 False             => healthy
Create    Error      1 True              => unhealthy
Create    Pending    0 -                 => healthy
Create    Succeeded  0 True,Progressing  => progressing
Create    Succeeded  0 True,True         => healthy
Delete    Processing 0 False             => healthy
Delete    Error      1 True              => unhealthy
Reconcile Processing 0 True,Progressing  => progressing
Reconcile Processing 0 True,Unknown      => unknown
Reconcile Processing 0 Unknown,False     => unhealthy
Reconcile Processing 1 True              => unhealthy
Reconcile Succeeded  0 True              => healthy
Reconcile Error      1 True              => unhealthy
Reconcile Failed     1 True              => unhealthy
Reconcile Aborted    0 True              => unhealthy
Reconcile Pending    0 True              => unhealthy
";

    #[test]
    fn label_is_the_worst_of_conditions_and_operation() {
        for row in ROWS.lines().filter(|row| !row.is_empty()) {
            let (given, expected) = row.split_once("=>").expect("row has an arrow");
            let words: Vec<&str> = given.split_whitespace().collect();
            let operation = (words[0] != "-").then(|| LastOperation {
                r#type: words[0].to_owned(),
                state: words[1].to_owned(),
                ..LastOperation::default()
            });
            let errors = vec![LastError::default(); words[2].parse().expect("a number")];
            let conditions: Vec<Condition> = words[3]
                .split(',')
                .filter(|status| *status != "-")
                .map(|status| Condition { status: status.to_owned(), ..Condition::default() })
                .collect();
            assert_eq!(of(operation.as_ref(), &errors, &conditions).as_str(), expected.trim(), "row: {row}");
        }
    }
}
