// SPDX-License-Identifier: Apache-2.0
//! Services of the host for the processes of the landscape: it forwards requests to them, renews their Leases, accepts
//! joining processes, and cuts off those that a fault isolates.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use api::kubernetes::core::Pod;
use controller::ObjectKey;
use futures::future::BoxFuture;
use generic_apiserver::webhooks::Resolved;
use parking_lot::Mutex;
use process::Transport;
use process::child;
use process::https;
use process::pki::Pair;

use super::Live;
use crate::aggregation::Instances;
use crate::pods::joined::Joined;
use crate::pods::kubelet::{Launcher, Listener, Served};
use crate::pods::services::Services;
use crate::time::clock_service::ClockService;
use crate::{Host, registry};

/// Client configuration for the servers of the aggregated groups.
#[derive(Clone)]
pub(super) struct WayTo {
    /// Authorities of their certificates, as PEM.
    pub(super) authorities: String,
    /// Client certificate of the host.
    pub(super) certificate: Pair,
}

impl WayTo {
    /// Creates the transport to an address.
    fn transport(&self, address: &str, reach: https::Reach) -> Result<Transport, https::OptionsError> {
        https::transport(&https::Options {
            server: address.to_owned(),
            authorities: self.authorities.clone(),
            credentials: https::Credentials::Certificate(self.certificate.clone()),
            watches: https::Watches::Http1,
            reach,
            ..https::Options::default()
        })
    }
}

impl Live {
    /// Writes the rules for versions of components, before the first process registers, and removes the Leases of
    /// processes of an earlier start of the host: none of them runs any more.
    ///
    /// # Errors
    /// The log cannot be reached.
    pub(super) async fn begin_registry(&self, skew: registry::Settings) -> io::Result<()> {
        let transport = self.client.transport("kubelet");
        registry::begin(&transport, skew).await.map_err(io::Error::other)?;
        self.host.stop_all_renewals().await.map_err(io::Error::other)
    }

    /// Stops the renewals of processes that the clock has dropped, until they join it again. Returns the registry of
    /// renewing processes, which is still empty.
    pub(super) fn follow_renewals(&self) -> Renewals {
        let renewals: Renewals = Arc::default();
        let (host, clock, known) = (self.host.clone(), self.client.clock.clone(), renewals.clone());
        self.following.restarting("heartbeats", move || follow_dropped(host.clone(), clock.clone(), known.clone()));
        renewals
    }

    /// Accepts processes that the kubelet did not start.
    pub(super) fn let_processes_join(&self, launch: &Launcher, way: &WayTo) {
        let way = way.clone();
        let far = move |address: &str| way.transport(address, https::Reach::Network).map_err(|error| error.to_string());
        let transport = self.client.transport("apiserver");
        let joined = Joined::new(launch.clone(), self.client.instances.clone(), Box::new(far), transport);
        self.host.serve_joining(joined.clone());
        let context = self.client.context("apiserver");
        self.following.restarting("processes that have joined", move || joined.clone().follow(context.clone()));
    }

    /// Cuts off the processes that a fault isolates.
    pub(super) fn follow_faults(&self, renewals: &Renewals) {
        let (host, instances, known) = (self.host.clone(), self.client.instances.clone(), renewals.clone());
        self.following.restarting("faults", move || apply_faults(host.clone(), instances.clone(), known.clone()));
    }

    /// Returns the listener for processes of the kubelet that become ready or end.
    pub(super) fn listener(&self, launch: &Launcher, way: WayTo, renewals: Renewals, services: Services) -> Listener {
        let processes = Processes {
            host: self.host.clone(),
            clock: self.client.clock.clone(),
            instances: self.client.instances.clone(),
            transport: self.client.transport("kubelet"),
            launch: launch.clone(),
            way,
            renewals,
            services,
        };
        Arc::new(move |pod, object, served| {
            let server = served.map(|served| Resolved {
                server: served.ready.address.clone(),
                inside: served.transport.clone().map(|transport| (transport, processes.way.authorities.clone())),
            });
            processes.services.note(pod, object, server);
            match served {
                Some(served) => processes.is_ready(pod, object, served),
                None => processes.has_ended(pod, object),
            }
        })
    }
}

/// Parts of the host that are updated for each process.
struct Processes {
    host: Host,
    clock: ClockService,
    instances: Instances,
    transport: Transport,
    launch: Launcher,
    way: WayTo,
    renewals: Renewals,
    services: Services,
}

impl Processes {
    /// Handles a ready process: requests are forwarded to it if it serves, and its Lease is renewed.
    fn is_ready(&self, pod: &ObjectKey, object: &Pod, served: &Served) -> BoxFuture<'static, ()> {
        let (name, heartbeat) = self.note_renewal(pod, object, true);
        let image = object.spec.containers.first().map_or("", |container| container.image.as_str());
        if let Some(release) = self.launch.served_release(image) {
            if let Some(transport) = &served.transport {
                self.instances.insert_inside(&name, release, transport.clone());
            } else {
                match self.way.transport(&served.ready.address, https::Reach::Machine) {
                    Ok(transport) => self.instances.insert(&name, release, transport),
                    Err(error) => child::say(&format!("pod {pod}: {error}")),
                }
            }
        }
        let host = self.host.clone();
        Box::pin(async move {
            if let Some(heartbeat) = heartbeat
                && let Err(error) = host.start_renewing(&heartbeat, &name).await
            {
                tracing::warn!(%error, heartbeat, "cannot store that a process renews its Lease");
            }
            host.faults().touch();
        })
    }

    /// Handles the end of a process: time does not wait for it, it gets no requests, and its Leases are not renewed.
    fn has_ended(&self, pod: &ObjectKey, object: &Pod) -> BoxFuture<'static, ()> {
        let (name, heartbeat) = self.note_renewal(pod, object, false);
        self.clock.leave(&name);
        self.instances.remove(&name);
        let (host, transport) = (self.host.clone(), self.transport.clone());
        let lease = self.launch.lease(&pod.cluster, object);
        Box::pin(async move {
            if let Some(heartbeat) = heartbeat
                && let Err(error) = host.stop_renewing(&heartbeat, &name).await
            {
                tracing::warn!(%error, heartbeat, "cannot store when a process renewed its Lease last");
            }
            if let Some(lease) = lease
                && let Err(error) = registry::remove(&transport, Some(&lease)).await
            {
                tracing::warn!(%error, lease, "cannot remove the Lease of a process that has ended");
            }
        })
    }

    /// Records whether a process renews a Lease of a seed; returns its name as a participant, and that Lease.
    fn note_renewal(&self, pod: &ObjectKey, object: &Pod, is_ready: bool) -> (String, Option<String>) {
        let name = child::participant(&pod.cluster, &pod.name);
        let heartbeat = self.launch.heartbeat(&pod.cluster, object);
        let mut all = self.renewals.lock();
        match heartbeat.as_ref().filter(|_| is_ready) {
            Some(heartbeat) => all.insert(name.clone(), heartbeat.clone()),
            None => all.remove(&name),
        };
        drop(all);
        (name, heartbeat)
    }
}

/// Names of renewed Leases by participant.
pub(super) type Renewals = Arc<Mutex<BTreeMap<String, String>>>;

/// A participant that the clock has dropped does not renew its Lease until it joins again.
async fn follow_dropped(host: Host, clock: ClockService, renewals: Renewals) {
    let mut known = BTreeSet::new();
    loop {
        let dropped = clock.dropped_after(&known).await;
        let owners: Vec<(String, String)> = {
            let renewals = renewals.lock();
            let names = dropped.union(&known);
            names.filter_map(|name| Some((name.clone(), renewals.get(name)?.clone()))).collect()
        };
        for (name, heartbeat) in owners {
            let now = host.inner.time.now();
            let done = if dropped.contains(&name) {
                host.stop_renewing(&heartbeat, &name).await
            } else if host.faults().stops_heartbeats(pod(&name), &heartbeat, now) {
                // The end of the fault starts the renewals.
                continue;
            } else {
                host.start_renewing(&heartbeat, &name).await
            };
            if let Err(error) = done {
                tracing::warn!(%error, heartbeat, "cannot store whether a process renews its Lease");
            }
        }
        known = dropped;
    }
}

/// Name of the pod of a participant.
fn pod(participant: &str) -> &str {
    participant.rsplit('/').next().unwrap_or_default()
}

/// Cuts off isolated processes: they get no requests, and renew no heartbeat.
async fn apply_faults(host: Host, instances: Instances, renewals: Renewals) {
    let mut changes = host.faults().changes();
    let mut cut_off = BTreeSet::new();
    loop {
        let now = host.inner.time.now();
        instances.cut_off(|name| host.faults().isolates("gardener-apiserver", pod(name), now));
        let all = renewals.lock().clone();
        for (name, seed) in all {
            let done = if host.faults().stops_heartbeats(pod(&name), &seed, now) {
                cut_off.insert(name.clone());
                host.stop_renewing(&seed, &name).await
            } else if cut_off.remove(&name) {
                host.start_renewing(&seed, &name).await
            } else {
                continue;
            };
            if let Err(error) = done {
                tracing::warn!(%error, seed, "cannot store whether a heartbeat is renewed");
            }
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}
