// SPDX-License-Identifier: Apache-2.0
//! The versions of a CloudProfile: a picture of their life cycles, the table of `terrarium versions`, and the forecast for their
//! users: for all of them, or, if there are many, for a window of them (`users=2`).
//!
//! **Tour.** [`history`] past offers, from the log; [`picture`] the picture; [`change`] the effect of a change; [`dates`] dates
//! that are dragged.

pub(crate) mod change;
pub(super) mod dates;
pub(crate) mod history;
mod picture;

use std::collections::BTreeMap;
use std::sync::Arc;

use api::cluster::GARDEN;
use api::core::{CloudProfile, NamespacedCloudProfile};
use chrono::{DateTime, TimeDelta, Utc};
use domain::versions::State;
use eventlog::Key;
use maud::{Markup, html};
use ops::forecast::Forecast;
use ops::inventory::Inventory;
use ops::names::ProfileKey;
use ops::past::resource;
use ops::past::rows::{Rows, ShootRow};
use ops::versions::users::{self, Fate, Group, User};
use ops::versions::{Offered, Row, Rules, Uses, offered_to};

use self::picture::{Users as Counts, used};
use super::clusters::source;
use super::inventory::{inventory, profiles as profiles_of};
use super::{life, maintenance};
use crate::input::encoded;
use crate::message::{Message, Severity};
use crate::page::{Page, Section};
use crate::parts::{badge, form, table, time};
use crate::refusal::Refusal;
use crate::view::View;

/// Length of time of the forecast for users.
const AHEAD: TimeDelta = TimeDelta::days(90);
/// Maximum number of users that are shown at once if there are many.
const WINDOW: usize = 100;
/// Maximum number of users of a version that are named at once if their version does not change.
const FEW: usize = 3;

/// Draws the page of a profile, `NAME` or `NAMESPACE/NAME`; without one, of the first profile.
///
/// # Errors
/// There is no such profile; the API's error.
pub async fn draw(view: &View, name: Option<&str>) -> Result<Page, Refusal> {
    let (inventory, users) = read(view).await?;
    let offers = inventory.offers();
    let names: Vec<String> = offers.keys().map(ProfileKey::shown).collect();
    let Some(name) = name.map(str::to_owned).or_else(|| names.first().cloned()) else {
        let body = html! { p { strong { "No CloudProfile." } } p { "Create one with " code { (view.kubectl("create -f cloudprofile.yaml")) } "." } };
        return Ok(Page::new(Section::Versions, "Versions").region("none", "", body).follows(&FOLLOWS));
    };
    let of = |key: &ProfileKey| users.uses(&inventory, key);
    let rules = Rules { now: view.now(), profile: view.rules(), release: view.release() };
    let Some(offered) = offered_to(&offers, &of, Some(&name), rules) else {
        let what = format!("CloudProfile {name}");
        let refusal = match name.split_once('/') {
            Some((namespace, name)) => {
                let key = Key::new(GARDEN, resource::NAMESPACED_CLOUD_PROFILES, namespace, name);
                life::elsewhen::<NamespacedCloudProfile>(view, &key, &what).await?
            }
            None => {
                let key = Key::new(GARDEN, resource::CLOUD_PROFILES, "", &name);
                life::elsewhen::<CloudProfile>(view, &key, &what).await?
            }
        };
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        let links = names.iter().map(|name| (link(view, name), name.clone())).collect::<Vec<_>>();
        return Err(Refusal::no_object(&format!("CloudProfile {name}"), &links));
    };
    let pictures = pictures(view, &name, &offered).await?;
    let users = match &users {
        Users::Whole => fates(view, &only(&inventory, &name), None),
        Users::Rows(rows, all) => window(view, &inventory, &name, rows, all).await?,
    };
    let page = Page::new(Section::Versions, format!("Versions of {name}"))
        .region("profiles", "", profiles(view, &names, &name))
        .region("pictures", "Life of the versions", pictures)
        .region("table", "Versions", rows(&offered, view))
        .region("warnings", "Warnings", warnings(&offered))
        .region("users", "What happens to their users", users);
    let page = match change::form(view, &inventory, &name) {
        Some(form) if view.at.is_none() => page.region("change", "Change a version", form),
        _ => page,
    };
    let command = match view.at {
        Some(moment) => {
            let object = match name.split_once('/') {
                Some((namespace, name)) => format!("namespacedcloudprofile {name} -n {namespace}"),
                None => format!("cloudprofile {name}"),
            };
            format!("terrarium at {} get {object} -o yaml", moment.revision)
        }
        None => format!("terrarium versions {name}"),
    };
    Ok(page.command(command).follows(&FOLLOWS))
}

const FOLLOWS: [&str; 3] = [resource::CLOUD_PROFILES, resource::NAMESPACED_CLOUD_PROFILES, resource::SHOOTS];

/// Returns the link to the page of a profile.
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
    let changes = match dashboard.history().of(&*dashboard.options().log, dashboard.timeline(), name, to).await {
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
    let users = |subject: &str| -> Counts {
        let rows = offered.rows.iter().filter(|row| row.subject == subject);
        rows.map(|row| (row.version.clone(), (row.shoots, row.pools))).collect()
    };
    Ok(html! {
        @for (index, subject) in subjects.iter().enumerate() {
            h3 { (subject) }
            (picture::draw(&format!("p{index}"), subject, &changes, view.moment(), &users(subject)))
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
            html! { span.nowrap { (used(row.shoots, row.pools)) } },
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

/// Returns the inventory with one profile and the Shoots that use it.
pub(super) fn only(inventory: &Inventory, name: &str) -> Inventory {
    let mut only = inventory.clone();
    only.shoots.retain(|shoot| ProfileKey::of(shoot).shown() == name);
    only
}

/// Returns the forecast of maintenance within [`AHEAD`].
pub(super) fn forecast(view: &View, inventory: &Inventory) -> Forecast {
    let (from, random) = (view.now(), clock::Random::new(view.dashboard.options().seed));
    Forecast::of(inventory, from, from + AHEAD, &random)
}

/// Source of the users of profiles.
enum Users {
    /// All Shoots are in the inventory.
    Whole,
    /// No Shoots are in the inventory: there are many, and the index has their rows.
    Rows(Vec<Arc<ShootRow>>, Box<Rows>),
}

impl Users {
    fn uses(&self, inventory: &Inventory, key: &ProfileKey) -> Uses {
        match self {
            Self::Whole => Uses::of(inventory.shoots.iter().filter(|shoot| ProfileKey::of(shoot) == *key)),
            Self::Rows(rows, _) => Uses::of_rows(rows.iter().map(|row| &**row).filter(|row| row.spec.profile == *key)),
        }
    }
}

/// Reads profiles and their users.
async fn read(view: &View) -> Result<(Inventory, Users), Refusal> {
    if let Some((rows, all)) = source::indexed(view).await {
        return Ok((profiles_of(view).await?, Users::Rows(rows, all)));
    }
    Ok((inventory(view).await?, Users::Whole))
}

/// Window of the shown users, and the number of all of them.
struct Window {
    number: usize,
    pages: usize,
    found: usize,
}

/// Shows the forecast for a window of many users, sorted by the expiration of their versions.
async fn window(
    view: &View,
    inventory: &Inventory,
    name: &str,
    rows: &[Arc<ShootRow>],
    all: &Rows,
) -> Result<Markup, Refusal> {
    let mut own: Vec<&Arc<ShootRow>> = rows.iter().filter(|row| row.spec.profile.shown() == name).collect();
    let Some(offered) = own.first().and_then(|row| inventory.offers().remove(&row.spec.profile)) else {
        return Ok(html! { p { "No Shoot uses this profile." } });
    };
    let dates: BTreeMap<&str, Option<DateTime<Utc>>> = offered
        .kubernetes
        .versions
        .iter()
        .map(|entry| (entry.version.as_str(), view.moment().expiration(entry)))
        .collect();
    let date = |row: &ShootRow| dates.get(&*row.spec.kubernetes).copied().flatten().unwrap_or(DateTime::<Utc>::MAX_UTC);
    own.sort_by_cached_key(|row| (date(row), row.namespace.clone(), row.name.clone()));
    let found = own.len();
    let pages = found.div_ceil(WINDOW).max(1);
    let number = view.query.text("users").parse().unwrap_or(1_usize).clamp(1, pages);
    let shown: Vec<Arc<ShootRow>> = own.into_iter().skip((number - 1) * WINDOW).take(WINDOW).cloned().collect();
    let mut some = inventory.clone();
    some.shoots = source::whole(view, &shown, all).await?;
    some.read_forms(&view.hash_secrets().await);
    Ok(fates(view, &some, Some(Window { number, pages, found })))
}

/// Shows the forecast for the Shoots of an inventory; `window`: their position among all users, if these are many.
fn fates(view: &View, inventory: &Inventory, window: Option<Window>) -> Markup {
    if inventory.shoots.is_empty() {
        return html! { p { "No Shoot uses this profile." } };
    }
    let groups = users::of(inventory, &forecast(view, inventory), view.now());
    let to = |number: usize| view.here_with(&[("users", &number.to_string())]);
    html! {
        @if let Some(Window { found, number, pages }) = &window {
            p { (found) " Shoots use it. These are " ((number - 1) * WINDOW + 1) " to " ((number * WINDOW).min(*found))
                ", in the order in which their versions of Kubernetes expire." }
            nav.actions aria-label="Windows of the users" {
                @if *number > 1 { a.button rel="prev" href=(to(number - 1)) { "Previous " (WINDOW) } }
                span { "Page " (number) " of " (pages) }
                @if number < pages { a.button rel="next" href=(to(number + 1)) { "Next " (WINDOW) } }
            }
        }
        @for group in &groups { (of_version(view, group)) }
        p.hint { "From " (time::instant(view.now())) " to " (time::instant(view.now() + AHEAD)) ", if nothing else changes."
            @if view.at.is_none() { " As a command: " code { "terrarium forecast --until 90d" } } }
    }
}

/// Shows the forecast for the users of a version.
fn of_version(view: &View, group: &Group) -> Markup {
    let mut stay: BTreeMap<&str, Vec<&User>> = BTreeMap::new();
    let mut rows = Vec::new();
    for user in &group.users {
        let change = match &user.fate {
            Fate::Changes(change) => change,
            Fate::Stays(reason) => {
                stay.entry(reason).or_default().push(user);
                continue;
            }
        };
        rows.push(vec![
            html! { (user.shoot) },
            html! { @match &user.pool { Some(pool) => { "pool " (pool) } None => { "control plane" } } },
            time::instant_from(change.time, view.now()),
            html! {
                @match (&change.failure, &change.to) {
                    (Some(_), _) => { span.bad { "fails" } }
                    (None, Some(to)) => { (to) @if change.is_forced { ", forced" } }
                    (None, None) => { (table::NONE) }
                }
            },
            html! { (change.failure.clone().unwrap_or_else(|| ops::forecast::rows::reason(change))) },
            html! { (ops::forecast::rows::nodes(change)) },
        ]);
    }
    let name = format!("{} {}", group.subject, group.version);
    let headers = ["Shoot", "Part", "When", "To", "Why", "Nodes"];
    html! {
        h3 { (name) }
        @if !rows.is_empty() { (table::plain(&format!("Users of {name} that maintenance changes"), &headers, &rows)) }
        @for (reason, users) in &stay {
            @if users.len() <= FEW {
                @for user in users { p { (of_user(user)) " stays, because " (reason) } }
            } @else {
                details { summary { (users.len()) " users stay, because " (reason) }
                    ul { @for user in users { li { (of_user(user)) } } }
                }
            }
        }
    }
}

fn of_user(user: &User) -> String {
    user.pool.as_ref().map_or_else(|| user.shoot.clone(), |pool| format!("{}, pool {pool}", user.shoot))
}

/// Lists the rows of a forecast.
pub(super) fn changes(view: &View, rows: &[ops::forecast::rows::Row]) -> Markup {
    let cells = |row: &ops::forecast::rows::Row| {
        vec![
            html! { (row.shoot) },
            time::instant_from(row.change.time, view.now()),
            html! { (maintenance::sentence(&row.change)) },
            html! { (ops::forecast::rows::reason(&row.change)) },
            html! { (ops::forecast::rows::nodes(&row.change)) },
        ]
    };
    let rows: Vec<Vec<Markup>> = rows.iter().map(cells).collect();
    table::plain("What maintenance does", &["Shoot", "When", "What", "Why", "Nodes"], &rows)
}

/// Returns the choices of classifications.
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
