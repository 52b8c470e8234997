// SPDX-License-Identifier: Apache-2.0
//! Requests for a kubeconfig: `shoots/adminkubeconfig` and `shoots/viewerkubeconfig`.
//!
//! The API server selects the Shoot's objects from which a kubeconfig is built, and signs its certificate.
//!
//! Source: pkg/apis/authentication/validation/validation.go, pkg/apis/authentication/v1alpha1/defaults_*.go,
//! pkg/apiserver/registry/core/shoot/storage/kubeconfig.go @ v1.120.0.

use api::core::{Shoot, ShootAdvertisedAddress};
use apimachinery::field::{FieldError, Path};
use chrono::TimeDelta;

use super::Errors;
use super::meta::invalid_unquoted;

/// Default validity of a kubeconfig in seconds.
pub const DEFAULT_SECONDS: i64 = 3_600;
/// Minimum validity in seconds.
const MIN_SECONDS: i64 = 600;
/// Maximum validity in seconds; the server's own maximum shortens it silently.
const MAX_SECONDS: i64 = u32::MAX as i64;

/// Name of the advertised address whose certificate is signed by a public authority.
pub const WILDCARD_ADDRESS: &str = "wildcard-tls-seed-bound";

/// Checks a defaulted request for a kubeconfig; `seconds`: requested validity.
pub fn request(seconds: i64) -> Errors {
    let path = Path::new("spec").child("expirationSeconds");
    let mut errors = Errors::new();
    if seconds < MIN_SECONDS {
        errors.push(FieldError::invalid(&path, seconds, "may not specify a duration less than 10 minutes"));
    }
    if seconds > MAX_SECONDS {
        errors.push(FieldError::too_long(&path, usize::try_from(MAX_SECONDS).unwrap_or(usize::MAX)));
    }
    errors
}

/// Returns the validity of a kubeconfig: the requested one, but no longer than the server's maximum (none if it is zero
/// or less).
pub fn lasts(seconds: i64, maximum: TimeDelta) -> TimeDelta {
    let asked = TimeDelta::seconds(seconds.min(MAX_SECONDS));
    if maximum > TimeDelta::zero() { asked.min(maximum) } else { asked }
}

/// Returns the advertised addresses of a Shoot's API server, in their order.
///
/// # Errors
/// There is no such address yet.
pub fn addresses(shoot: &Shoot) -> Result<Vec<&ShootAdvertisedAddress>, FieldError> {
    let all = &shoot.status.advertised_addresses;
    let is_api_server = |address: &&ShootAdvertisedAddress| {
        matches!(address.name.as_str(), "external" | "internal" | "unmanaged" | WILDCARD_ADDRESS)
    };
    let usable: Vec<_> = all.iter().filter(is_api_server).collect();
    if !usable.is_empty() {
        return Ok(usable);
    }
    let dump = if all.is_empty() {
        "[]core.ShootAdvertisedAddress(nil)".to_owned()
    } else {
        let each = |one: &ShootAdvertisedAddress| {
            format!("core.ShootAdvertisedAddress{{Name:{:?}, URL:{:?}}}", one.name, one.url)
        };
        let each: Vec<_> = all.iter().map(each).collect();
        format!("[]core.ShootAdvertisedAddress{{{}}}", each.join(", "))
    };
    let detail = "no suitable advertised address for kube-apiserver found in .status.advertisedAddresses";
    Err(invalid_unquoted(&Path::new("status").child("status"), &dump, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requested seconds, the server's maximum in hours, and the resulting validity or the error.
    #[test]
    fn the_requested_validity_has_bounds() {
        const TOO_SHORT: &str = "may not specify a duration less than 10 minutes";
        for (seconds, hours, expected) in [
            (599, 24, Err(format!("spec.expirationSeconds: Invalid value: 599: {TOO_SHORT}"))),
            (-1, 24, Err(format!("spec.expirationSeconds: Invalid value: -1: {TOO_SHORT}"))),
            (600, 24, Ok(600)),
            (3_600, 24, Ok(3_600)),
            (86_400, 24, Ok(86_400)),
            (86_401, 24, Ok(86_400)),
            (86_401, 0, Ok(86_401)),
            (4_294_967_295, 24, Ok(86_400)),
            (
                4_294_967_296,
                24,
                Err("spec.expirationSeconds: Too long: may not be more than 4294967295 bytes".to_owned()),
            ),
        ] {
            let errors = request(seconds);
            let outcome = match errors.first() {
                Some(error) => Err(error.to_string()),
                None => Ok(lasts(seconds, TimeDelta::hours(hours)).num_seconds()),
            };
            assert_eq!(outcome, expected, "{seconds}");
        }
    }

    #[test]
    fn only_addresses_of_the_api_server_count() {
        let shoot = |names: &[&str]| {
            let mut shoot = Shoot::default();
            let address = |name: &&str| ShootAdvertisedAddress {
                name: (*name).to_owned(),
                url: "https://x".to_owned(),
                ..ShootAdvertisedAddress::default()
            };
            shoot.status.advertised_addresses = names.iter().map(address).collect();
            shoot
        };
        let both = shoot(&["external", "service-account-issuer", "internal"]);
        let names: Vec<_> = addresses(&both).expect("two").iter().map(|address| address.name.clone()).collect();
        assert_eq!(names, ["external", "internal"]);
        let why = |names: &[&str]| addresses(&shoot(names)).expect_err("none").to_string();
        assert_eq!(
            why(&[]),
            "status.status: Invalid value: []core.ShootAdvertisedAddress(nil): no suitable advertised address for \
             kube-apiserver found in .status.advertisedAddresses"
        );
        assert_eq!(
            why(&["service-account-issuer"]),
            "status.status: Invalid value: []core.ShootAdvertisedAddress{core.ShootAdvertisedAddress{\
             Name:\"service-account-issuer\", URL:\"https://x\"}}: no suitable advertised address for kube-apiserver \
             found in .status.advertisedAddresses"
        );
    }
}
