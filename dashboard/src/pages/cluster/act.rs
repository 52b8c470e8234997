// SPDX-License-Identifier: Apache-2.0
//! What can be asked of a cluster: each is requests to the API, whose answers are shown.

use api::cluster::GARDEN;
use api::constants::{annotation, label, operation};
use api::core::Shoot;
use api::kubernetes::core::Node;
use apimachinery::Resource;
use bytes::Bytes;
use controller::Error;
use http::{Method, StatusCode};
use maud::html;
use serde_json::{Value, json};

use crate::actions::Outcome;
use crate::frame::{Page, Section};
use crate::input::Fields;
use crate::parts::message::{Message, Severity};
use crate::parts::{form, table};
use crate::refusal::Refusal;
use crate::view::{View, object};

/// Does what a form asks for.
pub(crate) async fn act(view: &View, form: &Fields) -> Result<Outcome, Refusal> {
    let (namespace, name, step) = (form.text("namespace"), form.text("name"), form.text("step"));
    let path = object::<Shoot>(GARDEN, namespace, name);
    let annotated = |value: &str| json!({ "metadata": { "annotations": { annotation::OPERATION: value } } });
    let hibernated = |is_on: bool| json!({ "spec": { "hibernation": { "enabled": is_on } } });
    let answer = match step {
        "reconcile" | "retry" | "maintain" | operation::FORCE_IN_PLACE_UPDATE => {
            view.patch(&path, &annotated(step)).await
        }
        "select-node" => select_node(view, form, &path).await?,
        "hibernate" => view.patch(&path, &hibernated(true)).await,
        "wake" => view.patch(&path, &hibernated(false)).await,
        "delete" if form.text("confirmed") != name => {
            let message = Message::new(Severity::Error, format!("nothing was deleted: write {name} to delete it"));
            return Ok(Outcome::Back(vec![message]));
        }
        "delete" => delete(view, &path).await,
        "version" | "look" if form.text("version").is_empty() => {
            return Ok(Outcome::Back(vec![Message::new(Severity::Info, "choose a version")]));
        }
        "version" => view.patch(&path, &json!({ "spec": { "kubernetes": { "version": form.text("version") } } })).await,
        "look" => return look(view, form, &path).await,
        "upkeep" => view.patch(&path, &upkeep(form)).await,
        "check" | "replace" => {
            let path = format!("{path}?fieldValidation=Strict{}", if step == "check" { "&dryRun=All" } else { "" });
            let body = form.get("manifest").unwrap_or_default().as_bytes().to_vec();
            let answer = view.send(Method::PUT, &path, Some(("application/yaml", body))).await;
            // What was typed is not lost: the form comes back as it was.
            return Ok(Outcome::Page(Box::new(edited(view, form, step, answer.err()))));
        }
        _ => {
            let sentence = "A cluster cannot be asked for this.";
            return Err(Refusal::new(StatusCode::BAD_REQUEST, "No such operation", sentence));
        }
    };
    let what = format!("{step} {namespace}/{name}");
    Ok(Outcome::Back(vec![match answer {
        Ok(_) => Message::new(Severity::Done, format!("{what}: the API took it")),
        Err(error) => Message::of_error(&what, &error),
    }]))
}

/// Selects a node for its update in place: the label that a user sets in the Shoot's cluster.
async fn select_node(view: &View, form: &Fields, path: &str) -> Result<Result<Bytes, Error>, Refusal> {
    let unreadable = |error: serde_json::Error| {
        Refusal::new(StatusCode::BAD_GATEWAY, "The answer of the API cannot be read", error.to_string())
    };
    let shoot = Shoot::read(&view.send(Method::GET, path, None).await?).map_err(unreadable)?;
    let node = object::<Node>(&shoot.status.technical_id, "", form.text("node"));
    Ok(view.patch(&node, &json!({ "metadata": { "labels": { label::SELECTED_FOR_UPDATE: "true" } } })).await)
}

/// Annotates, then deletes: the API asks for the confirmation.
async fn delete(view: &View, path: &str) -> Result<Bytes, Error> {
    let confirmation = json!({ "metadata": { "annotations": { annotation::CONFIRMATION_DELETION: "true" } } });
    view.patch(path, &confirmation).await?;
    view.send(Method::DELETE, path, None).await
}

fn upkeep(form: &Fields) -> Value {
    let is_on = |name: &str| form.text(name) == "true";
    json!({ "spec": { "maintenance": {
        "timeWindow": { "begin": form.text("begin"), "end": form.text("end") },
        "autoUpdate": { "kubernetesVersion": is_on("auto-kubernetes"), "machineImageVersion": is_on("auto-image") },
        "confineSpecUpdateRollout": is_on("confine"),
    } } })
}

fn edited(view: &View, form: &Fields, step: &str, refused: Option<Error>) -> Page {
    let message = match &refused {
        None if step == "check" => Message::new(Severity::Done, "the API would take this"),
        None => Message::new(Severity::Done, "the API took this"),
        Some(error) => Message::of_error("the API refused this", error),
    };
    let name = form.text("name");
    let body = html! {
        (message.markup())
        form method="post" action="/dashboard/do/cluster" {
            (form::hidden(view, "cluster"))
            input type="hidden" name="namespace" value=(form.text("namespace"));
            input type="hidden" name="name" value=(name);
            label for="manifest" { "Manifest" }
            textarea #manifest name="manifest" rows="24" spellcheck="false" autocomplete="off" { (form.get("manifest").unwrap_or_default()) }
            div.actions {
                button type="submit" name="step" value="check" { "Check" }
                button.main type="submit" name="step" value="replace" { "Replace" }
                a.button href=(view.here()) { "Back to the cluster" }
            }
        }
    };
    let mut page = Page::new(Section::Clusters, format!("Manifest of {name}")).region("manifest-form", "", body);
    if let Some(code) =
        refused.as_ref().and_then(Error::status).and_then(|status| StatusCode::from_u16(status.code).ok())
    {
        page.code = code;
    }
    page
}

/// What another version does to nodes, before it is sent: the API's own result of a dry run against what is stored.
async fn look(view: &View, form: &Fields, path: &str) -> Result<Outcome, Refusal> {
    let version = form.text("version");
    let patch = json!({ "spec": { "kubernetes": { "version": version } } });
    let unreadable = |error: serde_json::Error| {
        Refusal::new(StatusCode::BAD_GATEWAY, "The answer of the API cannot be read", error.to_string())
    };
    let before = Shoot::read(&view.send(Method::GET, path, None).await?).map_err(unreadable)?;
    let after = match view.patch(&format!("{path}?dryRun=All"), &patch).await {
        Ok(answer) => Shoot::read(&answer).map_err(unreadable)?,
        Err(error) => return Ok(Outcome::Back(vec![Message::of_error(&format!("update to {version}"), &error)])),
    };
    let effects = domain::worker_pool::effects(&before, &after, &ops::forecast::hash_version().into());
    let rows: Vec<_> = effects
        .iter()
        .map(|(pool, it)| vec![html! { (pool) }, html! { (it.effect.as_str()) }, html! { (it.triggers.join(", ")) }])
        .collect();
    let body = html! {
        p { "From " (before.spec.kubernetes.version) " to " (version) ": nothing is changed yet." }
        (table::plain("What happens to nodes", &["Pool", "Effect", "Because of"], &rows))
        form method="post" action="/dashboard/do/cluster" {
            (form::hidden(view, "cluster"))
            @for (name, value) in form.iter().filter(|(name, _)| !matches!(*name, "token" | "back" | "step")) { input type="hidden" name=(name) value=(value); }
            div.actions { button.main type="submit" name="step" value="version" { "Update" } a.button href=(view.here()) { "Do not" } }
        }
    };
    let title = format!("Update {} to {version}", before.metadata.name);
    Ok(Outcome::Page(Box::new(Page::new(Section::Clusters, title).region("effects", "", body))))
}
