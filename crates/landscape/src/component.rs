// SPDX-License-Identifier: Apache-2.0
//! The components of a landscape: who they are, how they start and how they end.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use api::constants::user;
use parking_lot::Mutex;
use process::{Context, Exit, Identity, Tasks, User};

/// A component of a landscape.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// gardener-apiserver; without it, requests for its groups are answered with 503.
    Apiserver,
    /// kube-controllers, part of the host.
    KubeControllers,
    /// gardener-controller-manager
    ControllerManager,
    /// gardener-scheduler
    Scheduler,
    /// gardenlet of a seed
    Gardenlet(String),
    /// provider-local of a seed
    ProviderLocal(String),
}

impl Component {
    /// Name in the field.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Apiserver => "gardener-apiserver",
            Self::KubeControllers => "kube-controller-manager",
            Self::ControllerManager => "gardener-controller-manager",
            Self::Scheduler => "gardener-scheduler",
            Self::Gardenlet(_) => "gardenlet",
            Self::ProviderLocal(_) => "provider-local",
        }
    }

    /// Who it is, in an emulated version.
    pub fn identity(&self, version: &str) -> Identity {
        let instance = match self {
            Self::Gardenlet(seed) | Self::ProviderLocal(seed) => seed.as_str(),
            _ => self.name(),
        };
        Identity { component: self.name().into(), instance: instance.into(), version: version.into() }
    }

    /// As whom its requests come.
    pub fn user(&self, version: &str) -> User {
        let (name, groups): (String, &[&str]) = match self {
            Self::Apiserver => (user::APISERVER.to_owned(), &["system:masters"]),
            Self::KubeControllers => ("system:kube-controller-manager".to_owned(), &[]),
            Self::ControllerManager => (user::CONTROLLER_MANAGER.to_owned(), &[]),
            Self::Scheduler => (user::SCHEDULER.to_owned(), &[]),
            Self::Gardenlet(seed) => (format!("{}{seed}", user::SEED_PREFIX), &[user::SEEDS]),
            Self::ProviderLocal(seed) => (format!("{}{seed}", user::PROVIDER_LOCAL_PREFIX), &[]),
        };
        let groups = groups.iter().chain(&["system:authenticated"]).map(|group| Arc::from(*group)).collect();
        User { name: name.into(), groups, component: Some((self.name().into(), version.into())) }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gardenlet(seed) | Self::ProviderLocal(seed) => write!(f, "{}/{seed}", self.name()),
            _ => f.write_str(self.name()),
        }
    }
}

/// A component that was started.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) tasks: Tasks,
    exit: Arc<Mutex<Option<Exit>>>,
}

impl Running {
    /// Spawns a component's `run`.
    pub(crate) fn spawn<F>(context: Context, run: impl FnOnce(Context) -> F) -> Self
    where
        F: Future<Output = Exit> + Send + 'static,
    {
        let tasks = context.tasks.clone();
        let exit = Arc::new(Mutex::new(None));
        let (run, slot) = (run(context), exit.clone());
        tasks.spawn(async move {
            let ended = run.await;
            *slot.lock() = Some(ended);
        });
        Self { tasks, exit }
    }

    /// Tasks without a `run`: a server.
    pub(crate) fn server(tasks: Tasks) -> Self {
        Self { tasks, exit: Arc::default() }
    }

    /// How it ended, if it did.
    pub(crate) fn exit(&self) -> Option<Exit> {
        self.exit.lock().clone()
    }
}
