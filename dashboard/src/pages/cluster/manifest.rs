// SPDX-License-Identifier: Apache-2.0
//! The manifest of a cluster: shown at any moment; at the present a user can edit it, and sees the result of a dry run before it
//! is sent.

use api::cluster::GARDEN;
use api::core::Shoot;
use controller::Error;
use http::{Method, StatusCode};
use maud::{Markup, html};
use ops::history::changes;
use serde_json::Value;

use crate::input::Fields;
use crate::message::{Message, Severity};
use crate::page::{Outcome, Page, Section};
use crate::pages::time::difference;
use crate::parts::form;
use crate::refusal::Refusal;
use crate::view::{View, object};

pub(super) async fn draw(view: &View, shoot: &Shoot) -> Markup {
    let path = object::<Shoot>(GARDEN, &shoot.metadata.namespace, &shoot.metadata.name);
    let mut tree = match ops::read::tree(&view.reading_context().transport, &path, "application/json").await {
        Ok(tree) => tree,
        Err(error) => return Message::new(Severity::Error, error.to_string()).markup(),
    };
    if let Some(metadata) = tree["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    if view.at.is_some() {
        let text = yaml::to_string(&tree).unwrap_or_default();
        return html! { details { summary { "Show the manifest" } pre.manifest tabindex="0" { (text) } } };
    }
    if let Some(tree) = tree.as_object_mut() {
        tree.remove("status");
    }
    let text = yaml::to_string(&tree).unwrap_or_default();
    html! {
        details { summary { "Edit the manifest" }
            form method="post" action="/dashboard/do/cluster" {
                (super::about(view, shoot))
                (field(&text))
                div.actions { button type="submit" name="step" value="check" { "Show what this changes" } }
            }
        }
    }
}

fn field(text: &str) -> Markup {
    html! {
        label for="manifest" { "Manifest" }
        textarea #manifest name="manifest" rows="24" spellcheck="false" autocomplete="off" { (text) }
    }
}

/// Performs a dry run of an edited manifest, or replaces the Shoot.
pub(super) async fn act(view: &View, form: &Fields, step: &str, path: &str) -> Result<Outcome, Refusal> {
    let before = view.send(Method::GET, path, None).await?;
    let url = format!("{path}?fieldValidation=Strict{}", if step == "check" { "&dryRun=All" } else { "" });
    let body = form.get("manifest").unwrap_or_default().as_bytes().to_vec();
    let answer = view.send(Method::PUT, &url, Some(("application/yaml", body))).await;
    let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap_or_default();
    let answer = answer.map(|after| {
        let mut changes = changes::between(&read(&before), &read(&after));
        let is_written = |path: &str| {
            let path = path.trim_start_matches('.');
            !path.contains("managedFields") && path != "metadata.resourceVersion" && path != "metadata.generation"
        };
        changes.retain(|change| is_written(&change.path));
        changes
    });
    // The edited text is kept: the form is shown again with it.
    let (message, refused) = match &answer {
        Ok(_) if step == "check" => (Message::new(Severity::Done, "the API would take this"), None),
        Ok(_) => (Message::new(Severity::Done, "the API took this"), None),
        Err(error) => (Message::of_error("the API refused this", error), Some(error)),
    };
    let name = form.text("name");
    let body = html! {
        (message.markup())
        @if let Ok(changes) = &answer {
            @if changes.is_empty() { p { "Nothing differs from what is there." } }
            @else { h2 { @if step == "check" { "What this would change" } @else { "What this changed" } } (difference(changes)) }
        }
        form method="post" action="/dashboard/do/cluster" {
            (form::hidden(view, "cluster"))
            input type="hidden" name="namespace" value=(form.text("namespace"));
            input type="hidden" name="name" value=(name);
            (field(form.get("manifest").unwrap_or_default()))
            div.actions {
                button type="submit" name="step" value="check" { "Show what this changes" }
                @if answer.is_ok() && step == "check" { button.main type="submit" name="step" value="replace" { "Replace" } }
                a.button href=(view.here()) { "Back to the cluster" }
            }
        }
    };
    let mut page = Page::new(Section::Clusters, format!("Manifest of {name}")).region("manifest-form", "", body);
    let code = refused.and_then(Error::status).and_then(|status| StatusCode::from_u16(status.code).ok());
    if let Some(code) = code {
        page.code = code;
    }
    let command = format!("terrarium kubectl replace --dry-run=server -n {} -f shoot.yaml", form.text("namespace"));
    Ok(Outcome::Page(Box::new(page.command(command))))
}
