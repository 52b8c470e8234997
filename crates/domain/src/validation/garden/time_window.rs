// SPDX-License-Identifier: Apache-2.0
//! The maintenance time window of a Garden.
//!
//! The definition of Gardens has a pattern for begin and end. It may match anywhere in the text, and an unchanged value
//! is not checked again. Offsets from UTC that it accepts:
//!
//! | release | offsets |
//! | --- | --- |
//! | until 1.148 | +00:00 to +04:00, +10:00 to +14:00, whole hours |
//! | since 1.149 | -12:00 to +14:00, whole hours |
//!
//! gardener-apiserver checks windows of Shoots in every release by parsing them ([`crate::window`]): it accepts any offset.
//!
//! Source: charts/gardener/operator/files/crd-gardens.yaml (pkg/apis/core/v1beta1/types_shoot.go) @ v1.120.0 to v1.149.0.

use std::sync::LazyLock;

use api::operator::Garden;
use apimachinery::field::{FieldError, Path};
use regex::Regex;

use super::super::Errors;
use crate::release::{Release, Releases};

const UNTIL_148: &str = r"([0-1][0-9]|2[0-3])[0-5][0-9][0-5][0-9]\+[0-1][0-4]00";
const SINCE_149: &str = "([0-1][0-9]|2[0-3])[0-5][0-9][0-5][0-9]([+](0[0-9]|1[0-4])|[-](0[0-9]|1[0-2]))00";

/// Begin and end may be west of UTC.
const WEST_OF_UTC: Releases = Releases::since(149);

static UNTIL_148_REGEX: LazyLock<Regex> = LazyLock::new(|| Regex::new(UNTIL_148).expect("a literal of this file"));
static SINCE_149_REGEX: LazyLock<Regex> = LazyLock::new(|| Regex::new(SINCE_149).expect("a literal of this file"));

/// Checks begin and end of the window of a Garden, as far as they differ from those of the stored one.
pub(super) fn check(errors: &mut Errors, garden: &Garden, old: Option<&Garden>, release: Release) {
    let (pattern, regex) =
        if WEST_OF_UTC.contain(release) { (SINCE_149, &SINCE_149_REGEX) } else { (UNTIL_148, &UNTIL_148_REGEX) };
    let window = |garden: &Garden| garden.spec.virtual_cluster.maintenance.time_window.clone();
    let (new, old) = (window(garden), old.map(window));
    let path = Path::new("spec").child("virtualCluster").child("maintenance").child("timeWindow");
    for (field, value, before) in
        [("begin", &new.begin, old.as_ref().map(|old| &old.begin)), ("end", &new.end, old.as_ref().map(|old| &old.end))]
    {
        if before != Some(value) && !regex.is_match(value) {
            let path = path.child(field);
            let text = format!("{path} in body should match '{pattern}'");
            errors.push(FieldError::invalid(&path, value, &text));
        }
    }
}

#[cfg(test)]
mod tests {
    use api::core::MaintenanceTimeWindow;

    use super::*;
    use crate::window::Window;

    fn garden(begin: &str, end: &str) -> Garden {
        let mut garden = Garden::default();
        garden.spec.virtual_cluster.maintenance.time_window =
            MaintenanceTimeWindow { begin: begin.to_owned(), end: end.to_owned() };
        garden
    }

    fn refused(release: u16, new: &Garden, old: Option<&Garden>) -> Vec<String> {
        let mut errors = Errors::new();
        check(&mut errors, new, old, Release(release));
        errors.iter().map(ToString::to_string).collect()
    }

    /// Begin; whether it is accepted until 1.148 and since 1.149; and the time of day in UTC as which it is parsed.
    const BEGINS: &str = "
220000+0000  yes yes 22:00:00
220000+0100  yes yes 21:00:00
220000+0400  yes yes 18:00:00
220000+0500  no  yes 17:00:00
220000+0900  no  yes 13:00:00
220000+1400  yes yes 08:00:00
220000+1500  no  no  07:00:00
220000-0500  no  yes 03:00:00
233000-1000  no  yes 09:30:00
000000-0000  no  yes 00:00:00
220000-1200  no  yes 10:00:00
220000-1300  no  no  11:00:00
220000+0530  no  no  16:30:00
220000-0330  no  no  01:30:00
240000+0100  no  no  -
22:00+0100   no  no  -
220000Z      no  no  -
x220000+01000 yes yes -
";

    #[test]
    fn offsets_of_a_gardens_window_depend_on_the_release() {
        for row in BEGINS.lines().filter(|row| !row.is_empty()) {
            let cells: Vec<&str> = row.split_whitespace().collect();
            let garden = garden(cells[0], "230000+0000");
            for (release, cell, pattern) in [(120, 1, UNTIL_148), (148, 1, UNTIL_148), (149, 2, SINCE_149)] {
                let path = "spec.virtualCluster.maintenance.timeWindow.begin";
                let text = format!("{path}: Invalid value: {:?}: {path} in body should match '{pattern}'", cells[0]);
                let expected = if cells[cell] == "yes" { vec![] } else { vec![text] };
                assert_eq!(refused(release, &garden, None), expected, "1.{release}: {row}");
            }
            let read = Window::parse(cells[0], "230000+0000").map(|window| window.begin.to_string());
            assert_eq!(read.unwrap_or_else(|_| "-".to_owned()), cells[3], "row: {row}");
        }
    }

    #[test]
    fn a_window_that_stays_is_not_judged_again() {
        let (old, moved) = (garden("220000-0500", "230000-0500"), garden("220000-0500", "233000-0500"));
        assert_eq!(refused(148, &old, Some(&old)), [""; 0]);
        let found = refused(148, &moved, Some(&old));
        assert!(
            found.len() == 1 && found[0].starts_with("spec.virtualCluster.maintenance.timeWindow.end: "),
            "{found:?}"
        );
        assert_eq!(refused(149, &moved, Some(&old)), [""; 0]);
        assert_eq!(refused(148, &moved, None).len(), 2);
    }
}
