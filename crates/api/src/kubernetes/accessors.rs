// SPDX-License-Identifier: Apache-2.0
//! Accessors of annotations of Kubernetes and machine-controller-manager.

use std::str::FromStr;

use apimachinery::meta::ObjectMeta;

use crate::constants::annotation;

/// Value of an annotation; `None` if it is absent or does not parse.
pub fn parsed_annotation<T: FromStr>(metadata: &ObjectMeta, key: &str) -> Option<T> {
    metadata.annotation(key)?.parse().ok()
}

/// Revision of a Deployment or MachineDeployment, or of one of its sets; 0 if absent or not a number.
pub fn deployment_revision(metadata: &ObjectMeta) -> i64 {
    parsed_annotation(metadata, annotation::DEPLOYMENT_REVISION).unwrap_or(0)
}
