// SPDX-License-Identifier: Apache-2.0
//! A change of a version, previewed before it is sent: the forecasts of maintenance with it and without it.

use std::collections::BTreeSet;

use api::cluster::GARDEN;
use api::constants::classification;
use api::core::{CloudProfile, LifecycleStage};
use chrono::{DateTime, TimeDelta, Utc};
use domain::versions::{place, set_stage};
use http::{Method, StatusCode};
use maud::{Markup, html};
use ops::instant::When;
use ops::inventory::Inventory;
use serde_json::{Map, Value, json};

use super::{changes, classifications, dates, link, only};
use crate::input::Fields;
use crate::message::{Message, Severity};
use crate::page::{Outcome, Page, Section};
use crate::pages::forecast;
use crate::pages::inventory::inventory;
use crate::parts::form::{self, Choice};
use crate::parts::time;
use crate::refusal::Refusal;
use crate::view::{View, object};

/// Length of time within which a date can be dragged; later ones are typed.
const DRAGGED: TimeDelta = TimeDelta::days(365);

/// Returns the form; `None`: the profile is not a CloudProfile.
pub(super) fn form(view: &View, inventory: &Inventory, name: &str) -> Option<Markup> {
    let profile = inventory.cloud_profiles.iter().find(|profile| profile.metadata.name == name)?;
    let kubernetes = profile.spec.kubernetes.versions.iter();
    let kubernetes = kubernetes.map(|entry| Choice::plain(format!("kubernetes/{}", entry.version)));
    let images = profile.spec.machine_images.iter().flat_map(|image| {
        image.versions.iter().map(move |entry| Choice::plain(format!("{}/{}", image.name, entry.version)))
    });
    let versions: Vec<Choice> = kubernetes.chain(images).collect();
    let now = view.now();
    let has_stages = profile.spec.kubernetes.versions.iter().any(|entry| !entry.lifecycle.is_empty())
        || profile.spec.machine_images.iter().any(|image| image.versions.iter().any(|it| !it.lifecycle.is_empty()));
    Some(html! {
        (dates::of_profile(&profile.spec, now, now + DRAGGED, "change-version"))
        form #change-version method="post" action="/dashboard/do/versions" {
            (form::hidden(view, "versions"))
            input type="hidden" name="profile" value=(name);
            div.fields {
                (form::select("version", "Version", "", &[("", versions)], "", &[]))
                (form::select("classification", "Classification", "same", &[("", classifications())], "", &[]))
                (form::text("expires", "Expiration date", "", "2027-01-31, 2027-01-31T10:00:00Z or 30d from now; “none” removes it; empty: as it is", &[]))
                @if has_stages {
                    (form::text("stages", "Starts of stages", "", "deprecated@2026-10-01, expired@90d; “none” as the time removes the stage; others stay", &[]))
                }
            }
            div.actions {
                button.main type="submit" name="step" value="look" { "Show what this does" }
                button type="submit" name="step" value="remove" { "Show what removing it does" }
            }
        }
        form method="post" action="/dashboard/do/versions" {
            (form::hidden(view, "versions"))
            input type="hidden" name="profile" value=(name);
            div.fields { (form::text("added", "New version of Kubernetes", "", "as 1.31.2; it is added as preview", &[])) }
            button type="submit" name="step" value="add" { "Show what adding it does" }
        }
    })
}

/// Requested change.
#[derive(Debug)]
struct RequestedChange<'a> {
    subject: &'a str,
    version: &'a str,
    step: &'a str,
    classification: &'a str,
    expires: Option<Value>,
    /// Stages that begin at another time; `None` as the time: they are removed.
    stages: Vec<(&'a str, Option<DateTime<Utc>>)>,
}

impl<'a> RequestedChange<'a> {
    fn read(view: &View, form: &'a Fields) -> Result<Self, String> {
        let step = form.text("of").split_once('.').map_or_else(|| form.text("step"), |(step, _)| step);
        let (subject, version) = match step {
            "add" => ("kubernetes", form.text("added")),
            _ => form.text("version").rsplit_once('/').ok_or("choose a version")?,
        };
        if version.is_empty() {
            return Err("name a version".to_owned());
        }
        let expires = match form.text("expires") {
            "" => None,
            "none" => Some(Value::Null),
            text => {
                let when: When = text.parse()?;
                Some(json!(ops::show(when.behind(view.now()))))
            }
        };
        let stages = form.text("stages").split(',').map(str::trim).filter(|text| !text.is_empty());
        let stages = stages.map(|text| stage(text, view.now())).collect::<Result<_, _>>()?;
        Ok(Self { subject, version, step, classification: form.text("classification"), expires, stages })
    }

    /// Applies the change to the profile's tree.
    fn apply(&self, profile: &mut Value) -> Result<(), String> {
        let versions = match self.subject {
            "kubernetes" => &mut profile["spec"]["kubernetes"]["versions"],
            image => {
                let images = profile["spec"]["machineImages"].as_array_mut();
                let image = images.and_then(|all| all.iter_mut().find(|it| it["name"] == *image));
                &mut image.ok_or("there is no such machine image")?["versions"]
            }
        };
        let versions = versions.as_array_mut().ok_or("the profile has no versions")?;
        let place = versions.iter().position(|entry| entry["version"] == *self.version);
        match (self.step, place) {
            ("add", None) => versions.push(json!({ "version": self.version, "classification": "preview" })),
            ("add", Some(_)) => return Err(format!("{} is there already", self.version)),
            (_, None) => return Err(format!("there is no version {}", self.version)),
            ("remove", Some(place)) => {
                versions.remove(place);
            }
            (_, Some(place)) => {
                let entry = versions[place].as_object_mut().ok_or("the version is not an object")?;
                self.apply_stages(entry)?;
                match self.classification {
                    "none" => {
                        entry.remove("classification");
                    }
                    "" | "same" => {}
                    other => {
                        entry.insert("classification".to_owned(), json!(other));
                    }
                }
                match &self.expires {
                    None => {}
                    Some(Value::Null) => {
                        entry.remove("expirationDate");
                    }
                    Some(date) => {
                        entry.insert("expirationDate".to_owned(), date.clone());
                    }
                }
            }
        }
        Ok(())
    }

    /// Moves, adds and removes stages of a version.
    fn apply_stages(&self, entry: &mut Map<String, Value>) -> Result<(), String> {
        let unreadable = |error: serde_json::Error| error.to_string();
        let own = entry.get("lifecycle").cloned().unwrap_or_else(|| json!([]));
        let mut stages: Vec<LifecycleStage> = serde_json::from_value(own).map_err(unreadable)?;
        let has_both = !matches!(self.classification, "" | "same") || self.expires.is_some();
        match (stages.is_empty(), self.stages.is_empty()) {
            (true, false) => return Err(format!("{} has no stages: use classification and date", self.version)),
            (false, _) if has_both => return Err(format!("{} has stages: move their starts", self.version)),
            _ => {}
        }
        for (class, start) in &self.stages {
            match start {
                Some(start) => set_stage(&mut stages, class, *start),
                None => stages.retain(|stage| stage.classification != *class),
            }
        }
        if !self.stages.is_empty() {
            entry.insert("lifecycle".to_owned(), serde_json::to_value(stages).map_err(unreadable)?);
        }
        Ok(())
    }

    /// Returns the command that forecasts the same, if there is one.
    fn command(&self) -> String {
        let (subject, version) = (self.subject, self.version);
        let mut command = "terrarium forecast --until 90d".to_owned();
        if let Some(date) = self.expires.as_ref().and_then(Value::as_str) {
            command.extend([" --expire ", subject, "/", version, "=", date]);
        }
        if !matches!(self.classification, "" | "same" | "none") {
            command.extend([" --classify ", subject, "/", version, "=", self.classification]);
        }
        for (class, start) in &self.stages {
            let Some(start) = start else { continue };
            let start = ops::show(*start);
            if *class == classification::EXPIRED {
                command.extend([" --expire ", subject, "/", version, "=", &start]);
            } else {
                command.extend([" --classify ", subject, "/", version, "=", class, "@", &start]);
            }
        }
        command
    }

    fn sentence(&self) -> String {
        let what = format!("{} {}", self.subject, self.version);
        match self.step {
            "add" => format!("Add {what} as preview"),
            "remove" => format!("Remove {what}"),
            _ => {
                let class = match self.classification {
                    "" | "same" => None,
                    other => Some(format!("classification {other}")),
                };
                let expires = self.expires.as_ref().map(|date| match date.as_str() {
                    Some(date) => format!("expires {date}"),
                    None => "no expiration date".to_owned(),
                });
                let stages = self.stages.iter().map(|(class, start)| match start {
                    Some(start) => format!("{class} from {}", ops::show(*start)),
                    None => format!("never {class}"),
                });
                let parts: Vec<String> = class.into_iter().chain(expires).chain(stages).collect();
                format!("{what}: {}", if parts.is_empty() { "as it is".to_owned() } else { parts.join(", ") })
            }
        }
    }
}

/// Reads `deprecated@2026-10-01` or `expired@none`.
fn stage(text: &str, now: DateTime<Utc>) -> Result<(&str, Option<DateTime<Utc>>), String> {
    let (class, start) = text
        .split_once('@')
        .ok_or_else(|| format!("`{text}` is not a stage with a start: use deprecated@2026-10-01"))?;
    if place(class).is_none() {
        return Err(format!("`{class}` is not a stage: use preview, supported, deprecated or expired"));
    }
    match start {
        "none" => Ok((class, None)),
        start => Ok((class, Some(start.parse::<When>()?.behind(now)))),
    }
}

/// Previews a change, or applies it.
pub(crate) async fn act(view: &View, form: &Fields) -> Result<Outcome, Refusal> {
    let name = form.text("profile");
    let path = object::<CloudProfile>(GARDEN, "", name);
    let answer = view.send(Method::GET, &path, None).await?;
    let unreadable = |error: serde_json::Error| {
        Refusal::new(StatusCode::BAD_GATEWAY, "The answer of the API cannot be read", error.to_string())
    };
    let mut tree: Value = serde_json::from_slice(&answer).map_err(unreadable)?;
    let said = |text: String| Ok(Outcome::To(link(view, name), vec![Message::new(Severity::Error, text)]));
    let asked = match RequestedChange::read(view, form) {
        Ok(asked) => asked,
        Err(text) => return said(text),
    };
    if let Err(text) = asked.apply(&mut tree) {
        return said(text);
    }
    let patch = json!({
        "metadata": { "resourceVersion": tree["metadata"]["resourceVersion"] },
        "spec": { "kubernetes": { "versions": tree["spec"]["kubernetes"]["versions"] }, "machineImages": tree["spec"]["machineImages"] },
    });
    if form.text("step") == "apply" {
        let message = match view.patch(&path, &patch).await {
            Ok(_) => Message::new(Severity::Done, asked.sentence()),
            Err(error) => Message::of_error(&asked.sentence(), &error),
        };
        return Ok(Outcome::To(link(view, name), vec![message]));
    }
    // The API decides whether it accepts the change.
    let refused = view.patch(&format!("{path}?dryRun=All"), &patch).await.err();
    let before = only(&inventory(view).await?, name);
    let mut after = before.clone();
    for profile in after.cloud_profiles.iter_mut().filter(|profile| profile.metadata.name == name) {
        let changed = <CloudProfile as apimachinery::Resource>::read(tree.to_string().as_bytes());
        *profile = changed.map_err(unreadable)?;
    }
    let body = html! {
        p { strong { (asked.sentence()) } }
        @if let Some(error) = &refused { (Message::of_error("the API would refuse this", error).markup()) }
        (difference(view, &before, &after))
        form method="post" action="/dashboard/do/versions" {
            (form::hidden(view, "versions"))
            @for (name, value) in form.iter().filter(|(name, _)| !matches!(*name, "token" | "back" | "step" | "of")) {
                input type="hidden" name=(name) value=(value);
            }
            input type="hidden" name="of" value={(asked.step) "."};
            div.actions {
                button.main type="submit" name="step" value="apply" { "Apply" }
                a.button href=(link(view, name)) { "Do not" }
            }
        }
    };
    let page = Page::new(Section::Versions, format!("A change of {name}"))
        .region("difference", "What it does", body)
        .command(asked.command());
    Ok(Outcome::Page(Box::new(page)))
}

/// Returns the changes by maintenance that happen only with the change, and those that happen only without it.
fn difference(view: &View, before: &Inventory, after: &Inventory) -> Markup {
    let (before, after) = (super::forecast(view, before), super::forecast(view, after));
    let key = |row: &ops::forecast::rows::Row| {
        let change = &row.change;
        (
            row.shoot.clone(),
            change.pool.clone(),
            change.subject,
            change.from.clone(),
            change.to.clone(),
            change.time,
            change.is_forced,
        )
    };
    let (old, new): (BTreeSet<_>, BTreeSet<_>) =
        (before.rows.iter().map(key).collect(), after.rows.iter().map(key).collect());
    let added: Vec<ops::forecast::rows::Row> =
        after.rows.iter().filter(|row| !old.contains(&key(row))).cloned().collect();
    let gone: Vec<ops::forecast::rows::Row> =
        before.rows.iter().filter(|row| !new.contains(&key(row))).cloned().collect();
    html! {
        p { "Within 90 days, up to " (time::instant(view.now() + super::AHEAD)) ":" }
        (forecast::difference(&before, &after))
        @if added.is_empty() && gone.is_empty() { p { "Maintenance does the same with it and without it." } }
        @if !added.is_empty() { h3 { "Only with the change" } (changes(view, &added)) }
        @if !gone.is_empty() { h3 { "Only without the change" } (changes(view, &gone)) }
    }
}
