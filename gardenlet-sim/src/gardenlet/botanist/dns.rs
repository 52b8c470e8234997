// SPDX-License-Identifier: Apache-2.0
//! Domains and DNSRecords.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::constants::{annotation, label, role};
use api::core::Shoot;
use api::extensions::{DNSRecord, DNSRecordSpec};
use api::kubernetes::core::{Secret, SecretReference};
use apimachinery::meta::{ByteString, ObjectMeta};
use chrono::TimeDelta;
use controller::Error;

use super::super::flow::effect::Dns;
use super::super::shared::{GARDEN, Gardenlet, domain_secrets};
use super::{Botanist, Failure, delete};

/// Provider of a domain whose records Gardener does not write.
const UNMANAGED: &str = "unmanaged";

/// A domain of the landscape, from a Secret in namespace `garden`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Domain {
    /// Value of annotation `dns.gardener.cloud/provider`.
    pub(crate) provider: String,
    /// Value of annotation `dns.gardener.cloud/domain`.
    pub(crate) name: String,
    /// Value of annotation `dns.gardener.cloud/zone`.
    pub(crate) zone: Option<String>,
    /// Credentials of the DNS provider, as the Secret has them.
    pub(crate) data: BTreeMap<String, ByteString>,
}

impl Domain {
    fn is_managed(&self) -> bool {
        self.provider != UNMANAGED
    }
}

/// Domains under which a Shoot is published.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Domains {
    /// The landscape's internal domain.
    pub(crate) internal: Option<Domain>,
    /// Domain of `spec.dns`, if Gardener manages it.
    pub(crate) external: Option<Domain>,
}

impl Domains {
    /// Reads the landscape's domains and selects the Shoot's.
    pub(crate) async fn read(gardenlet: &Gardenlet, shoot: &Shoot, is_fresh: bool) -> Result<Self, Error> {
        let secrets: Vec<Arc<Secret>> = if is_fresh {
            let (secrets, _) = gardenlet.garden::<Secret>("garden").list(&domain_secrets()).await?;
            secrets.into_iter().map(Arc::new).collect()
        } else {
            gardenlet.stores.domain_secrets.list()
        };
        let of_role = |role: &'static str| {
            let has_role = move |secret: &&Arc<Secret>| secret.metadata.label(label::ROLE) == Some(role);
            secrets.iter().filter(has_role).filter_map(|secret| domain(secret))
        };
        let internal = of_role(role::INTERNAL_DOMAIN).next();
        let dns = shoot.spec.dns.as_ref();
        let wanted = dns.and_then(|dns| dns.domain.as_deref());
        let external = wanted.and_then(|wanted| {
            let own = dns.into_iter().flat_map(|dns| &dns.providers).find(|provider| provider.primary == Some(true));
            match own.and_then(|own| own.r#type.clone()) {
                Some(provider) => Some(Domain { provider, name: wanted.to_owned(), ..Domain::default() }),
                None => of_role(role::DEFAULT_DOMAIN)
                    .find(|default| wanted.ends_with(&format!(".{}", default.name)))
                    .map(|default| Domain { name: wanted.to_owned(), ..default }),
            }
        });
        Ok(Self { internal, external: external.filter(Domain::is_managed) })
    }

    /// True if the API server of the Shoot is published by both of its DNS records, the internal one and the external
    /// one.
    ///
    /// Source: `ShootUsesDNS` of pkg/gardenlet/operation/botanist/kubeapiserverexposure.go @ v1.120.0.
    pub(crate) fn publish_api_server(&self) -> bool {
        self.internal.as_ref().is_some_and(Domain::is_managed) && self.external.is_some()
    }
}

fn domain(secret: &Secret) -> Option<Domain> {
    Some(Domain {
        provider: secret.metadata.annotation(annotation::DNS_PROVIDER)?.to_owned(),
        name: secret.metadata.annotation(annotation::DNS_DOMAIN)?.to_owned(),
        zone: secret.metadata.annotation(annotation::DNS_ZONE).map(str::to_owned),
        data: secret.data.clone(),
    })
}

impl Botanist {
    /// Returns the host of the API server below the landscape's internal domain.
    pub(crate) fn internal_api_host(&self) -> Option<String> {
        let domain = &self.domains.internal.as_ref()?.name;
        let prefix = format!("api.{}.{}", self.shoot.metadata.name, self.project.metadata.name);
        Some(if domain.contains("internal") {
            format!("{prefix}.{domain}")
        } else {
            format!("{prefix}.internal.{domain}")
        })
    }

    /// Returns the address of the load balancer of the seed's API servers, from the block reserved for documentation.
    pub(crate) fn load_balancer_address(&self) -> String {
        let key = format!("{GARDEN}/{}", self.seed.metadata.name);
        let last = 1 + self.gardenlet.context.random.below(254, "load-balancer", &key, 0);
        format!("192.0.2.{last}")
    }

    pub(crate) async fn deploy_internal_dns_record(&self) -> Result<(), Failure> {
        match (&self.domains.internal, self.internal_api_host()) {
            (Some(domain), Some(host)) if domain.is_managed() => {
                let is_forced = self.shoot.metadata.is_being_deleted();
                self.deploy_dns_record(Dns::Internal, domain, host, is_forced).await?;
            }
            _ => self.destroy_dns_record(Dns::Internal).await?,
        }
        self.finish_task(Dns::Internal.task());
        Ok(())
    }

    pub(crate) async fn deploy_external_dns_record(&self) -> Result<(), Failure> {
        match &self.domains.external {
            Some(domain) => {
                let host = format!("api.{}", domain.name);
                self.deploy_dns_record(Dns::External, domain, host, false).await?;
            }
            None => self.destroy_dns_record(Dns::External).await?,
        }
        self.finish_task(Dns::External.task());
        Ok(())
    }

    pub(crate) async fn deploy_ingress_dns_record(&self) -> Result<(), Failure> {
        match &self.domains.external {
            Some(domain) if self.facts.nginx_ingress => {
                let host = format!("*.ingress.{}", domain.name);
                self.deploy_dns_record(Dns::Ingress, domain, host, false).await?;
            }
            _ => self.destroy_dns_record(Dns::Ingress).await?,
        }
        self.finish_task(Dns::Ingress.task());
        Ok(())
    }

    fn dns_record_name(&self, record: Dns) -> String {
        format!("{}-{}", self.shoot.metadata.name, record.suffix())
    }

    async fn deploy_dns_record(
        &self,
        record: Dns,
        domain: &Domain,
        host: String,
        is_forced: bool,
    ) -> Result<(), Failure> {
        let name = self.dns_record_name(record);
        let role = match record {
            Dns::External => "external",
            Dns::Ingress => "ingress",
            Dns::Internal => "internal",
        };
        let mut metadata = ObjectMeta::named(&self.technical_id, &name);
        metadata.labels.insert(label::ROLE.to_owned(), role::CONTROL_PLANE.to_owned());
        metadata.labels.insert("role".to_owned(), format!("dnsrecord-{role}"));
        let secret_name = format!("dnsrecord-{name}");
        let key = self.gardenlet.seed_key(&self.technical_id, &name);
        let present = self.gardenlet.stores.dns_records.get(&key);
        if present.is_none() || self.has_task(record.task()) {
            let secret = Secret {
                metadata: ObjectMeta::named(&self.technical_id, &secret_name),
                data: domain.data.clone(),
                r#type: "Opaque".to_owned(),
                ..Secret::default()
            };
            self.apply(&self.gardenlet.seed(&self.technical_id), &secret).await?;
        }
        let wanted = DNSRecord {
            metadata,
            spec: DNSRecordSpec {
                r#type: domain.provider.clone(),
                secret_ref: SecretReference { name: secret_name, namespace: self.technical_id.clone() },
                zone: domain.zone.clone(),
                name: host,
                record_type: "A".to_owned(),
                values: vec![self.load_balancer_address()],
                ttl: Some(120),
                ..DNSRecordSpec::default()
            },
            ..DNSRecord::default()
        };
        // Outside of the maintenance window, the extension acts only on changes of what the record publishes.
        let is_changed = present.is_some_and(|present| {
            let (present, wanted) = (&present.spec, &wanted.spec);
            present.secret_ref.name != wanted.secret_ref.name
                || present.zone != wanted.zone
                || present.values != wanted.values
                || present.ttl != wanted.ttl
        });
        let is_forced = is_forced || is_changed || self.has_task(record.task());
        self.write_extension(&wanted, &self.gardenlet.stores.dns_records, is_forced, true).await?;
        self.await_extension(&self.gardenlet.stores.dns_records, &name, TimeDelta::minutes(2)).await?;
        Ok(())
    }

    pub(crate) async fn destroy_dns_record(&self, record: Dns) -> Result<(), Failure> {
        let name = self.dns_record_name(record);
        let store = &self.gardenlet.stores.dns_records;
        let key = self.gardenlet.seed_key(&self.technical_id, &name);
        if store.get(&key).is_none() {
            return Ok(());
        }
        delete(&self.gardenlet.seed::<DNSRecord>(&self.technical_id), &name).await?;
        self.await_extension_gone(store, &name, TimeDelta::minutes(2)).await
    }
}
