// SPDX-License-Identifier: Apache-2.0
//! Pods that are run as real processes.

use std::path::PathBuf;
use std::sync::Arc;

use api::kubernetes::core::{ConfigMap, ConfigMapVolumeSource, Container, Pod, Volume, VolumeMount};
use apimachinery::meta::{DeleteOptions, ObjectMeta, TextMap};
use chrono::TimeDelta;
use clock::TimerClass;
use controller::{Api, ObjectKey};
use host::pods::faults::Faults;
use host::pods::kubelet::{self, Before, Form, HEALTHY, Launch, Program, Refusal};
use host::time::timekeeper::Mode;
use parking_lot::Mutex;
use process::child::{Assignment, Ready};

use crate::threads::{self, World};

/// Scripts of toys: they run after the assignment.
const WELL: &str = r#"read assignment; echo '{"program":"toy"}'; echo "hello" >&2; echo "$assignment" >&2;
while read line; do :; done; echo "good bye" >&2"#;
const BADLY: &str = r#"read assignment; echo "one" >&2; echo "error: no such flag" >&2; exit 3"#;

const KILLED: &str = r#"read assignment; echo "one" >&2; kill -9 $$"#;
const SHAKEN: &str = r#"read assignment; echo '{"program":"toy"}'
echo '{"panicked":{"name":"toy-care","times":1,"message":"on purpose (toy.rs:1)"}}'; while read line; do :; done"#;

/// Runs scripts as `toy:NAME`.
struct Toys;

impl Launch for Toys {
    fn runs(&self, _: &str, _: &TextMap, image: &str) -> bool {
        image.starts_with("toy:")
    }

    fn launch(&self, _: &str, pod: &Pod) -> Result<Program, Refusal> {
        let script = match pod.spec.containers[0].image.trim_start_matches("toy:") {
            "well" => WELL,
            "badly" => BADLY,
            "killed" => KILLED,
            "silent" => "read assignment; exit 7",
            "done" => "read assignment; echo one >&2; exit 0",
            "shaken" => SHAKEN,
            "wrong" => return Err("no form is called wrong".to_owned().into()),
            _ => return Err(Refusal::NoImage),
        };
        let args = vec!["-c".to_owned(), script.to_owned()];
        let shell = PathBuf::from("/bin/sh");
        Ok(Program {
            form: Form::Process { path: shell.clone(), name: shell, args },
            assignment: Assignment::default(),
        })
    }
}

struct Kubelet {
    world: World,
    pods: Api<Pod>,
    heard: Arc<Mutex<Vec<Option<Ready>>>>,
    /// Number of holds at each call of the listener.
    holds: Arc<Mutex<Vec<usize>>>,
}

impl Kubelet {
    async fn new() -> Self {
        let mut kubelet = Self::stopped();
        kubelet.start().await;
        kubelet
    }

    /// A kubelet that does not run yet.
    fn stopped() -> Self {
        let world = World::new(Mode::Stepped);
        let pods = Api::namespaced(&world.context(), "runtime", "default");
        Self { world, pods, heard: Arc::default(), holds: Arc::default() }
    }

    async fn start(&mut self) {
        let Self { world, heard, holds, .. } = self;
        let (ears, clock, holds, held) = (heard.clone(), world.clock.clone(), holds.clone(), world.clock.clone());
        let options = kubelet::Options {
            launch: Arc::new(Toys),
            listener: Arc::new(move |_: &ObjectKey, _, ready| {
                holds.lock().push(held.waits_for().holds.len());
                ears.lock().push(ready.map(|served| served.ready.clone()));
                Box::pin(std::future::ready(()))
            }),
            readiness_listener: Arc::new(|_, _| {}),
            faults: Faults::default(),
            hold: Arc::new(move |name, holds| {
                clock.with(|keeper, wall| if holds { keeper.hold(name, wall) } else { keeper.release(name, wall) });
            }),
            logs: world.logs.clone(),
            before: Before::Stopped,
            pod_network_of: Arc::new(|_| None),
            inside: None,
        };
        let transport = world.transport();
        world
            .run("kubelet", transport, |context, ready| {
                let _ = ready.send(());
                kubelet::run(context, options)
            })
            .await;
    }

    async fn create(&self, name: &str, image: &str) {
        let mount = VolumeMount { name: "config".into(), mount_path: "/etc/toy".into(), ..VolumeMount::default() };
        let container = Container {
            name: "toy".to_owned(),
            image: image.to_owned(),
            args: vec!["--config=/etc/toy/config.yaml".to_owned()],
            volume_mounts: vec![mount],
            ..Container::default()
        };
        let source = ConfigMapVolumeSource { name: "toy-config".into(), ..ConfigMapVolumeSource::default() };
        let volume = Volume { name: "config".into(), config_map: Some(source), ..Volume::default() };
        let mut pod = Pod { metadata: named(name), ..Pod::default() };
        pod.spec.containers = vec![container];
        pod.spec.volumes = vec![volume];
        // Without a node it would be deleted without the kubelet.
        "terrarium".clone_into(&mut pod.spec.node_name);
        self.pods.create(&pod).await.expect("created");
    }

    async fn config(&self) {
        let config = ConfigMap {
            metadata: named("toy-config"),
            data: [("config.yaml".to_owned(), "kind: Toy".to_owned())].into(),
            ..ConfigMap::default()
        };
        let api = Api::namespaced(&self.world.context(), "runtime", "default");
        api.create(&config).await.expect("created");
    }

    /// Waits until the pod fulfils a condition; `None`: it was deleted.
    async fn until(&self, name: &str, is_right: impl Fn(Option<&Pod>) -> bool) -> Option<Pod> {
        let wall = self.world.context().wall;
        loop {
            let pod = self.pods.get_opt(name).await.expect("an answer");
            if is_right(pod.as_ref()) {
                return pod;
            }
            wall.sleep(TimeDelta::milliseconds(5), TimerClass::Work).await;
        }
    }

    /// Waits until the listener had this number of calls; the end of a process reaches it after the readers of its log.
    async fn heard(&self, count: usize) -> Vec<Option<Ready>> {
        let wall = self.world.context().wall;
        loop {
            let heard = self.heard.lock().clone();
            if heard.len() >= count {
                return heard;
            }
            wall.sleep(TimeDelta::milliseconds(5), TimerClass::Work).await;
        }
    }

    /// Waits until the log has this number of lines: they are written before readiness, and may be read late.
    async fn log_of(&self, name: &str, lines: usize) -> String {
        let wall = self.world.context().wall;
        loop {
            let log = self.log(name, "").await;
            if log.lines().count() >= lines {
                return log;
            }
            wall.sleep(TimeDelta::milliseconds(5), TimerClass::Work).await;
        }
    }

    async fn log(&self, name: &str, query: &str) -> String {
        let path = format!("/clusters/runtime/api/v1/namespaces/default/pods/{name}/log{query}");
        self.world.text(&path).await
    }
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: name.to_owned(), namespace: "default".to_owned(), ..ObjectMeta::default() }
}

fn is_ready(pod: Option<&Pod>) -> bool {
    let conditions = pod.map(|pod| &pod.status.conditions);
    conditions.is_some_and(|all| all.iter().any(|it| it.r#type == "Ready" && it.status == "True"))
}

fn waits(pod: Option<&Pod>, reason: &str) -> bool {
    let container = pod.and_then(|pod| pod.status.container_statuses.first());
    container.and_then(|it| it.state.waiting.as_ref()).is_some_and(|waiting| waiting.reason == reason)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_is_a_process_until_it_is_deleted() {
    let kubelet = Kubelet::new().await;
    kubelet.config().await;
    kubelet.create("toy-1", "toy:well").await;
    let pod = kubelet.until("toy-1", is_ready).await.expect("there");
    assert_eq!((pod.status.phase.as_str(), pod.status.container_statuses[0].restart_count), ("Running", 0));
    let log = kubelet.log_of("toy-1", 2).await;
    let (first, assignment) = log.trim_end().split_once('\n').expect("two lines");
    assert_eq!(first, "hello");
    let assignment: Assignment = serde_json::from_str(assignment).expect("what it was given");
    assert_eq!(assignment.instance, "toy-1");
    assert_eq!(assignment.args, ["--config=/etc/toy/config.yaml"]);
    assert_eq!(assignment.files.get("/etc/toy/config.yaml").map(String::as_str), Some("kind: Toy"));
    assert_eq!(kubelet.log("toy-1", "?tailLines=1&limitBytes=1").await, "{");

    let path = "/clusters/runtime/api/v1/namespaces/default/pods/toy-1/log?follow=true&tailLines=0";
    let following = kubelet.world.streamed(path).await;
    kubelet.pods.delete("toy-1", &DeleteOptions::default()).await.expect("deleted");
    assert_eq!(following.await, "good bye\n", "the stream ends with the process");
    kubelet.until("toy-1", |pod| pod.is_none()).await;
    assert_eq!(kubelet.heard(2).await, [Some(Ready { program: "toy".into(), ..Ready::default() }), None]);
    kubelet.world.end();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_deleted_before_its_start_is_removed() {
    let mut kubelet = Kubelet::stopped();
    kubelet.config().await;
    kubelet.create("toy-1", "toy:well").await;
    kubelet.pods.delete("toy-1", &DeleteOptions::default()).await.expect("deleted");
    let pod = kubelet.pods.get_opt("toy-1").await.expect("an answer");
    assert!(pod.expect("it waits for its kubelet").metadata.is_being_deleted());
    kubelet.start().await;
    kubelet.until("toy-1", |pod| pod.is_none()).await;
    assert_eq!(kubelet.heard(0).await, [], "there was no process");
    kubelet.world.end();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_process_is_restarted_with_back_off() {
    let kubelet = Kubelet::new().await;
    kubelet.config().await;
    kubelet.create("toy-1", "toy:badly").await;
    let pod = kubelet.until("toy-1", |pod| waits(pod, "CrashLoopBackOff")).await.expect("there");
    let container = &pod.status.container_statuses[0];
    let last = container.last_state.terminated.as_ref().expect("it has ended");
    assert_eq!((last.exit_code, last.message.as_str()), (3, "one\nerror: no such flag"));
    assert_eq!(container.restart_count, 1, "the first time it was started again at once");
    let message = &container.state.waiting.as_ref().expect("waiting").message;
    assert!(message.starts_with("back-off 10s restarting failed container=toy pod=toy-1_default("), "{message}");
    assert_eq!(kubelet.log("toy-1", "?previous=true").await, "one\nerror: no such flag\n");

    // Landscape time ends the back-off as wall time does.
    let to = threads::start() + TimeDelta::seconds(30);
    kubelet.world.clock.advance(to, TimeDelta::zero()).await.expect("forwards");
    let again = |pod: Option<&Pod>| pod.is_some_and(|pod| pod.status.container_statuses[0].restart_count >= 2);
    kubelet.until("toy-1", again).await;
    kubelet.world.end();
}

/// The reason of every end of a process is in its pod's status and in its previous log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_process_ends_without_a_word() {
    let kubelet = Kubelet::new().await;
    kubelet.config().await;
    for (image, code, signal, reason, message) in [
        (
            "toy:killed",
            137,
            9,
            "Error",
            "one\nit was killed by signal 9 (SIGKILL): by a user, or by the system because memory ran out",
        ),
        ("toy:silent", 7, 0, "Error", "it ended with exit code 7, without a word"),
        ("toy:done", 0, 0, "Completed", "one\nit ended with exit code 0, without being asked to"),
    ] {
        let name = image.replace(':', "-");
        kubelet.create(&name, image).await;
        let pod = kubelet.until(&name, |pod| waits(pod, "CrashLoopBackOff")).await.expect("there");
        let last = pod.status.container_statuses[0].last_state.terminated.clone().expect("it has ended");
        assert_eq!((last.exit_code, last.signal, last.reason.as_str()), (code, signal, reason), "{image}");
        assert_eq!(last.message, message, "{image}");
        assert_eq!(kubelet.log(&name, "?previous=true").await, format!("{message}\n"), "{image}");
    }
    kubelet.world.end();
}

/// Time is held until requests are forwarded to a ready process, and from the end of a process until it is restarted or
/// its pod shows when that will be: the process's work would be missing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_is_held_around_start_and_end_of_processes() {
    let kubelet = Kubelet::new().await;
    kubelet.config().await;
    kubelet.create("toy-1", "toy:badly").await;
    kubelet.until("toy-1", |pod| waits(pod, "CrashLoopBackOff")).await.expect("there");
    kubelet.create("toy-2", "toy:well").await;
    kubelet.until("toy-2", is_ready).await;
    kubelet.heard(3).await;
    assert_eq!(*kubelet.holds.lock(), [1, 1, 1], "two ends and a beginning");
    let is_free = async || kubelet.world.clock.waits_for().holds.is_empty().then_some(());
    threads::eventually("the end of the hold", is_free).await;
    kubelet.world.end();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_survived_panic_is_a_condition_of_the_pod() {
    let kubelet = Kubelet::new().await;
    kubelet.config().await;
    kubelet.create("toy-1", "toy:shaken").await;
    let condition = |pod: Option<&Pod>| pod?.status.conditions.iter().find(|it| it.r#type == HEALTHY).cloned();
    let pod = kubelet.until("toy-1", |pod| condition(pod).is_some() && is_ready(pod)).await;
    let condition = condition(pod.as_ref()).expect("seen above");
    assert_eq!(condition.message, "toy-care panicked once, and was restarted: on purpose (toy.rs:1)");
    kubelet.world.end();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_names_missing_objects_and_starts_with_them() {
    let kubelet = Kubelet::new().await;
    kubelet.create("toy-1", "toy:well").await;
    let pod = kubelet.until("toy-1", |pod| waits(pod, "CreateContainerConfigError")).await.expect("there");
    let waiting = pod.status.container_statuses[0].state.waiting.clone().expect("waiting");
    assert_eq!(waiting.message, "configmap \"toy-config\" not found");
    assert_eq!(pod.status.phase, "Pending");
    kubelet.config().await;
    kubelet.until("toy-1", is_ready).await;
    kubelet.create("toy-2", "toy:wrong").await;
    let pod = kubelet.until("toy-2", |pod| waits(pod, "CreateContainerConfigError")).await.expect("there");
    let waiting = pod.status.container_statuses[0].state.waiting.clone().expect("waiting");
    assert_eq!(waiting.message, "no form is called wrong");
    kubelet.world.end();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_waits_for_a_missing_image_until_deleted() {
    let kubelet = Kubelet::new().await;
    kubelet.create("toy-1", "toy:unknown").await;
    let pod = kubelet.until("toy-1", |pod| waits(pod, "ImagePullBackOff")).await.expect("there");
    assert_eq!((pod.status.phase.as_str(), pod.status.container_statuses[0].restart_count), ("Pending", 0));
    kubelet.pods.delete("toy-1", &DeleteOptions::default()).await.expect("deleted");
    assert_eq!(kubelet.until("toy-1", |pod| pod.is_none()).await, None);
    kubelet.world.end();
}
