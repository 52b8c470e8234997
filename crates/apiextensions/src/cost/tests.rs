// SPDX-License-Identifier: Apache-2.0
//! Tests of estimated costs.

use serde_json::{Value, json};

use super::*;

/// Returns the cost of a rule for a value of a schema.
fn cost(schema: &Value, rule: &str) -> u64 {
    let schema = Schema::of(schema).expect("a schema");
    let rule = crate::rule::Rule { rule: rule.to_owned(), ..Default::default() };
    let compiled = rule.compile().expect("a rule");
    estimate(&compiled, &compiled.rule, &Declared::of(&schema, false).expect("a type"))
}

fn item(type_: &str) -> Value {
    match type_ {
        "int-or-string" => json!({ "x-kubernetes-int-or-string": true }),
        "byte" | "date" | "date-time" | "duration" => json!({ "type": "string", "format": type_ }),
        "object" => json!({ "type": "object", "required": ["required"],
            "properties": { "required": { "type": "string" }, "optional": { "type": "string" } } }),
        "list" => json!({ "type": "array", "items": { "type": "number" } }),
        "map" => json!({ "type": "object", "additionalProperties": { "type": "number" } }),
        _ => json!({ "type": type_ }),
    }
}

fn with(mut schema: Value, field: &str, most: Option<u64>) -> Value {
    if let Some(most) = most {
        schema[field] = json!(most);
    }
    schema
}

fn list(type_: &str, most: Option<u64>) -> Value {
    with(json!({ "type": "array", "items": item(type_) }), "maxItems", most)
}

fn map(type_: &str, most: Option<u64>) -> Value {
    with(json!({ "type": "object", "additionalProperties": item(type_) }), "maxProperties", most)
}

fn text(_: &str, most: Option<u64>) -> Value {
    with(json!({ "type": "string" }), "maxLength", most)
}

/// Costs computed by kube-apiserver, without and with a limit of the value's size.
#[test]
fn estimates_are_those_of_kubernetes() {
    type Make = fn(&str, Option<u64>) -> Value;
    let cases: [(Make, &str, &str, u64, u64, u64); 50] = [
        (list, "number", "self.all(x, true)", 4_718_591, 10, 32),
        (list, "string", "self.all(x, true)", 3_145_727, 20, 62),
        (list, "boolean", "self.all(x, true)", 1_887_437, 5, 17),
        (list, "list", "self.all(x, true)", 3_145_727, 100, 302),
        (list, "object", "self.all(x, true)", 555_128, 50, 152),
        (map, "number", "self.all(x, true)", 1_348_169, 10, 32),
        (map, "string", "self.all(x, true)", 1_179_647, 3, 11),
        (map, "boolean", "self.all(x, true)", 943_718, 100, 302),
        (text, "", "self.contains('test')", 314_574, 10, 5),
        (text, "", "self.startsWith('test')", 2, 15, 2),
        (text, "", "self.endsWith('test')", 2, 30, 2),
        (text, "", r#"size(self + "hello") > size("hello")"#, 314_578, 4, 7),
        (list, "number", "self[1] == 0.0", 2, 5_000, 2),
        (list, "string", "self[1] == self[1]", 314_577, 8, 314_577),
        (list, "number", "self.all(x, self.all(y, true))", 7_421_701_914_624, 10, 352),
        (list, "number", "self.all(x, self.all(y, self.all(z, true)))", 11_673_320_338_545_967_103, 10, 3_552),
        (text, "", r#"self.matches("x")"#, 314_574, 50, 22),
        (text, "", r#""".matches("(((((((((())))))))))[0-9]")"#, 7, 10, 7),
        (text, "", r#"self.matches("")"#, 1, 100, 1),
        (list, "number", "self[3] == 0.0", 2, 0, 2),
        (map, "number", r#"self["x"] == 0.0"#, 2, 0, 2),
        (text, "", r#"self == "x""#, 2, 0, 1),
        (list, "number", "self.all(x, x == 0.0)", 6_291_454, 3 * 1024 * 2048, 25_165_826),
        (list, "int-or-string", "self.all(x, true)", 4_718_591, 10, 32),
        (list, "int-or-string", "self[0] == 5", 3, 10, 3),
        (list, "boolean", "self[0] == false", 2, 25, 2),
        (list, "object", "self[0] == null", 2, 422, 2),
        (list, "list", "self[0][0] == -1.0", 3, 51, 3),
        (list, "map", "self.all(x, x.y == 25.2)", 6_291_452, 12, 74),
        (list, "map", "self[0].x > 2.0", 4, 3_000, 4),
        (list, "duration", "self.all(x, true)", 2_359_295, 5, 17),
        (list, "duration", "self[0].getHours() == 2", 4, 525, 4),
        (list, "date", "self.all(x, true)", 725_936, 15, 47),
        (list, "date", "self[2].getDayOfMonth() == 13", 4, 42, 4),
        (list, "date-time", "self.all(x, true)", 428_963, 25, 77),
        (list, "date-time", "self[2].getMinutes() == 45", 4, 99, 4),
        (map, "int-or-string", "self.all(x, true)", 1_348_169, 15, 47),
        (map, "object", "self.all(x, true)", 428_963, 20, 62),
        (map, "map", "self.all(x, true)", 1_179_647, 10, 32),
        (map, "list", "self.all(x, true)", 1_179_647, 25, 77),
        (map, "duration", "self.all(x, true)", 1_048_577, 5, 17),
        (map, "date", "self.all(x, true)", 524_288, 10, 32),
        (map, "date-time", "self.all(x, true)", 349_526, 25, 77),
        (text, "", "self.lowerAscii() == 'lower!'", 314_575, 10, 6),
        (map, "integer", "oldSelf.size() == self.size()", 5, 10, 5),
        (map, "date-time", r#"self["a"] == self["b"]"#, 8, 7, 8),
        (map, "duration", r#"self["c"] == self["d"]"#, 8, 42, 8),
        (map, "string", "self.all(x, x.contains(self[x]))", 2_752_507, 10, 72),
        (text, "", "self.split(',') == []", 629_157, 10, 19),
        (list, "string", "self.join(' ') == 'aa bb'", 329_853_068_905, 10, 3_145_729),
    ];
    for (make, type_, rule, unlimited, most, limited) in cases {
        assert_eq!(cost(&make(type_, None), rule), unlimited, "{rule} about {type_}");
        assert_eq!(cost(&make(type_, Some(most)), rule), limited, "{rule} about {most} of {type_}");
    }
}

#[test]
fn sizes_of_computed_values_follow_from_their_operands() {
    let fields = json!({ "type": "object", "properties": {
        "str": { "type": "string", "maxLength": 4 }, "before": { "type": "string", "maxLength": 2 },
        "after": { "type": "string", "maxLength": 4 },
    } });
    assert_eq!(cost(&fields, "self.str.replace(self.before, self.after) == 'does not matter'"), 12);
    let named = json!({ "type": "string", "enum": ["A", "B", "C", "LongValue"] });
    assert_eq!(cost(&named, "self.contains('A')"), 2);
}

#[track_caller]
fn check(field: &Value, is_each_limited: bool, expected: &[&str]) {
    let schema = json!({ "type": "object", "properties": { "f": field } });
    let schema = Schema::of(&schema).expect("a schema");
    let errors = schema.excessive_costs(&Path::new("s"), is_each_limited);
    assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
}

#[test]
fn rules_that_may_cost_too_much_are_refused() {
    let hint = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and \
                strings are declared)";
    let rule = |rule: &str| json!([{ "rule": rule }]);
    let ruled = |mut schema: Value, rules: Value| {
        schema["x-kubernetes-validations"] = rules;
        schema
    };
    check(&ruled(list("number", Some(10)), rule("self.all(x, self.all(y, self.all(z, true)))")), true, &[]);
    let part = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
    let total = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
    let cubic = ruled(list("number", None), rule("self.all(x, self.all(y, self.all(z, true)))"));
    let place = "s.properties[f].x-kubernetes-validations[0]";
    let (each, all) = (
        format!("{place}.rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x {hint}"),
        format!("s: Forbidden: {total} exceeds budget by factor of more than 100x {hint}"),
    );
    let contributed = format!("{place}.rule: Forbidden: {part}");
    check(&cubic, true, &[&each, &contributed, &all]);
    check(&cubic, false, &[&contributed, &all]);
    let message = json!([{ "rule": "true", "messageExpression":
        "self[0] + self[1] + self[2] + self[3] + self[4] + self[5] + self[6] + self[7]" }]);
    let text = format!(
        "{place}.messageExpression: Forbidden: estimated messageExpression cost exceeds budget by factor of \
         1.101006x {hint}"
    );
    check(&ruled(list("string", None), message), true, &[&text]);
    let items = ruled(json!({ "type": "string" }), rule("self.contains('x')"));
    let text = "s.properties[f].items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds \
                budget by factor of more than 100x";
    let nested = json!({ "type": "array", "items": items });
    let schema = Schema::of(&json!({ "type": "object", "properties": { "f": nested } })).expect("a schema");
    let errors = schema.excessive_costs(&Path::new("s"), true);
    assert!(errors[0].to_string().starts_with(text), "{errors:?}");
}
