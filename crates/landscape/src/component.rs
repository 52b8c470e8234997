// SPDX-License-Identifier: Apache-2.0
//! Components of a landscape: their identities, start and end.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use domain::garden::components::Program;
use domain::rbac::AUTHENTICATED;
use parking_lot::Mutex;
use process::{Context, Exit, Identity, Tasks, User};

/// A component of a landscape.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// gardener-apiserver; without it, requests for its groups get 503.
    Apiserver,
    /// kube-controllers, part of the host.
    KubeControllers,
    /// gardener-controller-manager.
    ControllerManager,
    /// gardener-scheduler.
    Scheduler,
    /// gardenlet of a seed.
    Gardenlet(String),
    /// provider-local of a seed.
    ProviderLocal(String),
}

impl Component {
    /// Row in the table of components, and the Seed; `None`: a part of the host.
    fn program(&self) -> Option<(Program, &str)> {
        Some(match self {
            Self::Apiserver => (Program::Apiserver, ""),
            Self::KubeControllers => return None,
            Self::ControllerManager => (Program::ControllerManager, ""),
            Self::Scheduler => (Program::Scheduler, ""),
            Self::Gardenlet(seed) => (Program::Gardenlet, seed),
            Self::ProviderLocal(seed) => (Program::ProviderLocal, seed),
        })
    }

    /// Name of the component, as upstream.
    pub fn name(&self) -> &'static str {
        self.program().map_or("kube-controller-manager", |(program, _)| writer(program))
    }

    /// Identity in an emulated version.
    pub fn identity(&self, version: &str) -> Identity {
        let instance = match self {
            Self::Gardenlet(seed) | Self::ProviderLocal(seed) => seed.as_str(),
            _ => self.name(),
        };
        Identity { component: self.name().into(), instance: instance.into(), version: version.into() }
    }

    /// User of its requests.
    pub fn user(&self, version: &str) -> User {
        match self.program() {
            Some((program, seed)) => user_of(program, seed, version),
            None => User {
                name: "system:kube-controller-manager".into(),
                groups: vec![AUTHENTICATED.into()],
                component: Some((self.name().into(), version.into())),
            },
        }
    }
}

/// Name of a component as a writer of objects.
const fn writer(program: Program) -> &'static str {
    match program {
        Program::ProviderLocal => program.short(),
        _ => program.name(),
    }
}

/// Returns the user of the requests of a component; `seed` is empty for a component of no Seed.
pub fn user_of(program: Program, seed: &str, version: &str) -> User {
    // The webhook server writes nothing.
    let writes = program != Program::AdmissionController;
    User {
        name: program.user(seed).into(),
        groups: program.groups().map(Arc::from).collect(),
        component: writes.then(|| (writer(program).into(), version.into())),
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

/// A started component.
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

    /// Creates a component that has tasks and no `run`: a server.
    pub(crate) fn server(tasks: Tasks) -> Self {
        Self { tasks, exit: Arc::default() }
    }

    /// Exit of the component; `None` while it runs.
    pub(crate) fn exit(&self) -> Option<Exit> {
        self.exit.lock().clone()
    }
}
