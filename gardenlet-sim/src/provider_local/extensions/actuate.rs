// SPDX-License-Identifier: Apache-2.0
//! Effects of the extension kinds in addition to their last operation.

use std::collections::BTreeMap;

use api::constants::{annotation, api_version};
use api::extensions::{
    CloudConfig, ControlPlane, DNSRecord, InPlaceUpdatesStatus, Infrastructure, InfrastructureStatusNetworking,
    Network, OSUpdate, OperatingSystemConfig,
};
use api::kubernetes::core::{Secret, SecretReference};
use api::kubernetes::storage::StorageClass;
use apimachinery::Resource;
use apimachinery::meta::{ByteString, ObjectMeta, OwnerReference, RawExtension};
use controller::{Api, Error};
use serde_json::json;

use super::super::provider::Provider;

/// Default node network, for a shoot that does not specify one.
const NODES_CIDR: &str = "10.250.0.0/16";

pub(super) async fn infrastructure(infrastructure: &mut Infrastructure, provider: &Provider) -> Result<(), Error> {
    let shoot = provider.shoot(&infrastructure.metadata.namespace);
    let networking = shoot.as_ref().and_then(|shoot| shoot.spec.networking.as_ref());
    let list = |value: Option<&String>| value.into_iter().cloned().collect::<Vec<_>>();
    let nodes = networking.and_then(|networking| networking.nodes.clone()).unwrap_or_else(|| NODES_CIDR.to_owned());
    let type_ = &infrastructure.spec.r#type;
    infrastructure.status.provider_status = Some(RawExtension::from(json!({
        "apiVersion": format!("{type_}{}", api_version::PROVIDER_SUFFIX),
        "kind": "InfrastructureStatus",
    })));
    infrastructure.status.networking = Some(InfrastructureStatusNetworking {
        pods: list(networking.and_then(|networking| networking.pods.as_ref())),
        services: list(networking.and_then(|networking| networking.services.as_ref())),
        nodes: vec![nodes.clone()],
    });
    infrastructure.status.nodes_cidr = Some(nodes);
    Ok(())
}

/// Deploys the default StorageClass into the shoot's cluster.
///
/// Source: pkg/provider-local/charts/shoot-storageclasses @ v1.120.0.
pub(super) async fn control_plane(control_plane: &mut ControlPlane, provider: &Provider) -> Result<(), Error> {
    if control_plane.spec.purpose.as_deref() == Some("exposure") {
        return Ok(());
    }
    let mut class = StorageClass {
        metadata: ObjectMeta::named("", "default"),
        provisioner: "rancher.io/local-path".to_owned(),
        reclaim_policy: Some("Delete".to_owned()),
        volume_binding_mode: Some("WaitForFirstConsumer".to_owned()),
        ..StorageClass::default()
    };
    for (key, value) in [(annotation::DEFAULT_STORAGE_CLASS, "true"), ("defaultVolumeType", "local")] {
        class.metadata.annotations.insert(key.to_owned(), value.to_owned());
    }
    let classes = Api::<StorageClass>::all(&provider.context, &control_plane.metadata.namespace);
    match classes.create_or_update(&class).await {
        // A hibernated shoot may have no cluster yet.
        Err(error) if error.is_not_found() => Ok(()),
        other => other.map(drop),
    }
}

/// Reports the user data of purpose `provision` as a Secret; the files and units of `reconcile` are those of the
/// specification.
pub(super) async fn operating_system_config(
    config: &mut OperatingSystemConfig,
    provider: &Provider,
) -> Result<(), Error> {
    // A node that is updated in place rewrites the version of its operating system.
    config.status.in_place_updates = config.spec.in_place_updates.as_ref().map(|updates| {
        let version = &updates.operating_system_version;
        let script = format!("s/^PRETTY_NAME=.*/PRETTY_NAME=\"Machine Image Version {version}\"/");
        let args = vec!["-i".to_owned(), "-E".to_owned(), script, "/etc/os-release".to_owned()];
        InPlaceUpdatesStatus { os_update: Some(OSUpdate { command: "sed".to_owned(), args }) }
    });
    if config.spec.purpose != "provision" {
        return Ok(());
    }
    let (namespace, name) = (&config.metadata.namespace, format!("osc-result-{}", config.metadata.name));
    let mut metadata = ObjectMeta::named(namespace, &name);
    metadata.owner_references = vec![OwnerReference {
        api_version: OperatingSystemConfig::api_version(),
        kind: OperatingSystemConfig::KIND.to_owned(),
        name: config.metadata.name.clone(),
        uid: config.metadata.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }];
    let files: Vec<&str> = config.spec.files.iter().map(|file| file.path.as_str()).collect();
    let user_data = format!("#!/bin/bash\n# {} {}\n", config.spec.r#type, files.join(" "));
    let data = BTreeMap::from([("cloud_config".to_owned(), ByteString(user_data.into_bytes()))]);
    let secret = Secret { metadata, data, r#type: "Opaque".to_owned(), ..Secret::default() };
    provider.seed_api::<Secret>(namespace).create_or_update(&secret).await?;
    let secret_ref = SecretReference { name, namespace: namespace.clone() };
    config.status.cloud_config = Some(CloudConfig { secret_ref });
    Ok(())
}

pub(super) async fn network(network: &mut Network, _: &Provider) -> Result<(), Error> {
    network.status.ip_families.clone_from(&network.spec.ip_families);
    Ok(())
}

pub(super) async fn dns_record(record: &mut DNSRecord, _: &Provider) -> Result<(), Error> {
    // Without a zone, the provider selects the one with the longest common suffix; here it is the parent domain.
    let parent = record.spec.name.split_once('.').map(|(_, parent)| parent.to_owned());
    record.status.zone = record.spec.zone.clone().or(parent);
    Ok(())
}
