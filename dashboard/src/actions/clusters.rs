// SPDX-License-Identifier: Apache-2.0
//! Operations on several Shoots at once: one request each.

use api::cluster::GARDEN;
use api::constants::annotation;
use api::core::Shoot;
use http::StatusCode;
use serde_json::json;

use crate::input::Fields;
use crate::message::{Message, Severity};
use crate::page::Outcome;
use crate::pages::clusters::OPERATIONS;
use crate::refusal::Refusal;
use crate::view::{View, object};

/// Annotates each selected Shoot with an operation.
pub(super) async fn annotate(view: &View, form: &Fields) -> Result<Outcome, Refusal> {
    let operation = form.text("operation");
    if !OPERATIONS.contains(&operation) {
        let sentence = format!("Shoots can be asked to {}.", OPERATIONS.join(", "));
        return Err(Refusal::new(StatusCode::BAD_REQUEST, "No such operation", sentence));
    }
    let mut messages = Vec::new();
    for selected in form.all("shoot") {
        let Some((namespace, name)) = selected.split_once('/') else { continue };
        let patch = json!({ "metadata": { "annotations": { annotation::OPERATION: operation } } });
        let answer = view.patch(&object::<Shoot>(GARDEN, namespace, name), &patch).await;
        let what = format!("{operation} {selected}");
        messages.push(match answer {
            Ok(_) => Message::new(Severity::Done, format!("{what}: annotated")),
            Err(error) => Message::of_error(&what, &error),
        });
    }
    if messages.is_empty() {
        messages.push(Message::new(Severity::Info, "no cluster was selected"));
    }
    Ok(Outcome::Back(messages))
}
