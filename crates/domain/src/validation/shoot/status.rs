// SPDX-License-Identifier: Apache-2.0
//! Validation of a Shoot's status.

use std::collections::BTreeSet;

use api::core::*;
use apimachinery::field::{FieldError, Path};

use super::super::Errors;
use super::super::network::Cidr;
use super::differences::keep;

/// Checks a changed status: identities are immutable, addresses are https URLs, networks are valid.
pub fn shoot_status_update(new: &Shoot, old: &Shoot) -> Errors {
    let (new, old) = (&new.status, &old.status);
    let mut errors = Errors::new();
    let path = Path::new("status");
    if !old.uid.is_empty() {
        keep(&mut errors, &new.uid, &old.uid, &path, "uid");
    }
    if !old.technical_id.is_empty() {
        keep(&mut errors, &new.technical_id, &old.technical_id, &path, "technicalID");
    }
    if old.cluster_identity.is_some() {
        keep(&mut errors, &new.cluster_identity, &old.cluster_identity, &path, "clusterIdentity");
    }
    let mut names = BTreeSet::new();
    for (index, address) in new.advertised_addresses.iter().enumerate() {
        let path = path.child("advertisedAddresses").index(index);
        if address.name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), "field must not be empty"));
        } else if names.insert(&address.name) {
            url(&mut errors, &address.url, &path.child("url"));
        } else {
            errors.push(FieldError::duplicate(&path.child("name"), &address.name));
        }
    }
    if let Some(networking) = &new.networking {
        let path = path.child("networking");
        let lists = [
            ("nodes", &networking.nodes),
            ("pods", &networking.pods),
            ("services", &networking.services),
            ("egressCIDRs", &networking.egress_cid_rs),
        ];
        for (field, list) in lists {
            for (index, text) in list.iter().enumerate() {
                let cidr = Cidr::new(text, path.child(field).index(index));
                cidr.check_parse(&mut errors);
                cidr.check_canonical(&mut errors);
            }
        }
    }
    errors
}

fn url(errors: &mut Errors, url: &str, path: &Path) {
    const FORM: &str = "; desired format: https://host[:port]";
    let mut invalid = |value: &str, text: &str| {
        errors.push(FieldError::invalid(path, value, &format!("{text}{FORM}")));
    };
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = if scheme.is_empty() { "" } else { rest.split('/').next().unwrap_or_default() };
    let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    if scheme != "https" {
        invalid(scheme, "'https' is the only allowed URL scheme");
    }
    if host.is_empty() {
        invalid(host, "host must be provided");
    }
    if let Some(user) = user {
        invalid(user, "user information is not permitted in the URL");
    }
    if !fragment.is_empty() {
        invalid(fragment, "fragments are not permitted in the URL");
    }
    if !query.is_empty() {
        invalid(query, "query parameters are not permitted in the URL");
    }
}
