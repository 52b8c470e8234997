// SPDX-License-Identifier: Apache-2.0
//! Resources that clusters define for themselves: the garbage collector watches each while its CustomResourceDefinition
//! exists.

use std::sync::Arc;

use controller::{Controller, Error, ObjectKey, Requeue, discovery};
use process::Context;

use crate::graph::Graph;

const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";

/// Runs the controller until the component stops.
pub(crate) async fn run(context: &Context, graph: Arc<Graph>) {
    let is_definition =
        |served: &discovery::ServedResource| served.resource.group == GROUP && served.resource.plural == PLURAL;
    let Some(definitions) = graph.all().into_iter().find(|resource| is_definition(&resource.served)) else { return };
    let mut controller = Controller::new("custom-resource-definitions", context);
    controller.watch_store(&definitions.store, |change| vec![change.key.clone()]);
    let context = context.clone();
    controller
        .run(1, move |key| {
            let (context, graph) = (context.clone(), graph.clone());
            let is_there = definitions.store.get(&key).is_some();
            async move { reconcile(&context, &graph, &key, is_there).await }
        })
        .await;
}

async fn reconcile(context: &Context, graph: &Graph, key: &ObjectKey, is_there: bool) -> Result<Requeue, Error> {
    if !is_there {
        graph.forget(&key.cluster, &key.name);
        return Ok(Requeue::OnChange);
    }
    // The definition's name contains the resource that it defines.
    let Some((plural, group)) = key.name.split_once('.') else { return Ok(Requeue::OnChange) };
    let is_of_all = |resource: &crate::graph::Resource| {
        let known = &resource.served.resource;
        resource.is_of_all_clusters() && known.group == group && known.plural == plural
    };
    if graph.all().iter().any(|resource| is_of_all(resource)) {
        return Ok(Requeue::OnChange);
    }
    // A definition that is not served yet changes its status later, which triggers another pass.
    if let Some(served) = discovery::resource(context, &key.cluster, group, plural).await? {
        graph.follow(&key.cluster, served);
    }
    Ok(Requeue::OnChange)
}
