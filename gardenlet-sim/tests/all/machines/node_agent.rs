// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/nodeagent/controller/operatingsystemconfig/reconciler_test.go @ v1.120.0: a changed configuration is applied
//! by each node after its delay.

use api::kubernetes::core::{Node, Secret};
use api::machine::MachineClass;
use apimachinery::meta::ByteString;
use serde_json::json;
use testkit::{World, object};

use super::super::{SEED, TECHNICAL_ID};
use super::{deployment, nodes, running, started};

const CHECKSUM: &str = "checksum/cloud-config-data";
const OSC_APPLIED: &str = "Normal OSCApplied Operating system config has been applied successfully";

fn secret(checksum: &str) -> Secret {
    object(json!({"metadata": {"name": "gardener-node-agent-a", "namespace": "kube-system",
        "labels": {"gardener.cloud/role": "operating-system-config"},
        "annotations": {"checksum/data-script": checksum}}}))
}

/// Returns a configuration that installs a kubelet; its checksum is the version.
fn secret_with_kubelet(version: &str) -> Secret {
    let mut secret = secret(version);
    let image = format!("imageRef: {{image: 'kubelet:v{version}', filePathInImage: /kubelet}}");
    let text = format!("files: [{{path: /opt/bin/kubelet, content: {{{image}}}}}]");
    secret.data.insert("osc.yaml".to_owned(), ByteString(text.into_bytes()));
    secret
}

fn class_of(version: &str) -> MachineClass {
    object(json!({"metadata": {"name": "old", "namespace": TECHNICAL_ID},
        "providerSpec": {"image": {"name": "gardenlinux", "version": "1.0.0"}, "kubernetesVersion": version}}))
}

fn running_with_configuration() -> World {
    running_with(&secret("1"))
}

fn running_with(secret: &Secret) -> World {
    let mut pool = deployment(2, "old");
    let labels = &mut pool.spec.template.spec.node_template.metadata.labels;
    labels
        .insert("worker.gardener.cloud/gardener-node-agent-secret-name".to_owned(), "gardener-node-agent-a".to_owned());
    let mut world = started(pool);
    world.put_in(TECHNICAL_ID, secret);
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
fn a_changed_configuration_is_applied_within_five_minutes() {
    let mut world = running_with_configuration();
    world.put_in(TECHNICAL_ID, &secret("2"));
    world.pass();
    assert!(applied(&world).contains(&Some("1".to_owned())), "nodes take turns");
    let events = world.advance_to("2025-06-02T12:25:00Z").events;
    assert_eq!(applied(&world), [Some("2".to_owned()), Some("2".to_owned())]);
    assert!(events.iter().any(|event| event == OSC_APPLIED), "{events:?}");
}

fn kubelets(world: &World) -> Vec<String> {
    nodes(world).into_iter().map(|node| node.status.node_info.kubelet_version).collect()
}

/// gardenlet writes the Secret first, and the MachineClass a few steps later.
#[test]
fn a_node_installs_its_configured_kubelet_once() {
    let mut world = running_with(&secret_with_kubelet("1.27.1"));
    assert_eq!(kubelets(&world), ["v1.27.1", "v1.27.1"]);
    world.put_in(TECHNICAL_ID, &secret_with_kubelet("1.27.2"));
    let mut events = world.advance_to("2025-06-02T12:20:10Z").events;
    world.put_in(SEED, &class_of("1.27.2"));
    events.extend(world.advance_to("2025-06-02T12:27:00Z").events);
    assert_eq!(kubelets(&world), ["v1.27.2", "v1.27.2"]);
    assert_eq!(applied(&world), [Some("1.27.2".to_owned()), Some("1.27.2".to_owned())]);
    let labels = nodes(&world);
    let versions = labels.iter().map(|node| node.metadata.label("worker.gardener.cloud/kubernetes-version"));
    assert_eq!(versions.collect::<Vec<_>>(), [Some("1.27.2"), Some("1.27.2")]);
    assert_eq!(events.iter().filter(|event| *event == OSC_APPLIED).count(), 2, "{events:?}");

    world.put_in(SEED, &class_of("1.27.3"));
    let events = world.advance_to("2025-06-02T12:40:00Z").events;
    assert_eq!(kubelets(&world), ["v1.27.2", "v1.27.2"], "a class changes no node");
    assert!(!events.iter().any(|event| event == OSC_APPLIED), "{events:?}");
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
