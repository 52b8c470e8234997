// SPDX-License-Identifier: Apache-2.0
//! Forecast of maintenance for all Shoots, from the moment that the page shows, and with what-ifs.
//!
//! | parameter | is |
//! | --- | --- |
//! | `until` | the end: an instant, or a length of time from the beginning; default 90 days |
//! | `expire` | versions expire at another time, `kubernetes/1.31=2027-01-31`; several |
//! | `classify` | versions have another classification, `kubernetes/1.31.2=deprecated`; several |
//! | `auto` | automatic updates of all Shoots of a namespace, or of `all`, `NAMESPACE=off`; several |
//! | `only` | kind of changes that are shown |
//! | `lanes` | `version`: the picture has a lane for each version that is left, else for each project |
//! | `explain` | `NAMESPACE/NAME`: explains why versions of a Shoot are chosen or skipped |

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use api::cluster::GARDEN;
use api::core::{CloudProfile, Shoot};
use chrono::{DateTime, TimeDelta, Utc};
use clock::Random;
use controller::Error;
use domain::forecast::Change;
use domain::worker_pool::Effect;
use http::StatusCode;
use maud::{Markup, html};
use ops::forecast::rows::{self, Row};
use ops::forecast::summary::{self, By};
use ops::forecast::what_if::{self, Auto, Classify, Expire};
use ops::forecast::{Forecast, Only};
use ops::instant::When;
use ops::inventory::Inventory;
use ops::past::resource;
use ops::past::timeline::Subject;
use process::Work;
use process::offload::TooManyWaiting;

use super::Rest;
use super::inventory::inventory;
use super::versions::dates;
use crate::input::Fields;
use crate::message::{Message, Severity};
use crate::page::{Page, Region, Section};
use crate::parts::{form, lines, table, time};
use crate::refusal::Refusal;
use crate::view::{View, link};

/// Maximum number of rows of the table.
const SHOWN: usize = 200;
/// Width of a place in the picture: marks that would be drawn at one place become one.
const GRAIN: f64 = 4.0;
/// Maximum number of lanes of the picture.
const LANES: usize = 40;
/// Default length of a forecast.
const LENGTH: &str = "90d";
/// Sentence for a user with too many waiting forecasts.
const TOO_MANY_FORECASTS: &str = "Too many forecasts are being calculated for you: load the page again in a moment.";
/// Maximum number of versions that can be applied from the page.
const APPLIED: usize = 20;

/// Assumed differences to the landscape.
#[derive(Default)]
struct WhatIf {
    expire: Vec<Expire>,
    classify: Vec<Classify>,
    auto: Vec<Auto>,
    complaints: Vec<String>,
}

impl WhatIf {
    fn read(query: &Fields) -> Self {
        let mut what_if = Self::default();
        let complaints = &mut what_if.complaints;
        what_if.expire = read(query, "expire", complaints);
        what_if.classify = read(query, "classify", complaints);
        what_if.auto = read(query, "auto", complaints);
        what_if
    }

    fn is_none(&self) -> bool {
        self.expire.is_empty() && self.classify.is_empty() && self.auto.is_empty()
    }

    /// Applies the differences to an inventory; returns the API server's objections.
    fn apply(&mut self, view: &View, inventory: &mut Inventory, from: DateTime<Utc>) -> Vec<String> {
        let refused = what_if::apply(
            &mut inventory.cloud_profiles,
            &self.expire,
            &self.classify,
            view.rules(),
            view.release(),
            from,
        );
        let switched = what_if::apply_to_shoots(&mut inventory.shoots, &self.auto);
        for error in [refused.as_ref().err(), switched.as_ref().err()].into_iter().flatten() {
            self.complaints.push(if error.hint().is_empty() {
                error.to_string()
            } else {
                format!("{error}; {}", error.hint())
            });
        }
        refused.unwrap_or_default().iter().map(ToString::to_string).collect()
    }
}

/// Reads the values of a field; values that cannot be read are left out, and reported.
fn read<T: FromStr<Err = String>>(query: &Fields, name: &str, complaints: &mut Vec<String>) -> Vec<T> {
    let texts = query.all(name).map(str::trim).filter(|text| !text.is_empty());
    let mut values = Vec::new();
    for text in texts {
        match text.parse() {
            Ok(value) => values.push(value),
            Err(why) => complaints.push(format!("{name}: {why}")),
        }
    }
    values
}

/// The question of a query.
struct Question {
    from: DateTime<Utc>,
    until: DateTime<Utc>,
    what_if: WhatIf,
    /// Objections of the API server to the what-ifs.
    refused: Vec<String>,
    /// The inventory without what-ifs.
    before: Inventory,
    /// The inventory with what-ifs.
    inventory: Inventory,
}

/// Answer to the question.
struct Answer {
    /// Forecast without what-ifs, if there are any.
    without: Option<Arc<Forecast>>,
    forecast: Forecast,
    /// Requested rows.
    shown: Vec<Row>,
}

impl Question {
    /// Reads the query, without reading the landscape.
    fn read(view: &View) -> Self {
        let from = view.now();
        let mut what_if = WhatIf::read(&view.query);
        let until = match view.query.text("until") {
            "" => LENGTH.parse::<When>(),
            text => text.parse::<When>(),
        };
        let until = match until {
            Ok(until) if until.behind(from) < from => {
                let (end, begin) = (time::text(until.behind(from)), time::text(from));
                what_if.complaints.push(format!("until: {end} is before {begin}"));
                When::Off(TimeDelta::days(90)).behind(from)
            }
            Ok(until) => until.behind(from),
            Err(why) => {
                what_if.complaints.push(format!("until: {why}"));
                When::Off(TimeDelta::days(90)).behind(from)
            }
        };
        let empty = Inventory::new(view.release());
        Self { from, until, what_if, refused: Vec::new(), before: empty.clone(), inventory: empty }
    }

    /// Reads the landscape, and creates the inventory with what-ifs.
    async fn read_inventory(&mut self, view: &View) -> Result<(), Error> {
        self.before = inventory(view).await?;
        self.inventory = self.before.clone();
        self.refused = self.what_if.apply(view, &mut self.inventory, self.from);
        Ok(())
    }

    /// Calculates the forecasts on other threads than those that serve requests.
    ///
    /// # Errors
    /// Too many forecasts of this user are waiting.
    async fn answered(self, view: &View) -> Result<(Self, Answer), TooManyWaiting> {
        let (view, dashboard) = (view.clone(), view.dashboard.clone());
        let user = view.session.user.name.clone();
        let work = async move {
            let answer = self.answer(&view);
            (self, answer)
        };
        dashboard.forecasts().run(Work::Rules, &user, work).await
    }

    fn answer(&self, view: &View) -> Answer {
        let Self { from, until, what_if, before, inventory, .. } = self;
        let (from, until) = (*from, *until);
        let random = Random::new(view.dashboard.options().seed);
        // While a what-if is dragged, the forecast without it is requested repeatedly.
        let without = (!what_if.is_none()).then(|| {
            let dashboard = &view.dashboard;
            let (head, user) = (dashboard.options().log.head(), &view.session.user.name);
            let revision = view.at.map_or(head.0, |moment| moment.revision);
            dashboard
                .without(format!("{user} {revision} {from} {until}"), || Forecast::of(before, from, until, &random))
        });
        let forecast = Forecast::of(inventory, from, until, &random);
        let only: Vec<Only> = view.query.all("only").filter_map(Only::named).collect();
        let is_asked_for = |row: &&Row| only.is_empty() || only.iter().any(|only| only.takes(&row.change));
        let shown = forecast.rows.iter().filter(is_asked_for).cloned().collect();
        Answer { without, forecast, shown }
    }
}

/// Returns the rows of the page as CSV.
///
/// # Errors
/// The API's error.
pub async fn csv(view: &View) -> Result<String, Refusal> {
    let mut asked = Question::read(view);
    asked.read_inventory(view).await?;
    let (_, answer) = asked.answered(view).await.map_err(|TooManyWaiting| {
        Refusal::new(StatusCode::TOO_MANY_REQUESTS, "Too many forecasts", TOO_MANY_FORECASTS)
    })?;
    let lines = answer.shown.iter().map(Row::csv);
    Ok(std::iter::once(rows::csv_header()).chain(lines).map(|line| line + "\r\n").collect())
}

/// Begins the page with the question. The landscape is read, and the forecast calculated, afterwards.
///
/// # Errors
/// The API's error if the user may not read CloudProfiles or Shoots.
pub async fn begin(view: &View) -> Result<(Page, Rest), Refusal> {
    let asked = Question::read(view);
    view.list::<CloudProfile>(GARDEN, None, "limit=1").await?;
    view.list::<Shoot>(GARDEN, None, "limit=1").await?;
    let page = Page::new(Section::Forecast, "Forecast")
        .region("question", "", question(view))
        .command(command(view))
        .follows(&[resource::SHOOTS, resource::CLOUD_PROFILES, resource::NAMESPACED_CLOUD_PROFILES]);
    let view = view.clone();
    let regions = Box::pin(async move { regions(&view, asked).await });
    Ok((page, Rest { text: "The forecast is being made.", regions }))
}

/// Returns the regions with the answer.
async fn regions(view: &View, mut asked: Question) -> Vec<Region> {
    if let Err(error) = asked.read_inventory(view).await {
        let why = Message::new(Severity::Error, format!("The landscape cannot be read: {error}"));
        return vec![Region::new("dates", "", why.markup())];
    }
    let Ok((asked, Answer { without, forecast, shown })) = asked.answered(view).await else {
        return vec![Region::new("dates", "", Message::new(Severity::Error, TOO_MANY_FORECASTS).markup())];
    };
    let Question { from, until, before, inventory, what_if, refused } = &asked;
    let (from, until) = (*from, *until);
    let dated = html! {
        (dates::ranges(inventory, (from, until), "expire"))
        @for text in what_if.complaints.iter().chain(refused) {
            (Message::new(Severity::Warning, text.as_str()).markup())
        }
    };
    let drawn = html! {
        p { "From " (time::instant(from)) " to " (time::instant(until)) "." }
        @for line in forecast.closing() { p.closing { (line) } }
        (picture(&shown, from, until, view.query.text("lanes") == "version"))
    };
    let mut regions = vec![Region::new("dates", "", dated), Region::new("picture", "", drawn)];
    if let Some(without) = without {
        let body = html! { (difference(&without, &forecast)) (apply(view, before, inventory)) };
        regions.push(Region::new("difference", "What would be different", body));
    }
    regions.push(Region::new("rows", "Changes", changes(view, &shown)));
    let tables = html! { @for by in [By::Week, By::Project, By::Version] { (counted(&shown, by)) } };
    regions.push(Region::new("summary", "Counted", tables));
    regions.push(Region::new("unmoved", "Shoots that do not move", unmoved(&forecast)));
    if !view.query.text("explain").is_empty() {
        regions.push(Region::new("explained", "Why", explained(inventory, &forecast, view, from)));
    }
    if let Some(moment) = view.at {
        regions.push(Region::new("happened", "What really happened", happened(view, moment.time, until).await));
    }
    regions
}

/// Lists versions that would be different, each with a link to the panel that changes its CloudProfile.
fn apply(view: &View, before: &Inventory, after: &Inventory) -> Markup {
    let forms = dates::changed(&before.cloud_profiles, &after.cloud_profiles);
    html! {
        @if view.at.is_none() && !forms.is_empty() {
            h3 { "Apply to the landscape" }
            p { "What-ifs change nothing. The next page shows what the change of one version does, before it is sent." }
            div.actions {
                @for change in forms.iter().take(APPLIED) {
                    form.inline method="post" action="/dashboard/do/versions" {
                        (form::hidden(view, "versions"))
                        input type="hidden" name="profile" value=(change.profile);
                        input type="hidden" name="version" value=(change.version);
                        input type="hidden" name="classification" value=(change.classification);
                        input type="hidden" name="expires" value=(change.expires);
                        input type="hidden" name="stages" value=(change.stages);
                        button type="submit" name="step" value="look" { "Apply " (change.sentence()) }
                    }
                }
            }
            @if forms.len() > APPLIED { p.hint { (forms.len() - APPLIED) " more versions would be different." } }
        }
    }
}

fn command(view: &View) -> String {
    let until = view.query.text("until");
    let until = if until.is_empty() { LENGTH } else { until };
    let mut command = match view.at {
        Some(moment) => format!(
            "terrarium at {} get cloudprofiles,namespacedcloudprofiles,shoots -A -o yaml | terrarium forecast -f - \
             --seed {} --from {} --until {until}",
            moment.revision,
            view.dashboard.options().seed,
            time::machine(moment.time),
        ),
        None => format!("terrarium forecast --until {until}"),
    };
    for name in ["expire", "classify", "auto", "only"] {
        for value in view.query.all(name).filter(|value| !value.trim().is_empty()) {
            command.extend([" --", name, " ", value.trim()]);
        }
    }
    if !view.query.text("explain").is_empty() {
        command.extend([" --explain ", view.query.text("explain")]);
    }
    command
}

fn question(view: &View) -> Markup {
    // A field for each present what-if, and an empty one for another.
    let several = |name: &str, label: &str, hint: &str| {
        let given: Vec<&str> = view.query.all(name).map(str::trim).filter(|text| !text.is_empty()).collect();
        html! {
            fieldset {
                legend { (label) }
                @for (index, value) in given.iter().copied().chain([""]).enumerate() {
                    input type="text" name=(name) value=(value) aria-label={(label) ", " (index + 1)} placeholder=(hint) autocomplete="off" spellcheck="false";
                }
            }
        }
    };
    html! {
        form method="get" action="/dashboard/forecast" {
            @if !view.query.text("at").is_empty() { input type="hidden" name="at" value=(view.query.text("at")); }
            div.fields {
                (form::text("until", "Until", view.query.text("until"), "90d, 52w, or 2027-01-31; empty: 90 days", &[]))
                (several("expire", "What if versions expired at another time", "kubernetes/1.31=2027-01-31"))
                (several("classify", "What if versions were classified otherwise", "kubernetes/1.31.2=deprecated, or =deprecated@2026-10-01 for a stage"))
                (several("auto", "What if automatic updates were on or off", "garden-local=off, all=on"))
                (form::select("lanes", "Lanes of the picture", view.query.text("lanes"), &[("", lanes())], "", &[]))
                (form::text("explain", "Explain a Shoot", view.query.text("explain"), "NAMESPACE/NAME", &[]))
                fieldset {
                    legend { "Only" }
                    @for only in Only::ALL {
                        label { input type="checkbox" name="only" value=(only.as_str()) checked[view.query.all("only").any(|name| name == only.as_str())]; " " (only.as_str()) } " "
                    }
                }
            }
            button.main type="submit" { "Forecast" }
        }
    }
}

/// Returns the choices for lanes.
fn lanes() -> Vec<form::Choice> {
    let choice = |value: &str, label: &str| form::Choice { value: value.to_owned(), label: label.to_owned() };
    vec![choice("", "by project"), choice("version", "by version")]
}

/// Returns the lane of a change.
fn lane(row: &Row, by_version: bool) -> String {
    if by_version {
        let name = row.change.subject.as_str();
        return row.change.from.as_ref().map_or_else(|| name.to_owned(), |from| format!("{name} {from}"));
    }
    row.shoot.split('/').next().unwrap_or_default().to_owned()
}

/// Mark of a change: its shape is the effect on nodes, and a forced change is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    shape: Shape,
    is_forced: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shape {
    /// The change fails.
    Cross,
    /// Nodes are replaced.
    Square,
    /// Nodes stay, and are updated or restarted.
    Diamond,
    /// Nodes are left as they are.
    Circle,
}

/// Legend of the marks, with the shapes that are drawn.
const LEGEND: &str = "■ nodes are replaced, ◆ nodes are updated or restarted, ● nodes stay as they are, ✕ fails; filled: forced, outlined: not";

impl Mark {
    fn of(change: &Change) -> Self {
        let shape = match change {
            Change { failure: Some(_), .. } => Shape::Cross,
            Change { effect: Effect::Rolling | Effect::Moving, .. } => Shape::Square,
            Change { effect: Effect::None, .. } => Shape::Circle,
            Change { effect: Effect::KubeletRestart | Effect::AutoInPlace | Effect::ManualInPlace, .. } => {
                Shape::Diamond
            }
        };
        Self { shape, is_forced: change.is_forced }
    }
}

fn picture(rows: &[Row], from: DateTime<Utc>, until: DateTime<Utc>, by_version: bool) -> Markup {
    let mut lanes: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        lanes.entry(lane(row, by_version)).or_default().push(row);
    }
    let what = if by_version { "version" } else { "project" };
    let length = (until - from).num_seconds().max(1) as f64;
    let x = |at: DateTime<Utc>| (180.0 + (at - from).num_seconds() as f64 / length * 800.0).round();
    let hidden = lanes.len().saturating_sub(LANES);
    let height = lanes.len().min(LANES) * 22 + 40;
    html! {
        @if rows.is_empty() { p { strong { "Nothing changes." } } }
        @else {
            div.picture tabindex="0" role="region" aria-label="Picture of changes" {
                svg viewBox={"0 0 1000 " (height)} role="img" aria-label={"Changes by " (what) " from " (time::text(from)) " to " (time::text(until)) "; the table below has the same"} {
                    @for (index, (lane, rows)) in lanes.iter().take(LANES).enumerate() {
                        @let y = index * 22 + 24;
                        text x="4" y=(y + 4) { (lane) }
                        line.line x1="180" x2="980" y1=(y) y2=(y) {}
                        @for (place, mark, title) in at_places(rows, &x) { (drawn(place, y, mark, &title)) }
                    }
                    text.faint x="180" y=(height - 4) { (time::text(from)) }
                    text.faint x="980" y=(height - 4) text-anchor="end" { (time::text(until)) }
                }
            }
            p.hint { (LEGEND) @if hidden > 0 { "; " (hidden) " more " (what) "s are not drawn" } }
        }
    }
}

/// Returns the marks of a lane: place, shape and title. If several of one shape share a place, the title has the first and the
/// number of the others.
fn at_places(rows: &[&Row], x: &dyn Fn(DateTime<Utc>) -> f64) -> Vec<(f64, Mark, String)> {
    let mut places: BTreeMap<(i64, Mark), (&Row, usize)> = BTreeMap::new();
    for row in rows {
        #[expect(clippy::cast_possible_truncation, reason = "it is within the picture")]
        let place = (x(row.change.time) / GRAIN).round() as i64;
        places.entry((place, Mark::of(&row.change))).or_insert((row, 0)).1 += 1;
    }
    let title = |row: &Row, count: usize| {
        let more = if count > 1 { format!(", and {} more", count - 1) } else { String::new() };
        format!("{} {} {}{more}", time::text(row.change.time), row.shoot, sentence(row))
    };
    let all = places.into_iter();
    all.map(|((place, mark), (row, count))| (place as f64 * GRAIN, mark, title(row, count))).collect()
}

fn drawn(x: f64, y: usize, mark: Mark, title: &str) -> Markup {
    let filled = mark.is_forced;
    html! {
        @match mark.shape {
            Shape::Cross => { path.mark-failed d={"M" (x - 5.0) " " (y - 5) " l10 10 m0 -10 l-10 10"} { title { (title) } } }
            Shape::Square => { rect.mark.mark-forced[filled].mark-quiet[!filled] x=(x - 5.0) y=(y - 5) width="10" height="10" { title { (title) } } }
            Shape::Diamond => { path.mark.mark-forced[filled].mark-quiet[!filled] d={"M" (x) " " (y - 7) " l7 7l-7 7l-7 -7z"} { title { (title) } } }
            Shape::Circle => { circle.mark.mark-forced[filled].mark-quiet[!filled] cx=(x) cy=(y) r="5" { title { (title) } } }
        }
    }
}

fn sentence(row: &Row) -> String {
    super::maintenance::sentence(&row.change)
}

fn changes(view: &View, rows: &[Row]) -> Markup {
    let cells: Vec<Vec<Markup>> = rows
        .iter()
        .take(SHOWN)
        .map(|row| {
            let change = &row.change;
            let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| table::NONE.to_owned());
            let forced = match (change.is_forced, change.was_opted_out) {
                (true, true) => "yes, opted out",
                (true, false) => "yes",
                (false, _) => "no",
            };
            vec![
                html! { (time::instant(change.time)) },
                html! { a.nowrap href=(view.here_with(&[("explain", &row.shoot)])) { (row.shoot) } },
                html! { (or_dash(&change.pool)) },
                html! { (change.subject.as_str()) },
                html! { (or_dash(&change.from)) },
                html! { @if change.failure.is_some() { span.bad { "fails" } } @else { (or_dash(&change.to)) } },
                html! { (forced) },
                html! { (rows::nodes(change)) },
                html! { (change.failure.clone().unwrap_or_else(|| rows::reason(change))) },
            ]
        })
        .collect();
    let headers = ["Time", "Shoot", "Pool", "Subject", "From", "To", "Forced", "Nodes", "Why"];
    html! {
        @if cells.is_empty() { p { "No change is like that." } }
        @else { (table::plain("Changes in the order of time", &headers, &cells)) }
        @if rows.len() > SHOWN { p.hint { (rows.len() - SHOWN) " more changes; CSV and the command have all of them." } }
        @if !rows.is_empty() { p { a.button href=(link("/dashboard/forecast.csv", &view.query.with(&[]))) download { "Export as CSV" } } }
    }
}

fn counted(rows: &[Row], by: By) -> Markup {
    let groups = summary::grouped(rows, by);
    let cells: Vec<Vec<Markup>> = groups
        .iter()
        .map(|group| {
            let text = |key: &str| group[key].as_str().map_or_else(|| group[key].to_string(), str::to_owned);
            [by.key()].into_iter().chain(summary::COLUMNS).map(|key| html! { (text(key)) }).collect()
        })
        .collect();
    let first = match by {
        By::Week => "Week from",
        By::Project => "Project",
        By::Version => "Version",
        By::None => "",
    };
    html! {
        @if !cells.is_empty() {
            (table::plain(&format!("By {}", by.key()), &[first, "Shoots", "Changes", "Forced", "Failed", "Pools rolled", "Pools in place", "Pools restarted"], &cells))
        }
    }
}

fn unmoved(forecast: &Forecast) -> Markup {
    html! {
        @if forecast.unmoved.is_empty() { p { "Every Shoot moves." } }
        @else {
            ul { @for line in ops::forecast::unmoved::lines(&forecast.unmoved, forecast.until, 10) { li { (line) } } }
        }
    }
}

/// Compares forced and failed updates with and without the what-ifs.
pub(super) fn difference(without: &Forecast, with: &Forecast) -> Markup {
    let of = |forecast: &Forecast, holds: fn(&Change) -> bool| -> Vec<String> {
        let mut names: Vec<String> =
            forecast.rows.iter().filter(|row| holds(&row.change)).map(|row| row.shoot.clone()).collect();
        names.sort();
        names.dedup();
        names
    };
    let pair = |holds: fn(&Change) -> bool| {
        let (before, after) = (of(without, holds), of(with, holds));
        let new: Vec<String> = after.iter().filter(|name| !before.contains(name)).cloned().collect();
        let gone: Vec<String> = before.iter().filter(|name| !after.contains(name)).cloned().collect();
        (new, gone)
    };
    let (forced, spared) = pair(|change| change.is_forced && change.failure.is_none());
    let (stuck, freed) = pair(|change| change.failure.is_some());
    let list = |label: &str, names: &[String]| {
        html! { li { strong { (label) ": " (names.len()) } @if !names.is_empty() { ": " (ops::spelling::first_of(names.iter().map(String::as_str), 20)) } } }
    };
    html! {
        ul {
            (list("Newly forced", &forced))
            (list("No longer forced", &spared))
            (list("Newly stuck", &stuck))
            (list("No longer stuck", &freed))
        }
    }
}

fn explained(inventory: &Inventory, forecast: &Forecast, view: &View, from: DateTime<Utc>) -> Markup {
    match forecast.explained(inventory, view.query.text("explain"), from) {
        Ok(lines) => lines::list(view, view.query.text("explain"), &lines),
        Err(error) => Message::new(Severity::Warning, format!("{error}; {}", error.hint())).markup(),
    }
}

/// Returns the roll-outs between two instants, from the log.
async fn happened(view: &View, from: DateTime<Utc>, until: DateTime<Utc>) -> Markup {
    let timeline = view.dashboard.timeline();
    if timeline.refresh().await.is_err() {
        return html! { p { "The log does not answer." } };
    }
    let mut may = crate::may::May::new(view);
    let mut rows = Vec::new();
    for mark in timeline.marks() {
        let is_meant = mark.subject == Subject::RollOut && mark.moment.time > from && mark.moment.time <= until;
        if is_meant && rows.len() < SHOWN && may.list(&mark.key).await {
            rows.push(vec![html! { (time::instant(mark.moment.time)) }, html! { (mark.text) }]);
        }
    }
    html! {
        @if rows.is_empty() { p { "Until now no version of a Shoot has changed since." } }
        @else { (table::plain("Versions of Shoots that changed since", &["Time", "What"], &rows)) }
    }
}

#[cfg(test)]
mod tests {
    use domain::window::Span;

    use super::*;

    #[test]
    fn marks_show_the_effect_and_forced_ones_are_filled() {
        let at: DateTime<Utc> = "2025-06-01T00:00:00Z".parse().expect("an instant");
        let change = |effect: Effect, is_forced: bool, failure: Option<&str>| Change {
            time: at,
            window: Span { earliest: at, end: at },
            subject: domain::forecast::Subject::Kubernetes,
            pool: None,
            from: None,
            to: None,
            reason: String::new(),
            reading: None,
            is_forced,
            was_opted_out: false,
            effect,
            is_hibernated: false,
            failure: failure.map(str::to_owned),
        };
        for (effect, is_forced, failure, sign, shape) in [
            (Effect::Rolling, true, None, '■', "<rect class=\"mark mark-forced\""),
            (Effect::Moving, false, None, '■', "<rect class=\"mark mark-quiet\""),
            (Effect::KubeletRestart, true, None, '◆', "<path class=\"mark mark-forced\""),
            (Effect::AutoInPlace, false, None, '◆', "<path class=\"mark mark-quiet\""),
            (Effect::None, true, None, '●', "<circle class=\"mark mark-forced\""),
            (Effect::None, false, None, '●', "<circle class=\"mark mark-quiet\""),
            (Effect::None, true, Some("no"), '✕', "<path class=\"mark-failed\""),
        ] {
            let markup = drawn(20.0, 20, Mark::of(&change(effect, is_forced, failure)), "").into_string();
            assert!(markup.starts_with(shape), "{effect:?}: {markup}");
            assert!(LEGEND.contains(sign), "the legend has {sign}");
        }
    }
}
