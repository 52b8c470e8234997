// SPDX-License-Identifier: Apache-2.0
//! Writes limits and usage of ResourceQuotas into their status.
//!
//! A quota is recounted when it changes, and when an object that it counts is created, changed or deleted.
//!
//! Source: k8s.io/kubernetes pkg/controller/resourcequota/resource_quota_controller.go.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::kubernetes::core::ResourceQuota;
use apimachinery::GroupResource;
use apimachinery::meta::ObjectMeta;
use apimachinery::resource::read_into;
use apimachinery::wire::api_type;
use controller::discovery::{self, ServedResource};
use controller::{Api, Controller, Error, ListOptions, ObjectKey, Readable, Requeue, Store};
use domain::resource_quota::{Amounts, counted_by, used};
use process::Context;
use serde_json::{Map, Value};

use crate::graph::Graph;

const CONCURRENCY: usize = 5;

/// The fields of an object that quotas count.
#[api_type(no_schema)]
struct Part {
    metadata: ObjectMeta,
    spec: Value,
    status: Value,
}

/// [`Part`], decoded from any kind.
#[derive(Clone, Debug, Default)]
struct CountedPart {
    metadata: ObjectMeta,
    fields: Map<String, Value>,
}

impl Readable for CountedPart {
    fn object_meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn object_meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }

    fn read(bytes: &[u8]) -> Result<Self, Error> {
        let mut part = Part::default();
        read_into(&mut part, bytes).map_err(|error| Error::Decode(error.to_string()))?;
        let fields = [("spec".to_owned(), part.spec), ("status".to_owned(), part.status)];
        Ok(Self { metadata: part.metadata, fields: Map::from_iter(fields) })
    }
}

/// Runs the controller until the component stops.
pub(crate) async fn run(context: &Context, graph: Arc<Graph>) {
    let mut controller = Controller::new("resourcequota", context);
    let api = Api::<ResourceQuota>::all(context, "*");
    let quotas = controller.watch(api.clone(), ListOptions::default(), |change| vec![change.key.clone()]);
    let (queue, known, resources) = (controller.queue(), quotas.clone(), graph.clone());
    graph.subscribe(move |number, change| {
        if change.key.namespace.is_empty() || known.is_empty() {
            return;
        }
        let near = known.list_in(&change.key.cluster, &change.key.namespace);
        if near.is_empty() {
            return;
        }
        let Some(resource) = resources.resource(number) else { return };
        let names = &resource.served.resource;
        let resource = GroupResource { group: names.group.to_string(), resource: names.plural.to_string() };
        let counts = |quota: &&Arc<ResourceQuota>| resources_of(quota).contains(&resource);
        queue.add_all(near.iter().filter(counts).map(|quota| change.key.sibling(&quota.metadata.name)));
    });
    let quotas = Arc::new(ResourceQuotas { api, quotas, graph });
    controller
        .run(CONCURRENCY, move |key| {
            let quotas = quotas.clone();
            async move { quotas.reconcile(&key).await }
        })
        .await;
}

/// Returns the resources that a quota counts.
fn resources_of(quota: &ResourceQuota) -> BTreeSet<GroupResource> {
    quota.spec.hard.keys().filter_map(|name| counted_by(name)).collect()
}

struct ResourceQuotas {
    api: Api<ResourceQuota>,
    quotas: Store<ResourceQuota>,
    graph: Arc<Graph>,
}

impl ResourceQuotas {
    /// Returns a resource as a cluster serves it. A resource whose server did not answer when this component started is
    /// watched from now on, so that its changes are noticed.
    async fn served(&self, cluster: &str, resource: &GroupResource) -> Result<Option<ServedResource>, Error> {
        let known = self.graph.all().into_iter().find(|known| {
            let names = &known.served.resource;
            names.group == resource.group
                && names.plural == resource.resource
                && !known.is_gone()
                && (known.is_of_all_clusters() || known.is_own_of(cluster))
        });
        if let Some(known) = known {
            return Ok(Some(known.served.clone()));
        }
        if resource.group.is_empty() {
            return Ok(None);
        }
        let found = discovery::resource(self.graph.context(), cluster, &resource.group, &resource.resource).await?;
        if let Some(served) = &found {
            self.graph.follow(cluster, served.clone());
        }
        Ok(found)
    }

    async fn reconcile(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(quota) = self.quotas.get(key).filter(|quota| !quota.metadata.is_being_deleted()) else {
            return Ok(Requeue::OnChange);
        };
        let mut total = Amounts::new();
        for resource in resources_of(&quota) {
            // A resource that is not served has no usage.
            let objects = match self.served(&key.cluster, &resource).await?.filter(|served| served.resource.namespaced)
            {
                Some(served) => {
                    let api = Api::<CountedPart>::of(self.graph.context(), &key.cluster, served.resource);
                    api.within(&key.cluster, &key.namespace).list(&ListOptions::default()).await?.0
                }
                None => Vec::new(),
            };
            total.append(&mut used(&quota, &resource, objects.iter().map(|object| &object.fields)));
        }
        let mut new = ResourceQuota::clone(&quota);
        new.status.hard.clone_from(&quota.spec.hard);
        new.status.used = total;
        if new.status != quota.status {
            self.api.update_status(&quota, &new).await?;
        }
        Ok(Requeue::OnChange)
    }
}
