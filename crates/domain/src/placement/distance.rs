// SPDX-License-Identifier: Apache-2.0
//! Distance of two regions, computed from their names alone.
//!
//! Source: pkg/scheduler/controller/shoot/distance.go @ v1.120.0.

const ORIENTATIONS: [&str; 5] = ["north", "south", "east", "west", "central"];

/// Returns the distance of two regions: twice the Levenshtein distance of their names without orientation, plus 1 if
/// exactly one has an orientation, plus 2 if both have different ones.
pub fn distance(seed_region: &str, shoot_region: &str) -> i64 {
    let (seed, seed_orientation) = split(seed_region);
    let (shoot, shoot_orientation) = split(shoot_region);
    let base = 2 * i64::try_from(strsim::levenshtein(&seed, &shoot)).unwrap_or(i64::MAX / 4);
    match (seed_orientation, shoot_orientation) {
        (None, None) => base,
        (Some(a), Some(b)) if a == b => base,
        (Some(_), Some(_)) => base + 2,
        _ => base + 1,
    }
}

/// Returns the name with its first orientation replaced by a colon, and the orientation. The first one of the list is
/// replaced, not the first in the name.
fn split(region: &str) -> (String, Option<&'static str>) {
    let orientation = ORIENTATIONS.into_iter().find(|orientation| region.contains(orientation));
    let base = orientation.map_or_else(|| region.to_owned(), |orientation| region.replacen(orientation, ":", 1));
    (base, orientation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_near_when_their_names_are_alike() {
        for (seed, shoot, expected) in [
            ("eu-west-1", "eu-west-1", 0),
            ("eu-west-1", "eu-west-2", 2),
            ("eu-west-1", "eu-east-1", 2),
            ("eu-west-1", "eu-east-2", 4),
            ("europe", "europe-west", 5),
            ("local", "local", 0),
            ("", "abc", 6),
            ("northeurope", "europe", 3),
            // `north` is replaced, since it is first in the list, and `east` remains in the name.
            ("ap-northeast-1", "ap-northeast-2", 2),
            ("ap-southeast-1", "ap-northeast-1", 2),
        ] {
            assert_eq!(distance(seed, shoot), expected, "{seed} and {shoot}");
            assert_eq!(distance(shoot, seed), expected, "{shoot} and {seed}");
        }
    }
}
