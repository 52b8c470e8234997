// SPDX-License-Identifier: Apache-2.0
//! The controller that wrote an entry, derived from the changed fields.
//!
//! The log names the component, as upstream's managed fields do. Its controllers are distinguished by the kinds and fields
//! that they write. An Event names its reporter itself. The names are those of the controllers; a test of `terrarium`
//! compares them.

use api::constants::{annotation, label};
use api::joined;
use domain::garden::components::Program;
use serde_json::Value;

use super::changes::Change;
use crate::names::components;

/// Kinds and fields that a controller writes; no fields: any change, including creation and deletion.
struct Writer {
    component: &'static str,
    controller: &'static str,
    kinds: &'static [&'static str],
    fields: &'static [&'static str],
}

const fn writer(
    component: &'static str,
    controller: &'static str,
    kinds: &'static [&'static str],
    fields: &'static [&'static str],
) -> Writer {
    Writer { component, controller, kinds, fields }
}

const MANAGER: &str = Program::ControllerManager.name();
const SCHEDULER: &str = Program::Scheduler.name();
const GARDENLET: &str = Program::Gardenlet.name();
const PROVIDER: &str = Program::ProviderLocal.short();
const KUBE: &str = "kube-controller-manager";
const MCM: &[&str] = &["MachineDeployment", "MachineSet", "Machine", "Node"];

/// All writers; the first that matches an entry wrote it.
#[rustfmt::skip]
const WRITERS: &[Writer] = &[
    writer(MANAGER, "shoot-hibernation", &["Shoot"], &[".spec.hibernation", ".status.lastHibernationTriggerTime"]),
    writer(MANAGER, "shoot-maintenance", &["Shoot"], &[".status.lastMaintenance", joined!("[", annotation::SHOOT_TASKS, "]"), ".spec"]),
    writer(MANAGER, "shoot-retry", &["Shoot"], &[joined!("[", annotation::OPERATION, "]")]),
    writer(MANAGER, "shoot-quota", &["Shoot"], &[joined!("[", annotation::SHOOT_EXPIRATION_TIMESTAMP, "]"), ".metadata.deletionTimestamp"]),
    writer(MANAGER, "shoot-statuslabel", &["Shoot"], &[joined!("[", label::SHOOT_STATUS, "]")]),
    writer(MANAGER, "seed-extensions-check", &["Seed"], &[".status.conditions[ExtensionsReady]"]),
    writer(MANAGER, "seed-backupbuckets-check", &["Seed"], &[".status.conditions[BackupBucketsReady]"]),
    writer(MANAGER, "seed-lifecycle", &["Seed", "Shoot"], &[".status.conditions", ".status.constraints"]),
    writer(MANAGER, "project-activity", &["Project"], &[".status.lastActivityTimestamp"]),
    writer(MANAGER, "project", &["Project", "Namespace", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"], &[]),
    writer(MANAGER, "cloudprofile", &["CloudProfile"], &[]),
    writer(MANAGER, "namespacedcloudprofile", &["NamespacedCloudProfile"], &[]),
    writer(MANAGER, "controllerregistration-seed", &["ControllerInstallation"], &[]),
    writer(MANAGER, "controllerregistration-controllerregistration-finalizer", &["ControllerRegistration"], &[]),
    writer(MANAGER, "controllerdeployment", &["ControllerDeployment"], &[]),
    writer(MANAGER, "controllerregistration-seed-finalizer", &["Seed"], &[".metadata.finalizers"]),
    writer(MANAGER, "quota", &["Quota"], &[]),
    writer(MANAGER, "exposureclass", &["ExposureClass"], &[]),
    writer(MANAGER, "secretbinding", &["SecretBinding"], &[]),
    writer(MANAGER, "credentialsbinding", &["CredentialsBinding"], &[]),
    writer(MANAGER, "seed-secrets", &["Secret"], &[]),
    writer(MANAGER, "bootstrap", &["Secret"], &[]),
    writer(SCHEDULER, "shoot-scheduler", &["Shoot"], &[]),
    writer(GARDENLET, "shoot-status", &["Shoot"], &[".status.inPlaceUpdates"]),
    writer(GARDENLET, "shoot", &["Shoot"], &[".status.lastOperation", ".status.lastErrors", ".status.credentials", ".spec", ".metadata"]),
    writer(GARDENLET, "shoot-care", &["Shoot"], &[".status.conditions", ".status.constraints"]),
    writer(GARDENLET, "shoot", &["Shoot", "ShootState", "InternalSecret", "Cluster"], &[]),
    writer(GARDENLET, "controllerinstallation", &["ControllerInstallation"], &[]),
    writer(GARDENLET, "seed", &["Seed"], &[]),
    writer(PROVIDER, "worker", &["Worker", "MachineClass"], &[]),
    writer(PROVIDER, "machine-controller-manager", MCM, &[]),
    writer(KUBE, "deployment", &["Deployment", "ReplicaSet"], &[]),
    writer(KUBE, "replicaset", &["Pod"], &[]),
    writer(KUBE, "namespace", &["Namespace"], &[]),
];

/// Controller that wrote an object of a kind; `None`: it cannot be determined.
pub fn of<'a>(component: &str, kind: &str, object: &'a Value, changes: &[Change]) -> Option<&'a str> {
    if kind == "Event" {
        let reporter = object["source"]["component"].as_str().or_else(|| object["reportingComponent"].as_str());
        return reporter.filter(|reporter| !reporter.is_empty()).map(base);
    }
    let writes = |writer: &&Writer| {
        let is_written = |field: &&str| {
            changes.iter().any(|change| change.path.starts_with(*field) || change.path.ends_with(*field))
        };
        writer.component == component
            && writer.kinds.contains(&kind)
            && (writer.fields.is_empty() || writer.fields.iter().any(is_written))
    };
    WRITERS.iter().find(writes).map(|writer| writer.controller)
}

/// Names of all components and controllers.
pub fn names() -> impl Iterator<Item = &'static str> {
    let components = Program::ALL.into_iter().map(Program::name);
    components.chain(WRITERS.iter().flat_map(|writer| [writer.component, writer.controller]))
}

/// Name of a controller without the suffix `-controller` of its Events.
fn base(name: &str) -> &str {
    name.strip_suffix("-controller").unwrap_or(name)
}

/// True if `wanted` matches a name: all of it, its beginning (`gardener-controller`), its end (`apiserver`, `maintenance`),
/// or a controller's name in Events.
pub fn is_meant(wanted: &str, name: &str) -> bool {
    let wanted = base(components::full(wanted));
    let is_edge = |c: char| matches!(c, '-' | ':' | '/' | '.');
    let begins = name.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(is_edge));
    let ends = name.strip_suffix(wanted).is_some_and(|rest| rest.is_empty() || rest.ends_with(is_edge));
    !wanted.is_empty() && (begins || ends)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn controllers_are_known_by_what_they_write() {
        let change = |path: &str| Change { path: path.to_owned(), before: None, after: Some(json!("x")) };
        let of = |component: &str, kind: &str, paths: &[&str]| {
            let changes: Vec<Change> = paths.iter().map(|path| change(path)).collect();
            of(component, kind, &Value::Null, &changes).map(str::to_owned)
        };
        let (tasks, operation) =
            (".metadata.annotations[shoot.gardener.cloud/tasks]", ".metadata.annotations[gardener.cloud/operation]");
        for (component, kind, paths, expected) in [
            (MANAGER, "Shoot", vec![".status.lastMaintenance.state"], Some("shoot-maintenance")),
            (MANAGER, "Shoot", vec![operation, tasks], Some("shoot-maintenance")),
            (MANAGER, "Shoot", vec![operation], Some("shoot-retry")),
            (MANAGER, "Shoot", vec![".spec.hibernation.enabled"], Some("shoot-hibernation")),
            (MANAGER, "Shoot", vec![".metadata.labels[shoot.gardener.cloud/status]"], Some("shoot-statuslabel")),
            (MANAGER, "Project", vec![".status.lastActivityTimestamp"], Some("project-activity")),
            (MANAGER, "Project", vec![], Some("project")),
            (GARDENLET, "Shoot", vec![".status.conditions[EveryNodeReady].status"], Some("shoot-care")),
            (GARDENLET, "Shoot", vec![".status.lastOperation.progress", ".status.conditions[A].status"], Some("shoot")),
            ("kubectl", "Shoot", vec![".spec.region"], None),
        ] {
            assert_eq!(of(component, kind, &paths).as_deref(), expected, "{component} {kind} {paths:?}");
        }
        let event = json!({ "source": { "component": "shoot-maintenance-controller" } });
        assert_eq!(super::of(MANAGER, "Event", &event, &[]), Some("shoot-maintenance"));
    }

    /// Also of those that a log does not show, because they wrote nothing in its range.
    #[test]
    fn every_component_of_gardener_is_named() {
        for wanted in ["gac", "gapi", "gcm", "gardener-operator", "gardenlet", "provider-local", "scheduler"] {
            assert!(names().any(|name| is_meant(wanted, name)), "{wanted}");
        }
    }

    #[test]
    fn a_name_is_meant_by_its_words() {
        for (wanted, name, expected) in [
            ("gardener-controller-manager", "gardener-controller-manager", true),
            ("controller-manager", "gardener-controller-manager", true),
            ("gardener-controller", "gardener-controller-manager", true),
            ("maintenance", "shoot-maintenance", true),
            ("shoot-maintenance-controller", "shoot-maintenance", true),
            ("admin", "admin", true),
            ("adm", "admin", false),
            ("gardener", "gardenlet", false),
            ("let", "gardenlet", false),
            ("", "gardenlet", false),
        ] {
            assert_eq!(is_meant(wanted, name), expected, "{wanted} {name}");
        }
    }
}
