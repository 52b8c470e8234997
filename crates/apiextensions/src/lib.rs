// SPDX-License-Identifier: Apache-2.0
//! CustomResourceDefinitions as pure functions: their kinds, the schemas and defaults of objects, and validation.
//!
//! ```text
//! tree of a CustomResourceDefinition ─▶ Definition ─┬▶ violations, conflicts of names, conditions
//!                                                   └▶ CustomVersion: a row of a catalogue, schema trees, Schema
//! tree of an object + Schema ─▶ defaults ─▶ violations, those of CEL rules among them
//! ```
//!
//! **Tour.** [`definition`] the object itself; [`schema`] structural OpenAPI v3; `structural` its validation;
//! [`version`] the data with which a server serves a version; `defaults`, `validation` and `rules` process objects.
//! `rule` compiles a rule. Cost of rules: `cost` estimates it for a definition, `metering` limits it for an object;
//! `declared` has the sizes that a schema allows. [`expression`] evaluates expressions outside of definitions.
//!
//! **Invariants.** No input panics. The served form of a definition depends on its specification only: two equal
//! specifications are served by one row.
//!
//! **Deliberately absent.** Serving: `host` runs a server with these rows behind its own. Conversion by webhooks:
//! versions differ in their name only.
//!
//! Source: k8s.io/apiextensions-apiserver, k8s.io/kube-openapi pkg/validation.

mod cost;
mod declared;
mod defaults;
pub mod definition;
pub mod expression;
mod intern;
mod metering;
mod pattern;
mod rule;
mod rules;
pub mod schema;
mod structural;
mod text;
mod validation;
pub mod version;

pub use definition::{Conflict, Definition};
pub use expression::{Argument, Expression, ExpressionError};
pub use intern::intern;
pub use rule::Rule;
pub use schema::Schema;
pub use version::CustomVersion;
