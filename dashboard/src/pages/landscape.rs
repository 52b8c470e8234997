// SPDX-License-Identifier: Apache-2.0
//! Gardener itself: its components and Seeds, the rules about their versions, and the order of an upgrade.
//!
//! | parameter | is |
//! | --- | --- |
//! | `to` | the version of Gardener that an upgrade is planned to |

use std::collections::BTreeMap;
use std::sync::Arc;

use api::cluster::GARDEN;
use api::constants::annotation;
use api::core::{ControllerInstallation, Seed};
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::Pod;
use controller::Error;
use domain::skew::{Component, GardenerVersion, Instance, library};
use domain::upgrade::Step;
use maud::{Markup, html};
use ops::explain::words;
use ops::past::resource;
use ops::past::rows::ShootRow;
use ops::spelling::{counted, first_of};
use ops::upgrade::components::{Row, State, pods_of, problem, rolls, version_of};
use ops::upgrade::fleet::{self, Fleet};
use ops::upgrade::skew::{self, Cell};
use ops::upgrade::{Planned, shown};

use super::clusters::source::Source;
use crate::message::{Message, Severity};
use crate::page::{Page, Section};
use crate::parts::{form, table, time};
use crate::refusal::Refusal;
use crate::upgrades::Upgrades;
use crate::view::{Moment, View};

/// Query for Gardener's own Deployments and Pods.
const OURS: &str = "labelSelector=app%3Dgardener";

/// Draws the page.
///
/// # Errors
/// The API's error.
pub async fn draw(view: &View) -> Result<Page, Refusal> {
    let deployments: Vec<Deployment> = view.list("*", None, OURS).await?;
    let pods: Vec<Arc<Pod>> = view.list::<Pod>("*", None, OURS).await?.into_iter().map(Arc::new).collect();
    // gardener-apiserver may be unavailable while the host answers: then its parts report that, and the others are shown.
    let seeds = view.list::<Seed>(GARDEN, None, "").await;
    let installed = view.list::<ControllerInstallation>(GARDEN, None, "").await.unwrap_or_default();
    let found = rows(view).await;
    let shoots: &[Arc<ShootRow>] = found.as_deref().unwrap_or_default();
    let fleet = match fleet::without_shoots(&view.reading_context()).await {
        Ok(mut fleet) => {
            fleet.name = Some(view.dashboard.options().landscape.clone());
            fleet.shoots = shoots.iter().map(|row| row.versions()).collect();
            // Only users that may read Secrets see it.
            fleet.first_hash_forms = fleet::first_hash_pools(&view.reading_context()).await.unwrap_or_default();
            fleet
        }
        Err(error) => {
            let message = Message::new(Severity::Error, error.to_string());
            return Ok(Page::new(Section::Landscape, "Landscape").region("error", "", message.markup()));
        }
    };
    let mut page = Page::new(Section::Landscape, "Landscape")
        .region("components", "Components", components(view, &deployments, &pods))
        .region("seeds", "Seeds", seeds_region(view, &seeds, &installed, shoots))
        .region("rules", "Rules about versions", matrix(view, &fleet))
        .region("beside", "Versions that may run with these gardener-apiservers", allowed_versions(view, &fleet));
    let warnings = warnings(view, &fleet);
    if !warnings.is_empty() {
        page = page.region(
            "warnings",
            "Allowed, but worth knowing",
            html! { ul { @for text in &warnings { li { (text) } } } },
        );
    }
    let by_version = match &found {
        Ok(shoots) => by_version(shoots),
        Err(refusal) => unanswered(view, &refusal.title),
    };
    let page = page.region("versions", "Version of Gardener by Shoots", by_version).region(
        "upgrade",
        "Upgrade",
        upgrade(view, &fleet, &deployments, &pods),
    );
    let asks = match view.query.text("to") {
        "" => "skew check".to_owned(),
        to => format!("upgrade plan --to {to}"),
    };
    let command = match view.at {
        Some(Moment { revision, .. }) => format!(
            "(terrarium at {revision} get deployments -A --cluster runtime -l app=gardener -o yaml; echo ---; \
             terrarium at {revision} get seeds -o yaml) | terrarium {asks} -f -"
        ),
        None => format!("terrarium {asks}"),
    };
    let mut page = page.command(command);
    page.lacks_answers = seeds.is_err() || found.is_err();
    Ok(page.follows(&["apps/deployments", "/pods", "coordination.k8s.io/leases", resource::SEEDS, resource::SHOOTS]))
}

/// Returns the rows of the Shoots that the user may see: rows suffice, and there may be thousands of Shoots.
async fn rows(view: &View) -> Result<Vec<Arc<ShootRow>>, Refusal> {
    Ok(match Source::of(view).await? {
        Source::Indexed(rows, _) => rows,
        Source::Listed(shoots, _) => shoots.iter().map(|shoot| Arc::new(ShootRow::of(shoot))).collect(),
    })
}

/// A part of the page whose API server does not answer.
fn unanswered(view: &View, what: &str) -> Markup {
    html! {
        (Message::new(Severity::Error, what).markup())
        @if let Some(since) = view.dashboard.silent_since() { p { "It has not answered since " (time::instant(since)) "." } }
    }
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

fn seeds_region(
    view: &View,
    seeds: &Result<Vec<Seed>, Error>,
    installed: &[ControllerInstallation],
    shoots: &[Arc<ShootRow>],
) -> Markup {
    match seeds {
        Ok(seeds) => seeds_table(seeds, installed, shoots),
        Err(error) => unanswered(view, &Message::of_error("Seeds cannot be read", error).text),
    }
}

/// Lists extensions in a Seed, each with its problems.
fn extensions(installed: &[ControllerInstallation], seed: &str) -> Markup {
    let is_in = |it: &&ControllerInstallation| it.spec.seed_ref.as_ref().is_some_and(|known| known.name == *seed);
    let own: Vec<&ControllerInstallation> = installed.iter().filter(is_in).collect();
    html! {
        @if own.is_empty() { (table::NONE) }
        @for it in own {
            @let bad = it.status.conditions.iter().find(|it| matches!(it.r#type.as_str(), "Valid" | "Installed" | "Healthy") && it.status != "True");
            p.nowrap { (it.spec.registration_ref.name) " "
                @match bad {
                    Some(condition) => { span class={"chip c-" (condition.status)} { (condition.status) } " " (condition.r#type) ": " (condition.message) }
                    None => { span.kept { "installed" } }
                }
            }
        }
    }
}

fn seeds_table(seeds: &[Seed], installed: &[ControllerInstallation], shoots: &[Arc<ShootRow>]) -> Markup {
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
                html! { (seed.status.gardener.as_ref().map_or(table::NONE, |gardenlet| gardenlet.version.as_str())) },
                html! { (seed.status.kubernetes_version.as_deref().unwrap_or(table::NONE)) },
                html! { (own) },
                extensions(installed, name),
                html! { @for condition in &seed.status.conditions {
                    p { span class={"chip c-" (condition.status)} { (condition.status) } " " (condition.r#type)
                        @if condition.status != "True" { ": " (condition.message) } }
                } },
            ]
        })
        .collect();
    html! {
        @if rows.is_empty() { p { "There are no Seeds that you may see." } }
        @else { (table::plain("Seeds and their conditions", &["Seed", "Gardenlet", "Kubernetes", "Shoots", "Extensions", "Conditions"], &rows)) }
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
                Cell::Unconcerned => {
                    html! { span.unseen { "not concerned" } span aria-hidden="true" { (table::NONE) } }
                }
                Cell::Kept => html! { span.kept { "satisfied" } },
                Cell::Violated(texts) => html! { span.bad { "violated" } @for text in texts { p { (text) } } },
            });
            let says = words::meaning(&rule).unwrap_or_default().to_owned();
            [html! { (rule) }, html! { div.says { (says) } }].into_iter().chain(cells).collect()
        })
        .collect();
    html! {
        p { @if broken == 0 { (counted(fleet.landscape.instances.len(), "instance runs", "instances run")) ", and no rule is violated." }
            @else { strong.bad { (counted(broken, "rule is violated", "rules are violated")) "." } } }
        div.matrix { (table::plain("Rules by component", &headers, &rows)) }
    }
}

fn allowed_versions(view: &View, fleet: &Fleet) -> Markup {
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
            table::plain(&format!("With {}", shown.join(", ")), &["Component", "Oldest", "Newest", "Rules"], &rows)
        }
    }
}

fn warnings(view: &View, fleet: &Fleet) -> Vec<String> {
    let gardener = &view.gardener;
    let Fleet { landscape, shoots, gates, first_hash_forms, .. } = fleet;
    skew::unwise(landscape, gardener, shoots, gates, first_hash_forms, view.rules(), view.now())
}

/// Shows the number of Shoots that each version reconciled last.
fn by_version(shoots: &[Arc<ShootRow>]) -> Markup {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for shoot in shoots {
        *counts.entry(&shoot.gardener).or_default() += 1;
    }
    html! {
        @if counts.is_empty() {
            p { "There are no Shoots that you may see." }
        } @else {
            ul.versions {
                @for (version, count) in counts.iter().rev() {
                    li { @if version.is_empty() { "not reconciled yet" } @else { (version) } ": "
                        progress max=(shoots.len()) value=(count) aria-label={"Shoots at " (version)} {} " " (count) " of " (shoots.len()) }
                }
            }
        }
    }
}

/// Progress of a plan's steps. A plan is computed again from the running versions, so completed steps are no longer in it.
struct Progress<'a> {
    deployments: &'a [Deployment],
    pods: &'a [Arc<Pod>],
}

impl Progress<'_> {
    /// Returns the Deployments that a step replaces: one, except for an extension, which each seed has.
    fn of(&self, step: &Step) -> Vec<&Deployment> {
        let (name, cluster) = match step.component {
            Component::Extension => (library::deployment_of(&step.owner).unwrap_or_default(), None),
            Component::Gardenlet => (step.component.name().to_owned(), Some(api::cluster::of_seed(&step.owner))),
            component => (component.name().to_owned(), Some(api::cluster::RUNTIME.to_owned())),
        };
        let is_meant = |it: &&Deployment| {
            let at = it.metadata.annotation(annotation::CLUSTER).unwrap_or_default();
            it.metadata.name == name && cluster.as_deref().is_none_or(|cluster| cluster == at)
        };
        self.deployments.iter().filter(is_meant).collect()
    }

    /// Returns the state of a step, by its index in the plan.
    fn state(&self, step: &Step, index: usize) -> Markup {
        let own = self.of(step);
        let is_asked_for = |it: &&&Deployment| {
            let image = it.spec.template.spec.containers.first().map_or("", |container| &container.image);
            version_of(image).is_some_and(|version| version == step.to)
        };
        let asked: Vec<&&Deployment> = own.iter().filter(is_asked_for).collect();
        let illegal = asked.iter().find_map(|it| match problem(it, self.pods, &step.to) {
            Some(State::Refused(why) | State::Failed(why)) => Some(why),
            Some(State::Done | State::Waits(_)) | None => None,
        });
        if let Some(why) = illegal {
            return html! { strong.bad { "illegal" } ": " (why) };
        }
        if let Some((it, waits)) = asked.iter().find_map(|it| Some((it, rolls(it, self.pods, &step.to)?))) {
            let is_new = |pod: &&Arc<Pod>| {
                let image = pod.spec.containers.first().map_or("", |container| &container.image);
                version_of(image).is_some_and(|version| version == step.to)
            };
            let all = pods_of(it, self.pods);
            let new = all.iter().filter(is_new).count();
            return html! {
                strong { "running" } ": " (counted(new, "new pod", "new pods")) ", "
                (counted(all.len() - new, "old pod", "old pods")) " "
                progress max=(all.len().max(1)) value=(new) aria-label={"New pods of " (step.component.name())} {} " " (waits)
            };
        }
        if !asked.is_empty() {
            return html! { strong { "running" } ": its new instances are to register" };
        }
        if index == 0 {
            html! { "next" }
        } else {
            html! { "waits for step " (index) }
        }
    }
}

/// Shows the running upgrade, or the result of the last one.
fn carried_out(view: &View) -> Markup {
    let progress = view.dashboard.options().upgrades.as_ref().and_then(|upgrades| upgrades.progress());
    let Some(progress) = progress.filter(|_| view.at.is_none()) else { return html! {} };
    let (done, all) = (progress.done, progress.steps.len());
    html! {
        @if progress.is_running {
            p { strong { "Upgrade to " (progress.to) } ": "
                progress max=(all.max(1)) value=(done) aria-label="Steps that are done" {} " " (done) " of " (all) " steps done"
                @if let Some(step) = progress.steps.get(done) { "; now " (step) } "." }
            @if progress.is_pausing { p { "It ends before the next component." } }
            @else { (form::button(view, "upgrade", &[("step", "pause")], "Pause before the next component", None)) }
        } @else if let Some(problem) = &progress.problem {
            (Message::new(Severity::Warning, format!("the upgrade to {} ended after {done} of {all} steps: {problem}", progress.to)).markup())
        } @else {
            (Message::new(Severity::Done, format!("the upgrade to {} is done: {}", progress.to, counted(all, "step", "steps"))).markup())
        }
    }
}

/// Returns the form that starts an upgrade by a plan, if the landscape has an executor of upgrades.
fn begin(view: &View, to: &str) -> Markup {
    let is_free = |upgrades: &Arc<dyn Upgrades>| upgrades.progress().is_none_or(|progress| !progress.is_running);
    html! {
        @if view.dashboard.options().upgrades.as_ref().is_some_and(is_free) {
            p { (form::button(view, "upgrade", &[("step", "begin"), ("to", to)], "Carry it out", None)) }
        }
    }
}

fn upgrade(view: &View, fleet: &Fleet, deployments: &[Deployment], pods: &[Arc<Pod>]) -> Markup {
    let to = view.query.text("to");
    let form = html! {
        (carried_out(view))
        form method="get" action="/dashboard/landscape#upgrade" {
            @if !view.query.text("at").is_empty() { input type="hidden" name="at" value=(view.query.text("at")); }
            div.fields { (form::text("to", "Plan an upgrade to", to, "1.121, or v1.121.0", &[])) }
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
    let progress = Progress { deployments, pods };
    let is_done =
        |one: &&Instance| GardenerVersion::parse(&one.version).is_some_and(|version| version == planned.target);
    let done: Vec<&str> = fleet.landscape.instances.iter().filter(is_done).map(|one| one.component.name()).collect();
    let rows: Vec<Vec<Markup>> = planned
        .plan
        .steps
        .iter()
        .enumerate()
        .map(|(index, step)| {
            vec![
                html! { (index + 1) },
                html! { (step.component.name()) },
                html! { (fleet.name_of(step.index).unwrap_or_else(|| table::NONE.to_owned())) },
                html! { (step.from) },
                html! { (step.to) },
                progress.state(step, index),
                html! { @for wait in shown(step, fleet) { p { (wait) } } },
            ]
        })
        .collect();
    html! {
        (form)
        @if let Some(text) = &planned.unknown_release { (Message::new(Severity::Warning, text.as_str()).markup()) }
        @for text in &planned.violated { (Message::new(Severity::Warning, text.as_str()).markup()) }
        @if rows.is_empty() { p { "Nothing to do: every component is at " (planned.target) "." } }
        @else { (table::plain(&format!("Steps to {}", planned.target), &["Step", "Component", "Instance", "From", "To", "State", "What must hold before"], &rows)) }
        @if !done.is_empty() { p { "Done: " (counted(done.len(), "instance is", "instances are")) " at " (planned.target) " already: " (first_of(done.into_iter(), 10)) "." } }
        @for text in &planned.pinned { (Message::new(Severity::Warning, text.as_str()).markup()) }
        @if !planned.notes.is_empty() { ul { @for note in &planned.notes { li { (note) } } } }
        @if view.at.is_none() && !planned.plan.steps.is_empty() { (begin(view, &planned.target.to_string())) }
        p.hint { "As of " (time::instant(view.now())) ". " @if view.at.is_none() { code { "terrarium upgrade apply --to " (planned.target) @if planned.unknown_release.is_some() { " --force" } } " carries it out, too." } }
    }
}
