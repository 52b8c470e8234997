// SPDX-License-Identifier: Apache-2.0
//! `maxSurge` and `maxUnavailable`, as numbers of machines.

use apimachinery::meta::IntOrString;

use crate::worker_pool::zones::percentage;

/// Limits of a roll-out as configured: numbers or percentages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of machines beyond the desired number.
    pub max_surge: IntOrString,
    /// Maximum number of machines that may be unavailable.
    pub max_unavailable: IntOrString,
}

impl Limits {
    /// Returns the numbers (surge, unavailable) for a MachineDeployment of `replicas`.
    ///
    /// Percentages of surge are rounded up, those of unavailable down. If both are 0, one machine may be unavailable, as
    /// otherwise the roll-out could not proceed. Unavailable is at most `replicas`.
    pub fn resolve(&self, replicas: i32) -> (i32, i32) {
        let surge = scaled(&self.max_surge, replicas, true);
        let mut unavailable = scaled(&self.max_unavailable, replicas, false);
        if surge == 0 && unavailable == 0 {
            unavailable = 1;
        }
        (surge, unavailable.min(replicas.max(0)))
    }

    /// Returns the surge alone.
    pub fn surge(&self, replicas: i32) -> i32 {
        scaled(&self.max_surge, replicas, true)
    }
}

/// Returns a number, or a percentage of `total`; other values count as 0, as validation rejects them.
fn scaled(value: &IntOrString, total: i32, round_up: bool) -> i32 {
    let percent = match (value, percentage(value)) {
        (IntOrString::Int(number), _) => return (*number).max(0),
        (_, Some(percent)) => i64::from(percent.max(0)),
        (_, None) => return 0,
    };
    let product = percent * i64::from(total.max(0));
    let scaled = if round_up { (product + 99) / 100 } else { product / 100 };
    i32::try_from(scaled).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(max_surge: &str, max_unavailable: &str, replicas: i32, expected: (i32, i32)) {
        let value = |text: &str| text.parse().map_or_else(|_| IntOrString::String(text.to_owned()), IntOrString::Int);
        let limits = Limits { max_surge: value(max_surge), max_unavailable: value(max_unavailable) };
        assert_eq!(limits.resolve(replicas), expected, "{max_surge} {max_unavailable} of {replicas}");
    }

    #[test]
    fn surge_rounds_up_and_unavailable_rounds_down() {
        check("1", "0", 3, (1, 0));
        check("30%", "30%", 4, (2, 1));
        check("10%", "10%", 4, (1, 0));
        check("150%", "0", 2, (3, 0));
    }

    #[test]
    fn one_machine_may_be_missing_where_nothing_else_could_move() {
        check("0", "0", 3, (0, 1));
        check("0", "10%", 4, (0, 1));
        check("0", "9", 4, (0, 4));
        check("1", "1", 0, (1, 0));
    }
}
