// SPDX-License-Identifier: Apache-2.0
//! The versions of a CloudProfile: their life as a picture, the table of `terrarium versions`, and what happens to their users.
//!
//! **Tour.** [`history`] what was offered, from the log; [`picture`] the picture; [`change`] what a change would do;
//! [`dates`] dates that are dragged.

pub(crate) mod change;
pub(super) mod dates;
pub(crate) mod history;
mod picture;

use std::collections::BTreeMap;

use api::core::Shoot;
use chrono::TimeDelta;
use domain::versions::State;
use maud::{Markup, html};
use ops::forecast::Forecast;
use ops::past::resource;
use ops::versions::{Offered, Row, offered};
use ops::world::{ProfileKey, World};

use self::picture::{Users, used};
use super::maintenance;
use super::world::world;
use crate::frame::{Page, Section};
use crate::input::encoded;
use crate::parts::message::{Message, Severity};
use crate::parts::{badge, form, table, time};
use crate::refusal::Refusal;
use crate::view::View;

/// How far ahead is looked for what happens to users.
const AHEAD: TimeDelta = TimeDelta::days(90);

/// Draws the page of a profile, `NAME` or `NAMESPACE/NAME`; without one, of the first.
///
/// # Errors
/// There is no such profile; what the API answers.
pub async fn draw(view: &View, name: Option<&str>) -> Result<Page, Refusal> {
    let world = world(view).await?;
    let names: Vec<String> = world.offers().keys().map(ProfileKey::shown).collect();
    let Some(name) = name.map(str::to_owned).or_else(|| names.first().cloned()) else {
        let body = html! { p { strong { "No CloudProfile." } } p { "Create one with " code { "kubectl apply" } "." } };
        return Ok(Page::new(Section::Versions, "Versions").region("none", "", body).follows(&FOLLOWS));
    };
    let Some(offered) = offered(&world, Some(&name), view.now(), view.rules()) else {
        let links = names.iter().map(|name| (link(view, name), name.clone())).collect::<Vec<_>>();
        return Err(Refusal::no_object(&format!("CloudProfile {name}"), &links));
    };
    let (pictures, users) = (pictures(view, &name, &offered).await?, users(view, &world, &name));
    let page = Page::new(Section::Versions, format!("Versions of {name}"))
        .region("profiles", "", profiles(view, &names, &name))
        .region("pictures", "Life of the versions", pictures)
        .region("table", "Versions", rows(&offered, view))
        .region("warnings", "Warnings", warnings(&offered))
        .region("users", "What happens to their users", users);
    let page = match change::form(view, &world, &name) {
        Some(form) if view.at.is_none() => page.region("change", "Change a version", form),
        _ => page,
    };
    Ok(page.command(format!("terrarium versions {name}")).follows(&FOLLOWS))
}

const FOLLOWS: [&str; 3] = [resource::CLOUD_PROFILES, resource::NAMESPACED_CLOUD_PROFILES, resource::SHOOTS];

/// The link to the page of a profile.
pub(crate) fn link(view: &View, name: &str) -> String {
    let path: Vec<String> = name.split('/').map(encoded).collect();
    view.to(&format!("versions/{}", path.join("/")))
}

fn profiles(view: &View, names: &[String], shown: &str) -> Markup {
    html! {
        @if names.len() > 1 {
            nav.actions aria-label="Profiles" {
                @for name in names { a.button href=(link(view, name)) aria-current=[(name == shown).then_some("page")] { (name) } }
            }
        }
    }
}

async fn pictures(view: &View, name: &str, offered: &Offered) -> Result<Markup, Refusal> {
    let dashboard = &view.dashboard;
    let to = view.at.map_or(u64::MAX, |moment| moment.revision);
    let changes = match dashboard.history().of(&*dashboard.options().log, name, to).await {
        Ok(changes) => changes,
        Err(error) => {
            let text = format!("the log cannot be read: {error}");
            return Ok(Message::new(Severity::Error, text).markup());
        }
    };
    if changes.is_empty() {
        return Ok(html! { p { "The log holds nothing of what this profile has offered." } });
    }
    let mut subjects: Vec<&str> = Vec::new();
    for row in &offered.rows {
        if !subjects.contains(&row.subject.as_str()) {
            subjects.push(&row.subject);
        }
    }
    let users = |subject: &str| -> Users {
        let rows = offered.rows.iter().filter(|row| row.subject == subject);
        rows.map(|row| (row.version.clone(), (row.shoots, row.pools))).collect()
    };
    Ok(html! {
        @for (index, subject) in subjects.iter().enumerate() {
            h3 { (subject) }
            (picture::draw(&format!("p{index}"), subject, &changes, view.now(), &users(subject)))
        }
    })
}

fn rows(offered: &Offered, view: &View) -> Markup {
    let now = view.now();
    let or_dash = |text: Option<&String>| text.map_or("–", String::as_str).to_owned();
    let cells = |row: &Row| {
        vec![
            html! { (row.subject) " " (row.version) },
            html! { @if row.is_default { span.nowrap { "* default" } } },
            badge::of_state(row.state),
            html! { @match row.expires { Some(date) => { (time::instant(date)) } None => { "–" } } },
            html! { @match row.expires { Some(date) => { (badge::expiry(date, now)) } None => { "–" } } },
            html! { (or_dash(row.automatic_target.as_ref())) },
            html! { (or_dash(row.forced_target.as_ref())) },
            html! { (used(row.shoots, row.pools)) },
            html! { @if row.is_removable { "yes" } @else { "no" } },
        ]
    };
    let rows: Vec<Vec<Markup>> = offered.rows.iter().map(cells).collect();
    let headers =
        ["Version", "Default", "State", "Expires", "Left", "Automatic target", "Forced target", "Used by", "Removable"];
    table::plain("What the profile offers", &headers, &rows)
}

fn warnings(offered: &Offered) -> Markup {
    let soon =
        |row: &&Row| (row.shoots > 0 || row.pools > 0) && row.days_left.is_some_and(|days| days < badge::WARNED_DAYS);
    let expiring = offered.rows.iter().filter(soon).map(|row| {
        let verb = if row.state == State::Expired { "expired" } else { "expires" };
        let date = row.expires.map(time::text).unwrap_or_default();
        let users = used(row.shoots, row.pools);
        match &row.forced_target {
            Some(target) => Message::new(
                Severity::Warning,
                format!(
                    "{} {} {verb} on {date}: the next maintenance moves {users} to {target}",
                    row.subject, row.version
                ),
            ),
            None => Message::new(
                Severity::Error,
                format!("{} {} {verb} on {date}, and there is no target for {users}", row.subject, row.version),
            ),
        }
    });
    let all: Vec<Message> =
        expiring.chain(offered.warnings.iter().map(|text| Message::new(Severity::Warning, text.as_str()))).collect();
    html! { @if all.is_empty() { p { "None." } } @for message in &all { (message.markup()) } }
}

/// Profiles, and the Shoots that use one of them.
pub(super) fn only(world: &World, name: &str) -> World {
    let mut only = World::default();
    only.cloud_profiles.clone_from(&world.cloud_profiles);
    only.namespaced.clone_from(&world.namespaced);
    let uses = |shoot: &&Shoot| ProfileKey::of(shoot).shown() == name;
    only.shoots = world.shoots.iter().filter(uses).cloned().collect();
    only
}

/// What maintenance does within [`AHEAD`].
pub(super) fn forecast(view: &View, world: &World) -> Forecast {
    let (from, random) = (view.now(), clock::Random::new(view.dashboard.options().seed));
    Forecast::of(world, from, from + AHEAD, &random)
}

fn users(view: &View, world: &World, name: &str) -> Markup {
    let world = only(world, name);
    if world.shoots.is_empty() {
        return html! { p { "Nobody uses this profile." } };
    }
    let forecast = forecast(view, &world);
    let kubernetes: BTreeMap<String, &str> =
        world.shoots.iter().map(|shoot| (ops::world::name_of(shoot), shoot.spec.kubernetes.version.as_str())).collect();
    html! {
        @if forecast.rows.is_empty() { p { "Within 90 days maintenance changes nothing." } } @else { (changes(view, &forecast.rows)) }
        @for (reason, shoots) in &forecast.unmoved {
            details { summary { "Unchanged: " (used(shoots.len(), 0)) ", " (reason) }
                ul { @for shoot in shoots { li { (shoot) " (" (kubernetes.get(shoot).copied().unwrap_or_default()) ")" } } }
            }
        }
        p.hint { "From now to " (time::text(view.now() + AHEAD)) ", if nobody changes anything: " code { "terrarium forecast" } }
    }
}

/// Rows of a forecast.
pub(super) fn changes(view: &View, rows: &[ops::rows::Row]) -> Markup {
    let cells = |row: &ops::rows::Row| {
        vec![
            html! { (row.shoot) },
            time::instant_from(row.change.time, view.now()),
            html! { (maintenance::sentence(&row.change)) },
            html! { (row.change.reason) },
            html! { (ops::rows::nodes(&row.change)) },
        ]
    };
    let rows: Vec<Vec<Markup>> = rows.iter().map(cells).collect();
    table::plain("What maintenance does", &["Shoot", "When", "What", "Why", "Nodes"], &rows)
}

/// A choice of classifications.
pub(super) fn classifications() -> Vec<form::Choice> {
    let choice = |value: &str, label: &str| form::Choice { value: value.to_owned(), label: label.to_owned() };
    vec![
        choice("same", "as it is"),
        choice("preview", "preview"),
        choice("supported", "supported"),
        choice("deprecated", "deprecated"),
        choice("none", "none (unclassified)"),
    ]
}
