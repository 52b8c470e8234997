// SPDX-License-Identifier: Apache-2.0
//! Admission of roles and bindings: users cannot grant permissions that they do not have.
//!
//! Source: k8s.io/kubernetes pkg/registry/rbac/{escalation_check.go,*/policybased/storage.go} @ v1.32.

use api::kubernetes::rbac::{ClusterRole, ClusterRoleBinding, GROUP, PolicyRule, Role, RoleBinding, RoleRef};
use apimachinery::meta::ObjectMeta;
use apimachinery::{GroupResource, Resource, Status};
use domain::rbac::MASTERS;
use domain::rbac::escalation::{AGGREGATION, full_authority, missing, refusal};
use generic_apiserver::authorization::{Authorizer, Question};
use generic_apiserver::{Attributes, Operation, Plugin, Reads, RequestContext};

use crate::Rbac;

/// Admission plugin that checks the writer of a role or a binding.
#[derive(Debug)]
pub(crate) struct Escalation(pub(crate) Rbac);

type Verdict = Result<(), Status>;

impl Plugin for Escalation {
    fn name(&self) -> &'static str {
        "RoleEscalation"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, _: &mut Reads<'_>) -> Verdict {
        let is_masters = attributes.request.user.groups.iter().any(|group| **group == *MASTERS);
        if attributes.resource.group != GROUP || attributes.operation == Operation::Delete || is_masters {
            return Ok(());
        }
        self.role::<Role>(attributes, |role| (&role.rules, false))?;
        self.role::<ClusterRole>(attributes, |role| (&role.rules, role.aggregation_rule.is_some()))?;
        self.binding::<RoleBinding>(attributes, |binding| &binding.role_ref)?;
        self.binding::<ClusterRoleBinding>(attributes, |binding| &binding.role_ref)
    }
}

impl Escalation {
    /// True if the user may use `verb` on a role whose permissions it does not have itself.
    fn may(&self, request: &RequestContext, verb: &str, plural: &str, namespace: &str, name: &str) -> bool {
        let question = Question {
            user: &request.user,
            cluster: &request.cluster,
            verb,
            group: GROUP,
            resource: plural,
            subresource: "",
            namespace,
            name,
            path: "",
        };
        self.0.authorize(&question).is_ok()
    }

    fn role<K: Resource>(
        &self,
        attributes: &mut Attributes<'_>,
        of: impl Fn(&K) -> (&Vec<PolicyRule>, bool),
    ) -> Verdict {
        if !attributes.is_main::<K>() {
            return Ok(());
        }
        let (request, namespace, given) = (attributes.request, attributes.namespace, attributes.name);
        let old = attributes.old.and_then(|old| old.downcast_ref::<K>());
        let Some(role) = attributes.object::<K>() else { return Ok(()) };
        let name = if given.is_empty() { role.metadata().name.clone() } else { given.to_owned() };
        if old.is_some_and(|old| is_same_but_owners(role, old))
            || self.may(request, "escalate", K::PLURAL, namespace, &name)
        {
            return Ok(());
        }
        let held = self.0.held(&request.user, &request.cluster, namespace);
        let (rules, is_aggregated) = of(role);
        refused::<K>(request, &name, &held, rules)?;
        let was_aggregated = old.is_some_and(|old| of(old).1);
        if (is_aggregated || was_aggregated) && !missing(&held, &full_authority()).is_empty() {
            return Err(forbidden::<K>(&name, AGGREGATION));
        }
        Ok(())
    }

    fn binding<K: Resource>(&self, attributes: &mut Attributes<'_>, of: impl Fn(&K) -> &RoleRef) -> Verdict {
        if !attributes.is_main::<K>() {
            return Ok(());
        }
        let (request, namespace, given) = (attributes.request, attributes.namespace, attributes.name);
        let old = attributes.old.and_then(|old| old.downcast_ref::<K>());
        let Some(binding) = attributes.object::<K>() else { return Ok(()) };
        let name = if given.is_empty() { binding.metadata().name.clone() } else { given.to_owned() };
        if old.is_some_and(|old| is_same_but_owners(binding, old)) {
            return Ok(());
        }
        let role = of(binding);
        let (plural, of_role) = match role.kind.as_str() {
            Role::KIND => (Role::PLURAL, namespace),
            _ => (ClusterRole::PLURAL, ""),
        };
        // A permission to bind the role counts if it holds in all namespaces or in this one.
        if self.may(request, "bind", plural, namespace, &role.name)
            || self.may(request, "bind", plural, of_role, &role.name)
        {
            return Ok(());
        }
        let Some(rules) = self.0.rules_of(&request.cluster, role, namespace) else {
            let resource = GroupResource { group: GROUP.to_owned(), resource: plural.to_owned() };
            return Err(Status::not_found(&resource, &role.name));
        };
        let held = self.0.held(&request.user, &request.cluster, namespace);
        refused::<K>(request, &name, &held, &rules)
    }
}

/// True if an update changes only the fields that deletions need.
fn is_same_but_owners<K: Resource>(new: &K, old: &K) -> bool {
    let bare = |object: &K| {
        let mut object = object.clone();
        let metadata: &mut ObjectMeta = object.metadata_mut();
        metadata.owner_references.clear();
        metadata.finalizers.clear();
        metadata.managed_fields.clear();
        metadata.resource_version.clear();
        object
    };
    bare(new) == bare(old)
}

fn refused<K: Resource>(request: &RequestContext, name: &str, held: &[PolicyRule], given: &[PolicyRule]) -> Verdict {
    let groups: Vec<&str> = request.user.groups.iter().map(|group| &**group).collect();
    match refusal(&request.user.name, &groups, held, given) {
        Some(text) => Err(forbidden::<K>(name, &text)),
        None => Ok(()),
    }
}

fn forbidden<K: Resource>(name: &str, text: &str) -> Status {
    let resource = GroupResource { group: K::GROUP.to_owned(), resource: K::PLURAL.to_owned() };
    Status::forbidden(&resource, name, text)
}
