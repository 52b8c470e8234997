// SPDX-License-Identifier: Apache-2.0
//! gardener-apiserver: Gardener's kinds behind a generic API server.
//!
//! All rules of Gardener's kinds are in `domain`; this crate connects them to the server: one strategy per kind
//! ([`strategy`]) and the chain of admission plugins in upstream's order ([`admission`]), which fetch the inputs of a
//! rule and call it.
//!
//! **Invariants.** Stateless: its only state is the log. No reconcile loops. No rule of Gardener that `domain` could hold.
//!
//! **Tour.** [`Options`] and [`service`] create a server; [`instance`] runs one as a process; [`register`] adds the
//! kinds and the chain to any builder.

pub mod admission;
pub mod binary;
pub mod instance;
mod kubeconfig;
mod rows;
pub mod strategy;

use std::sync::Arc;

use api::catalogue;
use api::cluster::GARDEN;
use api::constants::{annotation, user};
use api::core::*;
use api::core_v1;
use api::security::CredentialsBinding;
use api::seedmanagement::{Gardenlet, ManagedSeed, ManagedSeedSet};
use authorizer::{Defaults, Mode, Rbac};
use chrono::TimeDelta;
use clock::Random;
use domain::profile::Profile;
use domain::rbac::kubeconfig::Access;
use domain::skew::GardenerVersion;
use domain::validation::shoot::Gates;
use generic_apiserver::webhooks::WebhookCaller;
use generic_apiserver::{Authenticated, Authorizer, Builder, FixedClusters, Foundation, Server};
use kubeconfig::KubeconfigHook;

pub use kubeconfig::ShootAccess;

/// Configuration of gardener-apiserver.
#[derive(Clone, Debug)]
pub struct Options {
    /// The emulated version: older ones do not have all fields, newer ones have more defaults for new Shoots.
    pub version: GardenerVersion,
    /// Profile of rules: those of the documents or those of upstream.
    pub profile: Profile,
    /// Feature gates.
    pub gates: Gates,
    /// Domains for Shoots that do not specify a domain; the first counts.
    pub default_domains: Vec<String>,
    /// Age from which warnings recommend to rotate credentials (`--shoot-credentials-rotation-interval`).
    pub credentials_rotation_interval: TimeDelta,
    /// Kubernetes version of the garden cluster.
    pub kubernetes_version: String,
    /// Maximum validity of a kubeconfig of `shoots/adminkubeconfig` (`--shoot-admin-kubeconfig-max-expiration`).
    pub admin_kubeconfig_max_expiration: TimeDelta,
    /// Maximum validity of a kubeconfig of `shoots/viewerkubeconfig` (`--shoot-viewer-kubeconfig-max-expiration`).
    pub viewer_kubeconfig_max_expiration: TimeDelta,
    /// Address at which the clusters of Shoots are reached; `None`: kubeconfigs show the addresses that Shoots advertise.
    pub shoot_access: Option<ShootAccess>,
    /// Caller of the webhooks that the garden configures; `None`: no webhook is called.
    pub webhooks: Option<Arc<dyn WebhookCaller>>,
    /// Authorization mode.
    pub authorization: Mode,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            version: GardenerVersion::release(1, 120, 0),
            profile: Profile::default(),
            gates: Gates::default(),
            default_domains: Vec::new(),
            credentials_rotation_interval: TimeDelta::days(90),
            kubernetes_version: "1.32.4".to_owned(),
            admin_kubeconfig_max_expiration: TimeDelta::days(1),
            viewer_kubeconfig_max_expiration: TimeDelta::days(1),
            shoot_access: None,
            webhooks: None,
            authorization: Mode::default(),
        }
    }
}

impl Options {
    /// Returns the options of an emulated version, with the feature gates of its release. An invalid version is
    /// emulated as the default one: the caller has validated it before.
    pub fn emulating(version: &str) -> Self {
        let usual = Self::default();
        match GardenerVersion::parse(version) {
            Some(version) => Self { gates: Gates::of_release(&version), version, ..usual },
            None => usual,
        }
    }

    /// Returns the feature gates with the release of the emulated version.
    fn judging_gates(&self) -> Gates {
        Gates { release: self.version.served_release(), ..self.gates }
    }
}

/// Returns a server of Gardener's kinds in cluster `garden`.
pub fn service(foundation: Foundation, options: &Options) -> Server {
    let random = foundation.random.clone();
    let builder = Builder::new(foundation)
        .release(options.version.served_release())
        .scheme("pkg/api/register.go:25")
        .clusters(FixedClusters::new([GARDEN], &options.kubernetes_version))
        .folds(GARDEN)
        .cluster_annotation(annotation::CLUSTER)
        .own_agents(user::OWN_AGENTS);
    let builder = match options.authorization {
        Mode::AlwaysAllow => register(builder.authorizer(Authenticated), options, random, Arc::new(Authenticated)),
        Mode::Rbac => {
            // The host stores the garden's initial objects before it passes on the first request.
            let rbac = Rbac::new(Defaults::Stored);
            rbac.attach(register(builder, options, random, Arc::new(rbac.clone())))
        }
    };
    match &options.webhooks {
        Some(caller) => rows::webhooks(builder).webhooks(caller.clone()),
        None => builder,
    }
    .build()
}

/// Adds Gardener's kinds, the kinds that admission reads, and the admission chain, which uses an authorizer.
pub fn register(builder: Builder, options: &Options, random: Random, authorizer: Arc<dyn Authorizer>) -> Builder {
    let shoots = catalogue::of::<Shoot>();
    let [admin, viewer] = [Access::Admin, Access::Viewer]
        .map(|kind| KubeconfigHook::new(kind, options, random.clone(), authorizer.clone()));
    let builder = builder
        .subresource(shoots, "adminkubeconfig", admin)
        .subresource(shoots, "viewerkubeconfig", viewer)
        .resource::<Shoot>(shoots, strategy::ShootStrategy::new(options, random))
        .resource::<CloudProfile>(
            catalogue::of::<CloudProfile>(),
            strategy::CloudProfileStrategy { profile: options.profile, gates: options.judging_gates() },
        )
        .resource::<NamespacedCloudProfile>(
            catalogue::of::<NamespacedCloudProfile>(),
            strategy::NamespacedCloudProfileStrategy(options.judging_gates()),
        )
        .resource::<Seed>(catalogue::of::<Seed>(), strategy::seed(options.version.served_release()))
        .resource::<Project>(catalogue::of::<Project>(), strategy::project(options.version.served_release()))
        .resource::<SecretBinding>(
            catalogue::of::<SecretBinding>(),
            strategy::secret_binding(options.version.served_release()),
        )
        .resource::<CredentialsBinding>(
            catalogue::of::<CredentialsBinding>(),
            strategy::credentials_binding(options.version.served_release()),
        )
        .resource::<Quota>(catalogue::of::<Quota>(), strategy::quota(options.version.served_release()))
        .resource::<ExposureClass>(
            catalogue::of::<ExposureClass>(),
            strategy::exposure_class(options.version.served_release()),
        )
        .resource::<InternalSecret>(catalogue::of::<InternalSecret>(), strategy::internal_secret())
        .resource::<ShootState>(catalogue::of::<ShootState>(), strategy::shoot_state())
        .resource::<BackupBucket>(
            catalogue::of::<BackupBucket>(),
            strategy::backup_bucket(options.version.served_release()),
        )
        .resource::<BackupEntry>(
            catalogue::of::<BackupEntry>(),
            strategy::backup_entry(options.version.served_release()),
        )
        .resource::<ControllerRegistration>(
            catalogue::of::<ControllerRegistration>(),
            strategy::controller_registration(options.version.served_release()),
        )
        .resource::<core_v1::ControllerDeployment>(
            catalogue::of::<core_v1::ControllerDeployment>(),
            strategy::controller_deployment(options.version.served_release()),
        )
        .resource::<Gardenlet>(catalogue::of::<Gardenlet>(), strategy::gardenlet(options.version.served_release()))
        .resource::<ManagedSeedSet>(
            catalogue::of::<ManagedSeedSet>(),
            strategy::managed_seed_set(options.version.served_release()),
        )
        .resource::<ManagedSeed>(
            catalogue::of::<ManagedSeed>(),
            strategy::managed_seed(options.version.served_release()),
        )
        .resource::<ControllerInstallation>(
            catalogue::of::<ControllerInstallation>(),
            strategy::controller_installation(options.version.served_release()),
        );
    rows::known(rows::views(rows::others(builder))).admission_chain(admission::chain(options, authorizer))
}
