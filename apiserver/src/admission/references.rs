// SPDX-License-Identifier: Apache-2.0
//! Referential integrity: referenced objects must exist, and must not be deleted.

use api::constants::namespace;
use api::core::*;
use api::core_v1;
use api::kubernetes::core::{ConfigMap, ObjectReference, Secret};
use api::security::{CredentialsBinding, WorkloadIdentity};
use api::seedmanagement::{Gardenlet, ManagedSeed};
use apimachinery::{GroupResource, Resource as _, Status};
use domain::admission::cloud_profile::{Difference, check_versions_in_use};
use domain::admission::namespaced_cloud_profile::{check_overrides_in_use, takes_away};
use domain::admission::references as rules;
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
            return bucket_deletion(attributes, reads);
        }
        let request = attributes.request;
        let release = self.release;
        let shown = |kind: &str| {
            if rules::KINDS_OF_CREDENTIALS.contain(release) { kind.to_owned() } else { "secret".to_owned() }
        };
        let both = ["", "binding"];
        judged::<Shoot>(attributes, &both, |new, old| shoot(new, old, release, (&self.access, request), reads))?;
        judged::<Seed>(attributes, &[""], |new, old| {
            let before = old.map_or(&[][..], |old| &old.spec.resources);
            let change = (new.spec.resources.as_slice(), before);
            resources(change, namespace::GARDEN, release, (&self.access, request), reads)
        })?;
        judged::<SecretBinding>(attributes, &[""], |new, _| {
            let types: Vec<&str> = new.provider.iter().flat_map(|provider| provider.r#type.split(',')).collect();
            users(new, &types, release, |shoot| shoot.spec.secret_binding_name.as_deref(), reads)?;
            let (namespace, name) = (new.secret_ref.namespace.as_str(), new.secret_ref.name.as_str());
            let target = Target { plural: Secret::PLURAL, namespace, name, ..Target::default() };
            let text = format!("SecretBinding cannot reference a {} you are not allowed to read", shown(Secret::KIND));
            self.access.read(request, target, &text)?;
            find(Secret::KIND, namespace, name, reads)?;
            quotas(&new.quotas, SecretBinding::KIND, release, (&self.access, request), reads)
        })?;
        judged::<CredentialsBinding>(attributes, &[""], |new, _| {
            let types = [new.provider.r#type.as_str()];
            users(new, &types, release, |shoot| shoot.spec.credentials_binding_name.as_deref(), reads)?;
            let ObjectReference { kind, namespace, name, .. } = &new.credentials_ref;
            let GroupResource { group, resource: plural } = rules::resource_of(kind);
            let text = format!("CredentialsBinding cannot reference a {} you are not allowed to read", shown(kind));
            let target = Target { group: &group, plural: &plural, namespace, name, ..Target::default() };
            self.access.read(request, target, &text)?;
            credentials(&new.credentials_ref, &new.provider.r#type, reads)?;
            quotas(&new.quotas, CredentialsBinding::KIND, release, (&self.access, request), reads)
        })?;
        judged::<Project>(attributes, &[""], |new, old| project(new, old, reads))?;
        judged::<BackupBucket>(attributes, &[""], |new, old| {
            let seed = |bucket: &BackupBucket| bucket.spec.seed_name.clone();
            exists::<Seed>(seed(new).filter(|name| old.and_then(seed).as_ref() != Some(name)), "", reads)?;
            let is_found = |kind: &str, namespace: &str, name: &str| find(kind, namespace, name, reads).is_ok();
            rules::check_bucket_credentials(&new.spec, release, is_found)
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
                .map(|reference| {
                    let (plural, group) = (core_v1::ControllerDeployment::PLURAL, core_v1::ControllerDeployment::GROUP);
                    format!("{plural}.{group} {:?} not found", reference.name)
                })
                .collect();
            if missing.is_empty() { Ok(()) } else { Err(Refusal::Forbidden(multierror(&missing))) }
        })?;
        self.profiles(attributes, reads)?;
        let both = ["", "status"];
        judged::<Gardenlet>(attributes, &both, |new, _| other_name::<Gardenlet, ManagedSeed>(new, reads))?;
        judged::<ManagedSeed>(attributes, &both, |new, _| other_name::<ManagedSeed, Gardenlet>(new, reads))
    }
}

impl ResourceReferenceManager {
    /// Checks that values in use are not removed from CloudProfiles and NamespacedCloudProfiles.
    fn profiles(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        let (profile, release) = (self.profile, self.release);
        let at = Moment::new(attributes.request.now, release);
        judged::<CloudProfile>(attributes, &[""], |new, old| {
            let Some(old) = old else { return Ok(()) };
            let difference = Difference::new(&new.spec, &old.spec, release);
            if !difference.matters() {
                return Ok(());
            }
            let namespaced = reads.list_decisive::<NamespacedCloudProfile>();
            let shoots = reads.list_decisive::<Shoot>();
            check_versions_in_use(new, &difference, &namespaced, &shoots, profile, release)
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

/// Refuses the deletion of a BackupBucket with entries. Of a collection every bucket counts, regardless of selectors:
/// upstream's plugin gets no name.
fn bucket_deletion(attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
    if !attributes.is_main::<BackupBucket>() {
        return Ok(());
    }
    let entries = reads.list_decisive::<BackupEntry>();
    let names = if attributes.request.collection {
        reads.list::<BackupBucket>(None).iter().map(|bucket| bucket.metadata.name.clone()).collect()
    } else {
        vec![attributes.name.to_owned()]
    };
    for name in names {
        if let Err(Refusal::Forbidden(text)) = rules::check_bucket_deletion(&name, &entries) {
            let resource =
                GroupResource { group: BackupBucket::GROUP.to_owned(), resource: BackupBucket::PLURAL.to_owned() };
            return Err(Status::forbidden(&resource, &name, &text));
        }
    }
    Ok(())
}

/// Checks that no object of another kind has the name of an object.
fn other_name<K: apimachinery::Resource, O: apimachinery::Resource>(
    object: &K,
    reads: &Reads<'_>,
) -> Result<(), Refusal> {
    let meta = object.metadata();
    match reads.get::<O>(&meta.namespace, &meta.name) {
        Some(_) => Err(rules::same_name(K::KIND, meta, O::KIND)),
        None => Ok(()),
    }
}

/// The authorizer, and the request for whose user it decides.
type Requester<'a> = (&'a Access, &'a RequestContext);

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

/// Returns a 403 if there is no such Secret, InternalSecret, ConfigMap or WorkloadIdentity.
fn find(kind: &str, namespace: &str, name: &str, reads: &Reads<'_>) -> Result<(), Refusal> {
    let is_found = match kind {
        WorkloadIdentity::KIND => reads.get::<WorkloadIdentity>(namespace, name).is_some(),
        InternalSecret::KIND => reads.get::<InternalSecret>(namespace, name).is_some(),
        ConfigMap::KIND => reads.get::<ConfigMap>(namespace, name).is_some(),
        _ => reads.get::<Secret>(namespace, name).is_some(),
    };
    if is_found { Ok(()) } else { Err(Refusal::Forbidden(rules::not_found(kind, name))) }
}

fn credentials(reference: &ObjectReference, provider: &str, reads: &Reads<'_>) -> Result<(), Refusal> {
    find(&reference.kind, &reference.namespace, &reference.name, reads)?;
    if reference.kind != WorkloadIdentity::KIND {
        return Ok(());
    }
    match reads.get::<WorkloadIdentity>(&reference.namespace, &reference.name) {
        Some(identity) if identity.spec.target_system.r#type != provider => Err(Refusal::Forbidden(format!(
            "CredentialsBinding provider type ([{provider}]) does not match with WorkloadIdentity provider type {}",
            identity.spec.target_system.r#type
        ))),
        _ => Ok(()),
    }
}

/// Checks a binding against the Shoots that use it; `binding_of` returns a Shoot's binding of this kind.
fn users<K: apimachinery::Resource>(
    binding: &K,
    types: &[&str],
    release: Release,
    binding_of: fn(&Shoot) -> Option<&str>,
    reads: &Reads<'_>,
) -> Result<(), Refusal> {
    let meta = binding.metadata();
    let shoots = reads.list::<Shoot>(Some(&meta.namespace));
    let users = shoots.iter().map(|shoot| &**shoot).filter(|shoot| binding_of(shoot) == Some(meta.name.as_str()));
    rules::check_binding_provider(K::KIND, types, users, release)
}

/// Checks that quotas exist, at most one for the Project and one for the credentials.
fn quotas(
    references: &[ObjectReference],
    kind: &str,
    release: Release,
    (access, request): Requester<'_>,
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
            let scope = if rules::KINDS_OF_CREDENTIALS.contain(release) { "credentials" } else { "secret" };
            let text = format!("only one quota per scope (project or {scope}) can be assigned");
            return Err(Refusal::Forbidden(text));
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

/// Checks that named resources of a Shoot or Seed, if they have changed, exist and are readable; `change`: new and old ones.
fn resources(
    change: (&[NamedResourceReference], &[NamedResourceReference]),
    namespace: &str,
    release: Release,
    (access, request): Requester<'_>,
    reads: &Reads<'_>,
) -> Result<(), Refusal> {
    if change.0 == change.1 {
        return Ok(());
    }
    let shoot = if rules::RESOURCES_OF_ANY_KIND.contain(release) { "" } else { "shoot " };
    for resource in change.0 {
        let (kind, name) = (resource.resource_ref.kind.as_str(), resource.resource_ref.name.as_str());
        let GroupResource { group, resource: plural } = rules::resource_of(kind);
        let target = Target { group: &group, plural: &plural, namespace, name, ..Target::default() };
        access.read(request, target, &format!("{shoot}cannot reference a resource you are not allowed to read"))?;
        let what = format!("failed to resolve {shoot}resource reference {:?}", resource.name);
        within(&what, find(kind, namespace, name, reads))?;
    }
    Ok(())
}

fn shoot(
    new: &Shoot,
    old: Option<&Shoot>,
    release: Release,
    asking: Requester<'_>,
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
    resources((&spec.resources, &before.resources), namespace, release, asking, reads)?;
    rules::check_dns_credentials(spec, before, release, |kind, name| find(kind, namespace, name, reads).is_ok())?;
    if !rules::API_SERVER_REFERENCES.contain(release) {
        return Ok(());
    }
    let empty = KubeAPIServerConfig::default();
    let server = |spec: &ShootSpec| spec.kubernetes.kube_api_server.clone().unwrap_or_else(|| empty.clone());
    let (now, then) = (server(spec), server(before));
    if now.admission_plugins != then.admission_plugins {
        for plugin in &now.admission_plugins {
            if let Some(name) = &plugin.kubeconfig_secret_name {
                let what =
                    format!("failed to resolve admission plugin kubeconfig secret reference for {:?}", plugin.name);
                within(&what, find(Secret::KIND, namespace, name, reads))?;
            }
        }
    }
    let config_map = |name: &str| find(ConfigMap::KIND, namespace, name, reads);
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
            within(what, find(Secret::KIND, namespace, &kubeconfig.secret_name, reads))?;
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
