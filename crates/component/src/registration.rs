// SPDX-License-Identifier: Apache-2.0
//! Registration of a process before it is ready: it is judged against the running processes.
//!
//! | found | it |
//! | --- | --- |
//! | its version may run alongside the others | creates its Lease (`domain::skew::registration`) and starts |
//! | it may not | reports that in an Event and as its last line, and ends with exit code 3; without enforcement ([`Policy`]), it reports it and starts |
//! | no gardener-apiserver, which it needs | waits for one, at most [`TIMEOUT`]; then exit code 1 |
//! | another writer, or no answer | tries again, with pauses, about as long; then exit code 1 |
//!
//! The host judges the Lease once more, guarded; a process that is refused there reads the running instances again.
//!
//! provider-local is built with the extensions library of its own version: it is compared with the oldest gardenlet of the
//! landscape (rule E1). A Seed without a running gardenlet counts with the version that reconciled it last.

use api::cluster;
use api::constants::{annotation, namespace};
use api::core::Seed;
use api::kubernetes::coordination::Lease;
use api::kubernetes::core::Namespace;
use api::operator::Garden;
use apimachinery::meta::ObjectMeta;
use chrono::{DateTime, TimeDelta, Utc};
use clock::TimerClass;
use controller::{Api, Error, ListOptions};
use domain::profile::Profile;
use domain::skew::enforcement::Enforcement;
use domain::skew::registration::{self, Policy, Registered};
use domain::skew::start_up::{Candidate, Decision, Refused, allowed_downgrade, decide, judge, refusal_line};
use domain::skew::{Component, Instance, high_water, lease, library};
use process::attempts::Attempts;
use process::{Context, Exit};

use crate::skew_event::{self, About};

/// Wall time for which a process waits for a gardener-apiserver.
pub const TIMEOUT: TimeDelta = TimeDelta::seconds(30);
/// Maximum number of further attempts of a process that the host refused although its own check passed.
const ATTEMPTS: u32 = 5;
/// Exit code of a process that must not run alongside the running ones.
const REFUSED: u8 = 3;

/// Registers a process; `now` is landscape time. Returns the enforcement of the rules.
///
/// # Errors
/// The exit of the process.
pub async fn register(
    context: &Context,
    me: &Registered<'_>,
    profile: Profile,
    now: DateTime<Utc>,
) -> Result<Enforcement, Exit> {
    enter(context, me, profile, None, now).await
}

/// Registers gardener-operator, like [`register`]: its version is compared with the one that last operated the
/// Garden, on every replica, before any of them leads. `looks_ahead`: also with components that its
/// gardener-apiserver would leave behind.
pub async fn register_operator(
    context: &Context,
    me: &Registered<'_>,
    profile: Profile,
    looks_ahead: bool,
    now: DateTime<Utc>,
) -> Result<Enforcement, Exit> {
    enter(context, me, profile, Some(looks_ahead), now).await
}

/// Returns the version that last operated the Garden.
async fn operated(context: &Context) -> Result<Option<String>, Exit> {
    let gardens = Api::<Garden>::all(context, cluster::RUNTIME).list(&ListOptions::default()).await;
    let failed = |text: String| Exit { code: 1, last_line: format!("failed verifying Gardener version: {text}") };
    match gardens {
        Err(error) => Err(failed(format!("failed listing Gardens: {error}"))),
        Ok((gardens, _)) if gardens.len() > 1 => {
            Err(failed(format!("expected at most one Garden but got {}", gardens.len())))
        }
        Ok((gardens, _)) => Ok(gardens.into_iter().next().and_then(|garden| Some(garden.status.gardener?.version))),
    }
}

/// Registers a process. `operator`: true if an operator looks ahead; `None`: another component.
async fn enter(
    context: &Context,
    me: &Registered<'_>,
    profile: Profile,
    operator: Option<bool>,
    now: DateTime<Utc>,
) -> Result<Enforcement, Exit> {
    let leases = Api::<Lease>::namespaced(context, cluster::GARDEN, namespace::INSTANCES);
    let limit = context.wall.now() + TIMEOUT;
    let mut attempts = Attempts::on(context.wall.clone());
    let mut refusals = 0;
    let mut published: Option<Refused> = None;
    loop {
        let (all, version) = match leases.list(&ListOptions::default()).await {
            Ok(listed) => listed,
            Err(error) if error.is_passing() && attempts.again().await => continue,
            Err(error) => return Err(failed(&error)),
        };
        let policy = policy(context, profile).await;
        let enforcement = policy.enforcement;
        if let Some(instance) = me.instance() {
            let mut landscape = lease::landscape(all.iter().map(|lease| &lease.metadata), &me.name());
            if instance.component == Component::Extension {
                // Without a gardener-apiserver no Seeds can be read: then the registry alone decides.
                let seeds = Api::<Seed>::all(context, cluster::GARDEN).list(&ListOptions::default()).await;
                let seeds = seeds.map(|(seeds, _)| seeds).unwrap_or_default();
                landscape.instances = library::gardenlets(&landscape, &seeds);
            }
            landscape.high_water_marks = policy.high_water_marks;
            landscape.allows_downgrades = policy.allows_downgrades;
            if operator.is_some() {
                landscape.garden = operated(context).await?;
            }
            let looks_ahead = operator.unwrap_or_default();
            let candidate = Candidate { instance: instance.clone(), previous: None, looks_ahead };
            // Where no start is refused, upstream's components are checked, too.
            let decision = match enforcement {
                Enforcement::Warn => judge(&landscape, &candidate, profile),
                Enforcement::Enforce | Enforcement::Off => decide(&landscape, &candidate, profile),
            };
            match decision {
                Decision::Starts => {
                    if let Some(allowed) = allowed_downgrade(&landscape, &candidate, profile)
                        && published.replace(allowed.clone()).as_ref() != Some(&allowed)
                    {
                        warn(context, me, &allowed, now).await;
                    }
                }
                Decision::Waits if !profile.checks_every_start() => {}
                Decision::Waits => {
                    change(context, &leases, &version, limit, &mut attempts).await?;
                    continue;
                }
                Decision::Refused(refused) if enforcement.lets_start(instance.component, refused.rule) => {
                    if enforcement == Enforcement::Warn && published.as_ref() != Some(&refused) {
                        warn(context, me, &refused, now).await;
                        published = Some(refused);
                    }
                }
                Decision::Refused(refused) => {
                    let exit = refuse(context, me, &instance, &refused, now).await;
                    // Upstream's operator ends with the exit code of any other error.
                    let code = if profile.checks_every_start() { exit.code } else { 1 };
                    return Err(Exit { code, ..exit });
                }
            }
        }
        match create(&leases, me.lease(now)).await {
            Ok(()) => {
                if let Some(instance) = me.instance() {
                    raise(context, &instance).await;
                }
                return Ok(enforcement);
            }
            // The next list may be the one that the host has judged.
            Err(error) if error.reason() == "Forbidden" && refusals < ATTEMPTS => refusals += 1,
            Err(error) if error.is_passing() && attempts.again().await => {}
            Err(error) => return Err(failed(&error)),
        }
    }
}

fn namespaces(context: &Context) -> Api<Namespace> {
    Api::all(context, cluster::GARDEN)
}

/// Reads the policy of the rules. A component that may not read it gets the default; the host judges it, which does.
async fn policy(context: &Context, profile: Profile) -> Policy {
    let namespace = namespaces(context).get(namespace::INSTANCES).await.unwrap_or_default();
    registration::policy(&namespace.metadata, profile)
}

/// Records that a version ran, so that it counts after its last instance has ended.
async fn raise(context: &Context, instance: &Instance) {
    let namespaces = namespaces(context);
    for _ in 0..ATTEMPTS {
        let Ok(stored) = namespaces.get(namespace::INSTANCES).await else { return };
        let known = registration::high_water_marks(&stored.metadata);
        let Some(raised) = high_water::raised(&known, instance) else { return };
        let mut new = stored.clone();
        new.metadata.annotations.insert(annotation::HIGH_WATER_MARKS.to_owned(), high_water::write(&raised));
        match namespaces.update(&stored, &new).await {
            // Another process has written at the same time.
            Err(error) if error.is_conflict() => {}
            Err(error) => return tracing::warn!(%error, "cannot record the running version"),
            Ok(_) => return,
        }
    }
}

/// Creates a Lease, or takes over the Lease of an earlier process of the pod.
async fn create(leases: &Api<Lease>, lease: Lease) -> Result<(), Error> {
    match leases.create(&lease).await {
        Err(error) if error.is_already_exists() => {
            let old = leases.get(&lease.metadata.name).await?;
            let metadata = ObjectMeta {
                labels: lease.metadata.labels,
                annotations: lease.metadata.annotations,
                ..old.metadata.clone()
            };
            leases.update(&old, &Lease { metadata, spec: lease.spec }).await.map(drop)
        }
        other => other.map(drop),
    }
}

/// Waits until a Lease changes.
async fn change(
    context: &Context,
    leases: &Api<Lease>,
    version: &str,
    limit: DateTime<Utc>,
    attempts: &mut Attempts,
) -> Result<(), Exit> {
    let nobody = || Exit { code: 1, last_line: "error: no gardener-apiserver runs".to_owned() };
    let mut watch = match leases.watch(&ListOptions::default(), version).await {
        Ok(watch) => watch,
        // The list is read again.
        Err(error) if (error.is_passing() || error.is_expired()) && attempts.again().await => return Ok(()),
        Err(error) => return Err(failed(&error)),
    };
    loop {
        let event = tokio::select! {
            biased;
            event = watch.next() => event,
            () = context.wall.sleep_until(limit, TimerClass::Calendar) => return Err(nobody()),
        };
        match event {
            Some(Ok(controller::WatchEvent::Bookmark(_))) => {}
            _ => return Ok(()),
        }
    }
}

fn failed(error: &Error) -> Exit {
    Exit { code: 1, last_line: format!("error: cannot register: {error}") }
}

/// Warns that a version runs that is not allowed, or not everywhere.
async fn warn(context: &Context, me: &Registered<'_>, refused: &Refused, now: DateTime<Utc>) {
    let Refused { rule, text, .. } = refused;
    tracing::warn!(component = me.component, %rule, "it starts all the same: {text}");
    skew_event::publish(context, &About::of(me), refused, "Start", now).await;
}

async fn refuse(
    context: &Context,
    me: &Registered<'_>,
    instance: &Instance,
    refused: &Refused,
    now: DateTime<Utc>,
) -> Exit {
    skew_event::publish(context, &About::of(me), refused, "Start", now).await;
    Exit { code: REFUSED, last_line: refusal_line(instance, refused) }
}
