// SPDX-License-Identifier: Apache-2.0
//! Descriptions of table columns.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use apimachinery::catalogue::{Column, ResourceInfo};

use crate::kubernetes::tables;

/// Contents of `columns.txt`; its head describes the format.
const COLUMNS: &str = include_str!("columns.txt");

/// Descriptions by `GROUP/KIND` and column.
static TEXTS: LazyLock<BTreeMap<&'static str, BTreeMap<&'static str, &'static str>>> = LazyLock::new(|| {
    let mut texts = BTreeMap::<_, BTreeMap<_, _>>::new();
    let mut kind = "";
    for line in COLUMNS.lines().filter(|line| !line.starts_with('#')) {
        if let Some(next) = line.strip_prefix('@') {
            kind = next;
        } else if let Some((column, text)) = entry(line) {
            texts.entry(kind).or_default().insert(column, text);
        }
    }
    texts
});

/// Column and description in a line.
fn entry(line: &'static str) -> Option<(&'static str, &'static str)> {
    if let Some((column, text)) = line.split_once(": ").filter(|(column, _)| !column.contains(" = ")) {
        return Some((column, text));
    }
    let (column, place) = line.split_once(" = ")?;
    let (object, field) = place.split_once(' ')?;
    let (group, name) = object.split_once('/')?;
    Some((column, tables::description_of(group, name, field)))
}

/// Adds descriptions to the columns of a row. Leaks the columns; meant for rows that live as long as the process.
pub(super) fn described(row: ResourceInfo) -> ResourceInfo {
    let Some(texts) = TEXTS.get(format!("{}/{}", row.group, row.kind).as_str()) else { return row };
    let describe = |column: &Column| {
        let description = texts.get(column.name).copied().unwrap_or(column.description);
        Column { description, ..column.clone() }
    };
    let columns: Vec<Column> = row.columns.iter().map(describe).collect();
    ResourceInfo { columns: columns.leak(), ..row }
}

#[cfg(test)]
mod tests {
    use super::super::{all, events_view};
    use super::*;

    /// A text without a column means that its name is misspelt.
    #[test]
    fn every_description_belongs_to_a_column() {
        for (kind, texts) in TEXTS.iter() {
            let rows: Vec<&ResourceInfo> = all()
                .iter()
                .chain([events_view()])
                .filter(|row| format!("{}/{}", row.group, row.kind) == *kind)
                .collect();
            assert!(!rows.is_empty(), "no row of {kind}");
            for (column, text) in texts {
                assert!(!text.is_empty(), "{kind} {column}");
                let is_described =
                    |row: &&ResourceInfo| row.columns.iter().any(|it| it.name == *column && it.description == *text);
                assert!(rows.iter().all(is_described), "{kind} has no {column}");
            }
        }
        let lines = COLUMNS.lines().filter(|line| !line.starts_with(['#', '@'])).count();
        assert_eq!(TEXTS.values().map(BTreeMap::len).sum::<usize>(), lines, "each line is one entry");
    }

    /// Every column of a kind with descriptions has one; Name and Age are described where tables are built.
    #[test]
    fn no_column_is_forgotten() {
        for row in all() {
            let is_described = TEXTS.contains_key(format!("{}/{}", row.group, row.kind).as_str());
            let lacking =
                row.columns.iter().filter(|it| it.description.is_empty() && !matches!(it.name, "Name" | "Age"));
            let lacking: Vec<&str> = lacking.map(|it| it.name).collect();
            assert!(!is_described || lacking.is_empty(), "{}: {lacking:?}", row.kind);
        }
    }
}
