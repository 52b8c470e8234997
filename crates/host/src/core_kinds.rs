// SPDX-License-Identifier: Apache-2.0
//! Hooks of Kubernetes' own kinds, as far as clients can see them.

use apimachinery::DynamicObject;
use apimachinery::field::{FieldError, Path};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::validation::workload::{self, Kind};
use generic_apiserver::registry::Generation;
use generic_apiserver::{RequestContext, Strategy};
use serde_json::{Value, json};

use crate::{service_addresses, storage_defaults, workload_defaults};

/// How a kind of Kubernetes behaves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CoreStrategy {
    /// Whether `metadata.generation` counts changes.
    pub(crate) generation: bool,
    /// Whether a PUT needs no resource version.
    pub(crate) unconditional: bool,
    /// Whether a PUT creates.
    pub(crate) create_on_update: bool,
    /// Whether a deletion answers the object.
    pub(crate) returns_deleted: bool,
    /// Whether a new object brings its status along: kubelets register Nodes with theirs.
    pub(crate) keeps_status: bool,
    /// Whether it is a pod: its status comes from who runs it, and it may take its time to end.
    pub(crate) pod: bool,
    /// Plural name of a kind about storage.
    pub(crate) storage: Option<&'static str>,
    /// Plural name of a kind of `apps`.
    pub(crate) workload: Option<&'static str>,
    /// Whether `stringData` is merged over `data` and the type defaults to `Opaque`.
    pub(crate) secret: bool,
    /// Whether it is about an object, in whose namespace it has to be.
    pub(crate) event: bool,
    /// Whether it is a Service.
    pub(crate) service: bool,
}

impl CoreStrategy {
    /// The behaviour of a resource.
    pub(crate) fn of(group: &str, plural: &'static str) -> Self {
        let workload = matches!(group, "apps" | "policy" | "networking.k8s.io" | "batch" | "autoscaling");
        Self {
            generation: workload,
            unconditional: group != "coordination.k8s.io",
            create_on_update: matches!((group, plural), ("coordination.k8s.io", "leases") | ("", "events")),
            returns_deleted: group.is_empty()
                && matches!(plural, "pods" | "serviceaccounts" | "services" | "persistentvolumes" | "nodes"),
            keeps_status: group.is_empty() && matches!(plural, "nodes" | "pods"),
            pod: group.is_empty() && plural == "pods",
            storage: matches!(plural, "persistentvolumeclaims" | "persistentvolumes" | "storageclasses")
                .then_some(plural),
            workload: (group == "apps").then_some(plural),
            secret: group.is_empty() && plural == "secrets",
            event: group.is_empty() && plural == "events",
            service: group.is_empty() && plural == "services",
        }
    }
}

/// Whether a request comes from the component that runs simulated pods.
fn is_kube_controllers(request: &RequestContext) -> bool {
    request.user.component.as_ref().is_some_and(|(name, _)| &**name == "kube-controller-manager")
}

impl Strategy<DynamicObject> for CoreStrategy {
    fn default(&self, object: &mut DynamicObject) {
        if let Some(plural) = self.workload {
            workload_defaults::fill(plural, &mut object.fields);
        }
        if let Some(plural) = self.storage {
            storage_defaults::fill(plural, &mut object.fields);
        }
        if self.service {
            service_addresses::fill(&mut object.fields);
        }
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
        // Unlike upstream: a simulated pod may be running when it is created, to save a write.
        let runs = is_kube_controllers(request) && object.fields.contains_key("status");
        if self.pod && !runs {
            object.fields.insert("status".to_owned(), json!({ "phase": "Pending" }));
        }
        if let Some(finalizer) = self.storage.and_then(storage_defaults::protection) {
            object.fields.insert("status".to_owned(), json!({ "phase": "Pending" }));
            if !object.metadata.has_finalizer(finalizer) {
                object.metadata.finalizers.push(finalizer.to_owned());
            }
        }
    }

    /// Source: k8s.io/kubernetes pkg/apis/core/validation/events.go.
    fn validate_create(&self, object: &DynamicObject, _: &RequestContext) -> Vec<FieldError> {
        if let Some(kind) = self.workload.and_then(Kind::of) {
            return workload::create(kind, &object.metadata.name, &object.fields);
        }
        if self.pod {
            return workload::pod(&object.fields);
        }
        if self.service {
            return workload::service(&object.metadata.name, &object.fields);
        }
        if !self.event {
            return Vec::new();
        }
        let about = object.get(&["involvedObject", "namespace"]).and_then(Value::as_str).unwrap_or_default();
        let expected = if about.is_empty() { "default" } else { about };
        if object.metadata.namespace == expected {
            return Vec::new();
        }
        let path = Path::new("involvedObject").child("namespace");
        vec![FieldError::invalid(&path, about, "does not match event.namespace")]
    }

    fn validate_update(
        &self,
        object: &DynamicObject,
        old: &DynamicObject,
        request: &RequestContext,
    ) -> Vec<FieldError> {
        // Not upstream's way, but one stored by an earlier release must still be deletable: what stays is not looked at.
        let is_kept = object.fields.get("spec") == old.fields.get("spec");
        if is_kept || &*request.subresource == "status" {
            return Vec::new();
        }
        if self.service {
            let mut errors = workload::service_update(&object.fields, &old.fields);
            errors.extend(workload::service(&object.metadata.name, &object.fields));
            return errors;
        }
        let kind = self.workload.and_then(Kind::of);
        kind.map(|kind| workload::update(kind, &object.fields, &old.fields)).unwrap_or_default()
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
