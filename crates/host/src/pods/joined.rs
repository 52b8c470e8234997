// SPDX-License-Identifier: Apache-2.0
//! Processes that the host did not start: in containers of their own, or on other machines.
//!
//! ```text
//! process ── POST JOIN_PATH: identity ───▶ host     an assignment, as the kubelet gives one to a process of this machine
//! process ── creates its Lease ──────────▶ registry validated like any other
//! host    ── observes the Lease ─────────▶ requests are forwarded to it until the Lease is deleted
//! ```
//!
//! The process deletes its Lease when it is stopped, and ends when another client deletes it. A later process of the
//! same name replaces the earlier one, whose Lease is deleted.
//!
//! **Deliberately absent.** A guess whether an unresponsive process still runs: it may be cut off for a while, so its
//! Lease remains, and its version counts, until the process or a user deletes the Lease.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use api::cluster;
use api::constants::{annotation, namespace};
use api::kubernetes::coordination::Lease;
use apimachinery::Status;
use apimachinery::meta::ObjectMeta;
use apimachinery::release::Release;
use chrono::TimeDelta;
use clock::TimerClass;
use controller::{Api, Error, ListOptions, WatchEvent};
use domain::skew::GardenerVersion;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, StatusCode};
use http_body_util::{BodyExt, Limited};
use parking_lot::{Mutex, MutexGuard};
use process::child::{self, Joining};
use process::transport::full;
use process::{Context, Request, Response, Transport, User};

use crate::aggregation::Instances;
use crate::pods::kubelet::Launcher;
use crate::registry::{self, Registered};

/// Maximum size of a request in bytes.
const MOST: usize = 16 << 10;
/// Wall time between two attempts to read the Leases.
const AGAIN: TimeDelta = TimeDelta::seconds(1);

/// Creates the transport to a process that serves, given its address.
pub(crate) type WayTo = Box<dyn Fn(&str) -> Result<Transport, String> + Send + Sync>;

/// Processes that have joined. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Joined(Arc<Inner>);

struct Inner {
    launch: Launcher,
    instances: Instances,
    way_to: WayTo,
    /// Transport for requests of the host itself.
    door: Transport,
    /// Processes by name of their Lease.
    known: Mutex<BTreeMap<String, Process>>,
}

struct Process {
    /// Name among the instances.
    name: String,
    /// Served release.
    release: Release,
    /// Address to which requests are forwarded; `None`: the process is not ready.
    serves: Option<String>,
}

impl fmt::Debug for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Joined").finish_non_exhaustive()
    }
}

impl Joined {
    pub(crate) fn new(launch: Launcher, instances: Instances, way_to: WayTo, door: Transport) -> Self {
        Self(Arc::new(Inner { launch, instances, way_to, door, known: Mutex::default() }))
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Process>> {
        self.0.known.lock()
    }

    /// Answers a request at [`child::JOIN_PATH`].
    pub(crate) async fn answer(&self, request: Request) -> Response {
        match self.join(request).await {
            Ok(assignment) => answer(StatusCode::OK, assignment),
            Err(status) => {
                answer(StatusCode::from_u16(status.code).unwrap_or(StatusCode::BAD_REQUEST), status.to_bytes())
            }
        }
    }

    async fn join(&self, request: Request) -> Result<Vec<u8>, Status> {
        let (parts, body) = request.into_parts();
        let user = parts.extensions.get::<User>();
        if !user.is_some_and(|user| user.groups.iter().any(|group| **group == *"system:masters")) {
            return Err(Status::failure(403, "Forbidden", "only an administrator may add a process to the landscape"));
        }
        if parts.method != Method::POST {
            return Err(Status::method_not_allowed());
        }
        let body = Limited::new(body, MOST).collect().await;
        let body = body.map_err(|error| Status::bad_request(error.to_string()))?.to_bytes();
        let joining: Joining = serde_json::from_slice(&body).map_err(|error| Status::bad_request(error.to_string()))?;
        let Joining { component, instance, version, host } = &joining;
        check(instance, host).map_err(Status::bad_request)?;
        let assignment = self.0.launch.assign(&joining).map_err(Status::bad_request)?;
        let me = Registered { cluster: cluster::RUNTIME, pod: instance, component, version, address: "" };
        let lease = me.name();
        let name = child::participant(cluster::RUNTIME, instance);
        tracing::info!(component, version, instance, host, "a process that was started elsewhere joins the landscape");
        let release = GardenerVersion::parse(version).map_or(Release::UNION, |version| version.served_release());
        if let Some(before) = self.known().insert(lease.clone(), Process { name, release, serves: None }) {
            self.0.instances.remove(&before.name);
        }
        // A process that joins again has ended in between: its former Lease is removed.
        let failed = |error: process::TransportError| Status::service_unavailable(error.to_string());
        registry::remove(&self.0.door, Some(&lease)).await.map_err(failed)?;
        serde_json::to_vec(&assignment).map_err(|error| Status::internal_error(&error.to_string()))
    }

    /// Follows the Leases: a registered process gets requests, any other process gets none.
    pub(crate) async fn follow(self, context: Context) {
        let leases = Api::<Lease>::namespaced(&context, cluster::GARDEN, namespace::INSTANCES);
        loop {
            if let Err(error) = self.follow_once(&leases).await {
                tracing::debug!(%error, "the Leases of processes are read again");
                context.wall.sleep(AGAIN, TimerClass::Calendar).await;
            }
        }
    }

    /// Follows the Leases until the watch ends.
    async fn follow_once(&self, leases: &Api<Lease>) -> Result<(), Error> {
        let options = ListOptions::default();
        let (all, version) = leases.list(&options).await?;
        self.show(all.iter().map(|lease| &lease.metadata));
        let mut watch = leases.watch(&options, &version).await?;
        while let Some(event) = watch.next().await {
            match event? {
                WatchEvent::Added(lease) | WatchEvent::Modified(lease) => self.registered(&lease.metadata),
                WatchEvent::Deleted(lease) => self.gone(&lease.metadata.name),
                WatchEvent::Bookmark(_) => {}
            }
        }
        Ok(())
    }

    /// Applies a complete list of Leases.
    fn show<'a>(&self, all: impl Iterator<Item = &'a ObjectMeta>) {
        let mut missing: Vec<String> = self.known().keys().cloned().collect();
        for meta in all {
            missing.retain(|name| *name != meta.name);
            self.registered(meta);
        }
        for name in missing {
            self.gone(&name);
        }
    }

    fn registered(&self, meta: &ObjectMeta) {
        let endpoint = meta.annotations.get(annotation::COMPONENT_ENDPOINT);
        let Some(address) = endpoint.and_then(|endpoint| endpoint.strip_prefix("https://")) else { return };
        let mut known = self.known();
        let Some(process) = known.get_mut(&meta.name).filter(|it| it.serves.as_deref() != Some(address)) else {
            return;
        };
        match (self.0.way_to)(address) {
            Ok(transport) => {
                process.serves = Some(address.to_owned());
                self.0.instances.insert(&process.name, process.release, transport);
            }
            Err(error) => tracing::warn!(error, address, "cannot connect to a process that has joined"),
        }
    }

    /// Stops forwarding requests to a process whose Lease is missing.
    fn gone(&self, lease: &str) {
        if let Some(process) = self.known().get_mut(lease)
            && process.serves.take().is_some()
        {
            tracing::info!(instance = process.name, "a process that was started elsewhere has left the landscape");
            self.0.instances.remove(&process.name);
        }
    }
}

/// Validates names, which become part of objects and certificates.
fn check(instance: &str, host: &str) -> Result<(), String> {
    let is_label = |text: &str| {
        !text.is_empty()
            && text.len() <= 63
            && !text.starts_with('-')
            && !text.ends_with('-')
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    if !is_label(instance) {
        return Err(format!(
            "instance: {instance:?} is not a name: use lower case letters, digits and `-`, at most 63"
        ));
    }
    let is_name =
        host.len() <= 253 && host.split('.').all(|part| is_label(&part.to_ascii_lowercase().replace('_', "-")));
    if is_name || host.parse::<std::net::IpAddr>().is_ok() {
        return Ok(());
    }
    Err(format!("host: {host:?} is neither a name nor an address"))
}

fn answer(status: StatusCode, body: Vec<u8>) -> Response {
    let mut response = Response::new(full(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_processes_are_names() {
        for (instance, host, expected) in [
            ("gardener-apiserver-a", "a", true),
            ("a", "a.example.org", true),
            ("a", "my_container", true),
            ("a", "10.0.0.1", true),
            ("a", "::1", true),
            ("", "a", false),
            ("a", "", false),
            ("A", "a", false),
            ("a/b", "a", false),
            ("a", "a/b", false),
            ("a", "a:8443", false),
            ("a", "a..b", false),
            ("-a", "a", false),
        ] {
            assert_eq!(check(instance, host).is_ok(), expected, "{instance:?} {host:?}");
        }
    }
}
