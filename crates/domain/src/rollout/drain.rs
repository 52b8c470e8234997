// SPDX-License-Identifier: Apache-2.0
//! An attempt to drain a Node: the pods to remove, the time of each eviction request, and the end of the attempt.
//!
//! ```text
//! without claims   evict ─refused─► wait 20 s ─► evict … ─retries used up─► delete (grace 0)
//! (all at once)      └─accepted─► wait for its end: grace period (at most the time-out) and 30 s
//!
//! with claims      by priority, one at a time: evict, wait for its end, for its volumes to be detached here and
//! (in a row)       attached elsewhere; no wait for pods without volumes of their own; refused pods are evicted again in the
//!                  next round, 20 s later
//!
//! forced           delete all (grace 0), do not wait
//!
//! nothing left     new pods start at the top, in at most as many rounds as a pod has retries; without new pods the node
//!                  is drained
//! ```
//!
//! A failed attempt is repeated after 5 s, with the pods present at that time and all retries restored. Attempts are kept
//! in memory, as upstream's are: after a restart a new attempt begins. The time-out counts from the Machine's deletion
//! and survives a restart. Unlike upstream an attempt checks the node again before it ends: a scheduler that had not yet
//! observed the cordon may have placed pods there.
//! Source: pkg/util/provider/drain/drain.go of machine-controller-manager v0.58.0.

use std::collections::BTreeMap;

use api::constants::annotation;
use api::kubernetes::core::Pod as PodObject;
use chrono::{DateTime, TimeDelta, Utc};

/// Delay before an eviction that was refused is retried.
pub const EVICTION_RETRY: TimeDelta = TimeDelta::seconds(20);
/// Delay before a failed step of a deletion is retried.
pub const SHORT_RETRY: TimeDelta = TimeDelta::seconds(5);
/// Additional wait for the end of a pod after its grace period.
const BUFFER: TimeDelta = TimeDelta::seconds(30);

/// A pod to be removed from the Node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub name: String,
    /// UID; distinguishes pods of the same name.
    pub uid: String,
    /// Grace period of the pod.
    pub grace: TimeDelta,
    /// Priority; among pods with claims, higher priorities are evicted first.
    pub priority: i32,
    /// True if the pod references claims.
    pub has_claims: bool,
    /// Names of the volumes of its existing claims.
    pub volumes: Vec<String>,
}

impl Pod {
    /// Returns the drain's view of a Node's pod; `None` for pods that are kept: mirror pods and pods of DaemonSets. Pods
    /// that have ended, pods without owners and pods with local data are removed like all others.
    pub fn of(pod: &PodObject) -> Option<Self> {
        let metadata = &pod.metadata;
        let stays = metadata.annotations.contains_key(annotation::MIRROR_POD)
            || metadata
                .owner_references
                .iter()
                .any(|owner| owner.controller == Some(true) && owner.kind == "DaemonSet");
        (!stays).then(|| Self {
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone(),
            uid: metadata.uid.clone(),
            grace: TimeDelta::seconds(
                pod.spec.termination_grace_period_seconds.unwrap_or_default().clamp(0, MOST_GRACE),
            ),
            priority: pod.spec.priority.unwrap_or_default(),
            has_claims: Self::claims(pod).next().is_some(),
            volumes: Vec::new(),
        })
    }

    /// Returns the names of a pod's claims.
    pub fn claims(pod: &PodObject) -> impl Iterator<Item = &str> {
        let sources = pod.spec.volumes.iter().filter_map(|volume| volume.persistent_volume_claim.as_ref());
        sources.map(|source| source.claim_name.as_str())
    }

    /// Returns the pod with the given names of its claims' volumes; empty names are dropped.
    #[must_use]
    pub fn with_volumes(self, volumes: impl IntoIterator<Item = String>) -> Self {
        Self { volumes: volumes.into_iter().filter(|name| !name.is_empty()).collect(), ..self }
    }
}

/// Removes volumes that several pods share: a drain does not wait for them.
///
/// Source: `filterSharedPVs`.
fn without_shared(pods: &mut [Pod]) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in pods.iter().filter(|pod| pod.has_claims).flat_map(|pod| &pod.volumes) {
        *counts.entry(name.clone()).or_default() += 1;
    }
    for pod in pods {
        pod.volumes.retain(|name| counts.get(name) == Some(&1));
    }
}

/// A year, in seconds: greater than any time-out, and small enough not to overflow.
const MOST_GRACE: i64 = 365 * 24 * 3600;

/// Parameters of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// True if pods are deleted without waiting for their end.
    pub forced: bool,
    /// Maximum number of evictions of a pod before it is deleted.
    pub retries: u32,
    /// Maximum duration of the wait for a pod.
    pub timeout: TimeDelta,
    /// Maximum duration of the wait until the volumes of a deleted pod are detached here and attached elsewhere.
    pub volumes: TimeDelta,
}

impl Terms {
    /// Creates the terms from `maxEvictRetries` and the drain time-out, which allows at most one eviction per 20 s.
    pub fn new(forced: bool, max_evict_retries: i32, timeout: TimeDelta, volumes: TimeDelta) -> Self {
        let most = timeout.num_seconds() / EVICTION_RETRY.num_seconds();
        let retries = u32::try_from(i64::from(max_evict_retries).min(most)).unwrap_or_default();
        Self { forced, retries, timeout, volumes }
    }
}

/// Request to the API server about a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// `pods/eviction`, with the pod's own grace period.
    Evict,
    /// `DELETE` with grace period 0.
    Delete,
}

/// Answer of the API server to a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The pod is terminating.
    Accepted,
    /// The pod does not exist any more.
    Gone,
    /// 429: a PodDisruptionBudget does not allow it at present.
    Refused,
    /// 429, and the PodDisruptionBudget (`namespace/name`) will never allow it: all its pods are healthy, and none may be
    /// disrupted.
    Misconfigured(String),
    /// Eviction failed for another reason.
    Error(String),
}

/// Progress of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// Number of requests so far, and the instant of the next one.
    Asking(u32, DateTime<Utc>),
    /// Waits for the pods before it.
    Queued,
    /// Accepted; instant by which the pod must be deleted.
    Going(DateTime<Utc>),
    /// Deleted; instant by which its volumes must have moved.
    Moving(DateTime<Utc>),
    Done,
    Failed(String),
}

/// State of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Pods are left.
    Waiting {
        /// Instant of the next scheduled step; `None` if the attempt waits only for terminating pods.
        until: Option<DateTime<Utc>>,
        /// Number of pods that are not deleted yet.
        pods_left: u32,
    },
    /// No pods are left.
    Drained,
    /// The attempt ended with these errors.
    Failed(String),
}

/// An attempt to drain a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    node: String,
    terms: Terms,
    pods: Vec<(Pod, Stage)>,
    /// Round of the pods with claims, counted from 1.
    round: u32,
    /// Indices of the pods with claims that were refused in this round.
    refused: Vec<usize>,
    /// Number of times that new pods were added.
    looks: u32,
}

impl Attempt {
    /// Begins an attempt with the pods that are on the node now.
    pub fn begin(node: &str, terms: Terms, pods: Vec<Pod>, now: DateTime<Utc>) -> Self {
        let mut attempt =
            Self { node: node.to_owned(), terms, pods: Vec::new(), round: 1, refused: Vec::new(), looks: 0 };
        attempt.add(pods, now);
        attempt
    }

    /// Adds pods that were placed on the node since the attempt began. Returns `false` if there are none, or if the limit
    /// of rounds is reached, as with a pod template that names the node.
    pub fn take_up(&mut self, mut pods: Vec<Pod>, now: DateTime<Utc>) -> bool {
        pods.retain(|pod| self.pods.iter().all(|(known, _)| known.uid != pod.uid));
        if pods.is_empty() || self.looks >= self.terms.retries.max(1) {
            return false;
        }
        self.looks += 1;
        self.add(pods, now);
        true
    }

    fn add(&mut self, mut pods: Vec<Pod>, now: DateTime<Utc>) {
        pods.sort_by(|a, b| {
            (b.priority, &a.namespace, &a.name, &a.uid).cmp(&(a.priority, &b.namespace, &b.name, &b.uid))
        });
        without_shared(&mut pods);
        let stage = |pod: &Pod| {
            if pod.has_claims && !self.terms.forced { Stage::Queued } else { Stage::Asking(0, now) }
        };
        let pods: Vec<_> = pods.into_iter().map(|pod| (pod.clone(), stage(&pod))).collect();
        self.pods.extend(pods);
        self.next_with_claims(now);
    }

    /// True if pods are deleted without waiting. An attempt that was begun without force is restarted once force applies.
    pub fn is_forced(&self) -> bool {
        self.terms.forced
    }

    /// Returns the pod at an index.
    pub fn pod(&self, index: usize) -> &Pod {
        &self.pods[index].0
    }

    /// Marks deleted pods as done, and returns the requests that are due, with the index of their pod.
    pub fn requests(&mut self, is_there: impl Fn(&Pod) -> bool, now: DateTime<Utc>) -> Vec<(usize, Request)> {
        for index in 0..self.pods.len() {
            let (pod, stage) = &self.pods[index];
            let node = &self.node;
            match stage {
                Stage::Asking(..) | Stage::Queued if !is_there(pod) => self.pods[index].1 = Stage::Done,
                Stage::Going(_) if !is_there(pod) => self.went(index, now),
                Stage::Going(until) if *until <= now => {
                    let name = &pod.name;
                    let text = format!(
                        "timeout expired while waiting for pod \"{name}\" terminating scheduled on node {node}"
                    );
                    self.pods[index].1 = Stage::Failed(text);
                }
                Stage::Moving(until) if *until <= now => self.pods[index].1 = Stage::Done,
                _ => {}
            }
        }
        self.next_with_claims(now);
        let retries = self.terms.retries;
        let request = |tries: u32| if self.terms.forced || tries >= retries { Request::Delete } else { Request::Evict };
        let due = self.pods.iter().enumerate().filter_map(|(index, (pod, stage))| match stage {
            // Pods with claims count rounds.
            Stage::Asking(_, at) if *at <= now && pod.has_claims => Some((index, request(self.round - 1))),
            Stage::Asking(tries, at) if *at <= now => Some((index, request(*tries))),
            _ => None,
        });
        due.collect()
    }

    /// Records the API server's answer to a request.
    pub fn answer(&mut self, index: usize, request: Request, answer: Answer, now: DateTime<Utc>) {
        let (pod, stage) = &self.pods[index];
        let Stage::Asking(tries, _) = stage else { return };
        let (name, tries) = (&pod.name, *tries);
        let is_serial = pod.has_claims && !self.terms.forced;
        let next = match answer {
            Answer::Accepted if self.terms.forced || (is_serial && pod.volumes.is_empty()) => Stage::Done,
            Answer::Accepted => Stage::Going(now + pod.grace.min(self.terms.timeout) + BUFFER),
            Answer::Gone => Stage::Done,
            Answer::Refused if request == Request::Evict && is_serial => {
                self.refused.push(index);
                Stage::Queued
            }
            Answer::Refused if request == Request::Evict => Stage::Asking(tries + 1, now + EVICTION_RETRY),
            Answer::Misconfigured(budget) => Stage::Failed(format!(
                "error while evicting pod \"{name}\": pod disruption budget {budget} is misconfigured and requires zero \
                 voluntary evictions"
            )),
            Answer::Refused => {
                Stage::Failed(format!("error when evicting pod \"{name}\": refused scheduled on node {}", self.node))
            }
            Answer::Error(error) => {
                Stage::Failed(format!("error when evicting pod \"{name}\": {error} scheduled on node {}", self.node))
            }
        };
        self.pods[index].1 = next;
        self.next_with_claims(now);
    }

    /// Returns the state of the attempt.
    pub fn outcome(&self) -> Outcome {
        let is_over = |stage: &Stage| matches!(stage, Stage::Done | Stage::Failed(_));
        let pods_left = self.pods.iter().filter(|(_, stage)| !is_over(stage)).count();
        if pods_left > 0 {
            let instants = self.pods.iter().filter_map(|(_, stage)| match stage {
                Stage::Asking(_, at) | Stage::Going(at) | Stage::Moving(at) => Some(*at),
                _ => None,
            });
            return Outcome::Waiting { until: instants.min(), pods_left: u32::try_from(pods_left).unwrap_or(u32::MAX) };
        }
        let errors = self.pods.iter().filter_map(|(_, stage)| match stage {
            Stage::Failed(error) => Some(error.as_str()),
            _ => None,
        });
        match errors.collect::<Vec<_>>()[..] {
            [] => Outcome::Drained,
            [error] => Outcome::Failed(error.to_owned()),
            // Format in which Go prints several errors as one.
            ref errors => Outcome::Failed(format!("[{}]", errors.join(", "))),
        }
    }

    fn went(&mut self, index: usize, now: DateTime<Utc>) {
        let (pod, stage) = &mut self.pods[index];
        *stage = if pod.has_claims { Stage::Moving(now + self.terms.volumes) } else { Stage::Done };
        if *stage == Stage::Moving(now) {
            *stage = Stage::Done;
        }
    }

    /// Starts with the next pod with claims of the round, unless one is in progress; after the last one, begins the next round.
    fn next_with_claims(&mut self, now: DateTime<Utc>) {
        let is_busy = |(pod, stage): &(Pod, Stage)| {
            pod.has_claims && matches!(stage, Stage::Asking(..) | Stage::Going(_) | Stage::Moving(_))
        };
        if self.terms.forced || self.pods.iter().any(is_busy) {
            return;
        }
        let queued: Vec<usize> = (0..self.pods.len()).filter(|index| self.pods[*index].1 == Stage::Queued).collect();
        if let Some(next) = queued.iter().find(|index| !self.refused.contains(index)) {
            self.pods[*next].1 = Stage::Asking(0, now);
        } else if let Some(first) = queued.first() {
            self.round += 1;
            self.refused.clear();
            self.pods[*first].1 = Stage::Asking(0, now + EVICTION_RETRY);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    fn pod(name: &str) -> Pod {
        Pod { name: name.into(), uid: name.into(), grace: TimeDelta::seconds(30), ..Pod::default() }
    }

    fn with_claims(name: &str, priority: i32) -> Pod {
        Pod { has_claims: true, priority, volumes: vec![format!("pv-{name}")], ..pod(name) }
    }

    fn terms(forced: bool, retries: i32, timeout: i64) -> Terms {
        Terms::new(forced, retries, TimeDelta::seconds(timeout), TimeDelta::seconds(20))
    }

    /// Simulates an attempt and returns its requests and its end, each with its second. `answer` returns the answer to a
    /// request and the number of seconds for which the pod exists after it was accepted.
    fn play(terms: Terms, pods: Vec<Pod>, answer: impl Fn(&Pod, Request, i64) -> (Answer, i64)) -> Vec<String> {
        let mut attempt = Attempt::begin("n", terms, pods, at(0));
        let (mut now, mut story) = (0, Vec::new());
        let mut leaving: Vec<(i64, String)> = Vec::new();
        loop {
            let gone: BTreeSet<&str> =
                leaving.iter().filter(|(end, _)| *end <= now).map(|(_, name)| name.as_str()).collect();
            let due = attempt.requests(|pod| !gone.contains(pod.name.as_str()), at(now));
            let is_idle = due.is_empty();
            for (index, request) in due {
                let pod = attempt.pod(index).clone();
                let (answer, stays) = answer(&pod, request, now);
                story.push(format!("{now} {request:?} {}: {answer:?}", pod.name));
                if answer == Answer::Accepted {
                    leaving.push((now + stays, pod.name.clone()));
                }
                attempt.answer(index, request, answer, at(now));
            }
            match attempt.outcome() {
                Outcome::Drained => {
                    story.push(format!("{now} drained"));
                    return story;
                }
                Outcome::Failed(error) => {
                    story.push(format!("{now} failed: {error}"));
                    return story;
                }
                Outcome::Waiting { until, .. } if is_idle => {
                    let ends = leaving.iter().map(|(end, _)| *end).filter(|end| *end > now);
                    now = ends.chain(until.map(|until| until.timestamp())).min().expect("it waits for something");
                }
                Outcome::Waiting { .. } => {}
            }
        }
    }

    #[test]
    fn pods_without_claims_are_evicted_at_once_and_waited_for() {
        let story = play(terms(false, 10, 7200), vec![pod("b"), pod("a")], |pod, _, _| {
            (Answer::Accepted, if pod.name == "a" { 5 } else { 9 })
        });
        assert_eq!(story, ["0 Evict a: Accepted", "0 Evict b: Accepted", "9 drained"]);
        assert_eq!(play(terms(false, 10, 7200), vec![], |_, _, _| panic!("unexpected request")), ["0 drained"]);
        assert_eq!(play(terms(false, 10, 7200), vec![pod("a")], |_, _, _| (Answer::Gone, 0))[1], "0 drained");
    }

    /// "HTTP 429: wait 20 s and retry; after maxEvictRetries attempts switch to DELETE with grace period 0."
    #[test]
    fn a_protected_pod_is_evicted_every_20_s_then_deleted() {
        let refuse = |_: &Pod, request, _| match request {
            Request::Evict => (Answer::Refused, 0),
            Request::Delete => (Answer::Accepted, 0),
        };
        let story = play(terms(false, 2, 7200), vec![pod("a")], refuse);
        assert_eq!(story, ["0 Evict a: Refused", "20 Evict a: Refused", "40 Delete a: Accepted", "40 drained"]);
        let story = play(terms(false, 1000, 59), vec![pod("a")], refuse);
        assert_eq!(story.len(), 4, "once every 20 s of the drain time-out: {story:?}");
        let until_60 = |_: &Pod, _, now| if now < 60 { (Answer::Refused, 0) } else { (Answer::Accepted, 5) };
        let story = play(terms(false, 10, 7200), vec![pod("a")], until_60);
        assert_eq!(story[3..], ["60 Evict a: Accepted", "65 drained"]);
    }

    #[test]
    fn a_budget_that_never_allows_anything_ends_the_attempt() {
        let story = play(terms(false, 10, 7200), vec![pod("a")], |_, _, _| (Answer::Misconfigured("n/b".into()), 0));
        assert_eq!(
            story[1],
            "0 failed: error while evicting pod \"a\": pod disruption budget n/b is misconfigured and requires zero \
             voluntary evictions"
        );
        let story = play(terms(false, 10, 7200), vec![pod("a"), pod("b")], |pod, _, _| match pod.name.as_str() {
            "a" => (Answer::Misconfigured("n/b".into()), 0),
            _ => (Answer::Accepted, 7),
        });
        assert!(story[2].starts_with("7 failed: error while evicting pod \"a\""), "others end first: {story:?}");
    }

    /// "After eviction wait for disappearance up to min(terminationGracePeriod, drain timeout) + 30 s."
    #[test]
    fn a_pod_that_does_not_end_fails_the_attempt() {
        let story = play(terms(false, 10, 7200), vec![pod("a")], |_, _, _| (Answer::Accepted, 1000));
        let text = "timeout expired while waiting for pod \"a\" terminating scheduled on node n";
        assert_eq!(story[1], format!("60 failed: {text}"));
        let slow = Pod { grace: TimeDelta::hours(9), ..pod("a") };
        let story = play(terms(false, 10, 600), vec![slow], |_, _, _| (Answer::Accepted, 9999));
        assert_eq!(story[1], format!("630 failed: {text}"));
        let story = play(terms(false, 10, 7200), vec![pod("a"), pod("b")], |_, _, _| (Answer::Error("x".into()), 0));
        assert_eq!(
            story[2],
            "0 failed: [error when evicting pod \"a\": x scheduled on node n, error when evicting pod \"b\": x \
             scheduled on node n]"
        );
    }

    /// "Pods with PVC: serially, by pod priority descending".
    #[test]
    fn pods_with_claims_are_evicted_one_by_one() {
        let pods = || vec![with_claims("a", 0), with_claims("b", 5), pod("c")];
        let story = play(terms(false, 10, 7200), pods(), |_, _, _| (Answer::Accepted, 5));
        assert_eq!(story, ["0 Evict b: Accepted", "0 Evict c: Accepted", "25 Evict a: Accepted", "50 drained"]);
        // A refused pod is evicted again in the next round.
        let story = play(terms(false, 2, 7200), pods(), |pod, request, _| match (pod.name.as_str(), request) {
            ("b", Request::Evict) => (Answer::Refused, 0),
            _ => (Answer::Accepted, 5),
        });
        assert_eq!(
            story,
            [
                "0 Evict b: Refused",
                "0 Evict c: Accepted",
                "0 Evict a: Accepted",
                "45 Evict b: Refused",
                "65 Delete b: Accepted",
                "90 drained",
            ]
        );
    }

    /// "It filters out shared PVs (used by multiple pods)"; a claim that does not exist, or has no volume, has nothing to
    /// wait for. Such pods are evicted in their order, without a wait.
    #[test]
    fn only_volumes_of_their_own_are_waited_for() {
        let of = |name: &str, volumes: &[&str]| {
            with_claims(name, 0).with_volumes(volumes.iter().map(|name| (*name).to_owned()))
        };
        let pods = || vec![of("a", &[]), of("b", &["own", "shared"]), of("c", &["shared"]), of("d", &[""])];
        let story = play(terms(false, 10, 7200), pods(), |_, _, _| (Answer::Accepted, 5));
        assert_eq!(
            story,
            [
                "0 Evict a: Accepted",
                "0 Evict b: Accepted",
                "25 Evict c: Accepted",
                "25 Evict d: Accepted",
                "25 drained"
            ]
        );
    }

    #[test]
    fn pods_added_during_a_drain_are_evicted() {
        let mut attempt = Attempt::begin("n", terms(false, 10, 7200), vec![pod("a")], at(0));
        assert!(!attempt.take_up(vec![pod("a")], at(0)), "it is known");
        let ask = |attempt: &mut Attempt, present: &[&str], now: i64| {
            let due = attempt.requests(|pod| present.contains(&&*pod.name), at(now));
            for (index, request) in &due {
                attempt.answer(*index, *request, Answer::Accepted, at(now));
            }
            due.iter().map(|(index, request)| format!("{request:?} {}", attempt.pod(*index).name)).collect::<Vec<_>>()
        };
        assert_eq!(ask(&mut attempt, &["a"], 0), ["Evict a"]);
        assert_eq!(ask(&mut attempt, &["c", "b"], 5), [""; 0]);
        assert_eq!(attempt.outcome(), Outcome::Drained);
        assert!(attempt.take_up(vec![with_claims("c", 0), pod("b")], at(5)));
        assert_eq!(attempt.outcome(), Outcome::Waiting { until: Some(at(5)), pods_left: 2 });
        assert_eq!(ask(&mut attempt, &["c", "b"], 5), ["Evict b", "Evict c"]);
        assert_eq!(ask(&mut attempt, &[], 9), [""; 0]);
        assert_eq!(attempt.outcome(), Outcome::Waiting { until: Some(at(29)), pods_left: 1 }, "its volume moves");
        assert_eq!(ask(&mut attempt, &[], 29), [""; 0]);
        assert_eq!(attempt.outcome(), Outcome::Drained);
    }

    #[test]
    fn endless_new_pods_do_not_block_a_drain() {
        for (is_forced, retries, looks) in [(false, 3, 3), (true, 1, 1)] {
            let mut attempt = Attempt::begin("n", terms(is_forced, retries, 7200), Vec::new(), at(0));
            let taken = (0..9).take_while(|number| attempt.take_up(vec![pod(&number.to_string())], at(0)));
            assert_eq!(taken.count(), looks);
        }
    }

    #[test]
    fn forced_drain_deletes_without_waiting() {
        let story = play(terms(true, 10, 7200), vec![pod("a"), with_claims("b", 1)], |_, _, _| (Answer::Accepted, 99));
        assert_eq!(story, ["0 Delete b: Accepted", "0 Delete a: Accepted", "0 drained"]);
    }
}
