// SPDX-License-Identifier: Apache-2.0
//! Names of CloudProfiles and NamespacedCloudProfiles.

use api::core::Shoot;
use domain::cloud_profile::{self, NAMESPACED_CLOUD_PROFILE};

/// Reference of a Shoot to a profile.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProfileKey {
    /// Namespace of a NamespacedCloudProfile; `None`: it is a CloudProfile.
    pub namespace: Option<String>,
    /// Name of the profile.
    pub name: String,
}

impl ProfileKey {
    /// Returns the profile of a Shoot.
    pub fn of(shoot: &Shoot) -> Self {
        let reference = cloud_profile::reference(&shoot.spec);
        let is_namespaced = reference.as_ref().is_some_and(|reference| reference.kind == NAMESPACED_CLOUD_PROFILE);
        Self {
            namespace: is_namespaced.then(|| shoot.metadata.namespace.clone()),
            name: reference.map(|reference| reference.name).unwrap_or_default(),
        }
    }

    /// Formats the key as `NAME` or `NAMESPACE/NAME`.
    pub fn shown(&self) -> String {
        match &self.namespace {
            None => self.name.clone(),
            Some(namespace) => format!("{namespace}/{}", self.name),
        }
    }
}

/// Formats the key as `CloudProfile "aws"`.
impl std::fmt::Display for ProfileKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.namespace {
            None => write!(f, "CloudProfile {:?}", self.name),
            Some(namespace) => write!(f, "NamespacedCloudProfile \"{namespace}/{}\"", self.name),
        }
    }
}
