// SPDX-License-Identifier: Apache-2.0
//! The Gardener kinds, and the parts of Kubernetes' own kinds that Terrarium reads.
//!
//! One Rust struct per upstream struct, one file per kind; one table, [`catalogue`], of everything that is served.
//!
//! **Invariants.** No behaviour beyond encoding, schema and trivial accessors: defaults, validation and rules are in
//! `domain`. Field order is the order in which fields are served. A struct holds no `apiVersion` and `kind`.
#![expect(missing_docs, reason = "the fields are upstream's public API under upstream's names")]

pub mod authentication;
pub mod core;
pub mod core_v1;
mod encoding;
pub mod extensions;
pub mod kubernetes;
pub mod machine;
pub mod operations;
pub mod operator;
pub mod security;
pub mod seedmanagement;
pub mod settings;

/// Makes a struct with a field `metadata` a kind.
macro_rules! impl_resource {
    ($type:ty, $group:literal, $version:literal, $kind:literal, $plural:literal, $namespaced:literal) => {
        impl apimachinery::Resource for $type {
            const GROUP: &'static str = $group;
            const VERSION: &'static str = $version;
            const KIND: &'static str = $kind;
            const PLURAL: &'static str = $plural;
            const NAMESPACED: bool = $namespaced;

            fn metadata(&self) -> &apimachinery::meta::ObjectMeta {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut apimachinery::meta::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}
pub(crate) use impl_resource;
