// SPDX-License-Identifier: Apache-2.0
//! One Shoot as a row.

use std::cmp::Ordering;

use api::core::{CloudProfileSpec, Condition, Shoot};
use chrono::{DateTime, Utc};
use domain::cloud_profile;
use domain::reconcile::{is_confined, is_hibernation_enabled};
use domain::versions::{State, Version, state};
use maud::{Markup, html};
use ops::world::ProfileKey;

use super::filter::{Filter, Term, days};
use crate::pages::maintenance;
use crate::pages::world::Offers;
use crate::parts::{badge, time};
use crate::view::View;

/// A Shoot, its project, and what is offered to it.
pub(super) struct Row<'a> {
    pub(super) shoot: &'a Shoot,
    pub(super) project: &'a str,
    pub(super) offered: Option<&'a CloudProfileSpec>,
    pub(super) class: Option<State>,
    version: Option<Version>,
    pub(super) maintenance: Option<DateTime<Utc>>,
    pub(super) issue_since: Option<DateTime<Utc>>,
}

impl<'a> Row<'a> {
    pub(super) fn of(view: &View, shoot: &'a Shoot, project: &'a str, offers: &'a Offers) -> Self {
        let offered = offers.get(&ProfileKey::of(shoot));
        let version = &shoot.spec.kubernetes.version;
        let entry = offered.and_then(|offered| cloud_profile::kubernetes_version(offered, version));
        let is_maintained = shoot.metadata.deletion_timestamp.is_none();
        Self {
            shoot,
            project,
            offered,
            class: entry.map(|entry| state(entry, view.now())),
            version: Version::parse(version).ok(),
            maintenance: is_maintained.then(|| maintenance::next_run(view, shoot).0),
            issue_since: issue_since(shoot),
        }
    }

    pub(super) fn name(&self) -> &'a str {
        &self.shoot.metadata.name
    }

    pub(super) fn seed(&self) -> &'a str {
        self.shoot.status.seed_name.as_deref().or(self.shoot.spec.seed_name.as_deref()).unwrap_or_default()
    }

    pub(super) fn purpose(&self) -> &'a str {
        self.shoot.spec.purpose.as_deref().unwrap_or_default()
    }

    /// `Reconcile Processing`, `Create Pending`.
    pub(super) fn status(&self) -> String {
        match &self.shoot.status.last_operation {
            Some(operation) => format!("{} {}", operation.r#type, operation.state),
            None => "Create Pending".to_owned(),
        }
    }

    fn images(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.shoot.spec.provider.workers.iter().filter_map(|worker| {
            let image = worker.machine.image.as_ref()?;
            Some((image.name.as_str(), image.version.as_deref().unwrap_or_default()))
        })
    }

    pub(super) fn image_names(&self) -> Vec<String> {
        let mut all: Vec<String> = self.images().map(|(name, version)| format!("{name} {version}")).collect();
        all.sort();
        all.dedup();
        all
    }

    /// The gravest state of an image of a pool, where that is to be known.
    fn image_state(&self, now: DateTime<Utc>) -> Option<State> {
        let offered = self.offered?;
        let states = self
            .images()
            .filter_map(|(name, version)| cloud_profile::machine_image_version(offered, name, version))
            .map(|entry| state(entry, now));
        states.max_by_key(|state| gravity(*state)).filter(|state| gravity(*state) > 1)
    }

    /// Least and most nodes of all pools.
    pub(super) fn nodes(&self) -> (i32, i32) {
        let workers = &self.shoot.spec.provider.workers;
        let sum = |of: fn(&api::core::Worker) -> i32| workers.iter().map(of).fold(0, i32::saturating_add);
        (sum(|worker| worker.minimum), sum(|worker| worker.maximum))
    }

    /// Whether all terms of a filter hold; `forced` when the first forced update comes.
    pub(super) fn passes(&self, filter: &Filter, now: DateTime<Utc>, forced: Option<DateTime<Utc>>) -> bool {
        filter.terms.iter().all(|term| self.holds(term, now, forced) != term.excludes)
    }

    fn holds(&self, term: &Term, now: DateTime<Utc>, forced: Option<DateTime<Utc>>) -> bool {
        let value = term.value.as_str();
        let has = |text: &str| text.to_lowercase().contains(value);
        let is = |text: &str| text.to_lowercase() == value;
        let (spec, status) = (&self.shoot.spec, &self.shoot.status);
        match term.key {
            None => [self.name(), self.project, &spec.kubernetes.version, self.seed(), &self.status(), self.purpose()]
                .into_iter()
                .any(has),
            Some("project") => is(self.project) || is(&self.shoot.metadata.namespace),
            Some("seed") => is(self.seed()),
            Some("version") => is_version(&spec.kubernetes.version, value),
            Some("image") => self
                .images()
                .any(|(name, version)| is(name) || is(&format!("{name}/{version}")) || is_version(version, value)),
            Some("class") => self.class.is_some_and(|class| is(&class.to_string())),
            Some("state") => {
                status.last_operation.as_ref().is_some_and(|operation| is(&operation.state))
                    || (value == "hibernated" && status.hibernated)
                    || (value == "deleted" && self.shoot.metadata.deletion_timestamp.is_some())
            }
            Some("condition") => status.conditions.iter().chain(&status.constraints).any(|condition| {
                condition.status != "True"
                    && (is(&condition.r#type) || is(letters(&condition.r#type)) || is(&condition.status))
            }),
            Some("provider") => is(&spec.provider.r#type),
            Some("purpose") => is(self.purpose()),
            Some("label") => {
                let labels = &self.shoot.metadata.labels;
                labels.iter().any(|(key, label)| is(key) || is(&format!("{key}={label}")))
            }
            Some("forced") => {
                let within = days(value).and_then(|length| now.checked_add_signed(length));
                forced.zip(within).is_some_and(|(forced, within)| forced <= within)
            }
            Some(_) => false,
        }
    }

    /// The order by a column, without the last word: project and name.
    pub(super) fn order(&self, other: &Self, column: &str) -> Ordering {
        match column {
            "name" => self.name().cmp(other.name()),
            "status" => self.status().cmp(&other.status()),
            "kubernetes" => self.version.cmp(&other.version),
            "readiness" => other.unready().cmp(&self.unready()),
            "maintenance" => self.maintenance.cmp(&other.maintenance),
            "seed" => self.seed().cmp(other.seed()),
            "purpose" => self.purpose().cmp(other.purpose()),
            "nodes" => self.nodes().cmp(&other.nodes()),
            // The oldest issue first; what has none comes last.
            "issue" => match (self.issue_since, other.issue_since) {
                (Some(own), Some(others)) => own.cmp(&others),
                (own, others) => own.is_none().cmp(&others.is_none()),
            },
            "technical" => self.shoot.status.technical_id.cmp(&other.shoot.status.technical_id),
            "created" => created(self.shoot).cmp(&created(other.shoot)),
            "provider" => self.shoot.spec.provider.r#type.cmp(&other.shoot.spec.provider.r#type),
            "images" => self.image_names().cmp(&other.image_names()),
            "gardener" => self.shoot.status.gardener.version.cmp(&other.shoot.status.gardener.version),
            _ => self.project.cmp(other.project),
        }
    }

    fn unready(&self) -> usize {
        self.shoot.status.conditions.iter().filter(|condition| condition.status != "True").count()
    }

    /// The cell of a column.
    pub(super) fn cell(&self, view: &View, column: &str) -> Markup {
        let now = view.now();
        match column {
            "project" => html! { (self.project) },
            "name" => html! { a href=(view.to_cluster(self.project, self.name())) { (self.name()) } },
            "status" => status(self.shoot),
            "kubernetes" => html! {
                span.nowrap {
                    (self.shoot.spec.kubernetes.version) " "
                    @match self.class {
                        Some(class) => { (badge::of_state(class)) }
                        None => { (badge::not_offered()) }
                    }
                    @if let Some(state) = self.image_state(now) { " " span title="the gravest state of an image" { "image " (badge::of_state(state)) } }
                }
            },
            "readiness" => chips(self.shoot, now),
            "maintenance" => self.next(view),
            "seed" => html! { (self.seed()) },
            "purpose" => html! { (self.purpose()) },
            "nodes" => {
                let (least, most) = self.nodes();
                html! { @if least == most { (most) } @else { (least) "–" (most) } }
            }
            "issue" => {
                html! { @if let Some(since) = self.issue_since { span title=(time::text(since)) { (time::relative(since, now)) } } }
            }
            "technical" => html! { (self.shoot.status.technical_id) },
            "created" => html! { (time::instant(created(self.shoot))) },
            "provider" => html! { (self.shoot.spec.provider.r#type) },
            "images" => html! { (self.image_names().join(", ")) },
            "gardener" => html! { (self.shoot.status.gardener.version) },
            _ => html! {},
        }
    }

    fn next(&self, view: &View) -> Markup {
        let Some(at) = self.maintenance else { return html! { "none: it is deleted" } };
        let changes =
            self.offered.map(|offered| maintenance::changes(view, self.shoot, offered, at)).unwrap_or_default();
        html! {
            span.nowrap { (time::relative(at, view.now())) } br; span.far { (time::instant(at)) }
            @if changes.is_empty() { br; span.far { "nothing" } }
            @for change in &changes { br; (maintenance::sentence(change)) }
        }
    }
}

fn created(shoot: &Shoot) -> DateTime<Utc> {
    shoot.metadata.creation_timestamp.0
}

/// Whether a version is meant: itself, or one of its minor (`1.31` means 1.31.2, too).
fn is_version(version: &str, wanted: &str) -> bool {
    version == wanted || version.strip_prefix(wanted).is_some_and(|rest| rest.starts_with(['.', '-', '+']))
}

fn gravity(state: State) -> u8 {
    match state {
        State::Supported | State::Unclassified => 0,
        State::Preview => 1,
        State::Deprecated => 2,
        State::Expired => 3,
    }
}

/// Since when something is wrong: a condition, or the last operation.
fn issue_since(shoot: &Shoot) -> Option<DateTime<Utc>> {
    let status = &shoot.status;
    let conditions =
        status.conditions.iter().filter(|condition| matches!(condition.status.as_str(), "False" | "Unknown"));
    let conditions = conditions.map(|condition| condition.last_transition_time.0);
    let failed =
        status.last_operation.iter().filter(|operation| matches!(operation.state.as_str(), "Error" | "Failed"));
    conditions.chain(failed.map(|operation| operation.last_update_time.0)).min()
}

/// The last operation, and what else stands in the way.
pub(crate) fn status(shoot: &Shoot) -> Markup {
    let codes: Vec<&str> = shoot.status.last_errors.iter().flat_map(|error| &error.codes).map(String::as_str).collect();
    html! {
        @match &shoot.status.last_operation {
            Some(operation) => {
                span.nowrap.bad[matches!(operation.state.as_str(), "Failed" | "Error")] { (operation.r#type) " " (operation.state)
                    @if !matches!(operation.state.as_str(), "Succeeded") {
                        " (" (operation.progress) "%) "
                        progress max="100" value=(operation.progress.clamp(0, 100)) aria-label="progress" {}
                    }
                }
            }
            None => { "Create Pending" }
        }
        @if !codes.is_empty() { br; span.bad { (codes.join(", ")) } }
        @if shoot.metadata.deletion_timestamp.is_some() { br; span.far { "marked for deletion" } }
        @if shoot.status.hibernated { br; span.far { "hibernated" } }
        @else if is_hibernation_enabled(&shoot.spec) { br; span.far { "is to be hibernated" } }
        @if is_confined(&shoot.spec) && shoot.status.observed_generation < shoot.metadata.generation {
            br; span.far { "confined: a change waits for maintenance" }
        }
    }
}

/// Letters of a condition or constraint.
pub(crate) fn letters(condition: &str) -> &str {
    match condition {
        "APIServerAvailable" => "API",
        "ControlPlaneHealthy" => "CP",
        "SystemComponentsHealthy" => "SC",
        "EveryNodeReady" => "N",
        "ObservabilityComponentsHealthy" => "OC",
        "MaintenancePreconditionsSatisfied" => "M",
        "HibernationPossible" => "H",
        "CACertificateValiditiesAcceptable" => "CA",
        "CRDsWithProblematicConversionWebhooks" => "CRD",
        "ManualInPlaceWorkersUpdated" => "IP",
        other => other,
    }
}

/// A chip for each condition, and for each constraint that is not met.
fn chips(shoot: &Shoot, now: DateTime<Utc>) -> Markup {
    let constraints = shoot.status.constraints.iter().filter(|constraint| constraint.status != "True");
    html! { span.chips { @for condition in shoot.status.conditions.iter().chain(constraints) { (chip(condition, now)) } } }
}

fn chip(condition: &Condition, now: DateTime<Utc>) -> Markup {
    let since = time::relative(condition.last_transition_time.0, now);
    let said = format!("{} {}, since {since}: {}", condition.r#type, condition.status, condition.message);
    html! {
        span class={"chip c-" (condition.status)} role="img" tabindex="0" title=(said) aria-label=(said) { (letters(&condition.r#type)) }
    }
}
