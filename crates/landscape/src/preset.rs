// SPDX-License-Identifier: Apache-2.0
//! Objects of a small landscape for tests and benchmarks: one CloudProfile, one Project, any number of Shoots.

use api::core::{CloudProfile, Project, SecretBinding, Shoot};
use api::kubernetes::core::Secret;
use apimachinery::Resource;
use controller::{Api, Error};
use process::Context;
use serde_json::{Value, json};

/// Namespace of the Project `demo`.
pub const NAMESPACE: &str = "garden-demo";

/// CloudProfile `local`: Kubernetes 1.26.4 (deprecated, expires 2023-07-28T00:00:00Z) and 1.27.1, gardenlinux 934.8.0
/// and 1096.1.0.
pub fn cloud_profile() -> CloudProfile {
    typed(json!({
        "metadata": {"name": "local"},
        "spec": {
            "type": "local",
            "kubernetes": {"versions": [
                {"version": "1.27.1", "classification": "supported"},
                {"version": "1.26.4", "classification": "deprecated", "expirationDate": "2023-07-28T00:00:00Z"},
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
    Api::all(admin, "garden").create(&cloud_profile()).await?;
    Api::all(admin, "garden").create(&project()).await?;
    let projects = Api::<Project>::all(admin, "garden");
    crate::wait::for_object(&projects, "demo", |project| project.status.phase == "Ready").await?;
    Api::namespaced(admin, "garden", NAMESPACE).create(&secret()).await?;
    Api::namespaced(admin, "garden", NAMESPACE).create(&secret_binding()).await?;
    Ok(())
}

fn typed<K: Resource>(value: Value) -> K {
    serde_json::from_value(value).expect("an object that fits its type")
}
