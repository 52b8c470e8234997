// SPDX-License-Identifier: Apache-2.0
//! Leader election: of several processes of a component only the holder of a Lease works.
//!
//! Unlike client-go's election: the Lease is not renewed. It is free when its holder is not registered as a process any
//! more, and the supervisor of processes removes the registration of a process that has ended. So taking over costs one
//! write, and waiting costs none; it does not depend on time.

use std::sync::Arc;

use api::kubernetes::coordination::{Lease, LeaseSpec};
use apimachinery::meta::{MicroTime, ObjectMeta};
use futures::future::BoxFuture;
use process::{Context, Exit, watch};

use crate::{Api, ListOptions, Reflector, Store};

/// Field `leaseDurationSeconds` of the Lease.
const DURATION: i32 = 15;

/// The Lease of the working process, and the registrations of all processes of the component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Election {
    /// Cluster of the Lease.
    pub cluster: String,
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease.
    pub name: String,
    /// Cluster of the registrations, which are Leases, too: the holder of each is the name of a process.
    pub registry: String,
    /// Namespace of the registrations.
    pub registrations: String,
    /// Label selector of the component's registrations.
    pub selector: String,
}

/// Proof that this process holds the Lease.
#[derive(Debug)]
pub struct Leadership {
    election: Election,
    leases: Store<Lease>,
    changes: watch::Receiver<u64>,
    me: String,
}

impl Leadership {
    /// Waits until this process holds the Lease.
    pub fn acquire(context: &Context, election: Election) -> BoxFuture<'_, Self> {
        Box::pin(async move {
            let (counter, changes) = watch::channel(0_u64);
            let counter = Arc::new(counter);
            let count = || {
                let counter = counter.clone();
                move || counter.send_modify(|count| *count += 1)
            };
            let api = Api::<Lease>::namespaced(context, &election.cluster, &election.namespace);
            let selection = ListOptions::with_field(&format!("metadata.name={}", election.name));
            let told = count();
            let leases = Reflector::new(api.clone(), selection).on_change(move |_| told()).start();
            let registered = Api::<Lease>::namespaced(context, &election.registry, &election.registrations);
            let told = count();
            let selection = ListOptions::labelled(&election.selector);
            let registered = Reflector::new(registered, selection).on_change(move |_| told()).start();
            futures::future::join(leases.synced(), registered.synced()).await;
            let me = context.identity.instance.to_string();
            tracing::info!(lease = election.name, "attempting to acquire leader lease");
            let mut leadership = Self { election, leases, changes, me };
            while !leadership.take(context, &api, &registered).await {
                // Wait until the other replica's write is visible.
                if leadership.changes.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
            tracing::info!(lease = leadership.election.name, "successfully acquired lease");
            leadership
        })
    }

    fn held(&self) -> Option<Arc<Lease>> {
        self.leases.find(&self.election.namespace, &self.election.name)
    }

    /// Takes the Lease if it is free; returns true if this process holds it.
    async fn take(&self, context: &Context, api: &Api<Lease>, registered: &Store<Lease>) -> bool {
        let held = self.held();
        let holder = held.as_ref().and_then(|lease| lease.spec.holder_identity.as_deref()).unwrap_or_default();
        let lives = || {
            let registered = registered.list_in(&self.election.registry, &self.election.registrations);
            registered.iter().any(|lease| lease.spec.holder_identity.as_deref() == Some(holder))
        };
        if holder == self.me || (!holder.is_empty() && lives()) {
            return holder == self.me;
        }
        let mut lease = Lease {
            metadata: ObjectMeta::named(&self.election.namespace, &self.election.name),
            spec: LeaseSpec {
                holder_identity: Some(self.me.clone()),
                lease_duration_seconds: Some(DURATION),
                acquire_time: Some(MicroTime(context.clock.now())),
                lease_transitions: Some(0),
                ..LeaseSpec::default()
            },
        };
        let taken = match &held {
            None => api.create(&lease).await,
            Some(held) => {
                lease.metadata = held.metadata.clone();
                lease.spec.lease_transitions = Some(held.spec.lease_transitions.unwrap_or_default() + 1);
                api.update(held, &lease).await
            }
        };
        taken.inspect_err(|error| tracing::debug!(lease = self.election.name, %error, "cannot take the Lease")).is_ok()
    }

    /// Resolves when another process has taken the Lease.
    pub async fn lost(mut self) {
        let mut is_seen = false;
        loop {
            let held = self.held();
            let holder = held.as_ref().and_then(|lease| lease.spec.holder_identity.as_deref());
            if holder == Some(&self.me) {
                is_seen = true;
            } else if is_seen {
                return;
            }
            if self.changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Waits until this process holds the Lease, then runs the future of `led`. Ends with exit code 1 when another process
/// has taken the Lease.
pub async fn run<F: Future<Output = Exit>>(context: Context, election: Election, led: impl FnOnce() -> F) -> Exit {
    let shutdown = context.tasks.shutdown();
    let leadership = tokio::select! {
        biased;
        () = shutdown.requested() => return Exit::default(),
        leadership = Leadership::acquire(&context, election) => leadership,
    };
    tokio::select! {
        biased;
        exit = led() => exit,
        () = leadership.lost() => Exit { code: 1, last_line: "leader election lost".to_owned() },
    }
}
