// SPDX-License-Identifier: Apache-2.0
//! Differences between items and the values of the API.

use apiextensions::{Argument, Expression};
use serde_json::Value;

use super::Times;
use super::count::Count;
use super::item::{CONDITIONS, EventItem, Item};
use super::log::Entries;
use super::pattern::Pattern;
use super::target::Target;
use crate::history::changes::short;
use crate::spelling::first_of;

/// Maximum length of a text in a difference.
const TEXT: usize = 200;
/// Maximum number of names in a difference.
const NAMES: usize = 5;

impl Item {
    /// Returns the differences from the selected objects; none: the item holds. For items about objects of the API.
    pub(super) fn differences(&self, seen: &[Value], times: Times) -> Vec<String> {
        let mut lines = Vec::new();
        match self {
            Self::Object { target, pattern, expressions } => match seen.first() {
                None => lines.push(absent(target)),
                Some(object) => {
                    if let Some(pattern) = pattern {
                        pattern.differences(Some(object), "", &mut lines);
                    }
                    judge(expressions, ("object", object), times, &mut lines);
                }
            },
            Self::Objects { target, count, pattern, expressions } => {
                number(target, *count, pattern.is_some(), seen, &mut lines);
                if let Some(pattern) = pattern {
                    each(pattern, seen, &mut lines);
                }
                judge(expressions, ("objects", &Value::Array(seen.to_vec())), times, &mut lines);
            }
            Self::Absent(target) if seen.is_empty() || target.name.is_none() => {
                lines.extend(seen.iter().map(|object| format!("{}: expected none, is there", name_of(object))));
            }
            Self::Absent(target) => lines.push(format!("{target}: expected none, is there")),
            Self::Event(event) => lines.extend(event.difference(seen)),
            Self::Condition { target, kind, status, reason } => match seen.first() {
                None => lines.push(absent(target)),
                Some(object) => condition(object, kind, status, reason.as_deref(), &mut lines),
            },
            Self::Component(component) => lines.extend(component.differences(seen, &[])),
            Self::Log(log) => lines.extend(log.differences(&Entries::default(), times)),
        }
        lines
    }
}

fn absent(target: &Target) -> String {
    format!("{target}: expected, is absent")
}

/// `garden-demo/local`, or the name of an object without a namespace.
fn name_of(object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    let kind = object["kind"].as_str().unwrap_or_default();
    match (text("namespace"), text("name")) {
        ("", name) => format!("{kind} {name}"),
        (namespace, name) => format!("{kind} {namespace}/{name}"),
    }
}

/// Checks the number of objects. `matches` without a number expects at least one object: it would hold for a wrong namespace.
fn number(target: &Target, count: Option<Count>, has_pattern: bool, seen: &[Value], lines: &mut Vec<String>) {
    let found = seen.len();
    let names: Vec<String> = seen.iter().map(name_of).collect();
    let names = first_of(names.iter().map(String::as_str), NAMES);
    let names = if names.is_empty() { names } else { format!(" ({names})") };
    match count {
        Some(count) if !count.holds(found as u64) => {
            lines.push(format!("{target}: expected {count}, found {found}{names}"));
        }
        None if has_pattern && seen.is_empty() => lines.push(format!("{target}: expected at least 1, found 0")),
        _ => {}
    }
}

/// Compares each object; each difference begins with the object's name.
fn each(pattern: &Pattern, seen: &[Value], lines: &mut Vec<String>) {
    for object in seen {
        let mut differences = Vec::new();
        pattern.differences(Some(object), "", &mut differences);
        lines.extend(differences.into_iter().map(|line| format!("{}: {line}", name_of(object))));
    }
}

/// Evaluates expressions over a variable and the instants.
pub(super) fn judge(expressions: &[Expression], variable: (&str, &Value), times: Times, lines: &mut Vec<String>) {
    let variables = [
        (variable.0, Argument::Tree(variable.1)),
        ("now", Argument::Instant(times.now)),
        ("start", Argument::Instant(times.start)),
    ];
    for expression in expressions {
        let text = one_line(expression.text());
        match expression.evaluate(&variables) {
            Ok(true) => {}
            Ok(false) => lines.push(format!("{text}: expected true, is false")),
            Err(error) => lines.push(format!("{text}: expected true, failed: {}", one_line(&error))),
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl EventItem {
    /// Returns the difference from the Events of objects with this kind and name.
    fn difference(&self, seen: &[Value]) -> Option<String> {
        let namespace = self.target.namespace.as_deref().unwrap_or_default();
        let text = |event: &Value, pointer: &str| -> String {
            event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let own: Vec<&Value> =
            seen.iter().filter(|event| text(event, "/involvedObject/namespace") == namespace).collect();
        let of_reason: Vec<&&Value> = own.iter().filter(|event| text(event, "/reason") == self.reason).collect();
        let is_like = |event: &&&&Value| {
            self.kind.as_ref().is_none_or(|kind| text(event, "/type") == *kind)
                && self.message.as_ref().is_none_or(|part| text(event, "/message").contains(part.as_str()))
        };
        let like: Vec<&&&Value> = of_reason.iter().filter(is_like).collect();
        let occurrences: u64 = like.iter().map(|event| occurrences(event)).sum();
        let subject = format!("Event {} of {}", self.reason, self.target);
        if let Some(count) = self.count {
            let is_held = count.holds(occurrences);
            return (!is_held).then(|| format!("{subject}: expected {count} times, found {occurrences}"));
        }
        if !like.is_empty() {
            return None;
        }
        Some(match of_reason.last() {
            Some(other) => {
                let expected = [
                    self.kind.as_ref().map(|kind| format!("type {kind}")),
                    self.message.as_ref().map(|part| format!("message with {part:?}")),
                ];
                let expected: Vec<String> = expected.into_iter().flatten().collect();
                let message = short(&other["message"], TEXT);
                format!("{subject}: expected {}, is {}: {message}", expected.join(" and "), text(other, "/type"))
            }
            None => {
                let mut reasons: Vec<String> = own.iter().map(|event| text(event, "/reason")).collect();
                reasons.sort();
                reasons.dedup();
                let others = first_of(reasons.iter().map(String::as_str), NAMES);
                let others = if others.is_empty() { String::new() } else { format!("; found {others}") };
                format!("{subject}: expected, is absent{others}")
            }
        })
    }
}

/// Number of occurrences of an Event.
fn occurrences(event: &Value) -> u64 {
    let of = |pointer: &str| event.pointer(pointer).and_then(Value::as_u64);
    of("/series/count").or_else(|| of("/count")).unwrap_or(1).max(1)
}

/// Compares a condition or constraint.
fn condition(object: &Value, kind: &str, status: &str, reason: Option<&str>, lines: &mut Vec<String>) {
    let found = CONDITIONS.iter().find_map(|list| {
        let found = object["status"][list].as_array()?.iter().find(|condition| condition["type"] == kind)?;
        Some((*list, found))
    });
    let Some((list, found)) = found else {
        let types = CONDITIONS.iter().flat_map(|list| object["status"][list].as_array().into_iter().flatten());
        let others = first_of(types.filter_map(|condition| condition["type"].as_str()), NAMES);
        let others = if others.is_empty() { String::new() } else { format!("; found {others}") };
        return lines.push(format!("status.conditions[{kind}]: expected, is absent{others}"));
    };
    let because = found["message"].as_str().unwrap_or_default();
    let because = if because.is_empty() { String::new() } else { format!(" ({})", short(&found["message"], TEXT)) };
    if found["status"] != status {
        let is = short(&found["status"], TEXT);
        lines.push(format!("status.{list}[{kind}].status: expected {status}, is {is}{because}"));
    }
    if let Some(reason) = reason.filter(|reason| found["reason"] != *reason) {
        let is = short(&found["reason"], TEXT);
        lines.push(format!("status.{list}[{kind}].reason: expected {reason}, is {is}"));
    }
}
