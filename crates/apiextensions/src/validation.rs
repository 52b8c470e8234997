// SPDX-License-Identifier: Apache-2.0
//! Validation of values, with the texts of kube-openapi's validator.
//!
//! Source: k8s.io/kube-openapi pkg/validation (errors/schema.go, validate/*.go), k8s.io/apiextensions-apiserver
//! pkg/apiserver/validation, pkg/apiserver/schema/listtype.

use std::collections::BTreeSet;

use apimachinery::field::{ErrorType, FieldError, Path};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::schema::Schema;
use crate::text::{float, plain, type_of};

/// Returns a path in the form of messages; empty for the object itself.
fn path(text: &str) -> Path {
    Path::new(text)
}

fn field(outer: &str, name: &str) -> String {
    if outer.is_empty() { name.to_owned() } else { format!("{outer}.{name}") }
}

/// Violations that prevent the evaluation of rules, since rules may depend on the invalid values.
const BLOCKING: [ErrorType; 5] =
    [ErrorType::Required, ErrorType::TooLong, ErrorType::TooMany, ErrorType::Duplicate, ErrorType::TypeInvalid];
const RULES_NOT_CHECKED: &str = "some validation rules were not checked because the object was invalid; correct the \
                                 existing errors to complete validation";

/// Maximum number of steps of the validation of one object, without CEL rules; each is some 10 to 200 ns. That is more
/// than an object of 3 MiB and a matching schema need, and less than some seconds.
pub(crate) const STEPS: u64 = 1 << 25;
/// Number of steps of one violation.
const VIOLATION: u64 = 256;
/// Number of bytes of a text that are one step.
const TEXT: u64 = 64;
const TOO_MANY_STEPS: &str = "validation failed due to running out of cost budget, no further validation will be run";

/// Violations, and the remaining steps.
struct Findings {
    errors: Vec<FieldError>,
    left: u64,
}

impl Findings {
    fn push(&mut self, error: FieldError) {
        self.pay(VIOLATION);
        self.errors.push(error);
    }

    fn pay(&mut self, steps: u64) {
        self.left = self.left.saturating_sub(steps);
    }

    fn is_over(&self) -> bool {
        self.left == 0
    }
}

impl Schema {
    /// Returns all violations of an object, including those of CEL rules; `old` is the object before the change.
    pub fn judge(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = self.violations(object, "");
        if errors.iter().any(|error| BLOCKING.contains(&error.error_type)) {
            errors.push(FieldError::invalid(&path("<nil>"), Value::Null, RULES_NOT_CHECKED));
        } else {
            errors.extend(self.broken_rules(object, old, ""));
        }
        errors
    }

    /// Returns all violations of a value at a path, without CEL rules.
    pub(crate) fn violations(&self, value: &Value, at: &str) -> Vec<FieldError> {
        self.violations_within(value, at, &mut STEPS.clone())
    }

    /// Returns all violations, like [`Schema::violations`], in at most `steps`, which are reduced.
    pub(crate) fn violations_within(&self, value: &Value, at: &str, steps: &mut u64) -> Vec<FieldError> {
        let mut findings = Findings { errors: Vec::new(), left: *steps };
        self.look(value, at, &mut findings);
        self.look_at_lists(value, at, &mut findings);
        if findings.is_over() {
            findings.errors.push(FieldError::forbidden(&path(at), TOO_MANY_STEPS));
        }
        *steps = findings.left;
        findings.errors
    }

    fn look(&self, value: &Value, at: &str, errors: &mut Findings) {
        errors.pay(1 + self.r#enum.len() as u64);
        if let Value::String(text) = value {
            errors.pay(text.len() as u64 / TEXT);
            if let Some(pattern) = self.compiled() {
                errors.pay((text.len() as u64).saturating_mul(pattern.size as u64 >> 10));
            }
        }
        if errors.is_over() {
            return;
        }
        let mut invalid = |value: Value, text: String| {
            errors.push(FieldError::invalid(&path(at), value, &format!("{at} in body should {text}")));
        };
        if !self.is_of_type(value) {
            let expected = if self.int_or_string { "integer,string" } else { self.r#type.as_str() };
            return wrong_type(expected, value, at, errors);
        }
        match value {
            Value::String(text) => {
                let characters = text.chars().count();
                if let Some(most) = self.max_length.filter(|most| characters > *most) {
                    return errors.push(FieldError::too_long(&path(at), most));
                }
                if let Some(least) = self.min_length.filter(|least| characters < *least) {
                    invalid(value.clone(), format!("be at least {least} chars long"));
                }
                if self.compiled().is_some_and(|pattern| !pattern.regex.is_match(text)) {
                    invalid(value.clone(), format!("match '{}'", self.pattern));
                }
            }
            Value::Number(number) => {
                let number = number.as_f64().unwrap_or_default();
                if let Some(factor) =
                    self.multiple_of.filter(|factor| *factor > 0.0 && (number / factor).fract() != 0.0)
                {
                    invalid(value.clone(), format!("be a multiple of {}", float(factor)));
                }
                if let Some(most) = self.maximum {
                    if self.exclusive_maximum && number >= most {
                        invalid(value.clone(), format!("be less than {}", float(most)));
                    } else if number > most {
                        invalid(value.clone(), format!("be less than or equal to {}", float(most)));
                    }
                }
                if let Some(least) = self.minimum {
                    if self.exclusive_minimum && number <= least {
                        invalid(value.clone(), format!("be greater than {}", float(least)));
                    } else if number < least {
                        invalid(value.clone(), format!("be greater than or equal to {}", float(least)));
                    }
                }
            }
            Value::Array(items) => {
                if let Some(least) = self.min_items.filter(|least| items.len() < *least) {
                    invalid(items.len().into(), format!("have at least {least} items"));
                }
                if let Some(most) = self.max_items.filter(|most| items.len() > *most) {
                    errors.push(FieldError::too_many(&path(at), items.len(), most));
                }
                for (index, item) in items.iter().enumerate() {
                    if let Some(schema) = &self.items {
                        schema.look(item, &format!("{at}[{index}]"), errors);
                    }
                }
            }
            Value::Object(fields) => {
                if let Some(least) = self.min_properties.filter(|least| fields.len() < *least) {
                    invalid(value.clone(), format!("have at least {least} properties"));
                }
                if let Some(most) = self.max_properties.filter(|most| fields.len() > *most) {
                    errors.push(FieldError::too_many(&path(at), fields.len(), most));
                }
                for (name, value) in fields {
                    if let Some(schema) = self.child(name) {
                        schema.look(value, &field(at, name), errors);
                    }
                }
                for name in self.required.iter().filter(|name| !fields.contains_key(*name)) {
                    errors.push(FieldError::required(&path(&field(at, name)), ""));
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
        if !self.r#enum.is_empty() && !self.r#enum.contains(value) {
            let allowed: Vec<String> = self.r#enum.iter().map(plain).collect();
            errors.push(FieldError::not_supported(&path(at), value, &allowed));
        }
        if !has_format(&self.format, value) {
            wrong_type(&self.format, value, at, errors);
        }
        self.look_at_combinations(value, at, errors);
    }

    fn is_of_type(&self, value: &Value) -> bool {
        match value {
            Value::Null => self.nullable || self.r#type.is_empty() && !self.int_or_string,
            _ if self.int_or_string => value.is_string() || is_whole(value),
            _ => match self.r#type.as_str() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "number" => value.is_number(),
                "integer" => is_whole(value),
                _ => true,
            },
        }
    }

    fn look_at_combinations(&self, value: &Value, at: &str, errors: &mut Findings) {
        let mut left = errors.left;
        let mut found = |schema: &Schema| {
            let mut findings = Findings { errors: Vec::new(), left };
            schema.look(value, at, &mut findings);
            left = findings.left;
            findings.errors
        };
        let mut told = Vec::new();
        let mut says = |text: &str| told.push(FieldError::invalid(&path(at), "", &format!("{at:?} {text}")));
        if !self.any_of.is_empty() && !self.any_of.iter().any(|schema| found(schema).is_empty()) {
            says("must validate at least one schema (anyOf)");
        }
        if !self.one_of.is_empty() {
            let fulfilled = self.one_of.iter().filter(|schema| found(schema).is_empty()).count();
            let text = "must validate one and only one schema (oneOf).";
            match fulfilled {
                1 => {}
                0 => says(&format!("{text} Found none valid")),
                more => says(&format!("{text} Found {more} valid alternatives")),
            }
        }
        if self.not.as_ref().is_some_and(|schema| found(schema).is_empty()) {
            says("must not validate the schema (not)");
        }
        let violated: Vec<FieldError> = self.all_of.iter().flat_map(&mut found).collect();
        if !violated.is_empty() {
            says("must validate all the schemas (allOf)");
        }
        errors.left = left;
        // If no steps are left, some alternatives were not validated completely, and their results are unknown.
        if !errors.is_over() {
            told.into_iter().chain(violated).for_each(|error| errors.push(error));
        }
    }

    /// Checks that items of sets, and keys of maps, are unique.
    fn look_at_lists(&self, value: &Value, at: &str, errors: &mut Findings) {
        errors.pay(1);
        if errors.is_over() {
            return;
        }
        match value {
            Value::Array(items) => {
                let key = |item: &Value| match self.list_type.as_str() {
                    "set" => Some(item.clone()),
                    "map" => {
                        let schema = self.items.as_deref();
                        let default = |name: &str| schema?.properties.get(name)?.default.clone();
                        let value = |name: &String| item.get(name).cloned().or_else(|| default(name));
                        Some(self.list_map_keys.iter().filter_map(|name| Some((name.clone(), value(name)?))).collect())
                    }
                    _ => None,
                };
                // As texts: two values are equal if their fields are, in any order.
                let mut seen = BTreeSet::new();
                for (index, key) in items.iter().enumerate().filter_map(|(index, item)| Some((index, key(item)?))) {
                    if !seen.insert(canonical(&key)) {
                        errors.push(FieldError::duplicate(&path(&format!("{at}[{index}]")), key));
                    }
                }
                for (index, item) in items.iter().enumerate() {
                    if let Some(schema) = &self.items {
                        schema.look_at_lists(item, &format!("{at}[{index}]"), errors);
                    }
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    if let Some(schema) = self.child(name) {
                        schema.look_at_lists(value, &field(at, name), errors);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns a text that is the same for equal values.
fn canonical(value: &Value) -> String {
    fn write(value: &Value, out: &mut String) {
        match value {
            Value::Object(fields) => {
                let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
                fields.sort_unstable_by_key(|(name, _)| *name);
                out.push('{');
                for (name, value) in fields {
                    out.push_str(&json!(name).to_string());
                    out.push(':');
                    write(value, out);
                    out.push(',');
                }
                out.push('}');
            }
            Value::Array(items) => {
                out.push('[');
                for item in items {
                    write(item, out);
                    out.push(',');
                }
                out.push(']');
            }
            scalar => out.push_str(&scalar.to_string()),
        }
    }
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn wrong_type(expected: &str, value: &Value, at: &str, errors: &mut Findings) {
    // For a format the message shows the value, for a type the value's type.
    let shown = match (expected, value) {
        ("object" | "array" | "string" | "boolean" | "number" | "integer" | "integer,string", _) => {
            type_of(value).to_owned()
        }
        _ => plain(value),
    };
    let text = format!("{at} in body must be of type {expected}: {shown:?}");
    errors.push(FieldError::type_invalid(&path(at), &shown, &text));
}

fn is_whole(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// True if a value has a format; unknown formats are always fulfilled.
fn has_format(format: &str, value: &Value) -> bool {
    let whole = |bits: u32| value.as_i64().is_none_or(|number| number >> (bits - 1) == 0 || number >> (bits - 1) == -1);
    match (format, value) {
        ("int32", Value::Number(_)) => whole(32),
        ("date-time", Value::String(text)) => chrono::DateTime::parse_from_rfc3339(text).is_ok(),
        ("date", Value::String(text)) => chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok(),
        ("byte", Value::String(text)) => STANDARD.decode(text).is_ok(),
        ("ipv4", Value::String(text)) => text.parse::<std::net::Ipv4Addr>().is_ok(),
        ("ipv6", Value::String(text)) => text.parse::<std::net::Ipv6Addr>().is_ok(),
        ("uuid", Value::String(text)) => is_uuid(text),
        _ => true,
    }
}

/// Source: k8s.io/kube-openapi pkg/validation/strfmt/default.go: hyphens may be missing.
fn is_uuid(text: &str) -> bool {
    let digits: Vec<char> = text.chars().filter(|character| *character != '-').collect();
    digits.len() == 32 && digits.iter().all(char::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `schema` is that of field `x`.
    #[track_caller]
    fn check(schema: &Value, value: &Value, expected: &[&str]) {
        let schema = Schema::of(&json!({ "type": "object", "properties": { "x": schema } })).expect("a schema");
        let errors = schema.violations(&json!({ "x": value }), "");
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn values_have_types() {
        let wrong = |expected: &str, actual: &str| {
            format!("x: Invalid value: {actual:?}: x in body must be of type {expected}: {actual:?}")
        };
        for (type_, fits, other, actual) in [
            ("string", json!("a"), json!(1), "integer"),
            ("integer", json!(1), json!("1"), "string"),
            ("integer", json!(1.0), json!(1.5), "number"),
            ("number", json!(1), json!(true), "boolean"),
            ("boolean", json!(false), json!("false"), "string"),
            ("array", json!([]), json!({}), "object"),
            ("object", json!({}), json!([]), "array"),
            ("string", json!(""), json!(null), "null"),
        ] {
            check(&json!({ "type": type_ }), &fits, &[]);
            check(&json!({ "type": type_ }), &other, &[&wrong(type_, actual)]);
        }
        let either = json!({ "x-kubernetes-int-or-string": true });
        check(&either, &json!("10%"), &[]);
        check(&either, &json!(10), &[]);
        check(&either, &json!(true), &[&wrong("integer,string", "boolean")]);
        check(&json!({ "type": "string", "nullable": true }), &json!(null), &[]);
    }

    #[test]
    fn numbers_and_texts_have_bounds() {
        let number = json!({ "type": "integer", "minimum": 1, "maximum": 10, "multipleOf": 2 });
        check(&number, &json!(4), &[]);
        check(
            &number,
            &json!(11),
            &[
                "x: Invalid value: 11: x in body should be a multiple of 2",
                "x: Invalid value: 11: x in body should be less than or equal to 10",
            ],
        );
        check(&number, &json!(0), &["x: Invalid value: 0: x in body should be greater than or equal to 1"]);
        let open = json!({ "type": "number", "minimum": 0.5, "exclusiveMinimum": true, "maximum": 1_000_000, "exclusiveMaximum": true });
        check(&open, &json!(0.5), &["x: Invalid value: 0.5: x in body should be greater than 0.5"]);
        check(&open, &json!(1_000_000), &["x: Invalid value: 1000000: x in body should be less than 1e+06"]);
        let text = json!({ "type": "string", "minLength": 2, "maxLength": 3, "pattern": "^[a-z]+$" });
        check(&text, &json!("äöü"), &[r#"x: Invalid value: "äöü": x in body should match '^[a-z]+$'"#]);
        check(&text, &json!("a"), &[r#"x: Invalid value: "a": x in body should be at least 2 chars long"#]);
        check(&text, &json!("abcd"), &["x: Too long: may not be more than 3 bytes"]);
        check(
            &json!({ "type": "string", "enum": ["a", "b"] }),
            &json!("c"),
            &[r#"x: Unsupported value: "c": supported values: "a", "b""#],
        );
        let time = json!({ "type": "string", "format": "date-time" });
        check(&time, &json!("2025-01-01T00:00:00Z"), &[]);
        check(&time, &json!("now"), &[r#"x: Invalid value: "now": x in body must be of type date-time: "now""#]);
        let small = json!({ "type": "integer", "format": "int32" });
        check(&small, &json!(2_147_483_647), &[]);
        check(&small, &json!(-2_147_483_648_i64), &[]);
        check(
            &small,
            &json!(2_147_483_648_i64),
            &[r#"x: Invalid value: "2147483648": x in body must be of type int32: "2147483648""#],
        );
    }

    #[test]
    fn lists_and_objects_are_looked_into() {
        let list = json!({ "type": "array", "minItems": 1, "maxItems": 2, "items": { "type": "string" } });
        check(&list, &json!([]), &["x: Invalid value: 0: x in body should have at least 1 items"]);
        check(
            &list,
            &json!(["a", 1, "c"]),
            &[
                "x: Too many: 3: must have at most 2 items",
                r#"x[1]: Invalid value: "integer": x[1] in body must be of type string: "integer""#,
            ],
        );
        let object = json!({
            "type": "object", "required": ["a"], "properties": { "a": { "type": "string" }, "b": { "type": "object" } },
        });
        check(&object, &json!({ "b": {} }), &["x.a: Required value"]);
        let map = json!({ "type": "object", "additionalProperties": { "type": "integer" } });
        check(
            &map,
            &json!({ "k": "v" }),
            &[r#"x.k: Invalid value: "string": x.k in body must be of type integer: "string""#],
        );
        let set = json!({ "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } });
        check(&set, &json!(["a", "b", "a"]), &[r#"x[2]: Duplicate value: "a""#]);
        let keyed = json!({
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "protocol"],
            "items": { "type": "object", "properties": { "protocol": { "default": "TCP" } } },
        });
        let one = json!({ "name": "a", "protocol": "TCP" });
        check(&keyed, &json!([one, { "name": "a", "protocol": "UDP" }]), &[]);
        check(&keyed, &json!([one, { "name": "a" }]), &[r#"x[1]: Duplicate value: {"name":"a","protocol":"TCP"}"#]);
    }

    #[test]
    fn the_work_of_one_object_has_a_limit() {
        let of = |schema: Value| Schema::of(&schema).expect("a schema");
        let check = |schema: &Schema, value: &Value, is_taken: bool| {
            let errors = schema.violations(value, "x");
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            let refused = "x: Forbidden: validation failed due to running out of cost budget, no further validation will \
                           be run";
            let expected: &[&str] = if is_taken { &[] } else { &[refused] };
            assert_eq!(texts, expected);
        };
        // 3 MiB of numbers, and of text.
        let numbers = of(json!({ "type": "array", "items": { "type": "integer", "minimum": 0 } }));
        check(&numbers, &json!(vec![1; 1_500_000]), true);
        let text = of(json!({ "type": "string", "pattern": "^[ab]*$" }));
        check(&text, &json!("ab".repeat(1_500_000)), true);
        // One pattern of many states, many of few, many values: each with one step more than allowed.
        let large = of(json!({ "type": "string", "pattern": "^(.*a.{300})?[ab]*$" }));
        check(&large, &json!("ab".repeat(10)), true);
        check(&large, &json!("ab".repeat(1_500_000)), false);
        let many = of(json!({ "type": "string", "allOf": vec![json!({ "pattern": "^[ab]*$" }); 20_000] }));
        check(&many, &json!("ab".repeat(10)), true);
        check(&many, &json!("ab".repeat(10_000)), false);
        let names: Vec<String> = (0..10_000).map(|index| format!("{index}")).collect();
        let named = of(json!({ "type": "array", "items": { "type": "string", "enum": names } }));
        check(&named, &json!(["0", "9999"]), true);
        check(&named, &json!(vec!["9999"; 10_000]), false);
        // Violations take as much work.
        let few = of(json!({ "type": "array", "items": { "type": "string" } }));
        assert!(few.violations_within(&json!(vec![1; 10_000]), "x", &mut (100 * VIOLATION)).len() <= 101);
    }

    #[test]
    fn a_large_set_is_scanned_once() {
        let items: Vec<Value> = (0..50_000).map(|index| json!({ "a": index, "b": [index] })).collect();
        let set = json!({ "type": "array", "x-kubernetes-list-type": "set" });
        check(&set, &json!(items), &[]);
        // Maximum nesting depth: the texts that identify values are not longer than the values.
        let deep = (0..100).fold(json!("\"x"), |inner, _| json!({ "a": [inner] }));
        check(&set, &json!([deep, json!({ "a": [deep] })]), &[]);
        let twice = json!([{ "a": 1, "b": "x" }, { "a": "1", "b": "x" }, { "b": "x", "a": 1 }]);
        check(&set, &twice, &[r#"x[2]: Duplicate value: {"a":1,"b":"x"}"#]);
    }

    #[test]
    fn schemas_are_combined() {
        let one = json!({ "type": "object", "oneOf": [{ "required": ["a"] }, { "required": ["b"] }] });
        check(&one, &json!({ "a": 1 }), &[]);
        let head = r#"x: Invalid value: "": "x" must validate one and only one schema (oneOf)."#;
        check(&one, &json!({}), &[&format!("{head} Found none valid")]);
        check(&one, &json!({ "a": 1, "b": 1 }), &[&format!("{head} Found 2 valid alternatives")]);
        let any = json!({ "type": "integer", "anyOf": [{ "maximum": 1 }, { "minimum": 5 }] });
        check(&any, &json!(5), &[]);
        check(&any, &json!(3), &[r#"x: Invalid value: "": "x" must validate at least one schema (anyOf)"#]);
        let not = json!({ "type": "string", "not": { "enum": ["a"] } });
        check(&not, &json!("b"), &[]);
        check(&not, &json!("a"), &[r#"x: Invalid value: "": "x" must not validate the schema (not)"#]);
        check(
            &json!({ "type": "integer", "allOf": [{ "minimum": 1 }, { "maximum": 5 }] }),
            &json!(6),
            &[
                r#"x: Invalid value: "": "x" must validate all the schemas (allOf)"#,
                "x: Invalid value: 6: x in body should be less than or equal to 5",
            ],
        );
    }
}
