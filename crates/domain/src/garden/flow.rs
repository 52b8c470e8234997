// SPDX-License-Identifier: Apache-2.0
//! The tasks of a reconciliation and of a deletion, as data: names, order, and simulated actions.
//!
//! ```text
//! … ► Deploying Gardener API Server ► Waiting until … rolled out ─┬► Admission Controller, Controller Manager, Scheduler
//!                                                                 └► Deploy gardener-info ConfigMap ► …
//! ```
//!
//! Tasks that are not simulated (DNS, etcds, ingress, observability) are done at once; they are listed so that names,
//! order and percentages are upstream's.
//!
//! Source: pkg/operator/controller/garden/garden/{reconciler_reconcile,reconciler_delete}.go @ v1.120.0.

use std::collections::BTreeSet;

use api::operator::Garden;

use super::control_plane::Component;
use crate::last_operation::{self, TaskFailure};

/// Action of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// The task has no simulated action.
    Nothing,
    /// Gives the virtual garden its Kubernetes version.
    KubernetesVersion,
    /// Applies a component's configuration and Deployment.
    Deploy(Component),
    /// Waits until a component is rolled out, and no old instance of it is left.
    Wait(Component),
    /// Deploys a component, and waits until it is ready.
    DeployAndWait(Component),
    /// Creates namespaces of the virtual garden.
    SystemResources,
    /// Writes ConfigMap `gardener-info`.
    GardenerInfo,
    /// Removes a component's Deployment, and waits until its Pods are deleted.
    Destroy(Component),
}

/// A task of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Name of the task, as in `lastOperation`.
    pub name: &'static str,
    /// Names of its predecessors.
    pub after: &'static [&'static str],
    /// Action of the task.
    pub act: Act,
}

const fn task(name: &'static str, after: &'static [&'static str], act: Act) -> Task {
    Task { name, after, act }
}

/// Name of the flow that reconciles.
pub const RECONCILIATION: &str = "Garden reconciliation";
/// Name of the flow that deletes.
pub const DELETION: &str = "Garden deletion";

const DRUID: &str = "Deploying ETCD Druid";
const DRUID_READY: &str = "Waiting for ETCD Druid to be ready";
const DNS: &str = "Reconciling DNSRecords for virtual garden cluster and ingress controller";
const BACKUP: &str = "Reconciling main ETCD backup bucket";
const ETCDS: &str = "Deploying main and events ETCDs of virtual garden";
const ETCDS_READY: &str = "Waiting until main and event ETCDs report readiness";
const EXTENSIONS_BEFORE: &str = "Deploying extension resources before kube-apiserver";
const EXTENSIONS_BEFORE_READY: &str = "Waiting until extension resources handled before kube-apiserver are ready";
const SERVICE: &str = "Deploying and waiting for kube-apiserver service in the runtime cluster";
const KUBE_APISERVER: &str = "Deploying Kubernetes API Server";
const KUBE_APISERVER_READY: &str = "Waiting until Kubernetes API server rolled out";
const KUBE_CONTROLLER_MANAGER: &str = "Deploying Kubernetes Controller Manager";
const RESOURCE_MANAGER: &str = "Deploying gardener-resource-manager for virtual garden";
const RESOURCE_MANAGER_READY: &str = "Waiting until gardener-resource-manager for virtual garden rolled out";
const APISERVER: &str = "Deploying Gardener API Server";
const APISERVER_READY: &str = "Waiting until Gardener API server rolled out";
const SYSTEM_RESOURCES: &str = "Deploying virtual system resources";
const ACCESS: &str = "Deploying resources for gardener-operator access to virtual garden";
const CONNECTION: &str = "Initializing connection to virtual garden cluster";
const EXTENSIONS: &str = "Deploying extension resources";
const STALE_EXTENSIONS: &str = "Deleting stale extension resources";

/// Names of the tasks that run before all others.
const SYSTEM_COMPONENTS: &[&str] = &[
    "Generating generic token kubeconfig",
    "Generating observability ingress password",
    "Deploying nginx-ingress controller",
    "Deploying Kubernetes vertical pod autoscaler",
    DRUID,
    "Deploying Istio",
];

/// Returns the tasks of a reconciliation, each behind its predecessors. Without `spec.dns` there are no DNSRecords,
/// without a backup no bucket, without a dashboard no dashboard.
pub fn reconciliation(garden: &Garden) -> Vec<Task> {
    use Act::{Deploy, DeployAndWait, Nothing, Wait};
    let mut tasks: Vec<Task> = SYSTEM_COMPONENTS.iter().map(|name| task(name, &[], Nothing)).collect();
    tasks.push(task(DRUID_READY, &[DRUID], Nothing));
    let cluster = &garden.spec.virtual_cluster;
    if garden.spec.dns.is_some() {
        tasks.push(task(DNS, SYSTEM_COMPONENTS, Nothing));
    }
    let main = cluster.etcd.as_ref().and_then(|etcd| etcd.main.as_ref());
    if main.is_some_and(|main| main.backup.is_some()) {
        tasks.push(task(BACKUP, &[], Nothing));
    }
    tasks.extend([
        task(ETCDS, &[DRUID_READY], Nothing),
        task(ETCDS_READY, &[ETCDS], Nothing),
        task(EXTENSIONS_BEFORE, &[], Nothing),
        task(EXTENSIONS_BEFORE_READY, &[EXTENSIONS_BEFORE], Nothing),
        task(SERVICE, SYSTEM_COMPONENTS, Nothing),
        task(KUBE_APISERVER, &[ETCDS_READY, EXTENSIONS_BEFORE_READY], Act::KubernetesVersion),
        task(KUBE_APISERVER_READY, &[KUBE_APISERVER], Nothing),
        task("Deploying Kubernetes API server service SNI", &[KUBE_APISERVER_READY], Nothing),
        task(KUBE_CONTROLLER_MANAGER, &[KUBE_APISERVER_READY], Nothing),
        task(RESOURCE_MANAGER, &[KUBE_APISERVER_READY], Nothing),
        task(RESOURCE_MANAGER_READY, &[RESOURCE_MANAGER], Nothing),
        task(APISERVER, &[ETCDS_READY, KUBE_APISERVER_READY, RESOURCE_MANAGER_READY], Deploy(Component::Apiserver)),
        task(APISERVER_READY, &[APISERVER], Wait(Component::Apiserver)),
        task(
            "Deploying Gardener Admission Controller",
            &[APISERVER_READY],
            DeployAndWait(Component::AdmissionController),
        ),
        task("Deploying Gardener Controller Manager", &[APISERVER_READY], DeployAndWait(Component::ControllerManager)),
        task("Deploying Gardener Scheduler", &[APISERVER_READY], DeployAndWait(Component::Scheduler)),
    ]);
    if cluster.gardener.gardener_discovery_server.is_some() {
        tasks.push(task("Deploying Gardener Discovery Server", &[APISERVER_READY], Nothing));
    }
    tasks.extend([
        task(SYSTEM_RESOURCES, &[RESOURCE_MANAGER_READY], Act::SystemResources),
        task(ACCESS, &[RESOURCE_MANAGER_READY], Nothing),
        task(CONNECTION, &[SERVICE, SYSTEM_RESOURCES, ACCESS], Nothing),
        task("Deploy gardener-info ConfigMap", &[APISERVER_READY, CONNECTION], Act::GardenerInfo),
        task(EXTENSIONS, &[CONNECTION], Nothing),
        task("Waiting until extension resources are ready", &[EXTENSIONS], Nothing),
        task(STALE_EXTENSIONS, &[CONNECTION], Nothing),
        task("Waiting until stale extension resources are deleted", &[STALE_EXTENSIONS], Nothing),
    ]);
    if cluster.gardener.gardener_dashboard.is_some() {
        tasks.push(task("Reconciling Gardener Dashboard", &[APISERVER_READY, CONNECTION], Nothing));
    }
    for name in ["fluent-operator", "fluent-operator CustomResources", "fluent-bit", "Vali", "prometheus-operator"] {
        tasks.push(task(observability(name), &[], Nothing));
    }
    tasks
}

/// Returns the name of a task that sets up logging or monitoring.
fn observability(name: &str) -> &'static str {
    match name {
        "fluent-operator" => "Deploying fluent-operator",
        "fluent-operator CustomResources" => "Deploying fluent-operator CustomResources",
        "fluent-bit" => "Deploying fluent-bit",
        "Vali" => "Deploying Vali",
        _ => "Deploying prometheus-operator",
    }
}

/// The tasks of a deletion.
pub fn deletion() -> Vec<Task> {
    use Act::Destroy;
    const SCHEDULER: &str = "Destroying Gardener Scheduler";
    const CONTROLLER_MANAGER: &str = "Destroying Gardener Controller Manager";
    const ADMISSION_CONTROLLER: &str = "Destroying Gardener Admission Controller";
    vec![
        task("Destroying Gardener Discovery Server", &[], Act::Nothing),
        task("Destroying Gardener Dashboard", &[], Act::Nothing),
        task(SCHEDULER, &[], Destroy(Component::Scheduler)),
        task(CONTROLLER_MANAGER, &[SCHEDULER], Destroy(Component::ControllerManager)),
        task(ADMISSION_CONTROLLER, &[CONTROLLER_MANAGER], Destroy(Component::AdmissionController)),
        task("Destroying Gardener API Server", &[ADMISSION_CONTROLLER], Destroy(Component::Apiserver)),
    ]
}

/// State of a task whose predecessors are done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The task is done.
    Done,
    /// The task runs.
    Runs,
    /// The task failed; the reason.
    Failed(String),
}

/// Progress of a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Tasks that run, in the order of the flow.
    pub running: Vec<Task>,
    /// Tasks that failed; tasks that depend on them do not begin.
    pub failures: Vec<TaskFailure>,
    /// Share of the tasks that are done, in per cent.
    pub percent: i32,
}

impl Progress {
    /// True if every task is done.
    pub fn is_finished(&self) -> bool {
        self.running.is_empty() && self.failures.is_empty()
    }

    /// Returns the text of `lastOperation.description` while the flow runs.
    pub fn description(&self, flow: &str) -> String {
        last_operation::progress_description(flow, self.percent, self.running.iter().map(|task| task.name))
    }
}

/// Returns the progress of a flow; `state` is called only for tasks whose predecessors are done.
pub fn progress(tasks: &[Task], mut state: impl FnMut(Act) -> State) -> Progress {
    let mut done = BTreeSet::new();
    let mut progress = Progress::default();
    for task in tasks {
        if !task.after.iter().all(|name| done.contains(name)) {
            continue;
        }
        match state(task.act) {
            State::Done => {
                done.insert(task.name);
            }
            State::Runs => progress.running.push(*task),
            State::Failed(error) => progress.failures.push(TaskFailure::new(task.name, error)),
        }
    }
    progress.percent = last_operation::progress(done.len(), tasks.len());
    progress
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_follows_its_predecessors() {
        let mut garden = Garden::default();
        garden.spec.dns = Some(api::operator::DNSManagement::default());
        for tasks in [reconciliation(&garden), reconciliation(&Garden::default()), deletion()] {
            let mut known = BTreeSet::new();
            for task in tasks {
                assert!(task.after.iter().all(|name| known.contains(name)), "{}", task.name);
                assert!(known.insert(task.name), "{} is there twice", task.name);
            }
        }
    }

    /// Unfinished tasks, and the description of the flow.
    #[test]
    fn the_other_components_wait_for_gardener_apiserver() {
        let tasks = reconciliation(&Garden::default());
        let at = |open: &[Act]| {
            let progress = progress(&tasks, |act| if open.contains(&act) { State::Runs } else { State::Done });
            progress.description(RECONCILIATION)
        };
        assert_eq!(at(&[Act::Deploy(Component::Apiserver)]), "Deploying Gardener API Server");
        let others = [Component::AdmissionController, Component::ControllerManager, Component::Scheduler];
        let others = others.map(Act::DeployAndWait);
        let mut open = others.to_vec();
        open.push(Act::GardenerInfo);
        assert_eq!(
            at(&open),
            "Deploy gardener-info ConfigMap, Deploying Gardener Admission Controller, Deploying Gardener Controller \
             Manager, Deploying Gardener Scheduler"
        );
        open.push(Act::Wait(Component::Apiserver));
        assert_eq!(at(&open), "Waiting until Gardener API server rolled out");
        assert_eq!(at(&others[2..]), "Deploying Gardener Scheduler");
        assert_eq!(at(&[]), "Garden reconciliation finished");
    }

    #[test]
    fn a_failed_task_stops_its_successors() {
        let tasks = reconciliation(&Garden::default());
        let progress = progress(&tasks, |act| match act {
            Act::Wait(_) => State::Failed("no".to_owned()),
            Act::Nothing | Act::KubernetesVersion | Act::SystemResources | Act::Deploy(Component::Apiserver) => {
                State::Done
            }
            other => panic!("{other:?} must not begin"),
        });
        assert_eq!(
            last_operation::flow_error(RECONCILIATION, &progress.failures),
            "Flow \"Garden reconciliation\" encountered task errors: [task \"Waiting until Gardener API server rolled \
             out\" failed: no]"
        );
        assert!(!progress.is_finished() && progress.running.is_empty() && progress.percent < 100);
    }

    #[test]
    fn a_deletion_takes_gardener_apiserver_last() {
        let order: Vec<Act> = deletion().iter().map(|task| task.act).filter(|act| *act != Act::Nothing).collect();
        let expected =
            [Component::Scheduler, Component::ControllerManager, Component::AdmissionController, Component::Apiserver];
        assert_eq!(order, expected.map(Act::Destroy));
    }

    #[test]
    fn dashboard_and_discovery_server_are_deployed_if_configured() {
        let names = |garden: &Garden| reconciliation(garden).iter().map(|task| task.name).collect::<Vec<_>>();
        let optional = ["Reconciling Gardener Dashboard", "Deploying Gardener Discovery Server"];
        let plain = names(&Garden::default());
        assert!(optional.iter().all(|name| !plain.contains(name)), "{plain:?}");
        let mut garden = Garden::default();
        let gardener = &mut garden.spec.virtual_cluster.gardener;
        gardener.gardener_dashboard = Some(Default::default());
        gardener.gardener_discovery_server = Some(Default::default());
        let whole = names(&garden);
        assert!(optional.iter().all(|name| whole.contains(name)), "{whole:?}");
        assert_eq!(whole.len(), plain.len() + 2);
    }
}
