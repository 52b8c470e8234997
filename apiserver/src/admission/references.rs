// SPDX-License-Identifier: Apache-2.0
//! Referential integrity: referenced objects must exist, and must not be deleted.

use api::core::*;
use api::core_v1;
use api::kubernetes::core::{ConfigMap, ObjectReference, Secret};
use api::security::{CredentialsBinding, WorkloadIdentity};
use apimachinery::Resource as _;
use domain::admission::cloud_profile::{Difference, check_versions_in_use};
use domain::admission::namespaced_cloud_profile::{check_overrides_in_use, takes_away};
use domain::admission::{Refusal, multierror};
use domain::profile::Profile;
use domain::release::Release;
use domain::versions::Moment;
use generic_apiserver::{Attributes, Operation, Plugin, Reads, RequestContext};

use super::access::{Access, Target};
use super::{CloudProfileOf, Verdict, refused, stored, writes};

/// Checks references of all kinds.
pub(super) struct ResourceReferenceManager {
    pub(super) profile: Profile,
    pub(super) release: Release,
    pub(super) access: Access,
}

impl Plugin for ResourceReferenceManager {
    fn name(&self) -> &'static str {
        "ResourceReferenceManager"
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        if attributes.operation == Operation::Delete {
            return Ok(());
        }
        let request = attributes.request;
        let (at, rules) = (Moment::new(request.now, self.release), self.profile);
        let both = ["", "binding"];
        judged::<Shoot>(attributes, &both, |new, old| shoot(new, old, (&self.access, request), reads))?;
        judged::<SecretBinding>(attributes, &[""], |new, _| {
            let (namespace, name) = (new.secret_ref.namespace.as_str(), new.secret_ref.name.as_str());
            let target = Target { plural: Secret::PLURAL, namespace, name, ..Target::default() };
            let text = "SecretBinding cannot reference a Secret you are not allowed to read";
            self.access.read(request, target, text)?;
            secret(namespace, name, reads)?;
            quotas(&new.quotas, SecretBinding::KIND, (&self.access, request), reads)
        })?;
        judged::<CredentialsBinding>(attributes, &[""], |new, _| {
            let ObjectReference { kind, namespace, name, .. } = &new.credentials_ref;
            let (group, plural) = match kind.as_str() {
                WorkloadIdentity::KIND => (WorkloadIdentity::GROUP, WorkloadIdentity::PLURAL),
                _ => (Secret::GROUP, Secret::PLURAL),
            };
            let text = format!("CredentialsBinding cannot reference a {kind} you are not allowed to read");
            self.access.read(request, Target { group, plural, namespace, name, ..Target::default() }, &text)?;
            credentials(&new.credentials_ref, &new.provider.r#type, reads)?;
            quotas(&new.quotas, CredentialsBinding::KIND, (&self.access, request), reads)
        })?;
        judged::<Project>(attributes, &[""], |new, old| project(new, old, reads))?;
        judged::<BackupBucket>(attributes, &[""], |new, old| {
            let seed = |bucket: &BackupBucket| bucket.spec.seed_name.clone();
            exists::<Seed>(seed(new).filter(|name| old.and_then(seed).as_ref() != Some(name)), "", reads)
        })?;
        judged::<BackupEntry>(attributes, &[""], |new, old| {
            let seed = |entry: &BackupEntry| entry.spec.seed_name.clone();
            exists::<Seed>(seed(new).filter(|name| old.and_then(seed).as_ref() != Some(name)), "", reads)?;
            let changed = old.is_none_or(|old| old.spec.bucket_name != new.spec.bucket_name);
            exists::<BackupBucket>(changed.then(|| new.spec.bucket_name.clone()), "", reads)
        })?;
        judged::<ControllerRegistration>(attributes, &[""], |new, _| {
            let missing: Vec<String> = new
                .spec
                .deployment
                .iter()
                .flat_map(|deployment| &deployment.deployment_refs)
                .filter(|reference| reads.get::<core_v1::ControllerDeployment>("", &reference.name).is_none())
                .map(|reference| not_found::<core_v1::ControllerDeployment>(&reference.name))
                .collect();
            if missing.is_empty() { Ok(()) } else { Err(Refusal::Forbidden(multierror(&missing))) }
        })?;
        judged::<CloudProfile>(attributes, &[""], |new, old| {
            let Some(old) = old else { return Ok(()) };
            let difference = Difference::new(&new.spec, &old.spec);
            if !difference.matters() {
                return Ok(());
            }
            let namespaced = reads.list_decisive::<NamespacedCloudProfile>();
            let shoots = reads.list_decisive::<Shoot>();
            check_versions_in_use(new, &difference, &namespaced, &shoots, rules)
        })?;
        judged::<NamespacedCloudProfile>(attributes, &[""], |new, old| {
            let Some(old) = old.filter(|old| takes_away(new, old)) else { return Ok(()) };
            let name = &new.spec.parent.name;
            let Some(parent) = reads.get::<CloudProfile>("", name) else {
                let text =
                    format!("could not get parent CloudProfile: cloudprofile.core.gardener.cloud {name:?} not found");
                return Err(Refusal::Internal(text));
            };
            let mut shoots = reads.list_decisive::<Shoot>();
            shoots.retain(|shoot| shoot.metadata.namespace == new.metadata.namespace);
            check_overrides_in_use(new, old, &parent.spec, &shoots, at)
        })
    }
}

/// The authorizer, and the request for whose user it decides.
type Asking<'a> = (&'a Access, &'a RequestContext);

/// Runs a rule on an object of `K` that is not being deleted.
fn judged<K: apimachinery::Resource>(
    attributes: &mut Attributes<'_>,
    doors: &[&str],
    rule: impl FnOnce(&K, Option<&K>) -> Result<(), Refusal>,
) -> Verdict {
    if !writes::<K>(attributes, doors) {
        return Ok(());
    }
    let old = stored::<K>(attributes);
    let Some(object) = attributes.object::<K>() else { return Ok(()) };
    if object.metadata().is_being_deleted() {
        return Ok(());
    }
    let result = rule(object, old);
    result.map_err(|refusal| refused::<K>(attributes, refusal))
}

fn not_found<K: apimachinery::Resource>(name: &str) -> String {
    let group = if K::GROUP.is_empty() { String::new() } else { format!(".{}", K::GROUP) };
    format!("{}{group} {name:?} not found", K::KIND.to_lowercase())
}

/// Returns a 403 if a name is given and there is no such object.
fn exists<K: apimachinery::Resource>(name: Option<String>, namespace: &str, reads: &Reads<'_>) -> Result<(), Refusal> {
    match name {
        Some(name) if reads.get::<K>(namespace, &name).is_none() => Err(Refusal::Forbidden(not_found::<K>(&name))),
        _ => Ok(()),
    }
}

fn secret(namespace: &str, name: &str, reads: &Reads<'_>) -> Result<(), Refusal> {
    if reads.get::<Secret>(namespace, name).is_none() {
        return Err(Refusal::Forbidden(format!("secrets {name:?} not found")));
    }
    Ok(())
}

fn credentials(reference: &ObjectReference, provider: &str, reads: &Reads<'_>) -> Result<(), Refusal> {
    match reference.kind.as_str() {
        "Secret" => secret(&reference.namespace, &reference.name, reads),
        _ => match reads.get::<WorkloadIdentity>(&reference.namespace, &reference.name) {
            None => Err(Refusal::Forbidden(format!(
                "workloadidentities.security.gardener.cloud {:?} not found",
                reference.name
            ))),
            Some(identity) if identity.spec.target_system.r#type != provider => Err(Refusal::Forbidden(format!(
                "CredentialsBinding provider type ([{provider}]) does not match with WorkloadIdentity provider type {}",
                identity.spec.target_system.r#type
            ))),
            Some(_) => Ok(()),
        },
    }
}

/// Checks that quotas exist, at most one for the Project and one for the credentials.
fn quotas(
    references: &[ObjectReference],
    kind: &str,
    (access, request): Asking<'_>,
    reads: &Reads<'_>,
) -> Result<(), Refusal> {
    let (mut of_project, mut of_credentials) = (0, 0);
    for reference in references {
        let ObjectReference { namespace, name, .. } = reference;
        let target = Target { group: Quota::GROUP, plural: Quota::PLURAL, namespace, name, ..Target::default() };
        let text = format!("{kind} cannot reference a quota you are not allowed to read");
        access.read(request, target, &text)?;
        let Some(quota) = reads.get::<Quota>(&reference.namespace, &reference.name) else {
            return Err(Refusal::Forbidden(not_found::<Quota>(&reference.name)));
        };
        *(if quota.spec.scope.kind == "Project" { &mut of_project } else { &mut of_credentials }) += 1;
        if of_project > 1 || of_credentials > 1 {
            let text = "only one quota per scope (project or credentials) can be assigned";
            return Err(Refusal::Forbidden(text.to_owned()));
        }
    }
    Ok(())
}

fn project(new: &Project, old: Option<&Project>, reads: &Reads<'_>) -> Result<(), Refusal> {
    let Some(namespace) = &new.spec.namespace else { return Ok(()) };
    if old.is_some_and(|old| old.spec.namespace.is_some()) {
        return Ok(());
    }
    let uses =
        |other: &Project| other.metadata.name != new.metadata.name && other.spec.namespace.as_ref() == Some(namespace);
    if reads.list::<Project>(None).iter().any(|other| uses(other)) {
        return Err(Refusal::Forbidden(format!("namespace {namespace:?} is already used by another project")));
    }
    Ok(())
}

fn shoot(
    new: &Shoot,
    old: Option<&Shoot>,
    (access, request): Asking<'_>,
    reads: &mut Reads<'_>,
) -> Result<(), Refusal> {
    if old.is_some_and(|old| old.spec == new.spec) {
        return Ok(());
    }
    let empty = ShootSpec::default();
    let (spec, before) = (&new.spec, old.map_or(&empty, |old| &old.spec));
    let namespace = new.metadata.namespace.as_str();
    CloudProfileOf::find(new, false, reads).map_err(|why| {
        let text = format!("could not find cloudProfileSpec from the shoot cloudProfile reference: {why}");
        Refusal::Forbidden(text)
    })?;
    let changed = |now: &Option<String>, then: &Option<String>| now.clone().filter(|_| now != then);
    exists::<Seed>(changed(&spec.seed_name, &before.seed_name), "", reads)?;
    let binding = changed(&spec.secret_binding_name, &before.secret_binding_name);
    exists::<SecretBinding>(binding, namespace, reads)?;
    let binding = changed(&spec.credentials_binding_name, &before.credentials_binding_name);
    exists::<CredentialsBinding>(binding, namespace, reads)?;
    exists::<ExposureClass>(changed(&spec.exposure_class_name, &before.exposure_class_name), "", reads)?;
    if spec.resources != before.resources {
        for resource in &spec.resources {
            let reference = &resource.resource_ref;
            let plural = format!("{}s", reference.kind.to_lowercase());
            let target = Target { plural: &plural, namespace, name: &reference.name, ..Target::default() };
            access.read(request, target, "cannot reference a resource you are not allowed to read")?;
            let found = match reference.kind.as_str() {
                "Secret" => reads.get::<Secret>(namespace, &reference.name).is_some(),
                _ => reads.get::<ConfigMap>(namespace, &reference.name).is_some(),
            };
            if !found {
                return Err(Refusal::Forbidden(format!(
                    "failed to resolve resource reference {:?}: {plural} {:?} not found",
                    resource.name, reference.name
                )));
            }
        }
    }
    if spec.dns != before.dns {
        let names = spec.dns.iter().flat_map(|dns| &dns.providers).filter_map(|provider| provider.secret_name.as_ref());
        for name in names {
            within("failed to resolve DNS provider secret reference", secret(namespace, name, reads))?;
        }
    }
    let empty = KubeAPIServerConfig::default();
    let server = |spec: &ShootSpec| spec.kubernetes.kube_api_server.clone().unwrap_or_else(|| empty.clone());
    let (now, then) = (server(spec), server(before));
    if now.admission_plugins != then.admission_plugins {
        for plugin in &now.admission_plugins {
            if let Some(name) = &plugin.kubeconfig_secret_name {
                let what =
                    format!("failed to resolve admission plugin kubeconfig secret reference for {:?}", plugin.name);
                within(&what, secret(namespace, name, reads))?;
            }
        }
    }
    let config_map = |name: &str| {
        let found = reads.get::<ConfigMap>(namespace, name).is_some();
        if found { Ok(()) } else { Err(Refusal::Forbidden(format!("configmaps {name:?} not found"))) }
    };
    if let Some(structured) =
        now.structured_authentication.filter(|one| then.structured_authentication.as_ref() != Some(one))
    {
        let what = "failed to resolve structured authentication config map reference";
        within(what, config_map(&structured.config_map_name))?;
    }
    if let Some(structured) =
        now.structured_authorization.filter(|one| then.structured_authorization.as_ref() != Some(one))
    {
        let what = "failed to resolve structured authorization config map reference";
        within(what, config_map(&structured.config_map_name))?;
        for kubeconfig in &structured.kubeconfigs {
            let what = "failed to resolve structured authorization kubeconfig secret reference";
            within(what, secret(namespace, &kubeconfig.secret_name, reads))?;
        }
    }
    Ok(())
}

fn within(what: &str, result: Result<(), Refusal>) -> Result<(), Refusal> {
    result.map_err(|refusal| match refusal {
        Refusal::Forbidden(text) => Refusal::Forbidden(format!("{what}: {text}")),
        other => other,
    })
}
