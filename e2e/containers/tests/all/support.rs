// SPDX-License-Identifier: Apache-2.0
//! Shared helpers of the tests: the image, a landscape in containers, and access to both.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use process::Transport;
use process::https::{self, Credentials, Reach};
use process::pki::{Authority, Key, Leaf, Pair, Validity};
use process::transport::full;
use serde_json::Value;
use terrarium_containers::engine;
use terrarium_containers::image::Image;
use testcontainers::bollard::Docker;
use testcontainers::bollard::models::{NetworkConnectRequest, NetworkCreateRequest, NetworkDisconnectRequest};
use testcontainers::bollard::query_parameters::{
    InspectContainerOptions, ListContainersOptions, ListImagesOptions, ListNetworksOptions, RemoveContainerOptions,
    RemoveImageOptions,
};
use testcontainers::core::wait::ExitWaitStrategy;
use testcontainers::core::{IntoContainerPort, WaitFor};
use testcontainers::runners::{AsyncBuilder, AsyncRunner};
use testcontainers::{ContainerAsync, ContainerRequest, GenericBuildableImage, GenericImage, ImageExt};
use tokio::sync::OnceCell;

/// Labels with the process that created an object, and with the folder of its build.
const PROCESS: &str = "dev.terrarium.test.process";
const FOLDER: &str = "dev.terrarium.test.folder";
/// Name of the image; its tag is the process.
const IMAGE: &str = "terrarium-test";
/// Port of the host.
const PORT: u16 = 6443;
/// Port of an instance.
const INSTANCE_PORT: u16 = 8443;
/// Maximum wall time until a container is ready, and until any other condition holds.
const START: Duration = Duration::from_mins(3);
const LIMIT: TimeDelta = TimeDelta::seconds(120);
const LOOK: TimeDelta = TimeDelta::milliseconds(50);

/// Collection of Gardener's kind ExposureClass, which has no finalizers and no controllers.
pub(crate) const EXPOSURE_CLASSES: &str = "/clusters/garden/apis/core.gardener.cloud/v1beta1/exposureclasses";

/// A container.
pub(crate) type Container = ContainerAsync<GenericImage>;

/// Runs a test if there is an engine.
pub(crate) fn with_engine(test: impl Future<Output = ()>) {
    if let Err(why) = engine::answers(None) {
        let needed = std::env::var_os(engine::NEEDED).is_some_and(|needed| needed == engine::REQUIRED);
        assert!(!needed, "{why}");
        // Printed even for tests that pass: a skipped test must not look like a passed one.
        process::child::say(&format!("skipped, in containers: {why}"));
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(test);
}

/// Returns the folder of this build's binaries: the test runs in `target/PROFILE/deps`.
fn binaries() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its path");
    test.ancestors().nth(2).expect("two levels below the profile's folder").to_owned()
}

fn labels() -> [(&'static str, String); 2] {
    [(PROCESS, std::process::id().to_string()), (FOLDER, binaries().display().to_string())]
}

/// Returns the tag of the image, which is built once; before, objects of earlier runs are removed.
async fn image() -> &'static str {
    static TAG: OnceCell<String> = OnceCell::const_new();
    let build = || async {
        sweep(&Docker::connect_with_defaults().expect("the engine that answers")).await;
        // The host runs the other components.
        let executables = ["terrarium", "gardener-apiserver"].map(|name| binaries().join(name));
        for executable in &executables {
            assert!(
                executable.is_file(),
                "no {}: build the workspace first, as `cargo xtask test` does",
                executable.display()
            );
        }
        let image = Image::of(&executables).expect("executables of this machine");
        let tag = std::process::id().to_string();
        let labels = labels();
        let labels: Vec<(&str, &str)> = labels.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let context = GenericBuildableImage::new(IMAGE, &tag).with_dockerfile_string(image.dockerfile(&labels));
        let context = image.files.iter().fold(context, |context, (source, target)| {
            context.with_file(source, format!("./{}", Image::in_context(target)))
        });
        let _built: GenericImage = context.build_image().await.expect("an image");
        tag
    };
    TAG.get_or_init(build).await
}

/// Removes objects of runs of this build whose process has ended.
async fn sweep(docker: &Docker) {
    let filters = || Some([("label".to_owned(), vec![format!("{FOLDER}={}", binaries().display())])].into());
    // A process ID may have been reused, and a killed process may not have been reaped yet: then it has no executable any more.
    let runs = |process: &String| {
        let program = std::fs::read_link(PathBuf::from("/proc").join(process).join("exe"));
        program.is_ok_and(|program| program.starts_with(binaries())) && *process != std::process::id().to_string()
    };
    let is_left = |process: Option<&String>| process.is_some_and(|process| !runs(process));
    let options = ListContainersOptions { all: true, filters: filters(), ..ListContainersOptions::default() };
    for container in docker.list_containers(Some(options)).await.expect("a list") {
        if is_left(container.labels.as_ref().and_then(|labels| labels.get(PROCESS))) {
            let options = RemoveContainerOptions { force: true, v: true, ..RemoveContainerOptions::default() };
            let _ = docker.remove_container(&container.id.unwrap_or_default(), Some(options)).await;
        }
    }
    let options = ListNetworksOptions { filters: filters() };
    for network in docker.list_networks(Some(options)).await.expect("a list") {
        if is_left(network.labels.as_ref().and_then(|labels| labels.get(PROCESS))) {
            let _ = docker.remove_network(&network.id.unwrap_or_default()).await;
        }
    }
    let options = ListImagesOptions { all: true, filters: filters(), ..ListImagesOptions::default() };
    for image in docker.list_images(Some(options)).await.expect("a list") {
        if is_left(image.labels.get(PROCESS)) {
            let options = RemoveImageOptions { force: true, ..RemoveImageOptions::default() };
            let _ = docker.remove_image(&image.id, Some(options), None).await;
        }
    }
}

/// Resolves when a condition holds.
///
/// # Panics
/// It does not hold in time; with the last answer.
pub(crate) async fn until<T: std::fmt::Debug, F: Future<Output = T>>(
    what: &str,
    look: impl Fn() -> F,
    is_it: impl Fn(&T) -> bool,
) -> T {
    let wall = Clock::wall();
    let limit = wall.now() + LIMIT;
    loop {
        let seen = look().await;
        if is_it(&seen) {
            return seen;
        }
        assert!(wall.now() < limit, "{what}: not within {} s; it is {seen:?}", LIMIT.num_seconds());
        wall.sleep(LOOK, TimerClass::Work).await;
    }
}

/// Sends a request; an error: there was no answer.
pub(crate) async fn send(
    transport: &Transport,
    method: Method,
    path: &str,
    body: Value,
) -> Result<(StatusCode, Value), String> {
    let content = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = http::Request::builder().method(method).uri(path).header("content-type", content);
    let response =
        transport.send(request.body(full(body)).expect("a request")).await.map_err(|error| error.to_string())?;
    let status = response.status();
    let bytes = response.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
    let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
    Ok((status, serde_json::from_slice(&bytes).unwrap_or_else(|_| text())))
}

/// A landscape whose host runs in a container.
pub(crate) struct Landscape {
    docker: Docker,
    host: Container,
    /// Name of both networks, without their suffixes.
    name: String,
    tag: &'static str,
    kubeconfig: Vec<u8>,
    /// Certificate of the landscape's authority, and one of an administrator.
    authority: String,
    administrator: Pair,
    /// The administrator's transport to the host.
    pub(crate) door: Transport,
}

impl Landscape {
    /// Starts the host; it is ready, with a gardener-apiserver of its own.
    pub(crate) async fn start() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let tag = image().await;
        let docker = Docker::connect_with_defaults().expect("the engine that answers");
        let name = format!("{IMAGE}-{tag}-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        for end in ["line", "door"] {
            let labels = Some(labels().into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
            let name = format!("{name}-{end}");
            let request = NetworkCreateRequest { name, labels, ..NetworkCreateRequest::default() };
            docker.create_network(request).await.expect("a network");
        }
        let own = format!("{name}-host");
        let words = ["up", "--foreground", "--bind", "0.0.0.0", "--port", "6443", "--san", &own, "--apiservers", "1"];
        let words = words.into_iter().chain(["--wait", "2m", "--kubeconfig", "/credentials/kubeconfig"]);
        let image = GenericImage::new(IMAGE, tag).with_exposed_port(PORT.tcp());
        let host = image.with_wait_for(WaitFor::message_on_stdout("ready in"));
        let host = labelled(host.with_cmd(words))
            .with_container_name(&own)
            .with_network(format!("{name}-line"))
            .with_startup_timeout(START);
        let host = host.start().await.expect("a host that is ready");
        let kubeconfig = file(&host, "/credentials/kubeconfig").await;
        let text = |bytes| String::from_utf8(bytes).expect("PEM");
        let authority = text(file(&host, "/data/landscape/pki/ca.crt").await);
        let key = text(file(&host, "/data/landscape/pki/ca.key").await);
        let administrator = administrator(&Authority::from_pem(&authority, &key).expect("an authority"));
        let port = host.get_host_port_ipv4(PORT).await.expect("a published port");
        let door = way_to(port, &authority, &administrator);
        Self { docker, host, name, tag, kubeconfig, authority, administrator, door }
    }

    /// Requests a container with a gardener-apiserver of a version, which joins the landscape.
    fn instance(&self, name: &str, version: &str, ready: WaitFor) -> ContainerRequest<GenericImage> {
        let server = format!("{}-host:{PORT}", self.name);
        let words = ["--kubeconfig", "/credentials/kubeconfig", "--join", &server, "--gardener-version", version];
        let image = GenericImage::new(IMAGE, self.tag).with_exposed_port(INSTANCE_PORT.tcp()).with_wait_for(ready);
        let image = image.with_entrypoint("/gardener-apiserver");
        labelled(image.with_cmd(words.map(str::to_owned)))
            .with_container_name(format!("{}-{name}", self.name))
            .with_network(format!("{}-line", self.name))
            .with_copy_to("/credentials/kubeconfig", self.kubeconfig.clone())
            .with_startup_timeout(START)
    }

    /// Starts an instance that serves, and that accepts direct requests: over a network of its own, which is never cut.
    pub(crate) async fn join(&self, name: &str, version: &str) -> Container {
        let ready = WaitFor::message_on_stderr("Serving securely");
        let container = self.instance(name, version, ready).start().await.expect("an instance that serves");
        self.connect("door", &container).await;
        container
    }

    /// Starts an instance that is refused; returns its exit code and its last line.
    pub(crate) async fn refused(&self, name: &str, version: &str) -> (i64, String) {
        let ended = WaitFor::exit(ExitWaitStrategy::new());
        let container = self.instance(name, version, ended).start().await.expect("a container that ends");
        let said = container.stderr_to_vec().await.expect("its log");
        let code = container.exit_code().await.expect("an answer").expect("it has ended");
        (code, String::from_utf8_lossy(&said).lines().last().unwrap_or_default().to_owned())
    }

    /// Returns the administrator's transport to an instance, without the host.
    pub(crate) async fn past_the_host(&self, container: &Container) -> Transport {
        let port = container.get_host_port_ipv4(INSTANCE_PORT).await.expect("a published port");
        way_to(port, &self.authority, &self.administrator)
    }

    async fn connect(&self, end: &str, container: &Container) {
        let container = container.id().to_owned();
        let request = NetworkConnectRequest { container, ..NetworkConnectRequest::default() };
        self.docker.connect_network(&format!("{}-{end}", self.name), request).await.expect("a line");
    }

    /// Disconnects an instance from the host.
    pub(crate) async fn cut_off(&self, container: &Container) {
        let request = NetworkDisconnectRequest { container: container.id().to_owned(), force: Some(true) };
        self.docker.disconnect_network(&format!("{}-line", self.name), request).await.expect("a line that is cut");
    }

    /// Connects it again.
    pub(crate) async fn mend(&self, container: &Container) {
        self.connect("line", container).await;
    }

    /// Stops the host's own gardener-apiserver, so that only those in containers serve.
    pub(crate) async fn only_joined(&self, instances: usize) {
        let path = "/clusters/runtime/apis/apps/v1/namespaces/garden/deployments/gardener-apiserver";
        let body = serde_json::json!({ "spec": { "replicas": 0 } });
        let (status, answer) = send(&self.door, Method::PATCH, path, body).await.expect("an answer");
        assert_eq!(status, StatusCode::OK, "{answer}");
        until("only those in containers serve", || self.versions(), |versions| versions.len() == instances).await;
    }

    /// Returns the versions of the registered gardener-apiservers, the lowest first.
    pub(crate) async fn versions(&self) -> Vec<String> {
        let path = "/clusters/garden/apis/coordination.k8s.io/v1/namespaces/gardener-system-instances/leases\
                    ?labelSelector=terrarium.dev%2Fcomponent%3Dgardener-apiserver";
        let (_, list) = send(&self.door, Method::GET, path, Value::Null).await.expect("an answer of the host");
        let version = |lease: &Value| {
            let version = lease["metadata"]["annotations"]["terrarium.dev/version"].as_str();
            version.unwrap_or_default().to_owned()
        };
        let mut versions: Vec<String> = list["items"].as_array().into_iter().flatten().map(version).collect();
        versions.sort();
        versions
    }

    /// Creates an object as ordinary clients do, with retries until it exists; returns the number of attempts.
    pub(crate) async fn write(&self, name: &str) -> u32 {
        let body = serde_json::json!({
            "apiVersion": "core.gardener.cloud/v1beta1",
            "kind": "ExposureClass",
            "metadata": { "name": name },
            "handler": "test",
        });
        let attempts = AtomicU32::new(0);
        let attempt = || {
            attempts.fetch_add(1, Ordering::Relaxed);
            send(&self.door, Method::POST, EXPOSURE_CLASSES, body.clone())
        };
        let is_there = |answer: &Result<(StatusCode, Value), String>| {
            matches!(answer, Ok((StatusCode::CREATED | StatusCode::CONFLICT, _)))
        };
        let _acknowledged = until("a write is acknowledged", attempt, is_there).await;
        attempts.into_inner()
    }

    /// Returns the names of a list; an error: its status, or the reason why there is no answer.
    pub(crate) async fn names(transport: &Transport) -> Result<Vec<String>, String> {
        let (status, list) = send(transport, Method::GET, EXPOSURE_CLASSES, Value::Null).await?;
        if status != StatusCode::OK {
            return Err(format!("{status}: {list}"));
        }
        let items = list["items"].as_array().into_iter().flatten();
        Ok(items.map(|item| item["metadata"]["name"].as_str().unwrap_or_default().to_owned()).collect())
    }

    /// Ends everything.
    pub(crate) async fn end(self, instances: Vec<Container>) {
        let all = instances.into_iter().chain([self.host]);
        for container in all {
            container.rm().await.expect("it is removed");
        }
        for end in ["line", "door"] {
            self.docker.remove_network(&format!("{}-{end}", self.name)).await.expect("it is removed");
        }
    }

    /// Returns whether a container runs, and its exit code.
    pub(crate) async fn state(&self, container: &Container) -> (bool, i64) {
        let options = None::<InspectContainerOptions>;
        let state = self.docker.inspect_container(container.id(), options).await.expect("an answer").state;
        let state = state.expect("a state");
        (state.running.unwrap_or_default(), state.exit_code.unwrap_or_default())
    }
}

fn labelled(request: ContainerRequest<GenericImage>) -> ContainerRequest<GenericImage> {
    request.with_labels(labels())
}

async fn file(container: &Container, path: &str) -> Vec<u8> {
    container.copy_file_from(path, Vec::new()).await.unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns a certificate of an administrator, as our own commands have.
fn administrator(authority: &Authority) -> Pair {
    let now = Clock::wall().now();
    let validity = Validity { not_before: now - TimeDelta::hours(1), not_after: now + TimeDelta::hours(1) };
    let key = Key::transport().expect("a key");
    authority.issue(Leaf::Client("admin", &["system:masters"]), &key, validity).expect("a certificate")
}

fn way_to(port: u16, authority: &str, administrator: &Pair) -> Transport {
    let options = https::Options {
        server: format!("127.0.0.1:{port}"),
        authorities: authority.to_owned(),
        credentials: Credentials::Certificate(administrator.clone()),
        reach: Reach::Network,
        ..https::Options::default()
    };
    https::transport(&options).expect("options that work")
}
