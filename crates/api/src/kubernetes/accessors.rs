// SPDX-License-Identifier: Apache-2.0
//! Short ways to what the annotations of Kubernetes and machine-controller-manager say.

use std::str::FromStr;

use apimachinery::meta::ObjectMeta;

use crate::constants::annotation;

/// The value of an annotation, if it is there and parses.
pub fn parsed_annotation<T: FromStr>(metadata: &ObjectMeta, key: &str) -> Option<T> {
    metadata.annotation(key)?.parse().ok()
}

/// Revision of a Deployment or MachineDeployment, or of a set of one; 0 without one that is a number.
pub fn deployment_revision(metadata: &ObjectMeta) -> i64 {
    parsed_annotation(metadata, annotation::DEPLOYMENT_REVISION).unwrap_or(0)
}
