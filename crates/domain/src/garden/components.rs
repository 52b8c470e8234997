// SPDX-License-Identifier: Apache-2.0
//! The table of Gardener's components: names, images, configuration files, and the names under which they serve.

use api::cluster;
use api::constants::api_version;
use api::kubernetes::apps::Deployment;
use apimachinery::schema::Node;

use super::control_plane;
use crate::release::Release;
use crate::skew::GardenerVersion;

/// A component of Gardener with a binary of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// gardener-operator
    Operator,
    /// gardener-apiserver
    Apiserver,
    /// gardener-admission-controller
    AdmissionController,
    /// gardener-controller-manager
    ControllerManager,
    /// gardener-scheduler
    Scheduler,
    /// gardenlet
    Gardenlet,
    /// gardener-extension-provider-local
    ProviderLocal,
}

impl Program {
    /// All components.
    pub const ALL: [Self; 7] = [
        Self::Operator,
        Self::Apiserver,
        Self::AdmissionController,
        Self::ControllerManager,
        Self::Scheduler,
        Self::Gardenlet,
        Self::ProviderLocal,
    ];

    /// Name in the field, and of the Deployment.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Operator => "gardener-operator",
            Self::Apiserver => "gardener-apiserver",
            Self::ControllerManager => "gardener-controller-manager",
            Self::Scheduler => "gardener-scheduler",
            Self::AdmissionController => "gardener-admission-controller",
            Self::Gardenlet => "gardenlet",
            Self::ProviderLocal => "gardener-extension-provider-local",
        }
    }

    /// Image without tag.
    pub const fn image(self) -> &'static str {
        match self {
            Self::Operator => "gardener/operator",
            Self::Apiserver => "gardener/apiserver",
            Self::ControllerManager => "gardener/controller-manager",
            Self::Scheduler => "gardener/scheduler",
            Self::AdmissionController => "gardener/admission-controller",
            Self::Gardenlet => "gardener/gardenlet",
            Self::ProviderLocal => "gardener/extensions/provider-local",
        }
    }

    /// True if each seed has one.
    pub const fn is_of_seed(self) -> bool {
        matches!(self, Self::Gardenlet | Self::ProviderLocal)
    }

    /// Returns the component of a name in the field.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|program| program.name() == name)
    }

    /// Returns component and version of an image; None: an image of something else.
    pub fn of(image: &str) -> Option<(Self, String)> {
        let (name, tag) = image.rsplit_once(':')?;
        let is_it = |program: &Self| {
            let rest = name.strip_suffix(program.image());
            rest.is_some_and(|registry| registry.is_empty() || registry.ends_with('/'))
        };
        Some((Self::ALL.into_iter().find(is_it)?, tag.to_owned()))
    }

    /// Names under which it serves; None: it does not serve.
    pub const fn serves(self) -> Option<[&'static str; 4]> {
        match self {
            Self::Apiserver => Some(["gardener-apiserver.garden.svc", "localhost", "127.0.0.1", "::1"]),
            Self::AdmissionController => {
                Some(["gardener-admission-controller.garden", "localhost", "127.0.0.1", "::1"])
            }
            _ => None,
        }
    }

    /// Deployment with these arguments; the flag that names the configuration file, if there is one, is the first.
    pub fn deployment(self, version: &str, replicas: u32, args: &[String]) -> Deployment {
        let config_map = self.configuration().map(|_| format!("{}-config", self.name()));
        let image = format!("{}:{version}", self.image());
        let replicas = i32::try_from(replicas).unwrap_or(i32::MAX);
        control_plane::deployment(self.name(), &image, replicas, args, config_map.as_deref())
    }

    /// Name in the tables of feature gates and configuration kinds.
    pub const fn short(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Apiserver => "apiserver",
            Self::ControllerManager => "controllermanager",
            Self::Scheduler => "scheduler",
            Self::AdmissionController => "admissioncontroller",
            Self::Gardenlet => "gardenlet",
            Self::ProviderLocal => "provider-local",
        }
    }

    /// Schema of the configuration file in a version of Gardener; None: there is no such file, or none of Gardener's. Text
    /// that is no version gets the schema of all releases.
    pub fn schema(self, version: &str) -> Option<Node> {
        let (_, kind) = self.configuration()?;
        let release = GardenerVersion::parse(version).map_or(Release::UNION, |version| version.served_release());
        api::configuration::node(self.short(), kind, release)
    }

    /// Version and kind of the configuration file; None: the component has flags only.
    pub const fn configuration(self) -> Option<(&'static str, &'static str)> {
        Some(match self {
            Self::Operator | Self::Apiserver => return None,
            Self::ControllerManager => (api_version::CONTROLLER_MANAGER_CONFIG, "ControllerManagerConfiguration"),
            Self::Scheduler => (api_version::SCHEDULER_CONFIG, "SchedulerConfiguration"),
            Self::AdmissionController => (api_version::ADMISSION_CONTROLLER_CONFIG, "AdmissionControllerConfiguration"),
            Self::Gardenlet => (api_version::GARDENLET_CONFIG, "GardenletConfiguration"),
            Self::ProviderLocal => (api_version::PROVIDER_LOCAL, "ControllerConfiguration"),
        })
    }
}

/// Name of the Seed of a cluster `seed--NAME`.
pub fn seed_of(cluster: &str) -> &str {
    cluster::seed(cluster).unwrap_or(cluster)
}
