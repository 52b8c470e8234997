// SPDX-License-Identifier: Apache-2.0
//! Strategies of Kubernetes' own kinds, as far as clients can observe them. The rules are [`domain::core_kinds`]'s,
//! [`domain::defaulting`]'s and [`domain::validation`]'s.

use apimachinery::DynamicObject;
use apimachinery::field::FieldError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::core_kinds::{self, Traits};
use domain::defaulting::workload as defaults;
use domain::validation::workload::{self, Kind};
use domain::{autoscaling, certificates, resource_quota};
use generic_apiserver::registry::Generation;
use generic_apiserver::{RequestContext, Strategy};
use serde_json::Value;

use crate::admission::resource_quotas;

/// Subresource that adds debug containers to a pod.
const EPHEMERAL_CONTAINERS: &str = "ephemeralcontainers";
/// Annotation with the name of the ServiceAccount whose token a Secret holds.
const ACCOUNT: &str = "kubernetes.io/service-account.name";

/// Behaviour of a Kubernetes kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreStrategy {
    /// Group of the kind; empty for the core group.
    group: &'static str,
    /// Plural name of the kind.
    plural: &'static str,
    traits: Traits,
    /// A kind of `apps`; `None` for other kinds.
    workload: Option<Kind>,
}

impl CoreStrategy {
    /// Returns the behaviour of a resource.
    pub(crate) fn of(group: &'static str, plural: &'static str) -> Self {
        let workload = if group == "apps" { Kind::of(plural) } else { None };
        Self { group, plural, traits: Traits::of(group, plural), workload }
    }

    /// True for pods: their status is written by the component that runs them, and their deletion has a grace period.
    fn is_pod(&self) -> bool {
        (self.group, self.plural) == ("", "pods")
    }

    fn is_signing_request(&self) -> bool {
        (self.group, self.plural) == ("certificates.k8s.io", "certificatesigningrequests")
    }

    /// Violations of an object that is new, or whose specification has changed.
    fn violations(&self, object: &DynamicObject) -> Vec<FieldError> {
        let (metadata, fields) = (&object.metadata, &object.fields);
        let name = &metadata.name;
        match (self.group, self.plural) {
            ("batch", "jobs") => workload::job(&metadata.uid, fields),
            ("batch", "cronjobs") => workload::cron_job(name, fields),
            ("", "persistentvolumeclaims") => workload::claim(fields),
            ("certificates.k8s.io", _) => {
                let request = object.get(&["spec", "request"]).and_then(Value::as_str).unwrap_or_default();
                let pem = STANDARD.decode(request).unwrap_or_default();
                certificates::validate(&String::from_utf8_lossy(&pem), fields)
            }
            ("", "configmaps") => workload::config_map(fields),
            ("", "secrets") => workload::secret(metadata.annotation(ACCOUNT), fields),
            ("", "services") => workload::service(name, fields),
            ("", "resourcequotas") => {
                resource_quotas::typed(object).map(|quota| resource_quota::validate(&quota, None)).unwrap_or_default()
            }
            ("", "pods") => workload::pod(fields),
            ("scheduling.k8s.io", "priorityclasses") => workload::priority_class(name, fields),
            ("node.k8s.io", "runtimeclasses") => workload::runtime_class(fields),
            ("policy", "poddisruptionbudgets") => workload::disruption_budget(fields),
            ("coordination.k8s.io", "leases") => workload::lease(fields),
            ("apps", "controllerrevisions") => workload::controller_revision(fields),
            _ => self.workload.map(|kind| workload::create(kind, name, fields)).unwrap_or_default(),
        }
    }
}

/// True if a request comes from the component that runs simulated pods.
fn is_kube_controllers(request: &RequestContext) -> bool {
    request.user.component.as_ref().is_some_and(|(name, _)| &**name == "kube-controller-manager")
}

impl Strategy<DynamicObject> for CoreStrategy {
    fn default(&self, object: &mut DynamicObject) {
        defaults::fill(self.group, self.plural, &mut object.fields);
        if (self.group, self.plural) == ("", "secrets") {
            defaults::secret(&mut object.fields);
        }
    }

    fn prepare_for_create(&self, object: &mut DynamicObject, request: &RequestContext) {
        // Unlike upstream: a simulated pod may already run when it is created, which saves a write.
        let runs = is_kube_controllers(request) && object.fields.contains_key("status");
        if self.is_pod() && !runs {
            let status = core_kinds::pending_pod(&object.fields);
            object.fields.insert("status".to_owned(), status);
        } else if let Some(status) = defaults::status(self.group, self.plural) {
            object.fields.insert("status".to_owned(), status);
        }
        if self.is_signing_request() {
            let who = certificates::Requester {
                name: &request.user.name,
                groups: request.user.groups.iter().map(|group| &**group).collect(),
                uid: &request.details.uid,
                extra: &request.details.extra,
            };
            certificates::set_requester(&mut object.fields, &who);
        }
        if (self.group, self.plural) == ("batch", "jobs") {
            let DynamicObject { metadata, fields, .. } = object;
            workload::select_own_pods(&metadata.name, &metadata.uid, fields);
        }
        let protection = defaults::protection(self.group, self.plural);
        if let Some(finalizer) = protection.filter(|finalizer| !object.metadata.has_finalizer(finalizer)) {
            object.metadata.finalizers.push(finalizer.to_owned());
        }
    }

    fn validate_create(&self, object: &DynamicObject, _: &RequestContext) -> Vec<FieldError> {
        match (self.group, self.plural) {
            ("", "events") => workload::event(&object.metadata.namespace, &object.fields),
            _ => self.violations(object),
        }
    }

    fn prepare_for_update(&self, object: &mut DynamicObject, old: &DynamicObject, request: &RequestContext) {
        if self.is_signing_request() {
            certificates::keep(&mut object.fields, &old.fields, &request.subresource, request.now);
        }
        if self.group == "autoscaling" {
            autoscaling::keep_older(&mut object.fields, &old.fields);
        }
        if self.is_pod() && &*request.subresource == EPHEMERAL_CONTAINERS {
            core_kinds::keep_all_but_ephemeral_containers(object, old);
        }
    }

    fn validate_update(
        &self,
        object: &DynamicObject,
        old: &DynamicObject,
        request: &RequestContext,
    ) -> Vec<FieldError> {
        if self.is_signing_request() {
            return certificates::validate_update(&object.fields, &old.fields);
        }
        if &*request.subresource == "status" {
            let is_budget = (self.group, self.plural) == ("policy", "poddisruptionbudgets");
            return if is_budget { workload::disruption_budget_status(&object.fields) } else { Vec::new() };
        }
        if self.is_pod() && &*request.subresource == EPHEMERAL_CONTAINERS {
            return workload::ephemeral_update(&object.fields, &old.fields);
        }
        // Unlike upstream: an object stored by an earlier release must remain deletable, so unchanged specifications
        // are not validated.
        if core_kinds::is_specified_alike(&object.fields, &old.fields) {
            return Vec::new();
        }
        let mut before = old.fields.clone();
        defaults::fill(self.group, self.plural, &mut before);
        if core_kinds::is_specified_alike(&object.fields, &before) {
            return Vec::new();
        }
        let fields = &object.fields;
        match (self.group, self.plural) {
            ("", "pods") => return workload::pod_update(fields, &before, request.user.component.is_some()),
            ("", "persistentvolumeclaims") => return workload::claim_update(fields, &before),
            ("batch", "jobs") => return workload::job_update(&object.metadata.uid, fields, &before),
            _ => {}
        }
        if let Some(kind) = self.workload {
            return workload::update(kind, fields, &before);
        }
        let mut errors = match (self.group, self.plural) {
            ("", "services") => workload::service_update(fields, &before),
            ("", "configmaps") => workload::config_map_update(fields, &before),
            ("apps", "controllerrevisions") => workload::controller_revision_update(fields, &before),
            // Their updates have rules of their own.
            ("scheduling.k8s.io", "priorityclasses") => return workload::priority_class_update(fields, &before),
            ("node.k8s.io", "runtimeclasses") => return workload::runtime_class_update(fields, &before),
            ("", "secrets") => workload::secret_update(fields, &before),
            ("", "resourcequotas") => {
                let (new, old) = (resource_quotas::typed(object), resource_quotas::typed(old));
                return new.map(|new| resource_quota::validate(&new, old.as_ref())).unwrap_or_default();
            }
            _ => Vec::new(),
        };
        errors.extend(self.violations(object));
        errors
    }

    fn deletion_grace_seconds(&self, object: &DynamicObject, asked: Option<i64>) -> i64 {
        if self.is_pod() { core_kinds::pod_grace_seconds(&object.fields, asked) } else { 0 }
    }

    fn generation(&self) -> Generation {
        if self.traits.counts_generations { Generation::Standard } else { Generation::None }
    }

    fn allows_unconditional_update(&self) -> bool {
        self.traits.allows_unconditional_update
    }

    fn allows_create_on_update(&self) -> bool {
        self.traits.allows_create_on_update
    }

    fn keeps_status_on_create(&self) -> bool {
        self.traits.keeps_status
    }

    fn returns_deleted_object(&self) -> bool {
        self.traits.returns_deleted
    }
}
