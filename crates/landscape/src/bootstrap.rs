// SPDX-License-Identifier: Apache-2.0
//! Initial objects of a landscape, as an operator creates them.

use api::cluster;
use api::constants::{annotation, label, role};
use api::core::ControllerRegistration;
use api::core_v1::ControllerDeployment;
use api::kubernetes::core::{Namespace, Secret};
use api::terrarium::{Cluster, ClusterSpec};
use apimachinery::Resource;
use apimachinery::meta::ObjectMeta;
use controller::{Api, ListOptions};
use domain::admission::extensions::is_rival;
use process::Context;

use crate::extensions::EXTENSIONS;
use crate::failure::Failure;
use crate::options::{DEFAULT_DOMAIN, INTERNAL_DOMAIN, Options};

/// Creates all initial objects.
pub async fn prepare(admin: &Context, options: &Options) -> Result<(), Failure> {
    prepare_clusters(admin, options).await?;
    prepare_extensions(admin, options).await
}

/// Creates the clusters, the namespace `garden` and the domain secrets: the objects that do not need
/// gardener-apiserver.
pub async fn prepare_clusters(admin: &Context, options: &Options) -> Result<(), Failure> {
    let seeds = options.seeds.iter().map(|seed| {
        let networks = &seed.spec.networks;
        (cluster::of_seed(&seed.metadata.name), networks.pods.clone(), networks.services.clone())
    });
    let garden = (cluster::GARDEN.to_owned(), String::new(), String::new());
    for (name, pod_cidr, service_cidr) in std::iter::once(garden).chain(seeds) {
        let kubernetes_version = options.kubernetes_version.clone();
        let spec = ClusterSpec { kubernetes_version, pod_cidr, service_cidr, ..ClusterSpec::default() };
        create(&Api::all(admin, cluster::RUNTIME), Cluster { metadata: named(&name), spec }).await?;
    }
    create(&Api::all(admin, cluster::GARDEN), Namespace { metadata: named("garden"), ..Default::default() }).await?;
    let secrets = Api::namespaced(admin, cluster::GARDEN, "garden");
    create(&secrets, domain_secret(role::DEFAULT_DOMAIN, DEFAULT_DOMAIN)).await?;
    create(&secrets, domain_secret(role::INTERNAL_DOMAIN, INTERNAL_DOMAIN)).await
}

/// Creates the missing registrations of extensions, except those whose kinds a registration of a user controls.
pub async fn prepare_extensions(admin: &Context, options: &Options) -> Result<(), Failure> {
    let deployments = Api::<ControllerDeployment>::all(admin, cluster::GARDEN);
    let registrations = Api::<ControllerRegistration>::all(admin, cluster::GARDEN);
    let (known, _) = registrations
        .list(&ListOptions::default())
        .await
        .map_err(|error| Failure::Refused("list ControllerRegistrations".to_owned(), error))?;
    for extension in EXTENSIONS {
        let registration = extension.registration();
        // The API server compares only the last type of each kind.
        if let Some(rival) = known.iter().find(|other| is_rival(other, &registration)) {
            tracing::info!(
                extension = extension.name,
                rival = rival.metadata.name,
                "left out: another registration controls its kind and type"
            );
            continue;
        }
        create(&deployments, extension.deployment(&options.gardener_version)).await?;
        create(&registrations, registration).await?;
    }
    Ok(())
}

async fn create<K: Resource>(api: &Api<K>, object: K) -> Result<(), Failure> {
    match api.create(&object).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_already_exists() => Ok(()),
        Err(error) => Err(Failure::Refused(format!("create {} {}", K::KIND, object.metadata().name), error)),
    }
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: name.to_owned(), ..ObjectMeta::default() }
}

fn domain_secret(role: &str, domain: &str) -> Secret {
    let text = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    Secret {
        metadata: ObjectMeta {
            labels: [text((label::ROLE, role))].into(),
            annotations: [text((annotation::DNS_PROVIDER, "local")), text((annotation::DNS_DOMAIN, domain))].into(),
            namespace: "garden".to_owned(),
            ..named(role)
        },
        r#type: "Opaque".to_owned(),
        ..Default::default()
    }
}
