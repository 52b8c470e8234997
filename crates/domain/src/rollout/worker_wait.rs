// SPDX-License-Identifier: Apache-2.0
//! Readiness of a Worker's machines.

use std::collections::BTreeMap;

use api::constants::label;
use api::extensions::WorkerPool;
use api::machine::{MachineDeployment, MachineSet};

use super::preservation::PRESERVED;
use crate::release::Release;
use crate::worker_pool::UpdateStrategy;

/// A MachineDeployment to wait for, with its MachineSets.
#[derive(Clone, Copy, Debug)]
pub struct Awaited<'a> {
    /// The existing MachineDeployment.
    pub deployment: &'a MachineDeployment,
    /// Name of the MachineClass that its machines are to have.
    pub class_name: &'a str,
    /// MachineSets of the MachineDeployment.
    pub sets: &'a [&'a MachineSet],
    /// Number of Machines of old MachineSets that a user has selected for their update in place.
    pub selected: usize,
}

/// Readiness of a Worker's machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// All machines are as desired.
    Ready,
    /// Machines are missing or outdated; contains the reason.
    Waiting(String),
    /// The machines cannot become ready; contains the text of the Worker's error.
    Failed(String),
}

/// Returns the readiness of all MachineDeployments that a Worker desires, by the rules of the extension library's release.
///
/// Unlike upstream: a MachineDeployment with fewer machines than desired is waited for, whatever its conditions are. A
/// MachineDeployment that wakes up and may miss as many machines as it desires is `Available` before its first machine is
/// created; upstream polls only every 5 seconds, when machine-controller-manager has counted.
/// Source: extensions/pkg/controller/worker/genericactuator/actuator_reconcile.go (`waitUntilWantedMachineDeploymentsAvailable`),
/// pkg/utils/kubernetes/health/machinedeployment.go @ v1.120.0, v1.148.0.
pub fn wait(wanted: &[Awaited<'_>], hibernated: bool, release: Release) -> Wait {
    let mut preserved = 0;
    let (mut awake, mut unavailable, mut updated, mut desired, mut available, mut healthy) = (0, 0, 0, 0, 0, 0);
    let mut missing_set = None;
    let mut is_short = false;
    let mut selected = 0;
    for awaited in wanted {
        let deployment = awaited.deployment;
        let status = &deployment.status;
        if let Some(text) = failed_machines(deployment) {
            return Wait::Failed(format!("machine(s) failed: {text}"));
        }
        awake += status.replicas;
        if hibernated {
            continue;
        }
        if !awaited.sets.iter().any(|set| set.spec.template.spec.class.name == awaited.class_name) {
            missing_set = missing_set.or(Some(deployment));
        }
        healthy += usize::from(is_healthy(deployment));
        desired += deployment.spec.replicas;
        is_short |= status.replicas < deployment.spec.replicas;
        available += status.available_replicas;
        unavailable += status.unavailable_replicas;
        updated += status.updated_replicas;
        preserved += status.preserved_failed_replicas;
        if is_updated_by_hand(deployment) {
            // A user may update them at any time: they count as done.
            let old = awaited.sets.iter().filter(|set| set.spec.template.spec.class.name != awaited.class_name);
            updated += old.map(|set| set.status.replicas).sum::<i32>();
            selected += awaited.selected;
        }
    }
    if hibernated {
        return match awake {
            0 => Wait::Ready,
            awake => Wait::Waiting(format!("Waiting until all machines have been hibernated ({awake} still awake)...")),
        };
    }
    if let Some(deployment) = missing_set {
        let metadata = &deployment.metadata;
        return Wait::Waiting(format!(
            "waiting for the machine-controller-manager to create the updated machine set for the machine deployment \
             ({}/{})",
            metadata.namespace, metadata.name
        ));
    }
    if selected > 0 {
        return Wait::Waiting(format!("Waiting until {selected} old machines are updated..."));
    }
    // Preserved failed machines are not waited for.
    let is_missing_none = unavailable == 0 || (preserved > 0 && unavailable <= preserved);
    if is_missing_none && updated == awake && healthy == wanted.len() && !is_short {
        return Wait::Ready;
    }
    let preserved =
        if PRESERVED.contain(release) { format!("{preserved} preserved failed machine(s), ") } else { String::new() };
    Wait::Waiting(format!(
        "Waiting until machines are available ({available}/{desired} desired machine(s) available, \
         {updated}/{desired} machine(s) updated, {unavailable} machine(s) pending, {preserved}{healthy}/{} \
         machinedeployments available)...",
        wanted.len()
    ))
}

fn is_updated_by_hand(deployment: &MachineDeployment) -> bool {
    let strategy = deployment.spec.strategy.in_place_update.as_ref();
    strategy.is_some_and(|strategy| strategy.orchestration_type == "Manual")
}

/// True if the machines of an in-place pool are updated as far as its Worker waits for: the pool's hash may be recorded.
///
/// A pool with automatic updates is updated as soon as its Worker is ready; a pool with manual updates once no Machine of
/// an old MachineSet remains, whether it was handed over or deleted.
/// Source: extensions/pkg/controller/worker/genericactuator/actuator_reconcile.go
/// (`updateWorkerStatusInPlaceUpdateWorkerPoolHash`) @ v1.149.0.
pub fn is_updated<'a>(pool: &WorkerPool, mut deployments: impl Iterator<Item = &'a MachineDeployment>) -> bool {
    let is_of_pool = |deployment: &MachineDeployment| deployment.metadata.label(label::WORKER_POOL) == Some(&pool.name);
    UpdateStrategy::of(pool.update_strategy.as_deref()) == UpdateStrategy::AutoInPlaceUpdate
        || deployments.all(|deployment| {
            !is_of_pool(deployment) || deployment.status.updated_replicas >= deployment.status.replicas
        })
}

/// True if the MachineDeployment is observed, available, progressing, and neither short of machines nor frozen.
fn is_healthy(deployment: &MachineDeployment) -> bool {
    let condition = |type_: &str| {
        let found = deployment.status.conditions.iter().find(|condition| condition.r#type == type_);
        found.map(|condition| condition.status.as_str())
    };
    deployment.status.observed_generation >= deployment.metadata.generation
        && condition("Available") == Some("True")
        && matches!(condition("Progressing"), None | Some("True"))
        && matches!(condition("ReplicaFailure"), None | Some("False"))
        && matches!(condition("Frozen"), None | Some("False"))
}

/// Returns failed machines, grouped by error. Unlike upstream the groups are sorted.
fn failed_machines(deployment: &MachineDeployment) -> Option<String> {
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for machine in &deployment.status.failed_machines {
        groups.entry(&machine.last_operation.description).or_default().push(format!("{:?}", machine.name));
    }
    let texts: Vec<String> =
        groups.into_iter().map(|(description, names)| format!("{}: {description}", names.join(", "))).collect();
    match texts.as_slice() {
        [] => None,
        [one] => Some(format!("1 error occurred: {one}")),
        several => Some(format!("{} errors occurred: [{}]", several.len(), several.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use api::machine::{InPlaceUpdateMachineDeployment, MachineDeploymentCondition, MachineSummary};
    use apimachinery::meta::ObjectMeta;

    use super::*;
    use crate::release::{DOCUMENTED, NEWEST};

    fn deployment(replicas: i32, available: i32, updated: i32) -> MachineDeployment {
        let mut deployment = MachineDeployment { metadata: ObjectMeta::named("ns", "md"), ..Default::default() };
        deployment.metadata.generation = 1;
        deployment.spec.replicas = replicas;
        deployment.status.observed_generation = 1;
        deployment.status.replicas = replicas;
        deployment.status.available_replicas = available;
        deployment.status.unavailable_replicas = replicas - available;
        deployment.status.updated_replicas = updated;
        deployment.status.conditions = vec![MachineDeploymentCondition {
            r#type: "Available".into(),
            status: "True".into(),
            ..Default::default()
        }];
        deployment
    }

    #[track_caller]
    fn check(deployment: &MachineDeployment, class_of_set: &str, hibernated: bool, expected: &Wait) {
        let mut set = MachineSet::default();
        set.spec.template.spec.class.name = class_of_set.into();
        let awaited = Awaited { deployment, class_name: "class", sets: &[&set], selected: 0 };
        assert_eq!(&wait(&[awaited], hibernated, DOCUMENTED), expected);
    }

    #[test]
    fn machines_are_waited_for_until_all_are_new_and_available() {
        check(&deployment(3, 3, 3), "class", false, &Wait::Ready);
        check(
            &deployment(3, 2, 1),
            "class",
            false,
            &Wait::Waiting(
                "Waiting until machines are available (2/3 desired machine(s) available, 1/3 machine(s) updated, \
             1 machine(s) pending, 1/1 machinedeployments available)..."
                    .into(),
            ),
        );
        check(&deployment(3, 3, 3), "other", false, &Wait::Waiting(
            "waiting for the machine-controller-manager to create the updated machine set for the machine deployment \
             (ns/md)"
                .into(),
        ));
        let mut unobserved = deployment(3, 3, 3);
        unobserved.metadata.generation = 2;
        check(
            &unobserved,
            "class",
            false,
            &Wait::Waiting(
                "Waiting until machines are available (3/3 desired machine(s) available, 3/3 machine(s) updated, \
             0 machine(s) pending, 0/1 machinedeployments available)..."
                    .into(),
            ),
        );
    }

    #[test]
    fn machines_that_are_preserved_are_not_waited_for() {
        for (available, preserved, is_ready) in [(3, 0, true), (2, 0, false), (2, 1, true), (1, 1, false), (1, 2, true)]
        {
            let mut deployment = deployment(3, available, 3);
            deployment.status.preserved_failed_replicas = preserved;
            let mut set = MachineSet::default();
            set.spec.template.spec.class.name = "class".into();
            let awaited = Awaited { deployment: &deployment, class_name: "class", sets: &[&set], selected: 0 };
            let found = wait(&[awaited], false, NEWEST);
            let text = format!(
                "Waiting until machines are available ({available}/3 desired machine(s) available, 3/3 machine(s) updated, {} \
                 machine(s) pending, {preserved} preserved failed machine(s), 1/1 machinedeployments available)...",
                3 - available
            );
            assert_eq!(found, if is_ready { Wait::Ready } else { Wait::Waiting(text) }, "{available} {preserved}");
        }
    }

    /// A Worker does not wait for machines that a user has to select, but waits for those updated automatically.
    #[test]
    fn machines_that_are_updated_by_hand_are_not_waited_for() {
        let [mut new, mut old] = [MachineSet::default(), MachineSet::default()];
        "class".clone_into(&mut new.spec.template.spec.class.name);
        "before".clone_into(&mut old.spec.template.spec.class.name);
        old.status.replicas = 3;
        for (orchestration, available, is_ready) in
            [("Manual", 3, true), ("Manual", 2, false), ("Auto", 3, false), ("", 3, false)]
        {
            let mut deployment = deployment(3, available, 0);
            if !orchestration.is_empty() {
                let strategy = InPlaceUpdateMachineDeployment {
                    orchestration_type: orchestration.to_owned(),
                    ..InPlaceUpdateMachineDeployment::default()
                };
                deployment.spec.strategy.in_place_update = Some(strategy);
            }
            let awaited = Awaited { deployment: &deployment, class_name: "class", sets: &[&new, &old], selected: 0 };
            assert_eq!(wait(&[awaited], false, DOCUMENTED) == Wait::Ready, is_ready, "{orchestration} {available}");
            if is_ready {
                let waits = Wait::Waiting("Waiting until 2 old machines are updated...".to_owned());
                assert_eq!(wait(&[Awaited { selected: 2, ..awaited }], false, DOCUMENTED), waits);
            }
        }
    }

    /// Machines of each MachineDeployment as `pool updated/all`.
    #[test]
    fn a_manual_pool_needs_all_machines_updated() {
        for (strategy, machines, expected) in [
            ("ManualInPlaceUpdate", "p 0/1", false),
            ("ManualInPlaceUpdate", "p 1/2", false),
            ("ManualInPlaceUpdate", "p 1/1", true),
            // The old Machine was deleted, and the new one is not created yet.
            ("ManualInPlaceUpdate", "p 0/0", true),
            ("ManualInPlaceUpdate", "p 2/2, p 0/1", false),
            ("ManualInPlaceUpdate", "p 2/2, p 1/1", true),
            ("ManualInPlaceUpdate", "p 2/2, other 0/1", true),
            ("AutoInPlaceUpdate", "p 0/1", true),
        ] {
            let pool = WorkerPool { name: "p".into(), update_strategy: Some(strategy.into()), ..WorkerPool::default() };
            let deployments: Vec<MachineDeployment> = machines
                .split(", ")
                .map(|text| {
                    let (pool, counts) = text.split_once(' ').expect("pool and counts");
                    let (updated, all) = counts.split_once('/').expect("two counts");
                    let [updated, all] = [updated, all].map(|count| count.parse().expect("a number"));
                    let mut deployment = deployment(all, all, updated);
                    deployment.metadata.labels.insert(label::WORKER_POOL.to_owned(), pool.to_owned());
                    deployment
                })
                .collect();
            assert_eq!(is_updated(&pool, deployments.iter()), expected, "{strategy} {machines}");
        }
    }

    /// The MachineDeployment is always available, since both of its machines may be unavailable.
    #[test]
    fn waking_up_waits_for_machines_that_are_not_made_yet() {
        let mut waking = deployment(2, 0, 0);
        waking.status.replicas = 0;
        waking.status.unavailable_replicas = 0;
        let text = "Waiting until machines are available (0/2 desired machine(s) available, 0/2 machine(s) updated, \
                    0 machine(s) pending, 1/1 machinedeployments available)...";
        check(&waking, "class", false, &Wait::Waiting(text.into()));
        check(&deployment(2, 2, 2), "class", false, &Wait::Ready);
        waking.spec.replicas = 0;
        check(&waking, "class", false, &Wait::Ready);
    }

    #[test]
    fn hibernation_waits_until_no_machine_is_left() {
        check(
            &deployment(2, 2, 2),
            "class",
            true,
            &Wait::Waiting("Waiting until all machines have been hibernated (2 still awake)...".into()),
        );
        check(&deployment(0, 0, 0), "class", true, &Wait::Ready);
    }

    #[test]
    fn failed_machines_are_grouped_by_their_failure() {
        let mut failed = deployment(2, 0, 2);
        let machine = |name: &str, description: &str| {
            let mut machine = MachineSummary { name: name.into(), ..MachineSummary::default() };
            machine.last_operation.description = description.into();
            machine
        };
        failed.status.failed_machines = vec![machine("m1", "no quota"), machine("m2", "no quota")];
        check(
            &failed,
            "class",
            false,
            &Wait::Failed("machine(s) failed: 1 error occurred: \"m1\", \"m2\": no quota".into()),
        );
        failed.status.failed_machines.push(machine("m3", "bad image"));
        check(
            &failed,
            "class",
            false,
            &Wait::Failed("machine(s) failed: 2 errors occurred: [\"m3\": bad image, \"m1\", \"m2\": no quota]".into()),
        );
    }
}
