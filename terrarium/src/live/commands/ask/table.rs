// SPDX-License-Identifier: Apache-2.0
//! Rows of cells in the form of kubectl: upper-case headers, padded columns, three blanks in between.

use serde_json::Value;

use crate::failure::Failure;
use crate::output::Output;

/// Blanks between two columns.
const GAP: usize = 3;

/// A column before those of the server: header, and cell of an object.
pub(crate) type Front<'a> = (&'a str, &'a dyn Fn(&Value) -> String);

/// A table to print.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    headers: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(headers: &[&str]) -> Self {
        Self { headers: headers.iter().map(|&header| header.to_owned()).collect(), rows: Vec::new() }
    }

    /// Appends a row.
    pub(crate) fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// True if the table has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns a table of the server with `front` columns before its own; `wide`: with all columns.
    pub(crate) fn of_server(tree: &Value, wide: bool, front: &[Front<'_>]) -> Self {
        let columns = tree["columnDefinitions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let shown: Vec<usize> =
            (0..columns.len()).filter(|&index| wide || columns[index]["priority"].as_i64() == Some(0)).collect();
        let own = shown.iter().map(|&index| columns[index]["name"].as_str().unwrap_or_default().to_owned());
        let headers = front.iter().map(|(header, _)| (*header).to_owned()).chain(own).collect();
        let mut table = Self { headers, rows: Vec::new() };
        for row in tree["rows"].as_array().into_iter().flatten() {
            let front = front.iter().map(|(_, cell)| cell(&row["object"]));
            let own = shown.iter().map(|&index| text(&row["cells"][index]));
            table.rows.push(front.chain(own).collect());
        }
        table
    }

    /// Adds a prefix to a column of all rows.
    pub(crate) fn prefix_names(&mut self, column: usize, prefix: &str) {
        for cell in self.rows.iter_mut().filter_map(|row| row.get_mut(column)) {
            cell.insert_str(0, prefix);
        }
    }

    /// Formats the table as lines, headers first.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut widths = Widths::default();
        let headers = self.headers.iter().map(|header| header.to_uppercase()).collect();
        widths.fit(&headers);
        self.rows.iter().for_each(|row| widths.fit(row));
        std::iter::once(&headers).chain(&self.rows).map(|row| widths.line(row)).collect()
    }

    /// Formats the rows without headers, at least as wide as previous rows.
    pub(crate) fn more_lines(&self, widths: &mut Widths) -> Vec<String> {
        self.rows.iter().for_each(|row| widths.fit(row));
        self.rows.iter().map(|row| widths.line(row)).collect()
    }

    /// Widths of the columns.
    pub(crate) fn widths(&self) -> Widths {
        let mut widths = Widths::default();
        widths.fit(&self.headers);
        self.rows.iter().for_each(|row| widths.fit(row));
        widths
    }

    /// Prints the table.
    pub(crate) fn print(&self, output: &mut Output) -> Result<(), Failure> {
        self.lines().iter().try_for_each(|line| output.line(line))
    }
}

/// Widths of columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Widths(Vec<usize>);

impl Widths {
    fn fit(&mut self, row: &Vec<String>) {
        self.0.resize(self.0.len().max(row.len()), 0);
        for (width, cell) in self.0.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }

    fn line(&self, cells: &[String]) -> String {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(&self.0) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width + GAP - cell.chars().count()));
        }
        line.trim_end().to_owned()
    }
}

/// Formats a cell on one line; null is empty.
fn text(cell: &Value) -> String {
    match cell {
        Value::Null => String::new(),
        Value::String(text) => match text.split_once(['\n', '\r']) {
            Some((first, _)) => format!("{first}..."),
            None => text.clone(),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tables_of_the_server_look_as_kubectl_prints_them() {
        let tree = json!({
            "columnDefinitions": [
                { "name": "Name", "priority": 0 }, { "name": "Ready", "priority": 0 }, { "name": "IP", "priority": 1 },
            ],
            "rows": [
                { "cells": ["a", 1, "10.0.0.1"], "object": { "metadata": { "namespace": "x" } } },
                { "cells": ["longer", null, "10.0.0.2"], "object": { "metadata": { "namespace": "yy" } } },
                { "cells": ["c", "one\ntwo", null], "object": { "metadata": { "namespace": "z" } } },
            ],
        });
        let namespace = |object: &Value| text(&object["metadata"]["namespace"]);
        let table = Table::of_server(&tree, false, &[("namespace", &namespace)]);
        assert_eq!(
            table.lines(),
            [
                "NAMESPACE   NAME     READY",
                "x           a        1",
                "yy          longer",
                "z           c        one..."
            ]
        );
        let table = Table::of_server(&tree, true, &[]);
        assert_eq!(table.lines()[..2], ["NAME     READY    IP", "a        1        10.0.0.1"]);
    }
}
