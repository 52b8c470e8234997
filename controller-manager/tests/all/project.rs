// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/controllermanager/controller/project/project @ v1.120.0.

use api::core::{Project, Shoot};
use api::kubernetes::core::{Namespace, ResourceQuota};
use controller_manager::Options;
use serde_json::{Value, json};
use testkit::{Pass, World, object};

use super::{only, world};

const UID: &str = "4b0a3b8e-6ac5-4d3d-a9c4-0f6b2f3b6a52";

fn project(namespace: &Value) -> Project {
    object(json!({
        "metadata": {"name": "dev", "uid": UID, "generation": 1},
        "spec": {"namespace": namespace},
    }))
}

/// Returns a Project that is being deleted.
fn leaving(namespace: &str) -> Project {
    object(json!({
        "metadata": {"name": "dev", "uid": UID, "generation": 2, "finalizers": ["gardener"],
            "deletionTimestamp": "2025-06-02T12:00:00Z"},
        "spec": {"namespace": namespace},
        "status": {"phase": "Ready", "observedGeneration": 1},
    }))
}

fn namespace(labels: &Value, annotations: &Value) -> Namespace {
    object(json!({"metadata": {"name": "garden-dev", "labels": labels, "annotations": annotations}}))
}

fn labels() -> Value {
    json!({"gardener.cloud/role": "project", "project.gardener.cloud/name": "dev"})
}

fn started(world: World) -> (World, Pass) {
    let mut world = world;
    let pass = world.start(only("project"));
    (world, pass)
}

fn at_noon() -> World {
    world("2025-06-02T12:00:00Z")
}

#[test]
fn a_new_project_gets_finalizer_namespace_and_phase() {
    let (world, pass) = started(at_noon().with(project(&Value::Null)));
    let stored: Project = world.get("", "dev").expect("the Project stays");
    let name = stored.spec.namespace.clone().expect("the namespace is named");
    assert!(name.starts_with("garden-dev-") && name.len() == "garden-dev-".len() + 5, "{name}");
    assert_eq!((stored.metadata.finalizers, &*stored.status.phase), (vec!["gardener".to_owned()], "Ready"));
    let namespace: Namespace = world.get("", &name).expect("the namespace is made");
    assert_eq!(namespace.metadata.label("project.gardener.cloud/name"), Some("dev"));
    assert_eq!(namespace.metadata.label("gardener.cloud/role"), Some("project"));
    assert_eq!(namespace.metadata.annotation("namespace.gardener.cloud/project"), Some(UID));
    assert_eq!(namespace.metadata.owner_references[0].uid, UID);
    let message =
        format!("Normal NamespaceReconcileSuccessful Successfully reconciled namespace \"{name}\" for project");
    assert_eq!(pass.events, [message]);
}

#[test]
fn an_adopted_namespace_outlives_its_project() {
    let (world, _) = started(at_noon().with(project(&json!("garden-dev"))).with(namespace(&labels(), &json!({}))));
    let adopted: Namespace = world.get("", "garden-dev").expect("it is there");
    assert_eq!(adopted.metadata.annotation("namespace.gardener.cloud/keep-after-project-deletion"), Some("true"));
    assert_eq!(adopted.metadata.annotation("namespace.gardener.cloud/project"), Some(UID));
}

#[test]
fn a_namespace_without_the_labels_is_not_taken() {
    let (mut world, pass) =
        started(at_noon().with(project(&json!("garden-dev"))).with(namespace(&json!({}), &json!({}))));
    let text = "Warning NamespaceReconcileFailed namespace cannot be used as it needs the project labels \
                map[string]string{\"gardener.cloud/role\":\"project\", \"project.gardener.cloud/name\":\"dev\"}";
    // The changed phase triggers another pass.
    assert!(!pass.events.is_empty() && pass.events.iter().all(|event| event == text), "{:?}", pass.events);
    assert_eq!(world.get::<Project>("", "dev").expect("there").status.phase, "Failed");
    // With the label, the Project is reconciled.
    world.put(&namespace(&labels(), &json!({})));
    world.pass();
    assert_eq!(world.get::<Project>("", "dev").expect("there").status.phase, "Ready");
}

#[test]
fn a_namespace_of_another_project_is_not_taken() {
    let of_other = namespace(&labels(), &json!({"namespace.gardener.cloud/project": "other"}));
    let (world, pass) = started(at_noon().with(project(&json!("garden-dev"))).with(of_other));
    let text = "Warning NamespaceReconcileFailed namespace is already in-use by another project";
    assert!(!pass.events.is_empty() && pass.events.iter().all(|event| event == text), "{:?}", pass.events);
    assert_eq!(world.get::<Project>("", "dev").expect("there").status.phase, "Failed");
}

#[test]
fn a_project_that_is_ready_is_not_written_again() {
    let (mut world, _) = started(at_noon().with(project(&json!("garden-dev"))));
    world.kill();
    let (_, pass) = started(world);
    assert_eq!(pass, Pass::default());
}

#[test]
fn a_project_remains_until_its_last_shoot_is_deleted() {
    let shoot: Shoot = object(json!({"metadata": {"name": "s", "namespace": "garden-dev"}}));
    let (mut world, pass) =
        started(at_noon().with(leaving("garden-dev")).with(namespace(&labels(), &json!({}))).with(shoot));
    let text = "Warning NamespaceNotEmpty Cannot release namespace \"garden-dev\" because it still contains Shoots";
    assert_eq!(pass.events, [text]);
    assert_eq!(world.get::<Project>("", "dev").expect("there").status.phase, "Terminating");
    assert_eq!(world.pass().events, [""; 0], "it is said once");

    world.remove::<Shoot>("garden-dev", "s");
    let pass = world.pass();
    assert_eq!(pass.writes_of("namespaces"), ["delete namespaces garden-dev"]);
    assert_eq!(
        pass.events,
        ["Normal NamespaceMarkedForDeletion Successfully marked project namespace \"garden-dev\" for deletion"]
    );
}

/// Runs gardener-controller-manager with the controller of Projects, and a quota for those with label `a`.
fn with_quotas(context: process::Context) -> futures::future::BoxFuture<'static, process::Exit> {
    let quotas = json!([{
        "config": {"spec": {"hard": {"count/shoots.core.gardener.cloud": "5"}}}, "projectSelector": {"matchLabels": {"a": "b"}},
    }]);
    let project_quotas = serde_json::from_value(quotas).expect("a configuration");
    let disabled = super::ALL.into_iter().filter(|name| *name != "project").collect();
    controller_manager::run(context, Options { disabled, project_quotas, ..Options::default() })
}

#[test]
fn a_project_gets_the_configured_quota_and_keeps_raised_values() {
    let mut chosen = project(&json!("garden-dev"));
    chosen.metadata.labels.insert("a".to_owned(), "b".to_owned());
    let mut world = at_noon().with(chosen);
    world.start(with_quotas);
    let quota: ResourceQuota = world.get("garden-dev", "gardener").expect("it is made");
    assert_eq!(quota.metadata.owner_references[0].uid, UID);
    let bound = |quota: &ResourceQuota| quota.spec.hard["count/shoots.core.gardener.cloud"].value();
    assert_eq!(bound(&quota), 5);

    let raised: ResourceQuota = object(json!({
        "metadata": {"name": "gardener", "namespace": "garden-dev"},
        "spec": {"hard": {"count/shoots.core.gardener.cloud": "50", "count/secrets": "1"}},
    }));
    let mut chosen = project(&json!("garden-dev"));
    chosen.metadata.labels.insert("a".to_owned(), "b".to_owned());
    let mut world = at_noon().with(chosen).with(raised);
    world.start(with_quotas);
    let quota: ResourceQuota = world.get("garden-dev", "gardener").expect("it is there");
    assert_eq!((bound(&quota), quota.spec.hard.len()), (50, 1));

    let mut world = at_noon().with(project(&json!("garden-dev")));
    world.start(with_quotas);
    assert_eq!(world.get::<ResourceQuota>("garden-dev", "gardener"), None, "its labels are others");
}

#[test]
fn a_project_is_deleted_after_its_namespace() {
    let (world, pass) = started(at_noon().with(leaving("garden-dev")));
    assert_eq!(world.get::<Project>("", "dev"), None);
    assert_eq!(pass.events, [""; 0]);
}

#[test]
fn a_kept_namespace_loses_the_projects_labels() {
    let kept = json!({"namespace.gardener.cloud/project": UID, "namespace.gardener.cloud/keep-after-project-deletion": "true"});
    let (world, _) = started(at_noon().with(leaving("garden-dev")).with(namespace(&labels(), &kept)));
    assert_eq!(world.get::<Project>("", "dev"), None);
    let namespace: Namespace = world.get("", "garden-dev").expect("it stays");
    assert!(namespace.metadata.labels.is_empty() && namespace.metadata.annotations.is_empty());
}

#[test]
fn a_foreign_namespace_is_not_deleted() {
    let (world, _) = started(at_noon().with(leaving("garden-dev")).with(namespace(&json!({}), &json!({}))));
    assert_eq!(world.get::<Project>("", "dev"), None);
    assert!(world.get::<Namespace>("", "garden-dev").is_some());
}

#[test]
fn a_server_that_fails_gives_phase_failed_and_another_try() {
    let mut world = at_noon().with(project(&json!("garden-dev")));
    world.refuse("create namespaces", apimachinery::Status::failure(500, "InternalError", "boom"));
    let pass = world.start(only("project"));
    assert_eq!(pass.events[0], "Warning NamespaceReconcileFailed boom");
    let has_failed = |write: &&str| write.contains(r#""phase":"Failed""#);
    assert_eq!(pass.writes_of("projects").into_iter().filter(has_failed).count(), 1, "{:?}", pass.writes);
    world.advance_to("2025-06-02T12:00:01Z");
    assert_eq!(world.get::<Project>("", "dev").expect("there").status.phase, "Ready");
}
