// SPDX-License-Identifier: Apache-2.0
//! A structural schema: OpenAPI v3 as CustomResourceDefinitions write it.
//!
//! Source: k8s.io/apiextensions-apiserver pkg/apis/apiextensions/v1/types_jsonschema.go, pkg/apiserver/schema.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value;

use crate::pattern::{LARGEST, Pattern};
use crate::rule::Rule;

/// A schema of values. Fields are those of `JSONSchemaProps`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Schema {
    /// `object`, `array`, `string`, `integer`, `number`, `boolean`; empty: any, if an extension allows it.
    pub r#type: String,
    /// `date-time`, `int32`, …; unknown formats are not checked.
    pub format: String,
    /// Description for clients.
    pub description: String,
    /// True if `null` is allowed.
    pub nullable: bool,
    /// Schemas of the fields, by name.
    pub properties: BTreeMap<String, Schema>,
    /// Values of a map.
    pub additional_properties: Option<Additional>,
    /// Items of a list.
    pub items: Option<Box<Schema>>,
    /// Default of a missing value.
    pub default: Option<Value>,
    /// Names of required fields.
    pub required: Vec<String>,
    /// Allowed values; empty: any.
    pub r#enum: Vec<Value>,
    /// Lower bound.
    pub minimum: Option<f64>,
    /// True if the lower bound itself is excluded.
    pub exclusive_minimum: bool,
    /// Upper bound.
    pub maximum: Option<f64>,
    /// True if the upper bound itself is excluded.
    pub exclusive_maximum: bool,
    /// Divisor of all valid numbers.
    pub multiple_of: Option<f64>,
    /// Minimum length in characters.
    pub min_length: Option<usize>,
    /// Maximum length in characters.
    pub max_length: Option<usize>,
    /// Regular expression that must match a part of the text.
    pub pattern: String,
    /// Minimum number of items of a list.
    pub min_items: Option<usize>,
    /// Maximum number of items of a list.
    pub max_items: Option<usize>,
    /// Minimum number of fields or entries of an object or map.
    pub min_properties: Option<usize>,
    /// Maximum number of fields or entries of an object or map.
    pub max_properties: Option<usize>,
    /// Schemas all of which must match.
    pub all_of: Vec<Schema>,
    /// Schemas at least one of which must match.
    pub any_of: Vec<Schema>,
    /// Schemas exactly one of which must match.
    pub one_of: Vec<Schema>,
    /// Schema that must not match.
    pub not: Option<Box<Schema>>,
    /// True if unknown fields are kept.
    #[serde(rename = "x-kubernetes-preserve-unknown-fields")]
    pub preserve_unknown: bool,
    /// True if the value is a number or a text.
    #[serde(rename = "x-kubernetes-int-or-string")]
    pub int_or_string: bool,
    /// True if the value is an object with `apiVersion`, `kind` and `metadata`.
    #[serde(rename = "x-kubernetes-embedded-resource")]
    pub embedded_resource: bool,
    /// `atomic`, `set`, `map`.
    #[serde(rename = "x-kubernetes-list-type")]
    pub list_type: String,
    /// Fields that identify the items of a list of type `map`.
    #[serde(rename = "x-kubernetes-list-map-keys")]
    pub list_map_keys: Vec<String>,
    /// `atomic`, `granular`.
    #[serde(rename = "x-kubernetes-map-type")]
    pub map_type: String,
    /// CEL rules.
    #[serde(rename = "x-kubernetes-validations")]
    pub rules: Vec<Rule>,
    #[serde(skip)]
    compiled: OnceLock<Option<Pattern>>,
}

/// Schema of fields that `properties` does not name.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Additional {
    /// True: any value is allowed; false: no such fields.
    Any(bool),
    /// Values of this schema.
    Schema(Box<Schema>),
}

impl Schema {
    /// Reads the schema from a tree.
    ///
    /// # Errors
    /// It has fields of wrong types.
    pub fn of(tree: &Value) -> Result<Self, String> {
        Self::deserialize(tree).map_err(|error| error.to_string())
    }

    /// Returns the compiled pattern; `None`: there is none, or it is invalid.
    pub(crate) fn compiled(&self) -> Option<&Pattern> {
        let make = || if self.pattern.is_empty() { None } else { Pattern::compile(&self.pattern, LARGEST).ok() };
        self.compiled.get_or_init(make).as_ref()
    }

    /// Returns the schema of a field, whether it is named or additional.
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or(match &self.additional_properties {
            Some(Additional::Schema(schema)) => Some(schema),
            _ => None,
        })
    }
}
