// SPDX-License-Identifier: Apache-2.0
//! Validation of schemas: a schema must be structural, and must not use unsupported features.
//!
//! Source: k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation, pkg/apiserver/schema/validation.go.

use apimachinery::field::{FieldError, Path};

use crate::pattern::{LARGEST, Pattern};
use crate::schema::{Additional, Schema};
use crate::validation::STEPS;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
/// Maximum total size of the compiled patterns of a definition, in bytes.
pub(crate) const ALL_PATTERNS: usize = 16 << 20;
const TOO_MANY_PATTERNS: &str = "the patterns of the definition are too large together";
const LIST_TYPES: [&str; 3] = ["atomic", "map", "set"];

/// Position of a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Field,
    Item,
}

impl Schema {
    /// Returns all violations in the schema of a kind. Compiled patterns may take `left` bytes, which are reduced by their sizes.
    pub fn flaws(&self, path: &Path, left: &mut usize) -> Vec<FieldError> {
        let mut errors = Vec::new();
        self.look_at_patterns(path, left, &mut errors);
        self.look_for_flaws(Place::Root, path, &mut STEPS.clone(), &mut errors);
        errors
    }

    /// Validates patterns here and below, up to the first that exceeds the limit.
    fn look_at_patterns(&self, path: &Path, left: &mut usize, errors: &mut Vec<FieldError>) {
        if *left == 0 {
            return;
        }
        if !self.pattern.is_empty() {
            let path = path.child("pattern");
            match Pattern::compile(&self.pattern, LARGEST) {
                Ok(pattern) if pattern.size < *left => *left -= pattern.size,
                Ok(_) => {
                    *left = 0;
                    return errors.push(FieldError::forbidden(&path, TOO_MANY_PATTERNS));
                }
                Err(error) => {
                    // The detection of the error takes as much work as a compilation.
                    *left = left.saturating_sub(LARGEST);
                    let text = format!("must be a valid regular expression, but isn't: {error}");
                    errors.push(FieldError::invalid(&path, &self.pattern, &text));
                }
            }
        }
        for (name, schema) in &self.properties {
            schema.look_at_patterns(&path.child("properties").key(name), left, errors);
        }
        if let Some(Additional::Schema(schema)) = &self.additional_properties {
            schema.look_at_patterns(&path.child("additionalProperties"), left, errors);
        }
        if let Some(schema) = &self.items {
            schema.look_at_patterns(&path.child("items"), left, errors);
        }
        for (name, schemas) in [("allOf", &self.all_of), ("anyOf", &self.any_of), ("oneOf", &self.one_of)] {
            for (index, schema) in schemas.iter().enumerate() {
                schema.look_at_patterns(&path.child(name).index(index), left, errors);
            }
        }
        if let Some(schema) = &self.not {
            schema.look_at_patterns(&path.child("not"), left, errors);
        }
    }

    /// Validates the schema here and below; validation of all defaults may take `steps`.
    fn look_for_flaws(&self, place: Place, path: &Path, steps: &mut u64, errors: &mut Vec<FieldError>) {
        let type_ = path.child("type");
        match (self.r#type.as_str(), place) {
            ("", _) if self.int_or_string || self.preserve_unknown => {}
            ("", Place::Root) => errors.push(FieldError::required(&type_, "must not be empty at the root")),
            ("", Place::Field) => {
                errors.push(FieldError::required(&type_, "must not be empty for specified object fields"));
            }
            ("", Place::Item) => {
                errors.push(FieldError::required(&type_, "must not be empty for specified array items"));
            }
            (other, Place::Root) if other != "object" => {
                errors.push(FieldError::invalid(&type_, other, "must be object at the root"));
            }
            (other, _) if !TYPES.contains(&other) => errors.push(FieldError::not_supported(&type_, other, &TYPES)),
            ("array", _) if self.items.is_none() => {
                errors.push(FieldError::required(&path.child("items"), "must be specified"));
            }
            _ => {}
        }
        if matches!(self.additional_properties, Some(Additional::Schema(_) | Additional::Any(true)))
            && !self.properties.is_empty()
        {
            let text = "additionalProperties and properties are mutual exclusive";
            errors.push(FieldError::forbidden(&path.child("additionalProperties"), text));
        }
        self.look_at_list_type(path, errors);
        if let Some(default) = &self.default {
            let path = path.child("default");
            let at = path.to_string();
            errors.extend(self.violations_within(default, &at, steps));
        }
        for (index, rule) in self.rules.iter().enumerate() {
            let path = path.child("x-kubernetes-validations").index(index).child("rule");
            if rule.rule.trim().is_empty() {
                errors.push(FieldError::required(&path, "rule is not specified"));
            } else if let Err(error) = rule.compile() {
                errors.push(FieldError::invalid(&path, &rule.rule, &format!("compilation failed: {error}")));
            }
        }
        for (name, schema) in &self.properties {
            // The fields of every object are defined by the server.
            let is_type = place == Place::Root && matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
            if !is_type {
                schema.look_for_flaws(Place::Field, &path.child("properties").key(name), steps, errors);
            }
        }
        if let Some(Additional::Schema(schema)) = &self.additional_properties {
            schema.look_for_flaws(Place::Field, &path.child("additionalProperties"), steps, errors);
        }
        if let Some(schema) = &self.items {
            schema.look_for_flaws(Place::Item, &path.child("items"), steps, errors);
        }
    }

    fn look_at_list_type(&self, path: &Path, errors: &mut Vec<FieldError>) {
        let keys = path.child("x-kubernetes-list-map-keys");
        match self.list_type.as_str() {
            "" if !self.list_map_keys.is_empty() => {
                let text = "must be map if x-kubernetes-list-map-keys is non-empty";
                errors.push(FieldError::required(&path.child("x-kubernetes-list-type"), text));
            }
            "" => {}
            other if !LIST_TYPES.contains(&other) => {
                let path = path.child("x-kubernetes-list-type");
                errors.push(FieldError::not_supported(&path, other, &LIST_TYPES));
            }
            _ if self.r#type != "array" => {
                let text = "must be array if x-kubernetes-list-type is specified";
                errors.push(FieldError::invalid(&path.child("type"), &self.r#type, text));
            }
            "map" if self.list_map_keys.is_empty() => {
                errors.push(FieldError::required(&keys, "must not be empty if x-kubernetes-list-type is map"));
            }
            "map" => {
                let has = |name: &String| self.items.as_ref().is_some_and(|items| items.properties.contains_key(name));
                for (index, name) in self.list_map_keys.iter().enumerate().filter(|(_, name)| !has(name)) {
                    let text = "must be a property of the items";
                    errors.push(FieldError::invalid(&keys.index(index), name, text));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(schema: &Value, expected: &[&str]) {
        let errors = Schema::of(schema).expect("a schema").flaws(&Path::new("s"), &mut ALL_PATTERNS.clone());
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(texts, expected);
    }

    /// `schema` is that of field `x`.
    #[track_caller]
    fn check_field(schema: &Value, expected: &[&str]) {
        check(&json!({ "type": "object", "properties": { "x": schema, "metadata": {} } }), expected);
    }

    #[test]
    fn every_value_has_a_type() {
        check(&json!({ "type": "object" }), &[]);
        check(&json!({}), &["s.type: Required value: must not be empty at the root"]);
        check(&json!({ "x-kubernetes-preserve-unknown-fields": true }), &[]);
        check(&json!({ "type": "array" }), &[r#"s.type: Invalid value: "array": must be object at the root"#]);
        check_field(
            &json!({}),
            &["s.properties[x].type: Required value: must not be empty for specified object fields"],
        );
        check_field(
            &json!({ "type": "array", "items": {} }),
            &["s.properties[x].items.type: Required value: must not be empty for specified array items"],
        );
        check_field(&json!({ "type": "array" }), &["s.properties[x].items: Required value: must be specified"]);
        check_field(
            &json!({ "type": "text" }),
            &[
                r#"s.properties[x].type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string""#,
            ],
        );
        check_field(&json!({ "x-kubernetes-int-or-string": true }), &[]);
    }

    /// A definition of 1.5 MB may have more than 25,000 patterns, each of which takes 1 MiB when it is compiled.
    #[test]
    fn patterns_have_a_limit_together() {
        let field = |pattern: &str| json!({ "type": "string", "pattern": pattern });
        let schema = |pattern: &str, count: usize| {
            let fields: serde_json::Map<String, Value> =
                (0..count).map(|index| (format!("f{index:05}"), field(pattern))).collect();
            json!({ "type": "object", "properties": fields })
        };
        check(&schema(r"^[\w.-]{1,253}(/[\w-]+)*$", 200), &[]);
        let large = r"^[\pL\pN]{20}$";
        check(&schema(large, 3), &[]);
        let flaws =
            Schema::of(&schema(large, 20_000)).expect("a schema").flaws(&Path::new("s"), &mut ALL_PATTERNS.clone());
        assert_eq!(flaws.len(), 1, "{flaws:?}");
        assert!(flaws[0].to_string().ends_with(": Forbidden: the patterns of the definition are too large together"));
        // Those of combinations, too.
        let combined = json!({ "type": "object", "properties": { "x": {
            "type": "string", "allOf": vec![json!({ "not": { "pattern": large } }); 1000],
        } } });
        let flaws = Schema::of(&combined).expect("a schema").flaws(&Path::new("s"), &mut ALL_PATTERNS.clone());
        assert_eq!(flaws.len(), 1, "{flaws:?}");
        let flaws = Schema::of(&schema(r"^[\pL\pN]{1000}$", 20_000)).expect("a schema");
        assert!(flaws.flaws(&Path::new("s"), &mut ALL_PATTERNS.clone()).len() <= ALL_PATTERNS / LARGEST);
    }

    #[test]
    fn unsupported_schemas_are_refused() {
        check_field(&json!({ "type": "object", "properties": {}, "additionalProperties": { "type": "string" } }), &[]);
        check_field(
            &json!({ "type": "object", "properties": { "a": { "type": "string" } }, "additionalProperties": { "type": "string" } }),
            &[
                "s.properties[x].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
            ],
        );
        check_field(
            &json!({ "type": "array", "items": { "type": "object" }, "x-kubernetes-list-type": "map" }),
            &[
                "s.properties[x].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
            ],
        );
        check_field(
            &json!({ "type": "integer", "default": "one" }),
            &[
                r#"s.properties[x].default: Invalid value: "string": s.properties[x].default in body must be of type integer: "string""#,
            ],
        );
        let schema =
            json!({ "type": "string", "pattern": "(", "x-kubernetes-validations": [{ "rule": "self >" }, {}] });
        let schema = json!({ "type": "object", "properties": { "x": schema } });
        let errors = Schema::of(&schema).expect("a schema").flaws(&Path::new("s"), &mut ALL_PATTERNS.clone());
        let heads = [
            r#"s.properties[x].pattern: Invalid value: "(": must be a valid regular expression, but isn't: "#,
            r#"s.properties[x].x-kubernetes-validations[0].rule: Invalid value: "self >": compilation failed: "#,
            "s.properties[x].x-kubernetes-validations[1].rule: Required value: rule is not specified",
        ];
        assert_eq!(errors.len(), heads.len(), "{errors:?}");
        for (error, head) in errors.iter().zip(heads) {
            assert!(error.to_string().starts_with(head), "{error}");
        }
    }
}
