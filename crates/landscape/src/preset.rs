// SPDX-License-Identifier: Apache-2.0
//! Objects of a small landscape for tests and benchmarks: one CloudProfile, one Project, any number of Shoots.

use api::cluster;
use api::core::{CloudProfile, Project, SecretBinding, Shoot};
use api::kubernetes::core::Secret;
use apimachinery::Resource;
use apimachinery::meta::Time;
use chrono::{DateTime, Days, NaiveTime, TimeDelta, Utc};
use controller::{Api, Error};
use process::Context;
use serde_json::{Value, json};

/// When Kubernetes 1.26.4 of the demo expires: 2023-07-28T00:00:00Z.
pub const DEMO_EXPIRATION: DateTime<Utc> = DateTime::from_timestamp(1_690_502_400, 0).expect("in range");

/// Namespace of the Project `demo`.
pub const NAMESPACE: &str = "garden-demo";

/// When Kubernetes 1.26.4 of the preset expires: at the midnight of the demo, or, for who begins too late for that, at the
/// next midnight that leaves an hour to make use of it.
pub fn expiration(now: DateTime<Utc>) -> DateTime<Utc> {
    let soonest = now + TimeDelta::hours(1);
    if soonest <= DEMO_EXPIRATION {
        DEMO_EXPIRATION
    } else {
        (soonest.date_naive() + Days::new(1)).and_time(NaiveTime::MIN).and_utc()
    }
}

/// CloudProfile `local`: Kubernetes 1.26.4 (deprecated, expires 2023-07-28T00:00:00Z) and 1.27.1, gardenlinux 934.8.0
/// and 1096.1.0.
pub fn cloud_profile() -> CloudProfile {
    cloud_profile_until(DEMO_EXPIRATION)
}

fn cloud_profile_until(expiration: DateTime<Utc>) -> CloudProfile {
    let expiration = Time::from_instant(expiration);
    typed(json!({
        "metadata": {"name": "local"},
        "spec": {
            "type": "local",
            "kubernetes": {"versions": [
                {"version": "1.27.1", "classification": "supported"},
                {"version": "1.26.4", "classification": "deprecated", "expirationDate": expiration},
            ]},
            "machineImages": [{"name": "gardenlinux", "updateStrategy": "major", "versions": [
                {
                    "version": "1096.1.0",
                    "classification": "supported",
                    "architectures": ["amd64"],
                    "cri": [{"name": "containerd"}],
                },
                {"version": "934.8.0", "architectures": ["amd64"], "cri": [{"name": "containerd"}]},
            ]}],
            "machineTypes": [{"name": "local", "cpu": "4", "gpu": "0", "memory": "8Gi", "architecture": "amd64"}],
            "regions": [{"name": "local", "zones": [{"name": "local-a"}]}],
        },
    }))
}

/// Project `demo`.
pub fn project() -> Project {
    typed(json!({"metadata": {"name": "demo"}, "spec": {"namespace": NAMESPACE}}))
}

/// A Shoot of three nodes on Kubernetes 1.26.4 and gardenlinux 934.8.0, automatic updates off for Kubernetes and on for
/// images, window from 9 to 10 o'clock.
pub fn shoot(name: &str) -> Shoot {
    typed(json!({
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "cloudProfile": {"name": "local"},
            "secretBindingName": "local",
            "region": "local",
            "purpose": "evaluation",
            "networking": {"type": "calico", "nodes": "10.10.0.0/16"},
            "provider": {"type": "local", "workers": [{
                "name": "local",
                "machine": {"type": "local", "image": {"name": "gardenlinux", "version": "934.8.0"}},
                "cri": {"name": "containerd"},
                "minimum": 3,
                "maximum": 3,
                "maxSurge": 1,
                "maxUnavailable": 0,
                "zones": ["local-a"],
            }]},
            "kubernetes": {"version": "1.26.4"},
            "maintenance": {
                "autoUpdate": {"kubernetesVersion": false, "machineImageVersion": true},
                "timeWindow": {"begin": "090000+0000", "end": "100000+0000"},
            },
        },
    }))
}

/// The (empty) credentials of Project `demo`.
pub fn secret() -> Secret {
    typed(json!({"metadata": {"name": "local", "namespace": NAMESPACE}, "type": "Opaque"}))
}

/// What makes them usable for Shoots.
pub fn secret_binding() -> SecretBinding {
    typed(json!({
        "metadata": {"name": "local", "namespace": NAMESPACE},
        "provider": {"type": "local"},
        "secretRef": {"name": "local", "namespace": NAMESPACE},
    }))
}

/// Creates CloudProfile and Project, and, once the Project's namespace exists, the credentials.
pub async fn create(admin: &Context) -> Result<(), Error> {
    create_until(admin, DEMO_EXPIRATION).await
}

/// As [`create`], with Kubernetes 1.26.4 expiring at another time ([`expiration`]).
pub async fn create_until(admin: &Context, expiration: DateTime<Utc>) -> Result<(), Error> {
    Api::all(admin, cluster::GARDEN).create(&cloud_profile_until(expiration)).await?;
    Api::all(admin, cluster::GARDEN).create(&project()).await?;
    let projects = Api::<Project>::all(admin, cluster::GARDEN);
    crate::wait::for_object(&projects, "demo", |project| project.status.phase == "Ready").await?;
    Api::namespaced(admin, cluster::GARDEN, NAMESPACE).create(&secret()).await?;
    Api::namespaced(admin, cluster::GARDEN, NAMESPACE).create(&secret_binding()).await?;
    Ok(())
}

pub(crate) fn typed<K: Resource>(value: Value) -> K {
    apimachinery::wire::from_tree(value).expect("an object that fits its type")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_after_the_demo_lasts_until_a_midnight() {
        let at = |text: &str| -> DateTime<Utc> { text.parse().expect("an instant") };
        for (now, expected) in [
            ("2023-06-15T12:00:00Z", "2023-07-28T00:00:00Z"),
            ("2023-07-27T20:00:00Z", "2023-07-28T00:00:00Z"),
            ("2023-07-27T23:00:00Z", "2023-07-28T00:00:00Z"),
            ("2023-07-27T23:00:01Z", "2023-07-29T00:00:00Z"),
            ("2023-07-28T00:00:00Z", "2023-07-29T00:00:00Z"),
            ("2026-12-31T22:59:59Z", "2027-01-01T00:00:00Z"),
            ("2026-12-31T23:00:00Z", "2027-01-02T00:00:00Z"),
        ] {
            assert_eq!(expiration(at(now)), at(expected), "{now}");
        }
    }
}
