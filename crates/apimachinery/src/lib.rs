// SPDX-License-Identifier: Apache-2.0
//! The object model of Kubernetes.
//!
//! Pure functions on values: metadata, group/version/resource names, `Status` and its reasons, field paths and errors,
//! selectors, quantities, schema trees, decoding directed by them, Go's encoding, and the patches.
//!
//! **Invariants.** No tokio, no HTTP, no clock, no randomness; no noun of Gardener. Nothing here panics on input.
//!
//! **Tour.** [`meta`] the shared types of every kind; [`resource`] the trait of a typed kind, [`object`] of any;
//! [`schema`] the tree that describes a type; [`decode`] bytes to a pruned tree to a typed value; [`encode`] a typed
//! value to the bytes that are stored and served; [`go`] texts in Go's form; [`field`] paths and errors; [`status`]
//! `metav1.Status`; [`selector`] labels and fields; [`wire`] values without their types; [`validation`] the grammars of
//! names and labels; [`fields`] managed fields and server-side apply; [`patch`] JSON, merge and strategic merge patch;
//! [`opaque`] parts of trees that are kept as text; [`dynamic`] objects whose type is known from a schema only.

// `api_type` names this crate as in other crates.
extern crate self as apimachinery;

pub mod catalogue;
pub mod decode;
pub mod dynamic;
pub mod encode;
pub mod field;
pub mod fields;
pub mod fnv;
pub mod go;
mod merge;
pub mod meta;
pub mod object;
pub mod opaque;
pub mod patch;
pub mod release;
pub mod resource;
pub mod schema;
pub mod selector;
pub mod status;
pub mod validation;
pub mod wire;

pub use dynamic::DynamicObject;
pub use object::Object;
pub use resource::{GroupKind, GroupResource, GroupVersionKind, GroupVersionResource, Resource};
pub use status::Status;
