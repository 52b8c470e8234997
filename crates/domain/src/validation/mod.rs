// SPDX-License-Identifier: Apache-2.0
//! Static validation per kind: all violations, in upstream's order (pkg/apis/core/validation @ v1.120.0).
//!
//! Checks that need other objects (is the version in the CloudProfile, does the Seed exist) belong to admission, not
//! validation.

pub mod bindings;
mod capabilities;
mod charts;
pub mod cloud_profile;
pub mod common;
pub mod extensibility;
pub mod garden;
pub mod gardenlet;
pub mod gardenlet_configuration;
mod images;
pub mod kubeconfig;
mod lifecycle;
pub mod meta;
pub mod network;
pub mod objects;
pub mod operator_extension;
pub mod project;
pub mod seed;
pub mod shoot;
mod vertical_pod_autoscaler;
pub mod workload;

use apimachinery::field::FieldError;

/// Violations, in the order in which they are reported.
pub type Errors = Vec<FieldError>;
