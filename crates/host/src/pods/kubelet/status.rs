// SPDX-License-Identifier: Apache-2.0
//! Status of a pod that is run as a process, and the back-off of a failing process.
//!
//! Source: k8s.io/kubernetes pkg/kubelet/{kubelet,kubelet_pods}.go, pkg/kubelet/container/container_gc.go.

use api::kubernetes::core::{
    ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus, Pod,
    PodCondition, PodIP, PodStatus,
};
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};
use domain::garden::rollout::{STOPPED, UNOBSERVED};
use domain::validation::network::Network;
use process::child::Unready;
use process::panics::Panicked;

/// Maximum back-off.
const LONGEST_BACK_OFF: TimeDelta = TimeDelta::minutes(5);
const FIRST_BACK_OFF: TimeDelta = TimeDelta::seconds(10);
/// Run time without a failure after which the count of failures is reset.
pub(crate) const CLEAN_RECORD: TimeDelta = TimeDelta::minutes(10);
/// Address of the node of every process: this machine's.
const ADDRESS: &str = "127.0.0.1";
/// Default pod network of Shoots.
const NETWORK: &str = "100.96.0.0/11";

/// State of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The process is being started.
    Creating,
    /// The process runs, and has not reported that it is ready.
    Started(DateTime<Utc>),
    /// The process is ready.
    Ready(DateTime<Utc>),
    /// The process failed, and is restarted after this time.
    BackOff(TimeDelta),
    /// The process cannot be started: the message.
    Refused(String),
    /// The image does not exist; `again`: the kubelet waits for the next attempt to pull it.
    NoImage { again: bool },
}

/// Waiting reasons of a container without an image.
const PULL_REASONS: [&str; 2] = ["ErrImagePull", "ImagePullBackOff"];

/// True if a container with this waiting reason has no image, and so never had a process.
pub(crate) fn is_without_image(reason: &str) -> bool {
    PULL_REASONS.contains(&reason)
}

/// End of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) exit_code: i32,
    pub(crate) signal: i32,
    pub(crate) started_at: DateTime<Utc>,
    pub(crate) finished_at: DateTime<Utc>,
    /// Last lines of output, followed by the kubelet's own explanation of the end.
    pub(crate) last_lines: String,
}

/// Reason for which the processes of an earlier kubelet have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    /// The landscape was stopped regularly.
    Stopped,
    /// Processes ended for another reason: the message.
    Lost(String),
}

/// Type of a pod's condition: no controller in its process was restarted after a panic.
pub const HEALTHY: &str = "ControllersHealthy";

/// Returns the back-off after the `failures`th consecutive failure (from 1): zero at first, then ten seconds, doubled
/// each time up to five minutes.
pub(crate) fn back_off(failures: u32) -> TimeDelta {
    match failures {
        0 | 1 => TimeDelta::zero(),
        _ => FIRST_BACK_OFF
            .checked_mul(1 << (failures - 2).min(10))
            .map_or(LONGEST_BACK_OFF, |d| d.min(LONGEST_BACK_OFF)),
    }
}

/// Reports of a process in addition to its readiness.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SaidSo<'a> {
    /// Latest panic that the process survived.
    pub(crate) panicked: Option<&'a Panicked>,
    /// Reason for which the process is not ready.
    pub(crate) unready: Option<&'a Unready>,
}

/// Returns the status of a pod with one container.
pub(crate) fn status(
    pod: &Pod,
    state: &State,
    last: Option<&ContainerStateTerminated>,
    SaidSo { panicked, unready }: SaidSo<'_>,
    restarts: i32,
    now: DateTime<Utc>,
) -> PodStatus {
    let container = pod.spec.containers.first().cloned().unwrap_or_default();
    let is_ready = matches!(state, State::Ready(_)) && unready.is_none();
    let is_pending = matches!(state, State::Creating | State::Refused(_) | State::NoImage { .. }) && last.is_none();
    let (unready_reason, unready_message) = match unready.filter(|_| matches!(state, State::Ready(_))) {
        Some(Unready { reason, message }) => (reason.as_str(), message.clone()),
        None => ("ContainersNotReady", format!("containers with unready status: [{}]", container.name)),
    };
    let mut conditions = pod.status.conditions.clone();
    for (type_, holds) in [
        ("PodReadyToStartContainers", true),
        ("Initialized", true),
        ("Ready", is_ready),
        ("ContainersReady", is_ready),
        ("PodScheduled", true),
    ] {
        let (reason, message) = if holds { ("", "") } else { (unready_reason, unready_message.as_str()) };
        set_condition(&mut conditions, type_, holds, reason, message, now);
    }
    conditions.retain(|condition| panicked.is_some() || condition.r#type != HEALTHY);
    if let Some(Panicked { name, times, message, .. }) = panicked {
        let times = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
        let message = format!("{name} panicked {times}, and was restarted: {message}");
        set_condition(&mut conditions, HEALTHY, false, "Panicked", &message, now);
    }
    let container_status = ContainerStatus {
        state: container_state(pod, &container.name, state),
        last_state: ContainerState { terminated: last.cloned(), ..ContainerState::default() },
        ready: is_ready,
        restart_count: restarts,
        image_id: container.image.clone(),
        image: container.image,
        container_id: String::new(),
        started: Some(matches!(state, State::Started(_) | State::Ready(_))),
        name: container.name,
    };
    PodStatus {
        phase: if is_pending { "Pending" } else { "Running" }.to_owned(),
        host_ip: ADDRESS.to_owned(),
        qos_class: "BestEffort".to_owned(),
        start_time: Some(pod.status.start_time.unwrap_or_else(|| Time::from_instant(now))),
        conditions,
        container_statuses: vec![container_status],
        ..pod.status.clone()
    }
}

/// Assigns a pod an address in its cluster's network unless it has one. Nothing listens there: the process listens at
/// an address of this machine.
pub(crate) fn set_address(pod: &mut Pod, cluster: &str, network: Option<&str>) {
    let network =
        network.and_then(Network::parse).filter(|network| network.is_ipv4()).or_else(|| Network::parse(NETWORK));
    let own = pod.status.pod_ip.as_str();
    if !own.is_empty() && own != ADDRESS {
        return;
    }
    let address = network.and_then(|network| network.address(&format!("{cluster}/{}", pod.metadata.uid)));
    let address = address.map_or_else(|| ADDRESS.to_owned(), |address| address.to_string());
    pod.status.pod_i_ps = vec![PodIP { ip: address.clone() }];
    pod.status.pod_ip = address;
}

fn container_state(pod: &Pod, container: &str, state: &State) -> ContainerState {
    let waiting = |reason: &str, message: String| ContainerState {
        waiting: Some(ContainerStateWaiting { reason: reason.to_owned(), message }),
        ..ContainerState::default()
    };
    match state {
        State::Creating => waiting("ContainerCreating", String::new()),
        State::Refused(reason) => waiting("CreateContainerConfigError", reason.clone()),
        State::NoImage { again } => {
            let image = pod.spec.containers.first().map_or("", |container| &container.image);
            let pull = format!(
                "rpc error: code = NotFound desc = failed to pull and unpack image {image:?}: failed to resolve reference \
                 {image:?}: {image}: not found"
            );
            let [first, next] = PULL_REASONS;
            match again {
                false => waiting(first, pull),
                true => waiting(next, format!("Back-off pulling image {image:?}: {first}: {pull}")),
            }
        }
        State::BackOff(duration) => {
            let (metadata, seconds) = (&pod.metadata, duration.num_seconds());
            let duration =
                if seconds < 60 { format!("{seconds}s") } else { format!("{}m{}s", seconds / 60, seconds % 60) };
            let message = format!(
                "back-off {duration} restarting failed container={container} pod={}_{}({})",
                metadata.name, metadata.namespace, metadata.uid
            );
            waiting("CrashLoopBackOff", message)
        }
        State::Started(at) | State::Ready(at) => ContainerState {
            running: Some(ContainerStateRunning { started_at: Time::from_instant(*at) }),
            ..ContainerState::default()
        },
    }
}

/// Returns the container state for the end of a process.
pub(crate) fn terminated(ended: &Ended) -> ContainerStateTerminated {
    let reason = if ended.exit_code == 0 { "Completed" } else { "Error" };
    ContainerStateTerminated {
        exit_code: ended.exit_code,
        signal: ended.signal,
        reason: reason.to_owned(),
        message: ended.last_lines.clone(),
        started_at: Time::from_instant(ended.started_at),
        finished_at: Time::from_instant(ended.finished_at),
        container_id: String::new(),
    }
}

/// Returns the end of the last process of a pod that had one before this kubelet. The end of a running one was not
/// observed.
///
/// Source: k8s.io/kubernetes pkg/kubelet/kubelet_pods.go (convertToAPIContainerStatuses: a container that is not found).
pub(crate) fn before(pod: &Pod, why: &Before, now: DateTime<Utc>) -> Option<ContainerStateTerminated> {
    let container = pod.status.container_statuses.first()?;
    let Some(running) = &container.state.running else { return container.last_state.terminated.clone() };
    let (exit_code, reason, message) = match why {
        Before::Stopped => (0, "Completed", STOPPED.to_owned()),
        Before::Lost(why) => (137, UNOBSERVED, why.clone()),
    };
    Some(ContainerStateTerminated {
        exit_code,
        signal: 0,
        reason: reason.to_owned(),
        message,
        started_at: running.started_at,
        finished_at: Time::from_instant(now),
        container_id: String::new(),
    })
}

/// Returns the kubelet's explanation for the end of a process, in addition to the process's own output, which explains
/// an exit with a failure; `None`: no explanation. `asked`: the kubelet requested the end; `killed`: the process did
/// not end in time and was killed.
pub(crate) fn end_words(exit: End, asked: bool, killed: bool, said_something: bool) -> Option<String> {
    match exit {
        End::Signal(_) if killed => {
            Some(format!("it did not end within {} s of being asked to, and was killed", super::child::GRACE.as_secs()))
        }
        End::Signal(9) => {
            Some("it was killed by signal 9 (SIGKILL): by a user, or by the system because memory ran out".to_owned())
        }
        End::Signal(signal) => Some(format!("it was ended by signal {signal}{}", signal_name(signal))),
        End::Code(0) if !asked => Some("it ended with exit code 0, without being asked to".to_owned()),
        End::Code(code) if code != 0 && !said_something => {
            Some(format!("it ended with exit code {code}, without a word"))
        }
        End::Code(_) => None,
    }
}

/// End of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Exit code.
    Code(i32),
    /// Signal that ended the process.
    Signal(i32),
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        3 => " (SIGQUIT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        11 => " (SIGSEGV)",
        15 => " (SIGTERM)",
        24 => " (SIGXCPU)",
        25 => " (SIGXFSZ)",
        _ => "",
    }
}

fn set_condition(
    conditions: &mut Vec<PodCondition>,
    type_: &str,
    holds: bool,
    reason: &str,
    message: &str,
    now: DateTime<Utc>,
) {
    let status = if holds { "True" } else { "False" };
    let present = conditions.iter_mut().find(|condition| condition.r#type == type_);
    let since = present.as_ref().filter(|present| present.status == status).map(|it| it.last_transition_time);
    let condition = PodCondition {
        r#type: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition_time: since.unwrap_or_else(|| Time::from_instant(now)),
        ..PodCondition::default()
    };
    match present {
        Some(present) => *present = condition,
        None => conditions.push(condition),
    }
}

#[cfg(test)]
mod tests {
    use api::kubernetes::core::Container;

    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_690_488_000 + seconds, 0).expect("in range")
    }

    fn pod() -> Pod {
        let mut pod = Pod::default();
        pod.metadata.name = "gardener-scheduler-0".to_owned();
        pod.metadata.namespace = "garden".to_owned();
        pod.metadata.uid = "u".to_owned();
        pod.spec.containers = vec![Container {
            name: "scheduler".to_owned(),
            image: "gardener-scheduler:v1.120.0".to_owned(),
            ..Container::default()
        }];
        pod
    }

    #[test]
    fn the_back_off_doubles_from_ten_seconds_to_five_minutes() {
        let seconds: Vec<i64> = (1..9).map(|failures| back_off(failures).num_seconds()).collect();
        assert_eq!(seconds, [0, 10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(back_off(u32::MAX), LONGEST_BACK_OFF);
    }

    #[test]
    fn a_pod_is_ready_when_its_process_reports_it() {
        let mut pod = pod();
        for (state, phase, ready) in [
            (State::Creating, "Pending", "False"),
            (State::Started(at(1)), "Running", "False"),
            (State::Ready(at(1)), "Running", "True"),
        ] {
            pod.status = status(&pod, &state, None, SaidSo::default(), 0, at(1));
            assert_eq!(pod.status.phase, phase, "{state:?}");
            let condition = pod.status.conditions.iter().find(|it| it.r#type == "Ready").expect("there");
            assert_eq!(condition.status, ready, "{state:?}");
        }
        assert_eq!(pod.status.conditions.len(), 5);
    }

    #[test]
    fn a_pod_without_an_image_is_pending() {
        let waiting = |again: bool| {
            let status = status(&pod(), &State::NoImage { again }, None, SaidSo::default(), 0, at(1));
            let waiting = status.container_statuses[0].state.waiting.clone().expect("waiting");
            assert_eq!((status.phase.as_str(), status.container_statuses[0].ready), ("Pending", false));
            assert!(is_without_image(&waiting.reason));
            (waiting.reason, waiting.message)
        };
        let pull = "rpc error: code = NotFound desc = failed to pull and unpack image \"gardener-scheduler:v1.120.0\": \
                    failed to resolve reference \"gardener-scheduler:v1.120.0\": gardener-scheduler:v1.120.0: not found";
        assert_eq!(waiting(false), ("ErrImagePull".to_owned(), pull.to_owned()));
        let again = format!("Back-off pulling image \"gardener-scheduler:v1.120.0\": ErrImagePull: {pull}");
        assert_eq!(waiting(true), ("ImagePullBackOff".to_owned(), again));
        assert!(!is_without_image("CrashLoopBackOff"));
    }

    #[test]
    fn a_failed_process_has_reason_and_restart_time() {
        let ended = Ended {
            exit_code: 3,
            signal: 0,
            started_at: at(0),
            finished_at: at(2),
            last_lines: "error: skew".to_owned(),
        };
        let last = terminated(&ended);
        let status = status(&pod(), &State::BackOff(TimeDelta::seconds(80)), Some(&last), SaidSo::default(), 4, at(2));
        let container = &status.container_statuses[0];
        let waiting = container.state.waiting.as_ref().expect("waiting");
        assert_eq!(waiting.reason, "CrashLoopBackOff");
        assert_eq!(
            waiting.message,
            "back-off 1m20s restarting failed container=scheduler pod=gardener-scheduler-0_garden(u)"
        );
        let last = container.last_state.terminated.as_ref().expect("terminated");
        assert_eq!((last.exit_code, last.reason.as_str(), last.message.as_str()), (3, "Error", "error: skew"));
        assert_eq!((container.restart_count, status.phase.as_str()), (4, "Running"));
    }

    #[test]
    fn a_pod_keeps_an_address_of_its_network() {
        let mut pod = pod();
        "127.0.0.1".clone_into(&mut pod.status.pod_ip);
        set_address(&mut pod, "seed--a", Some("10.1.0.0/16"));
        let address = pod.status.pod_ip.clone();
        assert!(address.starts_with("10.1.") && pod.status.pod_i_ps[0].ip == address, "{address}");
        set_address(&mut pod, "seed--a", None);
        assert_eq!(pod.status.pod_ip, address);
        pod.status.pod_ip.clear();
        set_address(&mut pod, "seed--a", Some("fd00::/64"));
        assert!(pod.status.pod_ip.starts_with("100."), "{}", pod.status.pod_ip);
    }

    #[test]
    fn every_end_has_a_reason() {
        let words = |end, asked, killed, said| end_words(end, asked, killed, said).unwrap_or_default();
        for (end, asked, killed, said, expected) in [
            (End::Code(3), false, false, true, ""),
            (End::Code(0), true, false, true, ""),
            (End::Code(0), true, false, false, ""),
            (End::Code(0), false, false, true, "it ended with exit code 0, without being asked to"),
            (End::Code(1), false, false, false, "it ended with exit code 1, without a word"),
            (End::Code(1), true, false, false, "it ended with exit code 1, without a word"),
            (End::Signal(9), true, true, true, "it did not end within 10 s of being asked to, and was killed"),
            (
                End::Signal(9),
                false,
                false,
                true,
                "it was killed by signal 9 (SIGKILL): by a user, or by the system because memory ran out",
            ),
            (End::Signal(11), false, false, true, "it was ended by signal 11 (SIGSEGV)"),
            (End::Signal(40), false, false, true, "it was ended by signal 40"),
        ] {
            assert_eq!(words(end, asked, killed, said), expected, "{end:?}");
        }
    }

    #[test]
    fn a_process_of_before_has_a_reason_for_its_end() {
        let mut pod = pod();
        let lost = Before::Lost("the host was killed".to_owned());
        assert_eq!(before(&pod, &lost, at(9)), None, "it never had a process");
        pod.status = status(&pod, &State::Ready(at(1)), None, SaidSo::default(), 0, at(1));
        let ended = before(&pod, &lost, at(9)).expect("it ran");
        assert_eq!((ended.exit_code, ended.reason.as_str()), (137, "ContainerStatusUnknown"));
        assert_eq!((ended.message.as_str(), ended.started_at), ("the host was killed", Time::from_instant(at(1))));
        let ended = before(&pod, &Before::Stopped, at(9)).expect("it ran");
        assert_eq!((ended.exit_code, ended.message.as_str()), (0, "the landscape was stopped"));
        pod.status = status(&pod, &State::BackOff(TimeDelta::seconds(10)), Some(&ended), SaidSo::default(), 1, at(9));
        assert_eq!(before(&pod, &lost, at(10)), Some(ended), "its end is known");
    }

    #[test]
    fn a_panic_that_was_survived_is_a_condition() {
        let mut pod = pod();
        let panicked = Panicked {
            name: "shoot-care".to_owned(),
            times: 2,
            message: "index (a.rs:7)".to_owned(),
            pause_seconds: 2,
        };
        pod.status =
            status(&pod, &State::Ready(at(1)), None, SaidSo { panicked: Some(&panicked), unready: None }, 0, at(1));
        let condition = pod.status.conditions.iter().find(|it| it.r#type == HEALTHY).expect("there");
        assert_eq!(condition.message, "shoot-care panicked 2 times, and was restarted: index (a.rs:7)");
        assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("False", "Panicked"));
        pod.status = status(&pod, &State::Ready(at(1)), None, SaidSo::default(), 0, at(1));
        assert!(pod.status.conditions.iter().all(|it| it.r#type != HEALTHY), "a new process has not panicked");
    }

    #[test]
    fn a_process_that_is_not_ready_runs() {
        let mut pod = pod();
        let unready = Unready { reason: "VersionSkew".to_owned(), message: "too old".to_owned() };
        let said = SaidSo { panicked: None, unready: Some(&unready) };
        pod.status = status(&pod, &State::Ready(at(1)), None, said, 0, at(5));
        for type_ in ["Ready", "ContainersReady"] {
            let condition = pod.status.conditions.iter().find(|it| it.r#type == type_).expect("there");
            let told = (condition.status.as_str(), condition.reason.as_str(), condition.message.as_str());
            assert_eq!(told, ("False", "VersionSkew", "too old"));
        }
        let container = &pod.status.container_statuses[0];
        assert!(!container.ready && container.state.running.is_some(), "{container:?}");
        pod.status = status(&pod, &State::Ready(at(1)), None, SaidSo::default(), 0, at(6));
        assert!(pod.status.container_statuses[0].ready);
        assert!(pod.status.conditions.iter().all(|it| it.status == "True" && it.message.is_empty()));
    }
}
