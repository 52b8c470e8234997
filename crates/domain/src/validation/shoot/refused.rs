// SPDX-License-Identifier: Apache-2.0
//! Fields of a Shoot that are refused from a Kubernetes version on.
//!
//! Source: pkg/apis/core/validation/shoot.go, since v1.137 pkg/api/core/validation/shoot.go, of each release.

use apimachinery::field::{FieldError, Path};

use super::super::Errors;
use crate::release::{Release, Releases};
use crate::versions::Version;

/// Field that is refused by newer Kubernetes versions or newer releases of Gardener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Addons,
    CloudProfileName,
    DefaultWatchCacheSize,
    DnsSecretName,
    EnableAnonymousAuthentication,
    KubeMaxPdVols,
    MaxEmptyBulkDelete,
    OidcClientAuthentication,
    OidcConfig,
    PodEvictionTimeout,
    SecretBindingName,
    SystemReserved,
}

/// Refusal of a field by some releases.
pub(super) struct Refusal {
    field: Field,
    /// Releases that refuse the field with this text.
    releases: Releases,
    /// First minor of Kubernetes 1.x for which the field is refused.
    kubernetes: u64,
    /// Text of the error.
    pub(super) text: &'static str,
    /// True for an error of type Invalid, which has the value; false for Forbidden.
    pub(super) is_invalid: bool,
}

const fn forbidden(field: Field, releases: Releases, kubernetes: u64, text: &'static str) -> Refusal {
    Refusal { field, releases, kubernetes, text, is_invalid: false }
}

const fn invalid(field: Field, releases: Releases, kubernetes: u64, text: &'static str) -> Refusal {
    Refusal { field, releases, kubernetes, text, is_invalid: true }
}

const REFUSALS: &[Refusal] = &[
    invalid(
        Field::OidcClientAuthentication,
        Releases::until(136),
        31,
        "for Kubernetes versions >= 1.31, clientAuthentication field is no longer supported",
    ),
    forbidden(
        Field::OidcClientAuthentication,
        Releases::between(136, 141),
        31,
        "for Kubernetes versions >= 1.31, clientAuthentication field is no longer supported",
    ),
    invalid(
        Field::SystemReserved,
        Releases::until(136),
        31,
        "systemReserved is no longer supported by Gardener starting from Kubernetes 1.31",
    ),
    invalid(
        Field::SystemReserved,
        Releases::since(136),
        31,
        "for Kubernetes versions >= 1.31, systemReserved field is no longer supported",
    ),
    invalid(
        Field::OidcConfig,
        Releases::ALL,
        32,
        "for Kubernetes versions >= 1.32, oidcConfig field is no longer supported",
    ),
    forbidden(
        Field::MaxEmptyBulkDelete,
        Releases::between(121, 136),
        33,
        "is not supported for kubernetes v1.33 and above, use maxScaleDownParallelism instead",
    ),
    forbidden(
        Field::MaxEmptyBulkDelete,
        Releases::since(136),
        33,
        "for Kubernetes versions >= 1.33, maxEmptyBulkDelete field is no longer supported, use maxScaleDownParallelism instead",
    ),
    invalid(
        Field::PodEvictionTimeout,
        Releases::between(122, 136),
        33,
        "podEvictionTimeout is no longer supported by Gardener starting from Kubernetes 1.33",
    ),
    forbidden(
        Field::PodEvictionTimeout,
        Releases::since(136),
        33,
        "for Kubernetes versions >= 1.33, podEvictionTimeout field is no longer supported",
    ),
    forbidden(
        Field::CloudProfileName,
        Releases::between(124, 136),
        34,
        "starting with k8s v1.34, cloudProfileName must not be set. Instead, use spec.cloudProfile.name",
    ),
    forbidden(
        Field::CloudProfileName,
        Releases::since(136),
        34,
        "for Kubernetes version >= 1.34, cloudProfileName field is no longer supported, use spec.cloudProfile.name instead",
    ),
    forbidden(
        Field::SecretBindingName,
        Releases::between(127, 136),
        34,
        "is no longer supported for Kubernetes >= 1.34, use spec.credentialsBindingName instead",
    ),
    forbidden(
        Field::SecretBindingName,
        Releases::since(136),
        34,
        "for Kubernetes versions >= 1.34, secretBindingName field is no longer supported, use spec.credentialsBindingName \
         instead",
    ),
    forbidden(
        Field::EnableAnonymousAuthentication,
        Releases::since(136),
        35,
        "for Kubernetes versions >= 1.35, enableAnonymousAuthentication field is no longer supported",
    ),
    forbidden(
        Field::Addons,
        Releases::since(136),
        35,
        "for Kubernetes versions >= 1.35, addons field is no longer supported",
    ),
    forbidden(
        Field::KubeMaxPdVols,
        Releases::since(136),
        35,
        "for Kubernetes version >= 1.35, kubeMaxPDVols field is no longer supported",
    ),
    forbidden(
        Field::DefaultWatchCacheSize,
        Releases::since(136),
        35,
        "for Kubernetes versions >= 1.35, configuring the default watch cache size is no longer supported",
    ),
    forbidden(
        Field::DnsSecretName,
        Releases::since(139),
        35,
        "for Kubernetes versions >= 1.35, secretName field is no longer supported",
    ),
];

/// Returns the refusal of a field by a release for a Kubernetes version; `None` also for a version that cannot be read.
pub(super) fn refusal(field: Field, version: &str, release: Release) -> Option<&'static Refusal> {
    let version = Version::parse(version).ok()?;
    let applies = |row: &&Refusal| {
        row.field == field && row.releases.contain(release) && (version.major, version.minor) >= (1, row.kubernetes)
    };
    REFUSALS.iter().find(applies)
}

/// Refuses a field that is set, if the release does so for the Kubernetes version, as Forbidden; true if it does.
pub(super) fn refuse(errors: &mut Errors, field: Field, version: &str, release: Release, path: &Path) -> bool {
    let refusal = refusal(field, version, release);
    errors.extend(refusal.map(|refusal| FieldError::forbidden(path, refusal.text)));
    refusal.is_some()
}
