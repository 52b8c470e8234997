// SPDX-License-Identifier: Apache-2.0
//! The table of Gardener's components: names, images, configuration files, users, and the names under which they serve.

use api::cluster;
use api::constants::{api_version, user};
use api::kubernetes::apps::Deployment;
use apimachinery::meta::TextMap;
use apimachinery::schema::Node;

use super::control_plane;
use crate::gardener_version::GardenerVersion;
use crate::rbac::{AUTHENTICATED, MASTERS};
use crate::release::Release;

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

/// A row of the table.
#[derive(Clone, Copy)]
struct Row {
    name: &'static str,
    short: &'static str,
    image: &'static str,
    configuration: Option<(&'static str, &'static str)>,
    user: &'static str,
    groups: &'static [&'static str],
}

const fn row(
    [name, short, image]: [&'static str; 3],
    configuration: Option<(&'static str, &'static str)>,
    user: &'static str,
    groups: &'static [&'static str],
) -> Row {
    Row { name, short, image, configuration, user, groups }
}

/// The table, in the order of [`Program`]: name, name in other tables, image; configuration file; user and its groups.
#[rustfmt::skip]
const ROWS: [Row; 7] = [
    row(["gardener-operator", "operator", "gardener/operator"], None, user::OPERATOR, &[MASTERS]),
    row(["gardener-apiserver", "apiserver", "gardener/apiserver"], None, user::APISERVER, &[MASTERS]),
    row(["gardener-admission-controller", "admissioncontroller", "gardener/admission-controller"],
        Some((api_version::ADMISSION_CONTROLLER_CONFIG, "AdmissionControllerConfiguration")), user::ADMISSION_CONTROLLER, &[]),
    row(["gardener-controller-manager", "controllermanager", "gardener/controller-manager"],
        Some((api_version::CONTROLLER_MANAGER_CONFIG, "ControllerManagerConfiguration")), user::CONTROLLER_MANAGER, &[]),
    row(["gardener-scheduler", "scheduler", "gardener/scheduler"],
        Some((api_version::SCHEDULER_CONFIG, "SchedulerConfiguration")), user::SCHEDULER, &[]),
    row(["gardenlet", "gardenlet", "gardener/gardenlet"],
        Some((api_version::GARDENLET_CONFIG, "GardenletConfiguration")), user::SEED_PREFIX, &[user::SEEDS]),
    row(["gardener-extension-provider-local", "provider-local", "gardener/extensions/provider-local"],
        Some((api_version::PROVIDER_LOCAL, "ControllerConfiguration")), user::PROVIDER_LOCAL_PREFIX, &[]),
];

impl Program {
    /// All components, in the order of the table.
    pub const ALL: [Self; 7] = [
        Self::Operator,
        Self::Apiserver,
        Self::AdmissionController,
        Self::ControllerManager,
        Self::Scheduler,
        Self::Gardenlet,
        Self::ProviderLocal,
    ];

    const fn row(self) -> Row {
        ROWS[self as usize]
    }

    /// Name of the component and of its Deployment.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Image without tag.
    pub const fn image(self) -> &'static str {
        self.row().image
    }

    /// True if each Seed has one.
    pub const fn is_of_seed(self) -> bool {
        matches!(self, Self::Gardenlet | Self::ProviderLocal)
    }

    /// Name in the tables of feature gates and configuration kinds.
    pub const fn short(self) -> &'static str {
        self.row().short
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

    /// Version and kind of the configuration file; None: the component has flags only.
    pub const fn configuration(self) -> Option<(&'static str, &'static str)> {
        self.row().configuration
    }

    /// Name of the user of its requests, which ends with the Seed; `seed` is empty for a component of no Seed.
    pub fn user(self, seed: &str) -> String {
        format!("{}{seed}", self.row().user)
    }

    /// Groups of the user of its requests.
    pub fn groups(self) -> impl Iterator<Item = &'static str> {
        self.row().groups.iter().copied().chain([AUTHENTICATED])
    }

    /// Returns the component of a Deployment's name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|program| program.name() == name)
    }

    /// Returns the component whose Deployment the pods of a cluster with these labels belong to.
    pub fn of_pod(cluster: &str, labels: &TextMap) -> Option<Self> {
        let label = |name: &str| labels.get(name).map(String::as_str);
        let program = Self::named(label("role")?).filter(|_| label("app") == Some("gardener"))?;
        let is_there =
            if program.is_of_seed() { cluster::seed(cluster).is_some() } else { cluster == cluster::RUNTIME };
        is_there.then_some(program)
    }

    /// Returns component and version of an image; None: the image of another program.
    pub fn of(image: &str) -> Option<(Self, String)> {
        let (name, tag) = image.rsplit_once(':')?;
        let is_it = |program: &Self| {
            let rest = name.strip_suffix(program.image());
            rest.is_some_and(|registry| registry.is_empty() || registry.ends_with('/'))
        };
        Some((Self::ALL.into_iter().find(is_it)?, tag.to_owned()))
    }

    /// Deployment with these arguments; the flag that names the configuration file, if there is one, is the first.
    pub fn deployment(self, version: &str, replicas: u32, args: &[String]) -> Deployment {
        let config_map = self.configuration().map(|_| format!("{}-config", self.name()));
        let image = format!("{}:{version}", self.image());
        let replicas = i32::try_from(replicas).unwrap_or(i32::MAX);
        control_plane::deployment(self.name(), &image, replicas, args, config_map.as_deref())
    }

    /// Returns the schema of the configuration file in a version of Gardener; None: there is no such file, or none of
    /// Gardener's. An invalid version gets the schema of all releases.
    pub fn schema(self, version: &str) -> Option<Node> {
        let (_, kind) = self.configuration()?;
        let release = GardenerVersion::parse(version).map_or(Release::UNION, |version| version.served_release());
        api::configuration::node(self.short(), kind, release)
    }
}

/// Returns the name of the Seed of a cluster `seed--NAME`.
pub fn seed_of(cluster: &str) -> &str {
    cluster::seed(cluster).unwrap_or(cluster)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_component_has_its_own_row() {
        for (place, program) in Program::ALL.into_iter().enumerate() {
            assert_eq!(program as usize, place);
            assert_eq!(Program::named(program.name()), Some(program));
            let image = format!("registry:5000/{}:v1.120.0", program.image());
            assert_eq!(Program::of(&image), Some((program, "v1.120.0".to_owned())));
        }
        assert_eq!(Program::Gardenlet.user("a"), "gardener.cloud:system:seed:a");
        let groups: Vec<&str> = Program::Gardenlet.groups().collect();
        assert_eq!(groups, ["gardener.cloud:system:seeds", "system:authenticated"]);
        assert_eq!(Program::of("gardener/other:v1"), None);
        assert_eq!(Program::of("gardener/gardenlet"), None);
    }

    #[test]
    fn pods_belong_to_a_component_by_cluster_and_labels() {
        let found = |cluster: &str, app: &str, role: &str| {
            let labels = [("app", app), ("role", role)].map(|(key, value)| (key.to_owned(), value.to_owned()));
            Program::of_pod(cluster, &labels.into())
        };
        for (cluster, app, role, expected) in [
            ("runtime", "gardener", "gardener-scheduler", Some(Program::Scheduler)),
            ("seed--a", "gardener", "gardenlet", Some(Program::Gardenlet)),
            ("seed--a", "gardener", "gardener-scheduler", None),
            ("runtime", "gardener", "gardenlet", None),
            ("garden", "gardener", "gardener-scheduler", None),
            ("shoot--a--b", "gardener", "gardenlet", None),
            ("runtime", "mine", "gardener-scheduler", None),
            ("runtime", "gardener", "mine", None),
        ] {
            assert_eq!(found(cluster, app, role), expected, "{cluster} {app} {role}");
        }
        assert_eq!(Program::of_pod("runtime", &TextMap::default()), None);
    }
}
