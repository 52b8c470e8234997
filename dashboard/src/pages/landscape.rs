// SPDX-License-Identifier: Apache-2.0
//! Gardener itself: its components and Seeds, the rules about their versions, and the order of an upgrade.
//!
//! | parameter | is |
//! | --- | --- |
//! | `to` | the version of Gardener that an upgrade is planned to |

use std::collections::BTreeMap;
use std::sync::Arc;

use api::cluster::GARDEN;
use api::core::Seed;
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::Pod;
use domain::skew::{Component, GardenerVersion};
use maud::{Markup, html};
use ops::components::Row;
use ops::fleet::{self, Fleet};
use ops::past::resource;
use ops::past::rows::ShootRow;
use ops::skew::{self, Cell};
use ops::upgrade::Planned;
use ops::words;

use super::clusters::source::Source;
use crate::frame::{Page, Section};
use crate::parts::message::{Message, Severity};
use crate::parts::{form, table, time};
use crate::refusal::Refusal;
use crate::view::View;

/// Gardener's own Deployments and Pods.
const OURS: &str = "labelSelector=app%3Dgardener";

/// Draws the page.
///
/// # Errors
/// What the API answers.
pub async fn draw(view: &View) -> Result<Page, Refusal> {
    let deployments: Vec<Deployment> = view.list("*", None, OURS).await?;
    let pods: Vec<Arc<Pod>> = view.list::<Pod>("*", None, OURS).await?.into_iter().map(Arc::new).collect();
    let seeds: Vec<Seed> = view.list(GARDEN, None, "").await?;
    // Rows are enough, and there may be thousands.
    let shoots: Vec<Arc<ShootRow>> = match Source::of(view).await? {
        Source::Indexed(rows, _) => rows,
        Source::Listed(shoots) => shoots.iter().map(|shoot| Arc::new(ShootRow::of(shoot))).collect(),
    };
    let fleet = match fleet::without_shoots(&view.reading_context()).await {
        Ok(mut fleet) => {
            fleet.shoots = shoots.iter().map(|row| fleet::versions_of_row(row)).collect();
            fleet
        }
        Err(error) => {
            let message = Message::new(Severity::Error, error.to_string());
            return Ok(Page::new(Section::Landscape, "Landscape").region("error", "", message.markup()));
        }
    };
    let mut page = Page::new(Section::Landscape, "Landscape")
        .region("components", "Components", components(view, &deployments, &pods))
        .region("seeds", "Seeds", seeds_table(&seeds, &shoots))
        .region("rules", "Rules about versions", matrix(view, &fleet))
        .region("beside", "Who may run beside these gardener-apiservers", beside(view, &fleet));
    let warnings = warnings(view, &fleet);
    if !warnings.is_empty() {
        page = page.region(
            "warnings",
            "Legal, and to be known",
            html! { ul { @for text in &warnings { li { (text) } } } },
        );
    }
    let page = page.region("versions", "Version of Gardener by Shoots", by_version(&shoots)).region(
        "upgrade",
        "Upgrade",
        upgrade(view, &fleet),
    );
    let command = match view.query.text("to") {
        "" => "terrarium skew check".to_owned(),
        to => format!("terrarium upgrade plan --to {to}"),
    };
    Ok(page.command(command).follows(&[
        "apps/deployments",
        "/pods",
        "coordination.k8s.io/leases",
        resource::SEEDS,
        resource::SHOOTS,
    ]))
}

fn components(view: &View, deployments: &[Deployment], pods: &[Arc<Pod>]) -> Markup {
    let rows: Vec<Vec<Markup>> = deployments
        .iter()
        .map(|deployment| {
            let row = Row::of(deployment, pods);
            let id = format!("image-{}-{}", row.cluster, row.component);
            vec![
                html! { (row.component) },
                html! { (row.cluster) },
                html! { (row.runs.join(", ")) },
                html! { (row.wanted) },
                html! { (row.ready) },
                html! { (row.restarts) },
                html! { @if row.state == "ready" { (row.state) } @else { span.bad { (row.state) } } },
                html! { (row.last_words) },
                html! {
                    @if view.at.is_none() {
                        form.inline method="post" action="/dashboard/do/set-version" {
                            (form::hidden(view, "set-version"))
                            input type="hidden" name="cluster" value=(row.cluster);
                            input type="hidden" name="namespace" value=(deployment.metadata.namespace);
                            input type="hidden" name="name" value=(row.component);
                            label.unseen for=(id) { "Version of " (row.component) }
                            input.short type="text" id=(id) name="version" value=(row.wanted) autocomplete="off";
                            button type="submit" { "Set" }
                        }
                    }
                },
            ]
        })
        .collect();
    let headers =
        ["Component", "Cluster", "Runs", "Wanted", "Ready", "Restarts", "State", "Last line of a crash", "Set version"];
    html! {
        @if rows.is_empty() { p { "No component of Gardener runs as a Deployment that you may see." } }
        @else { (table::plain("Components of Gardener", &headers, &rows)) }
    }
}

fn seeds_table(seeds: &[Seed], shoots: &[Arc<ShootRow>]) -> Markup {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in shoots.iter().filter_map(|row| row.spec.seed.as_deref()) {
        *counts.entry(seed).or_default() += 1;
    }
    let rows: Vec<Vec<Markup>> = seeds
        .iter()
        .map(|seed| {
            let name = &seed.metadata.name;
            let own = counts.get(name.as_str()).copied().unwrap_or_default();
            vec![
                html! { (name) },
                html! { (seed.status.gardener.as_ref().map_or("-", |gardenlet| gardenlet.version.as_str())) },
                html! { (seed.status.kubernetes_version.as_deref().unwrap_or("-")) },
                html! { (own) },
                html! { @for condition in &seed.status.conditions {
                    p { span class={"chip c-" (condition.status)} { (condition.status) } " " (condition.r#type)
                        @if condition.status != "True" { ": " (condition.message) } }
                } },
            ]
        })
        .collect();
    html! {
        @if rows.is_empty() { p { "There are no Seeds that you may see." } }
        @else { (table::plain("Seeds and their conditions", &["Seed", "Gardenlet", "Kubernetes", "Shoots", "Conditions"], &rows)) }
    }
}

fn matrix(view: &View, fleet: &Fleet) -> Markup {
    let matrix = skew::matrix(&fleet.landscape, view.rules());
    let broken =
        matrix.rows.iter().flat_map(|(_, cells)| cells).filter(|cell| matches!(cell, Cell::Violated(_))).count();
    let headers: Vec<&str> =
        ["Rule", "Says"].into_iter().chain(matrix.components.iter().map(|one| one.name())).collect();
    let rows: Vec<Vec<Markup>> = matrix
        .rows
        .iter()
        .map(|(rule, cells)| {
            let rule = rule.to_string();
            let cells = cells.iter().map(|cell| match cell {
                Cell::Unconcerned => html! { span.unseen { "not concerned" } span aria-hidden="true" { "·" } },
                Cell::Kept => html! { span.kept { "kept" } },
                Cell::Violated(texts) => html! { span.bad { "violated" } @for text in texts { p { (text) } } },
            });
            let says = words::meaning(&rule).unwrap_or_default().to_owned();
            [html! { (rule) }, html! { div.says { (says) } }].into_iter().chain(cells).collect()
        })
        .collect();
    html! {
        p { @if broken == 0 { (fleet.landscape.instances.len()) " instances may run beside each other." }
            @else { strong.bad { (broken) " of the rules are violated." } } }
        (table::plain("Rules by component", &headers, &rows))
    }
}

fn beside(view: &View, fleet: &Fleet) -> Markup {
    let own = fleet.landscape.instances.iter().filter(|one| one.component == Component::Apiserver);
    let mut versions: Vec<GardenerVersion> = own.filter_map(|one| GardenerVersion::parse(&one.version)).collect();
    versions.sort();
    versions.dedup();
    if versions.is_empty() {
        return html! { p { "No gardener-apiserver has registered: it answers in the host itself." } };
    }
    match skew::allowed(&versions, view.rules()) {
        Err(error) => Message::new(Severity::Error, error.to_string()).markup(),
        Ok(allowed) => {
            let rows: Vec<Vec<Markup>> = allowed
                .iter()
                .map(|row| {
                    let rules: Vec<String> = row.rules.iter().map(ToString::to_string).collect();
                    vec![
                        html! { (row.component.name()) },
                        html! { (row.oldest.as_deref().unwrap_or("any")) },
                        html! { (row.newest.as_deref().unwrap_or("that of the oldest gardenlet")) },
                        html! { (rules.join(" ")) },
                    ]
                })
                .collect();
            let shown: Vec<String> = versions.iter().map(ToString::to_string).collect();
            table::plain(&format!("Beside {}", shown.join(", ")), &["Component", "Oldest", "Newest", "Rules"], &rows)
        }
    }
}

fn warnings(view: &View, fleet: &Fleet) -> Vec<String> {
    let gardener = &view.dashboard.options().gardener_version;
    skew::unwise(&fleet.landscape, gardener, &fleet.shoots, &fleet.gates, view.rules(), view.now())
}

/// How many Shoots were reconciled by which version.
fn by_version(shoots: &[Arc<ShootRow>]) -> Markup {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for shoot in shoots {
        *counts.entry(&shoot.gardener).or_default() += 1;
    }
    html! {
        @if counts.is_empty() { p { "There are no Shoots that you may see." } }
        ul.versions {
            @for (version, count) in counts.iter().rev() {
                li { @if version.is_empty() { "not reconciled yet" } @else { (version) } ": "
                    progress max=(shoots.len()) value=(count) aria-label={"Shoots at " (version)} {} " " (count) " of " (shoots.len()) }
            }
        }
    }
}

fn upgrade(view: &View, fleet: &Fleet) -> Markup {
    let to = view.query.text("to");
    let form = html! {
        form.filter method="get" action="/dashboard/landscape#upgrade" {
            @if !view.query.text("at").is_empty() { input type="hidden" name="at" value=(view.query.text("at")); }
            (form::text("to", "Plan an upgrade to", to, "1.121, or v1.121.0", &[]))
            button type="submit" { "Plan" }
        }
    };
    if to.is_empty() {
        return form;
    }
    let Some(version) = GardenerVersion::parse(to) else {
        let text = format!("`{to}` is no version of Gardener as 1.120.0 or v1.120");
        return html! { (form) (Message::new(Severity::Warning, text).markup()) };
    };
    let planned = match Planned::of(fleet, &version, false, view.rules(), view.now()) {
        Ok(planned) => planned,
        Err(error) => {
            let text = if error.hint().is_empty() { error.to_string() } else { format!("{error}; {}", error.hint()) };
            return html! { (form) (Message::new(Severity::Error, text).markup()) };
        }
    };
    let rows: Vec<Vec<Markup>> = planned
        .plan
        .steps
        .iter()
        .enumerate()
        .map(|(index, step)| {
            vec![
                html! { (index + 1) },
                html! { (step.component.name()) },
                html! { (fleet.name_of(step.index).unwrap_or_else(|| "-".to_owned())) },
                html! { (step.from) },
                html! { (step.to) },
                html! { @for wait in &step.waits_for { p { (wait) } } },
            ]
        })
        .collect();
    html! {
        (form)
        @for text in &planned.violated { (Message::new(Severity::Warning, text.as_str()).markup()) }
        @if rows.is_empty() { p { "Nothing to do: every component is at " (planned.target) "." } }
        @else { (table::plain(&format!("Steps to {}", planned.target), &["Step", "Component", "Instance", "From", "To", "Waits for"], &rows)) }
        @if !planned.notes.is_empty() { ul { @for note in &planned.notes { li { (note) } } } }
        p.hint { "As of " (time::instant(view.now())) ". " code { "terrarium upgrade apply" } " carries it out." }
    }
}
