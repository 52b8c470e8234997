// SPDX-License-Identifier: Apache-2.0
//! Access of the commands to a landscape: as its administrator, over HTTPS.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use clock::{Clock, Random};
use host::kinds::clock_object;
use host::time::clock_service::ClockState;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use process::https::{self, Credentials};
use process::participant::{CLOCK_NAME, CLOCK_PATH};
use process::pki::Pair;
use process::polls::Work;
use process::transport::full;
use process::{Context, Identity, Output, Tasks, Transport};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::host_process::HostProcess;
use crate::failure::Failure;
use crate::live::authority::{ClusterAuthorities, LandscapeAuthority};
use crate::live::directory::{Directory, Facts, HostFile};
use crate::live::kubeconfig;
use ops::names::{NamedCluster, ShootName};
use ops::upgrade::silence::Silence;

/// A running landscape, accessed as its administrator.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) facts: Facts,
    pub(crate) host: HostFile,
    /// Directory of the landscape, absolute.
    pub(crate) directory: PathBuf,
    pub(crate) authorities: String,
    pub(crate) certificate: Pair,
    pub(crate) cluster_authorities: ClusterAuthorities,
    process: HostProcess,
    transport: Transport,
}

/// Order to advance the clock.
#[derive(Clone, Debug)]
pub(crate) struct Advance {
    /// Destination.
    pub(crate) to: DateTime<Utc>,
    /// Wall time of the pause after a step that reached a client that is not a participant.
    pub(crate) settle: TimeDelta,
    /// Participant whose disconnection ends the advance; `None` for an advance that outlives this process.
    pub(crate) participant: Option<String>,
    /// True if the advance continues when a component does not respond.
    pub(crate) ignore_absence: bool,
}

/// Name of a command that moves time, as a participant.
pub(crate) fn participant(pid: u32) -> String {
    format!("clock-{pid}")
}

impl Client {
    /// Connects to the landscape of a directory.
    ///
    /// # Errors
    /// It does not exist, or does not run.
    pub(crate) fn of(directory: &Directory) -> Result<Self, Failure> {
        let facts = directory.facts()?.ok_or_else(|| directory.missing())?;
        let Some(host) = directory.host()? else {
            let name = &facts.name;
            return Err(Failure::Failed(match directory.holder()? {
                Some(holder) if holder.is_host() => format!("landscape {name} is starting or stopping: {holder}"),
                _ => format!("landscape {name} does not run: `{}` resumes it", directory.hint("terrarium up")),
            }));
        };
        let authority = LandscapeAuthority::of(directory)?;
        let certificate = authority.client("admin", &["system:masters"]).map_err(Failure::Failed)?;
        let authorities = authority.certificate().to_owned();
        let options = https::Options {
            server: host.address.clone(),
            authorities: authorities.clone(),
            credentials: Credentials::Certificate(certificate.clone()),
            user_agent: format!("terrarium/{}", env!("CARGO_PKG_VERSION")),
            ..https::Options::default()
        };
        let transport = https::transport(&options).map_err(|error| Failure::Failed(error.to_string()))?;
        let process = HostProcess { landscape: facts.name.clone(), pid: host.pid, directory: directory.clone() };
        let transport = process.clone().watched(transport);
        let cluster_authorities = ClusterAuthorities::of(directory, facts.start_time);
        let directory = directory.real();
        Ok(Self { facts, host, directory, authorities, certificate, cluster_authorities, process, transport })
    }

    /// Returns a context for typed requests, on wall time.
    pub(crate) fn context(&self) -> Context {
        Context {
            identity: Identity {
                component: "terrarium".into(),
                instance: "terrarium".into(),
                version: self.facts.gardener_version.as_str().into(),
            },
            clock: Clock::wall(),
            random: Random::new(self.facts.seed),
            wall: Clock::wall(),
            transport: self.transport.clone(),
            tasks: Tasks::new(),
            output: Output::new(process::child::say),
        }
    }

    /// Returns the usual name of a Shoot, and prints it if another form was given.
    pub(crate) async fn shoot(&self, given: &ShootName) -> Result<ShootName, Failure> {
        let usual = self.usual(given).await?;
        note_usual(given, &usual);
        Ok(usual)
    }

    /// Like [`Client::shoot`], for the value of a flag `--shoot`.
    pub(crate) async fn shoot_of_flag(&self, given: &ShootName) -> Result<ShootName, Failure> {
        let usual = self.usual(given).await?;
        given.note_of_flag(&usual).iter().for_each(|note| process::child::say(note));
        Ok(usual)
    }

    async fn usual(&self, given: &ShootName) -> Result<ShootName, Failure> {
        match given.usual(&self.transport).await {
            Ok(usual) => Ok(usual),
            Err(error) => Err(self.explained(error.into()).await),
        }
    }

    /// Returns a failure to read objects of Gardener with the reason, if gardener-apiserver does not answer.
    async fn explained(&self, failure: Failure) -> Failure {
        let Ok(clock) = self.clock().await else { return failure };
        match Silence::of_apiserver(&self.context(), clock.now).await {
            Some(silence) => Failure::Failed(silence.to_string()),
            None => failure,
        }
    }

    /// Returns a cluster of the landscape by its usual name.
    pub(crate) async fn cluster(&self, given: &NamedCluster) -> Result<NamedCluster, Failure> {
        let usual = match given {
            NamedCluster::Shoot(shoot) => NamedCluster::Shoot(self.shoot(shoot).await?),
            other => other.clone(),
        };
        usual.must_exist(&self.transport).await?;
        Ok(usual)
    }

    /// Returns the transport to the landscape.
    pub(crate) fn transport(&self) -> Transport {
        self.transport.clone()
    }

    /// Returns the user of terrarium's own commands, in every cluster.
    pub(crate) fn user(&self) -> kubeconfig::User<'_> {
        kubeconfig::User::Landscape(&self.certificate)
    }

    /// Reads the emulated version of Gardener, which upgrades change.
    ///
    /// # Errors
    /// The landscape does not respond.
    pub(crate) async fn gardener_version(&self) -> Result<String, Failure> {
        gardener_version(&self.context(), &self.facts).await
    }

    /// Reads the head of the log.
    pub(crate) async fn head(&self) -> Result<u64, Failure> {
        let namespaces: Value = self.send(Method::GET, "/clusters/runtime/api/v1/namespaces?limit=1", None).await?;
        let version = namespaces["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse().ok());
        version.ok_or_else(|| Failure::Failed("the landscape's lists have no resourceVersion".to_owned()))
    }

    /// Returns an APIService that is not available or cannot be read.
    pub(crate) async fn unavailable_api_service(&self) -> Option<String> {
        let path = "/clusters/garden/apis/apiregistration.k8s.io/v1/apiservices";
        let all: Value = self.send(Method::GET, path, None).await.unwrap_or_default();
        let Some(all) = all["items"].as_array() else { return Some("list".to_owned()) };
        let is_available = |service: &Value| {
            let conditions = service["status"]["conditions"].as_array();
            conditions.is_some_and(|all| all.iter().any(|it| it["type"] == "Available" && it["status"] == "True"))
        };
        let missing = all.iter().find(|service| !is_available(service))?;
        Some(missing["metadata"]["name"].as_str().unwrap_or_default().to_owned())
    }

    /// Removes a participant from landscape time.
    pub(crate) async fn leave(&self, participant: &str) -> Result<ClockState, Failure> {
        self.send(Method::POST, &format!("{CLOCK_PATH}leave"), Some(json!({ "participant": participant }))).await
    }

    /// Reads the clock.
    pub(crate) async fn clock(&self) -> Result<ClockState, Failure> {
        self.send(Method::GET, CLOCK_PATH, None).await
    }

    /// Reads passes and processor time of the components inside the host's process. Keys: `CLUSTER/POD`, or the name of a part
    /// of the host.
    pub(crate) async fn work(&self) -> Result<BTreeMap<String, Work>, Failure> {
        self.send(Method::GET, &format!("{CLOCK_PATH}work"), None).await
    }

    /// Begins to advance the clock. If time has already passed the destination, it settles at the present instant.
    pub(crate) async fn advance(&self, advance: &Advance) -> Result<ClockState, Failure> {
        let Advance { to, settle, participant, ignore_absence } = advance;
        let (pid, detached) = (std::process::id(), if participant.is_none() { " --detach" } else { "" });
        let body = json!({
            "to": to, "settleMilliseconds": settle.num_milliseconds(), "orNow": true,
            "by": format!("`terrarium clock{detached}`, process {pid}"), "participant": participant,
            "ignoreAbsence": ignore_absence,
        });
        self.send(Method::POST, &format!("{CLOCK_PATH}advance"), Some(body)).await
    }

    /// Ends the active advance: `halt` once everything has settled at the current instant, `cancel` at once.
    pub(crate) async fn command(&self, command: &str) -> Result<ClockState, Failure> {
        self.send(Method::POST, &format!("{CLOCK_PATH}{command}"), None).await
    }

    /// Changes how time passes by itself: a merge patch of the clock's spec.
    pub(crate) async fn set_clock(&self, spec: Value) -> Result<ClockState, Failure> {
        let path = format!("{}/{}", clock_object::PATH, CLOCK_NAME);
        let _: Value = self.send(Method::PATCH, &path, Some(json!({ "spec": spec }))).await?;
        self.clock().await
    }

    /// Failure of a command that has lost its connection: the end of the host, if it has ended or ends, otherwise `reason`.
    pub(in crate::live) fn lost(&self, reason: String) -> Failure {
        Failure::Failed(self.process.end().unwrap_or(reason))
    }

    pub(in crate::live) async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<T, Failure> {
        let text = |error: &str| format!("landscape {}: {error}", self.facts.name);
        let failed = |error: &str| Failure::Failed(text(error));
        let lost = |error: &dyn Display| self.lost(text(&error.to_string()));
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let content_type = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::CONTENT_TYPE, content_type)
            .body(full(body))
            .map_err(|error| failed(&error.to_string()))?;
        let response = self.transport.send(request).await.map_err(|error| lost(&error))?;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(|error| lost(&error))?.to_bytes();
        if status != StatusCode::OK {
            return Err(failed(String::from_utf8_lossy(&body).trim()));
        }
        serde_json::from_slice(&body).map_err(|error| failed(&error.to_string()))
    }
}

/// Prints the usual name of a Shoot if another form was given.
pub(crate) fn note_usual(given: &ShootName, usual: &ShootName) {
    if let Some(note) = given.note(usual) {
        process::child::say(&note);
    }
}

/// Emulated version of Gardener that a landscape runs, even if it is read from its log; without a component that names its
/// version, the version of the last start.
///
/// # Errors
/// The landscape does not respond.
pub(crate) async fn gardener_version(context: &Context, facts: &Facts) -> Result<String, Failure> {
    let failed = |error: controller::Error| Failure::Failed(format!("landscape {}: {error}", facts.name));
    let running = ops::release::running(context).await.map_err(failed)?;
    Ok(running.unwrap_or_else(|| facts.gardener().to_owned()))
}
