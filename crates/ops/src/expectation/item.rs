// SPDX-License-Identifier: Apache-2.0
//! Items of expectations: reading.

use api::catalogue;
use api::kubernetes::core::{Event, Pod};
use apiextensions::{Expression, ExpressionError};

use super::component::ComponentItem;
use super::count::Count;
use super::cursor::{Cursor, Fields};
use super::log::LogItem;
use super::pattern::Pattern;
use super::target::{Amount, Target};
use super::{Defaults, WatchScope};
use crate::Error;
use crate::spelling::nearest;

/// Items.
const ITEMS: [&str; 7] = ["object", "objects", "absent", "event", "condition", "component", "log"];
/// Statuses of conditions; `Progressing` is Gardener's.
const STATUSES: [&str; 4] = ["True", "False", "Unknown", "Progressing"];
/// Lists of conditions in `status`.
pub(super) const CONDITIONS: [&str; 2] = ["conditions", "constraints"];

/// An item.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// One object.
    Object { target: Target, pattern: Option<Pattern>, expressions: Vec<Expression> },
    /// Several objects.
    Objects { target: Target, count: Option<Count>, pattern: Option<Pattern>, expressions: Vec<Expression> },
    /// No object.
    Absent(Target),
    /// An Event of an object.
    Event(EventItem),
    /// A condition of an object.
    Condition { target: Target, kind: String, status: &'static str, reason: Option<String> },
    /// Processes of a component.
    Component(ComponentItem),
    /// Entries of the log.
    Log(Box<LogItem>),
}

/// An expected Event.
#[derive(Clone, Debug)]
pub(super) struct EventItem {
    /// The object.
    pub(super) target: Target,
    pub(super) reason: String,
    pub(super) kind: Option<String>,
    /// Part of the message.
    pub(super) message: Option<String>,
    /// Number of occurrences; `None`: at least one.
    pub(super) count: Option<Count>,
}

impl Item {
    /// Reads the only item of a map, and its modifiers.
    pub(super) fn read(cursor: Cursor<'_>, defaults: &Defaults) -> Result<Self, Error> {
        let entries = cursor.entries("an expectation")?;
        let mut items = entries.iter().filter(|(name, _)| ITEMS.contains(name));
        let Some((item, given)) = items.next() else {
            return Err(match entries.first() {
                Some((name, value)) => value.refuse(format!("unknown item `{name}`"), known(name)),
                None => cursor.refuse("an expectation has no item", known("object")),
            });
        };
        if let Some((other, second)) = items.next() {
            return Err(second.refuse(format!("an expectation has one item, not `{item}` and `{other}`"), ""));
        }
        let modifiers: &[&str] = match *item {
            "object" => &["object", "matches", "cel"],
            "objects" => &["objects", "count", "matches", "cel"],
            "log" => &["log", "count", "cel"],
            _ => &[],
        };
        if let Some((name, value)) = entries.iter().find(|(name, _)| name != item && !modifiers.contains(name)) {
            let hint = if modifiers.is_empty() { String::new() } else { nearest(name, modifiers.iter().copied()) };
            return Err(value.refuse(format!("unknown field `{name}` next to `{item}`"), hint));
        }
        let fields = cursor.fields("an expectation", &[&[*item], modifiers].concat())?;
        if given.value.is_null() {
            return Err(given.refuse(format!("`{item}` is empty"), ""));
        }
        match *item {
            "object" => {
                let target = Target::read(*given, "`object`", Amount::One, defaults)?;
                let (pattern, expressions) = (pattern(fields, &target)?, expressions(fields, "object")?);
                Ok(Self::Object { target, pattern, expressions })
            }
            "objects" => {
                let target = Target::read(*given, "`objects`", Amount::Many, defaults)?;
                let (pattern, expressions) = (pattern(fields, &target)?, expressions(fields, "objects")?);
                let count = count(fields)?;
                if count.is_none() && pattern.is_none() && expressions.is_empty() {
                    return Err(given.refuse("nothing is expected of the objects", "add `count`, `matches` or `cel`"));
                }
                Ok(Self::Objects { target, count, pattern, expressions })
            }
            "absent" => Ok(Self::Absent(Target::read(*given, "`absent`", Amount::Any, defaults)?)),
            "event" => EventItem::read(*given, defaults).map(Self::Event),
            "condition" => Self::condition(*given, defaults),
            "component" => ComponentItem::read(*given).map(Self::Component),
            _ => {
                let (count, expressions) = (count(fields)?, expressions(fields, "entries")?);
                Ok(Self::Log(Box::new(LogItem::read(*given, count, expressions, defaults)?)))
            }
        }
    }

    fn condition(cursor: Cursor<'_>, defaults: &Defaults) -> Result<Self, Error> {
        let name = "`condition`";
        let fields = cursor.fields(name, &["of", "type", "status", "reason"])?;
        let target = object_of(fields, name, defaults)?;
        let has = |list: &str| {
            let node = target.row.node();
            let status = node.as_object().and_then(|schema| schema.field("status"));
            status.is_some_and(|status| status.node.as_object().is_some_and(|schema| schema.field(list).is_some()))
        };
        if let (false, Some(of)) = (CONDITIONS.iter().any(|list| has(list)), fields.get("of")) {
            return Err(of.refuse(format!("{} has no conditions", target.row.kind), ""));
        }
        let kind = fields.required(name, "type")?.to_owned();
        let Some(given) = fields.get("status") else { return Err(cursor.refuse("`condition` has no `status`", "")) };
        // Without quotes, True is no text in YAML.
        let text = given.literal().unwrap_or_default();
        let Some(status) = STATUSES.into_iter().find(|status| *status == text) else {
            let what = format!("`{text}` is no status of a condition");
            return Err(given.refuse(what, format!("use {}", STATUSES.join(", "))));
        };
        let reason = fields.text("reason")?.map(str::to_owned);
        Ok(Self::Condition { target, kind, status, reason })
    }

    /// Returns the name of the objects in question.
    pub(super) fn subject(&self) -> String {
        match self {
            Self::Object { target, .. }
            | Self::Objects { target, .. }
            | Self::Absent(target)
            | Self::Condition { target, .. } => target.to_string(),
            Self::Event(event) => event.target.to_string(),
            Self::Component(component) => component.program.name().to_owned(),
            Self::Log(log) => log.subject(),
        }
    }

    /// Returns the objects that are read; `None`: the log is read.
    pub(super) fn selection(&self) -> Option<WatchScope> {
        Some(match self {
            Self::Object { target, .. }
            | Self::Objects { target, .. }
            | Self::Absent(target)
            | Self::Condition { target, .. } => WatchScope {
                cluster: Some(target.cluster.clone()),
                row: target.row,
                namespace: target.namespace.clone(),
                fields: match &target.name {
                    Some(name) => format!("metadata.name={name}"),
                    None => target.fields.clone(),
                },
                labels: target.labels.clone(),
            },
            Self::Event(EventItem { target, .. }) => {
                let name = target.name.as_deref().unwrap_or_default();
                WatchScope {
                    cluster: Some(target.cluster.clone()),
                    row: catalogue::of::<Event>(),
                    // Events of objects without a namespace are in `default`.
                    namespace: None,
                    fields: format!("involvedObject.kind={},involvedObject.name={name}", target.row.kind),
                    labels: String::new(),
                }
            }
            Self::Component(component) => WatchScope {
                cluster: None,
                row: catalogue::of::<Pod>(),
                namespace: None,
                fields: String::new(),
                labels: component.labels(),
            },
            Self::Log(_) => return None,
        })
    }

    /// Expressions of the item.
    pub(super) fn expressions(&self) -> &[Expression] {
        match self {
            Self::Object { expressions, .. } | Self::Objects { expressions, .. } => expressions,
            Self::Log(log) => &log.expressions,
            Self::Absent(_) | Self::Event(_) | Self::Condition { .. } | Self::Component(_) => &[],
        }
    }
}

impl EventItem {
    fn read(cursor: Cursor<'_>, defaults: &Defaults) -> Result<Self, Error> {
        let name = "`event`";
        let fields = cursor.fields(name, &["of", "reason", "type", "message", "count"])?;
        let kind = fields.text("type")?;
        if let (Some(kind), Some(place)) = (kind, fields.get("type"))
            && !["Normal", "Warning"].contains(&kind)
        {
            return Err(place.refuse(format!("`{kind}` is no type of an Event"), "use Normal or Warning"));
        }
        Ok(Self {
            target: object_of(fields, name, defaults)?,
            reason: fields.required(name, "reason")?.to_owned(),
            kind: kind.map(str::to_owned),
            message: fields.text("message")?.map(str::to_owned),
            count: count(fields)?,
        })
    }
}

/// Hint about the items.
fn known(name: &str) -> String {
    let near = nearest(name, ITEMS.into_iter());
    format!("{near}; there are {}", ITEMS.join(", "))
}

/// Reads field `of`.
fn object_of(fields: Fields<'_>, item: &str, defaults: &Defaults) -> Result<Target, Error> {
    match fields.get("of") {
        Some(of) => Target::read_short(of, "`of`", defaults),
        None => Err(fields.whole.refuse(format!("{item} has no `of`"), "use KIND/NAME or KIND/NAMESPACE/NAME")),
    }
}

/// Reads `count`.
fn count(fields: Fields<'_>) -> Result<Option<Count>, Error> {
    fields.get("count").map(|count| Count::read(count, "`count`")).transpose()
}

/// Reads `matches`.
fn pattern(fields: Fields<'_>, target: &Target) -> Result<Option<Pattern>, Error> {
    fields.get("matches").map(|matches| Pattern::read(matches, target.row)).transpose()
}

/// Reads `cel`: expressions over a variable and the instants.
fn expressions(fields: Fields<'_>, variable: &str) -> Result<Vec<Expression>, Error> {
    let variables = [variable, "now", "start"];
    let Some(cel) = fields.get("cel") else { return Ok(Vec::new()) };
    let texts = if cel.value.is_string() { vec![cel] } else { cel.items("`cel`")? };
    let compile = |given: Cursor<'_>| {
        let text = given.text("an item of `cel`")?;
        Expression::compile(text, &variables).map_err(|error| match &error {
            ExpressionError::UnknownVariable(name) => {
                let hint = format!("{}; there are {}", nearest(name, variables.into_iter()), variables.join(", "));
                given.refuse(error.to_string(), hint)
            }
            ExpressionError::Invalid(what) => given.refuse(format!("no expression: {what}"), ""),
        })
    };
    texts.into_iter().map(compile).collect()
}
