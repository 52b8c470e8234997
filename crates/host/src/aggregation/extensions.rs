// SPDX-License-Identifier: Apache-2.0
//! Extension API servers: servers of API groups that are registered with an APIService of a user.
//!
//! ```text
//! /apis                    groups of the APIServices, with the resources that their servers list
//! /apis/GROUP              APIGroup of the APIServices
//! /apis/GROUP/VERSION/…    APIService VERSION.GROUP ─▶ Service ─▶ endpoint: the request with its user
//! ```
//!
//! The server is called with the certificate and headers of the front proxy. Its certificate must be for
//! `SERVICE.NAMESPACE.svc`. Condition `Available` is evaluated when an APIService, a Service or its endpoints are
//! written, and when the result of a request or of discovery contradicts it.
//!
//! **Invariants.** Groups of Kubernetes and Gardener are served by this host and gardener-apiserver, independent of any
//! APIService. An APIService has precedence over a CustomResourceDefinition. Authorization takes place here, before the
//! request is forwarded.
//!
//! **Deliberately absent**: OpenAPI of these servers, upgraded connections, APIServices across all clusters, and
//! periodic checks: the end of a server is detected by the next request.
//!
//! Source: k8s.io/kube-aggregator pkg/apiserver, pkg/controllers/status/remote @ v0.32.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::catalogue;
use bytes::Bytes;
use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use futures::StreamExt;
use futures::future::{Either, select};
use generic_apiserver::Server;
use generic_apiserver::authentication::UserDetails;
use generic_apiserver::authentication::front_proxy::{self, Stamp};
use generic_apiserver::discovery::{ExtensionGroup, ExtensionVersion};
use generic_apiserver::webhooks::{self, Dialer, Endpoint, NoEndpoint, ServiceReference, Trust};
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, HOST, HeaderValue};
use http::request::Parts;
use http_body_util::{BodyExt, Limited};
use parking_lot::{Mutex, RwLock};
use process::https::Lasting;
use process::transport::full;
use process::{Request, Response, Tasks, Transport, User};
use serde_json::Value;

use super::api_services::Availability;
use super::instances::{read, strip};
use super::{refused, unavailable, unavailable_because};

const GROUP: &str = "apiregistration.k8s.io";
const PLURAL: &str = "apiservices";
/// Wall time within which a server must list its resources.
const LIST_LIMIT: TimeDelta = TimeDelta::seconds(5);
/// Wall time within which the response to a request must begin.
const ANSWER_LIMIT: TimeDelta = TimeDelta::seconds(60);
/// Maximum number of bytes of a list of resources.
const MOST_OF_LIST: usize = 1 << 20;
/// Maximum number of servers that are queried at once.
const AT_ONCE: usize = 16;

/// APIService of a user.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Registration {
    cluster: String,
    name: String,
    group: String,
    version: String,
    version_priority: i64,
    service: ServiceReference,
    trust: Result<Trust, String>,
}

impl Registration {
    /// Parses an APIService; `None` if it names no Service or if its group cannot be extended.
    fn of(cluster: &str, tree: &Value) -> Option<Self> {
        let spec = &tree["spec"];
        let group = spec["group"].as_str().filter(|group| !group.is_empty())?;
        if catalogue::all().iter().any(|row| row.group == group) {
            return None;
        }
        let service = serde_json::from_value(spec["service"].clone()).ok()?;
        let trust = if spec["insecureSkipTLSVerify"] == true {
            Ok(Trust::Any)
        } else {
            webhooks::bundle(spec["caBundle"].as_str().unwrap_or_default()).map(Trust::Authorities)
        };
        Some(Self {
            cluster: cluster.to_owned(),
            name: tree["metadata"]["name"].as_str()?.to_owned(),
            group: group.to_owned(),
            version: spec["version"].as_str()?.to_owned(),
            version_priority: spec["versionPriority"].as_i64().unwrap_or_default(),
            service,
            trust,
        })
    }

    /// Path of the list of resources.
    fn list_path(&self) -> String {
        format!("/apis/{}/{}", self.group, self.version)
    }

    /// Availability of a server whose resources could not be listed.
    fn not_listed(&self, endpoint: &Endpoint, reason: &str) -> Availability {
        let url = format!("https://{}:{}{}", endpoint.host, endpoint.port, self.list_path());
        Availability::failed("FailedDiscoveryCheck", format!("failing or missing response from {url}: {reason}"))
    }

    fn without_endpoint(&self, reason: &NoEndpoint) -> Availability {
        let ServiceReference { namespace, name, port, .. } = &self.service;
        match reason {
            NoEndpoint::NoService(_) => {
                Availability::failed("ServiceNotFound", format!("service/{name} in {namespace:?} is not present"))
            }
            NoEndpoint::Headless => Availability::failed(
                "ServiceAccessError",
                format!("service/{name} in {namespace:?} cannot be accessed due to: {reason}"),
            ),
            NoEndpoint::NoPort { .. } => Availability::failed(
                "ServicePortError",
                format!("service/{name} in {namespace:?} is not listening on port {}", port.unwrap_or(443)),
            ),
            NoEndpoint::NotReady { has_none: true, .. } => Availability::failed(
                "EndpointsNotFound",
                format!("cannot find endpoints for service/{name} in {namespace:?}"),
            ),
            NoEndpoint::NotReady { port, .. } => Availability::missing_endpoints(name, namespace, port),
        }
    }
}

/// Extension API servers of all clusters.
#[derive(Clone, Debug)]
pub(crate) struct Extensions(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    dialer: Arc<Dialer>,
    server: Server,
    own: Transport,
    tasks: Tasks,
    time: Clock,
    wall: Clock,
    /// APIServices of users by cluster, the preferred version first; clusters that were not read yet are missing.
    known: RwLock<BTreeMap<String, Arc<[Arc<Registration>]>>>,
    loads: tokio::sync::Mutex<()>,
    /// True by cluster and APIService name if the server answered the last request.
    answers: Mutex<BTreeMap<(String, String), bool>>,
}

impl Extensions {
    pub(crate) fn new(
        dialer: Arc<Dialer>,
        (server, own): (Server, Transport),
        tasks: Tasks,
        (time, wall): (Clock, Clock),
    ) -> Self {
        let (known, loads, answers) = (RwLock::default(), tokio::sync::Mutex::default(), Mutex::default());
        Self(Arc::new(Inner { dialer, server, own, tasks, time, wall, known, loads, answers }))
    }

    /// Returns the APIServices of users of a cluster.
    async fn of(&self, cluster: &str) -> Arc<[Arc<Registration>]> {
        if let Some(known) = self.0.known.read().get(cluster) {
            return known.clone();
        }
        self.load(cluster).await
    }

    async fn load(&self, cluster: &str) -> Arc<[Arc<Registration>]> {
        // The load that begins last reads the last write.
        let _one_at_a_time = self.0.loads.lock().await;
        let trees = self.0.server.trees(cluster, GROUP, PLURAL).await;
        let mut all: Vec<_> = trees.iter().filter_map(|tree| Registration::of(cluster, tree).map(Arc::new)).collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.version_priority));
        let all: Arc<[Arc<Registration>]> = all.into();
        self.0.known.write().insert(cluster.to_owned(), all.clone());
        let is_there = |name: &String| all.iter().any(|one| one.name == *name);
        self.0.answers.lock().retain(|(known, name), _| known != cluster || is_there(name));
        all
    }

    /// Removes a deleted cluster from the cache.
    pub(crate) fn forget(&self, cluster: &str) {
        self.0.known.write().remove(cluster);
        self.0.answers.lock().retain(|(known, _), _| known != cluster);
    }

    /// Handles a write to a path of a cluster: reevaluates the APIServices that it may affect.
    pub(crate) async fn note_write(&self, path: &str) {
        let mut segments = path.split('/').skip(2);
        let Some(cluster) = segments.next() else { return };
        let rest: Vec<&str> = segments.collect();
        let changed = match rest.as_slice() {
            ["apis", GROUP, ..] => {
                let before = self.of(cluster).await;
                let now = self.load(cluster).await;
                now.iter().filter(|one| !before.contains(one)).cloned().collect()
            }
            ["api", "v1", "namespaces", _, "services" | "endpoints", ..]
            | ["apis", "discovery.k8s.io", _, "namespaces", _, "endpointslices", ..] => self.of(cluster).await.to_vec(),
            _ => return,
        };
        for registration in changed {
            self.judge_later(registration);
        }
    }

    /// Groups of a cluster, with the resources that their servers list at this moment.
    pub(crate) async fn groups(&self, cluster: &str) -> Vec<ExtensionGroup> {
        let all = self.of(cluster).await;
        let asked = futures::stream::iter(all.iter().cloned());
        let listed: Vec<_> =
            asked.map(|one| async move { (self.list(&one).await.1, one) }).buffered(AT_ONCE).collect().await;
        let mut groups: Vec<ExtensionGroup> = Vec::new();
        for (resources, one) in listed {
            self.note_answer(&one, resources.is_some());
            let version = ExtensionVersion { name: one.version.clone(), resources };
            match groups.iter_mut().find(|group| group.name == one.group) {
                Some(group) => group.versions.push(version),
                None => groups.push(ExtensionGroup { name: one.group.clone(), versions: vec![version] }),
            }
        }
        groups
    }

    /// Group of a path `/clusters/CLUSTER/apis/GROUP`; `None` if no APIService registers it.
    pub(crate) async fn group(&self, path: &str) -> Option<ExtensionGroup> {
        let mut segments = path.split('/').filter(|segment| !segment.is_empty());
        let (Some("clusters"), Some(cluster), Some("apis"), Some(name), None) =
            (segments.next(), segments.next(), segments.next(), segments.next(), segments.next())
        else {
            return None;
        };
        let all = self.of(cluster).await;
        let of_group = all.iter().filter(|one| one.group == name);
        let version = |one: &Arc<Registration>| ExtensionVersion { name: one.version.clone(), resources: None };
        let versions: Vec<ExtensionVersion> = of_group.map(version).collect();
        (!versions.is_empty()).then(|| ExtensionGroup { name: name.to_owned(), versions })
    }

    /// Returns the APIService of a path `/clusters/CLUSTER/apis/GROUP/VERSION/…`.
    pub(crate) async fn find(&self, path: &str) -> Option<Arc<Registration>> {
        let mut segments = path.split('/').filter(|segment| !segment.is_empty());
        let (Some("clusters"), Some(cluster), Some("apis"), Some(group), Some(version)) =
            (segments.next(), segments.next(), segments.next(), segments.next(), segments.next())
        else {
            return None;
        };
        let all = self.of(cluster).await;
        all.iter().find(|one| one.group == group && one.version == version).cloned()
    }

    /// Forwards a request to the server of an APIService.
    pub(crate) async fn call(&self, registration: &Arc<Registration>, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let body = match read(body).await {
            Ok(body) => body,
            Err(broken) => return refused(&apimachinery::Status::bad_request(broken.to_string())),
        };
        let endpoint = self.0.server.endpoint(&registration.cluster, &registration.service).await;
        if endpoint.is_err() {
            self.note_answer(registration, false);
            return unavailable();
        }
        let answer = match self.transport(registration, &endpoint).await {
            Ok(transport) => self.send(&transport, onward(parts, body), ANSWER_LIMIT).await,
            Err(reason) => Err(reason),
        };
        self.note_answer(registration, answer.is_ok());
        match answer {
            Ok(mut response) => {
                strip(response.headers_mut());
                response
            }
            Err(reason) => unavailable_because(format!("error trying to reach service: {reason}")),
        }
    }

    async fn transport(
        &self,
        registration: &Registration,
        endpoint: &Result<Endpoint, NoEndpoint>,
    ) -> Result<Transport, String> {
        let ServiceReference { namespace, name, port, .. } = &registration.service;
        let host = format!("{name}.{namespace}.svc");
        let server = (host.as_str(), port.unwrap_or(443));
        self.0.dialer.transport(&registration.cluster, server, Some(endpoint), registration.trust.clone()?).await
    }

    /// Sends a request; the response must begin within `limit` of wall time.
    async fn send(&self, transport: &Transport, mut request: Request, limit: TimeDelta) -> Result<Response, String> {
        // The time limit of this function applies instead of the transport's.
        request.extensions_mut().insert(Lasting);
        let late = self.0.wall.sleep(limit, TimerClass::Calendar);
        match select(transport.send(request), late).await {
            Either::Left((answer, _)) => answer.map_err(|error| error.reason().to_owned()),
            Either::Right(_) => Err("context deadline exceeded".to_owned()),
        }
    }

    /// Queries a server for its resources; returns its availability and the APIResourceList.
    async fn list(&self, registration: &Registration) -> (Availability, Option<Value>) {
        let endpoint = self.0.server.endpoint(&registration.cluster, &registration.service).await;
        let found = match &endpoint {
            Ok(found) => found,
            Err(reason) => return (registration.without_endpoint(reason), None),
        };
        let listed = async {
            let transport = self.transport(registration, &endpoint).await?;
            let mut request = http::Request::new(full(""));
            *request.uri_mut() = registration.list_path().parse().map_err(|_| "the path cannot be read".to_owned())?;
            request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
            let user = User {
                name: "system:kube-aggregator".into(),
                groups: vec!["system:masters".into()],
                ..User::default()
            };
            front_proxy::write(request.headers_mut(), &user, &UserDetails::default(), Stamp::default());
            let response = self.send(&transport, request, LIST_LIMIT).await?;
            if !response.status().is_success() {
                return Err(format!("bad status from server: {}", response.status().as_u16()));
            }
            let body = Limited::new(response.into_body(), MOST_OF_LIST).collect();
            let late = self.0.wall.sleep(LIST_LIMIT, TimerClass::Calendar);
            let body = match select(Box::pin(body), late).await {
                Either::Left((body, _)) => body.map_err(|error| error.to_string())?.to_bytes(),
                Either::Right(_) => return Err("context deadline exceeded".to_owned()),
            };
            serde_json::from_slice::<Value>(&body).map_err(|error| error.to_string())
        };
        match listed.await {
            Ok(list) => (Availability::passed(), Some(list)),
            Err(reason) => (registration.not_listed(found, &reason), None),
        }
    }

    /// Records whether the server of an APIService answered, and updates its condition if that has changed.
    fn note_answer(&self, registration: &Arc<Registration>, answers: bool) {
        let key = (registration.cluster.clone(), registration.name.clone());
        if self.0.answers.lock().insert(key, answers) != Some(answers) {
            self.judge_later(registration.clone());
        }
    }

    /// Writes condition `Available` of an APIService in a task of its own.
    fn judge_later(&self, registration: Arc<Registration>) {
        let extensions = self.clone();
        self.0.tasks.spawn(async move {
            let (availability, _) = extensions.list(&registration).await;
            let key = (registration.cluster.clone(), registration.name.clone());
            extensions.0.answers.lock().insert(key, availability.is_available);
            let Inner { own, time, .. } = &*extensions.0;
            if let Err(error) = availability.write(own, time, &registration.cluster, &registration.name).await {
                tracing::warn!(%error, apiservice = registration.name, "cannot write the condition of an APIService");
            }
        });
    }
}

/// Converts a request to the host into one for an extension API server.
fn onward(mut parts: Parts, body: Bytes) -> Request {
    let user = parts.extensions.get::<User>().cloned().unwrap_or_default();
    let details = parts.extensions.get::<UserDetails>().cloned().unwrap_or_default();
    front_proxy::write(&mut parts.headers, &user, &details, Stamp::default());
    strip(&mut parts.headers);
    for header in [HOST, AUTHORIZATION, ACCEPT_ENCODING] {
        parts.headers.remove(header);
    }
    let path = parts.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    // The path after `/clusters/NAME`.
    let rest = path.splitn(4, '/').nth(3).unwrap_or_default();
    let mut request = http::Request::new(full(body));
    *request.uri_mut() = format!("/{rest}").parse().unwrap_or_default();
    *request.method_mut() = parts.method;
    *request.headers_mut() = parts.headers;
    request
}
