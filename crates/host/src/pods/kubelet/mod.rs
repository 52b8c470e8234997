// SPDX-License-Identifier: Apache-2.0
//! Process kubelet: runs pods whose image is one of the landscape's components, as processes of this machine or as
//! tasks of this process.
//!
//! ```text
//! Pod ──► life: start ──► ready ──► exit ──► back-off ─┐      standard input closed, pod deleted
//!                 ▲                                    │                 ▲
//!                 └────────────────────────────────────┘      Pod gone or to be deleted
//! ```
//!
//! [`Launch`] selects these pods and their programs and identities. The output of processes is kept in [`Logs`], which
//! `pods/log` reads. This kubelet ignores all other pods.
//!
//! **Invariants.** The reason of every end of a process is in `lastState` of the container, in the last line of the
//! pod's previous log, and in the host's own log. At most one process for a pod's uid. A process is stopped by closing
//! its standard input, and has [`child::GRACE`] to end; it ends with this process (see [`process::child`]). While a
//! process starts, landscape time is held. A back-off ends when either clock has passed it.

pub(crate) mod child;
mod crash;
mod life;
mod logs;
mod mounts;
mod status;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use api::kubernetes::core::Pod;
use apimachinery::meta::{DeleteOptions, Preconditions, TextMap};
use apimachinery::release::Release;
use clock::Clock;
use controller::{Api, Controller, Error, ListOptions, ObjectKey, QueueHandle, Requeue, Store};
use eventlog::EventLog;
use futures::future::BoxFuture;
use generic_apiserver::Local;
use generic_apiserver::webhooks::Names;
use kube_controllers::workload::NetworkOf;
use parking_lot::Mutex;
use process::child::{Assignment, Joining, Ready};
use process::inside::Starter;
use process::{Context, Exit, Transport, User};
use tokio::sync::oneshot;

use crate::pods::faults::Faults;

pub use logs::{LogHook, Logs};
pub use status::{Before, HEALTHY};

/// Component to run for a pod.
#[derive(Clone, Debug)]
pub struct Program {
    /// Form in which it runs.
    pub form: Form,
    /// Assignment of the component; the kubelet adds pod, arguments, environment and files.
    pub assignment: Assignment,
}

/// Form in which a component runs.
#[derive(Clone)]
pub enum Form {
    /// A process of this machine.
    Process {
        /// Path of the executable, which remains valid for as long as this process runs.
        path: PathBuf,
        /// Name in the list of processes: the path of the executable, which may be replaced.
        name: PathBuf,
        /// Arguments: the name of the component, none of the pod's.
        args: Vec<String>,
    },
    /// Tasks of this process.
    Inside {
        /// User of its requests.
        user: User,
        /// Function that runs the component.
        run: RunInside,
    },
}

/// Runs a component as tasks of this process, until it ends by itself or soon after the receiver has resolved.
pub type RunInside =
    Arc<dyn Fn(Context, Assignment, Local, oneshot::Receiver<()>) -> BoxFuture<'static, Exit> + Send + Sync>;

/// Environment for components as tasks of this process.
#[derive(Clone)]
pub struct Inside {
    /// The thread of the components.
    pub starter: Starter,
    /// The landscape's log.
    pub log: Arc<dyn EventLog>,
    /// Landscape time, as read by the host.
    pub time: Clock,
    /// Servers of the landscape by their names.
    pub names: Names,
}

impl fmt::Debug for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inside").field("starter", &self.starter).finish_non_exhaustive()
    }
}

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process { path, args, .. } => f.debug_tuple("Process").field(path).field(args).finish(),
            Self::Inside { .. } => f.write_str("Inside"),
        }
    }
}

/// Reason for which a pod has no program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The image does not exist.
    NoImage,
    /// The specification is invalid: the message.
    Config(String),
}

impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Self::Config(message)
    }
}

/// Selects the programs of pods.
pub trait Launch: Send + Sync + 'static {
    /// True if this kubelet runs pods of a cluster with these labels and this image.
    fn runs(&self, cluster: &str, labels: &TextMap, image: &str) -> bool;

    /// Release whose aggregated groups a process of this image serves; `None` if it serves none.
    fn served_release(&self, _image: &str) -> Option<Release> {
        None
    }

    /// Name of the Lease with which the process of a pod is registered; `None`: it is not registered.
    fn lease(&self, _cluster: &str, _pod: &Pod) -> Option<String> {
        None
    }

    /// Name of the Lease of [`crate::time::heartbeats`] that the process of a pod renews; `None`: it renews none.
    fn heartbeat(&self, _cluster: &str, _pod: &Pod) -> Option<String> {
        None
    }

    /// Returns the program of a pod that this kubelet runs.
    ///
    /// # Errors
    /// The reason for the status of the pod.
    fn launch(&self, cluster: &str, pod: &Pod) -> Result<Program, Refusal>;

    /// Returns the assignment of a process that the kubelet did not start.
    ///
    /// # Errors
    /// The reason for which the process cannot join the landscape.
    fn assign(&self, joining: &Joining) -> Result<Assignment, String> {
        Err(format!("there is no component {}", joining.component))
    }
}

/// Shared [`Launch`].
pub type Launcher = Arc<dyn Launch>;
/// Called with `Some` when a process becomes ready, and with `None` when it has ended. The kubelet does nothing else
/// for the pod until the future has resolved.
pub type Listener = Arc<dyn Fn(&ObjectKey, &Pod, Option<&Served>) -> BoxFuture<'static, ()> + Send + Sync>;

/// A ready process.
#[derive(Clone, Debug, Default)]
pub struct Served {
    /// The process's own report.
    pub ready: Ready,
    /// Transport to the component's server, if that is in this process.
    pub transport: Option<Transport>,
}

/// Holds landscape time under a name, or releases the hold.
pub type Hold = Arc<dyn Fn(&str, bool) + Send + Sync>;

/// Called when the process of a pod becomes ready for requests, or is no longer ready.
pub type ReadinessListener = Arc<dyn Fn(&ObjectKey, bool) + Send + Sync>;

/// Options of the kubelet.
#[derive(Clone)]
pub struct Options {
    /// Selects the programs of pods.
    pub launch: Launcher,
    /// Called when a process is ready, and when it has ended.
    pub listener: Listener,
    /// Called when a ready process accepts requests, or no longer does.
    pub readiness_listener: ReadinessListener,
    /// Faults that end processes.
    pub faults: Faults,
    /// Holds landscape time while a process starts.
    pub hold: Hold,
    /// Store for the output of processes.
    pub logs: Logs,
    /// Reason for which the processes that pods had before this kubelet have ended.
    pub before: Before,
    /// Networks of the pods of clusters.
    pub pod_network_of: NetworkOf,
    /// Environment for components as tasks of this process; `None`: the kubelet runs none.
    pub inside: Option<Inside>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").finish_non_exhaustive()
    }
}

/// Environment variable with the pod of a process, `CLUSTER/NAME`, for tools that list processes; the process does not
/// read it.
pub const POD_VARIABLE: &str = "TERRARIUM_POD";

/// Maximum number of pods that are removed at the same time.
const CONCURRENCY: usize = 10;

/// Runs the kubelet until it is stopped, and then until its processes have ended.
pub fn run(context: Context, options: Options) -> BoxFuture<'static, Exit> {
    Box::pin(async move {
        context.tasks.spawn(options.faults.clone().follow(context.clone()));
        let mut controller = Controller::new("kubelet", &context);
        let api = Api::<Pod>::all(&context, "*");
        let store = controller.watch(api.clone(), ListOptions::default(), |change| vec![change.key.clone()]);
        let queue = controller.queue();
        let kubelet = Arc::new(Kubelet { context, options, api, store, queue, running: Mutex::default() });
        let reconciler = kubelet.clone();
        controller
            .run(CONCURRENCY, move |key| {
                let kubelet = reconciler.clone();
                async move {
                    kubelet.reconcile(&key).await?;
                    Ok(Requeue::OnChange)
                }
            })
            .await;
        kubelet.stop_all().await;
        Exit::default()
    })
}

pub(crate) struct Kubelet {
    pub(crate) context: Context,
    pub(crate) options: Options,
    pub(crate) api: Api<Pod>,
    store: Store<Pod>,
    queue: QueueHandle,
    running: Mutex<BTreeMap<ObjectKey, Running>>,
}

/// A pod with a lifecycle.
struct Running {
    uid: String,
    /// Dropped to end the lifecycle.
    stop: Option<oneshot::Sender<()>>,
    ended: oneshot::Receiver<()>,
}

impl Kubelet {
    /// Ends the lifecycle of a pod that was deleted or is being deleted, then removes the pod; starts the lifecycle of
    /// a new one.
    async fn reconcile(self: &Arc<Self>, key: &ObjectKey) -> Result<(), Error> {
        let pod = self.store.get(key);
        if !self.has_ended(key, pod.as_deref()) {
            return Ok(());
        }
        let is_its = |pod: &Arc<Pod>| self.options.launch.runs(&key.cluster, &pod.metadata.labels, image(pod));
        let Some(pod) = pod.filter(is_its) else { return Ok(()) };
        // It may never have had a lifecycle: its creation and its deletion were read together, or before this kubelet
        // started.
        if pod.metadata.is_being_deleted() {
            return self.remove(key, &pod).await;
        }
        self.begin(key, pod);
        Ok(())
    }

    /// True if a pod has no lifecycle; one that it should not have is stopped, and its end queues the key again.
    fn has_ended(&self, key: &ObjectKey, pod: Option<&Pod>) -> bool {
        let mut running = self.running.lock();
        let Some(life) = running.get_mut(key) else { return true };
        if pod.is_some_and(|pod| pod.metadata.uid == life.uid && !pod.metadata.is_being_deleted()) {
            return false;
        }
        life.stop = None;
        if life.ended.try_recv() == Err(oneshot::error::TryRecvError::Empty) {
            return false;
        }
        running.remove(key);
        true
    }

    fn begin(self: &Arc<Self>, key: &ObjectKey, pod: Arc<Pod>) {
        let launch = self.options.launch.launch(&key.cluster, &pod);
        let (stop, stopped) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let life = Running { uid: pod.metadata.uid.clone(), stop: Some(stop), ended };
        self.running.lock().insert(key.clone(), life);
        let (kubelet, key) = (self.clone(), key.clone());
        self.context.tasks.spawn(async move {
            life::run(&kubelet, &key, pod, launch, stopped).await;
            let _ = end.send(());
            kubelet.queue.add(key);
        });
    }

    async fn remove(&self, key: &ObjectKey, pod: &Pod) -> Result<(), Error> {
        let preconditions = Preconditions { uid: Some(pod.metadata.uid.clone()), ..Preconditions::default() };
        let options = DeleteOptions {
            grace_period_seconds: Some(0),
            preconditions: Some(preconditions),
            ..DeleteOptions::default()
        };
        match self.api.within(&key.cluster, &key.namespace).delete(&key.name, &options).await {
            // The pod was deleted, or replaced by another one of its name.
            Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
            removed => removed.map(drop),
        }
    }

    async fn stop_all(&self) {
        let running = std::mem::take(&mut *self.running.lock());
        let mut ends = Vec::new();
        for (_, Running { stop, ended, .. }) in running {
            drop(stop);
            ends.push(ended);
        }
        futures::future::join_all(ends).await;
    }
}

/// Image of the pod's first container.
fn image(pod: &Pod) -> &str {
    pod.spec.containers.first().map_or("", |container| container.image.as_str())
}
