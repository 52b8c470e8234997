// SPDX-License-Identifier: Apache-2.0
//! How a pool is divided over its zones.

use apimachinery::meta::IntOrString;

use super::limits::percentage;

/// One zone's part of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Least number of machines.
    pub minimum: i32,
    /// Greatest number of machines.
    pub maximum: i32,
    /// Machines beyond the wanted number during a roll-out.
    pub max_surge: IntOrString,
    /// Machines that may be missing during a roll-out.
    pub max_unavailable: IntOrString,
}

/// Divides a pool over `zones` zones, in order: the first zones get what does not divide evenly.
///
/// Percentages are scaled by a zone's part of the maximum (surge) or of the minimum (unavailable), so that the parts
/// add up to what the whole pool may do. Without zones the pool is one undivided part.
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

const fn part(total: i32, zones: i32, index: i32) -> i32 {
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
    // Doubles from left to right, without tolerance: upstream's rounding noise can be seen.
    let ratio = 100.0 / (f64::from(total) / f64::from(zones)) * f64::from(part(total, zones, index));
    IntOrString::String(format!("{}%", (ratio * f64::from(percent) / 100.0).ceil()))
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
