// SPDX-License-Identifier: Apache-2.0
//! Registry of component instances: a Lease in cluster `garden` for every running process of a component.
//!
//! A process registers before it is ready ([`Registered`]); [`Gate`] rejects a version that must not run together with
//! the registered ones, or warns about it ([`Policy`]). The append of a registration is guarded by the Leases that the
//! gate has read, so two processes that start at the same time cannot both pass. The kubelet removes the Leases of its
//! processes when they have ended: an instance counts as long as its Lease exists.
//!
//! **Deliberately absent.** Renewals: `renewTime` stays that of the registration, since the host knows the running
//! processes.

use api::cluster;
use api::constants::{annotation, namespace};
use api::kubernetes::coordination::Lease;
use api::kubernetes::core::Namespace;
use apimachinery::meta::ObjectMeta;
use apimachinery::status::StatusCause;
use apimachinery::{DynamicObject, GroupResource, Resource, Status};
use domain::profile::Profile;
use domain::skew::enforcement::Enforcement;
pub use domain::skew::lease::landscape;
use domain::skew::lease::registered;
pub use domain::skew::registration::Registered;
use domain::skew::registration::policy;
use domain::skew::start_up::{Candidate, Decision, Refused, judge};
use domain::skew::{Landscape, Rule};
use futures::future::BoxFuture;
use generic_apiserver::admission::{Attributes, Operation, Plugin, Reads};
use generic_apiserver::http::{Count, Metrics};
use http::Method;
use process::transport::full;
use process::{Transport, TransportError};
use serde_json::json;

/// Enforcement of the version rules in a landscape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Reaction to a forbidden component; `None`: the setting in the namespace is kept.
    pub enforcement: Option<Enforcement>,
    /// True if components may return to older versions.
    pub allows_downgrades: bool,
}

/// Writes the settings to the namespace of the Leases, if it exists.
///
/// # Errors
/// The API server cannot be reached.
pub fn write_settings(transport: &Transport, settings: Settings) -> BoxFuture<'_, Result<(), TransportError>> {
    Box::pin(async move {
        let mut annotations = json!({ annotation::ALLOW_DOWNGRADE: settings.allows_downgrades.then_some("true") });
        if let Some(enforcement) = settings.enforcement {
            annotations[annotation::SKEW_ENFORCEMENT] = enforcement.name().into();
        }
        let path = format!("/clusters/{}/api/v1/namespaces/{}", cluster::GARDEN, namespace::INSTANCES);
        let body = json!({ "metadata": { "annotations": annotations } }).to_string();
        let request = http::Request::patch(path).header(http::header::CONTENT_TYPE, "application/merge-patch+json");
        let request = request.body(full(body)).map_err(|error| TransportError::Broken(error.to_string()))?;
        transport.send(request).await.map(drop)
    })
}

/// Begins the registry at a start of the host: writes the settings, and removes the Leases of processes of an earlier start,
/// of which none runs any more.
///
/// # Errors
/// The API server cannot be reached.
pub fn begin(transport: &Transport, settings: Settings) -> BoxFuture<'_, Result<(), TransportError>> {
    Box::pin(async move {
        write_settings(transport, settings).await?;
        remove(transport, None).await
    })
}

/// Removes all Leases, or the one with this name; missing Leases are no error.
///
/// # Errors
/// The API server cannot be reached.
pub fn remove<'a>(transport: &'a Transport, name: Option<&'a str>) -> BoxFuture<'a, Result<(), TransportError>> {
    Box::pin(async move {
        let name = name.map(|name| format!("/{name}")).unwrap_or_default();
        let path = format!(
            "/clusters/{}/apis/coordination.k8s.io/v1/namespaces/{}/leases{name}",
            cluster::GARDEN,
            namespace::INSTANCES
        );
        let request = http::Request::builder().method(Method::DELETE).uri(path).body(full(""));
        let request = request.map_err(|error| TransportError::Broken(error.to_string()))?;
        transport.send(request).await.map(drop)
    })
}

/// Admission plugin that rejects registrations that violate the version rules, or warns about them, depending on the
/// [`Policy`].
///
/// Source: spec of the emulator; upstream has no such gate.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    profile: Profile,
    /// Counter by rule and component; `None`: violations are not counted.
    violations: Option<Count>,
}

impl Gate {
    /// Creates the gate of a landscape, which counts violations in `metrics`.
    pub(crate) fn new(profile: Profile, metrics: Option<&Metrics>) -> Self {
        const HELP: &str = "Registrations that a rule about version skew forbids, refused or warned of";
        let violations = metrics.map(|metrics| metrics.count("terrarium_version_skew_violations", HELP));
        Self { profile, violations }
    }

    fn count(&self, rule: Rule, attributes: &Attributes<'_>) {
        let new = attributes.object.downcast_ref::<DynamicObject>().and_then(|new| registered(&new.metadata));
        if let (Some(violations), Some(instance)) = (&self.violations, new) {
            violations.add(&[("rule", &rule.to_string()), ("component", instance.component.name())]);
        }
    }

    /// Returns the violation by a registration, and the enforcement; `None`: there is no violation, or the request is
    /// no registration.
    fn judge(&self, attributes: &Attributes<'_>, reads: &mut Reads<'_>) -> Option<(Refused, Enforcement)> {
        let is_registration = attributes.is_main::<Lease>()
            && attributes.namespace == namespace::INSTANCES
            && *attributes.request.cluster == *cluster::GARDEN
            && attributes.operation != Operation::Delete;
        if !is_registration {
            return None;
        }
        let old =
            attributes.old.and_then(|old| old.downcast_ref::<DynamicObject>()).map(|old| registered(&old.metadata));
        let new = attributes.object.downcast_ref::<DynamicObject>()?;
        let instance = registered(&new.metadata)?;
        if old == Some(Some(instance.clone())) {
            return None;
        }
        let held = reads.0.get_any(Namespace::GROUP, Namespace::PLURAL, "", namespace::INSTANCES);
        let held = held.as_ref().and_then(|object| object.downcast_ref::<DynamicObject>());
        let policy = held
            .map_or_else(|| policy(&ObjectMeta::default(), self.profile), |held| policy(&held.metadata, self.profile));
        if policy.enforcement == Enforcement::Off {
            return None;
        }
        reads.0.guard_collection(Lease::GROUP, Lease::PLURAL);
        let all = reads.0.list_any(Lease::GROUP, Lease::PLURAL, Some(namespace::INSTANCES));
        let all = all.iter().filter_map(|lease| lease.downcast_ref::<DynamicObject>()).map(|lease| &lease.metadata);
        let landscape = Landscape {
            high_water_marks: policy.high_water_marks,
            allows_downgrades: policy.allows_downgrades,
            ..landscape(all, &new.metadata.name)
        };
        match judge(&landscape, &Candidate { instance, previous: None, looks_ahead: false }, self.profile) {
            Decision::Starts | Decision::Waits => None,
            Decision::Refused(refused) => Some((refused, policy.enforcement)),
        }
    }
}

impl Plugin for Gate {
    fn name(&self) -> &'static str {
        "VersionSkew"
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Result<(), Status> {
        let Some((refused, Enforcement::Enforce)) = self.judge(attributes, reads) else { return Ok(()) };
        self.count(refused.rule, attributes);
        let name = attributes.object.downcast_ref::<DynamicObject>().map_or("", |lease| lease.metadata.name.as_str());
        let resource = GroupResource { group: Lease::GROUP.to_owned(), resource: Lease::PLURAL.to_owned() };
        let mut status = Status::forbidden(&resource, name, &format!("version skew: {}", refused.text));
        status.details.get_or_insert_default().causes.push(StatusCause {
            reason: "FieldValueForbidden".to_owned(),
            message: refused.text,
            field: format!("metadata.annotations[{}]", annotation::COMPONENT_VERSION),
        });
        Err(status)
    }

    fn warnings(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Vec<String> {
        let judged = self.judge(attributes, reads);
        if let Some((refused, _)) = &judged {
            self.count(refused.rule, attributes);
        }
        judged.into_iter().map(|(refused, _)| format!("version skew: {}", refused.text)).collect()
    }
}
