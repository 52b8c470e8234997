// SPDX-License-Identifier: Apache-2.0
//! A structural schema: OpenAPI v3 as CustomResourceDefinitions write it.
//!
//! Source: k8s.io/apiextensions-apiserver pkg/apis/apiextensions/v1/types_jsonschema.go, pkg/apiserver/schema.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde_json::Value;

use crate::pattern::{LARGEST, Pattern};
use crate::rules::Compiled;

/// What a value has to look like. Fields are those of `JSONSchemaProps`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Schema {
    /// `object`, `array`, `string`, `integer`, `number`, `boolean`; empty: any, where an extension says so.
    pub r#type: String,
    /// `date-time`, `int32`, …; formats that are not known are not checked.
    pub format: String,
    /// What it is.
    pub description: String,
    /// Whether `null` is a value.
    pub nullable: bool,
    /// Schemas of the fields, by name.
    pub properties: BTreeMap<String, Schema>,
    /// Values of a map.
    pub additional_properties: Option<Additional>,
    /// Items of a list.
    pub items: Option<Box<Schema>>,
    /// What stands for a missing value.
    pub default: Option<Value>,
    /// Fields that must be there.
    pub required: Vec<String>,
    /// All values that are allowed; empty: any.
    pub r#enum: Vec<Value>,
    /// Lower bound.
    pub minimum: Option<f64>,
    /// Whether the lower bound itself is too low.
    pub exclusive_minimum: bool,
    /// Upper bound.
    pub maximum: Option<f64>,
    /// Whether the upper bound itself is too high.
    pub exclusive_maximum: bool,
    /// What numbers are multiples of.
    pub multiple_of: Option<f64>,
    /// In characters.
    pub min_length: Option<usize>,
    /// In characters.
    pub max_length: Option<usize>,
    /// A regular expression that matches somewhere.
    pub pattern: String,
    /// Of a list.
    pub min_items: Option<usize>,
    /// Of a list.
    pub max_items: Option<usize>,
    /// Of an object or map.
    pub min_properties: Option<usize>,
    /// Of an object or map.
    pub max_properties: Option<usize>,
    /// Each must be fulfilled.
    pub all_of: Vec<Schema>,
    /// At least one must be fulfilled.
    pub any_of: Vec<Schema>,
    /// Exactly one must be fulfilled.
    pub one_of: Vec<Schema>,
    /// Must not be fulfilled.
    pub not: Option<Box<Schema>>,
    /// Whether unknown fields are kept.
    #[serde(rename = "x-kubernetes-preserve-unknown-fields")]
    pub preserve_unknown: bool,
    /// Whether it is a number or a text.
    #[serde(rename = "x-kubernetes-int-or-string")]
    pub int_or_string: bool,
    /// Whether it is an object with `apiVersion`, `kind` and `metadata`.
    #[serde(rename = "x-kubernetes-embedded-resource")]
    pub embedded_resource: bool,
    /// `atomic`, `set`, `map`.
    #[serde(rename = "x-kubernetes-list-type")]
    pub list_type: String,
    /// Fields that tell items of a list of type `map` apart.
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

/// What other fields than those that are named may be.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Additional {
    /// Anything, or nothing.
    Any(bool),
    /// Values of this schema.
    Schema(Box<Schema>),
}

/// A rule in the Common Expression Language.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Rule {
    /// Expression over `self` and `oldSelf`; must be true.
    pub rule: String,
    /// Text of a violation; empty: the rule itself.
    pub message: String,
    /// Expression that makes the text.
    pub message_expression: String,
    /// `FieldValueInvalid` (empty stands for it), `FieldValueForbidden`, `FieldValueRequired`, `FieldValueDuplicate`.
    pub reason: String,
    /// The field that is wrong, from where the rule stands: `.spec.replicas`.
    pub field_path: String,
    /// Whether the rule holds for new values, too, though it speaks of old ones.
    pub optional_old_self: bool,
    #[serde(skip)]
    pub(crate) compiled: OnceLock<Result<Arc<Compiled>, String>>,
}

impl Schema {
    /// The schema of a tree.
    ///
    /// # Errors
    /// It has fields of wrong types.
    pub fn of(tree: &Value) -> Result<Self, String> {
        Self::deserialize(tree).map_err(|error| error.to_string())
    }

    /// The pattern; `None`: there is none that could be used.
    pub(crate) fn compiled(&self) -> Option<&Pattern> {
        let make = || if self.pattern.is_empty() { None } else { Pattern::compile(&self.pattern, LARGEST).ok() };
        self.compiled.get_or_init(make).as_ref()
    }

    /// The schema of a field, one among others or one that is named.
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or(match &self.additional_properties {
            Some(Additional::Schema(schema)) => Some(schema),
            _ => None,
        })
    }
}
