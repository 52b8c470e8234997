// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/controller/{machineset,machine_safety}_test.go of machine-controller-manager.

use api::constants::{annotation, label};
use api::machine::Machine;
use testkit::World;

use super::super::{SEED, TECHNICAL_ID};
use super::{change_pool, machine, machines, names, pool, running_pool, sets};

#[test]
fn a_machine_that_is_deleted_by_hand_is_replaced() {
    let mut world = running_pool(1);
    let name = machine(&world).metadata.name;
    world.delete_in::<Machine>(SEED, TECHNICAL_ID, &name);
    world.advance_to("2025-06-02T13:00:00Z");
    assert_ne!(machine(&world).metadata.name, name);
}

#[test]
fn machines_take_labels_class_and_owner_from_their_machine_set() {
    let world = running_pool(1);
    let (set, machine) = (sets(&world)[0].clone(), machine(&world));
    assert_eq!(machine.metadata.owner_references[0].uid, set.metadata.uid);
    assert_eq!(machine.metadata.label("name"), Some("pool-a"));
    let hash = machine.metadata.label(label::MACHINE_TEMPLATE_HASH).expect("it has the hash of its template");
    assert_eq!(set.metadata.name, format!("pool-a-{}", &hash[..5]), "of its first letters");
    assert!(machine.metadata.name.starts_with(&format!("{}-", set.metadata.name)), "{}", machine.metadata.name);
    assert_eq!(machine.spec.class.name, "old");
}

#[test]
fn the_machine_of_priority_one_is_deleted_first() {
    for position in 0..3 {
        let mut world = running_pool(3);
        let chosen = names(&machines(&world))[position].clone();
        world.change_in::<Machine>(SEED, TECHNICAL_ID, &chosen, |machine| {
            machine.metadata.annotations.insert(annotation::MACHINE_PRIORITY.to_owned(), "1".to_owned());
        });
        world.pass();
        change_pool(&world, |pool| pool.spec.replicas = 2);
        world.advance_to("2025-06-02T13:00:00Z");
        let left = names(&machines(&world));
        assert!(left.len() == 2 && !left.contains(&chosen), "{position}: {left:?}");
    }
}

#[test]
fn creations_and_deletions_are_events_of_the_machine_set() {
    let mut world = running_pool(1);
    let name = machine(&world).metadata.name;
    change_pool(&world, |pool| pool.spec.replicas = 0);
    let events = world.advance_to("2025-06-02T13:00:00Z").events;
    assert!(events.contains(&format!("Normal SuccessfulDelete Deleted machine: {name}")), "{events:?}");
    change_pool(&world, |pool| pool.spec.replicas = 1);
    let events = world.pass().events;
    let created = format!("Normal SuccessfulCreate Created Machine: {}", machine(&world).metadata.name);
    assert!(events.contains(&created), "{events:?}");
}

#[test]
fn a_machine_without_an_owner_is_ignored() {
    let mut world = running_pool(1);
    let mut stray = machine(&world);
    stray.metadata = apimachinery::meta::ObjectMeta::named(TECHNICAL_ID, "pool-a-12345-stray");
    world.put_in(SEED, &stray);
    let pass = world.advance_to("2025-06-02T13:00:00Z");
    assert_eq!(pass.writes, [""; 0]);
    assert_eq!(machines(&world).len(), 2);
}

/// Adds surplus Machines to the pool's MachineSet, as a defect of a controller would.
fn overshoot(world: &World, more: usize) {
    let set = sets(world)[0].metadata.name.clone();
    let one = machines(world)[0].clone();
    for number in 0..more {
        let mut machine = one.clone();
        machine.metadata.name = format!("{set}-more{number}");
        machine.metadata.uid.clear();
        machine.metadata.resource_version.clear();
        world.put_in(SEED, &machine);
    }
}

#[test]
fn a_machine_set_with_far_too_many_machines_is_frozen() {
    // 1 replica, 1 for the surge and 2 more: 4 are too many.
    for (more, is_frozen) in [(2, false), (3, true)] {
        let mut world = running_pool(1);
        let set = sets(&world)[0].metadata.name.clone();
        overshoot(&world, more);
        let events = world.pass().events;
        let froze =
            format!("Normal FrozeMachineSet SafetyController: Froze MachineSet {set} due to replica overshooting");
        assert_eq!(events.contains(&froze), is_frozen, "{events:?}");
        let frozen = is_frozen.then_some("True");
        assert_eq!(sets(&world)[0].metadata.label(label::FREEZE), frozen);
        assert_eq!(pool(&world).metadata.label(label::FREEZE), frozen);
        let condition = pool(&world).status.conditions.into_iter().find(|it| it.r#type == "Frozen");
        assert_eq!(condition.map(|it| it.reason), is_frozen.then(|| "OverShootingReplicaCount".to_owned()));
        let events = world.advance_to("2025-06-02T13:00:00Z").events;
        let unfroze = format!("Normal UnfrozeMachineSet SafetyController: Unfroze MachineSet {set}");
        assert_eq!(events.contains(&unfroze), is_frozen, "{events:?}");
        assert_eq!(machines(&world).len(), 1);
        assert_eq!(
            (sets(&world)[0].metadata.label(label::FREEZE), pool(&world).metadata.label(label::FREEZE)),
            (None, None)
        );
        assert!(!pool(&world).status.conditions.iter().any(|it| it.r#type == "Frozen"));
    }
}
