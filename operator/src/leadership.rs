// SPDX-License-Identifier: Apache-2.0
//! Which of several operators works: the one that the Lease `garden/gardener-operator-leader-election` of cluster
//! `runtime` names.
//!
//! Unlike upstream: the Lease is not renewed. It is free when its holder is no process that is registered any more
//! (namespace `gardener-system-instances` of the garden), and the host removes the registration of a process that has
//! ended. So taking over costs one write, and waiting costs none.

use std::sync::Arc;

use api::constants::{label, namespace};
use api::kubernetes::coordination::{Lease, LeaseSpec};
use apimachinery::meta::{MicroTime, ObjectMeta};
use controller::{Api, ListOptions, Reflector, Store};
use futures::future::BoxFuture;
use process::Context;
use process::watch;

use crate::{GARDEN, RUNTIME};

const NAME: &str = "gardener-operator-leader-election";
/// Seconds that the Lease says it is held for.
const DURATION: i32 = 15;

/// The Lease is held by this process.
#[derive(Debug)]
pub(crate) struct Leadership {
    leases: Store<Lease>,
    changes: watch::Receiver<u64>,
    me: String,
}

impl Leadership {
    /// Resolves when this process leads.
    pub(crate) fn acquire(context: &Context) -> BoxFuture<'_, Self> {
        Box::pin(async move {
            let (counter, mut changes) = watch::channel(0_u64);
            let counter = Arc::new(counter);
            let count = || {
                let counter = counter.clone();
                move || counter.send_modify(|count| *count += 1)
            };
            let api = Api::<Lease>::namespaced(context, RUNTIME, namespace::GARDEN);
            let selection = ListOptions::with_field(&format!("metadata.name={NAME}"));
            let told = count();
            let leases = Reflector::new(api.clone(), selection).on_change(move |_| told()).start();
            let instances = Api::<Lease>::namespaced(context, GARDEN, namespace::INSTANCES);
            let selection = ListOptions::labelled(&format!("{}={}", label::COMPONENT, context.identity.component));
            let told = count();
            let instances = Reflector::new(instances, selection).on_change(move |_| told()).start();
            futures::future::join(leases.synced(), instances.synced()).await;
            let me = context.identity.instance.to_string();
            tracing::info!(lease = NAME, "attempting to acquire leader lease");
            loop {
                let held = leases.find(namespace::GARDEN, NAME);
                let holder = held.as_ref().and_then(|lease| lease.spec.holder_identity.as_deref()).unwrap_or_default();
                let lives =
                    |pod: &str| instances.list().iter().any(|lease| lease.spec.holder_identity.as_deref() == Some(pod));
                if holder == me {
                    break;
                }
                if holder.is_empty() || !lives(holder) {
                    let mut lease = Lease {
                        metadata: ObjectMeta::named(namespace::GARDEN, NAME),
                        spec: LeaseSpec {
                            holder_identity: Some(me.clone()),
                            lease_duration_seconds: Some(DURATION),
                            acquire_time: Some(MicroTime(context.clock.now())),
                            ..LeaseSpec::default()
                        },
                    };
                    let taken = match &held {
                        None => {
                            lease.spec.lease_transitions = Some(0);
                            api.create(&lease).await
                        }
                        Some(held) => {
                            lease.metadata = held.metadata.clone();
                            lease.spec.lease_transitions = Some(held.spec.lease_transitions.unwrap_or_default() + 1);
                            api.update(held, &lease).await
                        }
                    };
                    match taken {
                        Ok(_) => break,
                        Err(error) => tracing::debug!(lease = NAME, %error, "cannot take the Lease"),
                    }
                }
                // Whoever was faster is seen.
                if changes.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
            tracing::info!(lease = NAME, "successfully acquired lease");
            Self { leases, changes, me }
        })
    }

    /// Resolves when another process has taken the Lease.
    pub(crate) async fn lost(mut self) {
        let mut is_seen = false;
        loop {
            let held = self.leases.find(namespace::GARDEN, NAME);
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
