// SPDX-License-Identifier: Apache-2.0
//! Check of a running process against the versions of the others, whenever the registry of instances changes.
//!
//! | found | it |
//! | --- | --- |
//! | it has become illegal | reports that in its log, to its kubelet (its pod is not ready) and in an Event, and starts no new work ([`process::Tasks::pause`]) |
//! | it is legal again | reports that once, is ready, and continues with the work that waited |
//!
//! If the rules only warn, it reports the violation in its log and in an Event, and continues.
//!
//! Work in progress is completed; its Leases and heartbeats go on. A process that cannot read the registry uses the
//! state that it read last.
//!
//! Source: spec of the emulator; upstream checks at the start only, if at all.

use api::cluster;
use api::constants::namespace;
use api::kubernetes::coordination::Lease;
use clock::Clock;
use controller::{Api, ListOptions, Reflector};
use domain::profile::Profile;
use domain::skew::enforcement::Enforcement;
use domain::skew::registration::Registered;
use domain::skew::start_up::Refused;
use domain::skew::{Instance, lease, running};
use process::child::Unready;
use process::watch;
use process::{ChildMessage, Context};

use crate::skew_event::{self, About};

/// Reason of the pod's conditions.
const REASON: &str = "VersionSkew";

/// Checks from now on, on a task of the context; `time` is landscape time.
pub fn follow(context: &Context, me: &Registered<'_>, profile: Profile, enforcement: Enforcement, time: Clock) {
    let looks = profile.checks_while_running() && enforcement != Enforcement::Off;
    let Some(instance) = me.instance().filter(|_| looks) else { return };
    let waits = enforcement == Enforcement::Enforce;
    let own = OwnInstance {
        context: context.clone(),
        about: About::of(me),
        lease: me.name(),
        instance,
        profile,
        waits,
        time,
    };
    context.tasks.spawn(own.follow());
}

struct OwnInstance {
    context: Context,
    about: About,
    lease: String,
    instance: Instance,
    profile: Profile,
    /// True if the component waits while its version is illegal.
    waits: bool,
    time: Clock,
}

impl OwnInstance {
    async fn follow(self) {
        let api = Api::<Lease>::namespaced(&self.context, cluster::GARDEN, namespace::INSTANCES);
        let (changed, mut changes) = watch::channel(());
        let leases =
            Reflector::new(api, ListOptions::default()).on_change(move |_| changed.send_modify(|()| {})).start();
        leases.synced().await;
        let mut known: Option<Refused> = None;
        loop {
            let all = leases.list();
            let others = lease::landscape(all.iter().map(|lease| &lease.metadata), &self.lease);
            let found = running::violation(&others, &self.instance, self.profile);
            if found != known {
                self.act(found.as_ref()).await;
                known = found;
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    async fn act(&self, found: Option<&Refused>) {
        let component = self.instance.component.name();
        let Some(refused) = found else {
            tracing::info!(component, "its version may run alongside the others again");
            if self.waits {
                self.context.output.state(ChildMessage::Unready(None));
                self.context.tasks.pause(false);
            }
            return;
        };
        let Refused { rule, text, .. } = refused;
        if self.waits {
            self.context.tasks.pause(true);
            tracing::warn!(component, %rule, "its version must not run alongside the others any more, it waits: {text}");
            let unready = Unready { reason: REASON.to_owned(), message: text.clone() };
            self.context.output.state(ChildMessage::Unready(Some(unready)));
        } else {
            tracing::warn!(component, %rule, "its version must not run alongside the others any more: {text}");
        }
        skew_event::publish(&self.context, &self.about, refused, "Run", self.time.now()).await;
    }
}
