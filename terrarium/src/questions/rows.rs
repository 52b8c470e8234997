// SPDX-License-Identifier: Apache-2.0
//! Changes of Shoots, and objects with the same keys, in every form of output.

use ops::rows::{Row, csv_header, nodes, quoted, text};
use ops::show;
use serde_json::Value;

use crate::failure::Failure;
use crate::live::ask::table::Table;
use crate::output::Output;

fn cells(row: &Row) -> [String; 9] {
    let change = &row.change;
    let or_dash = |text: Option<&String>| text.cloned().unwrap_or_else(|| "-".to_owned());
    let why = change.failure.as_ref().unwrap_or(&change.reason);
    let forced = match (change.is_forced, change.was_opted_out) {
        (true, true) => "yes, opted out",
        (true, false) => "yes",
        (false, _) => "no",
    };
    [
        show(change.time),
        row.shoot.clone(),
        or_dash(change.pool.as_ref()),
        change.subject.as_str().to_owned(),
        or_dash(change.from.as_ref()),
        if change.failure.is_none() { or_dash(change.to.as_ref()) } else { "FAILED".to_owned() },
        forced.to_owned(),
        nodes(change),
        why.clone(),
    ]
}

/// A key as a header of a table: `daysLeft` is `days left`.
fn words(key: &str) -> String {
    let mut words = String::with_capacity(key.len() + 2);
    for letter in key.chars() {
        if letter.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

/// Form of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Form {
    /// Columns, for a person
    #[default]
    Table,
    /// Comma-separated values with a header
    Csv,
    /// One JSON object a line
    Json,
    /// A YAML list
    Yaml,
}

/// Prints objects with the same keys; `columns` are the keys in their order.
///
/// # Errors
/// The reader has closed the output.
pub(crate) fn print_objects(
    objects: &[Value],
    columns: &[&str],
    form: Form,
    output: &mut Output,
) -> Result<(), Failure> {
    match form {
        Form::Json => objects.iter().try_for_each(|object| output.line(&object.to_string())),
        Form::Yaml => output.line(yaml(objects)?.trim_end()),
        Form::Csv => {
            output.line(&columns.join(","))?;
            objects.iter().try_for_each(|object| {
                let cells: Vec<String> = columns.iter().map(|key| quoted(&text(&object[*key]))).collect();
                output.line(&cells.join(","))
            })
        }
        Form::Table => {
            let headers: Vec<String> = columns.iter().map(|key| words(key)).collect();
            let mut table = Table::new(&headers.iter().map(String::as_str).collect::<Vec<_>>());
            for object in objects {
                table.push(columns.iter().map(|key| match &object[*key] {
                    Value::Null => "-".to_owned(),
                    value => text(value),
                }));
            }
            table.print(output)
        }
    }
}

/// Prints rows.
///
/// # Errors
/// The reader has closed the output.
pub(crate) fn print(rows: &[Row], form: Form, output: &mut Output) -> Result<(), Failure> {
    match form {
        Form::Json => rows.iter().try_for_each(|row| output.line(&row.object().to_string())),
        Form::Yaml => {
            let objects: Vec<Value> = rows.iter().map(Row::object).collect();
            output.line(yaml(&objects)?.trim_end())
        }
        Form::Csv => {
            output.line(&csv_header())?;
            rows.iter().try_for_each(|row| output.line(&row.csv()))
        }
        Form::Table if rows.is_empty() => Ok(()),
        Form::Table => {
            let mut table = Table::new(&["time", "shoot", "pool", "subject", "from", "to", "forced", "nodes", "why"]);
            for row in rows {
                table.push(cells(row));
            }
            table.print(output)
        }
    }
}

fn yaml(objects: &[Value]) -> Result<String, Failure> {
    yaml::to_string(objects).map_err(|error| Failure::Failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_the_words_of_a_key() {
        assert_eq!(["daysLeft", "shoots", "automaticTarget"].map(words), ["days left", "shoots", "automatic target"]);
    }
}
