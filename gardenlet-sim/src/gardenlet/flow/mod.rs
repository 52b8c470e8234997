// SPDX-License-Identifier: Apache-2.0
//! The flows as tables of tasks, and the state of a run.
//!
//! A task starts when all its predecessors are done; a skipped one is done as soon as they are. When a task fails, its
//! dependents never start; all others continue, and the flow fails when nothing is left to run. Progress is the share
//! of finished tasks among those that are not skipped.
//! Source: pkg/utils/flow/flow.go @ v1.120.0.

pub(crate) mod delete;
pub(crate) mod effect;
pub(crate) mod reconcile;
pub(crate) mod run;

use self::effect::Effect;

/// A row of a flow's table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    /// Number in the table, from 1.
    pub(crate) number: u8,
    /// Name; shown in `lastOperation.description`, and the ID of its error.
    pub(crate) name: &'static str,
    /// Name while the Shoot is hibernated, if it differs.
    pub(crate) while_hibernating: Option<&'static str>,
    /// Numbers of the tasks that must be done before.
    pub(crate) after: &'static [u8],
    /// Numbers of the tasks that must be done before, too, while the nodes' network is unknown.
    pub(crate) after_for_network: &'static [u8],
    /// Returns true if the task is skipped in a run.
    pub(crate) skip: fn(&Facts) -> bool,
    /// Effect of the task.
    pub(crate) effect: Effect,
}

/// Returns a row without special names and predecessors.
const fn task(number: u8, name: &'static str, after: &'static [u8], skip: fn(&Facts) -> bool, effect: Effect) -> Task {
    Task { number, name, while_hibernating: None, after, after_for_network: &[], skip, effect }
}

impl Task {
    /// True if a task with this number must be done before, in some run.
    fn may_follow(&self, number: u8) -> bool {
        self.after.contains(&number) || self.after_for_network.contains(&number)
    }

    /// Returns the name under these facts.
    pub(crate) fn name(&self, facts: &Facts) -> &'static str {
        match self.while_hibernating {
            Some(name) if facts.hibernated => name,
            _ => self.name,
        }
    }
}

/// Description of a task, for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskInfo {
    /// Flow of the task: `reconciled` or `deleted`.
    pub flow: &'static str,
    /// Number in the flow, from 1.
    pub number: u8,
    /// Number of tasks in the flow.
    pub of: usize,
    /// Name of the task, as upstream.
    pub name: &'static str,
    /// Name while the Shoot is hibernated, if it differs.
    pub while_hibernating: Option<&'static str>,
    /// Names of the tasks that must be done before.
    pub after: Vec<&'static str>,
}

/// Returns the tasks of both flows, in order.
pub fn tasks() -> impl Iterator<Item = TaskInfo> {
    let flows: [(&'static str, &'static [Task]); 2] = [("reconciled", &reconcile::TASKS), ("deleted", &delete::TASKS)];
    flows.into_iter().flat_map(|(flow, tasks)| {
        tasks.iter().map(move |task| {
            let before = tasks.iter().filter(|other| task.may_follow(other.number));
            TaskInfo {
                flow,
                number: task.number,
                of: tasks.len(),
                name: task.name,
                while_hibernating: task.while_hibernating,
                after: before.map(|other| other.name).collect(),
            }
        })
    })
}

/// Facts about a Shoot that the conditions of a flow's table read; determined once, at the start of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// True if the Shoot has no worker pools.
    pub(crate) workerless: bool,
    /// True if hibernation is requested.
    pub(crate) hibernated: bool,
    /// True if annotation `shoot.gardener.cloud/skip-readiness` is set.
    pub(crate) skip_readiness: bool,
    /// True if the seed stores backups.
    pub(crate) seed_backup: bool,
    /// True if feature gate `NodeAgentAuthorizer` is on.
    pub(crate) node_agent_authorizer: bool,
    /// True if kube-apiserver already runs with the authorizer.
    pub(crate) authorizer_ready: bool,
    /// True in the first half of a rotation of the ServiceAccount key.
    pub(crate) service_account_key_preparing: bool,
    /// True in the second half of a rotation of the ServiceAccount key.
    pub(crate) service_account_key_completing: bool,
    /// True in the first half of a rotation of the etcd encryption key.
    pub(crate) etcd_key_preparing: bool,
    /// True in the second half of a rotation of the etcd encryption key.
    pub(crate) etcd_key_completing: bool,
    /// True if the list of encrypted resources differs from the resources that are encrypted.
    pub(crate) encryption_changed: bool,
    /// True if an extension object publishes the API server instead of a DNS record.
    pub(crate) exposure: bool,
    /// Value of `spec.provider.workersSettings.sshAccess.enabled`.
    pub(crate) ssh_access: bool,
    /// True if kube-proxy is enabled.
    pub(crate) kube_proxy: bool,
    /// True if the addon nginx-ingress is enabled.
    pub(crate) nginx_ingress: bool,
    /// True if Gardener manages the issuer.
    pub(crate) managed_issuer: bool,
    /// True if task `restartControlPlanePods` is set.
    pub(crate) restart_control_plane_pods: bool,
    /// True if the nodes' network is already known.
    pub(crate) nodes_network_known: bool,
    /// Deletion: the control plane namespace is deleted or being deleted.
    pub(crate) namespace_gone: bool,
    /// Deletion: there is no cluster to clean up.
    pub(crate) no_cleanup: bool,
    /// Deletion: the ControlPlane must be written once more.
    pub(crate) control_plane_deployment_needed: bool,
    /// Deletion: kube-apiserver has its replicas.
    pub(crate) api_server_scaled: bool,
    /// Deletion: kube-controller-manager exists.
    pub(crate) kube_controller_manager: bool,
    /// Deletion: annotation `shoot.gardener.cloud/skip-cleanup`.
    pub(crate) skip_cleanup: bool,
}

/// State of a task in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Waits for its predecessors.
    Waiting,
    /// The task is running.
    Running,
    /// Done, or skipped after its predecessors were done.
    Done,
    /// Ended with an error, or will never start because of one.
    Failed,
}

/// A run of a flow: its tasks and their states.
#[derive(Debug)]
pub(crate) struct Plan {
    tasks: &'static [Task],
    /// States in table order, beginning with task 1.
    states: Vec<State>,
    facts: Facts,
    total: usize,
    succeeded: usize,
}

impl Plan {
    /// Creates a run that has not begun.
    pub(crate) fn new(tasks: &'static [Task], facts: Facts) -> Self {
        let states = vec![State::Waiting; tasks.len()];
        let total = tasks.iter().filter(|task| !(task.skip)(&facts)).count();
        Self { tasks, states, facts, total, succeeded: 0 }
    }

    /// Marks every task that can start as running and returns them in table order.
    ///
    /// A skipped task takes no time, but counts as done only when its predecessors are.
    pub(crate) fn start_ready(&mut self) -> Vec<&'static Task> {
        let mut ready = Vec::new();
        loop {
            let mut has_passed = false;
            for task in self.tasks {
                if self.state(task.number) != State::Waiting || !self.may_start(task) {
                    continue;
                }
                if (task.skip)(&self.facts) {
                    *self.state_mut(task.number) = State::Done;
                    has_passed = true;
                } else {
                    *self.state_mut(task.number) = State::Running;
                    ready.push(task);
                }
            }
            if !has_passed {
                ready.sort_by_key(|task: &&Task| task.number);
                return ready;
            }
        }
    }

    /// Returns the state of the task with this number (position in the table, from 1).
    fn state(&self, number: u8) -> State {
        self.states[usize::from(number) - 1]
    }

    fn state_mut(&mut self, number: u8) -> &mut State {
        &mut self.states[usize::from(number) - 1]
    }

    fn may_start(&self, task: &Task) -> bool {
        let are_done = |numbers: &[u8]| numbers.iter().all(|before| self.state(*before) == State::Done);
        are_done(task.after) && (self.facts.nodes_network_known || are_done(task.after_for_network))
    }

    /// Records the end of a task.
    pub(crate) fn finish(&mut self, number: u8, is_success: bool) {
        let state = if is_success { State::Done } else { State::Failed };
        *self.state_mut(number) = state;
        self.succeeded += usize::from(is_success);
    }

    /// Returns the share of finished tasks among those that take part, in percent.
    pub(crate) fn progress(&self) -> i32 {
        domain::last_operation::progress(self.succeeded, self.total)
    }

    /// Returns the names of the running tasks, in table order.
    pub(crate) fn running(&self) -> impl Iterator<Item = &'static str> {
        self.tasks.iter().filter(|task| self.state(task.number) == State::Running).map(|task| task.name(&self.facts))
    }

    /// Returns the number of tasks that take part.
    #[cfg(test)]
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// Returns the facts of the run.
    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }
}

#[cfg(test)]
mod tests {
    use domain::shoot_components::Component;

    use super::*;

    fn ordinary() -> Facts {
        Facts {
            node_agent_authorizer: true,
            exposure: false,
            ssh_access: true,
            kube_proxy: true,
            kube_controller_manager: true,
            api_server_scaled: true,
            ..Facts::default()
        }
    }

    #[track_caller]
    fn check_table(tasks: &'static [Task], count: u8) {
        let numbers: Vec<u8> = tasks.iter().map(|task| task.number).collect();
        assert_eq!(numbers, (1..=count).collect::<Vec<u8>>());
        let mut names: Vec<&str> = tasks.iter().map(|task| task.name).collect();
        names.sort_unstable();
        names.dedup();
        for task in tasks {
            assert!(!task.name.is_empty() && task.name.is_ascii());
            for before in task.after.iter().chain(task.after_for_network) {
                assert!(numbers.contains(before) && *before != task.number, "{}: {before}", task.name);
            }
        }
    }

    /// Runs a flow without effects, one ready task after the other, and returns the number of tasks and the steps.
    #[track_caller]
    fn walk(tasks: &'static [Task], facts: Facts) -> (usize, Vec<i32>) {
        let mut plan = Plan::new(tasks, facts);
        let mut steps = vec![plan.progress()];
        let mut queue = plan.start_ready();
        while let Some(task) = queue.pop() {
            plan.finish(task.number, true);
            steps.push(plan.progress());
            queue.extend(plan.start_ready());
        }
        assert_eq!(plan.progress(), 100, "no cycle keeps a task from starting");
        assert!(steps.is_sorted(), "progress only rises");
        (plan.total(), steps)
    }

    #[test]
    fn the_reconcile_flow_has_119_tasks_and_ends() {
        check_table(&reconcile::TASKS, 119);
        let (total, steps) = walk(&reconcile::TASKS, ordinary());
        assert_eq!((steps.first(), steps.len()), (Some(&0), total + 1));
    }

    #[test]
    fn the_delete_flow_has_83_tasks_and_ends() {
        check_table(&delete::TASKS, 83);
        walk(&delete::TASKS, ordinary());
        walk(&delete::TASKS, Facts { no_cleanup: true, namespace_gone: true, ..ordinary() });
    }

    /// The table of components names the tasks that deploy them, and every task with that effect deploys some.
    #[test]
    fn each_component_is_deployed_by_a_task() {
        for component in Component::all() {
            assert!(reconcile::TASKS.iter().any(|task| task.name == component.task()), "{component:?}");
        }
        let both = reconcile::TASKS.iter().chain(&delete::TASKS);
        for task in both.filter(|task| task.effect == Effect::DeployComponents) {
            assert!(!Component::of_task(task.name).is_empty(), "{}", task.name);
        }
    }

    /// The number of tasks, and so every percentage, depends on the skipped ones, and these on the Shoot.
    #[test]
    fn totals_follow_from_the_skip_conditions() {
        #[track_caller]
        fn check(facts: Facts, expected: usize) {
            assert_eq!(walk(&reconcile::TASKS, facts).0, expected);
        }
        check(ordinary(), 86);
        check(Facts { authorizer_ready: true, ..ordinary() }, 84);
        check(Facts { seed_backup: true, authorizer_ready: true, ..ordinary() }, 86);
        check(Facts { workerless: true, ..ordinary() }, 39);
        check(Facts { hibernated: true, authorizer_ready: true, ..ordinary() }, 60);
        check(Facts { skip_readiness: true, ..ordinary() }, 70);
        check(Facts { kube_proxy: false, ..ordinary() }, 85);
    }

    /// While nodes are replaced, all tasks that do not need them are done.
    #[test]
    fn the_wait_for_nodes_is_the_last_obstacle() {
        let mut plan = Plan::new(&reconcile::TASKS, Facts { authorizer_ready: true, ..ordinary() });
        let mut queue = plan.start_ready();
        while let Some(task) = queue.pop() {
            if task.name != "Waiting until shoot worker nodes have been reconciled" {
                plan.finish(task.number, true);
                queue.extend(plan.start_ready());
            }
        }
        assert_eq!(plan.running().collect::<Vec<_>>(), ["Waiting until shoot worker nodes have been reconciled"]);
        assert_eq!(plan.progress(), 86);
    }

    #[test]
    fn a_failure_stops_dependents_only() {
        let mut plan = Plan::new(&reconcile::TASKS, ordinary());
        let mut started = 0;
        let mut queue = plan.start_ready();
        while let Some(task) = queue.pop() {
            started += 1;
            plan.finish(task.number, task.number != 8);
            queue.extend(plan.start_ready());
        }
        assert_eq!(plan.state(9), State::Waiting);
        assert_eq!(plan.state(22), State::Done);
        assert!(started < plan.total());
        assert!(plan.progress() < 100);
    }

    /// The Service of the API server needs the nodes' network, which the infrastructure reports unless the spec has it.
    #[test]
    fn the_service_waits_for_the_infrastructure_to_obtain_the_network() {
        const SERVICE: &str = "Deploying Kubernetes API server service in the Seed cluster";
        for nodes_network_known in [false, true] {
            let mut plan = Plan::new(&reconcile::TASKS, Facts { nodes_network_known, ..ordinary() });
            let mut queue = plan.start_ready();
            while let Some(task) = queue.pop() {
                if task.name != "Waiting until shoot infrastructure has been reconciled" && task.name != SERVICE {
                    plan.finish(task.number, true);
                    queue.extend(plan.start_ready());
                }
            }
            assert_eq!(plan.running().any(|name| name == SERVICE), nodes_network_known);
        }
        let of_network = reconcile::TASKS.iter().filter(|task| !task.after_for_network.is_empty());
        assert_eq!(
            of_network.map(|task| (task.name, task.after_for_network)).collect::<Vec<_>>(),
            [
                (SERVICE, [9].as_slice()),
                ("Reconciling Shoot Alertmanager", &[9]),
                ("Reconciling Shoot Prometheus", &[9]),
                ("Deploying control plane blackbox-exporter", &[9]),
            ]
        );
        assert_eq!(reconcile::TASKS[8].effect, Effect::Await(effect::Resource::Infrastructure));
    }

    #[test]
    fn hibernation_changes_two_names() {
        let hibernated = Facts { hibernated: true, ..ordinary() };
        let name = |number: usize, facts: &Facts| reconcile::TASKS[number - 1].name(facts);
        assert_eq!(name(62, &ordinary()), "Deploying extension resources after kube-apiserver");
        assert_eq!(name(62, &hibernated), "Hibernating extension resources before kube-apiserver hibernation");
        assert_eq!(
            name(63, &hibernated),
            "Waiting until extension resources hibernated before kube-apiserver hibernation are ready"
        );
    }
}
