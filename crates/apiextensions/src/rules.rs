// SPDX-License-Identifier: Apache-2.0
//! Evaluation of the rules of a schema (`x-kubernetes-validations`) for a value.
//!
//! `self` is the value to which a rule is attached, `oldSelf` its old value; a rule that uses `oldSelf` applies to
//! changes only. Items of lists have an old value if their list identifies them by keys.
//!
//! Source: k8s.io/apiextensions-apiserver pkg/apiserver/schema/cel/validation.go.

use std::sync::Arc;

use apimachinery::field::{FieldError, Path};
use cel::objects::{Key, Map, OptionalValue};
use cel::{Context, Value as Cel};
use serde_json::Value;

use crate::metering::{self, PER_CALL, PER_OBJECT};
use crate::rule::{Compiled, ENVIRONMENT, Rule, with_stack};
use crate::schema::Schema;

/// Maximum length of a text that an expression computes, in bytes.
const LONGEST_MESSAGE: usize = 5 << 10;
/// Number of values whose conversion for rules costs one unit.
const CONVERSIONS: u64 = 10;

const NO_BUDGET: &str = "failed due to running out of cost budget, no further validation rules will be run";

/// A value and its old value in the form for rules; each is converted when a rule first needs it.
struct Activation<'a> {
    schema: &'a Schema,
    value: &'a Value,
    old: Option<&'a Value>,
    /// Contexts for rules with an optional old value, and for other rules.
    contexts: [Option<Context<'static, 'static>>; 2],
}

impl Activation<'_> {
    fn context(&mut self, is_old_optional: bool) -> &Context<'static, 'static> {
        self.contexts[usize::from(is_old_optional)].get_or_insert_with(|| {
            let mut context = Context::with_env(ENVIRONMENT.clone());
            context.add_variable_from_value("self", self.schema.cel(self.value));
            let old = self.old.map(|old| self.schema.cel(old));
            if is_old_optional {
                let optional = old.map_or_else(OptionalValue::none, OptionalValue::of);
                context.add_variable_from_value("oldSelf", Cel::Opaque(Arc::new(optional)));
            } else if let Some(old) = old {
                context.add_variable_from_value("oldSelf", old);
            }
            context
        })
    }
}

/// Number of values in a value, including itself.
fn count(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<u64>(),
        Value::Object(fields) => 1 + fields.values().map(count).sum::<u64>(),
        _ => 1,
    }
}

/// Evaluation of all rules of an object.
struct Evaluation {
    /// Remaining cost; `None`: no more rules are evaluated.
    left: Option<u64>,
    errors: Vec<FieldError>,
}

impl Evaluation {
    /// Spends cost of the budget; if there is not enough, returns false and ends the evaluation.
    fn spend(&mut self, cost: u64) -> bool {
        self.left = self.left.and_then(|left| left.checked_sub(cost));
        self.left.is_some()
    }

    fn end(&mut self, error: FieldError) {
        self.left = None;
        self.errors.push(error);
    }

    /// Evaluates the rules of a schema for one value.
    fn rules(&mut self, schema: &Schema, value: &Value, old: Option<&Value>, at: &str) {
        if schema.rules.is_empty() || self.left.is_none() {
            return;
        }
        let shown = if schema.r#type.is_empty() { "" } else { schema.r#type.as_str() };
        let invalid = |text: &str| FieldError::invalid(&place(at, ""), shown, text);
        let converted = count(value) + old.map_or(0, count);
        if !self.spend(converted / CONVERSIONS) {
            return self.end(invalid(&format!("validation {NO_BUDGET}")));
        }
        let mut activation = Activation { schema, value, old, contexts: [None, None] };
        for rule in &schema.rules {
            let Ok(compiled) = rule.compile() else { continue };
            if compiled.is_transition && old.is_none() && !rule.optional_old_self {
                continue;
            }
            let context = activation.context(rule.optional_old_self);
            let limit = self.left.unwrap_or_default().min(PER_CALL);
            let evaluate = || Cel::resolve(&compiled.metered.0, context);
            let (result, cost) = with_stack(compiled.length, || metering::measured(limit, evaluate));
            match cost {
                Some(cost) => self.left = self.left.map(|left| left - cost),
                None if limit < PER_CALL => return self.end(invalid(&format!("validation {NO_BUDGET}"))),
                None => {
                    return self.end(invalid(&format!(
                        "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to \
                         call cost exceeds limit for rule: {}",
                        rule.shown()
                    )));
                }
            }
            let text = match result {
                Ok(Cel::Bool(true)) => continue,
                Ok(_) => match self.message(rule, &compiled, context) {
                    Ok(text) => text,
                    Err(text) => return self.end(FieldError::invalid(&place(at, &rule.field_path), shown, &text)),
                },
                Err(error) => format!("rule evaluation error: {}", metering::readable(&error)),
            };
            let place = place(at, &rule.field_path);
            self.errors.push(match rule.reason.as_str() {
                "FieldValueRequired" => FieldError::required(&place, &text),
                "FieldValueForbidden" => FieldError::forbidden(&place, &text),
                "FieldValueDuplicate" => FieldError::duplicate(&place, shown),
                _ => FieldError::invalid(&place, shown, &text),
            });
        }
    }

    /// Returns the text of a violation.
    ///
    /// # Errors
    /// The message expression costs too much.
    fn message(&mut self, rule: &Rule, compiled: &Compiled, context: &Context<'_, '_>) -> Result<String, String> {
        if let Some(message) = &compiled.metered.1 {
            let limit = self.left.unwrap_or_default().min(PER_CALL);
            let evaluate = || Cel::resolve(message, context);
            let (result, cost) = with_stack(compiled.length, || metering::measured(limit, evaluate));
            match cost {
                Some(cost) => self.left = self.left.map(|left| left - cost),
                None if limit < PER_CALL => return Err(format!("messageExpression evaluation {NO_BUDGET}")),
                None => {
                    return Err(format!(
                        "no further validation rules will be run due to call cost exceeds limit for messageExpression: {:?}",
                        rule.message_expression
                    ));
                }
            }
            let is_fit = |text: &&str| !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n');
            if let Ok(Cel::String(text)) = &result
                && let Some(text) = Some(text.trim()).filter(is_fit)
            {
                return Ok(text.to_owned());
            }
        }
        Ok(if rule.message.is_empty() { format!("failed rule: {}", rule.shown()) } else { rule.shown().to_owned() })
    }
}

/// Returns the path of an error: `at` is the path of the rule, `below` its `fieldPath`.
fn place(at: &str, below: &str) -> Path {
    Path::new(format!("{at}{below}").trim_start_matches('.'))
}

impl Schema {
    /// Returns the violated rules of a value; `old` is the value before the change.
    pub(crate) fn broken_rules(&self, value: &Value, old: Option<&Value>, at: &str) -> Vec<FieldError> {
        let mut evaluation = Evaluation { left: Some(PER_OBJECT), errors: Vec::new() };
        self.evaluate(value, old, at, &mut evaluation);
        evaluation.errors
    }

    fn evaluate(&self, value: &Value, old: Option<&Value>, at: &str, evaluation: &mut Evaluation) {
        if value.is_null() || evaluation.left.is_none() {
            return;
        }
        evaluation.rules(self, value, old, at);
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if let Some(schema) = self.child(name) {
                        let place = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                        schema.evaluate(value, old.and_then(|old| old.get(name)), &place, evaluation);
                    }
                }
            }
            Value::Array(items) => {
                let Some(schema) = &self.items else { return };
                for (index, item) in items.iter().enumerate() {
                    schema.evaluate(item, self.old_item(item, old), &format!("{at}[{index}]"), evaluation);
                }
            }
            _ => {}
        }
    }

    /// Returns the old value of an item of a list.
    fn old_item<'a>(&self, item: &Value, old: Option<&'a Value>) -> Option<&'a Value> {
        let is_same = |old: &&Value| self.list_map_keys.iter().all(|name| old.get(name) == item.get(name));
        old?.as_array()?.iter().find(is_same).filter(|_| self.list_type == "map")
    }

    /// Converts a value to the form for rules.
    pub(crate) fn cel(&self, value: &Value) -> Cel {
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
    use crate::rule::LONGEST;

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
    fn a_rule_applies_to_the_value_of_its_schema() {
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
    fn transition_rules_apply_to_changes_only() {
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

    /// The nesting of a rule does not exhaust a thread's stack, whatever its length.
    #[test]
    fn long_rules_are_evaluated_or_refused() {
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

    /// Source: issue 34: three loops over 600 items stopped a landscape.
    #[test]
    fn evaluation_ends_at_its_cost_limits() {
        let field = |rules: Value| json!({ "type": "array", "items": { "type": "integer" }, "x-kubernetes-validations": rules });
        let cubic = "self.all(x, self.all(y, self.all(z, true)))";
        let items: Vec<i32> = (0..600).collect();
        check(
            &field(json!([{ "rule": cubic }, { "rule": "false" }])),
            &json!(items),
            None,
            &[&format!(
                "spec: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation \
                 rules will be run due to call cost exceeds limit for rule: {cubic}"
            )],
        );
        let square: Vec<Value> = (0..40).map(|_| json!({ "rule": "self.all(x, self.all(y, true))" })).collect();
        let items: Vec<i32> = (0..400).collect();
        check(
            &field(json!(square)),
            &json!(items),
            None,
            &[
                "spec: Invalid value: \"array\": validation failed due to running out of cost budget, no further validation \
                 rules will be run",
            ],
        );
        let items: Vec<i32> = (0..600).collect();
        let told = json!([{ "rule": "false", "messageExpression": format!("string({cubic})") }]);
        check(
            &field(told),
            &json!(items),
            None,
            &[&format!(
                "spec: Invalid value: \"array\": no further validation rules will be run due to call cost exceeds limit for \
                 messageExpression: \"string({cubic})\""
            )],
        );
    }

    #[test]
    fn failing_and_invalid_rules_are_reported() {
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
