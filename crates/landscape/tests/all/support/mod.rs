// SPDX-License-Identifier: Apache-2.0
//! A landscape whose every change is audited, and the scenario of most tests.

use std::ops::RangeInclusive;
use std::sync::Arc;

use api::core::{Seed, Shoot};
use api::kubernetes::core::{Event, Node, Pod};
use api::kubernetes::policy::PodDisruptionBudget;
use api::machine::{Machine, MachineDeployment};
use api::terrarium::{Fault, FaultSpec};
use apimachinery::meta::ObjectMeta;
use chrono::{DateTime, TimeDelta, Utc};
use controller::{Api, Error, ListOptions};
use domain::skew::GardenerVersion;
use domain::validation::shoot::Gates;
use eventlog::{Entry, EventLog, Revision};
use landscape::{Landscape, Options, preset, wait};
use process::Context;
use serde::de::DeserializeOwned;
use testkit::{Auditor, Observed};

pub(crate) fn instant(text: &str) -> DateTime<Utc> {
    text.parse().expect("an instant")
}

/// Thursday evening: four hours before 1.26.4 expires.
pub(crate) fn evening() -> DateTime<Utc> {
    instant("2023-07-27T20:00:00Z")
}

/// Seeds of the worlds of a test, `20` (1 to 20) or `17-17`, from an environment variable.
pub(crate) fn seeds_of(variable: &str, default: &str) -> RangeInclusive<u64> {
    #[expect(clippy::disallowed_methods, reason = "how long a test runs is decided outside of it")]
    let wanted = std::env::var(variable).unwrap_or_else(|_| default.to_owned());
    let (first, last) = wanted.split_once('-').unwrap_or(("1", &wanted));
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{variable}={wanted}: use 20 or 17-17"));
    number(first)..=number(last)
}

/// A landscape and its auditor.
pub(crate) struct Audited {
    pub(crate) landscape: Landscape,
    pub(crate) admin: Context,
    auditor: Auditor,
    seen: Revision,
    at: Option<DateTime<Utc>>,
}

impl Audited {
    pub(crate) fn start(options: Options) -> Self {
        let landscape = Landscape::start(options).expect("a landscape that starts");
        let admin = landscape.client("admin");
        let mut audited = Self { landscape, admin, auditor: Auditor::new(), seen: Revision(0), at: None };
        audited.audit();
        audited
    }

    /// A landscape of a release of Gardener, with the demo's CloudProfile and Project.
    pub(crate) fn of_release(version: &str) -> Self {
        let release = GardenerVersion::parse(version).expect("a version");
        let gates = Gates::of_release(&release);
        let mut audited =
            Self::start(Options { gardener_version: version.to_owned(), gates, ..Options::new(1, evening()) });
        let admin = audited.admin.clone();
        audited.until_done("2023-07-27T20:01:00Z", preset::create(&admin));
        audited
    }

    /// Creates a Shoot of the demo's Project, and waits until it has been created.
    pub(crate) fn create(&mut self, shoot: &Shoot) {
        let api = Api::<Shoot>::namespaced(&self.admin, "garden", preset::NAMESPACE);
        self.run(api.create(shoot)).expect("the Shoot is valid");
        let created = wait::for_object(&api, &shoot.metadata.name, |shoot| is(shoot, "Create", "Succeeded"));
        self.until_done("2023-07-27T21:00:00Z", created);
    }

    /// Runs a request.
    #[track_caller]
    pub(crate) fn run<T>(&mut self, future: impl Future<Output = T>) -> T {
        let result = self.landscape.run(future).unwrap_or_else(|failure| panic!("{failure}"));
        self.audit();
        result
    }

    /// Runs until the future is done; panics if it is not done at `limit`.
    #[track_caller]
    pub(crate) fn until_done<T>(&mut self, limit: &str, future: impl Future<Output = Result<T, Error>>) -> T {
        let done = self.landscape.run_until_done(instant(limit), future);
        let done = done.unwrap_or_else(|failure| panic!("{failure}"));
        self.audit();
        match done {
            Some(Ok(result)) => result,
            Some(Err(error)) => panic!("{error}"),
            None => panic!("not done at {limit}\n{}", self.tail(40)),
        }
    }

    /// Advances time to an instant.
    #[track_caller]
    pub(crate) fn until(&mut self, limit: &str) {
        self.landscape.run_until(instant(limit)).unwrap_or_else(|failure| panic!("{failure}"));
        self.audit();
    }

    /// Advances time from instant to instant until a condition holds; returns that instant.
    #[track_caller]
    pub(crate) fn until_it_holds(
        &mut self,
        limit: TimeDelta,
        what: &str,
        mut holds: impl FnMut(&mut Self) -> bool,
    ) -> DateTime<Utc> {
        let end = self.landscape.now() + limit;
        loop {
            self.landscape.settle().expect("it settles");
            if holds(self) {
                return self.landscape.now();
            }
            let next = self.landscape.next_timer().filter(|next| *next <= end);
            let next = next.unwrap_or_else(|| panic!("not within {limit}: {what}\n{}", self.tail(60)));
            self.until(&next.to_rfc3339());
        }
    }

    /// Creates a fault that is named after its kind.
    #[track_caller]
    pub(crate) fn inject(&mut self, kind: &str, change: impl FnOnce(&mut FaultSpec)) {
        let mut fault = Fault { metadata: ObjectMeta::named("", kind), ..Fault::default() };
        kind.clone_into(&mut fault.spec.kind);
        change(&mut fault.spec);
        let admin = self.admin.clone();
        self.run(Api::all(&admin, "runtime").create(&fault)).expect("the fault is created");
    }

    /// Announces that machines are deleted, or nodes selected, by hand: until all run again, there may be fewer.
    pub(crate) fn disturb(&mut self) {
        self.auditor.disturb();
    }

    fn audit(&mut self) {
        let head = self.landscape.log().head();
        let entries = self.landscape.run(self.landscape.log().read(self.seen, head, None));
        for entry in entries.expect("no failure").expect("retained") {
            if self.at.is_some_and(|at| at != entry.time) {
                self.auditor.end_of_step();
            }
            self.at = Some(entry.time);
            observe(&mut self.auditor, &entry);
        }
        self.auditor.end_of_step();
        self.seen = head;
        self.auditor.assert_clean();
    }

    /// All entries of the log.
    pub(crate) fn entries(&self) -> Vec<Arc<Entry>> {
        let log = self.landscape.log();
        self.landscape.run(log.read(Revision(0), log.head(), None)).expect("no failure").expect("retained")
    }

    /// The last entries, for error messages.
    pub(crate) fn tail(&self, count: u64) -> String {
        let head = self.landscape.log().head();
        let from = Revision(head.0.saturating_sub(count));
        let entries = self.landscape.run(self.landscape.log().read(from, head, None)).expect("no failure");
        let mut lines = Vec::new();
        for entry in entries.expect("retained") {
            let Entry { revision, key, verb, time, actor, .. } = &*entry;
            lines.push(format!("{revision} {} {verb:?} {key} by {}", time.format("%m-%d %T"), actor.user));
        }
        lines.extend(self.landscape.lines().iter().rev().take(20).map(|line| format!("{line:?}")));
        lines.join("\n")
    }

    pub(crate) fn shoot(&mut self, name: &str) -> Shoot {
        let api = Api::<Shoot>::namespaced(&self.admin, "garden", preset::NAMESPACE);
        self.run(api.get(name)).expect("the Shoot exists")
    }

    pub(crate) fn nodes(&mut self, name: &str) -> Vec<Node> {
        let api = Api::<Node>::all(&self.admin, &format!("shoot--demo--{name}"));
        self.run(api.list(&ListOptions::default())).expect("the Shoot has nodes").0
    }

    /// Reasons and messages of the Events about a Shoot, in the order of their names.
    pub(crate) fn events(&mut self, name: &str) -> Vec<(String, String)> {
        let api = Api::<Event>::namespaced(&self.admin, "garden", preset::NAMESPACE);
        let selector = format!("involvedObject.name={name},involvedObject.kind=Shoot");
        let events = self.run(api.list(&ListOptions::with_field(&selector))).expect("Events").0;
        events.into_iter().map(|event| (event.reason, event.message)).collect()
    }

    /// Creates CloudProfile, Project and a Shoot, and waits until the Shoot was created.
    #[track_caller]
    pub(crate) fn create_shoot(&mut self, name: &str) -> Shoot {
        let admin = self.admin.clone();
        self.until_done("2023-07-27T20:01:00Z", preset::create(&admin));
        let api = Api::<Shoot>::namespaced(&admin, "garden", preset::NAMESPACE);
        self.run(api.create(&preset::shoot(name))).expect("the Shoot is valid");
        self.until_done("2023-07-27T21:00:00Z", wait::for_object(&api, name, |shoot| is(shoot, "Create", "Succeeded")))
    }
}

/// True if the last operation has this type and state.
pub(crate) fn is(shoot: &Shoot, type_: &str, state: &str) -> bool {
    shoot.status.last_operation.as_ref().is_some_and(|operation| operation.r#type == type_ && operation.state == state)
}

fn observe(auditor: &mut Auditor, entry: &Entry) {
    let deleted = entry.verb == eventlog::Verb::Delete;
    let (revision, cluster) = (entry.revision.0, &*entry.key.cluster);
    auditor.made(entry.time, &entry.actor.user);
    let mut told = |object: Observed<'_>| auditor.observe(revision, cluster, object, deleted);
    match &*entry.key.resource {
        "core.gardener.cloud/shoots" => told(Observed::Shoot(&typed::<Shoot>(entry))),
        "core.gardener.cloud/seeds" => told(Observed::Seed(&typed::<Seed>(entry))),
        "machine.sapcloud.io/machinedeployments" => {
            told(Observed::MachineDeployment(&typed::<MachineDeployment>(entry)));
        }
        "machine.sapcloud.io/machines" => told(Observed::Machine(&typed::<Machine>(entry))),
        "/nodes" => told(Observed::Node(&typed::<Node>(entry))),
        "/pods" => told(Observed::Pod(&typed::<Pod>(entry))),
        "policy/poddisruptionbudgets" => told(Observed::Budget(&typed::<PodDisruptionBudget>(entry))),
        _ => told(Observed::Other),
    }
}

fn typed<K: DeserializeOwned>(entry: &Entry) -> K {
    let bytes = entry.object.parts.concat();
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", entry.key))
}

/// Outcome of the scenario of a force-updated Shoot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Story {
    /// Time of the maintenance run.
    pub(crate) maintained: DateTime<Utc>,
    /// Kubernetes and image version of the nodes at the end.
    pub(crate) nodes: Vec<(String, String)>,
    /// Reasons and messages of the maintenance Events.
    pub(crate) events: Vec<(String, String)>,
    /// Hash of the canonical log at the end.
    pub(crate) hash: String,
}

/// A Shoot is created in the evening, its version expires at midnight, and the next window forces an update.
#[track_caller]
pub(crate) fn force_update(options: Options) -> (Audited, Story) {
    let mut audited = Audited::start(options);
    let admin = audited.admin.clone();
    audited.create_shoot("local");
    let api = Api::<Shoot>::namespaced(&admin, "garden", preset::NAMESPACE);
    let maintained = audited.until_done(
        "2023-07-28T10:00:00Z",
        wait::for_object(&api, "local", |shoot| shoot.status.last_maintenance.is_some()),
    );
    let maintained = maintained.status.last_maintenance.expect("waited for").triggered_time.0;
    let deadline = (maintained + TimeDelta::hours(1)).to_rfc3339();
    audited.until_done(
        &deadline,
        wait::for_object(&api, "local", |shoot| {
            is(shoot, "Reconcile", "Succeeded") && shoot.status.observed_generation == shoot.metadata.generation
        }),
    );
    let nodes = audited.nodes("local").into_iter().map(|node| {
        let info = node.status.node_info;
        (info.kubelet_version, info.os_image)
    });
    let nodes = nodes.collect();
    let events = audited.events("local").into_iter().filter(|(reason, _)| reason.ends_with("Maintenance")).collect();
    let hash = audited.landscape.canonical_hash();
    (audited, Story { maintained, nodes, events, hash })
}
