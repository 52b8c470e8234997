// SPDX-License-Identifier: Apache-2.0
//! Tests of each reconciler, in files named as those that they test: they put objects, run a pass, and compare writes,
//! Events and requeue times. The rules are tables in `domain`; these tests cover the controllers.

mod binding;
mod bootstrap;
mod cloud_profile;
mod controller_installation;
mod project;
mod project_activity;
mod project_roles;
mod protection;
mod seed_checks;
mod seed_lifecycle;
mod seed_secrets;
mod shoot_hibernation;
mod shoot_maintenance;
mod shoot_quota;
mod shoot_retry;
mod shoot_status_label;

use controller_manager::Options;
use process::{Context, Exit};
use testkit::World;

/// Names of all controllers.
const ALL: [&str; 22] = [
    "secretbinding",
    "credentialsbinding",
    "cloudprofile",
    "namespacedcloudprofile",
    "controllerregistration-seed",
    "bootstrap",
    "project",
    "project-activity",
    "quota",
    "exposureclass",
    "controllerregistration-controllerregistration-finalizer",
    "controllerdeployment",
    "controllerregistration-seed-finalizer",
    "seed-extensions-check",
    "seed-backupbuckets-check",
    "seed-lifecycle",
    "seed-secrets",
    "shoot-hibernation",
    "shoot-maintenance",
    "shoot-quota",
    "shoot-retry",
    "shoot-statuslabel",
];

/// Returns gardener-controller-manager with one controller.
fn only(name: &'static str) -> impl FnOnce(Context) -> futures::future::BoxFuture<'static, Exit> {
    assert!(ALL.contains(&name), "there is a controller `{name}`");
    let disabled = ALL.into_iter().filter(|other| *other != name).collect();
    |context| controller_manager::run(context, Options { disabled, ..Options::default() })
}

/// Returns a world at an instant, for gardener-controller-manager v1.120.0.
fn world(start: &str) -> World {
    World::at(start).component("gardener-controller-manager", "v1.120.0")
}
