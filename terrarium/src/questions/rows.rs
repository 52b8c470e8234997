// SPDX-License-Identifier: Apache-2.0
//! Output of changes of Shoots, and of objects with equal keys, in every form.

use ops::forecast::rows::{Row, csv_header, nodes, quoted, reason, text};
use ops::release::Chosen;
use ops::show;
use serde_json::Value;

use crate::failure::Failure;
use crate::live::ask::table::Table;
use crate::output::{self, Output};
use crate::simulate::layout;

/// Minimum number of columns of a terminal for a separate column with the reason.
const WIDE: usize = 120;

const HEADERS: [&str; 9] = ["time", "shoot", "pool", "subject", "from", "to", "forced", "nodes", "why"];

/// Formats rows for a narrow terminal: the wrapped reason follows the rows, once for consecutive rows with the same reason.
fn narrow(rows: &[Row], columns: usize) -> Vec<String> {
    let cells: Vec<[String; 9]> = rows.iter().map(cells).collect();
    let mut table = Table::new(&HEADERS[..8]);
    for cells in &cells {
        table.push(cells[..8].iter().cloned());
    }
    let mut shown = table.lines().into_iter();
    let mut lines: Vec<String> = shown.next().into_iter().collect();
    for (index, line) in shown.enumerate() {
        lines.push(line);
        let next = cells.get(index + 1).map(|next| &next[8]);
        if next != Some(&cells[index][8]) {
            let reason = layout::wrap_at(columns, "  ", &cells[index][8], 2);
            lines.extend(reason.lines().map(str::to_owned));
        }
    }
    lines
}

fn cells(row: &Row) -> [String; 9] {
    let change = &row.change;
    let or_dash = |text: Option<&String>| text.cloned().unwrap_or_else(|| "-".to_owned());
    let why = change.failure.clone().unwrap_or_else(|| reason(change));
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
        why,
    ]
}

/// Formats a key as a header of a table: `daysLeft` becomes `days left`.
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
    /// Comma-separated values with a header; only the header without rows
    Csv,
    /// One JSON object per line; empty without rows
    Json,
    /// A YAML list; `[]` without rows
    Yaml,
}

/// Prints objects with equal keys; `columns`: keys in order. Output for scripts includes the release that answers.
///
/// # Errors
/// The reader has closed the output.
pub(crate) fn print_objects(
    objects: &[Value],
    columns: &[&str],
    chosen: &Chosen,
    form: Form,
    output: &mut Output,
) -> Result<(), Failure> {
    match form {
        Form::Json => records(objects.to_vec(), chosen, output::Form::Json, output),
        Form::Yaml => records(objects.to_vec(), chosen, output::Form::Yaml, output),
        Form::Csv => {
            output.line(&columns.join(","))?;
            objects.iter().try_for_each(|object| {
                let cells: Vec<String> = columns.iter().map(|key| quoted(&text(&object[*key]))).collect();
                output.line(&cells.join(","))
            })
        }
        Form::Table => {
            if objects.is_empty() {
                return Ok(());
            }
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

/// Prints rows; output for scripts includes the release that answers.
///
/// # Errors
/// The reader has closed the output.
pub(crate) fn print(rows: &[Row], chosen: &Chosen, form: Form, output: &mut Output) -> Result<(), Failure> {
    match form {
        Form::Json => records(rows.iter().map(Row::object).collect(), chosen, output::Form::Json, output),
        Form::Yaml => records(rows.iter().map(Row::object).collect(), chosen, output::Form::Yaml, output),
        Form::Csv => {
            output.line(&csv_header())?;
            rows.iter().try_for_each(|row| output.line(&row.csv()))
        }
        Form::Table if rows.is_empty() => Ok(()),
        Form::Table => match output.columns().filter(|columns| *columns < WIDE) {
            Some(columns) => narrow(rows, columns).iter().try_for_each(|line| output.line(line)),
            None => {
                let mut table = Table::new(&HEADERS);
                for row in rows {
                    table.push(cells(row));
                }
                table.print(output)
            }
        },
    }
}

/// Prints objects for scripts.
fn records(objects: Vec<Value>, chosen: &Chosen, form: output::Form, output: &mut Output) -> Result<(), Failure> {
    for mut object in objects {
        chosen.add_to(&mut object);
        output.item(form, &object)?;
    }
    output.end_list(form)
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};
    use domain::forecast::{Change, Subject};
    use domain::window::Span;
    use domain::worker_pool::Effect;

    use super::*;

    #[test]
    fn a_narrow_terminal_shows_a_repeated_reason_once() {
        let at: DateTime<Utc> = "2025-03-01T10:00:00Z".parse().expect("an instant");
        let row = |shoot: &str, reason: &str| Row {
            shoot: shoot.to_owned(),
            change: Change {
                time: at,
                window: Span { earliest: at, end: at },
                subject: Subject::Kubernetes,
                pool: None,
                from: Some("1.30.5".to_owned()),
                to: Some("1.30.8".to_owned()),
                reason: reason.to_owned(),
                reading: None,
                is_forced: false,
                was_opted_out: false,
                effect: Effect::Rolling,
                is_hibernated: false,
                failure: None,
            },
        };
        let reason = "Automatic update of Kubernetes version configured";
        let rows = [row("p/a", reason), row("p/b", reason), row("p/c", "Version does not exist in CloudProfile")];
        assert_eq!(
            narrow(&rows, 40),
            [
                "TIME                   SHOOT   POOL   SUBJECT      FROM     TO       FORCED   NODES",
                "2025-03-01T10:00:00Z   p/a     -      kubernetes   1.30.5   1.30.8   no       rolling",
                "2025-03-01T10:00:00Z   p/b     -      kubernetes   1.30.5   1.30.8   no       rolling",
                "  Automatic update of Kubernetes version",
                "  configured",
                "2025-03-01T10:00:00Z   p/c     -      kubernetes   1.30.5   1.30.8   no       rolling",
                "  Version does not exist in CloudProfile",
            ]
        );
    }

    #[test]
    fn headers_are_the_words_of_a_key() {
        assert_eq!(["daysLeft", "shoots", "automaticTarget"].map(words), ["days left", "shoots", "automatic target"]);
    }
}
