// SPDX-License-Identifier: Apache-2.0
//! Default objects of every namespace: ServiceAccount `default`, ConfigMap `kube-root-ca.crt`, and in namespace
//! `default` the Service by which pods find the API server. An object that is deleted or changed is restored at once.
//!
//! Source: k8s.io/kubernetes pkg/controller/serviceaccount/serviceaccounts_controller.go,
//! pkg/controller/certificates/rootcacertpublisher, pkg/controlplane/controller/kubernetesservice.

use std::sync::Arc;

use api::kubernetes::core::{ConfigMap, Namespace, Service, ServiceAccount, ServicePort, ServiceSpec};
use apimachinery::Resource;
use apimachinery::meta::{IntOrString, ObjectMeta, TextMap};
use controller::{Api, Controller, Error, ListOptions, ObjectKey, Requeue, Store};
use process::Context;

const CONCURRENCY: usize = 10;
/// Name of the ServiceAccount of pods that name none.
const ACCOUNT: &str = "default";
/// Name of the ConfigMap with the authority of the API server.
const ROOT_CA: &str = "kube-root-ca.crt";
/// Name of the API server's Service, in namespace `default`.
const KUBERNETES: &str = "kubernetes";
/// The namespace of that Service.
const DEFAULT_NAMESPACE: &str = "default";

/// Content of the objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Certificate authority of the API server, as PEM.
    pub root_ca: String,
}

/// Runs the controllers until the component stops.
pub(crate) async fn run(context: &Context, options: Options) {
    let mut controller = Controller::new("namespace-objects", context);
    let namespaces = controller
        .watch(Api::<Namespace>::all(context, "*"), ListOptions::default(), |change| vec![change.key.clone()]);
    let accounts = watch(&mut controller, context, ACCOUNT);
    let config_maps = watch(&mut controller, context, ROOT_CA);
    let services = watch(&mut controller, context, KUBERNETES);
    let objects = Arc::new(Objects { context: context.clone(), options, namespaces, accounts, config_maps, services });
    controller
        .run(CONCURRENCY, move |key| {
            let objects = objects.clone();
            async move { objects.reconcile(&key).await }
        })
        .await;
}

/// Watches the objects of a name; a change of one triggers a pass over its namespace.
fn watch<K: Resource>(controller: &mut Controller, context: &Context, name: &str) -> Store<K> {
    let of_name = ListOptions { field_selector: format!("metadata.name={name}"), ..ListOptions::default() };
    controller.watch(Api::<K>::all(context, "*"), of_name, |change| {
        vec![ObjectKey::new(&change.key.cluster, "", &change.key.namespace)]
    })
}

struct Objects {
    context: Context,
    options: Options,
    namespaces: Store<Namespace>,
    accounts: Store<ServiceAccount>,
    config_maps: Store<ConfigMap>,
    services: Store<Service>,
}

impl Objects {
    async fn reconcile(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let is_there = self.namespaces.get(key).is_some_and(|namespace| !namespace.metadata.is_being_deleted());
        if !is_there {
            return Ok(Requeue::OnChange);
        }
        let at = |name: &str| ObjectKey::new(&key.cluster, &key.name, name);
        if self.accounts.get(&at(ACCOUNT)).is_none() {
            let account =
                ServiceAccount { metadata: ObjectMeta::named(&key.name, ACCOUNT), ..ServiceAccount::default() };
            self.create(key, &account).await?;
        }
        let data = TextMap::from_iter([("ca.crt".to_owned(), self.options.root_ca.clone())]);
        match self.config_maps.get(&at(ROOT_CA)) {
            Some(old) if old.data == data => {}
            Some(old) => {
                let new = ConfigMap { data, ..ConfigMap::clone(&old) };
                Api::<ConfigMap>::all(&self.context, "*").update(&old, &new).await?;
            }
            None => {
                let mut new =
                    ConfigMap { metadata: ObjectMeta::named(&key.name, ROOT_CA), data, ..ConfigMap::default() };
                let text = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints \
                            such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across \
                            distributions of Kubernetes clusters.";
                new.metadata.annotations.insert("kubernetes.io/description".to_owned(), text.to_owned());
                self.create(key, &new).await?;
            }
        }
        if &*key.name == DEFAULT_NAMESPACE && self.services.get(&at(KUBERNETES)).is_none() {
            self.create(key, &kubernetes()).await?;
        }
        Ok(Requeue::OnChange)
    }

    async fn create<K: Resource>(&self, key: &ObjectKey, object: &K) -> Result<(), Error> {
        match Api::<K>::namespaced(&self.context, &key.cluster, &key.name).create(object).await {
            // Another client created it first, or the namespace or its cluster is deleted or terminating.
            Err(error) if error.is_already_exists() || error.is_not_found() => Ok(()),
            Err(error) if error.status().is_some_and(|status| status.code == 403) => Ok(()),
            result => result.map(drop),
        }
    }
}

/// Returns the API server's Service; the API server sets the address itself.
fn kubernetes() -> Service {
    let mut metadata = ObjectMeta::named(DEFAULT_NAMESPACE, KUBERNETES);
    for (name, value) in [("component", "apiserver"), ("provider", KUBERNETES)] {
        metadata.labels.insert(name.to_owned(), value.to_owned());
    }
    let port = ServicePort {
        name: "https".to_owned(),
        protocol: "TCP".to_owned(),
        port: 443,
        target_port: IntOrString::Int(443),
        ..ServicePort::default()
    };
    let spec = ServiceSpec { ports: vec![port], ..ServiceSpec::default() };
    Service { metadata, spec, ..Service::default() }
}
