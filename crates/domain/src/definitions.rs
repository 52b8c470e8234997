// SPDX-License-Identifier: Apache-2.0
//! Releases of Gardener's CustomResourceDefinitions, which change with the component that installs them.
//!
//! | cluster | group | installed by | release |
//! | --- | --- | --- | --- |
//! | `runtime` | operator.gardener.cloud | the chart of gardener-operator | tag of its image |
//! | `runtime` | extensions.gardener.cloud, resources.gardener.cloud | gardener-operator | 〃 |
//! | `seed--NAME` | extensions.gardener.cloud, machine.sapcloud.io, resources.gardener.cloud | gardenlet, with each reconciliation of the Seed | `status.gardener.version` of the Seed |
//!
//! Unlike upstream: the definitions of a cluster change together, those of `runtime` with the Deployment of gardener-operator and
//! not with the next reconciliation of the Garden.
//!
//! Source: charts/gardener/operator, pkg/operator/controller/garden/garden/components.go,
//! pkg/gardenlet/controller/seed/seed/components.go @ v1.120.0, v1.149.0.

use api::cluster;
use api::constants::namespace;
use serde_json::Value;

use crate::garden::components::Program;
use crate::release::Release;
use crate::skew::GardenerVersion;

/// Returns the cluster whose definitions an object determines; `None` for most objects.
pub fn cluster_of(group: &str, plural: &str, cluster: &str, namespace: &str, name: &str) -> Option<String> {
    match (group, plural, cluster) {
        ("apps", "deployments", cluster::RUNTIME)
            if (namespace, name) == (namespace::GARDEN, Program::Operator.name()) =>
        {
            Some(cluster.to_owned())
        }
        ("core.gardener.cloud", "seeds", cluster::GARDEN) => Some(cluster::of_seed(name)),
        _ => None,
    }
}

/// Returns the release of the definitions that an object of [`cluster_of`] determines; `None` if it names no version.
pub fn release_of(object: &Value) -> Option<Release> {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str);
    let version = match text("/status/gardener/version") {
        Some(version) => Some(version),
        None => text("/spec/template/spec/containers/0/image").and_then(tag),
    };
    GardenerVersion::parse(version?).map(|version| version.served_release())
}

/// Returns the tag of an image.
fn tag(image: &str) -> Option<&str> {
    let name = image.split('@').next()?;
    let last = name.rsplit('/').next()?;
    last.split_once(':').map(|(_, tag)| tag)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn operators_and_seeds_determine_definitions() {
        let seed = ("core.gardener.cloud", "seeds");
        let deployment = ("apps", "deployments");
        for ((group, plural), cluster, namespace, name, expected) in [
            (seed, "garden", "", "a", Some("seed--a")),
            (seed, "runtime", "", "a", None),
            (deployment, "runtime", "garden", "gardener-operator", Some("runtime")),
            (deployment, "runtime", "other", "gardener-operator", None),
            (deployment, "runtime", "garden", "gardener-apiserver", None),
            (deployment, "seed--a", "garden", "gardener-operator", None),
        ] {
            let found = cluster_of(group, plural, cluster, namespace, name);
            assert_eq!(found.as_deref(), expected, "{plural} {cluster} {namespace} {name}");
        }
    }

    #[test]
    fn definitions_have_the_release_of_their_installer() {
        let seed = |version: &str| json!({"spec": {}, "status": {"gardener": {"version": version}}});
        let operator =
            |image: &str| json!({"spec": {"template": {"spec": {"containers": [{"name": "o", "image": image}]}}}});
        for (object, expected) in [
            (seed("v1.120.0"), Some(120)),
            (seed("v1.146.2"), Some(146)),
            (seed("v1.150.0-dev"), Some(150)),
            (seed("latest"), None),
            (json!({"spec": {}}), None),
            (operator("gardener/operator:v1.149.0"), Some(149)),
            (operator("registry:5000/gardener/operator:v1.121.0@sha256:00"), Some(121)),
            (operator("registry:5000/gardener/operator"), None),
            (operator(""), None),
        ] {
            assert_eq!(release_of(&object), expected.map(Release), "{object}");
        }
    }
}
