// SPDX-License-Identifier: Apache-2.0
//! gardener-admission-controller as a process of a landscape, and the configuration by which the garden asks it.
//!
//! It serves webhooks on a port that its ready message names, and takes no part in landscape time: it has no timers, and
//! the server that waits for its answer has a request under way.

use std::process::ExitCode;

use admission_controller::{Options, Webhooks};
use api::cluster;
use api::constants::{label, role};
use chrono::{DateTime, Utc};
use clock::{Clock, Random, SimulatedClock, TimeSource};
use controller::Api;
use generic_apiserver::authentication::FixedAuthenticator;
use generic_apiserver::http::{self, Options as ServeOptions};
use host::clock_object;
use process::attempts::Attempts;
use process::child::{self, Assignment, Ready, ready};
use process::transport::ResponseFuture;
use process::{Context, Exit, Output, Tasks};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::live::components::{Flags, NAMESPACE, registered};
use crate::live::{registration, skew_watch};

/// Name in the field.
pub(in crate::live) const NAME: &str = "gardener-admission-controller";
/// Where webhook configurations are.
pub(in crate::live) const CONFIGURATIONS: &str =
    "/clusters/garden/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// Runs it as this process.
pub(in crate::live) fn run() -> ExitCode {
    child::end(child::assignment().and_then(|(assignment, end)| serve(&assignment, end)))
}

fn serve(assignment: &Assignment, end: oneshot::Receiver<()>) -> Result<Exit, String> {
    let flags = Flags::read(assignment)?;
    let limits = &flags.config["server"]["resourceAdmissionConfiguration"];
    let resource_admission = match limits {
        Value::Null => None,
        limits => Some(
            serde_json::from_value(limits.clone())
                .map_err(|error| format!("error decoding config: server.resourceAdmissionConfiguration: {error}"))?,
        ),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot make a runtime: {error}"))?;
    runtime.block_on(async {
        let tasks = Tasks::new();
        let context = Context {
            identity: assignment.identity(),
            clock: Clock::wall(),
            random: Random::new(assignment.seed),
            wall: Clock::wall(),
            transport: assignment.transport()?,
            tasks: tasks.clone(),
            output: Output::new(child::say),
        };
        let mut attempts = Attempts::on(context.wall.clone());
        let began = loop {
            match landscape_time(&context).await {
                Err(_) if attempts.again().await => {}
                began => break began?,
            }
        };
        let time = SimulatedClock::new(began);
        flags.start_logging(Clock::new(time.clone()))?;
        tracing::info!(version = assignment.version, "Starting {NAME}");
        let webhooks = Webhooks::new(context.clone(), Options { resource_admission });
        let (timed, said) = (context.clone(), time.clone());
        let answer = move |request| -> ResponseFuture {
            let (webhooks, context, time) = (webhooks.clone(), timed.clone(), said.clone());
            Box::pin(async move {
                // What is logged is logged at landscape time. While the clock cannot be asked, its last time counts.
                if let Ok(now) = landscape_time(&context).await {
                    time.advance_to(now);
                }
                webhooks.call(request).await
            })
        };
        let serving = assignment.serving.as_ref().ok_or("the assignment has no certificate to serve with")?;
        // Any client may ask: its answers say nothing that the question does not.
        let authenticator = FixedAuthenticator::default();
        let mut options = ServeOptions::new(serving.certificate.clone(), authenticator, Clock::wall(), Clock::wall());
        let paused = tasks.clone();
        options.health = options.health.ready("version-skew", move || !paused.is_paused());
        let serving = http::serve(&tasks, answer, options).await.map_err(|error| format!("cannot serve: {error}"))?;
        let address = serving.address().to_string();
        let me = registered(assignment, &address);
        let enforcement = match registration::register(&context, &me, flags.profile, time.now()).await {
            Ok(enforcement) => enforcement,
            Err(refused) => return Ok(refused),
        };
        skew_watch::follow(&context, &me, flags.profile, enforcement, Clock::new(time));
        tracing::info!(address, "Serving webhook server");
        ready(&Ready { program: env!("CARGO_PKG_VERSION").to_owned(), address });
        Ok(serving.until(end, &tasks).await)
    })
}

/// Landscape time, as the clock's object says it.
async fn landscape_time(context: &Context) -> Result<DateTime<Utc>, String> {
    let clocks = Api::<api::terrarium::Clock>::all(context, cluster::RUNTIME);
    let clock = clocks.get(clock_object::NAME).await.map_err(|error| format!("cannot read the clock: {error}"))?;
    clock.status.now.map(|now| now.0).ok_or_else(|| "the clock does not say what time it is".to_owned())
}

/// The webhooks that exist here, as gardener-operator configures them. `authorities` is PEM.
///
/// Source: pkg/component/gardener/admissioncontroller/webhooks.go @ v1.120.0.
pub(in crate::live) fn configuration(authorities: &str) -> Value {
    let bundle = apimachinery::meta::ByteString(authorities.as_bytes().to_vec()).to_base64();
    let webhook = |name: &str, path: &str, operations: &[&str], resource: &str, selector: Value| {
        json!({
            "name": format!("{name}.gardener.cloud"),
            "admissionReviewVersions": ["v1", "v1beta1"],
            "timeoutSeconds": 10,
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "namespaceSelector": selector,
            "clientConfig": { "url": format!("https://{NAME}.{NAMESPACE}/webhooks/{path}"), "caBundle": bundle },
            "rules": [{
                "operations": operations, "apiGroups": [""], "apiVersions": ["v1"], "resources": [resource],
            }],
        })
    };
    let projects = json!({ "matchLabels": { label::ROLE: role::PROJECT } });
    let but_garden = json!({ "matchExpressions": [
        { "key": label::ROLE, "operator": "In", "values": [role::PROJECT] },
        { "key": "app", "operator": "NotIn", "values": ["gardener"] },
    ] });
    let writes = ["CREATE", "UPDATE"];
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": NAME },
        "webhooks": [
            webhook(
                "validate-namespace-deletion", "validate-namespace-deletion", &["DELETE"], "namespaces", projects.clone(),
            ),
            webhook("validate-kubeconfig-secrets", "validate-kubeconfig-secrets", &writes, "secrets", but_garden),
            webhook("shoot-kubeconfig-secret-ref", "validate-shoot-kubeconfig-secret-ref", &["UPDATE"], "secrets", projects),
        ],
    })
}
