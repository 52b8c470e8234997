// SPDX-License-Identifier: Apache-2.0
//! gardener-controller-manager: the controllers that use only the garden cluster.
//!
//! Each controller reads objects, applies the rules of `domain`, and writes the result; all of them share one local
//! copy of each kind. Seeds and shoot clusters are not accessed.
//!
//! **Invariants.** No rule of Gardener is implemented here. Nothing polls in landscape time: a pass runs because
//! something changed, or at an instant that an earlier pass requested.
//!
//! **Tour.** [`shoot_maintenance`] daily maintenance of Shoots, [`shoot_hibernation`] hibernation schedules,
//! [`shoot_quota`] deletion of Shoots whose lifetime is over, [`shoot_retry`] retries of failed Shoots; [`project`]
//! namespaces of Projects and roles of their members, [`project_activity`] time of the last activity in them;
//! [`cloud_profile`] CloudProfiles and merged NamespacedCloudProfiles; [`binding`] SecretBindings and
//! CredentialsBindings; [`protection`] finalizers of referenced objects; [`controller_installation`] extensions that a
//! Seed requires; [`seed_checks`] health of these; [`seed_lifecycle`] liveness of gardenlets; [`seed_secrets`] copies
//! of the garden's Secrets for seeds, [`bootstrap`] credentials for observability among them; [`shoot_status_label`]
//! health of Shoots as a label.
//!
//! Source: pkg/controllermanager @ v1.120.0.

pub mod binary;
pub mod binding;
pub mod bootstrap;
pub mod cloud_profile;
pub mod controller_installation;
mod finalizer;
pub mod project;
pub mod project_activity;
mod project_roles;
pub mod protection;
pub mod seed_checks;
pub mod seed_lifecycle;
pub mod seed_secrets;
pub mod shoot_hibernation;
pub mod shoot_maintenance;
pub mod shoot_quota;
pub mod shoot_retry;
pub mod shoot_status_label;
mod stores;

use api::cluster::GARDEN;
use api::operator::ProjectQuotaConfiguration;
use std::collections::BTreeSet;

use chrono::TimeDelta;
use controller::Recorder;
use domain::events;
use domain::hibernation;
use domain::lifetime::RetryPeriods;
use domain::maintenance::Restarters;
use domain::profile::Profile;
use domain::release::DOCUMENTED;
use domain::seed_lifecycle::Periods;
use domain::skew::GardenerVersion;
use domain::versions::Moment;
use futures::FutureExt;
use futures::future::BoxFuture;
use process::{Context, Exit};

use crate::stores::Stores;

/// Settings from the command line and the configuration.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Profile of the emulation: documented or upstream behaviour.
    pub profile: Profile,
    /// The configuration.
    pub config: Config,
    /// Names of controllers that are disabled, such as `shoot-maintenance`.
    pub disabled: BTreeSet<&'static str>,
    /// `controllers.project.quotas`: ResourceQuotas of the namespaces of Projects.
    pub project_quotas: Vec<ProjectQuotaConfiguration>,
    /// Enables the roles of Projects' members; they are not needed where requests are not authorized.
    pub project_roles: bool,
}

/// Returns the current instant under the rules of the component's release.
fn moment(context: &Context) -> Moment {
    let version = GardenerVersion::parse(&context.identity.version);
    Moment::new(context.clock.now(), version.map_or(DOCUMENTED, |version| version.served_release()))
}

/// Returns a recorder of Events of a controller, in the form of the component's release.
fn recorder(context: &Context, controller: &str) -> Recorder {
    Recorder::named(context, GARDEN, controller).with_actions(events::have_actions(&context.identity.version))
}

/// Configuration file (`ControllerManagerConfiguration`); the defaults are those of a landscape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Maximum number of objects that each controller reconciles concurrently.
    pub concurrent_syncs: usize,
    /// Setting `controllers.shootMaintenance`.
    pub shoot_maintenance: Restarters,
    /// Feature gate `DisableNginxIngressInShoot`: maintenance disables the addon.
    pub disable_nginx_ingress_in_shoot: bool,
    /// `controllers.shootHibernation.triggerDeadlineDuration`: time for which a missed activation of a schedule is
    /// still executed.
    pub shoot_hibernation_deadline: TimeDelta,
    /// Setting `controllers.shootRetry`.
    pub shoot_retry: RetryPeriods,
    /// Time for which conditions `ExtensionsReady` and `BackupBucketsReady` are `Progressing` before they fail.
    pub seed_threshold: TimeDelta,
    /// Periods after which a gardenlet without renewals counts as unknown.
    pub seed_periods: Periods,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            concurrent_syncs: 20,
            shoot_maintenance: Restarters::default(),
            disable_nginx_ingress_in_shoot: false,
            shoot_hibernation_deadline: hibernation::TRIGGER_DEADLINE,
            shoot_retry: RetryPeriods::default(),
            seed_threshold: TimeDelta::minutes(1),
            seed_periods: Periods::default(),
        }
    }
}

/// Runs the controllers until the component is requested to stop. Only one of several processes may run them.
pub fn run(context: Context, options: Options) -> BoxFuture<'static, Exit> {
    Box::pin(async move {
        start(&context, &options);
        context.tasks.shutdown().requested().await;
        Exit::default()
    })
}

/// Starts the controllers; they end with the component.
fn start(context: &Context, options: &Options) {
    let (stores, config) = (Stores::start(context), options.config);
    let spawn = |name: &'static str, controller: BoxFuture<'static, ()>| {
        if !options.disabled.contains(name) {
            context.tasks.spawn(controller);
        }
    };
    macro_rules! controllers {
        ($($name:path => $run:path),* $(,)?) => {
            $(spawn($name, $run(context.clone(), stores.clone(), config).boxed());)*
        };
    }
    spawn(project::NAME, project::run(context.clone(), stores.clone(), options.clone()).boxed());
    spawn(shoot_maintenance::NAME, shoot_maintenance::run(context.clone(), stores.clone(), options.clone()).boxed());
    controllers! {
        binding::CREDENTIALS_BINDING => binding::run_credentials_bindings,
        binding::SECRET_BINDING => binding::run_secret_bindings,
        bootstrap::NAME => bootstrap::run,
        cloud_profile::CLOUD_PROFILE => cloud_profile::run,
        cloud_profile::NAMESPACED_CLOUD_PROFILE => cloud_profile::run_namespaced,
        controller_installation::NAME => controller_installation::run,
        project_activity::NAME => project_activity::run,
        protection::CONTROLLER_DEPLOYMENT => protection::run_controller_deployments,
        protection::CONTROLLER_REGISTRATION => protection::run_controller_registrations,
        protection::EXPOSURE_CLASS => protection::run_exposure_classes,
        protection::QUOTA => protection::run_quotas,
        protection::SEED => protection::run_seeds,
        seed_checks::BACKUP_BUCKETS => seed_checks::run_backup_buckets,
        seed_checks::EXTENSIONS => seed_checks::run_extensions,
        seed_lifecycle::NAME => seed_lifecycle::run,
        seed_secrets::NAME => seed_secrets::run,
        shoot_hibernation::NAME => shoot_hibernation::run,
        shoot_quota::NAME => shoot_quota::run,
        shoot_retry::NAME => shoot_retry::run,
        shoot_status_label::NAME => shoot_status_label::run,
    }
}
