// SPDX-License-Identifier: Apache-2.0
//! A local copy of one kind: list, watch, resumption, deletions found by a re-list, bookmarks.
//!
//! ```text
//!         ┌──────────── expired (410) ◄───────────┐
//!         ▼                                       │
//!       Empty ──list──► Listing ──last page──► Watching ──stream ends──► Watching, from the last version seen
//! ```

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use apimachinery::status::reason;
use chrono::TimeDelta;
use clock::TimerClass;
use futures::future::{self, Either};
use process::transport::Cut;
use process::{Context, TransportError};

use crate::api::{Api, Endpoint, Frame, ListOptions, Page};
use crate::decode::Readable;
use crate::erased::{Object, Shared};
use crate::error::Error;
use crate::queue::ObjectKey;
use crate::store::{AnyStore, Selection, version};
pub use crate::store::{Change, Index, Store};

/// State of a reflector.
#[derive(Clone, Debug)]
pub(crate) enum State {
    /// The store is empty, or its version is too old for the watch to continue.
    Empty,
    /// Part of the pages of a list has arrived.
    Listing {
        /// Objects of the received pages.
        objects: BTreeMap<ObjectKey, Shared>,
        /// Token for the next page.
        continue_token: String,
    },
    /// The store is equal to the server at a version, and later changes are awaited.
    Watching {
        /// Last version, of an object or of a bookmark.
        resource_version: String,
    },
}

/// Next request of a reflector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A page of a list; a limit of 0 requests everything.
    List {
        /// Maximum number of objects.
        limit: u32,
        /// Token of the page; empty for the first page.
        continue_token: String,
    },
    /// A watch.
    Watch {
        /// Version after which changes are sent.
        resource_version: String,
    },
}

/// State machine of a reflector, without requests and time: responses are inputs, the next request is the output.
#[derive(Debug)]
pub(crate) struct Machine {
    state: State,
    store: AnyStore,
    limit: u32,
    failures: u32,
    /// Fault whose end is awaited before the next request.
    cut: Option<Cut>,
}

const PAGE: u32 = 500;
/// Number of failures since the last event that are retried at once.
const FREE_FAILURES: u32 = 2;

impl Machine {
    /// Creates a machine without objects, which updates `store`.
    pub(crate) fn new(store: AnyStore) -> Self {
        Self { state: State::Empty, store, limit: PAGE, failures: 0, cut: None }
    }

    /// The next request.
    pub(crate) fn step(&self) -> Step {
        match &self.state {
            State::Empty => Step::List { limit: self.limit, continue_token: String::new() },
            State::Listing { continue_token, .. } => {
                Step::List { limit: self.limit, continue_token: continue_token.clone() }
            }
            State::Watching { resource_version } => Step::Watch { resource_version: resource_version.clone() },
        }
    }

    /// Returns the pause before the next request: none after the first two failures since the last event, then
    /// client-go's 800 ms, doubling to 30 s. After a list the watch follows at once, but a server that expires the
    /// version that it has just listed is not queried endlessly.
    pub(crate) fn pause(&self) -> Option<TimeDelta> {
        let waits = self.failures.checked_sub(FREE_FAILURES + 1)?;
        Some((TimeDelta::milliseconds(800) * (1 << waits.min(6))).min(TimeDelta::seconds(30)))
    }

    /// Takes a page. With the last one the store becomes equal to the list, in key order: objects of another version
    /// are set, objects missing in the list are removed.
    pub(crate) fn page(&mut self, page: Page, key_of: &dyn Fn(&dyn Object) -> ObjectKey) {
        let mut objects = match std::mem::replace(&mut self.state, State::Empty) {
            State::Listing { objects, .. } => objects,
            State::Empty | State::Watching { .. } => BTreeMap::new(),
        };
        objects.extend(page.items.into_iter().map(|object| (key_of(&*object), object)));
        if !page.continue_token.is_empty() {
            self.state = State::Listing { objects, continue_token: page.continue_token };
            return;
        }
        let mut changes: BTreeMap<ObjectKey, Option<Shared>> =
            self.store.watched_keys().into_iter().map(|key| (key, None)).collect();
        changes.extend(objects.into_iter().map(|(key, object)| (key, Some(object))));
        let position = page.resource_version.parse().unwrap_or_default();
        for (key, object) in changes {
            self.store.deliver(key, object, position);
        }
        self.store.listed(position);
        self.limit = PAGE;
        self.failures = self.failures.min(FREE_FAILURES);
        self.state = State::Watching { resource_version: page.resource_version };
        self.store.set_synced();
    }

    /// Takes a watch event: stores an added or modified object, removes a deleted one.
    pub(crate) fn event(&mut self, event: Frame, key_of: &dyn Fn(&dyn Object) -> ObjectKey) {
        let position = match event {
            Frame::Added(object) | Frame::Modified(object) => {
                let position = object.meta().resource_version.clone();
                self.store.deliver(key_of(&*object), Some(object.clone()), version(object.meta()));
                position
            }
            Frame::Deleted(object) => {
                self.store.deliver(key_of(&*object), None, version(object.meta()));
                object.meta().resource_version.clone()
            }
            Frame::Bookmark(position) => position,
        };
        self.failures = 0;
        if !position.is_empty()
            && let State::Watching { resource_version } = &mut self.state
        {
            self.store.reached(position.parse().unwrap_or_default());
            *resource_version = position;
        }
    }

    /// Takes the end of a watch. A watch without events counts as a failure; otherwise a client and a server that
    /// disagree would cause requests endlessly.
    pub(crate) fn ended(&mut self) {
        self.failures += 1;
    }

    /// Takes the failure of a request or stream. An expired version restarts the list; between two pages, with one page
    /// for everything. Any other failure is retried from the present state: at the end of the fault if one cuts the
    /// component off inside the process.
    pub(crate) fn failed(&mut self, error: &Error) {
        if let Error::Transport(TransportError::CutOff(cut)) = error {
            self.cut = Some(cut.clone());
            return;
        }
        self.failures += 1;
        let too_large = error.status().is_some_and(|status| {
            status
                .details
                .as_ref()
                .is_some_and(|details| details.causes.iter().any(|cause| cause.reason == "ResourceVersionTooLarge"))
        });
        if error.is_expired() || too_large {
            if matches!(self.state, State::Listing { .. }) {
                self.limit = 0;
            }
            self.state = State::Empty;
        } else if error.reason() == reason::BAD_REQUEST && matches!(self.state, State::Listing { .. }) {
            // A restarted server does not know the token.
            self.state = State::Empty;
        }
    }
}

/// Keeps a [`Store`] equal to the server.
#[derive(Debug)]
pub struct Reflector<K> {
    api: Api<K>,
    options: ListOptions,
    store: Store<K>,
}

impl<K: Readable> Reflector<K> {
    /// Creates a reflector of the objects that `api` and `options` select. [`crate::Controller`] runs it; without one,
    /// use [`Reflector::start`].
    pub fn new(api: Api<K>, options: ListOptions) -> Self {
        let store = Store::of(AnyStore::new(Selection::new(&api.endpoint, &options)));
        Self { api, options, store }
    }

    /// Returns the store.
    pub fn store(&self) -> Store<K> {
        self.store.clone()
    }

    /// Calls `handler` for every change, in order, on the reflector's task.
    pub fn on_change(self, handler: impl Fn(&Change<K>) + Send + Sync + 'static) -> Self {
        self.store.subscribe(handler);
        self
    }

    /// Spawns the reflector's task, which ends with the component.
    pub fn start(self) -> Store<K> {
        let store = self.store();
        let tasks = self.api.context().tasks.clone();
        tasks.spawn(self.run());
        store
    }

    /// Updates the store indefinitely.
    pub fn run(self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(keep(self.api.endpoint, self.options, self.store.any().clone()))
    }
}

async fn keep(endpoint: Endpoint, options: ListOptions, store: AnyStore) {
    let mut machine = Machine::new(store);
    let key_of = |object: &dyn Object| endpoint.key_of(object.meta());
    loop {
        match (machine.cut.take(), machine.pause()) {
            (Some(cut), _) => cut.ended().await,
            (None, Some(pause)) => pass(&endpoint.context, pause).await,
            (None, None) => {}
        }
        match machine.step() {
            Step::List { limit, continue_token } => match endpoint.page(&options, limit, &continue_token).await {
                Ok(page) => machine.page(page, &key_of),
                Err(error) => fail(&endpoint, &mut machine, &error),
            },
            Step::Watch { resource_version } => follow(&endpoint, &options, &mut machine, &resource_version).await,
        }
    }
}

async fn follow(endpoint: &Endpoint, options: &ListOptions, machine: &mut Machine, resource_version: &str) {
    let mut frames = match endpoint.watch(options, resource_version).await {
        Ok(frames) => frames,
        Err(error) => return fail(endpoint, machine, &error),
    };
    loop {
        match frames.next().await {
            Some(Ok(frame)) => machine.event(frame, &|object| endpoint.key_of(object.meta())),
            Some(Err(error)) => return fail(endpoint, machine, &error),
            None => return machine.ended(),
        }
    }
}

fn fail(endpoint: &Endpoint, machine: &mut Machine, error: &Error) {
    tracing::debug!(api = ?endpoint, %error, "reflector failed");
    machine.failed(error);
}

/// Waits until wall time has passed, or landscape time if that moves by itself: this wait must not advance it.
async fn pass(context: &Context, delay: TimeDelta) {
    let wall = context.wall.sleep(delay, TimerClass::Work);
    let landscape = context.clock.sleep(delay, TimerClass::Calendar);
    match future::select(wall, landscape).await {
        Either::Left(_) | Either::Right(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use apimachinery::Status;
    use apimachinery::meta::ObjectMeta;

    use super::*;
    use crate::decode::PartialObject;

    fn object(name: &str, version: &str) -> Shared {
        let mut metadata = ObjectMeta::named("x", name);
        metadata.resource_version = version.to_owned();
        Arc::new(PartialObject { metadata })
    }

    fn key_of(object: &dyn Object) -> ObjectKey {
        let metadata = object.meta();
        ObjectKey::new("garden", &metadata.namespace, &metadata.name)
    }

    fn page(items: &[(&str, &str)], version: &str, continue_token: &str) -> Page {
        Page {
            items: items.iter().map(|(name, version)| object(name, version)).collect(),
            resource_version: version.to_owned(),
            continue_token: continue_token.to_owned(),
        }
    }

    fn refused(reason: &str) -> Error {
        Error::Api(Box::new(Status { reason: reason.to_owned(), ..Status::default() }))
    }

    fn recording() -> (Machine, impl Fn() -> Vec<String>) {
        let store = Store::of(AnyStore::new(Selection::all("garden")));
        let (sender, receiver) = std::sync::mpsc::channel();
        store.subscribe(move |change: &Change<PartialObject>| {
            let what = match (&change.old, &change.new) {
                (None, Some(_)) => "+",
                (Some(_), Some(_)) => "~",
                _ => "-",
            };
            sender.send(format!("{what}{}", change.key.name)).expect("the test listens");
        });
        (Machine::new(store.any().clone()), move || receiver.try_iter().collect())
    }

    fn list(limit: u32, continue_token: &str) -> Step {
        Step::List { limit, continue_token: continue_token.to_owned() }
    }

    fn watch(version: &str) -> Step {
        Step::Watch { resource_version: version.to_owned() }
    }

    #[test]
    fn all_pages_are_read_before_the_watch_starts() {
        let (mut machine, changes) = recording();
        assert_eq!(machine.step(), list(500, ""));
        machine.page(page(&[("b", "2")], "9", "token"), &key_of);
        assert_eq!(machine.step(), list(500, "token"));
        assert!(changes().is_empty());
        assert!(!machine.store.is_synced());
        machine.page(page(&[("a", "1")], "9", ""), &key_of);
        assert_eq!(changes(), ["+a", "+b"]);
        assert!(machine.store.is_synced());
        assert_eq!(machine.step(), watch("9"));
    }

    #[test]
    fn a_watch_resumes_after_the_last_event_or_bookmark() {
        let (mut machine, changes) = recording();
        machine.page(page(&[], "9", ""), &key_of);
        machine.event(Frame::Added(object("a", "10")), &key_of);
        machine.ended();
        assert_eq!(machine.step(), watch("10"));
        machine.event(Frame::Deleted(object("a", "12")), &key_of);
        assert_eq!(machine.step(), watch("12"));
        machine.event(Frame::Bookmark("40".to_owned()), &key_of);
        machine.failed(&refused("InternalError"));
        assert_eq!(machine.step(), watch("40"));
        assert_eq!(changes(), ["+a", "-a"]);
    }

    #[test]
    fn a_redelivered_version_changes_nothing() {
        let (mut machine, changes) = recording();
        machine.page(page(&[("a", "1")], "9", ""), &key_of);
        machine.event(Frame::Modified(object("a", "1")), &key_of);
        machine.event(Frame::Modified(object("a", "10")), &key_of);
        machine.event(Frame::Modified(object("a", "10")), &key_of);
        machine.event(Frame::Deleted(object("never seen", "11")), &key_of);
        assert_eq!(changes(), ["+a", "~a"]);
    }

    #[test]
    fn an_expired_version_causes_a_list_that_finds_deletions() {
        for reason in ["Expired", "Gone"] {
            let (mut machine, changes) = recording();
            machine.page(page(&[("a", "1"), ("c", "3"), ("d", "4")], "9", ""), &key_of);
            assert_eq!(changes(), ["+a", "+c", "+d"]);
            machine.failed(&refused(reason));
            assert_eq!(machine.step(), list(500, ""));
            assert!(machine.store.is_synced(), "the old copy serves until the new list is here");
            machine.page(page(&[("d", "20"), ("b", "11"), ("c", "3")], "30", ""), &key_of);
            assert_eq!(changes(), ["-a", "+b", "~d"]);
            assert_eq!(machine.step(), watch("30"));
        }
    }

    #[test]
    fn a_list_that_expires_is_repeated_without_pages() {
        let (mut machine, changes) = recording();
        machine.page(page(&[("gone meanwhile", "1")], "9", "token"), &key_of);
        machine.failed(&refused("Expired"));
        assert_eq!(machine.step(), list(0, ""));
        machine.page(page(&[("a", "1")], "20", ""), &key_of);
        assert_eq!(changes(), ["+a"]);
        machine.failed(&refused("Expired"));
        assert_eq!(machine.step(), list(500, ""), "the next list is paged again");
    }

    #[test]
    fn a_fault_inside_the_process_is_no_server_failure() {
        let (mut machine, _) = recording();
        machine.page(page(&[], "9", ""), &key_of);
        machine.ended();
        let cut = Cut::new(|| Box::pin(future::ready(())));
        for _ in 0..5 {
            machine.failed(&Error::Transport(TransportError::CutOff(cut.clone())));
            assert_eq!(machine.pause(), None);
            assert_eq!(machine.cut.take(), Some(cut.clone()));
        }
        assert_eq!(machine.step(), watch("9"), "it goes on where it was");
    }

    #[test]
    fn failures_in_a_row_wait_longer_and_longer() {
        let (mut machine, _) = recording();
        machine.page(page(&[], "9", ""), &key_of);
        let mut pauses = Vec::new();
        for _ in 0..10 {
            machine.failed(&refused("TooManyRequests"));
            pauses.push(machine.pause().map_or(0, |pause| pause.num_milliseconds()));
        }
        assert_eq!(pauses, [0, 0, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
        machine.page(page(&[], "9", ""), &key_of);
        assert_eq!(machine.pause(), None);
        machine.failed(&refused("Expired"));
        assert_eq!(machine.pause(), Some(TimeDelta::milliseconds(800)));
        machine.event(Frame::Bookmark("10".to_owned()), &key_of);
        assert_eq!(machine.pause(), None);
    }
}
