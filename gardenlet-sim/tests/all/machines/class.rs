// SPDX-License-Identifier: Apache-2.0
//! Cases of machineclass_test.go of machine-controller-manager: a class remains while a Machine or MachineDeployment
//! uses it.

use api::constants::finalizer;
use api::machine::MachineClass;
use testkit::World;

use super::super::{SEED, TECHNICAL_ID};
use super::{change_pool, running_pool};

fn delete(world: &mut World, name: &str) {
    world.change_in::<MachineClass>(SEED, TECHNICAL_ID, name, |class| {
        class.metadata.finalizers = vec![finalizer::MACHINE_CONTROLLER_MANAGER.to_owned()];
    });
    world.delete_in::<MachineClass>(SEED, TECHNICAL_ID, name);
    world.pass();
}

fn is_there(world: &World, name: &str) -> bool {
    world.get_in::<MachineClass>(SEED, TECHNICAL_ID, name).is_some()
}

#[test]
fn an_unused_class_is_deleted_at_once() {
    let mut world = running_pool(1);
    delete(&mut world, "new");
    assert!(!is_there(&world, "new"));
}

#[test]
fn a_class_remains_until_its_last_machine_is_deleted() {
    let mut world = running_pool(1);
    delete(&mut world, "old");
    assert!(is_there(&world, "old"), "a MachineDeployment and a Machine use it");
    change_pool(&world, |pool| "new".clone_into(&mut pool.spec.template.spec.class.name));
    world.pass();
    assert!(is_there(&world, "old"), "a Machine uses it");
    world.advance_to("2025-06-02T14:00:00Z");
    assert!(!is_there(&world, "old"));
}

#[test]
fn a_foreign_finalizer_keeps_a_class() {
    let mut world = running_pool(1);
    world.change_in::<MachineClass>(SEED, TECHNICAL_ID, "new", |class| {
        class.metadata.finalizers =
            vec![finalizer::MACHINE_CONTROLLER_MANAGER.to_owned(), "example.org/mine".to_owned()];
    });
    world.delete_in::<MachineClass>(SEED, TECHNICAL_ID, "new");
    world.pass();
    let class: MachineClass = world.get_in(SEED, TECHNICAL_ID, "new").expect("the other finalizer keeps it");
    assert_eq!(class.metadata.finalizers, ["example.org/mine"]);
}
