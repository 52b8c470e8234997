// SPDX-License-Identifier: Apache-2.0
//! Faults: injected faults, their effects, and a form for another.

use api::cluster::RUNTIME;
use api::terrarium::Fault;
use domain::fault::{KINDS, Kind, Target, kind};
use maud::{Markup, html};
use ops::faults::Row;

use crate::input::Fields;
use crate::message::Message;
use crate::page::{Page, Section};
use crate::parts::{form, table, time};
use crate::refusal::Refusal;
use crate::view::View;

/// Draws the page.
///
/// # Errors
/// The API's error.
pub async fn draw(view: &View) -> Result<Page, Refusal> {
    draw_with(view, &view.query, &[]).await
}

/// Draws the page with the form as the user filled it in, and messages about it.
///
/// # Errors
/// The API's error.
pub async fn draw_with(view: &View, given: &Fields, said: &[Message]) -> Result<Page, Refusal> {
    let faults = view.list::<Fault>(RUNTIME, None, "").await?;
    let now = view.now();
    let rows: Vec<Vec<Markup>> = faults.iter().map(|fault| row(view, &Row::of(fault, now))).collect();
    let active = html! {
        @if rows.is_empty() { p { strong { "No faults." } " Nothing goes wrong on purpose." } }
        @else {
            (table::plain("Faults", &["ID", "Kind", "Where", "Hits", "Hit last", "Until", "State", "Settings", "Clear"], &rows))
            @if view.at.is_none() { (form::button(view, "fault-clear", &[("all", "true")], "Clear all faults", None)) }
        }
    };
    let mut page = Page::new(Section::Faults, "Faults").region("faults", "", active);
    if view.at.is_none() {
        page = page.region("inject", "Let something go wrong", inject(view, given, said));
    }
    let page = page.region("kinds", "Kinds", kinds(view));
    let command = match view.at {
        Some(moment) => format!("terrarium at {} get faults --cluster runtime", moment.revision),
        None => "terrarium fault list".to_owned(),
    };
    Ok(page.command(command).follows(&["terrarium.dev/faults"]))
}

fn row(view: &View, row: &Row) -> Vec<Markup> {
    vec![
        html! { (row.id) },
        html! { (row.kind) },
        html! { (row.place) },
        html! { (row.done) },
        html! { @if let Some((at, target)) = &row.last { (time::instant(*at)) " " (target) } },
        html! { @if let Some(until) = row.until { (time::instant_from(until, view.now())) } },
        html! { (row.state) },
        html! { (row.settings.join(" ")) },
        html! { @if view.at.is_none() {
            (form::button(view, "fault-clear", &[("id", &row.id)], "Clear", Some(&format!("Clear {}", row.id))))
        } },
    ]
}

/// Describes the target of a kind.
const fn target(target: Target) -> &'static str {
    match target {
        Target::Shoot => "a Shoot, or any",
        Target::Component => "a component, or one pod of it",
        Target::Seed => "the cluster of a Seed",
        Target::Machine => "machines: of a Shoot, a pool, a zone, or a single one",
    }
}

fn inject(view: &View, given: &Fields, said: &[Message]) -> Markup {
    let chosen = kind(given.text("kind"));
    html! {
        @for message in said { (message.markup()) }
        form.filter method="get" action="/dashboard/faults" {
            div.field {
                label for="kind" { "Kind of fault" }
                select #kind name="kind" {
                    @if chosen.is_none() { option value="" selected { "choose one" } }
                    @for kind in &KINDS {
                        option value=(kind.name) selected[chosen.is_some_and(|chosen| chosen.name == kind.name)] { (kind.name) }
                    }
                }
            }
            button type="submit" { "Choose" }
        }
        @if let Some(kind) = chosen { (fields(view, kind, given)) }
    }
}

fn fields(view: &View, kind: &Kind, given: &Fields) -> Markup {
    let text = |id: &str, label: &str, hint: &str| form::text(id, label, given.text(id), hint, &[]);
    html! {
        form method="post" action="/dashboard/do/fault-inject" {
            (form::hidden(view, "fault-inject"))
            input type="hidden" name="kind" value=(kind.name);
            p { (kind.name) ": " (kind.effect) ". It is addressed to " (target(kind.target)) "." }
            div.fields {
                @match kind.target {
                    Target::Shoot => { (text("shoot", "Shoot", "NAMESPACE/NAME; empty: any")) }
                    Target::Component => {
                        (text("component", "Component", "as its Deployment is named"))
                        (text("instance", "Pod", "name of one pod of it; empty: all"))
                    }
                    Target::Seed => { (text("seed", "Seed", "its name")) }
                    Target::Machine => {
                        (text("shoot", "Shoot", "NAMESPACE/NAME; empty: any"))
                        (text("pool", "Worker pool", "empty: any"))
                        (text("zone", "Zone", "its number in the pool, from 1 on; empty: any"))
                        (text("machine", "Machine", "its number in the order of creation, from 1 on; empty: any"))
                        (text("node", "Node", "its name; empty: any"))
                    }
                }
                @if !kind.lasts {
                    (text("times", "How often", "empty: once"))
                    (form::tick("always", "Every time, until it is cleared", given.text("always") == "true"))
                }
                (text("for", "For how long", "landscape time: 90s, 2h, 3d; empty: until it is cleared or spent"))
                @for setting in kind.settings {
                    @let id = format!("set-{}", setting.name);
                    @if setting.values.is_empty() {
                        (form::text(&id, setting.name, given.text(&id), setting.meaning, &[]))
                    } @else {
                        @let choices = [String::new()].into_iter().chain(setting.values.iter().map(|value| (*value).to_owned()));
                        @let choices: Vec<form::Choice> = choices.map(form::Choice::plain).collect();
                        (form::select(&id, setting.name, given.text(&id), &[("", choices)], setting.meaning, &[]))
                    }
                }
            }
            button.main type="submit" { "Inject" }
        }
    }
}

fn kinds(view: &View) -> Markup {
    let rows: Vec<Vec<Markup>> = KINDS
        .iter()
        .map(|kind| {
            vec![
                html! { @if view.at.is_none() { a href=(view.to(&format!("faults?kind={}#inject", kind.name))) { (kind.name) } } @else { (kind.name) } },
                html! { (kind.effect) },
                html! { (target(kind.target)) },
                html! { @for setting in kind.settings { p { code { (setting.name) } " " (setting.meaning) @if setting.is_required { " (needed)" } } } },
            ]
        })
        .collect();
    table::plain("Kinds of faults", &["Kind", "What happens", "Addressed to", "Settings"], &rows)
}
