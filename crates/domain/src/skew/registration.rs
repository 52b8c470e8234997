// SPDX-License-Identifier: Apache-2.0
//! Registration of a process as a Lease, and the policy by which registrations are judged.
//!
//! | part of the Lease | holds |
//! | --- | --- |
//! | name | `COMPONENT-ID`, of a seed's component `COMPONENT-SEED-ID`; ID is the end of the pod's name |
//! | labels `terrarium.dev/component`, `terrarium.dev/seed` | component and Seed of the process |
//! | annotations `terrarium.dev/version`, `/endpoint`, `/identity` | version, address of the server if there is one, pod |

use std::sync::Arc;

use api::cluster;
use api::constants::{annotation, label, namespace};
use api::kubernetes::coordination::{Lease, LeaseSpec};
use apimachinery::meta::{MicroTime, ObjectMeta};
use chrono::{DateTime, Utc};
use serde_json::json;

use super::enforcement::Enforcement;
use super::lease::instance;
use super::{HighWaterMark, Instance, high_water};
use crate::profile::Profile;

/// Seconds for which a Lease is held.
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
    /// Address of its server, `host:port`; empty if it does not serve.
    pub address: &'a str,
}

impl<'a> Registered<'a> {
    /// The seed that it belongs to.
    fn seed(&self) -> Option<&'a str> {
        cluster::seed(self.cluster)
    }

    /// Returns the instance for the rules about versions; None: no rule applies to it.
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

    /// Returns its Lease, acquired at an instant of landscape time.
    pub fn lease(&self, now: DateTime<Utc>) -> Lease {
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

/// Returns the address of the server of a component in cluster `runtime`, namespace `garden`, `host:port`. `host` is
/// a name in the form of webhooks: `COMPONENT.garden` or `COMPONENT.garden.svc`. The first of the component's Leases
/// counts.
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

/// Returns the highest versions that ever ran, from the namespace of the Leases.
pub fn high_water_marks(namespace: &ObjectMeta) -> Vec<HighWaterMark> {
    namespace.annotation(annotation::HIGH_WATER_MARKS).map(high_water::read).unwrap_or_default()
}

/// Policy for the rules about versions, in the namespace of the Leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The highest versions that ever ran.
    pub high_water_marks: Vec<HighWaterMark>,
    /// Treatment of a component that the rules forbid.
    pub enforcement: Enforcement,
    /// True if components may be downgraded.
    pub allows_downgrades: bool,
}

/// Reads the policy from the namespace; without an annotation, or for an invalid value, the default of the profile.
pub fn policy(namespace: &ObjectMeta, profile: Profile) -> Policy {
    let enforcement = namespace.annotation(annotation::SKEW_ENFORCEMENT).and_then(Enforcement::named);
    Policy {
        high_water_marks: high_water_marks(namespace),
        enforcement: enforcement.unwrap_or_else(|| Enforcement::usual(profile)),
        allows_downgrades: namespace.annotation(annotation::ALLOW_DOWNGRADE) == Some("true"),
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
