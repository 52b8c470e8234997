// SPDX-License-Identifier: Apache-2.0
//! Admission plugins of the host: those that Kubernetes' API server has under the same names, and `SeedLeases`.
//!
//! A plugin reads the objects that a rule needs and applies it; the rules are in `domain`.

mod default_storage_class;
mod limits;
mod pods;
pub(crate) mod resource_quotas;
mod seed_leases;
mod service_addresses;
mod signer_rights;
mod subject_restriction;

use authorizer::Rbac;
use generic_apiserver::Builder;

use crate::clusters::networks::Networks;
use crate::time::heartbeats::Heartbeats;

/// Adds the plugins, in the order in which they are called. `rbac`: authorizer of mode RBAC; `None` in other modes.
pub(crate) fn attach(builder: Builder, rbac: Option<Rbac>, networks: Networks, heartbeats: Heartbeats) -> Builder {
    builder
        .admission(limits::LimitRanger)
        .admission(pods::PodAdmission)
        .admission(subject_restriction::SubjectRestriction)
        .admission(signer_rights::SignerRights(rbac))
        .admission(default_storage_class::DefaultStorageClass)
        .admission(service_addresses::ServiceAddresses(networks))
        .admission(seed_leases::SeedLeases(heartbeats))
        .admission(resource_quotas::ResourceQuotas)
}
