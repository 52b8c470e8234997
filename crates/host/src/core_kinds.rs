// SPDX-License-Identifier: Apache-2.0
//! Strategies of Kubernetes' own kinds, as far as clients can observe them.

use apimachinery::DynamicObject;
use apimachinery::field::{FieldError, Path};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::defaulting::workload as defaults;
use domain::validation::workload::{self, Kind};
use domain::{autoscaling, certificates, resource_quota};
use generic_apiserver::registry::Generation;
use generic_apiserver::{RequestContext, Strategy};
use serde_json::{Map, Value, json};

use crate::{resource_quotas, service_addresses, storage_defaults};

/// Subresource that adds debug containers to a pod.
const EPHEMERAL_CONTAINERS: &str = "ephemeralcontainers";
/// Annotation with the name of the ServiceAccount whose token a Secret holds.
const ACCOUNT: &str = "kubernetes.io/service-account.name";

/// Behaviour of a Kubernetes kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CoreStrategy {
    /// Group of the kind; empty for the core group.
    group: &'static str,
    /// Plural name of the kind.
    plural: &'static str,
    /// True if `metadata.generation` counts changes of the specification.
    pub(crate) generation: bool,
    /// True if a PUT needs no resource version.
    pub(crate) unconditional: bool,
    /// True if a PUT creates a missing object.
    pub(crate) create_on_update: bool,
    /// True if the response to a deletion has the deleted object.
    pub(crate) returns_deleted: bool,
    /// True if a new object may carry its status: kubelets register Nodes with theirs.
    pub(crate) keeps_status: bool,
    /// True for pods: their status is written by the component that runs them, and their deletion has a grace period.
    pub(crate) pod: bool,
    /// Plural name of a storage kind; `None` for other kinds.
    pub(crate) storage: Option<&'static str>,
    /// A kind of `apps`; `None` for other kinds.
    pub(crate) workload: Option<Kind>,
    /// True if `stringData` is merged over `data` and the type defaults to `Opaque`.
    pub(crate) secret: bool,
    /// True if the object refers to another one, in whose namespace it must be.
    pub(crate) event: bool,
    /// True for Services.
    pub(crate) service: bool,
}

impl CoreStrategy {
    /// Returns the behaviour of a resource.
    pub(crate) fn of(group: &'static str, plural: &'static str) -> Self {
        let workload =
            matches!(group, "apps" | "policy" | "networking.k8s.io" | "batch" | "autoscaling" | "discovery.k8s.io");
        Self {
            group,
            plural,
            generation: workload,
            unconditional: group != "coordination.k8s.io",
            create_on_update: matches!((group, plural), ("coordination.k8s.io", "leases") | ("", "events")),
            returns_deleted: group.is_empty()
                && matches!(plural, "pods" | "serviceaccounts" | "services" | "persistentvolumes" | "nodes"),
            keeps_status: group.is_empty() && matches!(plural, "nodes" | "pods"),
            pod: group.is_empty() && plural == "pods",
            storage: matches!(plural, "persistentvolumeclaims" | "persistentvolumes" | "storageclasses")
                .then_some(plural),
            workload: if group == "apps" { Kind::of(plural) } else { None },
            secret: group.is_empty() && plural == "secrets",
            event: group.is_empty() && plural == "events",
            service: group.is_empty() && plural == "services",
        }
    }

    fn is_signing_request(&self) -> bool {
        (self.group, self.plural) == ("certificates.k8s.io", "certificatesigningrequests")
    }

    /// Sets the defaults, except those that apply only to Secrets.
    fn fill(&self, fields: &mut Map<String, Value>) {
        defaults::fill(self.group, self.plural, fields);
        if let Some(plural) = self.storage {
            storage_defaults::fill(plural, fields);
        }
        if self.service {
            service_addresses::fill(fields);
        }
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

/// Reverts all changes of a pod except those of its debug containers.
///
/// Source: k8s.io/kubernetes pkg/registry/core/pod/strategy.go (dropNonEphemeralContainerUpdates).
fn keep_all_but_ephemeral_containers(pod: &mut DynamicObject, old: &DynamicObject) {
    let given = pod.fields.get("spec").and_then(|spec| spec.get("ephemeralContainers")).cloned();
    pod.fields.clone_from(&old.fields);
    pod.metadata.labels.clone_from(&old.metadata.labels);
    pod.metadata.annotations.clone_from(&old.metadata.annotations);
    pod.metadata.finalizers.clone_from(&old.metadata.finalizers);
    pod.metadata.owner_references.clone_from(&old.metadata.owner_references);
    if let Some(Value::Object(spec)) = pod.fields.get_mut("spec") {
        match given.filter(|given| !given.is_null()) {
            Some(given) => spec.insert("ephemeralContainers".to_owned(), given),
            None => spec.remove("ephemeralContainers"),
        };
    }
}

/// True if a request comes from the component that runs simulated pods.
fn is_kube_controllers(request: &RequestContext) -> bool {
    request.user.component.as_ref().is_some_and(|(name, _)| &**name == "kube-controller-manager")
}

impl Strategy<DynamicObject> for CoreStrategy {
    fn default(&self, object: &mut DynamicObject) {
        self.fill(&mut object.fields);
        if !self.secret {
            return;
        }
        let plain = match object.fields.remove("stringData") {
            Some(Value::Object(plain)) => plain,
            _ => serde_json::Map::new(),
        };
        if !plain.is_empty() {
            let data = object.fields.entry("data").or_insert_with(|| json!({}));
            for (key, value) in plain {
                data[key] = json!(STANDARD.encode(value.as_str().unwrap_or_default()));
            }
        }
        let untyped = object.fields.get("type").and_then(Value::as_str).unwrap_or_default().is_empty();
        if untyped {
            object.fields.insert("type".to_owned(), json!("Opaque"));
        }
    }

    fn prepare_for_create(&self, object: &mut DynamicObject, request: &RequestContext) {
        // Unlike upstream: a simulated pod may already run when it is created, which saves a write.
        let runs = is_kube_controllers(request) && object.fields.contains_key("status");
        if self.pod && !runs {
            let class = object.fields.get("spec").map_or("BestEffort", resource_quota::qos_class);
            object.fields.insert("status".to_owned(), json!({ "phase": "Pending", "qosClass": class }));
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
        let protection = self.storage.and_then(storage_defaults::protection);
        if let Some(finalizer) = protection.filter(|finalizer| !object.metadata.has_finalizer(finalizer)) {
            object.metadata.finalizers.push(finalizer.to_owned());
        }
    }

    /// Source: k8s.io/kubernetes pkg/apis/core/validation/events.go.
    fn validate_create(&self, object: &DynamicObject, _: &RequestContext) -> Vec<FieldError> {
        if !self.event {
            return self.violations(object);
        }
        let about = object.get(&["involvedObject", "namespace"]).and_then(Value::as_str).unwrap_or_default();
        let expected = if about.is_empty() { "default" } else { about };
        if object.metadata.namespace == expected {
            return Vec::new();
        }
        let path = Path::new("involvedObject").child("namespace");
        vec![FieldError::invalid(&path, about, "does not match event.namespace")]
    }

    fn prepare_for_update(&self, object: &mut DynamicObject, old: &DynamicObject, request: &RequestContext) {
        if self.is_signing_request() {
            certificates::keep(&mut object.fields, &old.fields, &request.subresource, request.now);
        }
        if self.group == "autoscaling" {
            autoscaling::keep_older(&mut object.fields, &old.fields);
        }
        if self.pod && &*request.subresource == EPHEMERAL_CONTAINERS {
            keep_all_but_ephemeral_containers(object, old);
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
        if self.pod && &*request.subresource == EPHEMERAL_CONTAINERS {
            return workload::ephemeral_update(&object.fields, &old.fields);
        }
        // Unlike upstream: an object stored by an earlier release must remain deletable, so unchanged specifications
        // are not validated.
        const JUDGED: [&str; 9] =
            ["spec", "revision", "data", "binaryData", "type", "immutable", "value", "preemptionPolicy", "handler"];
        let stays =
            |before: &Map<String, Value>| JUDGED.iter().all(|name| object.fields.get(*name) == before.get(*name));
        if stays(&old.fields) {
            return Vec::new();
        }
        let mut before = old.fields.clone();
        self.fill(&mut before);
        if stays(&before) {
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

    /// Source: k8s.io/kubernetes pkg/registry/core/pod/strategy.go (CheckGracefulDelete).
    fn deletion_grace_seconds(&self, object: &DynamicObject, asked: Option<i64>) -> i64 {
        let text = |path: &[&str]| {
            let mut fields = path.iter();
            let first = fields.next().and_then(|field| object.fields.get(*field));
            fields.fold(first, |value, field| value?.get(*field)).and_then(Value::as_str).unwrap_or_default()
        };
        let is_over = matches!(text(&["status", "phase"]), "Succeeded" | "Failed");
        if !self.pod || is_over || text(&["spec", "nodeName"]).is_empty() {
            return 0;
        }
        let own = object.fields.get("spec").and_then(|spec| spec.get("terminationGracePeriodSeconds"));
        asked.or_else(|| own.and_then(Value::as_i64)).unwrap_or(30)
    }

    fn generation(&self) -> Generation {
        if self.generation { Generation::Standard } else { Generation::None }
    }

    fn allows_unconditional_update(&self) -> bool {
        self.unconditional
    }

    fn allows_create_on_update(&self) -> bool {
        self.create_on_update
    }

    fn keeps_status_on_create(&self) -> bool {
        self.keeps_status
    }

    fn returns_deleted_object(&self) -> bool {
        self.returns_deleted
    }
}
