// SPDX-License-Identifier: Apache-2.0
//! Events along a landscape's time: marks of notable events, and the number of entries by writer.
//!
//! | mark | source |
//! | --- | --- |
//! | maintenance | a Shoot whose `status.lastMaintenance` ended |
//! | roll-out | a Shoot whose Kubernetes or image versions changed |
//! | upgrade | a Deployment of cluster `runtime` whose image has another tag |
//! | fault | a Fault that was created or cleared |
//! | life cycle | a CloudProfile whose versions changed |
//!
//! In addition it has the last changes of each control plane's Machines, and the lifetimes of Shoots and CloudProfiles.
//!
//! The log is read once, and new entries on each request; only a part of a long log is read at once, and the rest in the
//! background.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use api::machine::Machine;
use chrono::{DateTime, Utc};
use eventlog::{Entry, EventLog, Key, Revision, Verb};
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

use super::aside::{Reading, aside};
use super::moment::{self, Moment, NoMoment};
use super::{resource, rows};
use crate::history::entry::tree;

/// Number of revisions in one read.
const PIECE: u64 = 1024;
/// Maximum number of revisions that one request reads.
pub const AT_ONCE: u64 = 32_768;

/// Subject of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A maintenance ended.
    Maintenance,
    /// Versions of a Shoot changed.
    RollOut,
    /// A component of Gardener changes its version.
    Upgrade,
    /// A fault was created or cleared.
    Fault,
    /// Versions of a CloudProfile changed.
    LifeCycle,
}

impl Subject {
    /// Name of the subject.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Maintenance => "maintenance",
            Self::RollOut => "roll-out",
            Self::Upgrade => "upgrade",
            Self::Fault => "fault",
            Self::LifeCycle => "life cycle",
        }
    }
}

/// A notable event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Moment of the event.
    pub moment: Moment,
    /// Kind of the event.
    pub subject: Subject,
    /// Object of the event. A caller shows it only to users who may list its collection.
    pub key: Key,
    /// Sentence without its full stop.
    pub text: String,
}

/// Entries of one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Instant {
    last: Revision,
    /// Number of entries by the component or user that wrote them.
    actors: BTreeMap<Arc<str>, u32>,
}

/// A change of a Machine, with its state before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineChange {
    /// Moment of the change.
    pub moment: Moment,
    /// Name of the Machine.
    pub name: Arc<str>,
    /// Name of its class, and its phase, before the change; `None`: it did not exist.
    pub before: Option<ClassAndPhase>,
}

/// Lifetime of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Life {
    /// Moment of its creation; `None`: before the known history.
    pub begin: Option<Moment>,
    /// Moment of its deletion; `None`: it exists.
    pub end: Option<Moment>,
}

/// Name of a Machine's class, and its phase.
type ClassAndPhase = (Arc<str>, Arc<str>);

/// Number of changes of a control plane's Machines that are kept, the last ones; up to twice as many are held.
pub const MACHINE_CHANGES: usize = 2048;

/// Resources whose changes are recorded by object.
const BY_OBJECT: [&str; 3] = [resource::SHOOTS, resource::CLOUD_PROFILES, resource::NAMESPACED_CLOUD_PROFILES];

/// A cluster, and a namespace in it.
type Place = (Arc<str>, Arc<str>);

/// Contents of the part of a log that has been read.
#[derive(Debug, Default)]
struct TimelineState {
    base: Revision,
    upto: Revision,
    instants: BTreeMap<DateTime<Utc>, Instant>,
    marks: Vec<Mark>,
    /// Revisions by changed resource.
    changes: BTreeMap<Arc<str>, Vec<u64>>,
    /// For the resources of [`BY_OBJECT`]: the object's number for each entry of `changes`.
    changed: BTreeMap<Arc<str>, Vec<u32>>,
    /// Numbers of these objects, in the order of their first change.
    numbers: BTreeMap<Key, u32>,
    actors: BTreeSet<Arc<str>>,
    machines: BTreeMap<Place, Vec<MachineChange>>,
    /// Lifetimes of Shoots and CloudProfiles.
    lives: BTreeMap<Key, Vec<Life>>,
}

/// Timeline of a log.
#[derive(Debug)]
pub struct Timeline {
    log: Arc<dyn EventLog>,
    known: Mutex<TimelineState>,
    is_reading: AtomicBool,
}

/// Begin and end of history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Revision up to which history is compacted.
    pub base: Revision,
    /// Revision of the last entry.
    pub head: Revision,
    /// Last revision that has been read.
    pub upto: Revision,
    /// Time of the first retained entry; `None`: there is none.
    pub begin: Option<DateTime<Utc>>,
}

/// Number of entries in a period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    /// Total number.
    pub entries: u64,
    /// Numbers by the component or user that wrote them.
    pub actors: BTreeMap<Arc<str>, u64>,
}

impl Timeline {
    /// Returns the timeline of a log.
    pub fn new(log: Arc<dyn EventLog>) -> Self {
        Self { log, known: Mutex::default(), is_reading: AtomicBool::new(false) }
    }

    /// Reads new entries, at most [`AT_ONCE`] revisions.
    ///
    /// # Errors
    /// The log is closed.
    pub async fn refresh(&self) -> Result<Span, NoMoment> {
        let (base, head) = (moment::base(&*self.log).await?, self.log.head());
        let mut at = self.known().upto.max(base);
        let limit = Revision(head.0.min(at.0.saturating_add(AT_ONCE)));
        while at < limit {
            let end = Revision(limit.0.min(at.0.saturating_add(PIECE)));
            let entries = self.log.read(at, end, None).await?;
            let mut known = self.known();
            // Another request may have read the same entries meanwhile.
            if known.upto.max(base) == at {
                for entry in &entries {
                    known.add(entry);
                }
                known.upto = end;
            }
            at = known.upto.max(end);
        }
        let mut known = self.known();
        known.forget(base);
        let begin = known.instants.first_key_value().map(|(time, _)| *time);
        Ok(Span { base, head, upto: known.upto.max(base), begin })
    }

    /// Reads all new entries in small portions. Does nothing if another task does so already.
    ///
    /// # Errors
    /// The log is closed.
    pub async fn catch_up(&self) -> Result<(), NoMoment> {
        let Some(_reading) = Reading::begin(&self.is_reading) else { return Ok(()) };
        loop {
            let span = self.refresh().await?;
            if span.upto >= span.head {
                return Ok(());
            }
            aside().await;
        }
    }

    fn known(&self) -> MutexGuard<'_, TimelineState> {
        self.known.lock()
    }

    /// Returns the marks in order.
    pub fn marks(&self) -> Vec<Mark> {
        self.known().marks.clone()
    }

    /// Returns the revisions after another at which one of these resources changed, in order, as far as the log has been
    /// read.
    pub fn changes(&self, after: Revision, resources: &[&str]) -> Vec<Revision> {
        let known = self.known();
        let lists = known.changes.iter().filter(|(name, _)| resources.contains(&&***name));
        let mut all: Vec<Revision> = lists
            .flat_map(|(_, list)| list[list.partition_point(|at| *at <= after.0)..].iter().copied().map(Revision))
            .collect();
        all.sort_unstable();
        all
    }

    /// Returns the last changes of a Shoot, CloudProfile or NamespacedCloudProfile up to a revision, the latest first, as
    /// far as the log has been read.
    pub fn changes_of(&self, key: &Key, upto: Revision, count: usize) -> Vec<Revision> {
        let known = self.known();
        let Some(number) = known.numbers.get(key) else { return Vec::new() };
        let lists = known.changes.get(&key.resource).zip(known.changed.get(&key.resource));
        let all = lists.into_iter().flat_map(|(revisions, numbers)| revisions.iter().zip(numbers).rev());
        let own = all.filter(|(at, known)| **at <= upto.0 && *known == number);
        own.take(count).map(|(at, _)| Revision(*at)).collect()
    }

    /// Returns the changes of the Machines in a namespace of a cluster up to a revision, in order: at least the last
    /// [`MACHINE_CHANGES`] of the retained ones.
    pub fn machines(&self, cluster: &str, namespace: &str, upto: Revision) -> Vec<MachineChange> {
        let known = self.known();
        let changes = known.machines.get(&(cluster.into(), namespace.into())).into_iter().flatten();
        changes.take_while(|change| change.moment.revision <= upto).cloned().collect()
    }

    /// Returns the lifetimes of a Shoot, a CloudProfile or a NamespacedCloudProfile, in order, as far as the log has been
    /// read; empty: nothing about it is known.
    pub fn lives(&self, key: &Key) -> Vec<Life> {
        self.known().lives.get(key).cloned().unwrap_or_default()
    }

    /// Returns the components and users that wrote entries.
    pub fn actors(&self) -> Vec<Arc<str>> {
        self.known().actors.iter().cloned().collect()
    }

    /// Divides the time between two instants into parts of equal length, and returns the number of entries in each. The
    /// last part includes the end.
    pub fn density(&self, begin: DateTime<Utc>, end: DateTime<Utc>, parts: usize) -> Vec<Bucket> {
        let mut buckets = vec![Bucket::default(); parts.max(1)];
        let length = (end - begin).num_milliseconds().max(1);
        let known = self.known();
        if begin > end {
            return buckets;
        }
        for (time, instant) in known.instants.range(begin..=end) {
            let from = (*time - begin).num_milliseconds();
            let place = i128::from(from) * i128::try_from(buckets.len()).unwrap_or(1) / i128::from(length);
            let place = usize::try_from(place).unwrap_or_default().min(buckets.len() - 1);
            for (actor, count) in &instant.actors {
                buckets[place].entries += u64::from(*count);
                *buckets[place].actors.entry(actor.clone()).or_default() += u64::from(*count);
            }
        }
        buckets
    }

    /// Returns the last revision at or before an instant, as far as the log has been read.
    pub fn at(&self, time: DateTime<Utc>) -> Option<Revision> {
        self.known().instants.range(..=time).next_back().map(|(_, instant)| instant.last)
    }

    /// Returns the nearest changes of these resources before and after a revision. Resources are named as in keys of the
    /// log; empty: all entries count.
    pub fn neighbours(&self, revision: Revision, resources: &[&str]) -> (Option<Revision>, Option<Revision>) {
        let known = self.known();
        let lists = known.changes.iter().filter(|(name, _)| resources.is_empty() || resources.contains(&&***name));
        let (mut before, mut behind) = (None, None);
        for (_, list) in lists {
            let place = list.partition_point(|at| *at < revision.0);
            before = before.max(place.checked_sub(1).map(|place| list[place]));
            let next = list[place..].iter().copied().find(|at| *at > revision.0);
            behind = [behind, next].into_iter().flatten().min();
        }
        (before.map(Revision), behind.map(Revision))
    }

    /// Returns the nearest changes before and after a revision, like [`Timeline::neighbours`], among those of one Shoot,
    /// CloudProfile or NamespacedCloudProfile and of the Machines in a namespace of a cluster.
    pub fn neighbours_of(
        &self,
        revision: Revision,
        key: &Key,
        machines: Option<(&str, &str)>,
    ) -> (Option<Revision>, Option<Revision>) {
        let known = self.known();
        let (mut before, mut behind) = (None, None);
        let mut take = |at: u64| {
            if at < revision.0 {
                before = before.max(Some(at));
            } else if at > revision.0 {
                behind = [behind, Some(at)].into_iter().flatten().min();
            }
        };
        let number = known.numbers.get(key);
        let lists = known.changes.get(&key.resource).zip(known.changed.get(&key.resource));
        if let (Some(number), Some((revisions, numbers))) = (number, lists) {
            let place = revisions.partition_point(|at| *at < revision.0);
            let earlier = numbers[..place].iter().rposition(|known| known == number);
            let later = revisions[place..].iter().zip(&numbers[place..]);
            let later = later.filter(|(at, _)| **at > revision.0).find(|(_, known)| *known == number);
            earlier.map(|at| revisions[at]).into_iter().chain(later.map(|(at, _)| *at)).for_each(&mut take);
        }
        let places = machines.and_then(|(cluster, namespace)| known.machines.get(&(cluster.into(), namespace.into())));
        places.into_iter().flatten().for_each(|change| take(change.moment.revision.0));
        (before.map(Revision), behind.map(Revision))
    }
}

impl TimelineState {
    fn add(&mut self, entry: &Entry) {
        // Heartbeats are not part of the history.
        if entry.volatile {
            return;
        }
        let actor = if entry.actor.component.is_empty() { &entry.actor.user } else { &entry.actor.component };
        if !self.actors.contains(actor) {
            self.actors.insert(actor.clone());
        }
        let instant = self.instants.entry(entry.time).or_default();
        instant.last = entry.revision;
        *instant.actors.entry(actor.clone()).or_default() += 1;
        match self.changes.get_mut(&entry.key.resource) {
            Some(list) => list.push(entry.revision.0),
            None => drop(self.changes.insert(entry.key.resource.clone(), vec![entry.revision.0])),
        }
        if BY_OBJECT.contains(&&*entry.key.resource) {
            let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
            let number = match self.numbers.get(&entry.key) {
                Some(number) => *number,
                None => *self.numbers.entry(entry.key.clone()).or_insert(next),
            };
            match self.changed.get_mut(&entry.key.resource) {
                Some(list) => list.push(number),
                None => drop(self.changed.insert(entry.key.resource.clone(), vec![number])),
            }
        }
        let moment = Moment { revision: entry.revision, time: entry.time };
        match (&*entry.key.resource, entry.verb) {
            (resource::MACHINES, _) => self.machine(entry, moment),
            (
                resource::SHOOTS | resource::CLOUD_PROFILES | resource::NAMESPACED_CLOUD_PROFILES,
                Verb::Create | Verb::Delete,
            ) => {
                let lives = self.lives.entry(entry.key.clone()).or_default();
                live(lives, entry.verb == Verb::Create, moment);
            }
            _ => {}
        }
        let mark = |(subject, text)| Mark { moment, subject, key: entry.key.clone(), text };
        self.marks.extend(marks(entry).into_iter().map(mark));
    }

    fn machine(&mut self, entry: &Entry, moment: Moment) {
        let place = (entry.key.cluster.clone(), entry.key.namespace.clone());
        let changes = self.machines.entry(place).or_default();
        if changes.len() >= 2 * MACHINE_CHANGES {
            changes.drain(..MACHINE_CHANGES);
        }
        // Most texts equal those of the previous change, and are shared.
        let known = changes.last();
        let same = |text: &str, of: fn(&ClassAndPhase) -> &Arc<str>| {
            let known = known.and_then(|change| change.before.as_ref()).map(of).filter(|known| ***known == *text);
            known.cloned().unwrap_or_else(|| text.into())
        };
        let before = entry.previous.as_ref().filter(|_| entry.verb != Verb::Create);
        let before = before.and_then(|(revision, sections)| rows::read::<Machine>((*revision, sections)));
        let before = before.map(|machine| {
            (same(&machine.spec.class.name, |it| &it.0), same(&machine.status.current_status.phase, |it| &it.1))
        });
        changes.push(MachineChange { moment, name: entry.key.name.clone(), before });
    }

    fn forget(&mut self, base: Revision) {
        if self.base == base {
            return;
        }
        self.base = base;
        self.instants.retain(|_, instant| instant.last > base);
        self.marks.retain(|mark| mark.moment.revision > base);
        self.machines.retain(|_, changes| {
            changes.retain(|change| change.moment.revision > base);
            !changes.is_empty()
        });
        for (resource, list) in &mut self.changes {
            let gone = list.partition_point(|revision| *revision <= base.0);
            list.drain(..gone);
            if let Some(numbers) = self.changed.get_mut(resource) {
                numbers.drain(..gone);
            }
        }
        self.lives.retain(|_, lives| {
            lives.retain(|life| life.end.is_none_or(|end| end.revision > base));
            !lives.is_empty()
        });
    }
}

/// Records the creation or deletion of an object.
fn live(lives: &mut Vec<Life>, comes: bool, moment: Moment) {
    match lives.last_mut().filter(|life| life.end.is_none()) {
        _ if comes => lives.push(Life { begin: Some(moment), end: None }),
        Some(life) => life.end = Some(moment),
        None => lives.push(Life { begin: None, end: Some(moment) }),
    }
}

/// Returns the notable events of an entry.
fn marks(entry: &Entry) -> Vec<(Subject, String)> {
    let key = &entry.key;
    let after = || tree(&entry.object, entry.revision.0);
    let before = || entry.previous.as_ref().map(|(at, sections)| tree(sections, at.0)).unwrap_or_default();
    let name = if key.namespace.is_empty() { key.name.to_string() } else { format!("{}/{}", key.namespace, key.name) };
    match (&*key.resource, entry.verb) {
        (resource::SHOOTS, Verb::Update | Verb::UpdateStatus) if is_as_it_was(entry) => Vec::new(),
        (resource::SHOOTS, Verb::Update | Verb::UpdateStatus) => shoot(&name, &before(), &after()),
        (resource::CLOUD_PROFILES | resource::NAMESPACED_CLOUD_PROFILES, Verb::Update) => {
            let versions = |tree: &Value| [tree["spec"]["kubernetes"].clone(), tree["spec"]["machineImages"].clone()];
            let is_changed = versions(&before()) != versions(&after());
            let text = || (Subject::LifeCycle, format!("versions of CloudProfile {name} changed"));
            is_changed.then(text).into_iter().collect()
        }
        ("terrarium.dev/faults", Verb::Create | Verb::Delete) => {
            let kind = after()["spec"]["kind"].as_str().unwrap_or_default().to_owned();
            let verb = if entry.verb == Verb::Create { "injected" } else { "cleared" };
            vec![(Subject::Fault, format!("fault {kind} {verb}"))]
        }
        ("apps/deployments", Verb::Update) if &*key.cluster == api::cluster::RUNTIME => {
            let tag = |tree: &Value| {
                let image = tree["spec"]["template"]["spec"]["containers"][0]["image"].as_str();
                image.and_then(|image| Some(image.rsplit_once(':')?.1.to_owned())).unwrap_or_default()
            };
            let (from, to) = (tag(&before()), tag(&after()));
            if from == to { Vec::new() } else { vec![(Subject::Upgrade, format!("{} {from} → {to}", key.name))] }
        }
        _ => Vec::new(),
    }
}

/// True if an entry of a Shoot changes nothing that marks are about; compared by bytes, since such entries are many.
fn is_as_it_was(entry: &Entry) -> bool {
    let Some((_, before)) = &entry.previous else { return false };
    let maintenance =
        |sections: &eventlog::Sections| member(&sections.parts[4], b"\"lastMaintenance\":").map(<[u8]>::to_vec);
    before.parts[3] == entry.object.parts[3] && maintenance(before) == maintenance(&entry.object)
}

/// Value of a key in JSON if it is an object, with its braces; `None`: there is no such value.
fn member<'a>(json: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let begin = json.windows(key.len()).position(|window| window == key)? + key.len();
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in json[begin..].iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            b'{' if !in_text => depth += 1,
            b'}' if !in_text => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(&json[begin..=begin + at]);
                }
            }
            _ => {}
        }
    }
    None
}

fn shoot(name: &str, before: &Value, after: &Value) -> Vec<(Subject, String)> {
    let mut marks = Vec::new();
    let kubernetes = |tree: &Value| tree["spec"]["kubernetes"]["version"].as_str().unwrap_or_default().to_owned();
    let images = |tree: &Value| -> BTreeMap<String, String> {
        let workers = tree["spec"]["provider"]["workers"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let image = |worker: &Value| {
            let image = &worker["machine"]["image"];
            (text(&worker["name"]), format!("{} {}", text(&image["name"]), text(&image["version"])))
        };
        workers.iter().map(image).collect()
    };
    let (from, to) = (kubernetes(before), kubernetes(after));
    if from != to {
        marks.push((Subject::RollOut, format!("Shoot {name}: Kubernetes {from} → {to}")));
    }
    let (known, now) = (images(before), images(after));
    for (pool, image) in &now {
        if let Some(old) = known.get(pool).filter(|old| *old != image) {
            marks.push((Subject::RollOut, format!("Shoot {name}, worker pool {pool}: {old} → {image}")));
        }
    }
    let last = |tree: &Value| tree["status"]["lastMaintenance"].clone();
    let (was, is) = (last(before), last(after));
    let state = is["state"].as_str().unwrap_or_default();
    if was != is && matches!(state, "Succeeded" | "Failed") {
        let description = is["description"].as_str().unwrap_or_default().trim_end().replace('\n', " ");
        marks.push((Subject::Maintenance, format!("Shoot {name}: maintenance {state}: {description}")));
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_long_log_is_read_in_parts() {
        let log = eventlog::MemoryLog::new();
        for number in 0..AT_ONCE + 10 {
            let append = eventlog::Append {
                key: Key::new("garden", "/configmaps", "default", &format!("c{number}")),
                expect: eventlog::Expect::Absent,
                guards: Vec::new(),
                verb: Verb::Create,
                object: eventlog::Sections::default(),
                volatile: false,
                actor: Arc::default(),
                time: DateTime::UNIX_EPOCH,
                writer: (1, number),
            };
            log.append(append).await.expect("nothing is in its way");
        }
        let timeline = Timeline::new(Arc::new(log));
        let span = timeline.refresh().await.expect("it is open");
        assert_eq!((span.upto.0, span.head.0), (AT_ONCE, AT_ONCE + 10));
        assert_eq!(timeline.changes(Revision(AT_ONCE), &["/configmaps"]), Vec::new(), "they have not been read");
        timeline.catch_up().await.expect("it is open");
        assert_eq!(timeline.changes(Revision(AT_ONCE), &["/configmaps"]).len(), 10);
        assert_eq!(timeline.refresh().await.map(|span| span.upto), Ok(span.head));
    }

    #[tokio::test]
    async fn the_next_change_of_an_object_is_none_of_another() {
        let log = eventlog::MemoryLog::new();
        for (number, (name, resource)) in [
            ("a", resource::SHOOTS),
            ("b", resource::SHOOTS),
            ("c", "/configmaps"),
            ("d", resource::SHOOTS),
            ("m", resource::MACHINES),
            ("e", resource::SHOOTS),
        ]
        .into_iter()
        .enumerate()
        {
            let (cluster, namespace) = if name == "m" { ("seed-x", "shoot--d--a") } else { ("garden", "garden-d") };
            let append = eventlog::Append {
                key: Key::new(cluster, resource, namespace, if name > "c" && name != "m" { "a" } else { name }),
                expect: if name == "d" {
                    eventlog::Expect::Revision(Revision(1))
                } else if name == "e" {
                    eventlog::Expect::Revision(Revision(4))
                } else {
                    eventlog::Expect::Absent
                },
                guards: Vec::new(),
                verb: if matches!(name, "d" | "e") { Verb::Update } else { Verb::Create },
                object: eventlog::Sections {
                    parts: ["{", "", "}", "", "}"].map(|part| bytes::Bytes::from_static(part.as_bytes())),
                },
                volatile: false,
                actor: Arc::default(),
                time: DateTime::UNIX_EPOCH,
                writer: (1, number as u64),
            };
            log.append(append).await.expect("nothing is in its way");
        }
        let log = Arc::new(log);
        let timeline = Timeline::new(log.clone());
        timeline.refresh().await.expect("it is open");
        let key = Key::new("garden", resource::SHOOTS, "garden-d", "a");
        let of = |at: u64, machines| {
            let (before, behind) = timeline.neighbours_of(Revision(at), &key, machines);
            (before.map(|at| at.0), behind.map(|at| at.0))
        };
        assert_eq!(of(2, None), (Some(1), Some(4)));
        assert_eq!(of(1, None), (None, Some(4)));
        assert_eq!(of(4, None), (Some(1), Some(6)));
        assert_eq!(of(4, Some(("seed-x", "shoot--d--a"))), (Some(1), Some(5)));
        assert_eq!(of(6, None), (Some(4), None));
        let last = |upto: u64, count: usize| timeline.changes_of(&key, Revision(upto), count);
        assert_eq!(last(9, 2), [Revision(6), Revision(4)]);
        assert_eq!(last(5, 9), [Revision(4), Revision(1)]);
        log.compact(Revision(1)).await.expect("it is not in the future");
        timeline.refresh().await.expect("it is open");
        assert_eq!(of(4, None), (None, Some(6)), "what is forgotten is no change");
    }

    #[test]
    fn an_object_that_comes_and_goes_has_several_lives() {
        let moment = |revision: u64| Moment { revision: Revision(revision), time: DateTime::UNIX_EPOCH };
        let mut lives = Vec::new();
        for (comes, revision) in [(false, 3), (true, 5), (false, 8), (true, 9)] {
            live(&mut lives, comes, moment(revision));
        }
        let expected = [(None, Some(3)), (Some(5), Some(8)), (Some(9), None)];
        let expected = expected.map(|(begin, end)| Life { begin: begin.map(moment), end: end.map(moment) });
        assert_eq!(lives, expected);
    }

    #[test]
    fn an_object_behind_a_key_ends_with_its_own_brace() {
        let json = br#"{"a":{"x":1},"lastMaintenance":{"description":"a } \" {","more":{"b":2}},"z":{}}"#;
        let found = member(json, b"\"lastMaintenance\":").expect("it is there");
        assert_eq!(found, br#"{"description":"a } \" {","more":{"b":2}}"#);
        assert_eq!(member(json, b"\"none\":"), None);
        assert_eq!(member(br#"{"a":{"b":1"#, b"\"a\":"), None, "it has no end");
    }
}
