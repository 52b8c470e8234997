// SPDX-License-Identifier: Apache-2.0
//! Request handling of the host, from the listener to the server of the path.
//!
//! ```text
//! answer          pages, faults of the network
//!   admit         the log, processes that join, the clock service
//!     serve       clusters: the aggregated groups, or the host's own server, and the effects of some of its objects
//! ```
//!
//! A path is parsed once, into a [`Place`].

pub(crate) mod answers;
pub(crate) mod log_service;
pub(crate) mod place;

use std::sync::atomic::Ordering;

use api::cluster;
use api::kubernetes::coordination::Lease;
use bytes::Bytes;
use futures::future::BoxFuture;
use generic_apiserver::{DescribedRelease, EventForm, is_watch};
use http::Method;
use http_body_util::BodyExt;
use process::activity::{PARTICIPANT_HEADER, WATCH_HEADER};
use process::transport::{full, until};
use process::{Request, Response, TransportError, User};

use crate::Host;
use crate::aggregation::{self, Extensions};
use crate::clusters::first_objects::FirstObjects;
use crate::front::place::{Part, Place};
use crate::kinds::clock_object;
use crate::kinds::custom_resources::{self, Look};
use crate::pods::faults::Asking;
use crate::time::clock_service::ClockService;
use crate::time::heartbeats;
use crate::time::timekeeper::Timekeeper;

impl Host {
    /// Answers a request that the listener has accepted.
    pub(crate) async fn answer(&self, mut request: Request) -> Result<Response, TransportError> {
        // Reading a page does not act on the landscape; requests of its forms pass this function like any other.
        let place = Place::of(request.uri().path());
        if let Some(pages) = self.inner.pages.0.get().filter(|_| place == Place::Pages) {
            return pages(request).await;
        }
        if !self.inner.has_runtime.swap(true, Ordering::Relaxed) {
            self.create_namespaces(cluster::RUNTIME).await?;
        }
        if let Some(roles) = &self.inner.first_roles {
            roles.store(request.uri().path(), &self.inner.server, &self.own_transport()).await?;
        }
        let is_participant = request.headers().contains_key(PARTICIPANT_HEADER);
        if !is_participant {
            request.headers_mut().remove(WATCH_HEADER);
        }
        let first = &self.inner.first_objects;
        // A request without permission has no effect.
        if first.are_missing(&request) && self.inner.server.allow(&request).await.is_ok() {
            Box::pin(first.make(request.uri().path(), &self.inner.server, &self.own_transport())).await?;
        }
        let (expiry, now) = (&self.inner.event_expiry, self.inner.time.now());
        if let Some(cluster) = expiry.concerned(&request, now)
            && self.inner.server.allow(&request).await.is_ok()
        {
            Box::pin(expiry.expire(&cluster, &self.inner.server, &self.own_transport(), now)).await?;
        }
        // The clock is no part of the network.
        let asking = Asking::of(&request).filter(|_| place != Place::ClockService);
        let Some(asking) = asking else { return self.admit(request, place, is_participant).await };
        let (path, time) = (request.uri().path().to_owned(), self.inner.time.clone());
        if let Some(unreachable) = self.inner.faults.answer(&asking, &path, &time) {
            return Ok(unreachable);
        }
        let watches = is_watch(request.method(), request.uri()) || place == Place::Log;
        let response = self.admit(request, place, is_participant).await?;
        Ok(if watches {
            let cut = self.inner.faults.cut(asking, &path, time);
            response.map(|body| until(body, cut))
        } else {
            response
        })
    }

    /// Answers a request that no fault blocks.
    async fn admit(&self, request: Request, place: Place, is_participant: bool) -> Result<Response, TransportError> {
        let inner = &self.inner;
        let deleted = FirstObjects::deleted(&request);
        let response = match place {
            Place::Log if let Some(log) = inner.log.get() => Ok(log_service::answer(log, request).await),
            Place::Join if let Some(joined) = inner.joined.get() => Ok(joined.answer(request).await),
            Place::ClockService if let Some(clock) = inner.clock.get() => Ok(clock.answer(request).await),
            Place::InCluster(part) if let Some(clock) = inner.clock.get() => {
                self.serve_in_time(request, part, clock, is_participant).await
            }
            Place::InCluster(part) => self.serve(request, part).await,
            // These paths are not served here; the host's own server returns 404.
            Place::Pages | Place::Log | Place::Join | Place::ClockService => inner.server.call(request).await,
        }?;
        if let Some(path) = deleted.filter(|_| response.status().is_success()) {
            Box::pin(inner.first_objects.restore(&path, &inner.server, &self.own_transport())).await?;
        }
        Ok(response)
    }

    /// Answers a request for resources of clusters, and reports writes of other clients than participants to the clock.
    async fn serve_in_time(
        &self,
        request: Request,
        part: Part,
        clock: &ClockService,
        is_participant: bool,
    ) -> Result<Response, TransportError> {
        let watches = is_watch(request.method(), request.uri());
        let is_component = request.extensions().get::<User>().is_some_and(|user| user.component.is_some());
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        let others_write = !reads && !is_participant && !is_component;
        // Before the request, so that time does not move between the write and this call; again after it, where the
        // time to act begins.
        if others_write {
            clock.with(Timekeeper::reached_others);
        }
        let response = if part == Part::Clocks {
            let response = self.serve(request, part).await?;
            if !reads && response.status().is_success() {
                self.apply_clock_object(clock).await;
            }
            Ok(clock_object::show(clock.clone(), response, watches).await)
        } else {
            self.serve(request, part).await
        };
        if others_write {
            clock.with(Timekeeper::reached_others);
        }
        // A newly opened watch may have lines in transit that no barrier covers.
        if is_participant && watches && response.as_ref().is_ok_and(|response| response.status().is_success()) {
            clock.with(|keeper, _| keeper.disturb());
        }
        response
    }

    async fn serve(&self, request: Request, part: Part) -> Result<Response, TransportError> {
        self.look_at_definitions(request.uri().path(), Look::Before).await?;
        match part {
            Part::Aggregated => {
                if let Some(refused) = self.refuse(&request).await {
                    return Ok(refused);
                }
                match self.aggregated() {
                    Some(server) => server.call(request).await,
                    None => Ok(aggregation::unavailable()),
                }
            }
            Part::Groups { cluster } => {
                let server = self.aggregated().filter(|_| aggregation::is_aggregated(&cluster));
                let extensions = match self.inner.extensions.get() {
                    Some(extensions) => extensions.groups(&cluster).await,
                    None => Vec::new(),
                };
                if server.is_none() && extensions.is_empty() {
                    return self.serve_own(request).await;
                }
                aggregation::groups(&self.inner.server, server.as_ref(), &extensions, request).await
            }
            Part::TokenKeys { cluster, path } => self.publish(request, &cluster, &path).await,
            Part::Clusters { name } => self.change_clusters(request, &name).await,
            Part::Leases => self.show_heartbeats(request).await,
            Part::Own if let Some(extensions) = self.inner.extensions.get() => {
                self.serve_extended(request, extensions).await
            }
            Part::Clocks | Part::Own => self.serve_own(request).await,
        }
    }

    /// Resolves to the rejection of a request that its user may not make and another server would answer.
    fn refuse(&self, request: &Request) -> BoxFuture<'static, Option<Response>> {
        // A kube-apiserver, too, authorizes a request before it forwards it.
        let judged = self.inner.rbac.as_ref().map(|_| self.inner.server.allow(request));
        Box::pin(async move { judged?.await.err() })
    }

    /// Answers a request with the extension API server of its group, or with the host's own server.
    async fn serve_extended(&self, request: Request, extensions: &Extensions) -> Result<Response, TransportError> {
        let path = request.uri().path();
        if let Some(registration) = extensions.find(path).await {
            return Ok(match self.refuse(&request).await {
                Some(refused) => refused,
                None => extensions.call(&registration, request).await,
            });
        }
        let group = extensions.group(path).await;
        let response = self.serve_own(request).await?;
        match group {
            Some(group) if response.status() == http::StatusCode::NOT_FOUND => {
                Ok(aggregation::json(http::StatusCode::OK, format!("{}\n", group.to_api_group())))
            }
            _ => Ok(response),
        }
    }

    /// Answers a request with the host's own server or one behind it.
    async fn serve_own(&self, mut request: Request) -> Result<Response, TransportError> {
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        if reads {
            if let Some(release) = self.aggregated().and_then(|server| server.release()) {
                request.extensions_mut().insert(DescribedRelease(release));
            }
            return self.inner.server.call(request).await;
        }
        let path = request.uri().path().to_owned();
        let response = self.inner.server.call(request).await?;
        if let Some(look) = custom_resources::after(&path).filter(|_| response.status().is_success()) {
            self.look_at_definitions(&path, look).await?;
        }
        if let Some(extensions) = self.inner.extensions.get().filter(|_| response.status().is_success()) {
            extensions.note_write(&path).await;
        }
        Ok(response)
    }

    async fn look_at_definitions(&self, path: &str, look: Look) -> Result<(), TransportError> {
        let (custom, server) = (&self.inner.custom_resources, &self.inner.server);
        custom.look(path, look, server, &self.own_transport()).await
    }

    /// Answers a request for the keys that verify tokens of ServiceAccounts.
    async fn publish(&self, request: Request, cluster: &str, path: &str) -> Result<Response, TransportError> {
        if let Err(refused) = self.inner.server.allow(&request).await {
            return Ok(refused);
        }
        let host = request.headers().get(http::header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
        let url = format!("https://{host}/clusters/{cluster}");
        let is_read = *request.method() == Method::GET;
        let exists = cluster == cluster::RUNTIME
            || self.inner.server.object::<api::terrarium::Cluster>(cluster::RUNTIME, "", cluster).await.is_some();
        let published = self.inner.tokens.as_ref().filter(|_| is_read && exists);
        match published.and_then(|tokens| tokens.published(path, &url)) {
            Some(response) => Ok(response),
            None => self.inner.server.call(request).await,
        }
    }

    /// Answers a request about Leases; clients that are no components read the current renewal of a Lease.
    async fn show_heartbeats(&self, mut request: Request) -> Result<Response, TransportError> {
        let is_component = request.extensions().get::<User>().is_some_and(|user| user.component.is_some());
        let query = request.uri().query().unwrap_or_default();
        let of_the_past = query.contains("resourceVersionMatch=Exact");
        let is_shown = *request.method() != Method::HEAD && !is_component && !of_the_past;
        let watches = is_watch(request.method(), request.uri());
        let is_participant = request.headers().contains_key(PARTICIPANT_HEADER);
        // Version 0 means any state: the watch begins with the objects, as one without a version does.
        let mut versions = query.split('&').filter_map(|pair| pair.strip_prefix("resourceVersion="));
        let resumes = versions.next().is_some_and(|version| !matches!(version, "" | "0"));
        let uri = request.uri().clone();
        let is_filled = watches && is_shown && !is_participant;
        // Renewals are added to whole Leases, and then all events get the requested form.
        let columns = || api::catalogue::of::<Lease>().columns;
        let form = is_filled.then(|| EventForm::of(request.headers(), uri.query(), columns())).flatten();
        if form.is_some() {
            request.headers_mut().insert(http::header::ACCEPT, http::HeaderValue::from_static("application/json"));
        }
        let response = self.inner.server.call(request).await?;
        if !watches {
            return Ok(if is_shown { heartbeats::show(response, self.inner.time.now()).await } else { response });
        }
        // A participant gets the stored object, for which the clock waits.
        if !is_filled || !response.status().is_success() {
            return Ok(response);
        }
        let leases = heartbeats::running(&self.own_transport(), uri.path(), uri.query()).await?;
        let (time, wall, server) = (self.inner.time.clone(), self.inner.wall.clone(), self.inner.server.clone());
        let position = move || server.position();
        Ok(response.map(|body| heartbeats::renewed((body, form), leases, time, wall, resumes, position)))
    }

    /// Answers a request about Cluster objects, and applies the change of the object to the cluster.
    async fn change_clusters(&self, request: Request, name: &str) -> Result<Response, TransportError> {
        let method = request.method().clone();
        let response = self.inner.server.call(request).await?;
        match method {
            Method::POST if response.status() == http::StatusCode::CREATED => {
                let (parts, body) = response.into_parts();
                let body = body.collect().await.map_err(|error| TransportError::Broken(error.to_string()))?.to_bytes();
                if let Some(name) = name_of(&body) {
                    self.create_namespaces(&name).await?;
                }
                Ok(Response::from_parts(parts, full(body)))
            }
            Method::DELETE | Method::PUT | Method::PATCH if response.status().is_success() && !name.is_empty() => {
                self.inner.server.clear_vanished_cluster(name).await;
                if method == Method::DELETE {
                    self.inner.custom_resources.forget(name).await;
                    if let Some(extensions) = self.inner.extensions.get() {
                        extensions.forget(name);
                    }
                    if let Some(roles) = &self.inner.first_roles {
                        roles.forget(name);
                    }
                    self.inner.first_objects.forget(name);
                    self.inner.event_expiry.forget(name);
                }
                Ok(response)
            }
            _ => Ok(response),
        }
    }
}

fn name_of(body: &Bytes) -> Option<String> {
    let tree: serde_json::Value = serde_json::from_slice(body).ok()?;
    Some(tree["metadata"]["name"].as_str()?.to_owned())
}
