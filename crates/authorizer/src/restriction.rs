// SPDX-License-Identifier: Apache-2.0
//! Admission of objects that gardenlets and extensions write in the garden.
//!
//! Unlike upstream, where a webhook of gardener-admission-controller decides; here the server does, so that the
//! restriction is effective whether or not that process runs. The texts are those of the webhook.

use api::cluster;
use api::constants::namespace;
use api::core::{BackupBucket, BackupEntry, Seed};
use api::kubernetes::coordination::Lease;
use api::operations::Bastion;
use apimachinery::Status;
use domain::rbac::seed::{WrittenObject, identity, restrict};
use generic_apiserver::{Attributes, Operation, Plugin, Reads};

use crate::Rbac;

/// Admission plugin that checks writes of a seed's client.
#[derive(Debug)]
pub(crate) struct SeedRestriction(pub(crate) Rbac);

impl Plugin for SeedRestriction {
    fn name(&self) -> &'static str {
        "SeedRestriction"
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Result<(), Status> {
        let request = attributes.request;
        if *request.cluster != *cluster::GARDEN || !request.subresource.is_empty() {
            return Ok(());
        }
        let groups: Vec<&str> = request.user.groups.iter().map(|group| &**group).collect();
        let Some(who) = identity(&request.user.name, &groups) else { return Ok(()) };
        let registers = attributes.is::<Lease>() && attributes.namespace == namespace::INSTANCES;
        if registers && request.user.component.is_some() {
            return Ok(());
        }
        let seed_name = attributes
            .object::<BackupBucket>()
            .map(|bucket| bucket.spec.seed_name.clone())
            .or_else(|| attributes.object::<BackupEntry>().map(|entry| entry.spec.seed_name.clone()))
            .or_else(|| attributes.object::<Bastion>().map(|bastion| bastion.spec.seed_name.clone()))
            .flatten();
        let bucket_name = attributes.object::<BackupEntry>().map(|entry| entry.spec.bucket_name.clone());
        let seed_uid = reads.get::<Seed>("", who.seed).map(|seed| seed.metadata.uid.clone());
        let written = WrittenObject {
            is_new: attributes.operation == Operation::Create,
            is_deletion: attributes.operation == Operation::Delete,
            group: &attributes.resource.group,
            plural: &attributes.resource.resource,
            namespace: attributes.namespace,
            name: attributes.name,
            seed_name: seed_name.as_deref(),
            bucket_name: bucket_name.as_deref().unwrap_or_default(),
            seed_uid: seed_uid.as_deref().unwrap_or_default(),
        };
        self.0
            .relations(|relations| restrict(who, &written, relations))
            .map_err(|text| Status::failure(403, "Forbidden", text))
    }
}
