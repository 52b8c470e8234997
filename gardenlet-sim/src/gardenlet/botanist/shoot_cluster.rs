// SPDX-License-Identifier: Apache-2.0
//! The logical cluster that the Shoot's API server serves, and its objects other than components.

use apimachinery::meta::TextMap;

use api::kubernetes::core::{ConfigMap, Namespace};
use api::terrarium::{Cluster, ClusterSpec};
use apimachinery::meta::ObjectMeta;
use controller::Api;
use domain::skew::GardenerVersion;
use domain::skew::releases::judge_cluster;

use super::super::shared::{Gardenlet, RUNTIME};
use super::{Botanist, Failure, delete};

/// Maximum duration of the first connection to a Shoot.
const DISCOVERY_TIMEOUT: chrono::TimeDelta = chrono::TimeDelta::minutes(2);

impl Botanist {
    fn clusters(&self) -> Api<Cluster> {
        Api::all(&self.gardenlet.context, RUNTIME)
    }

    /// Creates or updates the cluster, with the version of its API server and the certificate authorities of its users.
    pub(crate) async fn ensure_cluster(&self) -> Result<(), Failure> {
        let stored = self.gardenlet.known::<Cluster>(RUNTIME, "", &self.technical_id);
        let client_ca = self.client_bundle(stored.as_ref().map_or("", |cluster| &cluster.spec.client_ca))?;
        let networking = self.shoot.spec.networking.clone().unwrap_or_default();
        let wanted = Cluster {
            metadata: ObjectMeta::named("", &self.technical_id),
            spec: ClusterSpec {
                kubernetes_version: self.shoot.spec.kubernetes.version.clone(),
                client_ca,
                pod_cidr: networking.pods.unwrap_or_default(),
                service_cidr: networking.services.unwrap_or_default(),
            },
        };
        self.apply(&self.clusters(), &wanted).await?;
        Ok(())
    }

    /// Waits until the API server answers, before anything is deployed into the cluster.
    pub(crate) async fn connect_to_shoot(&self) -> Result<(), Failure> {
        if self.facts.hibernated && self.gardenlet.known::<Cluster>(RUNTIME, "", &self.technical_id).is_none() {
            return Ok(());
        }
        self.discover_version().await?;
        let timeout = Self::connection_timeout();
        let end = self.gardenlet.context.clock.now() + timeout;
        let namespaces = self.gardenlet.shoot::<Namespace>(&self.technical_id, "");
        loop {
            match namespaces.get("kube-system").await {
                Ok(_) => return Ok(()),
                Err(error) if self.gardenlet.context.clock.now() >= end => return Err(error.into()),
                // The cluster was created a moment ago; its API server answers once it has read the object.
                Err(_) => {
                    let pause = chrono::TimeDelta::milliseconds(100);
                    self.gardenlet.context.clock.sleep(pause, clock::TimerClass::Work).await;
                }
            }
        }
    }

    /// Returns an error, after all retries, for a Kubernetes version that this gardenlet does not support.
    async fn discover_version(&self) -> Result<(), Failure> {
        let Gardenlet { context, options, identity, .. } = &*self.gardenlet;
        let Some(own) = GardenerVersion::parse(&identity.version) else { return Ok(()) };
        let version = format!("v{}", self.shoot.spec.kubernetes.version);
        let (namespace, name) = (&self.shoot.metadata.namespace, &self.shoot.metadata.name);
        match judge_cluster(options.profile, &own, &version) {
            Ok(None) => Ok(()),
            Ok(Some(warning)) => {
                tracing::warn!(namespace, name, "{warning}");
                Ok(())
            }
            Err(error) => {
                context.clock.sleep(DISCOVERY_TIMEOUT, clock::TimerClass::Work).await;
                Err(Failure::text(format!(
                    "retry failed with context deadline exceeded, last error: error creating new ClientSet for key \
                     \"{namespace}/{name}\": {error}"
                )))
            }
        }
    }

    pub(crate) async fn deploy_shoot_cluster_identity(&self) -> Result<(), Failure> {
        let data = [("cluster-identity", self.cluster_identity()), ("origin", "shoot".to_owned())];
        self.deploy_config_map("cluster-identity", data).await
    }

    pub(crate) async fn deploy_shoot_info(&self) -> Result<(), Failure> {
        let spec = &self.shoot.spec;
        let networking = spec.networking.clone().unwrap_or_default();
        let data = [
            (
                "extensions",
                self.wanted_extensions().iter().map(|each| each.spec.r#type.as_str()).collect::<Vec<_>>().join(","),
            ),
            ("projectName", self.project.metadata.name.clone()),
            ("shootName", self.shoot.metadata.name.clone()),
            ("provider", spec.provider.r#type.clone()),
            ("region", spec.region.clone()),
            ("kubernetesVersion", spec.kubernetes.version.clone()),
            ("podNetwork", networking.pods.unwrap_or_default()),
            ("serviceNetwork", networking.services.unwrap_or_default()),
            ("nodeNetwork", networking.nodes.unwrap_or_default()),
            ("domain", spec.dns.as_ref().and_then(|dns| dns.domain.clone()).unwrap_or_default()),
        ];
        self.deploy_config_map("shoot-info", data).await
    }

    async fn deploy_config_map<const N: usize>(&self, name: &str, data: [(&str, String); N]) -> Result<(), Failure> {
        let data: TextMap = data
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        let map = ConfigMap { metadata: ObjectMeta::named("kube-system", name), data, ..ConfigMap::default() };
        self.apply(&self.gardenlet.shoot(&self.technical_id, "kube-system"), &map).await?;
        Ok(())
    }

    pub(crate) async fn destroy_cluster(&self) -> Result<(), Failure> {
        delete(&self.clusters(), &self.technical_id).await
    }
}
