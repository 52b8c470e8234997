// SPDX-License-Identifier: Apache-2.0
//! The admission chain, in upstream's order (plugin/pkg/plugins.go @ v1.120.0).
//!
//! Plugins fetch what a rule of [`domain::admission`] needs and call it. NamespaceLifecycle is the generic server's.

mod access;
mod extensions;
mod lifecycle;
mod managed_seed;
mod namespaced_cloud_profile;
mod project;
mod quota;
mod references;
mod resource_quota;
mod seed;
mod shoot;

use std::sync::Arc;

use api::core::{CloudProfile, CloudProfileSpec, NamespacedCloudProfile, Project, Shoot};
use apimachinery::{GroupKind, GroupResource, Resource, Status};
use domain::admission::Refusal;
use domain::admission::project::{
    add_default_tolerations, admit_project, apply_exposure_class, check_tolerations, reserve_resources,
};
use domain::cloud_profile::{CLOUD_PROFILE, NAMESPACED_CLOUD_PROFILE, without_lost_versions};
use generic_apiserver::{Attributes, Authorizer, Operation, Plugin, Reads};

use crate::Options;

/// The plugins, in order: all mutating phases run in it, then all validating ones. The authorizer says what else a user may
/// do.
pub fn chain(options: &Options, authorizer: Arc<dyn Authorizer>) -> Vec<Arc<dyn Plugin>> {
    let access = access::Access(authorizer);
    vec![
        Arc::new(references::ResourceReferenceManager { profile: options.profile, access: access.clone() }),
        Arc::new(extensions::ExtensionValidator),
        Arc::new(extensions::ExtensionLabels),
        Arc::new(project::ShootTolerationRestriction),
        Arc::new(shoot::ShootExposureClass),
        Arc::new(shoot::ShootDNS(options.default_domains.clone())),
        Arc::new(managed_seed::ShootManagedSeed),
        Arc::new(quota::ShootQuotaValidator),
        Arc::new(shoot::ShootValidator(access.clone())),
        Arc::new(seed::SeedValidator),
        Arc::new(seed::SeedMutator),
        Arc::new(extensions::ControllerRegistrationResources),
        Arc::new(extensions::ExtensionLibrary(options.profile)),
        Arc::new(namespaced_cloud_profile::NamespacedCloudProfileValidator),
        Arc::new(project::ProjectValidator),
        Arc::new(lifecycle::DeletionConfirmation),
        Arc::new(lifecycle::FinalizerRemoval),
        Arc::new(access::CustomVerbAuthorizer(access)),
        Arc::new(shoot::ShootResourceReservation),
        Arc::new(managed_seed::ManagedSeed),
        Arc::new(managed_seed::ManagedSeedShoot),
        Arc::new(resource_quota::ResourceQuotas),
    ]
}

/// What a plugin answers.
type Verdict = Result<(), Status>;

/// A refusal as the answer to a request about an object of `K`.
fn refused<K: Resource>(attributes: &mut Attributes<'_>, refusal: Refusal) -> Status {
    let resource = attributes.resource;
    let given = attributes.name;
    let meta = attributes.object::<K>().map(|object| object.metadata());
    let own = meta.map_or(["", ""], |meta| [&meta.name, &meta.generate_name]);
    let name = [given, own[0], own[1]].into_iter().find(|name| !name.is_empty()).unwrap_or("Unknown");
    match refusal {
        Refusal::Forbidden(text) => {
            let resource = GroupResource { group: resource.group.clone(), resource: resource.resource.clone() };
            Status::forbidden(&resource, name, &text)
        }
        Refusal::Invalid(errors) => {
            let kind = GroupKind { group: resource.group.clone(), kind: K::KIND.to_owned() };
            Status::invalid(&kind, name, &errors)
        }
        Refusal::BadRequest(text) => Status::bad_request(text),
        Refusal::Internal(text) => Status::internal_error(&text),
        Refusal::Plain(text) => Status::failure(500, "", text),
        Refusal::NotFound(resource, name) => Status::not_found(&resource, &name),
    }
}

/// The stored object, for as long as the request lives.
fn stored<'a, K: Resource>(attributes: &Attributes<'a>) -> Option<&'a K> {
    attributes.old.and_then(|old| old.downcast_ref())
}

/// Whether the request writes an object of `K` through one of these doors.
fn writes<K: Resource>(attributes: &Attributes<'_>, doors: &[&str]) -> bool {
    attributes.operation != Operation::Delete
        && attributes.is::<K>()
        && doors.contains(&&*attributes.request.subresource)
}

/// The operation in domain's words.
fn operation(attributes: &Attributes<'_>) -> domain::admission::Operation {
    match attributes.operation {
        Operation::Create => domain::admission::Operation::Create,
        Operation::Update => domain::admission::Operation::Update,
        Operation::Delete => domain::admission::Operation::Delete,
    }
}

/// The Project of a namespace.
fn project_of(namespace: &str, reads: &Reads<'_>) -> Option<Arc<Project>> {
    let mut projects = reads.list::<Project>(None).into_iter();
    projects.find(|project| project.spec.namespace.as_deref() == Some(namespace))
}

/// The CloudProfile that a Shoot refers to.
enum CloudProfileOf {
    /// Itself.
    Cluster(Arc<CloudProfile>),
    /// With its parent's spec merged in; another spec than its status shows if versions are lost already.
    Namespaced(Arc<NamespacedCloudProfile>, Option<Box<CloudProfileSpec>>),
}

impl CloudProfileOf {
    fn spec(&self) -> &CloudProfileSpec {
        match self {
            Self::Cluster(profile) => &profile.spec,
            Self::Namespaced(profile, None) => &profile.status.cloud_profile_spec,
            Self::Namespaced(_, Some(spec)) => spec,
        }
    }

    /// Looks it up; `decisive` when the decision rests on it. The error says why there is none.
    fn find(shoot: &Shoot, decisive: bool, reads: &mut Reads<'_>) -> Result<Self, String> {
        let Some(reference) = domain::cloud_profile::reference(&shoot.spec) else {
            return Err("no cloudprofile reference has been provided".to_owned());
        };
        let (name, namespace) = (&reference.name, &shoot.metadata.namespace);
        // The name in upstream's caches is the singular one.
        let missing = |kind: &str| format!("{}.core.gardener.cloud {name:?} not found", kind.to_lowercase());
        match reference.kind.as_str() {
            NAMESPACED_CLOUD_PROFILE => {
                let found: Option<Arc<NamespacedCloudProfile>> =
                    if decisive { reads.get_decisive(namespace, name) } else { reads.get(namespace, name) };
                let found = found.ok_or_else(|| missing(NAMESPACED_CLOUD_PROFILE))?;
                let root = &found.spec.parent.name;
                let parent: Option<Arc<CloudProfile>> =
                    if decisive { reads.get_decisive("", root) } else { reads.get("", root) };
                let current = parent.and_then(|parent| {
                    without_lost_versions(&found.status.cloud_profile_spec, &parent.spec, &found.spec).map(Box::new)
                });
                Ok(Self::Namespaced(found, current))
            }
            CLOUD_PROFILE => {
                let found = if decisive { reads.get_decisive("", name) } else { reads.get("", name) };
                found.map(Self::Cluster).ok_or_else(|| missing(CLOUD_PROFILE))
            }
            _ => Err("could not find referenced cloudprofile".to_owned()),
        }
    }
}

/// The Shoot's Project, without which nothing can be said of it.
fn project_of_shoot(shoot: &Shoot, reads: &Reads<'_>) -> Result<Arc<Project>, Refusal> {
    project_of(&shoot.metadata.namespace, reads).ok_or_else(|| {
        let text = format!(
            "could not find referenced project: Project.core.gardener.cloud {:?} not found",
            format!("<unknown> for namespace {}", shoot.metadata.namespace)
        );
        Refusal::Internal(text)
    })
}
