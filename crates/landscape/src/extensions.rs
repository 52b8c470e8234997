// SPDX-License-Identifier: Apache-2.0
//! Initial extensions of a landscape: every usual type, all implemented by provider-local.

use std::collections::BTreeSet;

use api::core::{ControllerRegistration, ControllerRegistrationDeployment, ControllerResource, DeploymentRef};
use api::core_v1::{ControllerDeployment, HelmControllerDeployment, OCIRepository};
use apimachinery::meta::ObjectMeta;
use domain::admission::extensions::BUILT_IN_CHARTS;

/// Registration of an extension.
#[derive(Clone, Copy, Debug)]
pub struct ExtensionInfo {
    /// Name of its ControllerRegistration and ControllerDeployment.
    pub name: &'static str,
    /// Kinds and types; see [`Kinds`].
    pub resources: &'static [(Kinds, &'static str)],
}

/// Extension kinds that are registered together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// `Infrastructure`, `ControlPlane`, `Worker`, `BackupBucket`, `BackupEntry`, `Bastion`.
    Provider,
    /// Kind `DNSRecord`.
    DnsRecord,
    /// Kind `Network`.
    Network,
    /// Kind `OperatingSystemConfig`.
    OperatingSystemConfig,
    /// Kind `ContainerRuntime`.
    ContainerRuntime,
    /// `Extension`, which also works for Shoots without workers.
    Extension,
}

impl Kinds {
    /// Names of the kinds.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Provider => &["BackupBucket", "BackupEntry", "Bastion", "ControlPlane", "Infrastructure", "Worker"],
            Self::DnsRecord => &["DNSRecord"],
            Self::Network => &["Network"],
            Self::OperatingSystemConfig => &["OperatingSystemConfig"],
            Self::ContainerRuntime => &["ContainerRuntime"],
            Self::Extension => &["Extension"],
        }
    }
}

/// Extensions in the order of their registration.
pub const EXTENSIONS: &[ExtensionInfo] = {
    use Kinds::{ContainerRuntime, DnsRecord, Extension, Network, OperatingSystemConfig, Provider};
    const fn extension(name: &'static str, resources: &'static [(Kinds, &'static str)]) -> ExtensionInfo {
        ExtensionInfo { name, resources }
    }
    &[
        extension(
            "provider-local",
            &[(Provider, "local"), (DnsRecord, "local"), (OperatingSystemConfig, "local"), (Network, "local")],
        ),
        extension("provider-alicloud", &[(Provider, "alicloud"), (DnsRecord, "alicloud-dns")]),
        extension("provider-aws", &[(Provider, "aws"), (DnsRecord, "aws-route53")]),
        extension("provider-azure", &[(Provider, "azure"), (DnsRecord, "azure-dns"), (DnsRecord, "azure-private-dns")]),
        extension("provider-gcp", &[(Provider, "gcp"), (DnsRecord, "google-clouddns")]),
        extension("provider-ironcore", &[(Provider, "ironcore"), (DnsRecord, "ironcore-dns")]),
        extension("provider-openstack", &[(Provider, "openstack"), (DnsRecord, "openstack-designate")]),
        extension("networking-calico", &[(Network, "calico")]),
        extension("networking-cilium", &[(Network, "cilium")]),
        extension("os-coreos", &[(OperatingSystemConfig, "coreos"), (OperatingSystemConfig, "flatcar")]),
        extension(
            "os-gardenlinux",
            &[(OperatingSystemConfig, "gardenlinux"), (OperatingSystemConfig, "memoryone-gardenlinux")],
        ),
        extension(
            "os-suse-chost",
            &[(OperatingSystemConfig, "suse-chost"), (OperatingSystemConfig, "memoryone-chost")],
        ),
        extension("os-ubuntu", &[(OperatingSystemConfig, "ubuntu")]),
        extension("runtime-gvisor", &[(ContainerRuntime, "gvisor")]),
        extension("acl", &[(Extension, "acl")]),
        extension("registry-cache", &[(Extension, "registry-cache"), (Extension, "registry-mirror")]),
        extension("shoot-cert-service", &[(Extension, "shoot-cert-service")]),
        extension("shoot-dns-service", &[(Extension, "shoot-dns-service")]),
        extension("shoot-falco-service", &[(Extension, "shoot-falco-service")]),
        extension("shoot-flux", &[(Extension, "shoot-flux")]),
        extension("shoot-lakom-service", &[(Extension, "lakom")]),
        extension("shoot-networking-filter", &[(Extension, "shoot-networking-filter")]),
        extension("shoot-networking-problemdetector", &[(Extension, "shoot-networking-problemdetector")]),
        extension("shoot-oidc-service", &[(Extension, "shoot-oidc-service")]),
        extension("shoot-rsyslog-relp", &[(Extension, "shoot-rsyslog-relp")]),
    ]
};

/// Returns all registered kinds and types.
pub fn registered() -> BTreeSet<(&'static str, String)> {
    let resources = EXTENSIONS.iter().flat_map(|extension| extension.resources);
    resources.flat_map(|(kinds, type_)| kinds.names().iter().map(|kind| (*kind, (*type_).to_owned()))).collect()
}

impl ExtensionInfo {
    /// Returns its ControllerDeployment for an emulated version of Gardener.
    pub fn deployment(&self, version: &str) -> ControllerDeployment {
        let reference = format!("{BUILT_IN_CHARTS}{}:{version}", self.name);
        ControllerDeployment {
            metadata: named(self.name),
            helm: Some(HelmControllerDeployment {
                oci_repository: Some(OCIRepository { r#ref: Some(reference), ..Default::default() }),
                ..Default::default()
            }),
            ..Default::default()
        }
    }

    /// Returns its ControllerRegistration.
    pub fn registration(&self) -> ControllerRegistration {
        let mut registration = ControllerRegistration { metadata: named(self.name), ..Default::default() };
        registration.spec.deployment = Some(ControllerRegistrationDeployment {
            deployment_refs: vec![DeploymentRef { name: self.name.to_owned() }],
            ..Default::default()
        });
        for (kinds, type_) in self.resources {
            for kind in kinds.names() {
                registration.spec.resources.push(ControllerResource {
                    kind: (*kind).to_owned(),
                    r#type: (*type_).to_owned(),
                    workerless_supported: (*kinds == Kinds::Extension).then_some(true),
                    ..Default::default()
                });
            }
        }
        registration
    }
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: name.to_owned(), ..ObjectMeta::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_usual_type_is_registered_once() {
        let count: usize = EXTENSIONS.iter().flat_map(|e| e.resources).map(|(kinds, _)| kinds.names().len()).sum();
        let registered = registered();
        assert_eq!(registered.len(), count, "no kind and type twice");
        for (kind, type_) in [
            ("Worker", "aws"),
            ("Infrastructure", "openstack"),
            ("ControlPlane", "ironcore"),
            ("Network", "calico"),
            ("OperatingSystemConfig", "flatcar"),
            ("ContainerRuntime", "gvisor"),
            ("Extension", "shoot-dns-service"),
            ("DNSRecord", "aws-route53"),
        ] {
            assert!(registered.contains(&(kind, type_.to_owned())), "{kind}/{type_}");
        }
    }
}
