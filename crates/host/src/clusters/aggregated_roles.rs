// SPDX-License-Identifier: Apache-2.0
//! Updates the rules of aggregated ClusterRoles in all clusters.
//!
//! The rule is [`domain::rbac::aggregation`]'s. Source: k8s.io/kubernetes
//! pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go @ v1.32.

use std::sync::Arc;

use api::kubernetes::rbac::ClusterRole;
use controller::{Api, Controller, Error, ListOptions, ObjectKey, Requeue, Store};
use domain::rbac::aggregation;
use process::Context;

/// Runs the controller until the component stops.
pub(crate) async fn run(context: Context) {
    let mut controller = Controller::new("clusterrole-aggregation", &context);
    let api = Api::<ClusterRole>::all(&context, "*");
    // Every change of a role requeues all roles of its cluster.
    let roles = controller
        .watch(api.clone(), ListOptions::default(), |change| vec![ObjectKey::new(&change.key.cluster, "", "")]);
    let pass = Arc::new((api, roles));
    controller
        .run(1, move |key| {
            let pass = pass.clone();
            async move { reconcile(&pass.0, &pass.1, &key.cluster).await }
        })
        .await;
}

async fn reconcile(api: &Api<ClusterRole>, store: &Store<ClusterRole>, cluster: &str) -> Result<Requeue, Error> {
    let roles = store.list_in(cluster, "");
    for role in &roles {
        let Some(rules) = aggregation::rules(role, roles.iter().map(|role| &**role)) else { continue };
        if rules == role.rules {
            continue;
        }
        let new = ClusterRole { rules, ..ClusterRole::clone(role) };
        match api.in_namespace_of(role).update(role, &new).await {
            // The newer version arrives as a watch event.
            Err(error) if error.is_conflict() || error.is_not_found() => {}
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
    Ok(Requeue::OnChange)
}
