// SPDX-License-Identifier: Apache-2.0
//! gardener-admission-controller as a binary.
//!
//! It serves webhooks on a port that its ready message contains, and takes no part in landscape time: it has no timers,
//! and the server that waits for its answer counts as busy. In the host's process ([`Local`]), it is also called
//! without a connection.

use api::cluster;
use chrono::{DateTime, TimeDelta, Utc};
use clock::{Clock, SimulatedClock};
use component::{Binary, Flags, ready, registered, registration, skew_watch};
use controller::Api;
use domain::garden::components::Program;
use generic_apiserver::Local;
use generic_apiserver::authentication::FixedAuthenticator;
use generic_apiserver::http::{self, Options as ServeOptions};
use process::attempts::Attempts;
use process::child::Assignment;
use process::participant::CLOCK_NAME;
use process::transport::ResponseFuture;
use process::{Context, Exit};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::{Options, Webhooks};

/// Wall time for running requests after the component is requested to stop.
const GRACE: TimeDelta = TimeDelta::milliseconds(500);

/// The definition of the binary.
pub const BINARY: Binary = Binary {
    program: Program::AdmissionController,
    build: env!("TERRARIUM_BUILD"),
    flags: Flags::KNOWN,
    in_landscape_time: false,
    run: |context, assignment, end| Box::pin(serve(context, assignment, None, end)),
};

/// Serves webhooks until `end` resolves; `local`: in the process of the host.
///
/// # Errors
/// Returns an error if the assignment or its configuration is invalid, or the clock cannot be read.
pub async fn serve(
    context: Context,
    assignment: Assignment,
    local: Option<Local>,
    end: oneshot::Receiver<()>,
) -> Result<Exit, String> {
    let flags = Flags::read(&assignment)?;
    let limits = &flags.config["server"]["resourceAdmissionConfiguration"];
    let resource_admission = match limits {
        Value::Null => None,
        limits => Some(
            serde_json::from_value(limits.clone())
                .map_err(|error| format!("error decoding config: server.resourceAdmissionConfiguration: {error}"))?,
        ),
    };
    let tasks = context.tasks.clone();
    let (time, told) = match &local {
        Some(local) => (local.time.clone(), None),
        None => {
            let told = SimulatedClock::new(first_time(&context).await?);
            (Clock::new(told.clone()), Some(told))
        }
    };
    flags.start_logging(&context, time.clone())?;
    tracing::info!(version = assignment.version, "Starting {}", assignment.component);
    let webhooks = Webhooks::new(context.clone(), Options { resource_admission });
    let timed = context.clone();
    let answer = move |request| -> ResponseFuture {
        let (webhooks, context, told) = (webhooks.clone(), timed.clone(), told.clone());
        Box::pin(async move {
            // Log lines have landscape time. While the clock cannot be read, its last time is used.
            if let Some(told) = told
                && let Ok(now) = landscape_time(&context).await
            {
                told.advance_to(now);
            }
            webhooks.call(request).await
        })
    };
    if let Some(local) = local {
        (local.offer)(http::within(&tasks, &context.wall, GRACE, answer.clone()));
    }
    let serving = assignment.serving.as_ref().ok_or("the assignment has no certificate to serve with")?;
    // Requests need no authentication: answers contain no more than their requests.
    let authenticator = FixedAuthenticator::default();
    let mut options = ServeOptions::new(serving.certificate.clone(), authenticator, Clock::wall(), Clock::wall());
    let paused = tasks.clone();
    options.health = options.health.ready("version-skew", move || !paused.is_paused());
    let serving = http::serve(&tasks, answer, options).await.map_err(|error| format!("cannot serve: {error}"))?;
    let address = serving.address().to_string();
    let me = registered(&assignment, &address);
    let enforcement = match registration::register(&context, &me, flags.profile, time.now()).await {
        Ok(enforcement) => enforcement,
        Err(refused) => return Ok(refused),
    };
    skew_watch::follow(&context, &me, flags.profile, enforcement, time);
    tracing::info!(address, "Serving webhook server");
    context.output.state(ready(&address));
    Ok(serving.until(end, &tasks).await)
}

/// Returns landscape time at the start, once the clock's object can be read.
async fn first_time(context: &Context) -> Result<DateTime<Utc>, String> {
    let mut attempts = Attempts::on(context.wall.clone());
    loop {
        match landscape_time(context).await {
            Err(_) if attempts.again().await => {}
            time => return time,
        }
    }
}

/// Returns landscape time from the clock's object.
async fn landscape_time(context: &Context) -> Result<DateTime<Utc>, String> {
    let clocks = Api::<api::terrarium::Clock>::all(context, cluster::RUNTIME);
    let clock = clocks.get(CLOCK_NAME).await.map_err(|error| format!("cannot read the clock: {error}"))?;
    clock.status.now.map(|now| now.0).ok_or_else(|| "the clock's status has no time".to_owned())
}
