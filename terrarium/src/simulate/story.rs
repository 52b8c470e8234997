// SPDX-License-Identifier: Apache-2.0
//! Lines about the events of a run, as seen by a client that watches the API: none of them comes from a plan.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use api::constants::{operation_state, operation_type};
use api::core::{CloudProfile, LastOperation, Shoot};
use api::kubernetes::core::{Event, Node};
use api::machine::Machine;
use apimachinery::Object;
use apimachinery::meta::ObjectMeta;
use chrono::{DateTime, Utc};
use clock::Clock;
use controller::{Api, Change, ListOptions, Reflector, Store};
use domain::release::NEWEST;
use domain::versions::{Expirable, Moment, State, Version};
use parking_lot::Mutex;
use process::Context;
use serde::Serialize;

use super::layout;
use ops::history::actions::{self, ChangedObject};
use ops::history::changes;
use ops::spelling::plural;

/// Minimum increase of an operation's progress that is printed; changes of its state are always printed.
const PROGRESS_STEP: i32 = 20;

/// Prefixes of Event reasons that repeat the last operation.
const SILENT_EVENTS: &[&str] = &["Reconciling", "Reconciled", "Prepared", "Deleting", "Deleted"];

/// One line of the output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Line {
    /// Landscape time of the event.
    pub(crate) time: DateTime<Utc>,
    /// Object, for example `Shoot garden-demo/local`; empty for a continuation of the line above.
    pub(crate) object: String,
    /// Subject of the line: a reason, an operation, or a name.
    pub(crate) subject: String,
    /// Text of the line.
    pub(crate) text: String,
    /// True if the text is a quotation below another line.
    #[serde(skip)]
    pub(crate) is_quote: bool,
    /// Kind of the event, for counts.
    #[serde(skip)]
    pub(crate) what: What,
}

/// Kind of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum What {
    /// Event of another kind.
    #[default]
    Other,
    /// An operation of a Shoot reached this state.
    Operation { kind: String, state: String },
    /// A maintenance run reached this state.
    Maintenance { state: String },
    /// A maintenance run changed nothing.
    NothingToDo,
    /// An Event, with its reason.
    Event { reason: String, is_warning: bool },
    /// A node of a previously created Shoot was added, deleted or updated in place.
    Node(NodeLife),
    /// An action on a machine of a Shoot failed.
    MachineFailed,
    /// The object was deleted.
    Gone,
}

/// Change of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeLife {
    Came,
    /// Updated in place: another operating system, or another minor of its kubelet.
    Updated,
    /// The kubelet runs with another patch version.
    Restarted,
    Recovered,
    Went,
}

impl Line {
    /// Formats the line.
    pub(crate) fn render(&self) -> String {
        if self.is_quote {
            layout::quoted(&self.text)
        } else if self.subject.is_empty() {
            layout::below(&self.text)
        } else {
            layout::line(self.time, &self.subject, &self.text)
        }
    }
}

/// A running story. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    state: Arc<Mutex<StoryState>>,
    clock: Clock,
    /// True if lines name their Shoot, which is required for several Shoots.
    names_shoots: bool,
    /// Namespaces and names of the Shoots whose events are printed; None: all Shoots, and Events about any object.
    shoots: Option<Arc<Vec<String>>>,
    /// Watched Shoots; None in the handlers of the watches.
    watched: Option<Store<Shoot>>,
}

#[derive(Debug, Default)]
struct StoryState {
    lines: Vec<Line>,
    /// Instant from which on new objects are events; None: from the first list on.
    begin: Option<DateTime<Utc>>,
    /// True while the Shoots have not been listed since the begin: those that are found existed before.
    is_unread: bool,
    /// Shoots by technical ID, which is the name of their cluster.
    shoots: BTreeMap<String, ShownShoot>,
    nodes: BTreeMap<String, BTreeMap<String, Arc<Node>>>,
    /// Nodes that have been Ready, by cluster and name, with their software at that time.
    ready_as: BTreeMap<(String, String), Runs>,
    /// Last printed failure of Machines, by namespace and name.
    failures: BTreeMap<(String, String), String>,
}

impl StoryState {
    /// True unless the object was created before the begin: a late watch finds such objects then.
    fn is_news(&self, metadata: &ObjectMeta) -> bool {
        let is_later = |begin: DateTime<Utc>| metadata.creation_timestamp.0.timestamp() >= begin.timestamp();
        !self.is_unread && self.begin.is_none_or(is_later)
    }

    /// Sets the kind of the last line.
    fn is(&mut self, what: What) {
        if let Some(line) = self.lines.last_mut() {
            line.what = what;
        }
    }
}

#[derive(Clone, Debug, Default)]
struct ShownShoot {
    name: String,
    /// True if it was created successfully at some time: before that, its nodes are created together and printed as one
    /// line.
    created: bool,
    /// Begin of the running operation.
    operation_began: DateTime<Utc>,
    /// True if the headers of the node columns were printed for this operation.
    has_heads: bool,
}

impl Story {
    /// Starts watching; the watches run until the component of `context` stops.
    pub(crate) fn begin(context: &Context, shoots: Option<Vec<String>>, names_shoots: bool) -> Self {
        let clock = context.clock.clone();
        let story = Self { state: Arc::default(), clock, names_shoots, shoots: shoots.map(Arc::new), watched: None };
        let garden = "garden";
        let (profiles, shoots, events) = (story.clone(), story.clone(), story.clone());
        let (nodes, machines) = (story.clone(), story.clone());
        Reflector::<CloudProfile>::new(Api::all(context, garden), ListOptions::default())
            .on_change(move |change| profiles.on_cloud_profile(change))
            .start();
        let watched = Reflector::<Shoot>::new(Api::all(context, garden), ListOptions::default())
            .on_change(move |change| shoots.on_shoot(change))
            .start();
        Reflector::<Event>::new(Api::all(context, garden), ListOptions::default())
            .on_change(move |change| events.on_event(change))
            .start();
        Reflector::<Node>::new(Api::all(context, "*"), ListOptions::default())
            .on_change(move |change| nodes.on_node(change))
            .start();
        Reflector::<Machine>::new(Api::all(context, "*"), ListOptions::default())
            .on_change(move |change| machines.on_machine(change))
            .start();
        Self { watched: Some(watched), ..story }
    }

    /// Number of watched Shoots; None until their first list was received. From then on new Shoots are events.
    pub(crate) fn watched_shoots(&self) -> Option<usize> {
        let shoots = self.watched.as_ref().filter(|store| store.is_synced()).map(Store::len);
        self.lock().is_unread &= shoots.is_none();
        shoots
    }

    /// Returns the lines since the last call.
    pub(crate) fn drain(&self) -> Vec<Line> {
        std::mem::take(&mut self.lock().lines)
    }

    /// Drops the lines so far, and begins again here.
    pub(crate) fn restart(&self) {
        let mut state = self.lock();
        state.lines.clear();
        state.begin = Some(self.clock.now());
        state.is_unread = self.watched.as_ref().is_some_and(|store| !store.is_synced());
        // The headers of the columns were dropped as well.
        state.shoots.values_mut().for_each(|shoot| shoot.has_heads = false);
    }

    /// Adds a line that does not come from a watch.
    pub(crate) fn add(&self, object: &str, subject: &str, text: &str) {
        self.push(&mut self.lock(), object, subject, text);
    }

    fn add_as(&self, what: What, object: &str, subject: &str, text: &str) {
        let mut state = self.lock();
        self.push(&mut state, object, subject, text);
        state.is(what);
    }

    /// Adds a quotation below the last line.
    pub(crate) fn quote(&self, object: &str, text: &str) {
        let mut state = self.lock();
        self.push(&mut state, object, "", text);
        if let Some(line) = state.lines.last_mut() {
            line.is_quote = true;
        }
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, StoryState> {
        self.state.lock()
    }

    fn push(&self, state: &mut StoryState, object: &str, subject: &str, text: &str) {
        state.lines.push(Line {
            time: self.clock.now(),
            object: object.to_owned(),
            subject: subject.to_owned(),
            text: text.to_owned(),
            is_quote: false,
            what: What::Other,
        });
    }

    fn shows(&self, namespace: &str, name: &str) -> bool {
        let Some(shoots) = &self.shoots else { return true };
        shoots.iter().any(|shoot| shoot.split_once('/') == Some((namespace, name)))
    }

    fn subject(&self, shoot: &str, subject: &str) -> String {
        if self.names_shoots { format!("{shoot} {subject}") } else { subject.to_owned() }
    }

    fn on_cloud_profile(&self, change: &Change<CloudProfile>) {
        let (None, Some(profile)) = (&change.old, &change.new) else { return };
        let object = format!("CloudProfile {}", profile.metadata.name);
        let now = self.clock.now();
        let mut state = self.lock();
        if !state.is_news(&profile.metadata) {
            return;
        }
        self.push(&mut state, &object, &object, &format!("kubernetes {}", kubernetes_versions(profile, now)));
        for image in machine_images(profile, now) {
            self.push(&mut state, &object, "", &image);
        }
    }

    fn on_shoot(&self, change: &Change<Shoot>) {
        if !self.shows(&change.key.namespace, &change.key.name) {
            return;
        }
        let Some(shoot) = change.new.as_deref() else {
            let name = change.key.name.as_ref();
            let object = format!("Shoot {}/{name}", change.key.namespace);
            self.add_as(What::Gone, &object, &object, "is gone");
            return;
        };
        let object = format!("Shoot {}/{}", shoot.metadata.namespace, shoot.metadata.name);
        let mut state = self.lock();
        let Some(old) = change.old.as_deref() else {
            if state.is_news(&shoot.metadata) {
                self.push(&mut state, &object, &object, &shoot_summary(shoot));
            }
            if !shoot.status.technical_id.is_empty() {
                // The Shoot existed before the begin: later roll-outs are events.
                let name = format!("{}/{}", shoot.metadata.namespace, shoot.metadata.name);
                let (created, operation_began) = (was_created(shoot), self.clock.now());
                let known = ShownShoot { name, created, operation_began, has_heads: false };
                state.shoots.insert(shoot.status.technical_id.clone(), known);
            }
            return;
        };
        if shoot.status.technical_id.is_empty() {
            return;
        }
        let now = self.clock.now();
        let known = state.shoots.entry(shoot.status.technical_id.clone()).or_default();
        known.name = format!("{}/{}", shoot.metadata.namespace, shoot.metadata.name);
        let (before, after) = (old.status.last_operation.as_ref(), shoot.status.last_operation.as_ref());
        if let Some(after) = after
            && before.is_none_or(|before| before.r#type != after.r#type || begins(before, after))
        {
            known.operation_began = now;
            known.has_heads = false;
        }
        let shown = after.filter(|after| is_worth_a_line(before, after));
        let was_created = known.created;
        if let Some(after) = after
            && after.state == "Succeeded"
        {
            known.created = true;
        }
        let name = known.name.clone();
        if let Some(operation) = shown {
            let subject = format!("{} {} ({}%)", operation.r#type, operation.state, operation.progress);
            self.push(&mut state, &object, &self.subject(&name, &subject), &operation.description);
            state.is(What::Operation { kind: operation.r#type.clone(), state: operation.state.clone() });
            if operation.state == "Succeeded" && (!was_created || state.shoots[&shoot.status.technical_id].has_heads) {
                let nodes = node_summary(state.nodes.get(&shoot.status.technical_id));
                self.push(&mut state, &object, "", &nodes);
            }
        }
        if shoot.status.last_maintenance != old.status.last_maintenance
            && let Some(maintenance) = &shoot.status.last_maintenance
            && maintenance.state != "Processing"
        {
            let subject = self.subject(&name, &format!("lastMaintenance {}", maintenance.state));
            self.push(&mut state, &object, &subject, &maintenance.description);
            state.is(What::Maintenance { state: maintenance.state.clone() });
            if let Some(reason) = &maintenance.failure_reason {
                self.push(&mut state, &object, "", reason);
            }
        }
        if self.shoots.is_none() {
            self.on_request(&mut state, old, shoot, &object, &name);
        }
    }

    /// Adds lines about requested operations, and about changes that only annotations and rotations show.
    fn on_request(&self, state: &mut StoryState, old: &Shoot, new: &Shoot, object: &str, name: &str) {
        let is_same = old.metadata.annotations == new.metadata.annotations
            && old.status.credentials == new.status.credentials
            && old.spec.hibernation == new.spec.hibernation;
        if is_same {
            return;
        }
        let (before, after) = (old.to_tree(), new.to_tree());
        let changes = changes::between(&before, &after);
        let seen = ChangedObject { kind: "Shoot", object: &after, changes: &changes, time: self.clock.now() };
        for action in actions::of(&seen).into_iter().filter(|action| action.is_news) {
            self.push(state, object, &self.subject(name, action.subject), &action.text);
            if action.text == actions::NOTHING_TO_DO {
                state.is(What::NothingToDo);
            }
        }
    }

    fn on_event(&self, change: &Change<Event>) {
        let Some(event) = &change.new else { return };
        let about = &event.involved_object;
        if about.kind != "Shoot" && self.shoots.is_none() {
            let object = if about.namespace.is_empty() {
                format!("{} {}", about.kind, about.name)
            } else {
                format!("{} {}/{}", about.kind, about.namespace, about.name)
            };
            self.add_as(kind_of_event(event), &object, &format!("{object} {}", event.reason), &event.message);
            return;
        }
        if about.kind != "Shoot"
            || !self.shows(&about.namespace, &about.name)
            || SILENT_EVENTS.iter().any(|silent| event.reason.starts_with(silent))
        {
            return;
        }
        let name = format!("{}/{}", about.namespace, about.name);
        let subject = self.subject(&name, &event.reason);
        self.add_as(kind_of_event(event), &format!("Shoot {name}"), &subject, &event.message);
    }

    fn on_node(&self, change: &Change<Node>) {
        let cluster = change.key.cluster.as_ref();
        let name = change.key.name.as_ref();
        let mut state = self.lock();
        let nodes = state.nodes.entry(cluster.to_owned()).or_default();
        match &change.new {
            Some(node) => drop(nodes.insert(name.to_owned(), node.clone())),
            None => drop(nodes.remove(name)),
        }
        let id = (cluster.to_owned(), name.to_owned());
        let life = match (&change.old, &change.new) {
            (_, Some(node)) if is_ready(node) => {
                let runs =
                    Runs { kubelet: node.status.node_info.kubelet_version.clone(), image: os_image(node).clone() };
                let was_ready = change.old.as_deref().is_some_and(is_ready);
                match state.ready_as.insert(id, runs.clone()) {
                    None => Some((NodeLife::Came, format!("+ {}  {runs}, Ready", short(name)))),
                    Some(ran) if ran.restarts_as(&runs) => {
                        Some((NodeLife::Restarted, format!("~ {}  {runs}, kubelet restarted", short(name))))
                    }
                    Some(ran) if ran != runs => {
                        Some((NodeLife::Updated, format!("~ {}  {runs}, updated in place", short(name))))
                    }
                    Some(_) if !was_ready => {
                        Some((NodeLife::Recovered, format!("~ {}  {runs}, Ready again", short(name))))
                    }
                    Some(_) => None,
                }
            }
            (Some(node), None) => {
                state.ready_as.remove(&id);
                let cordoned = if node.spec.unschedulable { "cordoned, drained, " } else { "" };
                Some((NodeLife::Went, format!("- {}  {cordoned}machine deleted", short(name))))
            }
            _ => None,
        };
        let Some(shoot) = state.shoots.get(cluster).filter(|shoot| shoot.created).cloned() else { return };
        let Some((life, text)) = life else { return };
        let nodes = &state.nodes[cluster];
        let new = nodes.values().filter(|node| node.metadata.creation_timestamp.0 >= shoot.operation_began).count();
        let ready = nodes.values().filter(|node| is_ready(node)).count();
        let counts = format!("{:>5}{new:>5}{ready:>6}", nodes.len());
        let object = format!("Shoot {}", shoot.name);
        let subject = self.subject(&shoot.name, &text);
        if !shoot.has_heads {
            if let Some(shoot) = state.shoots.get_mut(cluster) {
                shoot.has_heads = true;
            }
            let (heads, subject) = ("nodes  new ready".to_owned(), self.subject(&shoot.name, &format!("{:<58}", "")));
            self.push(&mut state, &object, &format!("{subject}{heads}"), "");
        }
        self.push(&mut state, &object, &format!("{subject:<58}{counts}"), "");
        state.is(What::Node(life));
    }

    /// A failure of a machine is printed once, regardless of the number of retries.
    fn on_machine(&self, change: &Change<Machine>) {
        let id = (change.key.namespace.to_string(), change.key.name.to_string());
        let mut state = self.lock();
        let Some(machine) = &change.new else {
            state.failures.remove(&id);
            return;
        };
        let (last, phase) = (&machine.status.last_operation, &machine.status.current_status.phase);
        if phase == "Running" {
            state.failures.remove(&id);
        }
        let is_known = state.failures.get(&id).is_some_and(|known| *known == last.description);
        if last.state != "Failed" || is_known {
            return;
        }
        state.failures.insert(id, last.description.clone());
        let Some(shoot) = state.shoots.get(change.key.namespace.as_ref()).cloned() else { return };
        let subject = self.subject(&shoot.name, &format!("! {}  {phase}", short(&change.key.name)));
        self.push(&mut state, &format!("Shoot {}", shoot.name), &subject, &last.description);
        state.is(What::MachineFailed);
    }
}

/// True if a Shoot has been created, according to its last operation.
fn was_created(shoot: &Shoot) -> bool {
    let last = shoot.status.last_operation.as_ref();
    last.is_some_and(|operation| {
        operation.r#type != operation_type::CREATE || operation.state == operation_state::SUCCEEDED
    })
}

fn kind_of_event(event: &Event) -> What {
    What::Event { reason: event.reason.clone(), is_warning: event.r#type == "Warning" }
}

fn begins(before: &LastOperation, after: &LastOperation) -> bool {
    after.state == "Processing" && before.state != "Processing"
}

fn is_worth_a_line(before: Option<&LastOperation>, after: &LastOperation) -> bool {
    before.is_none_or(|before| {
        before.r#type != after.r#type
            || before.state != after.state
            || (after.progress / PROGRESS_STEP > before.progress / PROGRESS_STEP && after.progress < 100)
            || (waits_for_nodes(after) && !waits_for_nodes(before))
    })
}

fn waits_for_nodes(operation: &LastOperation) -> bool {
    operation.description.contains("Waiting until shoot worker nodes have been reconciled")
}

fn is_ready(node: &Node) -> bool {
    domain::rollout::node::is_ready(&node.status.conditions)
}

fn os_image(node: &Node) -> String {
    node.status.node_info.os_image.clone()
}

/// The last two parts of a node's name, which differ between the nodes of a pool.
fn short(name: &str) -> String {
    let parts: Vec<&str> = name.rsplitn(3, '-').collect();
    match parts.as_slice() {
        [last, middle, _] => format!("…-{middle}-{last}"),
        _ => name.to_owned(),
    }
}

fn node_summary(nodes: Option<&BTreeMap<String, Arc<Node>>>) -> String {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for node in nodes.into_iter().flat_map(BTreeMap::values) {
        let kind = format!("{}, {}", node.status.node_info.kubelet_version, os_image(node));
        *kinds.entry(kind).or_default() += 1;
    }
    if kinds.is_empty() {
        return "no nodes".to_owned();
    }
    let parts = kinds.into_iter().map(|(kind, count)| format!("{}: {kind}", plural(count, "node")));
    parts.collect::<Vec<_>>().join("; ")
}

fn shoot_summary(shoot: &Shoot) -> String {
    let spec = &shoot.spec;
    let maintenance = spec.maintenance.as_ref();
    let update = maintenance.and_then(|maintenance| maintenance.auto_update.as_ref());
    let on = |is_on: bool| if is_on { "ON" } else { "OFF" };
    let kubernetes = on(update.is_some_and(|update| update.kubernetes_version));
    let images = on(update.and_then(|update| update.machine_image_version).unwrap_or(false));
    let window = maintenance
        .and_then(|maintenance| maintenance.time_window.as_ref())
        .map(|window| format!(", window {}-{}", window.begin, window.end))
        .unwrap_or_default();
    format!("{}, automatic Kubernetes updates {kubernetes}, images {images}{window}", spec.kubernetes.version)
}

fn kubernetes_versions(profile: &CloudProfile, now: DateTime<Utc>) -> String {
    let versions = profile.spec.kubernetes.versions.iter().map(|version| offered(version, now));
    versions.collect::<Vec<_>>().join("; ")
}

fn machine_images(profile: &CloudProfile, now: DateTime<Utc>) -> Vec<String> {
    let images = profile.spec.machine_images.iter().map(|image| {
        let versions = image.versions.iter().map(|version| offered(version, now));
        let strategy = image.update_strategy.as_deref().unwrap_or("major");
        format!("{} {} (update strategy {strategy})", image.name, versions.collect::<Vec<_>>().join("; "))
    });
    images.collect()
}

/// Formats an offered version: `1.26.4 deprecated, expires 2023-07-28T00:00:00Z`; `expired` after that date. A version with
/// a life cycle has the classification and the expiration of its stages.
fn offered(entry: &impl Expirable, now: DateTime<Utc>) -> String {
    let (classification, expiration) = if entry.stages().is_empty() {
        (entry.classification().map(str::to_owned), entry.expiration_date())
    } else {
        // Only releases with stages store them.
        let rules = Moment::new(now, NEWEST);
        let (state, expiration) = (rules.state(entry), rules.expiration(entry));
        // The date says it, too.
        let is_told = state == State::Expired && expiration.is_some();
        ((!is_told).then(|| state.to_string()), expiration)
    };
    let classification = classification.map(|text| format!(" {text}")).unwrap_or_default();
    let expires = expiration.map(|date| {
        let verb = if date < now { "expired" } else { "expires" };
        format!(", {verb} {}", ops::show(date))
    });
    format!("{}{classification}{}", entry.version(), expires.unwrap_or_default())
}

/// Software of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Runs {
    /// Version of its kubelet.
    kubelet: String,
    /// Operating system.
    image: String,
}

impl Runs {
    /// True if a restart of the kubelet leads from this software to `other`: same minor, same operating system.
    fn restarts_as(&self, other: &Self) -> bool {
        let minor = |text: &str| {
            let version = Version::parse(text.trim_start_matches('v')).ok()?;
            Some((version.major, version.minor))
        };
        let (own, new) = (minor(&self.kubelet), minor(&other.kubelet));
        self.kubelet != other.kubelet && self.image == other.image && own.is_some() && own == new
    }
}

impl fmt::Display for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.kubelet, self.image)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_patch_of_the_kubelet_is_a_restart() {
        let of = |kubelet: &str, image: &str| Runs { kubelet: kubelet.to_owned(), image: image.to_owned() };
        let before = of("v1.31.1", "gardenlinux 1.0.0");
        for (after, restarts) in [
            (of("v1.31.2", "gardenlinux 1.0.0"), true),
            (of("v1.32.1", "gardenlinux 1.0.0"), false),
            (of("v1.31.2", "gardenlinux 1.0.1"), false),
            (before.clone(), false),
        ] {
            assert_eq!(before.restarts_as(&after), restarts, "{after}");
        }
    }

    #[test]
    fn a_date_that_is_over_has_expired() {
        let entry = api::core::ExpirableVersion {
            version: "1.26.4".to_owned(),
            classification: Some("deprecated".to_owned()),
            expiration_date: "2023-07-28T00:00:00Z".parse().map(apimachinery::meta::Time::from_instant).ok(),
            ..api::core::ExpirableVersion::default()
        };
        for (now, told) in [
            ("2023-07-28T00:00:00Z", "1.26.4 deprecated, expires 2023-07-28T00:00:00Z"),
            ("2023-07-30T00:00:00Z", "1.26.4 deprecated, expired 2023-07-28T00:00:00Z"),
        ] {
            assert_eq!(offered(&entry, now.parse().expect("an instant")), told);
        }
    }

    #[test]
    fn a_version_has_the_stage_of_the_instant() {
        let entry = |stages: serde_json::Value| -> api::core::ExpirableVersion {
            let tree = serde_json::json!({ "version": "1.35.4", "lifecycle": stages });
            serde_json::from_value(tree).expect("a version")
        };
        let whole = entry(serde_json::json!([
            { "classification": "preview", "startTime": "2026-08-01T00:00:00Z" },
            { "classification": "supported", "startTime": "2026-09-01T00:00:00Z" },
            { "classification": "deprecated", "startTime": "2026-10-01T00:00:00Z" },
            { "classification": "expired", "startTime": "2026-11-01T00:00:00Z" },
        ]));
        for (now, told) in [
            ("2026-07-31T00:00:00Z", "1.35.4 unavailable, expires 2026-11-01T00:00:00Z"),
            ("2026-08-15T00:00:00Z", "1.35.4 preview, expires 2026-11-01T00:00:00Z"),
            ("2026-09-15T00:00:00Z", "1.35.4 supported, expires 2026-11-01T00:00:00Z"),
            ("2026-10-31T20:00:00Z", "1.35.4 deprecated, expires 2026-11-01T00:00:00Z"),
            ("2026-11-02T00:00:00Z", "1.35.4, expired 2026-11-01T00:00:00Z"),
        ] {
            assert_eq!(offered(&whole, now.parse().expect("an instant")), told);
        }
        let now = "2026-09-15T00:00:00Z".parse().expect("an instant");
        let supported = entry(serde_json::json!([{ "classification": "supported" }]));
        assert_eq!(offered(&supported, now), "1.35.4 supported");
        assert_eq!(offered(&entry(serde_json::json!([{ "classification": "expired" }])), now), "1.35.4 expired");
    }
}
