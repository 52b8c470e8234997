// SPDX-License-Identifier: Apache-2.0
//! What somebody probably meant who wrote a name that does not exist.

/// How many letters must be put in, taken out or changed to make one word of the other.
pub(crate) fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, from) in left.chars().enumerate() {
        let mut diagonal = last[0];
        last[0] = row + 1;
        for (column, to) in right.iter().enumerate() {
            let changed = diagonal + usize::from(from != *to);
            diagonal = last[column + 1];
            last[column + 1] = changed.min(diagonal + 1).min(last[column] + 1);
        }
    }
    last.last().copied().unwrap_or_default()
}

/// A hint with the known name that is nearest, whatever its case; empty if none is known.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let nearest = known.min_by_key(|known| (distance(&name.to_lowercase(), &known.to_lowercase()), *known));
    nearest.map(|known| format!("the nearest is `{known}`")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_put_in_taken_out_and_changed() {
        for (left, right, expected) in
            [("", "", 0), ("shoot", "shoot", 0), ("shots", "shoots", 1), ("seed", "sed", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!((distance(left, right), distance(right, left)), (expected, expected), "{left} {right}");
        }
    }

    #[test]
    fn the_nearest_name_is_told() {
        let known = || ["gardener-scheduler", "gardenlet"].into_iter();
        assert_eq!(nearest("Gardenlett", known()), "the nearest is `gardenlet`");
        assert_eq!(nearest("x", std::iter::empty()), "");
    }
}
