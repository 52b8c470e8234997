// SPDX-License-Identifier: Apache-2.0
//! Faults that act on processes: crashes, and requests that get no answer.
//!
//! ```text
//! Fault ──▶ follow ──▶ Faults ──▶ front: requests of a process that is cut off fail as if no server listened,
//!                        │                  and its watches end when that begins
//!                        ├──────▶ heartbeats and instances: a process that is cut off does not renew, and gets no requests
//!                        └──────▶ pods: a process that a crash fault selects is killed
//! ```
//!
//! The rules are [`domain::fault`]'s. The clock is no part of the network: a process that is cut off still takes part
//! in landscape time, and still reaches its kubelet.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::cluster;
use api::terrarium::Fault;
use clock::{Clock, Instant};
use controller::{Api, Controller, Error, ListOptions, ObjectKey, QueueHandle, Requeue};
use domain::fault::{self, Process};
use domain::garden::components::Program;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::StatusCode;
use parking_lot::Mutex;
use process::child::{INSTANCE_HEADER, UNREACHABLE_HEADER};
use process::transport::{Cut, full};
use process::{Context, Request, Response, User, watch};

/// Name of the component that renews a seed's heartbeat.
const GARDENLET: &str = Program::Gardenlet.name();

/// Faults that act on processes. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Faults(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    all: Mutex<Arc<[Arc<Fault>]>>,
    changes: watch::Sender<()>,
    /// Landscape time at which each fault acted last, and the pod; by name of the fault.
    acted: Mutex<BTreeMap<String, (Instant, String)>>,
    /// Queue of the controller that writes these to the status.
    queue: Mutex<Option<QueueHandle>>,
}

impl Default for Faults {
    fn default() -> Self {
        Self(Arc::new(Inner {
            all: Mutex::new(Arc::new([])),
            changes: watch::Sender::new(()),
            acted: Mutex::default(),
            queue: Mutex::default(),
        }))
    }
}

/// Process that sends a request: the component of its certificate, and cluster and pod from its own header.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    component: Arc<str>,
    cluster: String,
    pod: String,
}

impl Asking {
    /// Returns the component that sends the request; `None`: the request is from no component.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        let (component, _) = request.extensions().get::<User>()?.component.clone()?;
        let name = request.headers().get(INSTANCE_HEADER)?.to_str().ok()?;
        let (cluster, pod) = name.split_once('/')?;
        Some(Self { component, cluster: cluster.to_owned(), pod: pod.to_owned() })
    }

    fn process(&self) -> Process<'_> {
        Process { component: &self.component, pod: &self.pod, seed: cluster::seed(&self.cluster) }
    }
}

impl Faults {
    /// Present faults.
    pub(crate) fn all(&self) -> Arc<[Arc<Fault>]> {
        self.0.all.lock().clone()
    }

    /// Notified when the faults change, when one expires, and when a new process may be affected.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.0.changes.subscribe()
    }

    /// Notifies the receivers of [`Faults::changes`] about a new process.
    pub(crate) fn touch(&self) {
        self.0.changes.send_replace(());
    }

    fn set(&self, all: Vec<Arc<Fault>>) {
        *self.0.all.lock() = all.into();
        self.touch();
    }

    /// True if a request of a process to a cluster gets no answer.
    fn cuts_off(&self, asking: &Asking, cluster: Option<&str>, now: Instant) -> bool {
        self.act(&asking.pod, now, |fault| fault::cuts_off(fault, asking.process(), cluster, now))
    }

    /// True if a fault acts on a pod now; schedules an update of the fault's status.
    fn act(&self, pod: &str, now: Instant, acts: impl Fn(&Fault) -> bool) -> bool {
        let all = self.all();
        let Some(fault) = all.iter().find(|fault| acts(fault)) else { return false };
        let name = &fault.metadata.name;
        let mut acted = self.0.acted.lock();
        if acted.get(name).is_none_or(|(last, _)| !fault::is_noted(*last, now)) {
            acted.insert(name.clone(), (now, pod.to_owned()));
            drop(acted);
            if let Some(queue) = &*self.0.queue.lock() {
                queue.add(everything());
            }
        }
        true
    }

    /// Writes the latest actions of faults to their status.
    async fn note(&self, api: &Api<Fault>, known: &[Arc<Fault>]) -> Result<(), Error> {
        let acted = {
            let mut acted = self.0.acted.lock();
            acted.retain(|name, _| known.iter().any(|fault| fault.metadata.name == *name));
            acted.clone()
        };
        for fault in known {
            let acted = acted.get(&fault.metadata.name);
            let Some(status) = acted.and_then(|(at, pod)| fault::note_process(fault, pod, *at)) else { continue };
            match api.update_status(fault, &Fault { status, ..Fault::clone(fault) }).await {
                // The fault was deleted, or its newer version is reconciled next.
                Err(error) if !error.is_conflict() && !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// True if a fault stops a gardenlet from renewing the heartbeat of its seed.
    pub(crate) fn stops_heartbeats(&self, pod: &str, seed: &str, now: Instant) -> bool {
        let process = Process { component: GARDENLET, pod, seed: Some(seed) };
        self.act(pod, now, |fault| fault::stops_heartbeats(fault, process, now))
    }

    /// True if a process of a component is cut off from all others.
    pub(crate) fn isolates(&self, component: &str, pod: &str, now: Instant) -> bool {
        let process = Process { component, pod, seed: None };
        self.act(pod, now, |fault| fault::cuts_off(fault, process, None, now))
    }

    /// Returns the response to a request that a fault blocks; `None`: the request is served. A component inside the
    /// process gets the end of the fault with it.
    pub(crate) fn answer(&self, asking: &Asking, path: &str, time: &Clock) -> Option<Response> {
        self.cuts_off(asking, cluster_of(path), time.now()).then(|| {
            let mut response = Response::new(full(""));
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            response.headers_mut().insert(UNREACHABLE_HEADER, http::HeaderValue::from_static("fault"));
            let (faults, asking, time) = (self.clone(), asking.clone(), time.clone());
            let cluster = cluster_of(path).map(str::to_owned);
            let cut =
                Cut::new(move || faults.clone().let_through(asking.clone(), cluster.clone(), time.clone()).boxed());
            response.extensions_mut().insert(cut);
            response
        })
    }

    /// Resolves when no fault cuts a process off from a cluster any more. Waiting is no action of a fault: it is not
    /// noted.
    async fn let_through(self, asking: Asking, cluster: Option<String>, time: Clock) {
        let mut changes = self.changes();
        loop {
            let now = time.now();
            let cuts_off = |fault: &Arc<Fault>| fault::cuts_off(fault, asking.process(), cluster.as_deref(), now);
            if !self.all().iter().any(cuts_off) {
                return;
            }
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Resolves when a process is cut off from the server of a path.
    pub(crate) fn cut(&self, asking: Asking, path: &str, time: Clock) -> BoxFuture<'static, ()> {
        let (faults, mut changes) = (self.clone(), self.changes());
        let cluster = cluster_of(path).map(str::to_owned);
        async move {
            while !faults.cuts_off(&asking, cluster.as_deref(), time.now()) {
                if changes.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        }
        .boxed()
    }

    /// Follows the fault objects indefinitely.
    pub(crate) async fn follow(self, context: Context) {
        let mut controller = Controller::new("faults", &context);
        let api = Api::<Fault>::all(&context, cluster::RUNTIME);
        let store = controller.watch(api.clone(), ListOptions::default(), |_| vec![everything()]);
        *self.0.queue.lock() = Some(controller.queue());
        let pass = move |_| {
            let (faults, store, now, api) = (self.clone(), store.clone(), context.clock.now(), api.clone());
            async move {
                let known: Vec<Arc<Fault>> =
                    store.list().into_iter().filter(|fault| fault::acts_on_processes(fault)).collect();
                let ends = known.iter().filter_map(|fault| fault.spec.until).map(|until| until.0);
                let next = ends.filter(|until| *until > now).min();
                faults.set(known.clone());
                faults.note(&api, &known).await?;
                Ok(next.map_or(Requeue::OnChange, Requeue::At))
            }
        };
        controller.run(1, pass).await;
    }
}

/// Single key under which all faults are reconciled.
fn everything() -> ObjectKey {
    ObjectKey::new(cluster::RUNTIME, "", "all")
}

/// Returns the cluster of a path.
fn cluster_of(path: &str) -> Option<&str> {
    path.strip_prefix("/clusters/")?.split('/').next()
}

#[cfg(test)]
mod tests {
    use api::terrarium::FaultSpec;
    use apimachinery::meta::Time;
    use chrono::TimeDelta;
    use clock::SimulatedClock;

    use super::*;

    fn asking(component: &str, name: &str) -> Asking {
        let mut request = http::Request::new(full(""));
        let component = Some((component.into(), "v1.120.0".into()));
        request.extensions_mut().insert(User { name: "a".into(), groups: Vec::new(), component });
        request.headers_mut().insert(INSTANCE_HEADER, name.parse().expect("a value"));
        Asking::of(&request).expect("a process")
    }

    #[test]
    fn an_unreachable_seed_is_cut_off_from_two_components() {
        let now = "2023-07-27T20:00:00Z".parse().expect("an instant");
        let time = Clock::new(SimulatedClock::new(now));
        let faults = Faults::default();
        let spec = FaultSpec {
            kind: "seed-unreachable".to_owned(),
            seed_name: "local".to_owned(),
            always: true,
            ..FaultSpec::default()
        };
        faults.set(vec![Arc::new(Fault { spec, ..Fault::default() })]);
        let own = asking("gardenlet", "seed--local/gardenlet-1");
        let other = asking("gardenlet", "seed--other/gardenlet-1");
        let manager = asking("gardener-controller-manager", "runtime/gardener-controller-manager-1");
        let extension = asking("gardener-extension-provider-local", "seed--local/p");
        for (who, path, expected) in [
            (&own, "/clusters/seed--local/api/v1/nodes", true),
            (&own, "/clusters/garden/api/v1/nodes", false),
            (&other, "/clusters/seed--local/api/v1/nodes", false),
            (&manager, "/clusters/seed--local/api/v1/nodes", true),
            (&manager, "/clusters/seed--other/api/v1/nodes", false),
            (&extension, "/clusters/seed--local/api/v1/nodes", false),
            (&own, "/log/v1/head", false),
        ] {
            assert_eq!(faults.answer(who, path, &time).is_some(), expected, "{who:?} {path}");
        }
        assert!(
            faults.stops_heartbeats("gardenlet-1", "local", now)
                && !faults.stops_heartbeats("gardenlet-1", "other", now)
        );
        assert!(!faults.isolates("gardenlet", "gardenlet-1", now));
    }

    /// A component inside the process tries again at the end of the fault, at whatever wall time that is.
    #[test]
    fn a_component_inside_observes_the_end_of_a_partition() {
        let now: Instant = "2023-07-27T20:00:00Z".parse().expect("an instant");
        let until = now + TimeDelta::minutes(10);
        let fault = |until: Option<Instant>| {
            let spec = FaultSpec {
                kind: "component-partition".to_owned(),
                component: "gardenlet".to_owned(),
                always: true,
                until: until.map(Time::from_instant),
                ..FaultSpec::default()
            };
            Arc::new(Fault { spec, ..Fault::default() })
        };
        for (first, later, moves_to) in [
            (vec![fault(None)], vec![], now),
            (vec![fault(Some(until))], vec![fault(Some(until))], until),
            (vec![fault(None), fault(Some(until))], vec![fault(Some(until))], until),
        ] {
            let (faults, clock) = (Faults::default(), SimulatedClock::new(now));
            let time = Clock::new(clock.clone());
            faults.set(first);
            let gardenlet = asking("gardenlet", "seed--local/gardenlet-1");
            let answer = faults.answer(&gardenlet, "/clusters/garden/api/v1/nodes", &time).expect("it is cut off");
            let mut ended = answer.extensions().get::<Cut>().expect("a cut").ended();
            assert!((&mut ended).now_or_never().is_none());
            faults.touch();
            assert!((&mut ended).now_or_never().is_none(), "another fault has changed");
            let acted = faults.0.acted.lock().clone();
            clock.advance_to(moves_to);
            faults.set(later);
            assert!((&mut ended).now_or_never().is_some());
            assert_eq!(*faults.0.acted.lock(), acted, "it does not act while it is awaited");
            assert!(faults.answer(&gardenlet, "/clusters/garden/api/v1/nodes", &time).is_none());
        }
    }
}
