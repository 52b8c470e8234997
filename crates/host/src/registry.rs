// SPDX-License-Identifier: Apache-2.0
//! The registry of instances: a Lease in cluster `garden` for every process of a component that runs.
//!
//! | part of the Lease | says |
//! | --- | --- |
//! | name | `COMPONENT-ID`, of a seed's component `COMPONENT-SEED-ID`; ID is the end of the pod's name |
//! | labels `terrarium.dev/component`, `terrarium.dev/seed` | whose process it is |
//! | annotations `terrarium.dev/version`, `/endpoint`, `/identity` | version, where it serves if it does, pod |
//!
//! A process registers before it is ready ([`lease`]); [`Gate`] refuses a version that must not run beside those that
//! do, or warns of it ([`Policy`]). The append that registers is guarded by all Leases being as the gate has read them,
//! so two that start at one
//! moment cannot both pass. The kubelet removes the Leases of its processes when they have ended: an instance counts as long
//! as its Lease is there.
//!
//! **Deliberately absent.** Renewals: `renewTime` stays that of the registration, since the host knows which
//! processes run.

use std::sync::Arc;

use api::cluster;
use api::constants::{annotation, label, namespace};
use api::kubernetes::coordination::{Lease, LeaseSpec};
use api::kubernetes::core::Namespace;
use apimachinery::meta::{MicroTime, ObjectMeta};
use apimachinery::status::StatusCause;
use apimachinery::{DynamicObject, GroupResource, Resource, Status};
use clock::Instant;
use domain::profile::Profile;
use domain::skew::enforcement::Enforcement;
pub use domain::skew::lease::landscape;
use domain::skew::lease::{instance, registered};
use domain::skew::start_up::{Candidate, Decision, Refused, judge};
use domain::skew::{HighWaterMark, Instance, Landscape, Rule, high_water};
use futures::future::BoxFuture;
use generic_apiserver::admission::{Attributes, Operation, Plugin, Reads};
use generic_apiserver::http::{Count, Metrics};
use http::Method;
use process::transport::full;
use process::{Transport, TransportError};
use serde_json::json;

/// Seconds that a Lease says it is held for.
const DURATION: i32 = 15;

/// A process, as it is registered.
#[derive(Clone, Copy, Debug)]
pub struct Registered<'a> {
    /// Cluster of its pod.
    pub cluster: &'a str,
    /// Name of its pod.
    pub pod: &'a str,
    /// Component: `gardenlet`.
    pub component: &'a str,
    /// Emulated version.
    pub version: &'a str,
    /// Where it serves, `host:port`; empty if it does not.
    pub address: &'a str,
}

impl<'a> Registered<'a> {
    /// The seed that it belongs to.
    fn seed(&self) -> Option<&'a str> {
        cluster::seed(self.cluster)
    }

    /// What the rules about versions know it as; `None`: they know nothing of it.
    pub fn instance(&self) -> Option<Instance> {
        instance(self.component, self.seed().unwrap_or_default(), self.version)
    }

    /// Name of its Lease.
    pub fn name(&self) -> String {
        let id = self.pod.strip_prefix(self.component).map_or(self.pod, |rest| rest.trim_start_matches('-'));
        match self.seed() {
            Some(seed) => format!("{}-{seed}-{id}", self.component),
            None => format!("{}-{id}", self.component),
        }
    }

    /// Its Lease, taken at an instant of landscape time.
    pub fn lease(&self, now: Instant) -> Lease {
        let text = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let identity = json!({ "id": self.pod, "name": self.pod, "version": self.version }).to_string();
        let mut metadata = ObjectMeta {
            name: self.name(),
            namespace: namespace::INSTANCES.to_owned(),
            labels: [text(label::COMPONENT, self.component)].into(),
            annotations: [
                text(annotation::COMPONENT_VERSION, self.version),
                text(annotation::COMPONENT_IDENTITY, &identity),
            ]
            .into(),
            ..ObjectMeta::default()
        };
        if let Some(seed) = self.seed() {
            metadata.labels.extend([text(label::COMPONENT_SEED, seed)]);
        }
        if !self.address.is_empty() {
            metadata.annotations.extend([text(annotation::COMPONENT_ENDPOINT, &format!("https://{}", self.address))]);
        }
        let spec = LeaseSpec {
            holder_identity: Some(self.pod.to_owned()),
            lease_duration_seconds: Some(DURATION),
            acquire_time: Some(MicroTime(now)),
            renew_time: Some(MicroTime(now)),
            ..LeaseSpec::default()
        };
        Lease { metadata, spec }
    }
}

/// Where the process of a component that runs in cluster `runtime`, namespace `garden`, serves, `host:port`, by a name as
/// webhooks have it: `COMPONENT.garden` or `COMPONENT.garden.svc`. The first of its Leases counts.
pub fn address(leases: &[Arc<Lease>], host: &str) -> Option<String> {
    let (component, place) = host.split_once('.')?;
    if !matches!(place, "garden" | "garden.svc") {
        return None;
    }
    let is_it = |lease: &&Arc<Lease>| {
        let metadata = &lease.metadata;
        metadata.namespace == namespace::INSTANCES
            && metadata.labels.get(label::COMPONENT).is_some_and(|known| known == component)
            && !metadata.labels.contains_key(label::COMPONENT_SEED)
    };
    let endpoint =
        leases.iter().filter(is_it).find_map(|lease| lease.metadata.annotations.get(annotation::COMPONENT_ENDPOINT))?;
    endpoint.strip_prefix("https://").map(str::to_owned)
}

/// The highest versions that ever ran, as the namespace of the Leases says it.
pub fn high_water_marks(namespace: &ObjectMeta) -> Vec<HighWaterMark> {
    namespace.annotation(annotation::HIGH_WATER_MARKS).map(high_water::read).unwrap_or_default()
}

/// How the rules about versions are kept, as the namespace of the Leases says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The highest versions that ever ran.
    pub high_water_marks: Vec<HighWaterMark>,
    /// What becomes of a component that the rules forbid.
    pub enforcement: Enforcement,
    /// Whether components may go back to older versions.
    pub allows_downgrades: bool,
}

/// Reads it from the namespace; where an annotation is missing or has no valid value, the default of the profile.
pub fn policy(namespace: &ObjectMeta, profile: Profile) -> Policy {
    let enforcement = namespace.annotation(annotation::SKEW_ENFORCEMENT).and_then(Enforcement::named);
    Policy {
        high_water_marks: high_water_marks(namespace),
        enforcement: enforcement.unwrap_or_else(|| Enforcement::usual(profile)),
        allows_downgrades: namespace.annotation(annotation::ALLOW_DOWNGRADE) == Some("true"),
    }
}

/// How the rules are kept in a landscape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What becomes of a component that they forbid; `None`: as the namespace says already.
    pub enforcement: Option<Enforcement>,
    /// Whether components may go back to older versions.
    pub allows_downgrades: bool,
}

/// Writes them to the namespace of the Leases, if there is one already.
///
/// # Errors
/// The API server cannot be asked.
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

/// Removes Leases: all, or the one with a name; it is no error if there are none.
///
/// # Errors
/// The API server cannot be asked.
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

/// Refuses registrations that the rules about versions forbid, or warns of them, as the [`Policy`] says.
///
/// Source: spec of the emulator; upstream has no such gate.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    profile: Profile,
    /// By rule and component; `None`: it is not counted.
    violations: Option<Count>,
}

impl Gate {
    /// The gate of a landscape, which counts what it finds.
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

    /// What is wrong with a registration, and what becomes of it; `None`: nothing, or it is none.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_a_process_that_is_registered() {
        let now = "2023-07-27T20:00:00Z".parse().expect("an instant");
        let lease = |cluster: &str, component: &str, address: &str| {
            let pod = format!("{component}-5d4f-x2x9p");
            Arc::new(Registered { cluster, pod: &pod, component, version: "v1.120.0", address }.lease(now))
        };
        let leases =
            [lease("seed--local", "hook", "a:1"), lease("runtime", "hook", "b:2"), lease("runtime", "silent", "")];
        for (host, expected) in [
            ("hook.garden", Some("b:2")),
            ("hook.garden.svc", Some("b:2")),
            ("hook.other", None),
            ("hook", None),
            ("hook.garden.example", None),
            ("silent.garden", None),
            ("other.garden", None),
        ] {
            assert_eq!(address(&leases, host).as_deref(), expected, "{host}");
        }
    }

    #[test]
    fn leases_are_named_for_component_seed_and_pod() {
        for (cluster, component, pod, expected) in [
            ("runtime", "gardener-scheduler", "gardener-scheduler-9bc-v9d66", "gardener-scheduler-9bc-v9d66"),
            ("seed--local", "gardenlet", "gardenlet-678-z8b72", "gardenlet-local-678-z8b72"),
            ("seed--a", "gardenlet", "mine", "gardenlet-a-mine"),
        ] {
            let it = Registered { cluster, pod, component, version: "v1.120.0", address: "" };
            assert_eq!(it.name(), expected);
        }
    }
}
