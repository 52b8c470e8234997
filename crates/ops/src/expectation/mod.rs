// SPDX-License-Identifier: Apache-2.0
//! Expectations about the state of a landscape: one item of a scenario file, read, and judged over values of the API.
//!
//! ```text
//! text ─▶ read ─▶ Expectation ─▶ look (requests) ─▶ Values ─▶ differences (pure) ─▶ none: it holds
//! ```
//!
//! | item | holds if |
//! | --- | --- |
//! | `object` | it exists, contains the tree `matches`, and each expression of `cel` over `object` is true |
//! | `objects` | their number is `count`, each contains `matches`, and each expression over `objects` is true |
//! | `absent` | there is no such object |
//! | `event` | the object has an Event like this, as often as `count` says |
//! | `condition` | the object has a condition or constraint with this status and reason |
//! | `component` | the processes of a component have these versions, numbers and output |
//! | `log` | the number of such entries is `count`, and each expression over `entries` is true |
//!
//! Landscape time stands while an expectation is judged: it holds or it does not. Nothing here waits.
//!
//! **Invariants.** An expectation that cannot be read is refused before a request is sent, with its position; so is a field
//! that the kind does not have. Equal values and instants give equal differences, in the order of the expectation.
//!
//! **Deliberately absent.** Moving time; variables of scenario files; items about forecasts, skew and answers.
//!
//! **Tour.** `cursor` values with positions; `target` names of objects; `pattern` partial trees; `count` numbers; `item` reads
//! the items, `component` and `log` those with values of their own; `judging` compares.

mod component;
mod count;
mod cursor;
mod item;
mod judging;
mod log;
mod pattern;
mod target;
#[cfg(test)]
mod tests;

use apimachinery::catalogue::ResourceInfo;
use chrono::{DateTime, Utc};
use controller::push_query;
use process::Transport;
use serde_json::{Value, json};

use self::cursor::{Cursor, Origin, Text};
use self::item::Item;
use self::target::api_version_of;
use crate::Error;
use crate::names::clusters::{self, NamedCluster};
use crate::read::{path, tree};

pub use self::cursor::LONGEST;
pub use self::log::{Entries, LogItem};

/// Cluster and namespace of objects that name none.
#[derive(Clone, Debug)]
pub struct Defaults {
    /// Cluster.
    pub cluster: NamedCluster,
    /// Namespace.
    pub namespace: String,
}

/// An expectation.
#[derive(Clone, Debug)]
pub struct Expectation {
    item: Item,
    label: String,
}

/// Landscape times that expressions may use.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Present instant.
    pub now: DateTime<Utc>,
    /// Instant at which the landscape began.
    pub start: DateTime<Utc>,
}

/// Values of the API that an expectation is judged by.
#[derive(Clone, Debug)]
pub enum Values {
    /// The landscape has no such cluster.
    NoCluster(NamedCluster),
    /// The selected objects, in the order of the API.
    Objects(Vec<Value>),
    /// Pods of a component, and the outputs of their processes if they are needed.
    Processes(Vec<Value>, Vec<String>),
    /// Entries of the log.
    Entries(Entries),
}

/// Objects whose changes may change the truth of an expectation.
#[derive(Clone, Debug)]
pub struct WatchScope {
    /// Cluster; `None`: all.
    pub cluster: Option<NamedCluster>,
    /// Kind.
    pub row: &'static ResourceInfo,
    /// Namespace; `None`: all.
    pub namespace: Option<String>,
    /// Field selector.
    pub fields: String,
    /// Label selector.
    pub labels: String,
}

/// Reads the expectations of a command line; each text is one expectation, or a list. A text on one line may leave out the
/// braces around it: `object: {kind: Seed, name: local}, matches: {…}`.
///
/// # Errors
/// A text is no expectation.
pub fn of_arguments(texts: &[String], defaults: &Defaults) -> Result<Vec<Expectation>, Error> {
    let mut all = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let is_bare = !text.trim_end().contains('\n') && !text.trim_start().starts_with(['{', '[', '-']);
        let (indent, text) = if is_bare { (1, format!("{{{text}}}")) } else { (0, text.clone()) };
        let origin = Origin::Argument { number: index + 1, is_only: texts.len() == 1, indent };
        all.extend(of_text(&Text::parse(origin, &text)?, defaults)?);
    }
    Ok(all)
}

/// Reads the expectations of a file: one, or a list.
///
/// # Errors
/// The text is no expectation.
pub fn of_file(name: &str, text: &str, defaults: &Defaults) -> Result<Vec<Expectation>, Error> {
    of_text(&Text::parse(Origin::File(name.to_owned()), text)?, defaults)
}

fn of_text(text: &Text, defaults: &Defaults) -> Result<Vec<Expectation>, Error> {
    let root = text.root();
    if !root.value.is_array() {
        return Ok(vec![Expectation::read(root, defaults)?]);
    }
    let items = root.items("the list")?;
    if items.is_empty() {
        return Err(root.refuse("the list has no expectation", ""));
    }
    items.into_iter().map(|item| Expectation::read(item, defaults)).collect()
}

impl Expectation {
    fn read(cursor: Cursor<'_>, defaults: &Defaults) -> Result<Self, Error> {
        Ok(Self { item: Item::read(cursor, defaults)?, label: cursor.label() })
    }

    /// Origin of the expectation: `FILE:LINE`, or the number of the argument.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Names of the objects in question.
    pub fn subject(&self) -> String {
        self.item.subject()
    }

    /// Formats a judgement as one JSON object.
    pub fn record(&self, differences: &[String]) -> Value {
        json!({
            "expectation": self.label, "subject": self.subject(), "holds": differences.is_empty(),
            "differences": differences,
        })
    }

    /// True if the truth of the expectation may change with time alone.
    pub fn depends_on_time(&self) -> bool {
        self.item.expressions().iter().any(|expression| expression.uses("now"))
    }

    /// Returns the objects to watch for changes; `None`: the expectation is about the log.
    pub fn watched(&self) -> Option<WatchScope> {
        self.item.selection()
    }

    /// Returns the entries that are expected; `None`: the expectation is not about the log.
    pub fn log(&self) -> Option<&LogItem> {
        match &self.item {
            Item::Log(log) => Some(log),
            _ => None,
        }
    }

    /// Reads the values that the expectation is judged by; of an expectation about the log, the caller reads the entries.
    /// `revision`: revision of the log; `None`: the present one.
    ///
    /// # Errors
    /// The landscape does not respond, or refuses the request.
    pub async fn look(&self, transport: &Transport, revision: Option<u64>) -> Result<Values, Error> {
        let Some(selected) = self.item.selection() else { return Ok(Values::Entries(Entries::default())) };
        let WatchScope { cluster, row, namespace, fields, labels } = selected;
        let logical = match &cluster {
            None => "*".to_owned(),
            Some(cluster) => match existing(cluster, transport).await? {
                Some(cluster) => cluster.logical(),
                None => return Ok(Values::NoCluster(cluster.clone())),
            },
        };
        let mut path = path(&logical, row, namespace.as_deref(), None);
        for (name, value) in [("labelSelector", &labels), ("fieldSelector", &fields)] {
            if !value.is_empty() {
                push_query(&mut path, name, value);
            }
        }
        // Processes are those of the present.
        if let Some(revision) = revision.filter(|_| cluster.is_some()) {
            push_query(&mut path, "resourceVersion", &revision.to_string());
            push_query(&mut path, "resourceVersionMatch", "Exact");
        }
        let mut list = tree(transport, &path, "application/json").await?;
        let mut items = match list["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        for item in &mut items {
            item["apiVersion"] = json!(api_version_of(row));
            item["kind"] = json!(row.kind);
        }
        let Item::Component(component) = &self.item else { return Ok(Values::Objects(items)) };
        let outputs = component.outputs(&items, transport).await?;
        Ok(Values::Processes(items, outputs))
    }

    /// Returns the differences between the expectation and the values, each on a line; none: it holds.
    pub fn differences(&self, seen: &Values, times: Times) -> Vec<String> {
        match seen {
            Values::NoCluster(cluster) => vec![format!("there is no cluster {cluster}")],
            Values::Objects(objects) => self.item.differences(objects, times),
            Values::Processes(pods, outputs) => match &self.item {
                Item::Component(component) => component.differences(pods, outputs),
                other => other.differences(pods, times),
            },
            Values::Entries(entries) => match &self.item {
                Item::Log(log) => log.differences(entries, times),
                other => other.differences(&[], times),
            },
        }
    }
}

/// Returns a cluster by its usual name; `None`: the landscape has none of this name.
async fn existing(cluster: &NamedCluster, transport: &Transport) -> Result<Option<NamedCluster>, Error> {
    let usual = match cluster {
        NamedCluster::Garden | NamedCluster::Runtime => return Ok(Some(cluster.clone())),
        NamedCluster::Shoot(shoot) => NamedCluster::Shoot(shoot.usual(transport).await?),
        NamedCluster::Seed(_) => cluster.clone(),
    };
    Ok(clusters::all(transport).await?.contains(&usual).then_some(usual))
}
