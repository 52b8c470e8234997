// SPDX-License-Identifier: Apache-2.0
//! Start of each component in a simulation.

use std::sync::Arc;

use api::cluster;
use chrono::TimeDelta;
use gardenlet_sim::{gardenlet, provider_local};
use kube_controllers::workload;

use super::Landscape;
use crate::component::{Component, Running};
use crate::options::{DEFAULT_DOMAIN, Sync};

/// Termination duration of a simulated pod of a Shoot in seconds, as in a landscape of processes.
const POD_END_SECONDS: i64 = 5;

/// Maximum number of Shoots per seed: more than any simulation creates.
const SHOOTS_PER_SEED: u32 = 100_000;

/// Starts a component with its own tasks.
pub(crate) fn start(landscape: &mut Landscape, component: &Component) -> Running {
    let version = landscape.options().gardener_version.clone();
    let tasks = landscape.tasks();
    let context = landscape.context(component.identity(&version), component.user(&version), tasks.clone());
    let options = landscape.options();
    match component {
        Component::Apiserver => {
            let options = apiserver::Options {
                profile: options.profile,
                default_domains: vec![DEFAULT_DOMAIN.to_owned()],
                kubernetes_version: options.kubernetes_version.clone(),
                gates: options.gates,
                ..apiserver::Options::emulating(&version)
            };
            let server = apiserver::service(landscape.foundation(), &options);
            server.start(&tasks);
            landscape.host().aggregate(Some(server));
            Running::server(tasks)
        }
        Component::KubeControllers => {
            let workload = options.workload.then(|| workload::Options {
                node_of: Arc::new(|cluster| (!cluster::is_technical_id(cluster)).then(|| "terrarium".to_owned())),
                pod_end_of: Arc::new(|cluster| {
                    TimeDelta::seconds(if cluster::is_technical_id(cluster) { POD_END_SECONDS } else { 0 })
                }),
                ..workload::Options::default()
            });
            Running::spawn(context, |context| {
                kube_controllers::run(
                    context,
                    kube_controllers::Options { workload, ..kube_controllers::Options::default() },
                )
            })
        }
        Component::ControllerManager => {
            let options = controller_manager::Options {
                profile: options.profile,
                disabled: options.disabled.clone(),
                ..controller_manager::Options::default()
            };
            Running::spawn(context, |context| controller_manager::run(context, options))
        }
        Component::Scheduler => {
            Running::spawn(context, |context| scheduler::run(context, scheduler::Options::default()))
        }
        Component::Gardenlet(seed_name) => {
            let has_pods = options.workload;
            let template = options.seeds.iter().find(|seed| seed.metadata.name == *seed_name);
            let options = gardenlet::Options {
                seed_name: seed_name.clone(),
                seed_template: template.cloned().unwrap_or_default(),
                profile: options.profile,
                config: gardenlet::Configuration {
                    reconcile_in_maintenance_only: options.sync == Sync::Window,
                    capacity: [("shoots".to_owned(), SHOOTS_PER_SEED)].into(),
                    ..gardenlet::Configuration::default()
                },
                has_pods,
            };
            Running::spawn(context, |context| gardenlet::run(context, options))
        }
        Component::ProviderLocal(seed_name) => {
            let options = provider_local::Options { seed_name: seed_name.clone(), profile: options.profile };
            Running::spawn(context, |context| provider_local::run(context, options))
        }
    }
}
