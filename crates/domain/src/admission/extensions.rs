// SPDX-License-Identifier: Apache-2.0
//! Extensions that objects need: checks that they are registered (ExtensionValidator), and labels for them (ExtensionLabels).

use apimachinery::meta::TextMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::constants::label;
use api::core::*;
use api::core_v1::ControllerDeployment;
use apimachinery::field::Path;
use apimachinery::meta::ObjectMeta;

use super::{Refusal, multierror};

/// An extension that an object needs.
struct Need<'a> {
    kind: &'static str,
    type_: &'a str,
    message: &'static str,
    path: Path,
}

fn is_registered(registrations: &[Arc<ControllerRegistration>], need: &Need<'_>, cluster: Option<&str>) -> bool {
    let mut resources = registrations.iter().flat_map(|registration| &registration.spec.resources);
    resources.any(|resource| {
        let compatible = &resource.cluster_compatibility;
        resource.primary.unwrap_or(true)
            && resource.kind == need.kind
            && resource.r#type == need.type_
            && cluster.is_none_or(|cluster| compatible.is_empty() || compatible.iter().any(|one| one == cluster))
    })
}

fn missing(registrations: &[Arc<ControllerRegistration>], needs: &[Need<'_>], cluster: &str) -> Vec<String> {
    let absent = needs.iter().filter(|need| !is_registered(registrations, need, Some(cluster)));
    absent.map(|need| format!("{}: {} ({:?})", need.message, need.path, need.type_)).collect()
}

fn refuse(texts: &[String]) -> Result<(), Refusal> {
    if texts.is_empty() { Ok(()) } else { Err(Refusal::Forbidden(multierror(texts))) }
}

/// Checks that every extension of a Shoot is registered, and supports workerless Shoots if it is one.
///
/// # Errors
/// 403 with one line per extension that does not.
pub fn check_shoot(spec: &ShootSpec, registrations: &[Arc<ControllerRegistration>]) -> Result<(), Refusal> {
    const EXTENSION: &str = "given Shoot uses non-registered extension type";
    let (mut needs, path) = (Vec::new(), Path::new("spec"));
    let provider = path.child("provider");
    let workerless = spec.provider.workers.is_empty();
    if !workerless {
        for kind in ["ControlPlane", "Infrastructure", "Worker"] {
            let message = "given Shoot uses non-registered provider type";
            needs.push(Need { kind, type_: &spec.provider.r#type, message, path: provider.child("type") });
        }
        if let Some(type_) = spec.networking.as_ref().and_then(|networking| networking.r#type.as_ref()) {
            let message = "given Shoot uses non-registered networking type";
            needs.push(Need { kind: "Network", type_, message, path: path.child("networking").child("type") });
        }
    }
    for (index, one) in spec.dns.iter().flat_map(|dns| &dns.providers).enumerate() {
        if let Some(type_) = one.r#type.as_ref().filter(|type_| *type_ != "unmanaged" && one.primary == Some(true)) {
            let path = path.child("dns").child("providers").index(index).child("type");
            needs.push(Need { kind: "DNSRecord", type_, message: EXTENSION, path });
        }
    }
    for (index, extension) in spec.extensions.iter().enumerate() {
        let path = path.child("extensions").index(index).child("type");
        needs.push(Need { kind: "Extension", type_: &extension.r#type, message: EXTENSION, path });
    }
    for (index, worker) in spec.provider.workers.iter().enumerate() {
        let path = provider.child("workers").index(index);
        for (index, runtime) in worker.cri.iter().flat_map(|cri| &cri.container_runtimes).enumerate() {
            let path = path.child("cri").child("containerRuntimes").index(index).child("type");
            let message = "given Shoot uses non-registered container runtime type";
            needs.push(Need { kind: "ContainerRuntime", type_: &runtime.r#type, message, path });
        }
        if let Some(image) = &worker.machine.image {
            let path = path.child("machine").child("image").child("name");
            let message = "given Shoot uses non-registered operating system type";
            needs.push(Need { kind: "OperatingSystemConfig", type_: &image.name, message, path });
        }
    }
    let mut texts = missing(registrations, &needs, "shoot");
    if workerless {
        let supported: BTreeSet<&str> = registrations
            .iter()
            .flat_map(|registration| &registration.spec.resources)
            .filter(|resource| resource.kind == "Extension" && resource.workerless_supported == Some(true))
            .map(|resource| resource.r#type.as_str())
            .collect();
        let unfit = needs.iter().filter(|need| need.kind == "Extension" && !supported.contains(need.type_));
        texts.extend(unfit.map(|need| {
            let (path, type_) = (&need.path, need.type_);
            format!("given Shoot is workerless and uses non-supported extension type: {path} ({type_:?})")
        }));
    }
    refuse(&texts)
}

/// Checks that every extension of a Seed is registered.
///
/// # Errors
/// 403 with one line per extension that is not.
pub fn check_seed(spec: &SeedSpec, registrations: &[Arc<ControllerRegistration>]) -> Result<(), Refusal> {
    const EXTENSION: &str = "given Seed uses non-registered extension type";
    let path = Path::new("spec");
    let mut needs = vec![Need {
        kind: "ControlPlane",
        type_: &spec.provider.r#type,
        message: "given Seed uses non-registered provider type",
        path: path.child("provider").child("type"),
    }];
    if let Some(backup) = &spec.backup {
        for kind in ["BackupBucket", "BackupEntry"] {
            let message = "given Seed uses non-registered backup provider type";
            needs.push(Need { kind, type_: &backup.provider, message, path: path.child("backup").child("provider") });
        }
    }
    if let Some(provider) = spec.dns.provider.as_ref().filter(|_| spec.ingress.is_some()) {
        let path = path.child("dns").child("provider").child("type");
        needs.push(Need { kind: "DNSRecord", type_: &provider.r#type, message: EXTENSION, path });
    }
    for (index, extension) in spec.extensions.iter().enumerate() {
        let path = path.child("extensions").index(index).child("type");
        needs.push(Need { kind: "Extension", type_: &extension.r#type, message: EXTENSION, path });
    }
    refuse(&missing(registrations, &needs, "seed"))
}

/// Checks that the provider of a BackupBucket, or of a BackupEntry's bucket, is registered.
///
/// # Errors
/// 403 if it is not.
pub fn check_backup(
    kind: &'static str,
    provider: &str,
    registrations: &[Arc<ControllerRegistration>],
) -> Result<(), Refusal> {
    let (message, path) = if kind == "BackupBucket" {
        ("given BackupBucket uses non-registered provider type", Path::new("spec").child("provider").child("type"))
    } else {
        let message = "given BackupEntry references bucket using non-registered provider type";
        (message, Path::new("spec").child("bucketName"))
    };
    let need = Need { kind, type_: provider, message, path };
    if is_registered(registrations, &need, None) {
        return Ok(());
    }
    Err(Refusal::Forbidden(format!("{message}: {} ({provider:?})", need.path)))
}

/// Returns the resources that a registration controls primarily.
fn primary(registration: &ControllerRegistration) -> impl Iterator<Item = &ControllerResource> {
    registration.spec.resources.iter().filter(|resource| resource.primary.unwrap_or(true))
}

/// Checks that only one registration controls a kind and type primarily (ControllerRegistrationResources).
///
/// # Errors
/// 403 for the first one that another registration controls.
pub fn check_primary(
    registration: &ControllerRegistration,
    others: &[Arc<ControllerRegistration>],
) -> Result<(), Refusal> {
    let own = &registration.metadata.name;
    let others = others.iter().filter(|other| other.metadata.name != *own);
    // Like upstream, only the last type of each kind is compared.
    let taken: BTreeMap<&str, &str> = others
        .flat_map(|other| primary(other.as_ref()))
        .map(|resource| (resource.kind.as_str(), resource.r#type.as_str()))
        .collect();
    for resource in primary(registration) {
        if taken.get(resource.kind.as_str()) == Some(&resource.r#type.as_str()) {
            return Err(Refusal::Forbidden(format!(
                "another ControllerRegistration resource already exists that controls resource {}/{} primarily",
                resource.kind, resource.r#type
            )));
        }
    }
    Ok(())
}

/// True if a registration controls a kind and type of another one primarily. Unlike [`check_primary`], it compares every
/// type of a kind.
pub fn is_rival(one: &ControllerRegistration, other: &ControllerRegistration) -> bool {
    let controls = |resource: &ControllerResource| {
        primary(one).any(|own| (&own.kind, &own.r#type) == (&resource.kind, &resource.r#type))
    };
    one.metadata.name != other.metadata.name && primary(other).any(controls)
}

/// Repository of the charts of built-in extensions, which a landscape has from its start.
pub const BUILT_IN_CHARTS: &str = "extensions.example.org/charts/";

/// True for the ControllerDeployment of a built-in extension.
pub fn is_built_in(deployment: &ControllerDeployment) -> bool {
    let chart = deployment.helm.as_ref().and_then(|helm| helm.oci_repository.as_ref()?.r#ref.as_deref());
    chart.is_some_and(|chart| chart.starts_with(BUILT_IN_CHARTS))
}

/// Returns a hint for a registration whose kinds a built-in extension of the landscape controls; `None`: the conflict is
/// with a user's registration. Upstream has no built-in extensions.
pub fn way_out(
    registration: &ControllerRegistration,
    others: &[Arc<ControllerRegistration>],
    is_built_in: impl Fn(&ControllerRegistration) -> bool,
) -> Option<String> {
    let stands_in_the_way = |other: &&Arc<ControllerRegistration>| is_rival(other, registration) && is_built_in(other);
    let name = &others.iter().find(stands_in_the_way)?.metadata.name;
    Some(format!(
        "the landscape has {name} from its start: name yours {name} to take its place, or delete that one first (kubectl \
         delete controllerregistration {name})"
    ))
}

/// Labels for the extensions that an object uses.
#[derive(Debug, Default)]
pub struct Labels(TextMap);

impl Labels {
    const PREFIXES: [&str; 6] =
        ["provider", "dnsrecord", "networking", "extensions", "containerruntime", "operatingsystemconfig"];

    fn add(&mut self, prefix: &str, type_: &str) {
        self.0.insert(format!("{prefix}{}{type_}", label::EXTENSION_CLASS_INFIX), "true".to_owned());
    }

    /// Returns the labels of providers.
    pub fn providers<'a>(types: impl IntoIterator<Item = &'a str>) -> Self {
        let mut labels = Self::default();
        for type_ in types {
            labels.add("provider", type_);
        }
        labels
    }

    /// Returns the labels of a Seed.
    pub fn of_seed(spec: &SeedSpec) -> Self {
        let backup = spec.backup.as_ref().map(|backup| backup.provider.as_str());
        let mut labels = Self::providers(std::iter::once(spec.provider.r#type.as_str()).chain(backup));
        if let Some(provider) = &spec.dns.provider {
            labels.add("dnsrecord", &provider.r#type);
        }
        labels
    }

    /// Returns the labels of a Shoot, including those of extensions that are enabled without being named.
    pub fn of_shoot(spec: &ShootSpec, registrations: &[Arc<ControllerRegistration>]) -> Self {
        let mut labels = Self::providers([spec.provider.r#type.as_str()]);
        for type_ in enabled_extensions(spec, registrations) {
            labels.add("extensions", &type_);
        }
        for worker in &spec.provider.workers {
            for runtime in worker.cri.iter().flat_map(|cri| &cri.container_runtimes) {
                labels.add("containerruntime", &runtime.r#type);
            }
            if let Some(image) = &worker.machine.image {
                labels.add("operatingsystemconfig", &image.name);
            }
        }
        let providers = spec.dns.iter().flat_map(|dns| &dns.providers);
        for type_ in providers.filter_map(|provider| provider.r#type.as_deref()).filter(|type_| *type_ != "unmanaged") {
            labels.add("dnsrecord", type_);
        }
        if let Some(type_) = spec.networking.as_ref().and_then(|networking| networking.r#type.as_deref()) {
            labels.add("networking", type_);
        }
        labels
    }

    /// Replaces all labels of this kind with these.
    pub fn apply(self, meta: &mut ObjectMeta) {
        let is_own = |key: &str| {
            key.split_once(label::EXTENSION_CLASS_INFIX).is_some_and(|(prefix, _)| Self::PREFIXES.contains(&prefix))
        };
        meta.labels.retain(|key, _| !is_own(key));
        meta.labels.extend(self.0);
    }
}

/// Returns the extension types of a Shoot: those it names and does not disable, and those enabled for every Shoot.
fn enabled_extensions(spec: &ShootSpec, registrations: &[Arc<ControllerRegistration>]) -> BTreeSet<String> {
    let workerless = spec.provider.workers.is_empty();
    let mut enabled = BTreeSet::new();
    for resource in registrations.iter().flat_map(|registration| &registration.spec.resources) {
        let automatic = resource.auto_enable.iter().any(|cluster| cluster == "shoot");
        let fits = !workerless || resource.workerless_supported == Some(true);
        if resource.kind == "Extension" && automatic && fits {
            enabled.insert(resource.r#type.clone());
        }
    }
    for extension in &spec.extensions {
        if extension.disabled == Some(true) {
            enabled.remove(&extension.r#type);
        } else {
            enabled.insert(extension.r#type.clone());
        }
    }
    enabled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registration(name: &str, resources: &[(&str, &str)]) -> Arc<ControllerRegistration> {
        let mut registration = ControllerRegistration::default();
        registration.metadata.name = name.to_owned();
        registration.spec.resources = resources
            .iter()
            .map(|(kind, type_)| ControllerResource {
                kind: (*kind).to_owned(),
                r#type: (*type_).to_owned(),
                ..ControllerResource::default()
            })
            .collect();
        Arc::new(registration)
    }

    #[test]
    fn each_extension_that_is_not_registered_is_a_line() {
        let mut spec = ShootSpec::default();
        spec.provider.r#type = "aws".to_owned();
        spec.provider.workers.push(Worker::default());
        spec.networking = Some(Networking { r#type: Some("calico".to_owned()), ..Networking::default() });
        let registered = registration("calico", &[("Network", "calico")]);
        let line = "\t* given Shoot uses non-registered provider type: spec.provider.type (\"aws\")\n";
        let text = format!("3 errors occurred:\n{line}{line}{line}\n");
        assert_eq!(check_shoot(&spec, std::slice::from_ref(&registered)), Err(Refusal::Forbidden(text)));
        let provider = registration("aws", &[("ControlPlane", "aws"), ("Infrastructure", "aws"), ("Worker", "aws")]);
        assert_eq!(check_shoot(&spec, &[registered, provider]), Ok(()));
    }

    #[test]
    fn two_registrations_cannot_control_the_same_resource() {
        let first = registration("a", &[("Network", "calico")]);
        let second = registration("b", &[("Network", "calico")]);
        assert_eq!(check_primary(&first, std::slice::from_ref(&first)), Ok(()));
        let text =
            "another ControllerRegistration resource already exists that controls resource Network/calico primarily";
        assert_eq!(check_primary(&second, std::slice::from_ref(&first)), Err(Refusal::Forbidden(text.to_owned())));
        // Like upstream, which records only the last type of a kind.
        let later = registration("c", &[("Network", "calico"), ("Network", "cilium")]);
        assert_eq!(check_primary(&second, std::slice::from_ref(&later)), Ok(()));
        let other = registration("d", &[("Worker", "calico")]);
        assert!(check_primary(&second, &[other.clone(), first.clone()]).is_err());
        assert!(check_primary(&second, &[first, other]).is_err(), "of another kind");
    }

    #[test]
    fn rivals_control_any_type_of_a_kind() {
        let own = registration("a", &[("Network", "calico")]);
        for (name, resources, expected) in [
            ("b", &[("Network", "calico")][..], true),
            ("b", &[("Network", "calico"), ("Network", "cilium")], true),
            ("b", &[("Network", "cilium"), ("Worker", "calico")], false),
            ("b", &[], false),
            ("a", &[("Network", "calico")], false),
        ] {
            let other = registration(name, resources);
            assert_eq!((is_rival(&own, &other), is_rival(&other, &own)), (expected, expected), "{name} {resources:?}");
        }
        let mut secondary = ControllerRegistration::clone(&registration("b", &[("Network", "calico")]));
        secondary.spec.resources[0].primary = Some(false);
        assert!(!is_rival(&own, &secondary) && !is_rival(&secondary, &own));
    }

    #[test]
    fn a_refused_extension_names_the_flag_that_removes_ours() {
        let others =
            [registration("networking-calico", &[("Network", "calico")]), registration("mine", &[("Network", "x")])];
        let way =
            |own: &ControllerRegistration, built_in: &str| way_out(own, &others, |one| one.metadata.name == built_in);
        let own = registration("b", &[("Network", "calico")]);
        assert_eq!(
            way(&own, "networking-calico").as_deref(),
            Some(
                "the landscape has networking-calico from its start: name yours networking-calico to take its place, or \
                 delete that one first (kubectl delete controllerregistration networking-calico)"
            )
        );
        assert_eq!(way(&own, "mine"), None, "the conflict is with a user's registration");
        assert_eq!(way(&registration("networking-calico", &[("Network", "calico")]), "networking-calico"), None);
        let mut deployment = ControllerDeployment::default();
        assert!(!is_built_in(&deployment));
        let chart = serde_json::json!({ "ociRepository": { "ref": "extensions.example.org/charts/a:v1.0.0" } });
        deployment.helm = serde_json::from_value(chart).expect("a chart");
        assert!(is_built_in(&deployment));
    }
}
