// SPDX-License-Identifier: Apache-2.0
//! Suggestions for misspelt names, and nouns with counts.

use std::fmt::Display;

/// Number of letters to insert, remove or change to turn one word into the other.
pub use strsim::levenshtein as distance;

/// Formats a count with a noun: `1 node`, `2 nodes`.
pub fn plural<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    counted(count, noun, &format!("{noun}s"))
}

/// Formats a count with a verb: `1 moves`, `2 move`.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, one: &str, many: &str) -> String {
    let noun = if count == N::from(1) { one } else { many };
    format!("{count} {noun}")
}

/// Lists the first names and the number of the others: `a, b and 2 more`.
pub fn first_of<'a>(names: impl Iterator<Item = &'a str>, shown: usize) -> String {
    let names: Vec<&str> = names.collect();
    let more = if names.len() > shown { format!(" and {} more", names.len() - shown) } else { String::new() };
    format!("{}{more}", names[..names.len().min(shown)].join(", "))
}

/// Returns a hint with the nearest known name, ignoring case; empty if none is known.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let nearest = known.min_by_key(|known| (distance(&name.to_lowercase(), &known.to_lowercase()), *known));
    nearest.map(|known| format!("the nearest is `{known}`")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        let names = || ["a", "b", "c"].into_iter();
        assert_eq!(
            (plural(0_u32, "day").as_str(), plural(1_u64, "day").as_str(), plural(2_usize, "day").as_str()),
            ("0 days", "1 day", "2 days")
        );
        assert_eq!(
            (counted(1_u32, "moves", "move").as_str(), counted(3_u32, "moves", "move").as_str()),
            ("1 moves", "3 move")
        );
        assert_eq!((first_of(names(), 3).as_str(), first_of(names(), 2).as_str()), ("a, b, c", "a, b and 1 more"));
    }

    #[test]
    fn the_nearest_name_is_told() {
        let known = || ["gardener-scheduler", "gardenlet"].into_iter();
        assert_eq!(nearest("Gardenlett", known()), "the nearest is `gardenlet`");
        assert_eq!(nearest("x", std::iter::empty()), "");
    }
}
