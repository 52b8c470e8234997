// SPDX-License-Identifier: Apache-2.0
//! A work queue with client-go's semantics on landscape time: dirty set, processing set, delays, back-off by key.
//!
//! ```text
//! add ──► ready ──take──► processing ──done(Ok)──► waits for a change or for its timers
//!          ▲                  │ └────done(Err)───► waits for its back-off
//!          └──── dirty again ─┘
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use api::constants::annotation;
use apimachinery::Resource;
use chrono::{DateTime, TimeDelta, Utc};
use futures::task::AtomicWaker;
use parking_lot::{Mutex, MutexGuard};

/// Key of the object of a pass. Ordered by cluster, namespace, name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Logical cluster.
    pub cluster: Arc<str>,
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: Arc<str>,
    /// Name of the object.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// Creates a key from its parts.
    pub fn new(cluster: &str, namespace: &str, name: &str) -> Self {
        Self { cluster: cluster.into(), namespace: namespace.into(), name: name.into() }
    }

    /// Key of an object of `cluster`; for `*` the cluster is taken from the object's annotation.
    pub fn of<K: Resource>(cluster: &str, object: &K) -> Self {
        let metadata = object.metadata();
        let own = metadata.annotation(annotation::CLUSTER).filter(|_| cluster == "*");
        Self::new(own.unwrap_or(cluster), &metadata.namespace, &metadata.name)
    }

    /// Key of another object in the same cluster and namespace.
    pub fn sibling(&self, name: &str) -> Self {
        Self { name: name.into(), ..self.clone() }
    }
}

/// `cluster/namespace/name`, or `cluster/name` for a cluster-scoped kind.
impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{}/{}", self.cluster, self.name)
        } else {
            write!(f, "{}/{}/{}", self.cluster, self.namespace, self.name)
        }
    }
}

/// Next pass that a pass requests. It replaces the requests of earlier passes for the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    /// No pass until a change.
    OnChange,
    /// A pass at an instant, as calendar work (a window, a schedule), unless a change occurs before.
    At(DateTime<Utc>),
    /// A pass at an instant, as work in progress (a machine boots, a drain waits).
    WorkAt(DateTime<Utc>),
    /// A pass at a calendar instant, while work is in progress until a later instant: the combination by
    /// [`Requeue::earliest`]. A clock that stops for calendar instants but not for work needs both.
    Both {
        /// The calendar instant.
        at: DateTime<Utc>,
        /// The work instant.
        work_at: DateTime<Utc>,
    },
}

impl Requeue {
    /// Combines two requests: the earlier instant of each class. A calendar instant at or after a work instant is left
    /// out, since the pass at the work instant requests it again.
    pub fn earliest(self, other: Self) -> Self {
        let earlier = |a: Option<DateTime<Utc>>, b: Option<DateTime<Utc>>| a.into_iter().chain(b).min();
        let at = earlier(self.calendar(), other.calendar());
        let work_at = earlier(self.work(), other.work());
        match (at, work_at) {
            (None, None) => Self::OnChange,
            (Some(at), None) => Self::At(at),
            (Some(at), Some(work_at)) if at < work_at => Self::Both { at, work_at },
            (_, Some(work_at)) => Self::WorkAt(work_at),
        }
    }

    /// Calendar instant of the request.
    pub fn calendar(self) -> Option<DateTime<Utc>> {
        match self {
            Self::At(at) | Self::Both { at, .. } => Some(at),
            Self::OnChange | Self::WorkAt(_) => None,
        }
    }

    /// Work instant of the request.
    pub fn work(self) -> Option<DateTime<Utc>> {
        match self {
            Self::WorkAt(work_at) | Self::Both { work_at, .. } => Some(work_at),
            Self::OnChange | Self::At(_) => None,
        }
    }
}

/// Clock and timer class on which a key waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Landscape time, calendar class.
    Calendar,
    /// Landscape time, work class.
    Work,
    /// Wall time: only after a request that got no response.
    Wall,
}

impl Wait {
    /// All variants.
    pub const ALL: [Self; 3] = [Self::Calendar, Self::Work, Self::Wall];
}

/// Failure of a pass, as far as it matters to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The server returned an error, or the response is invalid: back off on landscape time.
    Refused,
    /// No server answered. Landscape time must not advance far while a process starts: back off until wall time has
    /// passed, or landscape time if it moves by itself.
    Unreachable,
    /// A fault cuts the component off, inside the process: back off on landscape time, which need not advance for it.
    /// Wall time would give each session another number of attempts.
    CutOff,
    /// The pass panicked: no pass for this duration, measured as for an unreachable server.
    Panicked(TimeDelta),
}

#[derive(Debug, Default)]
struct KeyState {
    dirty: bool,
    processing: bool,
    failures: u32,
    /// Number of consecutive passes that requested an instant that was not in the future.
    overdue: u32,
    waits: [Option<(DateTime<Utc>, u64)>; 3],
}

impl KeyState {
    fn is_default(&self) -> bool {
        !self.dirty
            && !self.processing
            && self.failures == 0
            && self.overdue == 0
            && self.waits.iter().all(Option::is_none)
    }
}

/// The queue itself, without clock and tasks: instants are arguments.
///
/// A key is taken at most once until it is done; adding it meanwhile makes it ready again as soon as it is done. Each
/// key waits on at most one instant of each class, the earliest that was requested.
#[derive(Debug, Default)]
pub struct Queue {
    ready: VecDeque<ObjectKey>,
    keys: BTreeMap<ObjectKey, KeyState>,
    waits: [BTreeMap<(DateTime<Utc>, u64), ObjectKey>; 3],
    sequence: u64,
    processing: usize,
}

const FIRST_BACK_OFF: TimeDelta = TimeDelta::milliseconds(5);
const LONGEST_BACK_OFF: TimeDelta = TimeDelta::seconds(1000);
const LONGEST_UNREACHABLE_BACK_OFF: TimeDelta = TimeDelta::seconds(30);

/// Returns the back-off: 5 ms, doubled for each failure after the first, at most 1000 s.
pub fn back_off(failures: u32) -> TimeDelta {
    let doublings = failures.saturating_sub(1).min(18);
    (FIRST_BACK_OFF * (1 << doublings)).min(LONGEST_BACK_OFF)
}

impl Queue {
    /// Makes a key ready, unless it is ready already; one that is being processed becomes ready when it is done.
    pub fn add(&mut self, key: ObjectKey) {
        let state = self.keys.entry(key.clone()).or_default();
        if state.dirty {
            return;
        }
        state.dirty = true;
        if !state.processing {
            self.ready.push_back(key);
        }
    }

    /// Makes a key ready at an instant, unless an earlier instant of the same class is pending.
    pub fn add_at(&mut self, key: ObjectKey, wait: Wait, at: DateTime<Utc>) {
        let slot = wait as usize;
        let state = self.keys.entry(key.clone()).or_default();
        if let Some(present) = state.waits[slot] {
            if present.0 <= at {
                return;
            }
            self.waits[slot].remove(&present);
        }
        self.sequence += 1;
        state.waits[slot] = Some((at, self.sequence));
        self.waits[slot].insert((at, self.sequence), key);
    }

    /// Takes the key that has been ready for longest, or a drawn one; its waits end.
    pub fn take(&mut self, draw: impl FnOnce(usize) -> usize) -> Option<ObjectKey> {
        let index = if self.ready.len() > 1 { draw(self.ready.len()) } else { 0 };
        let key = self.ready.remove(index)?;
        let state = self.keys.get_mut(&key).expect("a ready key has a state");
        state.dirty = false;
        state.processing = true;
        self.processing += 1;
        for (slot, wait) in state.waits.iter_mut().enumerate() {
            if let Some(wait) = wait.take() {
                self.waits[slot].remove(&wait);
            }
        }
        Some(key)
    }

    /// Ends the pass for a key. `now` is landscape time, `wall` wall time.
    ///
    /// A pass that requests an instant that is not in the future is repeated at once; if it does so again, it backs
    /// off: a simulated clock does not move as long as a key is ready.
    pub fn done(
        &mut self,
        key: ObjectKey,
        result: Result<Requeue, Failure>,
        now: DateTime<Utc>,
        wall: impl FnOnce() -> DateTime<Utc>,
    ) {
        let Some(state) = self.keys.get_mut(&key).filter(|state| state.processing) else { return };
        state.processing = false;
        self.processing -= 1;
        if state.dirty {
            self.ready.push_back(key.clone());
        }
        match result {
            Ok(requeue) => {
                state.failures = 0;
                let is_overdue = [requeue.calendar(), requeue.work()].into_iter().flatten().any(|at| at <= now);
                state.overdue = if is_overdue { state.overdue.saturating_add(1) } else { 0 };
                let overdue = state.overdue;
                if state.is_default() && requeue == Requeue::OnChange {
                    self.keys.remove(&key);
                    return;
                }
                for (wait, at) in [(Wait::Calendar, requeue.calendar()), (Wait::Work, requeue.work())] {
                    match at {
                        Some(at) if at <= now && overdue <= 1 => self.add(key.clone()),
                        Some(at) if at <= now => self.add_at(key.clone(), wait, now + back_off(overdue - 1)),
                        Some(at) => self.add_at(key.clone(), wait, at),
                        None => {}
                    }
                }
            }
            Err(failure) => {
                state.failures = state.failures.saturating_add(1);
                let delay = back_off(state.failures);
                match failure {
                    Failure::Refused => self.add_at(key, Wait::Work, now + delay),
                    Failure::CutOff => {
                        self.add_at(key, Wait::Calendar, now + delay.min(LONGEST_UNREACHABLE_BACK_OFF));
                    }
                    Failure::Unreachable | Failure::Panicked(_) => {
                        let delay = match failure {
                            Failure::Panicked(pause) => pause,
                            _ => delay.min(LONGEST_UNREACHABLE_BACK_OFF),
                        };
                        self.add_at(key.clone(), Wait::Wall, wall() + delay);
                        self.add_at(key, Wait::Calendar, now + delay);
                    }
                }
            }
        }
    }

    /// Resets the failures of a key: its next failure backs off as the first does.
    pub fn forget(&mut self, key: &ObjectKey) {
        if let Some(state) = self.keys.get_mut(key) {
            state.failures = 0;
        }
    }

    /// Earliest instant on which a key waits.
    pub fn next_wait(&self, wait: Wait) -> Option<DateTime<Utc>> {
        self.waits[wait as usize].first_key_value().map(|((at, _), _)| *at)
    }

    /// Makes every key ready whose instant has passed, in order of instants; returns true if there was one.
    pub fn fire(&mut self, wait: Wait, now: DateTime<Utc>) -> bool {
        let slot = wait as usize;
        let mut fired = false;
        while let Some(entry) = self.waits[slot].first_entry() {
            if entry.key().0 > now {
                break;
            }
            let key = entry.remove();
            if let Some(state) = self.keys.get_mut(&key) {
                state.waits[slot] = None;
            }
            self.add(key);
            fired = true;
        }
        fired
    }

    /// Number of ready keys.
    pub fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Number of keys that wait on instants.
    pub fn waiting(&self) -> usize {
        self.waits.iter().map(BTreeMap::len).sum()
    }

    /// True if no key is ready or being processed.
    pub fn is_idle(&self) -> bool {
        self.ready.is_empty() && self.processing == 0
    }

    /// Number of consecutive failures of a key.
    pub fn failures(&self, key: &ObjectKey) -> u32 {
        self.keys.get(key).map_or(0, |state| state.failures)
    }
}

#[derive(Default)]
struct HandleInner {
    queue: Mutex<Queue>,
    waker: AtomicWaker,
}

/// Handle of a [`crate::Controller`]'s queue, which makes keys dirty for reasons other than its watches. Cheap to
/// clone.
#[derive(Clone, Default)]
pub struct QueueHandle(Arc<HandleInner>);

impl QueueHandle {
    /// Makes a key ready.
    pub fn add(&self, key: ObjectKey) {
        self.lock().add(key);
        self.0.waker.wake();
    }

    /// Makes keys ready.
    pub fn add_all(&self, keys: impl IntoIterator<Item = ObjectKey>) {
        let mut keys = keys.into_iter().peekable();
        if keys.peek().is_none() {
            return;
        }
        let mut queue = self.lock();
        keys.for_each(|key| queue.add(key));
        drop(queue);
        self.0.waker.wake();
    }

    /// Makes a key ready at an instant of landscape time, unless an earlier instant is pending.
    pub fn add_at(&self, key: ObjectKey, requeue: Requeue) {
        let mut queue = self.lock();
        for (wait, at) in [(Wait::Calendar, requeue.calendar()), (Wait::Work, requeue.work())] {
            if let Some(at) = at {
                queue.add_at(key.clone(), wait, at);
            }
        }
        drop(queue);
        self.0.waker.wake();
    }

    /// Resets the failures of a key: its next failure backs off as the first does.
    pub fn forget(&self, key: &ObjectKey) {
        self.lock().forget(key);
    }

    /// True if no key is ready or being processed.
    pub fn is_idle(&self) -> bool {
        self.lock().is_idle()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock()
    }

    pub(crate) fn register(&self, waker: &std::task::Waker) {
        self.0.waker.register(waker);
    }
}

impl fmt::Debug for QueueHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.lock(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_690_488_000 + seconds, 0).expect("a valid instant")
    }

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new("garden", "garden-demo", name)
    }

    fn take(queue: &mut Queue) -> Option<String> {
        queue.take(|_| 0).map(|key| key.name.to_string())
    }

    #[track_caller]
    fn done(queue: &mut Queue, name: &str, result: Result<Requeue, Failure>, now: i64) {
        queue.done(key(name), result, instant(now), || instant(now + 1_000_000));
    }

    #[test]
    fn a_key_added_often_is_taken_once() {
        let mut queue = Queue::default();
        for name in ["b", "a", "b", "c", "a"] {
            queue.add(key(name));
        }
        assert_eq!(take(&mut queue).as_deref(), Some("b"));
        assert_eq!(take(&mut queue).as_deref(), Some("a"));
        assert_eq!(take(&mut queue).as_deref(), Some("c"));
        assert_eq!(take(&mut queue), None);
    }

    #[test]
    fn a_key_added_during_its_pass_is_taken_afterwards() {
        let mut queue = Queue::default();
        queue.add(key("a"));
        assert_eq!(take(&mut queue).as_deref(), Some("a"));
        queue.add(key("a"));
        assert_eq!(take(&mut queue), None);
        assert!(!queue.is_idle());
        done(&mut queue, "a", Ok(Requeue::OnChange), 0);
        assert_eq!(take(&mut queue).as_deref(), Some("a"));
        done(&mut queue, "a", Ok(Requeue::OnChange), 0);
        assert!(queue.is_idle());
        assert_eq!(queue.keys.len(), 0, "a key that waits for nothing is forgotten");
    }

    #[test]
    fn failures_that_are_forgotten_do_not_delay_the_next_try() {
        let mut queue = Queue::default();
        for _ in 0..10 {
            queue.add(key("a"));
            assert_eq!(take(&mut queue).as_deref(), Some("a"));
            done(&mut queue, "a", Err(Failure::Refused), 0);
        }
        queue.forget(&key("a"));
        queue.add(key("a"));
        assert_eq!(take(&mut queue).as_deref(), Some("a"));
        done(&mut queue, "a", Err(Failure::Refused), 0);
        assert_eq!(queue.next_wait(Wait::Work), Some(instant(0) + TimeDelta::milliseconds(5)));
    }

    #[test]
    fn passes_requeued_at_the_present_instant_back_off() {
        let mut queue = Queue::default();
        queue.add(key("a"));
        assert_eq!(take(&mut queue).as_deref(), Some("a"));
        done(&mut queue, "a", Ok(Requeue::At(instant(0))), 0);
        for delay in [5, 10, 20] {
            assert_eq!(take(&mut queue).as_deref(), Some("a"), "ready before {delay} ms");
            done(&mut queue, "a", Ok(Requeue::At(instant(-1))), 0);
            assert_eq!(take(&mut queue), None);
            let due = instant(0) + TimeDelta::milliseconds(delay);
            assert_eq!(queue.next_wait(Wait::Calendar), Some(due));
            assert!(queue.fire(Wait::Calendar, due));
        }
        assert_eq!(take(&mut queue).as_deref(), Some("a"));
        done(&mut queue, "a", Ok(Requeue::OnChange), 0);
        assert_eq!(queue.keys.len(), 0, "a pass that waits for nothing ends the back-off");
    }

    #[test]
    fn of_two_instants_of_a_class_the_earlier_wins() {
        let mut queue = Queue::default();
        queue.add_at(key("a"), Wait::Calendar, instant(20));
        queue.add_at(key("a"), Wait::Calendar, instant(10));
        queue.add_at(key("a"), Wait::Calendar, instant(30));
        queue.add_at(key("a"), Wait::Work, instant(15));
        assert_eq!(queue.waiting(), 2);
        assert_eq!(queue.next_wait(Wait::Calendar), Some(instant(10)));
        assert!(!queue.fire(Wait::Calendar, instant(9)));
        assert!(queue.fire(Wait::Calendar, instant(10)));
        assert_eq!(take(&mut queue).as_deref(), Some("a"));
        assert_eq!(queue.waiting(), 0, "a pass ends every wait of its key");
    }

    #[test]
    fn a_requeue_replaces_those_of_earlier_passes() {
        let mut queue = Queue::default();
        queue.add(key("a"));
        take(&mut queue);
        done(&mut queue, "a", Ok(Requeue::At(instant(10))), 0);
        queue.add(key("a"));
        take(&mut queue);
        done(&mut queue, "a", Ok(Requeue::At(instant(50))), 1);
        assert_eq!(queue.next_wait(Wait::Calendar), Some(instant(50)));
        queue.add(key("a"));
        take(&mut queue);
        done(&mut queue, "a", Ok(Requeue::OnChange), 2);
        assert_eq!(queue.next_wait(Wait::Calendar), None);
    }

    #[test]
    fn a_past_instant_makes_the_key_ready_at_once() {
        let mut queue = Queue::default();
        queue.add(key("a"));
        take(&mut queue);
        done(&mut queue, "a", Ok(Requeue::WorkAt(instant(5))), 5);
        assert_eq!(queue.waiting(), 0);
        assert_eq!(take(&mut queue).as_deref(), Some("a"));
    }

    #[test]
    fn failures_back_off_from_5_ms_to_1000_s() {
        let delays: Vec<i64> = (1..=20).map(|failures| back_off(failures).num_milliseconds()).collect();
        assert_eq!(delays[..6], [5, 10, 20, 40, 80, 160]);
        assert_eq!(delays[16..], [327_680, 655_360, 1_000_000, 1_000_000]);
        assert_eq!(back_off(u32::MAX).num_milliseconds(), 1_000_000);

        let mut queue = Queue::default();
        queue.add(key("a"));
        for expected in [5, 10, 20] {
            take(&mut queue);
            done(&mut queue, "a", Err(Failure::Refused), 0);
            assert_eq!(queue.next_wait(Wait::Work), Some(instant(0) + TimeDelta::milliseconds(expected)));
            assert_eq!(queue.next_wait(Wait::Calendar), None);
            assert!(queue.fire(Wait::Work, instant(1)));
        }
        take(&mut queue);
        done(&mut queue, "a", Ok(Requeue::OnChange), 0);
        assert_eq!(queue.failures(&key("a")), 0);
    }

    #[test]
    fn a_change_ends_the_back_off_and_keeps_the_count() {
        let mut queue = Queue::default();
        queue.add(key("a"));
        take(&mut queue);
        queue.add(key("a"));
        done(&mut queue, "a", Err(Failure::Refused), 0);
        assert_eq!(take(&mut queue).as_deref(), Some("a"));
        assert_eq!(queue.waiting(), 0);
        done(&mut queue, "a", Err(Failure::Refused), 0);
        assert_eq!(queue.next_wait(Wait::Work), Some(instant(0) + TimeDelta::milliseconds(10)));
    }

    #[test]
    fn a_key_without_a_server_waits_on_wall_time() {
        let mut queue = Queue::default();
        queue.add(key("a"));
        take(&mut queue);
        done(&mut queue, "a", Err(Failure::Unreachable), 0);
        assert_eq!(queue.next_wait(Wait::Work), None);
        assert_eq!(queue.next_wait(Wait::Wall), Some(instant(1_000_000) + TimeDelta::milliseconds(5)));
        assert_eq!(queue.next_wait(Wait::Calendar), Some(instant(0) + TimeDelta::milliseconds(5)));
    }

    #[test]
    fn a_key_behind_a_partition_waits_on_landscape_time() {
        let mut queue = Queue::default();
        for (failures, milliseconds) in [(1, 5), (2, 10), (3, 20)] {
            queue.add(key("a"));
            take(&mut queue);
            done(&mut queue, "a", Err(Failure::CutOff), 0);
            assert_eq!(queue.failures(&key("a")), failures);
            assert_eq!(queue.next_wait(Wait::Calendar), Some(instant(0) + TimeDelta::milliseconds(milliseconds)));
            assert_eq!((queue.next_wait(Wait::Work), queue.next_wait(Wait::Wall)), (None, None));
        }
        for _ in 0..20 {
            queue.add(key("a"));
            take(&mut queue);
            done(&mut queue, "a", Err(Failure::CutOff), 0);
        }
        assert_eq!(queue.next_wait(Wait::Calendar), Some(instant(30)), "at most half a minute");
    }

    #[test]
    fn the_earliest_of_two_requests_keeps_work_in_sight() {
        use Requeue::{At, Both, OnChange, WorkAt};
        let (one, two) = (instant(1), instant(2));
        for (a, b, expected) in [
            (OnChange, OnChange, OnChange),
            (OnChange, At(one), At(one)),
            (At(two), At(one), At(one)),
            (WorkAt(one), At(two), WorkAt(one)),
            (WorkAt(one), At(one), WorkAt(one)),
            (At(one), WorkAt(two), Both { at: one, work_at: two }),
            (Both { at: one, work_at: two }, WorkAt(one), WorkAt(one)),
        ] {
            assert_eq!(a.earliest(b), expected, "{a:?} and {b:?}");
            assert_eq!(b.earliest(a), expected, "{b:?} and {a:?}");
        }
    }
}
