// SPDX-License-Identifier: Apache-2.0
//! Operations on a cluster: each sends requests to the API, and their answers are shown.

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

use super::manifest;
use crate::input::Fields;
use crate::message::{Message, Severity};
use crate::page::{Outcome, Page, Section};
use crate::parts::{form, table};
use crate::refusal::Refusal;
use crate::view::{View, object};

/// Performs the operation of a form.
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
        "version" | "look" | "image" | "look-image" => return change(view, form, &path).await,
        "operation" => {
            let value = Some(form.text("operation")).filter(|value| !value.is_empty());
            view.patch(&path, &json!({ "metadata": { "annotations": { annotation::MAINTENANCE_OPERATION: value } } }))
                .await
        }
        "upkeep" => view.patch(&path, &upkeep(form)).await,
        "check" | "replace" => return manifest::act(view, form, step, &path).await,
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

/// Selects a node for its update in place: sets the label that a user sets in the Shoot's cluster.
async fn select_node(view: &View, form: &Fields, path: &str) -> Result<Result<Bytes, Error>, Refusal> {
    let unreadable = |error: serde_json::Error| {
        Refusal::new(StatusCode::BAD_GATEWAY, "The answer of the API cannot be read", error.to_string())
    };
    let shoot = Shoot::read(&view.send(Method::GET, path, None).await?).map_err(unreadable)?;
    let node = object::<Node>(&shoot.status.technical_id, "", form.text("node"));
    Ok(view.patch(&node, &json!({ "metadata": { "labels": { label::SELECTED_FOR_UPDATE: "true" } } })).await)
}

/// Annotates, then deletes: the API requires the confirmation.
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

/// A change of one version of a cluster.
struct Change {
    /// New version, `Kubernetes 1.27.1`.
    to: String,
    content_type: &'static str,
    body: Value,
}

impl Change {
    /// Reads the change that a form requests; the Shoot's current specification determines the index of its pool.
    fn read(form: &Fields, shoot: &Shoot) -> Result<Self, String> {
        if form.text("pool").is_empty() {
            let version = form.text("version");
            let body = json!({ "spec": { "kubernetes": { "version": version } } });
            return Ok(Self {
                to: format!("Kubernetes {version}"),
                content_type: "application/merge-patch+json",
                body,
            });
        }
        let (name, version) = form.text("image").rsplit_once('/').ok_or("choose an image")?;
        let pool = form.text("pool");
        let workers = &shoot.spec.provider.workers;
        let index =
            workers.iter().position(|worker| worker.name == pool).ok_or_else(|| format!("it has no pool {pool}"))?;
        let path = format!("/spec/provider/workers/{index}");
        let mut image = json!({ "name": name, "version": version });
        // The provider configuration of an image is valid for this image only.
        let known = workers[index].machine.image.as_ref().filter(|known| known.name == name);
        if let Some(config) = known.and_then(|known| known.provider_config.as_ref()) {
            image["providerConfig"] = serde_json::to_value(config).unwrap_or_default();
        }
        let body = json!([
            // The order of pools may have changed meanwhile.
            { "op": "test", "path": format!("{path}/name"), "value": pool },
            { "op": "add", "path": format!("{path}/machine/image"), "value": image },
        ]);
        Ok(Self { to: format!("{name} {version} in pool {pool}"), content_type: "application/json-patch+json", body })
    }

    async fn send(&self, view: &View, path: &str) -> Result<Bytes, Error> {
        view.send(Method::PATCH, path, Some((self.content_type, self.body.to_string().into_bytes()))).await
    }
}

/// Shows the effect of another version on nodes by the API's own dry run against the stored object, or sends the change.
async fn change(view: &View, form: &Fields, path: &str) -> Result<Outcome, Refusal> {
    let unreadable = |error: serde_json::Error| {
        Refusal::new(StatusCode::BAD_GATEWAY, "The answer of the API cannot be read", error.to_string())
    };
    let before = Shoot::read(&view.send(Method::GET, path, None).await?).map_err(unreadable)?;
    let change = match Change::read(form, &before) {
        Ok(change) => change,
        Err(text) => return Ok(Outcome::Back(vec![Message::new(Severity::Info, text)])),
    };
    let (step, what) = (form.text("step"), format!("update to {}", change.to));
    if matches!(step, "version" | "image") {
        return Ok(Outcome::Back(vec![match change.send(view, path).await {
            Ok(_) => Message::new(Severity::Done, format!("{what}: the API took it")),
            Err(error) => Message::of_error(&what, &error),
        }]));
    }
    let after = match change.send(view, &format!("{path}?dryRun=All")).await {
        Ok(answer) => Shoot::read(&answer).map_err(unreadable)?,
        Err(error) => return Ok(Outcome::Back(vec![Message::of_error(&what, &error)])),
    };
    let effects = domain::worker_pool::effects(&before, &after, &ops::gates::pool_forms(view.release()));
    let rows: Vec<_> = effects
        .iter()
        .map(|(pool, it)| vec![html! { (pool) }, html! { (it.effect.as_str()) }, html! { (it.triggers.join(", ")) }])
        .collect();
    let body = html! {
        p { "To " (change.to) ": nothing is changed yet." }
        @if rows.is_empty() { p { "It has no worker pools." } }
        @else { (table::plain("What happens to nodes", &["Pool", "Effect", "Because of"], &rows)) }
        form method="post" action="/dashboard/do/cluster" {
            (form::hidden(view, "cluster"))
            @for (name, value) in form.iter().filter(|(name, _)| !matches!(*name, "token" | "back" | "step")) { input type="hidden" name=(name) value=(value); }
            div.actions {
                button.main type="submit" name="step" value=(if step == "look-image" { "image" } else { "version" }) { "Update" }
                a.button href=(view.here()) { "Do not" }
            }
        }
    };
    let title = format!("Update {} to {}", before.metadata.name, change.to);
    let shown = view.path.strip_prefix("clusters/").unwrap_or_default();
    let command = format!("terrarium rollout --shoot {shown} -f shoot.yaml");
    Ok(Outcome::Page(Box::new(Page::new(Section::Clusters, title).region("effects", "", body).command(command))))
}
