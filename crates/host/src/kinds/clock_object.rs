// SPDX-License-Identifier: Apache-2.0
//! Landscape time as an object: `clocks.terrarium.dev`, `landscape`, in cluster `runtime`.
//!
//! ```text
//! write  → stored, as any object → the spec is what the clock does from then on
//! read   → stored object → its status is filled in from the clock
//! ```
//!
//! So the mode of the clock is in the log, has a history, survives a restart of the host, and can be changed by any
//! client.
//!
//! **Invariants.** The status is never stored. There is exactly one object, and it cannot be deleted. The clock has
//! applied a write before the write's response is sent.
//!
//! **Deliberately absent**: moving time by a write. `advance` is a command that ends, not a desired state; see
//! [`crate::time::clock_service`]. Watch events whenever time moves: there would be one per instant.

use api::terrarium;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::MicroTime;
use apimachinery::{GroupResource, Status};
use bytes::Bytes;
use generic_apiserver::admission::{Attributes, Operation, Plugin, Reads};
use generic_apiserver::{RequestContext, Strategy};
use http_body_util::BodyExt;
use process::Response;
use process::participant::CLOCK_NAME;
use process::transport::{Decoded, full};
use serde_json::{Value, json};

use crate::aggregation::whole_lines;
use crate::time::clock_service::{ClockService, ClockState};
use crate::time::timekeeper::Mode;

/// Path of the objects.
pub const PATH: &str = "/clusters/runtime/apis/terrarium.dev/v1alpha1/clocks";

const MODES: [&str; 5] = ["Auto", "Eager", "RealTime", "Scaled", "Stepped"];
/// Maximum speed at which time may run by itself.
const FASTEST: f64 = 1e9;

/// Returns the spec for a mode of the clock.
pub fn spec(mode: Mode, paused: bool) -> terrarium::ClockSpec {
    let (mode, rate) = match mode {
        Mode::Eager => ("Eager", None),
        Mode::Rate(1.0) => ("RealTime", None),
        Mode::Rate(rate) => ("Scaled", Some(rate)),
        Mode::Stepped => ("Stepped", None),
        Mode::Auto => ("Auto", None),
    };
    terrarium::ClockSpec { mode: mode.to_owned(), rate, paused }
}

fn mode(spec: &terrarium::ClockSpec) -> Mode {
    match spec.mode.as_str() {
        "RealTime" => Mode::Rate(1.0),
        "Scaled" => Mode::Rate(spec.rate.unwrap_or(1.0)),
        "Stepped" => Mode::Stepped,
        "Auto" => Mode::Auto,
        _ => Mode::Eager,
    }
}

fn status(state: ClockState) -> terrarium::ClockStatus {
    terrarium::ClockStatus {
        now: Some(MicroTime(state.now)),
        next: state.next.map(MicroTime),
        target: state.target.map(MicroTime),
        advanced_by: state.advance.map(|advance| advance.to_string()).unwrap_or_default(),
        settled: state.settled,
        waits_for: state.waits_for.participants.into_iter().chain(state.waits_for.holds).collect(),
        dropped: state.dropped,
        live_lock: state.live_lock.unwrap_or_default(),
    }
}

/// Applies the object's spec to the clock.
pub(crate) fn apply(clock: &ClockService, spec: &terrarium::ClockSpec) {
    clock.with(|keeper, wall| {
        if keeper.mode() != mode(spec) {
            keeper.set_mode(mode(spec), wall);
        }
        if spec.paused {
            keeper.pause(wall);
        } else if keeper.is_stopped() {
            // The client that writes the object has seen why time was stopped.
            keeper.resume(wall);
        }
    });
}

/// Fills in the status of every Clock in a response.
pub(crate) async fn show(clock: ClockService, response: Response, watch: bool) -> Response {
    let (mut parts, body) = response.into_parts();
    if !parts.status.is_success() {
        return Response::from_parts(parts, body);
    }
    parts.extensions.remove::<Decoded>();
    if watch {
        let body = whole_lines(body).map_frame(move |frame| frame.map_data(|lines| show_lines(&clock, &lines)));
        return Response::from_parts(parts, body.boxed_unsync());
    }
    let Ok(body) = body.collect().await else {
        parts.status = http::StatusCode::INTERNAL_SERVER_ERROR;
        return Response::from_parts(parts, full(""));
    };
    let body = body.to_bytes();
    let Ok(mut tree) = serde_json::from_slice::<Value>(&body) else { return Response::from_parts(parts, full(body)) };
    fill(&clock, &mut tree);
    Response::from_parts(parts, full(format!("{tree}\n")))
}

fn show_lines(clock: &ClockService, lines: &Bytes) -> Bytes {
    let mut out = Vec::with_capacity(lines.len() + 64);
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        let Ok(mut tree) = serde_json::from_slice::<Value>(line) else {
            out.extend_from_slice(line);
            continue;
        };
        fill(clock, &mut tree["object"]);
        // `type` is the first field, as in all watches.
        let frame = format!("{{\"type\":{},\"object\":{}}}\n", tree["type"], tree["object"]);
        out.extend_from_slice(frame.as_bytes());
    }
    out.into()
}

fn fill(clock: &ClockService, tree: &mut Value) {
    match tree["kind"].as_str() {
        // The object of a bookmark holds only a revision.
        Some("Clock") if tree["metadata"]["name"] == CLOCK_NAME => tree["status"] = json!(status(clock.state())),
        Some("ClockList") => tree["items"].as_array_mut().into_iter().flatten().for_each(|item| fill(clock, item)),
        Some("Table") => {
            let status = json!(status(clock.state()));
            let cell = |name: &str| match name {
                "Now" => Some(&status["now"]),
                "Next Timer" => Some(&status["next"]),
                _ => None,
            };
            let columns = tree["columnDefinitions"].as_array().cloned().unwrap_or_default();
            let filled: Vec<(usize, Value)> = columns
                .iter()
                .enumerate()
                .filter_map(|(place, column)| Some((place, cell(column["name"].as_str()?)?.clone())))
                .collect();
            for row in tree["rows"].as_array_mut().into_iter().flatten() {
                for (place, value) in &filled {
                    row["cells"][*place] = value.clone();
                }
                fill(clock, &mut row["object"]);
            }
        }
        _ => {}
    }
}

/// Validation and defaults of kind Clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClockStrategy;

fn validate(clock: &terrarium::Clock) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if clock.metadata.name != CLOCK_NAME {
        let path = Path::new("metadata").child("name");
        errors.push(FieldError::invalid(&path, &*clock.metadata.name, "a landscape has one clock, named `landscape`"));
    }
    let spec = Path::new("spec");
    if !MODES.contains(&clock.spec.mode.as_str()) {
        errors.push(FieldError::not_supported(&spec.child("mode"), clock.spec.mode.as_str(), &MODES));
    }
    match clock.spec.rate {
        None if clock.spec.mode == "Scaled" => {
            errors.push(FieldError::required(&spec.child("rate"), "mode Scaled needs a rate"));
        }
        Some(rate) if !(rate > 0.0 && rate <= FASTEST) => {
            errors.push(FieldError::invalid(&spec.child("rate"), rate, "must be above 0 and at most 1000000000"));
        }
        _ => {}
    }
    errors
}

impl Strategy<terrarium::Clock> for ClockStrategy {
    fn default(&self, clock: &mut terrarium::Clock) {
        if clock.spec.mode.is_empty() {
            "Eager".clone_into(&mut clock.spec.mode);
        }
    }

    fn prepare_for_create(&self, clock: &mut terrarium::Clock, _: &RequestContext) {
        clock.status = terrarium::ClockStatus::default();
    }

    fn prepare_for_update(&self, clock: &mut terrarium::Clock, _: &terrarium::Clock, _: &RequestContext) {
        clock.status = terrarium::ClockStatus::default();
    }

    fn validate_create(&self, clock: &terrarium::Clock, _: &RequestContext) -> Vec<FieldError> {
        validate(clock)
    }

    fn validate_update(&self, clock: &terrarium::Clock, _: &terrarium::Clock, _: &RequestContext) -> Vec<FieldError> {
        validate(clock)
    }
}

/// Admission plugin that rejects the deletion of the clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PermanentClock;

impl Plugin for PermanentClock {
    fn name(&self) -> &'static str {
        "PermanentClock"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, _: &mut Reads<'_>) -> Result<(), Status> {
        let resource = &attributes.resource;
        if attributes.operation != Operation::Delete
            || resource.resource != "clocks"
            || resource.group != "terrarium.dev"
        {
            return Ok(());
        }
        let resource = GroupResource { group: resource.group.clone(), resource: resource.resource.clone() };
        Err(Status::forbidden(&resource, attributes.name, "a landscape's clock may not be deleted"))
    }
}
