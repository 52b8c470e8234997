// SPDX-License-Identifier: Apache-2.0
//! Kinds of Gardener, and the parts of Kubernetes' own kinds that Terrarium reads.
//!
//! One Rust struct per upstream struct, one file per kind; [`catalogue`] is the table of all served resources; [`constants`]
//! holds keys and values of string type.
//!
//! **Invariants.** No behaviour beyond encoding, schema and trivial accessors: defaults, validation and rules are in `domain`.
//! Field order is the order in which fields are served. A struct holds no `apiVersion` and `kind`.
#![expect(missing_docs, reason = "the fields are upstream's public API under upstream's names")]

pub mod authentication;
pub mod catalogue;
pub mod cluster;
pub mod configuration;
pub mod constants;
pub mod core;
pub mod core_v1;
pub mod extensions;
mod joined;
pub mod kubernetes;
pub mod machine;
pub mod operations;
pub mod operator;
pub(crate) mod protobuf;
pub mod resources;
pub mod security;
pub mod seedmanagement;
pub mod settings;
pub mod terrarium;

#[doc(hidden)]
pub use self::joined::bytes_of;

/// Import path of the Go package that a module of this crate mirrors.
pub(crate) fn go_package(module: &str) -> &'static str {
    let mut segments = module.split("::").skip(1);
    match (segments.next().unwrap_or_default(), segments.next().unwrap_or_default()) {
        ("authentication", _) => "github.com/gardener/gardener/pkg/apis/authentication/v1alpha1",
        ("core", _) => "github.com/gardener/gardener/pkg/apis/core/v1beta1",
        ("core_v1", _) => "github.com/gardener/gardener/pkg/apis/core/v1",
        ("extensions", _) => "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1",
        ("machine", _) => "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1",
        ("operations", _) => "github.com/gardener/gardener/pkg/apis/operations/v1alpha1",
        ("operator", _) => "github.com/gardener/gardener/pkg/apis/operator/v1alpha1",
        ("resources", _) => "github.com/gardener/gardener/pkg/apis/resources/v1alpha1",
        ("security", _) => "github.com/gardener/gardener/pkg/apis/security/v1alpha1",
        ("seedmanagement", _) => "github.com/gardener/gardener/pkg/apis/seedmanagement/v1alpha1",
        ("settings", _) => "github.com/gardener/gardener/pkg/apis/settings/v1alpha1",
        ("kubernetes", "apps") => "k8s.io/api/apps/v1",
        ("kubernetes", "autoscaling") => "k8s.io/api/autoscaling/v1",
        ("kubernetes", "coordination") => "k8s.io/api/coordination/v1",
        ("kubernetes", "networking") => "k8s.io/api/networking/v1",
        ("kubernetes", "rbac") => "k8s.io/api/rbac/v1",
        ("kubernetes", _) => "k8s.io/api/core/v1",
        _ => "terrarium.dev/apis/terrarium/v1alpha1",
    }
}

/// Implements `Resource` for a struct with a field `metadata`.
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
