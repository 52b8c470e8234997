// SPDX-License-Identifier: Apache-2.0
//! Foundation of a running host: the clock, the host's server, and the servers of the aggregated groups.

use std::io;
use std::sync::{Arc, OnceLock};

use chrono::TimeDelta;
use clock::Clock;
use eventlog::EventLog;
use generic_apiserver::Foundation;
use generic_apiserver::http::Metrics;
use generic_apiserver::webhooks::{Dialer, HttpsCaller};
use process::Tasks;
use process::https::Credentials;
use process::live::Quiescence;

use super::{Options, writer};
use crate::aggregation::{AnswerLimit, Instances};
use crate::identity::tokens::Tokens;
use crate::pods::kubelet::Logs;
use crate::pods::services::Services;
use crate::time::clock_service::{Barriers, ClockService, START};
use crate::time::timekeeper::{Mode, Timekeeper};
use crate::{Host, Parts, Trust};

/// Wall time after which a server of the aggregated groups is probed, and time limit of the probe: their sum is less
/// than the report limit of a participant that waits for the server.
const TIMEOUT: TimeDelta = TimeDelta::seconds(5);

/// A host with its clock, before it listens.
pub(super) struct Core {
    pub(super) host: Host,
    pub(super) clock: ClockService,
    /// The log, whose entries the clock counts.
    pub(super) log: Arc<dyn EventLog>,
    pub(super) instances: Instances,
    pub(super) logs: Logs,
    pub(super) services: Services,
    pub(super) tokens: Tokens,
    pub(super) metrics: Metrics,
}

impl Core {
    /// Starts the clock and the host's server. Time stands until the start of the landscape is complete
    /// ([`super::Live::begin`]). `quiescence`: that of the landscape's thread, on which the tasks run; `None`: there is
    /// no such thread.
    ///
    /// # Errors
    /// The log cannot be reached.
    pub(super) async fn start(options: &Options, quiescence: Option<Quiescence>, tasks: &Tasks) -> io::Result<Self> {
        let wall = Clock::wall();
        let host_once: Arc<OnceLock<Host>> = Arc::default();
        // The mode of the clock and a pause are stored in the log: until it has been read, time stands.
        let barriers = barriers(&host_once, quiescence);
        let clock = ClockService::start(options.now, Mode::Stepped, wall.clone(), options.log.clone(), barriers, tasks);
        let log = clock.counted_log();
        let turn = options.turn.clone();
        clock.show_on(move |now| turn(now));
        // Until the first server of the aggregated groups runs, components would only repeat their requests.
        clock.with(|keeper, wall| keeper.hold(START, wall));
        let foundation = Foundation {
            log: log.clone(),
            clock: clock.clock(),
            wall: wall.clone(),
            random: options.random.clone(),
            writer: writer(options.start, 0),
            recent_bytes: generic_apiserver::RECENT_BYTES,
        };
        let logs = Logs::new(clock.clock());
        let services = Services::default();
        let tokens = Tokens::new(&options.token_key).map_err(|error| io::Error::other(error.to_string()))?;
        // Shared by all clusters whose `/metrics` are read.
        let metrics = Metrics::default();
        let parts = Parts {
            logs: Some(logs.clone()),
            webhooks: Some(Arc::new(HttpsCaller::new("kube-apiserver-admission", services.names()))),
            extensions: Some(Arc::new(Dialer::new(
                "kube-aggregator",
                Credentials::Certificate(options.front_proxy.clone()),
                services.names(),
            ))),
            profile: Some(options.profile),
            version: options.version.clone(),
            kubernetes_version: Some(options.kubernetes_version.clone()),
            event_ttl: Some(options.event_ttl),
            trust: Some(trust(options)),
            metrics: Some(metrics.clone()),
            tokens: Some(tokens.clone()),
            authorization: options.authorization,
            rows: &[],
        };
        let host = Host::with(foundation, tasks, parts);
        host.serve_clock(clock.clone());
        host.serve_log(log.clone());
        host.set_clock(&clock, options.mode).await.map_err(io::Error::other)?;
        if options.awaits_mode {
            clock.with(Timekeeper::await_mode);
        }
        host.create_timing().await.map_err(io::Error::other)?;
        let _ = host_once.set(host.clone());
        let instances = Instances::new(tasks.clone(), log.clone(), clock.clock(), limit(wall, clock.clone()));
        let waiting = clock.clone();
        instances.on_outage(move |name| {
            if let Some(server) = name {
                tracing::warn!(server, "no server of the aggregated groups answers: landscape time stands for 30 s");
            }
            waiting.with(|keeper, wall| keeper.set_outage(name, wall));
        });
        host.aggregate_instances(instances.clone());
        Ok(Self { host, clock, log, instances, logs, services, tokens, metrics })
    }
}

/// Authorities whose certificates clusters accept.
fn trust(options: &Options) -> Trust {
    let (landscape, own) = (options.authorities.clone(), options.own_authorities.clone());
    let clients = Arc::new(move |cluster: &str| {
        let own = own(cluster).unwrap_or_default();
        if own == landscape { own } else { landscape.clone() + &own }
    });
    let (front_proxies, front_proxy) = options.front_proxies.clone();
    Trust { clients, front_proxies, front_proxy }
}

/// Time limit of the servers of the aggregated groups; time does not wait for an unresponsive one if another answers.
fn limit(wall: Clock, clock: ClockService) -> AnswerLimit {
    AnswerLimit {
        wall,
        time: TIMEOUT,
        report: Arc::new(move |name, answers| {
            if answers {
                tracing::info!(server = name, "a server of the aggregated groups answers again, or has ended");
                clock.with(|keeper, _| keeper.server_answers(name));
            } else {
                tracing::warn!(server = name, "a server of the aggregated groups does not answer: others are asked");
                clock.with(|keeper, wall| keeper.server_is_unresponsive(name, wall));
            }
        }),
    }
}

/// Creates the barrier function of a host. On the landscape's thread a barrier is requested when nothing else is
/// runnable: the request makes the servers follow the log, which sends lines to their watches.
fn barriers(host: &Arc<OnceLock<Host>>, quiescence: Option<Quiescence>) -> Barriers {
    let host = host.clone();
    Arc::new(move || {
        let (host, quiescence) = (host.get().cloned(), quiescence.clone());
        Box::pin(async move {
            if let Some(quiescence) = quiescence {
                quiescence.reached().await;
            }
            host?.line_counts().await
        })
    })
}
