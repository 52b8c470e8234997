// SPDX-License-Identifier: Apache-2.0
//! Division of a pool over its zones, and the effect of changed zones on its nodes.

use api::core::Worker;
use apimachinery::meta::IntOrString;

/// One zone's share of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Minimum number of machines.
    pub minimum: i32,
    /// Maximum number of machines.
    pub maximum: i32,
    /// Maximum number of machines beyond the desired number during a roll-out.
    pub max_surge: IntOrString,
    /// Maximum number of unavailable machines during a roll-out.
    pub max_unavailable: IntOrString,
}

/// Divides a pool over `zones` zones, in order: the first zones receive the remainder.
///
/// Percentages are scaled by a zone's share of the maximum (surge) or of the minimum (unavailable), so that the shares
/// add up to the limits of the whole pool. Without zones the pool is one undivided share.
/// Source: extensions/pkg/controller/worker/helper.go @ v1.120.0.
pub fn distribute(
    minimum: i32,
    maximum: i32,
    max_surge: &IntOrString,
    max_unavailable: &IntOrString,
    zones: usize,
) -> Vec<Share> {
    let count = i32::try_from(zones.max(1)).unwrap_or(i32::MAX);
    (0..count)
        .map(|index| Share {
            minimum: part(minimum, count, index),
            maximum: part(maximum, count, index),
            max_surge: limit(max_surge, maximum, count, index),
            max_unavailable: limit(max_unavailable, minimum, count, index),
        })
        .collect()
}

/// Returns the suffixes of a pool's MachineDeployments after the pool's name, in the order of its zones: `-z1`, `-z2`. A
/// pool without zones has one MachineDeployment, with an empty suffix.
///
/// A MachineDeployment represents a position in the list, not a zone: if another zone takes a position, its nodes stay,
/// and only new ones are created in the other zone.
pub fn suffixes(zones: usize) -> Vec<String> {
    if zones == 0 { vec![String::new()] } else { (1..=zones).map(|index| format!("-z{index}")).collect() }
}

/// Effect of a change of zones on the existing nodes of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moves {
    /// All nodes stay.
    #[default]
    None,
    /// Nodes of some zones are removed and created again in other zones.
    Some,
    /// All nodes are replaced: none of the pool's MachineDeployments remains.
    All,
}

/// Returns the effect of a change of its zones on a pool's nodes. A MachineDeployment's number of nodes lies between its
/// minimum and its maximum: nodes are certain to move if a maximum falls below the previous minimum.
pub fn moves(old: &Worker, new: &Worker) -> Moves {
    if old.zones == new.zones {
        return Moves::None;
    }
    let none = IntOrString::Int(0);
    let parts = |worker: &Worker| {
        let shares = distribute(worker.minimum, worker.maximum, &none, &none, worker.zones.len());
        suffixes(worker.zones.len()).into_iter().zip(shares).collect::<Vec<_>>()
    };
    let after = parts(new);
    let of_after = |suffix: &str| after.iter().find(|(known, _)| known == suffix).map(|(_, share)| share);
    let before: Vec<_> = parts(old).into_iter().filter(|(_, share)| share.maximum > 0).collect();
    if before.is_empty() {
        Moves::None
    } else if before.iter().all(|(suffix, _)| of_after(suffix).is_none()) {
        Moves::All
    } else if before.iter().any(|(suffix, share)| of_after(suffix).is_none_or(|now| now.maximum < share.minimum)) {
        Moves::Some
    } else {
        Moves::None
    }
}

/// Returns a zone's share of a number of a pool; the first zones receive the remainder.
pub const fn part(total: i32, zones: i32, index: i32) -> i32 {
    total.div_euclid(zones) + if index < total.rem_euclid(zones) { 1 } else { 0 }
}

fn limit(value: &IntOrString, total: i32, zones: i32, index: i32) -> IntOrString {
    if let IntOrString::Int(value) = value {
        return IntOrString::Int(part(*value, zones, index));
    }
    let Some(percent) = percentage(value) else { return value.clone() };
    if total % zones == 0 {
        return value.clone();
    }
    // Doubles from left to right, without tolerance: upstream's rounding errors are visible in the result.
    let ratio = 100.0 / (f64::from(total) / f64::from(zones)) * f64::from(part(total, zones, index));
    IntOrString::String(format!("{}%", (ratio * f64::from(percent) / 100.0).ceil()))
}

/// Returns the number of a percentage; `None` for other values.
pub(crate) fn percentage(value: &IntOrString) -> Option<i32> {
    match value {
        IntOrString::Int(_) => None,
        IntOrString::String(text) => text.strip_suffix('%')?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(text: &str) -> IntOrString {
        IntOrString::String(text.to_owned())
    }

    #[test]
    fn the_first_zones_get_the_remainder() {
        let shares = distribute(5, 10, &IntOrString::Int(1), &IntOrString::Int(0), 3);
        let numbers: Vec<_> = shares.iter().map(|share| (share.minimum, share.maximum)).collect();
        assert_eq!(numbers, [(2, 4), (2, 3), (1, 3)]);
        let surges: Vec<_> = shares.into_iter().map(|share| share.max_surge).collect();
        assert_eq!(surges, [IntOrString::Int(1), IntOrString::Int(0), IntOrString::Int(0)]);
    }

    /// Zones and numbers before and after, and the effect on the nodes.
    const MOVES: &str = "
-     3-3 => a     3-3 All
a     3-3 => -     3-3 All
a,b   3-3 => -     3-3 All
a     3-3 => a     5-5 None
# At the end: the others get less where the number is fixed.
a     3-3 => a,b,c 3-3 Some
a     1-9 => a,b   1-9 None
a     4-6 => a,b   4-6 Some
# Taken: the last MachineDeployment goes, whichever zone was taken.
a,b,c 3-3 => a,b   3-3 Some
a,b,c 3-3 => a,c   3-3 Some
# Moved, or another zone in its place: nodes stay where they are.
a,b   3-3 => b,a   3-3 None
a     3-3 => b     3-3 None
-     0-0 => a     3-3 None
";

    #[test]
    fn nodes_follow_the_machine_deployments_of_their_zones() {
        let worker = |zones: &str, numbers: &str| {
            let (minimum, maximum) = numbers.split_once('-').expect("two numbers");
            Worker {
                minimum: minimum.parse().expect("a number"),
                maximum: maximum.parse().expect("a number"),
                zones: if zones == "-" { Vec::new() } else { zones.split(',').map(str::to_owned).collect() },
                ..Worker::default()
            }
        };
        for row in MOVES.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
            let words: Vec<&str> = row.split_whitespace().collect();
            let moved = moves(&worker(words[0], words[1]), &worker(words[3], words[4]));
            assert_eq!(format!("{moved:?}"), words[5], "row: {row}");
        }
    }

    #[test]
    fn percentages_follow_the_zone_and_keep_rounding_noise() {
        let shares = distribute(5, 5, &percent("50%"), &percent("50%"), 2);
        assert_eq!(shares[0].max_surge, percent("60%"));
        assert_eq!(shares[1].max_unavailable, percent("40%"));
        let noisy = distribute(0, 60, &percent("200%"), &IntOrString::Int(0), 7);
        assert_eq!(noisy[0].max_surge, percent("211%"));
        let even = distribute(0, 6, &percent("30%"), &percent("10%"), 3);
        assert_eq!((&even[0].max_surge, &even[2].max_unavailable), (&percent("30%"), &percent("10%")));
    }
}
