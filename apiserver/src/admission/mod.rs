// SPDX-License-Identifier: Apache-2.0
//! The admission chain, in upstream's order (plugin/pkg/plugins.go @ v1.120.0).
//!
//! Plugins fetch the inputs of a rule of [`domain::admission`] and call it. NamespaceLifecycle is part of the generic server.

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

use api::core::{CloudProfile, CloudProfileReference, CloudProfileSpec, NamespacedCloudProfile, Project, Shoot};
use apimachinery::{GroupKind, GroupResource, Resource, Status};
use domain::admission::Refusal;
use domain::admission::project::{
    add_default_tolerations, admit_project, apply_exposure_class, check_tolerations, reserve_resources,
};
use domain::cloud_profile::{CLOUD_PROFILE, Profiles, Resolved, Unresolved, resolve, without_lost_versions};
use generic_apiserver::{Attributes, Authorizer, Operation, Plugin, Reads};

use crate::Options;

/// Returns the plugins in order: all mutating phases run in it, then all validating ones. The authorizer decides about
/// further permissions of users.
pub fn chain(options: &Options, authorizer: Arc<dyn Authorizer>) -> Vec<Arc<dyn Plugin>> {
    let access = access::Access(authorizer);
    let release = options.version.served_release();
    vec![
        Arc::new(managed_seed::Configurations { release }),
        Arc::new(references::ResourceReferenceManager { profile: options.profile, release, access: access.clone() }),
        Arc::new(extensions::ExtensionValidator),
        Arc::new(extensions::ExtensionLabels),
        Arc::new(project::ShootTolerationRestriction),
        Arc::new(shoot::ShootExposureClass),
        Arc::new(shoot::ShootDNS(options.default_domains.clone(), release)),
        Arc::new(managed_seed::ShootManagedSeed),
        Arc::new(quota::ShootQuotaValidator),
        Arc::new(shoot::ShootValidator {
            access: access.clone(),
            release,
            live_migration: options.gates.live_control_plane_migration,
        }),
        Arc::new(seed::SeedValidator { release }),
        Arc::new(seed::SeedMutator),
        Arc::new(extensions::ControllerRegistrationResources),
        Arc::new(extensions::ExtensionLibrary(options.profile)),
        Arc::new(namespaced_cloud_profile::NamespacedCloudProfileValidator(options.judging_gates())),
        Arc::new(project::ProjectValidator(release)),
        Arc::new(lifecycle::DeletionConfirmation),
        Arc::new(lifecycle::FinalizerRemoval),
        Arc::new(access::CustomVerbAuthorizer(access)),
        Arc::new(shoot::ShootResourceReservation),
        Arc::new(managed_seed::ManagedSeed { release }),
        Arc::new(managed_seed::ManagedSeedShoot),
        Arc::new(resource_quota::ResourceQuotas),
    ]
}

/// Result of a plugin.
type Verdict = Result<(), Status>;

/// Converts a refusal to the `Status` for a request on an object of `K`.
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

/// Returns the stored object, for the lifetime of the request.
fn stored<'a, K: Resource>(attributes: &Attributes<'a>) -> Option<&'a K> {
    attributes.old.and_then(|old| old.downcast_ref())
}

/// True if the request writes an object of `K` through one of these subresources.
fn writes<K: Resource>(attributes: &Attributes<'_>, doors: &[&str]) -> bool {
    attributes.operation != Operation::Delete
        && attributes.is::<K>()
        && doors.contains(&&*attributes.request.subresource)
}

/// Converts the operation to that of `domain`.
fn operation(attributes: &Attributes<'_>) -> domain::admission::Operation {
    match attributes.operation {
        Operation::Create => domain::admission::Operation::Create,
        Operation::Update => domain::admission::Operation::Update,
        Operation::Delete => domain::admission::Operation::Delete,
    }
}

/// Returns the Project of a namespace.
fn project_of(namespace: &str, reads: &Reads<'_>) -> Option<Arc<Project>> {
    let mut projects = reads.list::<Project>(None).into_iter();
    projects.find(|project| project.spec.namespace.as_deref() == Some(namespace))
}

/// The profile that a Shoot refers to.
struct CloudProfileOf {
    profile: Resolved,
    /// Current specification, if the parent has lost versions that the profile's status still shows.
    current: Option<Box<CloudProfileSpec>>,
}

impl CloudProfileOf {
    fn spec(&self) -> &CloudProfileSpec {
        self.current.as_deref().unwrap_or_else(|| self.profile.spec())
    }

    /// Returns the CloudProfile of the profile: itself, or its parent.
    fn root(&self) -> CloudProfileReference {
        match &self.profile {
            Resolved::Cluster(profile) => {
                CloudProfileReference { kind: CLOUD_PROFILE.to_owned(), name: profile.metadata.name.clone() }
            }
            Resolved::Namespaced(profile) => profile.spec.parent.clone(),
        }
    }

    /// Resolves the profile of a Shoot; `decisive`: the decision depends on it. The error is the reason why the profile
    /// cannot be resolved.
    fn find(shoot: &Shoot, decisive: bool, reads: &mut Reads<'_>) -> Result<Self, String> {
        let mut profiles = ReadProfiles { reads, decisive };
        let profile = resolve(shoot, &mut profiles).map_err(|error| match error {
            // Upstream's caches use the singular name.
            Unresolved::NotFound(CloudProfileReference { kind, name }) => {
                format!("{}.core.gardener.cloud {name:?} not found", kind.to_lowercase())
            }
            error => error.to_string(),
        })?;
        let current = match &profile {
            Resolved::Cluster(_) => None,
            Resolved::Namespaced(own) => profiles.cloud_profile(&own.spec.parent.name).and_then(|parent| {
                without_lost_versions(&own.status.cloud_profile_spec, &parent.spec, &own.spec).map(Box::new)
            }),
        };
        Ok(Self { profile, current })
    }
}

/// Reader of profiles for admission.
struct ReadProfiles<'a, 'b> {
    reads: &'a mut Reads<'b>,
    /// True if the decision depends on the profiles.
    decisive: bool,
}

impl ReadProfiles<'_, '_> {
    fn get<K: Resource>(&mut self, namespace: &str, name: &str) -> Option<Arc<K>> {
        if self.decisive { self.reads.get_decisive(namespace, name) } else { self.reads.get(namespace, name) }
    }
}

impl Profiles for ReadProfiles<'_, '_> {
    fn cloud_profile(&mut self, name: &str) -> Option<Arc<CloudProfile>> {
        self.get("", name)
    }

    fn namespaced_cloud_profile(&mut self, namespace: &str, name: &str) -> Option<Arc<NamespacedCloudProfile>> {
        self.get(namespace, name)
    }
}

/// Returns the Shoot's Project, which every decision needs.
fn project_of_shoot(shoot: &Shoot, reads: &Reads<'_>) -> Result<Arc<Project>, Refusal> {
    project_of(&shoot.metadata.namespace, reads).ok_or_else(|| {
        let text = format!(
            "could not find referenced project: Project.core.gardener.cloud {:?} not found",
            format!("<unknown> for namespace {}", shoot.metadata.namespace)
        );
        Refusal::Internal(text)
    })
}
