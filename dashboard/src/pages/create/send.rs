// SPDX-License-Identifier: Apache-2.0
//! Checks a manifest with a dry run, or creates its Shoot.

use api::cluster::GARDEN;
use api::core::{CloudProfileSpec, Shoot};
use apimachinery::{Resource, Status};
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use controller::Error;
use domain::cloud_profile::kubernetes_version;
use http::Method;
use ops::inventory::Inventory;
use ops::names::ProfileKey;
use serde_json::Value;

use super::{Form, manifest, page};
use crate::input::Fields;
use crate::message::{Message, Severity};
use crate::page::Outcome;
use crate::pages::inventory::{Projects, profiles};
use crate::pages::maintenance;
use crate::parts::time;
use crate::refusal::Refusal;
use crate::view::{View, collection};

/// Length of time after an expiration in which a forced update is searched.
const FORCED: TimeDelta = TimeDelta::days(3);

/// Performs the action of the form.
pub(crate) async fn act(view: &View, fields: &Fields) -> Result<Outcome, Refusal> {
    let step = fields.text("step");
    if matches!(step, "refresh" | "pool") {
        let pools = fields.text("pools").parse().unwrap_or(1_usize).saturating_add(usize::from(step == "pool"));
        let pools = pools.to_string();
        let kept = fields.iter().filter(|(name, _)| !matches!(*name, "pools" | "token" | "back"));
        let kept = kept.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let fields = Fields::of(kept.chain([("pools".to_owned(), pools)]));
        return Ok(Outcome::Page(Box::new(page(view, &fields, None, None, &[]).await?)));
    }
    let inventory = profiles(view).await?;
    let edited = step.ends_with("-manifest").then(|| fields.text("manifest").to_owned());
    let text = match &edited {
        Some(text) => text.clone(),
        None => {
            let projects = Projects::read(view).await;
            manifest::of(&Form::read(view, &inventory, &projects, fields).await)
        }
    };
    let says = async |refused: Option<&Status>, messages: &[Message]| {
        page(view, fields, edited.as_deref(), refused, messages).await.map(|page| Outcome::Page(Box::new(page)))
    };
    let tree: Value = match yaml::from_str(&text) {
        Ok(tree) => tree,
        Err(error) => {
            let message = Message::new(Severity::Error, format!("the manifest is no YAML: {error}"));
            return says(None, &[message]).await;
        }
    };
    let creates = step.starts_with("create");
    let namespace = tree["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
    if namespace.is_empty() {
        let message = Message::new(Severity::Error, "metadata.namespace names no project's namespace");
        return says(None, &[message]).await;
    }
    match send(view, &namespace, text, creates).await {
        Ok(answer) if creates => {
            let tree: Value = serde_json::from_slice(&answer).unwrap_or_default();
            let name = tree["metadata"]["name"].as_str().unwrap_or_default();
            let projects = Projects::read(view).await;
            let message = Message::new(Severity::Done, format!("Shoot {namespace}/{name} is created"));
            Ok(Outcome::To(view.to_cluster(projects.of(&namespace), name), vec![message]))
        }
        Ok(answer) => says(None, &checked(view, &inventory, &answer)).await,
        Err(Error::Api(status)) => says(Some(&status), &[]).await,
        Err(error) => Err(error.into()),
    }
}

/// Sends the text unchanged: the API reads YAML.
async fn send(view: &View, namespace: &str, text: String, creates: bool) -> Result<Bytes, Error> {
    let mut path = collection::<Shoot>(GARDEN, Some(namespace));
    path.push_str("?fieldValidation=Strict");
    if !creates {
        path.push_str("&dryRun=All");
    }
    view.send(Method::POST, &path, Some(("application/yaml", text.into_bytes()))).await
}

/// Returns messages about a Shoot that the API would accept.
fn checked(view: &View, inventory: &Inventory, answer: &[u8]) -> Vec<Message> {
    let mut messages = vec![Message::new(Severity::Done, "the API would create this")];
    let Ok(shoot) = Shoot::read(answer) else { return messages };
    let offers = inventory.offers();
    let Some(offered) = offers.get(&ProfileKey::of(&shoot)) else { return messages };
    let version = &shoot.spec.kubernetes.version;
    messages[0].lines.push(format!("Kubernetes {version}"));
    if let Some(window) = shoot.spec.maintenance.as_ref().and_then(|maintenance| maintenance.time_window.as_ref()) {
        messages[0].lines.push(format!("maintenance window {}-{}", window.begin, window.end));
    }
    let Some(date) = kubernetes_version(offered, version).and_then(|entry| view.moment().expiration(entry)) else {
        return messages;
    };
    messages.push(expires(view, &shoot, offered, version, date));
    messages
}

/// Returns the effect of the expiration of a Shoot's version, for the Shoot's window.
pub(super) fn expires(
    view: &View,
    shoot: &Shoot,
    offered: &CloudProfileSpec,
    version: &str,
    date: DateTime<Utc>,
) -> Message {
    let (now, on) = (view.now(), time::text(date));
    let changes = maintenance::changes(view, shoot, offered, date.max(now) + FORCED);
    let forced = changes.iter().find(|change| change.is_forced && change.pool.is_none());
    let then = match forced {
        Some(change) => match (&change.to, &change.failure) {
            (Some(to), None) => format!("; forced to {to} at {} for this window", time::text(change.time)),
            (_, failure) => format!("; the update then fails: {}", failure.clone().unwrap_or_default()),
        },
        None => String::new(),
    };
    let days = time::days_until(date, now);
    Message::new(Severity::Warning, format!("{version} expires in {days} days, on {on}{then}"))
}
