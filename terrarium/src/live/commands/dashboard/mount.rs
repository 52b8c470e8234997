// SPDX-License-Identifier: Apache-2.0
//! Pages in the host: below `/dashboard/` at its port, and on a separate listener once a command requests a link.

use std::sync::Arc;

use axum::body::Body;
use dashboard::access::{Entrance, random_name};
use dashboard::clock_state::{ClockState, WaitsFor};
use dashboard::view::administrator;
use dashboard::{Dashboard, Options};
use eventlog::EventLog;
use host::Pages;
use host::live::Live;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use process::transport::{BodyError, full};
use process::{Request, Response, Tasks, User};
use tokio::sync::Mutex;

use super::upgrades::Upgrade;
use super::{LINK_PATH, Link, LinkRequest};
use crate::failure::Failure;
use crate::live::bootstrap;
use crate::live::clock::mode_name;
use crate::live::directory::{Directory, Facts, PagesFile};

/// Length of the name that cannot be guessed, in characters.
const NAME: usize = 12;

/// Pages of a landscape in its host.
#[derive(Debug)]
pub(in crate::live) struct Mount {
    dashboard: Dashboard,
    tasks: Tasks,
    directory: Directory,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    facts: Facts,
    is_open: bool,
}

/// True if a name belongs to the loopback device on every machine.
pub(super) fn is_loopback(host: &str) -> bool {
    let is_label =
        |label: &str| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    matches!(host, "127.0.0.1" | "[::1]" | "localhost")
        || host.strip_suffix(".localhost").is_some_and(|name| name.split('.').all(is_label))
}

impl Mount {
    /// Serves the pages of a landscape; the listener is opened if it was before.
    ///
    /// # Errors
    /// The profile in the landscape's file is unknown.
    pub(in crate::live) async fn start(
        live: &Live,
        directory: &Directory,
        facts: &Facts,
        log: Arc<dyn EventLog>,
    ) -> Result<Pages, Failure> {
        let clock = live.clock().clone();
        let landscape_time = live.clock().clone();
        let upgrade = Upgrade {
            door: live.door(),
            now: Arc::new(move || landscape_time.state().now),
            tasks: live.tasks().clone(),
            landscape: facts.name.clone(),
            gardener_version: facts.gardener_version.clone(),
            seed: facts.seed,
            profile: bootstrap::profile(facts)?,
            state: Arc::default(),
        };
        let dashboard = Dashboard::new(Options {
            landscape: facts.name.clone(),
            gardener_version: facts.gardener_version.clone(),
            rules: bootstrap::profile(facts)?,
            seed: facts.seed,
            door: live.door(),
            log,
            clock: Arc::new(move || state_of(&clock.state())),
            wall: clock::Clock::wall(),
            tasks: live.tasks().clone(),
            upgrades: Some(Arc::new(upgrade)),
            has_threads: true,
        });
        for name in ["localhost", "127.0.0.1", "[::1]"].into_iter().chain(facts.san.iter().map(String::as_str)) {
            dashboard.add_landscape_name(name);
        }
        if !facts.bind.is_unspecified() {
            let bind = if facts.bind.is_ipv6() { format!("[{}]", facts.bind) } else { facts.bind.to_string() };
            dashboard.add_landscape_name(&bind);
        }
        let state = Mutex::new(State { facts: facts.clone(), is_open: false });
        let mount = Arc::new(Self { dashboard, tasks: live.tasks().clone(), directory: directory.clone(), state });
        if facts.dashboard.is_some() {
            // The port may be in use by now: then the command reports it at its next use.
            if let Err((_, why)) = mount.open(None).await {
                process::child::say(&format!("warning: {why}"));
            }
        }
        Ok(Arc::new(move |request| {
            let mount = mount.clone();
            Box::pin(async move { Ok(mount.answer(request).await) })
        }))
    }

    async fn answer(&self, request: Request) -> Response {
        if request.uri().path() == LINK_PATH {
            return match self.link(request).await {
                Ok(link) => Response::new(full(serde_json::json!(link).to_string())),
                Err((code, why)) => {
                    let mut response = Response::new(full(why));
                    *response.status_mut() = code;
                    response
                }
            };
        }
        let request = request.map(Body::new);
        let response = self.dashboard.answer(Entrance::Landscape, request).await;
        response.map(|body| body.map_err(|error| BodyError(error.to_string())).boxed_unsync())
    }

    async fn link(&self, request: Request) -> Result<Link, (StatusCode, String)> {
        if request.method() != Method::POST {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "links are made by POST".to_owned()));
        }
        let user = request.extensions().get::<User>().cloned().unwrap_or_default();
        if !user.groups.iter().any(|group| **group == *"system:masters") {
            return Err((StatusCode::FORBIDDEN, "links to the pages are for administrators".to_owned()));
        }
        let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let asked: LinkRequest =
            serde_json::from_slice(&body).map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
        let PagesFile { name, port } = self.open(asked.port).await?;
        let host = asked.host.unwrap_or_else(|| format!("{name}.localhost"));
        if !is_loopback(&host) {
            return Err((StatusCode::BAD_REQUEST, format!("`{host}` is not a name of the loopback device")));
        }
        self.dashboard.add_name(&format!("{host}:{port}"));
        let user = asked.user.map_or_else(administrator, |name| {
            let groups = asked.groups.iter().map(|group| Arc::from(group.as_str()));
            User { name: name.into(), groups: groups.chain(["system:authenticated".into()]).collect(), component: None }
        });
        let code = self.dashboard.sessions().code(user);
        Ok(Link { url: format!("http://{host}:{port}/dashboard/login?code={code}") })
    }

    /// Opens the listener unless it is open; returns its address.
    async fn open(&self, port: Option<u16>) -> Result<PagesFile, (StatusCode, String)> {
        let mut state = self.state.lock().await;
        let known = state.facts.dashboard.clone();
        if let Some(known) = known.clone().filter(|_| state.is_open) {
            return match port {
                Some(port) if port != known.port => {
                    let why = format!("the pages are at port {} already, until the landscape is stopped", known.port);
                    Err((StatusCode::CONFLICT, why))
                }
                _ => Ok(known),
            };
        }
        let wanted = port.or_else(|| known.as_ref().map(|known| known.port)).unwrap_or(0);
        let port = dashboard::listen::listen(&self.dashboard, &self.tasks, wanted).await.map_err(|error| {
            let why = format!("the pages cannot be served on 127.0.0.1:{wanted}: {error}; --port takes another one");
            (StatusCode::CONFLICT, why)
        })?;
        let name = known.map_or_else(|| format!("{}-{}", state.facts.name, random_name(NAME)), |known| known.name);
        let pages = PagesFile { name, port };
        self.dashboard.add_name(&format!("{}.localhost:{port}", pages.name));
        state.is_open = true;
        if state.facts.dashboard.as_ref() != Some(&pages) {
            state.facts.dashboard = Some(pages.clone());
            if let Err(failure) = self.directory.write_facts(&state.facts) {
                process::child::say(&format!("warning: the address of the pages is not stored: {failure}"));
            }
        }
        Ok(pages)
    }
}

fn state_of(state: &host::time::clock_service::ClockState) -> ClockState {
    ClockState {
        now: state.now,
        mode: mode_name(state.mode),
        paused: state.paused,
        target: state.target,
        by: state.advance.as_ref().map(ToString::to_string).unwrap_or_default(),
        next: state.next,
        settled: state.settled,
        waits_for: WaitsFor {
            participants: state.waits_for.participants.clone(),
            holds: state.waits_for.holds.clone(),
        },
        dropped: state.dropped.clone(),
        live_lock: state.live_lock.clone(),
        troubles: state.troubles.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_loopback_device_are_taken() {
        for name in ["127.0.0.1", "[::1]", "localhost", "a.localhost", "a-b2.c.localhost"] {
            assert!(is_loopback(name), "{name}");
        }
        for name in ["", "127.0.0.2", "::1", ".localhost", "a..localhost", "localhost.example", "a/b.localhost", "a:1"]
        {
            assert!(!is_loopback(name), "{name}");
        }
    }
}
