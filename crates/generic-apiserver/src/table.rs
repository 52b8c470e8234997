// SPDX-License-Identifier: Apache-2.0
//! `meta.k8s.io` Table: rows of cells that the server computes.

use std::sync::Arc;

use apimachinery::catalogue::{Cell, Column};
use apimachinery::field::{FieldError, Path};
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::scope::Scope;
use crate::status::{Failure, Result};
use crate::storage::stored::Stored;

/// Part of its object that a row includes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Include {
    #[default]
    Metadata,
    Object,
    None,
}

impl Include {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        match text {
            "" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            "None" => Ok(Self::None),
            other => {
                let supported = ["Metadata", "Object", "None", ""];
                let error = FieldError::not_supported(&Path::new("includeObject"), other, &supported);
                Err(Failure::options("TableOptions", error))
            }
        }
    }
}

/// Returns a table of objects.
pub(crate) fn table(
    scope: &Scope,
    objects: &[Arc<Stored>],
    version: &str,
    include: Include,
    metadata: &Value,
    with_columns: bool,
) -> Value {
    let columns = scope.names().info.columns;
    let rows: Vec<Value> = objects.iter().map(|object| row(scope, object, columns, version, include)).collect();
    json!({
        "kind": "Table",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": metadata,
        "columnDefinitions": if with_columns { definitions(columns) } else { Value::Null },
        "rows": rows,
    })
}

/// Query parameter of a table request: the instant up to which ages are counted. Unlike upstream, where clients count
/// ages up to the present.
pub const AGES_AT: &str = "agesAt";

/// Returns a table of one object that is not stored.
pub(crate) fn of_tree(tree: Value, columns: &[Column], now: DateTime<Utc>, version: &str, include: Include) -> Value {
    of_event(tree, columns, now, (version, include), true)
}

/// Formats an event of a watch as [`of_tree`]; only the first event has the columns.
pub(crate) fn of_event(
    tree: Value,
    columns: &[Column],
    now: DateTime<Utc>,
    (version, include): (&str, Include),
    first: bool,
) -> Value {
    json!({
        "kind": "Table",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": { "resourceVersion": tree["metadata"]["resourceVersion"] },
        "columnDefinitions": if first { definitions(columns) } else { Value::Null },
        "rows": [tree_row(tree, columns, now, version, include)],
    })
}

/// Returns a bookmark as a table: one row of empty cells.
pub(crate) fn bookmark(columns: &[Column], version: &str, metadata: Value, first: bool) -> Value {
    let cells = vec![Value::Null; definitions(columns).as_array().map_or(0, Vec::len)];
    let revision = metadata["resourceVersion"].clone();
    let partial = json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": metadata,
    });
    json!({
        "kind": "Table",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": { "resourceVersion": revision },
        "columnDefinitions": if first { definitions(columns) } else { Value::Null },
        "rows": [{ "cells": cells, "object": partial }],
    })
}

/// True if a column shows the name of its object, like one of Events and the first of StorageClasses, so that no column
/// of names is added in front. Other columns may show the name of another object.
fn names_itself(columns: &[Column]) -> bool {
    let is_own = |column: &Column| matches!(column.cell, Cell::Path(".metadata.name"));
    columns.iter().enumerate().any(|(place, column)| column.name == "Name" && (place == 0 || is_own(column)))
}

/// Descriptions of `metadata.name` and `metadata.creationTimestamp`, from Kubernetes.
const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources may \
allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation \
idempotence and configuration definition. Cannot be updated. More info: \
https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
const CREATED: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not \
guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in \
RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: \
https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

fn definition(name: &str, type_: &str, format: &str, description: &str, priority: u8) -> Value {
    json!({ "name": name, "type": type_, "format": format, "description": description, "priority": priority })
}

fn definitions(columns: &[Column]) -> Value {
    let mut out = Vec::new();
    if !names_itself(columns) {
        out.push(definition("Name", "string", "name", NAME, 0));
    }
    for column in columns {
        let Column { name, type_, format, description, cell, priority } = column;
        let type_ = if *type_ == "age" { "string" } else { type_ };
        let format = if *name == "Name" { "name" } else { format };
        let description = match (*name, cell) {
            (_, Cell::Path(".metadata.creationTimestamp")) if description.is_empty() => CREATED,
            ("Name", _) if description.is_empty() => NAME,
            _ => description,
        };
        out.push(definition(name, type_, format, description, *priority));
    }
    if columns.is_empty() {
        out.push(definition("Age", "date", "", CREATED, 0));
    }
    Value::Array(out)
}

fn row(scope: &Scope, object: &Stored, columns: &[Column], version: &str, include: Include) -> Value {
    tree_row(scope.tree(object), columns, ages_at(scope), version, include)
}

/// The instant up to which ages are counted: now, unless the request names another with `agesAt`.
fn ages_at(scope: &Scope) -> DateTime<Utc> {
    scope.call.query.text(AGES_AT).parse().unwrap_or_else(|_| scope.now())
}

fn tree_row(tree: Value, columns: &[Column], now: DateTime<Utc>, version: &str, include: Include) -> Value {
    let mut cells = Vec::new();
    if !names_itself(columns) {
        cells.push(tree["metadata"]["name"].clone());
    }
    cells.extend(columns.iter().map(|column| cell(&tree, column, now)));
    if columns.is_empty() {
        cells.push(json!(age(&tree["metadata"]["creationTimestamp"], now)));
    }
    let mut row = json!({ "cells": cells });
    match include {
        Include::Metadata => {
            row["object"] = json!({
                "kind": "PartialObjectMetadata",
                "apiVersion": format!("meta.k8s.io/{version}"),
                "metadata": tree["metadata"],
            });
        }
        Include::Object => row["object"] = tree,
        Include::None => {}
    }
    row
}

fn cell(tree: &Value, column: &Column, now: DateTime<Utc>) -> Value {
    let value = match &column.cell {
        Cell::Path(path) => at(tree, path),
        Cell::Condition(type_, absent) => {
            let conditions = tree["status"]["conditions"].as_array().into_iter().flatten();
            let mut of_type = conditions.filter(|condition| condition["type"] == *type_);
            match of_type.next() {
                Some(condition) => condition["status"].clone(),
                None => json!(absent),
            }
        }
        Cell::Age(path, absent) => {
            let then = at(tree, path);
            json!(if then.is_null() { (*absent).to_owned() } else { age(&then, now) })
        }
        Cell::Ago(make) => json!(match make(tree) {
            (text, Some(then)) => format!("{text} ({} ago)", age(&json!(then), now)),
            (text, None) => text,
        }),
        Cell::Elapsed(from, to) => elapsed(&at(tree, from), &at(tree, to), now),
        Cell::Seconds(path) => json!(at(tree, path).as_i64().map_or_else(|| "<none>".to_owned(), human_duration)),
        Cell::Function(make) => make(tree),
    };
    let is_path = matches!(column.cell, Cell::Path(_));
    match (column.type_, value) {
        ("date", Value::Null) if is_path => Value::Null,
        ("date" | "age", value) => json!(age(&value, now)),
        // In a column of texts with a path, scalar values become texts; cells that a function makes are used as they are.
        ("string", Value::Array(_) | Value::Object(_)) if is_path => Value::Null,
        ("string", Value::Bool(value)) if is_path => json!(value.to_string()),
        ("string", Value::Number(value)) if is_path => json!(value.to_string()),
        (_, value) => value,
    }
}

/// Returns the value at a JSONPath of names, indices and `[?(@.type=="x")]` filters.
fn at(tree: &Value, path: &str) -> Value {
    let mut node = tree;
    let mut rest = path.trim_start_matches('$');
    while !rest.is_empty() {
        if let Some(tail) = rest.strip_prefix('.') {
            let end = tail.find(['.', '[']).unwrap_or(tail.len());
            node = &node[&tail[..end]];
            rest = &tail[end..];
        } else if let Some(tail) = rest.strip_prefix('[') {
            let end = tail.find(']').unwrap_or(tail.len());
            let inner = &tail[..end];
            rest = tail.get(end + 1..).unwrap_or_default();
            node = match inner.parse::<usize>() {
                Ok(index) => &node[index],
                Err(_) => filtered(node, inner),
            };
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            node = &node[&rest[..end]];
            rest = &rest[end..];
        }
    }
    node.clone()
}

fn filtered<'a>(node: &'a Value, filter: &str) -> &'a Value {
    let quoted = filter.trim_matches(|character| matches!(character, '\'' | '"'));
    let Some(condition) = filter.strip_prefix("?(@.").and_then(|text| text.strip_suffix(')')) else {
        return &node[quoted];
    };
    let Some((name, value)) = condition.split_once("==") else { return &Value::Null };
    let value = value.trim().trim_matches(|character| matches!(character, '\'' | '"'));
    let mut items = node.as_array().into_iter().flatten();
    items.find(|item| item[name.trim()] == value).unwrap_or(&Value::Null)
}

fn elapsed(from: &Value, to: &Value, now: DateTime<Utc>) -> Value {
    let instant = |text: &Value| DateTime::parse_from_rfc3339(text.as_str()?).ok();
    json!(match (instant(from), instant(to)) {
        (None, _) => String::new(),
        (Some(from), Some(to)) => human_duration((to - from).num_seconds()),
        (Some(from), None) => human_duration((now - from.with_timezone(&Utc)).num_seconds()),
    })
}

fn age(timestamp: &Value, now: DateTime<Utc>) -> String {
    match timestamp.as_str().and_then(|text| DateTime::parse_from_rfc3339(text).ok()) {
        Some(then) => human_duration((now - then.with_timezone(&Utc)).num_seconds()),
        None => "<unknown>".to_owned(),
    }
}

/// `k8s.io/apimachinery/pkg/util/duration`: about two significant digits.
fn human_duration(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let two = |big: i64, big_unit: &str, small: i64, small_unit: &str| {
        if small == 0 { format!("{big}{big_unit}") } else { format!("{big}{big_unit}{small}{small_unit}") }
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        s if s < 2 * MINUTE => format!("{s}s"),
        s if s < 10 * MINUTE => two(s / MINUTE, "m", s % MINUTE, "s"),
        s if s < 3 * HOUR => format!("{}m", s / MINUTE),
        s if s < 8 * HOUR => two(s / HOUR, "h", s % HOUR / MINUTE, "m"),
        s if s < 2 * DAY => format!("{}h", s / HOUR),
        s if s < 8 * DAY => two(s / DAY, "d", s % DAY / HOUR, "h"),
        s if s < 2 * YEAR => format!("{}d", s / DAY),
        s if s < 8 * YEAR => two(s / YEAR, "y", s % YEAR / DAY, "d"),
        s => format!("{}y", s / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_end_at_their_second_instant_or_now() {
        let now = "2026-01-01T01:00:00Z".parse().expect("an instant");
        let (from, to) = (json!("2026-01-01T00:00:00Z"), json!("2026-01-01T00:00:05Z"));
        assert_eq!(elapsed(&json!(null), &to, now), "");
        assert_eq!(elapsed(&from, &json!(null), now), "60m");
        assert_eq!(elapsed(&from, &to, now), "5s");
    }

    #[test]
    fn a_cell_is_read_by_its_column() {
        let now = "2026-01-01T01:00:00Z".parse().expect("an instant");
        let tree = json!({"n": 3, "b": true, "then": "2026-01-01T00:57:00Z", "list": []});
        let cell = |type_: &'static str, cell: Cell| cell_of(&tree, type_, cell, now);
        assert_eq!(cell("string", Cell::Path(".n")), json!("3"));
        assert_eq!(
            cell("string", Cell::Function(|tree| tree["n"].clone())),
            json!(3),
            "as upstream's printers have it"
        );
        assert_eq!(cell("string", Cell::Path(".list")), json!(null));
        assert_eq!(cell("date", Cell::Path(".then")), json!("3m"));
        assert_eq!(cell("date", Cell::Path(".never")), json!(null));
        assert_eq!(cell("age", Cell::Path(".never")), json!("<unknown>"));
        assert_eq!(cell("date", Cell::Function(|tree| tree["never"].clone())), json!("<unknown>"));
        assert_eq!(cell("string", Cell::Age(".then", "<none>")), json!("3m"));
        assert_eq!(cell("string", Cell::Age(".never", "<none>")), json!("<none>"));
        let ago = |tree: &Value| ("5".to_owned(), tree["then"].as_str().map(str::to_owned));
        assert_eq!(cell("string", Cell::Ago(ago)), json!("5 (3m ago)"));
        assert_eq!(cell("string", Cell::Ago(|_| ("5".to_owned(), None))), json!("5"));
    }

    fn cell_of(tree: &Value, type_: &'static str, cell: Cell, now: DateTime<Utc>) -> Value {
        super::cell(tree, &Column::new("C", type_, cell, 0), now)
    }

    #[test]
    fn a_table_shows_the_name_of_its_objects_once() {
        let named = |cell: Cell, before: usize| {
            let other = Column::new("Other", "string", Cell::Path(".x"), 0);
            let mut columns = vec![other; before];
            columns.push(Column::new("Name", "string", cell, 0));
            names_itself(&columns)
        };
        assert!(named(Cell::Path(".metadata.name"), 1), "of Events");
        assert!(named(Cell::Function(Value::clone), 0), "of StorageClasses");
        assert!(!named(Cell::Function(Value::clone), 1), "of what a CredentialsBinding refers to");
    }

    #[test]
    fn durations_are_human() {
        for (seconds, expected) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (190, "3m10s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (10_860, "3h1m"),
            (28_800, "8h"),
            (172_800, "2d"),
            (176_400, "2d1h"),
            (691_200, "8d"),
            (63_072_000, "2y"),
        ] {
            assert_eq!(human_duration(seconds), expected, "{seconds} s");
        }
    }

    #[test]
    fn paths_have_names_indices_and_filters() {
        let tree = json!({"status": {"conditions": [{"type": "A", "status": "True"}], "x": [1, 2]}});
        assert_eq!(at(&tree, ".status.x[1]"), json!(2));
        assert_eq!(at(&tree, ".status.conditions[?(@.type==\"A\")].status"), json!("True"));
        assert_eq!(at(&tree, ".status.conditions[?(@.type=='B')].status"), json!(null));
    }
}
