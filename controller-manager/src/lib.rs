// SPDX-License-Identifier: Apache-2.0
//! gardener-controller-manager: the controllers that act on the garden cluster alone.
//!
//! Each controller reads objects, asks `domain`, and writes the result; all of them share one copy of the kinds they
//! read. Seeds and shoot clusters are not reached from here.
//!
//! **Invariants.** No rule of Gardener is decided here. Nothing polls in landscape time: a pass runs because something
//! changed, or because the instant came that an earlier pass named.
//!
//! **Tour.** [`shoot_maintenance`] the daily maintenance of Shoots; [`project`] namespaces of Projects;
//! [`cloud_profile`] CloudProfiles and what NamespacedCloudProfiles make of them; [`binding`] SecretBindings and
//! CredentialsBindings; [`protection`] kinds that stay while they are referenced; [`controller_installation`] which
//! extensions a Seed needs.
//!
//! Source: pkg/controllermanager @ v1.120.0.

pub mod binding;
pub mod cloud_profile;
pub mod controller_installation;
mod finalizer;
pub mod project;
pub mod protection;
pub mod shoot_maintenance;
mod stores;

use std::collections::BTreeSet;

use domain::maintenance::Restarters;
use domain::profile::Profile;
use process::{Context, Exit};

use crate::stores::Stores;

/// The logical cluster that all controllers act on.
const GARDEN: &str = "garden";

/// Finalizer of Gardener's own kinds.
const GARDENER: &str = "gardener";

/// What the command line and the configuration say.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Documents or upstream.
    pub profile: Profile,
    /// The configuration.
    pub config: Config,
    /// Names of controllers that are left out, `shoot-maintenance`.
    pub disabled: BTreeSet<&'static str>,
}

/// What the configuration file says (`ControllerManagerConfiguration`); the defaults are those of a landscape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How many objects each controller works on at once.
    pub concurrent_syncs: usize,
    /// `controllers.shootMaintenance`
    pub shoot_maintenance: Restarters,
}

impl Default for Config {
    fn default() -> Self {
        Self { concurrent_syncs: 20, shoot_maintenance: Restarters::default() }
    }
}

/// Runs the controllers until the component is asked to stop.
pub async fn run(context: Context, options: Options) -> Exit {
    let stores = Stores::start(&context);
    let start = |name: &str| !options.disabled.contains(name);
    let tasks = &context.tasks;
    if start(shoot_maintenance::NAME) {
        tasks.spawn(shoot_maintenance::run(context.clone(), stores.clone(), options.clone()));
    }
    if start(project::NAME) {
        tasks.spawn(project::run(context.clone(), stores.clone(), options.config));
    }
    if start(cloud_profile::CLOUD_PROFILE) {
        tasks.spawn(cloud_profile::run(context.clone(), stores.clone(), options.config));
    }
    if start(cloud_profile::NAMESPACED_CLOUD_PROFILE) {
        tasks.spawn(cloud_profile::run_namespaced(context.clone(), stores.clone(), options.config));
    }
    if start(binding::SECRET_BINDING) {
        tasks.spawn(binding::run_secret_bindings(context.clone(), stores.clone(), options.config));
    }
    if start(binding::CREDENTIALS_BINDING) {
        tasks.spawn(binding::run_credentials_bindings(context.clone(), stores.clone(), options.config));
    }
    if start(protection::QUOTA) {
        tasks.spawn(protection::run_quotas(context.clone(), stores.clone(), options.config));
    }
    if start(protection::EXPOSURE_CLASS) {
        tasks.spawn(protection::run_exposure_classes(context.clone(), stores.clone(), options.config));
    }
    if start(protection::CONTROLLER_REGISTRATION) {
        tasks.spawn(protection::run_controller_registrations(context.clone(), stores.clone(), options.config));
    }
    if start(protection::CONTROLLER_DEPLOYMENT) {
        tasks.spawn(protection::run_controller_deployments(context.clone(), stores.clone(), options.config));
    }
    if start(protection::SEED) {
        tasks.spawn(protection::run_seeds(context.clone(), stores.clone(), options.config));
    }
    if start(controller_installation::NAME) {
        tasks.spawn(controller_installation::run(context.clone(), stores, options.config));
    }
    context.tasks.shutdown().requested().await;
    Exit::default()
}
