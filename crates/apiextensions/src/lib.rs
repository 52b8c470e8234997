// SPDX-License-Identifier: Apache-2.0
//! What CustomResourceDefinitions say, as pure functions: which kinds they name, what their objects look like, which
//! defaults fill them, and what is wrong with them.
//!
//! ```text
//! tree of a CustomResourceDefinition ─▶ Definition ─┬▶ violations, names that are taken, conditions
//!                                                   └▶ CustomVersion: a row of a catalogue, schema trees, Schema
//! tree of an object + Schema ─▶ defaults ─▶ violations, those of CEL rules among them
//! ```
//!
//! **Tour.** [`definition`] the object itself; [`schema`] OpenAPI v3 as far as a schema is structural; `structural` when
//! it is not; [`version`] what a server needs to serve a version; `defaults`, `validation` and `rules` what happens to
//! objects. Cost of rules: `cost` estimates it for a definition, `metering` limits it for an object; `declared` has the
//! sizes that a schema allows.
//!
//! **Invariants.** No input panics. What is served of a definition depends on its specification alone: two that are equal
//! are served by one row.
//!
//! **Deliberately absent.** Serving: `host` puts a server with these rows behind its own. Conversion by webhooks: versions
//! differ in nothing but their name.
//!
//! Source: k8s.io/apiextensions-apiserver, k8s.io/kube-openapi pkg/validation.

mod cost;
mod declared;
mod defaults;
pub mod definition;
mod intern;
mod metering;
mod pattern;
mod rules;
pub mod schema;
mod structural;
mod text;
mod validation;
pub mod version;

pub use definition::{Conflict, Definition};
pub use intern::intern;
pub use schema::Schema;
pub use version::CustomVersion;
