// SPDX-License-Identifier: Apache-2.0
//! Creates the roles of each Project's members.
//!
//! This is a part of the Project controller: roles are created before the namespace is reported as ready. Their rules
//! are in [`domain::rbac::project`].
//!
//! Source: pkg/component/garden/projectrbac/projectrbac.go @ v1.120.0.

use api::core::Project;
use api::kubernetes::rbac::{ClusterRole, ClusterRoleBinding, RoleBinding};
use apimachinery::Resource;
use apimachinery::selector::Labels;
use controller::{Api, Error, ListOptions};
use domain::rbac::project::{Roles, extension_labels, roles};
use process::Context;

use crate::GARDEN;

/// Writes the roles of Projects.
pub(crate) struct ProjectRoles {
    context: Context,
}

impl ProjectRoles {
    pub(crate) fn new(context: &Context) -> Self {
        Self { context: context.clone() }
    }

    /// Writes the roles and bindings of a Project, and removes unused roles of extensions.
    pub(crate) async fn deploy(&self, project: &Project) -> Result<(), Error> {
        let Some(namespace) = project.spec.namespace.as_deref() else { return Ok(()) };
        let roles = roles(project);
        for role in &roles.cluster_roles {
            let api = self.all::<ClusterRole>();
            match api.get_opt(&role.metadata.name).await? {
                Some(stored) => {
                    // The rules of an aggregated role are maintained by the aggregation controller.
                    let rules = if role.aggregation_rule.is_some() { stored.rules.clone() } else { role.rules.clone() };
                    let metadata = owned(&stored.metadata, &role.metadata);
                    let aggregation_rule = role.aggregation_rule.clone();
                    api.update(&stored, &ClusterRole { metadata, rules, aggregation_rule }).await?;
                }
                None => drop(api.create(role).await?),
            }
        }
        for binding in &roles.cluster_role_bindings {
            let api = self.all::<ClusterRoleBinding>();
            match api.get_opt(&binding.metadata.name).await? {
                Some(stored) => {
                    let metadata = owned(&stored.metadata, &binding.metadata);
                    let (subjects, role_ref) = (binding.subjects.clone(), binding.role_ref.clone());
                    api.update(&stored, &ClusterRoleBinding { metadata, subjects, role_ref }).await?;
                }
                None => drop(api.create(binding).await?),
            }
        }
        for binding in &roles.role_bindings {
            let api = Api::<RoleBinding>::namespaced(&self.context, GARDEN, namespace);
            match api.get_opt(&binding.metadata.name).await? {
                Some(stored) => {
                    let metadata = owned(&stored.metadata, &binding.metadata);
                    let (subjects, role_ref) = (binding.subjects.clone(), binding.role_ref.clone());
                    api.update(&stored, &RoleBinding { metadata, subjects, role_ref }).await?;
                }
                None => drop(api.create(binding).await?),
            }
        }
        self.delete_stale(project, namespace, &roles).await
    }

    /// Removes everything that [`Self::deploy`] writes.
    pub(crate) async fn destroy(&self, project: &Project) -> Result<(), Error> {
        let Some(namespace) = project.spec.namespace.as_deref() else { return Ok(()) };
        self.delete_stale(project, namespace, &Roles::default()).await?;
        let roles = roles(project);
        for role in &roles.cluster_roles {
            self.all::<ClusterRole>().delete_if_there(&role.metadata.name).await?;
        }
        for binding in &roles.cluster_role_bindings {
            self.all::<ClusterRoleBinding>().delete_if_there(&binding.metadata.name).await?;
        }
        for binding in &roles.role_bindings {
            let api = Api::<RoleBinding>::namespaced(&self.context, GARDEN, namespace);
            api.delete_if_there(&binding.metadata.name).await?;
        }
        Ok(())
    }

    /// Removes roles of extensions that are not in `wanted`.
    async fn delete_stale(&self, project: &Project, namespace: &str, wanted: &Roles) -> Result<(), Error> {
        let labels = extension_labels(&project.metadata.name);
        let selector = Labels::exact(labels.iter().map(|(key, value)| (key.as_str(), value.as_str())));
        let options = ListOptions::labelled(&selector.to_string());
        let bindings = Api::<RoleBinding>::namespaced(&self.context, GARDEN, namespace);
        for stored in bindings.list(&options).await?.0 {
            if wanted.role_bindings.iter().all(|one| one.metadata.name != stored.metadata.name) {
                bindings.delete_if_there(&stored.metadata.name).await?;
            }
        }
        let cluster_roles = self.all::<ClusterRole>();
        for stored in cluster_roles.list(&options).await?.0 {
            if wanted.cluster_roles.iter().all(|one| one.metadata.name != stored.metadata.name) {
                cluster_roles.delete_if_there(&stored.metadata.name).await?;
            }
        }
        Ok(())
    }

    fn all<K: Resource>(&self) -> Api<K> {
        Api::all(&self.context, GARDEN)
    }
}

/// Returns stored metadata with the desired labels and owners.
fn owned(
    stored: &apimachinery::meta::ObjectMeta,
    wanted: &apimachinery::meta::ObjectMeta,
) -> apimachinery::meta::ObjectMeta {
    apimachinery::meta::ObjectMeta {
        labels: wanted.labels.clone(),
        owner_references: wanted.owner_references.clone(),
        ..stored.clone()
    }
}
