// SPDX-License-Identifier: Apache-2.0
//! Read access of a page: the landscape as the session's user sees it, now or at a moment of the past.
//!
//! Every read is a request to the API. With a moment it requests exactly that revision, so a page shows nothing newer.

use std::sync::Arc;

use api::kubernetes::core::Secret;
use apimachinery::{Resource, Status};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use clock::Random;
use controller::Error;
use domain::profile::Profile;
use domain::release::{NEWEST, Release};
use domain::skew::{GardenerVersion, releases};
use domain::versions;
use domain::worker_pool::StoredKeys;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use ops::release;
use process::{Context, Identity, Output, Tasks, Transport, User};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::access::Entrance;
use crate::access::sessions::Session;
use crate::input::{Fields, encoded};
use crate::{Dashboard, PREFIX};

/// User agent of the dashboard's requests.
const AGENT: &str = concat!("terrarium-dashboard/", env!("CARGO_PKG_VERSION"));

/// A moment of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Revision of the log.
    pub revision: u64,
    /// Landscape time.
    pub time: DateTime<Utc>,
}

/// A request for a page.
#[derive(Clone, Debug)]
pub struct View {
    /// Dashboard that serves the page.
    pub dashboard: Dashboard,
    /// Session of the request.
    pub session: Arc<Session>,
    /// Listener that accepted the request.
    pub entrance: Entrance,
    /// Encoded path below `/dashboard/`.
    pub path: String,
    /// Decoded query.
    pub query: Fields,
    /// The moment that is shown; `None`: the present.
    pub at: Option<Moment>,
    /// Running version of Gardener at the moment, with `v`.
    pub gardener: String,
    /// Gate `DisableNginxIngressInShoot` of gardener-controller-manager.
    pub disables_nginx_ingress: bool,
}

impl View {
    /// Reads version and gates of the Gardener that runs at the moment; keeps the version if it cannot be read.
    pub(crate) async fn with_gardener(mut self) -> Self {
        // Every page depends on them, even if its user may not read them.
        let groups = vec!["system:masters".into(), "system:authenticated".into()];
        let user = User { name: "system:terrarium-dashboard".into(), groups, component: None };
        let mut context = self.context();
        context.transport = (self.dashboard.options().door)(user);
        if let Some(moment) = self.at {
            context.transport = ops::past::exact::transport(&context.transport, eventlog::Revision(moment.revision));
        }
        if let Ok(Some(version)) = release::running(&context).await {
            self.gardener = version;
        }
        let gates = ops::upgrade::fleet::manager_gates(&context).await;
        self.disables_nginx_ingress = ops::gates::disables_nginx_ingress(self.release(), &gates);
        self
    }

    /// Formats a command of kubectl for the landscape's garden.
    pub fn kubectl(&self, words: &str) -> String {
        format!("kubectl --context terrarium-{} {words}", self.dashboard.options().landscape)
    }

    /// Returns the instant that the page shows.
    pub fn now(&self) -> DateTime<Utc> {
        self.at.map_or_else(|| self.dashboard.now(), |moment| moment.time)
    }

    /// Returns the instant that the page shows and the landscape's release.
    pub fn moment(&self) -> versions::Moment {
        versions::Moment::new(self.now(), self.release())
    }

    /// Returns the profile with the rules of the landscape's version.
    pub fn rules(&self) -> Profile {
        self.dashboard.options().rules
    }

    /// Returns the release of the running Gardener, whose rules forecasts use.
    pub fn release(&self) -> Release {
        GardenerVersion::parse(&self.gardener).map_or(NEWEST, |it| releases::rules_of(&it))
    }

    /// Returns path and query of the page.
    pub fn here(&self) -> String {
        link(&format!("{PREFIX}{}", self.path), &self.query.with(&[]))
    }

    /// Returns the link to the page with some fields of the query replaced; an empty value removes a field.
    pub fn here_with(&self, changes: &[(&str, &str)]) -> String {
        link(&format!("{PREFIX}{}", self.path), &self.query.with(changes))
    }

    /// Returns the link to another page, at the same moment; `path` is below `/dashboard/` and encoded.
    pub fn to(&self, path: &str) -> String {
        let moment = self.query.get("at").map(|at| format!("at={}", encoded(at))).unwrap_or_default();
        link(&format!("{PREFIX}{path}"), &moment)
    }

    /// Returns the link to the page of a cluster.
    pub fn to_cluster(&self, project: &str, name: &str) -> String {
        self.to(&format!("clusters/{}/{}", encoded(project), encoded(name)))
    }

    /// Returns the transport to the API as the session's user.
    pub fn transport(&self) -> Transport {
        (self.dashboard.options().door)(self.session.user.clone())
    }

    /// Returns a context for requests as the session's user.
    pub fn context(&self) -> Context {
        let name: Arc<str> = "terrarium-dashboard".into();
        Context {
            identity: Identity { component: name.clone(), instance: name, version: env!("CARGO_PKG_VERSION").into() },
            clock: self.dashboard.options().wall.clone(),
            random: Random::new(self.dashboard.options().seed),
            wall: self.dashboard.options().wall.clone(),
            transport: self.transport(),
            tasks: Tasks::new(),
            output: Output::new(|_| {}),
        }
    }

    /// Returns [`View::context`] with the moment that the page shows: every read shows its revision.
    pub fn reading_context(&self) -> Context {
        let mut context = self.context();
        if let Some(moment) = self.at {
            context.transport = ops::past::exact::transport(&context.transport, eventlog::Revision(moment.revision));
        }
        context
    }

    /// Lists objects of a kind: of a namespace, or all that the user may see. `selection`: further parameters of the list,
    /// `fieldSelector=…`, encoded.
    ///
    /// # Errors
    /// The API's error.
    pub async fn list<K: Resource>(
        &self,
        cluster: &str,
        namespace: Option<&str>,
        selection: &str,
    ) -> Result<Vec<K>, Error> {
        match self.list_as(&self.transport(), cluster, namespace, selection).await {
            Err(Error::Api(status)) if status.code == 403 && namespace.is_none() && K::NAMESPACED => {
                self.list_each(cluster, selection, *status).await
            }
            answer => answer,
        }
    }

    /// Lists the Secrets with the forms of the hashes of worker pools, in all clusters. They are read as the administrator, since
    /// pages show only the form.
    pub async fn hash_secrets(&self) -> Vec<Secret> {
        let administrator = (self.dashboard.options().door)(administrator());
        let selection = format!("fieldSelector=metadata.name%3D{}", StoredKeys::SECRET);
        self.list_as(&administrator, "*", None, &selection).await.unwrap_or_default()
    }

    /// Lists each namespace, for a user who may not list all of them but some. Only the namespaces' names are read as the
    /// administrator.
    async fn list_each<K: Resource>(&self, cluster: &str, selection: &str, refusal: Status) -> Result<Vec<K>, Error> {
        let administrator = (self.dashboard.options().door)(administrator());
        let path = format!("/clusters/{cluster}/api/v1/namespaces");
        let answer = send(&administrator, Method::GET, &path, None).await?;
        let list: Value = serde_json::from_slice(&answer).map_err(|error| Error::Decode(error.to_string()))?;
        let names = list["items"].as_array().into_iter().flatten();
        let names: Vec<String> =
            names.filter_map(|item| item["metadata"]["name"].as_str().map(str::to_owned)).collect();
        let (transport, mut all, mut may_any) = (self.transport(), Vec::new(), false);
        for name in names {
            match self.list_as(&transport, cluster, Some(&name), selection).await {
                Ok(objects) => {
                    may_any = true;
                    all.extend(objects);
                }
                Err(Error::Api(status)) if status.code == 403 => {}
                Err(error) => return Err(error),
            }
        }
        if may_any { Ok(all) } else { Err(Error::Api(Box::new(refusal))) }
    }

    async fn list_as<K: Resource>(
        &self,
        transport: &Transport,
        cluster: &str,
        namespace: Option<&str>,
        selection: &str,
    ) -> Result<Vec<K>, Error> {
        #[derive(Deserialize)]
        struct List<'a> {
            #[serde(borrow, default)]
            items: Vec<&'a RawValue>,
        }
        let exact = self.at.map(|moment| format!("resourceVersion={}&resourceVersionMatch=Exact", moment.revision));
        let query: Vec<&str> =
            [selection, exact.as_deref().unwrap_or_default()].into_iter().filter(|part| !part.is_empty()).collect();
        let path = link(&collection::<K>(cluster, namespace), &query.join("&"));
        let answer = self.heard(&path, send(transport, Method::GET, &path, None).await)?;
        let list: List<'_> = serde_json::from_slice(&answer).map_err(|error| Error::Decode(error.to_string()))?;
        let objects = list.items.iter().map(|item| K::read(item.get().as_bytes()));
        objects.collect::<Result<_, _>>().map_err(|error| Error::Decode(error.to_string()))
    }

    /// Returns an object; `None`: there is none.
    ///
    /// # Errors
    /// The API's error.
    pub async fn get<K: Resource>(&self, cluster: &str, namespace: &str, name: &str) -> Result<Option<K>, Error> {
        if self.at.is_some() {
            let selection = format!("fieldSelector={}", encoded(&format!("metadata.name={name}")));
            let namespace = (!namespace.is_empty()).then_some(namespace);
            return Ok(self.list(cluster, namespace, &selection).await?.into_iter().next());
        }
        let path = object::<K>(cluster, namespace, name);
        match self.heard(&path, send(&self.transport(), Method::GET, &path, None).await) {
            Ok(bytes) => K::read(&bytes).map(Some).map_err(|error| Error::Decode(error.to_string())),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a request that changes something, as the session's user; returns the answer's body.
    ///
    /// # Errors
    /// The API's error.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, Vec<u8>)>,
    ) -> Result<Bytes, Error> {
        self.heard(path, send(&self.transport(), method, path, body).await)
    }

    fn heard(&self, path: &str, answer: Result<Bytes, Error>) -> Result<Bytes, Error> {
        let is_silent = match &answer {
            Err(Error::Api(status)) => status.code == 503,
            Err(Error::Transport(_)) => true,
            _ => false,
        };
        self.dashboard.heard(path, !is_silent);
        answer
    }

    /// Sends a merge patch, as the session's user.
    ///
    /// # Errors
    /// The API's error.
    pub async fn patch(&self, path: &str, patch: &Value) -> Result<Bytes, Error> {
        self.send(Method::PATCH, path, Some(("application/merge-patch+json", json!(patch).to_string().into_bytes())))
            .await
    }
}

/// Returns the user of a bearer token, by the API's own review of tokens in cluster `garden`.
///
/// # Errors
/// The token was refused, or the API does not answer: the reason.
pub(crate) async fn judged(dashboard: &Dashboard, token: &str) -> Result<User, String> {
    let door = (dashboard.options().door)(administrator());
    let path = "/clusters/garden/apis/authentication.k8s.io/v1/tokenreviews";
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": { "token": token } });
    let body = Some(("application/json", review.to_string().into_bytes()));
    let answer = send(&door, Method::POST, path, body).await.map_err(|error| error.to_string())?;
    let review: Value = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
    let status = &review["status"];
    let name = status["user"]["username"].as_str().filter(|_| status["authenticated"] == true);
    let Some(name) = name else {
        return Err(status["error"].as_str().unwrap_or("it names no user").to_owned());
    };
    let groups = status["user"]["groups"].as_array().into_iter().flatten().filter_map(Value::as_str);
    Ok(User { name: name.into(), groups: groups.map(Arc::from).collect(), component: None })
}

/// Returns the landscape's administrator.
pub fn administrator() -> User {
    User { name: "admin".into(), groups: vec!["system:masters".into(), "system:authenticated".into()], component: None }
}

/// Returns the prefix of a path that identifies its API server: `/clusters/garden/apis/core.gardener.cloud`.
pub(crate) fn server_of(path: &str) -> &str {
    let segments = if path.split('/').nth(3) == Some("apis") { 4 } else { 3 };
    let end = path.match_indices(['/', '?']).nth(segments).map_or(path.len(), |(at, _)| at);
    path[..end].split('?').next().unwrap_or_default()
}

/// Returns the path of a collection.
pub fn collection<K: Resource>(cluster: &str, namespace: Option<&str>) -> String {
    let group = if K::GROUP.is_empty() { "api".to_owned() } else { format!("apis/{}", K::GROUP) };
    let namespace = namespace.map(|name| format!("namespaces/{}/", encoded(name))).unwrap_or_default();
    format!("/clusters/{cluster}/{group}/{}/{namespace}{}", K::VERSION, K::PLURAL)
}

/// Returns the path of an object.
pub fn object<K: Resource>(cluster: &str, namespace: &str, name: &str) -> String {
    let namespace = (!namespace.is_empty()).then_some(namespace);
    format!("{}/{}", collection::<K>(cluster, namespace), encoded(name))
}

/// Joins a path and a query, which may be empty.
pub fn link(path: &str, query: &str) -> String {
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

/// Returns the body of a successful answer.
async fn send(
    transport: &Transport,
    method: Method,
    path: &str,
    body: Option<(&'static str, Vec<u8>)>,
) -> Result<Bytes, Error> {
    let mut request = http::Request::builder().method(method).uri(path);
    request = request.header(ACCEPT, "application/json").header(USER_AGENT, AGENT);
    let body = body.map(|(content_type, body)| {
        request = std::mem::take(&mut request).header(CONTENT_TYPE, content_type);
        body
    });
    let request = request
        .body(process::transport::full(body.unwrap_or_default()))
        .map_err(|error| Error::Decode(format!("`{path}` is not a path of an API server: {error}")))?;
    let response = transport.send(request).await?;
    let code = response.status();
    let body = response.into_body().collect().await.map_err(|error| Error::Decode(error.to_string()))?.to_bytes();
    if code.is_success() { Ok(body) } else { Err(refusal(code, &body)) }
}

/// Converts a refusal of the API to an error.
fn refusal(code: StatusCode, body: &[u8]) -> Error {
    let status = serde_json::from_slice::<Status>(body).ok().filter(|status| status.status == "Failure");
    let status = status.unwrap_or_else(|| {
        let reason: String = code.canonical_reason().unwrap_or_default().split(' ').collect();
        Status::failure(code.as_u16(), &reason, String::from_utf8_lossy(body).trim())
    });
    Error::Api(Box::new(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_answers_for_a_group_of_a_cluster() {
        for (path, expected) in [
            (
                "/clusters/garden/apis/core.gardener.cloud/v1beta1/shoots?limit=1",
                "/clusters/garden/apis/core.gardener.cloud",
            ),
            ("/clusters/garden/apis/core.gardener.cloud", "/clusters/garden/apis/core.gardener.cloud"),
            ("/clusters/runtime/api/v1/namespaces", "/clusters/runtime/api"),
            ("/terrarium/clock/advance", "/terrarium/clock/advance"),
            ("", ""),
        ] {
            assert_eq!(server_of(path), expected, "{path}");
        }
    }
}
