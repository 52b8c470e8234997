// SPDX-License-Identifier: Apache-2.0
//! Rules in the Common Expression Language (`x-kubernetes-validations`).
//!
//! `self` is the value at which a rule stands, `oldSelf` what it was; a rule that speaks of `oldSelf` holds for changes
//! only. Items of lists have an old value where their list tells them apart by keys.
//!
//! Source: k8s.io/apiextensions-apiserver pkg/apiserver/schema/cel/validation.go.

use std::fmt;
use std::sync::{Arc, LazyLock};

use apimachinery::field::{FieldError, Path};
use cel::objects::{Key, Map, OptionalValue};
use cel::{Context, Env, Program, Value as Cel, extensions};
use serde_json::Value;

use crate::schema::{Rule, Schema};

/// The functions that rules may call.
static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut environment = Env::stdlib();
    for extension in [extensions::strings, extensions::lists, extensions::math] {
        if let Err(error) = environment.add_extension(extension) {
            panic!("the extensions of the library fit its environment: {error}");
        }
    }
    Arc::new(environment)
});

/// The longest expression, in bytes. Upstream limits the estimated cost instead.
const LONGEST: usize = 4096;
/// Bytes of an expression whose levels fit on any thread's stack, however it is written.
const SHORT: usize = 512;
/// Bytes of stack for a longer one: one that is nothing but nesting takes a kilobyte for each of its own.
const STACK: usize = 16 << 20;

/// Reads or evaluates expressions, the longest of which has so many bytes.
fn with_stack<T>(length: usize, work: impl FnOnce() -> T) -> T {
    if length > SHORT { stacker::grow(STACK, work) } else { work() }
}

/// A rule that can be evaluated.
pub(crate) struct Compiled {
    rule: Program,
    message: Option<Program>,
    /// Whether it speaks of the old value.
    is_transition: bool,
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled").field("is_transition", &self.is_transition).finish_non_exhaustive()
    }
}

impl Rule {
    /// # Errors
    /// The rule, or the expression that makes its text, is none.
    pub(crate) fn compile(&self) -> Result<Arc<Compiled>, String> {
        let program = |text: &str| {
            if text.len() > LONGEST {
                return Err(format!("an expression may not be longer than {LONGEST} bytes"));
            }
            with_stack(text.len(), || ENVIRONMENT.compile(text)).map_err(|error| error.to_string())
        };
        let made = self.compiled.get_or_init(|| {
            let rule = program(&self.rule)?;
            let is_transition = rule.references().has_variable("oldSelf");
            let message =
                if self.message_expression.is_empty() { None } else { Some(program(&self.message_expression)?) };
            Ok(Arc::new(Compiled { rule, message, is_transition }))
        });
        made.clone()
    }

    /// The violation of the rule by a value of a schema, if it is one.
    fn violation(&self, schema: &Schema, value: &Value, old: Option<&Value>, at: &str) -> Option<FieldError> {
        let length = self.rule.len().max(self.message_expression.len());
        with_stack(length, || self.judge(schema, value, old, at))
    }

    fn judge(&self, schema: &Schema, value: &Value, old: Option<&Value>, at: &str) -> Option<FieldError> {
        let compiled = self.compile().ok()?;
        if compiled.is_transition && old.is_none() && !self.optional_old_self {
            return None;
        }
        let mut context = Context::with_env(ENVIRONMENT.clone());
        context.add_variable_from_value("self", schema.cel(value));
        let old = old.map(|old| schema.cel(old));
        if self.optional_old_self {
            let optional = old.map_or_else(OptionalValue::none, OptionalValue::of);
            context.add_variable_from_value("oldSelf", Cel::Opaque(Arc::new(optional)));
        } else if let Some(old) = old {
            context.add_variable_from_value("oldSelf", old);
        }
        let text = match compiled.rule.execute(&context) {
            Ok(Cel::Bool(true)) => return None,
            Ok(_) => {
                let made = compiled.message.as_ref().and_then(|message| message.execute(&context).ok());
                match made {
                    Some(Cel::String(text)) if !text.trim().is_empty() => text.trim().to_owned(),
                    _ if !self.message.is_empty() => self.message.trim().to_owned(),
                    _ => format!("failed rule: {}", self.rule.trim()),
                }
            }
            Err(error) => format!("rule evaluation error: {error}"),
        };
        let place = Path::new(format!("{at}{}", self.field_path).trim_start_matches('.'));
        let shown = if schema.r#type.is_empty() { "" } else { schema.r#type.as_str() };
        Some(match self.reason.as_str() {
            "FieldValueRequired" => FieldError::required(&place, &text),
            "FieldValueForbidden" => FieldError::forbidden(&place, &text),
            "FieldValueDuplicate" => FieldError::duplicate(&place, shown),
            _ => FieldError::invalid(&place, shown, &text),
        })
    }
}

impl Schema {
    /// The rules that a value breaks, as violations; `old` is the value before the change.
    pub(crate) fn broken_rules(&self, value: &Value, old: Option<&Value>, at: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        self.evaluate(value, old, at, &mut errors);
        errors
    }

    fn evaluate(&self, value: &Value, old: Option<&Value>, at: &str, errors: &mut Vec<FieldError>) {
        if value.is_null() {
            return;
        }
        errors.extend(self.rules.iter().filter_map(|rule| rule.violation(self, value, old, at)));
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if let Some(schema) = self.child(name) {
                        let place = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                        schema.evaluate(value, old.and_then(|old| old.get(name)), &place, errors);
                    }
                }
            }
            Value::Array(items) => {
                let Some(schema) = &self.items else { return };
                for (index, item) in items.iter().enumerate() {
                    schema.evaluate(item, self.old_item(item, old), &format!("{at}[{index}]"), errors);
                }
            }
            _ => {}
        }
    }

    /// What an item of a list was before.
    fn old_item<'a>(&self, item: &Value, old: Option<&'a Value>) -> Option<&'a Value> {
        let is_same = |old: &&Value| self.list_map_keys.iter().all(|name| old.get(name) == item.get(name));
        old?.as_array()?.iter().find(is_same).filter(|_| self.list_type == "map")
    }

    /// A value as rules see it.
    fn cel(&self, value: &Value) -> Cel {
        match value {
            Value::Null => Cel::Null,
            Value::Bool(value) => Cel::Bool(*value),
            Value::Number(number) => match number.as_i64() {
                Some(whole) if self.r#type != "number" => Cel::Int(whole),
                _ => Cel::Float(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => match self.format.as_str() {
                "date-time" => chrono::DateTime::parse_from_rfc3339(text)
                    .map_or_else(|_| Cel::String(text.clone().into()), Cel::Timestamp),
                _ => Cel::String(text.clone().into()),
            },
            Value::Array(items) => {
                let schema = self.items.as_deref();
                let item = |item: &Value| schema.map_or_else(|| Self::default().cel(item), |schema| schema.cel(item));
                Cel::List(Arc::new(items.iter().map(item).collect()))
            }
            Value::Object(fields) => {
                let value = |name: &String, value: &Value| {
                    self.child(name).map_or_else(|| Self::default().cel(value), |schema| schema.cel(value))
                };
                let entries = fields.iter().map(|(name, it)| (Key::String(name.clone().into()), value(name, it)));
                Cel::Map(Map { map: Arc::new(entries.collect()) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: &Value, value: &Value, old: Option<&Value>, expected: &[&str]) {
        let errors = Schema::of(schema).expect("a schema").broken_rules(value, old, "spec");
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    fn ruled(rule: Value) -> Value {
        let list = json!({
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": { "type": "object", "properties": { "name": { "type": "string" }, "size": { "type": "integer" } },
                "x-kubernetes-validations": [{ "rule": "self.size >= oldSelf.size", "message": "must not shrink" }] },
        });
        json!({ "type": "object", "x-kubernetes-validations": [rule], "properties": {
            "min": { "type": "integer" }, "max": { "type": "integer" }, "name": { "type": "string" },
            "at": { "type": "string", "format": "date-time" }, "disks": list,
        } })
    }

    #[test]
    fn a_rule_speaks_of_the_value_at_which_it_stands() {
        let order = ruled(json!({ "rule": "self.min <= self.max" }));
        check(&order, &json!({ "min": 1, "max": 2 }), None, &[]);
        let broken = json!({ "min": 3, "max": 2 });
        check(&order, &broken, None, &[r#"spec: Invalid value: "object": failed rule: self.min <= self.max"#]);
        let told = ruled(json!({ "rule": "self.min <= self.max", "message": "min is too great", "fieldPath": ".min" }));
        check(&told, &broken, None, &[r#"spec.min: Invalid value: "object": min is too great"#]);
        let made = ruled(json!({
            "rule": "self.min <= self.max", "reason": "FieldValueForbidden",
            "messageExpression": "'at most ' + string(self.max)",
        }));
        check(&made, &broken, None, &["spec: Forbidden: at most 2"]);
    }

    #[test]
    fn rules_have_macros_and_functions() {
        for (rule, value, holds) in [
            ("!has(self.name) || self.name.startsWith('a')", json!({}), true),
            ("!has(self.name) || self.name.startsWith('a')", json!({ "name": "b" }), false),
            ("self.disks.all(disk, disk.size > 0)", json!({ "disks": [{ "name": "a", "size": 1 }] }), true),
            ("self.disks.exists(disk, disk.name == 'b')", json!({ "disks": [{ "name": "a", "size": 1 }] }), false),
            ("size(self.name) <= 3 && self.name.matches('^[a-z]+$')", json!({ "name": "abc" }), true),
            ("self.name.lowerAscii() == self.name", json!({ "name": "Abc" }), false),
            ("self.at < timestamp('2025-01-01T00:00:00Z')", json!({ "at": "2024-06-01T00:00:00Z" }), true),
        ] {
            let text = format!("spec: Invalid value: \"object\": failed rule: {rule}");
            let expected: &[&str] = if holds { &[] } else { &[&text] };
            check(&ruled(json!({ "rule": rule })), &value, None, expected);
        }
    }

    #[test]
    fn transitions_are_judged_for_changes_only() {
        let fixed = ruled(json!({ "rule": "self.name == oldSelf.name", "message": "name is immutable" }));
        check(&fixed, &json!({ "name": "b" }), None, &[]);
        check(&fixed, &json!({ "name": "a" }), Some(&json!({ "name": "a" })), &[]);
        check(
            &fixed,
            &json!({ "name": "b", "disks": [{ "name": "new", "size": 1 }, { "name": "old", "size": 1 }] }),
            Some(&json!({ "name": "a", "disks": [{ "name": "old", "size": 2 }] })),
            &[
                r#"spec: Invalid value: "object": name is immutable"#,
                r#"spec.disks[1]: Invalid value: "object": must not shrink"#,
            ],
        );
        let optional =
            ruled(json!({ "rule": "!oldSelf.hasValue() || self.min >= oldSelf.value().min", "optionalOldSelf": true }));
        check(&optional, &json!({ "min": 1 }), None, &[]);
        check(&optional, &json!({ "min": 2 }), Some(&json!({ "min": 1 })), &[]);
    }

    /// However long a rule may be, its nesting does not exhaust a thread's stack.
    #[test]
    fn long_rules_are_judged_or_refused() {
        for rule in [
            format!("{}true", "!".repeat(LONGEST - 4)),
            format!("{}1 > 0", "-".repeat(LONGEST - 5)),
            format!("1{} > 0", "+1".repeat(LONGEST / 2 - 4)),
            format!("{}true{}", "(".repeat(LONGEST / 2 - 2), ")".repeat(LONGEST / 2 - 2)),
            format!("size({}{}) > 0", "[".repeat(LONGEST / 2 - 6), "]".repeat(LONGEST / 2 - 6)),
            "self.a".repeat(LONGEST / 6),
            format!("true{}", "?true:true".repeat(LONGEST / 10 - 1)),
            format!("true{}", "||true".repeat(LONGEST / 6 - 1)),
            "self.all(x,".repeat(LONGEST / 11),
            "a".repeat(LONGEST + 1),
        ] {
            let rule = Rule { rule, ..Rule::default() };
            let mut schema = Schema::default();
            schema.rules.push(rule.clone());
            let _ = rule.compile();
            let _ = schema.broken_rules(&json!({}), None, "");
        }
    }

    #[test]
    fn what_cannot_be_evaluated_or_compiled_is_said() {
        let missing = ruled(json!({ "rule": "self.min > 0" }));
        let errors = Schema::of(&missing).expect("a schema").broken_rules(&json!({}), None, "spec");
        assert!(
            errors[0].to_string().starts_with(r#"spec: Invalid value: "object": rule evaluation error: "#),
            "{errors:?}"
        );
        let broken = Rule { rule: "self.min >".to_owned(), ..Rule::default() };
        assert!(broken.compile().is_err());
    }
}
