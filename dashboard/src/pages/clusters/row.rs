// SPDX-License-Identifier: Apache-2.0
//! One Shoot as a row.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use api::core::{CloudProfileSpec, Condition, Shoot};
use chrono::{DateTime, Utc};
use domain::cloud_profile;
use domain::shoot_facts::{is_confined, is_hibernation_enabled};
use domain::versions::{Expirable, Moment, State, Version};
use maud::{Markup, html};
use ops::names::ProfileKey;
use ops::past::rows::{Count, PoolRow, ShootRow};

use super::filter::{Filter, Term, days};
use super::source::Source;
use crate::pages::inventory::Offers;
use crate::pages::maintenance;
use crate::parts::{badge, table, time};
use crate::view::View;

/// Fields of a Shoot that rows are filtered and sorted by.
pub(super) struct Light<'a> {
    pub(super) row: Arc<ShootRow>,
    pub(super) project: Cow<'a, str>,
    /// The whole Shoot, if it was read.
    pub(super) shoot: Option<&'a Shoot>,
    class: Option<State>,
    version: Option<Version>,
    /// Instant of the next maintenance, if the rows are sorted by it.
    maintenance: Option<DateTime<Utc>>,
    issue_since: Option<DateTime<Utc>>,
    nodes: Option<Count>,
}

impl<'a> Light<'a> {
    pub(super) fn of(
        view: &View,
        row: Arc<ShootRow>,
        shoot: Option<&'a Shoot>,
        project: Cow<'a, str>,
        offers: &Offers,
        nodes: Option<Count>,
    ) -> Self {
        let version = &row.spec.kubernetes;
        let offered = offers.get(&row.spec.profile);
        let entry = offered.and_then(|offered| cloud_profile::kubernetes_version(offered, version));
        Self {
            project,
            shoot,
            class: entry.map(|entry| view.moment().state(entry)),
            version: Version::parse(version).ok(),
            maintenance: None,
            issue_since: issue_since(&row),
            nodes,
            row,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.row.name
    }

    /// Calculates the instant of the next maintenance. `scratch` is an empty Shoot, or one that another row has filled.
    pub(super) fn plan(&mut self, view: &View, scratch: &mut Shoot) {
        self.row.schedule(scratch);
        self.maintenance = self.row.deleted.is_none().then(|| maintenance::next_run(view, scratch).0);
    }

    /// True if a version that the Shoot uses expires up to an instant: otherwise nothing is forced until then.
    pub(super) fn expires(&self, offers: &Offers, until: DateTime<Utc>) -> bool {
        let Some(offered) = offers.get(&self.row.spec.profile) else { return false };
        let is_over = |date: Option<DateTime<Utc>>| date.is_some_and(|date| date <= until);
        let kubernetes = |version: &str| {
            cloud_profile::kubernetes_version(offered, version).is_some_and(|entry| is_over(entry.expiration_date()))
        };
        let image = |pool: &PoolRow| {
            cloud_profile::machine_image_version(offered, &pool.image, &pool.image_version)
                .is_some_and(|entry| is_over(entry.expiration_date()))
        };
        let mut pools = self.row.spec.pools.iter();
        kubernetes(&self.row.spec.kubernetes)
            || pools.any(|pool| pool.kubernetes.as_deref().is_some_and(kubernetes) || image(pool))
    }

    fn seed(&self) -> &str {
        self.row.placed().map_or("", |seed| seed)
    }

    /// Returns `Reconcile Processing`, `Create Pending`.
    fn status(&self) -> String {
        match &self.row.operation {
            Some(operation) => format!("{} {}", operation.kind, operation.state),
            None => "Create Pending".to_owned(),
        }
    }

    /// Returns the numbers of existing nodes and of ready nodes, and their bounds.
    fn nodes(&self) -> (i64, i64, (i32, i32)) {
        let Count { all, ready } = self.nodes.unwrap_or_default();
        (all, ready, wanted(&self.row))
    }

    /// True if all terms of a filter hold; `forced`: instant of the first forced update.
    pub(super) fn passes(&self, filter: &Filter, now: DateTime<Utc>, forced: Option<DateTime<Utc>>) -> bool {
        filter.terms.iter().all(|term| self.holds(term, now, forced) != term.excludes)
    }

    fn holds(&self, term: &Term, now: DateTime<Utc>, forced: Option<DateTime<Utc>>) -> bool {
        let value = term.value.as_str();
        let has = |text: &str| text.to_lowercase().contains(value);
        let is = |text: &str| text.to_lowercase() == value;
        let row = &self.row;
        match term.key {
            None => [self.name(), &self.project, &row.spec.kubernetes, self.seed(), &self.status(), &row.spec.purpose]
                .into_iter()
                .any(has),
            Some("project") => is(&self.project) || is(&row.namespace),
            Some("seed") => is(self.seed()),
            Some("version") => is_version(&row.spec.kubernetes, value),
            Some("image") => row.spec.pools.iter().any(|PoolRow { image, image_version, .. }| {
                is(image) || is(&format!("{image}/{image_version}")) || is_version(image_version, value)
            }),
            Some("class") => self.class.is_some_and(|class| is(&class.to_string())),
            Some("state") => {
                row.operation.as_ref().is_some_and(|operation| is(&operation.state))
                    || (value == "hibernated" && row.is_hibernated)
                    || (value == "deleted" && row.deleted.is_some())
            }
            Some("condition") => row.conditions.iter().chain(row.constraints.iter()).any(|condition| {
                *condition.words.status != *"True"
                    && (is(&condition.words.name) || is(letters(&condition.words.name)) || is(&condition.words.status))
            }),
            Some("provider") => is(&row.spec.provider),
            Some("purpose") => is(&row.spec.purpose),
            Some("label") => row.labels.iter().any(|(key, label)| is(key) || is(&format!("{key}={label}"))),
            Some("forced") => {
                let within = days(value).and_then(|length| now.checked_add_signed(length));
                forced.zip(within).is_some_and(|(forced, within)| forced <= within)
            }
            Some(_) => false,
        }
    }

    /// Compares by a column; ties are left to the caller, which compares project and name.
    pub(super) fn order(&self, other: &Self, column: &str) -> Ordering {
        match column {
            "name" => self.name().cmp(other.name()),
            "status" => self.status().cmp(&other.status()),
            "kubernetes" => self.version.cmp(&other.version),
            "readiness" => other.unready().cmp(&self.unready()),
            "maintenance" => self.maintenance.cmp(&other.maintenance),
            "seed" => self.seed().cmp(other.seed()),
            "purpose" => self.row.spec.purpose.cmp(&other.row.spec.purpose),
            "nodes" => self.nodes().cmp(&other.nodes()),
            // The oldest issue first; rows without an issue last.
            "issue" => match (self.issue_since, other.issue_since) {
                (Some(own), Some(others)) => own.cmp(&others),
                (own, others) => own.is_none().cmp(&others.is_none()),
            },
            "technical" => self.row.technical_id.cmp(&other.row.technical_id),
            "created" => self.row.created.cmp(&other.row.created),
            "provider" => self.row.spec.provider.cmp(&other.row.spec.provider),
            "images" => image_names(&self.row).cmp(&image_names(&other.row)),
            "gardener" => self.row.gardener.cmp(&other.row.gardener),
            _ => self.project.cmp(&other.project),
        }
    }

    fn unready(&self) -> usize {
        self.row.conditions.iter().filter(|condition| *condition.words.status != *"True").count()
    }
}

/// A Shoot on screen, its project, and the versions that it is offered.
pub(super) struct Row<'a> {
    pub(super) shoot: &'a Shoot,
    project: Cow<'a, str>,
    offered: Option<&'a CloudProfileSpec>,
    class: Option<State>,
    maintenance: Option<DateTime<Utc>>,
    light: ShootRow,
    nodes: Option<Count>,
}

impl<'a> Row<'a> {
    pub(super) fn of(
        view: &View,
        shoot: &'a Shoot,
        project: Cow<'a, str>,
        offers: &'a Offers,
        source: &Source,
    ) -> Self {
        let offered = offers.get(&ProfileKey::of(shoot));
        let version = &shoot.spec.kubernetes.version;
        let entry = offered.and_then(|offered| cloud_profile::kubernetes_version(offered, version));
        let is_maintained = shoot.metadata.deletion_timestamp.is_none();
        Self {
            shoot,
            project,
            offered,
            class: entry.map(|entry| view.moment().state(entry)),
            maintenance: is_maintained.then(|| maintenance::next_run(view, shoot).0),
            light: ShootRow::of(shoot),
            nodes: source.nodes(&shoot.status.technical_id),
        }
    }

    pub(super) fn name(&self) -> &'a str {
        &self.shoot.metadata.name
    }

    /// Returns the gravest state of an image of a pool.
    fn image_state(&self, at: Moment) -> Option<State> {
        let offered = self.offered?;
        let pools = self.light.spec.pools.iter();
        let states = pools
            .filter_map(|pool| cloud_profile::machine_image_version(offered, &pool.image, &pool.image_version))
            .map(|entry| at.state(entry));
        states.max_by_key(|state| gravity(*state))
    }

    /// Returns the cell of a column.
    pub(super) fn cell(&self, view: &View, column: &str) -> Markup {
        let (now, row) = (view.now(), &self.light);
        match column {
            "project" => html! { (self.project) },
            "name" => html! { a href=(view.to_cluster(&self.project, self.name())) { (self.name()) } },
            "status" => status(self.shoot),
            "kubernetes" => html! {
                span.nowrap {
                    (self.shoot.spec.kubernetes.version) " "
                    @match self.class {
                        Some(class) => { (badge::of_state(class)) }
                        None => { (badge::not_offered()) }
                    }
                    @if let Some(state) = self.image_state(view.moment()) { br; "image " (badge::of_state(state)) }
                }
            },
            "readiness" => chips(self.shoot, now),
            "maintenance" => self.next(view),
            "seed" => html! { (row.placed().map_or("", |seed| seed)) },
            "purpose" => html! { (row.spec.purpose) },
            "nodes" => {
                let (least, most) = wanted(row);
                html! {
                    @match self.nodes {
                        Some(Count { all: 0, .. }) => { "0" }
                        Some(Count { all, ready }) => { (ready) "/" (all) }
                        None => { (table::NONE) }
                    }
                    // A number of nodes within its bounds needs no second number.
                    @if least < most { br; span.far.nowrap { "of " (least) " to " (most) } }
                    @else if self.nodes.is_none_or(|count| count.all != i64::from(most)) { br; span.far.nowrap { "of " (most) } }
                }
            }
            "issue" => {
                html! { @if let Some(since) = issue_since(row) { (time::distance(since, now)) } }
            }
            "technical" => html! { (row.technical_id) },
            "created" => html! { (time::instant(row.created)) },
            "provider" => html! { (row.spec.provider) },
            "images" => html! { (image_names(row).join(", ")) },
            "gardener" => html! { (row.gardener) },
            _ => html! {},
        }
    }

    fn next(&self, view: &View) -> Markup {
        let Some(at) = self.maintenance else { return html! { "none: it is deleted" } };
        let changes =
            self.offered.map(|offered| maintenance::changes(view, self.shoot, offered, at)).unwrap_or_default();
        html! {
            (time::relative(at, view.now())) br; (time::instant(at))
            @if changes.is_empty() { br; "no version changes" }
            @for change in &changes { br; (maintenance::sentence(change)) }
        }
    }
}

/// Returns the minimum and the maximum number of nodes of all pools.
fn wanted(row: &ShootRow) -> (i32, i32) {
    let sum = |of: fn(&PoolRow) -> i32| row.spec.pools.iter().map(of).fold(0, i32::saturating_add);
    (sum(|pool| pool.nodes.0), sum(|pool| pool.nodes.1))
}

/// Returns the machine images of the pools, each once.
fn image_names(row: &ShootRow) -> Vec<String> {
    let images = row.spec.pools.iter().filter(|pool| !pool.image.is_empty());
    let mut all: Vec<String> = images.map(|pool| format!("{} {}", pool.image, pool.image_version)).collect();
    all.sort();
    all.dedup();
    all
}

/// True if a version matches: itself, or its minor version (`1.31` matches 1.31.2).
fn is_version(version: &str, wanted: &str) -> bool {
    version == wanted || version.strip_prefix(wanted).is_some_and(|rest| rest.starts_with(['.', '-', '+']))
}

fn gravity(state: State) -> u8 {
    match state {
        State::Supported => 0,
        State::Unclassified => 1,
        State::Preview => 2,
        State::Deprecated => 3,
        State::Unavailable => 4,
        State::Expired => 5,
    }
}

/// Returns the instant since which a condition or the last operation reports a problem.
fn issue_since(row: &ShootRow) -> Option<DateTime<Utc>> {
    let conditions = row.conditions.iter().filter(|condition| matches!(&*condition.words.status, "False" | "Unknown"));
    let conditions = conditions.map(|condition| condition.since);
    let failed = row.operation.iter().filter(|operation| matches!(&*operation.state, "Error" | "Failed"));
    conditions.chain(failed.map(|operation| operation.time)).min()
}

/// Shows the last operation, and other obstacles.
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
        @if is_confined(&shoot.spec) {
            br; span.far { "changes are confined to maintenance" }
        }
    }
}

/// Returns the letters of a condition or constraint.
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

/// Returns a chip for each condition, and for each constraint that is not met.
fn chips(shoot: &Shoot, now: DateTime<Utc>) -> Markup {
    let constraints = shoot.status.constraints.iter().filter(|constraint| constraint.status != "True");
    html! { span.chips { @for condition in shoot.status.conditions.iter().chain(constraints) { (chip(condition, now)) } } }
}

fn chip(condition: &Condition, now: DateTime<Utc>) -> Markup {
    let since = time::relative(condition.last_transition_time.0, now);
    let said = format!("{} {}, since {since}: {}", condition.r#type, condition.status, condition.message);
    html! {
        span class={"chip c-" (condition.status)} role="img" tabindex="0" aria-label=(said) data-says { (letters(&condition.r#type)) }
    }
}
