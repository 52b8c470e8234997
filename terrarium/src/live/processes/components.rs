// SPDX-License-Identifier: Apache-2.0
//! The components of a landscape as processes: their images, their Deployments, and how each one runs.

use std::process::ExitCode;

use api::cluster;
use api::constants::{api_version, label, namespace, user};
use api::kubernetes::apps::Deployment;
use apimachinery::schema::Node;
use authorizer::Mode;
use clock::Clock;
use controller::leadership::{self, Election};
use domain::garden::control_plane;
use domain::profile::Profile;
use domain::release::Release;
use domain::skew::GardenerVersion;
use futures::future::BoxFuture;
use gardenlet_sim::{gardenlet, provider_local};
use host::registry::Registered;
use landscape::Component;
use process::child::{self, Assignment};
use process::logging::{self, Format};
use process::{Context, Exit, User};
use serde_json::Value;

use crate::live::{admission_controller, apiserver, configuration, operator, registration, skew_watch};

/// Namespace of the components' Deployments, in `runtime` and in the clusters of seeds.
pub(crate) const NAMESPACE: &str = "garden";

/// A component that is a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    Operator,
    Apiserver,
    ControllerManager,
    Scheduler,
    AdmissionController,
    Gardenlet,
    ProviderLocal,
}

impl Program {
    /// All of them.
    pub(crate) const ALL: [Self; 7] = [
        Self::Operator,
        Self::Apiserver,
        Self::AdmissionController,
        Self::ControllerManager,
        Self::Scheduler,
        Self::Gardenlet,
        Self::ProviderLocal,
    ];

    /// Name in the field, and of its Deployment.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Operator => "gardener-operator",
            Self::Apiserver => "gardener-apiserver",
            Self::ControllerManager => "gardener-controller-manager",
            Self::Scheduler => "gardener-scheduler",
            Self::AdmissionController => admission_controller::NAME,
            Self::Gardenlet => "gardenlet",
            Self::ProviderLocal => "gardener-extension-provider-local",
        }
    }

    /// Its image, without tag.
    pub(crate) const fn image(self) -> &'static str {
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

    /// Whether each seed has one.
    pub(crate) const fn is_of_seed(self) -> bool {
        matches!(self, Self::Gardenlet | Self::ProviderLocal)
    }

    /// By name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|program| program.name() == name)
    }

    /// What an image is, and in which version, if it is one of these.
    pub(crate) fn of(image: &str) -> Option<(Self, String)> {
        let (name, tag) = image.rsplit_once(':')?;
        let is_it = |program: &Self| {
            let rest = name.strip_suffix(program.image());
            rest.is_some_and(|registry| registry.is_empty() || registry.ends_with('/'))
        };
        Some((Self::ALL.into_iter().find(is_it)?, tag.to_owned()))
    }

    /// The user of its requests, in a cluster: `runtime` or `seed--NAME`.
    pub(crate) fn user(self, cluster: &str, version: &str) -> User {
        let seed = || seed_of(cluster).to_owned();
        let component = match self {
            Self::Apiserver => Component::Apiserver,
            Self::ControllerManager => Component::ControllerManager,
            Self::Scheduler => Component::Scheduler,
            Self::Gardenlet => Component::Gardenlet(seed()),
            Self::ProviderLocal => Component::ProviderLocal(seed()),
            Self::Operator => {
                let groups = ["system:masters", "system:authenticated"].map(Into::into).to_vec();
                let component = Some((self.name().into(), version.into()));
                return User { name: user::OPERATOR.into(), groups, component };
            }
            Self::AdmissionController => {
                let name = user::ADMISSION_CONTROLLER.into();
                return User { name, groups: vec!["system:authenticated".into()], component: None };
            }
        };
        component.user(version)
    }

    /// Names under which it serves, if it does.
    pub(crate) const fn serves(self) -> Option<[&'static str; 4]> {
        match self {
            Self::Apiserver => Some(["gardener-apiserver.garden.svc", "localhost", "127.0.0.1", "::1"]),
            Self::AdmissionController => {
                Some(["gardener-admission-controller.garden", "localhost", "127.0.0.1", "::1"])
            }
            _ => None,
        }
    }

    /// Its Deployment, with these arguments; where the component has a configuration file, the flag that names it comes
    /// first.
    pub(crate) fn deployment(self, version: &str, replicas: u32, args: &[String]) -> Deployment {
        let config_map = self.configuration().map(|_| format!("{}-config", self.name()));
        let image = format!("{}:{version}", self.image());
        let replicas = i32::try_from(replicas).unwrap_or(i32::MAX);
        control_plane::deployment(self.name(), &image, replicas, args, config_map.as_deref())
    }

    /// Its name in the tables of feature gates and configuration kinds.
    pub(crate) const fn short(self) -> &'static str {
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

    /// Schema of its configuration file in a version of Gardener; `None`: it has none, or none of Gardener's. A version that
    /// does not parse is refused for that, not for its keys.
    pub(crate) fn schema(self, version: &str) -> Option<Node> {
        let (_, kind) = self.configuration()?;
        let release = GardenerVersion::parse(version).map_or(Release::UNION, |version| version.served_release());
        api::configuration::node(self.short(), kind, release)
    }

    /// Version and kind of its configuration file; `None`: it has flags only.
    pub(crate) const fn configuration(self) -> Option<(&'static str, &'static str)> {
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

/// Name of the seed of a cluster `seed--NAME`.
pub(crate) fn seed_of(cluster: &str) -> &str {
    cluster::seed(cluster).unwrap_or(cluster)
}

/// Runs a component as this process: `terrarium component NAME`.
pub(crate) fn run(program: Program) -> ExitCode {
    match program {
        Program::Apiserver => return apiserver::run(),
        Program::AdmissionController => return admission_controller::run(),
        Program::Operator => return run_operator(),
        _ => {}
    }
    let register = |context: Context, assignment: Assignment| async move {
        let flags = Flags::read(&assignment).map_err(|last_line| Exit { code: 1, last_line })?;
        let me = registered(&assignment, "");
        let enforcement = registration::register(&context, &me, flags.profile, context.clock.now()).await?;
        skew_watch::follow(&context, &me, flags.profile, enforcement, context.clock.clone());
        Ok(())
    };
    let version = env!("CARGO_PKG_VERSION");
    child::run(version, register, move |context, assignment| start(program, context, assignment))
}

fn run_operator() -> ExitCode {
    let register = |context: Context, assignment: Assignment| async move {
        let flags = operator::Flags::read(&assignment).map_err(|last_line| Exit { code: 1, last_line })?;
        let now = context.clock.now();
        let me = registered(&assignment, "");
        let enforcement = registration::register_operator(&context, &me, flags.profile, flags.looks_ahead, now).await?;
        skew_watch::follow(&context, &me, flags.profile, enforcement, context.clock.clone());
        Ok(())
    };
    child::run(env!("CARGO_PKG_VERSION"), register, |context, assignment| {
        let flags = operator::Flags::read(assignment)?;
        logging::start(context.clock.clone(), Format::default(), tracing::Level::INFO);
        tracing::info!(version = assignment.version.as_str(), "Starting gardener-operator");
        Ok(::operator::run(context, ::operator::Options { settings: flags.settings }))
    })
}

/// As what a process is registered.
pub(in crate::live) fn registered<'a>(assignment: &'a Assignment, address: &'a str) -> Registered<'a> {
    Registered {
        cluster: &assignment.cluster,
        pod: &assignment.instance,
        component: &assignment.component,
        version: &assignment.version,
        address,
    }
}

fn start(program: Program, context: Context, assignment: &Assignment) -> Result<BoxFuture<'static, Exit>, String> {
    let flags = Flags::read(assignment)?;
    flags.start_logging(context.clock.clone())?;
    let (name, version) = (program.name(), assignment.version.as_str());
    tracing::info!(version, "Starting {name}");
    let profile = flags.profile;
    let seed_name = seed_of(&assignment.cluster).to_owned();
    let election = election(program, &assignment.cluster);
    let (own, work): (Context, BoxFuture<'static, Exit>) = (
        context.clone(),
        match program {
            Program::Operator | Program::Apiserver | Program::AdmissionController => {
                return Err("it is started in another way".to_owned());
            }
            Program::ControllerManager => {
                let config = configuration::controller_manager(&flags.config);
                let project_roles = apiserver::authorization(assignment)? == Mode::Rbac;
                let usual = controller_manager::Options::default();
                let project_quotas = configuration::project_quotas(&flags.config)?;
                let options = controller_manager::Options { profile, config, project_roles, project_quotas, ..usual };
                Box::pin(controller_manager::run(context, options))
            }
            Program::Scheduler => {
                let config = configuration::scheduler(&flags.config)?;
                Box::pin(scheduler::run(context, scheduler::Options { config }))
            }
            Program::Gardenlet => {
                let config = configuration::gardenlet(&flags.config);
                let seed_template = serde_json::from_value(flags.config["seedConfig"].clone())
                    .map_err(|error| format!("seedConfig: {error}"))?;
                let options = gardenlet::Options { seed_name, seed_template, profile, config, has_pods: true };
                Box::pin(gardenlet::run(context, options))
            }
            Program::ProviderLocal => {
                let options = provider_local::Options { seed_name, profile };
                Box::pin(provider_local::run(context, options))
            }
        },
    );
    Ok(Box::pin(leadership::run(own, election, || work)))
}

/// Which of several processes of a component works.
fn election(program: Program, cluster: &str) -> Election {
    let lives_in = if program.is_of_seed() { cluster } else { cluster::GARDEN };
    Election {
        cluster: lives_in.to_owned(),
        namespace: NAMESPACE.to_owned(),
        name: format!("{}-leader-election", program.name()),
        registry: cluster::GARDEN.to_owned(),
        registrations: namespace::INSTANCES.to_owned(),
        selector: format!("{}={}", label::COMPONENT, program.name()),
    }
}

/// What the arguments of the container say.
pub(in crate::live) struct Flags {
    pub(in crate::live) profile: Profile,
    /// The configuration file.
    pub(in crate::live) config: Value,
}

impl Flags {
    /// A text at the top of the configuration; empty if it is not there.
    fn text(&self, field: &str) -> &str {
        self.config[field].as_str().unwrap_or_default()
    }

    /// Prints what the process says of its work from now on, as `logFormat` and `logLevel` ask for.
    ///
    /// # Errors
    /// There is no such format, or no such level.
    pub(in crate::live) fn start_logging(&self, clock: Clock) -> Result<(), String> {
        let unknown = |field: &str| format!("{field}: Unsupported value: {:?}", self.text(field));
        let format = Format::named(self.text("logFormat")).ok_or_else(|| unknown("logFormat"))?;
        let level = logging::level(self.text("logLevel")).ok_or_else(|| unknown("logLevel"))?;
        logging::start(clock, format, level);
        Ok(())
    }

    pub(in crate::live) fn read(assignment: &Assignment) -> Result<Self, String> {
        let program = Program::named(&assignment.component);
        let mut flags = Self { profile: Profile::default(), config: Value::Null };
        for arg in &assignment.args {
            match arg.split_once('=') {
                Some(("--config", path)) => {
                    let text =
                        assignment.files.get(path).ok_or_else(|| format!("open {path}: no such file or directory"))?;
                    let program = program.ok_or_else(|| format!("unknown flag: {arg}"))?;
                    flags.config = configuration::read(program, text, &assignment.version)?;
                }
                Some(("--profile", name)) => {
                    flags.profile = Profile::named(name).ok_or_else(|| format!("there is no profile {name}"))?;
                }
                _ => return Err(format!("unknown flag: {arg}")),
            }
        }
        Ok(flags)
    }
}
