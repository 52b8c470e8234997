// SPDX-License-Identifier: Apache-2.0
//! One cluster: its properties, what it waits for, its roll-out, maintenance, versions, Events and manifest.
//!
//! **Tour.** [`why`] what it waits for; [`rollout`] pools and machines, [`strip`] numbers of machines over time; [`versions`] and
//! their future; [`nodes`]; [`history`] its last changes; [`manifest`] reading and editing it; [`act`] operations.

pub(crate) mod act;
mod history;
mod manifest;
mod nodes;
mod rollout;
mod strip;
mod versions;
mod why;

use api::cluster::GARDEN;
use api::constants::{annotation, condition};
use api::core::{CloudProfileSpec, Condition, Shoot};
use api::kubernetes::core::Event;
use chrono::TimeDelta;
use domain::cloud_profile::kubernetes_version;
use domain::maintenance::upcoming;
use domain::shoot_facts::{is_confined, is_hibernation_enabled};
use domain::validation::shoot::{Gates, maintenance_operations};
use domain::window::CUT_MINUTES;
use eventlog::Key;
use maud::{Markup, html};
use ops::names::ProfileKey;
use ops::past::resource;
use ops::spelling;

use super::clusters::row;
use super::inventory::{Projects, offers};
use super::{life, maintenance};
use crate::input::encoded;
use crate::message::{Message, Severity};
use crate::page::{Page, Section};
use crate::parts::form::{self, Choice};
use crate::parts::{badge, lines, table, time};
use crate::refusal::Refusal;
use crate::view::View;

/// Length of time for which maintenance is forecast.
const AHEAD: TimeDelta = TimeDelta::days(90);
/// Maximum number of Events that are shown.
const EVENTS: usize = 30;

/// Draws the page of a cluster.
///
/// # Errors
/// There is no such Shoot; the API's error.
pub async fn draw(view: &View, project: &str, name: &str) -> Result<Page, Refusal> {
    let projects = Projects::read(view).await;
    let namespace = projects.namespace(project);
    let Some(shoot) = view.get::<Shoot>(GARDEN, &namespace, name).await? else {
        return Err(missing(view, &projects, project, name).await?);
    };
    let offers = offers(view).await?;
    let offered = offers.get(&ProfileKey::of(&shoot));
    let shown = format!("{project}/{name}");
    let why = why::draw(view, &shoot, &shown).await;
    let key = Key::new(GARDEN, resource::SHOOTS, &shoot.metadata.namespace, &shoot.metadata.name);
    let upkeep = upkeep(view, &shoot, offered).await;
    let mut page = Page::new(Section::Clusters, format!("Cluster {shown}"))
        .region("overview", "Overview", overview(view, &shoot, offered))
        .region("why", "Why", why)
        .region("roll-out", "Roll-out", rollout::draw(view, &shoot).await)
        .region("maintenance", "Maintenance", upkeep);
    if let Some(offered) = offered {
        page = page.region("versions", "Versions", versions::draw(view, &shoot, offered));
    }
    page = page
        .region("nodes", "Nodes", nodes::draw(view, &shoot).await)
        .region("events", "Events", events(view, &shoot).await)
        .region("history", "History", history::draw(view, &key).await)
        .region("manifest-form", "Manifest", manifest::draw(view, &shoot).await);
    let seed = shoot.status.seed_name.as_deref().filter(|_| !shoot.status.technical_id.is_empty());
    let machines = seed.map(|seed| (api::cluster::of_seed(seed), shoot.status.technical_id.clone()));
    let command = match view.at {
        Some(moment) => format!("terrarium at {} get shoot {name} -n {namespace} -o yaml", moment.revision),
        None => format!("terrarium why shoot/{shown}"),
    };
    Ok(page.about(key, machines).command(command).follows(&[
        resource::SHOOTS,
        resource::MACHINES,
        resource::MACHINE_DEPLOYMENTS,
        resource::CLOUD_PROFILES,
        "/nodes",
        "/events",
    ]))
}

async fn missing(view: &View, projects: &Projects, project: &str, name: &str) -> Result<Refusal, Refusal> {
    let shoots = view.list::<Shoot>(GARDEN, None, "").await?;
    let wanted = format!("{project}/{name}");
    let key = Key::new(GARDEN, resource::SHOOTS, &projects.namespace(project), name);
    if let Some(refusal) = life::elsewhen::<Shoot>(view, &key, &format!("Cluster {wanted}")).await? {
        return Ok(refusal);
    }
    let mut near: Vec<(usize, String, String)> = shoots
        .iter()
        .map(|shoot| {
            let (project, name) = (projects.of(&shoot.metadata.namespace), &shoot.metadata.name);
            let shown = format!("{project}/{name}");
            (spelling::distance(&wanted, &shown), view.to_cluster(project, name), shown)
        })
        .collect();
    near.sort();
    let near: Vec<(String, String)> = near.into_iter().take(5).map(|(_, link, shown)| (link, shown)).collect();
    Ok(Refusal::no_object(&format!("cluster {wanted}"), &near))
}

/// Returns the hidden fields of each form about the cluster.
fn about(view: &View, shoot: &Shoot) -> Markup {
    html! {
        (form::hidden(view, "cluster"))
        input type="hidden" name="namespace" value=(shoot.metadata.namespace);
        input type="hidden" name="name" value=(shoot.metadata.name);
    }
}

fn overview(view: &View, shoot: &Shoot, offered: Option<&CloudProfileSpec>) -> Markup {
    let now = view.now();
    let (spec, status) = (&shoot.spec, &shoot.status);
    let version = offered.and_then(|offered| kubernetes_version(offered, &spec.kubernetes.version));
    let operation = |label: &str, step: &str| {
        let fields =
            [("namespace", shoot.metadata.namespace.as_str()), ("name", shoot.metadata.name.as_str()), ("step", step)];
        form::button(view, "cluster", &fields, label, None)
    };
    html! {
        (table::facts(&[
            ("Status", row::status(shoot)),
            ("Kubernetes", html! { (spec.kubernetes.version) " " @match version { Some(entry) => { (badge::of_version(entry, view.moment())) } None => { (badge::not_offered()) } } }),
            ("CloudProfile", html! { a href=(super::versions::link(view, &ProfileKey::of(shoot).shown())) { (ProfileKey::of(shoot).shown()) } }),
            ("Region", html! { (spec.region) }),
            ("Seed", html! { (status.seed_name.as_deref().unwrap_or("none yet")) }),
            ("Purpose", html! { (spec.purpose.as_deref().unwrap_or("not set")) }),
            ("Technical ID", html! { (status.technical_id) }),
            ("Created", time::instant_from(shoot.metadata.creation_timestamp.0, now)),
            ("Reconciled by Gardener", html! { (status.gardener.version) }),
        ]))
        @if let Some(operation) = &status.last_operation { p { (operation.description) " " span.far { (time::instant(operation.last_update_time.0)) } } }
        @for error in &status.last_errors {
            (Message { severity: Severity::Error, text: error.description.clone(), lines: error.codes.iter().map(|code| explained(code)).collect() }.markup())
        }
        (conditions(shoot, view))
        @if view.at.is_none() {
            div.actions role="group" aria-label="Operations" {
                (operation("Reconcile", "reconcile"))
                @if status.last_operation.as_ref().is_some_and(|last| last.state == "Failed") { (operation("Retry", "retry")) }
                (operation("Maintain now", "maintain"))
                @if status.constraints.iter().any(|it| it.r#type == condition::MANUAL_IN_PLACE_WORKERS_UPDATED && it.status == "False") {
                    (operation("Force the update in place", "force-in-place-update"))
                }
                @if is_hibernation_enabled(spec) { (operation("Wake up", "wake")) } @else { (operation("Hibernate", "hibernate")) }
            }
            details {
                summary { "Delete" }
                form method="post" action="/dashboard/do/cluster" {
                    (about(view, shoot))
                    p { "Write the name of the cluster to delete it: it is annotated with the confirmation, then deleted." }
                    div.actions {
                        label for="confirmed" { "Name" }
                        input #confirmed type="text" name="confirmed" autocomplete="off";
                        button.grave type="submit" name="step" value="delete" { "Delete the cluster" }
                    }
                }
            }
        }
    }
}

/// Explains an error code, as `terrarium explain` does.
fn explained(code: &str) -> String {
    match ops::explain::words::meaning(code) {
        Some(meaning) => format!("{code}: {meaning}; `terrarium explain {code}` says more"),
        None => format!("{code}: `terrarium explain {code}`"),
    }
}

fn conditions(shoot: &Shoot, view: &View) -> Markup {
    let all: Vec<&Condition> = shoot.status.conditions.iter().chain(&shoot.status.constraints).collect();
    if all.is_empty() {
        return html! { p { "No conditions yet." } };
    }
    let rows: Vec<Vec<Markup>> = all
        .iter()
        .map(|it| {
            vec![
                html! { (it.r#type) },
                html! { span class={"chip c-" (it.status)} { (it.status) } },
                time::instant_from(it.last_transition_time.0, view.now()),
                html! { (it.reason) },
                html! { (it.message) @if !it.codes.is_empty() { " [" (it.codes.join(", ")) "]" } },
            ]
        })
        .collect();
    table::plain("Conditions and constraints", &["Type", "Status", "Since", "Reason", "Message"], &rows)
}

async fn upkeep(view: &View, shoot: &Shoot, offered: Option<&CloudProfileSpec>) -> Markup {
    let pending = ops::why::pending(&view.reading_context(), shoot, view.release()).await.unwrap_or_default();
    let waits = shoot.metadata.annotation(annotation::MAINTENANCE_OPERATION);
    let now = view.now();
    let window = upcoming::time_window(shoot, now);
    let span = upcoming::next(shoot, now);
    let (run, _) = maintenance::next_run(view, shoot);
    let (changes, next) =
        offered.map(|offered| maintenance::changes_and_next(view, shoot, offered, now + AHEAD)).unwrap_or_default();
    let updates = shoot.spec.maintenance.as_ref().and_then(|maintenance| maintenance.auto_update.as_ref());
    let on = |is_on: bool| if is_on { "on" } else { "off" };
    let rows: Vec<Vec<Markup>> = changes
        .iter()
        .map(|change| {
            vec![
                time::instant_from(change.time, now),
                html! { (maintenance::sentence(change)) },
                html! { (ops::forecast::rows::reason(change)) },
                html! { (ops::forecast::rows::nodes(change)) },
            ]
        })
        .collect();
    let explained = offered
        .map(|offered| ops::explain::lines(shoot, &ProfileKey::of(shoot).shown(), offered, view.moment(), None))
        .unwrap_or_default();
    html! {
        (table::facts(&[
            ("Window, as written", html! { @match &window { Some(window) => { (window.begin) " to " (window.end) } None => { "always open" } } }),
            ("Maintenance may begin, UTC", html! { (time::instant(span.earliest)) " to " (time::instant(span.end)) " (" (CUT_MINUTES) " minutes before the window ends)" }),
            ("Next maintenance", time::instant_from(run, now)),
            ("Automatic updates", html! { "Kubernetes " (on(updates.is_some_and(|it| it.kubernetes_version))) ", machine images " (on(updates.and_then(|it| it.machine_image_version) == Some(true))) }),
            ("Changes of the specification", html! { @if is_confined(&shoot.spec) { "are rolled out in the window only" } @else { "are rolled out at once" } }),
            ("Operation for the next maintenance", html! { (waits.unwrap_or("none")) }),
        ]))
        @if let Some(last) = &shoot.status.last_maintenance {
            p { "Last maintenance " (time::instant(last.triggered_time.0)) ": " (last.state) ". " (last.description) " " @if let Some(reason) = &last.failure_reason { span.bad { (reason) } } }
        }
        @if rows.is_empty() { p { "Within 90 days maintenance changes nothing" @if let Some(next) = &next { "; " (next) } "." } }
        @else { (table::plain("What maintenance will change within 90 days", &["When", "What", "Why", "Nodes"], &rows)) }
        @if !pending.is_empty() {
            h3 { "Changes that are not rolled out yet" }
            (lines::list(view, &ops::names::name_of(shoot), &pending))
        }
        @if !explained.is_empty() { details { summary { "What it would choose, and what not" } (lines::list(view, &ops::names::name_of(shoot), &explained)) } }
        @if view.at.is_none() {
            details { summary { "Change" }
                form method="post" action="/dashboard/do/cluster" {
                    (about(view, shoot))
                    div.fields {
                        (form::text("begin", "Window begins", &window.as_ref().map(|it| it.begin.clone()).unwrap_or_default(), "as 220000+0100", &[]))
                        (form::text("end", "Window ends", &window.as_ref().map(|it| it.end.clone()).unwrap_or_default(), "as 230000+0100", &[]))
                        (form::tick("auto-kubernetes", "Update Kubernetes automatically", updates.is_some_and(|it| it.kubernetes_version)))
                        (form::tick("auto-image", "Update machine images automatically", updates.and_then(|it| it.machine_image_version) == Some(true)))
                        (form::tick("confine", "Roll out changes in the window only", is_confined(&shoot.spec)))
                    }
                    button type="submit" name="step" value="upkeep" { "Change maintenance" }
                }
                form method="post" action="/dashboard/do/cluster" {
                    (about(view, shoot))
                    div.fields { (form::select("operation", "Operation for the next maintenance", waits.unwrap_or_default(), &[("", operations(waits))], "", &[])) }
                    button type="submit" name="step" value="operation" { "Set the operation" }
                }
            }
        }
    }
}

/// Returns the operations that can wait for maintenance, with the waiting one selected.
fn operations(waits: Option<&str>) -> Vec<Choice> {
    let none = Choice { value: String::new(), label: "none".to_owned() };
    let known = maintenance_operations(Gates::default());
    let other = waits.filter(|waits| !known.contains(waits));
    std::iter::once(none).chain(known.into_iter().chain(other).map(Choice::plain)).collect()
}

async fn events(view: &View, shoot: &Shoot) -> Markup {
    let selection = format!("fieldSelector={}", encoded(&format!("involvedObject.uid={}", shoot.metadata.uid)));
    let found = view.list::<Event>(GARDEN, Some(&shoot.metadata.namespace), &selection).await;
    let mut events = match found {
        Ok(events) => events,
        Err(error) => return Message::of_error("Events", &error).markup(),
    };
    let when = |event: &Event| {
        let last = event.series.as_ref().map_or(event.event_time, |series| series.last_observed_time);
        event.last_timestamp.0.max(last.0)
    };
    events.sort_by(|one, other| when(other).cmp(&when(one)).then_with(|| one.metadata.name.cmp(&other.metadata.name)));
    if events.is_empty() {
        return html! { p { "No Events." } };
    }
    let rows: Vec<Vec<Markup>> = events
        .iter()
        .take(EVENTS)
        .map(|event| {
            vec![
                time::instant(when(event)),
                html! { (event.r#type) },
                html! { (event.reason) },
                html! { (event.message) },
            ]
        })
        .collect();
    table::plain("The latest Events", &["When", "Type", "Reason", "Message"], &rows)
}
