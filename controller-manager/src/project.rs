// SPDX-License-Identifier: Apache-2.0
//! Creates each Project's namespace and its members' roles, and removes them.
//!
//! Source: pkg/controllermanager/controller/project/project @ v1.120.0.

use std::sync::Arc;

use api::constants;
use api::core::{Project, Shoot};
use api::kubernetes::core::{Namespace, ResourceQuota};
use api::operator::ProjectQuotaConfiguration;
use apimachinery::meta::DeleteOptions;
use controller::{Action, Api, Change, Controller, Error, EventType, ObjectKey, ObjectRef, Recorder, Requeue, Store};
use domain::project;
use process::Context;

use crate::project_roles::ProjectRoles;
use crate::protection::garden_key;
use crate::recorder;
use crate::stores::Stores;
use crate::{GARDEN, Options, finalizer};

/// Reasons of Events about the deletion of a Project.
const NAMESPACE_NOT_EMPTY: &str = "NamespaceNotEmpty";
const NAMESPACE_MARKED_FOR_DELETION: &str = "NamespaceMarkedForDeletion";

/// Name of the controller.
pub const NAME: &str = "project";

struct Reconciler {
    stores: Stores,
    projects: Api<Project>,
    namespaces: Api<Namespace>,
    recorder: Recorder,
    /// Writer of the members' roles; `None` if roles are disabled.
    roles: Option<ProjectRoles>,
    context: Context,
    quotas: Vec<ProjectQuotaConfiguration>,
}

/// Runs the controller.
pub async fn run(context: Context, stores: Stores, options: Options) {
    let config = options.config;
    let reconciler = Arc::new(Reconciler {
        projects: Api::all(&context, GARDEN),
        namespaces: Api::all(&context, GARDEN),
        recorder: recorder(&context, "project-controller"),
        roles: options.project_roles.then(|| ProjectRoles::new(&context)),
        quotas: options.project_quotas,
        context: context.clone(),
        stores: stores.clone(),
    });
    let mut controller = Controller::new(NAME, &context);
    controller.watch_store(&stores.projects, |change| {
        let is_relevant = change.differs(|project| {
            (project.metadata.generation, project.metadata.is_being_deleted(), project.status.phase.is_empty())
        });
        if is_relevant && change.new.is_some() { vec![change.key.clone()] } else { Vec::new() }
    });
    let projects = stores.projects.clone();
    controller.watch_store(&stores.namespaces, move |change| keys_of_namespace(&projects, change));
    let projects = stores.projects.clone();
    controller.watch_store(&stores.shoots, move |change| keys_of_shoot(&projects, change));
    controller
        .run(config.concurrent_syncs, move |key| {
            let reconciler = reconciler.clone();
            async move { reconciler.reconcile(&key).await }
        })
        .await;
}

/// Returns the Projects that name a namespace whose labels or annotations changed, or that was created or deleted.
fn keys_of_namespace(projects: &Store<Project>, change: &Change<Namespace>) -> Vec<ObjectKey> {
    if !change.differs(|namespace| (namespace.metadata.labels.clone(), namespace.metadata.annotations.clone())) {
        return Vec::new();
    }
    let projects = projects.list();
    let naming = projects.iter().filter(|project| project.spec.namespace.as_deref() == Some(&change.key.name));
    naming.map(|project| garden_key("", &project.metadata.name)).collect()
}

/// Returns the Projects being deleted that may have waited for a deleted Shoot.
fn keys_of_shoot(projects: &Store<Project>, change: &Change<Shoot>) -> Vec<ObjectKey> {
    if change.new.is_some() {
        return Vec::new();
    }
    let projects = projects.list();
    let leaving = projects.iter().filter(|project| {
        project.metadata.is_being_deleted() && project.spec.namespace.as_deref() == Some(&change.key.namespace)
    });
    leaving.map(|project| garden_key("", &project.metadata.name)).collect()
}

impl Reconciler {
    async fn reconcile(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(stored) = self.stores.projects.get(key) else { return Ok(Requeue::OnChange) };
        if stored.metadata.is_being_deleted() {
            return self.delete(&stored).await;
        }
        let mut current = finalizer::add(&self.projects, &stored, constants::finalizer::GARDENER).await?;
        if current.status.phase.is_empty() {
            current = self.set_phase(&current, project::PENDING).await?;
        }
        // A further pass over an observed Project publishes no Event.
        let is_news =
            current.status.phase != project::READY || current.status.observed_generation != current.metadata.generation;
        let name = match self.reconcile_namespace(&current).await {
            Ok(name) => name,
            Err(failure) => return self.fail(&current, failure).await,
        };
        if is_news {
            let message = format!("Successfully reconciled namespace {name:?} for project");
            self.publish(&current, EventType::Normal, "NamespaceReconcileSuccessful", &message).await?;
        }
        if current.spec.namespace.is_none() {
            let mut new = current.clone();
            new.spec.namespace = Some(name);
            current = match self.projects.update(&current, &new).await {
                Ok(written) => written,
                Err(error) => return self.fail(&current, Failure::Request(error)).await,
            };
        }
        if let Err(failure) = self.reconcile_quota(&current).await {
            return self.fail(&current, failure).await;
        }
        if let Some(roles) = &self.roles
            && let Err(error) = roles.deploy(&current).await
        {
            let namespace = current.spec.namespace.clone().unwrap_or_default();
            return self.fail(&current, Failure::Roles(namespace, error)).await;
        }
        self.set_phase(&current, project::READY).await?;
        Ok(Requeue::OnChange)
    }

    /// Creates or adopts the namespace; returns its name.
    async fn reconcile_namespace(&self, project: &Project) -> Result<String, Failure> {
        let name = project::namespace_name(project);
        let stored = match self.stores.namespaces.find("", &name) {
            Some(stored) => Some(Namespace::clone(&stored)),
            None => self.namespaces.get_opt(&name).await?,
        };
        match stored {
            None => drop(self.namespaces.create(&project::new_namespace(project)).await?),
            Some(stored) => {
                let adopted = project::adopt(&stored, project)?;
                self.namespaces.update(&stored, &adopted).await?;
            }
        }
        Ok(name)
    }

    /// Creates or updates the namespace's ResourceQuota, if one is configured for the Project.
    async fn reconcile_quota(&self, project: &Project) -> Result<(), Failure> {
        let config = project::quota_of(&self.quotas, project).map_err(Failure::Selector)?;
        let (Some(config), Some(namespace)) = (config, &project.spec.namespace) else { return Ok(()) };
        let quotas = Api::<ResourceQuota>::namespaced(&self.context, GARDEN, namespace);
        let written = async {
            match quotas.get_opt(project::QUOTA).await? {
                Some(stored) => {
                    let wanted = project::quota(config, Some(&stored), project);
                    quotas.update(&stored, &wanted).await.map(drop)
                }
                None => quotas.create(&project::quota(config, None, project)).await.map(drop),
            }
        };
        written.await.map_err(Failure::Quota)
    }

    async fn fail(&self, project: &Project, failure: Failure) -> Result<Requeue, Error> {
        let message = failure.to_string();
        let of_request = match &failure {
            Failure::Request(error) | Failure::Roles(_, error) | Failure::Quota(error) => Some(error),
            Failure::Namespace(_) | Failure::Selector(_) => None,
        };
        let is_stale = of_request.is_some_and(|error| error.is_conflict() || error.status().is_none());
        if !is_stale {
            self.publish(project, EventType::Warning, "NamespaceReconcileFailed", &message).await?;
            self.set_phase(project, project::FAILED).await?;
        }
        match failure {
            Failure::Namespace(_) | Failure::Selector(_) => Ok(Requeue::OnChange),
            Failure::Request(error) | Failure::Roles(_, error) | Failure::Quota(error) => Err(error),
        }
    }

    async fn delete(&self, project: &Project) -> Result<Requeue, Error> {
        if !project.metadata.has_finalizer(constants::finalizer::GARDENER) {
            return Ok(Requeue::OnChange);
        }
        if let Some(name) = &project.spec.namespace {
            if !self.stores.shoots.list_in(GARDEN, name).is_empty() {
                if project.status.phase != project::TERMINATING {
                    let message = format!("Cannot release namespace {name:?} because it still contains Shoots");
                    self.publish(project, EventType::Warning, NAMESPACE_NOT_EMPTY, &message).await?;
                    self.set_phase(project, project::TERMINATING).await?;
                }
                return Ok(Requeue::OnChange);
            }
            if let Some(roles) = &self.roles {
                roles.destroy(project).await?;
            }
            if !self.release_namespace(project, name).await? {
                self.set_phase(project, project::TERMINATING).await?;
                return Ok(Requeue::OnChange);
            }
        }
        finalizer::remove(&self.projects, project, constants::finalizer::GARDENER).await?;
        Ok(Requeue::OnChange)
    }

    /// Deletes or releases the namespace; returns true if there is nothing left to wait for.
    async fn release_namespace(&self, project: &Project, name: &str) -> Result<bool, Error> {
        let Some(namespace) = self.namespaces.get_opt(name).await? else { return Ok(true) };
        if namespace.metadata.is_being_deleted() {
            return Ok(false);
        }
        if !project::belongs_to(&namespace, project) {
            return Ok(true);
        }
        if project::is_kept(&namespace) {
            self.namespaces.update(&namespace, &project::released(&namespace, project)).await?;
            return Ok(true);
        }
        match self.namespaces.delete(name, &DeleteOptions::default()).await {
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
        let message = format!("Successfully marked project namespace {name:?} for deletion");
        self.publish(project, EventType::Normal, NAMESPACE_MARKED_FOR_DELETION, &message).await?;
        Ok(false)
    }

    async fn set_phase(&self, project: &Project, phase: &str) -> Result<Project, Error> {
        let mut new = project.clone();
        phase.clone_into(&mut new.status.phase);
        new.status.observed_generation = project.metadata.generation;
        self.projects.update_status(project, &new).await
    }

    async fn publish(&self, project: &Project, type_: EventType, reason: &str, message: &str) -> Result<(), Error> {
        let action = match reason {
            NAMESPACE_NOT_EMPTY | NAMESPACE_MARKED_FOR_DELETION => Action::Delete,
            _ => Action::Reconcile,
        };
        self.recorder.publish_action(&ObjectRef::of(project), type_, reason, action, message).await
    }
}

/// Reason why a Project cannot be reconciled.
enum Failure {
    Namespace(project::NamespaceError),
    Request(Error),
    /// Error about the roles of members, with the namespace.
    Roles(String, Error),
    /// Error about the namespace's ResourceQuota.
    Quota(Error),
    /// Error in a selector of the configuration.
    Selector(String),
}

impl From<project::NamespaceError> for Failure {
    fn from(error: project::NamespaceError) -> Self {
        Self::Namespace(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Request(error)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Namespace(error) => error.fmt(f),
            Self::Request(error) => error.fmt(f),
            Self::Quota(error) => write!(f, "Error while setting up ResourceQuota: {error}"),
            Self::Selector(reason) => write!(f, "Error while setting up ResourceQuota: {reason}"),
            Self::Roles(namespace, error) => {
                write!(f, "Error while reconciling RBAC resources for namespace {namespace:?}: {error}")
            }
        }
    }
}
