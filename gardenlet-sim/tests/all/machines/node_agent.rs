// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/nodeagent/controller/operatingsystemconfig/reconciler_test.go @ v1.120.0: a changed configuration is applied
//! by each node after its delay.

use api::kubernetes::core::{Node, Secret};
use serde_json::json;
use testkit::{World, object};

use super::super::TECHNICAL_ID;
use super::{deployment, nodes, running, started};

const CHECKSUM: &str = "checksum/cloud-config-data";

fn secret(checksum: &str) -> Secret {
    object(json!({"metadata": {"name": "gardener-node-agent-a", "namespace": "kube-system",
        "labels": {"gardener.cloud/role": "operating-system-config"},
        "annotations": {"checksum/data-script": checksum}}}))
}

fn running_with_configuration() -> World {
    let mut pool = deployment(2, "old");
    let labels = &mut pool.spec.template.spec.node_template.metadata.labels;
    labels
        .insert("worker.gardener.cloud/gardener-node-agent-secret-name".to_owned(), "gardener-node-agent-a".to_owned());
    let mut world = started(pool);
    world.put_in(TECHNICAL_ID, &secret("1"));
    world.advance_to("2025-06-02T12:20:00Z");
    assert_eq!(running(&world), 2);
    world
}

fn applied(world: &World) -> Vec<Option<String>> {
    nodes(world).iter().map(|node| node.metadata.annotation(CHECKSUM).map(str::to_owned)).collect()
}

#[test]
fn a_node_registers_with_the_configuration_of_that_moment() {
    assert_eq!(applied(&running_with_configuration()), [Some("1".to_owned()), Some("1".to_owned())]);
}

#[test]
fn a_changed_configuration_is_applied_within_the_longest_delay_of_five_minutes() {
    let mut world = running_with_configuration();
    world.put_in(TECHNICAL_ID, &secret("2"));
    world.pass();
    assert!(applied(&world).contains(&Some("1".to_owned())), "nodes take turns");
    let events = world.advance_to("2025-06-02T12:25:00Z").events;
    assert_eq!(applied(&world), [Some("2".to_owned()), Some("2".to_owned())]);
    let osc = "Normal OSCApplied Operating system config has been applied successfully";
    assert!(events.iter().any(|event| event == osc), "{events:?}");
}

#[test]
fn a_node_that_is_not_ready_applies_nothing() {
    let mut world = running_with_configuration();
    let name = nodes(&world)[1].metadata.name.clone();
    super::set_ready(&world, &name, "False");
    world.pass();
    world.put_in(TECHNICAL_ID, &secret("2"));
    world.advance_to("2025-06-02T12:26:00Z");
    let node: Node = world.get_in(TECHNICAL_ID, "", &name).expect("it is there");
    assert_eq!(node.metadata.annotation(CHECKSUM), Some("1"));
}
