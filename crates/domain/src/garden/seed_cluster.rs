// SPDX-License-Identifier: Apache-2.0
//! Objects that turn a cluster into a Seed's: gardenlet and provider-local.
//!
//! Unlike upstream: every Seed has a cluster of its own, named for the Seed, also when a kubeconfig names another
//! one, and also when a Shoot becomes a Seed. provider-local is deployed with gardenlet: it has no chart that
//! gardenlet could install.
//!
//! Source: pkg/operator/controller/gardenlet, pkg/controller/gardenletdeployer @ v1.120.0.

use api::cluster;
use api::constants::{condition, label, namespace, operation};
use api::core::Condition;
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::{ConfigMap, Namespace};
use api::seedmanagement::Gardenlet;
use api::terrarium::{Cluster, ClusterSpec};
use apimachinery::meta::{ObjectMeta, Time};
use serde_json::{Value, json};

use super::components::Program;
use super::control_plane::CONFIGURATION_KEY;
use super::gardenlet::DesiredGardenlet;
use crate::conditions;

/// The cluster of a Seed, and its objects before gardenlet runs.
#[derive(Clone, Debug, PartialEq)]
pub struct SeedCluster {
    /// The cluster, as an object of the runtime cluster.
    pub cluster: Cluster,
    /// Namespace `garden`.
    pub namespace: Namespace,
    /// The configurations.
    pub config_maps: [ConfigMap; 2],
    /// gardenlet and provider-local.
    pub deployments: [Deployment; 2],
}

/// Returns the cluster of the Seed with this name; `version` is that of provider-local, `profile` is passed on.
pub fn seed_cluster(
    seed: &str,
    kubernetes_version: &str,
    gardenlet: DesiredGardenlet,
    version: &str,
    profile: &str,
) -> SeedCluster {
    let networks = &gardenlet.configuration["seedConfig"]["spec"]["networks"];
    let network = |field: &str| networks[field].as_str().unwrap_or_default().to_owned();
    let spec = ClusterSpec {
        kubernetes_version: kubernetes_version.to_owned(),
        pod_cidr: network("pods"),
        service_cidr: network("services"),
        ..ClusterSpec::default()
    };
    let provider = Program::ProviderLocal;
    let config = format!("{}-config", provider.name());
    let tree = provider.configuration().map(|(api_version, kind)| json!({ "apiVersion": api_version, "kind": kind }));
    let args = [format!("--profile={profile}")];
    SeedCluster {
        cluster: Cluster { metadata: ObjectMeta::named("", &cluster::of_seed(seed)), spec },
        namespace: Namespace { metadata: ObjectMeta::named("", namespace::GARDEN), ..Namespace::default() },
        config_maps: [gardenlet.config_map(), config_map(&config, &tree.unwrap_or_default())],
        deployments: [gardenlet.deployment, provider.deployment(version, 1, &args)],
    }
}

/// Returns a ConfigMap of namespace `garden` with a configuration file.
pub fn config_map(name: &str, configuration: &Value) -> ConfigMap {
    let mut metadata = ObjectMeta::named(namespace::GARDEN, name);
    metadata.labels.insert(label::MANAGED_BY.to_owned(), "gardener".to_owned());
    // A JSON tree is always valid YAML.
    let text = yaml::to_string(configuration).unwrap_or_default();
    ConfigMap { metadata, data: [(CONFIGURATION_KEY.to_owned(), text)].into(), ..ConfigMap::default() }
}

/// Returns true if the operator deploys the gardenlet of a Gardenlet: there is no Seed of its name, or the Gardenlet
/// requests it.
pub fn is_due(gardenlet: &Gardenlet, has_seed: bool) -> bool {
    !has_seed || is_asked_for(gardenlet)
}

/// Returns true if a Gardenlet requests its deployment although its Seed exists.
pub fn is_asked_for(gardenlet: &Gardenlet) -> bool {
    let operation = gardenlet.metadata.annotation(api::constants::annotation::OPERATION);
    operation == Some(operation::FORCE_REDEPLOY) || gardenlet.spec.kubeconfig_secret_ref.is_some()
}

/// Condition `SeedRegistered` of a Gardenlet whose gardenlet was deployed, or not, with this error.
pub fn registered(gardenlet: &Gardenlet, deployed: Result<(), &str>, has_seed: bool, now: Time) -> Condition {
    let old = conditions::get_or_initial(&gardenlet.status.conditions, condition::SEED_REGISTERED, now);
    let name = &gardenlet.metadata.name;
    match deployed {
        Err(error) => conditions::updated(&old, condition::FALSE, "ReconcileError", error, &[], now),
        // Upstream gives this reason, too.
        Ok(()) if !has_seed => {
            conditions::updated(&old, "Progressing", "ReconcileError", "Waiting for seed registration", &[], now)
        }
        Ok(()) => {
            let text = format!("Gardenlet deployed and Seed {name:?} registered");
            conditions::updated(&old, condition::TRUE, "Reconciled", &text, &[], now)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::garden::gardenlet::wanted;

    fn gardenlet(tree: Value) -> Gardenlet {
        serde_json::from_value(tree).expect("a Gardenlet")
    }

    fn plain() -> Gardenlet {
        gardenlet(json!({
            "metadata": { "name": "b", "namespace": "garden" },
            "spec": { "deployment": { "helm": { "ociRepository": { "ref": "a:v1.121.0" } } }, "config": { "kind": "X" } },
        }))
    }

    #[test]
    fn a_cluster_has_gardenlet_and_a_provider() {
        let made = wanted(&plain(), "documents").expect("it names a version");
        let made = seed_cluster("b", "1.32.0", made, "v1.121.0", "documents");
        assert_eq!(made.cluster.metadata.name, "seed--b");
        assert_eq!(made.namespace.metadata.name, "garden");
        let images = made.deployments.each_ref().map(|it| it.spec.template.spec.containers[0].image.clone());
        assert_eq!(images, ["gardener/gardenlet:v1.121.0", "gardener/extensions/provider-local:v1.121.0"]);
        for (deployment, map) in made.deployments.iter().zip(&made.config_maps) {
            let volumes = serde_json::to_value(&deployment.spec.template.spec.volumes).expect("JSON");
            assert_eq!(volumes[0]["configMap"]["name"], map.metadata.name.as_str());
        }
        assert_eq!(made.config_maps[0].data.get("config.yaml").map(String::as_str), Some("kind: X\n"));
    }

    #[test]
    fn a_gardenlet_is_deployed_without_a_seed_or_on_request() {
        assert!(is_due(&plain(), false));
        assert!(!is_due(&plain(), true));
        let mut asked = plain();
        asked.metadata.annotations.insert("gardener.cloud/operation".to_owned(), "force-redeploy".to_owned());
        assert!(is_due(&asked, true));
        let mut reconciled = plain();
        reconciled.metadata.annotations.insert("gardener.cloud/operation".to_owned(), "reconcile".to_owned());
        assert!(!is_due(&reconciled, true));
        let mut elsewhere = plain();
        elsewhere.spec.kubeconfig_secret_ref = serde_json::from_value(json!({ "name": "s" })).ok();
        assert!(is_due(&elsewhere, true));
    }

    #[test]
    fn the_condition_shows_the_progress_of_the_registration() {
        let shown = |deployed, has_seed| {
            let condition = registered(&plain(), deployed, has_seed, Time::default());
            (condition.status, condition.reason, condition.message)
        };
        let text = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(shown(Ok(()), false), text("Progressing", "ReconcileError", "Waiting for seed registration"));
        let done = "Gardenlet deployed and Seed \"b\" registered";
        assert_eq!(shown(Ok(()), true), text("True", "Reconciled", done));
        assert_eq!(shown(Err("no way"), true), text("False", "ReconcileError", "no way"));
    }
}
